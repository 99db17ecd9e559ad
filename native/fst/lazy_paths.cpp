#include "fst/lazy_paths.h"

#include <algorithm>
#include <vector>

#include "fst/best_first.h"
#include "fst/path_writer.h"

namespace textmill::fst {
namespace {

template <class S>
class Search {
 public:
  using W = typename S::Weight;
  Search(Lazy<W>& lazy, const S& k, const LazyPathOptions& options, LazyPathFacts& facts)
      : lazy_(lazy), k_(k), options_(options), facts_(facts), waiting_(k_), ends_(k_), found_(k_) {}

  Machine<S> run() {
    const std::int32_t start = lazy_.start();
    if (start == kNoState || options_.n == 0) return found_.finish();
    reach({0, 0, k_.one(), start}, -1, k_.one());
    for (;;) {
      while (!ends_.empty() && (waiting_.empty() || !k_.less(waiting_.top().weight, ends_.top().weight))) {
        end_at(ends_.top().state);
        ends_.pop();
        if (found_.size() == options_.n) return found_.finish();
      }
      if (waiting_.empty()) return found_.finish();
      const auto entry = waiting_.top();
      waiting_.pop();
      leave(entry.weight, entry.state);
    }
  }

 private:
  struct Node {
    Arc<W> arc;  // that leads to it
    std::int32_t parent;
  };

  void reach(const Arc<W>& arc, std::int32_t parent, const W& weight) {
    const auto s = static_cast<std::size_t>(arc.nextstate);
    if (s >= left_.size()) {
      left_.resize(2 * s + 16, 0);
      if (options_.n == 1) best_.resize(left_.size(), k_.zero());
    }
    if (left_[s] >= options_.n) return;
    if (options_.n == 1) {  // only a better way to a state is worth a place
      if (!k_.less(weight, best_[s])) return;
      best_[s] = weight;
    }
    if (nodes_.size() >= kMostStates) fail("the search has more than 2,147,483,647 ways open");
    waiting_.push(weight, static_cast<std::int32_t>(nodes_.size()));
    nodes_.push_back({arc, parent});
  }

  void leave(const W& weight, std::int32_t node) {
    const std::int32_t s = nodes_[node].arc.nextstate;
    if (left_[s] >= options_.n) return;
    if (++left_[s] == 1 && ++facts_.expanded > options_.most_states)
      fail("the search has written out more than ", options_.most_states, " states; raise max_states");
    const View<W> state = lazy_.state(s);
    if (!k_.equal(state.final, k_.zero())) ends_.push(k_.times(weight, state.final), node);
    for (const Arc<W>& arc : state) {
      if (k_.equal(arc.weight, k_.zero())) continue;
      if (k_.less(arc.weight, k_.one()))
        fail("state ", s,
             " has an arc that is better than one, so that no path is known to be the best before all are "
             "seen; expand() the machine and search it then");
      reach(arc, node, k_.times(weight, arc.weight));
    }
  }

  void end_at(std::int32_t node) {
    const W final = lazy_.final(nodes_[node].arc.nextstate);
    std::vector<Arc<W>> arcs;
    for (; nodes_[node].parent >= 0; node = nodes_[node].parent) arcs.push_back(nodes_[node].arc);
    std::ranges::reverse(arcs);
    found_.add(std::move(arcs), final);
  }

  Lazy<W>& lazy_;
  const S& k_;
  const LazyPathOptions& options_;
  LazyPathFacts& facts_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> left_;  // [states] how often
  std::vector<W> best_;            // [states] the best weight so far, if one path is wanted
  BestFirst<S> waiting_, ends_;
  PathWriter<S> found_;
};

}  // namespace

template <class S>
Machine<S> lazy_best_paths(Lazy<typename S::Weight>& lazy, const S& semiring, const LazyPathOptions& options,
                           LazyPathFacts& facts) {
  if (!semiring.path())
    fail("best paths need the path property, which ", std::string(semiring.name()), " has not; convert to 'tropical'");
  if constexpr (may_have_order<S>) {
    return Search<S>(lazy, semiring, options, facts).run();
  } else {
    return Machine<S>(semiring);
  }
}

template <class W>
Probe probe(Lazy<W>& lazy, std::size_t most) {
  Probe out;
  std::vector<bool> seen;
  std::vector<std::int32_t> line;
  const auto meet = [&](std::int32_t s) {
    if (seen.size() <= static_cast<std::size_t>(s)) seen.resize(2 * static_cast<std::size_t>(s) + 1, false);
    if (!seen[s]) line.push_back(s);
    seen[s] = true;
  };
  if (lazy.start() != kNoState) meet(lazy.start());
  for (; out.expanded < line.size() && out.expanded < most; ++out.expanded) {
    const View<W> state = lazy.state(line[out.expanded]);
    out.arcs += state.arcs().size();
    for (const auto& arc : state) meet(arc.nextstate);
  }
  out.met = line.size();
  return out;
}

#define X(W) template Probe probe(Lazy<W>&, std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X
#define X(S) template Machine<S> lazy_best_paths(Lazy<S::Weight>&, const S&, const LazyPathOptions&, LazyPathFacts&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
