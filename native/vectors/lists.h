// The k nearest of every row of a collection, from tiles of products that serve both sides of each pair.
//
//   key(x, y) = key(y, x), so a tile of products P = X Y^T offers each row of Y to the rows of X and the other way round:
//   half the products of asking for every row by itself.
//
// As in scan.h float32 products only decide which pairs need an exact key, so the lists have the same bits whatever the
// tiles, their order, or the number of threads that add them.
//
// Cost: one comparison a pair, one exact key for each pair that may enter a list. Memory: k hits a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "vectors/best.h"
#include "vectors/scan.h"

namespace textmill::vectors {

// Some rows of a part of the collection: rows first .. first + count - 1 of x are rows base .. base + count - 1 of all.
struct Stretch {
  const Dense* x;  // head == columns
  std::size_t first, count, base;
};

class Lists {
 public:
  Lists(std::size_t rows, std::size_t k) : best_(rows, Best({k, -std::numeric_limits<double>::infinity()})) {}

  std::size_t size() const { return best_.size(); }

  // Offers every pair of the two stretches whose left row comes before the right one in the whole. products
  // [left.count][stride >= right.count]. Several threads may add at the same time.
  void add(const Stretch& left, const Stretch& right, const float* products, std::size_t stride);

  // One pair more, as it was found elsewhere.
  void offer(std::size_t row, double key, std::int64_t other) { best_[row].offer(key, other); }

  // Fills rows and keys [size()][k], best first; -1 and -infinity where there are fewer.
  void fill(std::size_t k, std::span<std::int64_t> rows, std::span<double> keys) const;

 private:
  static constexpr std::size_t kLocks = 1024;
  std::mutex& lock_of(std::size_t row) { return locks_[row % kLocks]; }
  double needed(std::size_t row);
  double offer_locked(std::size_t row, double key, std::size_t other);  // returns what is needed now

  std::vector<Best> best_;
  std::array<std::mutex, kLocks> locks_;
};

}  // namespace textmill::vectors
