#include "sequence/objective.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/math.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/chain.h"
#include "sequence/kernels.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;
using base::with_packs;

constexpr std::size_t kBlock = 32;                    // positions whose vectors are multiplied together
constexpr std::size_t kTask = 8192;                   // positions of a task; part of the result
constexpr std::size_t kGroupBytes = 1 << 20;          // of the matrices of all groups: they should stay in the cache
constexpr std::size_t kFewCells = 1 << 20;            // of contexts whose expectations are kept, to be added by test
constexpr double kRange = 300.0;                      // scores within a token may differ by this much
constexpr double kStrongest = 30.0, kWeakest = -6.0;  // corrections that keep 12 digits
constexpr std::size_t kAhead = 8;                     // rows fetched ahead

struct Task {           // some positions of the contexts of a key
  std::int32_t key;
  std::int64_t entry;   // of the list of contexts of the key
  std::int64_t skip;    // positions of its first context that belong to the task before
  std::int64_t count;   // positions
};

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

// out[i] += factor * in[i] for `size` doubles.
template <class P>
TEXTMILL_INLINED inline void add_scaled(double factor, const double* in, double* out, std::size_t size) {
  const std::size_t whole = size - size % P::width;
  const P by = P(factor);
  for (std::size_t i = 0; i < whole; i += P::width) multiply_add(by, P::load(in + i), P::load(out + i)).store(out + i);
  if (whole < size) {
    const std::size_t rest = size - whole;
    multiply_add(by, P::load(in + whole, rest, 0.0), P::load(out + whole, rest, 0.0)).store(out + whole, rest);
  }
}

// out = sum over the entries [begin, end) of a list of value * row of the item; rows of `width` doubles, `step` apart.
// The rows that entries up to `last` name are fetched ahead.
template <class P, std::size_t W>
TEXTMILL_INLINED inline void sum_columns(const Lists& lists, std::int64_t begin, std::int64_t end, std::int64_t last,
                                         const double* rows, std::size_t step, double* out) {
  P total[W];
  for (std::size_t j = 0; j < W; ++j) total[j] = P(0.0);
  const std::int32_t* items = lists.items.data();
  const float* values = lists.values.empty() ? nullptr : lists.values.data();
  for (auto e = begin; e < end; ++e) {
    const double* ahead = rows + items[std::min<std::int64_t>(e + static_cast<std::int64_t>(kAhead), last)] * step;
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + 8);
    const double* row = rows + items[e] * step;
    if (values == nullptr) {
      for (std::size_t j = 0; j < W; ++j) total[j] = total[j] + P::load(row + j * P::width);
    } else {
      const P value = P(static_cast<double>(values[e]));
      for (std::size_t j = 0; j < W; ++j) total[j] = multiply_add(value, P::load(row + j * P::width), total[j]);
    }
  }
  for (std::size_t j = 0; j < W; ++j) total[j].store(out + j * P::width);
}

template <class P>
TEXTMILL_INLINED inline void sum_rows(const Lists& lists, std::int64_t begin, std::int64_t end, std::int64_t last,
                                      const double* rows, std::size_t width, std::size_t step, double* out) {
  std::size_t at = 0;
  for (; at + 6 * P::width <= width; at += 6 * P::width) sum_columns<P, 6>(lists, begin, end, last, rows + at, step, out + at);
  for (; at + 2 * P::width <= width; at += 2 * P::width) sum_columns<P, 2>(lists, begin, end, last, rows + at, step, out + at);
  if (at + P::width <= width) sum_columns<P, 1>(lists, begin, end, last, rows + at, step, out + at), at += P::width;
  for (; at < width; ++at) {
    double total = 0.0;
    for (auto e = begin; e < end; ++e) total += lists.value(e) * rows[lists.items[e] * step + at];
    out[at] = total;
  }
}

// Adds the weights of a unigram test to the scores of a token.
void add_unigram(const Layout& layout, const Weights& weights, std::size_t test, double value, double* scores) {
  if (weights.support == nullptr) {
    const double* row = weights.theta.data() + test * layout.labels;
    const std::size_t labels = layout.labels;
    with_packs([=]<class P>() TEXTMILL_INLINED { add_scaled<P>(value, row, scores, labels); });
    return;
  }
  const Support& support = *weights.support;
  for (auto s = support.unigram_offsets[test]; s < support.unigram_offsets[test + 1]; ++s) {
    scores[support.cell[s]] += value * weights.theta[s];
  }
}

// Adds the weights of a bigram test to a matrix with rows of `stride`.
void add_bigram(const Layout& layout, const Weights& weights, std::size_t test, double value, double* matrix) {
  const std::size_t labels = layout.labels, stride = layout.stride();
  if (weights.support == nullptr) {
    const double* block = weights.theta.data() + layout.unigrams * labels + test * labels * labels;
    with_packs([=]<class P>() TEXTMILL_INLINED {
      for (std::size_t y = 0; y < labels; ++y) add_scaled<P>(value, block + y * labels, matrix + y * stride, labels);
    });
    return;
  }
  const Support& support = *weights.support;
  for (auto s = support.bigram_offsets[test]; s < support.bigram_offsets[test + 1]; ++s) {
    matrix[support.cell[s]] += value * weights.theta[s];
  }
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Scores become exp(score - shift), zeros behind the last label; returns the largest and the smallest score.
struct Extent {
  double most, least;
};
Extent exponentiate(double* matrix, std::size_t rows, std::size_t labels, std::size_t stride, double* shift,
                    bool always) {
  double most = -std::numeric_limits<double>::infinity(), least = -most;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t y = 0; y < labels; ++y) {
      most = std::max(most, matrix[r * stride + y]);
      least = std::min(least, matrix[r * stride + y]);
    }
  }
  const double by = *shift = always || std::abs(most) > kRange ? most : 0.0;
  with_packs([=]<class P>() TEXTMILL_INLINED {
    for (std::size_t r = 0; r < rows; ++r) {
      double* row = matrix + r * stride;
      for (std::size_t y = 0; y < stride; y += P::width) base::exp(P::load(row + y) - P(by)).store(row + y);
    }
  });
  for (std::size_t r = 0; r < rows; ++r) std::fill(matrix + r * stride + labels, matrix + (r + 1) * stride, 0.0);
  return {most, least};
}

}  // namespace

