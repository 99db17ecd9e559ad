// The Newton step of a logistic loss with an L2 penalty, two classes: conjugate gradients on passes over the rows.
//
//   solve  (X^T D X + l2 I) s = -g        over m weights, and one free intercept where there is one (behind the weights)
//   until  |left|_M <= accuracy |g|_M,    left = -g - H s,    |a|_M^2 = sum_j a_j^2 / M_j,    M the diagonal of H
//
// X s is summed along the way, so that a line search needs no further product. Cost: one pass for an iteration.
// Sums over columns are those of fixed blocks, added in order. Reference: Lin, Weng & Keerthi (2008); Hsia et al. (2018).
#pragma once

#include <cstddef>
#include <span>

#include "linear/passes.h"

namespace textmill::linear {

struct NewtonSystem {
  std::span<const double> gradient;       // [m or m + 1] g
  std::span<const double> diagonal;       // [same] M > 0
  std::span<const double> row_curvature;  // [n] d
  double l2;
  bool intercept;
};

struct NewtonStep {
  std::size_t iterations;
  double slope;  // g . s < 0
};

// Fills step [as gradient] with s and change [n] with X s, the intercept included.
NewtonStep newton_step(RowPasses& x, const NewtonSystem& system, double accuracy, std::size_t most,
                       std::span<double> step, std::span<double> change, std::size_t threads);

}  // namespace textmill::linear
