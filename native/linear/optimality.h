// How far weights are from the conditions of optimality of a penalized loss, and which columns to work on next.
//
//   slope g_j of the loss, weight w_j:   w_j != 0: |g_j + l2 w_j + l1 sign(w_j)| = 0,    w_j = 0: |g_j| <= l1
//
// Sums are those of blocks of columns, added in order. Cost: one visit of every column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::linear {

struct Optimality {
  double highest = 0.0;    // largest |g|
  double violation = 0.0;  // largest violation of the conditions
  double excess = 0.0;     // sum of max(0, |g| - l1)^2
  double norm = 0.0;       // sum of |w|
  double square = 0.0;     // sum of w^2
  std::size_t active = 0;  // weights that are not 0
};

// slope, weight [m]
Optimality optimality(std::span<const double> slope, std::span<const double> weight, double l1, double l2,
                      std::size_t threads);

// The columns, rising, whose weight is not 0 or whose |slope| exceeds `floor`.
std::vector<std::int32_t> working_set(std::span<const double> slope, std::span<const double> weight, double floor,
                                      std::size_t threads);

}  // namespace textmill::linear
