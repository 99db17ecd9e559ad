// Small dense products on packs, for rows of `stride` doubles (a multiple of 4) with zeros behind the last label.
//
//   times_matrix    out_i = a_i' M          N rows at once: every row of M is loaded once for N vectors
//   matrix_times    out_i = M v_i
//   add_products    P += sum_i a_i v_i'     tiles of P stay in registers over the rows of a block
//
// What a row of the result holds does not depend on N, so batches may be cut anywhere. See simd.h for the rules.
#pragma once

#include <cstddef>

#include "base/simd.h"

namespace textmill::sequence {

template <class P, std::size_t N, std::size_t W>
TEXTMILL_INLINED inline void times_columns(const double* const* a, const double* matrix, std::size_t labels,
                                           std::size_t stride, double* const* out, std::size_t at) {
  P sum[N][W];
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < W; ++j) sum[i][j] = P(0.0);
  }
  for (std::size_t y = 0; y < labels; ++y) {
    P row[W];
    for (std::size_t j = 0; j < W; ++j) row[j] = P::load(matrix + y * stride + at + j * P::width);
    for (std::size_t i = 0; i < N; ++i) {
      const P factor = P(a[i][y]);
      for (std::size_t j = 0; j < W; ++j) sum[i][j] = multiply_add(factor, row[j], sum[i][j]);
    }
  }
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < W; ++j) sum[i][j].store(out[i] + at + j * P::width);
  }
}

template <class P, std::size_t N>
TEXTMILL_INLINED inline void times_matrix(const double* const* a, const double* matrix, std::size_t labels,
                                          std::size_t stride, double* const* out) {
  std::size_t at = 0;
  for (; at + 3 * P::width <= stride; at += 3 * P::width) times_columns<P, N, 3>(a, matrix, labels, stride, out, at);
  if (at + 2 * P::width <= stride) times_columns<P, N, 2>(a, matrix, labels, stride, out, at), at += 2 * P::width;
  if (at < stride) times_columns<P, N, 1>(a, matrix, labels, stride, out, at);
}

template <class P, std::size_t N, std::size_t R>
TEXTMILL_INLINED inline void times_rows(const double* matrix, const double* const* v, std::size_t stride,
                                        double* const* out, std::size_t row) {
  P total[R][N];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t i = 0; i < N; ++i) total[r][i] = P(0.0);
  }
  for (std::size_t y = 0; y < stride; y += P::width) {
    P value[N];
    for (std::size_t i = 0; i < N; ++i) value[i] = P::load(v[i] + y);
    for (std::size_t r = 0; r < R; ++r) {
      const P cells = P::load(matrix + (row + r) * stride + y);
      for (std::size_t i = 0; i < N; ++i) total[r][i] = multiply_add(cells, value[i], total[r][i]);
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t i = 0; i < N; ++i) out[i][row + r] = sum(total[r][i]);
  }
}

template <class P, std::size_t N>
TEXTMILL_INLINED inline void matrix_times(const double* matrix, const double* const* v, std::size_t labels,
                                          std::size_t stride, double* const* out) {
  std::size_t row = 0;
  for (; row + 3 <= labels; row += 3) times_rows<P, N, 3>(matrix, v, stride, out, row);
  for (; row < labels; ++row) times_rows<P, N, 1>(matrix, v, stride, out, row);
}

template <class P, std::size_t R, std::size_t W>
TEXTMILL_INLINED inline void add_tile(const double* const* a, const double* v, std::size_t rows, std::size_t stride,
                                      double* product, bool fresh) {
  P sum[R][W];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t j = 0; j < W; ++j) sum[r][j] = fresh ? P(0.0) : P::load(product + r * stride + j * P::width);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    P value[W];
    for (std::size_t j = 0; j < W; ++j) value[j] = P::load(v + i * stride + j * P::width);
    for (std::size_t r = 0; r < R; ++r) {
      const P factor = P(a[i][r]);
      for (std::size_t j = 0; j < W; ++j) sum[r][j] = multiply_add(factor, value[j], sum[r][j]);
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t j = 0; j < W; ++j) sum[r][j].store(product + r * stride + j * P::width);
  }
}

template <class P, std::size_t R>
TEXTMILL_INLINED inline void add_rows(const double* const* a, const double* v, std::size_t rows, std::size_t stride,
                                      double* product, bool fresh) {
  std::size_t at = 0;
  for (; at + 3 * P::width <= stride; at += 3 * P::width)
    add_tile<P, R, 3>(a, v + at, rows, stride, product + at, fresh);
  if (at + 2 * P::width <= stride) {
    add_tile<P, R, 2>(a, v + at, rows, stride, product + at, fresh);
    at += 2 * P::width;
  }
  if (at < stride) add_tile<P, R, 1>(a, v + at, rows, stride, product + at, fresh);
}

// `a` holds a pointer a row and is moved on by the caller's labels: it is changed.
template <class P>
TEXTMILL_INLINED inline void add_products(const double** a, const double* v, std::size_t rows, std::size_t labels,
                                          std::size_t stride, double* product, bool fresh) {
  std::size_t y = 0;
  const auto forward = [=](std::size_t by) {
    for (std::size_t i = 0; i < rows; ++i) a[i] += by;
  };
  for (; y + 4 <= labels; y += 4) {
    add_rows<P, 4>(a, v, rows, stride, product + y * stride, fresh);
    forward(4);
  }
  for (; y < labels; ++y) {
    add_rows<P, 1>(a, v, rows, stride, product + y * stride, fresh);
    forward(1);
  }
}

}  // namespace textmill::sequence
