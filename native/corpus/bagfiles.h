// Text formats of sparse matrices: blocks of whole lines into rows of numbers, and rows into lines.
//
//   triples   "row column value"                      Matrix Market coordinate, UCI docword
//   pairs     "[label] [qid:n] column:value ..."      SVMlight;   "n column:value ..."   Blei's LDA-C
//
// A parser reads a block from its first to its last byte once, without allocating but for its result, and stops at
// the first fault, which it places by line of the block and byte of the line. Numbers are read by std::from_chars: exact, and without a locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"

namespace textmill::corpus {

struct ParseLimits {
  std::int64_t base;     // the number of the first column (and row) in the file: 0 or 1
  std::int64_t columns;  // columns must be below this (after the base is taken off)
  std::int64_t rows;     // the same for rows of triples
  bool negative;         // are negative values allowed?
};

struct Triples {
  std::vector<std::int64_t> row;
  std::vector<std::int32_t> column;
  std::vector<double> value;
  std::vector<std::int64_t> begin;  // byte position of each line in the block
  std::optional<base::Fault> fault;
};

// Rows must not decrease (the last row before the block is `previous`, -1 for none); columns of a row may come in any order.
Triples parse_triples(std::string_view block, const ParseLimits& limits, std::int64_t previous);

struct Pairs {
  std::vector<std::int64_t> offsets{0};  // rows + 1
  std::vector<std::int32_t> column;      // sorted within a row
  std::vector<double> value;
  std::vector<double> label;        // rows, SVMlight only
  std::vector<std::int64_t> begin;  // byte position of each row's line in the block
  std::optional<base::Fault> fault;
};

Pairs parse_svmlight(std::string_view block, const ParseLimits& limits);
Pairs parse_ldac(std::string_view block, const ParseLimits& limits);

// Lines for rows [0, offsets.size() - 1); whole numbers without a point, others with as few digits as read back exactly.
struct Rows {
  const std::int64_t* offsets;
  std::size_t rows;
  const std::int32_t* column;
  const double* value;
};
std::string format_triples(const Rows& rows, std::int64_t base, std::int64_t first_row);
std::string format_svmlight(const Rows& rows, std::int64_t base, const double* label);
std::string format_ldac(const Rows& rows);

}  // namespace textmill::corpus
