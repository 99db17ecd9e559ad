// Best balanced paths of a push-down transducer, and its expansion along them.
#include <algorithm>

#include "base/flat_table.h"
#include "fst/pushdown_stacks.h"

namespace textmill::fst {
namespace {

// Items by weight, the best first, then by number; an item that was improved is put in again.
template <class W>
class Line {
 public:
  Line(const Ring<W>& k, bool sorted) : k_(k), sorted_(sorted) {}
  bool empty() const { return at_ == items_.size(); }
  void push(const W& weight, std::uint32_t item) {
    items_.push_back({weight, item});
    if (sorted_) std::push_heap(items_.begin(), items_.end(), [this](auto& a, auto& b) { return after(a, b); });
  }
  std::pair<W, std::uint32_t> pop() {
    if (!sorted_) return items_[at_++];
    std::pop_heap(items_.begin(), items_.end(), [this](auto& a, auto& b) { return after(a, b); });
    const auto best = items_.back();
    items_.pop_back();
    return best;
  }
  std::size_t popped() const { return at_; }
  std::size_t pushed() const { return items_.size(); }

 private:
  using Entry = std::pair<W, std::uint32_t>;
  bool after(const Entry& a, const Entry& b) const {
    return k_.less(b.first, a.first) || (a.second > b.second && !k_.less(a.first, b.first));
  }
  const Ring<W>& k_;
  bool sorted_;
  std::vector<Entry> items_;
  std::size_t at_ = 0;  // without order: how many were taken
};

constexpr std::uint32_t kNoItem = SequenceTable::kNone;

template <class W>
class Balanced {
 public:
  struct Back {  // how an item is reached: not at all, by an arc, or by two parentheses around another item
    std::uint32_t before = kNoItem, inner = kNoItem, arc = 0, close = 0;
  };
  struct Exit {
    std::uint32_t item, arc;
  };
  struct Site {  // of a state that a parenthesis leads to, and that pair
    std::vector<Exit> callers, exits;
  };

  Balanced(const Ring<W>& k, const Automaton<W>& a, const Parentheses& parentheses)
      : k_(k), a_(a), parentheses_(parentheses) {
    if (!k.path()) fail("best paths need a semiring in which the sum of two weights is the better one, not ", k.name());
    if (parentheses.stacks() > 1) fail("best paths are found for one stack; expand the machine first");
    if (a.start() == kNoState) return;
    run();
  }

  std::int32_t state_of(std::uint32_t item) const { return items_[item][1]; }
  // [N] is the state on a path from the start whose closed parentheses match?
  std::vector<std::uint8_t> reached() const {
    std::vector<std::uint8_t> reached(a_.states(), 0);
    for (std::uint32_t i = 0; i < items_.size(); ++i) reached[state_of(i)] = 1;
    return reached;
  }
  // The last item of the best path, and its weight; kNoItem if there is no path.
  std::pair<std::uint32_t, W> best() const {
    std::uint32_t found = kNoItem;
    W least = k_.zero();
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (items_[i][0] != a_.start()) continue;
      const W total = k_.times(weight_[i], a_.final(items_[i][1]));
      if (!k_.equal(total, k_.zero()) && (found == kNoItem || k_.less(total, least))) {
        found = i;
        least = total;
      }
    }
    return {found, least};
  }
  // The arcs of the best path to an item: state and position.
  std::vector<std::pair<std::int32_t, std::uint32_t>> path(std::uint32_t item) const {
    struct Task {
      bool is_arc;
      std::uint32_t item, arc;  // an item to be spelled out, or an arc of its state
    };
    std::vector<Task> tasks{{false, item, 0}};
    std::vector<std::pair<std::int32_t, std::uint32_t>> arcs;
    while (!tasks.empty()) {
      const Task task = tasks.back();
      tasks.pop_back();
      if (task.is_arc) {
        if (arcs.size() >= (std::size_t{1} << 26))
          fail("the best path has more than 67,108,864 arcs: calls double it again and again");
        arcs.emplace_back(state_of(task.item), task.arc);
        continue;
      }
      const Back& back = back_[task.item];
      if (back.before == kNoItem) continue;
      tasks.push_back({false, back.before, 0});
      tasks.push_back({true, back.before, back.arc});
      if (back.inner != kNoItem) {
        tasks.push_back({false, back.inner, 0});
        tasks.push_back({true, back.inner, back.close});
      }
    }
    std::ranges::reverse(arcs);
    return arcs;
  }
  // f(weight, state behind): balanced paths that begin with an opening arc, one for each way to close it
  template <class F>
  void jumps(const Arc<W>& open, std::int32_t pair, F f) const {
    const Site* const site = sites_.find(base::joined_key(open.nextstate, pair));
    if (site == nullptr) return;
    for (const Exit& exit : site->exits) {
      const Arc<W>& close = a_.arcs(state_of(exit.item))[exit.arc];
      f(k_.times(k_.times(open.weight, weight_[exit.item]), close.weight), close.nextstate);
    }
  }

