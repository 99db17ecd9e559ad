// Transformations whose states are made as they are reached: substitution of machines for labels, synchronization,
// normalization of epsilons; and maps of arcs.
//
//   replace       an arc that writes a nonterminal label calls another machine: states are (where to return to, machine,
//                 state)
//   synchronize   (state, input still to be read, output still to be written): pairs are written as soon as both are there
//                 (Mohri 2003, Edit-distance of weighted automata)
//   normalize     outputs become gallic weights, epsilons are removed on the input, outputs are spelled out again: what
//                 reads nothing then stands at the end of paths (Mohri 2002)
#pragma once

#include <utility>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

enum class CallLabels : std::uint8_t { neither, input, output, both };

struct ReplaceOptions {
  std::int32_t root;                      // label of the machine to begin with
  CallLabels call = CallLabels::input;    // what an arc that calls keeps of its labels
  CallLabels back = CallLabels::neither;  // where an arc that returns has return_label
  std::int32_t return_label = 0;
  std::size_t most_states = 1u << 27;
};

// machines: each with the label that calls it.
template <class W>
Automaton<W> replace(const std::vector<std::pair<std::int32_t, const Automaton<W>*>>& machines,
                     const ReplaceOptions& options);
template <class S>
Machine<S> replace(const std::vector<std::pair<std::int32_t, const Machine<S>*>>& machines,
                   const ReplaceOptions& options) {
  if (machines.empty()) fail("there is no machine to begin with");
  const std::vector<std::pair<std::int32_t, const typename Machine<S>::Bare*>> bare(machines.begin(), machines.end());
  return {machines[0].second->semiring(), replace(bare, options)};
}

template <class W>
Automaton<W> synchronize(const Automaton<W>& machine);
template <class S>
Machine<S> synchronize(const Machine<S>& machine) {
  return {machine.semiring(), synchronize(machine.bare())};
}

template <class S>
Machine<S> normalize_epsilons(const Machine<S>& machine, bool output);

enum class WeightMap : std::uint8_t { invert, plus, times, power, quantize, remove, reverse };

template <class S>
Machine<S> map_weights(const Machine<S>& machine, WeightMap kind, const typename S::Weight& weight, double number);

enum class ArcMap : std::uint8_t { superfinal, input_epsilon, output_epsilon, arc_sum, arc_unique };

template <class S>
Machine<S> map_arcs(const Machine<S>& machine, ArcMap kind);

// By -ln of masses: what is a cost or -ln stays as it is, masses become -ln, any weight but zero is true.
template <class From, class To>
Machine<To> convert(const Machine<From>& machine, const To& semiring);

}  // namespace textmill::fst
