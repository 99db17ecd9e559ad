// SIMD: packs of doubles and of floats, and the choice of the instruction set at run time.
//
// The library is compiled for the baseline of the machine (SSE2 on x86-64, NEON on ARM). A kernel that wants more is a
// template on a pack type P, handed to with_packs(), which calls it with Avx2Pack where the processor has AVX2 and FMA
// and with PlainPack elsewhere:
//
//   with_packs([=]<class P>() TEXTMILL_INLINED {
//     map<P>(in, out, [](P x) TEXTMILL_INLINED { return exp(x) + P(1.0); });
//   });
//
// Rules for kernels:
// - Every function and lambda between with_packs() and the methods of the pack is marked TEXTMILL_INLINED, so that it
//   becomes part of the function that with_packs() compiles for AVX2. Without the mark it may be compiled for the
//   baseline, where packs are passed differently: garbage.
// - The kernel captures by value: a store through a pack might change what a reference refers to.
// - Threads go outside: the body of parallel_for calls with_packs(), not the other way round.
//
// Not for everything: strings/lanes.inc compares names in lanes of 8, 16, 32 or 64 bits, whole numbers for which packs of
// real numbers are no use, in functions too long to be inlined into one lambda. It is included once for each instruction
// set, under #pragma GCC target, and chooses by simd() as with_packs() does.
//
// A pack's arithmetic is lane by lane, so what a lane holds never depends on its neighbors. Sums over lanes differ in
// their last bits between instruction sets, never between runs or thread counts on one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#define TEXTMILL_HAS_AVX2 1
#define TEXTMILL_AVX2 [[gnu::target("avx2,fma")]]
#endif
#define TEXTMILL_INLINED __attribute__((always_inline))
#pragma GCC diagnostic ignored "-Wpsabi"  // how a pack is passed in a call: ours are inlined, so it never is

namespace textmill::base {

namespace detail {
// x = 2^k m with m in [sqrt(1/2), sqrt(2)): adding kSplitOffset to the bits of x carries into the exponent at sqrt(2).
inline constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;
inline constexpr std::uint64_t kSplitOffset = 0x3FF0000000000000 - kSqrtHalf;
inline constexpr std::uint64_t kMantissa = 0x000FFFFFFFFFFFFF;
inline constexpr double kRound = 0x1.8p52;  // adding it leaves an integer in the low bits of the mantissa
inline constexpr std::uint64_t kTwo52 = 0x4330000000000000;
}  // namespace detail

// See the list below both packs.
template <class P>
concept Pack = requires { P::width; };

template <class P>
struct Split {
  P mantissa;  // in [sqrt(1/2), sqrt(2))
  P exponent;  // an integer
};

// Two doubles with the operators of the compiler's own vector type: 128 bits are in every baseline we build for.
struct PlainPack {
  typedef double Doubles __attribute__((vector_size(16)));
  typedef std::int64_t Mask __attribute__((vector_size(16)));
  typedef std::uint64_t Bits __attribute__((vector_size(16)));
  static constexpr std::size_t width = 2;
  Doubles v;

  PlainPack() = default;
  PlainPack(Doubles values) : v(values) {}
  PlainPack(double value) : v{value, value} {}

  static PlainPack load(const double* p) { return Doubles{p[0], p[1]}; }
  static PlainPack load(const float* p) { return Doubles{p[0], p[1]}; }
  // The first `count` < width values, and `fill` in the lanes behind them.
  static PlainPack load(const double* p, std::size_t count, double fill) {
    return Doubles{count > 0 ? p[0] : fill, fill};
  }
  void store(double* p) const { p[0] = v[0], p[1] = v[1]; }
  void store(float* p) const { p[0] = static_cast<float>(v[0]), p[1] = static_cast<float>(v[1]); }
  void store(double* p, std::size_t count) const {
    if (count > 0) p[0] = v[0];
  }

  friend PlainPack operator+(PlainPack a, PlainPack b) { return a.v + b.v; }
  friend PlainPack operator-(PlainPack a, PlainPack b) { return a.v - b.v; }
  friend PlainPack operator*(PlainPack a, PlainPack b) { return a.v * b.v; }
  friend PlainPack operator/(PlainPack a, PlainPack b) { return a.v / b.v; }
  friend PlainPack multiply_add(PlainPack a, PlainPack b, PlainPack c) { return a.v * b.v + c.v; }
  friend PlainPack abs(PlainPack a) { return Doubles(Bits(a.v) & ~(Bits{1, 1} << 63)); }
  friend PlainPack max(PlainPack a, PlainPack b) { return a.v < b.v ? b.v : a.v; }

