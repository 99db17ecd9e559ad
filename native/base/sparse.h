// Products of a sparse matrix with dense ones, threaded.
//
//   multiply               C = A B      C_ij = sum_e a_e B[column_e, j]   over the entries e of row i
//   multiply_transposed    C = A^T B    C_cj = sum_e a_e B[row_e, j]      over the entries e of column c
//
// A is n x m in compressed sparse rows; a row need not be sorted and may repeat a column. B and C are row-major with k
// columns; k = 1 is a vector. Sums are kept in float64 whatever the types.
//
// Cost: nnz * k multiplications, one visit of an entry for each 8 packs of columns; the rows of B (of C, transposed)
// that the next entries name are fetched ahead. The bytes of C are the same for any number of threads:
//   multiply                        cuts by rows.
//   multiply_transposed, k >= 48    sorts the entries by column, as many rows at a time as give a column 64 entries on
//                                   average, and cuts by columns of A. Takes memory for those entries.
//   multiply_transposed, k >= 16    cuts by columns of C, whole cache lines: at most k / 8 threads have work.
//   multiply_transposed, k < 16     adds lanes, fixed ranges of rows with a sum of their own: one for each 16 entries
//                                   that a column has on average, 1 at least (then one thread works), 16 at most. Their
//                                   sums take memory for nnz * k / 16 numbers at most.
// Whoever needs A^T B again and again should transpose A once and call multiply().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::base {

template <class Offset, class Value>  // std::int32_t or std::int64_t; double, float or std::int32_t
struct Csr {
  std::size_t rows;                       // n
  std::size_t columns;                    // m < 2^31
  std::span<const Offset> offsets;        // [n + 1], rising from 0 to nnz
  std::span<const std::int32_t> indices;  // [>= nnz], each in [0, m)
  std::span<const Value> values;          // as many as indices
};

// Both products throw std::invalid_argument, saying what is wrong where, when A is not as above; C then holds nothing
// of use. They look at the indices of a block of rows before they follow them, which costs little: the second look
// finds them in the cache.

// C (n x k) = A B (m x k). C does not overlap the inputs. Real is double or float.
template <class Offset, class Value, class Real>
void multiply(const Csr<Offset, Value>& a, std::span<const Real> b, std::size_t k, std::span<Real> c,
              std::size_t threads);

// C (m x k) = A^T B (n x k). C does not overlap the inputs.
template <class Offset, class Value, class Real>
void multiply_transposed(const Csr<Offset, Value>& a, std::span<const Real> b, std::size_t k, std::span<double> c,
                         std::size_t threads);

}  // namespace textmill::base
