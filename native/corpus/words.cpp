#include "corpus/words.h"

namespace textmill::corpus {
namespace {

using enum WordClass;

bool ignorable(WordClass k) { return k == Extend || k == Format || k == ZWJ; }
bool letter(WordClass k) { return k == ALetter || k == HebrewLetter; }
bool newline(WordClass k) { return k == CR || k == LF || k == Newline; }

template <class Unit>
std::size_t segment_end(std::span<const Unit> text, std::size_t begin) {
  const std::size_t n = text.size();
  const auto word_class = [&](std::size_t i) { return properties(text[i]).word(); };
  WordClass raw = word_class(begin);  // of the code point just before i
  if (newline(raw))
    return raw == CR && begin + 1 < n && word_class(begin + 1) == LF ? begin + 2 : begin + 1;  // WB3, 3a
  WordClass last = raw;                           // of the last code point that WB4 does not ignore
  std::size_t flags = last == RegionalIndicator;  // regional indicators at the end of the segment so far
  for (std::size_t i = begin + 1; i < n; ++i) {
    const WordClass k = word_class(i);
    if (newline(k)) return i;                                // WB3b
    if (raw == ZWJ && properties(text[i]).pictographic()) {  // WB3c
      raw = last = k;
      continue;
    }
    if (raw == WSegSpace && k == WSegSpace) continue;  // WB3d
    raw = k;
    if (ignorable(k)) continue;  // WB4
    const auto after = [&] {     // class of the next code point that is not ignored; Other at the end of the text
      for (std::size_t j = i + 1; j < n; ++j)
        if (const WordClass following = word_class(j); !ignorable(following)) return following;
      return Other;
    };
    const bool single = k == MidNumLet || k == SingleQuote;
    bool join = false;
    if (letter(last)) {
      join = letter(k) || k == Numeric || k == ExtendNumLet;                                 // WB5, 9, 13a
      join = join || ((k == MidLetter || single) && letter(after()));                        // WB6, 7
      join = join || (last == HebrewLetter && k == SingleQuote);                             // WB7a
      join = join || (last == HebrewLetter && k == DoubleQuote && after() == HebrewLetter);  // WB7b, 7c
    } else if (last == Numeric) {
      join = k == Numeric || letter(k) || k == ExtendNumLet || ((k == MidNum || single) && after() == Numeric);
    } else if (last == Katakana) {
      join = k == Katakana || k == ExtendNumLet;  // WB13, 13a
    } else if (last == ExtendNumLet) {
      join = k == ExtendNumLet || letter(k) || k == Numeric || k == Katakana;  // WB13a, 13b
    } else if (last == RegionalIndicator) {
      join = k == RegionalIndicator && flags % 2 == 1;  // WB15, 16
    }
    if (!join) return i;  // WB999
    flags = k == RegionalIndicator ? flags + 1 : 0;
    if (k == MidLetter || k == MidNum || k == MidNumLet || k == SingleQuote || k == DoubleQuote) {
      if (last == HebrewLetter && k == SingleQuote && !letter(after())) {
        last = k;  // WB7a alone: nothing joins to the quote itself
        continue;
      }
      // the rule looked ahead to the next letter or digit: take it, and what WB4 puts in between, together
      do ++i;
      while (ignorable(word_class(i)));
      raw = last = word_class(i);
      continue;
    }
    last = k;
  }
  return n;
}

}  // namespace

std::size_t word_end(std::span<const std::uint8_t> text, std::size_t begin) { return segment_end(text, begin); }
std::size_t word_end(std::span<const std::uint16_t> text, std::size_t begin) { return segment_end(text, begin); }
std::size_t word_end(std::span<const std::uint32_t> text, std::size_t begin) { return segment_end(text, begin); }

}  // namespace textmill::corpus
