#include "fst/rewrite.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/flat_table.h"
#include "fst/sequences.h"

namespace textmill::fst {
namespace {

// A nondeterministic automaton over classes of labels, arcs by source.
struct Graph {
  struct Step {
    std::int32_t on;  // class, or -1 for none
    std::int32_t to;
  };
  std::vector<std::vector<Step>> steps;
  std::int32_t add() {
    steps.emplace_back();
    return static_cast<std::int32_t>(steps.size() - 1);
  }
};

// A complete deterministic automaton over classes, as far as it was reached.
struct Table {
  std::size_t classes = 0;
  std::int32_t start = 0;
  std::vector<std::int32_t> next;     // [states][classes]
  std::vector<std::uint8_t> answers;  // [states] bit b: the b-th goal is in the subset
  std::int32_t operator()(std::int32_t state, std::int32_t on) const { return next[state * classes + on]; }
  std::size_t states() const { return answers.size(); }
};

// Subsets reached from node 0, which every class leads back to. `first` is a class that is read before all others.
Table subsets(Graph graph, std::size_t classes, std::int32_t first, std::array<std::int32_t, 2> goals,
              std::size_t most) {
  for (std::size_t c = 0; c < classes; ++c) graph.steps[0].push_back({static_cast<std::int32_t>(c), 0});
  const std::size_t nodes = graph.steps.size();
  std::vector<std::uint32_t> stamp(nodes, 0);
  std::uint32_t now = 0;
  std::vector<std::int32_t> set;
  const auto close = [&](std::vector<std::int32_t>& members) {  // along steps that read nothing; sorted
    ++now;
    for (const std::int32_t m : members) stamp[m] = now;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (const auto& step : graph.steps[members[i]])
        if (step.on < 0 && stamp[step.to] != now) {
          stamp[step.to] = now;
          members.push_back(step.to);
        }
    std::ranges::sort(members);
  };
  SequenceTable table;
  Table out;
  out.classes = classes;
  set = {0};
  close(set);
  table.insert(set);
  std::vector<std::vector<std::int32_t>> targets(classes);
  for (std::size_t id = 0; id < table.size(); ++id) {
    const std::vector<std::int32_t> members(table[id].begin(), table[id].end());
    std::uint8_t answer = 0;
    for (std::size_t b = 0; b < 2; ++b)
      if (goals[b] >= 0 && std::ranges::binary_search(members, goals[b])) answer |= 1u << b;
    out.answers.push_back(answer);
    for (auto& target : targets) target.clear();
    for (const std::int32_t m : members)
      for (const auto& step : graph.steps[m])
        if (step.on >= 0) targets[step.on].push_back(step.to);
    for (auto& target : targets) {
      std::ranges::sort(target);
      target.erase(std::unique(target.begin(), target.end()), target.end());
      close(target);
      out.next.push_back(static_cast<std::int32_t>(table.insert(target)));
    }
    if (table.size() > most) fail("a context needs more than ", most, " states; make the rule simpler");
  }
  out.start = first < 0 ? 0 : out(0, first);
  return out;
}

// Labels in classes that no arc of the contexts and of the rule tells apart.
class Classes {
 public:
  template <class W>
  Classes(const Automaton<W>& tau, const Automaton<W>& left, const Automaton<W>& right, const RewriteOptions& options) {
    std::map<std::int32_t, std::vector<std::array<std::int32_t, 3>>> seen;  // label: arcs that have it
    const auto look = [&](const Automaton<W>& machine, std::int32_t which) {
      for (std::int32_t s = 0; s < machine.states(); ++s)
        for (const auto& arc : machine.arcs(s)) {
          if (which < 2) {
            if (arc.ilabel != arc.olabel) fail("contexts of a rewrite rule are acceptors; project transducers first");
            if (arc.ilabel) seen[arc.ilabel].push_back({which, s, arc.nextstate});
            continue;
          }
          for (const std::int32_t label : {arc.ilabel, arc.olabel}) {
            if (label == 0) continue;
            if (label == options.begin || label == options.end)
              fail("the begin and the end of a string can stand in contexts only, not in what is rewritten");
            seen[label].push_back({which, label, 0});  // its own class
          }
        }
    };
    look(left, 0);
    look(right, 1);
    look(tau, 2);
    for (const std::int32_t label : options.alphabet)
      if (label > 0 && label != options.begin && label != options.end) seen.try_emplace(label);
    std::map<std::vector<std::array<std::int32_t, 3>>, std::int32_t> numbers;
    for (auto& [label, arcs] : seen) {
      if (label == options.begin || label == options.end) continue;
      std::ranges::sort(arcs);
      arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
      const auto [at, is_new] = numbers.try_emplace(arcs, static_cast<std::int32_t>(members.size()));
      if (is_new) members.emplace_back();
      members[at->second].push_back(label);
      number.add(base::key_of(label), at->second);
    }
    copied = members.size();
    begin = static_cast<std::int32_t>(copied);
    end = begin + 1;
    if (options.begin >= 0) number.add(base::key_of(options.begin), begin);
    if (options.end >= 0) number.add(base::key_of(options.end), end);
  }
  std::int32_t of(std::int32_t label) const {
    if (label == 0) return -1;
    const std::int32_t* const found = number.find(base::key_of(label));
    if (found == nullptr) fail("label ", label, " is neither in the rule nor in the alphabet");
    return *found;
  }

