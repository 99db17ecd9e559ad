#include "trees/forest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace textmill::trees {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

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
      : plain_(plain), first_(static_cast<std::size_t>(plain.node_at[s])), automaton_(automaton) {}

  struct Choice {
    std::int32_t left, right, parameter, origin;
  };
  struct Node {
    std::int32_t event, plain, from, to;
    std::vector<Choice> choices;
  };
  using Reached = std::vector<std::pair<std::int32_t, std::int32_t>>;  // state, node

  // compose(N, p) of the paper: states that the words below a plain node lead to, each with its node.
  const Reached& compose(std::int32_t local, std::int32_t from) {
    auto& slot = known_[pair_key(local, from)];
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
    std::vector<std::pair<std::int32_t, std::vector<Choice>>> made;  // by state reached, in the order of meeting
    const auto add = [&](std::int32_t to, const Choice& choice) {
      const auto at = std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == to; });
      if (at == made.end())
        made.emplace_back(to, std::vector<Choice>{choice});
      else
        at->second.push_back(choice);
    };
    for (auto c = static_cast<std::size_t>(plain_.choice_at[node]);
         c < static_cast<std::size_t>(plain_.choice_at[node + 1]); ++c) {
      const auto origin = static_cast<std::int32_t>(c);
      const Reached& lefts = compose(plain_.left[c], from);
      for (const auto& [middle, left] : lefts) {
        if (plain_.right[c] < 0) {
          add(middle, {left, -1, plain_.parameter[c], origin});
          continue;
        }
        for (const auto& [to, right] : compose(plain_.right[c], middle))
          add(to, {left, right, plain_.parameter[c], origin});
      }
    }
    for (auto& [to, choices] : made) {
      reached.emplace_back(to, static_cast<std::int32_t>(nodes.size()));
      nodes.push_back({-1, local, from, to, std::move(choices)});
    }
    return reached;
  }

  // The top node, last; false if nothing reaches a final state.
  bool finish(std::int32_t root) {
    const Reached reached = compose(root, automaton_.start());
    Node top{-1, -1, automaton_.start(), -1, {}};
    for (const auto& [to, node] : reached) {
      const std::int32_t event = automaton_.final_event(to);
      if (event < 0) continue;
      top.choices.push_back({node, static_cast<std::int32_t>(nodes.size()), -1, -1});
      nodes.push_back({event, -1, to, -1, {}});
    }
    const bool some = !top.choices.empty();
    nodes.push_back(std::move(top));
    return some;
  }

  std::vector<Node> nodes;

 private:
  const Plain& plain_;
  std::size_t first_;
  Automaton& automaton_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Reached>> known_;
};

}  // namespace

std::int32_t Histories::state_of(std::vector<std::int32_t> words) {
  std::uint64_t hash = words.size();
  for (const std::int32_t word : words) hash = mix(hash, static_cast<std::uint32_t>(word));
  for (const std::int32_t state : states_[hash])
    if (history[state] == words) return state;
  states_[hash].push_back(static_cast<std::int32_t>(history.size()));
  history.push_back(std::move(words));
  return static_cast<std::int32_t>(history.size()) - 1;
}

std::int32_t Histories::event_of(std::int32_t state, std::int32_t word) {
  const auto [at, fresh] = events_.try_emplace(pair_key(state, word), static_cast<std::int32_t>(event_state.size()));
  if (fresh) {
    event_state.push_back(state);
    event_word.push_back(word);
  }
  return at->second;
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
  std::int32_t count = 0;
  for (std::int32_t& n : number)
    if (n >= 0) n = count++;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (number[n] < 0) continue;
    woven.event.push_back(nodes[n].event);
    woven.node.push_back(nodes[n].plain);
    woven.from.push_back(nodes[n].from);
    woven.to.push_back(nodes[n].to);
    for (const auto& choice : nodes[n].choices) {
      woven.left.push_back(number[choice.left]);
      woven.right.push_back(choice.right < 0 ? -1 : number[choice.right]);
      woven.parameter.push_back(choice.parameter);
      woven.origin.push_back(choice.origin);
    }
    woven.choice_at.push_back(static_cast<std::int64_t>(woven.left.size()));
  }
  woven.node_at.push_back(static_cast<std::int64_t>(woven.event.size()));
  return true;
}

double inside(const Woven& woven, std::size_t s, const Weights& weights, std::vector<Scaled>& W) {
  const auto first = static_cast<std::size_t>(woven.node_at[s]), end = static_cast<std::size_t>(woven.node_at[s + 1]);
  W.resize(end - first);
  for (std::size_t node = first; node < end; ++node) {
    Scaled& own = W[node - first];
    if (woven.event[node] >= 0) {
      own = {weights.event[woven.event[node]], 0};
    } else {
      own = {0.0, 0};
      for (auto c = static_cast<std::size_t>(woven.choice_at[node]);
           c < static_cast<std::size_t>(woven.choice_at[node + 1]); ++c) {
        const Scaled one = detail::product(woven, c, weights, W.data());
        if (one.value <= 0.0) continue;
        if (own.value <= 0.0) {
          own = one;
        } else if (one.power <= own.power) {
          own.value += one.value * detail::two_to(one.power - own.power);
        } else {
          own.value = own.value * detail::two_to(own.power - one.power) + one.value;
          own.power = one.power;
        }
      }
    }
    if (own.value > 0.0 && (own.value < 0x1p-60 || own.value > 0x1p60)) {  // rarely: powers stay far from the limits
      const int shift = std::ilogb(own.value);
      own.value = std::ldexp(own.value, -shift);
      own.power += shift;
    }
  }
  const Scaled& top = W.back();
  return top.value > 0.0 ? std::log(top.value) + top.power * 0.6931471805599453 : kNone;
}

