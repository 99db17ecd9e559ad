// The lattice of a word in a field over letters: potentials, sums over labelings, a step of learning. letters.h has the
// model; this is for letters.cpp only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "base/math.h"
#include "tasks/letters.h"

namespace textmill::tasks {

inline constexpr std::uint64_t kNoTest = ~std::uint64_t{0};

// Numbers of keys.
class LetterTests {
 public:
  explicit LetterTests(std::span<const std::uint64_t> keys) {
    table_.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) table_.add(keys[i], static_cast<std::int32_t>(i));
  }
  std::int32_t find(std::uint64_t key) const { return table_.find(key, -1); }

 private:
  base::FlatTable<std::int32_t> table_;
};

namespace detail {

inline constexpr double kNone = -std::numeric_limits<double>::infinity();
inline constexpr double kLeastMass = 1e-250;  // sums of a letter below which logarithms are taken

inline std::uint64_t mixed(std::uint64_t h, std::uint64_t value) {
  h = (h ^ value) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 32;
}

// The keys of the tests of letter t. Outside of the word stand two signs, left and right.
template <class F>
void for_each_test(std::span<const std::int32_t> word, std::size_t t, const Windows& windows, F&& body) {
  const auto n = static_cast<std::int32_t>(word.size()), at = static_cast<std::int32_t>(t);
  const auto letter = [&](std::int32_t i) -> std::uint64_t {
    if (i < 0) return i == -1 ? 1 : 0;
    if (i >= n) return i == n ? 2 : 0;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(word[static_cast<std::size_t>(i)]) + 4);
  };
  const std::uint64_t own = mixed(0x51ED270B, letter(at));
  body(own);
  for (std::int32_t from = -windows.window; from <= windows.window; ++from) {
    std::uint64_t h = mixed(own, static_cast<std::uint64_t>(from + 1000));
    for (std::int32_t to = from; to <= windows.window && to - from < windows.longest; ++to) {
      const std::uint64_t next = letter(at + to);
      if (next == 0) break;  // beyond the sign outside
      h = mixed(h, next);
      if (from == 0 && to == 0) continue;
      body(h);
    }
  }
}

// The potentials of one word, and sums over labelings. Letters without labels have one that has no weight.
class Lattice {
 public:
  Lattice(const LetterLabels& labels, const Windows& windows, const LetterWeights& where, const LetterTests& tests,
          const LetterTests& pairs)
      : labels_(labels), windows_(windows), where_(where), tests_(tests), pairs_(pairs) {}

  // Finds the tests of a word.
  void open(std::span<const std::int32_t> word) {
    word_ = word;
    active_.clear();
    active_begin_.assign(1, 0);
    size_.clear();
    unary_begin_.assign(1, 0);
    step_begin_.assign(1, 0);
    pair_.clear();
    for (std::size_t t = 0; t < word.size(); ++t) {
      const std::size_t K = labels_.count(word[t]);
      if (K > 0)
        for_each_test(word, t, windows_, [&](std::uint64_t key) {
          const std::int32_t test = tests_.find(key);
          if (test >= 0) active_.push_back(where_.begin[static_cast<std::size_t>(test)]);
        });
      active_begin_.push_back(active_.size());
      size_.push_back(std::max<std::size_t>(1, K));
      unary_begin_.push_back(unary_begin_.back() + size_.back());
      step_begin_.push_back(step_begin_.back() + (t == 0 ? 0 : size_[t - 1] * size_[t]));
      const std::int32_t pair = t == 0 || K == 0 || labels_.count(word[t - 1]) == 0
                                    ? -1
                                    : pairs_.find(base::joined_key(word[t - 1], word[t]));
      pair_.push_back(pair < 0 ? -1 : where_.pair_begin[static_cast<std::size_t>(pair)]);
    }
  }

  // Fills the potentials, with weights that are to be multiplied by `scale`.
  void weigh(std::span<const float> weights, std::span<const float> pair_weights, std::span<const float> label_weights,
             double scale) {
    unary_.assign(unary_begin_.back(), 0.0);
    step_.assign(step_begin_.back(), 0.0);
    for (std::size_t t = 0; t < word_.size(); ++t) {
      const std::size_t K = size_[t];
      double* u = unary_.data() + unary_begin_[t];
      for (std::size_t a = active_begin_[t]; a < active_begin_[t + 1]; ++a) {
        const float* w = weights.data() + active_[a];
        for (std::size_t k = 0; k < K; ++k) u[k] += w[k];
      }
      for (std::size_t k = 0; k < K; ++k) u[k] *= scale;
      if (t == 0 || !has_labels(t) || !has_labels(t - 1)) continue;
      const std::span<const std::int32_t> own = labels_of(t), before = labels_of(t - 1);
      for (std::size_t j = 0; j < before.size(); ++j) {
        double* s = step_.data() + step_begin_[t] + j * K;
        const float* row = label_weights.data() + static_cast<std::size_t>(before[j]) * labels_.all_labels();
        for (std::size_t k = 0; k < K; ++k) s[k] = row[own[k]];
        if (pair_[t] >= 0) {
          const float* w = pair_weights.data() + static_cast<std::size_t>(pair_[t]) + j * K;
          for (std::size_t k = 0; k < K; ++k) s[k] += w[k];
        }
        for (std::size_t k = 0; k < K; ++k) s[k] *= scale;
      }
    }
  }

