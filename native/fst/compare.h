// Are two machines the same: number by number, up to the numbers of states, or in what they accept.
//
//   equal        same numbers of states, arcs in the same order, weights within delta
//   isomorphic   a pairing of states, found from the start by arcs sorted by labels, weight and what lies behind them
//   equivalent   deterministic acceptors without epsilons: weights are pushed to the start and arcs become (label,
//                weight), then states that a string leads to are united (Hopcroft & Karp 1971), O(M alpha(M))
#pragma once

#include "fst/machine.h"

namespace textmill::fst {

// The first two by the type of weight alone.
template <class W>
bool equal(const Automaton<W>& a, const Automaton<W>& b, const Values<W>& values, double delta);
template <class W>
bool isomorphic(const Automaton<W>& a, const Automaton<W>& b, const Values<W>& values, double delta);

template <class S>
bool equal(const Machine<S>& a, const Machine<S>& b, double delta) {
  return equal<typename S::Weight>(a, b, a.semiring(), delta);
}
template <class S>
bool isomorphic(const Machine<S>& a, const Machine<S>& b, double delta) {
  return isomorphic<typename S::Weight>(a, b, a.semiring(), delta);
}
template <class S>
bool equivalent(const Machine<S>& a, const Machine<S>& b, double delta);

}  // namespace textmill::fst
