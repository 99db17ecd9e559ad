#include "fst/compare.h"

#include <numeric>
#include <optional>

#include "fst/distance.h"
#include "fst/minimize.h"
#include "fst/paths.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

// What can be told of a state from its surroundings: hashes of labels and of the hashes of neighbors, as many rounds
// deep as they tell more states apart. With delta, of rounded weights too.
template <class W>
std::vector<std::uint64_t> colors(const Automaton<W>& machine, const Values<W>& k, std::optional<double> delta) {
  constexpr std::size_t kMostVisits = 200'000'000;
  const auto hash = [&](const W& w) { return delta ? k.hash(k.quantize(w, *delta)) : 0; };
  std::vector<std::uint64_t> color(machine.states()), finer(machine.states()), incoming(machine.states());
  for (std::int32_t s = 0; s < machine.states(); ++s)
    color[s] = join(machine.arcs(s).size() + hash(machine.final(s)), machine.is_final(s) + 2 * (s == machine.start()));
  std::size_t rounds = kMostVisits / (machine.arcs() + machine.states() + 1), classes = 0;
  for (std::vector<std::uint64_t> sorted; rounds-- > 0;) {
    sorted = color;
    std::ranges::sort(sorted);
    const auto count = static_cast<std::size_t>(std::ranges::unique(sorted).begin() - sorted.begin());
    if (count == classes || count == color.size()) break;
    classes = count;
    std::ranges::fill(incoming, 0);
    for (std::int32_t s = 0; s < machine.states(); ++s) {
      std::uint64_t sum = 0;  // sums do not depend on the order
      for (const auto& arc : machine.arcs(s)) {
        const std::uint64_t labels =
            std::uint64_t{static_cast<std::uint32_t>(arc.ilabel)} << 32 | static_cast<std::uint32_t>(arc.olabel);
        const std::uint64_t weight = hash(arc.weight);
        sum += join(labels + weight, color[arc.nextstate]);
        incoming[arc.nextstate] += join(labels + weight + 1, color[s]);
      }
      finer[s] = sum;
    }
    for (std::int32_t s = 0; s < machine.states(); ++s) color[s] = join(color[s], join(finer[s], incoming[s]));
  }
  return color;
}

}  // namespace

template <class W>
bool equal(const Automaton<W>& a, const Automaton<W>& b, const Values<W>& k, double delta) {
  if (a.states() != b.states() || a.start() != b.start() || a.arcs() != b.arcs()) return false;
  for (std::int32_t s = 0; s < a.states(); ++s) {
    const auto x = a.arcs(s), y = b.arcs(s);
    if (x.size() != y.size() || !k.approx(a.final(s), b.final(s), delta)) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i].ilabel != y[i].ilabel || x[i].olabel != y[i].olabel || x[i].nextstate != y[i].nextstate ||
          !k.approx(x[i].weight, y[i].weight, delta))
        return false;
  }
  return true;
}

namespace {

// Pairs states from the start on; arcs that labels, colors and weights do not tell apart are paired as they come.
template <class W>
bool pairs_up(const Automaton<W>& a, const Automaton<W>& b, const Values<W>& k, double delta,
              const std::vector<std::uint64_t>& color_a, const std::vector<std::uint64_t>& color_b) {
  std::vector<std::int32_t> pair(a.states(), kNoState), back(b.states(), kNoState), queue;
  const auto unite = [&](std::int32_t s, std::int32_t t) {
    if (pair[s] == t && back[t] == s) return true;
    if (pair[s] != kNoState || back[t] != kNoState) return false;
    pair[s] = t;
    back[t] = s;
    queue.push_back(s);
    return true;
  };
  unite(a.start(), b.start());
  const auto sorted = [&](const Automaton<W>& machine, std::int32_t s, const std::vector<std::uint64_t>& color,
                          const std::vector<std::int32_t>& paired, bool forward) {
    std::vector<Arc<W>> arcs(machine.arcs(s).begin(), machine.arcs(s).end());
    const auto number = [&](std::int32_t next) {
      return paired[next] == kNoState ? kNoState : forward ? next : paired[next];
    };
    std::stable_sort(arcs.begin(), arcs.end(), [&](const Arc<W>& x, const Arc<W>& y) {
      if (x.ilabel != y.ilabel) return x.ilabel < y.ilabel;
      if (x.olabel != y.olabel) return x.olabel < y.olabel;
      if (color[x.nextstate] != color[y.nextstate]) return color[x.nextstate] < color[y.nextstate];
      const auto hx = k.hash(k.quantize(x.weight, delta)), hy = k.hash(k.quantize(y.weight, delta));
      if (hx != hy) return hx < hy;
      return number(x.nextstate) < number(y.nextstate);  // those that have their partners already, by these
    });
    return arcs;
  };
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::int32_t s = queue[i], t = pair[s];
    if (!k.approx(a.final(s), b.final(t), delta) || a.arcs(s).size() != b.arcs(t).size()) return false;
    const auto x = sorted(a, s, color_a, pair, true), y = sorted(b, t, color_b, back, false);
    for (std::size_t j = 0; j < x.size(); ++j)
      if (x[j].ilabel != y[j].ilabel || x[j].olabel != y[j].olabel || !k.approx(x[j].weight, y[j].weight, delta) ||
          !unite(x[j].nextstate, y[j].nextstate))
        return false;
  }
  return true;  // what cannot be reached from the start has no say
}

}  // namespace

