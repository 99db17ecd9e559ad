// Puts paths together to one machine: its start has a way out for each, in the order in which they were added.
#pragma once

#include <utility>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

template <class W>
class Paths {
 public:
  void add(std::vector<Arc<W>> arcs, const W& final) { paths_.push_back({std::move(arcs), final}); }
  std::size_t size() const { return paths_.size(); }
  Automaton<W> finish(const W& zero, const W& one);

 private:
  std::vector<std::pair<std::vector<Arc<W>>, W>> paths_;
};
#define X(W) extern template class Paths<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

template <class S>
class PathWriter : public Paths<typename S::Weight> {
 public:
  explicit PathWriter(const S& k) : k_(k) {}
  Machine<S> finish() { return {k_, Paths<typename S::Weight>::finish(S::zero(), S::one())}; }

 private:
  [[no_unique_address]] S k_;
};

}  // namespace textmill::fst
