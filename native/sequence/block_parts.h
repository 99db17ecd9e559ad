// The parts of block coordinate descent (blocks.h): plain structs, and the functions that work on them.
//
//   BlockPlan        what is made from the data: contexts, groups, the tokens of every test
//   BlockPositions   where the test of a block is true
//   BlockPotentials  a cache of potentials, kept while they are valid (block_potentials.cpp)
//   BlockMessages    recursions of all sequences, kept between blocks (block_messages.cpp)
//   BlockEnds        recursions at both ends of the positions of a block, kept between its trials (block_visits.cpp)
//   BlockMove        how far the weights of a block have moved since its visit began
//   BlockLane        what a thread adds up: log Z, slopes, curvatures; and its scratch memory
//   BlockVisit       all that the visit of one block needs beside lanes, so that several blocks are visited at once
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/blocks.h"

namespace textmill::sequence {

struct BlockPlan {
  Labeled data;
  bool truncated;
  std::size_t Y, stride, cells;
  Contexts unigram, bigram;
  Lists unigram_tokens, bigram_tokens;    // tokens of a test, with values
  std::vector<std::int64_t> sequence_of;  // [T]
  Grouping grouping;

  bool paired() const { return data.layout.bigrams > 0; }
  double weight(std::size_t sequence) const { return data.weights.empty() ? 1.0 : data.weights[sequence]; }
};

BlockPlan make_block_plan(const Labeled& data, bool truncated);

struct Span {  // tokens of one sequence where a block's test is true, as [begin, end) of a list
  std::int64_t sequence;
  std::size_t begin, end;
  std::size_t first, last;  // the first and the last of them
};

struct BlockPositions {  // of a test of either kind, in order
  std::vector<std::int32_t> tokens;
  std::vector<float> unigram_values, bigram_values;
  std::vector<Span> spans;
};

void find_positions(const BlockPlan& plan, const BlockTest& block, BlockPositions& positions);

// A context is the matrix of its frequent tests with a few corrected cells, if there are few and none too strong.
// Otherwise it has a matrix, in slot context % slots. A unigram context has a row, in the slot of its number.
struct BlockPotentials {
  struct Entry {
    std::int32_t context = -1;
    std::uint64_t time = 0;  // a row that is not right has time 0
    double shift = 0.0;
  };
  struct Nonzero {
    std::uint64_t time = 0;
    std::vector<std::int32_t> cells;
  };
  std::uint64_t time = 1;
  std::vector<std::uint64_t> changed_bigram;  // [bigram tests] when a test last changed
  std::size_t stale = 0;                      // rows that are not right
  std::vector<Entry> row_entry, matrix_entry, group_entry;
  std::vector<double> rows, matrices, group_matrices;
  std::vector<Nonzero> nonzero;  // [bigram tests] cells of its weights that are not zero
  std::vector<char> simple;      // [bigram contexts] the matrix of its group will do
  std::uint64_t round = 0;
  std::vector<std::uint64_t> row_claimed, matrix_claimed;  // the round that filled a slot
  std::vector<std::uint64_t> context_claimed;              // the round that looked at a bigram context
};

BlockPotentials make_block_potentials(const BlockPlan& plan);

// Potentials of a pair of tokens: a matrix, some of whose cells are corrected by entries [begin, end) of `PairCells`.
struct Pair {
  const double* matrix = nullptr;
  std::size_t begin = 0, end = 0;
  bool own = false;  // the matrix is in the space of the lane
};

struct PairCells {
  std::vector<std::int32_t> cell, mark;  // corrected cells; of a cell its entry, or -1
  std::vector<double> correction;

  void clear() {
    cell.clear();
    correction.clear();
  }
};

struct BlockMessages {               // empty: there is no room for them
  std::vector<double> alpha, beta;   // [T][stride], each row divided by its sum
  std::vector<double> scale, shift;  // [T] c, what scores were less by
  std::vector<std::int64_t> ahead;   // [S] alpha of the tokens before this one is right
  std::vector<std::int64_t> behind;  // [S] beta of this token and of those behind it is right

