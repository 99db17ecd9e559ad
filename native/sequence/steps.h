// Chains given step by step: weights W_t(h, y) >= 0 of label y at token t after history h (the labels before, counted.h).
//
//   weight of a path   prod_t W_t(h_t, y_t),   h_0 the history before the first token,  h_{t+1} = (h_t base + y_t) mod H
//   forward            a_t(h') = sum over (h, y) that lead to h'  a_{t-1}(h) W_t(h, y)
//   backward           b_t(h)  = sum_y W_t(h, y) b_{t+1}(h')
//
// Each a_t is divided by its sum and the logarithms of the sums add up to log Z, so nothing underflows; Viterbi divides by
// the maximum in the same way. Where every W_t(h, .) sums to 1 the path weights sum to 1 and log Z is 0.
// Cost: H Y a token, for order 1 the square of the labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/chain.h"
#include "sequence/counted.h"

namespace textmill::sequence {

struct Steps {  // a view
  Histories histories;
  std::size_t length;           // T
  const double* weights;        // [T][H][Y]
  const std::uint8_t* allowed;  // [T][Y], or null where every label is
};

// Fills the labels [T] of the best path and returns the logarithm of its weight; -1 and -infinity where there is none.
// With beam > 0 only so many histories live on after each token; ties go to the smaller number.
double best_path(const Steps& steps, std::size_t beam, std::span<std::int32_t> path);

// Fills a [T][H] and, unless it is empty, b [T][H], both of the histories after each token; returns log Z.
double sum_paths(const Steps& steps, std::span<double> a, std::span<double> b);

// Fills P(y_t = y) [T][Y] and returns log Z; zeros and -infinity where there is no path.
double label_marginals(const Steps& steps, std::span<double> out);

// Adds P(h_t = h, y_t = y) of every token above `least` as events; returns log Z. Without a path there are none.
double expected_events(const Steps& steps, double least, Events& events);

// The n best paths, best first, their scores logarithms of weights; fewer where there are fewer.
std::vector<Path> best_paths(const Steps& steps, std::size_t n);

}  // namespace textmill::sequence
