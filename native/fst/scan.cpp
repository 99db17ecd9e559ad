#include "fst/scan.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace textmill::fst {
namespace {

bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
bool is_alnum(unsigned char c) { return is_digit(c) || is_letter(c); }

// The character that ends before a place is punctuation or a blank beyond ASCII: U+00A0 ... U+00BF but not the letters and
// digits there, U+2000 ... U+206F, U+3000 ... U+303F.
bool mark_before(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t back) { return back > at ? 0u : static_cast<unsigned char>(text[at - back]); };
  if (byte(2) == 0xC2) return byte(1) != 0xAA && byte(1) != 0xB5 && byte(1) != 0xBA;
  if (byte(3) == 0xE2) return byte(2) == 0x80 || byte(2) == 0x81;
  return byte(3) == 0xE3 && byte(2) == 0x80;
}

bool mark_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t on) {
    return at + on >= text.size() ? 0u : static_cast<unsigned char>(text[at + on]);
  };
  if (byte(0) == 0xC2) return byte(1) != 0xAA && byte(1) != 0xB5 && byte(1) != 0xBA && byte(1) != 0xB0;
  if (byte(0) == 0xE2) return byte(1) == 0x80 || byte(1) == 0x81;
  return byte(0) == 0xE3 && byte(1) == 0x80;
}

std::u32string decoded(std::string_view bytes) {
  std::u32string out;
  for (std::size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<unsigned char>(bytes[i]);
    const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t value = size == 1 ? first : first & (0xFF >> (size + 1));
    for (std::size_t k = 1; k < size && i + k < bytes.size(); ++k)
      value = value << 6 | (static_cast<unsigned char>(bytes[i + k]) & 0x3F);
    out += value;
    i += size;
  }
  return out;
}

bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<unsigned char>(bytes[i]);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
    if (size == 0 || i + size > bytes.size()) return false;
    for (std::size_t k = 1; k < size; ++k)
      if ((static_cast<unsigned char>(bytes[i + k]) & 0xC0) != 0x80) return false;
    i += size;
  }
  return true;
}

}  // namespace

bool word_begins(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const auto c = static_cast<unsigned char>(text[at - 1]);
  if (c >= 0x80) return mark_before(text, at);
  if (c <= ' ') return true;
  switch (c) {
    case '(':
    case '[':
    case '{':
    case '"':
    case '\'':
    case '`':
    case '<':
    case '>':
    case '*':
    case '|':
    case ';':
    case '!':
    case '?': return true;
    case '-':  // behind a word, or a dash of its own
      return at == 1 || text[at - 2] == '-' || text[at - 2] == ' ' ||
             !is_digit(static_cast<unsigned char>(text[at - 2]));
    case '/': return at > 1 && is_letter(static_cast<unsigned char>(text[at - 2]));
    default: return false;
  }
}

bool word_ends(std::string_view text, std::size_t at) {
  if (at >= text.size()) return true;
  const auto c = static_cast<unsigned char>(text[at]);
  const auto after = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0;
  if (c >= 0x80) return mark_at(text, at);
  if (c <= ' ') return true;
  switch (c) {
    case ')':
    case ']':
    case '}':
    case '"':
    case '`':
    case '<':
    case '>':
    case '*':
    case '|':
    case ';':
    case '!':
    case '?': return true;
    case '.':
    case ',':
    case ':': return !is_alnum(after) && after < 0x80;
    case '\'': return !is_digit(after);
    case '-': return after == '-' || after <= ' ' || is_letter(after);
    case '/': return is_letter(after);
    default: return false;
  }
}

