// Classes of words and of chunks: the exchange algorithm, and the best cut of sentences into chunks.
//
// Every type (a word, or a chunk of several) has one class; types follow each other by the bigram model of classes,
//
//   p(t_i | t_{i-1}) = p(t_i | c_i) p(c_i | c_{i-1}),      LL = sum_{c,d} h(N(c,d)) - 2 sum_c h(N(c)) + sum_t h(N(t))
//
// with h(x) = x log x. One type, the boundary, stands before and behind each sentence and alone in class 0, so that a
// class is as often a predecessor as a successor. Exchange takes each type out of its class and puts it where LL is
// highest. With S(c), P(c) the counts of (w, class c) and (class c, w) without (w, w), which occurs s times, and all N
// without w,
//
//   G(k) = sum_{c != k} [h(N(k,c) + S(c)) - h(N(k,c))] + sum_{c != k} [h(N(c,k) + P(c)) - h(N(c,k))]
//        + h(N(k,k) + S(k) + P(k) + s) - h(N(k,k)) - 2 [h(N(k) + N(w)) - h(N(k))]
//
// The approximate gain takes the derivative of h, sum_c S(c) log N(k,c) + P(c) log N(c,k) - 2 N(w) log N(k): a sum of
// rows of a table of logarithms, for all k at once. (1/e is added to each N: then the derivative at 0 is the exact gain
// of a first occurrence.) Only the classes that it ranks highest get an exact gain.
//
// Threads: moves are sequential. Types are taken in runs, which all threads gather, rank and decide on as if the run had
// just begun. Then those that are to move are looked at again, one after the other, as soon as something has moved, so
// that LL never falls; those that are to stay do so until the next sweep. Where more than a quarter moves, as in the
// first sweep, decisions would mostly be made twice: there types are decided on one after the other only. A run has at
// most a hundred-and-twenty-eighth of the text, so that frequent types, whose moves change much, are nearly alone in
// theirs. Runs do not depend on the number of threads.
//
// Cost of a sweep: bigram types + for each type its neighboring classes x K additions. References: Martin, Liermann &
// Ney (1998), Algorithms for bigram and trigram word clustering; Deligne & Bimbot (1995), Language modeling by variable
// length sequences; Okanohara & Tsujii (2007), A discriminative language model with pseudo-negative samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lm/ngram.h"

namespace textmill::lm {

// Who stands beside whom, and how often: the neighbors of type t are type[begin[t]] ... type[begin[t + 1] - 1].
struct Neighbors {
  std::vector<std::int64_t> begin;  // [types + 1]
  std::vector<std::int32_t> type;   // ascending for each t
  std::vector<std::int64_t> count;
};

// Successors of the types of sentences, with the boundary before and behind each sentence that has a type.
Neighbors successors(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens, std::size_t types,
                     std::int32_t boundary, std::size_t threads);
Neighbors transposed(const Neighbors& neighbors);

class Exchange {
 public:
  struct Term {  // a row of logarithms, and how often it counts
    const double* row;
    double factor;
  };

  // class_of [types], below `classes`; the boundary has class 0, alone. `candidates` classes get an exact gain.
  Exchange(std::size_t types, std::size_t classes, std::span<const std::int64_t> offsets,
           std::span<const std::int32_t> tokens, std::int32_t boundary, std::span<const std::int32_t> class_of,
           std::size_t candidates, std::size_t threads);

  // Moves each of the types in turn to the best of the classes first[g] ... first[g + 1] - 1, where g is the group that
  // its class is in; `first` rises from 1 to the number of classes. Types that do not occur stay. Returns moves.
  std::size_t sweep(std::span<const std::int32_t> order, std::span<const std::int32_t> first);

  double log_likelihood() const { return log_likelihood_; }  // kept up to date from move to move
  double recomputed() const;                                 // the same from the counts
  const std::vector<std::int32_t>& class_of() const { return class_of_; }
  const std::vector<std::int64_t>& counts() const { return total_; }       // [types]
  const std::vector<std::int64_t>& class_counts() const { return n_; }     // [classes]
  const std::vector<std::int64_t>& transitions() const { return pairs_; }  // [classes][classes]

 private:
  // A type that is to be moved: who stands beside it, and what its run found.
  struct Moving {
    std::int32_t type = 0;
    std::size_t own = 0, from = 0, to = 0;           // its class, and those it may move to: from ... to - 1
    std::int64_t self = 0, size = 0;                 // s and N(w)
    std::vector<std::int64_t> s, p;                  // S and P, [classes]
    std::vector<std::int32_t> s_classes, p_classes;  // all classes where they are not 0
    std::vector<std::int32_t> ranked;                // candidates
    std::size_t best = 0;
    double gained = 0.0;
  };

  struct Scratch {
    std::vector<Term> terms;
    std::vector<double> sums, before, after;  // [classes]
  };

  void gather(Moving& moving) const;
  void rank(Moving& moving, Scratch& scratch) const;
  double gain(const Moving& moving, std::size_t k) const;
  void decide(Moving& moving) const;
  void change(const Moving& moving, std::size_t k, std::int64_t sign);

  std::size_t classes_, candidates_, threads_;
  Neighbors after_, before_;
  std::vector<std::int32_t> class_of_;
  std::vector<std::int64_t> total_, n_, pairs_, pairs_by_column_;  // [types], [classes], [c][d], [d][c]
  std::vector<double> logs_, logs_by_column_, class_logs_;         // log(N + 1/e): [c][d], [d][c], [c]
  double log_likelihood_ = 0.0;
  std::vector<Moving> run_;
  bool busy_ = true;  // more than a quarter of the last run moved
};

// A model of chunks: a view. The type of a chunk is its node in the tree of chunks less 1.
struct Chunks {
  const Lookup& lookup;
  std::size_t longest;                     // in words
  std::span<const std::int32_t> class_of;  // [types]
  std::span<const double> log_lexicon;     // [types] log p(chunk | class), -infinity for what is no chunk
  std::span<const double> log_transition;  // [classes][classes] log p(class | class before); class 0: start and end
  std::size_t classes;
};

// The best partition of each sentence, written from the place of its first token on; `pieces` how many chunks it has, 0
// where there is no partition; log p of that partition and of all together. Tokens >= 0.
//   best[j][L] = max_L' best[j - L][L'] + log p(c | c') + log p(chunk | c)       all: the same with a sum
// O(tokens longest^2).
void segment(const Chunks& model, std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
             std::span<std::int32_t> types, std::span<std::int32_t> pieces, std::span<double> best,
             std::span<double> all, std::size_t threads);

}  // namespace textmill::lm
