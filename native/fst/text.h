// Machines as text, in the format of the AT&T library and OpenFst.
//
//   source destination input output [weight]       an arc; acceptors have one label
//   state [weight]                                 a final state
//
// Fields are separated by spaces or tabs, or by other characters of the caller's choice; the source of the first line is the start. One pass, O(bytes): numbers and
// symbols are read where they lie; arcs of one source that follow each other are a run, and runs that are not in the
// order of the states are brought into it at the end. Writing goes out in chunks.
#pragma once

#include <functional>
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
  bool keep_numbers = false;            // states keep their numbers; else they are numbered as they appear
  bool show_one = false;                // print weights that are one too
  std::string_view missing = {};        // printed for labels without symbol, if not empty
  std::string_view separators = "\t ";  // any number of these between two fields; the first is printed
};

// How weights are read, of any semiring with weights of that type.
template <class W>
struct WeightFormat {
  W zero, one;
  std::function<bool(std::string_view, W&)> read;  // false if the text is no weight of the semiring
  std::string name;                                // of the semiring
};

// Faults begin with "LINE:FIELD: ", both counted from 1.
template <class W>
Automaton<W> read_text(std::string_view text, const WeightFormat<W>& weights, const TextOptions& options);
template <class S>
Machine<S> read_text(std::string_view text, S semiring, const TextOptions& options) {
  const auto read = [&semiring](std::string_view field, typename S::Weight& w) {
    return semiring.read(field, w) && semiring.member(w);
  };
  return {semiring, read_text<typename S::Weight>(text, {S::zero(), S::one(), read, semiring.name()}, options)};
}

template <class W>
void write_text(const Automaton<W>& machine, const Values<W>& values, const TextOptions& options, const Sink& sink);
template <class S>
void write_text(const Machine<S>& machine, const TextOptions& options, const Sink& sink) {
  write_text<typename S::Weight>(machine, machine.semiring(), options, sink);
}

}  // namespace textmill::fst