  friend Mask operator<(PlainPack a, PlainPack b) { return a.v < b.v; }
  friend Mask operator<=(PlainPack a, PlainPack b) { return a.v <= b.v; }
  friend Mask operator==(PlainPack a, PlainPack b) { return a.v == b.v; }
  friend PlainPack select(Mask mask, PlainPack a, PlainPack b) { return mask ? a.v : b.v; }
  static bool any(Mask mask) { return (mask[0] | mask[1]) != 0; }
  static bool all(Mask mask) { return (mask[0] & mask[1]) != 0; }

  friend PlainPack power_of_two(PlainPack n) { return Doubles(Bits(n.v + (detail::kRound + 1023.0)) << 52); }
  friend Split<PlainPack> split(PlainPack x) {
    const Bits moved = Bits(x.v) + detail::kSplitOffset;
    const Bits mantissa = (moved & detail::kMantissa) + detail::kSqrtHalf;
    const Bits exponent = (moved >> 52) | detail::kTwo52;
    return {Doubles(mantissa), Doubles(exponent) - (0x1p52 + 1023.0)};
  }
  friend double sum(PlainPack a) { return a.v[0] + a.v[1]; }
  friend double largest(PlainPack a) { return a.v[0] < a.v[1] ? a.v[1] : a.v[0]; }
};

#if defined(TEXTMILL_HAS_AVX2)
// Four doubles in a 256-bit register. Not always_inline: GCC would refuse to see these in a template that is itself
// compiled for the baseline; they are inlined once that template has been, into the function compiled for AVX2.
struct Avx2Pack {
  struct Mask {
    __m256d v;
    TEXTMILL_AVX2 friend Mask operator&(Mask a, Mask b) { return {_mm256_and_pd(a.v, b.v)}; }
  };
  static constexpr std::size_t width = 4;
  __m256d v;

  Avx2Pack() = default;
  TEXTMILL_AVX2 Avx2Pack(__m256d values) : v(values) {}
  TEXTMILL_AVX2 Avx2Pack(double value) : v(_mm256_set1_pd(value)) {}

