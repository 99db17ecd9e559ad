// What a document says elsewhere of the words of a candidate phrase.
//
// With p_j = P(name_j) of the candidates j of a document and f_j [types] what is thought of their types:
//
//   same i     sum_j p_j f_j / (1 + sum_j p_j)     over the other candidates with the same words
//   longer i   the same sum                        over candidates in which these words stand, and further ones:
//                                                  Aznar where a document also has José María Aznar
//
// Words are compared by sums of numbers that stand for them, so that every stretch of a sentence costs one subtraction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::entities {

struct DocumentPhrases {                   // a view
  std::span<const std::int64_t> tokens;    // [S + 1] first tokens of sentences
  std::span<const std::uint64_t> sums;     // [tokens + 1] sums over words
  std::span<const std::int64_t> document;  // [S] those of one document follow each other
  std::span<const std::int64_t> offsets;   // [S + 1] candidates of sentences
  std::span<const std::int32_t> begin, end;
};

// Fills same and longer [candidates][types]; name is [candidates], types [candidates][K].
void share_types(const DocumentPhrases& phrases, std::span<const double> name, std::span<const double> types,
                 std::size_t K, std::span<double> same, std::span<double> longer);

}  // namespace textmill::entities
