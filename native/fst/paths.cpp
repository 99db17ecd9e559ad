#include "fst/paths.h"

#include <algorithm>

#include "base/flat_table.h"
#include "fst/best_first.h"
#include "fst/distance.h"
#include "fst/path_writer.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kPrefixes = std::size_t{1} << 26;  // labels of common prefixes of outputs, all states together

template <class S>
void need_path(const S& k, const char* what) {
  if (!k.path())
    fail(what, " needs weights of which one is always the better (path property); those of ", std::string(k.name()),
         " add up, convert to 'tropical'");
}

// A partial path: the arc that led here and the partial path before it.
template <class S>
struct Partial {
  std::int32_t state;
  std::int32_t before;  // -1: the start
  std::int32_t arc;     // of the state before; kEnd: the path has ended
  typename S::Weight weight;
};
constexpr std::int32_t kEnd = -1;

template <class S>
Machine<S> many_paths(const Machine<S>& machine, const PathOptions& options,
                      const std::optional<typename S::Weight>& worst) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  const std::size_t n = options.n;
  const auto d = distances_by(options.queue, machine, true);
  PathWriter<S> out(k);
  std::vector<Partial<S>> partials;
  struct Entry {
    Weight total;
    std::int32_t partial;
  };
  const auto later = [&](const Entry& x, const Entry& y) {
    return k.less(y.total, x.total) || (!k.less(x.total, y.total) && y.partial < x.partial);
  };
  std::vector<Entry> heap;
  std::vector<std::uint32_t> left(machine.states(), 0);
  if (k.equal(d[machine.start()], k.zero())) return out.finish();
  const Weight limit = worst ? k.times(d[machine.start()], *worst) : k.zero();
  const auto add = [&](std::int32_t state, std::int32_t before, std::int32_t arc, const Weight& weight,
                       const Weight& total) {
    if (k.equal(total, k.zero()) || (worst && k.less(limit, total))) return;
    partials.push_back({state, before, arc, weight});
    heap.push_back({total, static_cast<std::int32_t>(partials.size() - 1)});
    std::push_heap(heap.begin(), heap.end(), later);
  };
  add(machine.start(), -1, 0, k.one(), d[machine.start()]);
  while (!heap.empty() && out.size() < n) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const std::int32_t at = heap.back().partial;
    heap.pop_back();
    const Partial<S> popped = partials[at];
    if (popped.arc == kEnd && popped.before >= 0) {
      std::vector<typename Machine<S>::Arc> arcs;
      std::int32_t p = popped.before;
      const std::int32_t end = partials[p].state;
      for (; partials[p].before >= 0; p = partials[p].before)
        arcs.push_back(machine.arcs(partials[partials[p].before].state)[partials[p].arc]);
      std::ranges::reverse(arcs);
      out.add(std::move(arcs), machine.final(end));
      continue;
    }
    if (left[popped.state] >= n) continue;
    ++left[popped.state];
    const auto arcs = machine.arcs(popped.state);
    if (machine.is_final(popped.state)) {
      const Weight total = k.times(popped.weight, machine.final(popped.state));
      add(popped.state, at, kEnd, total, total);
    }
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const Weight weight = k.times(popped.weight, arcs[a].weight);
      add(arcs[a].nextstate, at, static_cast<std::int32_t>(a), weight, k.times(weight, d[arcs[a].nextstate]));
    }
  }
  return out.finish();
}

