#include "topics/folding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "base/random.h"
#include "topics/draw.h"

namespace textmill::topics {
namespace {
constexpr std::size_t kRows = 256;  // of a parallel task
}

struct FixedTopics::Scratch {
  explicit Scratch(const FixedTopics& topics)
      : a(topics.row_, 0.0F),
        alpha(topics.row_, 0.0F),
        sums(topics.row_),
        row(topics.row_),
        vectors(topics.row_ / kWide) {
    std::copy(topics.alpha_.begin(), topics.alpha_.end(), alpha.begin());
  }
  void clear() { a = alpha; }

  std::vector<float> a, alpha, sums;  // a_t = n_t + alpha_t
  std::size_t row, vectors;
};

namespace {

// A topic for a token, or a new one for a token that has `old`; leaves the token in the counts.
template <class Pack, class S>
TEXTMILL_INLINED inline std::size_t place(S& s, std::size_t topics, const float* phi, std::uint32_t uniform,
                                          std::size_t old, bool placed, float* total = nullptr) {
  float* a = s.a.data();
  const Present present = placed ? Present{old, a[old] * phi[old], (a[old] - 1.0F) * phi[old]} : kNowhere;
  const std::size_t topic = draw<Pack>(a, phi, Same{0.0F}, topics, s.vectors, s.sums.data(), uniform, present, total);
  if (placed && topic == old) return topic;
  if (placed) a[old] -= 1.0F;
  a[topic] += 1.0F;
  return topic;
}

std::uint32_t bits(base::Random& random) { return static_cast<std::uint32_t>(random.bits() >> 32); }

}  // namespace

template <class Real>
FixedTopics::FixedTopics(std::span<const Real> phi, std::span<const double> alpha, std::size_t threads)
    : row_(padded(alpha.size())),
      alpha_(alpha.begin(), alpha.end()),
      total_alpha_(std::accumulate(alpha.begin(), alpha.end(), 0.0)),
      phi_(phi.size() / alpha.size() * row_, 0.0F),
      log_scale_(phi.size() / alpha.size()) {
  const std::size_t K = alpha.size();
  base::parallel_blocks(log_scale_.size(), kRows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      const Real* from = phi.data() + w * K;
      const Real most = *std::max_element(from, from + K);
      log_scale_[w] = std::log(static_cast<double>(most));
      if (!(most > 0)) continue;
      for (std::size_t t = 0; t < K; ++t) phi_[w * row_ + t] = static_cast<float>(from[t] / most);
    }
  });
}
template FixedTopics::FixedTopics(std::span<const double>, std::span<const double>, std::size_t);
template FixedTopics::FixedTopics(std::span<const float>, std::span<const double>, std::size_t);

void FixedTopics::known_tokens(const Bags& bags, std::size_t d, std::vector<std::int32_t>& out) const {
  out.clear();
  for (auto e = static_cast<std::size_t>(bags.offsets[d]); e < static_cast<std::size_t>(bags.offsets[d + 1]); ++e) {
    if (log_scale_[static_cast<std::size_t>(bags.terms[e])] == -std::numeric_limits<double>::infinity()) continue;
    out.insert(out.end(), static_cast<std::size_t>(bags.counts[e]), bags.terms[e]);
  }
}

void FixedTopics::mixtures(const Bags& bags, std::size_t sweeps, std::size_t burn_in, std::uint64_t seed,
                           std::uint64_t first, std::span<double> theta, std::size_t threads) const {
  const std::size_t K = alpha_.size();
  base::parallel_blocks(bags.offsets.size() - 1, 16, threads, [&](std::size_t begin, std::size_t end) {
    Scratch scratch(*this);
    std::vector<std::int32_t> tokens;
    std::vector<std::uint16_t> topics;
    for (std::size_t d = begin; d < end; ++d) {
      known_tokens(bags, d, tokens);
      topics.resize(tokens.size());
      base::Random random(seed, first + d);
      double* mean = theta.data() + d * K;
      base::with_packs([&]<class Pack>() TEXTMILL_INLINED {
        scratch.clear();
        for (std::size_t sweep = 0; sweep <= sweeps; ++sweep) {  // the first places the tokens
          for (std::size_t i = 0; i < tokens.size(); ++i) {
            const float* phi = phi_.data() + static_cast<std::size_t>(tokens[i]) * row_;
            topics[i] = static_cast<std::uint16_t>(place<Pack>(scratch, K, phi, bits(random), topics[i], sweep > 0));
          }
          if (sweep == burn_in) std::fill(mean, mean + K, 0.0);
          if (sweep > burn_in) {
            for (std::size_t t = 0; t < K; ++t) mean[t] += scratch.a[t];
          }
        }
      });
      double total = 0.0;
      for (std::size_t t = 0; t < K; ++t) total += mean[t];
      for (std::size_t t = 0; t < K; ++t) mean[t] /= total;
    }
  });
}

void FixedTopics::left_to_right(const Bags& bags, std::size_t particles, std::uint64_t seed, std::uint64_t first,
                                std::span<double> evidence, std::size_t threads) const {
  const std::size_t K = alpha_.size();
  base::parallel_for(bags.offsets.size() - 1, threads, [&](std::size_t d) {
    Scratch scratch(*this);
    std::vector<std::int32_t> tokens;
    known_tokens(bags, d, tokens);
    const std::size_t L = tokens.size();
    std::vector<std::uint16_t> topics(L);
    std::vector<double> sums(L, 0.0);
    base::Random random(seed, first + d);
    random.shuffle(std::span(tokens));
    for (std::size_t r = 0; r < particles; ++r) {
      base::with_packs([&]<class Pack>() TEXTMILL_INLINED {
        scratch.clear();
        for (std::size_t i = 0; i < L; ++i) {
          for (std::size_t j = 0; j < i; ++j) {
            const float* phi = phi_.data() + static_cast<std::size_t>(tokens[j]) * row_;
            topics[j] = static_cast<std::uint16_t>(place<Pack>(scratch, K, phi, bits(random), topics[j], true));
          }
          const float* phi = phi_.data() + static_cast<std::size_t>(tokens[i]) * row_;
          float weight = 0.0F;
          topics[i] = static_cast<std::uint16_t>(place<Pack>(scratch, K, phi, bits(random), 0, false, &weight));
          sums[i] += weight;
        }
      });
    }
    double log_evidence = 0.0;
    for (std::size_t i = 0; i < L; ++i) {
      log_evidence += std::log(sums[i] / static_cast<double>(particles)) +
                      log_scale_[static_cast<std::size_t>(tokens[i])] - std::log(static_cast<double>(i) + total_alpha_);
    }
    evidence[d] = log_evidence;
  });
}

}  // namespace textmill::topics
