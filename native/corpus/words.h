// Words of a text: UAX #29 word boundaries, kept when they hold a letter or a number, with optional compound tokens.
//
//   boundaries   rules WB1-WB999 of Unicode Standard Annex #29; `word_end` gives the end of the segment at `begin`
//   tokens       segments with at least one letter or number, unless they are a mark on a blank; compounds named in `keep` stay whole, those named in
//                `split` fall into their runs of letters and numbers; all others are as the boundaries say
//
// Cost: one table look-up a code point; look-ahead only at punctuation inside words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "corpus/text.h"
#include "corpus/unicode.h"

namespace textmill::corpus {

// Bits of WordRules::keep and WordRules::split.
enum Compound : unsigned {
  kNumbers = 1,         // -3.5e-10, 1,000.50, 50%
  kDates = 2,           // 12.4.2010, 2010-04-12, 4/12/10
  kAddresses = 4,       // 147.251.48.1, fe80::1
  kRanges = 8,          // 10–55, 1990-1995
  kAbbreviations = 16,  // U.S.A., e.g., and those of WordRules::abbreviations
  kEmoticons = 32,      // :-), <3, ^_^ and emoji
};

enum class Digits { keep, drop, mask };  // what becomes of tokens without letters: mask turns each digit into 0

struct WordRules {
  bool fold = true;  // full case folding
  Digits digits = Digits::keep;
  unsigned keep = 0;
  unsigned split = 0;
  std::size_t shortest = 1;  // in code points, before folding
  std::size_t longest = static_cast<std::size_t>(-1);
  std::vector<std::u32string> abbreviations;  // folded, each ending in a full stop
};

// End of the UAX #29 word segment that begins at `begin`, a boundary with begin < text.size().
std::size_t word_end(std::span<const std::uint8_t> text, std::size_t begin);
std::size_t word_end(std::span<const std::uint16_t> text, std::size_t begin);
std::size_t word_end(std::span<const std::uint32_t> text, std::size_t begin);

// The longest compound among `kinds` that begins at `begin`; {begin, 0} if none does. Never ends inside a word.
struct CompoundMatch {
  std::size_t end;
  unsigned kind;
};
CompoundMatch match_compound(const Text& text, std::size_t begin, unsigned kinds, const WordRules& rules);

namespace detail {

// For code points below 128: can the segment be continued (or begun) without looking at anything else?
struct AsciiTraits {
  bool joins[128];  // ALetter, Numeric, ExtendNumLet: any two of them stay together
  bool mid[128];    // MidLetter, MidNumLet, SingleQuote, MidNum: look ahead
  bool letter[128];
  bool digit[128];
  char folded[128];
};
constexpr AsciiTraits make_ascii_traits() {
  AsciiTraits traits{};
  for (int c = 0; c < 128; ++c) {
    const WordClass k = properties(c).word();
    traits.letter[c] = k == WordClass::ALetter;
    traits.digit[c] = k == WordClass::Numeric;
    traits.joins[c] = k == WordClass::ALetter || k == WordClass::Numeric || k == WordClass::ExtendNumLet;
    traits.mid[c] =
        k == WordClass::MidLetter || k == WordClass::MidNumLet || k == WordClass::SingleQuote || k == WordClass::MidNum;
    traits.folded[c] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return traits;
}
inline constexpr AsciiTraits kAscii = make_ascii_traits();

// word_end for a segment that begins with an ASCII letter, digit or underscore; hands over to word_end at the first
// thing that is not plain ASCII, since a combining mark or a foreign letter may follow.
template <class Unit>
std::size_t ascii_word_end(std::span<const Unit> text, std::size_t begin) {
  const std::size_t n = text.size();
  std::size_t i = begin;
  for (;;) {
    while (i < n && text[i] < 128 && kAscii.joins[text[i]]) ++i;
    if (i >= n) return i;
    if (text[i] >= 128) return word_end(text, begin);
    if (!kAscii.mid[text[i]] || i + 1 >= n) return i;
    const auto next = text[i + 1];
    if (next >= 128) return word_end(text, begin);
    const auto last = text[i - 1];
    const WordClass middle = properties(text[i]).word();
    const bool letters = kAscii.letter[last] && kAscii.letter[next] && middle != WordClass::MidNum;
    const bool digits = kAscii.digit[last] && kAscii.digit[next] && middle != WordClass::MidLetter;
    if (!letters && !digits) return i;
    i += 2;
  }
}

template <class Unit>
bool wordlike(std::span<const Unit> text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (properties(text[i]).letter_or_number()) return true;
  return false;
}

template <class Unit>
bool has_letter(std::span<const Unit> text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (properties(text[i]).letter()) return true;
  return false;
}

}  // namespace detail

// Calls emit(begin, end) for every token of the text, from left to right.
template <class Unit, class Emit>
void scan_words(std::span<const Unit> text, const WordRules& rules, Emit&& emit) {
  const unsigned compounds = rules.keep | rules.split;
  const bool plain =
      rules.digits != Digits::drop && rules.shortest <= 1 && rules.longest == static_cast<std::size_t>(-1);
  const auto send = [&](std::size_t begin, std::size_t end) {
    if (!plain) {
      if (end - begin < rules.shortest || end - begin > rules.longest) return;
      if (rules.digits == Digits::drop && !detail::has_letter(text, begin, end)) return;
    }
    emit(begin, end);
  };
  const Text whole{text.data(), text.size(), sizeof(Unit)};
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = text[i];
    if (compounds != 0 && !is_space(c)) {
      if (const CompoundMatch found = match_compound(whole, i, compounds, rules); found.kind != 0) {
        if (rules.keep & found.kind) {
          send(i, found.end);
        } else {
          for (std::size_t j = i; j < found.end;) {
            std::size_t k = j;
            while (k < found.end && properties(text[k]).letter_or_number()) ++k;
            if (k > j) send(j, k);
            j = k + 1;
          }
        }
        i = found.end;
        continue;
      }
    }
    std::size_t end;
    if (c < 128) {
      if (!detail::kAscii.joins[c]) {
        // a lone ASCII sign or blank; what could be attached to it (a combining mark) is not part of a word either
        if (i + 1 >= text.size() || text[i + 1] < 128) {
          ++i;
          continue;
        }
        end = word_end(text, i);
      } else {
        end = detail::ascii_word_end(text, i);
      }
    } else {
      end = word_end(text, i);
    }
    const bool certain = c < 128 && (detail::kAscii.letter[c] || detail::kAscii.digit[c]);
    if (certain || (!is_space(c) && detail::wordlike(text, i, end))) send(i, end);  // a mark on a blank is no word
    i = end;
  }
}

}  // namespace textmill::corpus
