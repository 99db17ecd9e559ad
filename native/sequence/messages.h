// Forward and backward vectors, once for every distinct beginning and end of a sequence.
//
//   alpha_t(y) = exp mu_t(y) sum_y' alpha_{t-1}(y') psi_t(y', y), divided by its sum c_t;  log Z = sum_t log c_t
//   beta_t(y') = sum_y psi_{t+1}(y', y) v_{t+1}(y),  v_t(y) = exp mu_t(y) beta_t(y),  divided by its sum
//
// Nodes of a trie that are multiplied by one matrix go four at a time (kernels.h). Cost: Y^2 a node.
#pragma once

#include <cstddef>
#include <vector>

#include "sequence/plan.h"
#include "sequence/potentials.h"

namespace textmill::sequence {

struct Messages {
  std::vector<double> alpha, scale, log_mass;  // [beginnings][stride], c, log of the mass so far
  std::vector<double> beta;                    // [ends][stride]
};

// Fills the vectors of all beginnings and ends; not for models without bigram tests.
void recurse(const Plan& plan, const Sharing& sharing, const Potentials& potentials, Messages& messages,
             std::size_t threads);

}  // namespace textmill::sequence