  // Log sums: alpha over what is before and at t, beta over what is behind t; returns ln Z.
  double sum() {
    const std::size_t T = word_.size();
    alpha_.assign(unary_.size(), 0.0);
    beta_.assign(unary_.size(), 0.0);
    if (T == 0) return 0.0;
    std::copy(unary_.begin(), unary_.begin() + static_cast<std::ptrdiff_t>(size_[0]), alpha_.begin());
    for (std::size_t t = 1; t < T; ++t)
      for (std::size_t k = 0; k < size_[t]; ++k)
        alpha_[unary_begin_[t] + k] = unary_[unary_begin_[t] + k] + sum_of(size_[t - 1], [&](std::size_t j) {
                                        return alpha_[unary_begin_[t - 1] + j] + step(t, j, k);
                                      });
    for (std::size_t t = T - 1; t-- > 0;)
      for (std::size_t j = 0; j < size_[t]; ++j)
        beta_[unary_begin_[t] + j] = sum_of(size_[t + 1], [&](std::size_t k) {
          return step(t + 1, j, k) + unary_[unary_begin_[t + 1] + k] + beta_[unary_begin_[t + 1] + k];
        });
    return log_z_ = sum_of(size_[T - 1], [&](std::size_t k) { return alpha_[unary_begin_[T - 1] + k]; });
  }

  // Fills node_ with p(y_t = k) and edge_ with p(y_{t-1} = j, y_t = k); ln Z is kept. Potentials are exponentiated once and
  // sums scaled to 1 at each letter; where that leaves nothing, logarithms are summed.
  void marginals() {
    const std::size_t T = word_.size();
    log_z_ = 0.0;
    node_.assign(unary_.size(), 0.0);
    edge_.resize(step_.size());
    if (T == 0) return;
    shifted_.resize(unary_.size());
    for (std::size_t t = 0; t < T; ++t) {
      log_z_ += shift(unary_, unary_begin_[t], unary_begin_[t + 1], shifted_);
      log_z_ += shift(step_, step_begin_[t], step_begin_[t + 1], edge_);
    }
    base::exp(shifted_, shifted_);
    base::exp(edge_, edge_);
    alpha_.assign(unary_.size(), 0.0);
    beta_.assign(unary_.size(), 1.0);
    mass_.resize(T);
    for (std::size_t t = 0; t < T; ++t) {
      const std::size_t K = size_[t];
      double* a = alpha_.data() + unary_begin_[t];
      const double* e = shifted_.data() + unary_begin_[t];
      if (t == 0) {
        std::copy(e, e + K, a);
      } else {
        const double* psi = edge_.data() + step_begin_[t];
        const double* before = alpha_.data() + unary_begin_[t - 1];
        for (std::size_t j = 0; j < size_[t - 1]; ++j, psi += K)
          for (std::size_t k = 0; k < K; ++k) a[k] += before[j] * psi[k];
        for (std::size_t k = 0; k < K; ++k) a[k] *= e[k];
      }
      mass_[t] = std::accumulate(a, a + K, 0.0);
      if (!(mass_[t] >= kLeastMass)) return marginals_by_logs();
      for (std::size_t k = 0; k < K; ++k) a[k] /= mass_[t];
      log_z_ += std::log(mass_[t]);
    }
    for (std::size_t t = T; t-- > 0;) {
      const std::size_t K = size_[t];
      double* b = beta_.data() + unary_begin_[t];
      for (std::size_t k = 0; k < K; ++k) node_[unary_begin_[t] + k] = alpha_[unary_begin_[t] + k] * b[k];
      if (t == 0) break;
      for (std::size_t k = 0; k < K; ++k) b[k] *= shifted_[unary_begin_[t] + k] / mass_[t];
      double* psi = edge_.data() + step_begin_[t];
      for (std::size_t j = 0; j < size_[t - 1]; ++j, psi += K) {
        const double before = alpha_[unary_begin_[t - 1] + j];
        double sum = 0.0;
        for (std::size_t k = 0; k < K; ++k) {
          const double behind = psi[k] * b[k];
          sum += behind;
          psi[k] = before * behind;
        }
        beta_[unary_begin_[t - 1] + j] = sum;
      }
    }
  }

