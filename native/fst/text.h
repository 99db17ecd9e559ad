// Machines as text, in the format of the AT&T library and OpenFst.
//
//   source destination input output [weight]       an arc; acceptors have one label
//   state [weight]                                 a final state
//
// Fields are separated by spaces or tabs; the source of the first line is the start. One pass, O(bytes): numbers and
// symbols are read where they lie; arcs of one source that follow each other are a run, and runs that are not in the order of
// the states are brought into it at the end. Writing goes out in chunks.
#pragma once

#include <string>
#include <string_view>

#include "fst/machine.h"
#include "fst/sink.h"
#include "fst/symbols.h"

namespace textmill::fst {

struct TextNames {
  const SymbolTable* input = nullptr;  // labels are numbers without
  const SymbolTable* output = nullptr;
  const SymbolTable* states = nullptr;
};

struct TextOptions {
  TextNames names;
  bool acceptor = false;
  bool keep_numbers = false;      // states keep their numbers; else they are numbered as they appear
  bool show_one = false;          // print weights that are one too
  std::string_view missing = {};  // printed for labels without symbol, if not empty
};

// Faults begin with "LINE:FIELD: ", both counted from 1.
template <class S>
Machine<S> read_text(std::string_view text, S semiring, const TextOptions& options);

template <class S>
void write_text(const Machine<S>& machine, const TextOptions& options, const Sink& sink);

}  // namespace textmill::fst
