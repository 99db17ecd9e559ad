#include "fst/succinct_ngram.h"

#include <cmath>
#include <limits>

namespace textmill::fst {

NgramTree::NgramTree(const SuccinctNgram& data) : data_(data) {
  const auto sized = [](std::size_t got, std::size_t wanted, const char* what) {
    if (got != wanted) fail(what, " has ", got, " entries instead of ", wanted);
  };
  const auto words_of = [](std::size_t bits) { return (bits + 63) / 64; };
  if (data.states < 1 || data.states > kMostStates) fail("the model has ", data.states, " states");
  if (data.entries > kMostArcs) fail("the model has more than 4,294,967,295 n-grams");
  if (data.start < 0 || static_cast<std::size_t>(data.start) >= data.states)
    fail("the start ", data.start, " is not one of ", data.states, " states");
  if (data.words < 1 || data.begin < 0 || data.begin >= data.words)
    fail("the word <s> has the number ", data.begin, " among ", data.words, " words");
  if (data.word_bits > 31 || data.cost_bits > 16)
    fail("numbers of ", data.word_bits, " and ", data.cost_bits, " bits are too wide");
  sized(data.word_data.size(), PackedIntegers::words_for(data.entries, data.word_bits), "words");
  sized(data.degree_data.size(), words_of(data.states + data.entries), "degrees");
  sized(data.inner_data.size(), words_of(data.entries), "inner");
  sized(data.ending_data.size(), words_of(data.states), "ending");
  sized(data.code_data.size(), data.cost_bits ? PackedIntegers::words_for(data.entries, data.cost_bits) : 0, "codes");
  sized(data.costs.size(), data.cost_bits ? std::size_t{1} << data.cost_bits : data.entries, "costs");
  sized(data.back_offs.size(), data.states, "back_offs");
  degrees_ = BitArray(data.degree_data, data.states + data.entries);
  inner_ = BitArray(data.inner_data, data.entries);
  ending_ = BitArray(data.ending_data, data.states);
  words_ = PackedIntegers(data.word_data, data.word_bits);
  codes_ = PackedIntegers(data.code_data, data.cost_bits);
  sized(degrees_.ones(), data.entries, "degrees");
  sized(inner_.ones(), data.states - 1, "inner");
  sized(ending_.ones(), data.finals.size(), "ending");
  if (degrees_[data.states + data.entries - 1]) fail("the last state has no end");
  // words in order and in range, and every state behind its parent: so all walks end
  std::size_t entry = 0, children = 0;
  std::int64_t last = -1;
  std::size_t s = 0;
  for (std::size_t i = 0; i < degrees_.size(); ++i) {
    if (!degrees_[i]) {
      ++s;
      last = -1;
      continue;
    }
    const std::int64_t word = words_[entry];
    if (word >= data.words || word <= last) fail("the words of state ", s, " are out of order or unknown");
    last = word;
    children += inner_[entry++];
    if (inner_[entry - 1] && children <= s) fail("state ", children, " is its own history");
  }
  for (const float weight : data.costs)
    if (std::isnan(weight)) fail("a cost is not a number");
  for (const float weight : data.back_offs)
    if (std::isnan(weight)) fail("a back-off weight is not a number");
  for (const float weight : data.finals)
    if (std::isnan(weight)) fail("a final weight is not a number");
}

std::pair<std::size_t, std::size_t> NgramTree::entries(std::int32_t s) const {
  const auto state = static_cast<std::size_t>(s);
  const std::size_t from = s == 0 ? 0 : degrees_.select_zero(state - 1) + 1 - state;
  return {from, degrees_.select_zero(state) - state};
}

float NgramTree::final(std::int32_t s) const {
  const auto state = static_cast<std::size_t>(s);
  return ending_[state] ? data_.finals[ending_.rank(state)] : std::numeric_limits<float>::infinity();
}

std::size_t NgramTree::find(std::int32_t s, std::int32_t word) const {
  auto [low, high] = entries(s);
  const std::size_t end = high;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (this->word(middle) < word)
      low = middle + 1;
    else
      high = middle;
  }
  return low < end && this->word(low) == word ? low : kNoEntry;
}

// The state of the longest history that the history of s, followed by the word, ends with.
std::int32_t NgramTree::longest(std::int32_t s, std::int32_t word) const {
  for (;; s = back_off(s)) {
    const std::size_t entry = find(s, word);
    if (entry != kNoEntry && inner_[entry]) return static_cast<std::int32_t>(inner_.rank(entry) + 1);
    if (s == 0) return 0;
  }
}

std::int32_t NgramTree::back_off(std::int32_t s) const {
  const std::size_t entry = inner_.select(static_cast<std::size_t>(s) - 1);
  const auto parent = static_cast<std::int32_t>(degrees_.select(entry) - entry);
  return parent == 0 ? 0 : longest(back_off(parent), word(entry));
}

std::int32_t NgramTree::next(std::size_t entry, std::int32_t shorter) const {
  if (inner_[entry]) return static_cast<std::int32_t>(inner_.rank(entry) + 1);
  return shorter == kNoState ? 0 : longest(shorter, word(entry));
}

namespace {

template <class W>
class Ngrams final : public Cached<W> {
 public:
  Ngrams(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const NgramTree> tree, std::int32_t label,
         std::size_t limit)
      : Cached<W>(std::move(ring), limit), tree_(std::move(tree)), label_(label) {
    this->set_sorted(true, true);
  }

 protected:
  std::int32_t compute_start() override { return tree_->data().start; }
  std::int32_t count() override { return static_cast<std::int32_t>(tree_->data().states); }
  void compute(std::int32_t s, Assembly<W>& out) override {
    out.open(static_cast<W>(tree_->final(s)));
    const std::int32_t shorter = s == 0 ? kNoState : tree_->back_off(s);
    const auto back = [&] {
      if (s != 0) out.push({label_, label_, static_cast<W>(tree_->data().back_offs[s]), shorter});
    };
    if (label_ == 0) back();
    const auto [from, to] = tree_->entries(s);
    for (std::size_t entry = from; entry < to; ++entry) {
      const std::int32_t word = tree_->word(entry);
      if (word == tree_->data().begin) continue;
      out.push({word + 1, word + 1, static_cast<W>(tree_->cost(entry)), tree_->next(entry, shorter)});
    }
    if (label_ != 0) back();
  }

 private:
  std::shared_ptr<const NgramTree> tree_;
  std::int32_t label_;
};

}  // namespace

template <class W>
LazyPointer<W> lazy_ngram(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const NgramTree> tree,
                          std::int32_t label, std::size_t limit) {
  return std::make_shared<Ngrams<W>>(std::move(ring), std::move(tree), label, limit);
}

template LazyPointer<float> lazy_ngram(std::shared_ptr<const Ring<float>>, std::shared_ptr<const NgramTree>,
                                       std::int32_t, std::size_t);
template LazyPointer<double> lazy_ngram(std::shared_ptr<const Ring<double>>, std::shared_ptr<const NgramTree>,
                                        std::int32_t, std::size_t);

}  // namespace textmill::fst
