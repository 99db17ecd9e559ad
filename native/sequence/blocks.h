// Block coordinate descent for an L1 or elastic-net penalty; a block is all weights of one observation test.
//
//   g = expected - observed,  h = sum over the positions of the test of p (1 - p)              p: marginals, pairs too
//   d = s(h theta - g, l1) / (h + l2) - theta        the minimum of the quadratic model with the diagonal h
//   accept when the objective falls by at least 1 % of what the model promises, else double h and try again
//
// The first trial takes h times a factor of the caller, `stretch`: tests share what they explain, and one that takes
// all of it at its first visit has to give it back in the sweeps that follow. The diagonal alone is no descent:
// coordinates of a block are strongly coupled, hence the test (proximal Newton with backtracking). Only sequences
// that hold the test are visited, found by an inverted index made by counting sort; the recursion runs forward to
// the last position of the test and backward to the first (`truncated`), about half of it; the vectors at both ends
// are kept, so that a trial needs only the steps between them: one, where the test is true once. Where memory allows
// (64 MB, or K / 4 numbers), the recursions of all sequences are kept between blocks, and a block only goes on from
// what is still right: most blocks of a sparse model do not move, and make nothing wrong. Potentials of bigram
// contexts are kept while they are valid, in a cache of at most K / 4 numbers (or 4 MB), so memory is one vector of
// K weights and a part. Reference: Sokolovska, Lavergne, Cappe & Yvon (2010).
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
  Descent(const Labelled& data, double l1, double l2, bool truncated);
  ~Descent();

  struct Sweep {
    double change = 0.0;          // of the objective, <= 0
    std::size_t changed = 0;      // blocks
    std::size_t evaluations = 0;  // of block objectives, beside the first of each block
    std::size_t positions = 0;    // steps of recursions
  };
  // Forgets what was carried along from block to block, so that what follows depends on the weights alone and a run that
  // is resumed here goes on to the same bytes.
  void begin();
  // Visits the blocks in the order given; same bytes for any number of threads.
  Sweep sweep(std::span<const BlockTest> order, std::span<double> w, double stretch, std::size_t threads);

 private:
  double l1_, l2_;
  std::unique_ptr<BlockParts> parts_;
};

}  // namespace textmill::sequence
