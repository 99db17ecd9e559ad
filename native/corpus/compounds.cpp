// Compound tokens: numbers, dates, addresses, ranges, abbreviations, emoticons. Each matcher gives the end of the longest
// compound of its kind at a position, or the position itself; all look at a bounded or linear stretch ahead.
#include <algorithm>
#include <array>
#include <string_view>

#include "corpus/words.h"

namespace textmill::corpus {
namespace {

template <class Unit>
class Matcher {
 public:
  Matcher(std::span<const Unit> text, std::size_t begin, const WordRules& rules)
      : text_(text), begin_(begin), rules_(rules) {}

  CompoundMatch longest(unsigned kinds) const {
    CompoundMatch best{begin_, 0};
    const auto consider = [&](unsigned kind, std::size_t end) {
      if ((kinds & kind) && end > best.end) best = {end, kind};
    };
    const char32_t c = at(begin_);
    if (!word_before() && (digit(c) || hex(c) || c == ':')) consider(kAddresses, address());
    if (!word_before() && digit(c)) {
      consider(kDates, date());
      consider(kRanges, range());
    }
    if (!word_before() && (digit(c) || c == '+' || c == '-' || c == 0x2212)) consider(kNumbers, number());
    if (properties(c).letter() && !word_before()) consider(kAbbreviations, abbreviation());
    consider(kEmoticons, emoticon());
    return best;
  }

