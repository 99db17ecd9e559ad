// Machines and strings: one path for a string, the strings of all paths, and one machine applied to many strings.
#pragma once

#include <span>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

// One path. Where one of the strings is shorter, it goes on with epsilons.
template <class S>
Machine<S> linear(const S& semiring, std::span<const std::int32_t> ilabels, std::span<const std::int32_t> olabels,
                  const typename S::Weight& weight);

template <class W>
struct PathString {
  std::vector<std::int32_t> ilabels, olabels;  // without epsilons
  W weight;
};

// The strings of the paths, depth first in the order of the arcs, at most `most`. A fault if the machine has cycles on paths
// to the end and `longest` arcs a path are not set as a limit.
template <class S>
std::vector<PathString<typename S::Weight>> paths(const Machine<S>& machine, std::size_t most, std::size_t longest);

// For every string [offsets[i], offsets[i+1]) of labels: the n best outputs of the machine, distinct if n > 1, best first;
// inputs are left out.
// Composition and search are done anew for each string, several at a time; the machine's arcs must be sorted by input.
// `threads` is 1 for semirings that are not of numbers.
template <class S>
std::vector<std::vector<PathString<typename S::Weight>>> apply(const Machine<S>& machine,
                                                               std::span<const std::int64_t> offsets,
                                                               std::span<const std::int32_t> labels, std::size_t n,
                                                               std::size_t threads);

}  // namespace textmill::fst