Support::Support(const Layout& layout, std::span<const std::int64_t> chosen)
    : number(next_number()), features(chosen.begin(), chosen.end()), cell(chosen.size()) {
  const std::size_t Y = layout.labels, first = layout.unigrams * Y;
  unigram_offsets.assign(layout.unigrams + 1, 0);
  bigram_offsets.assign(layout.bigrams + 1, 0);
  std::size_t s = 0;
  for (std::size_t u = 0; u < layout.unigrams; ++u) {
    for (; s < features.size() && static_cast<std::size_t>(features[s]) < (u + 1) * Y; ++s) {
      cell[s] = static_cast<std::int32_t>(features[s] - static_cast<std::int64_t>(u * Y));
    }
    unigram_offsets[u + 1] = static_cast<std::int64_t>(s);
  }
  bigram_offsets[0] = static_cast<std::int64_t>(s);
  for (std::size_t b = 0; b < layout.bigrams; ++b) {
    for (; s < features.size() && static_cast<std::size_t>(features[s]) < first + (b + 1) * Y * Y; ++s) {
      const std::size_t inner = static_cast<std::size_t>(features[s]) - first - b * Y * Y;
      cell[s] = static_cast<std::int32_t>(inner / Y * layout.stride() + inner % Y);
    }
    bigram_offsets[b + 1] = static_cast<std::int64_t>(s);
  }
}

struct Problem::State {
  Layout layout;
  std::size_t labels, stride;  // Y and the length of a row here
  std::vector<std::int64_t> offsets;
  std::vector<double> weights;  // [S] or empty
  std::vector<double> token_weight;
  Contexts unigram, bigram;
  Lists unigram_of, bigram_of;  // contexts of a test
  Lists tokens_of, positions;   // tokens of a unigram context, of a bigram context
  Grouping grouping;
  Lists contexts_of_group;
  Trie beginnings, ends;
  std::vector<std::int64_t> observed;  // features, rising
  std::vector<double> observed_count;
  std::vector<Task> test_tasks, group_tasks, context_tasks;
  Lists one_context;  // context c of key c

  // of an evaluation
  std::vector<double> exp_mu, mu_shift;            // [unigram contexts][stride], [unigram contexts]
  std::vector<double> alpha, scale, log_mass;      // [beginnings][stride], c, log of the mass so far
  std::vector<double> beta;                        // [ends][stride]
  std::vector<double> inverse;                     // [T] w / n_t
  std::vector<double> expected;                    // [unigram contexts][stride]
  std::vector<double> matrices;                    // of contexts or groups, then of dense contexts
  std::vector<const double*> matrix;               // [bigram contexts]
  std::vector<double> shift;                       // [bigram contexts]
  std::vector<std::int64_t> correction_offsets;    // [bigram contexts + 1]
  std::vector<std::int32_t> correction_cell;
  std::vector<double> correction_log, correction;  // log factor; B (factor - 1)
  std::vector<char> corrected;                     // [bigram contexts] has corrections, not a matrix of its own
  std::uint64_t prepared = 0;  // number of the support
  std::vector<std::int64_t> entry_offsets;         // [entries of bigram_of] into entry_of
  std::vector<std::int32_t> entry_of;              // correction of a slot in a context, relative to the context
  std::vector<std::int64_t> observed_slot;
  std::vector<double> observed_slot_count;
  double widest = 0.0;  // largest difference of scores within a token

  double weight_of(std::size_t t) const { return token_weight.empty() ? 1.0 : token_weight[t]; }
  bool local() const { return layout.bigrams == 0; }

  void prepare(const Weights& w);
  void exponentiate_unigrams(const Weights& w, std::size_t threads);
  void fill_matrices(const Weights& w, std::size_t threads);
  void forward_lane(std::size_t lane);
  void backward_lane(std::size_t lane);
  void recurse(std::size_t threads);
  void expect_unigrams(std::size_t threads);
  void add_unigram_gradient(const Weights& w, double* gradient, std::size_t threads);
  void run_task(const Task& task, const Lists& contexts_of, double* sum, std::vector<double>& scratch) const;
  void add_dense_gradient(double* gradient, std::size_t threads);
  void add_supported_gradient(const Weights& w, double* gradient, std::size_t threads);
  bool potentials(const Weights& w, std::size_t threads);  // false: too wide for scaling
  double observed_score(const Weights& w) const;
  void subtract_observed(const Weights& w, double* gradient) const;
  double log_z(std::size_t s) const;
  double in_logarithms(const Weights& w, double* gradient, double* probabilities, double* logs);
};

