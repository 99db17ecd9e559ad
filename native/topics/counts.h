// The counts of a topic model, whole or expected, and what follows from them alone.
//
//   by_word [V][row], by_document [n][row], by_topic [row]; row is K rounded up to whole vectors, 0 behind K
//
// Count is std::uint16_t, std::int32_t or float. See gibbs.h for the formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/math.h"
#include "base/parallel.h"
#include "topics/cells.h"
#include "topics/draw.h"
#include "topics/gibbs.h"
#include "topics/special.h"

namespace textmill::topics {

inline constexpr std::size_t kRows = 256;  // of a parallel task
inline constexpr double kLeastAlpha = 1e-5;

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

// A Sampler without its way of sampling.
template <class Count>
class Counts : public Sampler {
 public:
  double joint(std::size_t threads) const override {
    Total sum;
    base::parallel_sum(V_, threads, sum, [&](std::size_t w, Total& lane) {
      const Count* row = by_word_.data() + w * row_;
      for (std::size_t t = 0; t < K_; ++t) {
        if (row[t] > 0) lane.value += log_rise(row[t], eta(w, t));
      }
    });
    const double total_alpha = std::accumulate(alpha_.begin(), alpha_.end(), 0.0);
    base::parallel_sum(n_, threads, sum, [&](std::size_t d, Total& lane) {
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
  std::size_t documents() const override { return n_; }
  std::size_t vocabulary() const override { return V_; }

  void totals(std::span<double> words, std::span<double> documents) const override {
    for (std::size_t t = 0; t < K_; ++t) {
      words[t] = documents[t] = 0.0;
      for (std::size_t w = 0; w < V_; ++w) words[t] += by_word_[w * row_ + t];
      for (std::size_t d = 0; d < n_; ++d) documents[t] += by_document_[d * row_ + t];
    }
  }

 protected:
  Counts(std::size_t documents, std::size_t vocabulary, const Priors& priors)
      : n_(documents),
        V_(vocabulary),
        K_(priors.topics),
        row_(padded(priors.topics)),
        by_word_(V_ * row_),
        by_document_(n_ * row_),
        by_topic_(row_, 0.0),
        alpha_(priors.alpha.begin(), priors.alpha.end()) {
    set_alpha();
    set_eta(priors);
  }

  double eta(std::size_t w, std::size_t t) const {
    return by_cell_ ? eta_[w * row_ + t] : eta_[eta_.size() == 1 ? 0 : w];
  }

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

  // by_topic from by_word.
  void add_topics(std::size_t threads) {
    Totals sum{std::vector<double>(row_, 0.0)};
    base::parallel_sum(V_, threads, sum, [&](std::size_t w, Totals& lane) {
      for (std::size_t t = 0; t < K_; ++t) lane.value[t] += by_word_[w * row_ + t];
    });
    by_topic_ = std::move(sum.value);
  }

  // One stage: work(c, g, by_topic) for every group c of documents and its group g of words, each on a copy of by_topic_
  // of its own, whose changes are then added.
  template <class Work>
  void each_cell(const Cells& cells, std::size_t stage, std::size_t threads, Work work) {
    const std::size_t P = cells.groups;
    std::vector<std::vector<double>> local(P, by_topic_);
    base::parallel_for(P, threads, [&](std::size_t c) { work(c, (c + stage) % P, local[c]); });
    const std::vector<double> before = by_topic_;
    for (std::size_t c = 0; c < P; ++c) {
      for (std::size_t t = 0; t < K_; ++t) by_topic_[t] += local[c][t] - before[t];
    }
  }

  // All counts anew: add(item, row) adds an item to the row of its word, and to that of its document.
  template <class Add>
  void count_again(const Cells& cells, std::span<const std::int32_t> words, std::size_t threads, Add add) {
    std::fill(by_word_.begin(), by_word_.end(), Count{0});
    std::fill(by_document_.begin(), by_document_.end(), Count{0});
    base::parallel_for(cells.groups, threads, [&](std::size_t g) {
      for (std::size_t d = 0; d < n_; ++d) {
        const auto [begin, end] = cells.segment(d, g);
        for (std::size_t i = begin; i < end; ++i) add(i, by_word_.data() + static_cast<std::size_t>(words[i]) * row_);
      }
    });
    base::parallel_blocks(n_, kRows, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t d = first; d < last; ++d) {
        const auto end = static_cast<std::size_t>(cells.starts[d + 1]);
        for (auto i = static_cast<std::size_t>(cells.starts[d]); i < end; ++i) add(i, by_document_.data() + d * row_);
      }
    });
    add_topics(threads);
  }

  std::size_t n_, V_, K_, row_;
  std::vector<Count> by_word_, by_document_;
  std::vector<double> by_topic_;
  std::vector<double> alpha_;     // [K]
  std::vector<float> alpha_row_;  // [row]
  bool by_cell_ = false;          // eta_ is [V][row], else [1] or [V]
  std::vector<float> eta_;
  std::vector<double> eta_total_;  // [row]: sum_w eta_wt
  bool expected_ = false;          // counts are expectations of whole numbers

 private:
  // Values above 0 that documents have, each once, with how many have it.
  struct Grouped {
    std::vector<double> values, many;
    Grouped() = default;
    explicit Grouped(std::vector<double> all) {
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
    for (std::size_t d = 0; d < n_; ++d) {
      const Count* row = by_document_.data() + d * row_;
      const double length = std::accumulate(row, row + K_, 0.0);
      if (length > 0.0) lengths.push_back(length);
    }
    return Grouped(std::move(lengths));
  }

  Grouped grouped_counts(std::size_t t) const {
    if (expected_) return grouped_expectations(t);
    std::vector<double> counts;
    for (std::size_t d = 0; d < n_; ++d) {
      const Count count = by_document_[d * row_ + t];
      if (count > 0) counts.push_back(count);
    }
    return Grouped(std::move(counts));
  }

  // An expectation of 0.2 is one token in a fifth of the cases, not a fifth of a token: psi is far from a straight line
  // there, so a number between two whole ones counts as both, in shares.
  Grouped grouped_expectations(std::size_t t) const {
    Grouped made;
    for (std::size_t d = 0; d < n_; ++d) {
      const double count = by_document_[d * row_ + t], whole = std::floor(count);
      const auto at = static_cast<std::size_t>(whole);
      if (made.many.size() < at + 2) made.many.resize(at + 2, 0.0);
      made.many[at] += 1.0 - (count - whole);
      made.many[at + 1] += count - whole;
    }
    made.values.resize(made.many.size());
    std::iota(made.values.begin(), made.values.end(), 0.0);
    return made;
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
    base::parallel_blocks(n_, kRows, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t d = begin; d < end; ++d) {
        Real* mean = theta.data() + d * K_;
        const Count* row = by_document_.data() + d * row_;
        const double scale = 1.0 / (std::accumulate(row, row + K_, 0.0) + total_alpha);
        for (std::size_t t = 0; t < K_; ++t) mean[t] += s * (static_cast<Real>((row[t] + alpha_[t]) * scale) - mean[t]);
      }
    });
  }
};

}  // namespace textmill::topics
