// Minimal acceptors of word lists, built word by word from sorted words without a trie in between.
//
// The words come in the order of their bytes, which for UTF-8 is that of code points. The path of the last word is open; when
// the next word leaves it, the states behind the common prefix are closed from the end on: a closed state is looked up among
// the others, by its finality, arcs and their targets, and dropped for an equal one. So memory is that of the minimal machine.
// Weights move towards the start as words come (each arc has the least of what follows), so that equal rests have equal
// states; rests that differ by less than 2^-20 of one are equal.
//
// Sorting: by the first eight bytes as a number, then by the rest. O(words log words + bytes).
// Reference: Daciuk, Mihov, Watson & Watson (2000); Mihov & Maurel (2001).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

// The order of words, word i being text[ends[i - 1] .. ends[i]); equal ones in the order they came.
std::vector<std::uint32_t> sorted_words(std::span<const char> text, std::span<const std::int64_t> ends);

// The acceptor of the words, a label a byte or (utf8) a code point; `weights` is empty or has one for each word, of equal
// words the least counts, and `duplicates` gets the numbers of those that came before. Words must not be empty and, if they are read as code points, be UTF-8.
Machine<Tropical<float>> lexicon(std::span<const char> text, std::span<const std::int64_t> ends,
                                 std::span<const float> weights, bool utf8, std::vector<std::int64_t>& duplicates);

}  // namespace textmill::fst
