#include "tasks/readability.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

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
  WordFacts facts{0, 0, false, true};
  bool letter = false, first = true, clitic = folded == "n't" || folded == "n\u2019t";
  for_each_point(folded, [&](char32_t c) {
    clitic |= first && is_apostrophe(c);
    first = false;
    facts.letters += corpus::properties(c).letter_or_number();
    letter |= corpus::properties(c).letter();
  });
  facts.word = facts.letters > 0 && !clitic;
  if (facts.letters > 0) facts.syllables = syllables(folded);
  if (letter) facts.familiar = familiar(folded);
  return facts;
}

void count_texts(const WordMeter& meter, std::span<const corpus::Text> texts, std::span<TextCounts> out,
                 std::size_t threads) {
  for (std::size_t d = 0; d < texts.size(); ++d) corpus::require_no_surrogate(texts[d], d);
  base::parallel_blocks(texts.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    KnownWords words(meter);
    std::vector<std::size_t> seen;  // by word: the last text with it, plus one
    std::vector<corpus::Span> sentences;
    corpus::TokenBuffer buffer;
    const corpus::WordRules rules;
    for (std::size_t d = begin; d < end; ++d) {
      TextCounts counts;
      corpus::split_sentences(texts[d], {}, sentences);
      std::size_t sentence = 0, last = std::numeric_limits<std::size_t>::max();
      corpus::visit(texts[d], [&](auto units) {
        corpus::scan_words(units, rules, [&](std::size_t from, std::size_t to) {
          while (sentence < sentences.size() && sentences[sentence].end <= from) ++sentence;
          counts.sentences += sentence != last;
          last = sentence;
          const std::size_t used = corpus::detail::append(units, from, to, true, false, buffer, 0);
          const std::uint32_t id = words.id({buffer.bytes.data(), used});
          const WordFacts& facts = words[id];
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
      out[d] = counts;
    }
  });
}

void tally(const Layout& layout, std::span<const std::int32_t> type, std::size_t types,
           std::span<const std::uint32_t> mask, std::size_t classes, std::span<std::int64_t> out, std::size_t threads) {
  struct Seen {
    std::int64_t document = -1, sentence = -1;
    std::uint32_t in_document = 0, in_sentence = 0;
  };
  base::parallel_blocks(layout.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Seen> seen(types);
    for (std::size_t d = begin; d < end; ++d) {
      std::int64_t* const sums = out.data() + d * classes * 3;
      std::fill(sums, sums + classes * 3, 0);
      for (std::int64_t s = layout.documents[d]; s < layout.documents[d + 1]; ++s) {
        for (std::int64_t t = layout.sentences[s]; t < layout.sentences[s + 1]; ++t) {
          const std::uint32_t bits = mask[t];
          if (bits == 0) continue;
          Seen& place = seen[static_cast<std::size_t>(type[t])];
          if (place.document != static_cast<std::int64_t>(d)) place.in_document = 0;
          if (place.sentence != s) place.in_sentence = 0;
          place.document = static_cast<std::int64_t>(d);
          place.sentence = s;
          for (std::size_t c = 0; c < classes; ++c) {
            const std::uint32_t bit = std::uint32_t{1} << c;
            if (!(bits & bit)) continue;
            ++sums[3 * c];
            sums[3 * c + 1] += !(place.in_document & bit);
            sums[3 * c + 2] += !(place.in_sentence & bit);
          }
          place.in_document |= bits;
          place.in_sentence |= bits;
        }
      }
    }
  });
}

void grid(const Mentions& mentions, std::span<const std::int32_t> sentences, std::int32_t salience,
          std::span<double> out, std::size_t threads) {
  constexpr std::uint8_t kAbsent = 3;
  base::parallel_blocks(sentences.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> count;
    std::vector<std::uint8_t> cells;
    for (std::size_t d = begin; d < end; ++d) {
      const auto from = static_cast<std::size_t>(mentions.offsets[d]),
                 to = static_cast<std::size_t>(mentions.offsets[d + 1]);
      const auto S = static_cast<std::size_t>(sentences[d]);
      std::int32_t entities = 0;
      for (std::size_t m = from; m < to; ++m) entities = std::max(entities, mentions.entity[m] + 1);
      count.assign(static_cast<std::size_t>(entities), 0);
      cells.assign(static_cast<std::size_t>(entities) * S, kAbsent);
      for (std::size_t m = from; m < to; ++m) {
        const auto e = static_cast<std::size_t>(mentions.entity[m]);
        ++count[e];
        std::uint8_t& cell = cells[e * S + static_cast<std::size_t>(mentions.sentence[m])];
        cell = std::min(cell, static_cast<std::uint8_t>(mentions.role[m]));
      }
      std::array<std::int64_t, 16> pairs{};
      std::int64_t total = 0;
      for (std::size_t e = 0; e < count.size(); ++e) {
        if (count[e] < salience) continue;
        for (std::size_t s = 0; s + 1 < S; ++s, ++total) ++pairs[4 * cells[e * S + s] + cells[e * S + s + 1]];
      }
      for (std::size_t k = 0; k < 16; ++k)
        out[16 * d + k] = total > 0 ? static_cast<double>(pairs[k]) / static_cast<double>(total)
                                    : std::numeric_limits<double>::quiet_NaN();
    }
  });
}

void chain_figures(const Members& members, std::span<const std::int32_t> words,
                   std::span<const std::int64_t> mark_offsets, std::span<const std::int32_t> marks,
                   std::span<double> out, std::size_t threads) {
  struct Chain {
    std::int32_t first = std::numeric_limits<std::int32_t>::max(), last = -1;
    std::int64_t size = 0, pronouns = 0, distance = 0;
  };
  base::parallel_blocks(words.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Chain> chains;
    std::vector<std::size_t> order;
    std::vector<std::int64_t> active;
    for (std::size_t d = begin; d < end; ++d) {
      const auto from = static_cast<std::size_t>(members.offsets[d]),
                 to = static_cast<std::size_t>(members.offsets[d + 1]);
      double* const row = out.data() + d * kChainFigures;
      std::fill(row, row + kChainFigures, 0.0);
      std::int32_t number = 0;
      order.clear();
      for (std::size_t m = from; m < to; ++m) {
        number = std::max(number, members.chain[m] + 1);
        if (members.chain[m] >= 0) order.push_back(m);
      }
      if (number == 0) continue;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return members.position[a] < members.position[b]; });
      chains.assign(static_cast<std::size_t>(number), {});
      std::vector<std::int32_t> referent(chains.size(), -1);
      for (const std::size_t m : order) {
        const auto c = static_cast<std::size_t>(members.chain[m]);
        Chain& chain = chains[c];
        chain.first = std::min(chain.first, members.position[m]);
        chain.last = std::max(chain.last, members.position[m]);
        ++chain.size;
        if (!members.pronoun[m]) {
          referent[c] = members.position[m];
        } else if (referent[c] >= 0) {
          ++chain.pronouns;
          chain.distance += members.position[m] - referent[c];
        }
      }
      const auto n = static_cast<std::size_t>(words[d]);
      active.assign(n + 1, 0);
      double sizes = 0, spans = 0, distances = 0, within = 0;
      std::int64_t wide = 0, inferring = 0;
      for (const Chain& chain : chains) {
        const std::int32_t span = chain.last - chain.first;
        sizes += static_cast<double>(chain.size);
        spans += span;
        wide += 2 * static_cast<std::int64_t>(span) >= static_cast<std::int64_t>(n);
        within += span + 1;
        ++active[static_cast<std::size_t>(chain.first)];
        --active[static_cast<std::size_t>(chain.last) + 1];
        if (chain.pronouns == 0) continue;
        ++inferring;
        distances += static_cast<double>(chain.distance) / static_cast<double>(chain.pronouns);
      }
      std::partial_sum(active.begin(), active.end(), active.begin());
      std::int64_t at_marks = 0;
      for (std::int64_t m = mark_offsets[d]; m < mark_offsets[d + 1]; ++m)
        at_marks += active[static_cast<std::size_t>(marks[m])];
      const std::int64_t places = mark_offsets[d + 1] - mark_offsets[d];
      const double k = number;
      row[0] = k;
      row[1] = sizes / k;
      row[2] = spans / k;
      row[3] = static_cast<double>(wide);
      row[4] = within / static_cast<double>(n);
      row[5] = places > 0 ? static_cast<double>(at_marks) / static_cast<double>(places) : 0.0;
      row[6] = inferring > 0 ? distances / static_cast<double>(inferring) : 0.0;
    }
  });
}

