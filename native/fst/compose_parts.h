// What composition is made of, for whole machines (compose.cpp) and lazy ones (lazy_compose.cpp): tables of states, filters,
// and the search for arcs by label.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fst/compose.h"

namespace textmill::fst {

// ---- state tables: numbers of keys, in order of first sight. Open addressing, at most half full.

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
  void fetch_slot(const Key& key) const { __builtin_prefetch(&slots_[key.place() & mask_]); }
  void fetch_key(const Key& key) const {
    if (const std::uint32_t number = slots_[key.place() & mask_]) __builtin_prefetch(&keys_[number - 1]);
  }
  std::int32_t of(const Key& key) {
    std::size_t at = key.place() & mask_;
    for (; slots_[at] != 0; at = (at + 1) & mask_)
      if (keys_[slots_[at] - 1] == key) return static_cast<std::int32_t>(slots_[at] - 1);
    if (keys_.size() >= kMostStates) fail("the composition has more than 2,147,483,647 states");
    keys_.push_back(key);
    slots_[at] = static_cast<std::uint32_t>(keys_.size());
    if (keys_.size() * 2 > slots_.size()) grow();
    return static_cast<std::int32_t>(keys_.size() - 1);
  }
  std::size_t size() const { return keys_.size(); }
  const Key& operator[](std::size_t i) const { return keys_[i]; }

 private:
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    mask_ = slots_.size() - 1;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = keys_[i].place() & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }
  std::vector<Key> keys_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(1024, 0);  // number + 1; 0: empty
  std::size_t mask_ = 1023;
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
        const auto [at, is_new] = first_.try_emplace(key(s, arcs[a].ilabel), kEnd);
        before_.push_back({static_cast<std::uint32_t>(a), at->second});
        at->second = static_cast<std::uint32_t>(before_.size() - 1);
      }
    }
    const auto found = first_.find(key(s, label));
    if (found == first_.end()) return;
    for (std::uint32_t at = found->second; at != kEnd; at = before_[at].second) body(arcs[before_[at].first]);
  }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  static std::uint64_t key(std::int32_t s, std::int32_t label) {
    return std::uint64_t{static_cast<std::uint32_t>(s)} << 32 | static_cast<std::uint32_t>(label);
  }
  std::vector<bool> known_;                                      // [N]
  std::unordered_map<std::uint64_t, std::uint32_t> first_;       // into before_
  std::vector<std::pair<std::uint32_t, std::uint32_t>> before_;  // arc, the next with the same label
};

template <class Arc>
std::span<const Arc> span_of(std::span<const Arc> arcs) {
  return arcs;
}
template <class Held>
auto span_of(const Held& held) -> decltype(held.arcs()) {
  return held.arcs();
}

// The sorted arcs of a state that match a label through sigma, rho and phi. The states behind phi arcs are found once for a
// state; in each of them labels are looked up from where the last one stood, so that rising labels pass over it once.
// K: semiring; Source: arcs(s), final(s), is_final(s), states().
template <class K, class Source, bool output>
class SpecialArcs {
 public:
  using Weight = typename K::Weight;
  using Arc = fst::Arc<Weight>;

  SpecialArcs(const Source& source, const K& k, const Specials& specials, const ComposeOptions& options)
      : source_(source), k_(k), specials_(specials), options_(options) {}

  void begin(std::int32_t s) {
    levels_.clear();
    add(s, k_.one());
  }

  // Brings the arcs of states, and of those behind their phi arcs, into the cache: many at once take little more time than
  // one. The states are overwritten.
  void fetch(std::span<std::int32_t> states) const
    requires requires(const Source& source) { source.state(0); }
  {
    const auto ends = [&](std::int32_t s) {
      const auto arcs = source_.arcs(s);
      __builtin_prefetch(arcs.data());
      if (!arcs.empty()) __builtin_prefetch(&arcs.back());
    };
    for (const std::int32_t s : states) __builtin_prefetch(&source_.state(s));
    for (const std::int32_t s : states) ends(s);
    if (specials_.phi == kNoLabel) return;
    for (std::int32_t& s : states) {
      const auto arcs = source_.arcs(s);
      s = !arcs.empty() && label(arcs.back()) == specials_.phi ? arcs.back().nextstate : kNoState;
      if (s != kNoState) __builtin_prefetch(&source_.state(s));
    }
    for (const std::int32_t s : states)
      if (s != kNoState) ends(s);
  }