template <class S>
Machine<S> unique_paths(const Machine<S>& machine, const PathOptions& options,
                        const std::optional<typename S::Weight>& worst) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  const std::size_t n = options.n;
  if (!is(machine, property::acceptor))
    fail("unique paths are strings of an acceptor; project the transducer to its input or output first");
  const auto d = distances_by(options.queue, machine, true);
  PathWriter<S> out(k);
  if (k.equal(d[machine.start()], k.zero())) return out.finish();
  const Weight limit = worst ? k.times(d[machine.start()], *worst) : k.zero();
  struct Reached {
    std::int32_t state;
    Weight weight;
  };
  struct Hypothesis {
    std::int32_t before, label;
    std::vector<Reached> subset;
  };
  struct Entry {
    Weight total;
    std::int32_t hypothesis;
    bool ended;
  };
  const auto later = [&](const Entry& x, const Entry& y) {
    return k.less(y.total, x.total) || (!k.less(x.total, y.total) && y.hypothesis < x.hypothesis);
  };
  std::vector<Entry> heap;
  std::vector<Hypothesis> hypotheses;
  std::vector<Weight> best(machine.states(), k.zero());  // inside one closure
  std::vector<bool> waiting(machine.states(), false);
  // Follows epsilons, keeps the best weight a state, and puts the hypothesis into the queue.
  const auto add = [&](std::int32_t before, std::int32_t label, std::vector<Reached> seeds) {
    std::vector<std::int32_t> queue, touched;
    for (const auto& [s, w] : seeds) {
      if (k.equal(best[s], k.zero())) touched.push_back(s);
      best[s] = k.plus(best[s], w);
      if (!waiting[s]) queue.push_back(s);
      waiting[s] = true;
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::int32_t s = queue[head];
      waiting[s] = false;
      if (machine.state(s).niepsilons == 0) continue;
      for (const auto& arc : machine.arcs(s)) {
        if (arc.ilabel != 0 || k.equal(d[arc.nextstate], k.zero()))
          continue;  // cycles that lead nowhere may be negative
        const Weight w = k.times(best[s], arc.weight);
        if (!k.less(w, best[arc.nextstate])) continue;
        if (k.equal(best[arc.nextstate], k.zero())) touched.push_back(arc.nextstate);
        best[arc.nextstate] = w;
        if (!waiting[arc.nextstate]) queue.push_back(arc.nextstate);
        waiting[arc.nextstate] = true;
      }
    }
    Weight total = k.zero();
    std::vector<Reached> subset;
    for (const std::int32_t s : touched) {
      total = k.plus(total, k.times(best[s], d[s]));
      if (!k.equal(d[s], k.zero())) subset.push_back({s, best[s]});
      best[s] = k.zero();
    }
    if (k.equal(total, k.zero()) || (worst && k.less(limit, total))) return;
    hypotheses.push_back({before, label, std::move(subset)});
    heap.push_back({total, static_cast<std::int32_t>(hypotheses.size() - 1), false});
    std::push_heap(heap.begin(), heap.end(), later);
  };
  add(-1, 0, {{machine.start(), k.one()}});
  std::vector<std::pair<std::int32_t, Reached>> steps;
  while (!heap.empty() && out.size() < n) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Entry entry = heap.back();
    heap.pop_back();
    if (entry.ended) {
      std::vector<typename Machine<S>::Arc> arcs;
      for (std::int32_t h = entry.hypothesis; hypotheses[h].before >= 0; h = hypotheses[h].before)
        arcs.push_back({hypotheses[h].label, hypotheses[h].label, k.one(), 0});
      std::ranges::reverse(arcs);
      out.add(std::move(arcs), entry.total);
      continue;
    }
    const std::vector<Reached> subset = std::move(hypotheses[entry.hypothesis].subset);
    Weight final = k.zero();
    steps.clear();
    for (const auto& [s, w] : subset) {
      if (machine.is_final(s)) final = k.plus(final, k.times(w, machine.final(s)));
      for (const auto& arc : machine.arcs(s))
        if (arc.ilabel != 0) steps.push_back({arc.ilabel, {arc.nextstate, k.times(w, arc.weight)}});
    }
    if (!k.equal(final, k.zero()) && !(worst && k.less(limit, final))) {
      heap.push_back({final, entry.hypothesis, true});
      std::push_heap(heap.begin(), heap.end(), later);
    }
    std::stable_sort(steps.begin(), steps.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (std::size_t i = 0; i < steps.size();) {
      std::vector<Reached> seeds;
      const std::int32_t label = steps[i].first;
      for (; i < steps.size() && steps[i].first == label; ++i) seeds.push_back(steps[i].second);
      add(entry.hypothesis, label, std::move(seeds));
    }
  }
  return out.finish();
}

