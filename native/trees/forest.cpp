#include "trees/forest.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/flat_table.h"

namespace textmill::trees {
namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 29;
}

std::uint64_t pair_key(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
}

// Nodes of one sentence while they are made.
class Weaver {
 public:
  Weaver(const Plain& plain, std::size_t s, Automaton& automaton)
      : plain_(plain),
        first_(static_cast<std::size_t>(plain.node_at[s])),
        first_choice_(static_cast<std::size_t>(plain.choice_at[first_])),
        automaton_(automaton) {}

  struct Choice {
    std::int32_t left, right, parameter, origin;  // right -1 for none
  };
  struct Node {
    std::int32_t event, plain, from, to;
    std::vector<Choice> choices;
  };
  using Reached = std::vector<std::pair<std::int32_t, std::int32_t>>;  // state, node

  // compose(N, p) of the paper: states that the words below a plain node lead to, each with its node.
  const Reached& compose(std::int32_t local, std::int32_t from) {
    auto& slot = known_.add(pair_key(local, from), nullptr).first;
    if (slot) return *slot;
    slot = std::make_unique<Reached>();
    Reached& reached = *slot;
    const std::size_t node = first_ + static_cast<std::size_t>(local);
    if (plain_.word[node] >= 0) {
      std::vector<Automaton::Arc> arcs;
      automaton_.arcs(from, plain_.word[node], arcs);
      for (const auto [event, target] : arcs) {  // two arcs to one state are two leaves
        reached.emplace_back(target, static_cast<std::int32_t>(nodes.size()));
        nodes.push_back({event, local, from, target, {}});
      }
      return reached;
    }
    Made made;
    std::map<std::vector<std::int32_t>, Reached> parts;  // first nodes of choices, shared by those that begin alike
    for (auto c = static_cast<std::size_t>(plain_.choice_at[node]);
         c < static_cast<std::size_t>(plain_.choice_at[node + 1]); ++c) {
      const auto begin = static_cast<std::size_t>(plain_.below_at[c]);
      const auto below = plain_.below.subspan(begin, static_cast<std::size_t>(plain_.below_at[c + 1]) - begin);
      const std::int32_t parameter = plain_.parameter[c] + 1, origin = static_cast<std::int32_t>(c - first_choice_);
      const Reached* lefts = &compose(below[0], from);
      if (below.size() == 1) {
        for (const auto& [to, left] : *lefts) add(made, to, {left, -1, parameter, origin});
        continue;
      }
      for (std::size_t i = 1; i + 1 < below.size(); ++i) {
        auto [part, fresh] = parts.try_emplace(std::vector(below.begin(), below.begin() + i + 1));
        if (fresh) {
          Made swept;
          join(*lefts, below[i], 0, -1, swept);
          part->second = finish_nodes(swept, -2 - local, from);
        }
        lefts = &part->second;
      }
      join(*lefts, below.back(), parameter, origin, made);
    }
    reached = finish_nodes(made, local, from);
    return reached;
  }

  // The top node, last; false if nothing reaches a final state.
  bool finish(std::int32_t root) {
    const Reached reached = compose(root, automaton_.start());
    Node top{-1, -1, automaton_.start(), -1, {}};
    for (const auto& [to, node] : reached) {
      const std::int32_t event = automaton_.final_event(to);
      if (event < 0) continue;
      top.choices.push_back({node, static_cast<std::int32_t>(nodes.size()), 0, -1});
      nodes.push_back({event, -1, to, -1, {}});
    }
    const bool some = !top.choices.empty();
    nodes.push_back(std::move(top));
    return some;
  }

  std::vector<Node> nodes;

 private:
  using Made = std::vector<std::pair<std::int32_t, std::vector<Choice>>>;  // by state reached, in the order of meeting

  static void add(Made& made, std::int32_t to, const Choice& choice) {
    const auto at = std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == to; });
    if (at == made.end())
      made.emplace_back(to, std::vector<Choice>{choice});
    else
      at->second.push_back(choice);
  }

  // What is reached on the left goes on with a plain node.
  void join(const Reached& lefts, std::int32_t right_node, std::int32_t parameter, std::int32_t origin, Made& made) {
    for (const auto& [middle, left] : lefts)
      for (const auto& [to, right] : compose(right_node, middle)) add(made, to, {left, right, parameter, origin});
  }

  Reached finish_nodes(Made& made, std::int32_t plain, std::int32_t from) {
    Reached reached;
    for (auto& [to, choices] : made) {
      reached.emplace_back(to, static_cast<std::int32_t>(nodes.size()));
      nodes.push_back({-1, plain, from, to, std::move(choices)});
    }
    return reached;
  }

  const Plain& plain_;
  std::size_t first_, first_choice_;
  Automaton& automaton_;
  base::FlatTable<std::unique_ptr<Reached>> known_;
};

}  // namespace

std::int32_t Histories::state_of(std::vector<std::int32_t> words) {
  std::uint64_t hash = words.size();
  for (const std::int32_t word : words) hash = mix(hash, static_cast<std::uint32_t>(word));
  const auto fresh = static_cast<std::uint32_t>(history.size());
  const std::uint32_t state =
      states_.add(base::Mixed{}(hash), fresh, [&](std::uint32_t known) { return history[known] == words; });
  if (state == fresh) history.push_back(std::move(words));
  return static_cast<std::int32_t>(state);
}