  // Adds eta times the gradient of ln p(gold) to the weights, by `marginals`; returns -ln p(gold).
  double learn(std::span<const std::int32_t> gold, double eta, std::span<float> weights, std::span<float> pair_weights,
               std::span<float> label_weights) {
    double loss = log_z_;
    for (std::size_t t = 0; t < word_.size(); ++t) {
      const std::size_t K = size_[t];
      const auto right = static_cast<std::size_t>(gold[t]);
      loss -= unary_[unary_begin_[t] + right];
      if (t > 0) loss -= step(t, static_cast<std::size_t>(gold[t - 1]), right);
      if (!has_labels(t)) continue;
      gradient_.assign(K, 0.0F);
      node_[unary_begin_[t] + right] -= 1.0;
      for (std::size_t k = 0; k < K; ++k) gradient_[k] = static_cast<float>(-eta * node_[unary_begin_[t] + k]);
      for (std::size_t a = active_begin_[t]; a < active_begin_[t + 1]; ++a) {
        float* w = weights.data() + active_[a];
        for (std::size_t k = 0; k < K; ++k) w[k] += gradient_[k];
      }
      if (t == 0 || !has_labels(t - 1)) continue;
      const std::span<const std::int32_t> own = labels_of(t), before = labels_of(t - 1);
      double* p = edge_.data() + step_begin_[t];
      p[static_cast<std::size_t>(gold[t - 1]) * K + right] -= 1.0;
      for (std::size_t j = 0; j < before.size(); ++j, p += K) {
        for (std::size_t k = 0; k < K; ++k) gradient_[k] = static_cast<float>(-eta * p[k]);
        float* row = label_weights.data() + static_cast<std::size_t>(before[j]) * labels_.all_labels();
        for (std::size_t k = 0; k < K; ++k) row[own[k]] += gradient_[k];
        if (pair_[t] < 0) continue;
        float* w = pair_weights.data() + static_cast<std::size_t>(pair_[t]) + j * K;
        for (std::size_t k = 0; k < K; ++k) w[k] += gradient_[k];
      }
    }
    return loss;
  }

  bool has_labels(std::size_t t) const { return labels_.count(word_[t]) > 0; }
  std::span<const std::int32_t> labels_of(std::size_t t) const {
    return labels_.labels.subspan(static_cast<std::size_t>(labels_.label_begin[static_cast<std::size_t>(word_[t])]),
                                  size_[t]);
  }
  std::size_t label(std::size_t t, std::size_t k) const {
    return static_cast<std::size_t>(
        labels_.labels[static_cast<std::size_t>(labels_.label_begin[static_cast<std::size_t>(word_[t])]) + k]);
  }
  std::span<const std::int32_t> written(std::size_t t, std::size_t k) const {
    if (!has_labels(t)) return {};
    const auto begin = static_cast<std::size_t>(labels_.write_begin[label(t, k)]);
    return labels_.writes.subspan(begin, static_cast<std::size_t>(labels_.write_begin[label(t, k) + 1]) - begin);
  }
  double step(std::size_t t, std::size_t j, std::size_t k) const { return step_[step_begin_[t] + j * size_[t] + k]; }
  double unary(std::size_t t, std::size_t k) const { return unary_[unary_begin_[t] + k]; }
  double behind(std::size_t t, std::size_t k) const { return beta_[unary_begin_[t] + k]; }
  std::size_t size(std::size_t t) const { return size_[t]; }
  std::size_t length() const { return word_.size(); }

 private:
  // Copies a stretch, its largest value taken off; returns that value.
  static double shift(const std::vector<double>& from, std::size_t begin, std::size_t end, std::vector<double>& to) {
    if (begin == end) return 0.0;
    const double most = *std::max_element(from.begin() + static_cast<std::ptrdiff_t>(begin),
                                          from.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t i = begin; i < end; ++i) to[i] = from[i] - most;
    return most;
  }

  void marginals_by_logs() {
    sum();
    for (std::size_t i = 0; i < unary_.size(); ++i) node_[i] = std::exp(alpha_[i] + beta_[i] - log_z_);
    for (std::size_t t = 1; t < word_.size(); ++t)
      for (std::size_t j = 0; j < size_[t - 1]; ++j)
        for (std::size_t k = 0; k < size_[t]; ++k)
          edge_[step_begin_[t] + j * size_[t] + k] =
              std::exp(alpha_[unary_begin_[t - 1] + j] + step(t, j, k) + unary_[unary_begin_[t] + k] +
                       beta_[unary_begin_[t] + k] - log_z_);
  }

  template <class F>
  static double sum_of(std::size_t n, F&& value) {
    double most = kNone;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, value(i));
    if (most == kNone || n == 1) return most;
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) total += std::exp(value(i) - most);
    return most + std::log(total);
  }

  const LetterLabels& labels_;
  const Windows& windows_;
  const LetterWeights& where_;
  const LetterTests& tests_;
  const LetterTests& pairs_;
  std::span<const std::int32_t> word_;
  std::vector<std::int64_t> active_;  // where the weights of true tests begin
  std::vector<std::size_t> active_begin_, size_, unary_begin_, step_begin_;
  std::vector<std::int64_t> pair_;  // where the weights of the pair of letters begin, or -1
  std::vector<double> unary_, step_, alpha_, beta_;
  std::vector<double> shifted_, mass_, node_, edge_;
  std::vector<float> gradient_;
  double log_z_ = 0.0;
};

}  // namespace detail
}  // namespace textmill::tasks
