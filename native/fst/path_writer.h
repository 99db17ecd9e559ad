// Puts paths together to one machine: its start has a way out for each, in the order in which they were added.
#pragma once

#include <utility>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

template <class S>
class PathWriter {
 public:
  using Arc = typename Machine<S>::Arc;
  explicit PathWriter(const S& k) : k_(k) {}
  void add(std::vector<Arc> arcs, const typename S::Weight& final) { paths_.push_back({std::move(arcs), final}); }
  std::size_t size() const { return paths_.size(); }

  Machine<S> finish() {
    if (paths_.empty()) return Machine<S>(k_);
    Builder<S> out(k_);
    if (paths_.size() == 1) {
      const auto& [arcs, final] = paths_[0];
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        out.open(k_.zero());
        Arc arc = arcs[i];
        arc.nextstate = static_cast<std::int32_t>(i + 1);
        out.push(arc);
      }
      out.open(final);
      return out.finish(0);
    }
    out.open(k_.zero());
    std::int32_t next = 1;
    for (auto& [arcs, final] : paths_) {
      if (arcs.empty()) arcs.push_back({0, 0, k_.one(), 0});  // an empty path needs a way out of its own
      Arc arc = arcs[0];
      arc.nextstate = next;
      out.push(arc);
      next += static_cast<std::int32_t>(arcs.size());
    }
    next = 1;
    for (const auto& [arcs, final] : paths_) {
      for (std::size_t i = 1; i < arcs.size(); ++i) {
        out.open(k_.zero());
        Arc arc = arcs[i];
        arc.nextstate = next + static_cast<std::int32_t>(i);
        out.push(arc);
      }
      out.open(final);
      next += static_cast<std::int32_t>(arcs.size());
    }
    return out.finish(0);
  }

 private:
  S k_;
  std::vector<std::pair<std::vector<Arc>, typename S::Weight>> paths_;
};

}  // namespace textmill::fst
