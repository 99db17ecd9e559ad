#include "topics/gibbs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/math.h"
#include "base/parallel.h"
#include "base/random.h"
#include "topics/draw.h"
#include "topics/special.h"

namespace textmill::topics {
namespace {

constexpr std::uint16_t kNone = 65535;         // the topic of a token that has none yet
constexpr std::size_t kRows = 256;             // of a parallel task
constexpr double kLeastAlpha = 1e-5;

struct Total {
  double value = 0.0;
  static Total zero_like(const Total&) { return {}; }
  Total& operator+=(const Total& other) {
    value += other.value;
    return *this;
  }
};

struct Totals {
  std::vector<double> value;
  static Totals zero_like(const Totals& other) { return {std::vector<double>(other.value.size(), 0.0)}; }
  Totals& operator+=(const Totals& other) {
    for (std::size_t t = 0; t < value.size(); ++t) value[t] += other.value[t];
    return *this;
  }
};

template <class Count>
class State final : public Sampler {
  static constexpr bool kWeighted = std::is_same_v<Count, float>;

 public:
  State(const Bags& bags, std::span<const float> weights, const Priors& priors, bool collapsed, std::uint64_t seed,
        std::span<const std::int32_t> start)
      : cells_(bags, Items::tokens),
        V_(bags.vocabulary),
        K_(priors.topics),
        row_(padded(priors.topics)),
        collapsed_(collapsed),
        seed_(seed),
        words_(cells_.items()),
        topics_(cells_.items(), kNone),
        by_word_(V_ * row_),
        by_document_(cells_.documents() * row_),
        by_topic_(row_, 0.0),
        alpha_(priors.alpha.begin(), priors.alpha.end()) {
    if (kWeighted) weights_.resize(cells_.items());
    for (std::size_t d = 0; d < cells_.documents(); ++d) {
      cells_.each(bags, d, [&](std::size_t item, std::size_t entry) {
        words_[item] = bags.terms[entry];
        if constexpr (kWeighted) weights_[item] = weights[entry];
      });
    }
    set_alpha();
    set_eta(priors);
    if (!start.empty()) {
      in_order([&](std::size_t item, std::size_t position) { topics_[item] = static_cast<std::uint16_t>(start[position]); });
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

  double joint(std::size_t threads) const override {
    Total sum;
    base::parallel_sum(V_, threads, sum, [&](std::size_t w, Total& lane) {
      const Count* row = by_word_.data() + w * row_;
      for (std::size_t t = 0; t < K_; ++t) {
        if (row[t] > 0) lane.value += log_rise(row[t], eta(w, t));
      }
    });
    const double total_alpha = std::accumulate(alpha_.begin(), alpha_.end(), 0.0);
    base::parallel_sum(cells_.documents(), threads, sum, [&](std::size_t d, Total& lane) {
      const Count* row = by_document_.data() + d * row_;
      double length = 0.0;
      for (std::size_t t = 0; t < K_; ++t) {
        if (row[t] > 0) lane.value += log_rise(row[t], alpha_[t]);
        length += row[t];
      }
      lane.value -= log_rise(length, total_alpha);
    });
    for (std::size_t t = 0; t < K_; ++t) sum.value -= log_rise(by_topic_[t], eta_total_[t]);
    return sum.value;
  }

  void average(std::span<float> counts, std::span<float> theta, double share, std::size_t threads) const override {
    average_into(counts, theta, share, threads);
  }
  void average(std::span<double> counts, std::span<double> theta, double share, std::size_t threads) const override {
    average_into(counts, theta, share, threads);
  }

  void learn_alpha(std::size_t iterations, std::size_t threads) override {
    const Grouped lengths = grouped_lengths();
    std::vector<Grouped> counts(K_);
    base::parallel_for(K_, threads, [&](std::size_t t) { counts[t] = grouped_counts(t); });
    for (std::size_t i = 0; i < iterations; ++i) {
      const double denominator = lengths.rise(std::accumulate(alpha_.begin(), alpha_.end(), 0.0));
      if (!(denominator > 0.0)) break;
      base::parallel_for(K_, threads, [&](std::size_t t) {
        alpha_[t] = std::max(alpha_[t] * (counts[t].rise(alpha_[t]) / denominator), kLeastAlpha);
      });
    }
    set_alpha();
  }

  std::span<const double> alpha() const override { return alpha_; }

  void assignments(std::span<std::int32_t> out) const override {
    in_order([&](std::size_t item, std::size_t position) {
      out[position] = topics_[item] == kNone ? -1 : topics_[item];
    });
  }

  std::size_t tokens() const override { return cells_.items(); }
  std::size_t documents() const override { return cells_.documents(); }
  std::size_t vocabulary() const override { return V_; }

  void totals(std::span<double> words, std::span<double> documents) const override {
    for (std::size_t t = 0; t < K_; ++t) {
      words[t] = documents[t] = 0.0;
      for (std::size_t w = 0; w < V_; ++w) words[t] += by_word_[w * row_ + t];
      for (std::size_t d = 0; d < cells_.documents(); ++d) documents[t] += by_document_[d * row_ + t];
    }
  }

 private:
  // Values above 0 that documents have, each once, with how many have it.
  struct Grouped {
    std::vector<double> values, many;
    explicit Grouped(std::vector<double> all = {}) {
      std::sort(all.begin(), all.end());
      for (const double value : all) {
        if (values.empty() || values.back() != value) values.push_back(value), many.push_back(0.0);
        many.back() += 1.0;
      }
    }
    // sum [psi(value + a) - psi(a)]
    double rise(double a) const {
      std::vector<double> psi(values.size() + 1, a);
      for (std::size_t i = 0; i < values.size(); ++i) psi[i] += values[i];
      base::digamma(psi, psi);
      double sum = 0.0;
      for (std::size_t i = 0; i < values.size(); ++i) sum += many[i] * (psi[i] - psi.back());
      return sum;
    }
  };

  Grouped grouped_lengths() const {
    std::vector<double> lengths;
    for (std::size_t d = 0; d < cells_.documents(); ++d) {
      const Count* row = by_document_.data() + d * row_;
      const double length = std::accumulate(row, row + K_, 0.0);
      if (length > 0.0) lengths.push_back(length);
    }
    return Grouped(std::move(lengths));
  }

  Grouped grouped_counts(std::size_t t) const {
    std::vector<double> counts;
    for (std::size_t d = 0; d < cells_.documents(); ++d) {
      const Count count = by_document_[d * row_ + t];
      if (count > 0) counts.push_back(count);
    }
    return Grouped(std::move(counts));
  }

  double eta(std::size_t w, std::size_t t) const { return by_cell_ ? eta_[w * row_ + t] : eta_[eta_.size() == 1 ? 0 : w]; }

  void set_alpha() {
    alpha_row_.assign(row_, 0.0F);
    for (std::size_t t = 0; t < K_; ++t) alpha_row_[t] = static_cast<float>(alpha_[t]);
  }

  void set_eta(const Priors& priors) {
    by_cell_ = priors.eta.size() > 1 && priors.eta.size() != V_;
    eta_total_.assign(row_, 1.0);
    if (by_cell_) {
      eta_.assign(V_ * row_, 0.0F);
      std::fill(eta_total_.begin(), eta_total_.begin() + static_cast<std::ptrdiff_t>(K_), 0.0);
      for (std::size_t w = 0; w < V_; ++w) {
        for (std::size_t t = 0; t < K_; ++t) {
          eta_[w * row_ + t] = static_cast<float>(priors.eta[w * K_ + t]);
          eta_total_[t] += priors.eta[w * K_ + t];
        }
      }
    } else {
      eta_.assign(priors.eta.begin(), priors.eta.end());
      const double total = std::accumulate(priors.eta.begin(), priors.eta.end(), 0.0);
      std::fill(eta_total_.begin(), eta_total_.end(), eta_.size() == V_ ? total : total * static_cast<double>(V_));
    }
  }

  // All counts anew from the topics of the tokens.
  void recount(std::size_t threads) {
    std::fill(by_word_.begin(), by_word_.end(), Count{0});
    std::fill(by_document_.begin(), by_document_.end(), Count{0});
    base::parallel_for(cells_.groups, threads, [&](std::size_t g) {
      for (std::size_t d = 0; d < cells_.documents(); ++d) {
        const auto [begin, end] = cells_.segment(d, g);
        for (std::size_t i = begin; i < end; ++i) {
          if (topics_[i] != kNone) by_word_[static_cast<std::size_t>(words_[i]) * row_ + topics_[i]] += weight(i);
        }
      }
    });
    base::parallel_blocks(cells_.documents(), kRows, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t d = first; d < last; ++d) {
        for (auto i = static_cast<std::size_t>(cells_.starts[d]); i < static_cast<std::size_t>(cells_.starts[d + 1]); ++i) {
          if (topics_[i] != kNone) by_document_[d * row_ + topics_[i]] += weight(i);
        }
      }
    });
    Totals sum{std::vector<double>(row_, 0.0)};
    base::parallel_sum(V_, threads, sum, [&](std::size_t w, Totals& lane) {
      for (std::size_t t = 0; t < K_; ++t) lane.value[t] += by_word_[w * row_ + t];
    });
    by_topic_ = std::move(sum.value);
  }

