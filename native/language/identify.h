// Relevance of words and texts to languages.
//
//   rel(w, L) = log(alpha + (1 - alpha) p(w | L) / p_0(w))                        p_0 = mean of p(. | L) over all L
//
// Words of the dictionary have their relevances in a table (table.h). Of other words the letters tell:
//
//   log p(w | L) = log p(script | L) + sum_i log p(c_i | c_{i-k+1} .. c_{i-1}, L)
//
// where the table has log p(c | h, L) - log p_0(c | h) of n-grams; of each position the longest n-gram counts. A text has
// the sums of its words: `known` of words of the dictionary alone, `total` with the others. O(words x languages of a
// word); an unknown word costs a few look-ups for each letter. Reference: Rehurek & Kolkus (2009); Dunning (1994).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "corpus/text.h"
#include "language/scan.h"
#include "language/table.h"

namespace textmill::language {

inline constexpr std::size_t kMostLetters = 8;  // of an n-gram

struct Model {  // views: the caller owns the memory
  Table table;
  std::size_t languages;          // N <= kMostLanguages
  std::size_t order;              // letters of the longest n-gram, at most kMostLetters; 0: unknown words say nothing
  float scale;                    // of the sum over letters
  float alpha;                    // of unknown words
  std::span<const float> script;  // log p(script | L) [kScripts][N]
  std::span<const std::uint8_t> chosen;  // [N] whether a language is asked for
  bool without_accents;
};

struct Source {  // one text
  corpus::Text text;
  bool utf8 = false;  // bytes of UTF-8 and not code points
};

// Calls f with a reader of the text.
template <class F>
void read(const Source& source, F&& f) {
  if (source.utf8)
    f(Utf8{{static_cast<const std::uint8_t*>(source.text.data), source.text.size}});
  else
    corpus::visit(source.text, [&](auto units) { f(Points<typename decltype(units)::value_type>{units}); });
}

inline constexpr std::size_t kRow = 256;  // room of a row of languages: any language of a record lies inside

// What a word says of each language, from its letters: fills out [kRow]; false when it says nothing.
bool guess(const Model& model, const Word& word, float* out);

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
// words, and for one whose words say the same of all languages.
std::size_t best_language(const Model& model, const Source& source, std::span<const std::uint8_t> answered,
                          std::span<const double> prior);

}  // namespace textmill::language
