// Exact nearest neighbors among sparse rows, by the postings of the query's terms.
//
//   key(x, q) = sum over common terms of x_t q_t             product
//   key(x, q) = -|x - q|^2 = 2 (x.q - |x|^2 / 2) - |q|^2     distance
//
// Terms are added into one sum a row, those first whose share of |q|^2 is large for the length of their postings. The
// terms R that are left can change a product by no more than
//
//   min(|q_R| longest, sum over R of max(q_t largest_t, q_t smallest_t))
//
// so once few rows can still reach the k-th best, the rest of the postings is not read: those rows are computed exactly,
// best sums first, until the next one cannot get in (MaxScore with the bound of Cauchy and Schwarz). Rows are worked on
// in ranges whose sums stay in the cache. Sums are float32, with a margin for their rounding; exact keys are double, in
// the order of the row's columns, the same for any number of threads.
//
// Cost: at most one addition for each posting of the query's terms.
// Reference: Turtle & Flood (1995), Query evaluation: strategies and optimizations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vectors/best.h"
#include "vectors/scan.h"

namespace textmill::vectors {

struct Postings {
  Kind kind;
  std::size_t rows;
  std::size_t terms;
  std::span<const std::int64_t> row_offsets;   // [rows + 1]
  std::span<const std::int32_t> columns;       // [entries], rising within a row
  std::span<const float> values;               // [entries]
  std::span<const std::int64_t> term_offsets;  // [terms + 1]
  std::span<const std::int32_t> documents;     // [entries], rising within a term
  std::span<const float> weights;              // [entries]
  std::span<const float> largest, smallest;    // [terms] of the weights and 0
  std::span<const float> halves;               // [rows] |x|^2 / 2 for Kind::distance, else empty
  std::span<const std::uint8_t> allowed;       // [rows] 1 for rows that may be found; empty: all
  double longest;                              // <= 1e18
};

struct SparseQuery {
  std::span<const std::int32_t> columns;  // rising, below terms
  std::span<const float> values;
};

// Offers all wanted rows from `first` on for one query to `best`; returns how many exact keys were computed.
std::size_t search(const Postings& x, const SparseQuery& query, Wanted wanted, std::size_t first, Best& best,
                   std::size_t threads);

// The same by reading every row, for few rows that have no postings: only rows, terms, row_offsets, columns, values and
// allowed of x are looked at. Cost: one visit of each entry.
std::size_t scan(const Postings& x, const SparseQuery& query, Best& best);

// Appends to `rows` and `keys`, in the order of rows, those whose key with the query is at least least[row]; least may be
// -infinity (all) or infinity (none). Cost: one addition for each posting of the query's terms.
void reach(const Postings& x, const SparseQuery& query, std::span<const double> least, std::vector<std::int64_t>& rows,
           std::vector<double>& keys);

}  // namespace textmill::vectors
