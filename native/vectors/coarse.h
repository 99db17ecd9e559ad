// Exact nearest neighbors by a scan of rows rounded to bytes, a quarter of the memory, and the full rows of a few.
//
// Row x keeps whole numbers c = round(x / s) from -127 to 127, its step s = max |x_j| / 127, and the length e of what
// rounding took away. The query becomes whole numbers g of 16 bits with the step t, so that with integer sums
//
//   x.q <= s t (c.g) + e |q| + |s c| |q - t g|             (Cauchy-Schwarz, twice)
//
// and rows whose bound is below the k-th best exact key are passed over, as in scan.h. The last term is tiny; |s c| is
// replaced by twice the longest length.
//
// Cost: one byte a number read, for up to four queries at once, and full rows for the few that pass.
#pragma once

#include <vector>

#include "vectors/scan.h"

namespace textmill::vectors {

struct Coarse {
  std::size_t stride;                  // bytes of a row: columns, up to a multiple of 16, with zeros behind them
  std::span<const std::int8_t> cells;  // [rows][stride]
  std::span<const float> steps;        // [rows] s, >= 0
  std::span<const float> errors;       // [rows] e, rounded up
};

inline std::size_t stride_of(std::size_t columns) { return (columns + 15) / 16 * 16; }

// Fills cells [rows][stride], steps and errors [rows] of values [rows][columns].
void coarsen(std::span<const float> values, std::size_t columns, std::span<std::int8_t> cells, std::span<float> steps,
             std::span<float> errors, std::size_t threads);

inline constexpr std::size_t kGroup = 4;  // queries for which the rows are read once

// Rows, and the same rounded.
struct CoarseRows {
  Dense x;
  Coarse coarse;
};

// Offers all wanted rows for each of at most kGroup queries [columns] to its `best`; returns how many full rows were
// read. Rows of several parts, of equal columns, count as those of one, in the order of the parts: what one part has
// found bounds the others.
std::size_t search(std::span<const CoarseRows> parts, std::span<const float* const> queries, Wanted wanted,
                   std::span<Best> best, std::size_t threads);

// Appends to `rows` and `keys`, in the order of rows, those whose key with the query is at least least[row]; least may be
// -infinity (all) or infinity (none).
void reach(const Dense& x, const Coarse& coarse, const Query& query, std::span<const double> least,
           std::vector<std::int64_t>& rows, std::vector<double>& keys, std::size_t threads);

}  // namespace textmill::vectors
