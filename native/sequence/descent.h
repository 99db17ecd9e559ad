// The state of Descent (blocks.h), for the files that implement it: blocks.cpp has the blocks and their steps,
// block_potentials.cpp their potentials, block_visits.cpp the recursions over the sequences of a block, block_messages.cpp
// those that are kept between blocks.
#pragma once

#include "sequence/blocks.h"

namespace textmill::sequence {

// Potentials of a pair of tokens: a matrix, some of whose cells are corrected by entries [begin, end) of the lane.
struct Pair {
  const double* matrix = nullptr;
  std::size_t begin = 0, end = 0;
  bool own = false;  // the matrix is in the space of the lane
};

struct Step {                  // of the recursions, where a test is true
  const double *alpha, *beta;  // [stride] of the token
  const double* before;        // [stride] alpha of the token before it, where there is one
  const double* v;             // [stride] mu .* beta
  double scale;                // c
  Pair pair;
};

// Recursions of all sequences, kept between blocks: a block reads them where its test is true, and only what follows a
// weight that moved is computed again. Empty: there is no room for them.
struct Messages {
  std::vector<double> alpha, beta;   // [T][stride], each row divided by its sum
  std::vector<double> scale, shift;  // [T] c, what scores were less by
  std::vector<std::int64_t> known;   // [S] alpha of the tokens before this one is right
  std::vector<std::int64_t> behind;  // [S] beta of this token and of those behind it is right

  bool empty() const { return alpha.empty(); }
};

struct Span {  // tokens of one sequence where a block's test is true, as [begin, end) of a list
  std::int64_t sequence;
  std::size_t begin, end;
  std::size_t first, last;  // the first and the last of them
};

struct Descent::State {
  Labelled data;
  double l1, l2;
  bool truncated;
  std::size_t Y, stride, cells;
  Contexts unigram, bigram;
  Lists unigram_tokens, bigram_tokens;    // tokens of a test, with values
  std::vector<std::int64_t> sequence_of;  // [T]

  // the cache: slot of a bigram context is context % slots, that of a unigram context is the context
  struct Entry {
    std::int32_t context = -1;
    std::uint64_t time = 0;
    double shift = 0.0;
  };
  std::uint64_t time = 1;
  std::vector<std::uint64_t> changed_bigram;  // when a test last changed; a row that is not right has time 0
  std::size_t stale = 0;                      // rows that are not right
  std::vector<Entry> matrix_entry, row_entry;
  std::vector<double> matrices, rows;
  std::uint64_t round = 0;
  std::vector<std::uint64_t> row_claimed, matrix_claimed;  // the round that filled a slot
  std::vector<std::uint64_t> context_claimed;              // the round that looked at a bigram context

  // A context is the matrix of its frequent tests with a few corrected cells, if there are few and none too strong.
  struct Nonzero {
    std::uint64_t time = 0;
    std::vector<std::int32_t> cells;
  };
  Grouping grouping;
  std::vector<Entry> group_entry;
  std::vector<double> group_matrices;
  std::vector<Nonzero> nonzero;  // [bigram tests] cells of its weights that are not zero
  std::vector<char> simple;      // [bigram contexts]

  struct Lane {
    std::vector<double> g, h;  // [Y + Y stride]
    std::vector<double> mu, alpha, beta, v, scale, shift, own;
    std::vector<Pair> pair;
    std::vector<std::int32_t> cell, mark;  // corrected cells; of a cell its entry, or -1
    std::vector<double> correction, dense;
    double log_z = 0.0;
    std::size_t steps = 0;
  };
  std::vector<Lane> lanes;
  // Of every span, when trials need only the steps from its first to its last token: alpha before, beta behind, and
  // what the other tokens add to log Z.
  bool kept = false;
  std::vector<double> kept_alpha, kept_beta, kept_log;
  Messages messages;
  // potentials of one sequence that are not in the cache
  const double* row_of(std::size_t token, std::span<const double> w, double* space, double* shift) const;
  const double* matrix_of(std::size_t token, std::span<const double> w, double* space, double* shift) const;
  Pair pair_of(std::size_t token, std::span<const double> w, double* space, double* shift, Lane& lane) const;
  void refresh_context(std::int32_t c, std::span<const double> w);
  void refresh_row(std::size_t token, std::span<const double> w);
  void move_rows(std::span<const std::int32_t> tokens, std::span<const float> values, std::span<const double> factor);
  void refresh(std::span<const Span> spans, bool inside, std::span<const double> w, std::size_t threads);
  void add_derivatives(std::size_t token, float unigram_value, float bigram_value, const Step& step, Lane& lane) const;
  void visit(const Span& span, std::size_t number, std::span<const std::int32_t> tokens,
             std::span<const float> unigram_values, std::span<const float> bigram_values, std::span<const double> w,
             bool derivatives, Lane& lane);
  void extend(const Span& span, std::span<const double> w, Lane& lane);
  void visit_messages(const Span& span, std::span<const std::int32_t> tokens, std::span<const float> unigram_values,
                      std::span<const float> bigram_values, std::span<const double> w, Lane& lane);
  void forget(std::span<const Span> spans);
  void visit_inside(const Span& span, std::size_t number, std::span<const double> w, Lane& lane) const;
};

}  // namespace textmill::sequence