// Dijkstra's algorithm from the start until all that is as good as the best end is known; then, depth first, the way
// along arcs that lose nothing which takes the earliest arcs. No weight may be better than one, and a worse way to a
// state must stay worse whatever follows: that is so for sums, not for the larger of two.
template <class S>
bool search_best_path(const Machine<S>& machine, std::vector<typename Machine<S>::Arc>& arcs,
                      typename S::Weight& final) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  std::vector<Weight> d(machine.states(), k.zero());
  Weight best = k.zero();
  BestFirst<S> queue(k);
  queue.push(d[machine.start()] = k.one(), machine.start());
  while (!queue.empty()) {
    const auto [w, s] = queue.top();
    queue.pop();
    if (k.less(best, w)) break;
    if (k.less(d[s], w)) continue;  // it was reached by better
    best = k.plus(best, k.times(w, machine.final(s)));
    for (const auto& arc : machine.arcs(s)) {
      const Weight reached = k.times(w, arc.weight);
      if (!k.less(reached, d[arc.nextstate]) || k.less(best, reached)) continue;
      d[arc.nextstate] = reached;
      queue.push(reached, arc.nextstate);
    }
  }
  if (k.equal(best, k.zero())) return false;
  std::vector<bool> seen(machine.states(), false);
  struct Frame {
    std::int32_t state;
    std::uint32_t arc;
  };
  std::vector<Frame> path{{machine.start(), 0}};
  seen[machine.start()] = true;
  for (;;) {  // some way leads to the end, so the path never becomes empty
    const std::int32_t s = path.back().state;
    if (path.back().arc == 0 && machine.is_final(s) && k.equal(k.times(d[s], machine.final(s)), best)) break;
    const auto choices = machine.arcs(s);
    if (path.back().arc == choices.size()) {
      path.pop_back();
      continue;
    }
    const auto& arc = choices[path.back().arc++];
    const std::int32_t t = arc.nextstate;
    if (seen[t] || k.less(best, d[t]) || !k.equal(k.times(d[s], arc.weight), d[t])) continue;
    seen[t] = true;
    path.push_back({t, 0});
  }
  for (std::size_t i = 0; i + 1 < path.size(); ++i) arcs.push_back(machine.arcs(path[i].state)[path[i].arc - 1]);
  final = machine.final(path.back().state);
  return true;
}

}  // namespace

template <class S>
bool best_path(const Machine<S>& machine, std::vector<typename Machine<S>::Arc>& arcs, typename S::Weight& final,
               Queue queue) {
  const S& k = machine.semiring();
  need_path(k, "a best path");
  if constexpr (may_have_order<S>) {
    if (machine.start() == kNoState) return false;
    if constexpr (std::same_as<S, Tropical<float>> || std::same_as<S, Tropical<double>> || std::same_as<S, Boolean>) {
      if (queue == Queue::automatic && !numbered_along_paths(machine) && never_better(machine))
        return search_best_path(machine, arcs, final);
    }
    std::vector<std::int32_t> next;
    const auto d = distances_by(queue, machine, true, 0.0, &next);
    std::int32_t s = machine.start();
    if (k.equal(d[s], k.zero())) return false;
    while (next[s] != kEnd) {
      arcs.push_back(machine.arcs(s)[next[s]]);
      s = arcs.back().nextstate;
    }
    final = machine.final(s);
    return true;
  }
  return false;
}

template <class S>
Machine<S> best_paths(const Machine<S>& machine, const PathOptions& options,
                      const std::optional<typename S::Weight>& worst) {
  need_path(machine.semiring(), "a best path");
  if constexpr (may_have_order<S>) {
    if (machine.start() == kNoState || options.n == 0) return Machine<S>(machine.semiring());
    if (options.unique) return unique_paths(machine, options, worst);
    if (options.n > 1) return many_paths(machine, options, worst);
    PathWriter<S> out(machine.semiring());
    std::vector<typename Machine<S>::Arc> arcs;
    typename S::Weight final{};
    if (best_path(machine, arcs, final, options.queue)) out.add(std::move(arcs), final);
    return out.finish();
  }
  return Machine<S>(machine.semiring());
}

