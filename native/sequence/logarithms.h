// The whole evaluation in logarithms, sequence by sequence (chain.h), for scores that scaling cannot hold: slow, exact.
#pragma once

#include "sequence/plan.h"

namespace textmill::sequence {

// Returns the sum of w log Z, less that of the paths through the clamped states if there are any; adds expectations to `gradient` (as theta), fills `probabilities` [T][Y] and `logs` [S],
// log Z of every sequence (of all its paths); each may be null.
double evaluate_in_logarithms(const Plan& plan, const Weights& weights, double* gradient, double* probabilities,
                              double* logs);

}  // namespace textmill::sequence
