#include "fst/pushdown.h"

#include <algorithm>
#include <set>

#include "base/flat_table.h"
#include "fst/pushdown_stacks.h"

namespace textmill::fst {

Parentheses::Parentheses(std::vector<std::pair<std::int32_t, std::int32_t>> pairs, std::vector<std::int32_t> stacks,
                         Restriction restriction)
    : pairs_(std::move(pairs)), stacks_(std::move(stacks)), restriction_(restriction) {
  if (stacks_.empty()) stacks_.assign(pairs_.size(), 0);
  if (stacks_.size() != pairs_.size()) fail(pairs_.size(), " pairs of parentheses, but ", stacks_.size(), " stacks");
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const auto [open, close] = pairs_[i];
    if (open <= 0 || close <= 0) fail("the parentheses ", open, " and ", close, " are not labels above 0");
    if (stacks_[i] < 0 || stacks_[i] > 62) fail("stack ", stacks_[i] + 1, " is not one of 1 to 63");
    count_ = std::max(count_, stacks_[i] + 1);
    const auto pair = static_cast<std::int32_t>(i);
    for (const bool opens : {true, false})
      if (!kinds_.add(base::key_of(opens ? open : close), {pair, opens}).second)
        fail("label ", opens ? open : close, " is a parenthesis twice; each opens or closes one pair");
  }
}

template <class W>
void check_parentheses(const Automaton<W>& machine, const Parentheses& parentheses) {
  for (std::int32_t s = 0; s < machine.states(); ++s)
    for (const auto& arc : machine.arcs(s)) {
      if (arc.ilabel == arc.olabel) continue;
      const bool reads = parentheses.kind(arc.ilabel).pair >= 0, writes = parentheses.kind(arc.olabel).pair >= 0;
      if (reads || writes)
        fail("an arc of state ", s, " reads ", arc.ilabel, " and writes ", arc.olabel,
             "; a parenthesis stands on both sides");
    }
}

namespace {

template <class W>
class Expanded final : public Cached<W> {
 public:
  Expanded(LazyPointer<W> a, const Parentheses& parentheses, const ExpandOptions& options)
      : Cached<W>(a->ring_pointer(), options.limit),
        a_(std::move(a)),
        parentheses_(parentheses),
        options_(options),
        stacks_(parentheses_) {}

 protected:
  std::int32_t compute_start() override { return a_->start() == kNoState ? kNoState : number(a_->start(), 0); }
  std::int32_t count() override { return static_cast<std::int32_t>(states_.size()); }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const std::int32_t s = states_[q][0], open = states_[q][1];
    const View<W> state = a_->state(s);
    out.open(open == 0 ? state.final : this->ring().zero());
    for (auto arc : state) {
      const auto kind = parentheses_.kind(arc.ilabel);
      std::int32_t next = open;
      if (kind.pair >= 0) {
        next = stacks_.next(open, kind, options_.depth);
        if (next == Stacks::kNone) continue;
        if (!options_.keep) arc.ilabel = arc.olabel = 0;
      }
      arc.nextstate = number(arc.nextstate, next);
      out.push(arc);
    }
  }

 private:
  std::int32_t number(std::int32_t s, std::int32_t open) {
    const std::int32_t key[] = {s, open};
    const std::uint32_t id = states_.insert(key);
    if (id >= kMostStates) fail("the expansion has more than 2,147,483,647 states");
    return static_cast<std::int32_t>(id);
  }
  LazyPointer<W> a_;
  const Parentheses parentheses_;
  ExpandOptions options_;
  Stacks stacks_;
  SequenceTable states_;
};

}  // namespace

template <class W>
LazyPointer<W> lazy_expand(LazyPointer<W> pushdown, const Parentheses& parentheses, const ExpandOptions& options) {
  return std::make_shared<Expanded<W>>(std::move(pushdown), parentheses, options);
}

