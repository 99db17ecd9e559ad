// Adding trees that lie on disk: a merge of sorted lists, level by level.
//
// The n-grams of every level are sorted by their words, in every tree and in the sum. So the trees are read once from
// front to back, the sum is written so, and only the present place of each is in memory. Words must have the same numbers in
// all trees; a tree may lack the last of them.
//
// Cost: O(trees) for each node of the sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lm/ngram.h"

namespace textmill::lm {

struct Stored {  // one of the trees; views of mapped files
  Tree tree;
  std::span<const std::int64_t> count;  // [nodes]
  std::span<std::int32_t> number;       // [nodes] receives the number of each node in the sum
};

// The levels of the sum. word and count must have room for all nodes of all trees and for `words`, first for one more.
std::vector<std::int64_t> merge(std::span<Stored> trees, std::size_t words, std::span<std::int32_t> word,
                                std::span<std::int32_t> first, std::span<std::int64_t> count);

}  // namespace textmill::lm
