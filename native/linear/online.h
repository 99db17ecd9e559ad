// Training one row at a time: stochastic gradient with cumulative L1 and L2 penalties, for streams.
//
// Step t (rows counted from 1 over the whole stream), K margins (one for two classes), u the L1 penalty that every
// weight could have received so far, q_k what weight k received:
//
//   eta = (offset + t)^-decay
//   u  += eta l1 / t                    the penalties are those of the rows seen so far: a fixed prior, growing data
//   for every feature k of the row:
//     w_k <- w_k (product of 1 - eta l2 / t over the steps since k was last seen)
//     z    = w_k + eta r x_k            r: weight ([y = c] - p_c)
//     w_k <- max(0, z - (u + q_k)) if z > 0,  min(0, z + (u - q_k)) if z < 0;      q_k += w_k - z
//
// `settle` gives every weight the decay and the penalty it is owed. Between chunks that is
// done too, which moves weights by a step's decay at most.
// Cost: K operations an entry. Reference: Tsuruoka, Tsujii & Ananiadou (2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sparse.h"

namespace textmill::linear {

struct Rates {
  double offset, decay;
  double l1, l2;
  bool intercept;
};

struct Stream {    // what goes on from chunk to chunk
  double steps;    // t
  double penalty;  // u
  double shrink;   // log of the product of all decays
};

// w, q [K][m], seen [m] the shrink when a column was last seen, bias [K]; K = 1 for two classes. Every label is below
// max(K, 2). Returns the sum of the losses met on the way.
double learn_rows(const base::Csr<std::int64_t, double>& x, std::span<const std::int32_t> label,
                  std::span<const double> weight, const Rates& rates, std::size_t margins, std::span<double> w,
                  std::span<double> q, std::span<double> seen, std::span<double> bias, Stream& stream);

void settle(std::size_t margins, std::span<double> w, std::span<double> q, std::span<double> seen,
            const Stream& stream);

}  // namespace textmill::linear
