// Packs of Real numbers for kernels that come in float and double: base/simd.h has packs of doubles, these are the floats
// beside them, with what the variational kernels need of both.
//
//   PackOf<P, Real>     the pack of Real on the instruction set of P (as with_packs gives it)
//   sums(packs)         lane i holds the sum over the lanes of packs[i], in a fixed order
//   exp_digamma(x)      exp(psi(x)) for x > 0, not below kLeast: a word's best topic has B = 1, so that no sum is 0
//   exp_digamma_or_zero(x)   the same in float, but 0 where it is small
//
//   psi(x) = psi(x + 4) - 1/x - 1/(x+1) - 1/(x+2) - 1/(x+3),   exp psi(u + 1/2) = u + 1/(24 u) - 37/(5760 u^3) + ...
//
// exp_digamma is good to 1e-6 in float (times 1/x below 1), to the 6 ulp of base/math.h in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/math.h"
#include "base/simd.h"

namespace textmill::topics {

template <class Real>
inline constexpr Real kLeast = std::is_same_v<Real, float> ? Real(1e-30) : Real(1e-280);

namespace detail {
inline constexpr float kExpLow = -80.0f, kLog2E = 1.44269504f, kLn2HighF = 0.693359375f, kLn2LowF = -2.12194440e-4f;
inline constexpr float kExpF[] = {0.5f, 0.16666667f, 0.041666668f, 0.0083333f, 0.001389f};
inline constexpr float kShift[] = {0.041666667f, -0.0064236111f, 0.0035524789f, -0.0039535576f};
}  // namespace detail

struct PlainFloats {
  typedef float Floats __attribute__((vector_size(16)));
  typedef std::int32_t Mask __attribute__((vector_size(16)));
  using Number = float;
  static constexpr std::size_t width = 4;
  Floats v;

  PlainFloats() = default;
  PlainFloats(Floats values) : v(values) {}
  PlainFloats(float value) : v{value, value, value, value} {}
  static PlainFloats load(const float* p) { return Floats{p[0], p[1], p[2], p[3]}; }
  void store(float* p) const { p[0] = v[0], p[1] = v[1], p[2] = v[2], p[3] = v[3]; }
  friend PlainFloats operator+(PlainFloats a, PlainFloats b) { return a.v + b.v; }
  friend PlainFloats operator-(PlainFloats a, PlainFloats b) { return a.v - b.v; }
  friend PlainFloats operator*(PlainFloats a, PlainFloats b) { return a.v * b.v; }
  friend PlainFloats operator/(PlainFloats a, PlainFloats b) { return a.v / b.v; }
  friend PlainFloats multiply_add(PlainFloats a, PlainFloats b, PlainFloats c) { return a.v * b.v + c.v; }
  friend PlainFloats max(PlainFloats a, PlainFloats b) { return a.v < b.v ? b.v : a.v; }
  friend PlainFloats zero_below(PlainFloats a, float least) { return a.v < least ? Floats{} : a.v; }
  friend PlainFloats abs(PlainFloats a) { return a.v < 0.0f ? -a.v : a.v; }
  friend float sum(PlainFloats a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
  friend float largest(PlainFloats a) {
    const float x = a.v[0] < a.v[1] ? a.v[1] : a.v[0], y = a.v[2] < a.v[3] ? a.v[3] : a.v[2];
    return x < y ? y : x;
  }
  friend PlainFloats exponential(PlainFloats x) {
    const Floats in = x.v < detail::kExpLow ? Floats{} + detail::kExpLow : x.v;
    const Floats n = (in * detail::kLog2E + 0x1.8p23f) - 0x1.8p23f;
    const Floats r = (in - n * detail::kLn2HighF) - n * detail::kLn2LowF;
    Floats q = Floats{} + detail::kExpF[4];
    for (int i = 3; i >= 0; --i) q = q * r + detail::kExpF[i];
    const Mask power = (__builtin_convertvector(n, Mask) + 127) << 23;
    return (1.0f + (r + r * r * q)) * Floats(power);
  }
};

#if defined(TEXTMILL_HAS_AVX2)
struct Avx2Floats {
  using Number = float;
  static constexpr std::size_t width = 8;
  __m256 v;

