// Random paths. At a state one of its arcs, or the end if it is final, is chosen:
//
//   uniform     each as likely as the others
//   log_prob    by weights as probabilities: e^-w (tropical, log), w (real), normalized at each state
//
// To draw from the distribution that a machine defines over its paths, push its weights to the start first (log semiring).
// Path i is a function of (seed, i).
#pragma once

#include "fst/machine.h"

namespace textmill::fst {

struct SampleOptions {
  std::size_t paths = 1;
  std::size_t longest = 0x7FFFFFFF;  // arcs; longer ones are dropped
  std::uint64_t seed = 0;
  bool by_weight = false;
  bool weighted = false;  // equal paths once, with the share of the paths that they are as weight
};

template <class S>
Machine<S> random_paths(const Machine<S>& machine, const SampleOptions& options);

}  // namespace textmill::fst
