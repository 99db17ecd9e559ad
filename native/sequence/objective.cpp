#include "sequence/objective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "base/parallel.h"
#include "sequence/logarithms.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;

constexpr std::size_t kManyFeatures = 1 << 20;  // dense weights that are searched for zeros
constexpr std::size_t kSparse = 16;             // at most one in so many is not zero
constexpr std::size_t kVeryFew = 8;             // labels with which sharing saves less than it costs

}  // namespace

Problem::Problem(const Layout& layout, const Sequences& data)
    : plan_(make_plan(layout, data)), observed_(count_observed(plan_, data)) {
  const std::size_t T = tokens();
  const bool plain = plan_.local() || plan_.bigram.size() <= 1;  // pairs score alike everywhere
  const bool alike = 2 * plan_.unigram.size() <= T && plan_.labels > kVeryFew && plan_.clamped.empty();
  if (plain && !alike) {
    std::vector<std::int64_t> single(plan_.local() ? T + 1 : 0);  // without pairs every token is on its own
    std::iota(single.begin(), single.end(), 0);
    lanes_.emplace(plan_, plan_.local() ? single : plan_.offsets);
  }
  if (plan_.clamped.empty() || (lanes_ && lanes_->suits(nullptr))) return;
  std::vector<double> negative(sequences());
  for (std::size_t s = 0; s < negative.size(); ++s) negative[s] = -plan_.weight(s);
  clamped_ = std::make_unique<Problem>(layout, Sequences{.offsets = data.offsets,
                                                         .unigram = data.unigram,
                                                         .bigram = data.bigram,
                                                         .labels = {},
                                                         .forced = data.clamped,
                                                         .weights = negative,
                                                         .owner = data.owner,
                                                         .clamped = {}});
  plan_.clamped.clear();  // what follows is the first sum alone
}

const Sharing& Problem::sharing() {
  if (!sharing_) sharing_ = find_sharing(plan_);
  return *sharing_;
}

std::vector<std::size_t> Problem::sizes() {
  const Sharing& common = sharing();
  const std::size_t bigrams = plan_.local() ? 0 : plan_.bigram.size();
  return {plan_.unigram.size(), bigrams, common.grouping.first.size(), common.beginnings.size(), common.ends.size()};
}

bool Problem::propagate(const Weights& w, bool expect, std::size_t threads) {
  const Sharing& common = sharing();
  if (!compute_potentials(plan_, common, w, potentials_, threads)) return false;
  if (plan_.local()) {
    expect_tokens(plan_, common, potentials_, expectations_, threads);
    return true;
  }
  recurse(plan_, common, potentials_, messages_, threads);
  if (expect) expect_chains(plan_, common, messages_, expectations_, threads);
  return true;
}

double Problem::log_z(std::size_t s) const {
  const auto begin = plan_.offsets[s], end = plan_.offsets[s + 1];
  if (begin == end) return 0.0;
  if (!plan_.local()) return messages_.log_mass[sharing_->beginnings.of[end - 1]];
  double total = 0.0;
  for (auto t = begin; t < end; ++t) total += expectations_.log_mass[plan_.unigram.of[t]];
  return total;
}

