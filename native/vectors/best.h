// The best rows found so far for one query: a bounded heap with a total order, so that it does not matter in which order,
// or in how many heaps, rows were met.
//
// Every way of searching ranks by one key, larger is better, computed in double precision from the stored float32
// numbers by one function in one order (exact.h). Faster, coarser figures only decide which rows need no exact key:
// those whose upper bound is below needed().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace textmill::vectors {

struct Hit {
  double key;
  std::int64_t row;
};

inline bool better(const Hit& a, const Hit& b) { return a.key > b.key || (a.key == b.key && a.row < b.row); }

inline constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

struct Wanted {
  std::size_t k;  // at most so many rows, >= 1; kAll for all of them
  double least;   // with keys of at least this; -infinity for any
};

class Best {
 public:
  explicit Best(Wanted wanted) : wanted_(wanted) {}

  // A row with a key below this is not wanted; one with this very key may be.
  double needed() const {
    return hits_.size() < wanted_.k ? wanted_.least : std::max(wanted_.least, hits_.front().key);
  }

  // From now on keys below `least` are not wanted either.
  void raise(double least) { wanted_.least = std::max(wanted_.least, least); }

  void offer(double key, std::int64_t row) {
    const Hit hit{key, row};
    if (!(key >= wanted_.least)) return;  // nor a NaN from a damaged file: it has no place in the order
    if (hits_.size() < wanted_.k) {
      hits_.push_back(hit);
      if (wanted_.k != kAll) std::push_heap(hits_.begin(), hits_.end(), better);  // the worst is in front
    } else if (better(hit, hits_.front())) {
      std::pop_heap(hits_.begin(), hits_.end(), better);
      hits_.back() = hit;
      std::push_heap(hits_.begin(), hits_.end(), better);
    }
  }

  void take(const Best& other) {
    for (const Hit& hit : other.hits_) offer(hit.key, hit.row);
  }

  std::vector<Hit> sorted() const {
    std::vector<Hit> hits = hits_;
    std::sort(hits.begin(), hits.end(), better);
    return hits;
  }

 private:
  Wanted wanted_;
  std::vector<Hit> hits_;
};

// The largest key below which some thread knows that rows are not wanted. How soon others see it changes how much work
// they do, never what they find.
class Needed {
 public:
  explicit Needed(double least) : value_(least) {}
  double get() const { return value_.load(std::memory_order_relaxed); }
  void raise(double value) {
    double old = get();
    while (value > old && !value_.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<double> value_;
};

}  // namespace textmill::vectors
