#include "corpus/pairs.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

#include "base/parallel.h"

namespace textmill::corpus {

std::uint64_t PairTable::hash(const Pair& pair) {
  const auto product = static_cast<unsigned __int128>((static_cast<std::uint64_t>(pair.first) << 32 | pair.second) ^
                                                      0x9E3779B97F4A7C15u) *
                       (0xA0761D6478BD642Fu ^ static_cast<std::uint64_t>(pair.link) << 1);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

void PairTable::add(const Pair& pair, std::uint64_t hash) {
  const auto fresh = static_cast<std::uint32_t>(pairs_.size());
  const std::uint32_t at = index_.add(hash, fresh, [&](std::uint32_t i) {
    return pairs_[i].first == pair.first && pairs_[i].second == pair.second && pairs_[i].link == pair.link;
  });
  if (at == fresh)
    pairs_.push_back(pair);
  else
    pairs_[at].count += pair.count;
}

void PairTable::drop_below(std::int64_t count) {
  std::erase_if(pairs_, [&](const Pair& pair) { return pair.count < count; });
  index_.clear();
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) index_.add(hash(pairs_[i]), i, [](std::uint32_t) { return false; });
}

// One chunk of documents, counted by numbers of its own.
struct PairCounter::Chunk {
  const TokenStream* stream = nullptr;
  std::vector<std::int64_t> word_counts;  // by number in stream->table; 0 for connectors
  base::InternTable links;
  PairTable table;
  std::vector<PairTable::Pair> pairs;  // with the numbers of the whole, by partition
  std::array<std::size_t, kPartitions + 1> bound{};

  void count(const TokenStream& tokens, const base::InternTable& connectors) {
    stream = &tokens;
    word_counts.assign(tokens.table.size(), 0);
    std::vector<char> connector(tokens.table.size());
    for (std::size_t t = 0; t < connector.size(); ++t)
      connector[t] = connectors.find(tokens.table[t], tokens.table.hash(t)) != base::InternTable::kNone;
    links.insert({}, base::hash_bytes({}));
    std::string between;
    std::size_t at = 0;
    for (const std::size_t end : tokens.document_ends) {
      std::uint32_t open = PairTable::kNone;  // the word that a pair may begin with
      for (; at < end; ++at) {
        const std::uint32_t token = tokens.tokens[at];
        if (connector[token]) {
          if (open == PairTable::kNone) continue;
          if (!between.empty()) between += kPhraseMark;
          between += tokens.table[token];
          continue;
        }
        ++word_counts[token];
        if (open != PairTable::kNone) {
          const std::uint32_t link = between.empty() ? 0 : links.insert(between, base::hash_bytes(between));
          const PairTable::Pair pair{open, token, link, 1};
          table.add(pair, PairTable::hash(pair));
        }
        open = token;
        between.clear();
      }
      between.clear();
    }
  }

  // Pairs with the numbers of the whole, sorted by partition.
  void rename(const std::vector<std::uint32_t>& word, const std::vector<std::uint32_t>& link) {
    std::vector<PairTable::Pair> renamed;
    std::vector<unsigned char> partition;
    renamed.reserve(table.size());
    partition.reserve(table.size());
    for (const PairTable::Pair& pair : table.pairs()) {
      renamed.push_back({word[pair.first], word[pair.second], link[pair.link], pair.count});
      partition.push_back(static_cast<unsigned char>(PairTable::hash(renamed.back()) >> 60));
      ++bound[partition.back() + 1u];
    }
    for (std::size_t p = 0; p < kPartitions; ++p) bound[p + 1] += bound[p];
    auto next = bound;
    pairs.resize(renamed.size());
    for (std::size_t i = 0; i < renamed.size(); ++i) pairs[next[partition[i]]++] = renamed[i];
  }
};

void PairCounter::count(const Documents& documents, const TokenRules& rules, std::size_t threads) {
  const std::vector<TokenStream> streams = tokenize(documents, rules, threads);
  std::vector<Chunk> chunks(streams.size());
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) { chunks[c].count(streams[c], connectors_); });
  std::vector<std::vector<std::uint32_t>> word(chunks.size()), link(chunks.size());
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const base::InternTable& local = streams[c].table;
    for (std::size_t t = 0; t < local.size(); ++t) {
      word[c].push_back(words_.insert(local[t], local.hash(t)));
      if (word[c].back() == word_counts_.size()) word_counts_.push_back(0);
      word_counts_[word[c].back()] += chunks[c].word_counts[t];
    }
    for (std::size_t l = 0; l < chunks[c].links.size(); ++l)
      link[c].push_back(links_.insert(chunks[c].links[l], chunks[c].links.hash(l)));
    tokens_ += static_cast<std::int64_t>(streams[c].tokens.size());
  }
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) { chunks[c].rename(word[c], link[c]); });
  base::parallel_for(kPartitions, threads, [&](std::size_t p) {
    constexpr std::size_t ahead = 8;  // look-ups under way at once: nearly each one misses the cache
    for (const Chunk& chunk : chunks) {
      const std::size_t end = chunk.bound[p + 1];
      for (std::size_t k = chunk.bound[p]; k < end; ++k) {
        if (k + ahead < end) partitions_[p].prefetch(PairTable::hash(chunk.pairs[k + ahead]));
        const PairTable::Pair& pair = chunk.pairs[k];
        partitions_[p].add(pair, PairTable::hash(pair));
      }
    }
  });
}

std::size_t PairCounter::size() const {
  std::size_t total = 0;
  for (const PairTable& partition : partitions_) total += partition.size();
  return total;
}

std::size_t PairCounter::memory() const {
  std::size_t total = words_.memory() + links_.memory() + word_counts_.capacity() * sizeof(std::int64_t);
  for (const PairTable& partition : partitions_) total += partition.memory();
  return total;
}

std::vector<PairTable::Pair> PairCounter::pairs(std::int64_t least) const {
  std::vector<PairTable::Pair> frequent;
  for (const PairTable& partition : partitions_)
    for (const PairTable::Pair& pair : partition.pairs())
      if (pair.count >= least) frequent.push_back(pair);
  std::ranges::sort(frequent, {},
                    [](const PairTable::Pair& pair) { return std::tuple(pair.first, pair.link, pair.second); });
  return frequent;
}

void PairCounter::drop_below(std::int64_t count) {
  for (PairTable& partition : partitions_) partition.drop_below(count);
}

}  // namespace textmill::corpus
