// Counts of words by language, and of the n-grams of letters inside words: both add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/intern.h"
#include "language/identify.h"

namespace textmill::language {

struct Entry {
  std::int32_t language;
  double count;
};

// Words with their counts by language. The result does not depend on the order in which texts are added.
class Counter {
 public:
  explicit Counter(std::size_t languages) : languages_(languages) {}
  void add_text(const Source& source, std::int32_t language, bool without_accents);
  void add(std::string_view word, std::int32_t language, double count);
  std::size_t languages() const { return languages_; }

  struct Columns {
    std::vector<std::uint8_t> bytes;    // words, sorted by their bytes
    std::vector<std::int64_t> offsets;  // [words + 1]
    std::vector<std::int64_t> begin;    // [words + 1] entries of each word
    std::vector<std::int32_t> language;
    std::vector<double> count;
  };
  Columns columns() const;  // entries with a count of 0 are left out, and words without entries

 private:
  std::size_t languages_;
  base::InternTable words_;
  std::vector<std::vector<Entry>> entries_;
};

// The n-grams of up to `order` letters of weighted words of one script, with the marks < and > around each word; for each
// n-gram that has at least `least` of the mean weight over languages, where each language weighs 1 in total.
struct Grams {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets;  // [grams + 1], sorted by bytes
  std::vector<float> weight;          // [grams][languages]
};
Grams count_grams(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets,
                  std::span<const std::int64_t> begin, std::span<const std::int32_t> language,
                  std::span<const double> weight, std::size_t languages, std::size_t order, double least);

}  // namespace textmill::language
