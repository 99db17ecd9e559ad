// exp(psi(x)) over packs of floats and of doubles (base/simd.h), for kernels that come in both.
//
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

using base::PackOf;
using base::PlainFloats;

template <class Real>
inline constexpr Real kLeast = std::is_same_v<Real, float> ? Real(1e-30) : Real(1e-280);

namespace detail {
inline constexpr float kExpLow = -80.0f, kLog2E = 1.44269504f, kLn2HighF = 0.693359375f, kLn2LowF = -2.12194440e-4f;
inline constexpr float kExpF[] = {0.5f, 0.16666667f, 0.041666668f, 0.0083333f, 0.001389f};
inline constexpr float kShift[] = {0.041666667f, -0.0064236111f, 0.0035524789f, -0.0039535576f};
}  // namespace detail

inline PlainFloats exponential(PlainFloats x) {
  using Floats = PlainFloats::Floats;
  const Floats in = x.v < detail::kExpLow ? Floats{} + detail::kExpLow : x.v;
  const Floats n = (in * detail::kLog2E + 0x1.8p23f) - 0x1.8p23f;
  const Floats r = (in - n * detail::kLn2HighF) - n * detail::kLn2LowF;
  Floats q = Floats{} + detail::kExpF[4];
  for (int i = 3; i >= 0; --i) q = q * r + detail::kExpF[i];
  const PlainFloats::Mask power = (__builtin_convertvector(n, PlainFloats::Mask) + 127) << 23;
  return (1.0f + (r + r * r * q)) * Floats(power);
}
#if defined(TEXTMILL_HAS_AVX2)
TEXTMILL_AVX2 inline base::Avx2Floats exponential(base::Avx2Floats x) {
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
