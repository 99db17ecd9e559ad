// Block coordinate descent for an L1 or elastic-net penalty; a block is all weights of one observation test.
//
//   g = expected - observed,  h = sum over the positions of the test of p (1 - p)              p: marginals, pairs too
//   d = s(c theta - g, l1) / (c + l2) - theta        the minimum of the quadratic model with the diagonal c
//   c = max(h, |slope with penalties|)               so that no weight goes further than 1 in a step
//   accept when the objective falls by at least 1 % of what the model promises, else double c and try again
//
// The diagonal alone is no descent: coordinates of a block are strongly coupled, hence the test (proximal Newton with
// backtracking). And h says nothing about steps that are longer than 1: where a label was observed that the model
// thinks nearly impossible, h is about p and -g / h about 1 / p. A block takes up to five steps at a visit, until one
// brings less than a hundredth of the first.
//
// Only sequences that hold the test are visited, found by an inverted index made by counting sort; the recursion runs
// forward to the last position of the test and backward to the first (`truncated`), about half of it; the vectors at
// both ends are kept, so that trials need only the steps between them: one, where the test is true once. A trial
// multiplies the potentials at the positions of the test by exp of the move, so what all blocks share does not change
// before the visit is over. Blocks that come after each other and share no sequence are visited at the same time: the
// result is that of one after the other. Where memory allows (64 MB, or K / 4 numbers), the recursions of all
// sequences are kept between blocks, and a block only goes on from what is still right: most blocks of a sparse model
// do not move, and make nothing wrong. Potentials of bigram contexts are kept while they are valid, in a cache of at
// most K / 4 numbers (or 4 MB), so memory is one vector of K weights and a part.
// Reference: Sokolovska, Lavergne, Cappe & Yvon (2010); Lavergne, Cappe & Yvon (2010), section 4.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sequence/online.h"

namespace textmill::sequence {

struct BlockTest {
  std::int32_t unigram, bigram;  // -1: it has no weights of that kind
};

struct BlockParts;  // block_parts.h has what it is made of

class Descent {
 public:
  // Views of `data` must live as long as this; weights w [K] are the caller's.
  Descent(const Labeled& data, double l1, double l2, bool truncated);
  ~Descent();

  struct Sweep {
    double change = 0.0;          // of the objective, <= 0
    std::size_t changed = 0;      // blocks
    std::size_t evaluations = 0;  // of block objectives, beside the first of each block
    std::size_t positions = 0;    // steps of recursions
  };
  // Forgets what was carried along from block to block, so that what follows depends on the weights alone, which the
  // caller may have changed, and a run that is resumed here goes on to the same bytes.
  void begin();
  // Visits the blocks in the order given; same bytes for any number of threads. Where weights are so large that a
  // recursion is no number, the change is NaN, and the weights are those before that visit.
  Sweep sweep(std::span<const BlockTest> order, std::span<double> w, std::size_t threads);

 private:
  double l1_, l2_;
  std::unique_ptr<BlockParts> parts_;
};

}  // namespace textmill::sequence
