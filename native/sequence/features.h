// Where the weights of features are, and scores from them.
//
// Weights are dense, one per feature, or those of a chosen set of features (`Support`), as L1 training has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/contexts.h"

namespace textmill::sequence {

// Features are numbered (unigram test u, label y) -> u Y + y, then (bigram test b, y', y) -> U Y + (b Y + y') Y + y.
struct Layout {
  std::size_t labels;    // Y
  std::size_t unigrams;  // U
  std::size_t bigrams;   // B

  std::size_t size() const { return unigrams * labels + bigrams * labels * labels; }
  std::size_t stride() const { return (labels + 3) / 4 * 4; }  // of a row of a matrix or vector here
};

// Some of the features, by test. Slots are numbered in the order of the features.
class Support {
 public:
  Support(const Layout& layout, std::span<const std::int64_t> features);  // features rise

  std::uint64_t number;  // no two are alike
  std::vector<std::int64_t> features;
  std::vector<std::int64_t> unigram_offsets;  // [U + 1] slots of a unigram test
  std::vector<std::int64_t> bigram_offsets;   // [B + 1] slots of a bigram test
  std::vector<std::int32_t> cell;             // [slots] y, or y' * stride + y
};

struct Weights {
  std::span<const double> theta;  // one per feature, or one per slot of the support
  const Support* support;         // or null: dense
};

// Adds the weights of a unigram test to the scores of a token.
void add_unigram(const Layout& layout, const Weights& weights, std::size_t test, double value, double* scores);

// Adds the weights of a bigram test to a matrix with rows of `stride`.
void add_bigram(const Layout& layout, const Weights& weights, std::size_t test, double value, double* matrix);

// Scores of one token and matrices of one context, for decoders: unary [Y], pair [Y][Y].
void unigram_scores(const Layout& layout, const Weights& weights, const Rows& rows, std::size_t token, double* unary);
void bigram_scores(const Layout& layout, const Weights& weights, const Lists& tests, std::size_t context, double* pair);

// Largest and smallest score of a matrix.
struct Extent {
  double most, least;
};

// Scores become exp(score - shift), zeros behind the last label. Without `always` they are shifted only when they are
// so large that exp might overflow.
Extent exponentiate(double* matrix, std::size_t rows, std::size_t labels, std::size_t stride, double* shift,
                    bool always);

}  // namespace textmill::sequence
