// Mixtures of topics: documents as mixtures theta of fixed topics phi, and the step of EM that improves both.
//
//   p_dw   = sum_t theta_dt phi_tw                              the probability of word w in document d
//   L_d    = sum_w n_dw log p_dw + sum_t prior_t log theta_dt   what is maximized, with sum_t theta_dt = 1
//   g_dt   = sum_w n_dw phi_tw / p_dw + prior_t / theta_dt      its gradient
//   theta_dt <- theta_dt g_dt / N_d,  N_d = sum_w n_dw + sum_t prior_t                                    (EM)
//
// Topics are stored by term, phi [V][K], so that the K numbers of a word lie together; they need not sum to 1, and a
// word that no topic has (all K numbers 0) is left out of the sums. L_d is concave in theta_d, so EM climbs to the
// global maximum, and the gap
//
//   max_t g_dt / N_d - 1  >=  (max L_d - L_d) / N_d
//
// says how far away it is at most. EM alone is slow near the maximum: `accelerate` extrapolates from two steps to a
// third point (SQUAREM, scheme S3), which is kept only if L_d has not fallen; the gradient at that point is the next
// step, so nothing is computed in vain. A document that has not got there after some steps is finished by Newton steps on
// one topic at a time, which make topics exactly 0 where EM only shrinks them.
//
// With tempering theta enters as theta^temper (and the caller passes phi^temper): what is maximized is then
// (1 / temper) sum_w n_dw log sum_t (theta_dt phi_tw)^temper, as concave, by the same step.
//
// Cost of a step: 2 K multiplications an entry. Documents are independent: same bytes for any number of threads.
// References: Hofmann (2001), Unsupervised learning by probabilistic latent semantic analysis; Heidel et al. (2007),
// Language model adaptation using latent Dirichlet allocation and an efficient topic inference algorithm; Varadhan &
// Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "topics/gradient.h"

namespace textmill::topics {

struct Rule {
  std::span<const double> prior;  // [K], >= 0: Dirichlet parameters less one, 0 for none
  double temper;                  // in (0, 1]
  double tolerance;               // of the gap, > 0
  std::size_t iterations;         // at most, >= 1
  bool accelerate;
};

struct Outcome {                       // a view, one entry a document
  std::span<double> likelihood;        // sum_w n_dw log p_dw at theta (tempered: as above, without the prior)
  std::span<double> gap;               // at theta
  std::span<std::int32_t> iterations;  // gradients computed
  std::span<double> trace;             // [n][most iterations] or empty: what is maximized, at each point that was kept

  std::span<double> trace_of(std::size_t d, std::size_t most) const {
    return trace.empty() ? trace : trace.subspan(d * most, most);
  }
};

// Improves theta [n][K], rows of positive numbers that sum to 1, until the gap is below the tolerance. A document
// without words that the topics have becomes prior / sum of prior, or uniform; its likelihood is 0. Real is double or float.
template <class Real>
void fold_in(const Documents& documents, std::span<const Real> phi, std::size_t topics, const Rule& rule,
             std::span<double> theta, const Outcome& outcome, std::size_t threads);

// One E step for both sides: ratio [nnz] = n_dw / p_dw (0 where p_dw is 0), gradient [n][K] = sum_w ratio_dw phi_tw,
// likelihood [n] = sum_w n_dw log p_dw over words with p_dw > 0. The caller gets the side of the terms as the product
// ratio^T theta. `theta` [n][K] holds any numbers >= 0.
template <class Real>
void expect(const Documents& documents, std::span<const Real> phi, std::size_t topics, std::span<const double> theta,
            std::span<double> ratio, std::span<double> gradient, std::span<double> likelihood, std::size_t threads);

}  // namespace textmill::topics
