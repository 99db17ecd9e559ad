// Whole tables of count models: one distribution for every word and class, fitted in one call.
//
//   maximize over theta (and z)   sum_i w_i log F(x_i | n_i)  +  a log p + b log(1 - p)  +  c log z + d log(1 - z)
//
// over the texts i of a class; for the Poisson and the negative binomial the prior of mu is a log mu - b mu. With all of
// a, b, c, d zero this is maximum likelihood.
//
//   poisson, binom        closed form
//   negbinom, betabinom   the simpler model when the score says that no spread helps, else Newton's method in
//                         (log mu, log kappa) or (logit p, log t), begun at the moments
//   inflated              z = 0 when the score says so; else some steps of EM, then Newton with logit z as well
//   inflated, 2 param.    Newton from the two simpler models; the best of all is kept
//
// Newton's steps are cut so that the objective never falls. Words seen once or twice leave little but the product of p and
// 1 - z to be learned; what is not done after some steps goes on along that ridge. EM: r_i = z / (z + (1 - z) F(0 | n_i)) for x_i = 0, then
// z = sum r_i / s and F is fitted with weights 1 - r_i.
//
// A word is absent from most texts. All texts without it that have one length have one term, so a word costs the number of
// distinct lengths plus its own texts for each step, not the number of texts. Cells do not depend on each other: any
// number of threads gives the same bytes.
// References: Jansche (2003); Lambert (1992), Zero-inflated Poisson regression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "linear/count_models.h"

namespace textmill::linear {

// Counts by class and word, with the lengths of the texts.
class CountTable {
 public:
  // Rows in compressed form with whole numbers >= 0; label [rows] in [0, classes), exposure [rows] >= 0, weight [rows]
  // >= 0. Clipped: counts and exposures above 1 become 1. Throws std::invalid_argument when an index is out of range.
  CountTable(std::size_t columns, std::size_t classes, std::span<const std::int64_t> offsets,
             std::span<const std::int32_t> indices, std::span<const double> values, std::span<const std::int32_t> label,
             std::span<const double> exposure, std::span<const double> weight, bool clipped, std::size_t threads);

  std::size_t columns() const { return columns_; }
  std::size_t classes() const { return length_begin_.size() - 1; }
  std::size_t cells() const { return columns_ * classes(); }
  std::size_t entries() const { return count_.size(); }

  struct Entries {
    std::span<const double> count;         // > 0
    std::span<const std::int32_t> length;  // where its length is among those of the class
    std::span<const double> weight;
  };
  Entries entries(std::size_t cell) const;                   // cell = class * columns + column
  std::span<const double> lengths(std::size_t label) const;  // rising
  std::span<const double> weights(std::size_t label) const;  // of the texts with each length

 private:
  std::size_t columns_;
  std::vector<std::size_t> begin_;         // [cells + 1]
  std::vector<double> count_;              // [entries]
  std::vector<std::int32_t> at_;           // [entries]
  std::vector<double> entry_weight_;       // [entries]
  std::vector<std::size_t> length_begin_;  // [classes + 1]
  std::vector<double> length_, length_weight_;
};

struct Prior {
  double success = 0.0, failure = 0.0;        // a, b
  double inflated = 0.0, not_inflated = 0.0;  // c, d
};

struct FitRules {
  Family family;
  bool inflated;
  bool em;  // by EM alone
  Prior prior;
  std::size_t max_iter;
  double tolerance;         // of EM: change of z and of the logarithms of the parameters
  const Parameters* start;  // of EM, or nullptr
};

// Bits of the state of a fit.
enum FitState : std::int32_t {
  kAbsent = 1,        // the word occurs in no text of the class
  kNoInflation = 2,   // z = 0 is best
  kNoSpread = 4,      // kappa = infinity or gamma = 0 is best
  kUnidentified = 8,  // no text is longer than 1: z and p cannot be separated, z is set to 0
  kUnfinished = 16,   // the iterations ended first
  kAtEnd = 32,        // a parameter runs to its end: p to 1, gamma to 1 or kappa to 0
};

struct Fits {  // every span [cells]
  std::span<double> z, first, second;
  std::span<double> log_likelihood;  // with its constants, without the prior
  std::span<double> errors;          // [cells][3] standard errors of first, second, z; NaN where none exists
  std::span<std::int32_t> state, iterations;
};

void fit_table(const CountTable& table, const FitRules& rules, const Fits& out, std::size_t threads);

}  // namespace textmill::linear
