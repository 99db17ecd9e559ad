// Sums over the entries of one sparse column. Four running sums hide the latency of the addition; their order is fixed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace textmill::linear {

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

// sum_e x_e^2 d[row_e]
template <bool Unit>
inline double squares(const std::int32_t* row, const double* value, std::size_t size, const double* d) {
  if constexpr (Unit) return dot<true>(row, value, size, d);
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
inline void add_scaled(const std::int32_t* row, const double* value, std::size_t size, double factor, const double* d,
                       double* q) {
  for (std::size_t e = 0; e < size; ++e) q[row[e]] += (Unit ? factor : factor * value[e]) * d[row[e]];
}

}  // namespace textmill::linear
