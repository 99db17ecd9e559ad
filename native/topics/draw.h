// Draws of one topic out of K unnormalized weights, eight topics at a time.
//
//   weight_t = a_t (row_t + eta_t)        a: what the document says of topic t, row: what the word says of it
//
// Eight lanes add up every eighth weight, in two chains, and keep their running sums: no sum across lanes is made but of
// the sixteen totals. A point below the grand total falls into one of the sixteen sections, and in its running sums the
// topic is found by bisection. Floats: a probability is off by 2^-24 of the whole at most.
//
// Collapsed samplers leave the token itself out of the counts, which changes the weight of its present topic only. It is
// not taken out of memory and put back (the stores would hold up the wide loads of the same line): that topic is put last,
// with the weight it has without the token. Most tokens stay where they are, and for those nothing is searched.
//
// Cost: K / 8 loads, multiplications and additions, and log2(K / 16) steps for a token that moves. All of it is lane by
// lane without fused multiplication, so every instruction set gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/simd.h"

namespace textmill::topics {

typedef float Lanes __attribute__((vector_size(32)));
inline constexpr std::size_t kWide = 8;

// Topics rounded up to whole vectors: the length of rows in memory.
inline std::size_t padded(std::size_t topics) { return (topics + kWide - 1) / kWide * kWide; }

template <class Pack>
TEXTMILL_INLINED inline Lanes load(const float* p) {
  Lanes value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class Pack>
TEXTMILL_INLINED inline Lanes load(const std::int32_t* p) {
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  Ints value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_convertvector(value, Lanes);
}

#if defined(TEXTMILL_HAS_AVX2)
// Where the compiler makes several instructions of one.
struct Avx2Lanes {
  TEXTMILL_AVX2 static Lanes widen(const std::uint16_t* p) {
    const __m128i counts = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return (Lanes)_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(counts));
  }
  TEXTMILL_AVX2 static unsigned mask(Lanes values) { return static_cast<unsigned>(_mm256_movemask_ps((__m256)values)); }
};
template <class Pack>
inline constexpr bool kAvx2 = std::is_same_v<Pack, base::Avx2Pack>;
#else
template <class Pack>
inline constexpr bool kAvx2 = false;
#endif

template <class Pack>
TEXTMILL_INLINED inline Lanes load(const std::uint16_t* p) {
#if defined(TEXTMILL_HAS_AVX2)
  if constexpr (kAvx2<Pack>) return Avx2Lanes::widen(p);
#endif
  typedef std::uint16_t Shorts __attribute__((vector_size(16)));
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  Shorts value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_convertvector(__builtin_convertvector(value, Ints), Lanes);
}

TEXTMILL_INLINED inline void store(float* p, Lanes value) { std::memcpy(p, &value, sizeof value); }

// The same number for all topics, or one per topic.
struct Same {
  float value;
  template <class Pack>
  TEXTMILL_INLINED Lanes at(std::size_t) const {
    return Lanes{} + value;
  }
};
struct Each {
  const float* values;
  template <class Pack>
  TEXTMILL_INLINED Lanes at(std::size_t t) const {
    return load<Pack>(values + t);
  }
};

struct Present {
  std::size_t topic;  // of the token
  float with;         // its weight with the token in the counts
  float without;      // and as it should be
};

inline constexpr Present kNowhere{0, 0.0F, 0.0F};  // a token without a topic

namespace detail {

typedef std::int32_t Ints __attribute__((vector_size(32)));
typedef float HalfLanes __attribute__((vector_size(16)));

// v_0, v_0 + v_1, ...
TEXTMILL_INLINED inline Lanes running(Lanes v) {
  const Lanes none{};
  v += __builtin_shuffle(v, none, Ints{8, 0, 1, 2, 3, 4, 5, 6});
  v += __builtin_shuffle(v, none, Ints{8, 8, 0, 1, 2, 3, 4, 5});
  v += __builtin_shuffle(v, none, Ints{8, 8, 8, 8, 0, 1, 2, 3});
  return v;
}

TEXTMILL_INLINED inline float sum(Lanes v) {
  HalfLanes low, high;
  std::memcpy(&low, &v, sizeof low);
  std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
  low += high;
  return (low[0] + low[2]) + (low[1] + low[3]);
}

// How many of eight numbers are at most x.
template <class Pack>
TEXTMILL_INLINED inline std::size_t below(Lanes values, float x) {
  typedef std::int32_t Half __attribute__((vector_size(16)));
  const Ints hit = values <= x;  // -1 where true
#if defined(TEXTMILL_HAS_AVX2)
  if constexpr (kAvx2<Pack>) return static_cast<std::size_t>(__builtin_popcount(Avx2Lanes::mask((Lanes)hit)));
#endif
  Half low, high;
  std::memcpy(&low, &hit, sizeof low);
  std::memcpy(&high, reinterpret_cast<const char*>(&hit) + sizeof low, sizeof high);
  low += high;
  return static_cast<std::size_t>(-((low[0] + low[2]) + (low[1] + low[3])));
}

}  // namespace detail

// What the lanes of both chains have added up.
struct Sections {
  Lanes one, two;
};

// a, row, sums [vectors * 8]; a_t = 0 for t >= topics.
template <class Pack, class Count, class Eta>
TEXTMILL_INLINED inline Sections add_up(const float* a, const Count* row, Eta eta, std::size_t vectors, float* sums) {
  const std::size_t second = (vectors + 1) / 2;  // where the second chain begins
  Lanes one{}, two{};
  for (std::size_t v = 0; v + second < vectors; ++v) {
    const std::size_t t = v * kWide, s = (v + second) * kWide;
    one += load<Pack>(a + t) * (load<Pack>(row + t) + eta.template at<Pack>(t));
    two += load<Pack>(a + s) * (load<Pack>(row + s) + eta.template at<Pack>(s));
    store(sums + t, one);
    store(sums + s, two);
  }
  if (vectors % 2 != 0) {
    const std::size_t t = (second - 1) * kWide;
    one += load<Pack>(a + t) * (load<Pack>(row + t) + eta.template at<Pack>(t));
    store(sums + t, one);
  }
  return {one, two};
}

// The topic at point x of the sections, the weight of one topic taken out; `out.topic` itself where rounding has put x
// behind the end.
template <class Pack>
TEXTMILL_INLINED inline std::size_t find(Sections sections, const float* sums, std::size_t topics, std::size_t vectors,
                                         float x, Present out) {
  using detail::Ints;
  const std::size_t second = (vectors + 1) / 2, vector = out.topic / kWide;
  const std::size_t own = (vector >= second ? kWide : 0) + out.topic % kWide;  // the section of the topic taken out
  const Ints number = Ints{0, 1, 2, 3, 4, 5, 6, 7} - static_cast<std::int32_t>(own);
  const Ints taken = (Ints)(Lanes{} + out.with);
  const Lanes one = detail::running(sections.one - (Lanes)(taken & (number == 0)));
  const Lanes two = detail::running(sections.two - (Lanes)(taken & (number == -8))) + one[7];
  const std::size_t section = detail::below<Pack>(one, x) + detail::below<Pack>(two, x);
  if (section > 15) return out.topic;
  float edges[17];
  edges[0] = 0.0F;
  store(edges + 1, one);
  store(edges + 9, two);
  const float left = x - edges[section];
  // The first of `size` running sums, eight apart, that is above `left`.
  std::size_t begin = section >= kWide ? second : 0, size = section >= kWide ? vectors - second : second;
  const float* sum = sums + section % kWide;
  const float behind = left + (section == own ? out.with : 0.0F);  // to compare with from that topic on
  while (size > 1) {
    const std::size_t half = size / 2, at = begin + half - 1;
    begin += sum[at * kWide] <= (at >= vector ? behind : left) ? half : 0;
    size -= half;
  }
  const std::size_t topic = begin * kWide + section % kWide;
  return topic < topics ? topic : out.topic;
}

// A topic in [0, topics) with probability weight_t / sum; `uniform` is any 32 random bits. A token that is nowhere gets
// topic 0 if all weights vanish. The sum is left in *total.
template <class Pack, class Count, class Eta>
TEXTMILL_INLINED inline std::size_t draw(const float* a, const Count* row, Eta eta, std::size_t topics,
                                         std::size_t vectors, float* sums, std::uint32_t uniform, Present present,
                                         float* total = nullptr) {
  const Sections sections = add_up<Pack>(a, row, eta, vectors, sums);
  const float others = detail::sum(sections.one + sections.two) - present.with;
  const float all = others + present.without;
  if (total != nullptr) *total = all;
  const float x = static_cast<float>(uniform >> 8) * 0x1p-24F * all;
  if (!(x < others)) return present.topic;
  return find<Pack>(sections, sums, topics, vectors, x, present);
}

}  // namespace textmill::topics
