// Training one sequence at a time: stochastic gradient with a cumulative L1 penalty or with L2, averaged perceptron.
//
// SGD, step j of sequence i, with u the L1 penalty that every weight could have received so far, q_k what k received:
//
//   eta = eta0 alpha^(j / N)                            or, for L2 alone,  eta0 / (1 + eta0 l2 j / N)
//   u  += eta l1 / N
//   for every feature k of every test that is true in sequence i:
//     w_k <- d w_k          d: the decay (1 - eta l2 / N) of all steps since the test was last seen
//     z    = w_k - eta g_k
//     w_k <- max(0, z - (u + q_k)) if z > 0,  min(0, z + (u - q_k)) if z < 0;      q_k += w_k - z
//
// `flush` gives every weight the decay and the penalty it is owed; only then are zeros counted and weights used.
// Observed features are added before the expected ones are taken away, which is the same sum in one pass over a block.
// With hidden states what is observed is an expectation, too: over the paths through the states of the labels.
// Memory: two vectors of K weights, four bytes for each entry of the data. Cost: Y^2 exponentials a token, one pass over the blocks of a sequence's tests.
//
// Perceptron: w += f(x, gold) - f(x, best path); averages are kept as w and the sum of updates times their step, so
// that the mean of all w so far is  w - updates / steps.
// References: Tsuruoka, Tsujii & Ananiadou (2009); Bottou (2004); Collins (2002).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/contexts.h"
#include "sequence/objective.h"

namespace textmill::sequence {

struct Labeled {
  Layout layout;
  std::span<const std::int64_t> offsets;  // [S + 1]
  Rows unigram;
  Rows bigram;
  std::span<const std::int32_t> labels;  // [T], all known
  std::span<const double> weights;       // [S], or empty
  std::span<const std::int32_t> owner;   // [Y] with hidden states: the label of a state; or empty
};

struct Rates {
  double eta0, alpha;  // alpha 0: the rate for L2
  double l1, l2;
  double sequences;  // N
};

struct Steps {           // what goes on from call to call
  double step = 0.0;     // j
  double penalty = 0.0;  // u
  double decay = 1.0;    // product of all decays
};

struct Groups {  // entries of each sequence with equal tests together, counted from its first; found at its first visit
  std::vector<std::int32_t> unigram, bigram;  // [entries]
  std::vector<char> ordered;                  // [S]
};

// One pass over the sequences of `order`; w, q [K]; seen [U + B] the decay when a test was last seen, 1 at first.
// Returns the sum of the negative log-likelihoods met on the way, NaN when weights have become too large.
double sgd_steps(const Labeled& data, const Rates& rates, std::span<const std::int64_t> order, std::span<double> w,
                 std::span<double> q, std::span<double> seen, Steps& steps, Groups& groups);

// All weights get what they are owed.
void sgd_flush(const Layout& layout, std::span<double> w, std::span<double> q, std::span<double> seen,
               const Steps& steps);

// One pass; w, updates [K]; returns the number of tokens labeled wrongly.
std::size_t perceptron_steps(const Labeled& data, std::span<const std::int64_t> order, std::span<double> w,
                             std::span<double> updates, Steps& steps);

}  // namespace textmill::sequence
