#include "fst/minimize.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <numeric>
#include <optional>

#include "base/flat_table.h"
#include "fst/partition.h"
#include "fst/paths.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {

template <class W>
std::int32_t Codes<W>::of(std::int32_t ilabel, std::int32_t olabel, const W& weight) {
  const std::uint64_t hash = join(base::joined_key(ilabel, olabel), Values<W>::hash(weight));
  const auto fresh = static_cast<std::uint32_t>(codes_.size());
  const std::uint32_t i = index_.add(hash, fresh, [&](std::uint32_t known) {
    const Code& there = codes_[known];
    return there.ilabel == ilabel && there.olabel == olabel && Values<W>::equal(there.weight, weight);
  });
  if (i == fresh) codes_.push_back({ilabel, olabel, weight});
  return static_cast<std::int32_t>(i + 1);
}

template <class W>
Automaton<W> encode(const Automaton<W>& machine, Codes<W>& encoder) {
  Assembly<W> out;
  out.reserve(machine.states() + 1, machine.arcs());
  const std::int32_t last = machine.states();
  bool any = false;
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    const bool moved = encoder.weights() && machine.is_final(s);
    out.open(moved ? machine.zero() : machine.final(s));
    for (const auto& arc : machine.arcs(s)) {
      const std::int32_t label =
          encoder.of(arc.ilabel, encoder.labels() ? arc.olabel : 0, encoder.weights() ? arc.weight : machine.one());
      out.push({label, encoder.labels() ? label : arc.olabel, encoder.weights() ? machine.one() : arc.weight,
                arc.nextstate});
    }
    if (moved) {
      const std::int32_t label = encoder.of(kNoLabel, kNoLabel, machine.final(s));
      out.push({label, encoder.labels() ? label : 0, machine.one(), last});
      any = true;
    }
  }
  if (any) out.open(machine.one());
  return out.finish(machine, machine.start());
}

template <class S>
Machine<S> decode(const Machine<S>& machine, const Encoder<S>& encoder) {
  const S& k = machine.semiring();
  Machine<S> out(machine);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) arc = decoded(k, encoder, arc, s);
    out.recount(s);
  }
  if (!encoder.weights()) return out;
  // epsilons to a final state without arcs are final weights again
  bool any = false;
  for (std::int32_t s = 0; s < out.states(); ++s) {
    const auto arcs = out.edit(s);
    std::size_t left = 0;
    typename S::Weight final = out.final(s);
    for (const auto& arc : arcs) {
      if (arc.ilabel == 0 && arc.olabel == 0 && out.is_final(arc.nextstate) && out.arcs(arc.nextstate).empty()) {
        final = k.plus(final, k.times(arc.weight, out.final(arc.nextstate)));
      } else {
        arcs[left++] = arc;
      }
    }
    if (left == arcs.size()) continue;
    any = true;
    out.truncate(s, left);
    out.set_final(s, final);
  }
  if (any) trim(out);
  return out;
}

namespace {

// Writes on each arc the number of its string; `prefix`, which every path begins with, goes on the arcs of the start.
template <class W>
Automaton<W> number_strings(Automaton<W> machine, std::span<std::uint32_t> outputs, std::uint32_t prefix,
                            StringPool& pool, Automaton<W>& strings) {
  std::vector<std::size_t> first(machine.states() + 1, 0);
  bool entered = false;  // does an arc lead back to the start?
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    first[s + 1] = first[s] + machine.arcs(s).size();
    for (const auto& arc : machine.arcs(s)) entered |= arc.nextstate == machine.start();
  }
  strings = Automaton<W>(machine.zero(), machine.one());
  strings.set_start(strings.add_state(machine.one()));
  base::FlatTable<std::int32_t> numbers;
  const auto number = [&](std::uint32_t string) {
    if (string == 0) return 0;
    const auto [at, is_new] = numbers.add(string, static_cast<std::int32_t>(numbers.size() + 1));
    if (!is_new) return at;
    std::int32_t from = 0;
    const auto labels = pool[string];
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::int32_t to = i + 1 < labels.size() ? strings.add_state() : 0;
      strings.add_arc(from, {i == 0 ? at : 0, labels[i], machine.one(), to});
      from = to;
    }
    return at;
  };
  const std::int32_t start = machine.start();
  if (prefix != 0) {
    std::vector<std::uint32_t> longer;
    for (std::size_t a = first[start]; a < first[start + 1]; ++a) longer.push_back(pool.concat(prefix, outputs[a]));
    if (!entered) {
      std::ranges::copy(longer, outputs.begin() + static_cast<std::ptrdiff_t>(first[start]));
    } else {
      const std::int32_t fresh = machine.add_state();
      const std::vector arcs(machine.arcs(start).begin(), machine.arcs(start).end());
      for (std::size_t a = 0; a < arcs.size(); ++a)
        machine.add_arc(fresh, {arcs[a].ilabel, number(longer[a]), arcs[a].weight, arcs[a].nextstate});
      machine.set_start(fresh);
    }
  }
  for (std::size_t s = 0; s + 1 < first.size(); ++s) {
    const auto arcs = machine.edit(static_cast<std::int32_t>(s));
    for (std::size_t a = 0; a < arcs.size(); ++a) arcs[a].olabel = number(outputs[first[s] + a]);
    machine.recount(static_cast<std::int32_t>(s));
  }
  return machine;
}

