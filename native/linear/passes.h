// Passes over sparse rows whose results are sums by column, threaded: what Newton steps and full slopes are made of.
//
//   sums      s = X^T r,  and  q_j = sum_i x_ij^2 d_i           one visit of every entry
//   curve     z = X v + shift,  p = X^T (D z)                   one visit: a row is still in the cache when it is added
//   smoothed  z = X v + shift and the counts of smoothed decisions (linear/loss.h), then X^T of their slopes: z and the
//             slopes are never written out
//
// Rows are cut into lanes, ranges of about as many entries each, with sums of their own that are added in order. Their
// number depends on the data alone, as many as there are pairs of entries for a column, a power of two, 8 at most; so
// the bytes are the same for any number of threads. No column-wise copy of X is needed.
//
// Cost: an entry is read once a pass. Memory: a vector of columns for each lane but the first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sparse.h"

namespace textmill::linear {

class RowPasses {
 public:
  // A view of rows whose indices lie below `columns`; the arrays must outlive it.
  explicit RowPasses(const base::Csr<std::int64_t, double>& x);

  std::size_t rows() const { return x_.rows; }
  std::size_t columns() const { return x_.columns; }
  const base::Csr<std::int64_t, double>& matrix() const { return x_; }

  // residual, row_curvature [n]; slope, square [m], either may be empty.
  void sums(std::span<const double> residual, std::span<const double> row_curvature, std::span<double> slope,
            std::span<double> square, std::size_t threads);

  // out [n] = sum_j x_ij^2
  void squares(std::span<double> out, std::size_t threads) const;

  // Counts of smoothed decisions at z = X v + shift; fills miss [n]. label, weight [n].
  std::array<double, 4> smoothed_counts(std::span<const double> v, double shift, std::span<const std::int32_t> label,
                                        std::span<const double> weight, double gamma, std::span<double> miss,
                                        std::size_t threads) const;
  // slope [m] = X^T s with s = weight gain miss (1 - miss), the gain that of the row's label; returns the sum of s.
  double smoothed_slopes(std::span<const double> miss, std::span<const std::int32_t> label,
                         std::span<const double> weight, double gain_negative, double gain_positive,
                         std::span<double> slope, std::size_t threads);

  // v [m], row_curvature [n], margin [n] z, product [m] p; returns sum_i d_i z_i.
  double curve(std::span<const double> v, double shift, std::span<const double> row_curvature, std::span<double> margin,
               std::span<double> product, std::size_t threads);

 private:
  template <class F>
  void by_lane(std::size_t threads, F body);
  double* lane_sum(std::size_t lane, std::span<double> out);  // where a lane adds up, all zero: the first in `out`
  void add_lanes(std::span<double> out, std::size_t threads);

  base::Csr<std::int64_t, double> x_;
  bool unit_;                              // every value is 1
  std::vector<std::size_t> bounds_;        // [lanes + 1] rows
  std::vector<std::vector<double>> lane_;  // [lanes - 1][m], of the lanes behind the first
};

}  // namespace textmill::linear
