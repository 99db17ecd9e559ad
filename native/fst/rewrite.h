// Weighted context-dependent rewrite rules  phi -> psi / lambda _ rho  as transducers, built in one pass.
//
// A rule is a transducer tau from phi to psi and two acceptors of contexts. At each place outside of a match, from left to
// right: if lambda ends here and phi rho begins here, some match of tau that rho follows is written (obligatory) or may be
// (optional); else one symbol is copied. A match of the empty string is written once at a place, and a symbol is copied next.
// rho is always looked for in the input; lambda in what was written, or in the input (simultaneous). Rules from right to
// left are those of the reversed strings.
//
//   L   deterministic automaton of  Sigma* lambda
//   R   deterministic automaton that reads backwards, of  Sigma* rev(rho)  and  Sigma* rev(rho) rev(phi)  at the same time:
//       the state after the rest of the string says whether rho, and whether phi rho begins here
//
// States of the result are (state of L, state of R, state of tau or outside); it follows R against its direction, guessing
// each state and failing at the end if a guess was wrong: exactly one sequence of guesses is right for a string. Symbols that
// no part of the rule tells apart are one class, whose first member stands for all of them until the end, so the size of the
// alphabet does not matter. O(|L| |R| |tau| classes) states and arcs at most, made as they are reached.
//
// Reference: Kaplan & Kay (1994); Mohri & Sproat (1996), An efficient compiler for weighted rewrite rules, whose five
// compositions this replaces by one product.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

struct RewriteOptions {
  std::span<const std::int32_t> alphabet;  // labels above 0 that are copied; those of the rule are added
  std::int32_t begin = kNoLabel;           // label of the begin of a string in contexts
  std::int32_t end = kNoLabel;             // label of its end
  bool obligatory = true;
  bool simultaneous = false;
  std::size_t most_states = 1u << 24;
};

// Labels that the rule does not tell apart: the first stands for all.
using LabelClasses = std::vector<std::vector<std::int32_t>>;

// The rule over the first labels of its classes; those of more than one member are in `classes`.
template <class W>
Automaton<W> rewrite(const Automaton<W>& tau, const Automaton<W>& left, const Automaton<W>& right,
                     const RewriteOptions& options, LabelClasses& classes);
template <class S>
Machine<S> rewrite(const Machine<S>& tau, const Machine<S>& left, const Machine<S>& right,
                   const RewriteOptions& options, LabelClasses& classes) {
  return {tau.semiring(), rewrite(tau.bare(), left.bare(), right.bare(), options, classes)};
}

// Every arc that copies the first label of a class also for the others.
template <class W>
Automaton<W> expand_classes(const Automaton<W>& machine, const LabelClasses& classes);
template <class S>
Machine<S> expand_classes(const Machine<S>& machine, const LabelClasses& classes) {
  return {machine.semiring(), expand_classes(machine.bare(), classes)};
}

}  // namespace textmill::fst