namespace {

enum Relation { kSynonym, kHypernym, kSibling };

// Weights of Galley & McKeown (2003) by relation and distance: a sentence, three, the paragraph, further.
double link_weight(Relation relation, std::int32_t sentences, bool same_paragraph) {
  constexpr double table[3][4] = {{1.0, 1.0, 0.5, 0.5}, {1.0, 0.5, 0.3, 0.3}, {1.0, 0.3, 0.2, 0.0}};
  return table[relation][sentences <= 1 ? 0 : sentences <= 3 ? 1 : same_paragraph ? 2 : 3];
}

// The chains of one document.
class Chainer {
 public:
  explicit Chainer(const Senses& senses) : senses_(senses) {}

  void run(std::span<const std::int32_t> noun, std::span<const std::int32_t> sentence,
           std::span<const std::int32_t> paragraph, std::span<std::int32_t> chain) {
    local_.clear();
    items_.clear();
    with_sense_.clear();
    with_above_.clear();
    links_.clear();
    own_.resize(noun.size());
    for (std::size_t i = 0; i < noun.size(); ++i) add(i, noun[i], sentence[i], paragraph[i]);
    settle(chain);
  }

 private:
  struct Item {  // a noun of the document
    std::int32_t noun, sentence, paragraph;
    std::size_t root, occurrences;
    std::vector<double> score;  // of its senses
    std::size_t chosen = 0;
  };
  struct Reading {  // a noun in one of its senses
    std::size_t item, sense;
  };
  struct Link {
    Reading from, to;
  };

