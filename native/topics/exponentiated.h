// Exponentiated gradient: the mixture of topics that makes a document most likely, by steps in log theta.
//
//   log theta_t <- log theta_t + rate g_t / n - constant        g = dL / dtheta (gradient.h), n = sum_w n_w
//
// The rate belongs to the document: a step after which L is lower, or a word is lost by underflow, is taken back and
// the rate halved; after every other step s = change of log theta, y = -change of g / n, it becomes that of Barzilai and
// Borwein, var(s) / cov(s, y) under theta, or grows by half where that is not positive. So L never falls, no rate is too
// large to begin with, and logarithms keep topics alive whose probability underflows. The rule of stopping is that of EM:
//
//   max_t g_t / n - 1  >=  (max L - L) / n
//
// Cost: 2 K multiplications an entry and K exponentials a step. Documents are independent: same bytes for any number of
// threads. References: Kivinen & Warmuth (1997), Exponentiated gradient versus gradient descent for linear predictors;
// Barzilai & Borwein (1988), Two-point step size gradient methods.
#pragma once

#include <cstddef>
#include <span>

#include "topics/mixture.h"

namespace textmill::topics {

struct Ascent {
  double rate;             // to begin with, > 0
  double tolerance;        // of the gap, > 0
  std::size_t iterations;  // gradients at most, >= 1
};

// Improves theta [n][K], rows of positive numbers that sum to 1. A document without words that the topics have becomes
// uniform; its likelihood is 0. Real is double or float.
template <class Real>
void exponentiate(const Documents& documents, std::span<const Real> phi, std::size_t topics, const Ascent& ascent,
                  std::span<double> theta, const Outcome& outcome, std::size_t threads);

}  // namespace textmill::topics