  Count weight([[maybe_unused]] std::size_t i) const {
    if constexpr (kWeighted) return weights_[i];
    return Count{1};
  }

  // Random words of the tokens of a sweep: four tokens share a block.
  class Words {
   public:
    Words(std::uint64_t seed, std::uint64_t sweep) : seed_(seed), sweep_(sweep) {}
    std::uint32_t at(std::size_t token) {
      const std::uint64_t block = token / 4;
      if (block != block_) {
        const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
        words_ = base::philox4x32({low(block), low(block >> 32), low(sweep_), low(sweep_ >> 32)}, {low(seed_), low(seed_ >> 32)});
        block_ = block;
      }
      return words_[token % 4];
    }

   private:
    std::uint64_t seed_, sweep_, block_ = ~std::uint64_t{0};
    std::array<std::uint32_t, 4> words_{};
  };

  void collapsed(std::size_t threads) {
    const std::size_t P = cells_.groups;
    std::vector<std::vector<double>> local(P, by_topic_);
    base::parallel_for(P, threads, [&](std::size_t c) {
      std::vector<double>& by_topic = local[c];
      const std::size_t g = (c + stage_) % P;
      base::with_packs([this, c, g, &by_topic]<class Pack>() TEXTMILL_INLINED {
        if (by_cell_) {
          cell<true>(c, g, by_topic.data());
        } else {
          cell<false>(c, g, by_topic.data());
        }
      });
    });
    const std::vector<double> before = by_topic_;
    for (std::size_t c = 0; c < P; ++c) {
      for (std::size_t t = 0; t < K_; ++t) by_topic_[t] += local[c][t] - before[t];
    }
  }