Problem::Problem(const Layout& layout, const Sequences& data) : state_(std::make_unique<State>()) {
  State& m = *state_;
  m.layout = layout;
  m.labels = layout.labels;
  m.stride = layout.stride();
  m.offsets.assign(data.offsets.begin(), data.offsets.end());
  m.weights.assign(data.weights.begin(), data.weights.end());
  const std::size_t S = m.offsets.size() - 1, T = static_cast<std::size_t>(m.offsets[S]), Y = m.labels;
  if (!m.weights.empty()) {
    m.token_weight.resize(T);
    for (std::size_t s = 0; s < S; ++s) std::fill(&m.token_weight[0] + m.offsets[s], &m.token_weight[0] + m.offsets[s + 1], m.weights[s]);
  }
  std::vector<char> first(T, 0);
  for (std::size_t s = 0; s < S; ++s) {
    if (m.offsets[s] < m.offsets[s + 1]) first[m.offsets[s]] = 1;
  }
  m.unigram = distinct_rows(data.unigram, {}, data.forced);
  m.unigram_of = transpose(m.unigram.tests, layout.unigrams);
  m.tokens_of = tokens_by(m.unigram.of, m.unigram.size());
  if (!m.local()) {
    m.bigram = distinct_rows(data.bigram, first, {});
    m.bigram_of = transpose(m.bigram.tests, layout.bigrams);
    m.positions = tokens_by(m.bigram.of, m.bigram.size());
    std::vector<std::int64_t> counts(layout.bigrams, 0);
    for (std::size_t c = 0; c < m.bigram.size(); ++c) {
      for (auto e = m.bigram.tests.offsets[c]; e < m.bigram.tests.offsets[c + 1]; ++e) {
        counts[m.bigram.tests.items[e]] += m.positions.offsets[c + 1] - m.positions.offsets[c];
      }
    }
    const std::size_t limit = std::max<std::size_t>(kGroupBytes / (Y * m.stride * sizeof(double)), 32);
    m.grouping = group_contexts(m.bigram, counts, limit);
    m.contexts_of_group = tokens_by(m.grouping.group, m.grouping.first.size());
    m.beginnings = build_trie(m.offsets, m.unigram.of, m.bigram.of, m.grouping.group, false);
    m.ends = build_trie(m.offsets, m.unigram.of, m.bigram.of, m.grouping.group, true);
    m.test_tasks = make_tasks(m.bigram_of, m.positions);
    if (m.bigram.size() * Y * m.stride <= kFewCells) {
      m.one_context.offsets.resize(m.bigram.size() + 1);
      m.one_context.items.resize(m.bigram.size());
      std::iota(m.one_context.offsets.begin(), m.one_context.offsets.end(), 0);
      std::iota(m.one_context.items.begin(), m.one_context.items.end(), 0);
      m.context_tasks = make_tasks(m.one_context, m.positions);
    }
    m.group_tasks = make_tasks(m.contexts_of_group, m.positions);
  }
  if (data.labels.empty()) return;
  // Observed features of all tokens, sorted and added up; a token without a known label has none.
  std::vector<std::pair<std::int64_t, double>> seen;
  for (std::size_t t = 0; t < T; ++t) {
    const std::int64_t y = data.labels[t];
    if (y < 0) continue;
    for (auto e = data.unigram.offsets[t]; e < data.unigram.offsets[t + 1]; ++e) {
      const double value = data.unigram.values.empty() ? 1.0 : data.unigram.values[e];
      seen.emplace_back(static_cast<std::int64_t>(data.unigram.ids[e] * Y) + y, value * m.weight_of(t));
    }
    if (first[t] || m.local() || data.labels[t - 1] < 0) continue;
    for (auto e = data.bigram.offsets[t]; e < data.bigram.offsets[t + 1]; ++e) {
      const double value = data.bigram.values.empty() ? 1.0 : data.bigram.values[e];
      const std::size_t at = layout.unigrams * Y + (data.bigram.ids[e] * Y + data.labels[t - 1]) * Y;
      seen.emplace_back(static_cast<std::int64_t>(at) + y, value * m.weight_of(t));
    }
  }
  std::stable_sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [feature, count] : seen) {
    if (m.observed.empty() || m.observed.back() != feature) {
      m.observed.push_back(feature);
      m.observed_count.push_back(0.0);
    }
    m.observed_count.back() += count;
  }
}

Problem::~Problem() = default;
const Layout& Problem::layout() const { return state_->layout; }
std::size_t Problem::sequences() const { return state_->offsets.size() - 1; }
std::size_t Problem::tokens() const { return static_cast<std::size_t>(state_->offsets.back()); }

std::vector<std::size_t> Problem::sizes() const {
  const State& m = *state_;
  return {m.unigram.size(), m.local() ? 0 : m.bigram.size(), m.grouping.first.size(), m.beginnings.size(), m.ends.size()};
}

// What depends on the support but not on its weights: cells that are corrected in each context.
void Problem::State::prepare(const Weights& w) {
  const std::uint64_t number = w.support == nullptr ? 0 : w.support->number;
  if (number == prepared) return;
  prepared = number;
  correction_offsets.assign(1, 0);
  correction_cell.clear();
  entry_of.clear();
  entry_offsets.clear();
  observed_slot.clear();
  observed_slot_count.clear();
  if (w.support == nullptr) return;
  const Support& support = *w.support;
  std::size_t s = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    while (s < support.features.size() && support.features[s] < observed[i]) ++s;
    if (s < support.features.size() && support.features[s] == observed[i]) {
      observed_slot.push_back(static_cast<std::int64_t>(s));
      observed_slot_count.push_back(observed_count[i]);
    }
  }
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

void Problem::State::exponentiate_unigrams(const Weights& w, std::size_t threads) {
  const std::size_t contexts = unigram.size();
  exp_mu.resize(contexts * stride);
  mu_shift.resize(contexts);
  std::vector<double> range((contexts + 63) / 64, 0.0);
  const Contexts* all = &unigram;
  parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
    if (w.support == nullptr) {
      const double* theta = w.theta.data();
      double* out = exp_mu.data();
      const std::size_t Y = labels, step = stride;
      with_packs([=]<class P>() TEXTMILL_INLINED {
        const Lists& tests = all->tests;
        for (std::size_t c = begin; c < end; ++c) {
          sum_rows<P>(tests, tests.offsets[c], tests.offsets[c + 1], tests.offsets[end] - 1, theta, Y, Y, out + c * step);
        }
      });
    }
    for (std::size_t c = begin; c < end; ++c) {
      double* row = &exp_mu[c * stride];
      if (w.support != nullptr) {
        std::fill_n(row, stride, 0.0);
        for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) {
          add_unigram(layout, w, unigram.tests.items[e], unigram.tests.value(e), row);
        }
      } else {
        std::fill(row + labels, row + stride, 0.0);
      }
      const Extent extent = exponentiate(row, 1, labels, stride, &mu_shift[c], true);
      range[begin / 64] = std::max(range[begin / 64], extent.most - extent.least);
      if (!(extent.most - extent.least <= kRange)) range[begin / 64] = std::numeric_limits<double>::infinity();
      if (!unigram.tag.empty() && unigram.tag[c] >= 0) {  // one label is allowed
        for (std::size_t y = 0; y < labels; ++y) {
          if (y != static_cast<std::size_t>(unigram.tag[c])) row[y] = 0.0;
        }
      }
    }
  });
  widest = range.empty() ? 0.0 : *std::max_element(range.begin(), range.end());
}