namespace {

template <class S>
Machine<S> keep_good(const Machine<S>& machine, const std::optional<typename S::Weight>& worst,
                     std::size_t most_states) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  if (!k.commutative()) fail("pruning needs weights that commute; those of ", std::string(k.name()), " do not");
  Machine<S> out(machine);
  if (machine.start() == kNoState) return out;
  const auto from = distances(machine, false), to = distances(machine, true);
  const Weight best = to[machine.start()];
  if (k.equal(best, k.zero())) return Machine<S>(k);
  const Weight limit = worst ? k.times(best, *worst) : k.zero();
  constexpr double rounding = sizeof(Weight) == 4 ? 1e-5 : 1e-9;  // sums along a path, taken in two orders
  const auto bad = [&](const Weight& w) {
    return k.equal(w, k.zero()) || (worst && k.less(limit, w) && !k.approx(limit, w, rounding));
  };
  std::vector<std::uint8_t> kept(machine.states());
  std::size_t count = 0;
  for (std::int32_t s = 0; s < machine.states(); ++s) count += kept[s] = !bad(k.times(from[s], to[s]));
  if (count > most_states) {
    std::vector<std::int32_t> order;
    for (std::int32_t s = 0; s < machine.states(); ++s)
      if (kept[s]) order.push_back(s);
    std::ranges::stable_sort(order, [&](std::int32_t s, std::int32_t t) {
      return k.less(k.times(from[s], to[s]), k.times(from[t], to[t]));
    });
    for (std::size_t i = most_states; i < order.size(); ++i) kept[order[i]] = false;
  }
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    if (!kept[s]) continue;
    if (machine.is_final(s) && bad(k.times(from[s], machine.final(s)))) out.set_final(s, k.zero());
    const auto arcs = out.edit(s);
    std::size_t left = 0;
    for (const auto& arc : arcs)
      if (kept[arc.nextstate] && !bad(k.times(k.times(from[s], arc.weight), to[arc.nextstate]))) arcs[left++] = arc;
    if (left < arcs.size()) out.truncate(s, left);
  }
  if (!kept[machine.start()]) return Machine<S>(k);
  out.keep(kept);
  trim(out);
  return out;
}

}  // namespace

template <class S>
Machine<S> prune(const Machine<S>& machine, const std::optional<typename S::Weight>& worst, std::size_t most_states) {
  need_path(machine.semiring(), "pruning");
  if constexpr (may_have_order<S>) return keep_good(machine, worst, most_states);
  return Machine<S>(machine.semiring());
}

template <class S>
Machine<S> reweight(const Machine<S>& machine, std::span<const typename S::Weight> potentials, bool to_final,
                    bool put_back) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  if (to_final ? !k.right() : !k.left())
    fail("weights of ", std::string(k.name()), " do not distribute from the ", to_final ? "right" : "left",
         "; push them to the ", to_final ? "initial" : "final", " state");
  if (potentials.size() > static_cast<std::size_t>(machine.states()))
    fail("there are ", potentials.size(), " potentials for ", machine.states(), " states");
  Machine<S> out(machine);
  const auto v = [&](std::int32_t s) {
    return static_cast<std::size_t>(s) < potentials.size() ? potentials[s] : k.zero();
  };
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    const Weight mine = v(s);
    if (k.equal(mine, k.zero())) continue;  // leads nowhere, or is not reached
    for (auto& arc : out.edit(s)) {
      const Weight theirs = v(arc.nextstate);
      if (k.equal(theirs, k.zero())) continue;
      arc.weight = to_final ? k.divide(k.times(mine, arc.weight), theirs, Side::right)
                            : k.divide(k.times(arc.weight, theirs), mine, Side::left);
      if (!k.member(arc.weight))
        fail("weights of ", std::string(k.name()), " cannot be divided at state ", s, ", so they cannot be pushed");
    }
    if (out.is_final(s))
      out.set_final(s, to_final ? k.times(mine, out.final(s)) : k.divide(out.final(s), mine, Side::left));
  }
  // what was taken out of all paths goes back: to the front or the end
  const Weight total = machine.start() == kNoState ? k.zero() : v(machine.start());
  if (k.equal(total, k.one()) || k.equal(total, k.zero())) return out;
  if (to_final) {
    for (std::int32_t s = 0; s < out.states(); ++s)
      if (out.is_final(s)) out.set_final(s, k.divide(out.final(s), total, Side::left));
    return out;
  }
  if (!put_back) return out;
  for (std::int32_t s = 0; s < machine.states(); ++s)
    for (const auto& arc : machine.arcs(s))
      if (arc.nextstate == machine.start()) {  // it would be paid each time round: a start of its own
        const std::int32_t start = out.add_state();
        out.add_arc(start, {0, 0, total, machine.start()});
        out.set_start(start);
        return out;
      }
  for (auto& arc : out.edit(machine.start())) arc.weight = k.times(total, arc.weight);
  if (out.is_final(machine.start())) out.set_final(machine.start(), k.times(total, out.final(machine.start())));
  return out;
}

