// Sentences as sets of n-grams: of words, of parts of speech, of classes, together.
//
// A view is one sequence of symbols for each sentence. Its n-grams of length 1 to `order` become 64-bit keys,
//
//   key = (4 view + n - 1) 2^60 + symbols, 60 / n bits each
//
// which are exact, not hashed: a key can be read back. With `border` >= 0 a sequence has that symbol before and behind
// it, in n-grams of two and more. A sentence is the set of its keys, ascending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::tasks {

inline constexpr std::size_t kMostViews = 4, kMostOrder = 4;

struct View {
  std::span<const std::int64_t> begin;   // [sentences + 1]
  std::span<const std::int32_t> symbol;  // >= 0 and below 2^(60 / order)
  std::size_t order;
  std::int32_t border;
};

struct NGramSets {
  std::vector<std::int64_t> begin;
  std::vector<std::uint64_t> key;
};

NGramSets ngram_sets(std::span<const View> views, std::size_t threads);

// Where n-grams stand: for each key of each sentence (as ngram_sets gave them) its occurrences, from place[at[k]] on to
// place[at[k + 1]] - 1. The place of an n-gram is its first symbol in the view, -1 where it begins with the border.
struct Occurrences {
  std::vector<std::int64_t> at;
  std::vector<std::int32_t> place;
};
Occurrences occurrences(std::span<const View> views, const NGramSets& sets);

}  // namespace textmill::tasks
