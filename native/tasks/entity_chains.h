// Chains of entities: nouns linked through their senses, and figures of chains of any kind.
//
// Nouns are linked through senses; a noun keeps one sense, that with the largest weight of links; chains are connected
// components. Cost: linear in nouns and senses. Reference: Galley & McKeown (2003), Improving word sense disambiguation
// in lexical chaining.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::tasks {

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

}  // namespace textmill::tasks