template <class W>
CallingMachines<W> replace_pushdown(const std::vector<std::pair<std::int32_t, const Automaton<W>*>>& machines,
                                    std::int32_t first_label) {
  if (machines.empty()) fail("there is no machine to begin with");
  base::FlatTable<std::size_t> number;
  for (std::size_t i = 0; i < machines.size(); ++i)
    if (!number.add(base::key_of(machines[i].first), i).second) fail("label ", machines[i].first, " has two machines");
  // machines that the root needs, in the order in which they are called first
  std::vector<std::size_t> used{0};
  std::vector<std::int64_t> first(machines.size(), -1);
  first[0] = 0;
  std::int64_t states = machines[0].second->states();
  for (std::size_t u = 0; u < used.size(); ++u) {
    const auto& machine = *machines[used[u]].second;
    for (std::int32_t s = 0; s < machine.states(); ++s)
      for (const auto& arc : machine.arcs(s)) {
        const std::size_t* const called = number.find(base::key_of(arc.olabel));
        if (called == nullptr || first[*called] >= 0) continue;
        first[*called] = states;
        states += machines[*called].second->states();
        if (states > static_cast<std::int64_t>(kMostStates)) fail("the machines have more than 2,147,483,647 states");
        used.push_back(*called);
      }
  }
  // where each machine goes on to after a call, as the number of the parenthesis
  std::vector<base::FlatTable<std::int32_t>> returns(machines.size());
  std::vector<std::vector<std::int32_t>> returned(machines.size());
  std::int32_t pairs = 0;
  for (const std::size_t u : used) {
    const auto& machine = *machines[u].second;
    for (std::int32_t s = 0; s < machine.states(); ++s)
      for (const auto& arc : machine.arcs(s)) {
        const std::size_t* const called = number.find(base::key_of(arc.olabel));
        if (called == nullptr || machines[*called].second->start() == kNoState) continue;
        auto& of = returns[*called];
        const auto back = static_cast<std::int32_t>(first[u] + arc.nextstate);
        if (of.add(base::key_of(back), static_cast<std::int32_t>(of.size())).second) returned[*called].push_back(back);
        pairs = std::max(pairs, static_cast<std::int32_t>(of.size()));
      }
  }
  if (static_cast<std::int64_t>(first_label) + 2 * static_cast<std::int64_t>(pairs) > 0x7FFFFFFF)
    fail("no labels are left for ", pairs, " pairs of parentheses from ", first_label, " on");
  const auto open = [&](std::int32_t pair) { return first_label + 2 * pair; };
  const W zero = machines[0].second->zero(), one = machines[0].second->one();
  Assembly<W> out;
  for (const std::size_t u : used) {
    const auto& machine = *machines[u].second;
    for (std::int32_t s = 0; s < machine.states(); ++s) {
      const bool ends = machine.is_final(s);
      out.open(u == 0 ? machine.final(s) : zero);
      for (auto arc : machine.arcs(s)) {
        const std::size_t* const called = number.find(base::key_of(arc.olabel));
        const auto next = static_cast<std::int32_t>(first[u] + arc.nextstate);
        if (called == nullptr) {
          arc.nextstate = next;
        } else {
          const std::int32_t start = machines[*called].second->start();
          if (start == kNoState) continue;
          arc.ilabel = arc.olabel = open(*returns[*called].find(base::key_of(next)));
          arc.nextstate = static_cast<std::int32_t>(first[*called] + start);
        }
        out.push(arc);
      }
      if (!ends) continue;
      for (std::size_t r = 0; r < returned[u].size(); ++r) {
        const std::int32_t label = open(static_cast<std::int32_t>(r)) + 1;
        out.push({label, label, machine.final(s), returned[u][r]});
      }
    }
  }
  CallingMachines<W> made{out.finish(zero, one, machines[0].second->start()), {}};
  for (std::int32_t pair = 0; pair < pairs; ++pair) made.parentheses.emplace_back(open(pair), open(pair) + 1);
  return made;
}

template <class W>
Automaton<W> echo_labels(const Automaton<W>& machine, const Parentheses& parentheses, bool output) {
  Automaton<W> out(machine);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    bool changed = false;
    for (const auto& arc : machine.arcs(s))
      changed = changed || parentheses.kind(output ? arc.olabel : arc.ilabel).pair >= 0;
    if (!changed) continue;
    for (auto& arc : out.edit(s))
      if (const std::int32_t label = output ? arc.olabel : arc.ilabel; parentheses.kind(label).pair >= 0)
        arc.ilabel = arc.olabel = label;
    out.recount(s);
  }
  return out;
}

template <class W>
PushdownFacts pushdown_facts(const Automaton<W>& machine, const Parentheses& parentheses) {
  PushdownFacts facts;
  std::set<std::int32_t> opened, closed, targets, sources;
  for (std::int32_t s = 0; s < machine.states(); ++s)
    for (const auto& arc : machine.arcs(s)) {
      const auto kind = parentheses.kind(arc.ilabel);
      if (kind.pair < 0) continue;
      ++(kind.opens ? facts.open_arcs : facts.close_arcs);
      (kind.opens ? opened : closed).insert(kind.pair);
      (kind.opens ? targets : sources).insert(kind.opens ? arc.nextstate : s);
    }
  facts.open_used = opened.size();
  facts.close_used = closed.size();
  facts.open_targets = targets.size();
  facts.close_sources = sources.size();
  return facts;
}

#define X(W)                                                                                                     \
  template void check_parentheses(const Automaton<W>&, const Parentheses&);                                      \
  template LazyPointer<W> lazy_expand(LazyPointer<W>, const Parentheses&, const ExpandOptions&);                 \
  template CallingMachines<W> replace_pushdown(const std::vector<std::pair<std::int32_t, const Automaton<W>*>>&, \
                                               std::int32_t);                                                    \
  template Automaton<W> echo_labels(const Automaton<W>&, const Parentheses&, bool);                              \
  template PushdownFacts pushdown_facts(const Automaton<W>&, const Parentheses&);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
