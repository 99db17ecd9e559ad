#include "fst/distance.h"

#include <numeric>

#include "fst/best_first.h"
#include "fst/properties.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kEliminated = 64;         // states of a component that are worth a dense matrix
constexpr std::size_t kMostSteps = 20'000'000;  // relaxations before a cyclic sum counts as endless

constexpr std::int32_t kStop = -1, kNowhere = -2;

// One component, turned so that values always flow from `from` to `to`: forward along the arcs, backward against them.
template <class S>
struct Flow {
  using Weight = typename S::Weight;
  struct Edge {
    std::int32_t from, to;  // local numbers
    Weight weight;
    std::int32_t arc;  // its place among the arcs of its source state
  };
  const S& k;
  bool backward;
  const std::vector<std::int32_t>& members;
  std::vector<Edge> edges;           // by `from`
  std::vector<std::uint32_t> begin;  // [n+1]
  std::vector<Weight> value;         // [n] what flows in from outside, then the answer
  std::vector<std::int32_t> via;     // [n] arc by which the best value came; path semirings

  Weight step(const Weight& d, const Weight& w) const { return backward ? k.times(w, d) : k.times(d, w); }
  std::size_t size() const { return members.size(); }

  [[noreturn]] void endless(std::int32_t local) const {
    if (k.path())
      fail("a cycle through state ", members[local],
           " makes paths better every time; there is no best path (a negative cycle)");
    fail("the cycles through state ", members[local],
         " have a total weight of one or more, so that the sum over paths has no limit; scale the weights down");
  }

  // Puts the edges in order of `from`; those of one stay as they came.
  void order() {
    begin.assign(size() + 1, 0);
    for (const Edge& edge : edges) ++begin[edge.from];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<Edge> sorted(edges.size());
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) sorted[--begin[edge->from]] = *edge;
    edges.swap(sorted);
  }

  void solve(double delta) {
    if (k.path()) {
      bool monotone = true;
      for (const Edge& edge : edges) monotone &= !k.less(edge.weight, k.one());
      return monotone ? dijkstra() : relax();
    }
    size() <= kEliminated ? eliminate() : iterate(delta);
  }

  void dijkstra() {
    BestFirst<S> queue(k);
    for (std::size_t i = 0; i < size(); ++i)
      if (!k.equal(value[i], k.zero())) queue.add(value[i], static_cast<std::int32_t>(i));
    queue.order();
    while (!queue.empty()) {
      const auto [d, i] = queue.top();
      queue.pop();
      if (k.less(value[i], d)) continue;  // it was reached by better
      for (std::uint32_t e = begin[i]; e < begin[i + 1]; ++e) {
        const Edge& edge = edges[e];
        const Weight reached = step(d, edge.weight);
        if (!k.less(reached, value[edge.to])) continue;
        value[edge.to] = reached;
        via[edge.to] = edge.arc;
        queue.push(reached, edge.to);
      }
    }
  }

  void relax() {
    std::vector<std::int32_t> queue(size());
    std::vector<std::size_t> times(size(), 0);
    std::vector<bool> waiting(size(), true);
    for (std::size_t i = 0; i < size(); ++i) queue[i] = static_cast<std::int32_t>(i);
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::int32_t i = queue[head];
      waiting[i] = false;
      if (k.equal(value[i], k.zero())) continue;
      if (++times[i] > size() + 1) endless(i);
      for (std::uint32_t e = begin[i]; e < begin[i + 1]; ++e) {
        const Edge& edge = edges[e];
        const Weight reached = step(value[i], edge.weight);
        if (!k.less(reached, value[edge.to])) continue;
        value[edge.to] = reached;
        via[edge.to] = edge.arc;
        if (!waiting[edge.to]) {
          waiting[edge.to] = true;
          queue.push_back(edge.to);
        }
      }
      if (head > (1u << 20) && head * 2 > queue.size()) {  // give back what has been read
        queue.erase(queue.begin(), queue.begin() + head + 1);
        head = static_cast<std::size_t>(-1);
      }
    }
  }

  // d(j) = b(j) + sum over i of d(i) a(i, j): node after node is taken out, then put back in reverse.
  void eliminate() {
    const std::size_t n = size();
    std::vector<Weight> a(n * n, k.zero());
    for (const Edge& edge : edges) {
      Weight& cell = a[edge.from * n + edge.to];
      cell = k.plus(cell, edge.weight);
    }
    const auto times = [&](const Weight& early, const Weight& late) {
      return backward ? k.times(late, early) : k.times(early, late);
    };
    for (std::size_t m = 0; m < n; ++m) {
      const Weight loop = k.equal(a[m * n + m], k.zero()) ? k.one() : k.star(a[m * n + m]);
      if (!k.member(loop)) endless(static_cast<std::int32_t>(m));
      for (std::size_t j = m + 1; j < n; ++j) {
        if (k.equal(a[m * n + j], k.zero())) continue;
        const Weight out = times(loop, a[m * n + j]);
        for (std::size_t i = m + 1; i < n; ++i)
          if (!k.equal(a[i * n + m], k.zero())) a[i * n + j] = k.plus(a[i * n + j], times(a[i * n + m], out));
        value[j] = k.plus(value[j], times(value[m], out));
      }
      a[m * n + m] = loop;
    }
    for (std::size_t m = n; m-- > 0;) {
      for (std::size_t i = m + 1; i < n; ++i)
        if (!k.equal(a[i * n + m], k.zero())) value[m] = k.plus(value[m], times(value[i], a[i * n + m]));
      value[m] = times(value[m], a[m * n + m]);
    }
  }

  // Has a sum stopped growing? Masses may be as small as they like, so theirs is a share.
  bool settled(const Weight& sum, const Weight& before, double delta) const {
    if constexpr (std::same_as<S, Probability>) {
      return sum - before <= delta * sum;
    } else {
      return k.approx(sum, before, delta);
    }
  }

  void iterate(double delta) {
    std::vector<Weight> residue = value;
    std::vector<std::int32_t> queue;
    std::vector<bool> waiting(size(), false);
    for (std::size_t i = 0; i < size(); ++i) {
      if (k.equal(value[i], k.zero())) continue;
      queue.push_back(static_cast<std::int32_t>(i));
      waiting[i] = true;
    }
    std::size_t steps = 0;
    std::vector<std::int32_t> next;
    while (!queue.empty()) {
      for (const std::int32_t i : queue) {
        waiting[i] = false;
        const Weight r = residue[i];
        residue[i] = k.zero();
        for (std::uint32_t e = begin[i]; e < begin[i + 1]; ++e) {
          const Edge& edge = edges[e];
          const Weight more = step(r, edge.weight), sum = k.plus(value[edge.to], more);
          if (!k.member(sum)) endless(edge.to);
          residue[edge.to] = k.plus(residue[edge.to], more);
          if (settled(sum, value[edge.to], delta)) {
            value[edge.to] = sum;
            continue;
          }
          value[edge.to] = sum;
          if (!waiting[edge.to]) {
            waiting[edge.to] = true;
            next.push_back(edge.to);
          }
        }
        steps += begin[i + 1] - begin[i];
        if (steps > kMostSteps) endless(i);
      }
      queue.swap(next);
      next.clear();
    }
  }
};

