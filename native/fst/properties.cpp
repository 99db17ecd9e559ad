#include "fst/properties.h"

namespace textmill::fst {
namespace {

// The pairs of which neither bit is set.
std::uint64_t unknown(std::uint64_t known, std::uint64_t mask) {
  const std::uint64_t low = known & 0x5555555555550000, high = known & 0xAAAAAAAAAAAA0000;
  return mask & property::trinary & ~(low | low << 1 | high | high >> 1);
}

template <class W>
std::uint64_t local_properties(const Automaton<W>& machine) {
  using namespace property;
  bool is_acceptor = true, ideterm = true, odeterm = true, eps = false, ieps = false, oeps = false, isorted = true,
       osorted = true;
  bool has_weights = false, sorted_by_state = true, is_string = true;
  std::vector<std::int32_t> labels;
  const auto repeats = [&](std::span<const Arc<W>> arcs, bool sorted, auto label) {
    if (sorted) {
      for (std::size_t i = 1; i < arcs.size(); ++i)
        if (label(arcs[i]) == label(arcs[i - 1])) return true;
      return false;
    }
    labels.clear();
    for (const auto& arc : arcs) labels.push_back(label(arc));
    std::ranges::sort(labels);
    return std::ranges::adjacent_find(labels) != labels.end();
  };
  std::int32_t finals = 0;
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    const auto arcs = machine.arcs(s);
    bool i_in_order = true, o_in_order = true;
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const auto& arc = arcs[a];
      is_acceptor &= arc.ilabel == arc.olabel;
      eps |= arc.ilabel == 0 && arc.olabel == 0;
      ieps |= arc.ilabel == 0;
      oeps |= arc.olabel == 0;
      has_weights |= machine.is_weight(arc.weight);
      sorted_by_state &= arc.nextstate > s;
      if (a > 0) {
        i_in_order &= arcs[a - 1].ilabel <= arc.ilabel;
        o_in_order &= arcs[a - 1].olabel <= arc.olabel;
      }
    }
    isorted &= i_in_order;
    osorted &= o_in_order;
    if (arcs.size() > 1) {
      if (ideterm) ideterm = !repeats(arcs, i_in_order, [](const auto& arc) { return arc.ilabel; });
      if (odeterm) odeterm = !repeats(arcs, o_in_order, [](const auto& arc) { return arc.olabel; });
    }
    if (machine.is_final(s)) {
      ++finals;
      has_weights |= !Values<W>::equal(machine.final(s), machine.one());
      is_string &= arcs.empty();
    } else {
      is_string &= arcs.size() == 1;
    }
  }
  is_string &= machine.start() != kNoState ? machine.start() == 0 && finals == 1 : machine.states() == 0;
  if (is_string && machine.states() > 0) {  // one path, numbered along it
    for (std::int32_t s = 0; s + 1 < machine.states() && is_string; ++s)
      is_string = machine.arcs(s).size() == 1 && machine.arcs(s)[0].nextstate == s + 1;
  }
  const auto pair = [](bool holds, std::uint64_t yes, std::uint64_t no) { return holds ? yes : no; };
  return pair(is_acceptor, acceptor, not_acceptor) | pair(ideterm, ideterministic, non_ideterministic) |
         pair(odeterm, odeterministic, non_odeterministic) | pair(eps, epsilons, no_epsilons) |
         pair(ieps, iepsilons, no_iepsilons) | pair(oeps, oepsilons, no_oepsilons) |
         pair(isorted, ilabel_sorted, not_ilabel_sorted) | pair(osorted, olabel_sorted, not_olabel_sorted) |
         pair(has_weights, weighted, unweighted) | pair(sorted_by_state, top_sorted, not_top_sorted) |
         pair(is_string, string, not_string) | (sorted_by_state ? acyclic | initial_acyclic | unweighted_cycles : 0);
}

