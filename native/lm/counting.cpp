#include "lm/counting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"

namespace textmill::lm {
namespace {

using base::Bulk;
using Key = std::uint64_t;  // number of the parent, then the word: keys of one level sort as its nodes do

constexpr std::size_t kBuckets = 64;      // stretches of keys that are sorted apart
constexpr std::size_t kSampled = 32;      // keys looked at for each border between buckets
constexpr std::size_t kPlaces = 1 << 14;  // of a text whose families are sorted by one thread
constexpr std::size_t kShort = 24;        // keys that are sorted by insertion, or
constexpr std::size_t kLong = 1024;       // digit by digit
constexpr unsigned kDigit = 11;           // bits
constexpr std::size_t kLastDigit = (std::size_t{1} << kDigit) - 1;
constexpr std::size_t kAhead = 16;        // places that are fetched before they are looked at
constexpr std::size_t kBlock = 4096;      // keys, or
constexpr std::size_t kSentences = 1024;  // sentences handed to a thread at once
constexpr std::size_t kMostCuts = 8;      // stretches of a text whose words are counted apart

Key key_of(std::int32_t parent, std::int32_t word) {
  return static_cast<Key>(static_cast<std::uint32_t>(parent)) << 32 | static_cast<std::uint32_t>(word);
}

struct Group {
  std::vector<Key> keys;            // distinct, rising
  std::vector<std::int64_t> count;  // per key
  std::vector<std::uint32_t> of;    // per item the number of its key
};

// Gathers items of equal key; weight (empty: all 1) is added up. Work is cut by the keys: bytes never depend on threads.
Group gather(std::span<const Key> keys, std::span<const std::int64_t> weight, std::size_t threads) {
  struct Item {
    Key key;
    std::uint32_t at;
  };
  const std::size_t n = keys.size();
  std::vector<Key> borders;
  if (n > kBuckets * kSampled) {
    std::vector<Key> sampled(kBuckets * kSampled);
    for (std::size_t i = 0; i < sampled.size(); ++i) sampled[i] = keys[i * (n / sampled.size())];
    std::sort(sampled.begin(), sampled.end());
    for (std::size_t b = 1; b < kBuckets; ++b) borders.push_back(sampled[b * kSampled]);
  }
  std::vector<std::uint8_t> bucket(n);
  base::parallel_blocks(n, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      bucket[i] =
          static_cast<std::uint8_t>(std::upper_bound(borders.begin(), borders.end(), keys[i]) - borders.begin());
  });
  std::vector<std::size_t> start(kBuckets + 1, 0);
  for (const std::uint8_t b : bucket) ++start[b + 1];
  for (std::size_t b = 0; b < kBuckets; ++b) start[b + 1] += start[b];
  std::vector<Item> items(n);
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t i = 0; i < n; ++i) items[next[bucket[i]]++] = {keys[i], static_cast<std::uint32_t>(i)};

  std::vector<std::size_t> distinct(kBuckets + 1, 0);
  base::parallel_for(kBuckets, threads, [&](std::size_t b) {
    const std::span<Item> mine(items.data() + start[b], start[b + 1] - start[b]);
    std::sort(mine.begin(), mine.end(), [](const Item& x, const Item& y) { return x.key < y.key; });
    for (std::size_t i = 0; i < mine.size(); ++i) distinct[b + 1] += i == 0 || mine[i].key != mine[i - 1].key;
  });
  for (std::size_t b = 0; b < kBuckets; ++b) distinct[b + 1] += distinct[b];
  Group group{std::vector<Key>(distinct.back()), std::vector<std::int64_t>(distinct.back(), 0),
              std::vector<std::uint32_t>(n)};
  base::parallel_for(kBuckets, threads, [&](std::size_t b) {
    std::size_t at = distinct[b];
    for (std::size_t i = start[b]; i < start[b + 1]; ++i) {
      if (i > start[b] && items[i].key != items[i - 1].key) ++at;
      group.keys[at] = items[i].key;
      group.count[at] += weight.empty() ? 1 : weight[items[i].at];
      group.of[items[i].at] = static_cast<std::uint32_t>(at);
    }
  });
  return group;
}

