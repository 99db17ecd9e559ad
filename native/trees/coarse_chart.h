// Which labels and unfinished rules a coarse grammar leaves in the cells of a chart.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/chart.h"

namespace textmill::trees {

// Cells of the spans i < j of n words, by start and end.
struct Cells {
  std::size_t n;
  std::size_t at(std::size_t i, std::size_t j) const { return i * (2 * n - i + 1) / 2 + (j - i - 1); }
  std::size_t size() const { return n * (n + 1) / 2; }
};

// Shares of all trees of a sentence, by cell and label. O(n^3 L^2) at worst.
struct Shares {
  Cells cells;
  std::size_t labels, parents;
  std::vector<double> top;                         // [cells][L] of trees with a constituent of the label
  std::vector<double> state;                       // [cells][K] with a rule of the label that has read this far
  std::vector<double> top_outside, state_outside;  // logarithms of the outside weights, up to a constant
};

// Sums over all trees; words as in best_parses.
Shares coarse_shares(const Coarse& coarse, const Words& lexicon, std::span<const std::int32_t> words);

}  // namespace textmill::trees
