#include "corpus/sentences.h"

#include <algorithm>

#include "corpus/unicode.h"

namespace textmill::corpus {
namespace {

using enum SentenceClass;

bool paragraph(SentenceClass k) { return k == Sep || k == CR || k == LF; }
bool terminator(SentenceClass k) { return k == STerm || k == ATerm; }

template <class Unit>
class Splitter {
 public:
  Splitter(std::span<const Unit> text, std::span<const std::u32string> abbreviations)
      : text_(text), abbreviations_(abbreviations) {}

  // End of the sentence that begins at `begin` < size.
  std::size_t sentence_end(std::size_t begin) const {
    const std::size_t n = text_.size();
    SentenceClass before = Other;  // class of the significant code point before the last terminator
    for (std::size_t i = begin; i < n;) {
      const SentenceClass k = kind(i);
      if (paragraph(k)) return after_paragraph(i);  // SB3, SB4
      if (!terminator(k)) {
        if (!ignorable(k)) before = k;  // SB5
        ++i;
        continue;
      }
      const std::size_t stop = i;
      std::size_t j = skip(i + 1, [](SentenceClass c) { return c == SentenceClass::Extend || c == Format; });
      if (k == ATerm && j < n) {
        if (kind(j) == Numeric) {  // SB6
          before = k;
          i = j;
          continue;
        }
        if ((before == Upper || before == Lower) && kind(j) == Upper) {  // SB7
          before = k;
          i = j;
          continue;
        }
      }
      before = k;
      j = skip(j, [](SentenceClass c) { return c == Close || ignorable(c); });  // SB9
      j = skip(j, [](SentenceClass c) { return c == Sp || ignorable(c); });     // SB10
      if (j >= n) return n;
      const SentenceClass next = kind(j);
      if (paragraph(next)) return after_paragraph(j);  // SB9-11
      if (next == SContinue || terminator(next)) {     // SB8a
        i = j;
        continue;
      }
      if (k == ATerm && (lower_follows(j) || is_abbreviation(begin, stop))) {  // SB8, and the list
        i = j;
        continue;
      }
      return j;  // SB11
    }
    return n;
  }

 private:
  static bool ignorable(SentenceClass k) { return k == SentenceClass::Extend || k == Format; }
  SentenceClass kind(std::size_t i) const { return properties(text_[i]).sentence(); }

  template <class Test>
  std::size_t skip(std::size_t i, Test test) const {
    while (i < text_.size() && test(kind(i))) ++i;
    return i;
  }

  std::size_t after_paragraph(std::size_t i) const {
    return kind(i) == CR && i + 1 < text_.size() && kind(i + 1) == LF ? i + 2 : i + 1;
  }

  bool lower_follows(std::size_t i) const {
    for (; i < text_.size(); ++i) {
      const SentenceClass k = kind(i);
      if (k == Lower) return true;
      if (k == OLetter || k == Upper || paragraph(k) || terminator(k)) return false;
    }
    return false;
  }

  // Does the text up to the full stop at `stop` end with one of the abbreviations, standing as a word of its own?
  bool is_abbreviation(std::size_t begin, std::size_t stop) const {
    if (abbreviations_.empty()) return false;
    std::size_t first = stop;
    const auto inside = [&](std::size_t i) {
      const char32_t c = text_[i];
      return !is_space(c) && (c == '.' || properties(c).letter_or_number());
    };
    while (first > begin && stop - first < 32 && inside(first - 1)) --first;
    std::u32string word;
    for (std::size_t i = first; i <= stop; ++i) {
      const Folded folded = fold(text_[i]);
      word.append(folded.point, folded.size);
    }
    return std::binary_search(abbreviations_.begin(), abbreviations_.end(), word);
  }

  std::span<const Unit> text_;
  std::span<const std::u32string> abbreviations_;
};

}  // namespace

void split_sentences(const Text& text, std::span<const std::u32string> abbreviations, std::vector<Span>& sentences) {
  sentences.clear();
  visit(text, [&](auto units) {
    const Splitter splitter(units, abbreviations);
    for (std::size_t begin = 0; begin < units.size();) {
      const std::size_t end = splitter.sentence_end(begin);
      sentences.push_back({begin, end});
      begin = end;
    }
  });
}

}  // namespace textmill::corpus
