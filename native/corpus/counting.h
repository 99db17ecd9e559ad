// Counting terms: documents in, a table of distinct terms and sparse rows of counts out.
//
// Documents are cut into chunks by their length (never by the number of threads). Each chunk is counted by one thread
// into a small table of its own; then the distinct terms of all chunks are looked up in the big table, which is split
// into partitions by hash so that several threads can do so at once. New terms get the next ids in the order of their first
// appearance, so ids, counts and rows have the same bytes for any number of threads and any batching.
//
// Cost: one look-up in a table that fits the cache per token, one in the big table per distinct term of a chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csr.h"
#include "base/intern.h"
#include "corpus/text.h"
#include "corpus/tokens.h"

namespace textmill::corpus {

// Views of documents. Document d is texts[begin[d]] .. texts[begin[d + 1]]: one text, or one text a token.
struct Documents {
  std::span<const Text> texts;
  std::span<const std::size_t> begin;  // documents + 1
  std::size_t first = 0;               // number of the first document, for messages

  std::size_t size() const { return begin.size() - 1; }
};

// Rows of counts in the arrays that SciPy wants.
struct Counts {
  std::vector<std::int64_t> offsets;  // documents + 1
  std::vector<std::int32_t> terms;    // ids, sorted within a document
  std::vector<std::int32_t> values;   // >= 1
};

// The numbers in a table of the tokens of documents, -1 for those that are not there.
struct FoundTokens {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> document_ends;  // in ids
};

class TermTable {
 public:
  TermTable() = default;
  // The table of given distinct strings, numbered in their order. offsets: strings + 1, monotone, within bytes. Throws
  // std::invalid_argument when a string occurs twice.
  TermTable(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets, std::size_t threads);

  std::size_t size() const { return place_.size(); }
  std::string_view operator[](std::size_t id) const;
  std::int32_t find(std::string_view term) const;  // -1 if it is not there
  std::int32_t insert(std::string_view term);
  // Fills out for documents that are lists of tokens, [first, last).
  void find_given(const Documents& documents, std::size_t first, std::size_t last, FoundTokens& out) const;

  // Counts documents; terms not seen before are added. Fills rows if it is given.
  void count(const Documents& documents, const TokenRules& rules, std::size_t threads, Counts* rows);
  // Counts documents by the terms that are there; returns how many tokens were not. Changes nothing.
  std::int64_t count_known(const Documents& documents, const TokenRules& rules, std::size_t threads,
                           Counts& rows) const;
  // Counts documents by the hash of their terms modulo `columns`, without any table; `with_sign` lets half of the terms
  // count negatively, so that collisions cancel out on average.
  static Counts count_hashed(const Documents& documents, const TokenRules& rules, std::size_t columns, bool with_sign,
                             std::size_t threads);
  // Adds the terms of another table with their frequencies; those not seen before get the next ids in their order.
  void absorb(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets,
              std::span<const std::int64_t> document_frequency, std::span<const std::int64_t> collection_frequency);
  // Adds rows of counts whose columns are ids of this table to the frequencies.
  void tally(std::span<const std::int32_t> terms, std::span<const std::int32_t> values);

  // Copies of the strings and frequencies in the order of ids, from id `first` on.
  struct Export {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> document_frequency;
    std::vector<std::int64_t> collection_frequency;
  };
  Export terms_from(std::size_t first) const;

  static constexpr std::size_t kPartitions = 16;
  const std::vector<std::int32_t>& ids_of_partition(std::size_t partition) const { return partitions_[partition].ids; }
  std::pair<std::int64_t, std::int64_t> frequencies(std::size_t id) const;  // documents, occurrences
  std::size_t memory() const;                                               // bytes held, about

 private:
  struct Partition {
    base::InternTable table;
    std::vector<std::int32_t> ids;  // per entry of table
    std::vector<std::int64_t> document_frequency;
    std::vector<std::int64_t> collection_frequency;
    std::uint32_t add(std::string_view term, std::uint64_t hash);
  };
  struct Place {
    std::uint32_t partition, entry;
  };
  static std::size_t partition_of(std::uint64_t hash) { return hash >> 60; }

  struct Chunk;
  static std::vector<Chunk> count_chunks(const Documents& documents, const TokenRules& rules, std::size_t threads);
  static void gather(std::span<Chunk> chunks, std::size_t threads, Counts& rows);
  void merge(std::span<Chunk> chunks, std::size_t threads);

  std::array<Partition, kPartitions> partitions_;
  std::vector<Place> place_;  // by id
};

// The same by any rules; chunks of documents in order.
std::vector<FoundTokens> find_tokens(const Documents& documents, const TokenRules& rules, const TermTable& table,
                                     std::size_t threads);

// Tokens of documents in order: sequences of numbers into a table of the distinct tokens.
struct TokenStream {
  base::InternTable table;
  std::vector<std::uint32_t> tokens;
  std::vector<std::size_t> document_ends;  // into tokens
};
// One stream for each chunk of documents, in order.
std::vector<TokenStream> tokenize(const Documents& documents, const TokenRules& rules, std::size_t threads);

// Phrases in lists of given tokens, those of one document behind those of the other.
struct JoinedTokens {
  struct Join {
    std::size_t token;  // the first one, counted over all documents
    std::size_t parts;  // how many tokens from there on, at least 2
    std::uint32_t phrase;
  };
  std::vector<Join> joins;
  std::vector<std::size_t> document_ends;  // into joins
  base::InternTable phrases;               // the distinct ones
};
// One for each chunk of documents, in order.
std::vector<JoinedTokens> join_tokens(const Documents& documents, const PhraseTable& phrases, std::size_t threads);

// Order of strings by their bytes, which is that of their code points. offsets: strings + 1, monotone, within bytes.
std::vector<std::int64_t> sort_strings(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets);

// Whether one of the words of an n-gram is in the table.
bool holds_word(const TermTable& words, std::string_view ngram);
// The same for many n-grams: 1 or 0 by string. offsets: strings + 1, monotone, within bytes.
std::vector<std::uint8_t> holding_words(const TermTable& words, std::span<const std::uint8_t> bytes,
                                        std::span<const std::int64_t> offsets, std::size_t threads);

// Renames the columns of rows by new_id[old] (-1 drops them) and sorts; columns that become equal are added.
Counts remap(std::span<const std::int64_t> offsets, std::span<const std::int32_t> terms,
             std::span<const std::int32_t> values, std::span<const std::int32_t> new_id, std::size_t threads);

}  // namespace textmill::corpus