Scanner::Scanner(std::shared_ptr<const Machine<Tropical<float>>> rules, const Machine<Tropical<float>>& inputs,
                 std::size_t remembered)
    : rules_(std::move(rules)), class_of_(256, 0), start_(inputs.start()), remembered_(remembered) {
  // bytes that no state tells apart are one class; class 0 is of bytes that no arc has
  std::array<std::vector<std::pair<std::int32_t, std::int32_t>>, 256> arcs;
  for (std::int32_t s = 0; s < inputs.states(); ++s)
    for (const auto& arc : inputs.arcs(s)) {
      if (arc.ilabel <= 0 || arc.ilabel > 255 || arc.ilabel != arc.olabel)
        fail("the rules of a scanner read bytes; label ", arc.ilabel, " is none");
      arcs[arc.ilabel].emplace_back(s, arc.nextstate);
    }
  std::vector<int> first;  // a byte of each class
  for (int byte = 0; byte < 256; ++byte) {
    if (arcs[byte].empty() || byte == '\n') continue;
    std::size_t c = 0;
    while (c < first.size() && arcs[first[c]] != arcs[byte]) ++c;
    if (c == first.size()) first.push_back(byte);
    class_of_[byte] = static_cast<std::uint8_t>(c + 1);
  }
  classes_ = first.size() + 1;
  if (classes_ > 255) fail("the rules of a scanner tell more than 254 bytes apart");
  next_.assign(static_cast<std::size_t>(inputs.states()) * classes_, kNoState);
  accepts_.resize(inputs.states());
  for (std::int32_t s = 0; s < inputs.states(); ++s) {
    accepts_[s] = inputs.is_final(s);
    for (const auto& arc : inputs.arcs(s)) {
      auto& to = next_[s * classes_ + class_of_[arc.ilabel]];
      if (to != kNoState && to != arc.nextstate) fail("the inputs of a scanner must be deterministic");
      if (class_of_[arc.ilabel]) to = arc.nextstate;
    }
  }
}

std::size_t Scanner::longest(std::string_view text, std::size_t at) const {
  std::int32_t state = start_;
  std::size_t best = at;
  const std::size_t end = std::min(text.size(), at + kLongest);
  for (std::size_t i = at; i < end; ++i) {
    state = next_[state * classes_ + class_of_[static_cast<unsigned char>(text[i])]];
    if (state < 0) break;
    if (accepts_[state] && word_ends(text, i + 1)) best = i + 1;
  }
  return best;
}

void Scanner::look_up(const std::vector<std::string_view>& stretches, std::size_t threads) {
  std::vector<std::string_view> asked;
  std::unordered_set<std::string_view> unseen;
  if (table_.size() + stretches.size() > remembered_) table_.clear();
  for (const std::string_view stretch : stretches)
    if (table_.find(stretch) == table_.end() && unseen.insert(stretch).second) asked.push_back(stretch);
  std::vector<std::u32string> points;
  std::vector<Text> texts;
  points.reserve(asked.size());
  for (const std::string_view stretch : asked) {
    points.push_back(is_utf8(stretch) ? decoded(stretch) : std::u32string());
    texts.push_back({points.back().data(), points.back().size(), 4});
  }
  const Tokenizer tokenizer(Tokens::byte, nullptr, nullptr);
  apply<Tropical<float>>(*rules_, texts, tokenizer, ApplyOptions{1, {}, threads}, [&](const Outputs<float>& outputs) {
    std::size_t at = 0, begin = 0;
    for (std::size_t i = 0; i < outputs.counts.size(); ++i) {
      const std::string_view stretch = asked[outputs.first + i];
      std::string result(stretch);
      for (std::uint32_t j = 0; j < outputs.counts[i]; ++j, ++at) {
        result = outputs.bytes.substr(begin, outputs.ends[at] - begin);
        begin = outputs.ends[at];
      }
      table_.emplace(std::string(stretch), std::move(result));
    }
  });
}

Rewritten Scanner::rewrite(std::string_view text, std::size_t threads) {
  Rewritten out;
  if (start_ < 0) {
    out.text = text;
    return out;
  }
  const std::lock_guard guard(lock_);
  std::array<bool, 256> lives;
  for (int byte = 0; byte < 256; ++byte) lives[byte] = next_[start_ * classes_ + class_of_[byte]] >= 0;
  std::vector<std::string_view> stretches;
  for (std::size_t i = 0; i < text.size();) {
    if (!lives[static_cast<unsigned char>(text[i])] || !word_begins(text, i)) {
      ++i;
      continue;
    }
    const std::size_t end = longest(text, i);
    if (end == i) {
      ++i;
      continue;
    }
    stretches.push_back(text.substr(i, end - i));
    out.stretches.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(end), 0, 0});
    i = end;
  }
  look_up(stretches, threads);
  out.text.reserve(text.size() + text.size() / 4);
  std::size_t done = 0;
  for (std::size_t n = 0; n < stretches.size(); ++n) {
    Stretch& stretch = out.stretches[n];
    out.text.append(text, done, stretch.begin - done);
    stretch.out_begin = static_cast<std::int64_t>(out.text.size());
    out.text += table_.find(stretches[n])->second;
    stretch.out_end = static_cast<std::int64_t>(out.text.size());
    done = stretch.end;
  }
  out.text.append(text, done);
  return out;
}

}  // namespace textmill::fst
