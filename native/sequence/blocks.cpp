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
constexpr double kReach = 1.0;   // how far a weight may go in one step, before the step is doubled in curvature
constexpr double kShare = 0.01;  // of the promised decrease
constexpr int kTrials = 60;
constexpr int kSteps = 5;                        // of a block at one visit
constexpr double kSettled = 0.01;                // of the decrease of its first step: a visit ends with a step of less
constexpr std::size_t kTogether = kLanes;        // blocks that are visited at once
constexpr std::size_t kSpread = 4 * kLanes;      // sequences from which the visit of one block is spread over lanes
constexpr std::size_t kGroupBytes = 1 << 20;     // of the matrices of all groups: they should stay in the cache
constexpr std::size_t kLeastMessages = 1 << 23;  // numbers: 64 MB save most of the time of models with few labels

double soft(double z, double by) { return z > by ? z - by : z < -by ? z + by : 0.0; }

// Adds up what `work` does for the sequences of a block, each in one of a number of lanes that depends on the data only:
// log Z and, with `derivatives`, slopes and curvatures in g and h [Y + Y stride].
template <class Work>
double add_up(std::span<BlockLane> lanes, BlockVisit& visit, bool derivatives, std::vector<double>& g,
              std::vector<double>& h, std::size_t threads, Work work) {
  const std::size_t spans = visit.positions.spans.size(), used = spans < kSpread ? 1 : kLanes, size = visit.old.size();
  parallel_for(used, threads, [&](std::size_t l) {
    BlockLane& lane = lanes[l];
    lane.log_z = 0.0;
    lane.steps = 0;
    if (derivatives) {
      lane.g.assign(size, 0.0);
      lane.h.assign(size, 0.0);
    }
    for (std::size_t i = spans * l / used; i < spans * (l + 1) / used; ++i) work(i, lane);
  });
  double log_z = 0.0;
  if (derivatives) g.assign(size, 0.0), h.assign(size, 0.0);
  for (std::size_t l = 0; l < used; ++l) {
    log_z += lanes[l].log_z;
    visit.steps += lanes[l].steps;
    for (std::size_t k = 0; derivatives && k < size; ++k) g[k] += lanes[l].g[k], h[k] += lanes[l].h[k];
  }
  return log_z;
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

// The weights of a block after its visit, and what is kept for other blocks.
void put_weights(const BlockVisit& visit, std::span<double> w, BlockParts& m, std::vector<double>& factor) {
  const BlockPlan& plan = m.plan;
  const std::size_t Y = plan.Y, pairs = plan.data.layout.unigrams * Y;
  const BlockTest& block = visit.block;
  if (block.unigram >= 0) {
    double* mine = &w[block.unigram * Y];
    for (std::size_t y = 0; y < Y; ++y) factor[y] = std::exp(visit.now[y] - mine[y]);
    std::copy_n(visit.now.data(), Y, mine);
    move_rows(plan, m.potentials, visit.positions, factor);
  }
  for (std::size_t f = 0; f < Y && block.bigram >= 0; ++f) {
    std::copy_n(&visit.now[Y + f * plan.stride], Y, &w[pairs + (block.bigram * Y + f) * Y]);
  }
  ++m.potentials.time;
  if (block.bigram >= 0) m.potentials.changed_bigram[block.bigram] = m.potentials.time;
  if (!m.messages.empty()) forget(m.messages, visit.positions.spans);
}

// How far the weights on trial are from those before the visit.
void set_move(const BlockPlan& plan, BlockVisit& visit) {
  const std::size_t Y = plan.Y, size = visit.old.size();
  BlockMove& move = visit.move;
  move.moved = true;
  move.by.resize(size);
  for (std::size_t k = 0; k < size; ++k) move.by[k] = visit.next[k] - visit.old[k];
  move.unigram.assign(plan.stride, 0.0);
  move.bigram.resize(plan.cells);
  for (std::size_t y = 0; y < Y; ++y) move.unigram[y] = std::exp(move.by[y]);
  for (std::size_t k = 0; k < plan.cells && visit.block.bigram >= 0; ++k) move.bigram[k] = std::exp(move.by[Y + k]);
}

struct Model {  // of the decrease that a step brings, in parts
  bool moves = false;
  double promised = 0.0;   // by the quadratic model, with penalties
  double penalties = 0.0;  // the change of the penalties
  double observed = 0.0;   // the change of the score of the labels that were observed
};

// Fills `next` with the minimum of the quadratic model, its curvatures times `harder`.
Model step(BlockVisit& visit, double l1, double l2, double harder) {
  Model model;
  for (std::size_t k = 0; k < visit.now.size(); ++k) {
    const double now = visit.now[k], g = visit.g[k];
    visit.next[k] = now;
    if (now == 0.0 && std::abs(g) <= l1) continue;  // also what is no weight: its slope is zero
    const double pull = now == 0.0 ? std::abs(g) - l1 : std::abs(g + std::copysign(l1, now) + l2 * now);
    const double curvature = std::max({visit.h[k], kLeastCurvature, pull / kReach}) * harder;
    const double next = soft(curvature * now - g, l1) / (curvature + l2), d = next - now;
    if (d == 0.0) continue;
    visit.next[k] = next;
    model.moves = true;
    const double penalty = l1 * (std::abs(next) - std::abs(now)) + 0.5 * l2 * (next * next - now * now);
    model.promised += g * d + 0.5 * curvature * d * d + penalty;
    model.penalties += penalty;
    model.observed += visit.observed[k] * d;
  }
  return model;
}

// Steps of one block. Reads what is kept for all blocks, changes only the messages of its own sequences.
void visit_block(BlockParts& m, BlockVisit& v, std::span<BlockLane> lanes, std::span<const double> w, double l1,
                 double l2, std::size_t threads) {
  const BlockPlan& plan = m.plan;
  const std::size_t size = plan.Y + plan.cells, spans = v.positions.spans.size();
  v.change = 0.0;
  v.evaluations = v.steps = 0;
  v.move.moved = false;
  v.old.assign(size, 0.0), v.observed.assign(size, 0.0), v.next.resize(size);
  get_weights(plan, v.block, w, v.old);
  v.now = v.old;
  count_block(plan, v.positions, v.observed);
  if (m.messages.empty()) v.ends.alpha.resize(spans * plan.stride), v.ends.beta.resize(spans * plan.stride);
  double log_z = add_up(lanes, v, true, v.g, v.h, threads, [&](std::size_t i, BlockLane& lane) {
    if (m.messages.empty())
      visit(plan, m.potentials, v.positions, i, w, v.ends, lane);
    else
      visit_messages(plan, m.potentials, m.messages, v.positions, i, w, lane);
  });
  if (!std::isfinite(log_z)) {
    v.change = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  for (int taken = 0; taken < kSteps; ++taken) {
    double harder = 1.0, change = 0.0;
    for (int trial = 0; trial < kTrials && change == 0.0; ++trial, harder *= 2.0) {
      const Model model = step(v, l1, l2, harder);
      if (!model.moves) return;
      set_move(plan, v);
      ++v.evaluations;
      const bool last = taken + 1 == kSteps;
      const double now = add_up(lanes, v, !last, v.next_g, v.next_h, threads, [&](std::size_t i, BlockLane& lane) {
        visit_inside(plan, m.potentials, m.messages, v.ends, v.positions, i, w, v.move, !last, lane);
      });
      const double found = now - log_z - model.observed + model.penalties;
      if (std::isfinite(found) && found < 0.0 && found <= kShare * model.promised) {
        change = found;
        log_z = now;
        std::swap(v.now, v.next);
        if (!last) std::swap(v.g, v.next_g), std::swap(v.h, v.next_h);
      } else if (std::abs(model.promised) < 1e-13 * std::max(1.0, std::abs(log_z))) {
        return;  // rounding is all that is left
      }
    }
    if (change == 0.0) return;
    v.change += change;
    if (change > kSettled * v.change) return;  // both are below zero
  }
}

}  // namespace

BlockPlan make_block_plan(const Labeled& data, bool truncated) {
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
  for (Span& span : spans) {
    if (plan.truncated) continue;
    span.first = static_cast<std::size_t>(plan.data.offsets[span.sequence]);
    span.last = static_cast<std::size_t>(plan.data.offsets[span.sequence + 1]) - 1;
  }
}

Descent::Descent(const Labeled& data, double l1, double l2, bool truncated)
    : l1_(l1), l2_(l2), parts_(std::make_unique<BlockParts>()) {
  BlockParts& m = *parts_;
  m.plan = make_block_plan(data, truncated);
  m.potentials = make_block_potentials(m.plan);
  m.lanes.resize(kLanes);
  m.visits.resize(kTogether + 1);
  m.taken.resize(data.offsets.size() - 1);
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
  ++m.potentials.time;
  std::fill(m.potentials.changed_bigram.begin(), m.potentials.changed_bigram.end(), m.potentials.time);
  for (BlockPotentials::Entry& entry : m.potentials.row_entry) entry.time = 0;
  m.potentials.stale = m.plan.unigram.size();
  if (m.messages.empty()) return;
  const auto& offsets = m.plan.data.offsets;
  m.messages.ahead.assign(offsets.begin(), offsets.end() - 1);
  m.messages.behind.assign(offsets.begin() + 1, offsets.end());
}

Descent::Sweep Descent::sweep(std::span<const BlockTest> order, std::span<double> w, std::size_t threads) {
  BlockParts& m = *parts_;
  const BlockPlan& plan = m.plan;
  Sweep done;
  std::vector<double> factor(plan.Y);
  std::vector<Span> spans;
  for (std::size_t t = 0; t < plan.sequence_of.size() && m.potentials.stale > 0; ++t)
    refresh_row(plan, m.potentials, t, w);
  std::size_t next = 0;
  bool waiting = false;  // the first visit holds a block that shares a sequence with those before it
  while (next < order.size() || waiting) {
    // the blocks that come next, as long as they share no sequence: none of them sees what another does
    ++m.round;
    spans.clear();
    std::size_t count = 0;
    while (count < kTogether && (waiting || next < order.size())) {
      BlockVisit& visit = m.visits[count];
      if (!waiting) {
        visit.block = order[next++];
        find_positions(plan, visit.block, visit.positions);
      }
      const std::vector<Span>& mine = visit.positions.spans;
      waiting = count > 0 && (mine.size() >= kSpread || std::any_of(mine.begin(), mine.end(), [&](const Span& span) {
                                return m.taken[span.sequence] == m.round;
                              }));
      if (waiting) break;
      if (mine.empty()) continue;
      for (const Span& span : mine) m.taken[span.sequence] = m.round;
      spans.insert(spans.end(), mine.begin(), mine.end());
      ++count;
      if (mine.size() >= kSpread) break;
    }
    refresh(plan, m.potentials, m.messages, spans, w, threads);
    parallel_for(count, threads, [&](std::size_t i) {
      visit_block(m, m.visits[i], count == 1 ? std::span(m.lanes) : std::span(m.lanes).subspan(i, 1), w, l1_, l2_,
                  threads);
    });
    for (std::size_t i = 0; i < count; ++i) {
      const BlockVisit& visit = m.visits[i];
      done.evaluations += visit.evaluations;
      done.positions += visit.steps;
      done.change += visit.change;
      if (std::isnan(visit.change)) return done;
      if (visit.change == 0.0) continue;
      ++done.changed;
      put_weights(visit, w, m, factor);
    }
    if (waiting) std::swap(m.visits[0], m.visits[count]);
  }
  return done;
}

}  // namespace textmill::sequence