// A tree of its first two levels; words have count 0.
Counted seedling(std::size_t words) {
  if (words + 1 > kMostNodes) throw std::length_error("more than 2,147,483,646 words");
  Counted made;
  made.level = {0, 1};
  made.word.resize(words + 1);
  made.count.assign(words + 1, 0);
  made.word[0] = -1;
  for (std::size_t w = 0; w < words; ++w) made.word[1 + w] = static_cast<std::int32_t>(w);
  made.first = {1};
  return made;
}

// Adds a level; keys are those of its nodes.
void grow(Counted& made, const Group& group) {
  const auto begin = static_cast<std::size_t>(made.level.back()), end = made.word.size();  // of the level above
  if (end + group.keys.size() > kMostNodes) throw std::length_error("more than 2,147,483,647 n-grams");
  made.level.push_back(static_cast<std::int64_t>(end));
  std::size_t at = 0;
  for (std::size_t node = begin; node < end; ++node) {
    made.first.push_back(static_cast<std::int32_t>(end + at));
    for (; at < group.keys.size() && group.keys[at] >> 32 == node; ++at) {
      made.word.push_back(static_cast<std::int32_t>(group.keys[at] & 0xFFFFFFFF));
      made.count.push_back(group.count[at]);
    }
  }
}

// Where the n-grams of one level stand in a text: those of its i-th node are place[start[i]] ... place[start[i + 1] - 1].
struct Families {
  Bulk<std::uint32_t> place;
  Bulk<std::uint32_t> start;
};

// Room that all levels use in turn.
struct Scratch {
  Bulk<Key> keys;             // [places] the word, then the place, of the places that go on
  Bulk<std::int32_t> word;    // [places] of the new nodes
  Bulk<std::uint32_t> count;  // [places]
  Bulk<std::uint32_t> first;  // [parents] number of the first new node within its block
};

// Sorts keys whose places rise already, and whose words have `bits` bits: a few by insertion, many digit by digit.
void sort_keys(std::span<Key> keys, unsigned bits, std::vector<Key>& spare) {
  if (keys.size() <= kShort) {
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const Key key = keys[i];
      std::size_t at = i;
      for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
      keys[at] = key;
    }
    return;
  }
  if (keys.size() < kLong) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  spare.resize(keys.size());
  std::span<Key> from = keys, to = spare;
  for (unsigned done = 0; done < bits; done += kDigit) {
    const auto digit = [shift = 32 + done](Key key) { return static_cast<std::size_t>(key >> shift) & kLastDigit; };
    std::array<std::uint32_t, kLastDigit + 2> next{};
    for (const Key key : from) ++next[digit(key) + 1];
    for (std::size_t d = 0; d < kLastDigit; ++d) next[d + 1] += next[d];
    for (const Key key : from) to[next[digit(key)]++] = key;
    std::swap(from, to);
  }
  if (from.data() != keys.data()) std::copy(from.begin(), from.end(), keys.begin());
}

