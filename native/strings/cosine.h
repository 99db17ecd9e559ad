// All names of a collection whose cosine with a given one is at least t: a join of sparse vectors by prefixes.
//
//   cos(x, y) = sum_w x_w y_w / (|x| |y|)               x_w >= 0: the weight of word, or n-gram, w in the name
//
// All vectors put their words in one order, the rarest of the collection first. Let u and v be two vectors of length 1, u_w
// the weight of word w, and u_>w the part of u behind w in that order. Whatever is common from word w on, if w is common,
//
//   what u and v have in common from w on  =  u_w v_w + u_>w . v_>w  <=  u_w v_w + |u_>w| |v_>w|
//                                         <=  |(u_w, u_>w)| |(v_w, v_>w)|                                 Cauchy-Schwarz
//
// Taken at the first word that both have, this is a bound of the cosine. So a query reads the postings of its words in
// order only as long as |(u_w, u_>w)| >= t, which leaves out its frequent words, with the longest postings; those of a
// word lie by falling |(v_w, v_>w)|, and the scan ends at the first that is too light; what passes the sharper bound is a
// candidate. Words that no other name has are left out of the query's part of the bounds. For the `top` best, t rises with
// the worst of them.
//
// Candidates are many, as frequent n-grams are in most vectors. A sketch of each vector sorts out nearly all: words fall
// into B buckets, u_b is the part of u in bucket b, and
//
//   cos <= sum_b |u_b| |v_b|                            Cauchy-Schwarz in each bucket; |u_b| rounded up to 7 bits
//
// Cosines are double, sums in the order of words: the same for both directions, and exactly 1 for equal vectors. Bounds
// are float32 with a slack, so the answer is that of comparing with every name.
// Cost: postings of the rare words, B products a candidate, one look-up for each word of what is left. Memory: 28 bytes a
// word of a name, B bytes a name, and for each thread 4 bytes a name and 8 a word. Reference: Bayardo, Ma & Srikant (2007); Anastasiu & Karypis (2014), L2AP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strings/matches.h"
#include "strings/second_level.h"

namespace textmill::strings {

class CosineIndex {
 public:
  // Every word of a name once, below `words`. Nothing of the view is kept.
  CosineIndex(const Names& names, std::size_t words, std::size_t threads);

  // Pairs of names left.begin..end-1 with names of the collection that score at least `threshold`, and more than 0. Words
  // of `left` that are not in the collection are -1. `top` > 0 keeps the best of each left name.
  Matches search(const Names& left, std::size_t begin, std::size_t end, double threshold, std::size_t top,
                 std::size_t threads) const;
  // The same for names of the collection: no name meets itself, and unless `top` is given only pairs left < right are reported.
  Matches search_self(std::size_t begin, std::size_t end, double threshold, std::size_t top, std::size_t threads) const;

  std::vector<double> squares() const { return squares_; }  // [N]
  std::size_t size() const { return squares_.size(); }
  std::size_t words() const { return ranks_.size(); }

  static constexpr std::size_t kBuckets = 128;
  using Sketch = std::array<std::uint8_t, kBuckets>;

 private:
  struct Weight {
    std::int32_t rank;  // of the word, the rarest first
    double weight;
  };
  struct Posting {
    std::int32_t name;
    float weight;  // v_w
    float rest;    // |v_>w|
  };
  struct Scratch;
  static Sketch sketch_of(std::span<const Weight> vector, double length);
  void search_one(std::size_t name, double square, double threshold, std::size_t top, bool same, Scratch& scratch,
                  Matches& out) const;

  std::vector<std::int32_t> ranks_;    // [V] of each word
  std::vector<std::int64_t> offsets_;  // [N+1]
  std::vector<Weight> weights_;        // the vectors of all names, by rank
  std::vector<double> squares_;        // [N], of names without weight 0
  std::vector<Sketch> sketches_;       // [N]
  std::vector<std::int64_t> starts_;   // [V+1] of the postings of each rank
  std::vector<Posting> postings_;
};

}  // namespace textmill::strings
