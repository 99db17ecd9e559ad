// Chains of arcs as single arcs. Where a state has one arc in and one out, is not final and not the start, both arcs
// become one: its weight is their product, its input label stands for the string that they read.
//
//   chains    reads such strings, over and over, and writes their labels, 1, 2, ... in the order they are met
//   factored  reads the labels
//   chains o factored = machine
//
// An arc has room for one output label: a chain ends before the second one. O(N + M).
#pragma once

#include "fst/machine.h"

namespace textmill::fst {

template <class S>
struct ChainFactors {
  Machine<S> chains, factored;
};

template <class S>
ChainFactors<S> factor_chains(const Machine<S>& machine);

}  // namespace textmill::fst