void Problem::State::fill_matrices(const Weights& w, std::size_t threads) {
  const std::size_t contexts = bigram.size(), cells = labels * stride;
  matrix.resize(contexts);
  shift.assign(contexts, 0.0);
  corrected.assign(contexts, 0);
  const auto add_tests = [&](std::size_t c, double* out, bool all) {
    for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
      if (all || grouping.frequent[bigram.tests.items[e]]) {
        add_bigram(layout, w, bigram.tests.items[e], bigram.tests.value(e), out);
      }
    }
  };
  std::vector<double> range(contexts, 0.0);
  if (w.support == nullptr) {
    matrices.resize(contexts * cells);
    parallel_for(contexts, threads, [&](std::size_t c) {
      double* out = &matrices[c * cells];
      std::fill_n(out, cells, 0.0);
      add_tests(c, out, true);
      const Extent extent = exponentiate(out, labels, labels, stride, &shift[c], false);
      range[c] = extent.most - extent.least;
      matrix[c] = out;
    });
  } else {
    const std::size_t groups = grouping.first.size();
    std::vector<std::int32_t> own(contexts, -1);
    std::vector<double> group_range(groups), group_shift(groups), high(contexts, 0.0), low(contexts, 0.0);
    parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        double* logs = correction_log.data() + correction_offsets[c];
        const auto count = static_cast<std::size_t>(correction_offsets[c + 1] - correction_offsets[c]);
        std::fill_n(logs, count, 0.0);
        for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
          const std::int32_t b = bigram.tests.items[e];
          if (grouping.frequent[b]) continue;
          const auto first = bigram_of.items.begin() + bigram_of.offsets[b], last = bigram_of.items.begin() + bigram_of.offsets[b + 1];
          // a test that is there twice has two entries; the cells of both are the same
          const auto at = std::lower_bound(first, last, static_cast<std::int32_t>(c)) - bigram_of.items.begin();
          const double value = bigram.tests.value(e);
          std::int64_t entry = entry_offsets[at];
          for (auto slot = w.support->bigram_offsets[b]; slot < w.support->bigram_offsets[b + 1]; ++slot) {
            logs[entry_of[entry++]] += value * w.theta[slot];
          }
        }
        for (std::size_t i = 0; i < count; ++i) {
          high[c] = std::max(high[c], logs[i]);
          low[c] = std::min(low[c], logs[i]);
        }
        corrected[c] = 6 * count <= labels * labels && high[c] <= kStrongest && low[c] >= kWeakest;
      }
    });
    std::size_t dense = 0;
    for (std::size_t c = 0; c < contexts; ++c) {
      if (!corrected[c]) own[c] = static_cast<std::int32_t>(groups + dense++);
    }
    matrices.resize((groups + dense) * cells);
    parallel_for(groups, threads, [&](std::size_t g) {
      double* out = &matrices[g * cells];
      std::fill_n(out, cells, 0.0);
      add_tests(grouping.first[g], out, false);
      const Extent extent = exponentiate(out, labels, labels, stride, &group_shift[g], false);
      group_range[g] = extent.most - extent.least;
    });
    parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        const std::int32_t g = grouping.group[c];
        range[c] = group_range[g] + high[c] - low[c];
        if (!corrected[c]) {
          double* out = &matrices[own[c] * cells];
          matrix[c] = out;
          std::fill_n(out, cells, 0.0);
          add_tests(c, out, true);
          const Extent extent = exponentiate(out, labels, labels, stride, &shift[c], false);
          range[c] = extent.most - extent.least;
          continue;
        }
        matrix[c] = &matrices[g * cells];
        shift[c] = group_shift[g];
        const auto from = correction_offsets[c], to = correction_offsets[c + 1];
        const std::span<double> factor(correction.data() + from, static_cast<std::size_t>(to - from));
        base::exp(std::span<const double>(correction_log.data() + from, factor.size()), factor);
        for (std::size_t i = 0; i < factor.size(); ++i) factor[i] = matrix[c][correction_cell[from + i]] * (factor[i] - 1.0);
      }
    });
  }
  double most = 0.0;
  for (const double r : range) most = r <= kRange ? std::max(most, r) : std::numeric_limits<double>::infinity();
  widest += most;
}

bool Problem::State::potentials(const Weights& w, std::size_t threads) {
  prepare(w);
  exponentiate_unigrams(w, threads);
  if (!local()) fill_matrices(w, threads);
  return widest <= kRange;
}

// Calls run(first, count) for stretches of up to 4 nodes of [begin, end) with one matrix.
template <class Run>
TEXTMILL_INLINED inline void by_fours(std::int32_t begin, std::int32_t end, const std::int32_t* contexts,
                                      const double* const* matrix, Run run) {
  while (begin < end) {
    const double* m = matrix[contexts[begin]];
    std::int32_t last = begin + 1;
    while (last < end && last - begin < 4 && matrix[contexts[last]] == m) ++last;
    run(begin, last - begin, m);
    begin = last;
  }
}

void Problem::State::forward_lane(std::size_t lane) {
  const State* m = this;
  double *alphas = alpha.data(), *scales = scale.data(), *masses = log_mass.data();
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t Y = m->labels, stride = m->stride;
    const Trie& trie = m->beginnings;
    const auto finish = [=, &trie](std::int32_t node) TEXTMILL_INLINED {
      double* row = alphas + node * stride;
      const double* mu = m->exp_mu.data() + trie.unigram[node] * stride;
      const std::int32_t parent = trie.parent[node], c = trie.bigram[node];
      double before = m->mu_shift[trie.unigram[node]];
      if (parent >= 0) {
        before += masses[parent] + m->shift[c];
        if (m->corrected[c]) {
          const double* from = alphas + parent * stride;
          for (auto e = m->correction_offsets[c]; e < m->correction_offsets[c + 1]; ++e) {
            const std::size_t cell = m->correction_cell[e], y = cell / stride;
            row[cell - y * stride] += from[y] * m->correction[e];
          }
        }
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < stride; y += P::width) {
        const P value = parent < 0 ? P::load(mu + y) : P::load(row + y) * P::load(mu + y);
        total = total + value;
        value.store(row + y);
      }
      const double mass = sum(total);
      const P by = P(1.0 / mass);
      for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * by).store(row + y);
      scales[node] = mass;
      masses[node] = before + std::log(mass);
    };
    for (std::size_t b = trie.lanes[lane]; b < trie.lanes[lane + 1]; ++b) {
      const Batch batch = trie.batches[b];
      if (trie.parent[batch.begin] < 0) {
        for (std::int32_t node = batch.begin; node < batch.end; ++node) finish(node);
        continue;
      }
      by_fours(batch.begin, batch.end, trie.bigram.data(), m->matrix.data(),
               [=, &trie](std::int32_t first, std::int32_t count, const double* matrix) TEXTMILL_INLINED {
                 const double* a[4];
                 double* out[4];
                 for (std::int32_t i = 0; i < count; ++i) {
                   a[i] = alphas + trie.parent[first + i] * stride;
                   out[i] = alphas + (first + i) * stride;
                 }
                 if (count == 4) times_matrix<P, 4>(a, matrix, Y, stride, out);
                 if (count == 3) times_matrix<P, 3>(a, matrix, Y, stride, out);
                 if (count == 2) times_matrix<P, 2>(a, matrix, Y, stride, out);
                 if (count == 1) times_matrix<P, 1>(a, matrix, Y, stride, out);
                 for (std::int32_t i = 0; i < count; ++i) finish(first + i);
               });
    }
  });
}

