// VA-File: exact nearest neighbors by scanning short approximations first.
//
// Column j is cut into 2^b cells by rising edges e_j0 <= e_j1 <= ...; a row keeps the numbers of its cells, b bits each.
// For a query, the part of the key (scan.h) that column j can add is bounded for every cell,
//
//   product     q_j e  at the two edges              distance    -(distance of q_j to the nearest, the farthest point)^2
//
// and sums of table entries bound the key of a row from below and above. Phase 1 scans all approximations and keeps the
// rows whose upper bound reaches the k-th best lower bound; phase 2 reads those rows in the order of their upper bounds
// and stops when the next one is below the k-th best key. Table entries are whole numbers, rounded outwards, and their
// sums are exact: no neighbor is lost to rounding.
//
// Cost: b d bits a row instead of 32 d; two integer additions a cell; few rows read.
// Reference: Weber & Blott (1997), An approximation based data structure for similarity search.
#pragma once

#include "vectors/scan.h"

namespace textmill::vectors {

struct Approximations {
  std::size_t bits;                     // 1 to 8
  std::span<const float> edges;         // [columns][2^bits + 1], rising
  std::span<const std::uint8_t> cells;  // [rows][bytes_of(bits, columns)]: bit j * bits is where cell j begins
};

inline std::size_t bytes_of(std::size_t bits, std::size_t columns) { return (bits * columns + 7) / 8; }

// cells [rows][bytes] of values [rows][columns], which lie between the outer edges.
void approximate(std::span<const float> values, std::size_t columns, const Approximations& edges,
                 std::span<std::uint8_t> cells, std::size_t threads);

// Offers all wanted rows for one query to `best`; returns how many rows were read.
std::size_t search(const Dense& x, const Approximations& approximations, const Query& query, Wanted wanted, Best& best,
                   std::size_t threads);

}  // namespace textmill::vectors
