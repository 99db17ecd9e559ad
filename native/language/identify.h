// Relevance of words and texts to languages.
//
//   rel(w, L) = log(alpha + (1 - alpha) p(w | L) / p_0(w))                        p_0 = mean of p(. | L) over all L
//
// Words of the dictionary have their relevances in a table (table.h), of other words the letters tell (guess.h). A text has
// the sums of its words: `known` of words of the dictionary alone, `total` with the others. O(words x languages of a
// word); an unknown word costs a few look-ups for each letter. Reference: Rehurek & Kolkus (2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "language/model.h"

namespace textmill::language {

enum class Evidence : std::uint8_t { None, Dictionary, Letters };

// What a word says of each language: fills out [kRow].
Evidence relevance(const Model& model, const Word& word, float* out);

struct Sums {
  std::size_t words = 0;
  std::size_t in_dictionary = 0;
};

// Fills known [N] and total [N] with sums over the words of a text.
Sums identify(const Model& model, const Source& source, float* known, float* total);

// The language with the largest total + prior [N] among those that are answered, the first of equals; N for a text without
// words, and for one whose words say the same of all languages and speak for none.
std::size_t best_language(const Model& model, const Source& source, std::span<const std::uint8_t> answered,
                          std::span<const double> prior);

}  // namespace textmill::language
