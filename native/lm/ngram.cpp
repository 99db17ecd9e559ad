#include "lm/ngram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"

namespace textmill::lm {
namespace {

using Key = std::uint64_t;  // number of the parent, then the word: keys of one level sort as its nodes do

constexpr std::size_t kBuckets = 64;      // stretches of keys that are sorted apart
constexpr std::size_t kSampled = 32;      // keys looked at for each border between buckets
constexpr std::size_t kPlaces = 1 << 14;  // of a text whose families are sorted by one thread
constexpr std::size_t kShort = 24;        // keys that are sorted by insertion
constexpr std::size_t kAhead = 16;        // places that are fetched before they are looked at
constexpr std::size_t kBlock = 4096;      // nodes, or
constexpr std::size_t kSentences = 256;   // sentences handed to a thread at once
constexpr std::size_t kTries = 1000;      // words drawn before all are weighed one by one
constexpr std::size_t kMostNodes = std::numeric_limits<std::int32_t>::max();

Key key_of(std::int32_t parent, std::int32_t word) {
  return static_cast<Key>(static_cast<std::uint32_t>(parent)) << 32 | static_cast<std::uint32_t>(word);
}

// The length of the n-gram of a node.
std::int8_t length_of(const Tree& tree, std::int32_t node) {
  std::int8_t n = 1;
  while (node >= tree.level[static_cast<std::size_t>(n + 1)]) ++n;
  return n;
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
  std::vector<std::uint32_t> place;
  std::vector<std::uint32_t> start;
};

void sort_keys(std::span<Key> keys) {
  if (keys.size() > kShort) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const Key key = keys[i];
    std::size_t at = i;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

// Adds the level of n-grams to a tree whose last level are the (n - 1)-grams of the families, and returns its families.
// Each family is sorted apart by the word that follows, and most families of long n-grams have one member. Blocks are
// cut by places: bytes never depend on threads.
Families split(Counted& made, std::span<const std::int32_t> text, std::size_t n, Families&& above,
               std::size_t threads) {
  struct Part {
    std::vector<Key> keys;           // of the places that go on: the word, then the place
    std::vector<std::int32_t> word;  // of the new nodes
    std::vector<std::uint32_t> count;
    std::vector<std::uint32_t> first;  // new node of each parent
  };
  const auto begin = static_cast<std::size_t>(made.level.back()), end = made.word.size();  // of the level above
  const std::size_t blocks = above.place.size() / kPlaces + 1;
  std::vector<std::size_t> parent(blocks + 1, end - begin), node(blocks + 1, end),
      item(blocks + 1, 0);  // first of each
  for (std::size_t b = 0; b < blocks; ++b)
    parent[b] = static_cast<std::size_t>(std::lower_bound(above.start.begin(), above.start.end() - 1, b * kPlaces) -
                                         above.start.begin());
  std::vector<Part> parts(blocks);
  base::parallel_for(blocks, threads, [&](std::size_t b) {
    Part& part = parts[b];
    part.keys.reserve(above.start[parent[b + 1]] - above.start[parent[b]]);
    part.first.reserve(parent[b + 1] - parent[b]);
    for (std::size_t p = parent[b]; p < parent[b + 1]; ++p) {
      const std::size_t family = part.keys.size();
      for (std::size_t i = above.start[p]; i < above.start[p + 1]; ++i) {
        if (i + kAhead < above.place.size()) __builtin_prefetch(text.data() + above.place[i + kAhead] + n - 1);
        const std::uint32_t place = above.place[i];
        if (text[place + n - 2] < 0) continue;
        const std::int32_t word = text[place + n - 1];
        part.keys.push_back(key_of(word < 0 ? ~word : word, static_cast<std::int32_t>(place)));
      }
      sort_keys(std::span(part.keys).subspan(family));
      part.first.push_back(static_cast<std::uint32_t>(part.word.size()));
      for (std::size_t i = family; i < part.keys.size(); ++i) {
        const auto word = static_cast<std::int32_t>(part.keys[i] >> 32);
        if (i == family || word != part.word.back()) {
          part.word.push_back(word);
          part.count.push_back(0);
        }
        ++part.count.back();
      }
    }
  });
  for (std::size_t b = 0; b < blocks; ++b) {
    node[b + 1] = node[b] + parts[b].word.size();
    item[b + 1] = item[b] + parts[b].keys.size();
  }
  if (node.back() > kMostNodes) throw std::length_error("more than 2,147,483,647 n-grams");
  made.level.push_back(static_cast<std::int64_t>(end));
  made.first.resize(end);
  made.word.resize(node.back());
  made.count.resize(node.back());
  above.place.resize(item.back());
  above.start.resize(node.back() - end + 1);
  above.start.back() = static_cast<std::uint32_t>(item.back());
  base::parallel_for(blocks, threads, [&](std::size_t b) {
    const Part part = std::move(parts[b]);
    std::copy(part.word.begin(), part.word.end(), made.word.begin() + static_cast<std::ptrdiff_t>(node[b]));
    for (std::size_t p = 0; p < part.first.size(); ++p)
      made.first[begin + parent[b] + p] = static_cast<std::int32_t>(node[b] + part.first[p]);
    for (std::size_t i = 0; i < part.keys.size(); ++i)
      above.place[item[b] + i] = static_cast<std::uint32_t>(part.keys[i]);
    auto at = static_cast<std::uint32_t>(item[b]);
    for (std::size_t i = 0; i < part.word.size(); ++i) {
      above.start[node[b] - end + i] = at;
      at += part.count[i];
      made.count[node[b] + i] = part.count[i];
    }
  });
  return std::move(above);
}

void close(Counted& made) {
  made.first.push_back(static_cast<std::int32_t>(made.word.size()));
  made.level.push_back(static_cast<std::int64_t>(made.word.size()));
}

}  // namespace

const char* fault_of(const Tree& tree) {
  if (tree.level.size() < 3 || tree.level[0] != 0 || tree.level[1] != 1)
    return "levels must begin with 0, 1 and hold an order";
  for (std::size_t n = 1; n < tree.level.size(); ++n)
    if (tree.level[n] < tree.level[n - 1]) return "levels must not decrease";
  if (static_cast<std::size_t>(tree.level.back()) != tree.word.size() || tree.word.size() > kMostNodes)
    return "the last level must be the number of nodes";
  const auto inner = static_cast<std::size_t>(tree.level[tree.order()]);
  if (tree.first.size() != inner + 1 || tree.first[0] != 1 || tree.first[1] != tree.level[2])
    return "there must be a first child for each node but those of the highest order, and one more";
  const auto words = static_cast<std::int64_t>(tree.level[2] - 1);
  for (std::size_t n = 0; n < tree.order(); ++n) {
    if (tree.first[static_cast<std::size_t>(tree.level[n])] != tree.level[n + 1])
      return "children must follow level by level";
  }
  for (std::size_t v = 0; v < inner; ++v)
    if (tree.first[v + 1] < tree.first[v]) return "children must not overlap";
  if (tree.first[inner] != tree.level.back()) return "every node must be a child";
  if (tree.word[0] != -1) return "node 0 must be empty";
  for (std::int64_t w = 0; w < words; ++w)
    if (tree.word[static_cast<std::size_t>(1 + w)] != w) return "every word must have a node of order 1";
  for (std::size_t v = 1; v < inner; ++v) {
    for (std::int32_t c = tree.first[v]; c < tree.first[v + 1]; ++c) {
      if (tree.word[c] < 0 || tree.word[c] >= words) return "a word is out of range";
      if (c > tree.first[v] && tree.word[c] <= tree.word[c - 1]) return "children must be sorted by word";
    }
  }
  return nullptr;
}

std::int32_t child(const Tree& tree, std::int32_t node, std::int32_t word) {
  if (node == 0) return 1 + word;
  const auto begin = tree.word.begin() + tree.first[node], end = tree.word.begin() + tree.first[node + 1];
  const auto at = std::lower_bound(begin, end, word);
  return at != end && *at == word ? static_cast<std::int32_t>(at - tree.word.begin()) : -1;
}

Counted count(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens, std::size_t order,
              std::size_t words, std::int32_t begin, std::int32_t end, std::size_t threads) {
  Counted made = seedling(words);
  const std::size_t sentences = offsets.size() - 1, size = tokens.size() + 2 * sentences;
  if (size > kMostNodes) throw std::length_error("more than 2,147,483,647 tokens at once");
  std::vector<std::int32_t> text(size);  // with start and end symbols; ~w where a sentence ends
  for (std::size_t s = 0, at = 0; s < sentences; ++s) {
    text[at] = begin;
    std::copy(tokens.begin() + offsets[s], tokens.begin() + offsets[s + 1],
              text.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    at += static_cast<std::size_t>(offsets[s + 1] - offsets[s]) + 2;
    text[at - 1] = ~end;
  }
  Families families{std::vector<std::uint32_t>(size), std::vector<std::uint32_t>(words + 1, 0)};
  for (const std::int32_t w : text) ++made.count[static_cast<std::size_t>(1 + (w < 0 ? ~w : w))];
  for (std::size_t w = 0; w < words; ++w)
    families.start[w + 1] = families.start[w] + static_cast<std::uint32_t>(made.count[1 + w]);
  std::vector<std::uint32_t> next(families.start.begin(), families.start.end() - 1);
  for (std::size_t i = 0; i < size; ++i)
    families.place[next[static_cast<std::size_t>(text[i] < 0 ? ~text[i] : text[i])]++] = static_cast<std::uint32_t>(i);
  for (std::size_t n = 2; n <= order; ++n) families = split(made, text, n, std::move(families), threads);
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

void suffixes(const Tree& tree, std::span<std::int32_t> suffix, std::size_t threads) {
  std::fill(suffix.begin(), suffix.begin() + tree.level[2], 0);
  for (std::size_t n = 1; n < tree.order(); ++n) {  // level by level: a child looks at the suffix of its parent
    const auto from = static_cast<std::size_t>(tree.level[n]), to = static_cast<std::size_t>(tree.level[n + 1]);
    base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = from + begin; v < from + end; ++v) {
        for (std::int32_t c = tree.first[v]; c < tree.first[v + 1]; ++c) {
          std::int32_t context = suffix[v], found = child(tree, context, tree.word[c]);
          while (found < 0) found = child(tree, context = suffix[context], tree.word[c]);  // node 0 has every word
          suffix[c] = found;
        }
      }
    });
  }
}

void spell(const Tree& tree, std::size_t n, std::span<const std::int32_t> above, std::span<std::int32_t> rows,
           std::size_t threads) {
  const auto from = static_cast<std::size_t>(tree.level[n - 1]), to = static_cast<std::size_t>(tree.level[n]);
  base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const std::int32_t* context = above.data() + v * (n - 1);
      for (auto c = static_cast<std::size_t>(tree.first[from + v]);
           c < static_cast<std::size_t>(tree.first[from + v + 1]); ++c)
        *std::copy(context, context + n - 1, rows.data() + (c - to) * n) = tree.word[c];
    }
  });
}

