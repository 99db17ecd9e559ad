// Trees of a woven forest by rejection: the forest without the automaton proposes, the automaton takes or refuses.
//
//   propose T by the weights of its choices alone; take it with probability A(T) / max A,  A(T): weight of its events
//
// What is taken has the distribution that draw() samples directly. It costs 1 / (mean A / max A) tries, which grows with
// the length of the sentence: a check of draw(), and the baseline that intersection is better than.
// Reference: Jansche (2005), Treebank transfer, section 4.
#pragma once

#include "base/random.h"
#include "trees/forest_sums.h"

namespace textmill::trees {

class Rejection {
 public:
  Rejection(const Woven& woven, std::size_t structure, const Weights& weights);
  // Choices of the tree that was taken; returns the number of tries, 0 if none of `most` was taken.
  std::int64_t draw(base::Random& random, std::int64_t most, std::vector<std::int32_t>& choices);

 private:
  const Woven& woven_;
  std::size_t structure_;
  std::vector<double> ones_, log_event_;
  Weights weights_;  // of choices alone
  Inside W_;
  std::vector<std::int32_t> stack_;
  double most_;  // log of max A
};

}  // namespace textmill::trees
