// Pair n-grams: a back-off model whose words are pairs x:y of input and output symbols, searched and summed exactly.
//
//   p(x, y) = sum over alignments a of x and y of prod_k p(t_k | t_{k-N+1} ... t_{k-1})        t_k: pairs, then the end
//   p(y | x) = p(x, y) / sum over outputs y' of p(x, y')
//
// Back-off is decided on the pair, never on its input side: the pairs after a history that read a stretch of the input are
// those seen after it, then those of the history without its first pair that were not, and so on down to single pairs.
// Hypotheses go from left to right over the input; those at one place with one history and one output are added up. With a
// beam, the `beam` best at each place go on, and of these those within `width` of the best; without, the search is exact.
// Insertions, pairs without an input, form no cycles: at most `insertions` follow each other.
//
// A letter that no pair reads alone can be read by the unknown pair, which has an output of its own: nothing, or, with
// `copy`, the letter. So every input has an output. An acceptor may restrict the outputs.
//
// Cost: a hypothesis looks at the pairs within the beam only, as those after a history lie sorted by what they read and by
// probability. Reference: Jansche & Sproat (2009), Named entity transcription with pair n-gram models; Bisani & Ney (2008),
// Joint-sequence models for grapheme-to-phoneme conversion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_table.h"
#include "lm/ngram.h"

namespace textmill::lm {

struct PairTokens {
  std::span<const std::int64_t> input_begin;  // [pairs + 1]
  std::span<const std::int32_t> inputs;
  std::span<const std::int64_t> output_begin;  // [pairs + 1]
  std::span<const std::int32_t> outputs;
  std::span<const std::int32_t> word;  // [pairs] of the model, 3 or more; several pairs may share one
  std::span<const double> bias;        // [pairs] added to ln p of the word: ln p(input | word) of a noisy channel, or 0
  std::int32_t output_symbols;

  std::size_t size() const { return input_begin.size() - 1; }
};

struct Acceptor {                        // of outputs: deterministic
  std::span<const std::int32_t> next;    // [states][output_symbols], -1 for none; state 0 is the start; empty: all goes
  std::span<const std::uint8_t> accept;  // [states]
};

struct PairSearch {
  std::size_t k = 1;           // outputs
  std::size_t beam = 0;        // hypotheses at a place; 0: all
  double width = 0.0;          // of ln p, below the best at a place; infinity: all
  std::size_t insertions = 0;  // in a row
  bool copy = false;           // unknown letters
  bool summed = true;          // else an output has the probability of its best alignment
};

// Outputs of a batch of inputs: those of input i are offsets[i] to offsets[i + 1], best first.
struct PairAnswers {
  std::vector<std::int64_t> offsets;
  std::vector<double> log_probability;    // ln p(x, y) of each output
  std::vector<double> best_alignment;     // the same of its best alignment alone
  std::vector<std::int64_t> token_begin;  // [outputs + 1]
  std::vector<std::int32_t> tokens;       // its best alignment; -1 - i: letter i of the input as the unknown pair
  std::vector<double> total;              // ln p(x) of each input, as far as the beam goes
};

class PairTable {
 public:
  PairTable(const BackOff& model, const PairTokens& pairs);

  // Letters of the inputs are symbols; those beyond the pairs' symbols are unknown.
  PairAnswers decode(std::span<const std::int64_t> offsets, std::span<const std::int32_t> letters,
                     const Acceptor& acceptor, const PairSearch& search, std::size_t threads) const;

  // ln p(x, y) of pairs of strings, over all alignments, and their best alignments; one answer each, or none.
  PairAnswers score(std::span<const std::int64_t> x_begin, std::span<const std::int32_t> x,
                    std::span<const std::int64_t> y_begin, std::span<const std::int32_t> y, const PairSearch& search,
                    std::size_t threads) const;

  // ln p(x, y) of words with lists of outputs, those of word w are lists[w] to lists[w + 1]: over all alignments, but
  // for those that are search.width below others of the same letters and symbols.
  std::vector<double> score_lists(std::span<const std::int64_t> x_begin, std::span<const std::int32_t> x,
                                  std::span<const std::int64_t> lists, std::span<const std::int64_t> y_begin,
                                  std::span<const std::int32_t> y, const PairSearch& search, std::size_t threads) const;

  // The symbols of the answers to inputs; letters that are copied are symbols beyond those of the pairs.
  void write(std::span<const std::int64_t> offsets, std::span<const std::int32_t> letters, const PairAnswers& answers,
             const PairSearch& search, std::vector<std::int64_t>& begin, std::vector<std::int32_t>& symbols) const;

 private:
  friend class PairDecoder;
  friend class PairScorer;

  struct Entry {  // a pair after a history
    std::int32_t chunk, token, state;
    double log_p;
  };
  struct Chunk {
    std::int32_t id;
    std::size_t length;
  };

  std::span<const Entry> continuations(std::int32_t state, std::int32_t chunk) const;
  // ln p(token | state); the state becomes that after it.
  double step(std::int32_t& state, std::int32_t token) const;
  // What can be read from place i of a word on; a letter that is not read alone is `single` = false.
  void chunks_at(std::span<const std::int32_t> word, std::size_t i, std::vector<Chunk>& out, bool& single) const;

  static constexpr std::int32_t kNothing = 0, kEnd = 1, kUnknown = 2, kFirst = 3;  // chunks
  static constexpr std::int32_t kUnknownToken = -1, kEndToken = -2;

  PairTokens pairs_;
  std::vector<std::int32_t> chunk_of_;  // [pairs]
  std::vector<Entry> entries_;          // by history, chunk, probability
  std::vector<std::int32_t> first_;     // [histories + 1] of entries
  std::vector<std::int32_t> root_;      // [chunks + 1] of entries after the empty history
  std::vector<std::int32_t> suffix_;    // [histories]
  std::vector<double> back_off_;        // [histories], natural logarithm
  base::FlatTable<std::int32_t> trie_;  // (node, symbol) to node, node 0 first
  std::vector<std::int32_t> chunk_at_;  // [trie nodes], -1 for none
  std::int32_t start_;
};

}  // namespace textmill::lm
