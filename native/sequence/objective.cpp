#include "sequence/objective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "base/parallel.h"
#include "sequence/gradient.h"
#include "sequence/problem.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;

constexpr std::size_t kManyFeatures = 1 << 20;  // dense weights that are searched for zeros
constexpr std::size_t kSparse = 16;             // at most one in so many is not zero

}  // namespace

// The value without the observed score, and expectations, by lanes.
bool Problem::State::by_lanes(const Weights& w, double& value, double* gradient, std::size_t threads) {
  std::vector<double> psi(stride * stride, 0.0), pairs(stride * stride, 0.0);
  const bool paired = !local() && bigram.size() > 0;
  PairMatrix matrix{psi.data(), 0.0, 0.0};
  if (paired) {
    bigram_scores(layout, w, bigram.tests, 0, psi.data());
    const Extent extent = exponentiate(psi.data(), labels, labels, stride, &matrix.shift, false);
    matrix.range = extent.most - extent.least;
  }
  if (!lanes->evaluate(w, matrix, kRange, value, gradient, pairs.data(), threads)) return false;
  if (gradient == nullptr || !paired) return true;
  for (auto e = bigram.tests.offsets[0]; e < bigram.tests.offsets[1]; ++e) {
    const std::int32_t b = bigram.tests.items[e];
    const double value_of = bigram.tests.value(e);
    if (w.support == nullptr) {
      double* out = gradient + layout.unigrams * labels + b * labels * labels;
      for (std::size_t i = 0; i < labels * labels; ++i) out[i] += value_of * pairs[i / labels * stride + i % labels];
      continue;
    }
    for (auto s = w.support->bigram_offsets[b]; s < w.support->bigram_offsets[b + 1]; ++s) {
      gradient[s] += value_of * pairs[w.support->cell[s]];
    }
  }
  return true;
}

double Problem::evaluate(const Weights& w, std::span<double> gradient, std::size_t threads) {
  State& m = *state_;
  double* const out = gradient.empty() ? nullptr : gradient.data();
  if (w.support != nullptr) m.match_observed(*w.support);
  if (out != nullptr) m.subtract_observed(w, out);
  double value = -m.observed_score(w);
  if (m.lanes && m.lanes->suits(w.support)) {
    return m.by_lanes(w, value, out, threads) ? value : value + m.in_logarithms(w, out, nullptr, nullptr);
  }
  // Dense weights most of which are zero, as L1 training has them: the sparse recursion, and all slopes.
  std::optional<Support> found;
  std::vector<double> nonzero;
  Weights potentials = w;
  if (w.support == nullptr && !m.local() && w.theta.size() >= kManyFeatures) {
    std::vector<std::int64_t> features;
    for (std::size_t k = 0; k < w.theta.size() && kSparse * features.size() <= w.theta.size(); ++k) {
      if (w.theta[k] == 0.0) continue;
      features.push_back(static_cast<std::int64_t>(k));
      nonzero.push_back(w.theta[k]);
    }
    if (kSparse * features.size() <= w.theta.size()) {
      found.emplace(m.layout, features);
      potentials = {nonzero, &*found};
    }
  }
  if (!m.potentials(potentials, threads)) return value + m.in_logarithms(w, out, nullptr, nullptr);
  if (!m.local()) m.recurse(threads);
  if (m.local() || out != nullptr) m.expect_unigrams(threads);
  for (std::size_t s = 0; s < sequences(); ++s) value += (m.weights.empty() ? 1.0 : m.weights[s]) * m.log_z(s);
  if (out == nullptr) return value;
  m.add_unigram_gradient(w, out, threads);
  if (m.local()) return value;
  if (w.support == nullptr)
    m.add_dense_gradient(out, threads);
  else
    m.add_supported_gradient(w, out, threads);
  return value;
}

// The same from the slopes of all features.
std::vector<Violation> Problem::dense_violations(const Weights& w, double threshold, double& value,
                                                 std::span<double> gradient, std::size_t threads) {
  const std::vector<std::int64_t>& chosen = w.support->features;
  std::vector<double> theta(layout().size(), 0.0), slopes(layout().size(), 0.0);
  for (std::size_t s = 0; s < chosen.size(); ++s) theta[chosen[s]] = w.theta[s];
  value = evaluate({theta, nullptr}, slopes, threads);
  for (std::size_t s = 0; s < chosen.size(); ++s) gradient[s] += slopes[chosen[s]];
  std::vector<Violation> found;
  std::size_t next = 0;
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    if (next < chosen.size() && chosen[next] == static_cast<std::int64_t>(k)) {
      ++next;
    } else if (std::abs(slopes[k]) > threshold) {
      found.push_back({static_cast<std::int64_t>(k), slopes[k]});
    }
  }
  return found;
}

