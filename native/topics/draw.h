// Draws of one topic out of K unnormalised weights, eight topics at a time.
//
//   weight_t = a_t (row_t + eta_t)        a: what the document says of topic t, row: what the word says of it
//
// Eight lanes add up every eighth weight, in two chains, and keep their running sums: no sum across lanes is made but of
// the sixteen totals. A uniform number times the grand total falls into one of the sixteen sections, and in its running
// sums the topic is found by bisection. Floats: a probability is off by 2^-24 of the whole at most.
//
// Collapsed samplers leave the token itself out of the counts, which changes one weight only. It is not taken out of
// memory and put back (the stores would hold up the wide loads of the same line): `Own` says by how much that weight is
// too large, and sums behind it are lowered when they are compared.
//
// Cost: K / 8 loads, multiplications and additions, log2(K / 16) steps. All of it is lane by lane without fused
// multiplication, so every instruction set gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/simd.h"

namespace textmill::topics {

typedef float Lanes __attribute__((vector_size(32)));
inline constexpr std::size_t kWide = 8;

// Topics rounded up to whole vectors: the length of rows in memory.
inline std::size_t padded(std::size_t topics) { return (topics + kWide - 1) / kWide * kWide; }

TEXTMILL_INLINED inline Lanes load(const float* p) {
  Lanes value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

TEXTMILL_INLINED inline Lanes load(const std::int32_t* p) {
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  Ints value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_convertvector(value, Lanes);
}

TEXTMILL_INLINED inline Lanes load(const std::uint16_t* p) {
  typedef std::uint16_t Shorts __attribute__((vector_size(16)));
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  Shorts value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_convertvector(__builtin_convertvector(value, Ints), Lanes);
}

TEXTMILL_INLINED inline void store(float* p, Lanes value) { std::memcpy(p, &value, sizeof value); }

// The same number for all topics, or one a topic.
struct Same {
  float value;
  TEXTMILL_INLINED Lanes at(std::size_t) const { return Lanes{} + value; }
};
struct Each {
  const float* values;
  TEXTMILL_INLINED Lanes at(std::size_t t) const { return load(values + t); }
};

struct Own {
  std::size_t topic;  // of the token that is left out
  float less;         // by which its weight is too large, >= 0; 0 when nothing is left out
};

namespace detail {

// v_0, v_0 + v_1, ...
TEXTMILL_INLINED inline Lanes running(Lanes v) {
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  const Lanes none{};
  v += __builtin_shuffle(v, none, Ints{8, 0, 1, 2, 3, 4, 5, 6});
  v += __builtin_shuffle(v, none, Ints{8, 8, 0, 1, 2, 3, 4, 5});
  v += __builtin_shuffle(v, none, Ints{8, 8, 8, 8, 0, 1, 2, 3});
  return v;
}

// How many of eight rising numbers are at most x.
TEXTMILL_INLINED inline std::size_t below(Lanes rising, float x) {
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  Ints hit = rising <= x;  // -1 where true
  typedef std::int32_t Half __attribute__((vector_size(16)));
  Half low, high;
  std::memcpy(&low, &hit, sizeof low);
  std::memcpy(&high, reinterpret_cast<const char*>(&hit) + sizeof low, sizeof high);
  low += high;
  low += __builtin_shuffle(low, Half{2, 3, 0, 1});
  low += __builtin_shuffle(low, Half{1, 0, 3, 2});
  return static_cast<std::size_t>(-low[0]);
}

}  // namespace detail

// A topic in [0, topics) with probability weight_t / sum. a, row [vectors * 8], a_t = 0 for t >= topics; sums is scratch
// of that size; uniform is any 32 random bits. Where all weights vanish: own.topic.
template <class Count, class Eta>
TEXTMILL_INLINED inline std::size_t draw(const float* a, const Count* row, Eta eta, std::size_t topics, std::size_t vectors,
                                         float* sums, std::uint32_t uniform, Own own, float* total = nullptr) {
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  const std::size_t second = (vectors + 1) / 2;  // where the second chain begins
  Lanes one{}, two{};
  for (std::size_t v = 0; v + second < vectors; ++v) {
    const std::size_t t = v * kWide, s = (v + second) * kWide;
    one += load(a + t) * (load(row + t) + eta.at(t));
    two += load(a + s) * (load(row + s) + eta.at(s));
    store(sums + t, one);
    store(sums + s, two);
  }
  if (vectors % 2 != 0) {
    const std::size_t t = (second - 1) * kWide;
    one += load(a + t) * (load(row + t) + eta.at(t));
    store(sums + t, one);
  }
  const std::size_t own_vector = own.topic / kWide;
  const auto lane = static_cast<std::int32_t>(own.topic % kWide);
  const Ints here = Ints{0, 1, 2, 3, 4, 5, 6, 7} == lane;
  const Lanes less = (Lanes)((Ints)(Lanes{} + own.less) & here);
  const bool own_second = own_vector >= second;
  if (own_second) {
    two -= less;
  } else {
    one -= less;
  }
  one = detail::running(one);
  two = detail::running(two) + one[7];
  const float all = two[7];
  if (total != nullptr) *total = all;
  if (!(all > 0.0F)) return own.topic;
  const float x = static_cast<float>(uniform >> 8) * 0x1p-24F * all;
  std::size_t section = detail::below(one, x) + detail::below(two, x);
  if (section > 15) section = 15;
  const bool in_second = section >= 8;
  const std::size_t column = section % 8;
  alignas(32) float edges[17];
  edges[0] = 0.0F;
  store(edges + 1, one);
  store(edges + 9, two);
  const float left = x - edges[section];
  // The first of `size` running sums, eight apart, that is above `left`.
  const std::size_t first = in_second ? second : 0;
  std::size_t size = in_second ? vectors - second : second;
  const bool lowered = in_second == own_second && static_cast<std::int32_t>(column) == lane;
  const float lower = lowered ? own.less : 0.0F;
  const float* sum = sums + column;
  std::size_t begin = first;
  while (size > 1) {
    const std::size_t half = size / 2, at = begin + half - 1;
    const float value = sum[at * kWide] - (at >= own_vector ? lower : 0.0F);
    begin = value <= left ? begin + half : begin;
    size -= half;
  }
  std::size_t topic = begin * kWide + column;
  while (topic >= topics || (a[topic] <= 0.0F && topic >= kWide)) {  // rounding took us past the end of the section
    if (topic < kWide) return own.topic;
    topic -= kWide;
  }
  return topic;
}

}  // namespace textmill::topics
