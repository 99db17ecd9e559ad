// Words as they are read: syllables, letters, whether they are familiar; their sums over texts.
//
//   syllables = groups of vowels + sum of the patterns that occur in ^word$, at least 1
//   familiar: in a list, or in it without one of the endings
//
// Cost: a lookup for each token; each different word of a block of texts is measured once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/intern.h"
#include "corpus/text.h"

namespace textmill::tasks {

struct WordFacts {
  std::int32_t syllables;
  std::int32_t letters;  // and digits
  bool word;             // has a letter or digit, and is no clitic such as 's or n't
  bool number;           // has no letter
  bool familiar;         // or has no letter
};

class WordMeter {
 public:
  struct Ending {
    std::string suffix, replacement;
  };
  // Patterns are bytes of ^word$, with their values; all strings are folded UTF-8.
  WordMeter(std::u32string_view vowels, base::InternTable patterns, std::vector<std::int32_t> values,
            base::InternTable exceptions, std::vector<std::int32_t> counts, base::InternTable familiar,
            std::vector<Ending> endings);

  WordFacts facts(std::string_view folded) const;
  std::int32_t vowel_groups(std::string_view folded) const;

 private:
  std::int32_t syllables(std::string_view folded) const;
  bool familiar(std::string_view folded) const;
  bool listed(std::string_view word) const;

  std::u32string vowels_;  // sorted
  base::InternTable patterns_;
  std::vector<std::int32_t> values_;
  std::size_t shortest_ = 0, longest_ = 0;  // of patterns, in bytes
  base::InternTable exceptions_;
  std::vector<std::int32_t> counts_;
  base::InternTable familiar_;
  std::vector<Ending> endings_;
};

// Sums over one text, in the order of the columns that the binding returns.
struct TextCounts {
  std::int64_t words = 0, sentences = 0, syllables = 0, polysyllables = 0, letters = 0, difficult = 0,
               difficult_types = 0, long_words = 0;
};
inline constexpr std::size_t kTextCounts = 8;
inline constexpr std::int32_t kPolysyllable = 3;  // syllables
inline constexpr std::int32_t kLongWord = 7;      // letters
// A sentence has a word that is no number: the 1. of a list is none. Sentences do not end after `abbreviations` (as in corpus/sentences.h).
void count_texts(const WordMeter& meter, std::span<const corpus::Text> texts,
                 std::span<const std::u32string> abbreviations, std::span<TextCounts> out, std::size_t threads);

}  // namespace textmill::tasks
