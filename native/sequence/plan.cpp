#include "sequence/plan.h"

#include <algorithm>
#include <numeric>

namespace textmill::sequence {
namespace {

constexpr std::size_t kTask = 8192;           // positions of a task; part of the result
constexpr std::size_t kGroupBytes = 1 << 20;  // of the matrices of all groups: they should stay in the cache
constexpr std::size_t kFewCells = 1 << 20;    // of contexts whose expectations are kept, to be added by test

// Cuts the positions of every key into tasks; `positions` lists those of a context.
std::vector<Task> make_tasks(const Lists& contexts_of, const Lists& positions) {
  std::vector<Task> tasks;
  for (std::size_t key = 0; key < contexts_of.size(); ++key) {
    std::int64_t entry = contexts_of.offsets[key], skip = 0, count = 0;
    Task task{static_cast<std::int32_t>(key), entry, 0, 0};
    for (; entry < contexts_of.offsets[key + 1]; ++entry) {
      const std::int32_t c = contexts_of.items[entry];
      std::int64_t left = positions.offsets[c + 1] - positions.offsets[c];
      skip = 0;
      while (left > 0) {
        if (count == 0) task = {static_cast<std::int32_t>(key), entry, skip, 0};
        const std::int64_t taken = std::min<std::int64_t>(left, kTask - count);
        count += taken;
        skip += taken;
        left -= taken;
        if (count == kTask) {
          task.count = count;
          tasks.push_back(task);
          count = 0;
        }
      }
    }
    if (count > 0) {
      task.count = count;
      tasks.push_back(task);
    }
  }
  return tasks;
}

// Tokens by their number in `of`.
Lists tokens_by(std::span<const std::int32_t> of, std::size_t keys) {
  Lists lists;
  lists.offsets.assign(keys + 1, 0);
  for (const std::int32_t key : of) {
    if (key >= 0) ++lists.offsets[key + 1];
  }
  std::partial_sum(lists.offsets.begin(), lists.offsets.end(), lists.offsets.begin());
  lists.items.resize(lists.offsets[keys]);
  std::vector<std::int64_t> next(lists.offsets.begin(), lists.offsets.end() - 1);
  for (std::size_t t = 0; t < of.size(); ++t) {
    if (of[t] >= 0) lists.items[next[of[t]]++] = static_cast<std::int32_t>(t);
  }
  return lists;
}

// [T] whether a token is the first of its sequence.
std::vector<char> first_tokens(const Plan& plan) {
  std::vector<char> first(plan.tokens(), 0);
  for (std::size_t s = 0; s < plan.sequences(); ++s) {
    if (plan.offsets[s] < plan.offsets[s + 1]) first[plan.offsets[s]] = 1;
  }
  return first;
}

}  // namespace

Plan make_plan(const Layout& layout, const Sequences& data) {
  Plan plan{.layout = layout, .labels = layout.labels, .stride = layout.stride()};
  plan.offsets.assign(data.offsets.begin(), data.offsets.end());
  plan.weights.assign(data.weights.begin(), data.weights.end());
  plan.owner.assign(data.owner.begin(), data.owner.end());
  plan.clamped.assign(data.clamped.begin(), data.clamped.end());
  const std::size_t S = plan.sequences(), T = plan.tokens();
  if (!plan.weights.empty()) {
    plan.token_weight.resize(T);
    double* of = plan.token_weight.data();
    for (std::size_t s = 0; s < S; ++s) std::fill(of + plan.offsets[s], of + plan.offsets[s + 1], plan.weights[s]);
  }
  plan.unigram = distinct_rows(data.unigram, {}, data.forced);
  if (!plan.local()) plan.bigram = distinct_rows(data.bigram, first_tokens(plan), {});
  return plan;
}

Sharing find_sharing(const Plan& plan) {
  Sharing sharing;
  sharing.unigram_of = transpose(plan.unigram.tests, plan.layout.unigrams);
  sharing.tokens_of = tokens_by(plan.unigram.of, plan.unigram.size());
  if (plan.local()) return sharing;
  sharing.bigram_of = transpose(plan.bigram.tests, plan.layout.bigrams);
  sharing.positions = tokens_by(plan.bigram.of, plan.bigram.size());
  std::vector<std::int64_t> counts(plan.layout.bigrams, 0);
  for (std::size_t c = 0; c < plan.bigram.size(); ++c) {
    for (auto e = plan.bigram.tests.offsets[c]; e < plan.bigram.tests.offsets[c + 1]; ++e) {
      counts[plan.bigram.tests.items[e]] += sharing.positions.offsets[c + 1] - sharing.positions.offsets[c];
    }
  }
  const std::size_t limit = std::max<std::size_t>(kGroupBytes / (plan.cells() * sizeof(double)), 32);
  sharing.grouping = group_contexts(plan.bigram, counts, limit);
  sharing.contexts_of_group = tokens_by(sharing.grouping.group, sharing.grouping.first.size());
  sharing.beginnings = build_trie(plan.offsets, plan.unigram.of, plan.bigram.of, sharing.grouping.group, false);
  sharing.ends = build_trie(plan.offsets, plan.unigram.of, plan.bigram.of, sharing.grouping.group, true);
  sharing.test_tasks = make_tasks(sharing.bigram_of, sharing.positions);
  if (plan.bigram.size() * plan.cells() <= kFewCells) {
    sharing.one_context.offsets.resize(plan.bigram.size() + 1);
    sharing.one_context.items.resize(plan.bigram.size());
    std::iota(sharing.one_context.offsets.begin(), sharing.one_context.offsets.end(), 0);
    std::iota(sharing.one_context.items.begin(), sharing.one_context.items.end(), 0);
    sharing.context_tasks = make_tasks(sharing.one_context, sharing.positions);
  }
  sharing.group_tasks = make_tasks(sharing.contexts_of_group, sharing.positions);
  return sharing;
}

// Counts the features of all tokens whose label is known: by test, then by label.
Observed count_observed(const Plan& plan, const Sequences& data) {
  Observed observed;
  if (data.labels.empty()) return observed;
  const std::size_t Y = plan.labels;
  std::vector<double> count;
  std::vector<std::int64_t> met;
  // `cells(t)` is the number of a token's cell among the features of a test, -1 for none
  const auto add = [&](const Rows& rows, std::size_t tests, std::size_t size, std::int64_t base, const auto& cells) {
    const std::size_t T = rows.offsets.size() - 1;
    std::vector<std::int64_t> next(tests + 1, 0);
    for (std::size_t t = 0; t < T; ++t) {
      if (cells(t) < 0) continue;
      for (auto e = rows.offsets[t]; e < rows.offsets[t + 1]; ++e) ++next[rows.ids[e] + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::pair<std::int32_t, double>> seen(next.back());  // by test: cell, weight
    for (std::size_t t = 0; t < T; ++t) {
      const std::int64_t cell = cells(t);
      if (cell < 0) continue;
      for (auto e = rows.offsets[t]; e < rows.offsets[t + 1]; ++e) {
        const double value = rows.values.empty() ? 1.0 : rows.values[e];
        seen[next[rows.ids[e]]++] = {static_cast<std::int32_t>(cell), value * plan.weight_of(t)};
      }
    }
    count.assign(size, 0.0);
    std::vector<char> mark(size, 0);
    std::size_t i = 0;
    for (std::size_t test = 0; test < tests; ++test) {
      met.clear();
      for (; i < static_cast<std::size_t>(next[test]); ++i) {
        const auto [cell, by] = seen[i];
        if (!mark[cell]) met.push_back(cell), mark[cell] = 1;
        count[cell] += by;
      }
      std::sort(met.begin(), met.end());
      for (const std::int64_t cell : met) {
        observed.features.push_back(base + static_cast<std::int64_t>(test * size) + cell);
        observed.counts.push_back(count[cell]);
        count[cell] = 0.0;
        mark[cell] = 0;
      }
    }
  };
  add(data.unigram, plan.layout.unigrams, Y, 0, [&](std::size_t t) { return std::int64_t{data.labels[t]}; });
  if (plan.local()) return observed;
  const std::vector<char> first = first_tokens(plan);
  const auto base = static_cast<std::int64_t>(plan.layout.unigrams * Y);
  add(data.bigram, plan.layout.bigrams, Y * Y, base, [&](std::size_t t) {
    if (first[t] || data.labels[t] < 0 || data.labels[t - 1] < 0) return std::int64_t{-1};
    return static_cast<std::int64_t>(data.labels[t - 1] * Y) + data.labels[t];
  });
  return observed;
}

void match(Observed& observed, const Support& support) {
  if (observed.support == support.number) return;
  observed.support = support.number;
  observed.slots.clear();
  observed.slot_counts.clear();
  std::size_t s = 0;
  for (std::size_t i = 0; i < observed.features.size(); ++i) {
    while (s < support.features.size() && support.features[s] < observed.features[i]) ++s;
    if (s < support.features.size() && support.features[s] == observed.features[i]) {
      observed.slots.push_back(static_cast<std::int64_t>(s));
      observed.slot_counts.push_back(observed.counts[i]);
    }
  }
}

double score(const Observed& observed, const Weights& w) {
  const auto& at = w.support == nullptr ? observed.features : observed.slots;
  const auto& counts = w.support == nullptr ? observed.counts : observed.slot_counts;
  double total = 0.0;
  for (std::size_t i = 0; i < at.size(); ++i) total += counts[i] * w.theta[at[i]];
  return total;
}

void subtract(const Observed& observed, const Weights& w, double* gradient) {
  const auto& at = w.support == nullptr ? observed.features : observed.slots;
  const auto& counts = w.support == nullptr ? observed.counts : observed.slot_counts;
  for (std::size_t i = 0; i < at.size(); ++i) gradient[at[i]] -= counts[i];
}

}  // namespace textmill::sequence
