// A back-off n-gram model as a machine in little memory: the tree of its histories in bits.
//
//   entries      the n-grams but those that end with </s>, sorted by (state of the history, word): a packed word each
//   degrees      for each state a one for each of its entries, then a zero (level-order unary degree sequence, LOUDS)
//   inner        does the entry have a state of its own? The k-th that does leads to state k: states are in level order
//   costs        -ln p of each entry, a float or a packed number of a small table
//   back_offs    -ln alpha of each state; finals: -ln p(</s>) of the states that `ending` marks
//
// Nothing else is stored. The parent of state s is the state of entry select(inner, s - 1); what a history backs off to,
// and where an n-gram of the highest order leads, is found by walking the tree:
//
//   back_off(h w) = next(back_off(h), w),  next(h, w) = h w if it is a state, else next(back_off(h), w)
//
// Cost: O(order^2 log arcs) for a state's back-off, O(log arcs) more for each arc. Reference: Sorensen & Allauzen (2011),
// Unary data structures for language models; Jacobson (1989).
#pragma once

#include <memory>
#include <span>

#include "fst/bits.h"
#include "fst/lazy.h"

namespace textmill::fst {

struct SuccinctNgram {
  std::size_t states = 0, entries = 0;
  std::int32_t start = 0;
  std::int32_t words = 0;  // words 0 ... words - 1 have the labels 1 ... words
  std::int32_t begin = 0;  // the word <s>, which no arc has
  unsigned word_bits = 0;
  unsigned cost_bits = 0;  // 0: costs are floats
  std::span<const std::uint64_t> word_data, degree_data, inner_data, ending_data, code_data;
  std::span<const float> costs;      // [entries], or the table of 2^cost_bits
  std::span<const float> back_offs;  // [states]
  std::span<const float> finals;     // [ones of ending]
};

class NgramTree {
 public:
  // Faults unless the arrays fit together; O(size).
  explicit NgramTree(const SuccinctNgram& data);
  const SuccinctNgram& data() const { return data_; }
  std::size_t memory() const { return degrees_.memory() + inner_.memory() + ending_.memory(); }
  std::pair<std::size_t, std::size_t> entries(std::int32_t s) const;  // from, to
  std::int32_t word(std::size_t entry) const { return static_cast<std::int32_t>(words_[entry]); }
  float cost(std::size_t entry) const { return data_.cost_bits ? data_.costs[codes_[entry]] : data_.costs[entry]; }
  // +infinity where the model has no end.
  float final(std::int32_t s) const;
  std::int32_t back_off(std::int32_t s) const;
  // Where an entry of a state leads that backs off to `shorter`.
  std::int32_t next(std::size_t entry, std::int32_t shorter) const;

 private:
  static constexpr std::size_t kNoEntry = static_cast<std::size_t>(-1);
  std::size_t find(std::int32_t s, std::int32_t word) const;
  std::int32_t longest(std::int32_t s, std::int32_t word) const;

  SuccinctNgram data_;
  BitArray degrees_, inner_, ending_;
  PackedIntegers words_, codes_;
};

// W is float or double. `label`: of back-off arcs, 0 or one above those of the words.
template <class W>
LazyPointer<W> lazy_ngram(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const NgramTree> tree,
                          std::int32_t label, std::size_t limit);

}  // namespace textmill::fst
