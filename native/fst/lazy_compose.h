// Lazy composition, with look-ahead.
//
// Where A writes epsilons before the label that B can read, or cannot, composition walks down ways that lead nowhere.
// With look-ahead a state (s1, s2) is made only if something can still be matched:
//
//   arc       one step: s1 and s2 are both final, have a label in common, or one of them has an epsilon
//   output    which labels A can write next from s1, through epsilons, is known for all states beforehand as a few
//             intervals, because labels are renumbered in the order in which they are found (Reachability); s2 must have
//             an arc with one of them, which is looked for by bisection. B takes its epsilons before A takes its own
//             (alt_sequence), so that the arcs of s2 alone decide.
//   input     the same on the inputs of B: the inverse of (inverse of B) o (inverse of A)
//
//   push_weights   the sum of the arcs of s2 that can still be reached is paid at once, and taken off where one of them
//                  is matched: a search sees what is to come early
//   push_labels    where only one arc of s2 is left, it is taken at once: its output is written early, and states that
//                  wait for the same label are merged; A has to write that label then
//
// States are (s1, s2, f), f with a mark where weights were pushed and the label that A still has to write.
// Reference: Allauzen, Riley & Schalkwyk (2009), A generalized composition algorithm for weighted finite-state transducers.
#pragma once

#include "fst/compose.h"
#include "fst/lazy.h"

namespace textmill::fst {

enum class LookAhead : std::uint8_t { none, arc, output, input };

struct LazyComposeOptions : ComposeOptions {
  LookAhead look_ahead = LookAhead::none;
  bool push_weights = false, push_labels = false;
  bool left_stays = true, right_stays = true;  // may a machine stay where it is while the other moves by epsilon?
  std::vector<std::int32_t> epsilons[2];       // labels of A's output, of B's input, that are read as epsilon
};

template <class W>
LazyPointer<W> lazy_compose(LazyPointer<W> a, LazyPointer<W> b, const LazyComposeOptions& options, std::size_t limit);

}  // namespace textmill::fst