// Dijkstra's algorithm over a whole machine, forward along the arcs, backward along a copy of them turned round.
template <class S>
void dijkstra(const Machine<S>& machine, bool backward, std::vector<typename S::Weight>& d) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  const std::int32_t n = machine.states();
  struct Edge {
    std::int32_t from;
    Weight weight;
  };
  std::vector<std::uint32_t> begin;
  std::vector<Edge> edges;
  if (backward) {
    begin.assign(n + 1, 0);
    for (std::int32_t s = 0; s < n; ++s)
      for (const auto& arc : machine.arcs(s)) ++begin[arc.nextstate];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());  // the ends; they become the beginnings
    edges.resize(machine.arcs());
    for (std::int32_t s = n; s-- > 0;)
      for (const auto& arc : machine.arcs(s)) edges[--begin[arc.nextstate]] = {s, arc.weight};
  }
  BestFirst<S> queue(k);
  for (std::int32_t s = 0; s < n; ++s)
    if (!k.equal(d[s], k.zero())) queue.add(d[s], s);
  queue.order();
  const auto reach = [&](std::int32_t s, const Weight& w) {
    if (!k.less(w, d[s])) return;
    d[s] = w;
    queue.push(w, s);
  };
  while (!queue.empty()) {
    const auto [w, s] = queue.top();
    queue.pop();
    if (k.less(d[s], w)) continue;  // it was reached by better
    if (backward) {
      for (std::uint32_t e = begin[s]; e < begin[s + 1]; ++e) reach(edges[e].from, k.times(edges[e].weight, w));
    } else {
      for (const auto& arc : machine.arcs(s)) reach(arc.nextstate, k.times(w, arc.weight));
    }
  }
}

}  // namespace

template <class S>
bool never_better(const Machine<S>& machine) {
  const S& k = machine.semiring();
  if (!k.path() || !k.left() || !k.right()) return false;
  bool better = false;
  for (std::int32_t s = 0; s < machine.states() && !better; ++s) {
    better = k.less(machine.final(s), k.one());
    for (const auto& arc : machine.arcs(s)) better |= k.less(arc.weight, k.one());
  }
  return !better;
}

template <class S>
bool numbered_along_paths(const Machine<S>& machine) {
  using namespace property;
  if (machine.known() & (top_sorted | not_top_sorted)) return machine.known() & top_sorted;
  for (std::int32_t s = 0; s < machine.states(); ++s)
    for (const auto& arc : machine.arcs(s))
      if (arc.nextstate <= s) {
        machine.know(not_top_sorted);
        return false;
      }
  machine.know(top_sorted | acyclic | initial_acyclic | unweighted_cycles);
  return true;
}

