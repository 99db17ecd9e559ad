// States by the weight that they are reached with, the best first; of equal weights the smaller state.
//
// A heap of four children a node: half as deep as one of two, and the children lie in one cache line. A state that is
// reached again by a better weight is put in again; what comes out worse than known is for the caller to skip.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace textmill::fst {

template <class S>
class BestFirst {
 public:
  struct Entry {
    typename S::Weight weight;
    std::int32_t state;
  };
  explicit BestFirst(const S& k) : k_(k) {}
  bool empty() const { return heap_.empty(); }
  const Entry& top() const { return heap_[0]; }

  void push(const typename S::Weight& weight, std::int32_t state) {
    const Entry added{weight, state};
    std::size_t at = heap_.size();
    heap_.push_back(added);
    while (at > 0 && before(added, heap_[(at - 1) / 4])) {
      heap_[at] = heap_[(at - 1) / 4];
      at = (at - 1) / 4;
    }
    heap_[at] = added;
  }
  void pop() {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(0, last);
  }
  // Puts many in at once: add them, then call order().
  void add(const typename S::Weight& weight, std::int32_t state) { heap_.push_back({weight, state}); }
  void order() {
    for (std::size_t at = heap_.size() / 4 + 1; at-- > 0;)
      if (at < heap_.size()) sink(at, Entry(heap_[at]));
  }

 private:
  bool before(const Entry& x, const Entry& y) const {
    return k_.less(x.weight, y.weight) || (x.state < y.state && !k_.less(y.weight, x.weight));
  }
  void sink(std::size_t at, const Entry& entry) {
    for (;;) {
      std::size_t best = 4 * at + 1;
      if (best >= heap_.size()) break;
      const std::size_t end = std::min(best + 4, heap_.size());
      for (std::size_t i = best + 1; i < end; ++i)
        if (before(heap_[i], heap_[best])) best = i;
      if (!before(heap_[best], entry)) break;
      heap_[at] = heap_[best];
      at = best;
    }
    heap_[at] = entry;
  }
  const S& k_;
  std::vector<Entry> heap_;
};

}  // namespace textmill::fst
