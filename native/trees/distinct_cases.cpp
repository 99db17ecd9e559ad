#include "trees/distinct_cases.h"

#include <bit>
#include <cstddef>

#include "base/flat_table.h"

namespace textmill::trees {
namespace {

// Rows with equal attributes and class become one, weights added, in the order of first occurrence.
void join_duplicates(const Cases& cases, std::vector<std::int64_t>& rows, std::vector<double>& weights) {
  const std::size_t attributes = cases.values.size();
  base::FlatIndex index;  // of places in rows
  const auto hash = [&](std::size_t row) {
    std::uint64_t h = 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(cases.labels[row]);
    const auto mix = [&](std::uint64_t bits) {
      h = (h ^ bits) * 0xBF58476D1CE4E5B9ull;
      h ^= h >> 29;
    };
    for (std::size_t a = 0; a < attributes; ++a) mix(static_cast<std::uint64_t>(cases.codes[a * cases.rows + row]));
    for (std::size_t d = 0; d < cases.numeric; ++d)
      mix(std::bit_cast<std::uint64_t>(cases.numbers[d * cases.rows + row] + 0.0));
    return h;
  };
  const auto equal = [&](std::size_t x, std::size_t y) {
    if (cases.labels[x] != cases.labels[y]) return false;
    for (std::size_t a = 0; a < attributes; ++a)
      if (cases.codes[a * cases.rows + x] != cases.codes[a * cases.rows + y]) return false;
    for (std::size_t d = 0; d < cases.numeric; ++d)
      if (cases.numbers[d * cases.rows + x] != cases.numbers[d * cases.rows + y]) return false;
    return true;
  };
  for (std::size_t row = 0; row < cases.rows; ++row) {
    const auto fresh = static_cast<std::uint32_t>(rows.size());
    const std::uint32_t at =
        index.add(hash(row), fresh, [&](std::uint32_t i) { return equal(static_cast<std::size_t>(rows[i]), row); });
    if (at == fresh) {
      rows.push_back(static_cast<std::int64_t>(row));
      weights.push_back(cases.weights[row]);
    } else {
      weights[at] += cases.weights[row];
    }
  }
}

}  // namespace

DistinctCases::DistinctCases(const Cases& all) : cases(all) {
  std::vector<std::int64_t> rows;
  join_duplicates(all, rows, weights);
  const auto gather = [&](const auto& from, std::size_t columns, auto& to) {
    to.reserve(columns * rows.size());
    for (std::size_t column = 0; column < columns; ++column)
      for (const std::int64_t row : rows) to.push_back(from[column * all.rows + static_cast<std::size_t>(row)]);
  };
  gather(all.codes, all.values.size(), codes);
  gather(all.numbers, all.numeric, numbers);
  gather(all.labels, 1, labels);
  cases = {rows.size(), all.classes, all.values, codes, all.numeric, numbers, labels, weights};
}

}  // namespace textmill::trees
