#include "fst/structure.h"

#include <limits>
#include <numeric>

#include "base/flat_table.h"
#include "fst/properties.h"

namespace textmill::fst {
namespace {

// Appends the states and arcs of b, moved by `shift`.
template <class W>
void append(Assembly<W>& out, const Automaton<W>& b, std::int32_t shift) {
  for (std::int32_t s = 0; s < b.states(); ++s) {
    out.open(b.final(s));
    for (auto arc : b.arcs(s)) {
      arc.nextstate += shift;
      out.push(arc);
    }
  }
}

template <class W>
bool has_arcs_to_start(const Automaton<W>& a) {
  for (std::int32_t s = 0; s < a.states(); ++s)
    for (const auto& arc : a.arcs(s))
      if (arc.nextstate == a.start()) return true;
  return false;
}

// Marks the states that the start leads to.
template <class W>
void mark_accessible(const Automaton<W>& a, std::vector<std::uint8_t>& marks) {
  std::vector<std::int32_t> stack{a.start()};
  marks[a.start()] = 1;
  while (!stack.empty()) {
    const std::int32_t s = stack.back();
    stack.pop_back();
    for (const auto& arc : a.arcs(s)) {
      if (marks[arc.nextstate]) continue;
      marks[arc.nextstate] = 1;
      stack.push_back(arc.nextstate);
    }
  }
}

// Marks the states that lead to a final one. Machines are mostly numbered along their paths, so that one look at the
// states from the last to the first finds nearly all; only what it leaves is searched against the arcs.
template <class W>
void mark_coaccessible(const Automaton<W>& a, std::vector<std::uint8_t>& marks) {
  const std::int32_t n = a.states();
  std::vector<std::int32_t> left;
  bool in_order = true;
  for (std::int32_t s = n; s-- > 0;) {
    bool leads = a.is_final(s);
    for (const auto& arc : a.arcs(s)) {
      leads |= marks[arc.nextstate] != 0;
      in_order &= arc.nextstate > s;
    }
    marks[s] = leads;
    if (!leads) left.push_back(s);
  }
  if (left.empty() || in_order) return;
  std::vector<std::uint32_t> begin(n + 1, 0);  // arcs among those that are left, by the state they lead to
  std::vector<std::int32_t> stack;
  for (const std::int32_t s : left) {
    bool leads = false;
    for (const auto& arc : a.arcs(s)) {
      leads |= marks[arc.nextstate] == 1;
      ++begin[arc.nextstate];
    }
    if (leads) stack.push_back(s);
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());  // the ends; they become the beginnings
  std::vector<std::int32_t> from(begin[n]);
  for (const std::int32_t s : left)
    for (const auto& arc : a.arcs(s)) from[--begin[arc.nextstate]] = s;
  for (const std::int32_t s : stack) marks[s] = 1;
  while (!stack.empty()) {
    const std::int32_t t = stack.back();
    stack.pop_back();
    for (std::uint32_t i = begin[t]; i < begin[t + 1]; ++i) {
      if (marks[from[i]]) continue;
      marks[from[i]] = 1;
      stack.push_back(from[i]);
    }
  }
}

// 1 for each state on a path from the start to a final state; empty, and remembered, if all are.
template <class W>
std::vector<std::uint8_t> useful_states(const Automaton<W>& a) {
  using namespace property;
  std::vector<std::uint8_t> marks, other;
  if (a.start() == kNoState) return std::vector<std::uint8_t>(a.states(), 0);
  if (!(a.known() & accessible)) {
    marks.assign(a.states(), 0);
    mark_accessible(a, marks);
    if (std::ranges::find(marks, 0) == marks.end()) a.know(accessible);
  }
  if (!(a.known() & coaccessible)) {
    other.assign(a.states(), 0);
    mark_coaccessible(a, other);
    if (std::ranges::find(other, 0) == other.end()) a.know(coaccessible);
  }
  if ((a.known() & (accessible | coaccessible)) == (accessible | coaccessible)) return {};
  if (marks.empty()) return other;
  for (std::size_t s = 0; s < other.size(); ++s) marks[s] &= other[s];
  return marks;
}

// Gives each state the place of its arcs, by their numbers; returns the places.
template <class W>
std::vector<std::uint32_t> place(std::vector<State<W>>& states) {
  std::vector<std::uint32_t> places(states.size());
  std::uint32_t pos = 0;
  for (std::size_t s = 0; s < states.size(); ++s) {
    places[s] = states[s].pos = pos;
    pos += states[s].narcs;
  }
  return places;
}

}  // namespace

template <class W>
Automaton<W> unite(std::span<const Automaton<W>* const> parts) {
  std::vector<const Automaton<W>*> some;
  std::size_t states = 1, arcs = 0;
  for (const auto* part : parts) {
    if (part->start() == kNoState) continue;
    some.push_back(part);
    states += part->states();
    arcs += part->arcs() + 1;
  }
  if (some.size() < 2) return Automaton<W>(some.empty() ? *parts.front() : *some.front());
  if (states > std::numeric_limits<std::int32_t>::max() || arcs > std::numeric_limits<std::uint32_t>::max())
    fail("the machines have ", states, " states and ", arcs, " arcs together, more than one can have");
  const Automaton<W>& a = *some.front();
  std::vector<std::int32_t> starts{a.start()};
  std::int32_t shift = a.states();
  for (std::size_t i = 1; i < some.size(); ++i) {
    starts.push_back(some[i]->start() + shift);
    shift += some[i]->states();
  }
  Assembly<W> out;
  out.reserve(states, arcs);
  const bool fresh = has_arcs_to_start(a);
  const auto lead = [&](std::size_t first) {
    for (std::size_t i = first; i < starts.size(); ++i) out.push({0, 0, a.one(), starts[i]});
  };
  for (std::int32_t s = 0; s < a.states(); ++s) {
    out.open(a.final(s));
    for (const auto& arc : a.arcs(s)) out.push(arc);
    if (!fresh && s == a.start()) lead(1);
  }
  shift = a.states();
  for (std::size_t i = 1; i < some.size(); ++i) {
    append(out, *some[i], shift);
    shift += some[i]->states();
  }
  if (!fresh) return out.finish(a, a.start());
  const std::int32_t start = out.open(a.zero());
  lead(0);
  return out.finish(a, start);
}

template <class W>
Automaton<W> concatenate(const Automaton<W>& a, const Automaton<W>& b) {
  Assembly<W> out;
  if (a.start() == kNoState || b.start() == kNoState) return out.finish(a, kNoState);
  out.reserve(a.states() + b.states(), a.arcs() + b.arcs());
  const std::int32_t shift = a.states();
  for (std::int32_t s = 0; s < a.states(); ++s) {
    out.open(a.zero());
    for (const auto& arc : a.arcs(s)) out.push(arc);
    if (a.is_final(s)) out.push({0, 0, a.final(s), b.start() + shift});
  }
  append(out, b, shift);
  return out.finish(a, a.start());
}

template <class W>
Automaton<W> close(const Automaton<W>& a, bool star) {
  Assembly<W> out;
  out.reserve(a.states() + 1, a.arcs() + 8);
  if (a.start() == kNoState) {
    const std::int32_t start = star ? out.open(a.one()) : kNoState;
    return out.finish(a, start);
  }
  for (std::int32_t s = 0; s < a.states(); ++s) {
    out.open(a.final(s));
    for (const auto& arc : a.arcs(s)) out.push(arc);
    if (a.is_final(s)) out.push({0, 0, a.final(s), a.start()});
  }
  if (!star) return out.finish(a, a.start());
  const std::int32_t start = out.open(a.one());
  out.push({0, 0, a.one(), a.start()});
  return out.finish(a, start);
}

template <class W>
std::int32_t only_end(const Automaton<W>& a) {
  std::int32_t end = kNoState;
  for (std::int32_t s = 0; s < a.states(); ++s) {
    if (!a.is_final(s)) continue;
    if (end != kNoState) return kNoState;
    end = s;
  }
  if (end == kNoState || Values<W>::equal(a.final(end), a.one())) return end;
  const Components found = components(a);
  for (const auto& arc : a.arcs(end))
    if (found.of[arc.nextstate] == found.of[end]) return kNoState;  // it would be paid each time round
  return end == a.start() ? kNoState : end;
}

template <class W>
Automaton<W> turn_round_from(const Automaton<W>& a, const Values<W>& values, std::int32_t end) {
  std::vector<State<W>> states(a.states(), {a.zero(), 0, 0, 0, 0});
  for (std::int32_t s = 0; s < a.states(); ++s)
    for (const auto& arc : a.arcs(s)) ++states[arc.nextstate].narcs;
  std::vector<std::uint32_t> next = place(states);
  std::vector<Arc<W>> arcs(a.arcs());
  for (std::int32_t s = 0; s < a.states(); ++s)
    for (const auto& arc : a.arcs(s))
      arcs[next[arc.nextstate]++] = {arc.ilabel, arc.olabel, values.reverse(arc.weight), s};
  states[a.start()].final = a.one();
  return Automaton<W>::assembled(a.zero(), a.one(), end, std::move(states), std::move(arcs));
}

template <class W>
Automaton<W> turn_round(const Automaton<W>& a, const Values<W>& values) {
  std::vector<State<W>> states(a.states() + 1, {a.zero(), 0, 0, 0, 0});
  std::size_t finals = 0;
  for (std::int32_t s = 0; s < a.states(); ++s) {
    finals += a.is_final(s);
    for (const auto& arc : a.arcs(s)) ++states[arc.nextstate + 1].narcs;
  }
  states[0].narcs = static_cast<std::uint32_t>(finals);
  std::vector<std::uint32_t> next = place(states);
  std::vector<Arc<W>> arcs(a.arcs() + finals);
  for (std::int32_t s = 0; s < a.states(); ++s) {
    if (a.is_final(s)) arcs[next[0]++] = {0, 0, values.reverse(a.final(s)), s + 1};
    for (const auto& arc : a.arcs(s))
      arcs[next[arc.nextstate + 1]++] = {arc.ilabel, arc.olabel, values.reverse(arc.weight), s + 1};
  }
  states[a.start() + 1].final = a.one();
  return Automaton<W>::assembled(a.zero(), a.one(), 0, std::move(states), std::move(arcs));
}

template <class W>
Automaton<W> invert(const Automaton<W>& a) {
  Automaton<W> out(a);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) std::swap(arc.ilabel, arc.olabel);
    out.recount(s);
  }
  return out;
}

