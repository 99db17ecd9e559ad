#include "fst/path_writer.h"

namespace textmill::fst {

template <class W>
Automaton<W> Paths<W>::finish(const W& zero, const W& one) {
  Assembly<W> out;
  if (paths_.empty()) return out.finish(zero, one, kNoState);
  if (paths_.size() == 1) {
    const auto& [arcs, final] = paths_[0];
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      out.open(zero);
      Arc<W> arc = arcs[i];
      arc.nextstate = static_cast<std::int32_t>(i + 1);
      out.push(arc);
    }
    out.open(final);
    return out.finish(zero, one, 0);
  }
  out.open(zero);
  std::int32_t next = 1;
  for (auto& [arcs, final] : paths_) {
    if (arcs.empty()) arcs.push_back({0, 0, one, 0});  // an empty path needs a way out of its own
    Arc<W> arc = arcs[0];
    arc.nextstate = next;
    out.push(arc);
    next += static_cast<std::int32_t>(arcs.size());
  }
  next = 1;
  for (const auto& [arcs, final] : paths_) {
    for (std::size_t i = 1; i < arcs.size(); ++i) {
      out.open(zero);
      Arc<W> arc = arcs[i];
      arc.nextstate = next + static_cast<std::int32_t>(i);
      out.push(arc);
    }
    out.open(final);
    next += static_cast<std::int32_t>(arcs.size());
  }
  return out.finish(zero, one, 0);
}

#define X(W) template class Paths<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