  // Final weight, through phi if need be.
  Weight final() {
    if (specials_.phi == kNoLabel || !options_.phi_finals) return source_.final(levels_[0].state);
    for (std::size_t l = 0;; ++l) {
      const auto& level = levels_[l];
      if (source_.is_final(level.state))
        return l == 0 ? source_.final(level.state) : k_.times(level.weight, source_.final(level.state));
      if (!descend(l)) return k_.zero();
    }
  }

  // Does the state, or one behind its phi arcs, have arcs of which test(arcs) is true? If `anything` is read, those with
  // sigma and rho do.
  template <class Test>
  bool any_of(Test test, bool anything) {
    for (std::size_t l = 0;; ++l) {
      const auto arcs = span_of(levels_[l].held);
      const auto has = [&](std::int32_t special) {
        const std::size_t at = special == kNoLabel ? arcs.size() : search(arcs, 0, special, label);
        return at < arcs.size() && label(arcs[at]) == special;
      };
      const bool loops =
          options_.phi_loop && levels_[l].phi < arcs.size() && arcs[levels_[l].phi].nextstate == levels_[l].state;
      if (test(arcs) || (anything && (loops || has(specials_.sigma) || has(specials_.rho)))) return true;
      if (!descend(l)) return false;
    }
  }

  // Only phi, so that labels can be looked up all at once?
  bool only_phi() const { return specials_.sigma == kNoLabel && specials_.rho == kNoLabel && !options_.phi_loop; }
  // All arcs of a state of the other machine, in their order: calls take(its arc, arc, weight before that). Each state
  // behind the phi arcs is passed over once, for the labels that were not found before it; where a state has most of the
  // alphabet, as the shortest history of a model has, places are remembered for the next state that comes there with the
  // same arcs.
  template <class Of, class Take>
  void each_of(std::int32_t other_state, std::span<const Arc> others, Of of, Take take) {
    hits_.assign(others.size(), Hit{0, kNowhere});
    left_.clear();
    for (std::uint32_t i = 0; i < others.size(); ++i)
      if (of(others[i]) != 0) left_.push_back(i);
    for (std::uint32_t l = 0; !left_.empty(); ++l) {
      const auto arcs = span_of(levels_[l].held);
      const bool wide = arcs.size() > 256;
      if (wide) remember(levels_[l].state, other_state, others.size());
      std::size_t at = 0, kept = 0;
      std::int32_t last = 0;
      for (const std::uint32_t i : left_) {
        const std::int32_t wanted = of(others[i]);
        if (!wide || places_[i] == kNowhere) {
          at = search(arcs, wanted < last ? 0 : at, wanted, label);
          last = wanted;
          if (wide) places_[i] = static_cast<std::uint32_t>(at);
        }
        const std::size_t place = wide ? places_[i] : at;
        if (wanted != specials_.phi && place < arcs.size() && label(arcs[place]) == wanted) {
          hits_[i] = {l, static_cast<std::uint32_t>(place)};
        } else {
          left_[kept++] = i;
        }
      }
      left_.resize(kept);
      if (kept == 0 || !descend(l)) break;
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (hits_[i].place == kNowhere) continue;
      const Level& level = levels_[hits_[i].level];
      const auto arcs = span_of(level.held);
      const std::int32_t wanted = of(others[i]);
      for (std::size_t at = hits_[i].place; at < arcs.size() && label(arcs[at]) == wanted; ++at)
        take(others[i], arcs[at], level.weight);
    }
  }

