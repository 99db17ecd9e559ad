// What is true of a machine, in the bits of OpenFst: a pair of bits for each question, neither set while it is not known.
//
// Local questions are answered in one pass over the arcs, global ones by a depth-first search that also numbers the
// strongly connected components (Tarjan 1972). O(N + M); answers are kept with the machine until it is changed.
#pragma once

#include <cstdint>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

namespace property {
inline constexpr std::uint64_t expanded = 0x1, mutable_ = 0x2, error = 0x4;
inline constexpr std::uint64_t acceptor = 0x10000, not_acceptor = 0x20000;
inline constexpr std::uint64_t ideterministic = 0x40000, non_ideterministic = 0x80000;
inline constexpr std::uint64_t odeterministic = 0x100000, non_odeterministic = 0x200000;
inline constexpr std::uint64_t epsilons = 0x400000, no_epsilons = 0x800000;
inline constexpr std::uint64_t iepsilons = 0x1000000, no_iepsilons = 0x2000000;
inline constexpr std::uint64_t oepsilons = 0x4000000, no_oepsilons = 0x8000000;
inline constexpr std::uint64_t ilabel_sorted = 0x10000000, not_ilabel_sorted = 0x20000000;
inline constexpr std::uint64_t olabel_sorted = 0x40000000, not_olabel_sorted = 0x80000000;
inline constexpr std::uint64_t weighted = 0x100000000, unweighted = 0x200000000;
inline constexpr std::uint64_t cyclic = 0x400000000, acyclic = 0x800000000;
inline constexpr std::uint64_t initial_cyclic = 0x1000000000, initial_acyclic = 0x2000000000;
inline constexpr std::uint64_t top_sorted = 0x4000000000, not_top_sorted = 0x8000000000;
inline constexpr std::uint64_t accessible = 0x10000000000, not_accessible = 0x20000000000;
inline constexpr std::uint64_t coaccessible = 0x40000000000, not_coaccessible = 0x80000000000;
inline constexpr std::uint64_t string = 0x100000000000, not_string = 0x200000000000;
inline constexpr std::uint64_t weighted_cycles = 0x400000000000, unweighted_cycles = 0x800000000000;
inline constexpr std::uint64_t trinary = 0xFFFFFFFF0000;
inline constexpr std::uint64_t global = cyclic | acyclic | initial_cyclic | initial_acyclic | accessible |
                                        not_accessible | coaccessible | not_coaccessible | weighted_cycles |
                                        unweighted_cycles;
inline constexpr std::uint64_t local = trinary & ~global;
}  // namespace property

// Strongly connected components, numbered in topological order (an arc leads to its own component or a later one).
// States that cannot be reached from the start are searched too, after those that can.
struct Components {
  std::vector<std::int32_t> of;  // [N]
  std::int32_t count = 0;
  std::vector<bool> accessible;    // [N] reached from the start
  std::vector<bool> coaccessible;  // [N] reaches a final state
  bool cyclic = false;
};

struct EveryArc {
  template <class A>
  bool operator()(const A&) const {
    return true;
  }
};
struct EpsilonArcs {
  template <class A>
  bool operator()(const A& arc) const {
    return arc.ilabel == 0 && arc.olabel == 0;
  }
};
struct InputEpsilonArcs {
  template <class A>
  bool operator()(const A& arc) const {
    return arc.ilabel == 0;
  }
};
struct OutputEpsilonArcs {
  template <class A>
  bool operator()(const A& arc) const {
    return arc.olabel == 0;
  }
};

// Only arcs that the filter takes are followed.
template <class W, class Filter = EveryArc>
Components components(const Automaton<W>& machine, Filter filter = {});

// All bits of `mask` (pairs) that are true. Computes what is not known and keeps it.
template <class W>
std::uint64_t properties(const Automaton<W>& machine, std::uint64_t mask);

template <class W>
bool is(const Automaton<W>& machine, std::uint64_t bit) {
  const std::uint64_t pair = ((bit & 0x5555555555550000) << 1) | ((bit & 0xAAAAAAAAAAAA0000) >> 1) | bit;
  return (properties(machine, pair) & bit) != 0;
}

}  // namespace textmill::fst
