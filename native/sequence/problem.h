// The state of a Problem (objective.h) and the parts of its evaluation, for the files that implement them:
// problem.cpp prepares, potentials.cpp, recursion.cpp, gradient.cpp and logarithms.cpp evaluate.
#pragma once

#include <optional>

#include "sequence/lanes.h"
#include "sequence/objective.h"

namespace textmill::sequence {

inline constexpr double kRange = 300.0;  // scores within a token may differ by this much

struct Task {  // some positions of the contexts of a key
  std::int32_t key;
  std::int64_t entry;  // of the list of contexts of the key
  std::int64_t skip;   // positions of its first context that belong to the task before
  std::int64_t count;  // positions
};

struct Problem::State {
  Layout layout;
  std::size_t labels, stride;  // Y and the length of a row here
  std::vector<std::int64_t> offsets;
  std::vector<double> weights;  // [S] or empty
  std::vector<double> token_weight;
  Contexts unigram, bigram;
  std::vector<std::int64_t> observed;  // features, rising
  std::vector<double> observed_count;
  std::optional<Lanes> lanes;   // pairs of labels score alike everywhere, and tokens are seldom alike or labels few
  bool shared = false;          // what follows has been made
  Lists unigram_of, bigram_of;  // contexts of a test
  Lists tokens_of, positions;   // tokens of a unigram context, of a bigram context
  Grouping grouping;
  Lists contexts_of_group;
  Trie beginnings, ends;
  std::vector<Task> test_tasks, group_tasks, context_tasks;
  Lists one_context;  // context c of key c

  // of an evaluation
  std::vector<double> exp_mu, mu_shift;          // [unigram contexts][stride], [unigram contexts]
  std::vector<double> alpha, scale, log_mass;    // [beginnings][stride], c, log of the mass so far
  std::vector<double> beta;                      // [ends][stride]
  std::vector<double> inverse;                   // [T] w / n_t
  std::vector<double> expected;                  // [unigram contexts][stride]
  std::vector<double> matrices;                  // of contexts or groups, then of dense contexts
  std::vector<const double*> matrix;             // [bigram contexts]
  std::vector<double> shift;                     // [bigram contexts]
  std::vector<std::int64_t> correction_offsets;  // [bigram contexts + 1]
  std::vector<std::int32_t> correction_cell;
  std::vector<double> correction_log, correction;  // log factor; B (factor - 1)
  std::vector<char> corrected;                     // [bigram contexts] has corrections, not a matrix of its own
  std::uint64_t prepared = 0;                      // number of the support
  std::vector<std::int64_t> entry_offsets;         // [entries of bigram_of] into entry_of
  std::vector<std::int32_t> entry_of;              // correction of a slot in a context, relative to the context
  std::uint64_t matched = 0;                       // number of the support
  std::vector<std::int64_t> observed_slot;
  std::vector<double> observed_slot_count;
  double widest = 0.0;  // largest difference of scores within a token

  double weight_of(std::size_t t) const { return token_weight.empty() ? 1.0 : token_weight[t]; }
  bool local() const { return layout.bigrams == 0; }

  void observe(const Sequences& data, std::span<const char> first);
  void share();
  void match_observed(const Support& support);
  void prepare(const Weights& w);
  void exponentiate_unigrams(const Weights& w, std::size_t threads);
  void fill_matrices(const Weights& w, std::size_t threads);
  void forward_lane(std::size_t lane);
  void backward_lane(std::size_t lane);
  void recurse(std::size_t threads);
  void expect_unigrams(std::size_t threads);
  void add_unigram_gradient(const Weights& w, double* gradient, std::size_t threads);
  void run_task(const Task& task, const Lists& contexts_of, double* sum, std::vector<double>& scratch) const;
  void add_dense_gradient(double* gradient, std::size_t threads);
  void add_supported_gradient(const Weights& w, double* gradient, std::size_t threads);
  bool potentials(const Weights& w, std::size_t threads);  // false: too wide for scaling
  double observed_score(const Weights& w) const;
  void subtract_observed(const Weights& w, double* gradient) const;
  double log_z(std::size_t s) const;
  bool by_lanes(const Weights& w, double& value, double* gradient, std::size_t threads);  // false: too wide
  double in_logarithms(const Weights& w, double* gradient, double* probabilities, double* logs);
};

}  // namespace textmill::sequence
