#include "fst/strings.h"

#include "base/parallel.h"
#include "fst/compose.h"
#include "fst/paths.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {

template <class S>
Machine<S> linear(const S& semiring, std::span<const std::int32_t> ilabels, std::span<const std::int32_t> olabels,
                  const typename S::Weight& weight) {
  Builder<S> out(semiring);
  const std::size_t n = std::max(ilabels.size(), olabels.size());
  out.reserve(n + 1, n);
  for (std::size_t i = 0; i < n; ++i) {
    out.open(semiring.zero());
    out.push({i < ilabels.size() ? ilabels[i] : 0, i < olabels.size() ? olabels[i] : 0, semiring.one(),
              static_cast<std::int32_t>(i + 1)});
  }
  out.open(weight);
  return out.finish(0);
}

template <class S>
std::vector<PathString<typename S::Weight>> paths(const Machine<S>& machine, std::size_t most, std::size_t longest) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  std::vector<PathString<Weight>> out;
  if (machine.start() == kNoState) return out;
  const Components found = components(machine);
  if (longest == 0) {
    for (std::int32_t s = 0; found.cyclic && s < machine.states(); ++s)
      for (const auto& arc : machine.arcs(s))
        if (found.of[s] == found.of[arc.nextstate] && found.accessible[s] && found.coaccessible[s])
          fail("the machine has a cycle through state ", s,
               ", so it has infinitely many paths; pass max_length=, or take the best with shortest_path");
    longest = static_cast<std::size_t>(machine.states());
  }
  struct Frame {
    std::int32_t state;
    std::uint32_t arc;
    Weight weight;
  };
  std::vector<Frame> stack{{machine.start(), 0, k.one()}};
  std::vector<const typename Machine<S>::Arc*> path;
  while (!stack.empty() && out.size() < most) {
    Frame& frame = stack.back();
    const auto arcs = machine.arcs(frame.state);
    if (frame.arc == 0 && machine.is_final(frame.state)) {
      PathString<Weight> string;
      for (const auto* arc : path) {
        if (arc->ilabel != 0) string.ilabels.push_back(arc->ilabel);
        if (arc->olabel != 0) string.olabels.push_back(arc->olabel);
      }
      string.weight = k.times(frame.weight, machine.final(frame.state));
      out.push_back(std::move(string));
    }
    while (frame.arc < arcs.size() && (path.size() >= longest || !found.coaccessible[arcs[frame.arc].nextstate]))
      ++frame.arc;
    if (frame.arc >= arcs.size()) {
      stack.pop_back();
      if (!path.empty()) path.pop_back();
      continue;
    }
    const auto& arc = arcs[frame.arc++];
    path.push_back(&arc);
    stack.push_back({arc.nextstate, 0, k.times(frame.weight, arc.weight)});
  }
  return out;
}

template <class S>
std::vector<std::vector<PathString<typename S::Weight>>> apply(const Machine<S>& machine,
                                                               std::span<const std::int64_t> offsets,
                                                               std::span<const std::int32_t> labels, std::size_t n,
                                                               std::size_t threads) {
  const S& k = machine.semiring();
  std::vector<std::vector<PathString<typename S::Weight>>> out(offsets.size() - 1);
  (void)is(machine, property::ilabel_sorted);  // known before threads ask
  const auto one = [&](std::size_t i) {
    const auto string = labels.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    ComposeOptions options;
    options.connect = false;
    Machine<S> input = linear(k, string, string, k.one());
    input.know(property::olabel_sorted | property::ilabel_sorted | property::unweighted);
    const Machine<S> composed = compose(input, machine, options);
    if (n > 1) {
      out[i] = paths(best_paths(project(composed, true), PathOptions{n, true}), n, 0);
      return;
    }
    std::vector<typename Machine<S>::Arc> arcs;
    PathString<typename S::Weight> path;
    typename S::Weight final{};
    if (!best_path(composed, arcs, final)) return;
    path.weight = k.one();
    for (const auto& arc : arcs) {
      path.weight = k.times(path.weight, arc.weight);
      if (arc.olabel != 0) path.olabels.push_back(arc.olabel);
    }
    path.weight = k.times(path.weight, final);
    out[i].push_back(std::move(path));
  };
  if (threads <= 1) {
    for (std::size_t i = 0; i < out.size(); ++i) one(i);
  } else {
    base::parallel_blocks(out.size(), 16, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) one(i);
    });
  }
  return out;
}

#define X(S)                                                                                               \
  template Machine<S> linear(const S&, std::span<const std::int32_t>, std::span<const std::int32_t>,       \
                             const typename S::Weight&);                                                   \
  template std::vector<PathString<typename S::Weight>> paths(const Machine<S>&, std::size_t, std::size_t); \
  template std::vector<std::vector<PathString<typename S::Weight>>> apply(                                 \
      const Machine<S>&, std::span<const std::int64_t>, std::span<const std::int32_t>, std::size_t, std::size_t);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
