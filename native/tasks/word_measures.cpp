#include "tasks/word_measures.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "corpus/sentences.h"
#include "corpus/tokens.h"

namespace textmill::tasks {
namespace {

constexpr std::size_t kBlock = 8;  // texts or documents that share scratch memory

// Calls f(code point) for each of valid UTF-8.
template <class F>
void for_each_point(std::string_view bytes, F&& f) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto b = static_cast<unsigned char>(bytes[i]);
    const std::size_t size = b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
    char32_t c = size == 1 ? b : b & (0xFF >> (size + 1));
    for (std::size_t k = 1; k < size && i + k < bytes.size(); ++k)
      c = c << 6 | (static_cast<unsigned char>(bytes[i + k]) & 63);
    f(c);
    i += size;
  }
}

bool is_apostrophe(char32_t c) { return c == '\'' || c == 0x2019; }

// Words with what is known of them, for one thread.
class KnownWords {
 public:
  explicit KnownWords(const WordMeter& meter) : meter_(meter) {}
  std::uint32_t id(std::string_view word) {
    const std::uint32_t id = table_.insert(word, base::hash_bytes(word));
    if (id == facts_.size()) facts_.push_back(meter_.facts(word));
    return id;
  }
  const WordFacts& operator[](std::uint32_t id) const { return facts_[id]; }
  std::size_t size() const { return facts_.size(); }

 private:
  const WordMeter& meter_;
  base::InternTable table_;
  std::vector<WordFacts> facts_;
};

}  // namespace

WordMeter::WordMeter(std::u32string_view vowels, base::InternTable patterns, std::vector<std::int32_t> values,
                     base::InternTable exceptions, std::vector<std::int32_t> counts, base::InternTable familiar,
                     std::vector<Ending> endings)
    : vowels_(vowels),
      patterns_(std::move(patterns)),
      values_(std::move(values)),
      exceptions_(std::move(exceptions)),
      counts_(std::move(counts)),
      familiar_(std::move(familiar)),
      endings_(std::move(endings)) {
  std::sort(vowels_.begin(), vowels_.end());
  shortest_ = patterns_.size() > 0 ? std::numeric_limits<std::size_t>::max() : 1;
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    shortest_ = std::min(shortest_, patterns_[i].size());
    longest_ = std::max(longest_, patterns_[i].size());
  }
}

std::int32_t WordMeter::vowel_groups(std::string_view folded) const {
  std::int32_t groups = 0;
  bool inside = false;
  for_each_point(folded, [&](char32_t c) {
    const bool vowel = std::binary_search(vowels_.begin(), vowels_.end(), c);
    groups += vowel && !inside;
    inside = vowel;
  });
  return groups;
}

std::int32_t WordMeter::syllables(std::string_view folded) const {
  const std::uint32_t known = exceptions_.find(folded, base::hash_bytes(folded));
  if (known != base::InternTable::kNone) return counts_[known];
  std::int32_t total = 0;
  std::string run = "^";  // letters of a stretch without hyphens; apostrophes vanish
  bool letters = false;
  const auto flush = [&] {
    if (letters) {
      run += '$';
      std::int32_t count = vowel_groups(std::string_view(run).substr(1, run.size() - 2));
      for (std::size_t i = 0; i < run.size(); ++i)
        for (std::size_t n = shortest_; n <= longest_ && i + n <= run.size(); ++n) {
          const std::string_view part = std::string_view(run).substr(i, n);
          const std::uint32_t id = patterns_.find(part, base::hash_bytes(part));
          if (id != base::InternTable::kNone) count += values_[id];
        }
      total += std::max(count, 1);
    }
    run.assign(1, '^');
    letters = false;
  };
  for_each_point(folded, [&](char32_t c) {
    if (is_apostrophe(c)) return;
    if (!corpus::properties(c).letter()) return flush();
    char utf8[4];
    run.append(utf8, corpus::append_utf8(utf8, c));
    letters = true;
  });
  flush();
  return std::max(total, 1);
}

bool WordMeter::listed(std::string_view word) const {
  return familiar_.find(word, base::hash_bytes(word)) != base::InternTable::kNone;
}

bool WordMeter::familiar(std::string_view folded) const {
  if (listed(folded)) return true;
  std::string stem;
  for (const Ending& ending : endings_) {
    if (folded.size() <= ending.suffix.size() || !folded.ends_with(ending.suffix)) continue;
    stem.assign(folded.substr(0, folded.size() - ending.suffix.size()));
    const std::size_t n = stem.size();
    if (listed(stem + ending.replacement)) return true;
    if (ending.replacement.empty() && n > 2 && stem[n - 1] == stem[n - 2] && listed(stem.substr(0, n - 1))) return true;
  }
  const std::size_t hyphen = folded.find('-');
  if (hyphen == std::string_view::npos || hyphen == 0 || hyphen + 1 == folded.size()) return false;
  return familiar(folded.substr(0, hyphen)) && familiar(folded.substr(hyphen + 1));
}

WordFacts WordMeter::facts(std::string_view folded) const {
  WordFacts facts{0, 0, false, true, true};
  bool letter = false, first = true, clitic = folded == "n't" || folded == "n\u2019t";
  for_each_point(folded, [&](char32_t c) {
    clitic |= first && is_apostrophe(c);
    first = false;
    facts.letters += corpus::properties(c).letter_or_number();
    letter |= corpus::properties(c).letter();
  });
  facts.word = facts.letters > 0 && !clitic;
  if (facts.letters > 0) facts.syllables = syllables(folded);
  facts.number = !letter;
  if (letter) facts.familiar = familiar(folded);
  return facts;
}

void count_texts(const WordMeter& meter, std::span<const corpus::Text> texts,
                 std::span<const std::u32string> abbreviations, std::span<TextCounts> out, std::size_t threads) {
  for (std::size_t d = 0; d < texts.size(); ++d) corpus::require_no_surrogate(texts[d], d);
  base::parallel_blocks(texts.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    KnownWords words(meter);
    std::vector<std::size_t> seen;  // by word: the last text with it, plus one
    std::vector<corpus::Span> sentences;
    corpus::TokenBuffer buffer;
    const corpus::WordRules rules;
    for (std::size_t d = begin; d < end; ++d) {
      TextCounts counts;
      corpus::split_sentences(texts[d], abbreviations, sentences);
      std::size_t sentence = 0, last = std::numeric_limits<std::size_t>::max();
      corpus::visit(texts[d], [&](auto units) {
        corpus::scan_words(units, rules, [&](std::size_t from, std::size_t to) {
          while (sentence < sentences.size() && sentences[sentence].end <= from) ++sentence;
          const std::size_t used = corpus::detail::append(units, from, to, true, false, buffer, 0);
          const std::uint32_t id = words.id({buffer.bytes.data(), used});
          const WordFacts& facts = words[id];
          if (!facts.number && sentence != last) {
            ++counts.sentences;
            last = sentence;
          }
          seen.resize(words.size());
          ++counts.words;
          counts.syllables += facts.syllables;
          counts.letters += facts.letters;
          counts.polysyllables += facts.syllables >= kPolysyllable;
          counts.long_words += facts.letters >= kLongWord;
          if (facts.familiar) return;
          ++counts.difficult;
          counts.difficult_types += seen[id] != d + 1;
          seen[id] = d + 1;
        });
      });
      if (counts.sentences == 0 && counts.words > 0) counts.sentences = 1;  // of numbers alone
      out[d] = counts;
    }
  });
}

}  // namespace textmill::tasks
