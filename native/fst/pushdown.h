// Push-down transducers: machines with arcs that are opening and closing parentheses. Of their paths only those count on
// which every parenthesis that is opened is closed by its own partner, the last opened first.
//
//   expand          states are (state, what is open): a machine without parentheses, which may have no end
//   Balanced        for each state e that an opening parenthesis leads to (and the start), the best balanced path from e
//                   to each state q:
//                       D(e, e) = 1,   D(e, q') <= D(e, q) w                          an arc q -> q'
//                                      D(e, v)  <= D(e, q) w_open D(t, u) w_close     an arc q -(-> t, an arc u -)-> v
//                   best first, so that each pair is settled once if no weight is better than one
//   best paths      from D; several by A* over (state, what is open) with the exact weight of the rest
//   prune           the part of the expansion that is on paths not much worse than the best
//   replace         machines that call each other: a call opens a parenthesis, coming back closes it
//
// Several stacks (multi-push-down transducers) are expanded in the same way; each pair of parentheses belongs to one.
// Reference: Allauzen & Riley (2012), A pushdown transducer extension for the OpenFst library.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "fst/lazy.h"

namespace textmill::fst {

// With several stacks, when may a parenthesis be opened or closed? Always, or closed (read), or opened (write), only
// while all stacks in front of its own are empty.
enum class Restriction : std::uint8_t { none, read, write };

class Parentheses {
 public:
  struct Kind {
    std::int32_t pair = -1;  // -1: no parenthesis
    bool opens = false;
  };
  Parentheses(std::vector<std::pair<std::int32_t, std::int32_t>> pairs, std::vector<std::int32_t> stacks,
              Restriction restriction = Restriction::none);
  Kind kind(std::int32_t label) const { return kinds_.find(base::key_of(label), Kind{}); }
  std::int32_t size() const { return static_cast<std::int32_t>(pairs_.size()); }
  std::int32_t stack(std::int32_t pair) const { return stacks_[pair]; }
  std::int32_t stacks() const { return count_; }
  Restriction restriction() const { return restriction_; }
  const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;
  std::vector<std::int32_t> stacks_;  // [pairs] from 0
  std::int32_t count_ = 1;
  Restriction restriction_;
  base::FlatTable<Kind> kinds_;
};

// Faults unless every parenthesis is read and written by the same arcs, and no final weight is in the way.
template <class W>
void check_parentheses(const Automaton<W>& machine, const Parentheses& parentheses);

struct ExpandOptions {
  bool keep = false;             // do arcs keep their parentheses? Otherwise they become epsilons
  std::size_t depth = kNoLimit;  // parentheses that may be open at the same time
  std::size_t limit = kNoLimit;  // bytes of the cache
};
template <class W>
LazyPointer<W> lazy_expand(LazyPointer<W> pushdown, const Parentheses& parentheses, const ExpandOptions& options);

// The expansion without the paths whose weight is worse than the best one times `worst`; a fault beyond `most_states`.
template <class W>
Automaton<W> expand_pruned(const Ring<W>& ring, const Automaton<W>& pushdown, const Parentheses& parentheses,
                           const W& worst, bool keep, std::size_t most_states);

// The n best balanced paths, side by side; one path is a single chain.
template <class W>
Automaton<W> best_balanced(const Ring<W>& ring, const Automaton<W>& pushdown, const Parentheses& parentheses,
                           std::size_t n, bool keep, std::size_t most_states);

// One machine of several that call each other by output labels; the root is the first. Parentheses get the labels from
// `first_label` on. What a machine returns to tells two calls of it apart, so pairs are shared between machines.
template <class W>
struct CallingMachines {
  Automaton<W> machine;
  std::vector<std::pair<std::int32_t, std::int32_t>> parentheses;
};
template <class W>
CallingMachines<W> replace_pushdown(const std::vector<std::pair<std::int32_t, const Automaton<W>*>>& machines,
                                    std::int32_t first_label);

// Arcs that read (or with `output` write) one of the labels have it on the other side, too.
template <class W>
Automaton<W> echo_labels(const Automaton<W>& machine, const Parentheses& parentheses, bool output);

struct PushdownFacts {
  std::size_t open_arcs = 0, close_arcs = 0;        // arcs with parentheses
  std::size_t open_used = 0, close_used = 0;        // different ones
  std::size_t open_targets = 0, close_sources = 0;  // states that opening ones lead to, closing ones leave
};
template <class W>
PushdownFacts pushdown_facts(const Automaton<W>& machine, const Parentheses& parentheses);

}  // namespace textmill::fst
