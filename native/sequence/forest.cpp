#include "sequence/forest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

#include "base/log_add.h"

namespace textmill::sequence {
namespace {

using base::log_add;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::span<const std::int32_t> run(std::span<const std::int64_t> offsets, std::span<const std::int32_t> items,
                                  std::size_t key) {
  return items.subspan(static_cast<std::size_t>(offsets[key]),
                       static_cast<std::size_t>(offsets[key + 1] - offsets[key]));
}

}  // namespace

std::vector<std::int32_t> topological(const Forest& forest) {
  // Depth first with a stack of our own: 0 not met, 1 on the way down, 2 done.
  std::vector<std::uint8_t> state(forest.ors(), 0);
  struct Frame {
    std::int32_t node;
    std::size_t alternative, daughter;
  };
  std::vector<Frame> stack{{static_cast<std::int32_t>(forest.root), 0, 0}};
  std::vector<std::int32_t> order;
  state[forest.root] = 1;
  while (!stack.empty()) {
    Frame& top = stack.back();
    const auto ands = run(forest.alternatives, forest.conjunctive, static_cast<std::size_t>(top.node));
    if (top.alternative == ands.size()) {
      state[static_cast<std::size_t>(top.node)] = 2;
      order.push_back(top.node);
      stack.pop_back();
      continue;
    }
    const auto below = run(forest.daughters, forest.disjunctive, static_cast<std::size_t>(ands[top.alternative]));
    if (top.daughter == below.size()) {
      ++top.alternative;
      top.daughter = 0;
      continue;
    }
    const std::int32_t next = below[top.daughter++];
    if (state[static_cast<std::size_t>(next)] == 1) return {};
    if (state[static_cast<std::size_t>(next)] == 0) {
      state[static_cast<std::size_t>(next)] = 1;
      stack.push_back({next, 0, 0});
    }
  }
  return order;
}

double inside_outside(const Forest& forest, std::span<const std::int32_t> order, std::span<const double> scores,
                      std::span<double> inside, std::span<double> ands, std::span<double> ors) {
  std::fill(inside.begin(), inside.end(), -kInfinity);
  std::fill(ors.begin(), ors.end(), -kInfinity);
  std::fill(ands.begin(), ands.end(), -kInfinity);
  const auto below = [&](std::int32_t c) {
    return run(forest.daughters, forest.disjunctive, static_cast<std::size_t>(c));
  };
  const auto weight = [&](std::int32_t c) {
    double sum = scores[static_cast<std::size_t>(c)];
    for (const std::int32_t d : below(c)) sum += inside[static_cast<std::size_t>(d)];
    return sum;
  };
  for (const std::int32_t d : order) {
    double& sum = inside[static_cast<std::size_t>(d)];
    for (const std::int32_t c : run(forest.alternatives, forest.conjunctive, static_cast<std::size_t>(d)))
      sum = log_add(sum, weight(c));
  }
  const double log_z = inside[forest.root];
  if (!std::isfinite(log_z)) return log_z;
  // `ors` holds log psi until the end. A conjunctive node that several disjunctive ones have passes on the part of each.
  ors[forest.root] = 0.0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(order[i]);
    if (ors[d] == -kInfinity) continue;
    for (const std::int32_t c : run(forest.alternatives, forest.conjunctive, d)) {
      const double whole = ors[d] + weight(c);
      if (whole == -kInfinity) continue;
      ands[static_cast<std::size_t>(c)] = log_add(ands[static_cast<std::size_t>(c)], whole - log_z);
      for (const std::int32_t next : below(c)) {
        double& psi = ors[static_cast<std::size_t>(next)];
        psi = log_add(psi, whole - inside[static_cast<std::size_t>(next)]);
      }
    }
  }
  for (std::size_t d = 0; d < ors.size(); ++d) ors[d] += inside[d] - log_z;
  return log_z;
}

std::vector<Structure> best_structures(const Forest& forest, std::span<const std::int32_t> order,
                                       std::span<const double> scores, std::size_t k) {
  // The k best of a disjunctive node are made lazily from the ranks of the daughters of its alternatives.
  struct Way {
    double score;
    std::int32_t alternative;
    std::vector<std::int32_t> ranks;
    bool operator<(const Way& other) const {  // the queue gives the best first; of equals the earlier alternative
      if (score != other.score) return score < other.score;
      return std::tie(alternative, ranks) > std::tie(other.alternative, other.ranks);
    }
  };
  std::vector<std::vector<Way>> best(forest.ors());
  for (const std::int32_t d : order) {
    const auto ands = run(forest.alternatives, forest.conjunctive, static_cast<std::size_t>(d));
    const auto below = [&](std::int32_t a) {
      return run(forest.daughters, forest.disjunctive, static_cast<std::size_t>(ands[static_cast<std::size_t>(a)]));
    };
    const auto make = [&](std::int32_t a, std::vector<std::int32_t> ranks, Way& way) {
      double sum = scores[static_cast<std::size_t>(ands[static_cast<std::size_t>(a)])];
      const auto next = below(a);
      for (std::size_t i = 0; i < next.size(); ++i) {
        const std::vector<Way>& ways = best[static_cast<std::size_t>(next[i])];
        if (static_cast<std::size_t>(ranks[i]) >= ways.size()) return false;
        sum += ways[static_cast<std::size_t>(ranks[i])].score;
      }
      way = {sum, a, std::move(ranks)};
      return sum != -kInfinity;
    };
    std::priority_queue<Way> queue;
    std::set<std::pair<std::int32_t, std::vector<std::int32_t>>> met;
    Way way;
    for (std::int32_t a = 0; a < static_cast<std::int32_t>(ands.size()); ++a)
      if (make(a, std::vector<std::int32_t>(below(a).size(), 0), way)) queue.push(way);
    std::vector<Way>& ways = best[static_cast<std::size_t>(d)];
    while (!queue.empty() && ways.size() < k) {
      const Way top = queue.top();
      queue.pop();
      ways.push_back(top);
      for (std::size_t i = 0; i < top.ranks.size(); ++i) {
        std::vector<std::int32_t> ranks = top.ranks;
        ++ranks[i];
        if (met.insert({top.alternative, ranks}).second && make(top.alternative, ranks, way)) queue.push(way);
      }
    }
  }
  std::vector<Structure> answers;
  for (std::size_t r = 0; r < best[forest.root].size(); ++r) {
    Structure answer{best[forest.root][r].score, {}};
    std::vector<std::pair<std::int32_t, std::int32_t>> stack{
        {static_cast<std::int32_t>(forest.root), static_cast<std::int32_t>(r)}};
    while (!stack.empty()) {
      const auto [d, rank] = stack.back();
      stack.pop_back();
      const Way& way = best[static_cast<std::size_t>(d)][static_cast<std::size_t>(rank)];
      const std::int32_t c = run(forest.alternatives, forest.conjunctive,
                                 static_cast<std::size_t>(d))[static_cast<std::size_t>(way.alternative)];
      answer.nodes.push_back(c);
      const auto next = run(forest.daughters, forest.disjunctive, static_cast<std::size_t>(c));
      for (std::size_t i = next.size(); i-- > 0;) stack.push_back({next[i], way.ranks[i]});
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace textmill::sequence
