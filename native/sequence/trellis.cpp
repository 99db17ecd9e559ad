#include "sequence/trellis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log_add.h"
#include "base/math.h"
#include "base/parallel.h"

namespace textmill::sequence {
namespace {

using base::log_add;
using base::parallel_blocks;

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kRange = 300.0;              // differences of scores of a token that potentials of order 1 hold
constexpr std::size_t kRoundCells = 1 << 22;  // of matrices that are alive together
constexpr std::size_t kLeastTokens = 256;

double range_of(std::size_t order) { return order == 2 ? kRange / 2 : kRange; }

}  // namespace

States::States(std::size_t order, std::size_t labels, std::span<const std::int32_t> owners)
    : order(order), states(owners.size()), labels(labels), first(labels + 1, 0), owner(owners.begin(), owners.end()) {
  for (const std::int32_t y : owner) ++first[static_cast<std::size_t>(y) + 1];
  for (std::size_t y = 0; y < labels; ++y) first[y + 1] += first[y];
}

void arc_scores(const States& states, const TrellisInput& input, const Lists& tests, std::size_t context, double* out) {
  const std::size_t H = states.states, stride = states.stride(), B = input.layout.bigrams;
  if (states.order == 1) {
    bigram_scores(input.layout, input.weights, tests, context, out);
  } else {
    std::fill_n(out, H * H * stride, 0.0);
    const double* pairs = input.weights.theta.data() + input.layout.unigrams * H;
    const double* triples = pairs + B * H * H;
    for (auto e = tests.offsets[context]; e < tests.offsets[context + 1]; ++e) {
      const auto test = static_cast<std::size_t>(tests.items[e]);
      const double value = tests.value(e);
      for (std::size_t node = 0; node < H * H; ++node) {
        const double* from = test < B ? pairs + (test * H + node % H) * H : triples + ((test - B) * H * H + node) * H;
        for (std::size_t c = 0; c < H; ++c) out[node * stride + c] += value * from[c];
      }
    }
  }
  if (input.transitions.empty()) return;
  for (std::size_t node = 0; node < states.nodes(); ++node) {
    for (std::size_t c = 0; c < H; ++c) {
      if (!input.transitions[states.state(node) * H + c]) out[node * stride + c] = kNever;
    }
  }
}

Round next_round(const States& states, const TrellisInput& input, std::size_t first, std::size_t threads) {
  const std::size_t S = input.offsets.size() - 1, H = states.states, stride = states.stride();
  const std::size_t nodes = states.nodes(), cells = nodes * stride;
  const std::size_t limit = std::max(kLeastTokens, kRoundCells / cells);
  Round round;
  round.first = first;
  const std::int64_t begin = input.offsets[first];
  std::size_t last = first + 1;
  while (last < S && static_cast<std::size_t>(input.offsets[last + 1] - begin) <= limit) ++last;
  round.last = last;
  const auto tokens = static_cast<std::size_t>(input.offsets[last] - begin);
  std::vector<char> skip(tokens, 0);
  for (std::size_t s = first; s < last; ++s) {
    if (input.offsets[s] < input.offsets[s + 1]) skip[input.offsets[s] - begin] = 1;
  }
  const Rows rows{input.arcs.offsets.subspan(begin, tokens + 1), input.arcs.ids, input.arcs.values};
  round.contexts = distinct_rows(rows, skip, {});
  const std::size_t contexts = round.contexts.size();
  round.scores.resize(contexts * cells);
  round.psi.resize(contexts * cells);
  round.transposed.assign(states.order == 1 ? contexts * H * stride : 0, 0.0);
  round.arcs.resize(contexts);
  parallel_blocks(contexts, 8, threads, [&](std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c) {
      double *scores = &round.scores[c * cells], *psi = &round.psi[c * cells];
      arc_scores(states, input, round.contexts.tests, c, scores);
      std::copy_n(scores, cells, psi);
      Arcs& arcs = round.arcs[c] = {scores, psi, nullptr, 0.0};
      const Extent extent = exponentiate(psi, nodes, H, stride, &arcs.shift, true);
      if (!(extent.most - extent.least <= range_of(states.order))) arcs.psi = nullptr;
      if (states.order != 1) continue;
      double* turned = &round.transposed[c * H * stride];
      for (std::size_t a = 0; a < H; ++a) {
        for (std::size_t b = 0; b < H; ++b) turned[b * stride + a] = psi[a * stride + b];
      }
      arcs.transposed = turned;
    }
  });
  return round;
}