 private:
  void run() {
    bool better = false;  // than one: then items are settled in rounds
    for (std::int32_t s = 0; s < a_.states() && !better; ++s)
      for (const auto& arc : a_.arcs(s)) better = better || k_.less(arc.weight, k_.one());
    Line<W> line(k_, !better);
    const auto relax = [&](std::int32_t entry, std::int32_t state, const W& weight, const Back& back) {
      if (k_.equal(weight, k_.zero())) return;
      const std::int32_t pair[] = {entry, state};
      const std::uint32_t item = items_.insert(pair);
      if (item == weight_.size()) {
        weight_.push_back(weight);
        back_.push_back(back);
        waiting_.push_back(1);
        known_.push_back(0);
      } else if (k_.less(weight, weight_[item])) {
        weight_[item] = weight;
        back_[item] = back;
        if (better && waiting_[item]) return;
        waiting_[item] = 1;
      } else {
        return;
      }
      line.push(weight, item);
    };
    relax(a_.start(), a_.start(), k_.one(), {});
    std::size_t rounds = 0, round_ends = 1;
    while (!line.empty()) {
      if (better && line.popped() == round_ends) {
        // a best derivation without a cycle is no deeper than there are items
        if (++rounds > items_.size() + 1)
          fail("the machine has a balanced cycle whose weight is better than one, so no path is the best");
        round_ends = line.pushed();
      }
      const auto [weight, x] = line.pop();
      if (!waiting_[x] || (!better && k_.less(weight_[x], weight))) continue;
      waiting_[x] = 0;
      const bool first = !known_[x];
      known_[x] = 1;
      const std::int32_t entry = items_[x][0], s = items_[x][1];
      const auto arcs = a_.arcs(s);
      for (std::uint32_t i = 0; i < arcs.size(); ++i) {
        const Arc<W>& arc = arcs[i];
        const auto kind = parentheses_.kind(arc.ilabel);
        if (kind.pair < 0) {
          relax(entry, arc.nextstate, k_.times(weight_[x], arc.weight), {x, kNoItem, i, 0});
          continue;
        }
        Site& site = sites_.add(base::joined_key(kind.opens ? arc.nextstate : entry, kind.pair), {}).first;
        if (first) (kind.opens ? site.callers : site.exits).push_back({x, i});
        if (kind.opens) {
          relax(arc.nextstate, arc.nextstate, k_.one(), {});
          for (std::size_t j = 0; j < site.exits.size(); ++j) close(relax, {x, i}, site.exits[j]);
        } else {
          for (std::size_t j = 0; j < site.callers.size(); ++j) close(relax, site.callers[j], {x, i});
        }
      }
    }
  }
  template <class F>
  void close(F& relax, Exit caller, Exit exit) {
    const Arc<W>& open = a_.arcs(state_of(caller.item))[caller.arc];
    const Arc<W>& shut = a_.arcs(state_of(exit.item))[exit.arc];
    const W inside = k_.times(k_.times(open.weight, weight_[exit.item]), shut.weight);
    relax(items_[caller.item][0], shut.nextstate, k_.times(weight_[caller.item], inside),
          {caller.item, exit.item, caller.arc, exit.arc});
  }

