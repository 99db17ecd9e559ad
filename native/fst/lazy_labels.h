// The labels of machines that are to be composed, made ready: sorted, relabeled, numbered for look-ahead. Of a whole
// machine at once, of a lazy one state by state.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "fst/compose.h"
#include "fst/lazy.h"
#include "fst/structure.h"
#include "fst/traversal.h"

namespace textmill::fst {

inline constexpr std::size_t kMostNear = std::size_t{1} << 26;
inline constexpr std::size_t kMostPending = (std::size_t{1} << 29) - 8;  // labels that fit into the key of a state

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

template <class W>
LazyPointer<W> sorted(const LazyPointer<W>& a, bool output, std::size_t limit) {
  if (!a->whole()) return lazy_sort(a, output, limit);
  return std::make_shared<Leaf<W>>(a->ring_pointer(), std::make_shared<Automaton<W>>(sort_arcs(*a->whole(), output)));
}
template <class W>
LazyPointer<W> relabeled(const LazyPointer<W>& a, const Pairs& input, const Pairs& output, std::size_t limit) {
  if (!a->whole()) return lazy_relabel<W>(a, input, output, limit);
  return std::make_shared<Leaf<W>>(
      a->ring_pointer(), std::make_shared<Automaton<W>>(relabel(*a->whole(), LabelPairs(input), LabelPairs(output))));
}
template <class W>
LazyPointer<W> inverted(const LazyPointer<W>& a, std::size_t limit) {
  if (!a->whole()) return lazy_invert(a, limit);
  return std::make_shared<Leaf<W>>(a->ring_pointer(), std::make_shared<Automaton<W>>(invert(*a->whole())));
}

// The inputs of a machine by their numbers, sorted; those that have none become `other`.
template <class W>
LazyPointer<W> numbered(const LazyPointer<W>& b, const Pairs& pairs, std::int32_t other, std::size_t limit) {
  if (!b->whole()) return lazy_sort(lazy_relabel<W>(b, pairs, {}, limit, other), false, limit);
  std::int32_t most = 0;
  for (const auto& pair : pairs) most = std::max(most, pair.first);
  base::FlatTable<std::int32_t> far;  // labels that are too large for a table
  std::vector<std::int32_t> near(std::min<std::size_t>(static_cast<std::size_t>(most) + 1, kMostNear), other);
  for (const auto& [label, number] : pairs)
    static_cast<std::size_t>(label) < near.size() ? near[label] = number
                                                  : far.add(base::key_of(label), 0).first = number;
  Automaton<W> made(*b->whole());
  for (std::int32_t s = 0; s < made.states(); ++s) {
    for (auto& arc : made.edit(s)) {
      if (arc.ilabel == 0) continue;
      if (static_cast<std::size_t>(arc.ilabel) < near.size()) {
        arc.ilabel = near[arc.ilabel];
      } else {
        arc.ilabel = far.find(base::key_of(arc.ilabel), other);
      }
    }
  }
  return std::make_shared<Leaf<W>>(b->ring_pointer(), std::make_shared<Automaton<W>>(sort_arcs(made, false)));
}

// Labels of the outputs of `a` and of the inputs of `b` become numbers + 1 of the reachability. Labels of b that a never
// writes share one number above all, special ones have their own.
template <class W>
Reachability number_labels(LazyPointer<W>& a, LazyPointer<W>& b, Specials& specials, std::size_t limit) {
  Reachability reach = reachable_labels(*a->whole(), true);
  const std::size_t n = reach.labels.size();
  if (n > kMostPending) fail("look-ahead takes at most ", kMostPending, " different labels, but there are ", n);
  Pairs pairs;
  for (std::size_t i = 0; i < n; ++i) pairs.emplace_back(reach.labels[i], static_cast<std::int32_t>(i + 1));
  auto next = static_cast<std::int32_t>(n + 1);
  Pairs input = pairs;
  for (std::int32_t* special : {&specials.sigma, &specials.rho, &specials.phi}) {
    if (*special == kNoLabel) continue;
    std::erase_if(input, [&](const auto& pair) { return pair.first == *special; });
    input.emplace_back(*special, ++next);
    *special = next;
  }
  a = relabeled(a, {}, pairs, limit);
  b = numbered(b, input, static_cast<std::int32_t>(n + 1), limit);
  return reach;
}

// Labels that are to be read as epsilon become epsilon.
template <class W>
LazyPointer<W> with_epsilons(const LazyPointer<W>& a, const std::vector<std::int32_t>& labels, bool output,
                             std::size_t limit) {
  if (labels.empty()) return a;
  Pairs pairs;
  for (const std::int32_t label : labels) pairs.emplace_back(label, 0);
  return output ? relabeled(a, {}, pairs, limit) : relabeled(a, pairs, {}, limit);
}

}  // namespace textmill::fst