template <class W>
std::uint64_t global_properties(const Automaton<W>& machine) {
  using namespace property;
  const Components found = components(machine);
  bool all_accessible = true, all_coaccessible = true, at_start = false, heavy = false;
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    all_accessible &= found.accessible[s];
    all_coaccessible &= found.coaccessible[s];
    if (!found.cyclic) continue;
    for (const auto& arc : machine.arcs(s)) {
      if (found.of[s] != found.of[arc.nextstate]) continue;
      at_start |=
          found.of[s] == found.of[machine.start() == kNoState ? s : machine.start()] && machine.start() != kNoState;
      heavy |= machine.is_weight(arc.weight);
    }
  }
  return (found.cyclic ? cyclic : acyclic) | (at_start ? initial_cyclic : initial_acyclic) |
         (all_accessible ? accessible : not_accessible) | (all_coaccessible ? coaccessible : not_coaccessible) |
         (heavy ? weighted_cycles : unweighted_cycles);
}

}  // namespace

template <class W, class Filter>
Components components(const Automaton<W>& machine, Filter filter) {
  const std::int32_t n = machine.states();
  Components found;
  found.of.assign(n, -1);
  found.accessible.assign(n, false);
  found.coaccessible.assign(n, false);
  std::vector<std::int32_t> low(n), number(n, -1), open;
  struct Frame {
    std::int32_t state;
    std::uint32_t arc;
  };
  std::vector<Frame> stack;
  std::int32_t counter = 0;
  const auto search = [&](std::int32_t root, bool from_start) {
    stack.push_back({root, 0});
    number[root] = low[root] = counter++;
    open.push_back(root);
    found.accessible[root] = from_start;
    found.coaccessible[root] = machine.is_final(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::int32_t s = frame.state;
      const auto arcs = machine.arcs(s);
      bool descended = false;
      while (frame.arc < arcs.size()) {
        const auto& arc = arcs[frame.arc++];
        if (!filter(arc)) continue;
        const std::int32_t t = arc.nextstate;
        if (number[t] < 0) {
          number[t] = low[t] = counter++;
          open.push_back(t);
          found.accessible[t] = from_start;
          found.coaccessible[t] = machine.is_final(t);
          stack.push_back({t, 0});
          descended = true;
          break;
        }
        if (found.of[t] < 0) {  // open: in the component to be, or above it
          low[s] = std::min(low[s], number[t]);
          found.cyclic |= t == s;
        } else if (found.coaccessible[t]) {
          found.coaccessible[s] = true;
        }
      }
      if (descended) continue;
      if (low[s] == number[s]) {
        bool reaches = false;
        std::size_t first = open.size();
        do reaches |= found.coaccessible[open[--first]];
        while (open[first] != s);
        found.cyclic |= open.size() - first > 1;
        for (std::size_t i = first; i < open.size(); ++i) {
          found.of[open[i]] = found.count;
          if (reaches) found.coaccessible[open[i]] = true;
        }
        open.resize(first);
        ++found.count;
      }
      stack.pop_back();
      if (!stack.empty()) {
        const std::int32_t above = stack.back().state;
        low[above] = std::min(low[above], low[s]);
        if (found.of[s] >= 0 && found.coaccessible[s]) found.coaccessible[above] = true;
      }
    }
  };
  if (machine.start() != kNoState) search(machine.start(), true);
  for (std::int32_t s = 0; s < n; ++s)
    if (number[s] < 0) search(s, false);
  for (std::int32_t& c : found.of) c = found.count - 1 - c;  // components close in reverse topological order
  return found;
}

template <class W>
std::uint64_t properties(const Automaton<W>& machine, std::uint64_t mask) {
  std::uint64_t missing = unknown(machine.known(), mask);
  if (missing & property::local) machine.know(local_properties(machine));
  missing = unknown(machine.known(), mask);
  if (missing & property::global) machine.know(global_properties(machine));
  return machine.known() & mask;
}

#define X(W)                                                              \
  template Components components(const Automaton<W>&, EveryArc);          \
  template Components components(const Automaton<W>&, EpsilonArcs);       \
  template Components components(const Automaton<W>&, InputEpsilonArcs);  \
  template Components components(const Automaton<W>&, OutputEpsilonArcs); \
  template std::uint64_t properties(const Automaton<W>&, std::uint64_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
