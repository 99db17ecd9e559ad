// Support vector problems with one equality, by sequential minimal optimization.
//
//   minimize over b    1/2 b'Kb - y'b + tube |b|_1       lower_i <= b_i <= upper_i,  sum_i b_i = 0
//
//   regression         lower = -C, upper = C, y the values, tube the half-width of the tube
//   two classes        y_i = +1: 0 <= b_i <= C,  y_i = -1: -C <= b_i <= 0,  tube = 0       (b_i = y_i alpha_i)
//
// f(x) = sum_i b_i K(x_i, x) + intercept. With g = Kb - y the slope of raising b_i is g_i + tube for b_i >= 0, else
// g_i - tube; that of lowering it (with the opposite sign) g_i + tube for b_i > 0, else g_i - tube. A step raises the
// variable i of least slope and lowers j, which is chosen by second-order information, to the exact minimum along the
// pair, through the kinks at zero. One signed variable a row does the work of the usual two, and passes zero in one
// step. It ends when no pair has slopes further apart than `tolerance`.
//
// Cost of a step: two rows of K, two visits of n entries in packs; no sums over lanes, so the path is the same on every
// instruction set. References: Platt (1998); Fan, Chen & Lin (2005); Okanohara & Tsujii (2005) for its use here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "linear/kernel.h"

namespace textmill::linear {

inline constexpr std::size_t kPadding = 4;  // rows are filled up with zeros to a multiple of it

// Rows of a symmetric positive semi-definite matrix.
class KernelRows {
 public:
  virtual ~KernelRows() = default;
  virtual std::size_t size() const = 0;
  virtual double diagonal(std::size_t i) const = 0;
  // Row i, padded; it and the row asked for before it stay valid until the next call.
  virtual const double* row(std::size_t i) = 0;
};

// All of the matrix in memory: a copy of the rows and columns `listed` of a larger one, [size][size].
class DenseRows final : public KernelRows {
 public:
  DenseRows(std::span<const double> matrix, std::size_t size, std::span<const std::int32_t> listed);
  std::size_t size() const override { return n_; }
  double diagonal(std::size_t i) const override { return values_[i * stride_ + i]; }
  const double* row(std::size_t i) override { return values_.data() + i * stride_; }

 private:
  std::size_t n_, stride_;
  std::vector<double> values_;  // [n][stride]
};

// Rows made from the data when they are asked for; those used last are kept, `most` >= 2 of them.
class CachedRows final : public KernelRows {
 public:
  CachedRows(const base::Csr<std::int64_t, double>& x, const Design& z, const Kernel& kernel, std::size_t most);
  std::size_t size() const override { return x_.rows; }
  double diagonal(std::size_t i) const override { return diagonal_[i]; }
  const double* row(std::size_t i) override;

 private:
  struct Entry {
    std::size_t row;
    std::vector<double> values;  // padded
  };
  base::Csr<std::int64_t, double> x_;
  const Design& z_;
  Kernel kernel_;
  std::size_t most_;
  std::vector<double> squares_;   // [n]
  std::vector<double> diagonal_;  // [n]
  std::list<Entry> entries_;      // the row used last comes first
  std::unordered_map<std::size_t, std::list<Entry>::iterator> places_;
};

struct SupportProblem {
  std::span<const double> target;  // y [n]
  std::span<const double> lower;   // [n], <= 0
  std::span<const double> upper;   // [n], >= 0
  double tube;                     // >= 0
};

struct SupportSolution {
  double intercept = 0.0;
  double objective = 0.0;  // of the problem above
  double violation = 0.0;  // distance of the slopes of the worst pair
  std::size_t steps = 0;
};

// dual [n] and slope g [n] hold a feasible start, such as b = 0 and g = -y, and receive the solution.
SupportSolution solve_support(KernelRows& kernel, const SupportProblem& problem, double tolerance,
                              std::size_t max_steps, std::span<double> dual, std::span<double> slope);

}  // namespace textmill::linear
