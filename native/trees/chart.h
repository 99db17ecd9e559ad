// Parsing by the rules of a treebank: the best tree of a sentence, or the k best, by CKY over prefixes of rules.
//
// A rule X -> c_1 ... c_m, m >= 2, is an automaton that reads its children from left to right: a state says what a rule
// has read so far. Rules of one child are applied as chains, closed beforehand.
//
//   state(i, j, q')  = max over k, q, c    state(i, k, q) + top(k, j, c) + step(q, c)        q' = next(q, c)
//   base(i, j, X)    = max over q of X     state(i, j, q) + stop(q)                           or a word, j = i + 1
//   top(i, j, A)     = max                 base(i, j, A), base(i, j, B) + chain(A, B)
//   state(i, j, q)   = max over c          top(i, j, c) + begin(c, q)                         q: after a first child
//
// All scores are logarithms. A chart of the full grammar is too large to fill; a coarse grammar with labels only, whose
// rules draw each child independently, is summed inside and outside first (in linear scale, a power of two per cell),
// and what it gives a share below `share` of the sentence is left out; so is what is far below the best of its cell.
// Where nothing is left the chart is filled again with smaller and smaller shares, as long as that does not take too many
// steps, and in the end by a grammar that knows every order of every label, first where the coarse one saw something:
// no sentence fails.
//
// k best: the edges into an item are listed when its second best is asked for (Huang & Chiang 2005, algorithm 3).
//
// Cost: O(n^3) times what is left; k best O(k log k) more for each item of the best trees. Sentences are independent.
// References: Charniak et al. (2006), Multilevel coarse-to-fine PCFG parsing; Klein & Manning (2003), Accurate
// unlexicalized parsing; Johnson (1998), PCFG models of linguistic tree representations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::trees {

struct Step {
  double weight;      // log, -infinity where the symbol cannot follow
  std::int32_t next;  // the state after it
};

// A grammar as arrays. A symbol is a label in a group (what stands above it); symbols of one group are neighbors, in
// the order of their labels.
struct Rules {
  std::size_t labels;                          // L
  std::size_t groups;                          // G
  std::size_t root;                            // the symbol of whole sentences
  std::span<const std::int32_t> label;         // [S] of a symbol
  std::span<const std::int32_t> group;         // [S] of a symbol, ascending
  std::span<const std::int32_t> state_symbol;  // [Q] which the state is part of
  std::span<const std::int32_t> state_group;   // [Q] of its children
  std::span<const double> stop;                // [Q] log, -infinity where a rule cannot end
  std::span<const std::int64_t> row;           // [Q] where the steps of a state begin: one for each symbol of its group
  std::span<const Step> step;
  std::span<const std::int32_t> group_first;  // [G + 1] first symbol of a group
  std::span<const std::int64_t> begin_at;     // [S + 1] into begin_state, begin
  std::span<const std::int32_t> begin_state;  // states whose rule begins with the symbol
  std::span<const double> begin;              // log
  std::span<const std::int64_t> chain_at;     // [S + 1] into chain_top, chain: of the symbol below
  std::span<const std::int32_t> chain_top;    // the symbol above
  std::span<const double> chain;              // log
};

// The coarse grammar in linear scale, over the same labels; those of constituents come before tags.
struct Coarse {
  std::size_t labels;             // L
  std::size_t parents;            // K: labels that have rules, 0 .. K - 1
  std::size_t root;               // the label of whole sentences, below K
  std::span<const double> prior;  // [L] how frequent a label is
  std::span<const double> begin;  // [L child][K parent]
  std::span<const double> step;   // [L child][K parent]
  std::span<const double> stop;   // [K]
  std::span<const double> chain;  // [L below][K above], sums over all chains, those of no step included
};

// What stands under the leaves: tags of each distinct word, as labels in linear scale and as symbols in logarithms.
struct Words {
  std::span<const std::int64_t> label_at;  // [W + 1] into label, weight
  std::span<const std::int32_t> label;
  std::span<const double> weight;           // > 0
  std::span<const std::int64_t> symbol_at;  // [W + 1] into symbol, score
  std::span<const std::int32_t> symbol;
  std::span<const double> score;
  std::span<const std::int64_t> plain_at;  // the same for the symbols of the last resort
  std::span<const std::int32_t> plain;
  std::span<const double> plain_score;
};

struct Bracket {
  std::int32_t start, end;  // of its words
  std::int32_t symbol;      // below its chain
  std::int32_t chain;       // number of the chain above it, -1 for none
};

struct Parse {
  double score;                   // log probability of the tree with its words
  bool plain;                     // found by the last resort: brackets have its symbols and chains
  std::vector<Bracket> brackets;  // parents first, left to right, tags included
};

struct Search {
  double share;   // of the sentence that an item of the coarse chart needs
  double beam;    // how far below the best of its cell an item may be, as a logarithm, with the coarse outside weight
  std::size_t k;  // trees of each sentence at most
};

// The best trees of one sentence, best first; words are numbers in `lexicon`, one or more. `plain` is the grammar of the
// last resort: symbols are labels in one group. Threads may call it at once.
std::vector<Parse> best_parses(const Rules& rules, const Rules& plain, const Coarse& coarse, const Words& lexicon,
                               std::span<const std::int32_t> words, const Search& search);

}  // namespace textmill::trees
