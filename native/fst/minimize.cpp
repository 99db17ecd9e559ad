#include "fst/minimize.h"

#include <algorithm>
#include <unordered_map>

#include "fst/partition.h"
#include "fst/paths.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {

template <class S>
std::int32_t Encoder<S>::of(std::int32_t ilabel, std::int32_t olabel, const typename S::Weight& weight) {
  const Code code{ilabel, olabel, weight};
  std::size_t mask = slots_.size() - 1, at = hash(code) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    const Code& there = codes_[slots_[at] - 1];
    if (there.ilabel == ilabel && there.olabel == olabel && semiring_.equal(there.weight, weight))
      return static_cast<std::int32_t>(slots_[at]);
  }
  codes_.push_back(code);
  slots_[at] = static_cast<std::uint32_t>(codes_.size());
  if (codes_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, 0);
    mask = slots_.size() - 1;
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      at = hash(codes_[i]) & mask;
      while (slots_[at] != 0) at = (at + 1) & mask;
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }
  return static_cast<std::int32_t>(codes_.size());
}

template <class S>
Machine<S> encode(const Machine<S>& machine, Encoder<S>& encoder) {
  const S& k = machine.semiring();
  Builder<S> out(k);
  out.reserve(machine.states() + 1, machine.arcs());
  const std::int32_t last = machine.states();
  bool any = false;
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    const bool moved = encoder.weights() && machine.is_final(s);
    out.open(moved ? k.zero() : machine.final(s));
    for (const auto& arc : machine.arcs(s)) {
      const std::int32_t label =
          encoder.of(arc.ilabel, encoder.labels() ? arc.olabel : 0, encoder.weights() ? arc.weight : k.one());
      out.push({label, encoder.labels() ? label : arc.olabel, encoder.weights() ? k.one() : arc.weight, arc.nextstate});
    }
    if (moved) {
      const std::int32_t label = encoder.of(kNoLabel, kNoLabel, machine.final(s));
      out.push({label, encoder.labels() ? label : 0, k.one(), last});
      any = true;
    }
  }
  if (any) out.open(k.one());
  return out.finish(machine.start());
}

template <class S>
Machine<S> decode(const Machine<S>& machine, const Encoder<S>& encoder) {
  const S& k = machine.semiring();
  Machine<S> out(machine);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) {
      if (arc.ilabel == 0) continue;
      if (static_cast<std::size_t>(arc.ilabel) > encoder.size())
        fail("label ", arc.ilabel, " at state ", s, " is not one of the ", encoder.size(), " of the encoder");
      if (encoder.labels() && arc.ilabel != arc.olabel)
        fail("an encoded machine is an acceptor, but state ", s, " has the labels ", arc.ilabel, " and ", arc.olabel);
      const auto code = encoder[arc.ilabel];
      arc.ilabel = std::max(code.ilabel, 0);  // kNoLabel: a final weight
      if (encoder.labels()) arc.olabel = std::max(code.olabel, 0);
      if (encoder.weights()) arc.weight = k.times(arc.weight, code.weight);
    }
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
template <class S>
Machine<S> number_strings(Machine<S> machine, std::span<std::uint32_t> outputs, std::uint32_t prefix, StringPool& pool,
                          Machine<S>& strings) {
  const S& k = machine.semiring();
  std::vector<std::size_t> first(machine.states() + 1, 0);
  bool entered = false;  // does an arc lead back to the start?
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    first[s + 1] = first[s] + machine.arcs(s).size();
    for (const auto& arc : machine.arcs(s)) entered |= arc.nextstate == machine.start();
  }
  strings = Machine<S>(k);
  strings.set_start(strings.add_state(k.one()));
  std::unordered_map<std::uint32_t, std::int32_t> numbers;
  const auto number = [&](std::uint32_t string) {
    if (string == 0) return 0;
    const auto [at, is_new] = numbers.try_emplace(string, static_cast<std::int32_t>(numbers.size() + 1));
    if (!is_new) return at->second;
    std::int32_t from = 0;
    const auto labels = pool[string];
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::int32_t to = i + 1 < labels.size() ? strings.add_state() : 0;
      strings.add_arc(from, {i == 0 ? at->second : 0, labels[i], k.one(), to});
      from = to;
    }
    return at->second;
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

// Merges equivalent states. With outputs the labels that are written are these strings.
template <class S>
Machine<S> merge(const Machine<S>& machine, double delta, bool deterministic, const PushedOutputs* outputs,
                 StringPool& pool, Machine<S>* strings) {
  const S& k = machine.semiring();
  const std::int32_t n = machine.states();
  const bool plain = !outputs && is(machine, property::unweighted);
  LabelledGraph graph;
  graph.begin.reserve(n + 1);
  graph.begin.push_back(0);
  graph.label.reserve(machine.arcs());
  graph.next.reserve(machine.arcs());
  graph.end.reserve(n);
  Encoder<S> codes(k, true, true), ends(k, true, true);
  for (std::int32_t s = 0; s < n; ++s) {
    for (const auto& arc : machine.arcs(s)) {
      const auto output = outputs ? static_cast<std::int32_t>(outputs->arcs[graph.next.size()]) : 0;
      graph.label.push_back(plain ? arc.ilabel : codes.of(arc.ilabel, output, k.quantize(arc.weight, delta)));
      graph.next.push_back(arc.nextstate);
    }
    graph.begin.push_back(static_cast<std::uint32_t>(graph.label.size()));
    graph.end.push_back(machine.is_final(s) ? ends.of(0, 0, k.quantize(machine.final(s), delta)) : 0);
  }
  std::vector<std::int32_t> order;
  const Components found = components(machine);
  if (!found.cyclic) {
    order.resize(n);
    for (std::int32_t s = 0; s < n; ++s) order[found.of[s]] = s;
  }
  const std::vector<std::int32_t> classes = equivalent_states(graph, deterministic, order);
  // the first state of each class stands for it
  Builder<S> out(k);
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
  Machine<S> made = out.finish(classes[machine.start()]);
  if (outputs && strings) {
    made = number_strings<S>(std::move(made), kept, outputs->prefix, pool, *strings);
  } else if (outputs) {
    made = factor<S>(made, kept, {}, outputs->prefix, pool);
  }
  made.know(property::accessible | property::coaccessible);
  return made;
}

}  // namespace

template <class S>
Machine<S> minimize(const Machine<S>& machine, double delta, bool allow_nondeterministic, Machine<S>* strings) {
  using namespace property;
  const bool transducer = strings || !is(machine, acceptor);
  const bool deterministic = is(machine, ideterministic);
  if (!deterministic && !allow_nondeterministic)
    fail(
        "the machine is not deterministic; determinise it first, or pass allow_nondet=True to make it smaller without");
  Machine<S> trimmed = connect(machine);
  if (strings) *strings = Machine<S>(machine.semiring());
  if (trimmed.start() == kNoState) return trimmed;
  if (is(trimmed, weighted)) trimmed = push(trimmed, {.weights = true});
  StringPool pool;
  if (!transducer) return merge(trimmed, delta, deterministic, nullptr, pool, strings);
  const PushedOutputs outputs = push_outputs(trimmed, pool);
  return merge(trimmed, delta, deterministic, &outputs, pool, strings);
}

#define X(S)                                                        \
  template class Encoder<S>;                                        \
  template Machine<S> encode(const Machine<S>&, Encoder<S>&);       \
  template Machine<S> decode(const Machine<S>&, const Encoder<S>&); \
  template Machine<S> minimize(const Machine<S>&, double, bool, Machine<S>*);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