  bool empty() const { return alpha.empty(); }
};

struct BlockEnds {                  // where messages are not kept
  std::vector<double> alpha, beta;  // [spans][stride] before the first and behind the last token
};

struct BlockMove {
  bool moved = false;
  std::vector<double> by;               // [Y + Y stride] added to the weights
  std::vector<double> unigram, bigram;  // [stride], [Y stride] exp of it, the factors of the potentials
};

struct BlockLane {
  std::vector<double> g, h;  // [Y + Y stride] slopes and curvatures of the block
  double log_z = 0.0;
  std::size_t steps = 0;  // of recursions
  std::vector<double> mu, alpha, beta, v, scale, shift, own, dense;
  std::vector<Pair> pair;
  PairCells cells;
};

struct BlockVisit {
  BlockTest block{-1, -1};
  BlockPositions positions;
  BlockEnds ends;
  BlockMove move;
  std::vector<double> g, h;  // [Y + Y stride] slopes and curvatures at the weights so far, and at those on trial
  std::vector<double> next_g, next_h;
  std::vector<double> old, now, next, observed;  // weights before the visit, so far, on trial
  double change = 0.0;                           // of the objective
  std::size_t evaluations = 0, steps = 0;
};

struct BlockParts {
  BlockPlan plan;
  BlockPotentials potentials;
  BlockMessages messages;
  std::vector<BlockLane> lanes;
  std::vector<BlockVisit> visits;    // at the same time, and one that has to wait
  std::vector<std::uint64_t> taken;  // [S] the round in which a block was given the sequence
  std::uint64_t round = 0;
};

// Potentials of one token, from the cache or, where it has none that are valid, in `space`.
const double* row_of(const BlockPlan& plan, const BlockPotentials& potentials, std::size_t token,
                     std::span<const double> w, double* space, double* shift);
Pair pair_of(const BlockPlan& plan, const BlockPotentials& potentials, std::size_t token, std::span<const double> w,
             double* space, double* shift, PairCells& cells);

// Fills the row of the token's context, unless it is right.
void refresh_row(const BlockPlan& plan, BlockPotentials& potentials, std::size_t token, std::span<const double> w);

// The unigram weights of a block move: rows of its tokens are multiplied by `factor` [Y], exp of the change. Rows that
// leave the range of numbers, or have the test with a value or twice, are left to be computed again.
void move_rows(const BlockPlan& plan, BlockPotentials& potentials, const BlockPositions& positions,
               std::span<const double> factor);

// Puts the potentials of the contexts of the sequences, or those that kept recursions will need, into the cache; before
// lanes read it side by side.
void refresh(const BlockPlan& plan, BlockPotentials& potentials, const BlockMessages& messages,
             std::span<const Span> spans, std::span<const double> w, std::size_t threads);

struct Step {                  // of the recursions, where a test is true
  const double *alpha, *beta;  // [stride] of the token
  const double* before;        // [stride] alpha of the token before it, where there is one
  const double* v;             // [stride] mu .* beta
  double scale;                // c
  Pair pair;
};

// Adds the slopes and curvatures of the weights of the block at position i to the lane.
void add_derivatives(const BlockPlan& plan, const BlockPositions& positions, std::size_t i, const Step& step,
                     BlockLane& lane);

// The three functions add log Z of the sequence of a span to the lane, up to what depends on other tokens only.

// From nothing; with the derivatives by the weights of the block, and fills the ends of the span.
void visit(const BlockPlan& plan, const BlockPotentials& potentials, const BlockPositions& positions, std::size_t span,
           std::span<const double> w, BlockEnds& ends, BlockLane& lane);

// From kept messages, which are brought up to the span; with the derivatives by the weights of the block.
void visit_messages(const BlockPlan& plan, const BlockPotentials& potentials, BlockMessages& messages,
                    const BlockPositions& positions, std::size_t span, std::span<const double> w, BlockLane& lane);

// After a move of the block, from what was kept of the steps outside the span: in `messages` or, if empty, in `ends`.
// The weights w are still those before the move.
void visit_inside(const BlockPlan& plan, const BlockPotentials& potentials, const BlockMessages& messages,
                  const BlockEnds& ends, const BlockPositions& positions, std::size_t span, std::span<const double> w,
                  const BlockMove& move, bool derivatives, BlockLane& lane);

// Weights of the block have moved: what depends on the tokens of the spans has to be computed again.
void forget(BlockMessages& messages, std::span<const Span> spans);

}  // namespace textmill::sequence