template <class W>
PushedOutputs push_outputs(const Automaton<W>& machine, StringPool& pool) {
  const std::int32_t n = machine.states();
  std::vector<std::uint32_t> prefix(n, StringPool::kInfinite);  // longest common prefix of what can still be written
  // ... as far as memory goes: all that is left to write, at every state of a long chain, would be a square
  const std::size_t most = std::max<std::size_t>(64, kPrefixes / static_cast<std::size_t>(std::max(n, 1)));
  const auto pull = [&](std::int32_t s) {
    std::uint32_t sum = machine.is_final(s) ? 0 : StringPool::kInfinite;
    for (const auto& arc : machine.arcs(s)) {
      if (sum == 0) break;
      if (prefix[arc.nextstate] == StringPool::kInfinite) continue;
      sum = pool.common_prefix(sum, pool.concat(pool.of(arc.olabel), prefix[arc.nextstate]));
    }
    if (sum != StringPool::kInfinite && pool[sum].size() > most) sum = pool.prefix(sum, most);
    return sum;
  };
  const Components found = components(machine);
  std::vector<std::vector<std::int32_t>> members(found.count);
  for (std::int32_t s = 0; s < n; ++s) members[found.of[s]].push_back(s);
  for (std::int32_t c = found.count; c-- > 0;) {
    // from infinity downwards: prefixes only get shorter, so this ends
    for (bool changed = true; changed;) {
      changed = false;
      for (auto s = members[c].rbegin(); s != members[c].rend(); ++s) {
        const std::uint32_t now = pull(*s);
        changed |= now != prefix[*s];
        prefix[*s] = now;
      }
      if (members[c].size() == 1 && !found.cyclic) break;
    }
  }
  PushedOutputs out;
  out.arcs.reserve(machine.arcs());
  for (std::int32_t s = 0; s < n; ++s) {
    const std::uint32_t mine = prefix[s];
    const std::size_t cut = mine == StringPool::kInfinite ? 0 : pool[mine].size();
    for (const auto& arc : machine.arcs(s)) {
      const std::uint32_t theirs = prefix[arc.nextstate];
      out.arcs.push_back(theirs == StringPool::kInfinite ? pool.of(arc.olabel)
                                                         : pool.suffix(pool.concat(pool.of(arc.olabel), theirs), cut));
    }
  }
  if (machine.start() != kNoState && prefix[machine.start()] != StringPool::kInfinite)
    out.prefix = prefix[machine.start()];
  return out;
}