Lookup::Lookup(const Tree& tree) {
  const std::size_t nodes = tree.nodes() - static_cast<std::size_t>(tree.level[2]);
  size_ = nodes + nodes / 3 + 1;
  slots_.resize(size_ + 64);
  for (auto v = static_cast<std::size_t>(1); v < static_cast<std::size_t>(tree.level[tree.order()]); ++v) {
    for (std::int32_t c = tree.first[v]; c < tree.first[v + 1]; ++c) {
      const auto parent = static_cast<std::int32_t>(v);
      auto at = static_cast<std::size_t>(first_slot(parent, tree.word[c]) - slots_.data());
      while (slots_[at].node != 0) ++at;
      if (at + 1 == slots_.size()) slots_.resize(slots_.size() + 64);  // a free one must follow
      slots_[at] = {parent, tree.word[c], c, 0, 0.0};
    }
  }
}

Lookup::Lookup(const Tree& tree, std::span<const std::int32_t> suffix, std::span<const double> log_probability,
               std::span<const double> log_back_off)
    : Lookup(tree) {
  const auto inner = static_cast<std::size_t>(tree.level[tree.order()]);
  for (Slot& slot : slots_) {
    if (slot.node == 0) continue;
    const auto v = static_cast<std::size_t>(slot.node);
    slot.state = v < inner ? slot.node : suffix[v];
    slot.log_probability = log_probability[v];
  }
  contexts_.resize(inner);
  for (std::size_t v = 0; v < inner; ++v) contexts_[v] = {log_back_off[v], suffix[v]};
}

