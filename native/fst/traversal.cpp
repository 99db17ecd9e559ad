#include "fst/traversal.h"

#include <deque>
#include <functional>
#include <queue>

#include "base/flat_table.h"
#include "fst/properties.h"

namespace textmill::fst {
namespace {

using Interval = std::pair<std::int32_t, std::int32_t>;

void record(Walk& walk, Event event, std::int32_t state, std::int32_t arc, std::int32_t next) {
  walk.event.push_back(static_cast<std::uint8_t>(event));
  walk.state.push_back(state);
  walk.arc.push_back(arc);
  walk.next.push_back(next);
}

// Sorts intervals and joins those that touch.
void normalize(std::vector<Interval>& set) {
  std::ranges::sort(set);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < set.size(); ++i) {
    if (set[i].first <= set[kept].second + 1) {
      set[kept].second = std::max(set[kept].second, set[i].second);
    } else {
      set[++kept] = set[i];
    }
  }
  if (!set.empty()) set.resize(kept + 1);
}

// States by component.
struct Members {
  explicit Members(const Components& found) : begin(found.count + 1, 0), state(found.of.size()) {
    for (const std::int32_t c : found.of) ++begin[c + 1];
    for (std::int32_t c = 0; c < found.count; ++c) begin[c + 1] += begin[c];
    std::vector<std::size_t> at(begin.begin(), begin.end() - 1);
    for (std::size_t s = 0; s < state.size(); ++s) state[at[found.of[s]]++] = static_cast<std::int32_t>(s);
  }
  std::span<const std::int32_t> of(std::int32_t c) const { return {state.data() + begin[c], begin[c + 1] - begin[c]}; }
  std::vector<std::size_t> begin;
  std::vector<std::int32_t> state;
};

// Sets from the last component to the first: what `own` puts in, and the sets of the components behind arcs that
// `follows`.
template <class W, class Own, class Follows>
void grow(const Automaton<W>& machine, const Components& found, Reachability& out, Own own, Follows follows) {
  const Members members(found);
  std::vector<std::vector<Interval>> sets(found.count);
  out.ends.assign(found.count, 0);
  for (std::int32_t c = found.count; c-- > 0;) {
    std::vector<Interval>& set = sets[c];
    for (const std::int32_t s : members.of(c)) {
      own(s, set);
      out.ends[c] |= machine.is_final(s);
      for (const auto& arc : machine.arcs(s)) {
        const std::int32_t there = found.of[arc.nextstate];
        if (!follows(arc) || there == c) continue;
        out.ends[c] |= out.ends[there];
        set.insert(set.end(), sets[there].begin(), sets[there].end());
        if (set.size() > 4096) normalize(set);
      }
    }
    normalize(set);
  }
  out.begin.assign(1, 0);
  for (const auto& set : sets) {
    out.interval.insert(out.interval.end(), set.begin(), set.end());
    out.begin.push_back(out.interval.size());
  }
  out.component = found.of;
}

}  // namespace

template <class W>
Graph graph_of(const Automaton<W>& machine, ArcFilter filter) {
  Graph graph;
  graph.start = machine.start();
  graph.begin.reserve(machine.states() + 1);
  graph.begin.push_back(0);
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    const auto arcs = machine.arcs(s);
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const bool reads = arcs[a].ilabel != 0, writes = arcs[a].olabel != 0;
      if ((reads && (filter == ArcFilter::epsilon || filter == ArcFilter::input_epsilon)) ||
          (writes && (filter == ArcFilter::epsilon || filter == ArcFilter::output_epsilon)))
        continue;
      graph.next.push_back(arcs[a].nextstate);
      graph.place.push_back(static_cast<std::uint32_t>(a));
    }
    graph.begin.push_back(graph.next.size());
  }
  return graph;
}

Walk depth_first(const Graph& graph, bool accessible_only) {
  enum : std::uint8_t { fresh, open, done };
  std::vector<std::uint8_t> color(graph.states(), fresh);
  std::vector<std::pair<std::int32_t, std::size_t>> stack;  // state, next arc
  Walk walk;
  const auto meet = [&](std::int32_t s) {
    color[s] = open;
    record(walk, Event::discover, s, -1, -1);
    stack.emplace_back(s, graph.begin[s]);
  };
  const auto search = [&](std::int32_t root) {
    meet(root);
    while (!stack.empty()) {
      auto& [s, at] = stack.back();
      if (at == graph.begin[s + 1]) {
        color[s] = done;
        record(walk, Event::finish, s, -1, -1);
        stack.pop_back();
        continue;
      }
      const std::int32_t t = graph.next[at];
      record(walk,
             color[t] == fresh  ? Event::tree
             : color[t] == open ? Event::back
                                : Event::cross,
             s, static_cast<std::int32_t>(graph.place[at]), t);
      ++at;
      if (color[t] == fresh) meet(t);
    }
  };
  if (graph.start != kNoState) search(graph.start);
  for (std::int32_t s = 0; !accessible_only && s < graph.states(); ++s)
    if (color[s] == fresh) search(s);
  return walk;
}