  template <bool kEach>
  TEXTMILL_INLINED void cell(std::size_t c, std::size_t g, double* by_topic) {
    const std::size_t vectors = row_ / kWide;
    std::vector<float> scratch(3 * row_);
    float *a = scratch.data(), *inverse = a + row_, *sums = inverse + row_;
    for (std::size_t t = 0; t < K_; ++t) inverse[t] = 1.0F / static_cast<float>(by_topic[t] + eta_total_[t]);
    const float* alpha = alpha_row_.data();
    Words random(seed_, sweep_);
    for (std::size_t d = cells_.bounds[c]; d < cells_.bounds[c + 1]; ++d) {
      const auto [begin, end] = cells_.segment(d, g);
      if (begin == end) continue;
      Count* document = by_document_.data() + d * row_;
      for (std::size_t t = 0; t < row_; t += kWide) store(a + t, (load(document + t) + load(alpha + t)) * load(inverse + t));
      for (std::size_t i = begin; i < end; ++i) {
        const auto w = static_cast<std::size_t>(words_[i]);
        Count* row = by_word_.data() + w * row_;
        const float* etas = kEach ? eta_.data() + w * row_ : eta_.data() + (eta_.size() == 1 ? 0 : w);
        const Count one = weight(i);
        const std::size_t old = topics_[i];
        Own own{0, 0.0F};
        if (old != kNone) {
          const float eta = kEach ? etas[old] : *etas;
          const float here = std::max(static_cast<float>(row[old]) - static_cast<float>(one), 0.0F) + eta;
          const float there = std::max(static_cast<float>(document[old]) - static_cast<float>(one), 0.0F) + alpha[old];
          const float rest = there / static_cast<float>(by_topic[old] - one + eta_total_[old]);
          own = {old, std::max(a[old] * (static_cast<float>(row[old]) + eta) - rest * here, 0.0F)};
        }
        std::size_t topic;
        if constexpr (kEach) {
          topic = draw(a, row, Each{etas}, K_, vectors, sums, random.at(i), own);
        } else {
          topic = draw(a, row, Same{*etas}, K_, vectors, sums, random.at(i), own);
        }
        if (topic == old) continue;
        if (old != kNone) {
          row[old] = less(row[old], one);
          document[old] = less(document[old], one);
          by_topic[old] -= one;
          inverse[old] = 1.0F / static_cast<float>(by_topic[old] + eta_total_[old]);
          a[old] = (static_cast<float>(document[old]) + alpha[old]) * inverse[old];
        }
        row[topic] += one;
        document[topic] += one;
        by_topic[topic] += one;
        inverse[topic] = 1.0F / static_cast<float>(by_topic[topic] + eta_total_[topic]);
        a[topic] = (static_cast<float>(document[topic]) + alpha[topic]) * inverse[topic];
        topics_[i] = static_cast<std::uint16_t>(topic);
      }
    }
  }