// Adds the level of n-grams to a tree whose last level are the (n - 1)-grams of the families, which become those of the
// new level. Each family is sorted apart by the word that follows. Blocks are cut by places: bytes never depend on threads.
void split(Counted& made, std::span<const std::int32_t> text, std::size_t words, std::size_t n, Families& families,
           Scratch& scratch, std::size_t threads) {
  struct Part {
    std::size_t parent;  // the first one
    std::size_t place;   // the first one, where its stretch of the scratch begins
    std::size_t items = 0, nodes = 0;
    std::size_t item = 0, node = 0;  // the first ones of the new level
  };
  const auto begin = static_cast<std::size_t>(made.level.back()), end = made.word.size();  // of the level above
  const std::size_t places = families.place.size(), blocks = places / kPlaces + 1;
  const auto bits = static_cast<unsigned>(std::bit_width(words - 1));
  std::vector<Part> parts;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto at = std::lower_bound(families.start.begin(), families.start.end() - 1, b * kPlaces);
    parts.push_back({static_cast<std::size_t>(at - families.start.begin()), *at});
  }
  parts.push_back({end - begin, places});
  scratch.first.clear();
  scratch.first.resize(end - begin);
  base::parallel_for(blocks, threads, [&](std::size_t b) {
    Part& part = parts[b];
    Key* const keys = scratch.keys.data() + part.place;
    std::int32_t* const word = scratch.word.data() + part.place;
    std::uint32_t* const count = scratch.count.data() + part.place;
    std::vector<Key> spare;
    std::size_t items = 0, nodes = 0;
    for (std::size_t p = part.parent; p < parts[b + 1].parent; ++p) {
      const std::size_t family = items;
      for (std::size_t i = families.start[p]; i < families.start[p + 1]; ++i) {
        if (i + kAhead < places) __builtin_prefetch(text.data() + families.place[i + kAhead] + n - 1);
        const std::uint32_t place = families.place[i];
        if (text[place + n - 2] < 0) continue;
        const std::int32_t next = text[place + n - 1];
        keys[items++] = key_of(next < 0 ? ~next : next, static_cast<std::int32_t>(place));
      }
      sort_keys({keys + family, items - family}, bits, spare);
      scratch.first[p] = static_cast<std::uint32_t>(nodes);
      for (std::size_t i = family; i < items; ++i) {
        const auto next = static_cast<std::int32_t>(keys[i] >> 32);
        if (i == family || next != word[nodes - 1]) {
          word[nodes] = next;
          count[nodes++] = 0;
        }
        ++count[nodes - 1];
      }
    }
    part.items = items;
    part.nodes = nodes;
  });
  parts[0].node = end;
  for (std::size_t b = 0; b < blocks; ++b) {
    parts[b + 1].node = parts[b].node + parts[b].nodes;
    parts[b + 1].item = parts[b].item + parts[b].items;
  }
  const Part& last = parts.back();
  if (last.node > kMostNodes) throw std::length_error("more than 2,147,483,647 n-grams");
  made.level.push_back(static_cast<std::int64_t>(end));
  made.first.resize(end);
  made.word.resize(last.node);
  made.count.resize(last.node);
  families.place.resize(last.item);
  families.start.resize(last.node - end + 1);
  families.start.back() = static_cast<std::uint32_t>(last.item);
  base::parallel_for(blocks, threads, [&](std::size_t b) {
    const Part& part = parts[b];
    std::copy_n(scratch.word.begin() + static_cast<std::ptrdiff_t>(part.place), part.nodes,
                made.word.begin() + static_cast<std::ptrdiff_t>(part.node));
    for (std::size_t p = part.parent; p < parts[b + 1].parent; ++p)
      made.first[begin + p] = static_cast<std::int32_t>(part.node + scratch.first[p]);
    for (std::size_t i = 0; i < part.items; ++i)
      families.place[part.item + i] = static_cast<std::uint32_t>(scratch.keys[part.place + i]);
    auto at = static_cast<std::uint32_t>(part.item);
    for (std::size_t i = 0; i < part.nodes; ++i) {
      const std::uint32_t times = scratch.count[part.place + i];
      families.start[part.node - end + i] = at;
      made.count[part.node + i] = times;
      at += times;
    }
  });
}

// The families of single words, and their counts. The text is cut into stretches whose words are counted apart; the
// result does not depend on where.
Families sort_words(Counted& made, std::span<const std::int32_t> text, std::size_t words, std::size_t threads) {
  const std::size_t size = text.size();
  const std::size_t cuts = std::clamp<std::size_t>(size / (4 * words), 1, std::min(threads, kMostCuts));
  const auto word_at = [&](std::size_t i) { return static_cast<std::size_t>(text[i] < 0 ? ~text[i] : text[i]); };
  Families families{Bulk<std::uint32_t>(size), Bulk<std::uint32_t>(words + 1)};
  std::vector<Bulk<std::uint32_t>> next(cuts);  // per stretch and word: first how many, then where the next place goes
  base::parallel_for(cuts, threads, [&](std::size_t c) {
    next[c].assign(words, 0);
    for (std::size_t i = size * c / cuts; i < size * (c + 1) / cuts; ++i) ++next[c][word_at(i)];
  });
  std::uint32_t at = 0;
  for (std::size_t w = 0; w < words; ++w) {
    families.start[w] = at;
    for (std::size_t c = 0; c < cuts; ++c) at += std::exchange(next[c][w], at);
    made.count[1 + w] = at - families.start[w];
  }
  families.start[words] = at;
  base::parallel_for(cuts, threads, [&](std::size_t c) {
    for (std::size_t i = size * c / cuts; i < size * (c + 1) / cuts; ++i)
      families.place[next[c][word_at(i)]++] = static_cast<std::uint32_t>(i);
  });
  return families;
}

