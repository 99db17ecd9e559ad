// Variational inference of Dirichlet allocation: the E step on a chunk of documents, topics fixed.
//
//   q(theta_d) = Dirichlet(gamma_d),   q(beta_t) = Dirichlet(lambda_t),   lambda = eta + chi
//
//   B_wt       = exp(psi(lambda_tw) - psi(sum_w lambda_tw))
//   e_t        = exp(psi(gamma_dt))                     exp(-psi(sum_t gamma_dt)) cancels
//   norm_w     = sum_t e_t B_wt
//   gamma_dt  <- alpha_t + e_t sum_w n_dw B_wt / norm_w                        until mean |change| < tolerance
//   chi_tw    += n_dw e_t B_wt / norm_w                                        with the final gamma
//
// Nothing changes when B is divided by a number of each word: it is stored divided by the largest number of its word,
// the logarithm of which is kept for the bound. With e >= 1e-30 and a largest B of 1 no norm is 0, so float is safe
// with any eta and alpha. Only the rows of words that the chunk has are made, K numbers of a word together.
//
// Within a document most topics die: once e_t sum_w n_dw B_wt / norm_w is lost in the rounding of alpha_t, the topic
// changes nothing. The rows of the document are then copied without the dead topics, and the iterations go on with a few
// numbers a word. At the end a step with all topics checks that none has come back; if one has, all go on.
//
// Cost: 2 multiplications for each entry, living topic and iteration. Memory: rows of B for the words of the chunk, e
// for its documents. Documents are independent and chi is summed in the order of documents: same bytes for any number
// of threads. References: Hoffman, Blei & Bach (2010), Online learning for latent Dirichlet allocation; Rehurek (2011),
// algorithm 4.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topics/mixture.h"

namespace textmill::topics {

template <class Real>
struct Posterior {                   // a view of q(beta)
  std::span<const Real> statistics;  // chi [V][K], >= 0
  std::span<const double> eta;       // [rows][columns], rows 1 or V, columns 1 or K; chi + eta > 0
  std::size_t eta_rows, eta_columns;
  std::span<const double> psi_totals;  // [K], psi(sum_w lambda_tw)
};

struct Inner {
  std::span<const double> alpha;  // [K], > 0
  std::size_t iterations;         // at most, >= 1
  double tolerance;               // of the mean change of gamma
};

template <class Real>
struct Chunk {                      // filled by expect_topics
  std::vector<std::int32_t> words;  // [U] the terms of the chunk, rising
  std::vector<Real> statistics;     // [U][K] their chi; empty if not wanted
};

// Improves gamma [n][K], any positive numbers, for each document; steps [n] says how many iterations that took,
// likelihood [n] (or empty) becomes sum_w n_dw log sum_t exp(E log theta_dt + E log beta_tw). A document without words
// has gamma = alpha and likelihood 0.
template <class Real>
Chunk<Real> expect_topics(const Documents& documents, const Posterior<Real>& posterior, const Inner& inner,
                          bool collect, std::span<Real> gamma, std::span<std::int32_t> steps,
                          std::span<double> likelihood, std::size_t threads);

// statistics [V][K] <- keep * statistics, and the rows of `words` (rising) += add * new_rows [U][K]; sums [K] are the new
// totals of the columns. With `noise` [K] (or empty) every number of topic t also gains noise_t times a number of mean 1
// and deviation 0.1, always the same one for a seed and a place.
template <class Real>
void blend(std::span<Real> statistics, std::size_t topics, double keep, std::span<const std::int32_t> words,
           std::span<const Real> new_rows, double add, std::span<const double> noise, std::uint64_t seed,
           std::span<double> sums, std::size_t threads);

// Rows first, first + 1, ... of a random start: numbers of mean 1 and standard deviation 0.1, Gamma(100) / 100.
template <class Real>
void random_start(std::uint64_t seed, std::size_t first, std::size_t topics, std::span<Real> rows, std::size_t threads);

}  // namespace textmill::topics
