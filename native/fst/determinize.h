// Determinization: an equivalent machine in which no state has two arcs with the same input label.
//
// Weighted subset construction. A state is a set of (state, output still to be written, weight still to be paid). On
// label a, from all elements (q, z, r) and arcs (q, a:o, w, q'): r w and z o; what all have in common goes on the new
// arc, the weight plus over all r w and the first output label if it is the same for all, the rest stays as residue.
// Elements of the same state and output are added. Final: plus over r final(q), outputs that are left are written behind
// the end.
//
// Residues are hashed by their multiples of delta and kept as they are. Epsilon is an ordinary label. Ends for all
// acyclic machines and all with the twins property (siblings have cycles of the same weight and output); when there are
// suspiciously many states the property is tested, and a machine without it is a fault that names a string.
// Reference: Mohri (1997), Finite-state transducers in language and speech processing.
#pragma once

#include <optional>
#include <string>

#include "fst/machine.h"

namespace textmill::fst {

enum class Outputs : std::uint8_t {
  functional,     // a fault if an input has two outputs
  nonfunctional,  // all outputs are kept
  best            // of two outputs that meet the lighter one is kept
};

struct DeterminizeOptions {
  Outputs outputs = Outputs::functional;
  double delta = kDelta;
  std::size_t most_states = 1u << 27;     // a fault beyond
  std::size_t kept_states = kMostStates;  // the best so many are kept (path semirings)
  std::int32_t subsequential_label = 0;   // read before an output that is left at the end
  bool increment_subsequential = false;   // the next label for each further one at one state
};

// `worst` (path semirings): only what is on paths not worse than that times the best.
template <class S>
Machine<S> determinize(const Machine<S>& machine, const DeterminizeOptions& options,
                       const std::optional<typename S::Weight>& worst = {});

}  // namespace textmill::fst
