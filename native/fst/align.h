// Memoryless alignment of string pairs: a transducer with one state, whose arcs are links u:v.
//
//   alpha(0, 0) = 1        alpha(i, j) = sum over links u:v that end in (i, j) of alpha(i - |u|, j - |v|) w(u:v)
//   beta(n, m)  = 1        beta(i, j)  = sum over links u:v that begin in (i, j) of w(u:v) beta(i + |u|, j + |v|)
//   Z = alpha(n, m)        expected count of u:v = sum over its places of alpha(before) w(u:v) beta(after) / Z
//
// u and v are chunks of a string: a link joins up to max_input symbols with up to max_output, a deletion x:eps has no
// output, an insertion eps:y no input; at most `insertions_in_a_row` insertions follow each other, which takes so many
// layers of cells more. Best alignments replace sums of products by minima of sums of costs -ln w. Costs are integers,
// multiples of 2^-40, so sums are exact: the same links in another order cost the same. Costs that differ by less than
// 2^-32 are ties, broken by the order of kinds of links that the caller prefers, read from the left, on every machine
// alike.
//
// Sums are made of plain probabilities; a pair whose Z comes near the ends of what doubles hold is done again with
// logarithms. Cost: O(n m max_input max_output) for a pair; memory: 8 bytes a cell of the pair at work. Counts are summed in fixed lanes, so results have the same bytes for any number of threads.
// References: Ristad & Yianilos (1998), Learning string-edit distance; Jiampojamarn, Kondrak & Sherif (2007).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_table.h"

namespace textmill::fst {

enum class LinkKind : std::uint8_t { substitution, deletion, insertion };

struct Limits {
  std::size_t max_input = 1;  // symbols of a link, 1 ... 255
  std::size_t max_output = 1;
  bool deletions = true;
  bool insertions = true;
  bool many_to_many = false;            // links with several symbols on both sides
  std::size_t insertions_in_a_row = 0;  // at most; 0: any number
};

// Strings of symbols one after another; a view.
struct Strings {
  std::span<const std::int64_t> begin;    // [strings + 1], from 0 to the number of symbols, not decreasing
  std::span<const std::int32_t> symbols;  // a symbol below 0 is in no link

  std::size_t size() const { return begin.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t k) const {
    return symbols.subspan(static_cast<std::size_t>(begin[k]), static_cast<std::size_t>(begin[k + 1] - begin[k]));
  }
};

// Numbers of sequences of symbols, as a trie: 0 is the empty one.
class Chunks {
 public:
  static constexpr std::int32_t kNone = -1;

  std::int32_t child(std::int32_t parent, std::int32_t symbol) const {
    if (parent == 0) return symbol >= 0 && static_cast<std::size_t>(symbol) < single_.size() ? single_[symbol] : kNone;
    return symbol >= 0 ? longer_.find(key(parent, symbol), kNone) : kNone;
  }
  std::int32_t add(std::int32_t parent, std::int32_t symbol);
  // All symbols up to the greatest of these; when they come first, rows of a table of links begin with them, and most
  // look-ups stay in a few cache lines.
  void add_symbols(std::span<const std::int32_t> symbols);
  std::size_t size() const { return made_.size(); }
  // The symbols of a chunk.
  void spell(std::int32_t chunk, std::vector<std::int32_t>& out) const;

 private:
  static std::uint64_t key(std::int32_t parent, std::int32_t symbol) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(parent)) << 32 | static_cast<std::uint32_t>(symbol);
  }
  std::vector<std::uint64_t> made_{0};  // [chunk]: the key it was made with
  std::vector<std::int32_t> single_;    // [symbol]
  base::FlatTable<std::int32_t> longer_;
};

// The links of a model: which pairs of chunks there are, by number.
class Links {
 public:
  static constexpr std::int32_t kNone = -1;

  // Link e joins inputs[e] and outputs[e]. Faults if one is there twice, is empty on both sides or beyond the limits.
  Links(const Limits& limits, const Strings& inputs, const Strings& outputs);

  const Limits& limits() const { return limits_; }
  std::size_t size() const { return size_; }
  const Chunks& inputs() const { return inputs_; }
  const Chunks& outputs() const { return outputs_; }
  std::int32_t find(std::int32_t input, std::int32_t output) const {
    if (!dense_.empty()) return dense_[static_cast<std::size_t>(input) * width_ + static_cast<std::size_t>(output)];
    return sparse_.find(base::joined_key(input, output), kNone);
  }

 private:
  Limits limits_;
  std::size_t size_;
  Chunks inputs_, outputs_;
  std::size_t width_ = 0;
  std::vector<std::int32_t> dense_;       // [input chunk][output chunk], while that is small
  base::FlatTable<std::int32_t> sparse_;  // else
};

struct Discovered {
  std::vector<std::int64_t> input_begin, output_begin;  // [links + 1]
  std::vector<std::int32_t> inputs, outputs;            // symbols of the chunks of the links, links sorted by them
  std::vector<std::int64_t> unaligned;                  // pairs that have no alignment within the limits
};

// All links that are part of an alignment of some pair (x[k], y[k]).
Discovered discover(const Limits& limits, const Strings& x, const Strings& y, std::size_t threads);

// ln Z of every pair, -infinity for one without an alignment; if `counts` [links] is not empty, adds to it the expected
// counts, those of pair k times weight[k] (or 1 if there are no weights).
void expect(const Links& links, std::span<const double> probability, const Strings& x, const Strings& y,
            std::span<const double> weight, std::size_t threads, std::span<double> log_total, std::span<double> counts);

struct Paths {
  std::vector<std::int64_t> paths;  // [pairs + 1]: where the alignments of a pair begin
  std::vector<std::int64_t> begin;  // [alignments + 1]: where the links of an alignment begin
  std::vector<std::int32_t> links;
};

// The n best alignments of every pair, best first; none for a pair without any. Ties are broken by `preferred`.
Paths best(const Links& links, std::span<const double> log_probability, const Strings& x, const Strings& y,
           std::array<LinkKind, 3> preferred, std::size_t n, std::size_t threads);

struct Posterior {
  std::int64_t input, output;  // where the link begins
  std::int32_t link;
  double probability;  // that it is part of the alignment
};

// The links of all alignments of one pair, in order of their places.
std::vector<Posterior> posteriors(const Links& links, std::span<const double> probability, const Strings& x,
                                  const Strings& y);

}  // namespace textmill::fst