  TEXTMILL_AVX2 static Avx2Pack load(const double* p) { return _mm256_loadu_pd(p); }
  TEXTMILL_AVX2 static Avx2Pack load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  TEXTMILL_AVX2 static Avx2Pack load(const double* p, std::size_t count, double fill) {
    const __m256i mask = first(count);
    return _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask));
  }
  TEXTMILL_AVX2 void store(double* p) const { _mm256_storeu_pd(p, v); }
  TEXTMILL_AVX2 void store(float* p) const { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
  TEXTMILL_AVX2 void store(double* p, std::size_t count) const { _mm256_maskstore_pd(p, first(count), v); }

  TEXTMILL_AVX2 friend Avx2Pack operator+(Avx2Pack a, Avx2Pack b) { return _mm256_add_pd(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Pack operator-(Avx2Pack a, Avx2Pack b) { return _mm256_sub_pd(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Pack operator*(Avx2Pack a, Avx2Pack b) { return _mm256_mul_pd(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Pack operator/(Avx2Pack a, Avx2Pack b) { return _mm256_div_pd(a.v, b.v); }
  TEXTMILL_AVX2 friend Avx2Pack multiply_add(Avx2Pack a, Avx2Pack b, Avx2Pack c) {
    return _mm256_fmadd_pd(a.v, b.v, c.v);
  }
  TEXTMILL_AVX2 friend Avx2Pack abs(Avx2Pack a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v); }
  TEXTMILL_AVX2 friend Avx2Pack max(Avx2Pack a, Avx2Pack b) { return _mm256_max_pd(b.v, a.v); }

  TEXTMILL_AVX2 friend Mask operator<(Avx2Pack a, Avx2Pack b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)}; }
  TEXTMILL_AVX2 friend Mask operator<=(Avx2Pack a, Avx2Pack b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)}; }
  TEXTMILL_AVX2 friend Mask operator==(Avx2Pack a, Avx2Pack b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_EQ_OQ)}; }
  TEXTMILL_AVX2 friend Avx2Pack select(Mask mask, Avx2Pack a, Avx2Pack b) { return _mm256_blendv_pd(b.v, a.v, mask.v); }
  TEXTMILL_AVX2 static bool any(Mask mask) { return _mm256_movemask_pd(mask.v) != 0; }
  TEXTMILL_AVX2 static bool all(Mask mask) { return _mm256_movemask_pd(mask.v) == 15; }

  TEXTMILL_AVX2 friend Avx2Pack power_of_two(Avx2Pack n) {
    const __m256d biased = _mm256_add_pd(n.v, _mm256_set1_pd(detail::kRound + 1023.0));
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(biased), 52));
  }
  TEXTMILL_AVX2 friend Split<Avx2Pack> split(Avx2Pack x) {
    const __m256i moved = _mm256_add_epi64(_mm256_castpd_si256(x.v), _mm256_set1_epi64x(detail::kSplitOffset));
    const __m256i mantissa = _mm256_and_si256(moved, _mm256_set1_epi64x(detail::kMantissa));
    const __m256i exponent = _mm256_or_si256(_mm256_srli_epi64(moved, 52), _mm256_set1_epi64x(detail::kTwo52));
    return {_mm256_castsi256_pd(_mm256_add_epi64(mantissa, _mm256_set1_epi64x(detail::kSqrtHalf))),
            _mm256_sub_pd(_mm256_castsi256_pd(exponent), _mm256_set1_pd(0x1p52 + 1023.0))};
  }
  TEXTMILL_AVX2 friend double sum(Avx2Pack a) {  // (a0 + a2) + (a1 + a3)
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a.v), _mm256_extractf128_pd(a.v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  TEXTMILL_AVX2 friend double largest(Avx2Pack a) {
    const __m128d two = _mm_max_pd(_mm256_extractf128_pd(a.v, 1), _mm256_castpd256_pd128(a.v));
    return _mm_cvtsd_f64(_mm_max_sd(_mm_unpackhi_pd(two, two), two));
  }

 private:
  TEXTMILL_AVX2 static __m256i first(std::size_t count) {  // a mask of the first `count` lanes
    alignas(32) static constexpr std::int64_t window[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(window + 4 - count));
  }
};
#endif

// Four floats, as PlainPack has two doubles. Number tells these packs from those of doubles.
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
};

#if defined(TEXTMILL_HAS_AVX2)
// Eight floats in a 256-bit register.
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
};
#endif

// What the packs of doubles offer, beside arithmetic and comparison (all of it lane by lane):
//   multiply_add(a, b, c)   a b + c, fused where the instruction set has it
//   max(a, b)               b where a < b, else a: a NaN in b is passed over
//   select(mask, a, b)      a where the mask is set, else b;  P::any(mask), P::all(mask)
//   power_of_two(n)         2^n for an integer n in [-1022, 1023]; 0 for -1023, infinity for 1024
//   split(x)                x = 2^k m for a positive normal x
//   sum(a), largest(a)      over the lanes, in a fixed order
// Packs of floats have multiply_add, max, abs, sum and largest, and zero_below(a, least), 0 where a < least.
//
//   PackOf<P, Real>         the pack of Real on the instruction set of P, as with_packs gives it
//   sums(packs)             lane i holds the sum over the lanes of packs[i], in a fixed order

template <class P, class Real>
struct PackOfImplementation;
template <>
struct PackOfImplementation<PlainPack, double> {
  using type = PlainPack;
};
template <>
struct PackOfImplementation<PlainPack, float> {
  using type = PlainFloats;
};
#if defined(TEXTMILL_HAS_AVX2)
template <>
struct PackOfImplementation<Avx2Pack, double> {
  using type = Avx2Pack;
};
template <>
struct PackOfImplementation<Avx2Pack, float> {
  using type = Avx2Floats;
};
#endif
template <class P, class Real>
using PackOf = typename PackOfImplementation<P, Real>::type;