template <class W>
bool isomorphic(const Automaton<W>& a, const Automaton<W>& b, const Values<W>& k, double delta) {
  if (a.states() != b.states() || a.arcs() != b.arcs() || (a.start() == kNoState) != (b.start() == kNoState))
    return false;
  if (a.start() == kNoState) return true;
  if (is(a, property::ideterministic) && is(b, property::ideterministic)) {  // labels tell all arcs apart
    const std::vector<std::uint64_t> none(a.states());
    return pairs_up(a, b, k, delta, none, none);
  }
  // weights help to tell states apart, but equal ones may be rounded differently: then labels alone have to do
  if (delta > 0.0 && pairs_up(a, b, k, delta, colors(a, k, delta), colors(b, k, delta))) return true;
  return pairs_up(a, b, k, delta, colors(a, k, std::nullopt), colors(b, k, std::nullopt));
}

template <class S>
bool equivalent(const Machine<S>& a, const Machine<S>& b, double delta) {
  using namespace property;
  const S& k = a.semiring();
  for (const Machine<S>* machine : {&a, &b}) {
    if (!is(*machine, acceptor))
      fail("equivalence is decided for acceptors; encode the labels of transducers first, or compare random paths");
    if (!is(*machine, no_epsilons)) fail("equivalence is decided for machines without epsilons; remove them first");
    if (!is(*machine, ideterministic))
      fail("equivalence is decided for deterministic machines; determinize them first, or compare random paths");
  }
  Machine<S> pushed[2] = {connect(a), connect(b)};
  if (pushed[0].start() == kNoState || pushed[1].start() == kNoState) return pushed[0].start() == pushed[1].start();
  typename S::Weight total[2] = {k.one(), k.one()};
  for (int i = 0; i < 2; ++i) {
    if (is(pushed[i], unweighted)) continue;
    const auto d = distances(pushed[i], true);
    total[i] = d[pushed[i].start()];
    pushed[i] = reweight(pushed[i], std::span<const typename S::Weight>(d), false, false);
  }
  if (!k.approx(total[0], total[1], delta)) return false;
  // states of both machines side by side; trimmed, so that a missing arc tells them apart
  const std::int32_t shift = pushed[0].states();
  std::vector<std::int32_t> parent(shift + pushed[1].states());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::int32_t s) {
    while (parent[s] != s) s = parent[s] = parent[parent[s]];
    return s;
  };
  const auto machine_of = [&](std::int32_t s) -> const Machine<S>& { return pushed[s >= shift]; };
  const auto sorted = [&](std::int32_t s) {
    const auto arcs = machine_of(s).arcs(s >= shift ? s - shift : s);
    std::vector<typename Machine<S>::Arc> out(arcs.begin(), arcs.end());
    sort_by_input(out);
    for (auto& arc : out) arc.nextstate += s >= shift ? shift : 0;
    return out;
  };
  const auto final = [&](std::int32_t s) { return machine_of(s).final(s >= shift ? s - shift : s); };
  std::vector<std::pair<std::int32_t, std::int32_t>> todo{{pushed[0].start(), pushed[1].start() + shift}};
  parent[root(pushed[1].start() + shift)] = root(pushed[0].start());
  while (!todo.empty()) {
    const auto [s, t] = todo.back();
    todo.pop_back();
    if (!k.approx(final(s), final(t), delta)) return false;
    const auto x = sorted(s), y = sorted(t);
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].ilabel != y[i].ilabel || !k.approx(x[i].weight, y[i].weight, delta)) return false;
      const std::int32_t p = root(x[i].nextstate), q = root(y[i].nextstate);
      if (p == q) continue;
      parent[q] = p;
      todo.emplace_back(x[i].nextstate, y[i].nextstate);
    }
  }
  return true;
}

#define X(S) template bool equivalent(const Machine<S>&, const Machine<S>&, double);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

#define X(W)                                                                               \
  template bool equal(const Automaton<W>&, const Automaton<W>&, const Values<W>&, double); \
  template bool isomorphic(const Automaton<W>&, const Automaton<W>&, const Values<W>&, double);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
