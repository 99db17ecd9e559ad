// Equivalent states of a graph with labels: states from which the same strings of labels lead to the same ends.
//
//   acyclic          states in reverse topological order, equal if their ends and their arcs, with the classes of the next
//                    states, are equal (Revuz 1992), O(M)
//   deterministic    states are told apart by their labels and then by the classes that their arcs lead to, as long as many
//                    are left alone in their class by that; the others by refining blocks of states and of arcs by one
//                    another (Valmari 2012, after Hopcroft 1971), O(M log M)
//   otherwise        classes are split by their arcs until none is: bisimulation, O(M) a round
#pragma once

#include <cstdint>
#include <vector>

namespace textmill::fst {

struct LabelledGraph {
  std::vector<std::uint32_t> begin;  // [N+1]
  std::vector<std::int64_t> label;   // [M] if deterministic, equal states have equal labels in the same order
  std::vector<std::int32_t> next;    // [M]
  std::vector<std::int32_t> end;     // [N] class of the final weight
};

// The class of each state, numbered by their smallest states.
std::vector<std::int32_t> equivalent_states(const LabelledGraph& graph, bool deterministic);

}  // namespace textmill::fst
