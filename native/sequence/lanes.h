// Value and gradient of models whose pairs of labels score alike everywhere, or not at all: label bigrams and unigram
// features, all of them or a chosen set. These are the models of CRFsuite, and of most who label words.
//
// Where sequences have little in common, sharing beginnings and ends (contexts.h) saves nothing, and with few labels
// what costs is the way of every number through memory. So sequences are cut into lanes, each lane into chunks whose
// vectors stay in the cache, and a chunk goes all the way: scores, exp, forward, backward, expectations, gradient
// (lane_passes.h).
//
//   nodes of a chunk   tokens by depth, within it by sequence, longest first: vectors of one depth are neighbors, and
//                      so are those of their parents; the recursion multiplies four of them at once with one matrix
//   stripe             four labels, one register: labels 0 .. 3, 4 .. 7 and so on
//   block              the weights of one test for one stripe, zeros where it has no feature; a stripe without any
//                      feature of a test has no block. A lane numbers the blocks that occur in it and keeps its own
//                      copy, so what it touches is small
//   entries            of a node, stripe by stripe: the blocks of its tests. A score is a sum of blocks in a register,
//                      and the marginals of a stripe are added to its blocks
//   gradient           every lane has sums of its own, block by block; they are added in order of lanes
//
// The schedule depends on the data only: the same bytes for any number of threads. L1 training looks now at a working
// set, now at all features it may have, so the entries of the last two sets are kept; others are made of the lane's own
// numbers of its tests in one pass. Cost: per node its blocks twice, 3 Y^2 multiplications, Y exponentials; memory: 4
// bytes per test of a token, 4 per entry, 73 per block. Reference: Okazaki (2007), CRFsuite, for the model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/contexts.h"
#include "sequence/features.h"
#include "sequence/plan.h"

namespace textmill::sequence {

inline constexpr std::size_t kStripe = 4;  // labels

struct PairMatrix {
  const double* psi;  // [stride][stride] exp(score of a pair of labels - shift), zeros behind the last label
  double shift;
  double range;  // largest difference of two scores
};

struct Chunk {
  std::int32_t begin, end;  // nodes
  std::size_t depth;        // of the first of its depths in the list of all
};

struct Schedule {                    // what is computed when, from the lengths of the sequences
  std::size_t labels, stride;        // Y and the length of a row
  std::vector<std::int32_t> token;   // [nodes]
  std::vector<std::int32_t> depths;  // of every chunk the first node of each depth, and the end
  std::vector<Chunk> chunks;
  std::vector<std::size_t> lanes;  // [lanes + 1] chunks of a lane
  std::span<const double> weight;  // [T] of a token, or empty: all one
  const Contexts* contexts;        // of the tokens
  const Plan* plan;                // which states are allowed, and which are clamped

  std::int32_t first_node(std::size_t lane) const { return chunks[lanes[lane]].begin; }
  std::int32_t last_node(std::size_t lane) const { return chunks[lanes[lane + 1] - 1].end; }
};

struct LaneTests {                    // that occur in a lane, numbered there
  std::vector<std::int32_t> test;     // rising
  std::vector<std::int64_t> offsets;  // [nodes + 1]
  std::vector<std::int32_t> number;   // of the tests of a node, in the order of its context
};

struct Entries {                      // of the nodes of a lane, for one set of features
  std::vector<std::int64_t> offsets;  // [nodes * stripes + 1]
  std::vector<std::int32_t> block;    // number within the lane
  std::vector<float> value;           // or empty: all one
  std::vector<std::int64_t> first;    // [blocks] where the weights of a block begin in theta, rising
  std::vector<std::uint8_t> mask;     // [blocks] bit i: label i of the stripe has a weight, the next of theta
};

struct alignas(64) Block {  // one line of the cache: what a chunk read it finds again when it writes
  double weights[kStripe];
  double gradient[kStripe];
};

struct LaneSums {               // of an evaluation
  std::vector<Block> blocks;    // weights, and sums of marginals
  std::vector<double> product;  // [stride][stride] sum of alpha v'
  double value, range;
};

class Lanes {
 public:
  // The sequences of the plan, cut anew by `offsets`. The plan must stay.
  Lanes(const Plan& plan, std::span<const std::int64_t> offsets);

  // Whether this is the quickest way for a support (null: all features), in memory that is there.
  bool suits(const Support* support) const;

  // Adds log Z of all sequences, less that of their clamped states if there are any, to `value`, and expectations to `gradient` (as theta; null: none) and to `pairs`
  // [stride][stride]. Returns false, and adds nothing, when scores of a token differ by more than `range`.
  bool evaluate(const Weights& weights, const PairMatrix& matrix, double range, double& value, double* gradient,
                double* pairs, std::size_t threads);

 private:
  struct Prepared {
    std::uint64_t number = 0;      // of the support, 0 for all features
    std::uint64_t time = 0;        // when it was last asked for
    std::vector<Entries> entries;  // [lanes], or empty
  };
  const std::vector<Entries>& entries_of(const Support* support, std::size_t threads);

  Layout layout_;
  Schedule schedule_;
  std::vector<LaneTests> tests_;  // [lanes], when they have been asked for
  std::array<Prepared, 2> prepared_;
  std::uint64_t time_ = 0;
  std::vector<LaneSums> sums_;  // [lanes]
};

}  // namespace textmill::sequence
