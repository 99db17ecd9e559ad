// A growable matrix in compressed sparse rows: rows are appended, entries of a row sorted by column, none twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace textmill::base {

struct Entry {
  std::int32_t column;
  std::int32_t value;
};

// Sorts entries by column and adds those of equal columns together; returns how many remain, at the front.
inline std::size_t sort_and_add(std::span<Entry> row) {
  std::sort(row.begin(), row.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (kept == 0 || row[kept - 1].column != row[i].column) {
      row[kept++] = row[i];
    } else if (__builtin_add_overflow(row[kept - 1].value, row[i].value, &row[kept - 1].value)) {
      throw std::overflow_error("a count in one row exceeds 2,147,483,647");
    }
  }
  return kept;
}

struct CsrBuilder {
  std::vector<std::int64_t> offsets{0};  // rows + 1
  std::vector<Entry> entries;

  std::size_t rows() const { return offsets.size() - 1; }
  std::span<Entry> row(std::size_t r) {
    return {entries.data() + offsets[r], static_cast<std::size_t>(offsets[r + 1] - offsets[r])};
  }
  void push(std::int32_t column, std::int32_t value) { entries.push_back({column, value}); }
  void end_row() { offsets.push_back(static_cast<std::int64_t>(entries.size())); }
  void clear() {
    offsets.assign(1, 0);
    entries.clear();
  }
};

}  // namespace textmill::base
