// Walks over the states of a machine, and what can be reached from where. Weights play no part, so all of it works on a
// plain graph that is taken out of the machine first.
//
//   depth_first   events of a depth-first search: a state is met, its arcs are looked at (to a new state, back to one on
//                 the path, to one that is done), it is done
//   by_queue      the same for states that wait in a queue: arcs to new states, to waiting ones, to done ones
//   Reachability  the sets that grow from component to component, in reverse topological order, as sorted intervals of
//                 numbers: components themselves (which states?), or labels behind epsilons (what can be read next?)
//
// Numbers are given in the order of the search, so that what is reached from a state mostly lies side by side and a set
// is a few intervals (Allauzen, Riley & Schalkwyk 2009). O(N + M) for walks; for sets times the intervals a set has.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fst/machine.h"
#include "fst/queues.h"

namespace textmill::fst {

enum class ArcFilter : std::uint8_t { any, epsilon, input_epsilon, output_epsilon };

struct Graph {
  std::int32_t start = kNoState;
  std::vector<std::size_t> begin;    // [N+1]
  std::vector<std::int32_t> next;    // [arcs that the filter takes]
  std::vector<std::uint32_t> place;  // [..] which arc of its state it is
  std::int32_t states() const { return static_cast<std::int32_t>(begin.size()) - 1; }
};
template <class W>
Graph graph_of(const Automaton<W>& machine, ArcFilter filter);

enum class Event : std::uint8_t { discover, tree, back, cross, finish };

struct Walk {  // all of one length
  std::vector<std::uint8_t> event;
  std::vector<std::int32_t> state;
  std::vector<std::int32_t> arc;   // its place among the arcs of the state, -1 if the event is not about an arc
  std::vector<std::int32_t> next;  // where the arc leads, -1
};
// From the start; then from each state that was not met, in order, unless `accessible_only`.
Walk depth_first(const Graph& graph, bool accessible_only);
// By the queue; rank [N] orders the states if it is not fifo or lifo.
Walk by_queue(const Graph& graph, Queue queue, const std::vector<std::int32_t>& rank);

// [N] in which order a queue of that kind takes states; empty for fifo and lifo.
template <class S>
std::vector<std::int32_t> ranks(const Machine<S>& machine, Queue queue);

struct Reachability {
  std::vector<std::int32_t> component;                          // [N]
  std::vector<std::size_t> begin;                               // [components + 1] into intervals
  std::vector<std::pair<std::int32_t, std::int32_t>> interval;  // first and last number
  std::vector<std::int32_t> labels;                             // of the numbers, if they are labels
  std::vector<std::uint8_t> ends;                               // [components] is a final state reached?
};
// Which components (of states) are reached from each component.
template <class W>
Reachability reachable_states(const Automaton<W>& machine);
// Which labels can be read next, or written with `output`, on paths that begin with arcs that read (write) nothing.
template <class W>
Reachability reachable_labels(const Automaton<W>& machine, bool output);

}  // namespace textmill::fst
