// One chain of labels with explicit scores: sums and maxima over all paths, in logarithms.
//
//   score(y) = sum_t u_t(y_t) + sum_{t >= 1} v_t(y_{t-1}, y_t)                        Z = sum_y exp score(y)
//   a_0 = u_0,  a_t(y) = u_t(y) + log sum_y' exp(a_{t-1}(y') + v_t(y', y))            log Z = log sum_y exp a_{T-1}(y)
//   b_{T-1} = 0,  b_t(y') = log sum_y exp(v_{t+1}(y', y) + u_{t+1}(y) + b_{t+1}(y))
//   P(y_t = y) = exp(a_t(y) + b_t(y) - log Z)
//   P(y_{t-1} = y', y_t = y) = exp(a_{t-1}(y') + v_t(y', y) + u_t(y) + b_t(y) - log Z)
//
// Scores of any size, -infinity for what is forbidden: nothing overflows and nothing cancels, at the price of Y^2
// exponentials a position. Training goes through objective.h, which scales instead. Viterbi is the same with max for
// log-sum-exp. The n best paths are found one after the other: each leaves an earlier one, its parent, at one position
// and goes on to the beginning by the best prefix, whose score Viterbi knows; the best way to leave one of those found so
// far is the next. O(T Y^2) each, T Y + log n for every path more; memory for n branches, however many paths score alike.
// Reference: Rabiner (1989); Lawler (1972) for the n best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::sequence {

struct Chain {                           // a view: the caller owns the memory
  std::size_t length;                    // T >= 1
  std::size_t labels;                    // Y >= 1
  const double* unary;                   // u [T][Y]; -infinity forbids
  std::span<const double* const> pairs;  // [T] v_t, row-major [Y][stride]; the first is not looked at
  std::size_t stride;                    // >= Y
};

struct Path {
  double score;
  std::vector<std::int32_t> labels;  // [T]
};

// Fills a [T][Y]; returns log Z, -infinity when every path is forbidden.
double forward(const Chain& chain, std::span<double> a);

// Fills b [T][Y].
void backward(const Chain& chain, std::span<double> b);

// Fills the best path [T] (the first labels win ties) and returns its score; `best` and `from` [T][Y] are scratch.
double viterbi(const Chain& chain, std::span<std::int32_t> path, std::span<double> best, std::span<std::int32_t> from);

// The two parts of it: one step from the scores of the best prefixes, and the way back from the last.
void best_step(const double* before, const double* pair, std::size_t stride, const double* unary, std::size_t labels,
               double* best, std::int32_t* from);
double trace_back(const Chain& chain, std::span<std::int32_t> path, std::span<const double> best,
                  std::span<const std::int32_t> from);

// The n best paths that are not forbidden, best first; fewer when there are fewer.
std::vector<Path> best_paths(const Chain& chain, std::size_t n);

}  // namespace textmill::sequence
