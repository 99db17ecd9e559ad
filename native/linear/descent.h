// Coordinate descent on the quadratic model of a penalized logistic loss: the inner loop of a proximal Newton method.
//
//   minimize over s      g . s + 1/2 s^T (X^T D X + l2 I) s + l1 |w + s|          over the listed columns of X
//
//   for a coordinate j, with q = D X s and u = w_j + s_j:
//     G   = g_j + l2 s_j + sum_i x_ij q_i             one gather per entry
//     H   = sum_i x_ij^2 d_i + l2
//     u  <- S(H u - G, l1) / H,    q <- q + (change of u) D x_j,    S: soft threshold
//
// A free intercept is one more column of ones that is not penalized. Keeping q = D X s instead of X s saves a second
// gather for each entry read; X s is q / D at the end. A coordinate at 0 whose |G| is further below l1 than anything
// was violated in the last sweep is left out until the next model.
//
// Where columns nearly add up to others, as the words of one slot add up to the column of ones, sweeps creep. Then every
// fifth iterate is replaced by the combination of the last ones whose moves nearly cancel (Anderson), if the model is
// lower there; q is linear in s, so it comes along.
//
// Where columns are long, 1,024 rows in the mean, threads share the rows of each and meet for every sum
// (linear/lockstep.h): the very steps of one thread. Where they are short one thread works: coordinates of text share
// rows, and steps that do not know of each other need more sweeps. Two lanes that meet at the end of a sweep took 1.3 to
// 2.1 times the processor time of one; lanes that meet four or eight times in it, with steps of two thirds or half the
// size, 1.0 to 1.7 times, and did not converge on some text: the commonest words are in most rows.
// Cost: an entry is read once per sweep, and written when its weight moves.
// References: Yuan, Ho & Lin (2012), An improved GLMNET for L1-regularized logistic regression; Bertrand & Massias (2021),
// Anderson acceleration of coordinate descent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linear/design.h"

namespace textmill::linear {

struct Quadratic {
  std::span<const std::int32_t> listed;   // [a] columns, each once
  std::span<const double> weight;         // [a] w
  std::span<const double> slope;          // [a] g, of loss and l2 at w
  std::span<const double> curvature;      // [a] sum_i x_ij^2 d_i
  std::span<const double> row_curvature;  // [n] d > 0
  double l1;
  double l2;
  bool intercept;
  double intercept_slope;
};

struct Sweeps {
  std::size_t most;    // at least 1
  double accuracy;     // stop when the violations of a sweep add up to this share of those of the first,
  double enough;       // or when a sweep lowers the model by no more than this
  std::uint64_t seed;  // of the order of the columns
};

struct Descent {
  std::size_t sweeps;
  double intercept_step;
};

// Fills step [a] with s and change [n] with D X s (the intercept included).
Descent descend(const Design& x, const Quadratic& model, const Sweeps& sweeps, std::span<double> step,
                std::span<double> change, std::size_t threads);

}  // namespace textmill::linear
