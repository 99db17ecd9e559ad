#include "sequence/blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "sequence/descent.h"

namespace textmill::sequence {
namespace {

using base::kLanes;
using base::parallel_for;

constexpr double kLeastCurvature = 1e-12;
constexpr double kShare = 0.01;  // of the promised decrease
constexpr int kTrials = 60;
constexpr std::size_t kGroupBytes = 1 << 20;     // of the matrices of all groups: they should stay in the cache
constexpr std::size_t kLeastCache = 1 << 19;     // numbers: 4 MB are worth it, however small the model
constexpr std::size_t kLeastMessages = 1 << 23;  // numbers: 64 MB save most of the time of models with few labels
constexpr std::size_t kLeastKept = 1 << 17;      // numbers of vectors that are kept for the trials of a block

double soft(double z, double by) { return z > by ? z - by : z < -by ? z + by : 0.0; }

}  // namespace

Descent::Descent(const Labelled& data, double l1, double l2, bool truncated) : state_(std::make_unique<State>()) {
  State& m = *state_;
  m.data = data;
  m.l1 = l1;
  m.l2 = l2;
  m.truncated = truncated;
  const Layout& layout = data.layout;
  m.Y = layout.labels;
  m.stride = layout.stride();
  m.cells = m.Y * m.stride;
  const std::size_t S = data.offsets.size() - 1, T = static_cast<std::size_t>(data.offsets[S]);
  m.sequence_of.resize(T);
  std::vector<char> first(T, 0);
  for (std::size_t s = 0; s < S; ++s) {
    if (data.offsets[s] < data.offsets[s + 1]) first[data.offsets[s]] = 1;
    std::fill(m.sequence_of.begin() + data.offsets[s], m.sequence_of.begin() + data.offsets[s + 1],
              static_cast<std::int64_t>(s));
  }
  m.unigram = distinct_rows(data.unigram, {}, {});
  m.bigram = distinct_rows(data.bigram, first, {});
  const auto index = [&](const Rows& rows, std::size_t tests, bool skip) {
    Lists lists;
    lists.offsets.assign(1, 0);
    for (std::size_t t = 0; t < T; ++t) {
      if (!(skip && first[t])) {
        lists.items.insert(lists.items.end(), rows.ids.begin() + rows.offsets[t],
                           rows.ids.begin() + rows.offsets[t + 1]);
        if (!rows.values.empty())
          lists.values.insert(lists.values.end(), rows.values.begin() + rows.offsets[t],
                              rows.values.begin() + rows.offsets[t + 1]);
      }
      lists.offsets.push_back(static_cast<std::int64_t>(lists.items.size()));
    }
    return transpose(lists, tests);
  };
  m.unigram_tokens = index(data.unigram, layout.unigrams, false);
  m.bigram_tokens = index(data.bigram, layout.bigrams, true);
  m.changed_bigram.assign(layout.bigrams, 0);
  const std::size_t numbers = std::max(layout.size() / 4, kLeastCache);
  if (layout.bigrams > 0) {
    std::vector<std::int64_t> counts(layout.bigrams);
    for (std::size_t b = 0; b < layout.bigrams; ++b)
      counts[b] = m.bigram_tokens.offsets[b + 1] - m.bigram_tokens.offsets[b];
    const std::size_t limit = std::max<std::size_t>(kGroupBytes / (m.cells * sizeof(double)), 32);
    m.grouping = group_contexts(m.bigram, counts, limit);
    m.group_entry.resize(m.grouping.first.size());
    m.group_matrices.resize(m.grouping.first.size() * m.cells);
    m.nonzero.resize(layout.bigrams);
    m.simple.resize(m.bigram.size());
    m.context_claimed.resize(m.bigram.size());
  }
  m.matrix_entry.resize(std::clamp<std::size_t>(numbers / m.cells, 1, std::max<std::size_t>(m.bigram.size(), 1)));
  m.row_entry.resize(std::max<std::size_t>(m.unigram.size(), 1));
  m.matrices.resize(m.matrix_entry.size() * m.cells);
  m.rows.resize(m.row_entry.size() * m.stride);
  m.row_claimed.resize(m.row_entry.size());
  m.matrix_claimed.resize(m.matrix_entry.size());
  m.lanes.resize(kLanes);
  if (truncated && layout.bigrams > 0 && 2 * T * m.stride <= std::max(layout.size() / 4, kLeastMessages)) {
    m.messages.alpha.resize(T * m.stride);
    m.messages.beta.resize(T * m.stride);
    m.messages.scale.resize(T);
    m.messages.shift.resize(T);
  }
  begin();
}

Descent::~Descent() = default;

void Descent::begin() {
  State& m = *state_;
  for (State::Entry& entry : m.row_entry) entry.time = 0;
  m.stale = m.unigram.size();
  if (m.messages.empty()) return;
  m.messages.known.assign(m.data.offsets.begin(), m.data.offsets.end() - 1);
  m.messages.behind.assign(m.data.offsets.begin() + 1, m.data.offsets.end());
}

Descent::Sweep Descent::sweep(std::span<const BlockTest> order, std::span<double> w, std::size_t threads) {
  State& m = *state_;
  const std::size_t Y = m.Y, stride = m.stride, blocks = m.data.layout.unigrams * Y, size = Y + m.cells;
  Sweep done;
  std::vector<std::int32_t> tokens;
  std::vector<float> unigram_values, bigram_values;
  std::vector<Span> spans;
  std::vector<double> g(size), h(size), old(size), fresh(size), observed(size), factor(Y);
  const std::size_t T = m.unigram.of.size();
  for (std::size_t t = 0; t < T && m.stale > 0; ++t) m.refresh_row(t, w);
  for (const BlockTest& block : order) {
    // positions of the test, of either kind, in order
    tokens.clear();
    unigram_values.clear();
    bigram_values.clear();
    const auto range = [](const Lists& lists, std::int32_t test) {
      return test < 0 ? std::pair<std::int64_t, std::int64_t>{0, 0}
                      : std::pair{lists.offsets[test], lists.offsets[test + 1]};
    };
    auto [u, u_end] = range(m.unigram_tokens, block.unigram);
    auto [b, b_end] = range(m.bigram_tokens, block.bigram);
    while (u < u_end || b < b_end) {
      const std::int32_t x = u < u_end ? m.unigram_tokens.items[u] : std::numeric_limits<std::int32_t>::max();
      const std::int32_t y = b < b_end ? m.bigram_tokens.items[b] : std::numeric_limits<std::int32_t>::max();
      tokens.push_back(std::min(x, y));
      unigram_values.push_back(x <= y ? m.unigram_tokens.value(u) : 0.0F);
      bigram_values.push_back(y <= x ? m.bigram_tokens.value(b) : 0.0F);
      if (x <= y) ++u;
      if (y <= x) ++b;
    }
    if (tokens.empty()) continue;
    spans.clear();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto t = static_cast<std::size_t>(tokens[i]);
      if (spans.empty() || spans.back().sequence != m.sequence_of[t]) spans.push_back({m.sequence_of[t], i, i, t, t});
      spans.back().end = i + 1;
      spans.back().last = t;
    }
    const std::size_t most_kept = std::max(m.data.layout.size() / 16, kLeastKept);
    const bool stored = !m.messages.empty();
    m.kept = m.truncated && m.data.layout.bigrams > 0 && (stored || 2 * spans.size() * stride <= most_kept);
    if (m.kept && !stored) {
      m.kept_alpha.resize(spans.size() * stride);
      m.kept_beta.resize(spans.size() * stride);
      m.kept_log.resize(spans.size());
    }
    const auto pass = [&](bool derivatives) {
      const bool inside = m.kept && !derivatives;
      m.refresh(spans, inside, w, threads);
      const std::size_t used = spans.size() < 4 * kLanes ? 1 : kLanes;
      parallel_for(used, threads, [&](std::size_t l) {
        State::Lane& lane = m.lanes[l];
        lane.log_z = 0.0;
        lane.steps = 0;
        if (derivatives) {
          lane.g.assign(size, 0.0);
          lane.h.assign(size, 0.0);
        }
        for (std::size_t i = spans.size() * l / used; i < spans.size() * (l + 1) / used; ++i) {
          if (inside)
            m.visit_inside(spans[i], i, w, lane);
          else if (stored)
            m.visit_messages(spans[i], tokens, unigram_values, bigram_values, w, lane);
          else
            m.visit(spans[i], i, tokens, unigram_values, bigram_values, w, derivatives, lane);
        }
      });
      double log_z = 0.0;
      if (derivatives) std::fill(g.begin(), g.end(), 0.0), std::fill(h.begin(), h.end(), 0.0);
      for (std::size_t l = 0; l < used; ++l) {
        log_z += m.lanes[l].log_z;
        done.positions += m.lanes[l].steps;
        if (!derivatives) continue;
        for (std::size_t k = 0; k < size; ++k) g[k] += m.lanes[l].g[k], h[k] += m.lanes[l].h[k];
      }
      return log_z;
    };
    // weight k of the block: the first Y are unigram weights, the others cells of the bigram matrix
    const auto put = [&](const std::vector<double>& from) {
      if (block.unigram >= 0) {
        double* mine = &w[block.unigram * Y];
        for (std::size_t y = 0; y < Y; ++y) factor[y] = std::exp(from[y] - mine[y]);
        std::copy_n(from.data(), Y, mine);
        m.move_rows(tokens, unigram_values, factor);
      }
      for (std::size_t f = 0; f < Y && block.bigram >= 0; ++f) {
        std::copy_n(&from[Y + f * stride], Y, &w[blocks + (block.bigram * Y + f) * Y]);
      }
      ++m.time;
      if (block.bigram >= 0) m.changed_bigram[block.bigram] = m.time;
    };
    const double before = pass(true);
    double observed_slope = 0.0;  // of the observed part along the step: the value of the likelihood is linear in it
    bool moves = false;
    double harder = 1.0;
    std::fill(old.begin(), old.end(), 0.0);
    if (block.unigram >= 0) std::copy_n(&w[block.unigram * Y], Y, old.data());
    for (std::size_t f = 0; f < Y && block.bigram >= 0; ++f) {
      std::copy_n(&w[blocks + (block.bigram * Y + f) * Y], Y, &old[Y + f * stride]);
    }
    // what was observed of a weight, from g: expected minus observed is not enough for the value, count it once
    std::fill(observed.begin(), observed.end(), 0.0);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const double weight = m.data.weights.empty() ? 1.0 : m.data.weights[m.sequence_of[tokens[i]]];
      const std::int32_t y = m.data.labels[tokens[i]];
      observed[y] += weight * unigram_values[i];
      if (bigram_values[i] != 0.0F)
        observed[Y + m.data.labels[tokens[i] - 1] * stride + y] += weight * bigram_values[i];
    }
    for (int trial = 0; trial < kTrials; ++trial, harder *= 2.0) {
      double promised = 0.0, penalties = 0.0;
      observed_slope = 0.0;
      moves = false;
      for (std::size_t k = 0; k < size; ++k) {
        fresh[k] = old[k];
        if (old[k] == 0.0 && std::abs(g[k]) <= m.l1) continue;  // also what is no weight: its slope is zero
        const double curvature = std::max(h[k], kLeastCurvature) * harder;
        fresh[k] = soft(curvature * old[k] - g[k], m.l1) / (curvature + m.l2);
        const double d = fresh[k] - old[k];
        if (d == 0.0) continue;
        moves = true;
        const double penalty =
            m.l1 * (std::abs(fresh[k]) - std::abs(old[k])) + 0.5 * m.l2 * (fresh[k] * fresh[k] - old[k] * old[k]);
        promised += g[k] * d + 0.5 * curvature * d * d + penalty;
        penalties += penalty;
        observed_slope += observed[k] * d;
      }
      if (!moves) break;
      put(fresh);
      ++done.evaluations;
      const double change = pass(false) - before - observed_slope + penalties;
      if (change <= kShare * promised) {
        done.change += change;
        ++done.changed;
        if (stored) m.forget(spans);
        break;
      }
      put(old);
      if (std::abs(promised) < 1e-13 * std::max(1.0, std::abs(before))) break;  // rounding is all that is left
    }
  }
  return done;
}

}  // namespace textmill::sequence
