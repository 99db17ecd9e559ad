// All names of a collection that score at least t with a given one, without looking at all of them.
//
// Let u_i = x_i / |x| and v_j = y_j / |y| be the weights of the words of two names, s_ij <= 1 their similarities. The words
// of the query are put in the order 1, 2, ... of falling weight, and r_i is the largest similarity of word i to any word
// of the collection. What the words from k on can add to a score is at most
//
//   one-to-one   (sum_{i>=k} r_i^2 u_i^2)^1/2    Cauchy-Schwarz: sum_(i,j) s_ij u_i v_j over edges i>=k, no j twice, |v| = 1
//   closest      h sum_{i>=k} r_i u_i            h: the largest weight v of a word, at all its places, in any name; and the
//                words that choose from the other side add at most max_{i>=k} r_i u_i max_y |v|_1, u_i at all places
//   average      sum_{i>=k} r_i / n              and from the other side max_{i>=k} r_i
//
// Call it T_k. A name that shares no neighbor with words 1..k-1 scores at most T_k, so candidates come from the postings
// of the neighbors of words with T_k >= t only (prefix filter): frequent words, whose weights are small, are never
// looked up. A name met first at word k, in a one-to-one alignment, by neighbors of similarity s and weight v scores at
// most u_k s v + T_{k+1}; postings lie by falling v, so the scan ends at the first that is too light (weight filter).
// Where the table is so full that postings are more than names, all names are candidates. These are bounded by
// sum_j v_j max_i s_ij u_i, m look-ups as the maximum is known for each word, and then by sum_i u_i max_j s_ij v_j; each is
// >= a one-to-one score, as the edge of a column, or row, weighs at most its maximum. What is left is aligned. For the
// `top` best, t rises with the worst of them.
//
// A table may lack similarities below `cut`. Edges it lacks add at most cut B, B their sum of u_i v_j; with R = T_1 for
// r = 1, a score of at least t has t <= R - B + cut B, so that the edges it has add at least t - cut (R - t) / (1 - cut):
// this takes the place of t in the filters. Pairs are then bounded with `cut` for each similarity that is missing, and
// those that can reach t are reported with that bound. The t of the `top` best rises with scores by the table alone,
// which are never too high, but for greedy alignments, where t stays.
//
// Without a cut the answer equals that of comparing with every name: filters have a slack for rounding, scores do not
// depend on them. With one it holds every pair that reaches t > cut; where R > 1, which only closest has, t <= cut R makes
// all names candidates.
// Cost: the postings in the prefix and n m for each candidate. Memory: 16 bytes a word of a name, and 4 a name for each thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strings/matches.h"
#include "strings/second_level.h"

namespace textmill::strings {

struct Posting {
  std::int32_t name;
  float weight;  // v_j
};

struct Place {
  std::int32_t word;
  float weight;  // v_j
};

class Index {
 public:
  // The view must live as long as the index. Words of names are below `words`.
  Index(const Names& names, std::size_t words, const Rule& rule);

  // `table` holds the similarities of the left words to those of the collection.
  // Pairs of names left.begin..end-1 with names of the collection that score at least `threshold` > 0. `top` > 0 keeps the
  // best of each left name. In a self-join (`same`) left is the collection itself: no name meets itself, and unless `top`
  // is given only pairs left < right are reported. Similarities below `cut` may be missing from the table: 0 for none;
  // otherwise scores are upper bounds, and of each left name there may be more than `top`.
  Matches search(const Names& left, const Table& table, std::size_t begin, std::size_t end, double threshold,
                 std::size_t top, bool same, double cut, std::size_t threads) const;

 private:
  struct Scratch;
  std::size_t prefix_postings(const Table& table, const std::int32_t* rows, const Scratch& scratch, double least) const;
  void search_one(const Names& left, const Table& table, std::size_t name, double threshold, std::size_t top, bool same,
                  double cut, Scratch& scratch, Matches& out) const;

  Names names_;
  Rule rule_;
  std::vector<std::int64_t> offsets_;  // [V+1] of postings
  std::vector<Posting> postings_;
  std::vector<Place> places_;  // [offsets[N]]: the words of all names
  double longest_ = 0.0;       // the largest |v|_1
  double heaviest_ = 0.0;      // h
};

}  // namespace textmill::strings
