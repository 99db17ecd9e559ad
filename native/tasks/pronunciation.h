// Letters to sounds by a decision tree over windows of letters, one pass and no search; and alignments by such trees.
//
// A word of n letters has 2n + 1 positions: the gap before letter 0, letter 0, the gap after it, ... Position 2i + 1 is
// letter i, position 2i the gap before it. A window of size k holds k letters at the left of a position, its center (the
// letter, or `empty` for a gap) and k letters at its right, `boundary` beyond the ends of the word.
//
//   sound_words     labels of all positions in turn                        O(height of the tree) a position
//   position_nodes  where the walk of each position ends
//   best_sounds     the k most probable outputs, equal ones joined          O(k classes) a position
//   align_nodes     argmax over alignments of sum log P(target | window)    O(n m), at most one insertion in a gap
//   align_links     the same for an n-gram model of links, order 2 or 3     O(n m 9) or O(n m 27)
//
// Reference: Jansche (2001), Re-engineering letter-to-sound rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/flat_table.h"
#include "trees/tree_walker.h"

namespace textmill::tasks {

struct LetterWords {
  std::span<const std::int64_t> offsets;  // [words + 1] into letters
  std::span<const std::int32_t> letters;  // codes, -1 for a letter never seen
  std::size_t extras;                     // further attributes of a word, E
  std::span<const std::int32_t> extra;    // [words][E]

  std::size_t words() const { return offsets.size() - 1; }
  std::size_t length(std::size_t word) const { return static_cast<std::size_t>(offsets[word + 1] - offsets[word]); }
};

struct LetterWindow {
  std::size_t size;       // k
  std::int32_t boundary;  // code
  std::int32_t empty;     // code
};

// Texts of classes, one after the other; the empty sound has none.
struct SoundTexts {
  std::span<const std::int64_t> offsets;  // [classes + 1]
  std::span<const char> bytes;
};

// The sounds of each word, separated by blanks, a line each.
std::string sound_words(const trees::Walker& tree, const LetterWords& words, const LetterWindow& window,
                        const SoundTexts& texts, std::size_t threads);

// nodes [sum of 2n + 1]
void position_nodes(const trees::Walker& tree, const LetterWords& words, const LetterWindow& window,
                    std::span<std::int32_t> nodes, std::size_t threads);

struct BestSounds {
  std::vector<std::int64_t> offsets;      // [words + 1] into probabilities
  std::vector<double> probabilities;      // descending within a word
  std::vector<std::int64_t> class_begin;  // [outputs + 1]
  std::vector<std::int32_t> classes;      // of the outputs, without empty ones
};

// log_probabilities [nodes][classes]; `beam` outputs are held at each position. empty: class without sound.
BestSounds best_sounds(const trees::Walker& tree, const LetterWords& words, const LetterWindow& window,
                       std::span<const double> log_probabilities, std::size_t classes, std::int32_t empty,
                       std::size_t k, std::size_t beam, std::size_t threads);

// Sounds of each word as classes, in the same order as the words.
struct SoundStrings {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> sounds;
};

// The class of each position in the best alignment, nodes as position_nodes gives them; -1 at all positions of a word
// that has none (more than 2n + 1 sounds). Returns the log probability of each word, -infinity where there is none.
// Ties: nothing in a gap, then a sound with its letter, where alignments first differ.
std::vector<double> align_nodes(const LetterWords& words, const SoundStrings& sounds,
                                std::span<const std::int32_t> nodes, std::span<const double> log_probabilities,
                                std::size_t classes, std::int32_t empty, std::span<std::int32_t> targets,
                                std::size_t threads);

// A model of links x:y given the one or two links before. Number L stands for the edge of the word.
struct LinkModel {
  std::size_t links;   // L
  std::size_t sounds;  // classes of sounds; column `empty` of `link` is x with nothing
  std::span<const std::int32_t>
      link;                         // [letters + 1][sounds] number of x:y, -1 where there is none; last row: no letter
  std::span<const double> bigram;   // [L + 1][L + 1] log p(e | d)
  base::FlatTable<double> trigram;  // of (c, d, e): ((c (L + 1)) + d) (L + 1) + e
  base::FlatTable<double> backoff;  // of (c, d): what is added to the bigram; 0 where it is not
  bool second_order;

  double score(std::size_t c, std::size_t d, std::size_t e) const;
};

std::vector<double> align_links(const LetterWords& words, const SoundStrings& sounds, const LinkModel& model,
                                std::int32_t empty, std::span<std::int32_t> targets, std::size_t threads);

}  // namespace textmill::tasks
