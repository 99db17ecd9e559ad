// Operations that move arcs about and look at weights only to pass them on: rational operations, reversal, sorting, trimming.
//
//   unite        L(a) + L(b): an epsilon to the start of b, from a new start if arcs lead back to that of a
//   concatenate  L(a) L(b): epsilons with the final weights of a to the start of b
//   close        L(a)* or L(a)+: epsilons with the final weights back to the start; for the star a new start that is final
//   reverse      arcs turned round behind a new start, whose epsilons carry the final weights; without `fresh` the only
//                final state is the start where that can be
// All O(N + M) but sorting, O(M log D) with D arcs at a state.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

template <class S>
Machine<S> unite(const Machine<S>& a, const Machine<S>& b);
template <class S>
Machine<S> concatenate(const Machine<S>& a, const Machine<S>& b);
template <class S>
Machine<S> close(const Machine<S>& a, bool star);
template <class S>
Machine<S> reverse(const Machine<S>& a, bool fresh = true);
template <class S>
Machine<S> invert(const Machine<S>& a);
template <class S>
Machine<S> project(const Machine<S>& a, bool output);
// Replaces labels by pairs (old, new); labels that are not there stay.
template <class S>
Machine<S> relabel(const Machine<S>& a, std::span<const std::pair<std::int32_t, std::int32_t>> input,
                   std::span<const std::pair<std::int32_t, std::int32_t>> output);
// Sorts the arcs of every state by the label and then the other; equal ones keep their order.
template <class S>
Machine<S> sort_arcs(const Machine<S>& a, bool output);
// In topological order; a fault that names a cycle if there is one.
template <class S>
Machine<S> sort_states(const Machine<S>& a);
// order[s] is the new number of s.
template <class S>
Machine<S> renumber(const Machine<S>& a, std::span<const std::int32_t> order);
// Without states that are not on a path from the start to a final state.
template <class S>
Machine<S> connect(const Machine<S>& a);
// The same in place.
template <class S>
void trim(Machine<S>& a);

}  // namespace textmill::fst