void Problem::State::backward_lane(std::size_t lane) {
  const State* m = this;
  double* betas = beta.data();
  std::vector<double> space(4 * stride, 0.0);
  double* const scratch = space.data();
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t Y = m->labels, stride = m->stride;
    const Trie& trie = m->ends;
    for (std::size_t b = trie.lanes[lane]; b < trie.lanes[lane + 1]; ++b) {
      const Batch batch = trie.batches[b];
      by_fours(batch.begin, batch.end, trie.bigram.data(), m->matrix.data(),
               [=, &trie](std::int32_t first, std::int32_t count, const double* matrix) TEXTMILL_INLINED {
                 const double* v[4];
                 double* out[4];
                 for (std::int32_t i = 0; i < count; ++i) {
                   const std::int32_t parent = trie.parent[first + i];
                   const double* mu = m->exp_mu.data() + trie.unigram[first + i] * stride;
                   double* row = scratch + i * stride;
                   for (std::size_t y = 0; y < stride; y += P::width) {
                     const P behind = parent < 0 ? P(1.0) : P::load(betas + parent * stride + y);
                     (P::load(mu + y) * behind).store(row + y);
                   }
                   v[i] = row;
                   out[i] = betas + (first + i) * stride;
                 }
                 if (count == 4) matrix_times<P, 4>(matrix, v, Y, stride, out);
                 if (count == 3) matrix_times<P, 3>(matrix, v, Y, stride, out);
                 if (count == 2) matrix_times<P, 2>(matrix, v, Y, stride, out);
                 if (count == 1) matrix_times<P, 1>(matrix, v, Y, stride, out);
                 for (std::int32_t i = 0; i < count; ++i) {
                   const std::int32_t c = trie.bigram[first + i];
                   double* row = out[i];
                   if (m->corrected[c]) {
                     for (auto e = m->correction_offsets[c]; e < m->correction_offsets[c + 1]; ++e) {
                       const std::size_t cell = m->correction_cell[e], y = cell / stride;
                       row[y] += v[i][cell - y * stride] * m->correction[e];
                     }
                   }
                   P total = P(0.0);
                   for (std::size_t y = 0; y < stride; y += P::width) total = total + P::load(row + y);
                   const P by = P(1.0 / sum(total));
                   for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * by).store(row + y);
                 }
               });
    }
  });
}

void Problem::State::recurse(std::size_t threads) {
  alpha.resize(beginnings.size() * stride);
  scale.resize(beginnings.size());
  log_mass.resize(beginnings.size());
  beta.resize(ends.size() * stride);  // what is behind the last label stays zero
  const std::size_t forward = beginnings.lanes.size() - 1, backward = ends.lanes.size() - 1;
  parallel_for(forward + backward, threads, [&](std::size_t l) {
    if (l < forward) forward_lane(l);
    else backward_lane(l - forward);
  });
}

double Problem::State::log_z(std::size_t s) const {
  if (offsets[s] == offsets[s + 1]) return 0.0;
  if (!local()) return log_mass[beginnings.of[offsets[s + 1] - 1]];
  double total = 0.0;
  for (auto t = offsets[s]; t < offsets[s + 1]; ++t) total += log_mass[unigram.of[t]];
  return total;
}

// Marginals of all tokens, added up per unigram context; also w / n_t of every token.
void Problem::State::expect_unigrams(std::size_t threads) {
  const std::size_t contexts = unigram.size();
  expected.resize(contexts * stride);
  inverse.resize(unigram.of.size());
  if (local()) log_mass.resize(contexts);
  State* m = this;
  parallel_blocks(contexts, 64, threads, [=](std::size_t begin, std::size_t end) {
    with_packs([=]<class P>() TEXTMILL_INLINED {
      const std::size_t stride = m->stride;
      for (std::size_t c = begin; c < end; ++c) {
        double* out = m->expected.data() + c * stride;
        for (std::size_t y = 0; y < stride; y += P::width) P(0.0).store(out + y);
        if (m->local()) {
          const double* mu = m->exp_mu.data() + c * stride;
          double weight = 0.0;
          for (auto e = m->tokens_of.offsets[c]; e < m->tokens_of.offsets[c + 1]; ++e) weight += m->weight_of(m->tokens_of.items[e]);
          P total = P(0.0);
          for (std::size_t y = 0; y < stride; y += P::width) total = total + P::load(mu + y);
          const double mass = sum(total);
          for (std::size_t y = 0; y < stride; y += P::width) (P(weight / mass) * P::load(mu + y)).store(out + y);
          m->log_mass[c] = std::log(mass) + m->mu_shift[c];
          continue;
        }
        for (auto e = m->tokens_of.offsets[c]; e < m->tokens_of.offsets[c + 1]; ++e) {
          const std::int32_t t = m->tokens_of.items[e], end_node = m->ends.of[t];
          const double* a = m->alpha.data() + m->beginnings.of[t] * stride;
          const double* b = end_node < 0 ? nullptr : m->beta.data() + end_node * stride;
          P total = P(0.0);
          for (std::size_t y = 0; y < stride; y += P::width) {
            total = b == nullptr ? total + P::load(a + y) : multiply_add(P::load(a + y), P::load(b + y), total);
          }
          const double share = m->weight_of(t) / sum(total);
          m->inverse[t] = share;
          const P by = P(share);
          for (std::size_t y = 0; y < stride; y += P::width) {
            const P both = b == nullptr ? P::load(a + y) : P::load(a + y) * P::load(b + y);
            multiply_add(both, by, P::load(out + y)).store(out + y);
          }
        }
      }
    });
  });
}