std::int32_t Histories::event_of(std::int32_t state, std::int32_t word) {
  const auto [at, fresh] = events_.add(pair_key(state, word), static_cast<std::int32_t>(event_state.size()));
  if (fresh) {
    event_state.push_back(state);
    event_word.push_back(word);
  }
  return at;
}

void Histories::arcs(std::int32_t state, std::int32_t word, std::vector<Arc>& out) {
  std::vector<std::int32_t> words = history[state];
  words.push_back(word);
  if (words.size() >= order_) words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(order_ - 1));
  const std::int32_t event = event_of(state, word);
  out.push_back({event, state_of(std::move(words))});
}

std::int32_t Histories::final_event(std::int32_t state) { return event_of(state, -1); }

void Arcs::arcs(std::int32_t state, std::int32_t word, std::vector<Arc>& out) {
  const auto begin = label_.begin() + arc_at_[state], end = label_.begin() + arc_at_[state + 1];
  for (auto at = std::lower_bound(begin, end, word); at != end && *at == word; ++at) {
    const auto arc = static_cast<std::int32_t>(at - label_.begin());
    out.push_back({arc, target_[arc]});
  }
}

std::int32_t Arcs::final_event(std::int32_t state) {
  return final_[state] ? static_cast<std::int32_t>(label_.size()) + state : -1;
}

bool weave(const Plain& plain, std::size_t s, Automaton& automaton, Woven& woven) {
  Weaver weaver(plain, s, automaton);
  if (!weaver.finish(static_cast<std::int32_t>(plain.node_at[s + 1] - plain.node_at[s]) - 1)) return false;
  auto& nodes = weaver.nodes;
  std::vector<std::int32_t> number(nodes.size(), -1);  // of the nodes below the top; the others are dead ends
  number.back() = 0;
  for (std::size_t n = nodes.size(); n-- > 0;)
    if (number[n] >= 0)
      for (const auto& choice : nodes[n].choices) {
        number[choice.left] = 0;
        if (choice.right >= 0) number[choice.right] = 0;
      }
  std::vector<std::size_t> order;  // leaves first: sums then run over choices without asking what a node is
  for (const bool leaves : {true, false}) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (number[n] >= 0 && nodes[n].choices.empty() == leaves) order.push_back(n);
    if (leaves) woven.leaves.push_back(static_cast<std::int32_t>(order.size()));
  }
  for (std::size_t at = 0; at < order.size(); ++at) number[order[at]] = static_cast<std::int32_t>(at) + 1;
  for (const std::size_t n : order) {
    const auto first = static_cast<std::size_t>(woven.step_at.back());
    woven.entry.push_back(nodes[n].choices.empty() ? nodes[n].event
                                                   : static_cast<std::int32_t>(woven.step.size() - first));
    woven.node.push_back(nodes[n].plain);
    woven.from.push_back(nodes[n].from);
    woven.to.push_back(nodes[n].to);
    for (const auto& choice : nodes[n].choices) {
      woven.step.push_back(
          {number[n], number[choice.left], choice.right < 0 ? 0 : number[choice.right], choice.parameter});
      woven.origin.push_back(choice.origin);
    }
  }
  woven.step_at.push_back(static_cast<std::int64_t>(woven.step.size()));
  woven.node_at.push_back(static_cast<std::int64_t>(woven.entry.size()));
  return true;
}

std::size_t Twins::first_like(std::size_t s) {
  const auto node = static_cast<std::size_t>(plain_.node_at[s]), end = static_cast<std::size_t>(plain_.node_at[s + 1]);
  std::uint64_t hash = end - node;
  for (std::size_t n = node; n < end; ++n) hash = mix(hash, static_cast<std::uint32_t>(plain_.word[n]));
  for (auto c = plain_.choice_at[node]; c < plain_.choice_at[end]; ++c)
    hash = mix(hash, static_cast<std::uint32_t>(plain_.parameter[static_cast<std::size_t>(c)]));
  return seen_.add(base::Mixed{}(hash), static_cast<std::uint32_t>(s), [&](std::uint32_t t) { return same(s, t); });
}

bool Twins::same(std::size_t s, std::size_t t) const {
  // a stretch of values that are equal, or of offsets that grow alike
  const auto equal = [](auto values, std::int64_t a, std::int64_t b, std::int64_t size) {
    return std::equal(values.begin() + a, values.begin() + a + size, values.begin() + b);
  };
  const auto alike = [](auto offsets, std::int64_t a, std::int64_t b, std::int64_t size) {
    for (std::int64_t i = 0; i <= size; ++i)
      if (offsets[a + i] - offsets[a] != offsets[b + i] - offsets[b]) return false;
    return true;
  };
  const std::int64_t a = plain_.node_at[s], b = plain_.node_at[t], nodes = plain_.node_at[s + 1] - a;
  if (plain_.node_at[t + 1] - b != nodes || !equal(plain_.word, a, b, nodes)) return false;
  if (!alike(plain_.choice_at, a, b, nodes)) return false;
  const std::int64_t c = plain_.choice_at[a], d = plain_.choice_at[b], choices = plain_.choice_at[a + nodes] - c;
  if (!equal(plain_.parameter, c, d, choices) || !alike(plain_.below_at, c, d, choices)) return false;
  return equal(plain_.below, plain_.below_at[c], plain_.below_at[d], plain_.below_at[c + choices] - plain_.below_at[c]);
}

}  // namespace textmill::trees
