// Dual coordinate descent for logistic regression with an L2 penalty and two classes.
//
//   minimise over 0 < a_i < s_i      1 / (2 l2) |sum_i y_i a_i x_i|^2 + sum_i a_i log a_i + (s_i - a_i) log(s_i - a_i)
//
// y_i in {-1, +1}, s_i the weight of row i, w = sum_i y_i a_i x_i / l2. One pass visits the rows in random order and
// minimises over one a_i by a few Newton steps on the smaller of a_i and s_i - a_i, which keeps digits near the bounds.
// Cost of a pass: two visits of every entry. Reference: Yu, Huang & Lin (2011).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sparse.h"

namespace textmill::linear {

// One pass over the rows with s_i > 0. dual [n][2] holds a_i and s_i - a_i, w [m]; square [n] = |x_i|^2. Returns the
// largest slope that was met.
double dual_pass(const base::Csr<std::int64_t, double>& x, std::span<const std::int32_t> label,
                 std::span<const double> weight, std::span<const double> square, double l2, std::uint64_t seed,
                 std::span<double> dual, std::span<double> w);

}  // namespace textmill::linear
