// Words of a text as the language identifier sees them, in one pass over whatever form the text has.
//
// A word is a maximal run of letters of one script, with the marks that belong to them: lower-case, composed (NFC), without
// joiners; digits, apostrophes and hyphens stand between words. Scripts that put no blanks between words (Han, kana,
// Thai, ...) give a word for each letter. Code points, UTF-8 and the three widths of Python's strings are read in place;
// bytes that are not UTF-8 stand between words. A word of more than kLongest bytes has no key, nor has one that touches a
// digit or an underscore or has a capital after a small letter, as in codes and keys: nothing is said of it, unless most
// words of a text are written in capitals and small letters or joined by underscores, and not by digits. Addresses (https://..., www....,
// name@host, @name), elements of HTML and its entities are no words, unless all runs of letters are asked for or a text
// has no others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "corpus/unicode.h"

namespace textmill::language {

namespace tables {
#include "language/tables.inc"
}

inline constexpr std::size_t kLongest = 120;  // bytes of a key; a record holds its length in seven bits
inline constexpr std::size_t kScripts = std::size(tables::kScriptNames);

inline std::uint8_t script_of(char32_t c) {
  if (c > 0x10FFFF) return 0;
  return tables::kScript[tables::kScriptBlock[c >> 7] * std::size_t{128} + (c & 127)];
}

// The composition of two code points, 0 if there is none.
inline char32_t compose(char32_t first, char32_t second) {
  if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176)  // a syllable of Hangul
    return 0xAC00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28;
  if (first >= 0xAC00 && first < 0xD7A4 && (first - 0xAC00) % 28 == 0 && second > 0x11A7 && second < 0x11C3)
    return first + (second - 0x11A7);
  const char32_t(*end)[3] = tables::kCompose + std::size(tables::kCompose);
  const auto* row = std::lower_bound(tables::kCompose, end, 0, [&](const char32_t(&entry)[3], int) {
    return entry[0] < first || (entry[0] == first && entry[1] < second);
  });
  return row != end && (*row)[0] == first && (*row)[1] == second ? (*row)[2] : 0;
}

// What is left of a lower-case letter without its accents: one or two code points.
inline std::pair<char32_t, char32_t> plain(char32_t c) {
  if (c < 0x80) return {c, 0};
  const char32_t(*end)[3] = tables::kPlain + std::size(tables::kPlain);
  const auto* row =
      std::lower_bound(tables::kPlain, end, c, [](const char32_t(&entry)[3], char32_t key) { return entry[0] < key; });
  return row != end && (*row)[0] == c ? std::pair{(*row)[1], (*row)[2]} : std::pair{c, char32_t{0}};
}

template <class Unit>
struct Points {  // code points, one, two or four bytes each
  std::span<const Unit> units;
  std::size_t size() const { return units.size(); }
  char32_t next(std::size_t& at) const { return units[at++]; }
};

struct Utf8 {
  std::span<const std::uint8_t> units;
  std::size_t size() const { return units.size(); }
  char32_t next(std::size_t& at) const {
    const std::uint8_t first = units[at++];
    if (first < 0x80) return first;
    const int more = first >= 0xF0 && first < 0xF5 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first >= 0xF5 || at + static_cast<std::size_t>(more) > units.size()) return 0xFFFD;
    char32_t c = first & (0x3F >> more);
    for (int i = 0; i < more; ++i) {
      const std::uint8_t byte = units[at + static_cast<std::size_t>(i)];
      if ((byte & 0xC0) != 0x80) return 0xFFFD;
      c = c << 6 | (byte & 0x3F);
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) || c < (more == 2 ? 0x800u : more == 3 ? 0x10000u : 0x80u))
      return 0xFFFD;
    at += static_cast<std::size_t>(more);
    return c;
  }
};

struct Word {
  std::string_view key;  // lower-case UTF-8; empty when the word is too long, touches a digit, or is odd
  std::size_t begin;     // in units of the text
  std::size_t end;
  std::uint8_t script;
  bool odd;    // touches an underscore, or has a capital after a small letter
  bool coded;  // touches a digit
};

