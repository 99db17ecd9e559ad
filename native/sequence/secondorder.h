// Value and gradient of a chain of hidden states whose scores look at three of them (order 2).
//
//   nll(theta) = sum_i w_i [log Z(x^i) - log Z(x^i, y^i)]         the second sum over the states of the labels y^i
//   alpha_t(a, b) = phi_t(b) sum_z alpha_{t-1}(z, a) psi_t(z, a, b), divided by its sum c_t;   log Z = sum_t log c_t
//   beta_{t-1}(z, a) = sum_b psi_t(z, a, b) v_t(a, b),   v_t = phi_t beta_t / c_t
//   P(h_{t-2} = z, h_{t-1} = a, h_t = b) = alpha_{t-1}(z, a) psi_t(z, a, b) v_t(a, b)
//
// Nodes are pairs of states (trellis.h). The clamped pass visits only nodes of its labels: K^3 steps a token beside H^3.
// Differences of the two sets of marginals are formed first and go into the gradient once. Scores that potentials cannot
// hold are summed in logarithms. Sequences are cut into lanes by the data: the same bytes for any number of threads.
// Memory: T H marginals, and for every lane the gradient of bigram and trigram tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/trellis.h"

namespace textmill::sequence {

class SecondOrder {
 public:
  // `input` has no weights yet; its arrays, and those that follow, must stay. labels [T], -1 for any; weights [S] or empty.
  SecondOrder(States states, TrellisInput input, std::span<const std::int32_t> labels, std::span<const double> weights);

  std::size_t size() const { return states_.size(input_.layout, input_.trigrams); }
  // Adds the gradient to `gradient` (as theta; may be empty) and returns the value.
  double evaluate(std::span<const double> theta, std::span<double> gradient, std::size_t threads);

 private:
  States states_;
  TrellisInput input_;
  std::span<const std::int32_t> labels_;
  std::span<const double> weights_;
  Contexts contexts_;               // of arcs
  Lists tokens_of_;                 // tokens of a unigram test
  std::vector<std::size_t> lanes_;  // [lanes + 1] sequences
  std::vector<double> marginals_;   // [T][H] differences, of the last evaluation
};

}  // namespace textmill::sequence