  const Ring<W>& k_;
  const Automaton<W>& a_;
  const Parentheses& parentheses_;
  SequenceTable items_;  // (entry, state)
  std::vector<W> weight_;
  std::vector<Back> back_;
  std::vector<std::uint8_t> waiting_, known_;
  base::FlatTable<Site> sites_;
};

// The weight of the best rest of a path from (state, what is open), computed for one stack at a time when it is asked for.
template <class W>
class Rest {
 public:
  Rest(const Ring<W>& k, const Automaton<W>& a, const Parentheses& parentheses, const Balanced<W>& balanced)
      : k_(k), a_(a), parentheses_(parentheses), into_(a.states()) {
    const auto add = [&](const W& weight, std::int32_t from, std::int32_t to) {
      into_[to].emplace_back(weight, from);
      better_ = better_ || k.less(weight, k.one());
    };
    // what cannot be reached may go round in cycles that nobody has looked at
    const std::vector<std::uint8_t> reached = balanced.reached();
    for (std::int32_t s = 0; s < a.states(); ++s)
      for (const auto& arc : a.arcs(s)) {
        const auto kind = parentheses.kind(arc.ilabel);
        if (!reached[s]) break;
        if (kind.pair < 0)
          add(arc.weight, s, arc.nextstate);
        else if (kind.opens)
          balanced.jumps(arc, kind.pair, [&](const W& weight, std::int32_t to) { add(weight, s, to); });
      }
  }
  // [N] for the stack `open`, whose last parenthesis is `pair` on top of `below`.
  const std::vector<W>& of(std::int32_t open, std::int32_t pair, std::int32_t below) {
    if (rests_.size() <= static_cast<std::size_t>(open)) rests_.resize(static_cast<std::size_t>(open) + 1);
    if (!rests_[open].empty() || a_.states() == 0) return rests_[open];
    std::vector<W> rest(a_.states(), k_.zero());
    Line<W> line(k_, !better_);
    const auto relax = [&](std::int32_t s, const W& weight) {
      if (k_.equal(weight, k_.zero()) || !k_.less(weight, rest[s])) return;
      rest[s] = weight;
      line.push(weight, static_cast<std::uint32_t>(s));
    };
    for (std::int32_t s = 0; s < a_.states(); ++s) {
      if (open == 0) relax(s, a_.final(s));
      for (const auto& arc : a_.arcs(s)) {
        const auto kind = parentheses_.kind(arc.ilabel);
        if (open != 0 && !kind.opens && kind.pair == pair) relax(s, k_.times(arc.weight, rests_[below][arc.nextstate]));
      }
    }
    while (!line.empty()) {
      const auto [weight, s] = line.pop();
      if (k_.less(rest[s], weight)) continue;
      for (const auto& [before, from] : into_[s]) relax(from, k_.times(before, rest[s]));
    }
    rests_[open] = std::move(rest);
    return rests_[open];
  }

 private:
  const Ring<W>& k_;
  const Automaton<W>& a_;
  const Parentheses& parentheses_;
  std::vector<std::vector<std::pair<W, std::int32_t>>> into_;  // arcs and balanced jumps, by where they lead
  std::vector<std::vector<W>> rests_;                          // [stacks]
  bool better_ = false;                                        // is a weight better than one?
};

// The expansion as far as it is asked for, each state with the weight of the best rest.
template <class W>
class Search {
 public:
  Search(const Ring<W>& k, const Automaton<W>& a, const Parentheses& parentheses, bool keep, std::size_t most)
      : k_(k),
        a_(a),
        parentheses_(parentheses),
        keep_(keep),
        most_(most),
        balanced_(k, a, parentheses),
        rest_(k, a, parentheses, balanced_),
        stacks_(parentheses) {}