enum class Manner : std::uint8_t {
  Usual,
  Lenient,  // odd words are words
  AllRuns,  // addresses and elements have words, too
};

namespace detail {

inline constexpr std::size_t kBeginning = 64;        // units of a text that are looked at first
inline constexpr int kSample = 64;                   // words that tell how a text is to be read
inline constexpr std::size_t kLongestElement = 300;  // units of an element of HTML

inline bool is_letter(char32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

// Where an address, an element or an entity of HTML ends that has the ASCII mark at `here`; `here` when there is none.
// `word` is the run of letters before the mark, in lower case.
template <class Units>
std::size_t end_of_markup(const Units& units, std::size_t here, std::string_view word) {
  const std::size_t size = units.size();
  const auto at = [&](std::size_t i) { return i < size ? static_cast<char32_t>(units[i]) : char32_t{0}; };
  const auto rest = [&](std::size_t i) {  // to what cannot be a part of an address
    while (i < size && at(i) > ' ' && at(i) < 0x7F && at(i) != '"' && at(i) != '<' && at(i) != '>') ++i;
    return i;
  };
  switch (at(here)) {
    case ':': return !word.empty() && at(here + 1) == '/' && at(here + 2) == '/' ? rest(here) : here;
    case '.': return word == "www" && is_letter(at(here + 1)) ? rest(here) : here;
    case '@': return is_letter(at(here + 1)) || at(here + 1) == '_' ? rest(here) : here;
    case '&':
      for (std::size_t i = here + 1; i < here + 10 && (is_letter(at(i)) || at(i) == ';'); ++i)
        if (at(i) == ';') return i > here + 1 ? i + 1 : here;
      return here;
    case '<':
      if (!is_letter(at(here + 1)) && at(here + 1) != '/' && at(here + 1) != '!') return here;
      for (std::size_t i = here + 1; i < size && i < here + kLongestElement && at(i) != '<'; ++i)
        if (at(i) == '>') return i + 1;
      return here;
    default: return here;
  }
}

}  // namespace detail

// Calls visit(word) for each word of the text, in order, as long as it returns true; the key lives until the next one.
template <class Reader, class Visit>
void scan_while(const Reader& text, bool without_accents, Manner manner, Visit&& visit) {
  const bool all_runs = manner == Manner::AllRuns, lenient = manner == Manner::Lenient;
  char key[kLongest + 16];
  std::size_t size = 0, last_at = 0;  // bytes of the key; where its last code point begins
  char32_t last = 0;                  // that code point
  bool any = false, inside = false, full = false, capital = false, small = false, stopped = false;
  Word word{};
  const auto append = [&](char32_t c) {
    if (size + 4 > kLongest) {
      full = true;
      return;
    }
    last = c;
    last_at = size;
    size = static_cast<std::size_t>(corpus::append_utf8(key + size, c) - key);
  };
  const auto put = [&](char32_t c) {
    if (without_accents) {
      const auto [first, second] = plain(c);
      append(first);
      if (second != 0) append(second);
    } else {
      append(c);
    }
  };
  const auto finish = [&](std::size_t end) {
    word.end = end;
    word.odd |= capital;
    word.key = full || word.coded || (word.odd && !lenient) ? std::string_view() : std::string_view(key, size);
    stopped = !visit(static_cast<const Word&>(word));
    inside = false;
    any = true;
  };
  const std::size_t length = text.size();
  bool after_digit = false, after_underscore = false;
  for (std::size_t at = 0; at < length && !stopped;) {
    const std::size_t here = at;
    char32_t c = text.next(at);
    std::uint8_t script;
    bool upper;
    if (c < 0x80) {
      const char32_t folded = c | 0x20;
      if (folded < 'a' || folded > 'z') {
        const bool digit = c >= '0' && c <= '9';
        if (!all_runs && (c == ':' || c == '@' || c == '<' || c == '&' || (c == '.' && inside && size == 3))) {
          const std::string_view before(key, inside ? size : 0);
          const std::size_t end = detail::end_of_markup(text.units, here, before);
          if (end > here) {
            if (inside && (c == '<' || c == '&')) finish(here);  // what stands before an address is a part of it
            inside = false;
            after_digit = after_underscore = false;
            at = end;
            continue;
          }
        }
        if (inside) {
          word.coded |= digit;
          word.odd |= c == '_';
          finish(here);
        }
        after_digit = digit;
        after_underscore = c == '_';
        continue;
      }
      upper = c != folded;
      script = 1;
      c = folded;
    } else {
      const corpus::Properties is = corpus::properties(c);
      if (inside && (is.word() == corpus::WordClass::Extend || (c >= 0x1160 && c < 0x1200))) {
        if (full) continue;
        if (c >= 0x300 && c < 0x370 && without_accents) continue;
        if (c == 0x200C) continue;
        const char32_t composed = compose(last, c);
        if (composed != 0) {
          size = last_at;
          append(composed);
        } else if (c != 0x34F && !(c >= 0xFE00 && c < 0xFE10)) {
          append(c);
        }
        continue;
      }
      if (is.word() == corpus::WordClass::Format || is.word() == corpus::WordClass::ZWJ) continue;  // inside words, too
      if (!is.letter() || is.word() == corpus::WordClass::Extend) {
        if (inside) {
          word.coded |= is.number();
          finish(here);
        }
        after_digit = is.number();
        after_underscore = false;
        continue;
      }
      script = script_of(c);
      upper = is.sentence() == corpus::SentenceClass::Upper;
    }
    if (inside && ((script != word.script && script != 0) || tables::kUnspaced[word.script])) finish(here);
    if (!inside) {
      word.begin = here;
      word.script = script;
      size = 0;
      last = 0;
      full = false;
      capital = false;
      small = false;
      word.coded = after_digit;
      word.odd = after_underscore;
      inside = true;
    }
    capital |= upper && small;
    small |= !upper;
    after_digit = after_underscore = false;
    if (full) continue;
    if (c < 0x80 || c == 0xDF) {
      put(c);
    } else if (c == 0x1E9E) {
      put(0xDF);  // the sharp s is too German to be folded away
    } else {
      const corpus::Folded folded = corpus::fold(c);
      for (std::size_t i = 0; i < folded.size; ++i) put(folded.point[i]);
    }
  }
  if (inside && !stopped) finish(length);
  if (!any && !all_runs)
    scan_while(text, without_accents, Manner::AllRuns, visit);  // nothing but addresses: their words are all there is
}

// How a text is to be read, by its first words; a text whose first units have nothing odd in Latin letters is a usual one.
template <class Reader>
Manner manner_of(const Reader& text) {
  bool any = false;
  const std::size_t end = std::min(text.size(), detail::kBeginning);
  for (std::size_t i = 1; i < end; ++i) {
    const auto before = static_cast<char32_t>(text.units[i - 1]), c = static_cast<char32_t>(text.units[i]);
    any |= (c == '_') | ((c - 'A' < 26) & (before - 'a' < 26));
  }
  if (!any) return Manner::Usual;
  int words = 0, odd = 0, coded = 0;
  scan_while(text, true, Manner::Usual, [&](const Word& word) {
    ++words;
    odd += word.odd && !word.coded;
    coded += word.coded;
    return words < detail::kSample;
  });
  return 2 * odd > words && 8 * coded <= words ? Manner::Lenient : Manner::Usual;
}

// Calls visit(word) for each word of the text, in order; the key lives until the next one.
template <class Reader, class Visit>
void scan(const Reader& text, bool without_accents, Visit&& visit) {
  scan_while(text, without_accents, manner_of(text), [&](const Word& word) {
    visit(word);
    return true;
  });
}

}  // namespace textmill::language