void Problem::State::add_unigram_gradient(const Weights& w, double* gradient, std::size_t threads) {
  const State* m = this;
  const Support* support = w.support;
  parallel_blocks(layout.unigrams, 64, threads, [=](std::size_t begin, std::size_t end) {
    std::vector<double> space(m->stride);
    double* const row = space.data();
    with_packs([=]<class P>() TEXTMILL_INLINED {
      const std::size_t Y = m->labels, stride = m->stride;
      const Lists& of = m->unigram_of;
      const auto last = of.offsets[end] - 1;
      for (std::size_t u = begin; u < end; ++u) {
        if (support != nullptr && support->unigram_offsets[u] == support->unigram_offsets[u + 1]) continue;
        sum_rows<P>(of, of.offsets[u], of.offsets[u + 1], last, m->expected.data(), stride, stride, row);
        if (support == nullptr) {
          for (std::size_t y = 0; y < Y; ++y) gradient[u * Y + y] += row[y];
        } else {
          for (auto s = support->unigram_offsets[u]; s < support->unigram_offsets[u + 1]; ++s) gradient[s] += row[support->cell[s]];
        }
      }
    });
  });
}

// sum [Y][stride] = sum over the positions of the task of value * psi .* (alpha v'); scratch is for this function.
void Problem::State::run_task(const Task& task, const Lists& contexts_of, double* sum, std::vector<double>& scratch) const {
  const std::size_t cells = labels * stride;
  scratch.resize(cells + kBlock * stride);
  const State* m = this;
  const Lists* lists = &contexts_of;
  double* const product = scratch.data();
  double* const v = product + cells;
  std::fill_n(sum, cells, 0.0);
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t Y = m->labels, stride = m->stride;
    std::int64_t left = task.count, entry = task.entry, skip = task.skip;
    for (; left > 0; ++entry, skip = 0) {
      const std::int32_t c = lists->items[entry];
      const std::int64_t begin = m->positions.offsets[c] + skip;
      const std::int64_t end = std::min(m->positions.offsets[c + 1], begin + left);
      left -= end - begin;
      for (std::int64_t block = begin; block < end; block += kBlock) {
        const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(kBlock, end - block));
        const double* a[kBlock];
        for (std::size_t i = 0; i < rows; ++i) {
          const std::int32_t t = m->positions.items[block + i], node = m->ends.of[t];
          a[i] = m->alpha.data() + m->beginnings.of[t - 1] * stride;
          const double* mu = m->exp_mu.data() + m->unigram.of[t] * stride;
          const double* b = node < 0 ? nullptr : m->beta.data() + node * stride;
          const P by = P(m->inverse[t] / m->scale[m->beginnings.of[t]]);
          for (std::size_t y = 0; y < stride; y += P::width) {
            const P value = P::load(mu + y) * by;
            (b == nullptr ? value : value * P::load(b + y)).store(v + i * stride + y);
          }
        }
        add_products<P>(a, v, rows, Y, stride, product, block == begin);
      }
      if (begin == end) continue;
      const double value = lists->value(entry);
      if (m->corrected[c]) {
        for (auto e = m->correction_offsets[c]; e < m->correction_offsets[c + 1]; ++e) {
          sum[m->correction_cell[e]] += value * m->correction[e] * product[m->correction_cell[e]];
        }
      }
      const double* matrix = m->matrix[c];
      for (std::size_t i = 0; i < Y * stride; i += P::width) {
        multiply_add(P(value) * P::load(matrix + i), P::load(product + i), P::load(sum + i)).store(sum + i);
      }
    }
  });
}

// Runs all tasks; use(key, sum) is called once a key, with the sum over its tasks, by one thread at a time per key.
template <class Use>
void run_tasks(const std::vector<Task>& tasks, std::size_t cells, std::size_t threads, const auto& run, Use use) {
  std::vector<std::size_t> starts;  // the first task of a key
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i == 0 || tasks[i].key != tasks[i - 1].key) starts.push_back(i);
  }
  starts.push_back(tasks.size());
  std::vector<std::size_t> single, several;
  for (std::size_t k = 0; k + 1 < starts.size(); ++k) (starts[k + 1] - starts[k] == 1 ? single : several).push_back(k);
  for (const std::size_t k : several) {
    const std::size_t parts = starts[k + 1] - starts[k];
    std::vector<double> sums(parts * cells);
    parallel_for(parts, threads, [&](std::size_t p) {
      std::vector<double> scratch;
      run(tasks[starts[k] + p], &sums[p * cells], scratch);
    });
    for (std::size_t p = 1; p < parts; ++p) {
      for (std::size_t i = 0; i < cells; ++i) sums[i] += sums[p * cells + i];
    }
    use(tasks[starts[k]].key, sums.data());
  }
  parallel_blocks(single.size(), 8, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch, sum(cells);
    for (std::size_t i = begin; i < end; ++i) {
      const Task& task = tasks[starts[single[i]]];
      run(task, sum.data(), scratch);
      use(task.key, sum.data());
    }
  });
}

void Problem::State::add_dense_gradient(double* gradient, std::size_t threads) {
  const std::size_t cells = labels * stride;
  if (!context_tasks.empty()) {  // every position once, however many tests it has
    std::vector<double> sums(bigram.size() * cells, 0.0);
    run_tasks(context_tasks, cells, threads,
              [&](const Task& task, double* sum, std::vector<double>& scratch) { run_task(task, one_context, sum, scratch); },
              [&](std::int32_t c, const double* sum) { std::copy_n(sum, cells, &sums[c * cells]); });
    parallel_for(layout.bigrams, threads, [&](std::size_t b) {
      double* out = gradient + layout.unigrams * labels + b * labels * labels;
      for (auto e = bigram_of.offsets[b]; e < bigram_of.offsets[b + 1]; ++e) {
        const double* sum = &sums[bigram_of.items[e] * cells];
        const double value = bigram_of.value(e);
        for (std::size_t y = 0; y < labels; ++y) {
          for (std::size_t to = 0; to < labels; ++to) out[y * labels + to] += value * sum[y * stride + to];
        }
      }
    });
    return;
  }
  const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) { run_task(task, bigram_of, sum, scratch); };
  run_tasks(test_tasks, cells, threads, run, [&](std::int32_t b, const double* sum) {
    double* out = gradient + layout.unigrams * labels + b * labels * labels;
    for (std::size_t y = 0; y < labels; ++y) {
      for (std::size_t to = 0; to < labels; ++to) out[y * labels + to] += sum[y * stride + to];
    }
  });
}

