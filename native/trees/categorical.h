// Decision trees in the manner of C4.5, over attributes with values (letters) and attributes with numbers.
//
//   Info(n)      = -sum_c n_c/N log2 n_c/N                      n_c: weight of the cases of class c, N their sum
//   Gain(S)      = Info - sum_j |S_j|/N Info(S_j)               S_j: the groups of a split
//   SplitInfo(S) = -sum_j |S_j|/N log2 |S_j|/N                  ratio = Gain / SplitInfo
//
// A node takes the attribute of the highest ratio among those whose gain reaches the mean gain of the usable ones. With
// N Gain = K(N) - sum_c K(n_c) - sum_j (K(|S_j|) - sum_c K(n_jc)) and K(x) = x log2 x, joining two groups changes one
// term in K(|S_j|) and one for each class that both have: the groups of a "subset" split are found by joining the best
// pair again and again, the changes of all pairs kept and only those of the joined group computed anew.
//
//   groups of V values          O(V^2 C) at first, O(V C) a join           C: classes of the node
//   thresholds of a number      O(n log n)                                 n: distinct cases of the node
//   a whole tree                O(n attributes depth) and the groups
//
// Pruning is bottom-up by the upper confidence limit of the errors of a leaf; a subtree gives way to a leaf or to its
// largest branch. Work is cut by nodes and attributes: the same tree for any number of threads.
//
// Reference: Quinlan (1993), C4.5: Programs for Machine Learning; details of release 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::trees {

// Attributes are numbered: first those with values, then those with numbers.
struct Cases {
  std::size_t rows;
  std::size_t classes;
  std::span<const std::int32_t> values;  // [A] number of values of each attribute with values
  std::span<const std::int32_t> codes;   // [A][rows], 0 <= code < values[a]
  std::size_t numeric;                   // D
  std::span<const double> numbers;       // [D][rows], finite
  std::span<const std::int32_t> labels;  // [rows], 0 <= label < classes
  std::span<const double> weights;       // [rows], > 0
};

struct Growth {
  double min_cases = 2.0;    // that two branches of a split need
  bool subsets = true;       // values in groups; else a branch for each value
  double confidence = 0.25;  // of pruning; >= 1: no pruning
  bool raising = true;       // whether a subtree may give way to its largest branch
  std::size_t max_depth = 512;
};

// A tree as arrays: node 0 is the root, the children of a node stand side by side behind it.
struct Flat {
  std::vector<std::int32_t> attribute;    // [nodes] -1 for a leaf
  std::vector<double> threshold;          // [nodes] numbers up to it go to the first child; 0 where there is none
  std::vector<std::int32_t> label;        // [nodes] the most frequent class, the first of equals
  std::vector<std::int32_t> first;        // [nodes] first child, 0 for a leaf
  std::vector<std::int32_t> children;     // [nodes]
  std::vector<std::int64_t> seen_begin;   // [nodes + 1] into seen and branch
  std::vector<std::int32_t> seen;         // values seen at the node, ascending
  std::vector<std::int32_t> branch;       // child of the value, counted from 0
  std::vector<std::int64_t> count_begin;  // [nodes + 1] into count_class and count
  std::vector<std::int32_t> count_class;  // ascending
  std::vector<double> count;              // weight of the cases of the class at the node
};

// A value that some case of a node has, and the child it leads to, counted from 0.
struct Seen {
  std::int32_t value;
  std::int32_t branch;
};

// What an attribute would give as a split of the cases.
struct Worth {
  double gain = 0.0;
  double split_info = 0.0;
  double threshold = 0.0;
  bool usable = false;
  std::vector<Seen> seen;  // by value; empty for numbers
};

// Equal cases are joined first, their weights added.
Flat grow_tree(const Cases& cases, const Growth& growth, std::size_t threads);

// The worth of every attribute at the root.
std::vector<Worth> split_worths(const Cases& cases, const Growth& growth, std::size_t threads);

// One-sided normal deviate of a confidence, by C4.5's table; 0 < confidence <= 1.
double normal_deviate(double confidence);

// What pruning adds to e errors among n cases.
double added_errors(double n, double e, double confidence);

}  // namespace textmill::trees
