// The whole evaluation in logarithms, sequence by sequence (chain.h), for scores that scaling cannot hold: slow, exact.
#pragma once

#include "sequence/plan.h"

namespace textmill::sequence {

// Returns the sum of w log Z; adds expectations to `gradient` (as theta), fills `probabilities` [T][Y] and `logs` [S],
// log Z of every sequence; each may be null.
double evaluate_in_logarithms(const Plan& plan, const Weights& weights, double* gradient, double* probabilities,
                              double* logs);

}  // namespace textmill::sequence
