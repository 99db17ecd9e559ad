// Value and gradient of models whose pairs of labels score alike everywhere: label bigrams and a chosen set of unigram
// features, the models of CRFsuite.
//
// Where sequences have little in common, sharing beginnings and ends (contexts.h) saves nothing, and what costs is the
// way of every number through memory. So sequences are cut into lanes, each lane into chunks whose vectors stay in the
// cache, and a chunk goes all the way: scores, exp, forward, backward, expectations, gradient.
//
//   nodes of a chunk   tokens by depth, within it by sequence, longest first: vectors of one depth are neighbours, and
//                      so are those of their parents; the recursion multiplies four of them at once with one matrix
//   wide tests         are frequent and have many features: a row of Y weights, with zeros, is added to the scores
//   narrow tests       the others: a list of (feature, label) a node, numbered within the lane
//   gradient           every lane has sums of its own, as long as what occurs there; they are added in order of lanes
//
// The schedule depends on the data only: the same bytes for any number of threads. Cost: per node the features of its
// tests twice, 3 Y^2 multiplications, Y exponentials. Reference: Okazaki (2007), CRFsuite, for the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/contexts.h"
#include "sequence/features.h"

namespace textmill::sequence {

struct PairMatrix {
  const double* psi;  // [Y][stride] exp(score of a pair of labels - shift), zeros behind the last label
  double shift;
  double range;  // largest difference of two scores
};

class Lanes {
 public:
  // `weight` is one a token, or empty: all one. The contexts must stay.
  Lanes(const Layout& layout, std::span<const std::int64_t> offsets, const Contexts& unigram,
        std::span<const double> weight);

  // Adds log Z of all sequences to `value`, and expectations to `gradient` (one a feature of the support; null: none)
  // and to `pairs` [Y][stride]. Returns false, and adds nothing, when scores of a token differ by more than `range`.
  bool evaluate(const Weights& weights, const PairMatrix& matrix, double range, double& value, double* gradient,
                double* pairs, std::size_t threads);

 private:
  struct Chunk {
    std::int32_t begin, end;  // nodes
    std::size_t depth;        // of the first of its depths in depths_
  };
  struct Lane {
    std::size_t begin, end;  // chunks
    // Of the support: entries of the nodes of the lane.
    std::vector<std::int64_t> narrow_offsets, wide_offsets;  // [nodes + 1]
    std::vector<std::int32_t> narrow_slot, wide_row;         // number within the lane; row of the wide tests
    std::vector<std::uint16_t> narrow_label;
    std::vector<float> narrow_value, wide_value;  // or empty: all one
    std::vector<std::int64_t> slots;              // [numbers within the lane] of the support, rising
    // Of an evaluation.
    std::vector<double> weights, gradient;  // [numbers within the lane]
    std::vector<double> wide;               // [wide tests][stride]
    std::vector<double> product;            // [Y][stride]
    double value, range;
  };
  struct Space;

  void prepare(const Support& support, std::size_t threads);
  void fill_lane(const Support& support, Lane& lane) const;
  void run_lane(Lane& lane, const PairMatrix& matrix, const double* transposed, bool gradient) const;
  void score(const Chunk& chunk, const Lane& lane, Space& space) const;
  void forward(const Chunk& chunk, const PairMatrix& matrix, Space& space) const;
  void backward(const Chunk& chunk, const double* transposed, Lane& lane, Space& space) const;
  void scatter(const Chunk& chunk, Lane& lane, const Space& space) const;
  void merge(const Support& support, double* gradient, std::size_t threads) const;

  std::size_t labels_, stride_;
  const Contexts* contexts_;
  std::span<const double> weight_;
  std::vector<std::int64_t> counts_;  // [U] nodes with a test
  std::vector<std::int32_t> token_;   // [nodes]
  std::vector<std::int32_t> depths_;  // of every chunk the first node of each depth, and the end
  std::vector<Chunk> chunks_;
  std::vector<Lane> lanes_;
  std::uint64_t prepared_ = 0;            // number of the support
  std::vector<std::int32_t> wide_tests_;  // tests that are wide
  std::vector<double> wide_weights_;      // [wide tests][stride]
};

}  // namespace textmill::sequence
