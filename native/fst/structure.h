// Operations that move arcs about and look at weights only to pass them on: rational operations, reversal, sorting,
// trimming. So they are written for automata, and compiled once for each type of weight; those on machines call them.
//
//   unite        L(a) + L(b) + ...: epsilons to the starts of the others, from a new start if arcs lead back to that of a
//   concatenate  L(a) L(b): epsilons with the final weights of a to the start of b
//   close        L(a)* or L(a)+: epsilons with the final weights back to the start; for the star a new start, final
//   reverse      arcs turned round behind a new start, whose epsilons carry the final weights; without `fresh` the only
//                final state is the start where that can be
// All O(N + M) but sorting, O(M log D) with D arcs at a state.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "fst/machine.h"

namespace textmill::fst {

using LabelPairs = std::span<const std::pair<std::int32_t, std::int32_t>>;

// The first label of each pair with the second; of pairs that begin alike the first holds.
inline base::FlatTable<std::int32_t> label_table(LabelPairs pairs) {
  base::FlatTable<std::int32_t> table;
  for (const auto& [from, to] : pairs) table.add(base::key_of(from), to);
  return table;
}

template <class W>
Automaton<W> unite(std::span<const Automaton<W>* const> parts);  // one at least
template <class W>
Automaton<W> concatenate(const Automaton<W>& a, const Automaton<W>& b);
template <class W>
Automaton<W> close(const Automaton<W>& a, bool star);
template <class W>
Automaton<W> invert(const Automaton<W>& a);
template <class W>
Automaton<W> project(const Automaton<W>& a, bool output);
// Replaces labels by pairs (old, new); labels that are not there stay.
template <class W>
Automaton<W> relabel(const Automaton<W>& a, LabelPairs input, LabelPairs output);
// Sorts the arcs of every state by the label and then the other; equal ones keep their order.
template <class W>
Automaton<W> sort_arcs(const Automaton<W>& a, bool output);
// In topological order; a fault that names a cycle if there is one.
template <class W>
Automaton<W> sort_states(const Automaton<W>& a);
// order[s] is the new number of s.
template <class W>
Automaton<W> renumber(const Automaton<W>& a, std::span<const std::int32_t> order);
// Without states that are not on a path from the start to a final state.
template <class W>
Automaton<W> connect(const Automaton<W>& a);
// Is that so of all states? Remembered with the machine if it is.
template <class W>
bool connected(const Automaton<W>& a);
// Removes them in place.
template <class W>
void trim(Automaton<W>& a);
// Sorts arcs by their input label, equal ones in any order.
template <class W>
void sort_by_input(std::vector<Arc<W>>& arcs);

// The only final state, if its weight can go on the arcs that lead to it: kNoState otherwise.
template <class W>
std::int32_t only_end(const Automaton<W>& a);
// Turned round behind a new start 0, all states one number higher.
template <class W>
Automaton<W> turn_round(const Automaton<W>& a, const Values<W>& values);
// Turned round with the same numbers of states; `end` becomes the start, and its final weight is left out.
template <class W>
Automaton<W> turn_round_from(const Automaton<W>& a, const Values<W>& values, std::int32_t end);

// ---- the same on machines
template <class S>
Machine<S> unite(std::span<const Machine<S>* const> parts) {
  std::vector<const Automaton<typename S::Weight>*> bare;
  for (const auto* part : parts) bare.push_back(&part->bare());
  return {parts.front()->semiring(), unite(std::span<const Automaton<typename S::Weight>* const>(bare))};
}
template <class S>
Machine<S> concatenate(const Machine<S>& a, const Machine<S>& b) {
  return {a.semiring(), concatenate(a.bare(), b.bare())};
}
template <class S>
Machine<S> close(const Machine<S>& a, bool star) {
  return {a.semiring(), close(a.bare(), star)};
}
template <class S>
Machine<S> reverse(const Machine<S>& a, bool fresh = true) {
  const S& k = a.semiring();
  const S turned = k.reversed();
  if (a.start() == kNoState) return Machine<S>(turned);
  const std::int32_t end = fresh ? kNoState : only_end(a.bare());
  if (end == kNoState) return {turned, turn_round(a.bare(), k)};
  Machine<S> out(turned, turn_round_from(a.bare(), k, end));
  const auto paid = k.reverse(a.final(end));
  for (auto& arc : out.edit(end)) arc.weight = turned.times(paid, arc.weight);
  return out;
}
template <class S>
Machine<S> invert(const Machine<S>& a) {
  return {a.semiring(), invert(a.bare())};
}
template <class S>
Machine<S> project(const Machine<S>& a, bool output) {
  return {a.semiring(), project(a.bare(), output)};
}
template <class S>
Machine<S> relabel(const Machine<S>& a, LabelPairs input, LabelPairs output) {
  return {a.semiring(), relabel(a.bare(), input, output)};
}
template <class S>
Machine<S> sort_arcs(const Machine<S>& a, bool output) {
  return {a.semiring(), sort_arcs(a.bare(), output)};
}
template <class S>
Machine<S> sort_states(const Machine<S>& a) {
  return {a.semiring(), sort_states(a.bare())};
}
template <class S>
Machine<S> renumber(const Machine<S>& a, std::span<const std::int32_t> order) {
  return {a.semiring(), renumber(a.bare(), order)};
}
template <class S>
Machine<S> connect(const Machine<S>& a) {
  return {a.semiring(), connect(a.bare())};
}

}  // namespace textmill::fst
