// The way of the chunks of a lane (lanes.h): all that is computed between weights and their expectations.
//
//   score      mu_t = exp(sum of the blocks of t); less the largest score of t only in chunks with large scores
//   forward    alpha_t = mu_t .* (alpha_{t-1}' psi) / c_t, c_t its sum;   log Z = sum of log c_t
//   backward   beta_{t-1} = psi v_t,  v_t = mu_t .* beta_t / c_t:  alpha_t . beta_t is 1, up to 4 t roundings, so that
//              alpha_t .* beta_t are the marginals
//   scatter    blocks of t += marginals of t;   product += alpha_{t-1} v_t'
#pragma once

#include "sequence/lanes.h"

namespace textmill::sequence {

// Fills value and range of `sums` from its weights and, with `gradient`, its gradient and product. `transposed` is the
// transpose of matrix.psi; scores up to `calm` are not shifted before exp.
void run_lane(const Schedule& schedule, std::size_t lane, const Entries& entries, const PairMatrix& matrix,
              const double* transposed, double calm, bool gradient, LaneSums& sums);

}  // namespace textmill::sequence
