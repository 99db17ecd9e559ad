// Weights of the entries of sparse rows: local x global, then perhaps divided by the row's Euclidean length.
//
//   w_e = local(a_e) * global[column_e]        a_e > 0; 0 where a_e = 0: no entry is ever added
//
//   raw          a                             binary       1
//   augmented    1/2 + 1/2 a / max of the row  logarithm    log(1 + a)
//
// Entries whose weight is exactly 0 are dropped. Sums are float64 whatever the types. Rows do not touch each other, so the
// bytes are the same for any number of threads. Cost: one visit of an entry, and one move if any was dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::vectors {

enum class Local { raw, binary, augmented, logarithm };

struct Scheme {
  Local local;
  std::span<const double> global;  // [columns], finite; empty: every term weighs 1
  double per_log;                  // 1 / ln of the base of logarithms
  bool unit;                       // divide by the length of the row
};

template <class Count>  // std::int32_t, float or double; not negative unless the local weight is raw
struct Rows {
  std::span<const std::int64_t> offsets;  // [rows + 1], rising from 0
  std::span<const std::int32_t> columns;  // [entries], each in [0, columns)
  std::span<const Count> values;          // [entries]
};

template <class Real>  // float or double
struct Weighted {
  std::span<std::int64_t> offsets;  // [rows + 1]
  std::span<std::int32_t> columns;  // [entries]
  std::span<Real> values;           // [entries]
};

// Fills `out`, whose arrays do not overlap those of `in`, and returns how many entries it kept; the rest of columns and
// values is undefined.
template <class Count, class Real>
std::size_t weigh(const Rows<Count>& in, const Scheme& scheme, const Weighted<Real>& out, std::size_t threads);

}  // namespace textmill::vectors
