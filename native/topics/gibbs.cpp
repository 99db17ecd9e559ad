#include "topics/gibbs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "topics/counts.h"
#include "topics/draw.h"

namespace textmill::topics {
namespace {

constexpr std::uint16_t kNone = 65535;  // the topic of a token that has none yet

template <class Count>
class State final : public Counts<Count> {
  using Counts<Count>::n_, Counts<Count>::V_, Counts<Count>::K_, Counts<Count>::row_;
  using Counts<Count>::by_word_, Counts<Count>::by_document_, Counts<Count>::by_topic_;
  using Counts<Count>::alpha_, Counts<Count>::alpha_row_;
  using Counts<Count>::by_cell_, Counts<Count>::eta_, Counts<Count>::eta_total_;
  static constexpr bool kWeighted = std::is_same_v<Count, float>;

 public:
  State(const Bags& bags, std::span<const float> weights, const Priors& priors, bool collapsed, std::uint64_t seed,
        std::span<const std::int32_t> start)
      : Counts<Count>(bags.offsets.size() - 1, bags.vocabulary, priors),
        cells_(bags, Items::tokens),
        collapsed_(collapsed),
        seed_(seed),
        words_(cells_.items()),
        topics_(cells_.items(), kNone) {
    if (kWeighted) weights_.resize(cells_.items());
    for (std::size_t d = 0; d < n_; ++d) {
      cells_.each(bags, d, [&](std::size_t item, std::size_t entry) {
        words_[item] = bags.terms[entry];
        if constexpr (kWeighted) weights_[item] = weights[entry];
      });
    }
    if (!start.empty()) {
      cells_.in_order(words_, [&](std::size_t item, std::size_t position) {
        topics_[item] = static_cast<std::uint16_t>(start[position]);
      });
      sweep_ = 1;
    }
    recount(1);
  }

  std::size_t stages() const override { return cells_.groups; }

  void advance(std::size_t threads) override {
    if (collapsed_ || sweep_ == 0) {
      collapsed(threads);
    } else {
      uncollapsed(threads);
    }
    if (++stage_ == cells_.groups) {
      stage_ = 0;
      if (kWeighted || (!collapsed_ && sweep_ > 0)) recount(threads);  // weights: sums of floats would drift
      ++sweep_;
    }
  }

  void assignments(std::span<std::int32_t> out) const override {
    cells_.in_order(words_, [&](std::size_t item, std::size_t position) {
      out[position] = topics_[item] == kNone ? -1 : topics_[item];
    });
  }

  std::size_t tokens() const override { return cells_.items(); }

 private:
  // All counts anew from the topics of the tokens.
  void recount(std::size_t threads) {
    this->count_again(cells_, words_, threads, [this](std::size_t i, Count* row) {
      if (topics_[i] != kNone) row[topics_[i]] += weight(i);
    });
  }

  Count weight([[maybe_unused]] std::size_t i) const {
    if constexpr (kWeighted) return weights_[i];
    return Count{1};
  }

  // 32 random bits for a token of a sweep: SplitMix64 (Steele, Lea & Flood, 2014) of its number, under a key from Philox.
  class Words {
   public:
    Words(std::uint64_t seed, std::uint64_t sweep) : key_(base::Random(seed, sweep).bits()) {}
    TEXTMILL_INLINED std::uint32_t at(std::size_t token) const {
      std::uint64_t z = key_ + token * 0x9E3779B97F4A7C15;
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
      z = (z ^ z >> 27) * 0x94D049BB133111EB;
      return static_cast<std::uint32_t>(z >> 32);
    }

   private:
    std::uint64_t key_;
  };

  void collapsed(std::size_t threads) {
    this->each_cell(cells_, stage_, threads, [this](std::size_t c, std::size_t g, std::vector<double>& by_topic) {
      base::with_packs([this, c, g, &by_topic]<class Pack>() TEXTMILL_INLINED {
        if (by_cell_) {
          cell<Pack, true>(c, g, by_topic.data());
        } else {
          cell<Pack, false>(c, g, by_topic.data());
        }
      });
    });
  }