void expect(const Woven& woven, std::size_t s, const Weights& weights, const std::vector<Scaled>& W,
            std::vector<double>& posterior, std::span<double> parameters, std::span<double> events) {
  const auto first = static_cast<std::size_t>(woven.node_at[s]);
  posterior.assign(W.size(), 0.0);
  posterior.back() = 1.0;
  for (std::size_t local = W.size(); local-- > 0;) {
    const std::size_t node = first + local;
    const double share = posterior[local];
    if (share <= 0.0) continue;
    if (woven.event[node] >= 0) {
      events[woven.event[node]] += share;
      continue;
    }
    for (auto c = static_cast<std::size_t>(woven.choice_at[node]);
         c < static_cast<std::size_t>(woven.choice_at[node + 1]); ++c) {
      const Scaled one = detail::product(woven, c, weights, W.data());
      const double part = share * (one.value * detail::two_to(one.power - W[local].power) / W[local].value);
      posterior[woven.left[c]] += part;
      if (woven.right[c] >= 0) posterior[woven.right[c]] += part;
      if (woven.parameter[c] >= 0) parameters[woven.parameter[c]] += part;
    }
  }
}

namespace {

struct Derivation {
  double score;
  std::int32_t choice;
  std::int32_t left, right;  // ranks
};

bool worse(const Derivation& a, const Derivation& b) {
  if (a.score != b.score) return a.score < b.score;
  if (a.choice != b.choice) return a.choice > b.choice;
  return a.left != b.left ? a.left > b.left : a.right > b.right;
}

class KBest {
 public:
  KBest(const Woven& woven, std::size_t s, const Weights& weights)
      : woven_(woven),
        weights_(weights),
        first_(static_cast<std::size_t>(woven.node_at[s])),
        nodes_(static_cast<std::size_t>(woven.node_at[s + 1] - woven.node_at[s])) {
    // The best score of every node first, from the leaves: no recursion is deep then.
    for (std::size_t local = 0; local < nodes_.size(); ++local) {
      Node& node = nodes_[local];
      const std::size_t at = first_ + local;
      if (woven_.event[at] >= 0) continue;
      for (auto c = woven_.choice_at[at]; c < woven_.choice_at[at + 1]; ++c)
        push(node, static_cast<std::int32_t>(c), 0, 0);
      pop(node);
    }
  }

  const Derivation* find(std::int32_t local, std::int32_t rank) {
    Node& node = nodes_[local];
    while (node.best.size() <= static_cast<std::size_t>(rank)) {
      if (node.best.empty()) return nullptr;
      const Derivation last = node.best.back();
      if (!node.expanded) {
        node.expanded = true;
        push(node, last.choice, last.left + 1, last.right);
        if (woven_.right[last.choice] >= 0 && last.left == 0) push(node, last.choice, 0, last.right + 1);
      }
      if (!pop(node)) return nullptr;
    }
    return &node.best[rank];
  }

  void write(std::int32_t root, std::int32_t root_rank, std::vector<std::int32_t>& out) {
    std::vector<std::pair<std::int32_t, std::int32_t>> stack{{root, root_rank}};
    while (!stack.empty()) {
      const auto [local, rank] = stack.back();
      stack.pop_back();
      if (woven_.event[first_ + local] >= 0) continue;
      const Derivation d = *find(local, rank);
      out.push_back(d.choice);
      if (woven_.right[d.choice] >= 0) stack.emplace_back(woven_.right[d.choice], d.right);
      stack.emplace_back(woven_.left[d.choice], d.left);
    }
  }

  std::int32_t top() const { return static_cast<std::int32_t>(nodes_.size()) - 1; }

 private:
  struct Node {
    std::vector<Derivation> best, waiting;
    bool expanded = false;
  };

  // Score of a node's derivation, -infinity if there is none of this rank.
  double score(std::int32_t local, std::int32_t rank) {
    const std::int32_t event = woven_.event[first_ + local];
    if (event >= 0) return rank == 0 ? std::log(weights_.event[event]) : kNone;
    const Derivation* d = find(local, rank);
    return d == nullptr ? kNone : d->score;
  }

  void push(Node& node, std::int32_t choice, std::int32_t left, std::int32_t right) {
    const std::int32_t p = woven_.parameter[choice], r = woven_.right[choice];
    double total = (p < 0 ? 0.0 : std::log(weights_.parameter[p])) + score(woven_.left[choice], left);
    if (r >= 0) total += score(r, right);
    if (!(total > kNone)) return;
    node.waiting.push_back({total, choice, left, right});
    std::push_heap(node.waiting.begin(), node.waiting.end(), worse);
  }

  bool pop(Node& node) {
    if (node.waiting.empty()) return false;
    std::pop_heap(node.waiting.begin(), node.waiting.end(), worse);
    node.best.push_back(node.waiting.back());
    node.waiting.pop_back();
    node.expanded = false;
    return true;
  }

  const Woven& woven_;
  const Weights& weights_;
  std::size_t first_;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<BestTree> best_trees(const Woven& woven, std::size_t s, const Weights& weights, std::size_t k) {
  KBest best(woven, s, weights);
  std::vector<BestTree> trees;
  for (std::size_t rank = 0; rank < k; ++rank) {
    const Derivation* found = best.find(best.top(), static_cast<std::int32_t>(rank));
    if (found == nullptr) break;
    trees.push_back({found->score, {}});
    best.write(best.top(), static_cast<std::int32_t>(rank), trees.back().choices);
  }
  return trees;
}

}  // namespace textmill::trees
