// A table of distinct byte strings: string -> number in order of first insertion, and back.
//
// The strings lie one after the other in one array with offsets; the hash table holds (32 hash bits, number) pairs in
// open addressing with linear probing, so a look-up touches one cache line of the table and one of the strings.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace textmill::base {

// 64-bit hash of bytes: 128-bit products of 8-byte words, folded. Fixed for ever within a process; never stored.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const auto word = [](const char* p) {
    std::uint64_t w;
    std::memcpy(&w, p, 8);
    return w;
  };
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint64_t h = 0x9E3779B97F4A7C15u ^ n;
  for (; n > 16; p += 16, n -= 16) h = mix(word(p) ^ 0xA0761D6478BD642Fu, word(p + 8) ^ h);
  std::uint64_t a = 0, b = 0;
  if (n >= 8) {
    a = word(p);
    b = word(p + n - 8);
  } else if (n >= 4) {
    std::uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + n - 4, 4);
    a = low;
    b = high;
  } else if (n > 0) {
    a = static_cast<std::uint64_t>(static_cast<unsigned char>(p[0])) << 16 |
        static_cast<std::uint64_t>(static_cast<unsigned char>(p[n / 2])) << 8 | static_cast<unsigned char>(p[n - 1]);
  }
  return mix(a ^ 0xE7037ED1A0B428DBu, mix(b ^ 0x8EBC6AF09C88C6E3u, h));
}

class InternTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();  // numbers are int32 ids outside

  InternTable() { clear(); }

  std::size_t size() const { return hashes_.size(); }
  std::string_view operator[](std::size_t id) const {
    return {bytes_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]};
  }
  std::uint64_t hash(std::size_t id) const { return hashes_[id]; }
  std::size_t memory() const {
    return bytes_.capacity() + offsets_.capacity() * sizeof(std::size_t) + hashes_.capacity() * sizeof(std::uint64_t) +
           slots_.capacity() * sizeof(Slot);
  }

  // The number of the string, or kNone.
  std::uint32_t find(std::string_view key, std::uint64_t hash) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.id == kNone) return kNone;
      if (slot.tag == tag(hash) && (*this)[slot.id] == key) return slot.id;
    }
  }

  // Fetches the place where a look-up will begin, for those who have several to make.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  // For those who look up many strings and fetch in between what the next step needs: the first number whose string
  // may be the one with this hash (kNone: there is none), where that string is, and its bytes.
  std::uint32_t probe(std::uint64_t hash) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.id == kNone || slot.tag == tag(hash)) return slot.id;
    }
  }
  void prefetch_place(std::uint32_t id) const { __builtin_prefetch(&offsets_[id]); }
  void prefetch_bytes(std::uint32_t id) const { __builtin_prefetch(bytes_.data() + offsets_[id]); }

  // The number of the string; a new one, size(), if it was not there.
  std::uint32_t insert(std::string_view key, std::uint64_t hash) {
    std::size_t at = hash & mask_;
    for (;; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.id == kNone) break;
      if (slot.tag == tag(hash) && (*this)[slot.id] == key) return slot.id;
    }
    if (size() >= kMost) throw std::length_error("more than 2,147,483,647 distinct strings");
    const auto id = static_cast<std::uint32_t>(size());
    bytes_.insert(bytes_.end(), key.begin(), key.end());
    offsets_.push_back(bytes_.size());
    hashes_.push_back(hash);
    slots_[at] = {tag(hash), id};
    if (size() * 2 > slots_.size()) grow(slots_.size() * 2);
    return id;
  }

  // Room for this many strings without growing on the way.
  void reserve(std::size_t strings) {
    const std::size_t wanted = std::bit_ceil(strings * 2 + 1);
    if (wanted > slots_.size()) grow(wanted);
    offsets_.reserve(strings + 1);
    hashes_.reserve(strings);
  }

  // Empties the table; memory is kept for the next use.
  void clear() {
    bytes_.clear();
    offsets_.assign(1, 0);
    hashes_.clear();
    if (slots_.empty()) slots_.resize(1024);
    std::fill(slots_.begin(), slots_.end(), Slot{0, kNone});
    mask_ = slots_.size() - 1;
  }

 private:
  struct Slot {
    std::uint32_t tag;
    std::uint32_t id;
  };
  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  void grow(std::size_t slots) {
    std::vector<Slot> bigger(slots, Slot{0, kNone});
    mask_ = slots - 1;
    for (std::size_t id = 0; id < size(); ++id) {
      std::size_t at = hashes_[id] & mask_;
      while (bigger[at].id != kNone) at = (at + 1) & mask_;
      bigger[at] = {tag(hashes_[id]), static_cast<std::uint32_t>(id)};
    }
    slots_.swap(bigger);
  }

  std::vector<char> bytes_;
  std::vector<std::size_t> offsets_;   // size() + 1
  std::vector<std::uint64_t> hashes_;  // size()
  std::vector<Slot> slots_;            // a power of two, at most half full
  std::size_t mask_ = 0;
};

}  // namespace textmill::base
