// A conditional random field over the letters of words, each of which has few labels: what it may be written as.
//
//   p(y | x) = exp(sum_t [ sum over tests u true at t of w[u][y_t] + v[x_{t-1} x_t][y_{t-1}][y_t] + b[y_{t-1}][y_t] ]) / Z
//   minimize  sum_i -log p(y^i | x^i) + l2 / 2 ||w||^2
//
// A test is a stretch of up to `longest` letters within `window` of letter t, together with letter t itself. A letter has
// the labels that it was seen with, K(x_t), so a test has |K| weights side by side and a step costs |K|^2, not Y^2: for
// letters and sounds a hundred times less.
//
// Training is by gradient steps, one word at a time, eta_t = eta_0 / (1 + eta_0 lambda t), lambda = l2 / words, with eta_0
// tried on the first words (Bottou). Words are visited in an order drawn from the seed, by one thread: the same model always.
//
// An output is what labels write one behind the other: several labelings may write the same, and are added up. Hypotheses
// go from left to right, and are ranked by their share of Z, which the backward sums tell exactly: those below `least` of
// the best are dropped. A letter without labels writes nothing.
//
// Reference: Lafferty, McCallum & Pereira (2001); Bottou (2010), Large-scale machine learning with stochastic gradient
// descent; Jiampojamarn, Cherry & Kondrak (2008), Joint processing and discriminative training for letter-to-phoneme
// conversion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace textmill::tasks {

struct LetterLabels {                         // which labels a letter may have, and what these write
  std::span<const std::int64_t> label_begin;  // [letters + 1]
  std::span<const std::int32_t> labels;       // of letter x: labels[label_begin[x]] ...
  std::span<const std::int64_t> write_begin;  // [all labels + 1]
  std::span<const std::int32_t> writes;       // output symbols of a label

  std::size_t letters() const { return label_begin.size() - 1; }
  std::size_t all_labels() const { return write_begin.size() - 1; }
  std::size_t count(std::int32_t letter) const {  // K
    return letter < 0 || static_cast<std::size_t>(letter) >= letters()
               ? 0
               : static_cast<std::size_t>(label_begin[static_cast<std::size_t>(letter) + 1] -
                                          label_begin[static_cast<std::size_t>(letter)]);
  }
};

struct Words {
  std::span<const std::int64_t> offsets;  // [words + 1]
  std::span<const std::int32_t> letters;  // -1 or beyond the letters: unknown

  std::size_t size() const { return offsets.size() - 1; }
  std::span<const std::int32_t> word(std::size_t w) const {
    return letters.subspan(static_cast<std::size_t>(offsets[w]), static_cast<std::size_t>(offsets[w + 1] - offsets[w]));
  }
};

struct Windows {
  std::int32_t window;   // letters on each side
  std::int32_t longest;  // letters of a test
};

// The tests of words that occur `least` times, as keys, rising; letters without labels have none.
std::vector<std::uint64_t> letter_tests(const Words& words, const LetterLabels& labels, const Windows& windows,
                                        std::size_t least);

// Where the weights of tests, of pairs of letters, and of pairs of labels are.
struct LetterWeights {
  std::span<const std::uint64_t> tests;  // [tests], rising
  std::span<const std::int64_t> begin;   // [tests + 1] in weights
  std::span<const float> weights;        // of tests
  std::span<const std::uint64_t> pairs;  // [pairs of letters], rising: x_{t-1} * 2^32 + x_t
  std::span<const std::int64_t> pair_begin;
  std::span<const float> pair_weights;
  std::span<const float> label_weights;  // [all labels][all labels]
};

struct LetterTraining {
  double l2;
  std::size_t epochs;
  std::uint64_t seed;
};

// Fills the weights; gold [letters] are numbers within the labels of a letter. Returns the objective after each epoch, as
// the steps saw it. `weights` must be zero.
std::vector<double> train_letters(const Words& words, std::span<const std::int32_t> gold, const LetterLabels& labels,
                                  const Windows& windows, const LetterWeights& where, std::span<float> weights,
                                  std::span<float> pair_weights, std::span<float> label_weights,
                                  const LetterTraining& training);

// Outputs of words, best first: those of word w are offsets[w] to offsets[w + 1].
struct LetterAnswers {
  std::vector<std::int64_t> offsets;
  std::vector<double> log_probability;     // ln p(output | word)
  std::vector<std::int32_t> labels;        // of each output the best labeling, one label a letter, -1 for none
  std::vector<std::int64_t> output_begin;  // [outputs + 1]
  std::vector<std::int32_t> outputs;       // symbols
};

class LetterTests;

// A field with its weights, ready for words.
class LetterModel {
 public:
  LetterModel(const LetterLabels& labels, const Windows& windows, const LetterWeights& weights);
  ~LetterModel();

  // The k best outputs of each word, by at most `beam` hypotheses at a letter, if it is not 0.
  LetterAnswers decode(const Words& words, std::size_t k, std::size_t beam, double least, std::size_t threads) const;

  // ln p(output | word) of words with lists of outputs, those of word w are lists[w] to lists[w + 1]: over all
  // labelings; -infinity where there is none.
  std::vector<double> score(const Words& words, std::span<const std::int64_t> lists, const Words& outputs,
                            std::size_t threads) const;

 private:
  LetterLabels labels_;
  Windows windows_;
  LetterWeights weights_;
  std::unique_ptr<LetterTests> tests_, pairs_;  // where they are
};

// The objective of words and its gradient, in full: [tests' weights, pairs', labels'] as in `weights`.
double letter_objective(const Words& words, std::span<const std::int32_t> gold, const LetterLabels& labels,
                        const Windows& windows, const LetterWeights& weights, double l2,
                        std::span<float> weight_gradient, std::span<float> pair_gradient,
                        std::span<float> label_gradient);

}  // namespace textmill::tasks
