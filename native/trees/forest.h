// Packed forests, their intersection with automata, weights, samples and best trees.
//
// A forest is an acyclic and-or graph: a node has choices, a choice has one or two nodes below it, and a weight. Leaves
// are words. The intersection with an automaton has nodes (p, N, q): the words below N lead from state p to state q.
//
//   (p, N, q) for a leaf N of word w     if there is an arc p -w-> q; its weight is that of the arc
//   (p, N, q) -> (p, L, r) (r, R, q)     for every choice N -> L R and every r; its weight is that of the choice
//   top -> (start, root, q) (q, $)       weight of the leaf (q, $): that of q as a final state
//
//   W(leaf) = weight of its event     W(choice) = weight * W(left) W(right)     W(node) = sum of W(choice)
//   P(choice | node) = W(choice) / W(node): sampling from the top draws trees by their weight
//
// The structure does not depend on weights: it is built once, and weights are looked up by number: those of choices
// (parameters of a transfer model) and those of leaves (events of the automaton). Values are mantissas with powers of
// two, so that no sentence is too long.
//
// Cost: building visits every choice of the result once; sums visit every choice once. Sentences are independent.
// References: Bar-Hillel, Perles & Shamir (1961); Jansche (2005), Treebank transfer; Huang & Chiang (2005), Better
// k-best parsing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace textmill::trees {

// Forests of sentences, one behind the other. The nodes of a sentence stand before those above them; its root is last.
struct Plain {
  std::span<const std::int64_t> node_at;    // [S + 1]
  std::span<const std::int32_t> word;       // [N] of a leaf, -1 of a node with choices
  std::span<const std::int64_t> choice_at;  // [N + 1]
  std::span<const std::int32_t> left;       // [C] node, counted from the first of its sentence
  std::span<const std::int32_t> right;      // [C] -1 for none
  std::span<const std::int32_t> parameter;  // [C] -1 for weight 1
};

// An automaton: what a word leads to from a state, with the number of the event.
class Automaton {
 public:
  struct Arc {
    std::int32_t event, target;
  };
  virtual ~Automaton() = default;
  virtual std::int32_t start() = 0;
  // Appends the arcs of a word.
  virtual void arcs(std::int32_t state, std::int32_t word, std::vector<Arc>& out) = 0;
  // The event of ending in the state, -1 if it is not final.
  virtual std::int32_t final_event(std::int32_t state) = 0;
};

// All n-gram histories of length order - 1 at most: states and events are made when they are met.
class Histories : public Automaton {
 public:
  explicit Histories(std::size_t order) : order_(order) { state_of({}); }
  std::int32_t start() override { return 0; }
  void arcs(std::int32_t state, std::int32_t word, std::vector<Arc>& out) override;
  std::int32_t final_event(std::int32_t state) override;
  // History of each state, the oldest word first, and (state, word) of each event; word -1 is the end.
  std::vector<std::vector<std::int32_t>> history;
  std::vector<std::int32_t> event_state, event_word;

 private:
  std::int32_t state_of(std::vector<std::int32_t> words);
  std::int32_t event_of(std::int32_t state, std::int32_t word);
  std::size_t order_;
  std::unordered_map<std::uint64_t, std::int32_t> events_;
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> states_;  // by hash
};

// An automaton as arrays: arcs by state, labels ascending in each; event e is arc e, ending in q is event arcs + q.
class Arcs : public Automaton {
 public:
  Arcs(std::int32_t start, std::vector<std::int64_t> arc_at, std::vector<std::int32_t> label,
       std::vector<std::int32_t> target, std::vector<std::uint8_t> final)
      : start_(start),
        arc_at_(std::move(arc_at)),
        label_(std::move(label)),
        target_(std::move(target)),
        final_(std::move(final)) {}
  std::int32_t start() override { return start_; }
  void arcs(std::int32_t state, std::int32_t word, std::vector<Arc>& out) override;
  std::int32_t final_event(std::int32_t state) override;

 private:
  std::int32_t start_;
  std::vector<std::int64_t> arc_at_;
  std::vector<std::int32_t> label_, target_;
  std::vector<std::uint8_t> final_;
};

