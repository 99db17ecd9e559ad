// The best label path of a chain of hidden states, with a certificate; the n best; hidden paths one by one.
//
//   P(y | x) = sum over the hidden paths h with labels y of P(h | x)
//
// The best labeling is no Viterbi path: many weak paths may share its labels. Finding it is NP-hard in general; three
// searches find it exactly, and prove it, on the models that are met (trellis.h has the shape of order 1 and 2):
//
//   label          A* over label prefixes. A prefix carries its forward vector alpha over the nodes of its last label and
//                  has the priority F = sum_a alpha(a) U_t(a), with the backward bound
//                      U_{T-1}(a) = 1,   U_t(a) = max_y sum_{c in H_y} psi_{t+1}(a, c) phi_{t+1}(c) U_{t+1}(base(a) + c)
//                  F is at least the mass of every completion, since each node may choose its own next label; so complete
//                  prefixes leave the queue in the order of their probability. With one state a label it is Viterbi.
//   hidden         A* over hidden paths, best first, with the backward Viterbi score as heuristic; P_n(y) sums those met.
//                  Stops when P_n(y1) >= P_n(y2) + R_n, R_n the mass that has not been met.
//   hidden-exact   the same paths, but each labeling gets its exact probability when it is met first.
//                  Stops when max P(y) >= 1 - sum of P(y) over the labelings met.
//
// At a limit the best answer so far is completed and returned with an upper bound: the first priority of the queue, or
// P_n(y2) + R_n. Cost: one backward pass, O(T nodes H), then O(K H) an expansion of a label, O(log) a hidden path's step.
// References: Sun, Morency, Okanohara & Tsujii (2008); Sun & Tsujii (2009); Hart, Nilsson & Raphael (1968).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sequence/trellis.h"

namespace textmill::sequence {

enum class Search { label, hidden, hidden_exact };

struct SearchLimits {          // 0: none
  std::size_t expansions = 0;  // prefixes taken from the queue
  std::size_t paths = 0;       // hidden paths
  double seconds = 0.0;
};

struct LabelPath {
  std::vector<std::int32_t> labels;  // [T]
  double log_probability;            // exact, or of the hidden paths met so far
};

struct LabelPaths {
  std::vector<LabelPath> best;  // best first; fewer than asked for when there are no more
  std::size_t proved = 0;       // so many of them are the best ones in their order, beyond doubt
  double log_z = 0.0;
  double upper = 0.0;       // log of a bound on the probability of the best labeling
  double bound = 0.0;       // log of a bound on the probability of every labeling that is not listed
  double unexplored = 1.0;  // mass of the labelings that are not listed, or of the hidden paths that were not met
  LabelPath runner_up;      // of searches over hidden paths: the second labeling so far
  std::size_t expansions = 0, pushes = 0, paths = 0;
};

// The n best label paths of a sequence; searches over hidden paths have n = 1. Without `masses` the search over labels
// does not sum over all paths: log Z counts as 0, and what is called a probability is a mass.
LabelPaths best_label_paths(const Trellis& trellis, std::size_t n, Search search, const SearchLimits& limits,
                            bool masses = true);

// log of the mass of all hidden paths with these labels (-1: any).
double label_mass(const Trellis& trellis, std::span<const std::int32_t> labels);

// Hidden paths of one sequence, best first, one a call.
class HiddenPaths {
 public:
  explicit HiddenPaths(const Trellis& trellis);
  // Fills the states [T] and the score of the next path; false when there are no more.
  bool next(std::span<std::int32_t> states, double& score);
  std::size_t expansions() const { return expansions_; }
  std::size_t pushes() const { return pushes_; }

 private:
  struct Step {           // the end of a prefix
    double score;         // of the prefix, its last position included
    std::int32_t parent;  // step before, -1 for the first
    std::int32_t node;    // of the trellis
    std::int32_t rank;    // among the successors of the parent, best first
    std::int32_t position;
  };
  struct Waiting {
    double priority;
    std::int32_t step;
  };
  static bool worse(const Waiting& a, const Waiting& b);
  const std::vector<std::int32_t>& successors(std::size_t position, std::size_t node);
  void push(std::int32_t parent, std::size_t rank);

  Trellis trellis_;
  std::vector<double> best_;                       // [T][nodes] score of the best completion behind a position
  std::vector<std::vector<std::int32_t>> sorted_;  // [T * nodes + 1] successors of a node, best first; empty: not yet
  std::vector<Step> steps_;
  std::vector<Waiting> queue_;
  std::size_t expansions_ = 0, pushes_ = 0;
};

}  // namespace textmill::sequence
