// Porter's stemmer, as his own program has it, and the words of reviews in ASCII.
//
//   word    [a-z0-9]+('[a-z]+)*  in lower case, or one of the marks that are kept
//   stem    of each run of letters in a word apart; other characters stay
//
// The program departs from the paper: words of one or two letters stay, `bli` becomes `ble` and `logi` becomes `log`.
//
// Cost: one pass over a text, some forty comparisons a word. Reference: Porter (1980), An algorithm for suffix
// stripping, and the program at tartarus.org.
#pragma once

#include <string>
#include <string_view>

namespace textmill::tasks {

// The stem of a word of letters a to z.
std::string porter_stem(std::string_view word);

// The same for each run of letters in a word with other characters.
std::string porter_stem_runs(std::string_view word);

// Calls emit(std::string_view) with each word of an ASCII text, in lower case; `lowered` is scratch.
template <class Emit>
void for_each_review_word(std::string_view text, std::string_view marks, std::string& lowered, Emit&& emit) {
  lowered.resize(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    lowered[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto inside = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  const std::size_t size = lowered.size();
  for (std::size_t i = 0; i < size;) {
    const char c = lowered[i];
    if (inside(c)) {
      std::size_t end = i + 1;
      while (end < size && inside(lowered[end])) ++end;
      while (end + 1 < size && lowered[end] == '\'' && letter(lowered[end + 1])) {
        end += 2;
        while (end < size && letter(lowered[end])) ++end;
      }
      emit(std::string_view(lowered).substr(i, end - i));
      i = end;
    } else {
      if (marks.find(c) != std::string_view::npos) emit(std::string_view(lowered).substr(i, 1));
      ++i;
    }
  }
}

}  // namespace textmill::tasks
