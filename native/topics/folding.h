// New documents with fixed topics: their mixtures by Gibbs sampling, and their evidence from left to right.
//
//   P(z_i = t | others) ~ (n_t + alpha_t) phi_wt          n: tokens of the document in each topic, token i left out
//
//   left to right   P(w_1 ... w_L) = prod_i P(w_i | w_1 ... w_i-1), each factor the mean over R particles of
//                   sum_t phi_wt (n_t + alpha_t) / (i - 1 + alpha.), n of the particle's topics of the tokens before i,
//                   which are drawn anew, one after the other, before each i
//
// Topics are stored by term, phi [V][K], any numbers >= 0; a row is divided by its largest number (kept as a logarithm),
// which changes no draw, so that floats do not vanish. Words that no topic has are left out.
//
// Random numbers belong to (seed, document): same bytes for any number of threads. Cost: sweeps L K; L^2 R K / 2.
// Reference: Wallach, Murray, Salakhutdinov & Mimno (2009), Evaluation methods for topic models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topics/cells.h"

namespace textmill::topics {

class FixedTopics {
 public:
  // phi [V][K], alpha [K], finite, > 0. Real is double or float.
  template <class Real>
  FixedTopics(std::span<const Real> phi, std::span<const double> alpha, std::size_t threads);

  std::size_t vocabulary() const { return log_scale_.size(); }
  std::size_t topics() const { return alpha_.size(); }

  // theta [n][K]: means of (n_t + alpha_t) / (L + alpha.) over the sweeps after the first `burn_in` < sweeps. Document d
  // has the number first + d for its random numbers.
  void mixtures(const Bags& bags, std::size_t sweeps, std::size_t burn_in, std::uint64_t seed, std::uint64_t first,
                std::span<double> theta, std::size_t threads) const;

  // log P(words) [n], tokens of a document in an order that the seed decides.
  void left_to_right(const Bags& bags, std::size_t particles, std::uint64_t seed, std::uint64_t first,
                     std::span<double> evidence, std::size_t threads) const;

 private:
  struct Scratch;
  void known_tokens(const Bags& bags, std::size_t d, std::vector<std::int32_t>& out) const;

  std::size_t row_;            // topics rounded up to whole vectors
  std::vector<double> alpha_;  // [K]
  double total_alpha_;
  std::vector<float> phi_;         // [V][row], largest number of a row 1
  std::vector<double> log_scale_;  // [V], -infinity where no topic has the word
};

}  // namespace textmill::topics
