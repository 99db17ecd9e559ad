// Numbers of 64-bit keys: open addressing with linear probing, for searches that begin anew with every word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace textmill::base {

// Two 32-bit numbers as one key.
inline std::uint64_t joined_key(std::int32_t high, std::int32_t low) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low);
}

// Emptied in time that goes with its use, not its size. Numbers are not negative.
class KeyIndex {
 public:
  void clear() {
    for (const std::size_t slot : used_) slots_[slot].second = -1;
    used_.clear();
  }

  // The number of a key, which is set to `fresh` where it is new.
  std::int32_t& at(std::uint64_t key, std::int32_t fresh) {
    if (2 * (used_.size() + 1) > slots_.size()) grow();
    std::size_t slot = mixed(key) & (slots_.size() - 1);
    while (slots_[slot].second >= 0 && slots_[slot].first != key) slot = (slot + 1) & (slots_.size() - 1);
    if (slots_[slot].second < 0) {
      slots_[slot] = {key, fresh};
      used_.push_back(slot);
    }
    return slots_[slot].second;
  }

 private:
  static std::uint64_t mixed(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return key ^ key >> 29;
  }

  void grow() {
    const auto old = std::move(slots_);
    const auto used = std::move(used_);
    slots_.assign(std::max<std::size_t>(64, 2 * old.size()), {0, -1});
    used_.clear();
    for (const std::size_t slot : used) at(old[slot].first, old[slot].second);
  }

  std::vector<std::pair<std::uint64_t, std::int32_t>> slots_;
  std::vector<std::size_t> used_;
};

}  // namespace textmill::base
