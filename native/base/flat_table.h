// Hash tables with open addressing and linear probing, at most half full, in one block of memory.
//
//   FlatTable<V>  values by 64-bit keys
//   FlatIndex     numbers of things that are kept elsewhere, by the hash of what they hold
//
// A hash must be mixed: its upper half says where a look-up begins. `prefetch` fetches that place, for callers that look
// up many keys, one after the other. The order of slots shows nowhere, so a result cannot depend on it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace textmill::base {

// Two 32-bit numbers as one key.
inline std::uint64_t joined_key(std::int32_t high, std::int32_t low) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low);
}

inline std::uint64_t key_of(std::int32_t number) { return static_cast<std::uint32_t>(number); }

// The upper bits of a product depend on all bits of the key: enough for numbers and pairs of numbers.
struct Multiplied {
  std::uint64_t operator()(std::uint64_t key) const { return key * 0x9E3779B97F4A7C15u; }
};

// For keys that differ in few upper bits, or are products themselves.
struct Mixed {
  std::uint64_t operator()(std::uint64_t key) const {
    key = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
    return (key ^ key >> 29) * 0xD6E8FEB86659FD93u;
  }
};

// Values by keys, which are not ~0. References to values hold until the next `add`.
template <class V, class Hash = Multiplied>
class FlatTable {
 public:
  FlatTable() = default;

  std::size_t size() const { return size_; }
  // The value of a key, or nothing.
  const V* find(std::uint64_t key) const {
    if (keys_.empty()) return nullptr;
    const std::size_t at = slot(key);
    return keys_[at] == kFree ? nullptr : &values_[at];
  }
  V* find(std::uint64_t key) { return const_cast<V*>(std::as_const(*this).find(key)); }
  // The value of a key, or another.
  V find(std::uint64_t key, const V& otherwise) const {
    const V* const found = find(key);
    return found ? *found : otherwise;
  }
  // The value of a key, which becomes `fresh` if the key is new, and whether it is.
  std::pair<V&, bool> add(std::uint64_t key, V fresh) {
    if (2 * (size_ + 1) > keys_.size()) grow(std::max<std::size_t>(16, 2 * keys_.size()));
    const std::size_t at = slot(key);
    const bool made = keys_[at] != key;
    if (made) {
      keys_[at] = key;
      values_[at] = std::move(fresh);
      ++size_;
    }
    return {values_[at], made};
  }
  void reserve(std::size_t keys) {
    if (2 * keys > keys_.size()) grow(std::bit_ceil(std::max<std::size_t>(16, 2 * keys)));
  }
  void prefetch(std::uint64_t key) const {
    if (keys_.empty()) return;
    const std::size_t at = Hash{}(key) >> shift_;
    __builtin_prefetch(&keys_[at]);
    __builtin_prefetch(&values_[at]);
  }
  // f(key, value) for every key, in an order that is none: the result must not depend on it.
  template <class F>
  void each(F f) const {
    for (std::size_t at = 0; at < keys_.size(); ++at)
      if (keys_[at] != kFree) f(keys_[at], values_[at]);
  }
  void clear() {
    if (size_ > 0) std::ranges::fill(keys_, kFree);
    size_ = 0;
  }
  std::size_t memory() const { return keys_.capacity() * sizeof(std::uint64_t) + values_.capacity() * sizeof(V); }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  // Where the key is, or the free slot where it belongs.
  std::size_t slot(std::uint64_t key) const {
    std::size_t at = Hash{}(key) >> shift_;
    while (keys_[at] != key && keys_[at] != kFree) at = (at + 1) & (keys_.size() - 1);
    return at;
  }
  void grow(std::size_t slots) {
    std::vector<std::uint64_t> keys(slots, kFree);
    std::vector<V> values(slots);
    keys.swap(keys_);
    values.swap(values_);
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots));
    for (std::size_t old = 0; old < keys.size(); ++old) {
      if (keys[old] == kFree) continue;
      const std::size_t at = slot(keys[old]);
      keys_[at] = keys[old];
      values_[at] = std::move(values[old]);
    }
  }

  std::vector<std::uint64_t> keys_;  // a power of two
  std::vector<V> values_;
  unsigned shift_ = 64;  // 64 - log2 of how many
  std::size_t size_ = 0;
};

// Numbers below 2^31 of things that are kept elsewhere, and compared there. Emptied in no time.
class FlatIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The number with this hash for which equal(number) holds, or kNone.
  template <class Equal>
  std::uint32_t find(std::uint64_t hash, Equal equal) const {
    if (slots_.empty()) return kNone;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t at = tag & mask_; slots_[at].number > emptied_; at = (at + 1) & mask_)
      if (slots_[at].tag == tag && equal(slots_[at].number - emptied_ - 1)) return slots_[at].number - emptied_ - 1;
    return kNone;
  }
  // The number that is there already, or `number`, which is put there.
  template <class Equal>
  std::uint32_t add(std::uint64_t hash, std::uint32_t number, Equal equal) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = tag & mask_;
    for (; slots_[at].number > emptied_; at = (at + 1) & mask_)
      if (slots_[at].tag == tag && equal(slots_[at].number - emptied_ - 1)) return slots_[at].number - emptied_ - 1;
    slots_[at] = {tag, emptied_ + number + 1};
    largest_ = std::max(largest_, slots_[at].number);
    ++size_;
    return number;
  }
  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[(hash >> 32) & mask_]);
  }
  // The number where the search for this hash begins, whether it is the right one or not, or kNone.
  std::uint32_t first(std::uint64_t hash) const {
    if (slots_.empty()) return kNone;
    const std::uint32_t number = slots_[(hash >> 32) & mask_].number;
    return number > emptied_ ? number - emptied_ - 1 : kNone;
  }
  std::size_t size() const { return size_; }
  void clear() {
    size_ = 0;
    emptied_ = largest_;
    if (emptied_ < 1u << 31) return;  // numbers are told from those of before by being larger
    std::ranges::fill(slots_, Slot{});
    emptied_ = largest_ = 0;
  }
  std::size_t memory() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t number = 0;  // + emptied_ + 1; free up to emptied_
  };

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.number <= emptied_) continue;
      std::size_t at = slot.tag & mask_;
      while (slots_[at].number > emptied_) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t mask_ = 0;
  std::uint32_t emptied_ = 0, largest_ = 0;
  std::size_t size_ = 0;
};

// As `add`, of things that a key describes.
template <class Equal>
std::int32_t number_of(FlatIndex& index, std::uint64_t key, std::int32_t fresh, Equal equal) {
  return static_cast<std::int32_t>(index.add(Mixed{}(key), static_cast<std::uint32_t>(fresh), equal));
}

}  // namespace textmill::base