template <class W>
Automaton<W> factor(const Automaton<W>& machine, std::span<const std::uint32_t> arcs,
                    std::span<const FinalStrings<W>> finals, std::uint32_t prefix, StringPool& pool,
                    const std::function<W(const W&, const W&)>& plus) {
  constexpr std::size_t kMostCarried = 10'000;
  Assembly<W> out;
  if (machine.start() == kNoState) return out.finish(machine, kNoState);
  std::vector<std::size_t> first(machine.states() + 1, 0);  // where the arcs of a state are in `arcs`
  for (std::int32_t s = 0; s < machine.states(); ++s) first[s + 1] = first[s] + machine.arcs(s).size();
  out.reserve(machine.states(), machine.arcs());
  // (state, still to be written); state kNoState: nothing but that
  std::vector<std::pair<std::int32_t, std::uint32_t>> todo;
  base::FlatTable<std::int32_t> known;
  const auto of = [&](std::int32_t s, std::uint32_t rest) {
    const auto [at, is_new] =
        known.add(std::uint64_t{rest} << 32 | static_cast<std::uint32_t>(s), static_cast<std::int32_t>(todo.size()));
    if (is_new) {
      if (pool[rest].size() > kMostCarried)
        fail("the outputs cannot be spelled out: more than ", kMostCarried,
             " labels would have to be carried to state ", s);
      todo.emplace_back(s, rest);
    }
    return at;
  };
  const auto head = [&](std::uint32_t string) { return string == 0 ? 0 : pool[string][0]; };
  const auto tail = [&](std::uint32_t string) { return string == 0 ? 0 : pool.suffix(string, 1); };
  FinalStrings<W> ends;
  of(machine.start(), prefix);
  for (std::size_t i = 0; i < todo.size(); ++i) {  // grows while it is read
    const auto [s, rest] = todo[i];
    ends.clear();
    if (s == kNoState) {
      ends.emplace_back(rest, machine.one());
    } else if (!finals.empty()) {
      for (const auto& [string, w] : finals[s]) ends.emplace_back(pool.concat(rest, string), w);
    } else if (machine.is_final(s)) {
      ends.emplace_back(rest, machine.final(s));
    }
    W final = machine.zero();
    for (const auto& [string, w] : ends)
      if (string == 0) final = plus(final, w);
    out.open(final);
    for (const auto& [string, w] : ends)
      if (string != 0) out.push({0, head(string), w, of(kNoState, tail(string))});
    if (s == kNoState) continue;
    std::size_t at = first[s];
    for (auto arc : machine.arcs(s)) {
      const std::uint32_t string = pool.concat(rest, arcs[at++]);
      arc.olabel = head(string);
      arc.nextstate = of(arc.nextstate, tail(string));
      out.push(arc);
    }
  }
  return out.finish(machine, 0);
}

template <class S>
Machine<S> push(const Machine<S>& machine, const PushOptions& options) {
  const S& k = machine.semiring();
  if (machine.start() == kNoState) return Machine<S>(machine);
  Machine<S> out(k);
  if (!options.weights) {
    out = Machine<S>(machine);
  } else {
    const auto d = distances(machine, !options.to_final, options.delta);
    out = reweight(machine, std::span<const typename S::Weight>(d), options.to_final, !options.remove_total);
    if (options.remove_total && options.to_final) {
      typename S::Weight total = k.zero();
      for (std::int32_t s = 0; s < machine.states(); ++s) total = k.plus(total, k.times(d[s], machine.final(s)));
      for (std::int32_t s = 0; s < out.states(); ++s)
        if (out.is_final(s)) out.set_final(s, k.divide(out.final(s), total, Side::right));
    }
  }
  if (options.labels) {
    trim(out);
    if (out.start() == kNoState) return out;
    StringPool pool;
    const auto spelled = [&](const Machine<S>& from) {
      const PushedOutputs outputs = push_outputs(from, pool);
      return factor(from, outputs.arcs, {}, options.remove_affix ? 0 : outputs.prefix, pool);
    };
    if (!options.to_final) return spelled(out);
    return connect(reverse(spelled(reverse(out))));  // towards the end: the same on the machine turned round
  }
  return out;
}

#define X(S)                                                                                                       \
  template bool best_path(const Machine<S>&, std::vector<typename Machine<S>::Arc>&, typename S::Weight&, Queue);  \
  template Machine<S> best_paths(const Machine<S>&, const PathOptions&, const std::optional<typename S::Weight>&); \
  template Machine<S> prune(const Machine<S>&, const std::optional<typename S::Weight>&, std::size_t);             \
  template Machine<S> reweight(const Machine<S>&, std::span<const typename S::Weight>, bool, bool);                \
  template Machine<S> push(const Machine<S>&, const PushOptions&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

#define X(W)                                                                                                          \
  template PushedOutputs push_outputs(const Automaton<W>&, StringPool&);                                              \
  template Automaton<W> factor(const Automaton<W>&, std::span<const std::uint32_t>, std::span<const FinalStrings<W>>, \
                               std::uint32_t, StringPool&, const std::function<W(const W&, const W&)>&);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
