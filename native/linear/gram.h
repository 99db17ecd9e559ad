// The quadratic model of linear/descent.h with X^T D X written out, where columns are few and rows short.
//
//   G = X_A^T D X_A, one more row and column for the intercept      g = slope of the model at s
//   u <- S(H u - g_a, l1) / H,   g <- g + (change of u) G_a         one coordinate of the model
//
// A sweep then costs |A|^2 and not a visit of every entry, so that hundreds of sweeps are cheaper than one: categories
// written as columns of ones, whose groups each add up to the intercept, need that many.
// Cost: the products of the entries of each row once, and an array of |A|^2 for each of four lanes of rows; the bytes do
// not depend on the threads. Reference: Friedman, Hastie & Tibshirani (2010), Regularization paths ("covariance updates").
#pragma once

#include <optional>
#include <span>

#include "linear/descent.h"

namespace textmill::linear {

// As descend; nothing where the columns are too many or the rows too long for this to pay.
std::optional<Descent> descend_gram(const Design& x, const Quadratic& model, const Sweeps& sweeps,
                                    std::span<double> step, std::span<double> change, std::size_t threads);

}  // namespace textmill::linear
