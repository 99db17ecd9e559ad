// Arithmetic of optimizers on vectors of parameters, each function one pass over memory, in the calling thread.
//
//   pg_i       = g_i + l1_i sign(theta_i) if theta_i != 0, else g_i - clamp(g_i, -l1_i, l1_i)         pseudo-gradient
//   align      d_i <- 0 where d_i pg_i >= 0 and l1_i > 0 (and theta_i = 0)
//   project    theta_i(a) = theta_i + a d_i, or 0 where that has the other sign and l1_i > 0
//
// Sums are those of blocks of 4096 entries, each in the lanes of four packs, added in order: one result for one
// instruction set, wherever the arrays lie. All vectors of a call have one length n; `l1` has n entries or one for all.
// Reference: Andrew & Gao (2007) for the pseudo-gradient and its orthant.
#pragma once

#include <span>

namespace textmill::base {

using Reals = std::span<const double>;

double dot(Reals a, Reals b);
// sum_i a_i^2 / d_i
double divided_square(Reals a, Reals d);
// max_i |a_i|, 0 of nothing; NaN is passed over.
double largest_magnitude(Reals a);
// sum_i l1_i |a_i|
double weighted_norm(Reals a, Reals l1);
// y <- y + factor x
void add_scaled(std::span<double> y, double factor, Reals x);
// The same, and then b . y
double add_scaled_dot(std::span<double> y, double factor, Reals x, Reals b);

void pseudo_gradient(Reals theta, Reals gradient, Reals l1, std::span<double> out);
// Aligns the direction with the pseudo-gradient, at all coordinates or only where theta is zero; returns its square.
double align(Reals theta, Reals gradient, Reals l1, bool zeros, std::span<double> direction);
// Fills `out` with theta(size); returns pg . (out - theta).
double project(Reals theta, Reals gradient, Reals l1, Reals direction, double size, std::span<double> out);

}  // namespace textmill::base
