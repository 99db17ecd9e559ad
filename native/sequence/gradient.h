// Expectations of features, and the gradient that they add up to.
//
//   expected_c = sum over the tokens t of context c of w_t alpha_t .* beta_t / n_t,   n_t = alpha_t . beta_t
//   pairs of b = sum over the contexts c with b of psi_c .* (A_c' V_c)
//
// A_c, V_c hold the rows alpha_{t-1} and w_t v_t / (c_t n_t) of the positions with context c: one matrix product a context
// instead of Y^2 additions a position and test. Tasks are stretches of positions, whose sums are added in order.
#pragma once

#include <cstddef>
#include <vector>

#include "base/parallel.h"
#include "sequence/messages.h"
#include "sequence/plan.h"
#include "sequence/potentials.h"

namespace textmill::sequence {

struct Expectations {
  std::vector<double> expected;  // [unigram contexts][stride]
  std::vector<double> inverse;   // [T] w / n_t; not without bigram tests
  std::vector<double> log_mass;  // [unigram contexts] log of the sum of a token; only without bigram tests
};

// Marginals of all tokens, added up per unigram context; of models with and without bigram tests.
void expect_chains(const Plan& plan, const Sharing& sharing, const Messages& messages, Expectations& expectations,
                   std::size_t threads);
void expect_tokens(const Plan& plan, const Sharing& sharing, const Potentials& potentials, Expectations& expectations,
                   std::size_t threads);

// Adds the slopes of unigram features to the gradient, as theta.
void add_unigram_gradient(const Plan& plan, const Sharing& sharing, const Expectations& expectations,
                          const Weights& weights, double* gradient, std::size_t threads);

// What the slopes of pairs of labels are made of.
struct PairTerms {
  const Plan& plan;
  const Sharing& sharing;
  const Potentials& potentials;
  const Messages& messages;
  const Expectations& expectations;
};

// sum [Y][stride] = sum over the positions of the task of value * psi .* (alpha v'); scratch is for this function.
void sum_pairs(const PairTerms& terms, const Task& task, const Lists& contexts_of, double* sum,
               std::vector<double>& scratch);

// Add the slopes of bigram features, all of them or those of the support, to the gradient.
void add_dense_gradient(const PairTerms& terms, double* gradient, std::size_t threads);
void add_supported_gradient(const PairTerms& terms, const Support& support, double* gradient, std::size_t threads);

// Runs all tasks; use(key, sum) is called once a key, with the sum over its tasks, by one thread at a time per key.
template <class Use>
void run_tasks(const std::vector<Task>& tasks, std::size_t cells, std::size_t threads, const auto& run, Use use) {
  std::vector<std::size_t> starts;  // the first task of a key
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i == 0 || tasks[i].key != tasks[i - 1].key) starts.push_back(i);
  }
  starts.push_back(tasks.size());
  std::vector<std::size_t> single, several;
  for (std::size_t k = 0; k + 1 < starts.size(); ++k) (starts[k + 1] - starts[k] == 1 ? single : several).push_back(k);
  for (const std::size_t k : several) {
    const std::size_t parts = starts[k + 1] - starts[k];
    std::vector<double> sums(parts * cells);
    base::parallel_for(parts, threads, [&](std::size_t p) {
      std::vector<double> scratch;
      run(tasks[starts[k] + p], &sums[p * cells], scratch);
    });
    for (std::size_t p = 1; p < parts; ++p) {
      for (std::size_t i = 0; i < cells; ++i) sums[i] += sums[p * cells + i];
    }
    use(tasks[starts[k]].key, sums.data());
  }
  base::parallel_blocks(single.size(), 8, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch, sum(cells);
    for (std::size_t i = begin; i < end; ++i) {
      const Task& task = tasks[starts[single[i]]];
      run(task, sum.data(), scratch);
      use(task.key, sum.data());
    }
  });
}

}  // namespace textmill::sequence
