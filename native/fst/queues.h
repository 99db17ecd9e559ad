// Shortest distances by one queue over the whole machine (Mohri 2002), for those who want to choose it themselves:
//
//   d(s) = r(s) = what flows in;  while the queue holds a state q: R = r(q), r(q) = zero, and for each arc from q to t of
//   weight w, if d(t) plus R w differs from d(t): d(t) and r(t) grow by R w, and t waits
//
//   fifo       first in, first out          lifo   last in, first out
//   shortest   the best distance first      state  the smallest number first
//   top        in topological order; a fault if there are cycles
//
// `automatic` leaves it to distance.h, which plans by strongly connected components and is exact where it can be.
#pragma once

#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

enum class Queue : std::uint8_t { automatic, fifo, lifo, shortest, state, top };

// As `distances`. Sums that do not settle down within 20,000,000 steps are a fault.
template <class S>
std::vector<typename S::Weight> distances_by(Queue queue, const Machine<S>& machine, bool backward,
                                             double delta = 1e-12, std::vector<std::int32_t>* next = nullptr);

}  // namespace textmill::fst
