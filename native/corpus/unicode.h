// Properties of code points (UAX #29 word and sentence classes) and full case folding.
//
// Two table look-ups a code point; the tables are made from the Unicode Character Database by tools/unicode_tables.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace textmill::corpus {

namespace tables {
#include "corpus/unicode_tables.inc"
}

// The orders below are those of tools/unicode_tables.py.
enum class WordClass : std::uint8_t {
  Other,
  CR,
  LF,
  Newline,
  Extend,
  ZWJ,
  Format,
  RegionalIndicator,
  Katakana,
  HebrewLetter,
  ALetter,
  SingleQuote,
  DoubleQuote,
  MidNumLet,
  MidLetter,
  MidNum,
  Numeric,
  ExtendNumLet,
  WSegSpace,
};

enum class SentenceClass : std::uint8_t {
  Other,
  CR,
  LF,
  Sep,
  Extend,
  Format,
  Sp,
  Lower,
  Upper,
  OLetter,
  Numeric,
  ATerm,
  SContinue,
  STerm,
  Close,
};

class Properties {
 public:
  explicit constexpr Properties(std::uint16_t bits) : bits_(bits) {}
  constexpr WordClass word() const { return static_cast<WordClass>(bits_ & 31); }
  constexpr SentenceClass sentence() const { return static_cast<SentenceClass>(bits_ >> 5 & 15); }
  constexpr bool pictographic() const { return bits_ & 1 << 9; }
  constexpr bool letter() const { return bits_ & 1 << 10; }  // Alphabetic
  constexpr bool number() const { return bits_ & 1 << 11; }  // general category Nd, Nl or No
  constexpr bool letter_or_number() const { return bits_ & 3 << 10; }

 private:
  std::uint16_t bits_;
};

// Any value is accepted; those above U+10FFFF have the properties of an unassigned code point.
constexpr Properties properties(char32_t point) {
  if (point > 0x10FFFF) return Properties(0);
  return Properties(tables::kProperty[tables::kPropertyBlock[point >> 7] * std::size_t{128} + (point & 127)]);
}

struct Folded {
  char32_t point[3];
  std::size_t size;
};

// Full case folding (statuses C and F) of one code point: one to three code points.
constexpr Folded fold(char32_t point) {
  const std::size_t row =
      point > 0x10FFFF ? 0 : tables::kFoldRow[tables::kFoldBlock[point >> 7] * std::size_t{128} + (point & 127)];
  if (row == 0) return {{point, 0, 0}, 1};
  const char32_t* target = tables::kFoldTarget + row * 3;
  return {{target[0], target[1], target[2]}, target[1] == 0 ? std::size_t{1} : target[2] == 0 ? 2u : 3u};
}

constexpr bool is_space(char32_t c) {
  return c == 32 || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Appends the UTF-8 form of a code point that is not a surrogate; returns the new end. Writes at most four bytes.
inline char* append_utf8(char* out, char32_t c) {
  if (c < 0x80) {
    *out++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<char>(0xC0 | c >> 6);
    *out++ = static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *out++ = static_cast<char>(0xE0 | c >> 12);
    *out++ = static_cast<char>(0x80 | (c >> 6 & 63));
    *out++ = static_cast<char>(0x80 | (c & 63));
  } else {
    *out++ = static_cast<char>(0xF0 | c >> 18);
    *out++ = static_cast<char>(0x80 | (c >> 12 & 63));
    *out++ = static_cast<char>(0x80 | (c >> 6 & 63));
    *out++ = static_cast<char>(0x80 | (c & 63));
  }
  return out;
}

}  // namespace textmill::corpus