  std::span<const std::int32_t> senses_of(std::int32_t noun) const {
    const auto from = static_cast<std::size_t>(senses_.noun_offsets[noun]),
               to = static_cast<std::size_t>(senses_.noun_offsets[noun + 1]);
    return senses_.senses.subspan(from, to - from);
  }
  std::span<const std::int32_t> above(std::int32_t sense) const {
    const auto from = static_cast<std::size_t>(senses_.above_offsets[sense]),
               to = static_cast<std::size_t>(senses_.above_offsets[sense + 1]);
    return senses_.above.subspan(from, to - from);
  }

  void add(std::size_t i, std::int32_t noun, std::int32_t sentence, std::int32_t paragraph) {
    const auto [place, fresh] = local_.try_emplace(noun, items_.size());
    const std::size_t n = place->second;
    own_[i] = n;
    const auto own = senses_of(noun);
    if (fresh) items_.push_back({noun, sentence, paragraph, n, 0, std::vector<double>(own.size(), 0.0)});
    for (std::size_t k = 0; k < own.size(); ++k) {
      link(with_sense_, own[k], {n, k}, kSynonym, sentence, paragraph);
      link(with_above_, own[k], {n, k}, kHypernym, sentence, paragraph);
      for (const std::int32_t h : above(own[k])) {
        link(with_sense_, h, {n, k}, kHypernym, sentence, paragraph);
        link(with_above_, h, {n, k}, kSibling, sentence, paragraph);
      }
    }
    if (fresh) {
      for (std::size_t k = 0; k < own.size(); ++k) {
        with_sense_[own[k]].push_back({n, k});
        for (const std::int32_t h : above(own[k])) with_above_[h].push_back({n, k});
      }
    }
    ++items_[n].occurrences;
    items_[n].sentence = sentence;
    items_[n].paragraph = paragraph;
  }

  void link(const std::unordered_map<std::int32_t, std::vector<Reading>>& index, std::int32_t key, Reading from,
            Relation relation, std::int32_t sentence, std::int32_t paragraph) {
    const auto place = index.find(key);
    if (place == index.end()) return;
    for (const Reading to : place->second) {
      if (to.item == from.item) continue;  // a noun that comes again says nothing about its sense
      const Item& earlier = items_[to.item];
      const double w = link_weight(relation, sentence - earlier.sentence, paragraph == earlier.paragraph);
      if (w == 0.0) continue;
      items_[from.item].score[from.sense] += w;
      items_[to.item].score[to.sense] += w;
      links_.push_back({from, to});
    }
  }

  std::size_t root(std::size_t item) {
    while (items_[item].root != item) item = items_[item].root = items_[items_[item].root].root;
    return item;
  }

  void settle(std::span<std::int32_t> chain) {
    for (Item& item : items_)
      item.chosen =
          static_cast<std::size_t>(std::max_element(item.score.begin(), item.score.end()) - item.score.begin());
    for (const Link& link : links_) {
      if (items_[link.from.item].chosen != link.from.sense || items_[link.to.item].chosen != link.to.sense) continue;
      const std::size_t a = root(link.from.item), b = root(link.to.item);
      items_[std::max(a, b)].root = std::min(a, b);
    }
    std::vector<std::size_t> size(items_.size(), 0);
    for (std::size_t n = 0; n < items_.size(); ++n) size[root(n)] += items_[n].occurrences;
    std::vector<std::int32_t> number(items_.size(), -1);
    std::int32_t chains = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const std::size_t r = root(own_[i]);
      if (size[r] < 2) {
        chain[i] = -1;
        continue;
      }
      if (number[r] < 0) number[r] = chains++;
      chain[i] = number[r];
    }
  }

  const Senses& senses_;
  std::unordered_map<std::int32_t, std::size_t> local_;
  std::unordered_map<std::int32_t, std::vector<Reading>> with_sense_, with_above_;
  std::vector<Item> items_;
  std::vector<Link> links_;
  std::vector<std::size_t> own_;  // item of each occurrence
};

}  // namespace

