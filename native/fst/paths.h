// Best paths, pruning, pushing: what is made of distances.
//
//   best_paths   A* over partial paths, ordered by weight times the distance to the end; a state is left at most n times
//                (Mohri & Riley 2002). One path follows the best arcs of the backward distances, or, where states are not
//                numbered along paths and no weight is better than one, is searched from the start.
//   unique       partial strings instead of partial paths: a hypothesis is the set of states that a string leads to
//   prune        arcs and states on paths not worse than threshold times the best
//   reweight     w' = v(s)^-1 w v(t), final' = v(s)^-1 final       to the start (v: distance to the end)
//                w' = v(s) w v(t)^-1, final' = v(s) final          to the end (v: distance from the start)
// Ties go to the arc that comes first. Weights of best paths and pruning need the path property.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "fst/machine.h"
#include "fst/queues.h"

namespace textmill::fst {

struct PathOptions {
  std::size_t n = 1;
  bool unique = false;
  Queue queue = Queue::automatic;  // by which distances are computed
};

// A machine whose start has up to n ways out, best first, each a path of its own. `worst`: threshold, times the best.
template <class S>
Machine<S> best_paths(const Machine<S>& machine, const PathOptions& options,
                      const std::optional<typename S::Weight>& worst = {});

// The arcs of the best path and the final weight behind them; false if there is none.
template <class S>
bool best_path(const Machine<S>& machine, std::vector<typename Machine<S>::Arc>& arcs, typename S::Weight& final,
               Queue queue = Queue::automatic);

template <class S>
Machine<S> prune(const Machine<S>& machine, const std::optional<typename S::Weight>& worst, std::size_t most_states);

// To the start: what was taken out of all paths is put back at the front unless `total` is false.
template <class S>
Machine<S> reweight(const Machine<S>& machine, std::span<const typename S::Weight> potentials, bool to_final,
                    bool total = true);

struct PushOptions {
  bool weights = false, labels = false;
  bool to_final = false;
  bool remove_total = false;  // total weight, if weights are pushed
  bool remove_affix = false;  // common prefix or suffix, if labels are pushed
  double delta = 1e-12;
};

template <class S>
Machine<S> push(const Machine<S>& machine, const PushOptions& options);

// The outputs of a trimmed machine pushed towards the start: per arc a string of the pool.
struct PushedOutputs {
  std::vector<std::uint32_t> arcs;  // [M] in order of states
  std::uint32_t prefix = 0;         // common to all paths
};
template <class W>
PushedOutputs push_outputs(const Automaton<W>& machine, StringPool& pool);

// Strings behind a final state, each with its weight.
template <class W>
using FinalStrings = std::vector<std::pair<std::uint32_t, W>>;

// The machine that writes strings on its arcs, and behind its final states (finals: [N], or empty if all end with
// nothing), with one label per arc: what does not fit is carried to the next arcs, so that states become (state, string
// still to be written), and what is left at the end is written by arcs that read epsilon. `plus` adds the weights of
// strings that end together. A fault if more and more has to be carried.
template <class W>
Automaton<W> factor(const Automaton<W>& machine, std::span<const std::uint32_t> arcs,
                    std::span<const FinalStrings<W>> finals, std::uint32_t prefix, StringPool& pool,
                    const std::function<W(const W&, const W&)>& plus);

template <class S>
Machine<S> factor(const Machine<S>& machine, std::span<const std::uint32_t> arcs,
                  std::span<const FinalStrings<typename S::Weight>> finals, std::uint32_t prefix, StringPool& pool) {
  using W = typename S::Weight;
  const S& k = machine.semiring();
  return {k,
          factor<W>(machine.bare(), arcs, finals, prefix, pool, [&k](const W& a, const W& b) { return k.plus(a, b); })};
}

}  // namespace textmill::fst
