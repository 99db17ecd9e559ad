// A polynomial kernel of sets, expanded: weights of conjunctions in place of active examples.
//
//   (1 + r)^d = sum_s c_d(s) binom(r, s),   c_2 = 1 3 2,   c_3 = 1 7 12 6,   c_4 = 1 15 50 60 24
//   f(x)      = sum over subsets T of x, |T| <= d, of W(T),      W(T) = c_d(|T|) sum of a_i over all x_i that contain T
//
// Slices, exact: the n most frequent features have a table of W for all their subsets, so that the long postings are
// never read. Features beyond them have short postings; an example i that is met there adds what it has more,
//
//   f(x) = sum over T of frequent features W(T) + sum_i a_i [(1 + q_i + r_i)^d - (1 + q_i)^d]
//
// where r_i counts rare common features and q_i frequent ones, by the population count of bit masks. (Slicing splits
// features by frequency, after Yoshinaga & Kitsuregawa.)
//
// Expansion, pruned: all conjunctions with |W(T)| >= least, found depth first. The examples that contain T also bound
// what any larger conjunction can weigh, c |a| summed over them, so whole branches fall away (Kudo & Matsumoto's PKE,
// with a bound in place of a count). least = 0 keeps everything and is exact.
//
// Cost of a sentence of m features, m_f of them frequent: slices binom(m_f, d) + rare postings; expansion at most
// binom(m, d) look-ups, fewer where a conjunction has no larger one. References: Kudo & Matsumoto (2003), Fast methods
// for kernel-based text analysis; Yoshinaga & Kitsuregawa (2010), Kernel slicing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_table.h"
#include "lm/kernel.h"

namespace textmill::lm {

// c_d(0) ... c_d(d), by c_{d}(s) = s! S(d + 1, s + 1); degree 1 to 4.
std::array<double, 5> expansion_factors(int degree);

class Slices {
 public:
  // `frequent` features at most get a table; coefficient [active].
  Slices(const ActiveSet& active, std::span<const double> coefficient, std::size_t features, int degree,
         std::size_t frequent, std::size_t threads);
  void margins(const Dictionary& dictionary, const Examples& examples, std::span<double> out,
               std::size_t threads) const;
  std::size_t bytes() const;
  std::size_t frequent() const { return frequent_; }

 private:
  double table_sum(std::span<const std::int32_t> places) const;

  int degree_;
  std::size_t frequent_, words_;  // words of a mask
  double base_ = 0.0;
  std::vector<double> coefficient_;
  std::vector<std::int32_t> place_;           // [features] place among the frequent ones, -1 for rare ones
  std::vector<std::uint64_t> mask_;           // [active][words]
  std::array<std::vector<double>, 5> table_;  // by size: W of the subset p < q < ... at binom(p, 1) + binom(q, 2) + ...
  std::vector<std::int64_t> begin_;           // postings of rare features
  std::vector<std::int32_t> row_;
  std::vector<double> power_;  // (1 + r)^d
};

class Expansion {
 public:
  Expansion(const ActiveSet& active, std::span<const double> coefficient, std::size_t features, int degree,
            double least, std::size_t threads);
  void margins(const Dictionary& dictionary, const Examples& examples, std::span<double> out,
               std::size_t threads) const;
  std::size_t size() const { return conjunctions_; }  // with a weight of their own
  std::size_t bytes() const { return entries_.memory(); }

 private:
  struct Entry {
    double weight = 0.0;
    bool larger = false;  // conjunctions that begin with this one are there
  };
  using Made = std::pair<std::uint64_t, Entry>;
  struct Miner;
  double sum(std::span<const std::int32_t> ranks, std::size_t from, std::uint64_t key, int left) const;

  int degree_;
  unsigned bits_;
  double base_ = 0.0;
  std::size_t conjunctions_ = 0;
  std::vector<std::int32_t> rank_;               // [features] rare first: few conjunctions begin with a rare feature
  base::FlatTable<Entry, base::Mixed> entries_;  // by ranks + 1 of the features, `bits_` each
};

}  // namespace textmill::lm
