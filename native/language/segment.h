// Where the language of a text changes.
//
// Penalized Viterbi over the languages and "unknown", with words w_t, relevances r_t(L) and a price of each change:
//
//   v_t(L) = r_t(L) + max(v_{t-1}(L), max_L' v_{t-1}(L') - penalty_t)
//   r_t(unknown) = a constant for words of the dictionary, a larger one for others: letters at random resemble those of
//                  some language, but none of their words is known
//
// The price of a change is lower where a sentence or a line ends before word t. The sum over all paths of the same scores
// gives the confidence of the best one:
//
//   f_t(L) = e^{r_t(L)} (f_{t-1}(L) + e^{-penalty_t} sum_{L' != L} f_{t-1}(L')),  backward alike,  P(y_t = L) ~ f_t(L) b_t(L)
//
// O(T N) and not O(T N^2), as the price of a change does not depend on the languages. Forward rows are kept for stretches
// of kBlock words and computed again on the way back, so memory is O(T + T N / kBlock).
//
// The smoothing procedure works on the rows of all words: medians of 2 h + 1 words, cuts at both edges of each local
// minimum of each language, sets of languages whose mean reaches a threshold, merging of neighbors whose sets
// intersect, absorption of pieces without language or shorter than `least` words into the neighbor that they speak for.
// A piece without language of `least_unknown` words or more stays, unless its words as they are reach half of the
// threshold of a neighbor: medians hide words that stand apart.
// Reference: Rehurek & Kolkus (2009), section on segmentation; Rabiner (1989).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "language/identify.h"

namespace textmill::language {

struct Switching {
  float penalty;   // >= 0
  float unknown;   // relevance of a word to no language
  float unseen;    // what is added to it for a word that the dictionary does not have
  float at_break;  // share of the penalty where a sentence or a line ends before the word
};

struct Piece {
  std::int64_t first, last;  // words [first, last)
  std::int64_t begin, end;   // of the text, in its units; pieces join to the whole
  std::int32_t language;     // N: unknown
  float confidence;          // mean probability of the language over the words
};

// Pieces of a text; one, unknown, when it has no words.
std::vector<Piece> segment(const Model& model, const Source& source, const Switching& switching);

// The best path [T] of rows of scores [T][N] when a change costs `penalty`.
void switching_path(std::span<const float> scores, std::size_t labels, float penalty, std::span<std::int32_t> path);

// Medians of each column of rows [T][N] over windows of 2 half + 1 rows that shrink at the ends; of an even number of
// values the mean of the two in the middle.
void smooth(std::span<const float> rows, std::size_t columns, std::size_t half, std::span<float> medians);

struct Sets {
  std::vector<std::int64_t> begin;      // [pieces + 1] words
  std::vector<std::int64_t> offsets;    // [pieces + 1] into languages
  std::vector<std::int32_t> languages;  // of each piece, largest mean first
};
Sets smoothed_pieces(std::span<const float> rows, std::size_t columns, std::span<const float> thresholds,
                     std::size_t half, std::size_t least, std::size_t least_unknown);

}  // namespace textmill::language
