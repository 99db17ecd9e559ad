// Feature forests: and/or graphs whose structures are too many to list.
//
//   inside    phi_c = exp(score_c) prod_{d in daughters(c)} phi_d        phi_d = sum_{c in alternatives(d)} phi_c
//   outside   psi_root = 1;   psi_c = sum_{d with alternative c} psi_d
//             psi_d = sum_{c with daughter d} psi_c exp(score_c) prod of the other daughters' phi
//   Z = phi_root,   P(c) = phi_c psi_c / Z,   best: the same with max for sum
//
// A disjunctive node d picks one of its alternatives, a conjunctive node c has all of its daughters. A conjunctive node may
// be an alternative of several disjunctive nodes, and a daughter may be named twice. Everything is in logarithms, in
// topological order and without recursion. Cost: nodes and edges. Reference: Miyao & Tsujii (2002).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::sequence {

struct Forest {                                // a view
  std::span<const std::int64_t> alternatives;  // [D + 1] of disjunctive nodes
  std::span<const std::int32_t> conjunctive;   // [alternatives[D]] in 0 .. C - 1
  std::span<const std::int64_t> daughters;     // [C + 1] of conjunctive nodes
  std::span<const std::int32_t> disjunctive;   // [daughters[C]] in 0 .. D - 1
  std::size_t root;                            // a disjunctive node

  std::size_t ors() const { return alternatives.size() - 1; }
  std::size_t ands() const { return daughters.size() - 1; }
};

// Disjunctive nodes that the root reaches, daughters before those above them; empty if there is a cycle.
std::vector<std::int32_t> topological(const Forest& forest);

// Fills the log inside [D] and the log-probabilities of conjunctive nodes [C] and of disjunctive nodes [D], -infinity for
// what no structure reaches. Returns log Z.
double inside_outside(const Forest& forest, std::span<const std::int32_t> order, std::span<const double> scores,
                      std::span<double> inside, std::span<double> ands, std::span<double> ors);

struct Structure {
  double score;
  std::vector<std::int32_t> nodes;  // conjunctive nodes, from the root down, as often as they are used
};

// The k best structures, best first.
std::vector<Structure> best_structures(const Forest& forest, std::span<const std::int32_t> order,
                                       std::span<const double> scores, std::size_t k);

}  // namespace textmill::sequence
