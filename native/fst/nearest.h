// The strings of a lexicon within some edits of a word: the composition  word o edits o lexicon  searched, not built.
//
// A state of the composition is (positions of the word with the edits spent to get there, state of the lexicon). The positions
// that fewer than max_edits + 1 edits reach lie in a band of 2 max_edits + 1 around the depth, one row of the table of edit
// distance; the lexicon is walked depth first, and a branch ends when its row has nothing within the limit. Where the row has
// no edit left to spend only the arcs of the letters it waits for are followed. With `swaps`, two neighbors exchanged are one
// edit (optimal string alignment).
//
// Cost: O(states reached x band) a word; nothing is allocated a state. Words are shared out to threads.
// Reference: Mihov & Schulz (2004); Damerau (1964); Wagner & Fischer (1974).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

inline constexpr int kMostEdits = 7;

struct NearestOptions {
  int max_edits = 2;
  bool swaps = true;
  float edit_cost = 1.0f;  // of one edit, added to the weight of the lexicon
  std::size_t k = 10;      // answers at most, the cheapest first; ties by edits, then by the string
  std::size_t threads = 1;
};

struct NearestAnswers {
  std::vector<std::int64_t> counts;  // [words] answers of each
  std::vector<std::int64_t> ends;    // [answers] where its labels end
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> edits;  // [answers]
  std::vector<float> costs;         // [answers] edit_cost x edits + weight
};

// The lexicon must be an acceptor, deterministic, without epsilons, sorted. Word i is labels[ends[i - 1] .. ends[i]).
NearestAnswers nearest(const Machine<Tropical<float>>& lexicon, std::span<const std::int32_t> labels,
                       std::span<const std::int64_t> ends, const NearestOptions& options);

}  // namespace textmill::fst