  const Balanced<W>& balanced() const { return balanced_; }
  std::int32_t start() { return number(a_.start(), 0, -1, -1); }
  std::int32_t state(std::int32_t q) const { return states_[q][0]; }
  bool closed(std::int32_t q) const { return states_[q][1] == 0; }
  const W& rest(std::int32_t q) const { return best_[q]; }
  // f(arc, number of the next state) for the arcs of a state from which a path goes on to the end
  template <class F>
  void steps(std::int32_t q, F f) {
    const std::int32_t s = states_[q][0], open = states_[q][1];
    for (auto arc : a_.arcs(s)) {
      const auto kind = parentheses_.kind(arc.ilabel);
      std::int32_t next = open, pair = -1, below = -1;
      if (kind.pair >= 0) {
        next = stacks_.next(open, kind, kNoLimit);
        if (next == Stacks::kNone) continue;
        if (kind.opens) {
          pair = kind.pair;
          below = open;
        }
        if (!keep_) arc.ilabel = arc.olabel = 0;
      }
      const std::int32_t n = number(arc.nextstate, next, pair, below);
      if (!k_.equal(best_[n], k_.zero())) f(arc, n);
    }
  }

 private:
  std::int32_t number(std::int32_t s, std::int32_t open, std::int32_t pair, std::int32_t below) {
    const std::int32_t key[] = {s, open};
    const std::uint32_t id = states_.insert(key);
    if (id == best_.size()) {
      if (id >= most_)
        fail("the expansion has more than ", most_,
             " states; raise max_states, lower the weight, or search it without writing it out");
      best_.push_back(rest_.of(open, pair, below)[s]);
    }
    return static_cast<std::int32_t>(id);
  }
  const Ring<W>& k_;
  const Automaton<W>& a_;
  const Parentheses& parentheses_;
  bool keep_;
  std::size_t most_;
  Balanced<W> balanced_;
  Rest<W> rest_;
  Stacks stacks_;
  SequenceTable states_;  // (state, what is open)
  std::vector<W> best_;
};

}  // namespace

template <class W>
Automaton<W> expand_pruned(const Ring<W>& k, const Automaton<W>& pushdown, const Parentheses& parentheses,
                           const W& worst, bool keep, std::size_t most_states) {
  Search<W> search(k, pushdown, parentheses, keep, most_states);
  const auto [last, best] = search.balanced().best();
  if (last == kNoItem) return Automaton<W>(k.zero(), k.one());
  const W limit = k.times(best, worst);
  const auto within = [&](const W& w) { return !k.equal(w, k.zero()) && !k.less(limit, w); };
  if (!within(best)) return Automaton<W>(k.zero(), k.one());
  std::vector<W> reached;
  std::vector<std::int32_t> numbers, order;
  std::vector<std::uint8_t> settled;
  Line<W> line(k, true);
  const auto reach = [&](std::int32_t q, const W& weight) {
    if (reached.size() <= static_cast<std::size_t>(q)) {
      reached.resize(static_cast<std::size_t>(q) + 1, k.zero());
      settled.resize(static_cast<std::size_t>(q) + 1, 0);
      numbers.resize(static_cast<std::size_t>(q) + 1, kNoState);
    }
    if (settled[q] || !k.less(weight, reached[q])) return;
    reached[q] = weight;
    line.push(k.times(weight, search.rest(q)), static_cast<std::uint32_t>(q));
  };
  reach(search.start(), k.one());
  // with the exact rest as potential every arc costs nothing or more: each state is settled once
  Assembly<W> out;
  while (!line.empty()) {
    const auto q = static_cast<std::int32_t>(line.pop().second);
    if (settled[q]) continue;
    settled[q] = 1;
    const W weight = reached[q], final = search.closed(q) ? pushdown.final(search.state(q)) : k.zero();
    numbers[q] = out.open(within(k.times(weight, final)) ? final : k.zero());
    search.steps(q, [&](Arc<W> arc, std::int32_t next) {
      const W to = k.times(weight, arc.weight);
      if (!within(k.times(to, search.rest(next)))) return;
      arc.nextstate = next;
      out.push(arc);
      reach(next, to);
    });
  }
  out.redirect([&](std::int32_t next) { return numbers[next]; });
  return out.finish(k.zero(), k.one(), 0);
}