void Problem::State::add_supported_gradient(const Weights& w, double* gradient, std::size_t threads) {
  const Support& support = *w.support;
  const std::size_t cells = labels * stride, groups = grouping.first.size();
  // frequent tests: from the sums of whole groups
  std::vector<double> sums(groups * cells, 0.0);
  const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) { run_task(task, contexts_of_group, sum, scratch); };
  run_tasks(group_tasks, cells, threads, run,
            [&](std::int32_t g, const double* sum) { std::copy_n(sum, cells, &sums[g * cells]); });
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t c = grouping.first[g];
    for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
      const std::int32_t b = bigram.tests.items[e];
      if (!grouping.frequent[b]) continue;
      const double value = bigram.tests.value(e);
      for (auto s = support.bigram_offsets[b]; s < support.bigram_offsets[b + 1]; ++s) {
        gradient[s] += value * sums[g * cells + support.cell[s]];
      }
    }
  }
  // the others: only the cells of the support
  parallel_blocks(layout.bigrams, 16, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> dots;
    for (std::size_t b = begin; b < end; ++b) {
      const auto first = support.bigram_offsets[b];
      const auto slots = static_cast<std::size_t>(support.bigram_offsets[b + 1] - first);
      if (grouping.frequent[b] || slots == 0) continue;
      for (auto entry = bigram_of.offsets[b]; entry < bigram_of.offsets[b + 1]; ++entry) {
        const std::int32_t c = bigram_of.items[entry];
        dots.assign(slots, 0.0);
        for (auto p = positions.offsets[c]; p < positions.offsets[c + 1]; ++p) {
          const std::int32_t t = positions.items[p], node = ends.of[t];
          const double* a = &alpha[beginnings.of[t - 1] * stride];
          const double* mu = &exp_mu[unigram.of[t] * stride];
          const double* behind = node < 0 ? nullptr : &beta[node * stride];
          const double by = inverse[t] / scale[beginnings.of[t]];
          for (std::size_t i = 0; i < slots; ++i) {
            const std::size_t cell = support.cell[first + i], y = cell / stride, to = cell - y * stride;
            dots[i] += by * a[y] * mu[to] * (behind == nullptr ? 1.0 : behind[to]);
          }
        }
        const double value = bigram_of.value(entry);
        for (std::size_t i = 0; i < slots; ++i) {
          double psi = matrix[c][support.cell[first + i]];
          if (corrected[c]) psi += correction[correction_offsets[c] + entry_of[entry_offsets[entry] + i]];
          gradient[first + i] += value * psi * dots[i];
        }
      }
    }
  });
}

double Problem::State::observed_score(const Weights& w) const {
  double score = 0.0;
  if (w.support == nullptr) {
    for (std::size_t i = 0; i < observed.size(); ++i) score += observed_count[i] * w.theta[observed[i]];
  } else {
    for (std::size_t i = 0; i < observed_slot.size(); ++i) score += observed_slot_count[i] * w.theta[observed_slot[i]];
  }
  return score;
}

void Problem::State::subtract_observed(const Weights& w, double* gradient) const {
  if (w.support == nullptr) {
    for (std::size_t i = 0; i < observed.size(); ++i) gradient[observed[i]] -= observed_count[i];
  } else {
    for (std::size_t i = 0; i < observed_slot.size(); ++i) gradient[observed_slot[i]] -= observed_slot_count[i];
  }
}

// The whole evaluation, sequence by sequence, for scores that scaling cannot hold.
double Problem::State::in_logarithms(const Weights& w, double* gradient, double* probabilities, double* logs) {
  const std::size_t Y = labels, S = offsets.size() - 1;
  std::vector<double> unary, a, b, pair(Y * stride);
  std::vector<std::vector<double>> scores(bigram.of.empty() ? 0 : bigram.size());
  std::vector<const double*> pairs;
  const std::vector<double> nothing(Y * stride, 0.0);
  double value = 0.0;
  for (std::size_t s = 0; s < S; ++s) {
    const auto begin = static_cast<std::size_t>(offsets[s]), T = static_cast<std::size_t>(offsets[s + 1]) - begin;
    if (T == 0) {
      if (logs != nullptr) logs[s] = 0.0;
      continue;
    }
    unary.assign(T * Y, 0.0);
    pairs.assign(T, nothing.data());
    for (std::size_t t = 0; t < T; ++t) {
      const std::int32_t c = unigram.of[begin + t];
      for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) {
        add_unigram(layout, w, unigram.tests.items[e], unigram.tests.value(e), &unary[t * Y]);
      }
      if (!unigram.tag.empty() && unigram.tag[c] >= 0) {
        for (std::size_t y = 0; y < Y; ++y) {
          if (y != static_cast<std::size_t>(unigram.tag[c])) unary[t * Y + y] = -std::numeric_limits<double>::infinity();
        }
      }
      if (t == 0 || local()) continue;
      const std::int32_t d = bigram.of[begin + t];
      if (scores[d].empty()) {
        scores[d].assign(Y * stride, 0.0);
        for (auto e = bigram.tests.offsets[d]; e < bigram.tests.offsets[d + 1]; ++e) {
          add_bigram(layout, w, bigram.tests.items[e], bigram.tests.value(e), scores[d].data());
        }
      }
      pairs[t] = scores[d].data();
    }
    const Chain chain{T, Y, unary.data(), pairs, stride};
    a.resize(T * Y);
    b.resize(T * Y);
    const double total = forward(chain, a);
    const double weight = weights.empty() ? 1.0 : weights[s];
    value += weight * total;
    if (logs != nullptr) logs[s] = total;
    if (gradient == nullptr && probabilities == nullptr) continue;
    backward(chain, b);
    for (std::size_t t = 0; t < T; ++t) {
      const std::int32_t c = unigram.of[begin + t];
      for (std::size_t y = 0; y < Y; ++y) pair[y] = std::exp(a[t * Y + y] + b[t * Y + y] - total);
      if (probabilities != nullptr) std::copy_n(pair.data(), Y, probabilities + (begin + t) * Y);
      if (gradient == nullptr) continue;
      for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) {
        const std::int32_t u = unigram.tests.items[e];
        const double by = weight * unigram.tests.value(e);
        if (w.support == nullptr) {
          for (std::size_t y = 0; y < Y; ++y) gradient[u * Y + y] += by * pair[y];
        } else {
          for (auto i = w.support->unigram_offsets[u]; i < w.support->unigram_offsets[u + 1]; ++i) gradient[i] += by * pair[w.support->cell[i]];
        }
      }
      if (t == 0 || local()) continue;
      for (std::size_t f = 0; f < Y; ++f) {
        for (std::size_t y = 0; y < Y; ++y) {
          pair[f * stride + y] = std::exp(a[(t - 1) * Y + f] + pairs[t][f * stride + y] + unary[t * Y + y] + b[t * Y + y] - total);
        }
      }
      const std::int32_t d = bigram.of[begin + t];
      for (auto e = bigram.tests.offsets[d]; e < bigram.tests.offsets[d + 1]; ++e) {
        const std::int32_t test = bigram.tests.items[e];
        const double by = weight * bigram.tests.value(e);
        if (w.support == nullptr) {
          double* out = gradient + layout.unigrams * Y + test * Y * Y;
          for (std::size_t f = 0; f < Y; ++f) {
            for (std::size_t y = 0; y < Y; ++y) out[f * Y + y] += by * pair[f * stride + y];
          }
        } else {
          for (auto i = w.support->bigram_offsets[test]; i < w.support->bigram_offsets[test + 1]; ++i) gradient[i] += by * pair[w.support->cell[i]];
        }
      }
    }
  }
  return value;
}

