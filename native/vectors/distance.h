// Distances and similarities of all pairs of rows of two matrices, sparse or dense.
//
//   manhattan      sum |x_i - y_i|                     kl        sum x_i log(x_i / y_i) - x_i + y_i
//   euclidean      sqrt(sum (x_i - y_i)^2)             js        1/2 sum x_i log(x_i / m_i) + y_i log(y_i / m_i)
//   chebyshev      max |x_i - y_i|                                      m = (x + y) / 2
//   minkowski      (sum |x_i - y_i|^p)^(1/p)           jaccard   |i: x_i, y_i != 0| / |i: x_i or y_i != 0|
//   cosine         sum x_i y_i, of rows of length 1
//
// Logarithms are natural. For kl and js rows are not negative and sum to 1, which makes the terms -x_i + y_i vanish in
// the sum but keeps every term from being negative; kl is infinite where y_i = 0 < x_i.
//
// Two ways for sparse rows. Merging two sorted supports visits their union: exact, O(nnz(x) + nnz(y)) a pair. Following
// the columns of Y from the entries of x visits only common terms, for all y at once: a sum over common terms and totals
// of the rows give cosine, Jaccard,
//
//   sum |x_i - y_i|   = sum |x_i| + sum |y_i| + sum over common i of |x_i - y_i| - |x_i| - |y_i|
//   sum (x_i - y_i)^2 = sum x_i^2 + sum y_i^2 - 2 sum over common i of x_i y_i
//   2 js              = log 2 (sum x_i + sum y_i) + sum over common i of x_i log(x_i / (x_i + y_i)) + y_i log(y_i / (x_i + y_i))
//
// and where such a difference has lost digits, because the rows are near each other, the pair is merged after all.
//
// Every pair is computed by itself, in one order: the bytes are the same for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::vectors {

enum class Measure { manhattan, euclidean, chebyshev, minkowski, cosine, kl, js, jaccard };

struct SparseRows {
  std::size_t rows;
  std::span<const std::int64_t> offsets;  // [rows + 1], rising from 0
  std::span<const std::int32_t> columns;  // [entries], rising within a row
  std::span<const double> values;         // [entries], finite, not 0
};

struct DenseRows {
  std::size_t rows;
  std::size_t columns;
  std::span<const double> values;  // [rows][columns], finite
};

// out [x.rows][y.rows] = measure of each pair, by merging supports; p >= 1 for minkowski.
void merge_rows(const SparseRows& x, const SparseRows& y, Measure measure, double p, std::span<double> out,
                std::size_t threads);

// The same for dense rows.
void compare_rows(const DenseRows& x, const DenseRows& y, Measure measure, double p, std::span<double> out,
                  std::size_t threads);

// out [x.rows][y.rows] = cosine, jaccard, manhattan, euclidean or js, by common terms; `terms` is y transposed, each of its
// columns below y.rows, with at least as many rows as x has columns.
void match_rows(const SparseRows& x, const SparseRows& y, const SparseRows& terms, Measure measure,
                std::span<double> out, std::size_t threads);

// Turns products, out [x.rows][y.rows] = x_i . y_j, into Euclidean distances.
void euclidean_of_products(const DenseRows& x, const DenseRows& y, std::span<double> out, std::size_t threads);

}  // namespace textmill::vectors