template <class W>
Automaton<W> best_balanced(const Ring<W>& k, const Automaton<W>& pushdown, const Parentheses& parentheses,
                           std::size_t n, bool keep, std::size_t most_states) {
  Automaton<W> out(k.zero(), k.one());
  if (n == 1) {
    const Balanced<W> balanced(k, pushdown, parentheses);
    const auto [last, best] = balanced.best();
    if (last == kNoItem) return out;
    const auto arcs = balanced.path(last);
    out.reserve(arcs.size() + 1, arcs.size());
    out.set_start(out.add_state());
    for (const auto& [s, i] : arcs) {
      auto arc = pushdown.arcs(s)[i];
      if (!keep && parentheses.kind(arc.ilabel).pair >= 0) arc.ilabel = arc.olabel = 0;
      const std::int32_t from = out.states() - 1;
      arc.nextstate = out.add_state();
      out.add_arc(from, arc);
    }
    out.set_final(out.states() - 1, pushdown.final(balanced.state_of(last)));
    return out;
  }
  Search<W> search(k, pushdown, parentheses, keep, most_states);
  if (pushdown.start() == kNoState || search.balanced().best().first == kNoItem) return out;
  struct Entry {  // a path: its last step, and the one before
    W weight;
    std::int32_t q;
    std::uint32_t before;
    Arc<W> arc;
    bool ends;
  };
  std::vector<Entry> entries;
  Line<W> line(k, true);
  const auto add = [&](const Entry& entry, const W& total) {
    if (entries.size() >= kNoItem) fail("the search for the best paths has more than 4,294,967,294 steps");
    entries.push_back(entry);
    line.push(total, static_cast<std::uint32_t>(entries.size() - 1));
  };
  const std::int32_t start = search.start();
  if (k.equal(search.rest(start), k.zero())) return out;
  add({k.one(), start, kNoItem, {}, false}, search.rest(start));
  std::vector<std::size_t> times;
  std::vector<std::uint32_t> found;
  while (!line.empty() && found.size() < n) {
    const std::uint32_t at = line.pop().second;
    const Entry entry = entries[at];
    if (entry.ends) {
      found.push_back(at);
      continue;
    }
    if (times.size() <= static_cast<std::size_t>(entry.q)) times.resize(static_cast<std::size_t>(entry.q) + 1, 0);
    if (times[entry.q]++ >= n) continue;
    if (search.closed(entry.q)) {
      const W total = k.times(entry.weight, pushdown.final(search.state(entry.q)));
      if (!k.equal(total, k.zero())) add({total, entry.q, at, {}, true}, total);
    }
    search.steps(entry.q, [&](const Arc<W>& arc, std::int32_t next) {
      const W to = k.times(entry.weight, arc.weight);
      add({to, next, at, arc, false}, k.times(to, search.rest(next)));
    });
  }
  out.set_start(out.add_state());
  for (const std::uint32_t end : found) {
    std::vector<Arc<W>> arcs;
    for (std::uint32_t at = entries[end].before; entries[at].before != kNoItem; at = entries[at].before)
      arcs.push_back(entries[at].arc);
    std::int32_t from = out.start();
    for (std::size_t i = arcs.size(); i-- > 0;) {
      Arc<W> arc = arcs[i];
      arc.nextstate = out.add_state();
      out.add_arc(from, arc);
      from = arc.nextstate;
    }
    const W final = pushdown.final(search.state(entries[end].q));
    if (arcs.empty() && found.size() > 1) {  // the empty path, beside others
      const std::int32_t last = out.add_state(final);
      out.add_arc(from, {0, 0, k.one(), last});
    } else {
      out.set_final(from, final);
    }
  }
  return out;
}

#define X(W)                                                                                                      \
  template Automaton<W> expand_pruned(const Ring<W>&, const Automaton<W>&, const Parentheses&, const W&, bool,    \
                                      std::size_t);                                                               \
  template Automaton<W> best_balanced(const Ring<W>&, const Automaton<W>&, const Parentheses&, std::size_t, bool, \
                                      std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