void close(Counted& made) {
  made.first.push_back(static_cast<std::int32_t>(made.word.size()));
  made.level.push_back(static_cast<std::int64_t>(made.word.size()));
}

}  // namespace

Counted count(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens, std::size_t order,
              std::size_t words, std::int32_t begin, std::int32_t end, std::size_t threads) {
  Counted made = seedling(words);
  const std::size_t sentences = offsets.size() - 1, size = tokens.size() + 2 * sentences;
  if (size > kMostNodes) throw std::length_error("more than 2,147,483,647 tokens at once");
  Bulk<std::int32_t> text(size);  // with start and end symbols; ~w where a sentence ends
  base::parallel_blocks(sentences, kSentences, threads, [&](std::size_t from, std::size_t to) {
    auto at = text.begin() + offsets[from] + static_cast<std::ptrdiff_t>(2 * from);
    for (std::size_t s = from; s < to; ++s) {
      *at = begin;
      at = std::copy(tokens.begin() + offsets[s], tokens.begin() + offsets[s + 1], at + 1);
      *at++ = ~end;
    }
  });
  Families families = sort_words(made, text, words, threads);
  Scratch scratch;
  if (order > 1) scratch = {Bulk<Key>(size), Bulk<std::int32_t>(size), Bulk<std::uint32_t>(size), {}};
  for (std::size_t n = 2; n <= order; ++n) split(made, text, words, n, families, scratch, threads);
  close(made);
  return made;
}

Counted combine(std::span<const Counted* const> trees, std::span<const std::span<const std::int32_t>> rename,
                std::size_t words, std::size_t threads) {
  Counted made = seedling(words);
  std::vector<std::vector<std::int32_t>> number(trees.size());  // of the old nodes in the new tree
  for (std::size_t t = 0; t < trees.size(); ++t) {
    number[t].resize(trees[t]->word.size());
    number[t][0] = 0;
    for (std::size_t w = 0; w < rename[t].size(); ++w) {
      number[t][1 + w] = 1 + rename[t][w];
      made.count[static_cast<std::size_t>(1 + rename[t][w])] += trees[t]->count[1 + w];
    }
  }
  const std::size_t order = trees[0]->tree().order();
  for (std::size_t n = 2; n <= order; ++n) {
    std::vector<Key> keys;
    std::vector<std::int64_t> weight;
    for (std::size_t t = 0; t < trees.size(); ++t) {
      const Counted& old = *trees[t];
      for (auto v = static_cast<std::size_t>(old.level[n - 1]); v < static_cast<std::size_t>(old.level[n]); ++v) {
        for (std::int32_t c = old.first[v]; c < old.first[v + 1]; ++c) {
          keys.push_back(key_of(number[t][v], rename[t][static_cast<std::size_t>(old.word[c])]));
          weight.push_back(old.count[c]);
        }
      }
    }
    if (keys.size() > kMostNodes) throw std::length_error("more than 2,147,483,647 n-grams");
    const Group group = gather(keys, weight, threads);
    const auto base = static_cast<std::int64_t>(made.word.size());
    grow(made, group);
    std::size_t at = 0;
    for (std::size_t t = 0; t < trees.size(); ++t)
      for (auto v = static_cast<std::size_t>(trees[t]->level[n]); v < static_cast<std::size_t>(trees[t]->level[n + 1]);
           ++v)
        number[t][v] = static_cast<std::int32_t>(base + group.of[at++]);
  }
  close(made);
  return made;
}

}  // namespace textmill::lm
