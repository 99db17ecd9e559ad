// A design matrix X by columns: what coordinate descent walks through, made once from compressed sparse rows.
//
//   X is n x m; column j holds the rows i with x_ij != 0 in rising order. Values that are all 1 are not stored: features
//   that are there or not, of tagging and parsing, then cost 4 bytes instead of 12.
//
// Cost: two visits of every entry, threaded; the bytes do not depend on the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bulk.h"

namespace textmill::linear {

class Design {
 public:
  // Rows as in base::Csr; throws std::invalid_argument when an index or an offset is out of range or a
  // row has a column twice. `number` [columns]
  // gives each column its place in the design, rising from 0 on, or -1 to leave it out; none keeps all of them. Row i of
  // the design is row order[i]; none keeps their order.
  Design(std::size_t rows, std::size_t columns, std::span<const std::int64_t> offsets,
         std::span<const std::int32_t> indices, std::span<const double> values, std::span<const std::int32_t> number,
         std::span<const std::int32_t> order, std::size_t threads);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return begin_.size() - 1; }
  std::size_t entries() const { return row_.size(); }
  std::size_t entries(std::size_t column) const { return begin_[column + 1] - begin_[column]; }
  bool binary() const { return value_.empty(); }

  // One more column of ones.
  void add_ones();
  // The products of columns, features [count][degree], rising, -1 behind the last, as further columns.
  void graft(std::span<const std::int32_t> features, std::size_t degree, std::size_t threads);

  // Row numbers of a column, and its values, nullptr where all are 1.
  const std::int32_t* row(std::size_t column) const { return row_.data() + begin_[column]; }
  const double* value(std::size_t column) const { return value_.empty() ? nullptr : value_.data() + begin_[column]; }

 private:
  std::size_t rows_;
  std::vector<std::size_t> begin_;  // [m + 1]
  base::Bulk<std::int32_t> row_;    // [nnz]
  base::Bulk<double> value_;        // [nnz], or none
};

// Rows by the column of each that is the commonest, so that long columns lie together and are read from end to end.
// Rows as in Design, which need not be checked before.
std::vector<std::int32_t> rows_by_commonest_column(std::size_t rows, std::size_t columns,
                                                   std::span<const std::int64_t> offsets,
                                                   std::span<const std::int32_t> indices);

// margin [n] = sum over the listed columns of x_j weight_j; weight [listed]. One thread: weights are few.
void column_product(const Design& x, std::span<const std::int32_t> listed, std::span<const double> weight,
                    std::span<double> margin);

// For every listed column, all of them when none is listed: slope = - sum_i x_i r_i, curvature = sum_i x_i^2 d_i. Either
// output may be empty. residual r [n], row_curvature d [n].
void column_sums(const Design& x, std::span<const std::int32_t> listed, std::span<const double> residual,
                 std::span<const double> row_curvature, std::span<double> slope, std::span<double> curvature,
                 std::size_t threads);

}  // namespace textmill::linear
