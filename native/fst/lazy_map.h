// Operations that look at one state at a time, as lazy ones: the operation for whole machines is called for a machine of
// that one state.
//
// In the window of a state s, state 0 is s and the states 1, 2, ... are those that its arcs lead to, in order of their
// numbers, without arcs of their own. An arc of the result that leads to a state beyond them leads to the one final state
// that the operation has added (state 0 of the lazy machine; s itself is s + 1).
#pragma once

#include <functional>

#include "fst/lazy.h"
#include "fst/minimize.h"

namespace textmill::fst {

template <class W>
struct Window {
  Automaton<W> machine;
  std::vector<std::int32_t> next;  // [states 1, 2 ...] what they stand for
};

// V: weights of the result.
template <class V>
struct LocalOperation {
  std::function<std::int32_t()> start;
  std::function<std::int32_t()> known;
  std::function<Window<V>(std::int32_t)> apply;  // the result for the window of a state, and what its states stand for
};
template <class V>
LazyPointer<V> lazy_local(std::shared_ptr<const Ring<V>> ring, LocalOperation<V> operation, std::size_t limit);

template <class W>
Window<W> window_of(Lazy<W>& a, std::int32_t s);

// f: const Automaton<W>& -> Automaton<V>
template <class V, class W, class F>
LazyPointer<V> lazy_map(std::shared_ptr<const Ring<V>> ring, LazyPointer<W> a, F f, std::size_t limit) {
  LocalOperation<V> operation;
  operation.start = [a] { return a->start(); };
  operation.known = [a] { return a->known(); };
  operation.apply = [a, f](std::int32_t s) -> Window<V> {
    Window<W> window = window_of(*a, s);
    return {f(window.machine), std::move(window.next)};
  };
  return lazy_local(std::move(ring), std::move(operation), limit);
}

// What encode() has put together, taken apart; an epsilon to a final state without arcs is a final weight again. `turn`:
// the table may grow meanwhile.
template <class W>
LazyPointer<W> lazy_decode(LazyPointer<W> a, std::shared_ptr<const Codes<W>> codes, std::shared_ptr<std::mutex> turn,
                           std::size_t limit);

}  // namespace textmill::fst