  TEXTMILL_INLINED static Count less(Count from, Count one) {
    if constexpr (kWeighted) return std::max(from - one, 0.0F);
    return static_cast<Count>(from - one);
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
        Words random(seed_, sweep_);
        for (std::size_t d = first + begin; d < first + end; ++d) {
          base::Random gamma(seed, (static_cast<std::uint64_t>(sweep_) << 40) + d);
          for (std::size_t t = 0; t < K_; ++t) {
            a[t] = static_cast<float>(gamma.gamma(by_document_[d * row_ + t] + alpha_[t]) * phi_scale_[t]);
          }
          for (auto i = static_cast<std::size_t>(cells_.starts[d]); i < static_cast<std::size_t>(cells_.starts[d + 1]); ++i) {
            const float* row = phi_.data() + static_cast<std::size_t>(words_[i]) * row_;
            const std::size_t topic = draw(a, row, Same{0.0F}, K_, vectors, sums, random.at(i), {topics_[i], 0.0F});
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
        const double value = gamma.gamma(by_word_[w * row_ + t] + eta(w, t));
        phi_[w * row_ + t] = static_cast<float>(value);
        lane.value[t] += value;
      }
    });
    phi_scale_.assign(row_, 0.0);
    for (std::size_t t = 0; t < K_; ++t) phi_scale_[t] = sum.value[t] > 0.0 ? 1.0 / sum.value[t] : 0.0;
  }

  template <class Real>
  void average_into(std::span<Real> counts, std::span<Real> theta, double share, std::size_t threads) const {
    const Real s = static_cast<Real>(share);
    base::parallel_blocks(V_, kRows, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t w = begin; w < end; ++w) {
        Real* mean = counts.data() + w * K_;
        const Count* row = by_word_.data() + w * row_;
        for (std::size_t t = 0; t < K_; ++t) mean[t] += s * (static_cast<Real>(row[t]) - mean[t]);
      }
    });
    const double total_alpha = std::accumulate(alpha_.begin(), alpha_.end(), 0.0);
    base::parallel_blocks(cells_.documents(), kRows, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t d = begin; d < end; ++d) {
        Real* mean = theta.data() + d * K_;
        const Count* row = by_document_.data() + d * row_;
        const double scale = 1.0 / (std::accumulate(row, row + K_, 0.0) + total_alpha);
        for (std::size_t t = 0; t < K_; ++t) mean[t] += s * (static_cast<Real>((row[t] + alpha_[t]) * scale) - mean[t]);
      }
    });
  }

  // body(item, position): the tokens of a document are merged by word.
  template <class F>
  void in_order(F&& body) const {
    std::array<std::size_t, Cells::kMostGroups> next, last;
    for (std::size_t d = 0; d < cells_.documents(); ++d) {
      for (std::size_t g = 0; g < cells_.groups; ++g) {
        const auto [begin, end] = cells_.segment(d, g);
        next[g] = begin, last[g] = end;
      }
      for (auto at = static_cast<std::size_t>(cells_.starts[d]); at < static_cast<std::size_t>(cells_.starts[d + 1]); ++at) {
        std::size_t best = cells_.groups;
        for (std::size_t g = 0; g < cells_.groups; ++g) {
          if (next[g] < last[g] && (best == cells_.groups || words_[next[g]] < words_[next[best]])) best = g;
        }
        body(next[best]++, at);
      }
    }
  }

  Cells cells_;
  std::size_t V_, K_, row_;               // row_: K rounded up to whole vectors
  bool collapsed_, by_cell_ = false;      // by_cell_: eta_ is [V][row], else [1] or [V]
  std::uint64_t seed_;
  std::size_t sweep_ = 0, stage_ = 0;
  std::vector<std::int32_t> words_;       // [tokens]
  std::vector<std::uint16_t> topics_;     // [tokens]
  std::vector<float> weights_;            // [tokens], or empty
  std::vector<Count> by_word_;            // [V][row]
  std::vector<Count> by_document_;        // [n][row]
  std::vector<double> by_topic_;          // [row]
  std::vector<double> alpha_;             // [K]
  std::vector<float> alpha_row_;          // [row], 0 behind K
  std::vector<float> eta_;
  std::vector<double> eta_total_;         // [row]: sum_w eta_wt
  std::vector<float> phi_;                // [V][row], uncollapsed only
  std::vector<double> phi_scale_;         // [row]
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
