// Boosted trees: a sum of small trees whose margin f(x) is the log odds of a class.
//
//   minimize  sum_i log(1 + exp(f(x_i))) - y_i f(x_i)            f_t = f_(t-1) + rate * tree_t
//   g = p - y,  h = p (1 - p),  G and H their sums               value of a node  -G / (H + lambda)
//   gain of a split  G_l^2 / (H_l + lambda) + G_r^2 / (H_r + lambda) - G^2 / (H + lambda)
//
// Splits are tried between 64 bins of each column with as many rows each; rows without a number go to the side where
// they gain more. A tree has all its nodes in the order of a heap, children of n at 2 n + 1 and 2 n + 2; every node
// below the root has a value, so that the steps of a row from the root to its leaf sum to the value of the leaf.
//
// Columns are shared out among threads; the first of equal splits is taken: the same trees for any number of threads.
// Cost: rows x columns x depth a tree. Memory: a byte a number. References: Friedman (2001), Greedy function
// approximation: a gradient boosting machine; Chen & Guestrin (2016), XGBoost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::trees {

struct BoostingOptions {
  std::size_t rounds;  // trees
  std::size_t depth;   // splits from the root to a leaf, at most
  std::size_t least;   // rows that either side of a split needs
  double rate;         // of what a tree would add
  double lambda;       // above 0
};

struct BoostedTrees {
  std::size_t nodes;                     // of each tree: 2^(depth + 1) - 1
  std::vector<std::int32_t> column;      // [rounds][nodes] -1 for a leaf
  std::vector<double> threshold;         // [rounds][nodes] numbers below it go to the first child
  std::vector<std::uint8_t> rest_first;  // [rounds][nodes] 1: so do rows without a number
  std::vector<double> value;             // [rounds][nodes] times the rate; 0 where no row comes
};

// `numbers` [rows][columns] may have NaN; labels are 0 or 1; `start` is the margin before the first tree.
BoostedTrees boost_trees(std::span<const double> numbers, std::span<const std::uint8_t> labels, double start,
                         const BoostingOptions& options, std::size_t threads);

// The leaf of each row in each tree, [rows][rounds].
void boosted_leaves(std::span<const double> numbers, std::size_t columns, std::span<const std::int32_t> column,
                    std::span<const double> threshold, std::span<const std::uint8_t> rest_first, std::size_t nodes,
                    std::span<std::int32_t> leaves, std::size_t threads);

}  // namespace textmill::trees
