// What makes a text hard to read, beside its words (word_measures.h) and chains of entities (entity_chains.h): classes of
// tokens, the grid of entities, shapes of trees.
//
//   classes      for documents x classes of tokens: tokens, distinct words, distinct words of each sentence summed
//   grid         p(r r') = pairs of roles of an entity in adjacent sentences / (entities x (sentences - 1))
//   trees        sums over constituents, and the grammatical role of the head of each noun phrase
//
// Cost: linear in tokens or nodes, but for the grid, which is entities x sentences of one document.
// References: Feng, Jansche, Huenerfauth & Elhadad (2010); Barzilay & Lapata (2008).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::tasks {

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
