#include "sequence/problem.h"

#include <algorithm>
#include <numeric>

namespace textmill::sequence {
namespace {

constexpr std::size_t kTask = 8192;           // positions of a task; part of the result
constexpr std::size_t kGroupBytes = 1 << 20;  // of the matrices of all groups: they should stay in the cache
constexpr std::size_t kVeryFew = 8;           // labels with which sharing saves less than it costs
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

}  // namespace

Problem::Problem(const Layout& layout, const Sequences& data) : state_(std::make_unique<State>()) {
  State& m = *state_;
  m.layout = layout;
  m.labels = layout.labels;
  m.stride = layout.stride();
  m.offsets.assign(data.offsets.begin(), data.offsets.end());
  m.weights.assign(data.weights.begin(), data.weights.end());
  const std::size_t S = m.offsets.size() - 1, T = static_cast<std::size_t>(m.offsets[S]);
  if (!m.weights.empty()) {
    m.token_weight.resize(T);
    double* of = m.token_weight.data();
    for (std::size_t s = 0; s < S; ++s) std::fill(of + m.offsets[s], of + m.offsets[s + 1], m.weights[s]);
  }
  std::vector<char> first(T, 0);
  for (std::size_t s = 0; s < S; ++s) {
    if (m.offsets[s] < m.offsets[s + 1]) first[m.offsets[s]] = 1;
  }
  m.unigram = distinct_rows(data.unigram, {}, data.forced);
  if (!m.local()) m.bigram = distinct_rows(data.bigram, first, {});
  if ((m.local() || m.bigram.size() <= 1) && (2 * m.unigram.size() > T || m.labels <= kVeryFew)) {
    std::vector<std::int64_t> single(m.local() ? T + 1 : 0);  // without pairs every token is on its own
    std::iota(single.begin(), single.end(), 0);
    m.lanes.emplace(layout, m.local() ? single : m.offsets, m.unigram, m.token_weight);
  }
  if (!data.labels.empty()) m.observe(data, first);
}

// Counts the features of all tokens whose label is known: by test, then by label.
void Problem::State::observe(const Sequences& data, std::span<const char> first) {
  const std::size_t Y = labels;
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
        seen[next[rows.ids[e]]++] = {static_cast<std::int32_t>(cell), value * weight_of(t)};
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
        observed.push_back(base + static_cast<std::int64_t>(test * size) + cell);
        observed_count.push_back(count[cell]);
        count[cell] = 0.0;
        mark[cell] = 0;
      }
    }
  };
  add(data.unigram, layout.unigrams, Y, 0, [&](std::size_t t) { return std::int64_t{data.labels[t]}; });
  if (local()) return;
  add(data.bigram, layout.bigrams, Y * Y, static_cast<std::int64_t>(layout.unigrams * Y), [&](std::size_t t) {
    if (first[t] || data.labels[t] < 0 || data.labels[t - 1] < 0) return std::int64_t{-1};
    return static_cast<std::int64_t>(data.labels[t - 1] * Y) + data.labels[t];
  });
}

// Finds what sequences have in common, when it is needed first.
void Problem::State::share() {
  if (shared) return;
  shared = true;
  unigram_of = transpose(unigram.tests, layout.unigrams);
  tokens_of = tokens_by(unigram.of, unigram.size());
  if (local()) return;
  bigram_of = transpose(bigram.tests, layout.bigrams);
  positions = tokens_by(bigram.of, bigram.size());
  std::vector<std::int64_t> counts(layout.bigrams, 0);
  for (std::size_t c = 0; c < bigram.size(); ++c) {
    for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
      counts[bigram.tests.items[e]] += positions.offsets[c + 1] - positions.offsets[c];
    }
  }
  const std::size_t limit = std::max<std::size_t>(kGroupBytes / (labels * stride * sizeof(double)), 32);
  grouping = group_contexts(bigram, counts, limit);
  contexts_of_group = tokens_by(grouping.group, grouping.first.size());
  beginnings = build_trie(offsets, unigram.of, bigram.of, grouping.group, false);
  ends = build_trie(offsets, unigram.of, bigram.of, grouping.group, true);
  test_tasks = make_tasks(bigram_of, positions);
  if (bigram.size() * labels * stride <= kFewCells) {
    one_context.offsets.resize(bigram.size() + 1);
    one_context.items.resize(bigram.size());
    std::iota(one_context.offsets.begin(), one_context.offsets.end(), 0);
    std::iota(one_context.items.begin(), one_context.items.end(), 0);
    context_tasks = make_tasks(one_context, positions);
  }
  group_tasks = make_tasks(contexts_of_group, positions);
}

Problem::~Problem() = default;
const Layout& Problem::layout() const { return state_->layout; }
std::size_t Problem::sequences() const { return state_->offsets.size() - 1; }
std::size_t Problem::tokens() const { return static_cast<std::size_t>(state_->offsets.back()); }

std::vector<std::size_t> Problem::sizes() {
  State& m = *state_;
  m.share();
  const std::size_t bigrams = m.local() ? 0 : m.bigram.size();
  return {m.unigram.size(), bigrams, m.grouping.first.size(), m.beginnings.size(), m.ends.size()};
}

// Which slots of the support were observed, and how often.
void Problem::State::match_observed(const Support& support) {
  if (matched == support.number) return;
  matched = support.number;
  observed_slot.clear();
  observed_slot_count.clear();
  std::size_t s = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    while (s < support.features.size() && support.features[s] < observed[i]) ++s;
    if (s < support.features.size() && support.features[s] == observed[i]) {
      observed_slot.push_back(static_cast<std::int64_t>(s));
      observed_slot_count.push_back(observed_count[i]);
    }
  }
}

// What depends on the support but not on its weights: cells that are corrected in each context.
void Problem::State::prepare(const Weights& w) {
  const std::uint64_t number = w.support == nullptr ? 0 : w.support->number;
  share();
  if (number == prepared) return;
  prepared = number;
  correction_offsets.assign(1, 0);
  correction_cell.clear();
  entry_of.clear();
  entry_offsets.clear();
  if (w.support == nullptr) return;
  const Support& support = *w.support;
  if (local()) return;
  std::vector<std::int64_t> next(layout.bigrams, 0);  // entries of bigram_of already met: contexts come in order
  entry_offsets.assign(bigram_of.items.size(), 0);
  std::vector<std::int32_t> mark(labels * stride, -1);
  for (std::size_t c = 0; c < bigram.size(); ++c) {
    const std::size_t begin = correction_cell.size();
    for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
      const std::int32_t b = bigram.tests.items[e];
      const std::int64_t at = bigram_of.offsets[b] + next[b]++;
      if (grouping.frequent[b]) continue;
      entry_offsets[at] = static_cast<std::int64_t>(entry_of.size());
      for (auto slot = support.bigram_offsets[b]; slot < support.bigram_offsets[b + 1]; ++slot) {
        const std::int32_t cell = support.cell[slot];
        if (mark[cell] < 0) {
          mark[cell] = static_cast<std::int32_t>(correction_cell.size() - begin);
          correction_cell.push_back(cell);
        }
        entry_of.push_back(mark[cell]);
      }
    }
    for (std::size_t i = begin; i < correction_cell.size(); ++i) mark[correction_cell[i]] = -1;
    correction_offsets.push_back(static_cast<std::int64_t>(correction_cell.size()));
  }
  correction_log.resize(correction_cell.size());
  correction.resize(correction_cell.size());
}

}  // namespace textmill::sequence