bool Problem::by_lanes(const Weights& w, double& value, double* gradient, std::size_t threads) {
  const Layout& layout = plan_.layout;
  const Contexts& bigram = plan_.bigram;
  const std::size_t labels = plan_.labels, stride = plan_.stride;
  std::vector<double> psi(stride * stride, 0.0), pairs(stride * stride, 0.0);
  const bool paired = !plan_.local() && bigram.size() > 0;
  PairMatrix matrix{psi.data(), 0.0, 0.0};
  if (paired) {
    bigram_scores(layout, w, bigram.tests, 0, psi.data());
    const Extent extent = exponentiate(psi.data(), labels, labels, stride, &matrix.shift, false);
    matrix.range = extent.most - extent.least;
  }
  if (!lanes_->evaluate(w, matrix, kRange, value, gradient, pairs.data(), threads)) return false;
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
  double* const out = gradient.empty() ? nullptr : gradient.data();
  if (w.support != nullptr) match(observed_, *w.support);
  if (out != nullptr) subtract(observed_, w, out);
  double value = -score(observed_, w);
  if (clamped_) value += clamped_->evaluate(w, gradient, threads);
  if (lanes_ && lanes_->suits(w.support)) {
    if (by_lanes(w, value, out, threads)) return value;
    return value + evaluate_in_logarithms(plan_, w, out, nullptr, nullptr);
  }
  // Dense weights most of which are zero, as L1 training has them: the sparse recursion, and all slopes.
  std::optional<Support> sparse;
  std::vector<double> nonzero;
  Weights of = w;
  if (w.support == nullptr && !plan_.local() && w.theta.size() >= kManyFeatures) {
    std::vector<std::int64_t> features;
    for (std::size_t k = 0; k < w.theta.size() && kSparse * features.size() <= w.theta.size(); ++k) {
      if (w.theta[k] == 0.0) continue;
      features.push_back(static_cast<std::int64_t>(k));
      nonzero.push_back(w.theta[k]);
    }
    if (kSparse * features.size() <= w.theta.size()) {
      sparse.emplace(plan_.layout, features);
      of = {nonzero, &*sparse};
    }
  }
  if (!propagate(of, out != nullptr, threads)) return value + evaluate_in_logarithms(plan_, w, out, nullptr, nullptr);
  for (std::size_t s = 0; s < sequences(); ++s) value += plan_.weight(s) * log_z(s);
  if (out == nullptr) return value;
  add_unigram_gradient(plan_, *sharing_, expectations_, w, out, threads);
  if (plan_.local()) return value;
  if (w.support == nullptr)
    add_dense_gradient(pair_terms(), out, threads);
  else
    add_supported_gradient(pair_terms(), *w.support, out, threads);
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
  const Layout& layout = plan_.layout;
  const std::size_t Y = plan_.labels, stride = plan_.stride;
  if (clamped_ || (lanes_ && lanes_->suits(nullptr))) return dense_violations(w, threshold, value, gradient, threads);
  if (!propagate(w, true, threads)) base::detail::refuse("the weights are too large for a search; penalize them more");
  match(observed_, *w.support);
  value = -score(observed_, w);
  for (std::size_t s = 0; s < sequences(); ++s) value += plan_.weight(s) * log_z(s);
  std::vector<std::vector<Violation>> found(layout.unigrams + layout.bigrams);
  // Gradients of the features [first, first + rows * Y) of a test; what was observed and what is chosen is looked up.
  const auto look = [&](std::vector<Violation>& out, std::int64_t first, std::size_t rows, const double* expected,
                        std::size_t step) {
    const std::int64_t last = first + static_cast<std::int64_t>(rows * Y);
    auto seen =
        std::lower_bound(observed_.features.begin(), observed_.features.end(), first) - observed_.features.begin();
    const auto& chosen = w.support->features;
    auto slot = std::lower_bound(chosen.begin(), chosen.end(), first);
    for (std::int64_t k = first; k < last; ++k) {
      const auto inner = static_cast<std::size_t>(k - first);
      double g = expected[inner / Y * step + inner % Y];
      if (static_cast<std::size_t>(seen) < observed_.features.size() && observed_.features[seen] == k)
        g -= observed_.counts[seen++];
      if (slot != chosen.end() && *slot == k)
        gradient[slot++ - chosen.begin()] += g;
      else if (std::abs(g) > threshold)
        out.push_back({k, g});
    }
  };
  const Lists& unigram_of = sharing_->unigram_of;
  parallel_blocks(layout.unigrams, 64, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> row(Y);
    for (std::size_t u = begin; u < end; ++u) {
      std::fill(row.begin(), row.end(), 0.0);
      for (auto e = unigram_of.offsets[u]; e < unigram_of.offsets[u + 1]; ++e) {
        const double* from = &expectations_.expected[unigram_of.items[e] * stride];
        for (std::size_t y = 0; y < Y; ++y) row[y] += unigram_of.value(e) * from[y];
      }
      look(found[u], static_cast<std::int64_t>(u * Y), 1, row.data(), Y);
    }
  });
  if (!plan_.local()) {
    const PairTerms terms = pair_terms();
    const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) {
      sum_pairs(terms, task, sharing_->bigram_of, sum, scratch);
    };
    std::vector<char> met(layout.bigrams, 0);
    run_tasks(sharing_->test_tasks, Y * stride, threads, run, [&](std::int32_t b, const double* sum) {
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

void Problem::marginals(const Weights& w, std::span<double> probabilities, std::span<double> logs,
                        std::size_t threads) {
  const std::size_t Y = plan_.labels, stride = plan_.stride;
  if (!propagate(w, false, threads)) {
    evaluate_in_logarithms(plan_, w, nullptr, probabilities.data(), logs.data());
    return;
  }
  const Trie &beginnings = sharing_->beginnings, &ends = sharing_->ends;
  parallel_blocks(tokens(), 256, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      double* out = &probabilities[t * Y];
      if (plan_.local()) {
        std::copy_n(&potentials_.exp_mu[plan_.unigram.of[t] * stride], Y, out);
      } else {
        const double* a = &messages_.alpha[beginnings.of[t] * stride];
        const double* b = ends.of[t] < 0 ? nullptr : &messages_.beta[ends.of[t] * stride];
        for (std::size_t y = 0; y < Y; ++y) out[y] = b == nullptr ? a[y] : a[y] * b[y];
      }
      const double total = std::accumulate(out, out + Y, 0.0);
      for (std::size_t y = 0; y < Y; ++y) out[y] /= total;
    }
  });
  for (std::size_t s = 0; s < sequences(); ++s) logs[s] = log_z(s);
}

double Problem::zero_rate(const Weights& w) {
  const Lists& positions = sharing().positions;
  if (plan_.local() || plan_.bigram.size() == 0) return 1.0;
  const std::size_t cells = plan_.cells();
  std::vector<double> scores(cells);
  double zeros = 0.0, all = 0.0;
  for (std::size_t c = 0; c < plan_.bigram.size(); ++c) {
    const auto count = static_cast<double>(positions.offsets[c + 1] - positions.offsets[c]);
    std::fill(scores.begin(), scores.end(), 0.0);
    for (auto e = plan_.bigram.tests.offsets[c]; e < plan_.bigram.tests.offsets[c + 1]; ++e) {
      add_bigram(plan_.layout, w, plan_.bigram.tests.items[e], plan_.bigram.tests.value(e), scores.data());
    }
    for (std::size_t y = 0; y < plan_.labels; ++y) {
      zeros += count * static_cast<double>(
                           std::count(&scores[y * plan_.stride], &scores[y * plan_.stride] + plan_.labels, 0.0));
    }
    all += count * static_cast<double>(plan_.labels * plan_.labels);
  }
  return zeros / all;
}

}  // namespace textmill::sequence
