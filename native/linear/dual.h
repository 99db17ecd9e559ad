// Dual coordinate descent for logistic regression with an L2 penalty and two classes.
//
//   minimize over 0 < a_i < s_i      1 / (2 l2) |sum_i y_i a_i x_i|^2 + sum_i a_i log a_i + (s_i - a_i) log(s_i - a_i)
//
// y_i in {-1, +1}, s_i the weight of row i, w = sum_i y_i a_i x_i / l2. A variable is kept as the margin m_i that it
// stands for, a_i = s_i / (1 + exp(m_i)), which keeps digits near the bounds. Over one a_i the minimum is the root of
//
//   f(m) = m - y_i w . x_i - q (s_i / (1 + exp(m)) - a_i),     q = |x_i|^2 / l2,     between m_i and y_i w . x_i
//
// and Newton's method needs two or three exponentials for it.
//
// A pass visits the rows in random order. The order is cut into stretches, and each stretch into two lanes, which do
// not see each other's changes of w; those are added at its end. `caution` multiplies q for that: 2 is safe with two
// lanes. The bytes are the same for any number of threads, and two of them work.
// Cost of a pass: two visits of every entry. References: Yu, Huang & Lin (2011); Ma et al. (2015), Adding vs. averaging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sparse.h"

namespace textmill::linear {

struct DualPass {
  double l2;
  double caution;      // >= 1
  std::uint64_t seed;  // of the order of the rows
  std::size_t threads;
};

// One pass over the rows with s_i > 0. dual [n] holds a_i, implied [n] m_i, w [m]; square [n] = |x_i|^2.
void dual_pass(const base::Csr<std::int64_t, double>& x, std::span<const std::int32_t> label,
               std::span<const double> weight, std::span<const double> square, const DualPass& pass,
               std::span<double> dual, std::span<double> implied, std::span<double> w);

}  // namespace textmill::linear
