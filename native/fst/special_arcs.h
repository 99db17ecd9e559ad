// Arcs that match a label through sigma, rho and phi, for whole machines (compose.cpp) and lazy ones (lazy_compose.cpp).
//
// A phi arc of state q is followed where q has no arc with the wanted label: from q over phi arcs to q', q'', ... down to a
// ground state without phi, as the histories of a back-off model do. All labels of a state s of the other machine are
// wanted at once, and most pairs (s, q) of one s end at the same ground. So what belongs to s alone is made once for it, a
// row: its labels sorted, with a filter of bits over them; and what belongs to s and the ground: the place of each label,
// and the number of the state that it leads to, which the caller fills in. A state above the ground passes its arcs, which
// are few, over the filter; only one with many more arcs than there are labels is searched for each. Cost of a pair: its
// arcs above the ground, or log of them for each label, and the arcs that come out.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fst/compose_parts.h"

namespace textmill::fst {

template <class Arc>
std::span<const Arc> span_of(std::span<const Arc> arcs) {
  return arcs;
}
template <class Held>
auto span_of(const Held& held) -> decltype(held.arcs()) {
  return held.arcs();
}

// The arcs of one state of the other machine: their labels, and what they meet in a ground state.
template <class Arc>
struct LabelRow {
  struct Meeting {
    std::uint32_t other;     // which arc of the row
    std::int32_t successor;  // what the caller knows of the state they lead to
    Arc arc;                 // the one it meets
  };
  std::int32_t state = kNoState, ground = kNoState;
  std::size_t arcs = 0;
  std::vector<std::int32_t> labels;   // sorted, but for epsilon and phi
  std::vector<std::uint32_t> arc_of;  // [labels] which arc has it
  std::vector<std::uint64_t> bits;    // filter: eight bits for each label, rounded up to a power of two
  int shift = 0;                      // of the products that spread labels over the bits
  std::vector<Meeting> meetings;      // in the order of the row
  std::vector<std::uint32_t> first;   // [arcs + 1] into meetings
  bool is_open = false;               // are its successors to be settled?

  template <class Of>
  void make(std::int32_t s, std::span<const Arc> others, std::int32_t phi, Of of) {
    state = s;
    ground = kNoState;
    arcs = others.size();
    labels.clear();
    arc_of.clear();
    for (std::size_t i = 0; i < arcs; ++i) {
      const std::int32_t label = of(others[i]);
      if (label == 0 || label == phi) continue;
      labels.push_back(label);
      arc_of.push_back(static_cast<std::uint32_t>(i));
    }
    if (!std::ranges::is_sorted(labels)) {
      std::ranges::stable_sort(arc_of, {}, [&](std::uint32_t i) { return of(others[i]); });
      std::ranges::sort(labels);
    }
    const std::size_t size = std::bit_ceil(std::clamp<std::size_t>(labels.size() * 8, 64, std::size_t{1} << 31));
    shift = 32 - std::countr_zero(size);
    bits.assign(size / 64, 0);
    for (const std::int32_t label : labels) bits[bit(label) / 64] |= std::uint64_t{1} << bit(label) % 64;
  }
  bool may_have(std::int32_t label) const { return bits[bit(label) / 64] >> bit(label) % 64 & 1; }

  // Looks up its labels among the sorted arcs of a ground state.
  template <class Of, class Label>
  void stand_on(std::int32_t s, std::span<const Arc> below, std::span<const Arc> others, std::int32_t phi, Of of,
                Label label) {
    if (ground == s) return;
    ground = s;
    meetings.clear();
    first.clear();
    std::size_t at = 0;
    std::int32_t last = 0;
    for (std::uint32_t i = 0; i < arcs; ++i) {
      first.push_back(static_cast<std::uint32_t>(meetings.size()));
      const std::int32_t wanted = of(others[i]);
      if (wanted == 0 || wanted == phi) continue;
      at = search(below, wanted < last ? 0 : at, wanted, label);
      last = wanted;
      for (std::size_t j = at; j < below.size() && label(below[j]) == wanted; ++j)
        meetings.push_back({i, kNoState, below[j]});
    }
    first.push_back(static_cast<std::uint32_t>(meetings.size()));
  }
  // What the arcs from i to before j meet.
  std::span<Meeting> between(std::size_t i, std::size_t j) {
    return std::span(meetings).subspan(first[i], first[j] - first[i]);
  }