Trellis trellis_of(const States& states, const TrellisInput& input, const Round& round, std::size_t sequence,
                   std::vector<double>& unary, std::vector<const Arcs*>& arcs) {
  const std::size_t H = states.states;
  const auto start = static_cast<std::size_t>(input.offsets[sequence]);
  const auto first = static_cast<std::size_t>(input.offsets[round.first]);
  const std::size_t T = static_cast<std::size_t>(input.offsets[sequence + 1]) - start;
  unary.resize(T * H);
  arcs.assign(T, nullptr);
  Trellis trellis{&states, T, unary.data(), arcs.data(), false};
  for (std::size_t t = 0; t < T; ++t) {
    double* u = &unary[t * H];
    unigram_scores(input.layout, input.weights, input.unigram, start + t, u);
    double most = kNever, least = -kNever;
    const std::uint8_t* may = input.allowed.empty() ? nullptr : &input.allowed[(start + t) * H];
    for (std::size_t h = 0; h < H; ++h) {
      if (may != nullptr && !may[h]) {
        u[h] = kNever;
      } else {
        most = std::max(most, u[h]);
        least = std::min(least, u[h]);
      }
    }
    if (most - least > range_of(states.order)) trellis.wide = true;
    if (t == 0) continue;
    arcs[t] = &round.arcs[round.contexts.of[start + t - first]];
    if (arcs[t]->psi == nullptr) trellis.wide = true;
  }
  return trellis;
}

double trellis_sums(const Trellis& trellis, std::span<double> a, std::span<double> b) {
  const States& states = *trellis.states;
  const std::size_t H = states.states, N = states.nodes(), T = trellis.length, stride = states.stride();
  double log_z = kNever;
  std::vector<double> before(N), now(N);
  for (std::size_t t = 0; t < T; ++t) {
    std::fill(now.begin(), now.end(), kNever);
    if (t == 0) {
      std::copy_n(trellis.unary, H, now.begin());
    } else {
      for (std::size_t node = 0; node < N; ++node) {
        if (before[node] == kNever) continue;
        const double* row = trellis.arcs[t]->scores + node * stride;
        double* to = &now[states.base(node)];
        for (std::size_t c = 0; c < H; ++c) to[c] = log_add(to[c], before[node] + row[c]);
      }
      for (std::size_t node = 0; node < N; ++node) now[node] += trellis.unary[t * H + states.state(node)];
    }
    if (!a.empty()) std::copy(now.begin(), now.end(), a.begin() + static_cast<std::ptrdiff_t>(t * N));
    std::swap(before, now);
  }
  log_z = base::logsumexp(before);
  if (b.empty()) return log_z;
  std::fill_n(b.begin() + static_cast<std::ptrdiff_t>((T - 1) * N), N, 0.0);
  std::vector<double> values(H);
  for (std::size_t t = T - 1; t-- > 0;) {
    const double* u = trellis.unary + (t + 1) * H;
    for (std::size_t node = 0; node < N; ++node) {
      const double *row = trellis.arcs[t + 1]->scores + node * stride, *next = &b[(t + 1) * N + states.base(node)];
      for (std::size_t c = 0; c < H; ++c) values[c] = row[c] + u[c] + next[c];
      b[t * N + node] = base::logsumexp(values);
    }
  }
  return log_z;
}

double best_states(const Trellis& trellis, std::span<std::int32_t> path) {
  const States& states = *trellis.states;
  const std::size_t H = states.states, N = states.nodes(), T = trellis.length, stride = states.stride();
  std::vector<double> before(N, kNever), now(N);
  std::vector<std::int32_t> from(T * N, 0);
  std::copy_n(trellis.unary, H, before.begin());
  for (std::size_t t = 1; t < T; ++t) {
    std::fill(now.begin(), now.end(), kNever);
    std::int32_t* back = &from[t * N];
    for (std::size_t node = 0; node < N; ++node) {
      const double mine = before[node];
      if (mine == kNever) continue;
      const double* row = trellis.arcs[t]->scores + node * stride;
      const std::size_t at = states.base(node);
      for (std::size_t c = 0; c < H; ++c) {
        const double value = mine + row[c];
        if (now[at + c] < value) now[at + c] = value, back[at + c] = static_cast<std::int32_t>(node);
      }
    }
    for (std::size_t node = 0; node < N; ++node) now[node] += trellis.unary[t * H + states.state(node)];
    std::swap(before, now);
  }
  auto node = static_cast<std::size_t>(std::max_element(before.begin(), before.end()) - before.begin());
  const double score = before[node];
  for (std::size_t t = T; t-- > 0;) {
    path[t] = score == kNever ? -1 : static_cast<std::int32_t>(states.state(node));
    node = static_cast<std::size_t>(from[t * N + node]);
  }
  return score;
}

}  // namespace textmill::sequence
