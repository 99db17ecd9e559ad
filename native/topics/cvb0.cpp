#include "topics/cvb0.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "topics/counts.h"
#include "topics/draw.h"

namespace textmill::topics {
namespace {

constexpr std::size_t kSweepsBetweenSums = 16;
constexpr float kLeast = 1e-20F;     // of a count without its token: differences of roundings are not below it
constexpr float kStartShare = 0.9F;  // of the random topic of an entry

template <class Pack>
TEXTMILL_INLINED inline Lanes at_least(Lanes value) {
  const Lanes least = Lanes{} + kLeast;
  return value > least ? value : least;
}

class Expected final : public Counts<float> {
 public:
  Expected(const Bags& bags, const Priors& priors, std::uint64_t seed)
      : Counts<float>(bags.offsets.size() - 1, bags.vocabulary, priors),
        cells_(bags, Items::entries),
        words_(cells_.items()),
        many_(cells_.items()),
        gamma_(cells_.items() * row_, 0.0F) {
    expected_ = true;
    for (std::size_t d = 0; d < n_; ++d) {
      base::Random random(seed, d);
      cells_.each(bags, d, [&](std::size_t item, std::size_t entry) {
        words_[item] = bags.terms[entry];
        many_[item] = static_cast<float>(bags.counts[entry]);
        tokens_ += static_cast<std::size_t>(bags.counts[entry]);
        float* gamma = gamma_.data() + item * row_;
        const float rest = (1.0F - kStartShare) / static_cast<float>(K_);
        std::fill(gamma, gamma + K_, rest);
        gamma[random.below(K_)] += kStartShare;
      });
    }
    add_up_again(1);
  }

  std::size_t stages() const override { return cells_.groups; }
  std::size_t tokens() const override { return tokens_; }

  void advance(std::size_t threads) override {
    each_cell(cells_, stage_, threads, [this](std::size_t c, std::size_t g, std::vector<double>& by_topic) {
      base::with_packs([this, c, g, &by_topic]<class Pack>() TEXTMILL_INLINED {
        if (by_cell_) {
          cell<Pack, true>(c, g, by_topic);
        } else {
          cell<Pack, false>(c, g, by_topic);
        }
      });
    });
    if (++stage_ == cells_.groups) {
      stage_ = 0;
      if (++sweep_ % kSweepsBetweenSums == 0) {
        add_up_again(threads);
      } else {
        add_topics(threads);
      }
    }
  }

  void assignments(std::span<std::int32_t> out) const override {
    std::size_t at = 0;
    cells_.in_order(words_, [&](std::size_t item, std::size_t) {
      const float* gamma = gamma_.data() + item * row_;
      const auto topic = static_cast<std::int32_t>(std::max_element(gamma, gamma + K_) - gamma);
      for (auto i = static_cast<std::size_t>(many_[item]); i > 0; --i) out[at++] = topic;
    });
  }

 private:
  template <class Pack, bool kEach>
  TEXTMILL_INLINED void cell(std::size_t c, std::size_t g, std::vector<double>& by_topic) {
    std::vector<float> scratch(3 * row_, 0.0F);
    float *bottom = scratch.data(), *moved = bottom + row_, *fresh = moved + row_;
    for (std::size_t t = 0; t < row_; ++t) bottom[t] = t < K_ ? static_cast<float>(by_topic[t] + eta_total_[t]) : 2.0F;
    const float* alpha = alpha_row_.data();
    for (std::size_t d = cells_.bounds[c]; d < cells_.bounds[c + 1]; ++d) {
      const auto [begin, end] = cells_.segment(d, g);
      float* document = by_document_.data() + d * row_;
      for (std::size_t i = begin; i < end; ++i) {
        const auto w = static_cast<std::size_t>(words_[i]);
        float *word = by_word_.data() + w * row_, *gamma = gamma_.data() + i * row_;
        const float* etas = kEach ? eta_.data() + w * row_ : eta_.data() + (eta_.size() == 1 ? 0 : w);
        Lanes sum{};
        for (std::size_t t = 0; t < row_; t += kWide) {
          const Lanes own = load<Pack>(gamma + t);
          const Lanes there = at_least<Pack>(load<Pack>(document + t) - own) + load<Pack>(alpha + t);
          const Lanes eta = kEach ? load<Pack>(etas + t) : Lanes{} + *etas;
          const Lanes here = at_least<Pack>(load<Pack>(word + t) - own) + eta;
          const Lanes value = there * here / (load<Pack>(bottom + t) - own);
          sum += value;
          store(fresh + t, value);
        }
        float total = detail::sum(sum);
        for (std::size_t t = K_; t < row_; ++t) total -= fresh[t], fresh[t] = 0.0F;  // what padding has added
        if (!(total > 0.0F)) continue;
        const Lanes scale = Lanes{} + 1.0F / total, many = Lanes{} + many_[i];
        for (std::size_t t = 0; t < row_; t += kWide) {
          const Lanes renewed = load<Pack>(fresh + t) * scale;
          const Lanes change = many * (renewed - load<Pack>(gamma + t));
          store(gamma + t, renewed);
          store(document + t, load<Pack>(document + t) + change);
          store(word + t, load<Pack>(word + t) + change);
          store(bottom + t, load<Pack>(bottom + t) + change);
          store(moved + t, load<Pack>(moved + t) + change);
        }
      }
    }
    for (std::size_t t = 0; t < K_; ++t) by_topic[t] += moved[t];
  }

  // All counts anew from gamma.
  void add_up_again(std::size_t threads) {
    count_again(cells_, words_, threads, [this](std::size_t i, float* sums) { add(i, sums); });
  }

  void add(std::size_t item, float* sums) const {
    const float* gamma = gamma_.data() + item * row_;
    for (std::size_t t = 0; t < K_; ++t) sums[t] += many_[item] * gamma[t];
  }

  Cells cells_;
  std::size_t sweep_ = 0, stage_ = 0, tokens_ = 0;
  std::vector<std::int32_t> words_;  // [entries]
  std::vector<float> many_;          // [entries]
  std::vector<float> gamma_;         // [entries][row]
};

}  // namespace

std::unique_ptr<Sampler> make_collapsed_variational(const Bags& bags, const Priors& priors, std::uint64_t seed) {
  return std::make_unique<Expected>(bags, priors, seed);
}

}  // namespace textmill::topics
