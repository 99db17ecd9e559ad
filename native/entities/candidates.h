// Candidate phrases of sentences: spans that a chain of the labels B, I and O finds probable, and the choice among them.
//
// With W the steps of a chain that is normalized label by label (steps.h) and a the forward sums, the probability that a
// phrase has exactly the tokens s .. e - 1 is
//
//   P(s, e) = sum_h a_{s-1}(h) W_s(h, B)  W_{s+1}(., I) ... W_{e-1}(., I)  (1 - W_e(., I))
//
// (no last factor at the end of the sentence): nothing has to be summed from the right, since W_t(h, .) sums to 1.
// Candidates are all spans with P of at least `least`. From scores of candidates a set without overlaps is chosen that
// has the greatest sum of (score - threshold): this is the set of greatest expected F when the threshold is half the F
// that it reaches (Dinkelbach 1967; Jansche 2007).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/steps.h"

namespace textmill::entities {

struct Candidates {
  std::vector<std::int64_t> offsets;     // [S + 1] candidates of a sentence, by their end, then from short to long
  std::vector<std::int32_t> begin, end;  // tokens of the sentence
  std::vector<double> probability;
};

struct PhraseLabels {
  std::size_t begin;   // B
  std::size_t inside;  // I; the number of labels where there is none
};

// Appends the candidates of one sentence; all of them end the lists of `out` but not its offsets.
void find_candidates(const sequence::Steps& steps, const PhraseLabels& labels, double least, Candidates& out);

// Puts the lists of blocks of sentences one after the other.
Candidates join_candidates(std::vector<Candidates>& blocks);

// Sets chosen [candidates] to 1 for the best set of each sentence and to 0 for the others.
void choose_candidates(std::span<const std::int64_t> offsets, std::span<const std::int32_t> begin,
                       std::span<const std::int32_t> end, std::span<const double> score, double threshold,
                       std::span<std::uint8_t> chosen, std::size_t threads);

}  // namespace textmill::entities
