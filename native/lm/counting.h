// Counting n-grams: from sentences to a tree, and sums of trees.
//
// Level by level: the places of the text at which the n-grams of a node begin are a family; sorting each family by the word
// that follows gives the nodes of the next level. Most families of long n-grams have one member.
//
// Cost: sorting (n tokens) for each order. Memory: 28 bytes for each token, 16 for each n-gram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bulk.h"
#include "lm/ngram.h"

namespace textmill::lm {

struct Counted {  // a tree that owns its arrays, with the counts of its nodes
  std::vector<std::int64_t> level;
  base::Bulk<std::int32_t> word, first;
  base::Bulk<std::int64_t> count;  // [nodes]; node 0: 0

  Tree tree() const { return {level, word, first}; }
};

// Counts the n-grams of sentences, order 1 to `order`, with `begin` before and `end` behind each; tokens < words.
Counted count(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens, std::size_t order,
              std::size_t words, std::int32_t begin, std::int32_t end, std::size_t threads);

// Adds trees of one order, whose words are first renamed: word w of tree i becomes rename[i][w] < words; names may coincide.
Counted combine(std::span<const Counted* const> trees, std::span<const std::span<const std::int32_t>> rename,
                std::size_t words, std::size_t threads);

}  // namespace textmill::lm