  LabelClasses members;
  std::size_t copied;  // classes of labels that strings have; two more for begin and end
  std::int32_t begin, end;
  base::FlatTable<std::int32_t> number;
};

// Adds the states of a machine; forwards, or with steps against the arcs.
template <class W>
std::int32_t add_machine(Graph& graph, const Automaton<W>& machine, const Classes& classes, bool backwards) {
  const auto base = static_cast<std::int32_t>(graph.steps.size());
  graph.steps.resize(graph.steps.size() + machine.states());
  for (std::int32_t s = 0; s < machine.states(); ++s)
    for (const auto& arc : machine.arcs(s)) {
      const std::int32_t from = base + s, to = base + arc.nextstate, on = classes.of(arc.ilabel);
      graph.steps[backwards ? to : from].push_back({on, backwards ? from : to});
    }
  return base;
}

template <class W>
Table left_table(const Automaton<W>& left, const Classes& classes, std::size_t most) {
  Graph graph;
  graph.add();
  const std::int32_t base = add_machine(graph, left, classes, false);
  const std::int32_t goal = graph.add();
  if (left.start() >= 0) graph.steps[0].push_back({-1, base + left.start()});
  for (std::int32_t s = 0; s < left.states(); ++s)
    if (left.is_final(s)) graph.steps[base + s].push_back({-1, goal});
  return subsets(std::move(graph), classes.copied + 2, classes.begin, {goal, -1}, most);
}

// Bit 0: the right context begins here; bit 1: what is rewritten, and then the right context.
template <class W>
Table right_table(const Automaton<W>& right, const Automaton<W>& tau, const Classes& classes, std::size_t most) {
  Graph graph;
  graph.add();
  const std::int32_t context = add_machine(graph, right, classes, true);
  const std::int32_t target = add_machine(graph, tau, classes, true);
  for (std::int32_t s = 0; s < right.states(); ++s)
    if (right.is_final(s)) graph.steps[0].push_back({-1, context + s});
  if (right.start() >= 0 && tau.start() >= 0)
    for (std::int32_t s = 0; s < tau.states(); ++s)
      if (tau.is_final(s)) graph.steps[context + right.start()].push_back({-1, target + s});
  const std::array<std::int32_t, 2> goals = {right.start() < 0 ? -1 : context + right.start(),
                                             tau.start() < 0 ? -1 : target + tau.start()};
  return subsets(std::move(graph), classes.copied + 2, classes.end, goals, most);
}

template <class W>
bool reads_nothing(const Automaton<W>& tau) {
  if (tau.start() < 0) return false;
  std::vector<std::uint8_t> seen(tau.states(), 0);
  std::vector<std::int32_t> stack = {tau.start()};
  seen[tau.start()] = 1;
  while (!stack.empty()) {
    const std::int32_t s = stack.back();
    stack.pop_back();
    if (tau.is_final(s)) return true;
    for (const auto& arc : tau.arcs(s))
      if (arc.ilabel == 0 && !seen[arc.nextstate]) {
        seen[arc.nextstate] = 1;
        stack.push_back(arc.nextstate);
      }
  }
  return false;
}

}  // namespace

template <class W>
Automaton<W> rewrite(const Automaton<W>& tau, const Automaton<W>& left, const Automaton<W>& right,
                     const RewriteOptions& options, LabelClasses& out_classes) {
  const Classes classes(tau, left, right, options);
  const Table before = left_table(left, classes, options.most_states);
  const Table after = right_table(right, tau, classes, options.most_states);
  // where the guesses may go: (class, state before it was read backwards), by the state after
  struct Guess {
    std::int32_t on, to;
  };
  std::vector<std::vector<Guess>> guesses(after.states());
  for (std::size_t r = 0; r < after.states(); ++r)
    for (std::size_t c = 0; c < classes.copied; ++c)
      guesses[after(r, c)].push_back({static_cast<std::int32_t>(c), static_cast<std::int32_t>(r)});
  const bool inserts = reads_nothing(tau);
  // modes: outside; behind an insertion; inside of tau at s, nothing read yet: 2 + 2 s, something read: 3 + 2 s
  struct Place {
    std::int32_t l, r, mode;
  };
  std::vector<Place> places;
  SequenceTable numbers;
  const auto number = [&](std::int32_t l, std::int32_t r, std::int32_t mode) {
    const std::int32_t key[] = {l, r, mode};
    const std::uint32_t id = numbers.insert(key);
    if (id == places.size()) {
      if (id >= options.most_states)
        fail("a rewrite rule needs more than ", options.most_states, " states; make it simpler");
      places.push_back({l, r, mode});
    }
    return static_cast<std::int32_t>(id);
  };
  const auto inside = [&](std::int32_t s, bool read) { return 2 + 2 * s + (read || !inserts ? 1 : 0); };
  Assembly<W> result;
  // the first state has a free guess of what the whole string looks like from its begin
  numbers.insert(std::vector<std::int32_t>{-1, -1, -1});
  places.push_back({-1, -1, -1});
  const W one = tau.one();
  for (std::size_t id = 0; id < places.size(); ++id) {
    const auto [l, r, mode] = places[id];
    if (mode < 0) {
      result.open(tau.zero());
      for (std::size_t guess = 0; guess < after.states(); ++guess)
        result.push({0, 0, one, number(before.start, static_cast<std::int32_t>(guess), 0)});
      continue;
    }
    const auto copy = [&] {
      for (const auto& [on, to] : guesses[r]) {
        const std::int32_t label = classes.members[on][0];
        result.push({label, label, one, number(before(l, on), to, 0)});
      }
    };
    if (mode < 2) {
      const bool applies = mode == 0 && (before.answers[l] & 1) && (after.answers[r] & 2);
      const bool copies = !applies || !options.obligatory;
      result.open(copies && r == after.start ? one : tau.zero());
      if (copies) copy();
      if (applies) result.push({0, 0, one, number(l, r, inside(tau.start(), false))});
      continue;
    }
    const std::int32_t s = (mode - 2) / 2;
    const bool read = (mode - 2) % 2 != 0;
    result.open(tau.zero());
    if (tau.is_final(s) && (after.answers[r] & 1)) result.push({0, 0, tau.final(s), number(l, r, read ? 0 : 1)});
    for (const auto& arc : tau.arcs(s)) {
      const std::int32_t in = classes.of(arc.ilabel), written = classes.of(arc.olabel);
      const std::int32_t seen = options.simultaneous ? in : written;
      const std::int32_t to_l = seen < 0 ? l : before(l, seen);
      if (in < 0) {
        result.push({0, arc.olabel, arc.weight, number(to_l, r, inside(arc.nextstate, read))});
        continue;
      }
      for (const auto& guess : guesses[r])
        if (guess.on == in)
          result.push({arc.ilabel, arc.olabel, arc.weight, number(to_l, guess.to, inside(arc.nextstate, true))});
    }
  }
  out_classes.clear();
  for (const auto& members : classes.members)
    if (members.size() > 1) out_classes.push_back(members);
  return result.finish(tau, 0);
}

template <class W>
Automaton<W> expand_classes(const Automaton<W>& machine, const LabelClasses& classes) {
  base::FlatTable<const std::vector<std::int32_t>*> of;
  for (const auto& members : classes) of.add(base::key_of(members.at(0)), &members);
  Assembly<W> result;
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    result.open(machine.final(s));
    for (const auto& arc : machine.arcs(s)) {
      result.push(arc);
      const std::vector<std::int32_t>* const members = of.find(base::key_of(arc.ilabel), nullptr);
      if (members == nullptr || arc.ilabel != arc.olabel) continue;
      for (const std::int32_t label : std::span(*members).subspan(1)) {
        auto other = arc;
        other.ilabel = other.olabel = label;
        result.push(other);
      }
    }
  }
  return result.finish(machine, machine.start());
}

#define X(W)                                                                                                          \
  template Automaton<W> rewrite(const Automaton<W>&, const Automaton<W>&, const Automaton<W>&, const RewriteOptions&, \
                                LabelClasses&);                                                                       \
  template Automaton<W> expand_classes(const Automaton<W>&, const LabelClasses&);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
