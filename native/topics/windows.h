// How many windows hold a word, and how many hold two words together.
//
// A window is `size` consecutive tokens; a document of L tokens has max(1, L - size + 1) of them, one if it is shorter.
// A token at position i lies in the windows that begin from i - size + 1 to i. The windows of a word are the union of
// such ranges, those of a pair the intersection of two unions: no window is ever visited.
//
// Cost of a document: its tokens, and for each pair that is asked for and of which it has both words, their occurrences.
// Counts are whole numbers, so they are the same for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::topics {

struct Pairs {                             // a view: for each of R words the words it is paired with
  std::span<const std::int64_t> offsets;   // [R + 1], rising from 0 to P
  std::span<const std::int32_t> partners;  // [P], each in [0, R)
};

// Adds the windows of each word to words [R] and of each pair to pairs [P]; returns the number of windows. Documents
// are tokens [offsets[d], offsets[d + 1]); tokens outside [0, R) are other words. size 0: a document is one window.
std::int64_t count_windows(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
                           std::size_t size, const Pairs& wanted, std::span<std::int64_t> words,
                           std::span<std::int64_t> pairs, std::size_t threads);

}  // namespace textmill::topics