template <class S>
std::vector<typename S::Weight> distances(const Machine<S>& machine, bool backward, double delta,
                                          std::vector<std::int32_t>* next) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  if (backward ? !k.left() : !k.right())
    fail("weights of ", std::string(k.name()), " do not distribute over sums from the ", backward ? "left" : "right",
         ", so there are no distances ", backward ? "to the end" : "from the start");
  const std::int32_t n = machine.states();
  std::vector<Weight> d(n, k.zero());
  if (next) next->assign(n, kNowhere);
  if (machine.start() == kNoState) return d;
  if (backward) {
    for (std::int32_t s = 0; s < n; ++s) {
      d[s] = machine.final(s);
      if (next && machine.is_final(s)) (*next)[s] = kStop;
    }
  } else {
    d[machine.start()] = k.one();
  }
  const auto pull = [&](std::int32_t s) {
    Weight sum = d[s];
    const auto arcs = machine.arcs(s);
    if (next) {
      for (std::size_t a = 0; a < arcs.size(); ++a) {
        const Weight w = k.times(arcs[a].weight, d[arcs[a].nextstate]);
        if (k.less(w, sum)) {
          sum = w;
          (*next)[s] = static_cast<std::int32_t>(a);
        }
      }
    } else {
      for (const auto& arc : arcs) sum = k.plus(sum, k.times(arc.weight, d[arc.nextstate]));
    }
    d[s] = sum;
  };
  const auto push = [&](std::int32_t s) {
    const Weight from = d[s];
    if (k.equal(from, k.zero())) return;
    for (const auto& arc : machine.arcs(s)) d[arc.nextstate] = k.plus(d[arc.nextstate], k.times(from, arc.weight));
  };
  if (numbered_along_paths(machine)) {
    for (std::int32_t i = 0; i < n; ++i) backward ? pull(n - 1 - i) : push(i);
    return d;
  }
  if (!next && !(machine.known() & property::acyclic) && never_better(machine)) {
    dijkstra(machine, backward, d);
    return d;
  }
  const Components found = components(machine);
  if (!found.cyclic) machine.know(property::acyclic | property::initial_acyclic | property::unweighted_cycles);
  std::vector<std::uint32_t> begin(found.count + 1, 0);
  for (const std::int32_t c : found.of) ++begin[c + 1];
  for (std::int32_t c = 0; c < found.count; ++c) begin[c + 1] += begin[c];
  std::vector<std::int32_t> order(n);
  {
    std::vector<std::uint32_t> at(begin.begin(), begin.end() - 1);
    for (std::int32_t s = 0; s < n; ++s) order[at[found.of[s]]++] = s;
  }
  std::vector<std::int32_t> local(found.cyclic ? n : 0, -1), members;
  for (std::int32_t i = 0; i < found.count; ++i) {
    const std::int32_t c = backward ? found.count - 1 - i : i;
    const std::span<const std::int32_t> states(order.data() + begin[c], begin[c + 1] - begin[c]);
    bool loops = states.size() > 1;
    if (!loops && found.cyclic)
      for (const auto& arc : machine.arcs(states[0])) loops |= arc.nextstate == states[0];
    if (!loops) {
      backward ? pull(states[0]) : push(states[0]);
      continue;
    }
    members.assign(states.begin(), states.end());
    for (std::size_t m = 0; m < members.size(); ++m) local[members[m]] = static_cast<std::int32_t>(m);
    Flow<S> flow{k, backward, members, {}, {}, {}, {}};
    flow.via.assign(members.size(), kNowhere);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::int32_t s = members[m];
      const auto arcs = machine.arcs(s);
      Weight inflow = d[s];
      if (next && !k.equal(inflow, k.zero())) flow.via[m] = kStop;
      for (std::size_t a = 0; a < arcs.size(); ++a) {
        const auto& arc = arcs[a];
        if (found.of[arc.nextstate] == c) {
          const auto t = local[arc.nextstate];
          flow.edges.push_back({backward ? t : static_cast<std::int32_t>(m),
                                backward ? static_cast<std::int32_t>(m) : t, arc.weight, static_cast<std::int32_t>(a)});
        } else if (backward) {
          const Weight w = k.times(arc.weight, d[arc.nextstate]);
          if (next && k.less(w, inflow)) flow.via[m] = static_cast<std::int32_t>(a);
          inflow = k.plus(inflow, w);
        }
      }
      flow.value.push_back(inflow);
    }
    flow.order();
    flow.solve(delta);
    for (std::size_t m = 0; m < members.size(); ++m) {
      d[members[m]] = flow.value[m];
      if (next) (*next)[members[m]] = flow.via[m];
    }
    if (backward) continue;
    for (const std::int32_t s : members) {
      if (k.equal(d[s], k.zero())) continue;
      for (const auto& arc : machine.arcs(s))
        if (found.of[arc.nextstate] != c) d[arc.nextstate] = k.plus(d[arc.nextstate], k.times(d[s], arc.weight));
    }
  }
  return d;
}

#define X(S)                                             \
  template bool never_better(const Machine<S>&);         \
  template bool numbered_along_paths(const Machine<S>&); \
  template std::vector<typename S::Weight> distances(const Machine<S>&, bool, double, std::vector<std::int32_t>*);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
