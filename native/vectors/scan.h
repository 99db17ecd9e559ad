// Exact nearest neighbors among dense float32 rows: one query at memory bandwidth, tiles of products for many.
//
//   key(x, q) = x.q                 product: cosine of rows of length 1
//   key(x, q) = -|x - q|^2          distance: Euclidean, and Hellinger of square roots
//
// A row is passed over when an upper bound of its key, from float32 arithmetic and perhaps from its first columns only,
// is below the k-th best exact key so far. With h the first columns and t the others (Cauchy-Schwarz),
//
//   x.q         <= x_h.q_h + |x_t| |q_t|
//   -|x - q|^2  =  2 (x.q - |x|^2 / 2) - |q|^2
//
// plus a margin for rounding: a float32 sum of d products, in any order, is off by less than d 2^-23 |x| |q|. Products
// of two float32 are exact in double, and the exact key adds them in four fixed lanes without fused operations, so keys
// have the same bits on every instruction set.
//
// Cost: rows x head columns read once; exact keys for the few rows that pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vectors/best.h"

namespace textmill::vectors {

enum class Kind { product, distance };

struct Dense {
  Kind kind;
  std::size_t rows;
  std::size_t columns;
  std::size_t head;               // 1 <= head <= columns: how many are looked at first
  std::span<const float> values;  // [rows][columns], finite, |x| <= longest
  std::span<const float> heads;   // [rows][head]: the values themselves when head == columns
  std::span<const float> tails;   // [rows] lengths of the columns after head, rounded up; empty when head == columns
  std::span<const float> halves;  // [rows] |x|^2 / 2 for Kind::distance, else empty
  std::span<const std::uint8_t> allowed;  // [rows] 1 for rows that may be found; empty: all
  double longest;                         // <= 1e18
};

// A query with what its bounds are made of; the numbers are the caller's.
struct Query {
  const float* values;  // [columns], finite, |q| <= 1e18
  double square;        // |q|^2
  double margin;        // of rounding
  float tail;           // length of the columns after head, rounded up
};

Query prepare(const Dense& x, const float* values);

// The least upper bound of x.q - |x|^2 / 2, or of x.q, of a row whose key may reach `needed`, when bounds may be too
// small by `allowance`, beside rounding.
float cut(const Dense& x, const Query& query, double needed, double allowance = 0.0);

// The exact key of a row and a query of `columns` numbers.
double exact_key(Kind kind, const float* x, const float* q, std::size_t columns);

// Offers all wanted rows for one query to `best`; returns how many rows were not settled by the bound of their head.
std::size_t scan(const Dense& x, const Query& query, Wanted wanted, Best& best, std::size_t threads);

// Offers rows first .. first + count - 1, given the products [count] of their heads, or whole rows, with the query. One thread.
std::size_t scan_products(const Dense& x, std::size_t first, std::size_t count, const float* products,
                          const Query& query, Best& best);

}  // namespace textmill::vectors
