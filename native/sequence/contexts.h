// What repeats in a set of sequences, found once: sets of tests, and beginnings and ends of sequences.
//
//   Contexts   the potentials of a token depend only on the set of tests that are true there: each distinct set (a
//              context) gets a number, and potentials are computed once per context
//   Trie       the forward vector of position t depends only on tokens 0 .. t, the backward vector only on the tokens
//              after t: sequences that begin (end) alike share them. A node is a distinct beginning (end)
//
// Nodes are numbered by lane (a fixed stretch of the sorted sequences, the unit of work of a thread), within it by
// depth, within that by the group of their bigram context, so that all nodes of a batch can be multiplied by one matrix
// together. Cost: sorting the sequences and the nodes. Everything depends on the data only, never on threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::sequence {

struct Rows {                             // per token the tests that are true
  std::span<const std::int64_t> offsets;  // [T + 1]
  std::span<const std::int32_t> ids;      // [offsets[T]]
  std::span<const float> values;          // as ids, or empty: all are one
};

// Lists of pairs (item, value) per key.
struct Lists {
  std::vector<std::int64_t> offsets;  // [keys + 1]
  std::vector<std::int32_t> items;
  std::vector<float> values;  // as items, or empty: all are one

  std::size_t size() const { return offsets.size() - 1; }
  float value(std::int64_t e) const { return values.empty() ? 1.0F : values[e]; }
};

struct Contexts {
  Lists tests;                    // per context
  std::vector<std::int32_t> of;   // [T] context of a token, -1 for those left out
  std::vector<std::int32_t> tag;  // [contexts] the tag that its tokens share, or empty

  std::size_t size() const { return tests.size(); }
};

// Numbers the distinct rows in the order of their first token; tokens with `skip` are left out (empty: none), tokens
// with different tags (empty: all alike) have different contexts.
Contexts distinct_rows(const Rows& rows, std::span<const char> skip, std::span<const std::int32_t> tags);

// Key and item change places; items of a key rise.
Lists transpose(const Lists& lists, std::size_t items);

// Groups of contexts by what they have in common: contexts with the same set of frequent tests form a group. As many
// tests count as frequent, most frequent first, as leave at most `limit` groups.
struct Grouping {
  std::vector<char> frequent;       // [tests]
  std::vector<std::int32_t> group;  // [contexts]
  std::vector<std::int32_t> first;  // [groups] a context of the group
};
Grouping group_contexts(const Contexts& contexts, std::span<const std::int64_t> counts, std::size_t limit);

struct Batch {
  std::int32_t begin, end;  // nodes of one lane, one depth, one group
};

struct Trie {
  std::vector<std::int32_t> parent;   // [nodes] -1: nothing before
  std::vector<std::int32_t> unigram;  // [nodes] contexts of the token that a node adds
  std::vector<std::int32_t> bigram;   // [nodes]
  std::vector<std::int32_t> of;       // [T] node of a token: its beginning, or the end behind it (-1: nothing behind)
  std::vector<Batch> batches;
  std::vector<std::size_t> lanes;  // [lanes + 1] batches of a lane

  std::size_t size() const { return parent.size(); }
};

// Beginnings (every token adds itself) or, `reversed`, ends (the node of a token holds the tokens behind it).
Trie build_trie(std::span<const std::int64_t> offsets, std::span<const std::int32_t> unigram,
                std::span<const std::int32_t> bigram, std::span<const std::int32_t> group, bool reversed);

}  // namespace textmill::sequence
