// What the letters of words say that no dictionary has.
//
//   log p(w | L) = log p(script | L) + sum_i log p(c_i | c_{i-k+1} .. c_{i-1}, L)
//   rel(w, L)    = log(alpha + (1 - alpha) p(w | L)^s / p_0(w)),   p_0 the mean of p(w | L')^s over the languages asked for
//
// where the table has log p(c | h, L) - log p_0(c | h) of n-grams; of each position the longest n-gram counts. A word of n
// letters asks for up to k n strings in a table that is larger than the caches, so several words are taken together: all of
// their tags are fetched, then the places of the records, then the records. Reference: Dunning (1994).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "language/model.h"

namespace textmill::language {

class Guesses {
 public:
  explicit Guesses(const Model& model) : model_(model) {}
  // Whether the letters of a word can say anything.
  bool apply_to(const Word& word) const { return model_.order > 0 && !word.key.empty(); }
  // Whether there is room for one more word; there always is for the first one.
  bool has_room(const Word& word) const { return words_ < kWords && grams_ + most_grams(word) <= kGrams; }
  // Adds a word whose key stays where it is until clear(); its number.
  std::size_t add(const Word& word);
  // To be called once after the last word and before the first answer.
  void fetch();
  // What word i says of each language: fills out [kRow]; false when it says nothing.
  bool relevance(std::size_t i, float* out) const;
  void clear() { words_ = grams_ = letters_ = 0; }

 private:
  struct Gram {
    std::uint64_t hash;
    const char* key;      // in the word, or in its mark and its word
    std::uint32_t slot;   // of the first record that may be its own
    std::uint32_t bytes;  // of the key
  };
  struct Entry {
    char marked[kLongest + 2];  // the word between < and >
    std::uint8_t script;
    std::uint32_t first_letter;  // letter i of the word has the n-grams ends_[first_letter + i] .. ends_[.. + 1]
    std::uint32_t letters;
  };
  static constexpr std::size_t kWords = 16;
  static constexpr std::size_t kGrams = (kLongest + 2) * kMostLetters;

  std::size_t most_grams(const Word& word) const { return (word.key.size() + 1) * model_.order; }
  void prepare();
  bool longest(const Gram* gram, const Gram* end, Record& record) const;

  const Model& model_;
  std::size_t words_ = 0, grams_ = 0, letters_ = 0;
  std::size_t chosen_ = 0;  // how many languages are asked for
  float closed_[kRow];      // 0 for these, minus infinity for others
  Entry entries_[kWords];
  Gram all_[kGrams];                     // of each letter, the longest first
  std::uint32_t ends_[kGrams + kWords];  // where the n-grams of a letter begin; one more for each word
};

}  // namespace textmill::language
