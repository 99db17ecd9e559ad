// The tokens of one document as one array of bytes, with one byte between neighbours: phrases and n-grams are slices of it.
//
//   new_york_is_large        tokens new, york, is, large
//   new_york is large        after joining the phrase new_york
//   "new_york is", ...       n-grams of the tokens that are left
//
// A phrase is looked for from left to right, as gensim does: a token and the next one that is no connector (of, the),
// with the connectors between them, are joined when the table has their slice; then the search goes on behind it.
//
// Cost: one look-up for each token and level. Nothing is copied after a token was pushed.
// Reference: Mikolov et al. (2013), Distributed representations of words and phrases, section 4.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/intern.h"

namespace textmill::corpus {

inline constexpr char kPhraseMark = '_';  // stands between the words of a phrase
inline constexpr char kNgramMark = ' ';   // stands between the words of an n-gram

// What tokens become when a function outside was asked once for each distinct one: written token -> form.
class Forms {
 public:
  std::size_t size() const { return written_.size(); }
  // Adds a token that is not there yet; an empty form drops it.
  void insert(std::string_view token, std::string_view form);
  bool holds(std::string_view token) const {
    return written_.find(token, base::hash_bytes(token)) != base::InternTable::kNone;
  }
  // The form of a token that is there; empty for one that is not.
  std::string_view operator[](std::string_view token) const;

 private:
  base::InternTable written_;
  std::vector<char> bytes_;
  std::vector<std::size_t> offsets_{0};  // size() + 1
};

// Phrases by level: those of level l are made of words and of phrases of the levels before it.
struct PhraseTable {
  std::vector<base::InternTable> levels;
  base::InternTable connectors;
};

class TokenRun {
 public:
  void clear() {
    bytes_.clear();
    tokens_.clear();
  }
  void push(std::string_view token) {
    const std::size_t begin = bytes_.size();
    bytes_.append(token);
    tokens_.push_back({begin, bytes_.size(), 1});
    bytes_.push_back(kPhraseMark);
  }

  std::size_t size() const { return tokens_.size(); }
  std::size_t parts(std::size_t token) const { return tokens_[token].parts; }
  std::string_view operator[](std::size_t token) const { return slice(tokens_[token].begin, tokens_[token].end); }

  // Joins the phrases of all levels, one after the other.
  void join(const PhraseTable& phrases);

  // Calls emit(bytes) for all runs of shortest to longest tokens, by their first token, short ones before long ones.
  template <class Emit>
  void emit_ngrams(std::size_t shortest, std::size_t longest, Emit&& emit) {
    for (const Slice& token : tokens_) bytes_[token.end] = kNgramMark;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      for (std::size_t n = shortest; n <= longest && i + n <= tokens_.size(); ++n)
        emit(slice(tokens_[i].begin, tokens_[i + n - 1].end));
  }

 private:
  struct Slice {
    std::size_t begin, end;  // bytes
    std::size_t parts;       // how many of the tokens that were pushed
  };
  std::string_view slice(std::size_t begin, std::size_t end) const { return {bytes_.data() + begin, end - begin}; }
  void join(const base::InternTable& level, const base::InternTable& connectors);

  std::string bytes_;
  std::vector<Slice> tokens_;
};

}  // namespace textmill::corpus
