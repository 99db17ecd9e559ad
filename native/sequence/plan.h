// What evaluations need of a set of sequences, made from the data alone and never changed afterwards.
//
//   Plan       the sequences themselves: their lengths, weights, and the contexts of their tokens (contexts.h)
//   Sharing    what they have in common: tests by context and back, groups of contexts, tries of beginnings and ends,
//              and the positions of every test cut into tasks; made when a shared evaluation needs it first
//   Observed   how often each feature occurs with the labels that are known, found again for each support
//
// Cost: sorting tokens and sequences once. Everything depends on the data only, never on threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/contexts.h"
#include "sequence/features.h"

namespace textmill::sequence {

struct Sequences {
  std::span<const std::int64_t> offsets;  // [S + 1]
  Rows unigram;
  Rows bigram;                           // those of the first token of a sequence are not looked at
  std::span<const std::int32_t> labels;  // [T], or empty: nothing is observed
  std::span<const std::int32_t> forced;  // [T] the only label allowed, -1 for any; or empty
  std::span<const double> weights;       // [S], or empty: all one
  // With hidden states the Y labels of the layout are states, and these are what is visible:
  std::span<const std::int32_t> owner;    // [Y] the group of a state, or empty: every label is a group of its own
  std::span<const std::int32_t> clamped;  // [T] the group that the second sum is over, -1 for any; or empty: none
};

struct Plan {
  Layout layout;
  std::size_t labels, stride;         // Y and the length of a row here
  std::vector<std::int64_t> offsets;  // [S + 1]
  std::vector<double> weights;        // [S] or empty
  std::vector<double> token_weight;   // [T] or empty
  std::vector<std::int32_t> owner;    // [Y] or empty
  std::vector<std::int32_t> clamped;  // [T] or empty
  Contexts unigram, bigram;

  std::size_t sequences() const { return offsets.size() - 1; }
  std::size_t tokens() const { return static_cast<std::size_t>(offsets.back()); }
  std::size_t cells() const { return labels * stride; }  // of the matrix of a context
  double weight(std::size_t s) const { return weights.empty() ? 1.0 : weights[s]; }
  double weight_of(std::size_t t) const { return token_weight.empty() ? 1.0 : token_weight[t]; }
  bool local() const { return layout.bigrams == 0; }  // every token is on its own
  // Is label or state y allowed where only `group` is? -1 allows all.
  bool allows(std::int32_t group, std::size_t y) const {
    return group < 0 || (owner.empty() ? static_cast<std::int32_t>(y) : owner[y]) == group;
  }
};

Plan make_plan(const Layout& layout, const Sequences& data);

struct Task {  // some positions of the contexts of a key
  std::int32_t key;
  std::int64_t entry;  // of the list of contexts of the key
  std::int64_t skip;   // positions of its first context that belong to the task before
  std::int64_t count;  // positions
};

struct Sharing {
  Lists unigram_of, bigram_of;  // contexts of a test
  Lists tokens_of, positions;   // tokens of a unigram context, of a bigram context
  Grouping grouping;
  Lists contexts_of_group;
  Trie beginnings, ends;
  Lists one_context;  // context c of key c
  std::vector<Task> test_tasks, group_tasks;
  std::vector<Task> context_tasks;  // or empty: there are too many contexts
};

// Without bigram tests only what unigram contexts need is made.
Sharing find_sharing(const Plan& plan);

struct Observed {
  std::vector<std::int64_t> features;  // rising
  std::vector<double> counts;
  std::uint64_t support = 0;        // number of the support that slots belong to
  std::vector<std::int64_t> slots;  // of the support that were observed
  std::vector<double> slot_counts;
};

Observed count_observed(const Plan& plan, const Sequences& data);

// Finds the slots of a support that were observed, unless they are known.
void match(Observed& observed, const Support& support);

// Score of the observed labels; with a support it must have been matched.
double score(const Observed& observed, const Weights& weights);

// Subtracts the counts from a gradient, as theta.
void subtract(const Observed& observed, const Weights& weights, double* gradient);

}  // namespace textmill::sequence
