// Labels for sequences: scores of the tests turned into chains (chain.h), many sequences at a time.
//
// Matrices of pair scores are made once per distinct set of bigram tests (contexts.h) of a round of sequences, as many
// as take kRoundCells cells. Where almost all pairs score 0, Viterbi is sparse: with d the scores of the best prefixes
// and E(y) the few labels whose pair with y has a score,
//
//   max_y' d(y') + v(y', y) = max( max_{y' in E(y)} d(y') + v(y', y),  max_{y' not in E(y)} d(y') )
//
// and the second maximum is that over all labels unless it lies in E(y): r + Y steps a position for r scores, not Y^2.
// A conditional Markov model (`normalized`) has  v(y', y) = lambda(y', y) - log sum_z exp(mu(z) + lambda(y', z)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/chain.h"
#include "sequence/contexts.h"
#include "sequence/objective.h"

namespace textmill::sequence {

struct Restrictions {                         // what a path may be; spans may be empty: no restriction
  std::span<const std::uint8_t> labels;       // [T][Y]
  std::span<const std::uint8_t> transitions;  // [Y][Y] row y', column y
};

struct Input {
  std::span<const std::int64_t> offsets;  // [S + 1]
  Rows unigram;
  Rows bigram;
  Restrictions allowed;
  bool normalized;  // locally, as in a conditional Markov model
  bool sparse;      // let Viterbi be sparse where it pays
};

// Fills the best labels [T] and their scores [S]; -1 and -infinity where every path is forbidden.
void label(const Layout& layout, const Weights& weights, const Input& input, std::span<std::int32_t> labels,
           std::span<double> scores, std::size_t threads);

struct Ranked {
  std::vector<Path> paths;  // best first
  double log_z;             // of all paths that are allowed
};
std::vector<Ranked> best_labels(const Layout& layout, const Weights& weights, const Input& input, std::size_t n,
                                std::size_t threads);

// Fills marginals [T][Y] and log Z [S]; zeros and -infinity where every path is forbidden.
void label_probabilities(const Layout& layout, const Weights& weights, const Input& input,
                         std::span<double> probabilities, std::span<double> log_z, std::size_t threads);

// The same chains as Markov chains: fills P(y_t | y_{t-1}) [T][Y][Y], at the first position of a sequence P(y_0) in every
// row. Rows of labels that cannot occur are zeros, as is a sequence all of whose paths are forbidden.
void conditionals(const Layout& layout, const Weights& weights, const Input& input, std::span<double> out,
                  std::size_t threads);

}  // namespace textmill::sequence
