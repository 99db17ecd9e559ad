// The n-gram lines of an ARPA file: "log10 p  w_1 ... w_n  [log10 back-off]", parted by blanks or tabs.
//
// Words are looked up in (order 1: added to) a TermTable, so that an n-gram is n ids. One pass over the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bulk.h"
#include "base/fault.h"
#include "corpus/counting.h"

namespace textmill::corpus {

struct NgramLines {
  std::vector<std::int32_t> words;      // [lines][order]
  std::vector<double> log_probability;  // base 10
  std::vector<double> back_off;         // base 10; 0 where the line has none
  std::optional<base::Fault> fault;
};

// Lines of one section; blank lines are ignored. With order 1 every word must be new, with others every word known.
NgramLines parse_ngrams(std::string_view block, std::size_t order, TermTable& words);

struct Names {  // the words by number: a view
  std::span<const std::uint8_t> bytes;
  std::span<const std::int64_t> offsets;  // words + 1

  std::size_t size() const { return offsets.size() - 1; }
  std::string_view operator[](std::size_t word) const {
    return {reinterpret_cast<const char*>(bytes.data()) + offsets[word],
            static_cast<std::size_t>(offsets[word + 1] - offsets[word])};
  }
};

// The lines of n-grams [0, log_probability.size()); back-offs are written unless `last` (the highest order has none).
base::Bulk<char> format_ngrams(const Names& table, std::span<const std::int32_t> words,
                               std::span<const double> log_probability, std::span<const double> back_off, bool last);

}  // namespace textmill::corpus
