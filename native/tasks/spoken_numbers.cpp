#include "tasks/spoken_numbers.h"

#include <algorithm>
#include <array>

namespace textmill::tasks {
namespace {

constexpr std::size_t kLongest = 48;  // bytes of a word; longer tokens are in no list

constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_mark(char c) {
  switch (c) {
    case '.':
    case ',':
    case '?':
    case '!':
    case ';':
    case ':':
    case '"':
    case '(':
    case ')':
    case '[':
    case ']':
    case '-': return true;
    default: return false;
  }
}

// Digits with hyphens, brackets or a plus, and with points if there are seven digits at least ("3.5" is no number to
// call).
bool is_written(std::string_view bare) {
  std::size_t digits = 0;
  bool points = false;
  for (const char c : bare) {
    if (is_digit(c))
      ++digits;
    else if (c == '.')
      points = true;
    else if (c != '-' && c != '(' && c != ')' && c != '+')
      return false;
  }
  return digits > 0 && (!points || digits >= 7);
}

// "twenty-five" and "five-five-five": the words of a token with hyphens, or none of them.
void compound(std::string_view bare, std::int32_t token, const WordList& list, std::vector<NumberWord>& words) {
  const std::size_t before = words.size();
  bool all_digits = true;
  while (true) {
    const std::size_t hyphen = bare.find('-');
    const std::int32_t word = list.find(bare.substr(0, hyphen));
    const WordFacts facts = word < 0 ? WordFacts{} : list.facts(word);
    const std::size_t place = words.size() - before;
    all_digits = all_digits && facts.spoken == Spoken::digit;
    const bool fits = all_digits || (place == 0 && facts.spoken == Spoken::tens) ||
                      (place == 1 && words.back().spoken == Spoken::tens && facts.spoken == Spoken::digit &&
                       facts.number > 0 && hyphen == std::string_view::npos);
    if (!fits) break;
    words.push_back({facts.spoken, facts.number, token, {}});
    if (hyphen == std::string_view::npos) return;
    bare.remove_prefix(hyphen + 1);
  }
  words.resize(before);
}

}  // namespace

std::string_view bare_token(std::string_view token) {
  while (!token.empty() && is_mark(token.front())) token.remove_prefix(1);
  while (!token.empty() && is_mark(token.back())) token.remove_suffix(1);
  return token;
}

void WordList::insert(std::string_view word, const WordFacts& facts) {
  if (table_.insert(word, base::hash_bytes(word)) == facts_.size()) facts_.push_back(facts);
}

std::int32_t WordList::find(std::string_view bare) const {
  if (bare.empty() || bare.size() > kLongest) return -1;
  std::array<char, kLongest> lower;
  for (std::size_t i = 0; i < bare.size(); ++i)
    lower[i] = bare[i] >= 'A' && bare[i] <= 'Z' ? static_cast<char>(bare[i] | 0x20) : bare[i];
  const std::string_view key(lower.data(), bare.size());
  const std::uint32_t id = table_.find(key, base::hash_bytes(key));
  return id == base::InternTable::kNone ? -1 : static_cast<std::int32_t>(id);
}

void look_up(std::string_view text, const WordList& list, std::vector<Token>& tokens, std::vector<NumberWord>& words) {
  const std::size_t first = tokens.size();
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_blank(text[end])) ++end;
    const std::string_view bare = bare_token(text.substr(at, end - at));
    at = end;
    const auto token = static_cast<std::int32_t>(tokens.size() - first);
    const std::int32_t word = list.find(bare);
    if (word >= 0) {
      const WordFacts& facts = list.facts(word);
      tokens.push_back({word, facts.value, facts.context, facts.flags});
      if (facts.spoken != Spoken::none) words.push_back({facts.spoken, facts.number, token, {}});
      continue;
    }
    tokens.push_back({-1, -1, -1, 0});
    if (bare.empty()) continue;
    if (is_digit(bare.front()) || bare.front() == '+') {
      if (is_written(bare)) words.push_back({Spoken::written, 0, token, bare});
    } else if (bare.size() <= 4 * kLongest && bare.find('-') != std::string_view::npos) {
      compound(bare, token, list, words);
    }
  }
}

