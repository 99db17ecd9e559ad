// How many labels, or spans of labels, a chain has: distributions of counts, jointly with one label or span.
//
// A chain is a Markov chain over states, its transitions different at every position:
//   P(x) = initial(x_0) prod_{t >= 1} step_t(x_{t-1}, x_t)
// A CRF given its tokens, a hidden Markov model given its observations and a conditional Markov model all are one.
//
// Counts come from generating functions. With a weight w for everything that is counted, forward and backward sums give
//   G(w) = sum_k P(event, count = k) w^k
// and its values at the n + 1 roots of unity are the discrete Fourier transform of what is looked for: O(n^2 S^2) for all
// events of a chain, where a counter in every state would cost O(n^3 S^2). All numbers are at most 1 in size, so errors
// are those of rounding. Reference: Dembczynski, Waegeman, Cheng & Huellermeier (2011) for what they are good for.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::sequence {

struct MarkovChain {                // a view: the caller owns the memory
  std::size_t length;               // n >= 1
  std::size_t states;               // S >= 1
  std::span<const double> initial;  // [S]
  std::span<const double> step;     // [n - 1][S][S], row x_{t-1}, column x_t
};

// out [m + 1][n - m + 1]: P(A = a, R = r) where A counts the positions of `claimed` [n] (m of them) whose state is
// `positive` [S], R the others. O(n m (n - m) S^2).
void joint_counts(const MarkovChain& chain, std::span<const std::uint8_t> positive,
                  std::span<const std::uint8_t> claimed, std::span<double> out);

// out [n][groups][roots]: G at the first roots exp(-2 pi i j / (n + 1)) for the event that the state at t is of a group
// (`group` [S], -1 for none) and the count of positions whose state is `positive`.
void count_transforms(const MarkovChain& chain, std::span<const std::uint8_t> positive,
                      std::span<const std::int32_t> group, std::size_t groups, std::size_t roots,
                      std::span<std::complex<double>> out);

struct SpanRules {                          // how states make spans
  std::span<const std::int32_t> type;       // [S], -1 outside
  std::span<const std::uint8_t> continues;  // [S][S]: the right state belongs to the span of the left one
};

struct Spans {
  std::vector<std::int32_t> begin, end, type;   // [spans], end is behind the last position
  std::vector<std::complex<double>> transform;  // [spans][roots]: count of spans of the whole chain
  std::vector<std::complex<double>> whole;      // [roots]: of the event that is sure
};

// All spans whose probability is at least `least`, with their transforms at the first roots of order n + 1.
Spans span_transforms(const MarkovChain& chain, const SpanRules& rules, double least, std::size_t roots);

struct SpanChoice {
  std::vector<std::int32_t> spans;  // numbers of the chosen ones, by position
  double value;
};

// The set of spans that do not overlap with the greatest expected F_b: joint [spans][counts] P(span, count = k), none the
// probability of no span at all. For every size m, weighted interval scheduling of exactly m spans with the weights
// sum_k (1 + b) P(span, k) / (m + b k). O(n m spans) for sizes up to m <= n.
SpanChoice best_spans(std::size_t length, std::span<const std::int32_t> begin, std::span<const std::int32_t> end,
                      std::span<const double> joint, std::size_t counts, double none, double b);

// The spans that do not overlap with the greatest sum of gains [spans]; gains that are not positive are left out.
std::vector<std::int32_t> heaviest_spans(std::size_t length, std::span<const std::int32_t> begin,
                                         std::span<const std::int32_t> end, std::span<const double> gain);

}  // namespace textmill::sequence