 private:
  char32_t at(std::size_t i) const { return i < text_.size() ? static_cast<char32_t>(text_[i]) : U'\0'; }
  static bool digit(char32_t c) { return c >= '0' && c <= '9'; }
  static bool hex(char32_t c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
  bool word_at(std::size_t i) const { return i < text_.size() && properties(at(i)).letter_or_number(); }
  bool word_before() const { return begin_ > 0 && properties(at(begin_ - 1)).letter_or_number(); }

  std::size_t digits(std::size_t i) const {
    while (digit(at(i))) ++i;
    return i;
  }
  // The end, if no letter or digit follows; else nothing was matched.
  std::size_t whole(std::size_t end) const { return word_at(end) ? begin_ : end; }

  // digits, groups of them joined by single . or , as in 1,000.50
  std::size_t amount(std::size_t i) const {
    std::size_t end = digits(i);
    while ((at(end) == '.' || at(end) == ',') && digit(at(end + 1))) end = digits(end + 1);
    return end;
  }

  std::size_t number() const {
    std::size_t i = begin_;
    if (!digit(at(i))) ++i;  // the sign
    if (!digit(at(i))) return begin_;
    std::size_t end = amount(i);
    if (at(end) == 'e' || at(end) == 'E') {
      const std::size_t sign = at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0;
      if (digit(at(end + 1 + sign))) end = digits(end + 1 + sign);
    }
    if (at(end) == '%' || at(end) == 0x2030) ++end;
    return whole(end);
  }

  std::size_t date() const {
    std::size_t length[3], i = begin_;
    char32_t separator = 0;
    for (int part = 0; part < 3; ++part) {
      const std::size_t end = digits(i);
      length[part] = end - i;
      i = end;
      if (part == 2) break;
      const char32_t c = at(i);
      if ((c != '.' && c != '/' && c != '-') || (part == 1 && c != separator)) return begin_;
      separator = c;
      ++i;
    }
    const auto short_part = [](std::size_t n) { return n == 1 || n == 2; };
    const bool day_first = short_part(length[0]) && short_part(length[1]) && (length[2] == 2 || length[2] == 4);
    const bool year_first = length[0] == 4 && short_part(length[1]) && short_part(length[2]);
    return day_first || year_first ? whole(i) : begin_;
  }

  std::size_t range() const {
    const std::size_t first = amount(begin_);
    const char32_t dash = at(first);
    if (dash != '-' && !(dash >= 0x2010 && dash <= 0x2015) && dash != 0x2212) return begin_;
    if (!digit(at(first + 1))) return begin_;
    const std::size_t end = amount(first + 1);
    return at(end) == dash && digit(at(end + 1)) ? begin_ : whole(end);  // 2010-04-12 is no range
  }

  std::size_t address() const { return std::max(ipv4(), ipv6()); }

  std::size_t ipv4() const {
    std::size_t i = begin_;
    for (int part = 0; part < 4; ++part) {
      if (part > 0 && at(i++) != '.') return begin_;
      const std::size_t end = digits(i);
      if (end == i || end - i > 3) return begin_;
      unsigned value = 0;
      for (std::size_t j = i; j < end; ++j) value = value * 10 + (at(j) - '0');
      if (value > 255) return begin_;
      i = end;
    }
    return at(i) == '.' && digit(at(i + 1)) ? begin_ : whole(i);
  }

  // Eight groups of one to four hexadecimal digits, or fewer with one "::" in their middle or at an end.
  std::size_t ipv6() const {
    std::size_t i = begin_;
    int groups = 0;
    bool gap = false;
    if (at(i) == ':') {
      if (at(i + 1) != ':') return begin_;
      gap = true;
      i += 2;
    }
    while (groups < 8 && hex(at(i))) {
      std::size_t end = i;
      while (hex(at(end)) && end - i < 5) ++end;
      if (end - i > 4) return begin_;
      ++groups;
      i = end;
      if (at(i) != ':') break;
      if (at(i + 1) == ':') {
        if (gap) return begin_;
        gap = true;
        i += 2;
      } else if (hex(at(i + 1))) {
        ++i;
      } else {
        break;
      }
    }
    const bool complete = gap ? groups >= 1 && groups < 8 : groups == 8;
    return complete && at(i) != ':' ? whole(i) : begin_;
  }

  std::size_t abbreviation() const {
    std::size_t end = begin_;
    int letters = 0;  // single letters, each with its full stop: U.S.A.
    while (properties(at(end)).letter() && at(end + 1) == '.') {
      end += 2;
      ++letters;
    }
    if (letters < 2 || word_at(end)) end = begin_;
    for (const std::u32string& known : rules_.abbreviations) {
      std::size_t i = begin_, k = 0;
      while (k < known.size() && i < text_.size()) {
        const Folded folded = fold(at(i));
        if (known.compare(k, folded.size, folded.point, folded.size) != 0) break;
        k += folded.size;
        ++i;
      }
      if (k == known.size() && i > end && !word_at(i)) end = i;
    }
    return end;
  }

  // Western faces: [brow] eyes [tear] [nose] mouth, or mirrored; hearts; a few Eastern faces; emoji sequences.
  std::size_t emoticon() const {
    const char32_t c = at(begin_);
    const Properties kind = properties(c);
    if (c >= 0x80 && (kind.pictographic() || kind.word() == WordClass::RegionalIndicator))
      return word_end(text_, begin_);
    if (c >= 0x80 || is_space(c)) return begin_;
    static constexpr std::array<std::string_view, 17> fixed = {"</3", "<3",  "^_^", "^^",  "-_-", "o_O",
                                                               "O_o", "o_o", "O_O", "T_T", ">_<", "\\o/",
                                                               "8-)", "B-)", "xD",  "XD",  "x-D"};
    std::size_t end = begin_;
    for (const std::string_view face : fixed) {
      std::size_t k = 0;
      while (k < face.size() && at(begin_ + k) == static_cast<unsigned char>(face[k])) ++k;
      if (k == face.size() && !(word_before() && word_at(begin_))) end = std::max(end, whole(begin_ + k));
    }
    return std::max({end, face(), mirrored_face()});
  }

  static bool one_of(char32_t c, std::string_view set) {
    return c != 0 && c < 128 && set.find(static_cast<char>(c)) != std::string_view::npos;
  }

  std::size_t face() const {
    std::size_t i = begin_;
    if (at(i) == '>' || at(i) == '}') ++i;
    if (!one_of(at(i), ":;=")) return begin_;
    const char32_t eyes = at(i++);
    if (at(i) == '\'') ++i;
    const bool nose = one_of(at(i), "-o^*") && one_of(at(i + 1), ")(][}{|/\\DPpOo@$*3><");
    if (nose) ++i;
    // ':' straight before '/' starts the rest of a URL, and "=>" or ":]" are code as often as faces
    const std::string_view mouths = nose ? ")(][}{|/\\DPpOo@$*3><" : eyes == ':' ? ")(|DPpOo*3" : ")(DP";
    if (!one_of(at(i), mouths)) return begin_;
    const char32_t mouth = at(i);
    ++i;
    while (at(i) == mouth && one_of(mouth, ")(D")) ++i;  // :-))))
    return whole(i);
  }

  std::size_t mirrored_face() const {
    std::size_t i = begin_;
    if (!one_of(at(i), ")(D") || word_before()) return begin_;
    ++i;
    if (at(i) == '-' || at(i) == 'o')
      ++i;
    else if (at(begin_) == 'D')
      return begin_;
    if (!one_of(at(i), ":;=")) return begin_;
    ++i;
    // "(=" and "):" without a nose are punctuation more often than faces unless a blank or the end follows
    if (i - begin_ == 2 && i < text_.size() && !is_space(at(i))) return begin_;
    return whole(i);
  }

  std::span<const Unit> text_;
  std::size_t begin_;
  const WordRules& rules_;
};

}  // namespace

CompoundMatch match_compound(const Text& text, std::size_t begin, unsigned kinds, const WordRules& rules) {
  return visit(text, [&](auto units) { return Matcher(units, begin, rules).longest(kinds); });
}

}  // namespace textmill::corpus