template <class W>
Automaton<W> project(const Automaton<W>& a, bool output) {
  Automaton<W> out(a);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) (output ? arc.ilabel : arc.olabel) = output ? arc.olabel : arc.ilabel;
    out.recount(s);
  }
  return out;
}

template <class W>
Automaton<W> relabel(const Automaton<W>& a, LabelPairs input, LabelPairs output) {
  const auto inputs = label_table(input), outputs = label_table(output);
  const auto change = [](const auto& map, std::int32_t& label) { label = map.find(base::key_of(label), label); };
  Automaton<W> out(a);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) {
      change(inputs, arc.ilabel);
      change(outputs, arc.olabel);
    }
    out.recount(s);
  }
  return out;
}

template <class W>
Automaton<W> sort_arcs(const Automaton<W>& a, bool output) {
  const std::uint64_t known = a.known();
  Automaton<W> out(a);
  const auto key = [&](const Arc<W>& arc) {
    const auto first = static_cast<std::uint32_t>(output ? arc.olabel : arc.ilabel),
               second = static_cast<std::uint32_t>(output ? arc.ilabel : arc.olabel);
    return std::uint64_t{first} << 32 | second;
  };
  for (std::int32_t s = 0; s < out.states(); ++s) {
    const auto arcs = out.edit(s);
    const auto before = [&](const Arc<W>& x, const Arc<W>& y) { return key(x) < key(y); };
    if (!std::is_sorted(arcs.begin(), arcs.end(), before)) std::stable_sort(arcs.begin(), arcs.end(), before);
  }
  using namespace property;
  out.know((known & ~(ilabel_sorted | not_ilabel_sorted | olabel_sorted | not_olabel_sorted)) |
           (output ? olabel_sorted : ilabel_sorted));
  if (known & acceptor) out.know(ilabel_sorted | olabel_sorted);
  return out;
}

