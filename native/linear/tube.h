// Linear support vector regression over many rows, by dual coordinate descent.
//
//   minimize over b    1/2 |sum_i b_i x_i|^2 + rate / 2 (sum_i b_i)^2 + sum_i b_i (center - y_i) + tube |b|_1,
//   |b_i| <= C         w = sum_i b_i x_i,  intercept = center + rate sum_i b_i
//
// It is the dual of a problem whose intercept costs (intercept - center)^2 / (2 rate). Moving the center to the
// intercept after each pass makes the cost vanish in the end: the intercept is then free of penalty, as in
//   1/2 |w|^2 + C sum_i max(0, |w.x_i + intercept - y_i| - tube).
// One pass visits the rows in random order and minimizes over one b_i exactly.
//
// Cost of a pass: two visits of every entry. References: Ho & Lin (2012); Rockafellar (1976) for the moving center.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sparse.h"

namespace textmill::linear {

struct TubeSettings {
  double cost;    // C > 0
  double tube;    // >= 0
  double center;  // of the intercept
  double rate;    // > 0, or 0 for a problem without intercept
};

// One pass. target, square (|x_i|^2) and dual [n], w [m]; total = sum_i b_i is kept up to date. Returns the largest
// projected slope that was met.
double tube_pass(const base::Csr<std::int64_t, double>& x, std::span<const double> target,
                 std::span<const double> square, const TubeSettings& settings, std::uint64_t seed,
                 std::span<double> dual, std::span<double> w, double& total);

}  // namespace textmill::linear
