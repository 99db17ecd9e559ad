// Kernels of sparse rows: all values between the rows of two matrices, from their dot products.
//
//   linear       x.z
//   polynomial   (gamma x.z + coef0)^degree          degree a whole number >= 1
//   rbf          exp(-gamma |x - z|^2)
//
// The second matrix is held by columns (Design), so that a row meets only the rows it shares a column with: the cost of
// a row of kernel values is the sum of the lengths of its columns, and one visit of each value. A column may have a
// weight w_j >= 0: dots are then sum_j w_j x_j z_j, which turns counts into TF-IDF without a copy of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sparse.h"
#include "linear/design.h"

namespace textmill::linear {

enum class KernelKind { linear, polynomial, rbf };

struct Kernel {
  KernelKind kind = KernelKind::linear;
  int degree = 2;
  double gamma = 1.0;
  double coef0 = 1.0;
  bool unit = false;  // rows are divided by their length first; a row without entries stays zero
};

// Turns dots of one row, whose squared length is `square`, with rows of squared lengths `squares` into kernel values.
void apply(const Kernel& kernel, double square, std::span<const double> squares, std::span<double> dots);

// dots [n] with all rows of z of the row (columns, values); weight [m] or empty.
void row_dots(const Design& z, std::span<const std::int32_t> columns, std::span<const double> values,
              std::span<const double> weight, std::span<double> dots);

// Squared lengths of the rows of x under the weights.
void row_squares(const base::Csr<std::int64_t, double>& x, std::span<const double> weight, std::span<double> squares);

// out [n][n]: the kernel between all rows of x, whose columns rise; z holds the same rows by columns. One triangle is
// worked out, the other copied.
void gram(const base::Csr<std::int64_t, double>& x, const Design& z, std::span<const double> weight,
          const Kernel& kernel, std::span<double> out, std::size_t threads);

// out [rows of x][outputs] = sum_s dual[o][s] K(x_i, z_s); dual [outputs][rows of z], squares [rows of z] those of z.
void kernel_sums(const base::Csr<std::int64_t, double>& x, const Design& z, std::span<const double> squares,
                 const Kernel& kernel, std::span<const double> dual, std::size_t outputs, std::span<double> out,
                 std::size_t threads);

}  // namespace textmill::linear
