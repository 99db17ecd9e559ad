// Shortest distances: the sum of the weights of all paths, from the start to each state or from each state to the end.
//
//   forward   d(start) = one;  d(t) = [t is start] plus over arcs (s, w, t) of d(s) times w
//   backward  d(s) = final(s) plus over arcs (s, w, t) of w times d(t)
//
// In a path semiring whose weights are never better than one: Dijkstra's algorithm. Else components are solved one after
// another in topological order, so that machines without cycles are summed exactly, in one pass. Inside a component of a
// path semiring: Dijkstra again, or relaxation from a queue, which ends or finds a cycle that makes paths better for ever. Else, up to 64 states by elimination with the star of the
// semiring, exactly; larger ones by Mohri's queue of residues until nothing changes by more than delta. Sums that have no
// limit are faults. Reference: Mohri (2002).
#pragma once

#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

// delta: when a cyclic sum has converged. `next` (path semirings, backward): per state the arc to follow on a best path,
// -1 to end there, -2 where no path leads to the end.
template <class S>
std::vector<typename S::Weight> distances(const Machine<S>& machine, bool backward, double delta = 1e-12,
                                          std::vector<std::int32_t>* next = nullptr);

// Is no weight better than one, so that a longer path is never better than its beginning? False where that is no question.
template <class S>
bool never_better(const Machine<S>& machine);

// Do all arcs lead to later states? Looked up alone, because that is one quick pass.
template <class S>
bool numbered_along_paths(const Machine<S>& machine);

}  // namespace textmill::fst