void lexical_chains(const Nouns& nouns, const Senses& senses, std::span<std::int32_t> chain, std::size_t threads) {
  base::parallel_blocks(nouns.offsets.size() - 1, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Chainer chainer(senses);
    for (std::size_t d = begin; d < end; ++d) {
      const auto from = static_cast<std::size_t>(nouns.offsets[d]);
      const auto n = static_cast<std::size_t>(nouns.offsets[d + 1]) - from;
      chainer.run(nouns.noun.subspan(from, n), nouns.sentence.subspan(from, n), nouns.paragraph.subspan(from, n),
                  chain.subspan(from, n));
    }
  });
}

void tree_sums(const Nodes& nodes, const Layout& layout, std::span<const std::int32_t> letters,
               std::span<const std::uint8_t> word, std::span<double> out, std::size_t threads) {
  base::parallel_blocks(layout.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> depth;
    std::vector<double> words_before, letters_before;
    for (std::size_t d = begin; d < end; ++d) {
      double* const row = out.data() + d * kTreeSums;
      std::fill(row, row + kTreeSums, 0.0);
      for (std::int64_t s = layout.documents[d]; s < layout.documents[d + 1]; ++s) {
        const std::int64_t token = layout.sentences[s], tokens = layout.sentences[s + 1] - token;
        words_before.assign(1, 0.0);
        letters_before.assign(1, 0.0);
        for (std::int64_t t = token; t < token + tokens; ++t) {
          words_before.push_back(words_before.back() + (word[t] ? 1.0 : 0.0));
          letters_before.push_back(letters_before.back() + (word[t] ? letters[t] : 0));
        }
        const auto from = static_cast<std::size_t>(nodes.offsets[s]),
                   to = static_cast<std::size_t>(nodes.offsets[s + 1]);
        depth.assign(to - from, 0);
        std::int32_t height = 0;
        for (std::size_t v = from; v < to; ++v) {
          if (nodes.parent[v] >= 0) depth[v - from] = depth[static_cast<std::size_t>(nodes.parent[v])] + 1;
          height = std::max(height, depth[v - from] + 1);
          const std::uint8_t label = nodes.label[v];
          if (label == kNoun || label == kPreterminal) continue;
          ++row[2];
          if (label == kSbar || label == kClause) ++row[15];
          if (label < kSbar || label > kPp) continue;
          const auto first = static_cast<std::size_t>(nodes.first[v]), last = static_cast<std::size_t>(nodes.last[v]);
          double* const sums = row + 3 + 3 * (label - kSbar);
          ++sums[0];
          sums[1] += words_before[last] - words_before[first];
          sums[2] += letters_before[last] - letters_before[first];
        }
        row[0] += to > from;
        row[1] += height;
      }
    }
  });
}

void tree_roles(const Nodes& nodes, const Layout& layout, std::span<std::uint8_t> role) {
  std::fill(role.begin(), role.end(), std::uint8_t{2});
  std::vector<std::int32_t> noun, phrase;  // of each node: its last noun, its first noun phrase
  for (std::size_t s = 0; s + 1 < layout.sentences.size(); ++s) {
    const auto from = static_cast<std::size_t>(nodes.offsets[s]), to = static_cast<std::size_t>(nodes.offsets[s + 1]);
    noun.assign(to - from, -1);
    phrase.assign(to - from, -1);
    for (std::size_t v = from; v < to; ++v) {
      if (nodes.parent[v] < 0) continue;
      const auto above = static_cast<std::size_t>(nodes.parent[v]);
      if (nodes.label[v] == kNoun) noun[above] = nodes.first[v];
      if (nodes.label[v] == kNp && phrase[above] < 0) phrase[above] = static_cast<std::int32_t>(v - from);
    }
    for (std::size_t v = from; v < to; ++v) {
      if (nodes.label[v] != kNp || nodes.parent[v] < 0) continue;
      const std::uint8_t above = nodes.label[from + static_cast<std::size_t>(nodes.parent[v])];
      if (above != kClause && above != kVp) continue;
      auto at = static_cast<std::int32_t>(v - from);
      while (at >= 0 && noun[static_cast<std::size_t>(at)] < 0) at = phrase[static_cast<std::size_t>(at)];
      if (at < 0) continue;
      std::uint8_t& own = role[static_cast<std::size_t>(layout.sentences[s] + noun[static_cast<std::size_t>(at)])];
      own = std::min(own, static_cast<std::uint8_t>(above == kClause ? 0 : 1));
    }
  }
}

}  // namespace textmill::tasks
