// Packed forests and their intersection with automata.
//
// A forest is an acyclic and-or graph: a node has choices, a choice has nodes below it, and a weight. Leaves are words.
// The intersection with an automaton has nodes (p, N, q): the words below N lead from state p to state q.
//
//   (p, N, q) for a leaf N of word w     if there is an arc p -w-> q; its weight is that of the arc
//   (p, N, q) -> (p, L, r) (r, R, q)     for every choice N -> L R and every r; its weight is that of the choice
//   top -> (start, root, q) (q, $)       weight of the leaf (q, $): that of q as a final state
//
// A choice of more than two nodes is swept from the left: the states that its first i nodes lead to are nodes of their
// own, (p, N_1 ... N_i, r), which choices that begin alike share.
//
// The structure does not depend on weights: it is built once, and weights are looked up by number: those of choices
// (parameters of a transfer model) and those of leaves (events of the automaton). Sentences whose forests are the same,
// words and all, share one structure.
//
// Cost: building visits every choice of the result once. Sentences are independent.
// References: Bar-Hillel, Perles & Shamir (1961); Jansche (2005), Treebank transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/flat_table.h"

namespace textmill::trees {

// Forests of sentences, one behind the other. The nodes of a sentence stand before those above them; its root is last.
struct Plain {
  std::span<const std::int64_t> node_at;    // [S + 1]
  std::span<const std::int32_t> word;       // [N] of a leaf, -1 of a node with choices
  std::span<const std::int64_t> choice_at;  // [N + 1]
  std::span<const std::int64_t> below_at;   // [C + 1]
  std::span<const std::int32_t> below;      // nodes below a choice, counted from the first of its sentence
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
  base::FlatTable<std::int32_t> events_;
  base::FlatIndex states_;
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

// A choice of an intersection. Nodes are counted from 1 in their structure, 0 for none; parameters from 1, 0 for weight 1:
// sums need no branches then.
struct Step {
  std::int32_t head, left, right, parameter;
};

// Intersections, one behind the other. Leaves stand before nodes with choices, and these before those above them; the
// top is the last node of its structure.
struct Woven {
  std::vector<std::int32_t> structure;   // [S] of each sentence
  std::vector<std::int64_t> node_at{0};  // [structures + 1]
  std::vector<std::int32_t> leaves;      // [structures] how many nodes are leaves
  std::vector<std::int32_t> entry;       // [N] event of a leaf; else the first choice, counted from the structure's
  std::vector<std::int64_t> step_at{0};  // [structures + 1]
  std::vector<Step> step;                // [C] choices, those of a node together
  std::vector<std::int32_t> origin;  // [C] choice of the plain forest of the sentence; -1 above the root, in a sweep
  std::vector<std::int32_t> node, from,
      to;  // [N] plain node (-1: the top or an end; -2 - N: a part of N) and two states

  std::size_t sentences() const { return structure.size(); }
  std::size_t structures() const { return leaves.size(); }
};

// Appends the intersection of sentence s as a structure; false, with nothing appended, if no tree of it is accepted.
bool weave(const Plain& plain, std::size_t s, Automaton& automaton, Woven& woven);

// Finds sentences with the same forest.
class Twins {
 public:
  explicit Twins(const Plain& plain) : plain_(plain) {}
  // The first sentence with the same forest; s itself if there was none.
  std::size_t first_like(std::size_t s);

 private:
  bool same(std::size_t s, std::size_t t) const;
  const Plain& plain_;
  base::FlatIndex seen_;
};

}  // namespace textmill::trees