std::int32_t BackOff::move(std::int32_t& state, std::int32_t word, double& log_p) const {
  double back_off = 0.0;
  std::int32_t found = find(state, word);
  while (found < 0) {
    back_off += log_back_off[static_cast<std::size_t>(state)];
    state = suffix[static_cast<std::size_t>(state)];
    found = find(state, word);
  }
  state = state_after(found);
  log_p = back_off + log_probability[static_cast<std::size_t>(found)];
  return found;
}

std::int32_t BackOff::after(std::int32_t state, std::span<const std::int32_t> words) const {
  for (const std::int32_t word : words) step(state, word);
  return state;
}

namespace {

// The words of a stretch of sentences, several sentences at a time: while one look-up waits for memory the others go on.
class Interleaved {
 public:
  Interleaved(const BackOff& model, std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
              bool with_end, std::span<double> out, std::span<std::int8_t> order)
      : model_(model),
        lookup_(*model.lookup),
        offsets_(offsets),
        tokens_(tokens),
        with_end_(with_end),
        out_(out),
        order_(order) {}

  void score(std::size_t begin, std::size_t end) {
    next_ = begin;
    stop_ = end;
    std::array<Lane, kLanes> lanes;
    std::size_t busy = 0;
    while (busy < kLanes && open(lanes[busy])) ++busy;
    while (busy > 0) {
      for (std::size_t l = 0; l < busy;) {
        if (advance(lanes[l])) {
          ++l;
        } else {
          lanes[l] = lanes[--busy];
        }
      }
    }
  }

