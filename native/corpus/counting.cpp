#include "corpus/counting.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <tuple>

#include "base/parallel.h"

namespace textmill::corpus {
namespace {

constexpr std::size_t kChunk = 1 << 18;  // code points; part of no result, only of the speed
constexpr std::size_t kAhead = 8;  // look-ups in the big table under way at once: with n-grams most miss the cache

// Cuts documents into runs of about kChunk code points; returns the first document of each and the end.
std::vector<std::size_t> cut(const Documents& documents) {
  std::vector<std::size_t> cuts{0};
  std::size_t length = 0;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    for (std::size_t t = documents.begin[d]; t < documents.begin[d + 1]; ++t) length += documents.texts[t].size + 1;
    if (length >= kChunk) {
      cuts.push_back(d + 1);
      length = 0;
    }
  }
  if (cuts.back() < documents.size()) cuts.push_back(documents.size());
  return cuts;
}

// Calls token(bytes) for each token as it is cut and end(d) after each document of [first, last).
template <class Token, class End>
void scan_cut(const Documents& documents, std::size_t first, std::size_t last, const TokenRules& rules, Token&& token,
              End&& end) {
  TokenBuffer buffer;
  std::visit(
      [&](const auto& rule) {
        for (std::size_t d = first; d < last; ++d) {
          for (std::size_t t = documents.begin[d]; t < documents.begin[d + 1]; ++t) {
            require_no_surrogate(documents.texts[t], documents.first + d);
            for_each_token(documents.texts[t], rule, buffer, token);
          }
          end(d);
        }
      },
      rules.cut);
}

// Calls token(bytes) for each token that the rules make and end(d) after each document of [first, last).
template <class Token, class End>
void scan(const Documents& documents, std::size_t first, std::size_t last, const TokenRules& rules, Token&& token,
          End&& end) {
  if (rules.only_cut()) {
    scan_cut(documents, first, last, rules, token, end);
    return;
  }
  TokenRun run;
  scan_cut(
      documents, first, last, rules,
      [&](std::string_view cut) {
        if (rules.forms == nullptr)
          run.push(cut);
        else if (const std::string_view form = (*rules.forms)[cut]; !form.empty())
          run.push(form);
      },
      [&](std::size_t d) {
        if (rules.phrases != nullptr) run.join(*rules.phrases);
        run.emit_ngrams(rules.shortest, rules.longest, token);
        run.clear();
        end(d);
      });
}

// MurmurHash3, 32 bits, seed 0 (Appleby 2011). Part of saved models and of what other machines compute: never to change.
std::uint32_t murmur3(std::string_view bytes) {
  const auto rotate = [](std::uint32_t x, int by) { return std::rotl(x, by); };
  const auto scramble = [&](std::uint32_t k) { return rotate(k * 0xCC9E2D51u, 15) * 0x1B873593u; };
  std::uint32_t h = 0;
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    std::uint32_t k = 0;
    for (std::size_t b = 0; b < 4; ++b)
      k |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + b])) << (8 * b);
    h = rotate(h ^ scramble(k), 13) * 5 + 0xE6546B64u;
  }
  std::uint32_t tail = 0;
  for (std::size_t b = bytes.size() - i; b > 0; --b) tail = tail << 8 | static_cast<unsigned char>(bytes[i + b - 1]);
  if (i < bytes.size()) h ^= scramble(tail);
  h ^= static_cast<std::uint32_t>(bytes.size());
  h = (h ^ h >> 16) * 0x85EBCA6Bu;
  h = (h ^ h >> 13) * 0xC2B2AE35u;
  return h ^ h >> 16;
}

}  // namespace

// Counts of one chunk of documents, with term numbers of its own until merge or count_known maps them.
struct TermTable::Chunk {
  base::InternTable table;
  base::CsrBuilder rows;
  std::vector<std::uint32_t> order;                  // local numbers by partition
  std::array<std::size_t, kPartitions + 1> bound{};  // partition p is order[bound[p]] .. order[bound[p + 1]]
  std::vector<std::int64_t> document_frequency, collection_frequency;  // by local number
  std::vector<std::int32_t> id;                                        // by local number; -1: not in the table
  std::vector<char> fresh;                                             // by local number: first seen in this chunk
  std::int64_t unknown = 0;

