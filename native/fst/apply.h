// One machine applied to many texts: best over y of T(x, y) for every text x.
//
// A text x and the machine make a lattice of nodes (i, s): i tokens read, state s. Arcs that read x[i] lead to layer i + 1,
// those that read nothing stay in layer i. Layer after layer is made, then solved from the last to the first,
//
//   d(i, s) = final(s) if all is read, plus over arcs of w times d(target)
//
// and the best path is followed from (0, start); ties go to the arc that comes first. n outputs are found by a best-first
// search over strings, as in paths.h. This is what compose and best_paths give, path for path, without building machines.
// Layers with cycles of epsilons are left to those two, except for loops that are no better than one: no best path uses them.
// O(nodes + arcs of the lattice), and no allocation a text once the scratch of a thread has grown.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fst/compose.h"
#include "fst/machine.h"
#include "fst/strings.h"

namespace textmill::fst {

struct ApplyOptions {
  std::size_t n = 1;
  Specials specials;  // on the inputs of the machine
  std::size_t threads = 1;
};

// What a machine makes of a stretch of texts.
template <class W>
struct Outputs {
  std::size_t first = 0;              // number of the first text
  std::vector<std::uint32_t> counts;  // [texts] outputs of each
  std::vector<std::size_t> ends;      // [outputs] where its bytes end
  std::vector<W> weights;             // [outputs]
  std::string bytes;                  // as Tokenizer::append makes them
};

// The n best outputs of the machine for every text, distinct if n > 1, best first; none where no path reads the text. Its arcs
// must be sorted by input; `threads` is 1 for semirings that are not of numbers. Stretches of texts are shared out to the
// threads, and `take` gets them in order, in the calling thread, while the others go on. Faults begin with the number of the
// text and ": ".
template <class S>
void apply(const Machine<S>& machine, std::span<const Text> texts, const Tokenizer& tokenizer,
           const ApplyOptions& options, const std::function<void(const Outputs<typename S::Weight>&)>& take);

}  // namespace textmill::fst
