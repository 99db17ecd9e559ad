// Sums over the entries of one sparse column or row. Four running sums hide the latency of the addition; their order is
// fixed.
//
// column_dot, column_squares and add_column are for columns of a design, whose rows rise and are there once each. Where
// they follow one another, as those of a column of ones, of dense data, or of the commonest columns
// once rows are ordered by them (linear/design.h), nothing is gathered: eight running sums, in vectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace textmill::linear {

// Whether rows, which rise, each once, have no gaps: the first and the last tell.
inline bool adjacent(const std::int32_t* row, std::size_t size) {
  constexpr std::size_t kLeast = 16;
  return size >= kLeast && static_cast<std::size_t>(row[size - 1] - row[0]) == size - 1;
}

// sum_e x_e q_e, or with squares sum_e x_e^2 q_e; value is not looked at when Unit.
template <bool Unit, bool Squares = false>
inline double adjacent_dot(const double* value, std::size_t size, const double* q) {
  std::array<double, 8> sum{};
  const auto term = [&](std::size_t e) {
    if constexpr (Unit) return q[e];
    return Squares ? value[e] * value[e] * q[e] : value[e] * q[e];
  };
  std::size_t e = 0;
  for (; e + 8 <= size; e += 8)
    for (std::size_t k = 0; k < 8; ++k) sum[k] += term(e + k);
  for (std::size_t k = 0; e < size; ++e, ++k) sum[k] += term(e);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

// sum_e x_e q[row_e]; value is not looked at when Unit, then every x_e is 1.
template <bool Unit>
inline double dot(const std::int32_t* row, const double* value, std::size_t size, const double* q) {
  double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
  std::size_t e = 0;
  for (; e + 4 <= size; e += 4) {
    a += Unit ? q[row[e]] : value[e] * q[row[e]];
    b += Unit ? q[row[e + 1]] : value[e + 1] * q[row[e + 1]];
    c += Unit ? q[row[e + 2]] : value[e + 2] * q[row[e + 2]];
    d += Unit ? q[row[e + 3]] : value[e + 3] * q[row[e + 3]];
  }
  for (; e < size; ++e) a += Unit ? q[row[e]] : value[e] * q[row[e]];
  return (a + b) + (c + d);
}

template <bool Unit>
inline double column_dot(const std::int32_t* row, const double* value, std::size_t size, const double* q) {
  if (adjacent(row, size)) return adjacent_dot<Unit>(value, size, q + row[0]);
  return dot<Unit>(row, value, size, q);
}

// sum_e x_e^2 d[row_e]
template <bool Unit>
inline double column_squares(const std::int32_t* row, const double* value, std::size_t size, const double* d) {
  if constexpr (Unit) return column_dot<true>(row, value, size, d);
  if (adjacent(row, size)) return adjacent_dot<Unit, true>(value, size, d + row[0]);
  double a = 0.0, b = 0.0;
  std::size_t e = 0;
  for (; e + 2 <= size; e += 2) {
    a += value[e] * value[e] * d[row[e]];
    b += value[e + 1] * value[e + 1] * d[row[e + 1]];
  }
  if (e < size) a += value[e] * value[e] * d[row[e]];
  return a + b;
}

// q[row_e] += factor x_e d[row_e]
template <bool Unit>
inline void add_column(const std::int32_t* row, const double* value, std::size_t size, double factor, const double* d,
                       double* q) {
  if (adjacent(row, size)) {
    const double* __restrict from = d + row[0];
    double* __restrict to = q + row[0];
    for (std::size_t e = 0; e < size; ++e) to[e] += (Unit ? factor : factor * value[e]) * from[e];
    return;
  }
  for (std::size_t e = 0; e < size; ++e) q[row[e]] += (Unit ? factor : factor * value[e]) * d[row[e]];
}

}  // namespace textmill::linear
