// From a text to its tokens as UTF-8 bytes: words, character n-grams, or tokens that somebody else made.
//
//   words      scan_words, then case folding
//   n-grams    of the folded text with each run of white space as one blank, or of each word with a blank on both sides
//   given      each text is one token, taken as it is
//
// What was cut may then be rewritten, joined into phrases and combined into n-grams of words (runs.h), in this order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "corpus/runs.h"
#include "corpus/text.h"
#include "corpus/unicode.h"
#include "corpus/words.h"

namespace textmill::corpus {

struct NgramRules {
  bool fold = true;
  std::size_t shortest = 3;  // >= 1
  std::size_t longest = 3;   // >= shortest
  bool within_words = false;
};

struct GivenTokens {};

struct TokenRules {
  std::variant<WordRules, NgramRules, GivenTokens> cut;
  const Forms* forms = nullptr;  // holds all tokens that will be cut
  const PhraseTable* phrases = nullptr;
  std::size_t shortest = 1, longest = 1;  // of the n-grams of words

  bool only_cut() const { return forms == nullptr && phrases == nullptr && longest == 1; }
};

// Scratch memory of one thread.
struct TokenBuffer {
  std::vector<char> bytes;
  std::vector<std::size_t> starts;  // n-grams: where each code point begins in bytes, and their end

  char* room(std::size_t used, std::size_t more) {
    if (bytes.size() < used + more) bytes.resize(std::max(used + more, bytes.size() * 2));
    return bytes.data() + used;
  }
};

namespace detail {

inline constexpr std::size_t kFoldedBytes = 12;  // three code points of four bytes, more than folding ever makes of one

// Appends text[begin, end) to buffer.bytes from `used` on; returns the new number of bytes used.
template <class Unit>
std::size_t append(std::span<const Unit> text, std::size_t begin, std::size_t end, bool folding, bool mask_digits,
                   TokenBuffer& buffer, std::size_t used) {
  while (begin < end) {
    const std::size_t stop = std::min(end, begin + 4096);
    char* const start = buffer.room(used, (stop - begin) * kFoldedBytes);
    char* out = start;
    for (; begin < stop; ++begin) {
      const char32_t c = text[begin];
      if (c < 128) {
        *out++ = mask_digits && kAscii.digit[c] ? '0' : folding ? kAscii.folded[c] : static_cast<char>(c);
      } else if (mask_digits && properties(c).word() == WordClass::Numeric) {
        *out++ = '0';
      } else if (folding) {
        const Folded folded = fold(c);
        for (std::size_t k = 0; k < folded.size; ++k) out = append_utf8(out, folded.point[k]);
      } else {
        out = append_utf8(out, c);
      }
    }
    used += static_cast<std::size_t>(out - start);
  }
  return used;
}

// Emits all n-grams of the code points whose starts are in buffer.starts.
template <class Emit>
void emit_ngrams(const NgramRules& rules, const TokenBuffer& buffer, bool whole_if_short, Emit&& emit) {
  const std::size_t points = buffer.starts.size() - 1;
  for (std::size_t n = rules.shortest; n <= rules.longest; ++n) {
    if (n > points) {
      if (whole_if_short && n == rules.shortest && points > 0)
        emit(std::string_view(buffer.bytes.data(), buffer.starts[points]));
      return;
    }
    for (std::size_t i = 0; i + n <= points; ++i)
      emit(std::string_view(buffer.bytes.data() + buffer.starts[i], buffer.starts[i + n] - buffer.starts[i]));
  }
}

// Records where the code points of bytes [from, used) begin.
inline void mark_starts(TokenBuffer& buffer, std::size_t from, std::size_t used) {
  for (std::size_t i = from; i < used; ++i)
    if ((static_cast<unsigned char>(buffer.bytes[i]) & 0xC0) != 0x80) buffer.starts.push_back(i);
}

}  // namespace detail

// Calls emit(bytes) for every token of the text; the bytes live until the next call. The text has no lone surrogate.
template <class Emit>
void for_each_token(const Text& text, const WordRules& rules, TokenBuffer& buffer, Emit&& emit) {
  const bool mask = rules.digits == Digits::mask;
  visit(text, [&](auto units) {
    scan_words(units, rules, [&](std::size_t begin, std::size_t end) {
      const bool masked = mask && !detail::has_letter(units, begin, end);
      const std::size_t used = detail::append(units, begin, end, rules.fold, masked, buffer, 0);
      emit(std::string_view(buffer.bytes.data(), used));
    });
  });
}

template <class Emit>
void for_each_token(const Text& text, const NgramRules& rules, TokenBuffer& buffer, Emit&& emit) {
  visit(text, [&](auto units) {
    if (rules.within_words) {
      scan_words(units, WordRules{}, [&](std::size_t begin, std::size_t end) {
        *buffer.room(0, 1) = ' ';
        std::size_t used = detail::append(units, begin, end, rules.fold, false, buffer, 1);
        *buffer.room(used++, 1) = ' ';
        buffer.starts.clear();
        detail::mark_starts(buffer, 0, used);
        buffer.starts.push_back(used);
        detail::emit_ngrams(rules, buffer, true, emit);
      });
      return;
    }
    std::size_t used = 0;
    buffer.starts.clear();
    for (std::size_t i = 0; i < units.size();) {
      std::size_t end = i;
      while (end < units.size() && !is_space(units[end])) ++end;
      const std::size_t from = used;
      used = detail::append(units, i, end, rules.fold, false, buffer, used);
      if (end < units.size()) *buffer.room(used++, 1) = ' ';
      detail::mark_starts(buffer, from, used);
      for (i = end; i < units.size() && is_space(units[i]);) ++i;
    }
    buffer.starts.push_back(used);
    detail::emit_ngrams(rules, buffer, false, emit);
  });
}

template <class Emit>
void for_each_token(const Text& text, const GivenTokens&, TokenBuffer& buffer, Emit&& emit) {
  if (text.ascii) {  // which is UTF-8 already
    emit(std::string_view(static_cast<const char*>(text.data), text.size));
    return;
  }
  visit(text, [&](auto units) {
    const std::size_t used = detail::append(units, 0, units.size(), false, false, buffer, 0);
    emit(std::string_view(buffer.bytes.data(), used));
  });
}

}  // namespace textmill::corpus