  void count(const Documents& documents, std::size_t first, std::size_t last, const TokenRules& rules) {
    struct Seen {
      std::size_t row, entry;
    };
    std::vector<Seen> seen;  // by local number: where this document's entry is, if it has one
    std::size_t row = 1;     // 0 means never
    scan(
        documents, first, last, rules,
        [&](std::string_view token) {
          const std::uint32_t local = table.insert(token, base::hash_bytes(token));
          if (local == seen.size()) seen.push_back({0, 0});
          if (seen[local].row != row) {
            seen[local] = {row, rows.entries.size()};
            rows.push(static_cast<std::int32_t>(local), 1);
          } else if (++rows.entries[seen[local].entry].value == std::numeric_limits<std::int32_t>::max()) {
            throw base::Fault("one term occurs more than 2,147,483,646 times; split the document",
                              {documents.first + row - 1, 0});
          }
        },
        [&](std::size_t) {
          rows.end_row();
          ++row;
        });
    document_frequency.assign(table.size(), 0);
    collection_frequency.assign(table.size(), 0);
    for (const base::Entry& entry : rows.entries) {
      ++document_frequency[entry.column];
      collection_frequency[entry.column] += entry.value;
    }
    id.assign(table.size(), -1);
    fresh.assign(table.size(), 0);
  }

  void sort_by_partition() {
    for (std::size_t t = 0; t < table.size(); ++t) ++bound[partition_of(table.hash(t)) + 1];
    for (std::size_t p = 0; p < kPartitions; ++p) bound[p + 1] += bound[p];
    order.resize(table.size());
    auto next = bound;
    for (std::size_t t = 0; t < table.size(); ++t)
      order[next[partition_of(table.hash(t))]++] = static_cast<std::uint32_t>(t);
  }

  // Rows with the ids of the big table, sorted, without unknown terms.
  void rename() {
    std::size_t kept = 0, begin = 0;
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      const auto end = static_cast<std::size_t>(rows.offsets[r + 1]);
      const std::size_t start = kept;
      for (; begin < end; ++begin) {
        const base::Entry entry = rows.entries[begin];
        if (id[entry.column] >= 0)
          rows.entries[kept++] = {id[entry.column], entry.value};
        else
          unknown += entry.value;
      }
      kept = start + base::sort_and_add({rows.entries.data() + start, kept - start});
      rows.offsets[r + 1] = static_cast<std::int64_t>(kept);
    }
    rows.entries.resize(kept);
  }
};

std::uint32_t TermTable::Partition::add(std::string_view term, std::uint64_t hash) {
  const std::uint32_t entry = table.insert(term, hash);
  if (entry == ids.size()) {
    ids.push_back(-1);
    document_frequency.push_back(0);
    collection_frequency.push_back(0);
  }
  return entry;
}

TermTable::TermTable(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets, std::size_t threads) {
  const std::size_t n = offsets.size() - 1;
  if (n > base::InternTable::kMost) throw std::length_error("more than 2,147,483,647 terms");
  const auto string = [&](std::size_t i) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + offsets[i],
                            static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  };
  std::vector<std::uint64_t> hash(n);
  constexpr std::size_t block = 1 << 14;
  base::parallel_for((n + block - 1) / block, threads, [&](std::size_t b) {
    for (std::size_t i = b * block; i < std::min(n, (b + 1) * block); ++i) hash[i] = base::hash_bytes(string(i));
  });
  place_.resize(n);
  base::parallel_for(kPartitions, threads, [&](std::size_t p) {
    Partition& partition = partitions_[p];
    for (std::size_t i = 0; i < n; ++i) {
      if (partition_of(hash[i]) != p) continue;
      const std::uint32_t entry = partition.add(string(i), hash[i]);
      if (partition.ids[entry] >= 0) throw std::invalid_argument("term '" + std::string(string(i)) + "' occurs twice");
      partition.ids[entry] = static_cast<std::int32_t>(i);
      place_[i] = {static_cast<std::uint32_t>(p), entry};
    }
  });
}

std::string_view TermTable::operator[](std::size_t id) const {
  return partitions_[place_[id].partition].table[place_[id].entry];
}

