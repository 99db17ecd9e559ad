// The twins property, without which determinization does not end. Reference: Allauzen & Mohri (2003).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "fst/machine.h"

namespace textmill::fst {

// Is there a pair of states, reached by one string, with cycles over one string of different weight? Then determinization
// cannot end. Looks at no more than `most` pairs, only at those that are wanted; returns an example, or nothing.
template <class S>
std::string find_unequal_twins(const Machine<S>& machine, double delta, std::size_t most,
                               const std::function<bool(std::int32_t, std::int32_t)>& wanted = {});

}  // namespace textmill::fst
