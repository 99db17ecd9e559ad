// Machines and symbol tables as OpenFst writes them: types vector and const, aligned or not; compact ones are in compact.h.
//
//   header   int32 2125659606, type, arc type, int32 version, int32 flags, uint64 properties, int64 start, states, arcs
//   tables   of input and output symbols, if the flags say so
//   vector   a state: final weight, int64 count, then its arcs: int32 input, output, weight, int32 next
//   const    the array of states, then the array of arcs, as they lie in memory (machine.h); both start at multiples of
//            16 bytes if aligned
//
// Strings are int32 length and bytes; everything is little-endian. Nothing in a file is believed: counts are compared
// with the bytes that are there before memory is asked for, and every arc is checked to lead to a state.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fst/machine.h"
#include "fst/sink.h"
#include "fst/symbols.h"

namespace textmill::fst {

struct BinaryHeader {
  std::string type, arc_type;
  std::int32_t version, flags;
  std::uint64_t properties;
  std::int64_t start, states, arcs;
  std::optional<SymbolTable> input, output;
  std::size_t body;  // where it begins, from the start of the file
};

// `bytes` is the whole file, to which alignment refers; the machine begins at `begin`.
BinaryHeader read_header(std::span<const char> bytes, std::size_t begin);

// The machine behind the header, which must be of the semiring; `end` becomes the position after it. With an owner an
// aligned const machine stays where it is, and check_mapped must be called before its arcs are followed.
template <class S>
Machine<S> read_binary(std::span<const char> bytes, const BinaryHeader& header, S semiring, std::shared_ptr<void> owner,
                       std::size_t& end);

// The position after the machine behind the header, found without reading its arcs.
std::size_t end_of_binary(std::span<const char> bytes, const BinaryHeader& header);
[[noreturn]] void bad_arc_type(const BinaryHeader& header);

// A fault if a record of a mapped machine points outside. O(N + M), in blocks of records.
template <class S>
void check_mapped(const Machine<S>& machine, std::size_t threads);

// type: "vector", "const" or one of compact.h; all but vector are aligned on demand.
template <class S>
void write_binary(const Machine<S>& machine, const std::string& type, bool align, const SymbolTable* input,
                  const SymbolTable* output, const Sink& sink);

SymbolTable read_symbols_binary(std::span<const char> bytes, std::size_t& position);
void write_symbols_binary(std::string& out, const SymbolTable& symbols);

}  // namespace textmill::fst
