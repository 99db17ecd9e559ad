// Changing a back-off model: leaving n-grams out, mixing models, and making all contexts sum to 1 again.
//
//   back_offs     b(h) = (1 - sum_K p(x | h)) / (1 - sum_K p(x | h')), K: the words seen after h; shorter contexts first
//   importance    what is lost when the n-gram hw is left out and its probability comes from h' instead
//     entropy     p(h) (p(w | h) (log p(w | h) - log b~(h) - log p(w | h')) + (log b(h) - log b~(h)) (1 - sum_K p(x | h)))
//                 b~(h): the back-off weight without w; relative entropy between the two models, in nats
//     difference  p(h w) (log p(w | h) - log b(h) - log p(w | h'))
//                 an n-gram that others continue is as important as the most important of them
//   evaluate      log10 p(w | h) under a model of every n-gram hw of another tree
//
// Cost: a few look-ups for each node. References: Stolcke (1998), Entropy-based pruning of backoff language models;
// Seymore & Rosenfeld (1996), Scalable backoff language models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lm/ngram.h"

namespace textmill::lm {

enum class Loss { kEntropy, kDifference };

// log10 b of each node, 0 for those without children. Probabilities of `model` are taken as they are, its weights ignored.
std::vector<double> back_offs(const BackOff& model, std::size_t threads);

// Per node; infinite for single words and node 0. `weight` [nodes] is proportional to p of each n-gram.
std::vector<double> importance(const BackOff& model, std::span<const double> weight, Loss loss, std::size_t threads);

// p of each node by the chain rule; the start symbol counts as often as the end.
std::vector<double> chain_rule(const BackOff& model);

// The tree of the nodes that are marked, and their old numbers. Node 0 and words are always there; a node whose parent is
// not is left out with it.
struct Selected {
  std::vector<std::int64_t> level;
  std::vector<std::int32_t> word, first, old;
};
Selected select(const Tree& tree, std::span<const std::uint8_t> marked);

// `name` [words of the tree]: the number of each word in the model.
std::vector<double> evaluate(const BackOff& model, const Tree& tree, std::span<const std::int32_t> name);

}  // namespace textmill::lm