  // Calls take(arc, weight before it, the special label that matched or kNoLabel).
  template <class Take>
  void each(std::int32_t wanted, Take take) {
    const bool plain = wanted != specials_.phi && wanted != specials_.rho && wanted != specials_.sigma;
    for (std::size_t l = 0;; ++l) {
      Level& level = levels_[l];
      const auto arcs = span_of(level.held);
      bool found = false;
      if (plain) {
        level.at = search(arcs, wanted >= level.last ? level.at : 0, wanted, label);
        level.last = wanted;
        for (std::size_t i = level.at; i < arcs.size() && label(arcs[i]) == wanted; ++i) {
          take(arcs[i], level.weight, kNoLabel);
          found = true;
        }
      }
      if (specials_.sigma != kNoLabel) found |= all(arcs, specials_.sigma, level.weight, take);
      if (!found && specials_.rho != kNoLabel) found = all(arcs, specials_.rho, level.weight, take);
      if (!found && options_.phi_loop && level.phi < arcs.size() && arcs[level.phi].nextstate == level.state) {
        take(arcs[level.phi], level.weight, specials_.phi);
        found = true;
      }
      if (found || !descend(l)) return;
    }
  }

 private:
  struct Level {
    std::int32_t state;
    decltype(std::declval<const Source&>().arcs(0)) held;
    Weight weight;          // of the phi arcs before it
    std::size_t phi;        // place of the phi arc; the number of arcs if there is none
    std::size_t at = 0;     // where the last label was looked for
    std::int32_t last = 0;  // that label
  };
  struct Hit {
    std::uint32_t level, place;
  };
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFF;
  static std::int32_t label(const Arc& arc) { return output ? arc.olabel : arc.ilabel; }

  void remember(std::int32_t state, std::int32_t other_state, std::size_t n) {
    if (state == wide_state_ && other_state == wide_other_) return;
    wide_state_ = state;
    wide_other_ = other_state;
    places_.assign(n, kNowhere);
  }
  void add(std::int32_t s, const Weight& w) {
    auto held = source_.arcs(s);
    const auto arcs = span_of(held);
    std::size_t phi = arcs.size();
    if (specials_.phi != kNoLabel && !arcs.empty() && label(arcs.back()) >= specials_.phi) {
      phi = label(arcs.back()) == specials_.phi && (arcs.size() == 1 || label(arcs[arcs.size() - 2]) < specials_.phi)
                ? arcs.size() - 1  // a label above all others, as is usual
                : search(arcs, 0, specials_.phi, label);
      if (label(arcs[phi]) != specials_.phi) phi = arcs.size();
    }
    levels_.push_back({s, std::move(held), w, phi});
  }
  // Is there a state behind the phi arc of this one?
  bool descend(std::size_t l) {
    if (l + 1 < levels_.size()) return true;
    const Level& level = levels_[l];
    const auto arcs = span_of(level.held);
    if (level.phi == arcs.size()) return false;
    const Arc phi = arcs[level.phi];
    if (options_.phi_loop && phi.nextstate == level.state) return false;
    if (l > static_cast<std::size_t>(source_.states()))
      fail("the phi arcs of state ", level.state, " lead round in a cycle");
    add(phi.nextstate, l == 0 ? phi.weight : k_.times(level.weight, phi.weight));
    return true;
  }
  template <class Take>
  bool all(std::span<const Arc> arcs, std::int32_t key, const Weight& w, Take take) {
    std::size_t i = search(arcs, 0, key, label);
    const std::size_t first = i;
    for (; i < arcs.size() && label(arcs[i]) == key; ++i) take(arcs[i], w, key);
    return i > first;
  }

  const Source& source_;
  const K& k_;
  const Specials specials_;
  const ComposeOptions& options_;
  std::vector<Level> levels_;          // the state and those behind its phi arcs, as far as they were needed
  std::vector<Hit> hits_;              // [arcs of the other state] where each was found
  std::vector<std::uint32_t> left_;    // those that were not found yet
  std::vector<std::uint32_t> places_;  // [arcs of the other state wide_other_] in the state wide_state_
  std::int32_t wide_state_ = kNoState, wide_other_ = kNoState;
};

}  // namespace textmill::fst
