// Features of phrases: what stands in, before and behind them, numbered.
//
// A word has views (its plain form, its case, an ending ...), found once per distinct word and interned as values. A
// template says which value of a phrase s .. e - 1 of a sentence of T words is a feature:
//
//   length       number of words, at most `place`           before i, after i    view of the i-th word before, behind
//   distance     words before the phrase, at most `place`   words                view of every word inside, each value once
//   first i      view of the i-th word, i <= e - s          phrase               views of all words, as one value
//   last i       view of the i-th word from the end         keyword              whether a word of the sentence is listed
//
// A position beyond the phrase gives nothing for first and last, and `outside` for before and after. A feature is a pair
// (template, value). Cost: one look-up of a number a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/flat_table.h"
#include "base/intern.h"

namespace textmill::entities {

enum class Position : std::uint8_t { kLength, kDistance, kFirst, kLast, kBefore, kAfter, kWords, kPhrase, kKeyword };

struct Template {
  Position position;
  std::int32_t place;  // from 1; largest number of length and distance
  std::int32_t view;
};

struct Sentences {                        // a view
  std::span<const std::int64_t> offsets;  // [S + 1]
  std::span<const std::int32_t> words;    // [T] numbers of distinct words
  std::span<const std::int32_t> views;    // [distinct words][views] values, -1 for none
  std::size_t width;                      // number of views
  std::span<const std::uint8_t> keyword;  // [distinct words]
};

// Values of views and of numbers, and the features of a model.
class PhraseTable {
 public:
  explicit PhraseTable(std::vector<Template> templates);

  std::span<const Template> templates() const { return templates_; }
  std::size_t features() const { return template_of_.size(); }
  std::int32_t template_of(std::size_t feature) const { return template_of_[feature]; }
  std::string_view value(std::size_t feature) const { return values_[static_cast<std::size_t>(value_of_[feature])]; }
  std::int32_t value_id(std::string_view value) {
    return static_cast<std::int32_t>(values_.insert(value, base::hash_bytes(value)));
  }
  // Takes a feature if it is new; returns its number.
  std::int32_t add(std::int32_t of_template, std::int32_t value);
  // Numbers features by template and then by their values' bytes; returns the new number of each.
  std::vector<std::int32_t> sort();

  struct Rows {
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> ids;
  };
  // Features of phrases of sentences: phrases of sentence s are begin, end [phrases[s] .. phrases[s + 1]).
  // New ones are taken or, by the const form, left out; phrases as one value need values, which are interned here.
  Rows known(const Sentences& sentences, std::span<const std::int64_t> phrases, std::span<const std::int32_t> begin,
             std::span<const std::int32_t> end, std::size_t threads) const;
  Rows fresh(const Sentences& sentences, std::span<const std::int64_t> phrases, std::span<const std::int32_t> begin,
             std::span<const std::int32_t> end);

 private:
  template <class Take, class Text>
  void visit(const Sentences& sentences, std::size_t s, std::int32_t begin, std::int32_t end, bool keyword, Take&& take,
             Text&& text) const;

  std::vector<Template> templates_;
  base::InternTable values_;
  std::vector<std::int32_t> numbers_;    // values of "0", "1", ... up to the largest of length and distance
  std::int32_t outside_, yes_, no_;      // values
  base::FlatTable<std::int32_t> pairs_;  // numbers of (template, value)
  std::vector<std::int32_t> template_of_, value_of_;  // [features]
};

}  // namespace textmill::entities
