// Sums of rows of a matrix, named by a list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/simd.h"
#include "sequence/contexts.h"

namespace textmill::sequence {

inline constexpr std::size_t kAhead = 8;  // rows fetched ahead

// out = sum over the entries [begin, end) of a list of value * row of the item; rows of `width` doubles, `step` apart.
// The rows that entries up to `last` name are fetched ahead.
template <class P, std::size_t W>
TEXTMILL_INLINED inline void sum_columns(const Lists& lists, std::int64_t begin, std::int64_t end, std::int64_t last,
                                         const double* rows, std::size_t step, double* out) {
  P total[W];
  for (std::size_t j = 0; j < W; ++j) total[j] = P(0.0);
  const std::int32_t* items = lists.items.data();
  const float* values = lists.values.empty() ? nullptr : lists.values.data();
  for (auto e = begin; e < end; ++e) {
    const double* ahead = rows + items[std::min<std::int64_t>(e + static_cast<std::int64_t>(kAhead), last)] * step;
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + 8);
    const double* row = rows + items[e] * step;
    if (values == nullptr) {
      for (std::size_t j = 0; j < W; ++j) total[j] = total[j] + P::load(row + j * P::width);
    } else {
      const P value = P(static_cast<double>(values[e]));
      for (std::size_t j = 0; j < W; ++j) total[j] = multiply_add(value, P::load(row + j * P::width), total[j]);
    }
  }
  for (std::size_t j = 0; j < W; ++j) total[j].store(out + j * P::width);
}

template <class P>
TEXTMILL_INLINED inline void sum_rows(const Lists& lists, std::int64_t begin, std::int64_t end, std::int64_t last,
                                      const double* rows, std::size_t width, std::size_t step, double* out) {
  std::size_t at = 0;
  for (; at + 6 * P::width <= width; at += 6 * P::width)
    sum_columns<P, 6>(lists, begin, end, last, rows + at, step, out + at);
  for (; at + 2 * P::width <= width; at += 2 * P::width)
    sum_columns<P, 2>(lists, begin, end, last, rows + at, step, out + at);
  if (at + P::width <= width) sum_columns<P, 1>(lists, begin, end, last, rows + at, step, out + at), at += P::width;
  for (; at < width; ++at) {
    double total = 0.0;
    for (auto e = begin; e < end; ++e) total += lists.value(e) * rows[lists.items[e] * step + at];
    out[at] = total;
  }
}

}  // namespace textmill::sequence