void scan_numbers(std::span<const NumberWord> words, bool skip_fillers, std::vector<Candidate>& candidates,
                  std::string& digits) {
  for (std::size_t run = 0; run < words.size();) {
    // A run: words of tokens side by side; a filler that is not passed over stands alone.
    std::size_t end = run + 1;
    const auto splits = [&](std::size_t i) { return words[i].spoken == Spoken::filler && !skip_fillers; };
    while (end < words.size() && words[end].token - words[end - 1].token <= 1 && !splits(end) && !splits(end - 1))
      ++end;
    const auto next = [&](std::size_t i) {
      do ++i;
      while (i < end && words[i].spoken == Spoken::filler);
      return i;
    };
    Candidate one{-1, -1, 0, 0, 0, false};
    bool items = false, cue = false, after_extension = false, in_extension = false;
    const auto close = [&] {
      if (items) candidates.push_back(one);
      one.begin = -1;
      one.cue = items = cue = after_extension = in_extension = false;
    };
    for (std::size_t i = words[run].spoken == Spoken::filler ? next(run) : run; i < end;) {
      const NumberWord& word = words[i];
      std::size_t j = next(i);
      const bool digit_follows = j < end && words[j].spoken == Spoken::digit;
      std::size_t times = 1;
      char pair[2] = {0, 0};  // digits of the item; the second may be none
      bool is_item = true, counts = true;
      switch (word.spoken) {
        case Spoken::area:
        case Spoken::extension:
          if (one.begin < 0) one.begin = word.token;
          cue = true;
          if (word.spoken == Spoken::extension && items) after_extension = true;
          i = j;
          continue;
        case Spoken::repeat:
          is_item = digit_follows;
          if (is_item) {
            times = word.number;
            pair[0] = static_cast<char>('0' + words[j].number);
            counts = words[j].number > 0;
            j = next(j);
          }
          break;
        case Spoken::tens:
          pair[0] = static_cast<char>('0' + word.number / 10);
          pair[1] = '0';
          if (digit_follows && words[j].number > 0) {
            pair[1] = static_cast<char>('0' + words[j].number);
            j = next(j);
          }
          break;
        case Spoken::teen:
          pair[0] = '1';
          pair[1] = static_cast<char>('0' + word.number - 10);
          break;
        case Spoken::digit:
          pair[0] = static_cast<char>('0' + word.number);
          counts = word.number > 0;
          break;
        case Spoken::written: counts = false; break;
        default:  // a hundred or a thousand of nothing
          is_item = false;
      }
      if (!is_item) {
        close();
        i = j;
        continue;
      }
      if (!items) {
        if (one.begin < 0) one.begin = word.token;
        one.digits = static_cast<std::int64_t>(digits.size());
        one.main = one.extension = 0;
        items = true;
      }
      in_extension = in_extension || after_extension;
      one.cue = one.cue || cue;
      const std::size_t before = digits.size();
      if (word.spoken == Spoken::written) {
        std::copy_if(word.written.begin(), word.written.end(), std::back_inserter(digits), is_digit);
      } else {
        digits.append(times, pair[0]);
        if (pair[1]) digits.push_back(pair[1]);
      }
      if (counts && j < end && words[j].spoken == Spoken::hundred) {
        digits.append("00");
        j = next(j);
      }
      if (counts && j < end && words[j].spoken == Spoken::thousand) {
        digits.append("000");
        j = next(j);
      }
      (in_extension ? one.extension : one.main) += static_cast<std::int32_t>(digits.size() - before);
      std::size_t last = j - 1;
      while (words[last].spoken == Spoken::filler) --last;
      one.end = words[last].token + 1;
      i = j;
    }
    close();
    run = end;
  }
}

void scan_plain(std::span<const Token> tokens, std::span<const NumberWord> words, std::span<const std::int32_t> lengths,
                std::vector<Candidate>& candidates, std::string& digits) {
  std::size_t word = 0;
  for (std::size_t i = 0; i < tokens.size();) {
    if (!(tokens[i].flags & kPlain)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < tokens.size() && tokens[end].flags & kPlain) ++end;
    const auto length = static_cast<std::int32_t>(end - i);
    if (std::find(lengths.begin(), lengths.end(), length) != lengths.end()) {
      candidates.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(end),
                            static_cast<std::int64_t>(digits.size()), length, 0, false});
      while (words[word].token < static_cast<std::int32_t>(i)) ++word;
      for (; word < words.size() && words[word].token < static_cast<std::int32_t>(end); ++word)
        digits.push_back(static_cast<char>('0' + words[word].number));
    }
    i = end;
  }
}

}  // namespace textmill::tasks