 private:
  static constexpr std::size_t kLanes = 12;
  struct Lane {
    std::int64_t at, end;  // the token to be scored, and where its sentence ends
    std::size_t to;        // where its score goes
    std::int32_t state, word;
    double back_off;
    const Lookup::Slot* slot;
  };

  // Begins the next sentence that has a token; false where there is none.
  bool open(Lane& lane) {
    for (; next_ < stop_; ++next_) {
      const auto begin = offsets_[next_], end = offsets_[next_ + 1] + with_end_;
      if (begin == end) continue;
      lane.at = begin;
      lane.end = end;
      lane.to = static_cast<std::size_t>(begin) + (with_end_ ? next_ : 0);
      lane.state = model_.start();
      ++next_;
      prepare(lane);
      return true;
    }
    return false;
  }

  void prepare(Lane& lane) {
    const bool ends = with_end_ && lane.at + 1 == lane.end;
    const std::int32_t token = ends ? model_.end : tokens_[static_cast<std::size_t>(lane.at)];
    lane.word = token < 0 ? model_.unknown : token;
    lane.back_off = 0.0;
    fetch(lane);
  }

  void fetch(Lane& lane) {
    if (lane.state == 0) return;
    lane.slot = lookup_.first_slot(lane.state, lane.word);
    __builtin_prefetch(lane.slot);
    __builtin_prefetch(&lookup_.context(lane.state));
  }

  // One look-up; false where there is nothing left to do.
  bool advance(Lane& lane) {
    double p;
    std::int32_t node, state;
    if (lane.state == 0) {
      node = 1 + lane.word;
      p = model_.log_probability.exact[static_cast<std::size_t>(node)];
      state = model_.tree.order() > 1 ? node : 0;
    } else {
      const Lookup::Slot* slot = lookup_.search(lane.slot, lane.state, lane.word);
      if (slot == nullptr) {
        const Lookup::Context& context = lookup_.context(lane.state);
        lane.back_off += context.log_back_off;
        lane.state = context.suffix;
        fetch(lane);
        return true;
      }
      node = slot->node;
      p = slot->log_probability;
      state = slot->state;
    }
    out_[lane.to] = lane.back_off + p;
    if (!order_.empty()) order_[lane.to] = length_of(model_.tree, node);
    lane.state = state;
    ++lane.to;
    if (++lane.at == lane.end) return open(lane);
    prepare(lane);
    return true;
  }

  const BackOff& model_;
  const Lookup& lookup_;
  std::span<const std::int64_t> offsets_;
  std::span<const std::int32_t> tokens_;
  bool with_end_;
  std::span<double> out_;
  std::span<std::int8_t> order_;
  std::size_t next_ = 0, stop_ = 0;
};

}  // namespace

void score(const BackOff& model, std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
           bool with_end, std::span<double> out, std::span<std::int8_t> order, std::size_t threads) {
  if (model.lookup != nullptr && model.lookup->has_numbers()) {
    base::parallel_blocks(offsets.size() - 1, kSentences, threads, [&](std::size_t begin, std::size_t end) {
      Interleaved(model, offsets, tokens, with_end, out, order).score(begin, end);
    });
    return;
  }
  base::parallel_blocks(offsets.size() - 1, kSentences, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      auto at = static_cast<std::size_t>(offsets[s]) + (with_end ? s : 0);
      std::int32_t state = model.start();
      for (std::int64_t i = offsets[s]; i < offsets[s + 1] + with_end; ++i, ++at) {
        const std::int32_t token = i < offsets[s + 1] ? tokens[i] : model.end;
        const std::int32_t node = model.move(state, token < 0 ? model.unknown : token, out[at]);
        if (!order.empty()) order[at] = length_of(model.tree, node);
      }
    }
  });
}