  template <class Pack, bool kEach>
  TEXTMILL_INLINED void cell(std::size_t c, std::size_t g, double* by_topic) {
    const std::size_t vectors = row_ / kWide;
    std::vector<float> scratch(4 * row_, 1.0F);
    float *a = scratch.data(), *bottom = a + row_, *inverse = bottom + row_, *sums = inverse + row_;
    const float* alpha = alpha_row_.data();  // out of reach of stores, unlike members
    const float* all_etas = eta_.data();
    const double* eta_total = eta_total_.data();
    const std::int32_t* words = words_.data();
    std::uint16_t* topics = topics_.data();
    Count *by_word = by_word_.data(), *by_document = by_document_.data();
    const std::size_t K = K_, length = row_, eta_step = kEach ? row_ : eta_.size() > 1 ? 1 : 0;
    const auto topic_changed = [=](std::size_t t) TEXTMILL_INLINED {
      bottom[t] = static_cast<float>(by_topic[t] + eta_total[t]);
      inverse[t] = 1.0F / bottom[t];
    };
    for (std::size_t t = 0; t < K; ++t) topic_changed(t);
    const Words random(seed_, sweep_);
    for (std::size_t d = cells_.bounds[c]; d < cells_.bounds[c + 1]; ++d) {
      const auto [begin, end] = cells_.segment(d, g);
      if (begin == end) continue;
      Count* document = by_document + d * length;
      for (std::size_t t = 0; t < length; t += kWide)
        store(a + t, (load<Pack>(document + t) + load<Pack>(alpha + t)) * load<Pack>(inverse + t));
      for (std::size_t i = begin; i < end; ++i) {
        const auto w = static_cast<std::size_t>(words[i]);
        Count* row = by_word + w * length;
        const float* etas = all_etas + w * eta_step;
        const Count one = weight(i);
        const std::size_t old = topics[i];
        Present present = kNowhere;
        if (old != kNone) {
          const float eta = kEach ? etas[old] : *etas;
          const auto here = static_cast<float>(row[old]), there = static_cast<float>(document[old]);
          const auto own = static_cast<float>(one);
          present = {old, a[old] * (here + eta),
                     (rest(there, own) + alpha[old]) / rest(bottom[old], own) * (rest(here, own) + eta)};
        }
        std::size_t topic;
        if constexpr (kEach) {
          topic = draw<Pack>(a, row, Each{etas}, K, vectors, sums, random.at(i), present);
        } else {
          topic = draw<Pack>(a, row, Same{*etas}, K, vectors, sums, random.at(i), present);
        }
        if (topic == old) continue;
        const auto changed = [=](std::size_t t) TEXTMILL_INLINED {
          topic_changed(t);
          a[t] = (static_cast<float>(document[t]) + alpha[t]) * inverse[t];
        };
        if (old != kNone) {
          row[old] = static_cast<Count>(rest(row[old], one));
          document[old] = static_cast<Count>(rest(document[old], one));
          by_topic[old] -= one;
          changed(old);
        }
        row[topic] += one;
        document[topic] += one;
        by_topic[topic] += one;
        changed(topic);
        topics[i] = static_cast<std::uint16_t>(topic);
      }
    }
  }

  // A count without one token; sums of floats may be off by a rounding, but not below 0.
  template <class Number>
  TEXTMILL_INLINED static Number rest(Number count, Number one) {
    const auto left = static_cast<Number>(count - one);
    if constexpr (kWeighted) return left > 0 ? left : 0;
    return left;
  }

