// A table of distinct integer sequences: sequence -> number in order of first insertion, and back.
//
// Output strings, subsets of states and composite weights become one number each, so that they are compared, hashed and
// stored in constant time and space. The sequences lie one after the other in one array; the table is open addressing
// with linear probing over (32 bits of the hash, number).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/flat_table.h"

namespace textmill::fst {

// Stirs 64 bits (the finalizer of MurmurHash3).
inline std::uint64_t stir(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDu;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53u;
  return x ^ (x >> 33);
}

inline std::uint64_t join(std::uint64_t a, std::uint64_t b) { return stir(a * 0x9E3779B97F4A7C15u + b); }

class SequenceTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  SequenceTable() : offsets_(1, 0) {}

  std::size_t size() const { return offsets_.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t id) const {
    return {values_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]};
  }

  // The number of the sequence; a new one, size(), if it was not there. `key` must not lie inside the table.
  std::uint32_t insert(std::span<const std::int32_t> key);

 private:
  std::vector<std::int32_t> values_;
  std::vector<std::size_t> offsets_;  // size() + 1
  base::FlatIndex index_;
};

}  // namespace textmill::fst
