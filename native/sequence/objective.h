// Value and gradient of a linear-chain CRF, each distinct thing computed once.
//
//   nll(theta) = sum_i w_i [log Z(x^i) - sum_k theta_k F_k(x^i, y^i)]
//   with hidden states:  sum_i w_i [log Z(x^i) - log Z(x^i, y^i)], the second sum over the states of the labels y^i
//   psi_t(y', y) = exp mu_t(y) exp lambda_t(y', y),  mu_t, lambda_t the sums of the weights of the tests true at t
//   alpha_t(y) = exp mu_t(y) sum_y' alpha_{t-1}(y') exp lambda_t(y', y), divided by its sum c_t;  log Z = sum_t log c_t
//   beta_t(y') = sum_y exp lambda_{t+1}(y', y) v_{t+1}(y),  v_t(y) = exp mu_t(y) beta_t(y),  divided by its sum
//   dnll/dlambda_b = sum over contexts c with b of  exp lambda_c .* (A_c' V_c)  -  what was observed
//
// A_c, V_c hold the rows alpha_{t-1} and v_t / (c_t n_t), n_t = alpha_t . beta_t, of the positions with context c: one
// matrix product a context instead of Y^2 additions a position and test. Vectors alpha and beta are computed once per
// distinct beginning and end of a sequence (contexts.h), by products of batches of vectors with one matrix. Models whose
// pairs of labels score alike everywhere, on tokens that are seldom alike or with few labels, go another way (lanes.h).
//
// Weights are dense, or a chosen set of features (`Support`), as L1 training has them. Then only groups of contexts (by
// their frequent tests) have a dense matrix B = exp lambda, small enough for the cache, and a context is B with a few
// corrected cells: alpha' psi = alpha' B + alpha' (B .* (exp(lambda') - 1)). A context whose corrections are many, or
// so strong that the difference would cancel digits, gets a dense matrix of its own.
//
// An evaluation is  plan (plan.h) -> potentials -> messages -> expectations -> gradient,  each a struct with its own file.
// Scaling is exact as long as the scores of no token differ by more than kRange; beyond, sequences are computed in
// logarithms (logarithms.h), slowly. Without bigram tests every token is on its own (maximum entropy).
// Results have the same bytes for any number of threads.
// References: Lavergne, Cappe & Yvon (2010); Lafferty, McCallum & Pereira (2001).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sequence/gradient.h"
#include "sequence/lanes.h"
#include "sequence/messages.h"
#include "sequence/plan.h"
#include "sequence/potentials.h"

namespace textmill::sequence {

struct Violation {
  std::int64_t feature;
  double gradient;
};

class Problem {
 public:
  Problem(const Layout& layout, const Sequences& data);
  Problem(const Problem&) = delete;  // lanes look into the plan
  Problem& operator=(const Problem&) = delete;

  const Layout& layout() const { return plan_.layout; }
  std::size_t sequences() const { return plan_.sequences(); }
  std::size_t tokens() const { return plan_.tokens(); }
  // How much repeats: unigram contexts, bigram contexts, groups, beginnings, ends.
  std::vector<std::size_t> sizes();
  // Share of zero corrections in the matrices of the contexts, when they are taken apart as B .* (1 + M).
  double zero_rate(const Weights& weights);

  // Adds the gradient to `gradient` (as theta; may be empty) and returns the value.
  double evaluate(const Weights& weights, std::span<double> gradient, std::size_t threads);

  // Features outside the support whose gradient is larger than `threshold`, in order; also sets the value and adds the
  // gradient of the support to `gradient`, as evaluate does.
  std::vector<Violation> violations(const Weights& weights, double threshold, double& value, std::span<double> gradient,
                                    std::size_t threads);

  // Fills the marginals [T][Y] and log Z [S].
  void marginals(const Weights& weights, std::span<double> probabilities, std::span<double> log_z, std::size_t threads);

 private:
  const Sharing& sharing();  // made when it is asked for first
  // Fills potentials, messages and, with `expect`, expectations; false: scores are too wide for scaling.
  bool propagate(const Weights& weights, bool expect, std::size_t threads);
  double log_z(std::size_t s) const;
  PairTerms pair_terms() const { return {plan_, *sharing_, potentials_, messages_, expectations_}; }
  // The value without the observed score, and expectations, by lanes; false: too wide.
  bool by_lanes(const Weights& weights, double& value, double* gradient, std::size_t threads);
  std::vector<Violation> dense_violations(const Weights& weights, double threshold, double& value,
                                          std::span<double> gradient, std::size_t threads);

  Plan plan_;
  Observed observed_;
  std::unique_ptr<Problem> clamped_;  // the second sum, counted with weight -1, where lanes do not make both at once
  std::optional<Lanes> lanes_;  // pairs of labels score alike everywhere, and tokens are seldom alike or labels few
  std::optional<Sharing> sharing_;
  Potentials potentials_;  // of the last evaluation, as what follows
  Messages messages_;
  Expectations expectations_;
};

}  // namespace textmill::sequence
