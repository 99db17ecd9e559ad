// Linear models of tags and classes as machines: the score of an output is a sum of the weights of features, and the
// machine over the inputs x and outputs y has the cost -score(x, y) on its paths.
//
//   feature      (template, values, tags before, tag): weight. A template names slots (offset, column) of the input around
//                a position, and how many tags before it are looked at.
//   values       each input label has one value per column; positions before the first and behind the last one have the
//                values of the border, by their distance
//   tagger       reads a word, and when the words up to the greatest offset are there writes the tag of the earliest that
//                has none: states are (state of the input machine, words behind and ahead, tags before)
//   classifier   writes the class first, then reads: states are (state of the input machine, class, words before)
//
// Both run along an input machine, so that only its words are looked at; the universal acceptor of all words gives the
// model itself. Cost of a state: O(arcs of the input state + features that match). Reference: Wu, Allauzen, Hall, Riley,
// Roark (2014), Encoding linear models as weighted finite-state transducers.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/intern.h"
#include "fst/lazy.h"
#include "fst/sequences.h"

namespace textmill::fst {

struct LinearTemplate {
  std::vector<std::pair<std::int32_t, std::int32_t>> slots;  // offset, column
  std::int32_t before = 0;                                   // tags before
};

class LinearModel {
 public:
  // label_values: [labels x columns] from label 0 on, -1 where there is none; begin, end: [distances x columns] values at
  // distance 1, 2, ... from the border, the last also farther away
  LinearModel(std::int32_t columns, std::vector<std::int32_t> label_values, std::vector<std::int32_t> begin,
              std::vector<std::int32_t> end, std::vector<std::int32_t> tag_labels);
  // keys: [features x (slots + before)] values, then tags before, the nearest first; sorted in any way
  void add(LinearTemplate shape, std::span<const std::int32_t> keys, std::span<const std::int32_t> tags,
           std::span<const double> weights);

  std::int32_t past() const { return past_; }  // words looked at before and behind a position
  std::int32_t future() const { return future_; }
  std::int32_t before() const { return before_; }  // tags looked at
  std::int32_t tags() const { return static_cast<std::int32_t>(tag_labels_.size()); }
  std::int32_t tag_label(std::int32_t tag) const { return tag_labels_[tag]; }

  // Adds the weights of the features at a position to [tags] scores. `words`: labels around it, the position itself at
  // `here`; `previous`: tags before, the nearest first, as many as there are.
  void score(std::span<const std::int32_t> words, std::size_t here, std::span<const std::int32_t> previous,
             std::span<double> scores) const;

 private:
  std::int32_t value(std::span<const std::int32_t> words, std::int64_t at, std::int32_t column) const;

  struct Weighted {
    std::int32_t tag;
    double weight;
  };
  std::int32_t columns_;
  std::vector<std::int32_t> label_values_, begin_, end_, tag_labels_;
  std::vector<LinearTemplate> templates_;
  base::InternTable keys_;  // (template, values, tags before), as bytes
  std::vector<std::vector<Weighted>> features_;
  std::int32_t past_ = 0, future_ = 0, before_ = 0;
};

// W is float or double.
template <class W>
LazyPointer<W> lazy_tagger(LazyPointer<W> input, std::shared_ptr<const LinearModel> model, std::size_t limit);
template <class W>
LazyPointer<W> lazy_classifier(LazyPointer<W> input, std::shared_ptr<const LinearModel> model, std::vector<double> bias,
                               std::size_t limit);

}  // namespace textmill::fst