template <class W>
struct Merged {
  Automaton<W> machine;
  std::vector<std::uint32_t> outputs;  // [M] strings of its arcs, if there were outputs
};

// Merges equivalent states. With outputs the labels that are written are these strings.
template <class W>
Merged<W> merge(const Automaton<W>& machine, const Values<W>& values, double delta, bool deterministic,
                const PushedOutputs* outputs) {
  const std::int32_t n = machine.states();
  const bool plain = !outputs && is(machine, property::unweighted);
  const bool in_order = !deterministic || is(machine, property::ilabel_sorted);
  LabelledGraph graph;
  graph.begin.reserve(n + 1);
  graph.begin.push_back(0);
  graph.label.reserve(machine.arcs());
  graph.next.reserve(machine.arcs());
  graph.end.reserve(n);
  Codes<W> codes(true, true), ends(true, true);
  const auto label_of = [&](const Arc<W>& arc, std::size_t place) -> std::int64_t {
    if (plain) return arc.ilabel;
    const auto weight = values.quantize(arc.weight, delta);
    if constexpr (std::same_as<decltype(weight), const float>) {  // label and weight fit in one number
      if (!outputs) return std::int64_t{arc.ilabel} << 32 | std::bit_cast<std::uint32_t>(weight + 0.0f);
    }
    return codes.of(arc.ilabel, outputs ? static_cast<std::int32_t>(outputs->arcs[place]) : 0, weight);
  };
  std::vector<std::uint32_t> by_label;
  for (std::int32_t s = 0; s < n; ++s) {
    const auto arcs = machine.arcs(s);
    const std::size_t first = graph.next.size();
    if (in_order) {
      for (const auto& arc : arcs) {
        graph.label.push_back(label_of(arc, graph.next.size()));
        graph.next.push_back(arc.nextstate);
      }
    } else {
      by_label.resize(arcs.size());
      std::iota(by_label.begin(), by_label.end(), 0);
      std::ranges::sort(by_label, {}, [&](std::uint32_t i) { return arcs[i].ilabel; });
      for (const std::uint32_t i : by_label) {
        graph.label.push_back(label_of(arcs[i], first + i));
        graph.next.push_back(arcs[i].nextstate);
      }
    }
    graph.begin.push_back(static_cast<std::uint32_t>(graph.label.size()));
    graph.end.push_back(machine.is_final(s) ? ends.of(0, 0, values.quantize(machine.final(s), delta)) : 0);
  }
  const std::vector<std::int32_t> classes = equivalent_states(graph, deterministic);
  // the first state of each class stands for it
  Assembly<W> out;
  std::vector<std::uint32_t> kept;
  std::int32_t next = 0;
  for (std::int32_t s = 0; s < n; ++s) {
    if (classes[s] != next) continue;
    ++next;
    out.open(machine.final(s));
    const auto arcs = machine.arcs(s);
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      auto arc = arcs[a];
      arc.nextstate = classes[arc.nextstate];
      out.push(arc);
      if (outputs) kept.push_back(outputs->arcs[graph.begin[s] + a]);
    }
  }
  return {out.finish(machine, classes[machine.start()]), std::move(kept)};
}

}  // namespace

template <class S>
Machine<S> minimize(const Machine<S>& machine, double delta, bool allow_nondeterministic, Machine<S>* strings) {
  using namespace property;
  const bool transducer = strings || !is(machine, acceptor);
  const bool deterministic = is(machine, ideterministic);
  if (!deterministic && !allow_nondeterministic)
    fail(
        "the machine is not deterministic; determinize it first, or pass allow_nondet=True to make it smaller without");
  std::optional<Machine<S>> changed;
  const Machine<S>* from = &machine;
  if (!connected(machine)) from = &changed.emplace(connect(machine));
  if (strings) *strings = Machine<S>(machine.semiring());
  if (from->start() == kNoState) return Machine<S>(machine.semiring());
  if (is(*from, weighted)) {
    changed = push(*from, {.weights = true});
    from = &*changed;
  }
  const S& k = machine.semiring();
  StringPool pool;
  PushedOutputs outputs;
  if (transducer) outputs = push_outputs(*from, pool);
  auto merged = merge<typename S::Weight>(*from, k, delta, deterministic, transducer ? &outputs : nullptr);
  Machine<S> out(k, std::move(merged.machine));
  if (transducer && strings) {
    out = Machine<S>(
        k, number_strings<typename S::Weight>(std::move(out), merged.outputs, outputs.prefix, pool, *strings));
  } else if (transducer) {
    out = factor(out, merged.outputs, {}, outputs.prefix, pool);
  }
  out.know(accessible | coaccessible);
  return out;
}

#define X(S)                                                        \
  template Machine<S> decode(const Machine<S>&, const Encoder<S>&); \
  template Machine<S> minimize(const Machine<S>&, double, bool, Machine<S>*);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

#define X(W)               \
  template class Codes<W>; \
  template Automaton<W> encode(const Automaton<W>&, Codes<W>&);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
