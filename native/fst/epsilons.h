// Removal of arcs that read and write nothing.
//
//   arcs'(p) = plus over q of d(p, q) times (arcs of q that are not epsilon)        d(p, q): sum over epsilon paths
//   final'(p) = plus over q of d(p, q) times final(q)
//
// Components of the epsilon arcs are taken in reverse topological order, so that an epsilon leads to a state that has none
// any more, and its arcs are copied; inside a component d comes from the star of the semiring. Arcs with the same labels
// and next state are added up where weights distribute from the right. Reference: Mohri (2002), Generic epsilon-removal and input epsilon-normalization.
#pragma once

#include "fst/machine.h"
#include "fst/queues.h"

namespace textmill::fst {

// `queue`: how sums over cycles of epsilons are computed.
template <class S>
Machine<S> remove_epsilons(const Machine<S>& machine, bool connect, Queue queue = Queue::automatic);

}  // namespace textmill::fst