std::int32_t TermTable::find(std::string_view term) const {
  const std::uint64_t hash = base::hash_bytes(term);
  const Partition& partition = partitions_[partition_of(hash)];
  const std::uint32_t entry = partition.table.find(term, hash);
  return entry == base::InternTable::kNone ? -1 : partition.ids[entry];
}

// The places of some tokens are fetched before the first of them is looked at: they wait for memory together.
void TermTable::find_given(const Documents& documents, std::size_t first, std::size_t last, FoundTokens& out) const {
  constexpr std::size_t kTogether = 32;
  std::array<std::uint64_t, kTogether> hashes;
  TokenBuffer buffer;
  const std::size_t begin = documents.begin[first], end = documents.begin[last];
  out.ids.resize(end - begin);
  const auto look_up = [&](std::string_view token, std::uint64_t hash) {
    const Partition& partition = partitions_[partition_of(hash)];
    const std::uint32_t entry = partition.table.find(token, hash);
    return entry == base::InternTable::kNone ? -1 : partition.ids[entry];
  };
  const auto view = [](const Text& text) { return std::string_view(static_cast<const char*>(text.data), text.size); };
  for (std::size_t from = begin; from < end; from += kTogether) {
    const std::size_t to = std::min(end, from + kTogether);
    for (std::size_t t = from; t < to; ++t) {
      const Text& text = documents.texts[t];
      if (!text.ascii) continue;
      hashes[t - from] = base::hash_bytes(view(text));
      partitions_[partition_of(hashes[t - from])].table.prefetch(hashes[t - from]);
    }
    for (std::size_t t = from; t < to; ++t) {
      const Text& text = documents.texts[t];
      std::int32_t& id = out.ids[t - begin];
      if (text.ascii) {
        id = look_up(view(text), hashes[t - from]);
        continue;
      }
      const auto after = std::upper_bound(documents.begin.begin(), documents.begin.end(), t);
      require_no_surrogate(text, documents.first + static_cast<std::size_t>(after - documents.begin.begin()) - 1);
      for_each_token(text, GivenTokens{}, buffer,
                     [&](std::string_view token) { id = look_up(token, base::hash_bytes(token)); });
    }
  }
  for (std::size_t d = first; d < last; ++d) out.document_ends.push_back(documents.begin[d + 1] - begin);
}

std::int32_t TermTable::insert(std::string_view term) {
  const std::uint64_t hash = base::hash_bytes(term);
  const std::size_t p = partition_of(hash);
  Partition& partition = partitions_[p];
  const std::uint32_t entry = partition.add(term, hash);
  if (partition.ids[entry] < 0) {
    if (size() >= base::InternTable::kMost) throw std::length_error("more than 2,147,483,647 distinct terms");
    partition.ids[entry] = static_cast<std::int32_t>(size());
    place_.push_back({static_cast<std::uint32_t>(p), entry});
  }
  return partition.ids[entry];
}

std::vector<TermTable::Chunk> TermTable::count_chunks(const Documents& documents, const TokenRules& rules,
                                                      std::size_t threads) {
  const std::vector<std::size_t> cuts = cut(documents);
  std::vector<Chunk> chunks(cuts.size() - 1);
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    chunks[c].count(documents, cuts[c], cuts[c + 1], rules);
    chunks[c].sort_by_partition();
  });
  return chunks;
}

void TermTable::merge(std::span<Chunk> chunks, std::size_t threads) {
  base::parallel_for(kPartitions, threads, [&](std::size_t p) {
    Partition& partition = partitions_[p];
    for (Chunk& chunk : chunks) {
      for (std::size_t k = chunk.bound[p]; k < chunk.bound[p + 1]; ++k) {
        if (k + kAhead < chunk.bound[p + 1]) partition.table.prefetch(chunk.table.hash(chunk.order[k + kAhead]));
        const std::uint32_t local = chunk.order[k];
        const std::size_t known = partition.ids.size();
        const std::uint32_t entry = partition.add(chunk.table[local], chunk.table.hash(local));
        chunk.fresh[local] = entry == known;
        chunk.id[local] = static_cast<std::int32_t>(entry);
        partition.document_frequency[entry] += chunk.document_frequency[local];
        partition.collection_frequency[entry] += chunk.collection_frequency[local];
      }
    }
  });
  std::vector<std::size_t> next(chunks.size() + 1, size());  // first id that a chunk gives away
  for (std::size_t c = 0; c < chunks.size(); ++c)
    next[c + 1] = next[c] + static_cast<std::size_t>(std::count(chunks[c].fresh.begin(), chunks[c].fresh.end(), 1));
  if (next.back() > base::InternTable::kMost) throw std::length_error("more than 2,147,483,647 distinct terms");
  place_.resize(next.back());
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    std::size_t id = next[c];
    for (std::size_t local = 0; local < chunks[c].fresh.size(); ++local) {
      if (!chunks[c].fresh[local]) continue;
      const std::size_t p = partition_of(chunks[c].table.hash(local));
      const auto entry = static_cast<std::uint32_t>(chunks[c].id[local]);
      partitions_[p].ids[entry] = static_cast<std::int32_t>(id);
      place_[id++] = {static_cast<std::uint32_t>(p), entry};
    }
  });
}