template <class W>
Automaton<W> renumber(const Automaton<W>& a, std::span<const std::int32_t> order) {
  std::vector<std::int32_t> old(order.size());
  for (std::size_t s = 0; s < order.size(); ++s) old[order[s]] = static_cast<std::int32_t>(s);
  Assembly<W> out;
  out.reserve(a.states(), a.arcs());
  for (const std::int32_t s : old) {
    out.open(a.final(s));
    for (auto arc : a.arcs(s)) {
      arc.nextstate = order[arc.nextstate];
      out.push(arc);
    }
  }
  return out.finish(a, a.start() == kNoState ? kNoState : order[a.start()]);
}

template <class W>
Automaton<W> sort_states(const Automaton<W>& a) {
  if (is(a, property::top_sorted)) return Automaton<W>(a);
  const Components found = components(a);
  if (found.cyclic) {
    for (std::int32_t s = 0; s < a.states(); ++s)
      for (const auto& arc : a.arcs(s))
        if (found.of[s] == found.of[arc.nextstate])
          fail("the machine has a cycle through the states ", s, " and ", arc.nextstate,
               ", so it cannot be sorted topologically");
  }
  Automaton<W> out = renumber(a, found.of);
  out.know(property::top_sorted | property::acyclic | property::initial_acyclic | property::unweighted_cycles);
  return out;
}