std::vector<Violation> Problem::violations(const Weights& w, double threshold, double& value,
                                           std::span<double> gradient, std::size_t threads) {
  State& m = *state_;
  const Layout& layout = m.layout;
  const std::size_t Y = m.labels, stride = m.stride;
  if (m.lanes && m.lanes->suits(nullptr)) return dense_violations(w, threshold, value, gradient, threads);
  if (!m.potentials(w, threads)) base::detail::refuse("the weights are too large for a search; penalise them more");
  if (!m.local()) m.recurse(threads);
  m.expect_unigrams(threads);
  m.match_observed(*w.support);
  value = -m.observed_score(w);
  for (std::size_t s = 0; s < sequences(); ++s) value += (m.weights.empty() ? 1.0 : m.weights[s]) * m.log_z(s);
  std::vector<std::vector<Violation>> found(layout.unigrams + layout.bigrams);
  // Gradients of the features [first, first + rows * Y) of a test; what was observed and what is chosen is looked up.
  const auto look = [&](std::vector<Violation>& out, std::int64_t first, std::size_t rows, const double* expected,
                        std::size_t step) {
    const std::int64_t last = first + static_cast<std::int64_t>(rows * Y);
    auto seen = std::lower_bound(m.observed.begin(), m.observed.end(), first) - m.observed.begin();
    const auto& chosen = w.support->features;
    auto slot = std::lower_bound(chosen.begin(), chosen.end(), first);
    for (std::int64_t k = first; k < last; ++k) {
      const auto inner = static_cast<std::size_t>(k - first);
      double g = expected[inner / Y * step + inner % Y];
      if (static_cast<std::size_t>(seen) < m.observed.size() && m.observed[seen] == k) g -= m.observed_count[seen++];
      if (slot != chosen.end() && *slot == k)
        gradient[slot++ - chosen.begin()] += g;
      else if (std::abs(g) > threshold)
        out.push_back({k, g});
    }
  };
  parallel_blocks(layout.unigrams, 64, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> row(Y);
    for (std::size_t u = begin; u < end; ++u) {
      std::fill(row.begin(), row.end(), 0.0);
      for (auto e = m.unigram_of.offsets[u]; e < m.unigram_of.offsets[u + 1]; ++e) {
        const double* from = &m.expected[m.unigram_of.items[e] * stride];
        for (std::size_t y = 0; y < Y; ++y) row[y] += m.unigram_of.value(e) * from[y];
      }
      look(found[u], static_cast<std::int64_t>(u * Y), 1, row.data(), Y);
    }
  });
  if (!m.local()) {
    const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) {
      m.run_task(task, m.bigram_of, sum, scratch);
    };
    std::vector<char> met(layout.bigrams, 0);
    run_tasks(m.test_tasks, Y * stride, threads, run, [&](std::int32_t b, const double* sum) {
      met[b] = 1;
      look(found[layout.unigrams + b], static_cast<std::int64_t>(layout.unigrams * Y + b * Y * Y), Y, sum, stride);
    });
    const std::vector<double> nothing(Y * stride, 0.0);  // tests that are true at first tokens only
    for (std::size_t b = 0; b < layout.bigrams; ++b) {
      if (!met[b])
        look(found[layout.unigrams + b], static_cast<std::int64_t>(layout.unigrams * Y + b * Y * Y), Y, nothing.data(),
             stride);
    }
  }
  std::vector<Violation> all;
  for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void Problem::marginals(const Weights& w, std::span<double> probabilities, std::span<double> log_z,
                        std::size_t threads) {
  State& m = *state_;
  const std::size_t Y = m.labels, stride = m.stride;
  if (!m.potentials(w, threads)) {
    m.in_logarithms(w, nullptr, probabilities.data(), log_z.data());
    return;
  }
  if (!m.local()) m.recurse(threads);
  if (m.local()) m.expect_unigrams(threads);
  parallel_blocks(tokens(), 256, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      double* out = &probabilities[t * Y];
      if (m.local()) {
        std::copy_n(&m.exp_mu[m.unigram.of[t] * stride], Y, out);
      } else {
        const double* a = &m.alpha[m.beginnings.of[t] * stride];
        const double* b = m.ends.of[t] < 0 ? nullptr : &m.beta[m.ends.of[t] * stride];
        for (std::size_t y = 0; y < Y; ++y) out[y] = b == nullptr ? a[y] : a[y] * b[y];
      }
      const double total = std::accumulate(out, out + Y, 0.0);
      for (std::size_t y = 0; y < Y; ++y) out[y] /= total;
    }
  });
  for (std::size_t s = 0; s < sequences(); ++s) log_z[s] = m.log_z(s);
}

double Problem::zero_rate(const Weights& w) {
  State& m = *state_;
  m.share();
  if (m.local() || m.bigram.size() == 0) return 1.0;
  const std::size_t cells = m.labels * m.stride;
  std::vector<double> scores(cells);
  double zeros = 0.0, all = 0.0;
  for (std::size_t c = 0; c < m.bigram.size(); ++c) {
    const auto positions = static_cast<double>(m.positions.offsets[c + 1] - m.positions.offsets[c]);
    std::fill(scores.begin(), scores.end(), 0.0);
    for (auto e = m.bigram.tests.offsets[c]; e < m.bigram.tests.offsets[c + 1]; ++e) {
      add_bigram(m.layout, w, m.bigram.tests.items[e], m.bigram.tests.value(e), scores.data());
    }
    for (std::size_t y = 0; y < m.labels; ++y) {
      zeros +=
          positions * static_cast<double>(std::count(&scores[y * m.stride], &scores[y * m.stride] + m.labels, 0.0));
    }
    all += positions * static_cast<double>(m.labels * m.labels);
  }
  return zeros / all;
}

}  // namespace textmill::sequence