void TermTable::gather(std::span<Chunk> chunks, std::size_t threads, Counts& rows) {
  std::vector<std::size_t> row(chunks.size() + 1, 0), entry(chunks.size() + 1, 0);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    row[c + 1] = row[c] + chunks[c].rows.rows();
    entry[c + 1] = entry[c] + chunks[c].rows.entries.size();
  }
  rows.offsets.resize(row.back() + 1);
  rows.terms.resize(entry.back());
  rows.values.resize(entry.back());
  rows.offsets[0] = 0;
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    const base::CsrBuilder& part = chunks[c].rows;
    for (std::size_t r = 0; r < part.rows(); ++r)
      rows.offsets[row[c] + r + 1] = static_cast<std::int64_t>(entry[c]) + part.offsets[r + 1];
    for (std::size_t e = 0; e < part.entries.size(); ++e) {
      rows.terms[entry[c] + e] = part.entries[e].column;
      rows.values[entry[c] + e] = part.entries[e].value;
    }
  });
}

void TermTable::count(const Documents& documents, const TokenRules& rules, std::size_t threads, Counts* rows) {
  std::vector<Chunk> chunks = count_chunks(documents, rules, threads);
  merge(chunks, threads);
  if (rows == nullptr) return;
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    for (std::size_t local = 0; local < chunk.id.size(); ++local)
      chunk.id[local] =
          partitions_[partition_of(chunk.table.hash(local))].ids[static_cast<std::size_t>(chunk.id[local])];
    chunk.rename();
  });
  gather(chunks, threads, *rows);
}

std::int64_t TermTable::count_known(const Documents& documents, const TokenRules& rules, std::size_t threads,
                                    Counts& rows) const {
  std::vector<Chunk> chunks = count_chunks(documents, rules, threads);
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    for (std::size_t local = 0; local < chunk.id.size(); ++local) {
      const std::uint64_t hash = chunk.table.hash(local);
      const Partition& partition = partitions_[partition_of(hash)];
      const std::uint32_t entry = partition.table.find(chunk.table[local], hash);
      chunk.id[local] = entry == base::InternTable::kNone ? -1 : partition.ids[entry];
    }
    chunk.rename();
  });
  gather(chunks, threads, rows);
  std::int64_t unknown = 0;
  for (const Chunk& chunk : chunks) unknown += chunk.unknown;
  return unknown;
}

Counts TermTable::count_hashed(const Documents& documents, const TokenRules& rules, std::size_t columns, bool with_sign,
                               std::size_t threads) {
  std::vector<Chunk> chunks = count_chunks(documents, rules, threads);
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    std::vector<char> negative(chunk.id.size(), 0);
    for (std::size_t local = 0; local < chunk.id.size(); ++local) {
      const auto hash = static_cast<std::int64_t>(static_cast<std::int32_t>(murmur3(chunk.table[local])));
      chunk.id[local] = static_cast<std::int32_t>(static_cast<std::size_t>(std::abs(hash)) % columns);
      negative[local] = hash < 0;
    }
    if (with_sign)
      for (base::Entry& entry : chunk.rows.entries)
        if (negative[static_cast<std::size_t>(entry.column)]) entry.value = -entry.value;
    chunk.rename();
  });
  Counts rows;
  gather(chunks, threads, rows);
  return rows;
}