double Problem::evaluate(const Weights& w, std::span<double> gradient, std::size_t threads) {
  State& m = *state_;
  const bool scaled = m.potentials(w, threads);
  if (!gradient.empty()) m.subtract_observed(w, gradient.data());
  if (!scaled) return m.in_logarithms(w, gradient.empty() ? nullptr : gradient.data(), nullptr, nullptr) - m.observed_score(w);
  if (!m.local()) m.recurse(threads);
  if (m.local() || !gradient.empty()) m.expect_unigrams(threads);
  double value = 0.0;
  for (std::size_t s = 0; s < sequences(); ++s) value += (m.weights.empty() ? 1.0 : m.weights[s]) * m.log_z(s);
  value -= m.observed_score(w);
  if (gradient.empty()) return value;
  m.add_unigram_gradient(w, gradient.data(), threads);
  if (m.local()) return value;
  if (w.support == nullptr) m.add_dense_gradient(gradient.data(), threads);
  else m.add_supported_gradient(w, gradient.data(), threads);
  return value;
}

std::vector<Violation> Problem::violations(const Weights& w, double threshold, double& value, std::span<double> gradient,
                                           std::size_t threads) {
  State& m = *state_;
  const Layout& layout = m.layout;
  const std::size_t Y = m.labels, stride = m.stride;
  if (!m.potentials(w, threads)) base::detail::refuse("the weights are too large for a search; penalise them more");
  if (!m.local()) m.recurse(threads);
  m.expect_unigrams(threads);
  value = -m.observed_score(w);
  for (std::size_t s = 0; s < sequences(); ++s) value += (m.weights.empty() ? 1.0 : m.weights[s]) * m.log_z(s);
  std::vector<std::vector<Violation>> found(layout.unigrams + layout.bigrams);
  // Gradients of the features [first, first + rows * Y) of a test; what was observed and what is chosen is looked up.
  const auto look = [&](std::vector<Violation>& out, std::int64_t first, std::size_t rows, const double* expected, std::size_t step) {
    const std::int64_t last = first + static_cast<std::int64_t>(rows * Y);
    auto seen = std::lower_bound(m.observed.begin(), m.observed.end(), first) - m.observed.begin();
    const auto& chosen = w.support->features;
    auto slot = std::lower_bound(chosen.begin(), chosen.end(), first);
    for (std::int64_t k = first; k < last; ++k) {
      const auto inner = static_cast<std::size_t>(k - first);
      double g = expected[inner / Y * step + inner % Y];
      if (static_cast<std::size_t>(seen) < m.observed.size() && m.observed[seen] == k) g -= m.observed_count[seen++];
      if (slot != chosen.end() && *slot == k) gradient[slot++ - chosen.begin()] += g;
      else if (std::abs(g) > threshold) out.push_back({k, g});
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
    const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) { m.run_task(task, m.bigram_of, sum, scratch); };
    std::vector<char> met(layout.bigrams, 0);
    run_tasks(m.test_tasks, Y * stride, threads, run, [&](std::int32_t b, const double* sum) {
      met[b] = 1;
      look(found[layout.unigrams + b], static_cast<std::int64_t>(layout.unigrams * Y + b * Y * Y), Y, sum, stride);
    });
    const std::vector<double> nothing(Y * stride, 0.0);  // tests that are true at first tokens only
    for (std::size_t b = 0; b < layout.bigrams; ++b) {
      if (!met[b]) look(found[layout.unigrams + b], static_cast<std::int64_t>(layout.unigrams * Y + b * Y * Y), Y, nothing.data(), stride);
    }
  }
  std::vector<Violation> all;
  for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void Problem::marginals(const Weights& w, std::span<double> probabilities, std::span<double> log_z, std::size_t threads) {
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
      zeros += positions * static_cast<double>(std::count(&scores[y * m.stride], &scores[y * m.stride] + m.labels, 0.0));
    }
    all += positions * static_cast<double>(m.labels * m.labels);
  }
  return zeros / all;
}

void unigram_scores(const Layout& layout, const Weights& weights, const Rows& rows, std::size_t token, double* unary) {
  std::fill_n(unary, layout.labels, 0.0);
  for (auto e = rows.offsets[token]; e < rows.offsets[token + 1]; ++e) {
    add_unigram(layout, weights, rows.ids[e], rows.values.empty() ? 1.0 : rows.values[e], unary);
  }
}

void bigram_scores(const Layout& layout, const Weights& weights, const Lists& tests, std::size_t context, double* pair) {
  std::fill_n(pair, layout.labels * layout.stride(), 0.0);
  for (auto e = tests.offsets[context]; e < tests.offsets[context + 1]; ++e) {
    add_bigram(layout, weights, tests.items[e], tests.value(e), pair);
  }
}

}  // namespace textmill::sequence
