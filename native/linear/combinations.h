// Products of features: the search for those with a large gradient.
//
// A combination k = {j1 < j2 < ... } of at most d features has the value phi_k(x) = x_j1 x_j2 ..., and, for residuals r of
// one class, the gradient v_k = sum_i r_i phi_k(x_i). Both searches find every combination of 2 to d features with
// |v_k| > C, and nothing else, with its exact gradient.
//
// Bounds. With M_j = max_i |x_ij|, phi_k(x) <= x_j prod_{l != j} M_l for every component j; so with the masses
// tp_j = sum max(r_i x_ij, 0), tm_j = sum min(r_i x_ij, 0) over some rows (both sums of |r_i x_ij| where values may be
// negative), what those rows add to v_k lies between prod M max_j tm_j / M_j and prod M min_j tp_j / M_j.
//
// search_examples, Algorithm 2 of the paper: rows by falling |r_i|; a candidate is entered or updated as long as its sum so
// far and the masses of the remaining rows allow |v_k| > C; one that fails is frozen and never erased, so that it cannot
// come back with a part of its sum. When `erasing`, those are erased to save memory; one that comes back may then seem
// to violate, so the exact gradient of everything found is summed in a second pass. No violator is missed: the test of
// one never fails. Cost: one look-up for each combination of each row that is not filtered.
//
// search_vertical: depth first over combinations, each with its rows, from the largest feature on. At a node P and N are
// the sums of positive and negative r_i phi_k(x_i), which only shrink in larger combinations; a subtree ends when neither
// exceeds C. The features of the rows of a node, before its smallest one, are summed in one visit. Threads share the
// first features. The rows of a feature are those of its column; besides, the rows over the features that may be in a
// violating combination are written out, 4 bytes for an entry where values are 1.
// Reference: Okanohara & Tsujii (2009); Kudo & Matsumoto (2004) for the second bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sparse.h"
#include "linear/design.h"

namespace textmill::linear {

struct Candidates {
  std::size_t degree;                // d >= 2
  double threshold;                  // C >= 0
  std::span<const double> residual;  // [n] r
  bool negative;                     // whether values may be below 0
};

struct Violators {
  std::vector<std::int32_t> features;  // [count][d], rising, -1 behind the last
  std::vector<double> gradient;        // [count]
  std::size_t visited = 0;             // combinations of rows that were looked at, or nodes
  std::size_t stored = 0;              // distinct candidates that were entered; when erasing, the most held at a time
};

// x is n x m with sorted rows. Violators come in the order of their features. m^d must stay below 2^63.
Violators search_examples(const base::Csr<std::int64_t, double>& x, const Candidates& candidates, bool erasing);
// The first `features` columns of x; what stands behind them is not combined.
Violators search_vertical(const Design& x, std::size_t features, const Candidates& candidates, std::size_t threads);

}  // namespace textmill::linear