template <class W>
bool connected(const Automaton<W>& a) {
  return useful_states(a).empty();
}

template <class W>
void trim(Automaton<W>& a) {
  using namespace property;
  const std::vector<std::uint8_t> kept = useful_states(a);
  if (kept.empty()) return;
  // what states and arcs have one by one stays true of those that are left
  const std::uint64_t stays = a.known() & (acceptor | ideterministic | odeterministic | no_epsilons | no_iepsilons |
                                           no_oepsilons | ilabel_sorted | olabel_sorted | unweighted | acyclic |
                                           initial_acyclic | top_sorted | unweighted_cycles);
  if (a.start() == kNoState || !kept[a.start()]) {
    a.clear();
  } else {
    a.keep(kept);
    a.know(stays);
  }
  a.know(accessible | coaccessible);
}

template <class W>
Automaton<W> connect(const Automaton<W>& a) {
  Automaton<W> out(a);
  trim(out);
  return out;
}

template <class W>
void sort_by_input(std::vector<Arc<W>>& arcs) {
  std::ranges::sort(arcs, {}, &Arc<W>::ilabel);
}

#define X(W)                                                                          \
  template Automaton<W> unite(std::span<const Automaton<W>* const>);                  \
  template Automaton<W> concatenate(const Automaton<W>&, const Automaton<W>&);        \
  template Automaton<W> close(const Automaton<W>&, bool);                             \
  template Automaton<W> invert(const Automaton<W>&);                                  \
  template Automaton<W> project(const Automaton<W>&, bool);                           \
  template Automaton<W> relabel(const Automaton<W>&, LabelPairs, LabelPairs);         \
  template Automaton<W> sort_arcs(const Automaton<W>&, bool);                         \
  template Automaton<W> renumber(const Automaton<W>&, std::span<const std::int32_t>); \
  template Automaton<W> sort_states(const Automaton<W>&);                             \
  template bool connected(const Automaton<W>&);                                       \
  template void trim(Automaton<W>&);                                                  \
  template Automaton<W> connect(const Automaton<W>&);                                 \
  template void sort_by_input(std::vector<Arc<W>>&);                                  \
  template std::int32_t only_end(const Automaton<W>&);                                \
  template Automaton<W> turn_round(const Automaton<W>&, const Values<W>&);            \
  template Automaton<W> turn_round_from(const Automaton<W>&, const Values<W>&, std::int32_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
