// Tests of segments: the strings that patterns make of a stretch of tokens, numbered.
//
// A pattern is literals and what it finds of a segment [begin, end): a value so many places from its first token or from
// its last one, from the first or the last of the sentence, the values of a range, its length, or whether its string is in
// the sentence again. A row is a segment; patterns with a range of lengths are asked only of segments that have one of
// them. Values are read through sources, one string for each distinct value of a column (extract.h).
//
// Patterns that look at one value alone have the same tests wherever that value stands: `value_tests` makes them once for
// every distinct value of the column, and `values_at` says which value stands so many places from each token.
//
// New tests are numbered by first appearance, row by row, for any number of threads: blocks of rows number their own, then
// the blocks are merged in order. Cost: one hash look-up per row and pattern, and the bytes of the strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/intern.h"
#include "sequence/extract.h"

namespace textmill::sequence {

enum class Find : std::uint8_t { kText, kFirst, kLast, kSentence, kRange, kLength, kRepeated };

struct SegmentItem {
  Find find = Find::kText;
  std::int32_t source = -1;
  std::int32_t offset =
      0;                 // kFirst, kLast: from there; kSentence: 1, 2, ... or -1, -2, ...; kRange: from the first token
  std::int32_t end = 0;  // kRange: from the last token; kLength: the longest that is told apart, 0 for all
  std::string text;      // kText
};

struct SegmentPattern {
  std::int32_t shortest = 1, longest = 0;  // lengths that are asked, 0: any
  std::vector<SegmentItem> items;
};

struct SegmentProgram {
  std::span<const Source> sources;
  std::span<const SegmentPattern> patterns;
  std::size_t left, right;  // boundaries, see Program
};

struct Stretches {                       // segments in the order of their sentences
  std::span<const std::int64_t> begin;   // [rows] first token, over all sentences
  std::span<const std::int32_t> length;  // [rows]
};

// Only known tests: the others are left out.
TestRows segment_tests_known(const Cells& cells, const SegmentProgram& program, const Stretches& rows,
                             const base::InternTable& tests, std::size_t threads);

// Known tests of patterns that look at one value, for a token alone: a row for each value of the column and each boundary.
TestRows value_tests(const SegmentProgram& program, const base::InternTable& tests, std::size_t values);

// For every token the value that stands `offset` places from it, boundaries counted behind the values of the column.
std::vector<std::int32_t> values_at(const Cells& cells, std::size_t slot, std::int32_t offset, std::size_t left,
                                    std::size_t right);

// New tests are added.
TestRows segment_tests_new(const Cells& cells, const SegmentProgram& program, const Stretches& rows,
                           base::InternTable& tests, std::size_t threads);

}  // namespace textmill::sequence