  // Topics phi are drawn at the beginning of a sweep, not divided by their sums: the sums go into theta.
  void uncollapsed(std::size_t threads) {
    if (stage_ == 0) draw_phi(threads);
    const std::size_t first = cells_.bounds[stage_], count = cells_.bounds[stage_ + 1] - first;
    const std::size_t vectors = row_ / kWide;
    const std::uint64_t seed = seed_ + 0x9E3779B97F4A7C15;  // of the mixtures
    base::parallel_blocks(count, kRows, threads, [&](std::size_t begin, std::size_t end) {
      base::with_packs([=, this]<class Pack>() TEXTMILL_INLINED {
        std::vector<float> scratch(2 * row_, 0.0F);
        float *a = scratch.data(), *sums = a + row_;
        const Words random(seed_, sweep_);
        for (std::size_t d = first + begin; d < first + end; ++d) {
          base::Random gamma(seed, (static_cast<std::uint64_t>(sweep_) << 40) + d);
          for (std::size_t t = 0; t < K_; ++t) {
            a[t] = static_cast<float>(gamma.gamma(by_document_[d * row_ + t] + alpha_[t]) * phi_scale_[t]);
          }
          for (auto i = static_cast<std::size_t>(cells_.starts[d]); i < static_cast<std::size_t>(cells_.starts[d + 1]);
               ++i) {
            const float* row = phi_.data() + static_cast<std::size_t>(words_[i]) * row_;
            const std::size_t topic =
                draw<Pack>(a, row, Same{0.0F}, K_, vectors, sums, random.at(i), {topics_[i], 0.0F, 0.0F});
            topics_[i] = static_cast<std::uint16_t>(topic);
          }
        }
      });
    });
  }

  void draw_phi(std::size_t threads) {
    phi_.resize(V_ * row_);
    Totals sum{std::vector<double>(row_, 0.0)};
    const std::uint64_t seed = seed_ + 2 * 0x9E3779B97F4A7C15;  // of the topics
    base::parallel_sum(V_, threads, sum, [&](std::size_t w, Totals& lane) {
      base::Random gamma(seed, (static_cast<std::uint64_t>(sweep_) << 40) + w);
      for (std::size_t t = 0; t < K_; ++t) {
        const double value = gamma.gamma(by_word_[w * row_ + t] + this->eta(w, t));
        phi_[w * row_ + t] = static_cast<float>(value);
        lane.value[t] += value;
      }
    });
    phi_scale_.assign(row_, 0.0);
    for (std::size_t t = 0; t < K_; ++t) phi_scale_[t] = sum.value[t] > 0.0 ? 1.0 / sum.value[t] : 0.0;
  }

  Cells cells_;
  bool collapsed_;
  std::uint64_t seed_;
  std::size_t sweep_ = 0, stage_ = 0;
  std::vector<std::int32_t> words_;    // [tokens]
  std::vector<std::uint16_t> topics_;  // [tokens]
  std::vector<float> weights_;         // [tokens], or empty
  std::vector<float> phi_;             // [V][row], uncollapsed only
  std::vector<double> phi_scale_;      // [row]
};

}  // namespace

std::unique_ptr<Sampler> make_sampler(const Bags& bags, std::span<const float> weights, const Priors& priors,
                                      bool collapsed, std::uint64_t seed, std::span<const std::int32_t> start) {
  if (!weights.empty()) return std::make_unique<State<float>>(bags, weights, priors, collapsed, seed, start);
  std::vector<std::int64_t> frequency(bags.vocabulary, 0);
  std::int64_t most = 0;
  for (std::size_t d = 0; d + 1 < bags.offsets.size(); ++d) {
    std::int64_t length = 0;
    for (auto e = static_cast<std::size_t>(bags.offsets[d]); e < static_cast<std::size_t>(bags.offsets[d + 1]); ++e) {
      length += bags.counts[e];
      most = std::max(most, frequency[static_cast<std::size_t>(bags.terms[e])] += bags.counts[e]);
    }
    most = std::max(most, length);
  }
  if (most <= std::numeric_limits<std::uint16_t>::max())
    return std::make_unique<State<std::uint16_t>>(bags, weights, priors, collapsed, seed, start);
  if (most > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument("a word or a document has more than 2,147,483,647 tokens");
  return std::make_unique<State<std::int32_t>>(bags, weights, priors, collapsed, seed, start);
}

}  // namespace textmill::topics
