// Best paths of a lazy machine: states are written out best first, and no further than needed.
//
// Dijkstra's algorithm from the start; a state is left at most n times, and the search ends when the n best ends are
// better than all that waits. Weights that are better than one are a fault: what was left early could become better then.
// Reference: Dijkstra (1959); Mohri & Riley (2002).
#pragma once

#include "fst/lazy.h"

namespace textmill::fst {

struct LazyPathOptions {
  std::size_t n = 1;
  std::size_t most_states = kMostStates;  // a fault if more are written out
};
struct LazyPathFacts {
  std::size_t expanded = 0;  // states that were written out
};

template <class S>
Machine<S> lazy_best_paths(Lazy<typename S::Weight>& lazy, const S& semiring, const LazyPathOptions& options,
                           LazyPathFacts& facts);

// How far a machine goes: states and arcs that are met when at most `most` states are written out, breadth first.
struct Probe {
  std::size_t expanded = 0, met = 0, arcs = 0;
};
template <class W>
Probe probe(Lazy<W>& lazy, std::size_t most);

}  // namespace textmill::fst