 private:
  std::uint32_t bit(std::int32_t label) const { return static_cast<std::uint32_t>(label) * 0x9E3779B1u >> shift; }
};

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
  // All arcs of a state of the other machine, in their order: calls take(its arc, arc, weight before that) for what is
  // found above the ground, and take_ground(its arc, arc, weight before that, successor) for the rest. The successor is
  // kNoState at first, then what was put there, as long as the row is kept.
  template <class Of, class Take, class TakeGround>
  void each_of(std::int32_t other_state, std::span<const Arc> others, Of of, Take take, TakeGround take_ground) {
    Row& row = rows_[others.size() > kLong ? kRows : static_cast<std::uint32_t>(other_state) % kRows];
    if (row.state != other_state || row.arcs != others.size()) row.make(other_state, others, specials_.phi, of);
    if (hits_.size() < others.size()) hits_.resize(others.size(), Hit{0, kNowhere});
    std::size_t left = row.labels.size();
    std::uint32_t l = 0;
    for (; left > 0 && levels_[l].phi < span_of(levels_[l].held).size(); ++l) {
      left -= pass(row, l);
      if (left > 0) descend(l);
    }
    const Level* ground = left > 0 ? &levels_[l] : nullptr;
    if (ground) {
      row.stand_on(ground->state, span_of(ground->held), others, specials_.phi, of, label);
      if (!row.is_open) open_.push_back(&row);
      row.is_open = true;
    }
    for (std::size_t i = 0; i < others.size();) {
      if (const Hit hit = hits_[i]; hit.place != kNowhere) {
        const Level& level = levels_[hit.level];
        const auto arcs = span_of(level.held);
        for (std::size_t at = hit.place; at < arcs.size() && label(arcs[at]) == of(others[i]); ++at)
          take(others[i], arcs[at], level.weight);
        hits_[i++].place = kNowhere;
        continue;
      }
      std::size_t end = i + 1;
      while (end < others.size() && hits_[end].place == kNowhere) ++end;
      if (ground)
        for (auto& meeting : row.between(i, end))
          take_ground(others[meeting.other], meeting.arc, ground->weight, meeting.successor);
      i = end;
    }
  }
  // Calls settle(successor) for those of rows that were used since the last time.
  template <class Settle>
  void settle(Settle settle) {
    for (Row* row : open_) {
      for (auto& meeting : row->meetings) settle(meeting.successor);
      row->is_open = false;
    }
    open_.clear();
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
  using Row = LabelRow<Arc>;
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFF;
  static constexpr std::size_t kRows = 64;      // that are kept
  static constexpr std::size_t kLong = 4096;    // arcs of a row above which only one is kept
  static constexpr std::size_t kManyMore = 16;  // arcs for each label, from which on labels are searched among arcs
  static std::int32_t label(const Arc& arc) { return output ? arc.olabel : arc.ilabel; }

  // Notes which labels of a row the state of a level has that were not found before; returns their number.
  std::size_t pass(const Row& row, std::uint32_t l) {
    const auto arcs = span_of(levels_[l].held);
    std::size_t n = 0;
    const auto note = [&](std::size_t of_label, std::size_t place) {
      Hit& hit = hits_[row.arc_of[of_label]];
      if (hit.place != kNowhere) return;
      hit = {l, static_cast<std::uint32_t>(place)};
      ++n;
    };
    if (arcs.size() > kManyMore * row.labels.size()) {
      std::size_t at = 0;
      for (std::size_t i = 0; i < row.labels.size(); ++i) {
        at = search(arcs, at, row.labels[i], label);
        if (at == arcs.size()) break;
        if (label(arcs[at]) == row.labels[i]) note(i, at);
      }
      return n;
    }
    for (std::size_t at = 0; at < arcs.size(); ++at) {
      const std::int32_t wanted = label(arcs[at]);
      if (!row.may_have(wanted)) continue;
      for (auto i = static_cast<std::size_t>(std::ranges::lower_bound(row.labels, wanted) - row.labels.begin());
           i < row.labels.size() && row.labels[i] == wanted; ++i)
        note(i, at);
    }
    return n;
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
  std::vector<Level> levels_;  // the state and those behind its phi arcs, as far as they were needed
  std::vector<Hit> hits_;  // [arcs of the other state] where each was found above the ground; kNowhere between calls
  std::array<Row, kRows + 1> rows_;  // by the state of the other machine; the last is for long ones
  std::vector<Row*> open_;
};

}  // namespace textmill::fst
