// Bits in an array of words, with rank and select; integers of few bits side by side.
//
//   rank(i)      ones before position i        a sum for each 512 bits, and at most 8 popcounts
//   select(k)    where the k-th one stands     binary search among the sums, then within the 512 bits
//
// The sums take 1/16 of the bits. Reference: Jacobson (1989), Space-efficient static trees and graphs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::fst {

class BitArray {
 public:
  BitArray() = default;
  // `words` must last as long as this.
  BitArray(std::span<const std::uint64_t> words, std::size_t size) : words_(words), size_(size) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i % kBlock == 0) sums_.push_back(static_cast<std::uint32_t>(ones_));
      ones_ += static_cast<std::size_t>(std::popcount(words[i]));
    }
    sums_.push_back(static_cast<std::uint32_t>(ones_));
  }
  std::size_t size() const { return size_; }
  std::size_t ones() const { return ones_; }
  std::size_t memory() const { return sums_.size() * sizeof(std::uint32_t); }
  bool operator[](std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }

  std::size_t rank(std::size_t i) const {
    const std::size_t word = i / 64;
    std::size_t sum = sums_[word / kBlock];
    for (std::size_t w = word / kBlock * kBlock; w < word; ++w) sum += popcount(w);
    if (i % 64) sum += static_cast<std::size_t>(std::popcount(words_[word] << (64 - i % 64)));
    return sum;
  }
  // Of the k-th one, from 0; k < ones().
  std::size_t select(std::size_t k) const { return find<false>(k); }
  // Of the k-th zero; k < size() - ones().
  std::size_t select_zero(std::size_t k) const { return find<true>(k); }

 private:
  static constexpr std::size_t kBlock = 8;
  std::size_t popcount(std::size_t word) const { return static_cast<std::size_t>(std::popcount(words_[word])); }

  template <bool zeros>
  std::size_t find(std::size_t k) const {
    const auto before = [this](std::size_t block) {
      const std::size_t sum = sums_[block];
      return zeros ? std::min(block * kBlock * 64, words_.size() * 64) - sum : sum;
    };
    std::size_t low = 0, high = sums_.size() - 1;  // the last block that begins with at most k before it
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (before(middle) <= k ? low : high) = middle;
    }
    k -= before(low);
    for (std::size_t w = low * kBlock;; ++w) {
      std::uint64_t word = zeros ? ~words_[w] : words_[w];
      const auto count = static_cast<std::size_t>(std::popcount(word));
      if (k >= count) {
        k -= count;
        continue;
      }
      for (; k > 0; --k) word &= word - 1;
      return w * 64 + static_cast<std::size_t>(std::countr_zero(word));
    }
  }

  std::span<const std::uint64_t> words_;
  std::size_t size_ = 0, ones_ = 0;
  std::vector<std::uint32_t> sums_;  // ones before each block of 512 bits
};

// Integers of `width` bits, 0 to 32, the lowest bits first. One word more than needed lies behind them.
class PackedIntegers {
 public:
  PackedIntegers() = default;
  PackedIntegers(std::span<const std::uint64_t> words, unsigned width)
      : words_(words), width_(width), mask_(width == 0 ? 0 : ~std::uint64_t{0} >> (64 - width)) {}
  std::uint32_t operator[](std::size_t i) const {
    const std::size_t bit = i * width_, word = bit / 64, shift = bit % 64;
    std::uint64_t value = words_[word] >> shift;
    if (shift + width_ > 64) value |= words_[word + 1] << (64 - shift);
    return static_cast<std::uint32_t>(value & mask_);
  }
  static std::size_t words_for(std::size_t count, unsigned width) { return (count * width + 63) / 64 + 1; }

 private:
  std::span<const std::uint64_t> words_;
  unsigned width_ = 0;
  std::uint64_t mask_ = 0;
};

}  // namespace textmill::fst