void TermTable::tally(std::span<const std::int32_t> terms, std::span<const std::int32_t> values) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Place place = place_[static_cast<std::size_t>(terms[i])];
    ++partitions_[place.partition].document_frequency[place.entry];
    partitions_[place.partition].collection_frequency[place.entry] += values[i];
  }
}

void TermTable::absorb(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets,
                       std::span<const std::int64_t> document_frequency,
                       std::span<const std::int64_t> collection_frequency) {
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto id = insert({reinterpret_cast<const char*>(bytes.data()) + offsets[i],
                            static_cast<std::size_t>(offsets[i + 1] - offsets[i])});
    const Place place = place_[static_cast<std::size_t>(id)];
    partitions_[place.partition].document_frequency[place.entry] += document_frequency[i];
    partitions_[place.partition].collection_frequency[place.entry] += collection_frequency[i];
  }
}

std::pair<std::int64_t, std::int64_t> TermTable::frequencies(std::size_t id) const {
  const Partition& partition = partitions_[place_[id].partition];
  return {partition.document_frequency[place_[id].entry], partition.collection_frequency[place_[id].entry]};
}

std::size_t TermTable::memory() const {
  std::size_t total = place_.capacity() * sizeof(Place);
  for (const Partition& partition : partitions_)
    total +=
        partition.table.memory() + partition.ids.capacity() * sizeof(std::int32_t) +
        (partition.document_frequency.capacity() + partition.collection_frequency.capacity()) * sizeof(std::int64_t);
  return total;
}

TermTable::Export TermTable::terms_from(std::size_t first) const {
  const std::size_t n = size() - first;
  Export copy{{}, std::vector<std::int64_t>(n + 1, 0), std::vector<std::int64_t>(n), std::vector<std::int64_t>(n)};
  for (std::size_t i = 0; i < n; ++i)
    copy.offsets[i + 1] = copy.offsets[i] + static_cast<std::int64_t>((*this)[first + i].size());
  copy.bytes.resize(static_cast<std::size_t>(copy.offsets[n]));
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view term = (*this)[first + i];
    std::copy(term.begin(), term.end(), copy.bytes.begin() + copy.offsets[i]);
    std::tie(copy.document_frequency[i], copy.collection_frequency[i]) = frequencies(first + i);
  }
  return copy;
}

std::vector<TokenStream> tokenize(const Documents& documents, const TokenRules& rules, std::size_t threads) {
  const std::vector<std::size_t> cuts = cut(documents);
  std::vector<TokenStream> streams(cuts.size() - 1);
  base::parallel_for(streams.size(), threads, [&](std::size_t c) {
    TokenStream& stream = streams[c];
    scan(
        documents, cuts[c], cuts[c + 1], rules,
        [&](std::string_view token) { stream.tokens.push_back(stream.table.insert(token, base::hash_bytes(token))); },
        [&](std::size_t) { stream.document_ends.push_back(stream.tokens.size()); });
  });
  return streams;
}

std::vector<FoundTokens> find_tokens(const Documents& documents, const TokenRules& rules, const TermTable& table,
                                     std::size_t threads) {
  const std::vector<std::size_t> cuts = cut(documents);
  std::vector<FoundTokens> chunks(cuts.size() - 1);
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    FoundTokens& chunk = chunks[c];
    if (rules.only_cut() && std::holds_alternative<GivenTokens>(rules.cut)) {
      table.find_given(documents, cuts[c], cuts[c + 1], chunk);
      return;
    }
    scan(
        documents, cuts[c], cuts[c + 1], rules, [&](std::string_view token) { chunk.ids.push_back(table.find(token)); },
        [&](std::size_t) { chunk.document_ends.push_back(chunk.ids.size()); });
  });
  return chunks;
}

