#include "sequence/blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "sequence/block_parts.h"

namespace textmill::sequence {
namespace {

using base::kLanes;
using base::parallel_for;

constexpr double kLeastCurvature = 1e-12;
constexpr double kShare = 0.01;  // of the promised decrease
constexpr int kTrials = 60;
constexpr std::size_t kGroupBytes = 1 << 20;     // of the matrices of all groups: they should stay in the cache
constexpr std::size_t kLeastMessages = 1 << 23;  // numbers: 64 MB save most of the time of models with few labels
constexpr std::size_t kLeastKept = 1 << 17;      // numbers of vectors that are kept for the trials of a block

double soft(double z, double by) { return z > by ? z - by : z < -by ? z + by : 0.0; }

// Log Z of the sequences of a block and, at its first pass, slopes and curvatures.
struct BlockValue {
  double log_z;
  std::size_t steps;
};

// Visits the sequences of a block; with `derivatives` fills g and h [Y + Y stride].
BlockValue visit_all(BlockParts& m, const BlockPositions& positions, std::span<const double> w, bool derivatives,
                     std::vector<double>& g, std::vector<double>& h, std::size_t threads) {
  const bool inside = m.ends.used && !derivatives, stored = !m.messages.empty();
  const std::vector<Span>& spans = positions.spans;
  const std::size_t size = g.size();
  refresh(m.plan, m.potentials, m.messages, spans, inside, w, threads);
  const std::size_t used = spans.size() < 4 * kLanes ? 1 : kLanes;
  parallel_for(used, threads, [&](std::size_t l) {
    BlockLane& lane = m.lanes[l];
    lane.log_z = 0.0;
    lane.steps = 0;
    if (derivatives) {
      lane.g.assign(size, 0.0);
      lane.h.assign(size, 0.0);
    }
    for (std::size_t i = spans.size() * l / used; i < spans.size() * (l + 1) / used; ++i) {
      if (inside)
        visit_inside(m.plan, m.potentials, m.messages, m.ends, positions, i, w, lane);
      else if (stored)
        visit_messages(m.plan, m.potentials, m.messages, positions, i, w, lane);
      else
        visit(m.plan, m.potentials, positions, i, w, derivatives, m.ends, lane);
    }
  });
  if (derivatives) std::fill(g.begin(), g.end(), 0.0), std::fill(h.begin(), h.end(), 0.0);
  BlockValue value{0.0, 0};
  for (std::size_t l = 0; l < used; ++l) {
    value.log_z += m.lanes[l].log_z;
    value.steps += m.lanes[l].steps;
    if (!derivatives) continue;
    for (std::size_t k = 0; k < size; ++k) g[k] += m.lanes[l].g[k], h[k] += m.lanes[l].h[k];
  }
  return value;
}

// What was observed of the weights of a block: the likelihood is linear in it.
void count_block(const BlockPlan& plan, const BlockPositions& positions, std::vector<double>& observed) {
  std::fill(observed.begin(), observed.end(), 0.0);
  for (std::size_t i = 0; i < positions.tokens.size(); ++i) {
    const std::int32_t t = positions.tokens[i], y = plan.data.labels[t];
    const double weight = plan.weight(plan.sequence_of[t]);
    observed[y] += weight * positions.unigram_values[i];
    if (positions.bigram_values[i] != 0.0F)
      observed[plan.Y + plan.data.labels[t - 1] * plan.stride + y] += weight * positions.bigram_values[i];
  }
}

// Weight k of a block: the first Y are unigram weights, the others cells of the bigram matrix.
void get_weights(const BlockPlan& plan, const BlockTest& block, std::span<const double> w, std::vector<double>& out) {
  const std::size_t Y = plan.Y, pairs = plan.data.layout.unigrams * Y;
  std::fill(out.begin(), out.end(), 0.0);
  if (block.unigram >= 0) std::copy_n(&w[block.unigram * Y], Y, out.data());
  for (std::size_t f = 0; f < Y && block.bigram >= 0; ++f) {
    std::copy_n(&w[pairs + (block.bigram * Y + f) * Y], Y, &out[Y + f * plan.stride]);
  }
}

void put_weights(const BlockPlan& plan, const BlockTest& block, const BlockPositions& positions,
                 const std::vector<double>& from, std::span<double> w, BlockPotentials& potentials,
                 std::vector<double>& factor) {
  const std::size_t Y = plan.Y, pairs = plan.data.layout.unigrams * Y;
  if (block.unigram >= 0) {
    double* mine = &w[block.unigram * Y];
    for (std::size_t y = 0; y < Y; ++y) factor[y] = std::exp(from[y] - mine[y]);
    std::copy_n(from.data(), Y, mine);
    move_rows(plan, potentials, positions, factor);
  }
  for (std::size_t f = 0; f < Y && block.bigram >= 0; ++f) {
    std::copy_n(&from[Y + f * plan.stride], Y, &w[pairs + (block.bigram * Y + f) * Y]);
  }
  ++potentials.time;
  if (block.bigram >= 0) potentials.changed_bigram[block.bigram] = potentials.time;
}

}  // namespace

BlockPlan make_block_plan(const Labelled& data, bool truncated) {
  const Layout& layout = data.layout;
  const std::size_t Y = layout.labels, stride = layout.stride();
  BlockPlan plan{.data = data, .truncated = truncated, .Y = Y, .stride = stride, .cells = Y * stride};
  const std::size_t S = data.offsets.size() - 1, T = static_cast<std::size_t>(data.offsets[S]);
  plan.sequence_of.resize(T);
  std::vector<char> first(T, 0);
  for (std::size_t s = 0; s < S; ++s) {
    if (data.offsets[s] < data.offsets[s + 1]) first[data.offsets[s]] = 1;
    std::fill(plan.sequence_of.begin() + data.offsets[s], plan.sequence_of.begin() + data.offsets[s + 1],
              static_cast<std::int64_t>(s));
  }
  plan.unigram = distinct_rows(data.unigram, {}, {});
  plan.bigram = distinct_rows(data.bigram, first, {});
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
  plan.unigram_tokens = index(data.unigram, layout.unigrams, false);
  plan.bigram_tokens = index(data.bigram, layout.bigrams, true);
  if (plan.paired()) {
    std::vector<std::int64_t> counts(layout.bigrams);
    for (std::size_t b = 0; b < layout.bigrams; ++b)
      counts[b] = plan.bigram_tokens.offsets[b + 1] - plan.bigram_tokens.offsets[b];
    const std::size_t limit = std::max<std::size_t>(kGroupBytes / (plan.cells * sizeof(double)), 32);
    plan.grouping = group_contexts(plan.bigram, counts, limit);
  }
  return plan;
}

void find_positions(const BlockPlan& plan, const BlockTest& block, BlockPositions& positions) {
  auto& [tokens, unigram_values, bigram_values, spans] = positions;
  tokens.clear();
  unigram_values.clear();
  bigram_values.clear();
  spans.clear();
  const auto range = [](const Lists& lists, std::int32_t test) {
    return test < 0 ? std::pair<std::int64_t, std::int64_t>{0, 0}
                    : std::pair{lists.offsets[test], lists.offsets[test + 1]};
  };
  auto [u, u_end] = range(plan.unigram_tokens, block.unigram);
  auto [b, b_end] = range(plan.bigram_tokens, block.bigram);
  while (u < u_end || b < b_end) {
    const std::int32_t x = u < u_end ? plan.unigram_tokens.items[u] : std::numeric_limits<std::int32_t>::max();
    const std::int32_t y = b < b_end ? plan.bigram_tokens.items[b] : std::numeric_limits<std::int32_t>::max();
    tokens.push_back(std::min(x, y));
    unigram_values.push_back(x <= y ? plan.unigram_tokens.value(u) : 0.0F);
    bigram_values.push_back(y <= x ? plan.bigram_tokens.value(b) : 0.0F);
    if (x <= y) ++u;
    if (y <= x) ++b;
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto t = static_cast<std::size_t>(tokens[i]);
    const std::int64_t sequence = plan.sequence_of[t];
    if (spans.empty() || spans.back().sequence != sequence) spans.push_back({sequence, i, i, t, t});
    spans.back().end = i + 1;
    spans.back().last = t;
  }
}

Descent::Descent(const Labelled& data, double l1, double l2, bool truncated)
    : l1_(l1), l2_(l2), parts_(std::make_unique<BlockParts>()) {
  BlockParts& m = *parts_;
  m.plan = make_block_plan(data, truncated);
  m.potentials = make_block_potentials(m.plan);
  m.lanes.resize(kLanes);
  const std::size_t T = m.plan.sequence_of.size(), stride = m.plan.stride;
  if (truncated && m.plan.paired() && 2 * T * stride <= std::max(data.layout.size() / 4, kLeastMessages)) {
    m.messages.alpha.resize(T * stride);
    m.messages.beta.resize(T * stride);
    m.messages.scale.resize(T);
    m.messages.shift.resize(T);
  }
  begin();
}

Descent::~Descent() = default;

void Descent::begin() {
  BlockParts& m = *parts_;
  for (BlockPotentials::Entry& entry : m.potentials.row_entry) entry.time = 0;
  m.potentials.stale = m.plan.unigram.size();
  if (m.messages.empty()) return;
  const auto& offsets = m.plan.data.offsets;
  m.messages.ahead.assign(offsets.begin(), offsets.end() - 1);
  m.messages.behind.assign(offsets.begin() + 1, offsets.end());
}

Descent::Sweep Descent::sweep(std::span<const BlockTest> order, std::span<double> w, double stretch,
                              std::size_t threads) {
  BlockParts& m = *parts_;
  const BlockPlan& plan = m.plan;
  const std::size_t stride = plan.stride, size = plan.Y + plan.cells, T = plan.sequence_of.size();
  const bool stored = !m.messages.empty();
  const std::size_t most_kept = std::max(plan.data.layout.size() / 16, kLeastKept);
  Sweep done;
  BlockPositions positions;
  std::vector<double> g(size), h(size), old(size), fresh(size), observed(size), factor(plan.Y);
  for (std::size_t t = 0; t < T && m.potentials.stale > 0; ++t) refresh_row(plan, m.potentials, t, w);
  const auto pass = [&](bool derivatives) {
    const BlockValue value = visit_all(m, positions, w, derivatives, g, h, threads);
    done.positions += value.steps;
    return value.log_z;
  };
  for (const BlockTest& block : order) {
    find_positions(plan, block, positions);
    const std::size_t spans = positions.spans.size();
    if (spans == 0) continue;
    m.ends.used = plan.truncated && plan.paired() && (stored || 2 * spans * stride <= most_kept);
    if (m.ends.used && !stored) {
      m.ends.alpha.resize(spans * stride);
      m.ends.beta.resize(spans * stride);
      m.ends.log.resize(spans);
    }
    const double before = pass(true);
    get_weights(plan, block, w, old);
    count_block(plan, positions, observed);
    double harder = stretch;
    for (int trial = 0; trial < kTrials; ++trial, harder *= 2.0) {
      double promised = 0.0, penalties = 0.0, observed_slope = 0.0;  // of the observed part along the step
      bool moves = false;
      for (std::size_t k = 0; k < size; ++k) {
        fresh[k] = old[k];
        if (old[k] == 0.0 && std::abs(g[k]) <= l1_) continue;  // also what is no weight: its slope is zero
        const double curvature = std::max(h[k], kLeastCurvature) * harder;
        fresh[k] = soft(curvature * old[k] - g[k], l1_) / (curvature + l2_);
        const double d = fresh[k] - old[k];
        if (d == 0.0) continue;
        moves = true;
        const double penalty =
            l1_ * (std::abs(fresh[k]) - std::abs(old[k])) + 0.5 * l2_ * (fresh[k] * fresh[k] - old[k] * old[k]);
        promised += g[k] * d + 0.5 * curvature * d * d + penalty;
        penalties += penalty;
        observed_slope += observed[k] * d;
      }
      if (!moves) break;
      put_weights(plan, block, positions, fresh, w, m.potentials, factor);
      ++done.evaluations;
      const double change = pass(false) - before - observed_slope + penalties;
      if (change <= kShare * promised) {
        done.change += change;
        ++done.changed;
        if (stored) forget(m.messages, positions.spans);
        break;
      }
      put_weights(plan, block, positions, old, w, m.potentials, factor);
      if (std::abs(promised) < 1e-13 * std::max(1.0, std::abs(before))) break;  // rounding is all that is left
    }
  }
  return done;
}

}  // namespace textmill::sequence
