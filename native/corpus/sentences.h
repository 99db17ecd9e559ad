// Sentence boundaries: rules SB1-SB998 of Unicode Standard Annex #29, and a list of abbreviations that end none.
//
// Cost: O(n); rule SB8 looks ahead over what cannot begin a sentence, at most once a full stop.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "corpus/text.h"

namespace textmill::corpus {

// Sentences as spans that cover the whole text, white space at their ends included. A full stop that ends one of
// `abbreviations` (folded, with its full stop, sorted) never ends a sentence unless a paragraph ends there.
void split_sentences(const Text& text, std::span<const std::u32string> abbreviations, std::vector<Span>& sentences);

}  // namespace textmill::corpus