std::vector<JoinedTokens> join_tokens(const Documents& documents, const PhraseTable& phrases, std::size_t threads) {
  const std::vector<std::size_t> cuts = cut(documents);
  std::vector<JoinedTokens> chunks(cuts.size() - 1);
  base::parallel_for(chunks.size(), threads, [&](std::size_t c) {
    JoinedTokens& chunk = chunks[c];
    TokenRun run;
    scan_cut(
        documents, cuts[c], cuts[c + 1], {GivenTokens{}}, [&](std::string_view token) { run.push(token); },
        [&](std::size_t d) {
          run.join(phrases);
          const std::size_t tokens = documents.begin[d + 1] - documents.begin[d];
          for (std::size_t t = 0, at = documents.begin[d]; run.size() < tokens && t < run.size(); ++t) {
            if (run.parts(t) > 1)
              chunk.joins.push_back({at, run.parts(t), chunk.phrases.insert(run[t], base::hash_bytes(run[t]))});
            at += run.parts(t);
          }
          chunk.document_ends.push_back(chunk.joins.size());
          run.clear();
        });
  });
  return chunks;
}

std::vector<std::int64_t> sort_strings(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets) {
  struct Key {
    std::uint64_t head;  // the first eight bytes, most significant first: most comparisons end here
    std::int64_t string;
  };
  const std::size_t n = offsets.size() - 1;
  const auto view = [&](std::int64_t i) {
    const auto s = static_cast<std::size_t>(i);
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + offsets[s],
                            static_cast<std::size_t>(offsets[s + 1] - offsets[s]));
  };
  std::vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view string = view(static_cast<std::int64_t>(i));
    std::uint64_t head = 0;
    for (std::size_t b = 0; b < 8; ++b)
      head = head << 8 | (b < string.size() ? static_cast<unsigned char>(string[b]) : 0u);
    keys[i] = {head, static_cast<std::int64_t>(i)};
  }
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.head != b.head) return a.head < b.head;
    const int order = view(a.string).compare(view(b.string));
    return order != 0 ? order < 0 : a.string < b.string;
  });
  std::vector<std::int64_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = keys[i].string;
  return order;
}

bool holds_word(const TermTable& words, std::string_view ngram) {
  for (std::size_t begin = 0;;) {
    const std::size_t end = ngram.find(kNgramMark, begin);
    if (words.find(ngram.substr(begin, end - begin)) >= 0) return true;
    if (end == std::string_view::npos) return false;
    begin = end + 1;
  }
}

std::vector<std::uint8_t> holding_words(const TermTable& words, std::span<const std::uint8_t> bytes,
                                        std::span<const std::int64_t> offsets, std::size_t threads) {
  std::vector<std::uint8_t> holding(offsets.size() - 1);
  base::parallel_blocks(holding.size(), 1 << 14, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      holding[i] = holds_word(words, {reinterpret_cast<const char*>(bytes.data()) + offsets[i],
                                      static_cast<std::size_t>(offsets[i + 1] - offsets[i])});
  });
  return holding;
}

Counts remap(std::span<const std::int64_t> offsets, std::span<const std::int32_t> terms,
             std::span<const std::int32_t> values, std::span<const std::int32_t> new_id, std::size_t threads) {
  const std::size_t rows = offsets.size() - 1;
  constexpr std::size_t block = 1 << 10;
  std::vector<base::CsrBuilder> parts((rows + block - 1) / block);
  base::parallel_for(parts.size(), threads, [&](std::size_t b) {
    base::CsrBuilder& part = parts[b];
    for (std::size_t r = b * block; r < std::min(rows, (b + 1) * block); ++r) {
      for (auto e = static_cast<std::size_t>(offsets[r]); e < static_cast<std::size_t>(offsets[r + 1]); ++e)
        if (const std::int32_t id = new_id[static_cast<std::size_t>(terms[e])]; id >= 0) part.push(id, values[e]);
      const auto start = static_cast<std::size_t>(part.offsets.back());
      part.entries.resize(start + base::sort_and_add({part.entries.data() + start, part.entries.size() - start}));
      part.end_row();
    }
  });
  Counts result;
  result.offsets.reserve(rows + 1);
  result.offsets.push_back(0);
  std::size_t entries = 0;
  for (const base::CsrBuilder& part : parts) entries += part.entries.size();
  result.terms.reserve(entries);
  result.values.reserve(entries);
  for (const base::CsrBuilder& part : parts) {
    const std::int64_t start = result.offsets.back();
    for (std::size_t r = 0; r < part.rows(); ++r) result.offsets.push_back(start + part.offsets[r + 1]);
    for (const base::Entry& entry : part.entries) {
      result.terms.push_back(entry.column);
      result.values.push_back(entry.value);
    }
  }
  return result;
}

}  // namespace textmill::corpus
