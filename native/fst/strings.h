// Machines and strings: one path for a string, the strings of all paths, texts as labels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/flat_table.h"
#include "fst/machine.h"
#include "fst/symbols.h"

namespace textmill::fst {

// One path. Where one of the strings is shorter, it goes on with epsilons.
template <class W>
Automaton<W> linear(const W& zero, const W& one, std::span<const std::int32_t> ilabels,
                    std::span<const std::int32_t> olabels, const W& weight);
template <class S>
Machine<S> linear(const S& semiring, std::span<const std::int32_t> ilabels, std::span<const std::int32_t> olabels,
                  const typename S::Weight& weight) {
  return {semiring, linear<typename S::Weight>(S::zero(), S::one(), ilabels, olabels, weight)};
}

template <class W>
struct PathString {
  std::vector<std::int32_t> ilabels, olabels;  // without epsilons
  W weight;
};

// The strings of the paths, depth first in the order of the arcs, at most `most`. A fault if the machine has cycles on
// paths to the end and `longest`, the number of arcs of a path, is not set as a limit.
template <class S>
std::vector<PathString<typename S::Weight>> paths(const Machine<S>& machine, std::size_t most, std::size_t longest);

// What a label is: a code point, a byte of UTF-8, or a symbol between blanks.
enum class Tokens : std::uint8_t { utf8, byte, symbol };

// A text of code points, each in `width` bytes: 1, 2 or 4.
struct Text {
  const void* points;
  std::size_t size;
  int width;
};

// A transducer that shares the prefixes of its pairs: state after state is made as the pairs come.
template <class W>
class PairTrie {
 public:
  explicit PairTrie(const W& zero) : finals_(1, zero) {}
  // The final weight of the state that the pair leads to. The shorter of the two strings goes on with epsilons.
  W& final(std::span<const std::int32_t> ilabels, std::span<const std::int32_t> olabels, const W& zero);
  Automaton<W> finish(const W& zero, const W& one);

 private:
  struct Step {
    std::int32_t from, ilabel, olabel;
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Step> steps_;  // step i leads to state i + 1
  std::vector<W> finals_;
  base::FlatIndex index_;
};
#define X(W) extern template class PairTrie<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

template <class S>
class StringMap {
 public:
  explicit StringMap(const S& semiring) : semiring_(semiring), pairs_(S::zero()) {}
  // The weights of equal pairs are summed.
  void add(std::span<const std::int32_t> ilabels, std::span<const std::int32_t> olabels,
           const typename S::Weight& weight) {
    auto& sum = pairs_.final(ilabels, olabels, S::zero());
    sum = semiring_.plus(sum, weight);
  }
  Machine<S> finish() { return {semiring_, pairs_.finish(S::zero(), S::one())}; }

 private:
  [[no_unique_address]] S semiring_;
  PairTrie<typename S::Weight> pairs_;
};

// Turns texts into labels and labels into texts. Symbols are bytes of any kind; those that are not UTF-8 stand in a text
// as lone surrogates U+DC80 ... U+DCFF, as Python reads file names.
class Tokenizer {
 public:
  Tokenizer(Tokens tokens, const SymbolTable* input, const SymbolTable* output)
      : tokens_(tokens), input_(input), output_(output) {}
  Tokens tokens() const { return tokens_; }
  // Replaces what `labels` holds. Faults name a label 0, a symbol that is unknown, or a surrogate that has no bytes.
  // With `unknown`, a label above 0, a symbol that is unknown is that label and no fault.
  void labels(const Text& text, std::vector<std::int32_t>& labels, std::int32_t unknown = 0) const;
  // Appends code points of four bytes if labels are code points, else bytes that should be UTF-8. A fault if a label is
  // none of a text.
  void append(std::string& out, std::span<const std::int32_t> labels) const;

 private:
  Tokens tokens_;
  const SymbolTable* input_;
  const SymbolTable* output_;
};

}  // namespace textmill::fst
