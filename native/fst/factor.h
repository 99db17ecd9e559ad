// Weights that hold strings, spread over arcs: each arc keeps the first label of its weight, the others wait for the
// arcs that follow, and what is left at the end goes on arcs that read and write nothing.
//
//   states are (state, weight that is still to be paid); a sum of strings becomes an arc for each
//
// The product of the weights along a path stays the same. Weights of strings and gallic weights have labels; others are
// kept as they are.
#pragma once

#include <cstddef>

#include "fst/algebra.h"
#include "fst/machine.h"

namespace textmill::fst {

// `arcs`, `finals`: which weights are factored. A fault on a cycle whose weights hold more labels than it has arcs, where
// there is no end, and beyond `most_states`.
Machine<Dynamic> factor_weights(const Machine<Dynamic>& machine, bool arcs, bool finals, std::size_t most_states);

}  // namespace textmill::fst
