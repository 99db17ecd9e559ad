// What composition is made of, for whole machines (compose.cpp) and lazy ones (lazy_compose.cpp): tables of states, filters,
// and the search for arcs by label.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "fst/compose.h"

namespace textmill::fst {

// ---- state tables: numbers of keys, in order of first sight

struct PairKey {  // (s1, s2, f)
  std::uint64_t packed;
  PairKey() = default;
  PairKey(std::int32_t s1, std::int32_t s2, std::uint32_t f)
      : packed(std::uint64_t{static_cast<std::uint32_t>(s1)} << 33 |
               std::uint64_t{static_cast<std::uint32_t>(s2)} << 2 | f) {}
  std::int32_t first() const { return static_cast<std::int32_t>(packed >> 33); }
  std::int32_t second() const { return static_cast<std::int32_t>(packed >> 2 & 0x7FFFFFFF); }
  std::uint32_t filter() const { return packed & 3; }
  std::uint64_t place() const {
    const std::uint64_t key = packed * 0x9E3779B97F4A7C15u;
    return key ^ key >> 32;
  }
  friend bool operator==(const PairKey&, const PairKey&) = default;
};

struct WideKey {  // (s1, s2, f with what a look-ahead has pushed)
  std::int32_t first, second;
  std::uint32_t filter;
  std::uint64_t place() const {
    std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(first)} << 32 | static_cast<std::uint32_t>(second);
    key = (key ^ std::uint64_t{filter} << 17) * 0x9E3779B97F4A7C15u;
    return key ^ key >> 32;
  }
  friend bool operator==(const WideKey&, const WideKey&) = default;
};

template <class Key>
class StateTable {
 public:
  // Slots lie all over the memory: to fetch those of many keys at once takes little more time than to fetch one.
  void fetch_slot(const Key& key) const { index_.prefetch(key.place()); }
  void fetch_key(const Key& key) const {
    if (const std::uint32_t i = index_.first(key.place()); i != base::FlatIndex::kNone) __builtin_prefetch(&keys_[i]);
  }
  std::int32_t of(const Key& key) {
    const auto fresh = static_cast<std::uint32_t>(keys_.size());
    const std::uint32_t i = index_.add(key.place(), fresh, [&](std::uint32_t known) { return keys_[known] == key; });
    if (i == fresh) {
      if (keys_.size() >= kMostStates) fail("the composition has more than 2,147,483,647 states");
      keys_.push_back(key);
    }
    return static_cast<std::int32_t>(i);
  }
  std::size_t size() const { return keys_.size(); }
  const Key& operator[](std::size_t i) const { return keys_[i]; }

 private:
  std::vector<Key> keys_;
  base::FlatIndex index_;
};

// ---- filters: the state after A, or B, has moved alone; no_epsilons and only_epsilons are about the arcs of the other.

inline constexpr std::uint32_t kForbidden = 4;

inline std::uint32_t a_alone(Filter filter, std::uint32_t f, bool no_epsilons, bool only_epsilons) {
  switch (filter) {
    case Filter::sequence: return f == 0 ? 0 : kForbidden;
    case Filter::alt_sequence: return only_epsilons ? kForbidden : no_epsilons ? 0 : 1;
    case Filter::match: return f == 0 ? (no_epsilons ? 0 : only_epsilons ? kForbidden : 1) : f == 1 ? 1 : kForbidden;
    case Filter::null: return kForbidden;
    default: return 0;
  }
}
inline std::uint32_t b_alone(Filter filter, std::uint32_t f, bool no_epsilons, bool only_epsilons) {
  switch (filter) {
    case Filter::sequence: return only_epsilons ? kForbidden : no_epsilons ? 0 : 1;
    case Filter::alt_sequence: return f == 0 ? 0 : kForbidden;
    case Filter::match: return f == 0 ? (no_epsilons ? 0 : only_epsilons ? kForbidden : 2) : f == 2 ? 2 : kForbidden;
    case Filter::null: return kForbidden;
    default: return 0;
  }
}
// May both move by epsilons?
inline bool together(Filter filter, std::uint32_t f) {
  return filter == Filter::trivial || filter == Filter::null || (filter == Filter::match && f == 0);
}

// ---- matchers

// The first place at or after `from` whose label is not below the wanted one.
template <class Arc, class Label>
std::size_t search(std::span<const Arc> arcs, std::size_t from, std::int32_t wanted, Label label) {
  std::size_t n = arcs.size() - from;
  if (n > 8) {
    if (n > 256) {  // most labels of the alphabet, one after another: the place is known but for the gaps
      const std::int64_t first = label(arcs[from]), last = label(arcs.back());
      if (first < wanted && wanted <= last && last - first < static_cast<std::int64_t>(n + n / 4)) {
        std::size_t high = std::min<std::size_t>(static_cast<std::size_t>(wanted - first), n - 1), step = 1;
        while (high < n - 1 && label(arcs[from + high]) < wanted) high = std::min(high + step, n - 1), step *= 2;
        std::size_t low = high;
        for (step = 1; low > 0 && label(arcs[from + low - 1]) >= wanted; step *= 2) {
          high = low;
          low = low > step ? low - step : 0;
        }
        n = high - low;
        from += low;
        while (n > 0) {
          const std::size_t half = n / 2;
          if (label(arcs[from + half]) < wanted) {
            from += half + 1;
            n -= half + 1;
          } else {
            n = half;
          }
        }
        return from;
      }
    }
    std::size_t step = 4;  // gallop, then bisect: labels that are looked up one after another lie near each other
    while (step < n && label(arcs[from + step]) < wanted) {
      from += step;
      n -= step;
      step *= 2;
    }
    n = std::min(n, step);
    while (n > 0) {
      const std::size_t half = n / 2;
      if (label(arcs[from + half]) < wanted) {
        from += half + 1;
        n -= half + 1;
      } else {
        n = half;
      }
    }
    return from;
  }
  while (from < arcs.size() && label(arcs[from]) < wanted) ++from;
  return from;
}

// Arcs of a machine by state and input label; the arcs of a state are entered when it is first searched.
template <class W>
class HashedArcs {
 public:
  template <class Body>
  void each(std::int32_t s, std::span<const Arc<W>> arcs, std::int32_t label, Body body) {
    if (known_.size() <= static_cast<std::size_t>(s)) known_.resize(static_cast<std::size_t>(s) * 2 + 1, false);
    if (!known_[s]) {
      known_[s] = true;
      for (std::size_t a = arcs.size(); a-- > 0;) {  // backwards: a list begins with the first arc
        std::uint32_t& first = first_.add(base::joined_key(s, arcs[a].ilabel), kEnd).first;
        before_.push_back({static_cast<std::uint32_t>(a), first});
        first = static_cast<std::uint32_t>(before_.size() - 1);
      }
    }
    for (std::uint32_t at = first_.find(base::joined_key(s, label), kEnd); at != kEnd; at = before_[at].second)
      body(arcs[before_[at].first]);
  }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  std::vector<bool> known_;                                      // [N]
  base::FlatTable<std::uint32_t> first_;                         // into before_
  std::vector<std::pair<std::uint32_t, std::uint32_t>> before_;  // arc, the next with the same label
};

}  // namespace textmill::fst
