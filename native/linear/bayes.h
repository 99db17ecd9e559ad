// Naive Bayes over counts: sums by class, and scores of texts by the sparse form of the sum over all words.
//
//   score_c(text) = sum_w log F_wc(0 | n)  +  sum_{w: x_w > 0} [log F_wc(x_w | n) - log F_wc(0 | n)]
//
// The first sum depends on the length n only and is tabulated for every distinct length; the second has as many terms as
// the text has words. Terms that are the same for every class (binomial coefficients) are left out. Words may be put into
// buckets: scores are then sums over the words of each bucket, so that one pass gives the scores of growing vocabularies.
//
// Cost: one visit of every entry for sums; for scores one of every entry and class, and one of every word, class and
// distinct length unless the zero term is linear in n. The same bytes for any number of threads.
// References: McCallum & Nigam (1998); Jansche (2003).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linear/count_models.h"

namespace textmill::linear {

template <class Value>
struct CountRows {
  std::size_t columns;
  std::span<const std::int64_t> offsets;  // [rows + 1]
  std::span<const std::int32_t> indices;  // [entries]
  std::span<const Value> values;          // [entries]
  std::size_t rows() const { return offsets.size() - 1; }
};

// Sums of counts and of texts with the word, by class and column: occurrences, documents [classes][columns].
// label [rows], weight [rows].
template <class Value>
void class_sums(const CountRows<Value>& x, std::size_t classes, std::span<const std::int32_t> label,
                std::span<const double> weight, std::span<double> occurrences, std::span<double> documents,
                std::size_t threads);

// A model for every word and class; every span [columns][classes], classes side by side.
struct EventTable {
  Family family;
  bool linear;    // the score of a word is count * weight, and nothing else
  bool presence;  // counts above 1 are 1
  std::size_t columns, classes;
  std::span<const double> first, second, z;
  std::span<const double> weight;  // log p - log(1 - p), or any weight of a linear model
};

// Adds to score [buckets][rows][classes] what the words of each text bring; bucket [columns], -1 for words left out.
template <class Value>
void score_counts(const EventTable& table, const CountRows<Value>& x, std::span<const double> length,
                  std::span<const std::int32_t> bucket, std::span<double> score, std::size_t threads);

// Fills out [buckets][lengths][classes] with the sums of log F(0 | n).
void zero_sums(const EventTable& table, std::span<const double> lengths, std::span<const std::int32_t> bucket,
               std::size_t buckets, std::span<double> out, std::size_t threads);

}  // namespace textmill::linear