Walk by_queue(const Graph& graph, Queue queue, const std::vector<std::int32_t>& rank) {
  enum : std::uint8_t { fresh, waiting, done };
  std::vector<std::uint8_t> color(graph.states(), fresh);
  std::deque<std::int32_t> line;
  std::priority_queue<std::pair<std::int32_t, std::int32_t>, std::vector<std::pair<std::int32_t, std::int32_t>>,
                      std::greater<>>
      heap;
  Walk walk;
  const bool ranked = !rank.empty();
  const auto wait = [&](std::int32_t s) {
    color[s] = waiting;
    ranked ? heap.emplace(rank[s], s) : static_cast<void>(line.push_back(s));
  };
  if (graph.start != kNoState) wait(graph.start);
  while (ranked ? !heap.empty() : !line.empty()) {
    std::int32_t s;
    if (ranked) {
      s = heap.top().second;
      heap.pop();
    } else if (queue == Queue::lifo) {
      s = line.back();
      line.pop_back();
    } else {
      s = line.front();
      line.pop_front();
    }
    record(walk, Event::discover, s, -1, -1);
    for (std::size_t at = graph.begin[s]; at < graph.begin[s + 1]; ++at) {
      const std::int32_t t = graph.next[at];
      const bool first = color[t] == fresh;
      record(walk,
             first                 ? Event::tree
             : color[t] == waiting ? Event::back
                                   : Event::cross,
             s, static_cast<std::int32_t>(graph.place[at]), t);
      if (first) wait(t);
    }
    color[s] = done;
    record(walk, Event::finish, s, -1, -1);
  }
  return walk;
}

template <class S>
std::vector<std::int32_t> ranks(const Machine<S>& machine, Queue queue) {
  std::vector<std::int32_t> rank;
  if (queue == Queue::fifo || queue == Queue::lifo) return rank;
  std::vector<std::int32_t> order(machine.states());
  for (std::size_t s = 0; s < order.size(); ++s) order[s] = static_cast<std::int32_t>(s);
  if (queue == Queue::state) return order;
  if (queue == Queue::shortest) {
    const S& k = machine.semiring();
    if (!k.path())
      fail("a queue by distance needs the path property, which ", std::string(k.name()), " has not; take 'fifo'");
    if constexpr (may_have_order<S>) {
      const auto d = distances_by(Queue::automatic, machine, false);
      std::ranges::stable_sort(order, [&](std::int32_t s, std::int32_t t) { return k.less(d[s], d[t]); });
      rank.resize(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<std::int32_t>(i);
      return rank;
    }
  }
  Components found = components(machine);  // the order of components serves machines with cycles too
  if (queue == Queue::top && found.cyclic) fail("a topological queue needs a machine without cycles; take 'auto'");
  return std::move(found.of);
}

template <class W>
Reachability reachable_states(const Automaton<W>& machine) {
  Reachability out;
  const Components found = components(machine);
  grow(
      machine, found, out,
      [&](std::int32_t s, std::vector<Interval>& set) { set.emplace_back(found.of[s], found.of[s]); },
      [](const auto&) { return true; });
  return out;
}

template <class W>
Reachability reachable_labels(const Automaton<W>& machine, bool output) {
  Reachability out;
  const auto label = [output](const auto& arc) { return output ? arc.olabel : arc.ilabel; };
  const Components found = output ? components(machine, OutputEpsilonArcs{}) : components(machine, InputEpsilonArcs{});
  base::FlatTable<std::int32_t> number;
  grow(
      machine, found, out,
      [&](std::int32_t s, std::vector<Interval>& set) {
        for (const auto& arc : machine.arcs(s)) {
          if (label(arc) == 0) continue;
          const auto [at, is_new] = number.add(base::key_of(label(arc)), static_cast<std::int32_t>(number.size()));
          if (is_new) out.labels.push_back(label(arc));
          set.emplace_back(at, at);
        }
      },
      [&](const auto& arc) { return label(arc) == 0; });
  return out;
}

#define X(S) template std::vector<std::int32_t> ranks(const Machine<S>&, Queue);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

#define X(W)                                                   \
  template Graph graph_of(const Automaton<W>&, ArcFilter);     \
  template Reachability reachable_states(const Automaton<W>&); \
  template Reachability reachable_labels(const Automaton<W>&, bool);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
