// The tokens of one document as one array of bytes, with one byte between neighbors: phrases and n-grams are slices of it.
//
//   new_york_is_large        tokens new, york, is, large
//   new_york is large        after joining the phrase new_york
//   "new_york is", ...       n-grams of the tokens that are left
//
// A phrase is looked for from left to right, as gensim does: a token and the next one that is no connector (of, the),
// with the connectors between them, are joined when the table has their slice; then the search goes on behind it.
//
// Cost: one hash for each token and level, and a look-up where both ends are those of phrases. Nothing is copied after a
// token was pushed.
// Reference: Mikolov et al. (2013), Distributed representations of words and phrases, section 4.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
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

// A set of strings by their hashes, in one bit each: it may take one that was not added for one that was, never the
// other way round (Bloom 1970, with one hash function). 16 bits for each string: at most one in 16 is taken wrongly.
class HashFilter {
 public:
  explicit HashFilter(std::size_t strings) : words_(std::bit_ceil(strings / 4 + 1)) {}
  void add(std::uint64_t hash) { words_[word(hash)] |= bit(hash); }
  bool may_hold(std::uint64_t hash) const { return (words_[word(hash)] & bit(hash)) != 0; }

 private:
  std::size_t word(std::uint64_t hash) const { return (hash >> 6) & (words_.size() - 1); }
  static std::uint64_t bit(std::uint64_t hash) { return std::uint64_t{1} << (hash & 63); }

  std::vector<std::uint64_t> words_;  // a power of two
};

// Phrases that are joined in one pass, with their ends: most tokens are at none, and need no look-up.
class PhraseLevel {
 public:
  explicit PhraseLevel(base::InternTable phrases);
  std::size_t size() const { return phrases_.size(); }
  bool holds(std::string_view phrase) const {
    return phrases_.find(phrase, base::hash_bytes(phrase)) != base::InternTable::kNone;
  }
  bool may_begin(std::uint64_t token_hash) const { return first_.may_hold(token_hash); }
  bool may_end(std::uint64_t token_hash) const { return last_.may_hold(token_hash); }

 private:
  base::InternTable phrases_;
  HashFilter first_, last_;  // what stands before and behind each mark of the phrases, as a token may hold marks itself
};

// Phrases by level: those of level l are made of words and of phrases of the levels before it.
struct PhraseTable {
  std::vector<PhraseLevel> levels;
  base::InternTable connectors;
};

class TokenRun {
 public:
  void clear() {
    used_ = 0;
    tokens_.clear();
  }
  void push(std::string_view token) {
    const std::size_t begin = used_, end = begin + token.size();
    if (end >= bytes_.size()) bytes_.resize(2 * end + 64);
    std::copy(token.begin(), token.end(), bytes_.data() + begin);
    bytes_[end] = kPhraseMark;
    used_ = end + 1;
    tokens_.push_back({begin, end, 1});
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
  void join(const PhraseLevel& level, const base::InternTable& connectors);

  std::vector<char> bytes_;  // the first used_ of them
  std::size_t used_ = 0;
  std::vector<Slice> tokens_;
};

}  // namespace textmill::corpus
