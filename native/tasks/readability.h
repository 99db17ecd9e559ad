// What makes a text hard to read: sizes of words, classes of tokens, chains of entities, shapes of trees.
//
//   words        syllables = groups of vowels + sum of the patterns that occur in ^word$, at least 1; familiar: in a list,
//                or without one of the endings in it
//   classes      for documents x classes of tokens: tokens, distinct words, distinct words of each sentence summed
//   grid         p(r r') = pairs of roles of an entity in adjacent sentences / (entities x (sentences - 1))
//   chains       nouns linked through senses; one sense for each noun; connected components
//   trees        sums over constituents, and the grammatical role of the head of each noun phrase
//
// Cost: all linear in tokens, senses or nodes, but for the grid, which is entities x sentences of one document.
// References: Feng, Jansche, Huenerfauth & Elhadad (2010); Barzilay & Lapata (2008); Galley & McKeown (2003).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/intern.h"
#include "corpus/text.h"

namespace textmill::tasks {

struct WordFacts {
  std::int32_t syllables;
  std::int32_t letters;  // and digits
  bool word;             // has a letter or digit, and is no clitic such as 's or n't
  bool familiar;         // or has no letter
};

class WordMeter {
 public:
  struct Ending {
    std::string suffix, replacement;
  };
  // Patterns are bytes of ^word$, with their values; all strings are folded UTF-8.
  WordMeter(std::u32string_view vowels, base::InternTable patterns, std::vector<std::int32_t> values,
            base::InternTable exceptions, std::vector<std::int32_t> counts, base::InternTable familiar,
            std::vector<Ending> endings);

  WordFacts facts(std::string_view folded) const;
  std::int32_t vowel_groups(std::string_view folded) const;

 private:
  std::int32_t syllables(std::string_view folded) const;
  bool familiar(std::string_view folded) const;
  bool listed(std::string_view word) const;

  std::u32string vowels_;  // sorted
  base::InternTable patterns_;
  std::vector<std::int32_t> values_;
  std::size_t shortest_ = 0, longest_ = 0;  // of patterns, in bytes
  base::InternTable exceptions_;
  std::vector<std::int32_t> counts_;
  base::InternTable familiar_;
  std::vector<Ending> endings_;
};

// Sums over one text, in the order of the columns that the binding returns.
struct TextCounts {
  std::int64_t words = 0, sentences = 0, syllables = 0, polysyllables = 0, letters = 0, difficult = 0,
               difficult_types = 0, long_words = 0;
};
inline constexpr std::size_t kTextCounts = 8;
inline constexpr std::int32_t kPolysyllable = 3;  // syllables
inline constexpr std::int32_t kLongWord = 7;      // letters
void count_texts(const WordMeter& meter, std::span<const corpus::Text> texts, std::span<TextCounts> out,
                 std::size_t threads);

// Tokens of documents: document d has sentences documents[d] to documents[d + 1], sentence s has tokens sentences[s] to
// sentences[s + 1].
struct Layout {
  std::span<const std::int64_t> documents, sentences;
  std::size_t size() const { return documents.size() - 1; }
};

// out [documents][classes][3]: tokens whose mask has the bit of the class, distinct types among them, and the sum over
// sentences of distinct types in the sentence. Types are below `types`.
void tally(const Layout& layout, std::span<const std::int32_t> type, std::size_t types,
           std::span<const std::uint32_t> mask, std::size_t classes, std::span<std::int64_t> out, std::size_t threads);

// Mentions of documents: mention m of document d (offsets[d] <= m < offsets[d + 1]) is of entity[m], numbered from 0 in
// each document, in sentence[m], with role[m]: 0 subject, 1 object, 2 other. out [documents][16], rows S O X -; NaN for a
// document of one sentence or without an entity of at least `salience` mentions.
struct Mentions {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> entity, sentence, role;
};
void grid(const Mentions& mentions, std::span<const std::int32_t> sentences, std::int32_t salience,
          std::span<double> out, std::size_t threads);

// Chains of documents: member m of document d has chain[m], from 0 in each document (-1: in no chain), position[m] and
// whether it is a pronoun. `marks` are positions that "per entity" averages over, `words` the length of each document.
// out [documents][7]: chains, mean length, mean span, chains of at least half the document, active chains per word and
// per mark, mean distance of pronouns to the nearest member before that is none. Without chains all are 0.
struct Members {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> chain, position;
  std::span<const std::uint8_t> pronoun;
};
inline constexpr std::size_t kChainFigures = 7;
void chain_figures(const Members& members, std::span<const std::int32_t> words,
                   std::span<const std::int64_t> mark_offsets, std::span<const std::int32_t> marks,
                   std::span<double> out, std::size_t threads);

// Senses of nouns, in the order of their frequency, and the senses above each sense.
struct Senses {
  std::span<const std::int64_t> noun_offsets;   // [nouns + 1]
  std::span<const std::int32_t> senses;         // by noun
  std::span<const std::int64_t> above_offsets;  // [senses + 1]
  std::span<const std::int32_t> above;          // hypernyms
};
// Occurrences of nouns in documents, in the order of the text.
struct Nouns {
  std::span<const std::int64_t> offsets;  // [documents + 1]
  std::span<const std::int32_t> noun, sentence, paragraph;
};
// The chain of each occurrence, from 0 in each document in order of first members; -1 for one that stands alone.
void lexical_chains(const Nouns& nouns, const Senses& senses, std::span<std::int32_t> chain, std::size_t threads);

// Nodes of trees, parents before children: preterminals stand for their words. Labels are numbers of `Label`.
enum Label : std::uint8_t { kOther, kSbar, kNp, kVp, kPp, kClause, kNoun, kPreterminal };
struct Nodes {
  std::span<const std::int64_t> offsets;  // [trees + 1], into the arrays below
  std::span<const std::uint8_t> label;
  std::span<const std::int32_t> parent;       // in the tree, -1 for the root
  std::span<const std::int32_t> first, last;  // tokens of the sentence: first <= t < last
};
// Tree i is of sentence i of the layout. out [documents][16]: trees, sum of heights (edges from the root to the deepest
// word), constituents above the tags, for SBAR, NP, VP and PP number, words and letters, and clauses, SBAR included.
inline constexpr std::size_t kTreeSums = 16;
void tree_sums(const Nodes& nodes, const Layout& layout, std::span<const std::int32_t> letters,
               std::span<const std::uint8_t> word, std::span<double> out, std::size_t threads);
// role [tokens]: 0 for the head of a noun phrase below a clause, 1 below a verb phrase, 2 for any other token.
void tree_roles(const Nodes& nodes, const Layout& layout, std::span<std::uint8_t> role);

}  // namespace textmill::tasks
