#include "fst/twins.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "fst/algebra.h"
#include "fst/examples.h"
#include "fst/properties.h"

namespace textmill::fst {

template <class S>
std::string find_unequal_twins(const Machine<S>& machine, double delta, std::size_t most,
                               const std::function<bool(std::int32_t, std::int32_t)>& wanted) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  struct Pair {
    std::int32_t p, q, before, label;
  };
  std::vector<Pair> pairs;
  base::FlatTable<std::int32_t> number;
  struct Edge {
    std::int32_t to;
    Weight x, y;
  };
  std::vector<std::vector<Edge>> edges;
  const auto of = [&](std::int32_t p, std::int32_t q, std::int32_t before, std::int32_t label) {
    const auto [at, is_new] = number.add(base::joined_key(p, q), static_cast<std::int32_t>(pairs.size()));
    if (is_new) pairs.push_back({p, q, before, label});
    return at;
  };
  of(machine.start(), machine.start(), -1, 0);
  for (std::size_t i = 0; i < pairs.size() && pairs.size() < most; ++i) {
    edges.emplace_back();
    const Pair pair = pairs[i];
    for (const auto& x : machine.arcs(pair.p))
      for (const auto& y : machine.arcs(pair.q))
        if (x.ilabel == y.ilabel && (!wanted || wanted(x.nextstate, y.nextstate)))
          edges.back().push_back(
              {of(x.nextstate, y.nextstate, static_cast<std::int32_t>(i), x.ilabel), x.weight, y.weight});
  }
  edges.resize(pairs.size());
  // potentials along a depth-first tree: an arc inside a component that contradicts them closes a cycle of unequal weights
  Builder<S> graph(k);
  for (const auto& row : edges) {
    graph.open(k.one());
    for (const Edge& edge : row) graph.push({1, 1, k.one(), edge.to});
  }
  const Components found = components(graph.finish(0));
  std::vector<std::optional<std::pair<Weight, Weight>>> potential(pairs.size());
  std::vector<std::int32_t> stack;
  for (std::size_t root = 0; root < pairs.size(); ++root) {
    if (potential[root]) continue;
    potential[root] = {k.one(), k.one()};
    stack.push_back(static_cast<std::int32_t>(root));
    while (!stack.empty()) {
      const std::int32_t i = stack.back();
      stack.pop_back();
      for (const Edge& edge : edges[i]) {
        if (found.of[edge.to] != found.of[i]) continue;
        const Weight x = k.times(potential[i]->first, edge.x), y = k.times(potential[i]->second, edge.y);
        if (!potential[edge.to]) {
          potential[edge.to] = {x, y};
          stack.push_back(edge.to);
          continue;
        }
        // x / x' must equal y / y'
        if (k.approx(k.times(x, potential[edge.to]->second), k.times(y, potential[edge.to]->first), delta)) continue;
        std::vector<std::int32_t> labels;
        for (std::int32_t at = i; pairs[at].before >= 0; at = pairs[at].before) labels.push_back(pairs[at].label);
        std::ranges::reverse(labels);
        return base::message("the string ", spelled(labels), " leads to the states ", pairs[i].p, " and ", pairs[i].q,
                             ", whose cycles over one string have different weights");
      }
    }
  }
  return {};
}

#define X(S)                                                                      \
  template std::string find_unequal_twins(const Machine<S>&, double, std::size_t, \
                                          const std::function<bool(std::int32_t, std::int32_t)>&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