  Avx2Floats() = default;
  TEXTMILL_AVX2 Avx2Floats(__m256 values) : v(values) {}
  TEXTMILL_AVX2 Avx2Floats(float value) : v(_mm256_set1_ps(value)) {}
  TEXTMILL_AVX2 static Avx2Floats load(const float* p) { return _mm256_loadu_ps(p); }
  TEXTMILL_AVX2 void store(float* p) const { _mm256_storeu_ps(p, v); }
  TEXTMILL_AVX2 friend Avx2Floats operator+(Avx2Floats a, Avx2Floats b) { return _mm256_add_ps(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Floats operator-(Avx2Floats a, Avx2Floats b) { return _mm256_sub_ps(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Floats operator*(Avx2Floats a, Avx2Floats b) { return _mm256_mul_ps(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Floats operator/(Avx2Floats a, Avx2Floats b) { return _mm256_div_ps(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Floats multiply_add(Avx2Floats a, Avx2Floats b, Avx2Floats c) {
    return _mm256_fmadd_ps(a.v, b.v, c.v);
  }
  TEXTMILL_AVX2 friend Avx2Floats max(Avx2Floats a, Avx2Floats b) { return _mm256_max_ps(b.v, a.v); }
  TEXTMILL_AVX2 friend Avx2Floats zero_below(Avx2Floats a, float least) {
    return _mm256_and_ps(a.v, _mm256_cmp_ps(a.v, _mm256_set1_ps(least), _CMP_GE_OQ));
  }
  TEXTMILL_AVX2 friend Avx2Floats abs(Avx2Floats a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v); }
  TEXTMILL_AVX2 friend float sum(Avx2Floats a) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
  }
  TEXTMILL_AVX2 friend float largest(Avx2Floats a) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
  }
  TEXTMILL_AVX2 friend Avx2Floats exponential(Avx2Floats x) {
    const __m256 in = _mm256_max_ps(x.v, _mm256_set1_ps(detail::kExpLow));
    const __m256i whole = _mm256_cvtps_epi32(_mm256_mul_ps(in, _mm256_set1_ps(detail::kLog2E)));
    const __m256 n = _mm256_cvtepi32_ps(whole);
    const __m256 high = _mm256_fnmadd_ps(n, _mm256_set1_ps(detail::kLn2HighF), in);
    const __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(detail::kLn2LowF), high);
    __m256 q = _mm256_set1_ps(detail::kExpF[4]);
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(detail::kExpF[3]));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(detail::kExpF[2]));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(detail::kExpF[1]));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(detail::kExpF[0]));
    const __m256 value = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(r, r), q, r), _mm256_set1_ps(1.0f));
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(value), _mm256_slli_epi32(whole, 23)));
  }
};
#endif

template <class P, class Real>
struct PackOfImplementation;
template <>
struct PackOfImplementation<base::PlainPack, double> {
  using type = base::PlainPack;
};
template <>
struct PackOfImplementation<base::PlainPack, float> {
  using type = PlainFloats;
};
#if defined(TEXTMILL_HAS_AVX2)
template <>
struct PackOfImplementation<base::Avx2Pack, double> {
  using type = base::Avx2Pack;
};
template <>
struct PackOfImplementation<base::Avx2Pack, float> {
  using type = Avx2Floats;
};
#endif
template <class P, class Real>
using PackOf = typename PackOfImplementation<P, Real>::type;

// Lane i: the sum of all lanes of packs[i].
inline base::PlainPack sums(const base::PlainPack (&a)[2]) {
  return base::PlainPack::Doubles{a[0].v[0] + a[0].v[1], a[1].v[0] + a[1].v[1]};
}
inline PlainFloats sums(const PlainFloats (&a)[4]) {
  return PlainFloats::Floats{sum(a[0]), sum(a[1]), sum(a[2]), sum(a[3])};
}
#if defined(TEXTMILL_HAS_AVX2)
TEXTMILL_AVX2 inline base::Avx2Pack sums(const base::Avx2Pack (&a)[4]) {
  const __m256d x = _mm256_hadd_pd(a[0].v, a[1].v), y = _mm256_hadd_pd(a[2].v, a[3].v);
  return _mm256_add_pd(_mm256_permute2f128_pd(x, y, 0x20), _mm256_permute2f128_pd(x, y, 0x31));
}
TEXTMILL_AVX2 inline Avx2Floats sums(const Avx2Floats (&a)[8]) {
  const __m256 x = _mm256_hadd_ps(_mm256_hadd_ps(a[0].v, a[1].v), _mm256_hadd_ps(a[2].v, a[3].v));
  const __m256 y = _mm256_hadd_ps(_mm256_hadd_ps(a[4].v, a[5].v), _mm256_hadd_ps(a[6].v, a[7].v));
  return _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31));
}
#endif

namespace detail {
template <class P>
TEXTMILL_INLINED inline P exp_digamma(P x) {  // in float; not below exp(-80) or so
  const P z = x * (x + P(3.0f));              // (x + 1)(x + 2) = z + 2
  const P steps = multiply_add(P(2.0f), x, P(3.0f)) * multiply_add(P(2.0f), z, P(2.0f)) / (z * (z + P(2.0f)));
  const P u = x + P(3.5f), w = P(1.0f) / u, square = w * w;
  P series = P(kShift[3]);
  series = multiply_add(series, square, P(kShift[2]));
  series = multiply_add(series, square, P(kShift[1]));
  series = multiply_add(series, square, P(kShift[0]));
  return multiply_add(series, w, u) * exponential(P(0.0f) - steps);
}
}  // namespace detail

template <class P>
TEXTMILL_INLINED inline P exp_digamma(P x) {
  if constexpr (requires { typename P::Number; }) {
    return max(detail::exp_digamma(x), P(kLeast<float>));
  } else {
    return max(exp(digamma(x)), P(kLeast<double>));
  }
}

// In float: 0 where the value is below 1e-33.
template <class P>
TEXTMILL_INLINED inline P exp_digamma_or_zero(P x) {
  return zero_below(detail::exp_digamma(x), 1e-33f);
}

}  // namespace textmill::topics
