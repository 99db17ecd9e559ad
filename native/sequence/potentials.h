// Potentials of all contexts: exponentials of the sums of their weights, scaled.
//
//   exp_mu_c(y) = exp(mu_c(y) - mu_shift_c)          of unigram contexts, the largest is 1
//   psi_c(y', y) = exp(lambda_c(y', y) - shift_c)    of bigram contexts
//
// With dense weights every bigram context has a matrix of its own. With a support only groups of contexts (by their
// frequent tests) have one, B, small enough for the cache, and a context is B with a few corrected cells,
//
//   psi_c = B + B .* (exp(lambda_c') - 1)            lambda_c' the scores of its rare tests
//
// unless its corrections are many, or so strong that the difference would cancel digits: then it has a matrix, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sequence/plan.h"

namespace textmill::sequence {

inline constexpr double kRange = 300.0;  // scores within a token may differ by this much

struct Corrections {                        // which cells depends on the support alone, their values on its weights
  std::uint64_t support = 0;                // number of the support that the cells belong to
  std::vector<std::int64_t> offsets;        // [bigram contexts + 1]
  std::vector<std::int32_t> cell;           // y' * stride + y
  std::vector<double> log, value;           // lambda_c'; B (exp lambda_c' - 1)
  std::vector<std::int64_t> entry_offsets;  // [entries of Sharing::bigram_of] into entry
  std::vector<std::int32_t> entry;          // correction of a slot in a context, relative to the context
};

struct Potentials {
  std::vector<double> exp_mu, mu_shift;  // [unigram contexts][stride], [unigram contexts]
  std::vector<double> matrices;          // of contexts or groups, then of contexts with one of their own
  std::vector<const double*> matrix;     // [bigram contexts] into matrices, [Y][stride]
  std::vector<double> shift;             // [bigram contexts]
  std::vector<char> corrected;           // [bigram contexts] has corrections, not a matrix of its own
  Corrections corrections;
  double widest = 0.0;  // largest difference of scores within a token
};

// Fills the potentials; false, when scores are too wide for scaling.
bool compute_potentials(const Plan& plan, const Sharing& sharing, const Weights& weights, Potentials& potentials,
                        std::size_t threads);

}  // namespace textmill::sequence
