// Observation tests: the strings that patterns make at each token, numbered.
//
//   cells      the columns of the tokens, each distinct string interned once per column
//   source     a column seen through a function (itself, lower case, a regular expression ...), one string per distinct
//              cell, so that functions run once per distinct value and not once per token
//   pattern    literals and sources at offsets; at token t they are put together to a string, the test
//   test       number of that string; the first character says whether it has unigram weights, bigram weights or both
//
// New tests are numbered by first appearance (token by token, pattern by pattern) for any number of threads: blocks of
// whole sequences number their own, then the blocks are merged in order. Cost: one hash look-up per token and pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/intern.h"

namespace textmill::sequence {

// What a test has weights for.
enum Kind : std::uint8_t { kUnigram = 1, kBigram = 2, kBoth = 3 };

// u, b or * in either case; 0 for anything else.
std::uint8_t kind_of(std::string_view test);

class Cells {
 public:
  // Only the columns named are kept; the others are not looked at.
  explicit Cells(std::vector<std::size_t> columns)
      : columns_(std::move(columns)), tables_(columns_.size()), ids_(columns_.size()) {}

  std::span<const std::size_t> columns() const { return columns_; }
  std::size_t sequences() const { return offsets_.size() - 1; }
  std::size_t tokens() const { return static_cast<std::size_t>(offsets_.back()); }
  std::span<const std::int64_t> offsets() const { return offsets_; }
  const base::InternTable& table(std::size_t slot) const { return tables_[slot]; }
  std::span<const std::int32_t> ids(std::size_t slot) const { return ids_[slot]; }

  // values[places[0]], values[places[1]] ...; values stand in the order of their first places.
  void add_all(std::size_t slot, std::span<const std::string_view> values, std::span<const std::uint32_t> places);
  // After as many places were added to every slot.
  void end_sequence(std::size_t length) { offsets_.push_back(offsets_.back() + static_cast<std::int64_t>(length)); }

 private:
  std::vector<std::size_t> columns_;
  std::vector<base::InternTable> tables_;       // one per column
  std::vector<std::vector<std::int32_t>> ids_;  // [column][token]
  std::vector<std::int64_t> offsets_{0};
};

struct Source {
  std::size_t slot;                      // among the columns of the cells
  std::vector<std::string_view> pieces;  // [distinct values of the column + boundaries]
  std::vector<std::uint32_t> codes;      // [pieces] equal for equal strings, from 0; empty: every piece its own
  std::size_t size;                      // number of codes
};

struct Item {
  std::int32_t source = -1;  // -1: the literal
  std::int32_t offset = 0;
  bool absolute = false;  // from the first token (1, 2, ...) or the last (-1, -2, ...) of the sequence
  std::string literal;
};

struct Pattern {
  std::uint8_t kind = 0;
  std::int32_t parent = -1;  // a pattern before this one: new tests are made only where its test is already known
  std::vector<Item> items;
};

// Boundaries follow the values of a source: `left` of them before the sequence, nearest first, then `right` behind it;
// the last of each stands for everything farther away.
struct Program {
  std::vector<Source> sources;
  std::vector<Pattern> patterns;
  std::size_t left;
  std::size_t right;
};

// Tests with the numbers of their unigram and bigram weights.
struct Tests {
  base::InternTable strings;
  std::vector<std::int32_t> unigram;  // [test], -1 for none
  std::vector<std::int32_t> bigram;   // [test], -1 for none
  std::int32_t unigrams = 0;
  std::int32_t bigrams = 0;

  // Takes the string as a test if it is new; kind_of must know it.
  std::uint32_t insert(std::string_view test, std::uint64_t hash);
};

struct TestRows {                    // of one kind of test
  std::vector<std::int64_t> indptr;  // [tokens + 1]
  std::vector<std::int32_t> ids;
};

struct Extracted {
  TestRows unigram;
  TestRows bigram;
};

// Only known tests: the others are left out.
Extracted extract_known(const Cells& cells, const Program& program, const Tests& tests, std::size_t threads);

// New tests are added. `active` [tests before] says which of the known ones a child may follow.
Extracted extract_new(const Cells& cells, const Program& program, Tests& tests, std::span<const std::uint8_t> active,
                      std::size_t threads);

// Numbers are hashes of the tests, in 0 .. 2^bits - 1; fixed for ever, since models depend on them.
Extracted extract_hashed(const Cells& cells, const Program& program, int bits, std::size_t threads);
std::uint32_t feature_hash(std::string_view test, int bits);

}  // namespace textmill::sequence
