// Gibbs sampling of the topics of tokens: latent Dirichlet allocation, collapsed and not.
//
//   K_wt   tokens of word w in topic t (by_word)      J_dt   tokens of document d in topic t       K_t = sum_w K_wt
//
//   collapsed     P(z_i = t | others) ~ (J_dt + alpha_t) (K_wt + eta_wt) / (K_t + sum_w eta_wt)     without token i itself
//   uncollapsed   theta_d ~ Dirichlet(J_d + alpha), phi_t ~ Dirichlet(K_t + eta_t),   P(z_i = t) ~ theta_dt phi_tw
//
//   log P(w, z) = sum_t [lnG(eta_t.) - lnG(K_t + eta_t.)] + sum_wt [lnG(K_wt + eta_wt) - lnG(eta_wt)]
//               + sum_d [lnG(alpha.) - lnG(J_d. + alpha.)] + sum_dt [lnG(J_dt + alpha_t) - lnG(alpha_t)]
//
// With weights a token counts as much as its weight says, in both counts.
//
// A sweep is P stages of cells (cells.h). The cells of a stage share no document and no word, so the only count that a
// cell does not see change is K_t: it works on the K_t of the beginning of its stage and its own changes. That is off by
// less than 1 / P of what moves in a sweep, in sums over the whole corpus; a corpus of one group is sampled exactly. The
// uncollapsed sampler is exact for any corpus. Random numbers belong to (seed, sweep, token): same bytes for any number
// of threads.
//
// Every token looks at all K topics, eight at a time (draw.h); nothing is written when its topic stays. Counts take 16
// bits where no word and no document has more than 65,535 tokens, else 32. Memory: V K + n K counts, 6 bytes a token.
//
// Learning alpha: Minka's fixed point, alpha_t <- alpha_t sum_d [psi(J_dt + alpha_t) - psi(alpha_t)] /
// sum_d [psi(J_d. + alpha.) - psi(alpha.)].
//
// References: Griffiths & Steyvers (2004), Finding scientific topics; Yan, Xu & Qi (2009), Parallel inference for latent
// Dirichlet allocation on graphics processing units; Wilson & Chew (2010), Term weighting schemes for latent Dirichlet
// allocation; Minka (2000), Estimating a Dirichlet distribution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "topics/cells.h"

namespace textmill::topics {

inline constexpr std::size_t kMostTopics = 65535;

struct Priors {
  std::size_t topics;             // K, 1 to kMostTopics
  std::span<const double> alpha;  // [K], finite, > 0
  std::span<const double> eta;    // [1], [V] or [V][K], finite, > 0
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  virtual std::size_t stages() const = 0;
  // One stage of the running sweep. Stages of the first sweep draw the first topics, each given those drawn before.
  virtual void advance(std::size_t threads) = 0;

  virtual double joint(std::size_t threads) const = 0;
  // mean += share (counts - mean), for counts K [V][K] and mixtures (J_dt + alpha_t) / (J_d. + alpha.) [n][K].
  virtual void average(std::span<float> counts, std::span<float> theta, double share, std::size_t threads) const = 0;
  virtual void average(std::span<double> counts, std::span<double> theta, double share, std::size_t threads) const = 0;
  virtual void learn_alpha(std::size_t iterations, std::size_t threads) = 0;
  virtual std::span<const double> alpha() const = 0;
  // Topics of all tokens, document by document, in each by word; -1 for a token that has none yet.
  virtual void assignments(std::span<std::int32_t> out) const = 0;
  virtual std::size_t tokens() const = 0;
  virtual std::size_t documents() const = 0;
  virtual std::size_t vocabulary() const = 0;
  // sum_w K_wt and sum_d J_dt by topic, each recounted: both are the tokens of a topic.
  virtual void totals(std::span<double> words, std::span<double> documents) const = 0;
};

// `weights` [nnz] or empty; `start` [tokens], topics as `assignments` gives them, or empty. Throws std::invalid_argument
// where the sizes do not fit.
std::unique_ptr<Sampler> make_sampler(const Bags& bags, std::span<const float> weights, const Priors& priors,
                                      bool collapsed, std::uint64_t seed, std::span<const std::int32_t> start);

}  // namespace textmill::topics
