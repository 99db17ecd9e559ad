// Machines that store less than four fields an arc, and const machines with other widths of indexes: OpenFst's file types
//
//   compact_string                4 bytes a state: the label of its arc to the next state, -1 at the end
//   compact_weighted_string       the same with a weight
//   compact_acceptor              label, weight, next state; the final weight of a state is an element with the label -1
//   compact_unweighted_acceptor   label, next state
//   compact_unweighted            two labels, next state
//   compact8_..., 16, 64          the last three with indexes of another width (32 bits without a number)
//   const8, const16, const64      as const, with indexes of that width
//
// The last three kinds begin with N+1 indexes: where the elements of each state begin. Elements lie as C++ would put them
// (OpenFst writes pairs), so a 64-bit weight begins at a multiple of 8 bytes.
#pragma once

#include <span>
#include <string>

#include "fst/binary.h"
#include "fst/machine.h"

namespace textmill::fst {

bool is_compact(const std::string& type);

// The machine behind the header of such a file, written out; `end` becomes the position after it.
template <class S>
Machine<S> read_compact(std::span<const char> bytes, const BinaryHeader& header, const S& semiring, std::size_t& end);

// Appends what follows the header. A fault if the machine is not of that kind.
template <class S>
void write_compact(std::string& out, const Machine<S>& machine, const std::string& type, bool align);

}  // namespace textmill::fst