// Intersections of sentences, one behind the other; the top of a sentence is its last node.
struct Woven {
  std::vector<std::int64_t> node_at{0};      // [S + 1]
  std::vector<std::int32_t> event;           // [N] of a leaf, -1 of a node with choices
  std::vector<std::int64_t> choice_at{0};    // [N + 1]
  std::vector<std::int32_t> left, right;     // [C] counted from the first node of the sentence; right -1 for none
  std::vector<std::int32_t> parameter;       // [C] -1 for weight 1
  std::vector<std::int32_t> origin;          // [C] choice of the plain forest, -1 above the root
  std::vector<std::int32_t> node, from, to;  // [N] plain node (-1: the top or an end) and the two states

  std::size_t sentences() const { return node_at.size() - 1; }
};

// Appends the intersection of sentence s; false, with nothing appended, if no tree of it is accepted.
bool weave(const Plain& plain, std::size_t s, Automaton& automaton, Woven& woven);

struct Scaled {
  double value;
  std::int32_t power;
};

// Weights of parameters and events, >= 0 and finite.
struct Weights {
  std::span<const double> parameter, event;
};

// Fills W [nodes of the sentence]; returns log W(top), -infinity if no tree has weight.
double inside(const Woven& woven, std::size_t s, const Weights& weights, std::vector<Scaled>& W);

// Draws a tree by its weight, after inside(). Visits its choices and its events from the top, left to right, as
// (choice, -1) and (-1, event); next() gives numbers in [0, 1).
template <class Next, class Visit>
void draw(const Woven& woven, std::size_t s, const Weights& weights, const std::vector<Scaled>& W, Next&& next,
          Visit&& visit);

// Adds the expected counts of parameters and events, after inside().
void expect(const Woven& woven, std::size_t s, const Weights& weights, const std::vector<Scaled>& W,
            std::vector<double>& posterior, std::span<double> parameters, std::span<double> events);

struct BestTree {
  double score;                       // log weight
  std::vector<std::int32_t> choices;  // of the intersection, from the top, left to right
};

// The k trees of largest weight, best first.
std::vector<BestTree> best_trees(const Woven& woven, std::size_t s, const Weights& weights, std::size_t k);

// ---- definitions of templates

namespace detail {

inline double two_to(std::int32_t power) {  // 0 below the range of doubles
  if (power < -1022) return 0.0;
  std::uint64_t bits = static_cast<std::uint64_t>(power + 1023) << 52;
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Weight of a choice, as mantissa and power.
inline Scaled product(const Woven& woven, std::size_t c, const Weights& weights, const Scaled* W) {
  const std::int32_t p = woven.parameter[c], r = woven.right[c];
  const Scaled& left = W[woven.left[c]];
  Scaled out{(p < 0 ? 1.0 : weights.parameter[p]) * left.value, left.power};
  if (r >= 0) {
    out.value *= W[r].value;
    out.power += W[r].power;
  }
  return out;
}

}  // namespace detail

template <class Next, class Visit>
void draw(const Woven& woven, std::size_t s, const Weights& weights, const std::vector<Scaled>& W, Next&& next,
          Visit&& visit) {
  const auto first = static_cast<std::size_t>(woven.node_at[s]);
  std::vector<std::int32_t> stack{static_cast<std::int32_t>(woven.node_at[s + 1] - woven.node_at[s]) - 1};
  while (!stack.empty()) {
    const std::int32_t local = stack.back();
    stack.pop_back();
    const std::size_t node = first + static_cast<std::size_t>(local);
    if (woven.event[node] >= 0) {
      visit(-1, woven.event[node]);
      continue;
    }
    const auto begin = static_cast<std::size_t>(woven.choice_at[node]);
    const auto end = static_cast<std::size_t>(woven.choice_at[node + 1]);
    std::size_t chosen = begin;
    if (end - begin > 1) {
      double left = next() * W[local].value;
      for (std::size_t c = begin; c < end; ++c) {
        const Scaled one = detail::product(woven, c, weights, W.data());
        if (one.value <= 0.0) continue;
        chosen = c;  // where rounding takes us past the end, the last that is possible
        left -= one.value * detail::two_to(one.power - W[local].power);
        if (left < 0.0) break;
      }
    }
    visit(static_cast<std::int32_t>(chosen), -1);
    if (woven.right[chosen] >= 0) stack.push_back(woven.right[chosen]);
    stack.push_back(woven.left[chosen]);
  }
}

}  // namespace textmill::trees
