// The best trees of woven forests, and what the best tree through each choice weighs.
//
//   best(node) = max over choices of weight * best(left) best(right), in logarithms
//   through(choice) = weight of the best tree that makes the choice: best inside times best outside
//
// The k best are found lazily: the next tree of a node is a neighbor of one that was found. Cutting all choices whose
// through() is far below the best tree is the pruning of forest rescoring: the best tree always stays.
//
// References: Huang & Chiang (2005), Better k-best parsing; Huang & Chiang (2007), Forest rescoring.
#pragma once

#include <span>
#include <vector>

#include "trees/forest_sums.h"

namespace textmill::trees {

struct BestTree {
  double score;                       // log weight
  std::vector<std::int32_t> choices;  // of the intersection, from the top, left to right
};

// The k trees of largest weight, best first.
std::vector<BestTree> best_trees(const Woven& woven, std::size_t structure, const Weights& weights, std::size_t k);

// Raises out[origin] to the log weight of the best tree that makes the choice of the plain forest; out holds
// -infinity before. Returns the log weight of the best tree.
double best_through(const Woven& woven, std::size_t structure, const Weights& weights, std::span<double> out);

}  // namespace textmill::trees
