// Counting pairs of neighboring tokens: which words follow which, with the connectors between them.
//
// Connectors (of, the) are no words here: the pair of "bank of america" is (bank, "of", america), and no pair begins or
// ends with one. Pairs do not cross the ends of documents. Documents are cut into chunks by their length; each chunk is
// counted by one thread into a table of its own with numbers of its own, then the chunks are merged, in order for the
// words and by partitions of the hash for the pairs. Numbers follow the first appearance, counts add: the same bytes
// for any number of threads and any batching.
//
// Cost: two look-ups per token in tables that fit the cache, one in the big table per distinct pair of a chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/flat_table.h"
#include "base/intern.h"
#include "corpus/counting.h"

namespace textmill::corpus {

// Distinct pairs with their counts, in order of appearance.
class PairTable {
 public:
  struct Pair {
    std::uint32_t first, second;  // numbers of words
    std::uint32_t link;           // number of the connectors between them; 0: none
    std::int64_t count;
  };
  static constexpr std::uint32_t kNone = base::InternTable::kNone;

  static std::uint64_t hash(const Pair& pair);
  void add(const Pair& pair, std::uint64_t hash);
  void prefetch(std::uint64_t hash) const { index_.prefetch(hash); }
  std::size_t size() const { return pairs_.size(); }
  std::size_t memory() const { return pairs_.capacity() * sizeof(Pair) + index_.memory(); }
  const std::vector<Pair>& pairs() const { return pairs_; }
  // Forgets the pairs that occur less often.
  void drop_below(std::int64_t count);

 private:
  std::vector<Pair> pairs_;
  base::FlatIndex index_;
};

class PairCounter {
 public:
  explicit PairCounter(base::InternTable connectors) : connectors_(std::move(connectors)) {
    links_.insert({}, base::hash_bytes({}));  // number 0: nothing in between
  }

  void count(const Documents& documents, const TokenRules& rules, std::size_t threads);

  const base::InternTable& words() const { return words_; }
  const std::vector<std::int64_t>& word_counts() const { return word_counts_; }  // occurrences; 0 for connectors
  const base::InternTable& links() const { return links_; }                      // connectors joined by kPhraseMark
  std::int64_t tokens() const { return tokens_; }                                // of all documents, connectors too
  std::size_t size() const;                                                      // distinct pairs
  std::size_t memory() const;                                                    // bytes held, about

  // Pairs that occur at least so often, sorted by the numbers of first word, link and second word.
  std::vector<PairTable::Pair> pairs(std::int64_t least) const;
  void drop_below(std::int64_t count);

 private:
  static constexpr std::size_t kPartitions = 16;
  struct Chunk;

  base::InternTable connectors_, words_, links_;
  std::vector<std::int64_t> word_counts_;
  std::array<PairTable, kPartitions> partitions_;
  std::int64_t tokens_ = 0;
};

}  // namespace textmill::corpus
