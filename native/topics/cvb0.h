// Collapsed variational inference of order zero: the expression of the collapsed sampler with expected counts.
//
//   gamma_dwt ~ (J_dt - gamma_dwt + alpha_t) (K_wt - gamma_dwt + eta_wt) / (K_t - gamma_dwt + sum_w eta_wt)
//   J_dt = sum_w n_dw gamma_dwt,   K_wt = sum_d n_dw gamma_dwt,   K_t = sum_w K_wt
//
// gamma of an entry is the same for all its n_dw tokens, and one of them is left out of the counts when it is renewed. No
// random numbers but those of the start, a random topic for most of each entry. Sweeps are stages of cells as in gibbs.h:
// same bytes for any number of threads. Counts follow each change; they are added up anew every few sweeps, so that
// roundings do not grow.
//
// Memory: entries x K floats. Cost: entries x K a sweep, eight topics at a time. Reference: Asuncion, Welling, Smyth & Teh
// (2009), On smoothing and inference for topic models.
#pragma once

#include <cstdint>
#include <memory>

#include "topics/gibbs.h"

namespace textmill::topics {

// As make_sampler; `assignments` gives each token the topic of the largest gamma of its entry.
std::unique_ptr<Sampler> make_collapsed_variational(const Bags& bags, const Priors& priors, std::uint64_t seed);

}  // namespace textmill::topics
