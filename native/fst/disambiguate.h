// Disambiguation: an equivalent machine in which no two paths to the end read the same string; the best of them is kept.
//
// A state is (q, rivals of q): the states p that the same string leads to and from which some string leads to the end as it
// does from q, each with the weight that it is ahead or behind. An arc to q' is kept unless a rival, or another arc of q,
// reaches q' by the same label with a better weight; of final rivals only the best ends. Ties go to the smaller state and the
// earlier arc. Unlike determinization it does not need equal weights on cycles of states that share no future.
// Reference: Mohri & Riley (2014), On the disambiguation of weighted automata.
#pragma once

#include "fst/machine.h"

namespace textmill::fst {

template <class S>
Machine<S> disambiguate(const Machine<S>& machine, double delta, std::size_t most_states);

}  // namespace textmill::fst
