// A table of distinct integer sequences: sequence -> number in order of first insertion, and back.
//
// Output strings, subsets of states and composite weights become one number each, so that they are compared, hashed and
// stored in constant time and space. The sequences lie one after the other in one array; the table is open addressing
// with linear probing over (32 bits of the hash, number).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

namespace textmill::fst {

// Stirs 64 bits (the finaliser of MurmurHash3).
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

  SequenceTable() : offsets_(1, 0), slots_(64, Slot{0, kNone}), mask_(63) {}

  std::size_t size() const { return offsets_.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t id) const {
    return {values_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]};
  }

  // The number of the sequence; a new one, size(), if it was not there. `key` must not lie inside the table.
  std::uint32_t insert(std::span<const std::int32_t> key) {
    const std::uint64_t hash = hash_of(key);
    std::size_t at = hash & mask_;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    for (;; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.id == kNone) break;
      if (slot.tag == tag && std::ranges::equal((*this)[slot.id], key)) return slot.id;
    }
    if (size() >= kNone - 1) throw std::length_error("more than 4,294,967,294 distinct sequences");
    const auto id = static_cast<std::uint32_t>(size());
    values_.insert(values_.end(), key.begin(), key.end());
    offsets_.push_back(values_.size());
    slots_[at] = {tag, id};
    if (size() * 2 > slots_.size()) grow();
    return id;
  }

 private:
  struct Slot {
    std::uint32_t tag;
    std::uint32_t id;
  };

  static std::uint64_t hash_of(std::span<const std::int32_t> key) {
    std::uint64_t h = key.size();
    for (const std::int32_t value : key) h = (h ^ static_cast<std::uint32_t>(value)) * 0x9E3779B97F4A7C15u ^ (h >> 29);
    return stir(h);
  }

  void grow() {
    std::vector<Slot> bigger(slots_.size() * 2, Slot{0, kNone});
    mask_ = bigger.size() - 1;
    for (std::size_t id = 0; id < size(); ++id) {
      const std::uint64_t hash = hash_of((*this)[id]);
      std::size_t at = hash & mask_;
      while (bigger[at].id != kNone) at = (at + 1) & mask_;
      bigger[at] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(id)};
    }
    slots_.swap(bigger);
  }

  std::vector<std::int32_t> values_;
  std::vector<std::size_t> offsets_;  // size() + 1
  std::vector<Slot> slots_;           // a power of two, at most half full
  std::size_t mask_;
};

}  // namespace textmill::fst