// Lane i: the sum of all lanes of packs[i].
inline PlainPack sums(const PlainPack (&a)[2]) {
  return PlainPack::Doubles{a[0].v[0] + a[0].v[1], a[1].v[0] + a[1].v[1]};
}
inline PlainFloats sums(const PlainFloats (&a)[4]) {
  return PlainFloats::Floats{sum(a[0]), sum(a[1]), sum(a[2]), sum(a[3])};
}
#if defined(TEXTMILL_HAS_AVX2)
TEXTMILL_AVX2 inline Avx2Pack sums(const Avx2Pack (&a)[4]) {
  const __m256d x = _mm256_hadd_pd(a[0].v, a[1].v), y = _mm256_hadd_pd(a[2].v, a[3].v);
  return _mm256_add_pd(_mm256_permute2f128_pd(x, y, 0x20), _mm256_permute2f128_pd(x, y, 0x31));
}
TEXTMILL_AVX2 inline Avx2Floats sums(const Avx2Floats (&a)[8]) {
  const __m256 x = _mm256_hadd_ps(_mm256_hadd_ps(a[0].v, a[1].v), _mm256_hadd_ps(a[2].v, a[3].v));
  const __m256 y = _mm256_hadd_ps(_mm256_hadd_ps(a[4].v, a[5].v), _mm256_hadd_ps(a[6].v, a[7].v));
  return _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31));
}
#endif

// The nearest integer, ties to even, for |x| < 2^51.
template <Pack P>
TEXTMILL_INLINED inline P round(P x) {
  return (x + P(detail::kRound)) - P(detail::kRound);
}

// c0 + c1 x + c2 x^2 + ...: even and odd powers apart, two chains of half the length.
template <Pack P, std::size_t N>
TEXTMILL_INLINED inline P polynomial(P x, const double (&c)[N]) {
  static_assert(N >= 2);
  const P square = x * x;
  P high = c[N - 1], low = c[N - 2];
  for (std::size_t i = 3; i <= N; i += 2) high = multiply_add(high, square, P(c[N - i]));
  for (std::size_t i = 4; i <= N; i += 2) low = multiply_add(low, square, P(c[N - i]));
  return N % 2 == 0 ? multiply_add(high, x, low) : multiply_add(low, x, high);
}

// out[i] = f(in[i]); `in` and `out` have one length and are the same array or do not overlap. Lanes behind the end hold
// 1.
template <Pack P, class F>
TEXTMILL_INLINED inline void map(std::span<const double> in, std::span<double> out, F f) {
  const double* from = in.data();
  double* to = out.data();
  const std::size_t size = out.size(), whole = size - size % P::width;
  for (std::size_t i = 0; i < whole; i += P::width) f(P::load(from + i)).store(to + i);
  if (whole < size) f(P::load(from + whole, size - whole, 1.0)).store(to + whole, size - whole);
}

enum class Simd { baseline, avx2 };

namespace detail {
inline Simd choose_simd() {
#if defined(TEXTMILL_HAS_AVX2)
  const bool able = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  const bool able = false;
#endif
  const char* variable = std::getenv("TEXTMILL_SIMD");
  const std::string wish = variable == nullptr ? "" : variable;
  if (wish.empty()) return able ? Simd::avx2 : Simd::baseline;
  if (wish == "baseline") return Simd::baseline;
  if (wish == "avx2" && able) return Simd::avx2;
  throw std::invalid_argument(wish == "avx2"
                                  ? "TEXTMILL_SIMD=avx2, but this processor has no AVX2 and FMA; unset it"
                                  : "TEXTMILL_SIMD='" + wish + "' is neither 'baseline' nor 'avx2'; unset it");
}

#if defined(TEXTMILL_HAS_AVX2)
template <class Kernel>
TEXTMILL_AVX2 decltype(auto) run_avx2(const Kernel& kernel) {
  const Kernel local = kernel;  // in registers, out of reach of the kernel's own stores
  return local.template operator()<Avx2Pack>();
}
#endif
}  // namespace detail

// The instruction set in use, settled at the first call: what the processor has, or what TEXTMILL_SIMD says. Throws
// std::invalid_argument when the variable asks for what is not there.
inline Simd simd() {
  static const Simd chosen = detail::choose_simd();
  return chosen;
}

// Calls kernel.operator()<P>() with the packs of the instruction set in use.
template <class Kernel>
decltype(auto) with_packs(const Kernel& kernel) {
#if defined(TEXTMILL_HAS_AVX2)
  if (simd() == Simd::avx2) return detail::run_avx2(kernel);
#endif
  return kernel.template operator()<PlainPack>();
}

}  // namespace textmill::base
