// Scores of rows by a model of combinations: a tree of the combinations, walked along the features that a row has.
//
//   score_c(x) = sum_k w_ck prod_{j in k} x_j
//
// A combination is a path from the root, its features in the order of how many combinations have them, the rarest first:
// a row enters few subtrees, and what is common stands at the leaves. At a node the children are looked through, each with
// one look at the row's value of their feature, 0 for none; features without a weight are dropped when a row comes in.
// Most of the tree are leaves, and children that are all leaves are a dot product, which has no branch to foresee.
//
// Cost: the children of the nodes that a row reaches; memory is that of the combinations, and one place per column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sparse.h"

namespace textmill::linear {

class Conjunctions {
 public:
  // combinations [A][degree] of columns below `columns`, each one's apart from the others, -1 behind the last;
  // weights [K][A].
  Conjunctions(std::span<const std::int32_t> combinations, std::size_t degree, std::span<const double> weights,
               std::size_t margins, std::size_t columns);

  std::size_t columns() const { return slot_.size(); }
  std::size_t margins() const { return margins_; }
  std::size_t nodes() const { return slot_of_.size(); }

  // What one thread needs to score rows.
  struct Scratch {
    std::vector<double> value;         // [slots] of the row, 0 where it has none
    std::vector<std::int32_t> active;  // slots of the row
  };
  Scratch scratch() const { return {std::vector<double>(slots_), {}}; }

  // score [K] += weights of the combinations of a row, times their values; values may be empty for ones.
  void add(std::span<const std::int32_t> features, std::span<const double> values, Scratch& scratch,
           double* score) const;

 private:
  void visit(std::int64_t begin, std::int64_t end, double value, const double* row, double* score) const;
  double leaves(std::int64_t begin, std::int64_t end, const double* row) const;

  std::size_t margins_, slots_ = 0;
  std::vector<std::int32_t> slot_;     // [columns] the slot of a column that has weights, else -1
  std::vector<std::int64_t> root_;     // [slots] the node at the root, or -1
  std::vector<std::int32_t> slot_of_;  // [T] the feature of a node
  std::vector<std::int64_t> first_;    // [T + 1] the children of node t are [first_[t], first_[t + 1])
  std::vector<double> weight_;         // [T][K]
};

// score [n][K] += those of the rows of x.
void score_rows(const base::Csr<std::int64_t, double>& x, const Conjunctions& model, std::span<double> score,
                std::size_t threads);

}  // namespace textmill::linear