void distribution(const BackOff& model, std::int32_t state, std::span<double> out) {
  const Tree& tree = model.tree;
  if (state == 0) {
    for (std::size_t w = 0; w < tree.words(); ++w) out[w] = std::pow(10.0, model.log_probability[1 + w]);
    out[static_cast<std::size_t>(model.begin)] = 0.0;
    return;
  }
  distribution(model, model.suffix[state], out);
  const double back_off = std::pow(10.0, model.log_back_off[state]);
  for (double& p : out) p *= back_off;
  for (std::int32_t c = tree.first[state]; c < tree.first[state + 1]; ++c)
    out[tree.word[c]] = std::pow(10.0, model.log_probability[c]);
  out[static_cast<std::size_t>(model.begin)] = 0.0;
}

std::vector<double> running_sums(const BackOff& model, std::size_t threads) {
  const Tree& tree = model.tree;
  std::vector<double> sums(tree.nodes(), 0.0);
  base::parallel_blocks(
      static_cast<std::size_t>(tree.level[tree.order()]), kBlock, threads, [&](std::size_t from, std::size_t to) {
        for (std::size_t h = from; h < to; ++h) {
          double sum = 0.0;
          for (std::int32_t c = tree.first[h]; c < tree.first[h + 1]; ++c)
            sums[c] = sum += tree.word[c] == model.begin ? 0.0 : std::pow(10.0, model.log_probability[c]);
        }
      });
  return sums;
}

namespace {

struct Drawer {
  const BackOff& model;
  std::span<const double> sums;
  base::Random& random;

  // The child whose stretch of the running sums holds u; the last one where u is beyond.
  std::int32_t child_at(std::int32_t state, double u) const {
    const auto begin = sums.begin() + model.tree.first[state], end = sums.begin() + model.tree.first[state + 1];
    const auto at = std::upper_bound(begin, end, u);
    return static_cast<std::int32_t>((at == end ? end - 1 : at) - sums.begin());
  }

  // The node of the longest n-gram that ends in the word drawn.
  std::int32_t draw(std::int32_t state) {
    const std::int32_t first = model.tree.first[state], last = model.tree.first[state + 1];
    const double u = random.uniform();
    if (state == 0) return child_at(0, u * sums[last - 1]);
    if (first == last) return draw(model.suffix[state]);
    if (u < sums[last - 1]) return child_at(state, u);
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::int32_t node = draw(model.suffix[state]);
      if (model.find(state, model.tree.word[node]) < 0) return node;
    }
    const std::int32_t word = weigh(state, [&](std::int32_t w) { return model.find(state, w) < 0; });
    return word >= 0 ? model.longest(state, word) : last - 1;  // nothing is left but rounding
  }

  // A word among those allowed, each with its probability, or -1 where they have none.
  template <class Allowed>
  std::int32_t weigh(std::int32_t state, Allowed&& allowed) {
    std::vector<double> p(model.tree.words());
    distribution(model, state, p);
    double total = 0.0;
    for (std::size_t w = 0; w < p.size(); ++w) total += p[w] = allowed(static_cast<std::int32_t>(w)) ? p[w] : 0.0;
    return total > 0.0 && std::isfinite(total) ? static_cast<std::int32_t>(random.categorical(p)) : -1;
  }

  // The same without the unknown word; -1 where no other is possible.
  std::int32_t draw_known(std::int32_t state) {
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::int32_t node = draw(state);
      if (model.tree.word[node] != model.unknown) return node;
    }
    const std::int32_t word = weigh(state, [&](std::int32_t w) { return w != model.unknown; });
    return word < 0 ? -1 : model.longest(state, word);
  }
};

}  // namespace

Drawn sample(const BackOff& model, std::span<const double> sums, std::int32_t state, std::size_t sentences,
             std::size_t longest, bool unknown, std::uint64_t seed, std::uint64_t first_sentence, std::size_t threads) {
  std::vector<std::vector<std::int32_t>> drawn(sentences);
  base::parallel_for(sentences, threads, [&](std::size_t s) {
    base::Random random(seed, first_sentence + s);
    Drawer drawer{model, sums, random};
    std::int32_t here = state;
    while (drawn[s].size() < longest) {
      const std::int32_t node = unknown ? drawer.draw(here) : drawer.draw_known(here);
      if (node < 0 || model.tree.word[node] == model.end) break;
      drawn[s].push_back(model.tree.word[node]);
      here = model.state_after(node);
    }
  });
  Drawn made{{0}, {}};
  for (const auto& words : drawn) {
    made.words.insert(made.words.end(), words.begin(), words.end());
    made.offsets.push_back(static_cast<std::int64_t>(made.words.size()));
  }
  return made;
}

}  // namespace textmill::lm
