#include "linear/kernel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kRows = 16;  // rows that a thread takes at a time
constexpr std::size_t kTile = 64;  // rows and columns of a tile that is turned over at once

double power(double base, int exponent) {
  double value = 1.0;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) value *= base;
  return value;
}

double length_of(double square) { return square > 0.0 ? 1.0 / std::sqrt(square) : 0.0; }

template <class Offset>
std::span<const Offset> part(std::span<const Offset> all, std::int64_t begin, std::int64_t end) {
  return all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

// dots += factor times the first `size` entries of a column.
void add_column(const Design& z, std::size_t column, std::size_t size, double factor, double* dots) {
  const std::int32_t* row = z.row(column);
  const double* value = z.value(column);
  if (value == nullptr)
    for (std::size_t k = 0; k < size; ++k) dots[row[k]] += factor;
  else
    for (std::size_t k = 0; k < size; ++k) dots[row[k]] += factor * value[k];
}

}  // namespace

void apply(const Kernel& kernel, double square, std::span<const double> squares, std::span<double> dots) {
  const std::size_t n = dots.size();
  if (kernel.unit) {
    const double own = length_of(square);
    for (std::size_t k = 0; k < n; ++k) dots[k] *= own * length_of(squares[k]);
  }
  if (kernel.kind == KernelKind::polynomial && kernel.degree == 2) {
    for (std::size_t k = 0; k < n; ++k) {
      const double value = kernel.gamma * dots[k] + kernel.coef0;
      dots[k] = value * value;
    }
  } else if (kernel.kind == KernelKind::polynomial) {
    for (std::size_t k = 0; k < n; ++k) dots[k] = power(kernel.gamma * dots[k] + kernel.coef0, kernel.degree);
  } else if (kernel.kind == KernelKind::rbf) {
    const auto size = [&](double s) { return kernel.unit ? (s > 0.0 ? 1.0 : 0.0) : s; };
    for (std::size_t k = 0; k < n; ++k)
      dots[k] = std::exp(-kernel.gamma * std::max(0.0, size(square) + size(squares[k]) - 2.0 * dots[k]));
  }
}

void row_dots(const Design& z, std::span<const std::int32_t> columns, std::span<const double> values,
              std::span<const double> weight, std::span<double> dots) {
  std::ranges::fill(dots, 0.0);
  for (std::size_t e = 0; e < columns.size(); ++e) {
    const auto j = static_cast<std::size_t>(columns[e]);
    const double factor = weight.empty() ? values[e] : values[e] * weight[j];
    if (factor == 0.0) continue;
    add_column(z, j, z.entries(j), factor, dots.data());
  }
}

void row_squares(const base::Csr<std::int64_t, double>& x, std::span<const double> weight, std::span<double> squares) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    double sum = 0.0;
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e)
      sum += (weight.empty() ? 1.0 : weight[x.indices[e]]) * x.values[e] * x.values[e];
    squares[i] = sum;
  }
}

void gram(const base::Csr<std::int64_t, double>& x, const Design& z, std::span<const double> weight,
          const Kernel& kernel, std::span<double> out, std::size_t threads) {
  const std::size_t n = x.rows;
  std::vector<double> squares(n);
  row_squares(x, weight, squares);
  // Entry e is number rank[e] of its column: the rows up to its own are the first rank[e] + 1.
  std::vector<std::int32_t> rank(x.indices.size()), seen(x.columns, 0);
  for (std::size_t e = 0; e < rank.size(); ++e) rank[e] = seen[x.indices[e]]++;
  base::parallel_blocks(n, kRows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto dots = out.subspan(i * n, i + 1);
      std::ranges::fill(dots, 0.0);
      for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) {
        const auto j = static_cast<std::size_t>(x.indices[e]);
        const double factor = weight.empty() ? x.values[e] : x.values[e] * weight[j];
        if (factor != 0.0) add_column(z, j, static_cast<std::size_t>(rank[e]) + 1, factor, dots.data());
      }
      apply(kernel, squares[i], std::span(squares).first(i + 1), dots);
    }
  });
  base::parallel_blocks(n, kTile, threads, [&](std::size_t begin, std::size_t end) {  // the other triangle, in tiles
    for (std::size_t first = begin; first < n; first += kTile)
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t k = std::max(first, i + 1); k < std::min(first + kTile, n); ++k)
          out[i * n + k] = out[k * n + i];
  });
}

void kernel_sums(const base::Csr<std::int64_t, double>& x, const Design& z, std::span<const double> squares,
                 const Kernel& kernel, std::span<const double> dual, std::size_t outputs, std::span<double> out,
                 std::size_t threads) {
  const std::size_t n = z.rows();
  base::parallel_blocks(x.rows, kRows, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> dots(n);
    for (std::size_t i = begin; i < end; ++i) {
      const auto first = x.offsets[i], last = x.offsets[i + 1];
      const auto values = part(x.values, first, last);
      row_dots(z, part(x.indices, first, last), values, {}, dots);
      double square = 0.0;
      for (const double v : values) square += v * v;
      apply(kernel, square, squares, dots);
      for (std::size_t o = 0; o < outputs; ++o) {
        const double* a = dual.data() + o * n;
        double sum[4] = {0.0, 0.0, 0.0, 0.0};  // four running sums hide the latency of the addition
        std::size_t s = 0;
        for (; s + 4 <= n; s += 4)
          for (std::size_t lane = 0; lane < 4; ++lane) sum[lane] += a[s + lane] * dots[s + lane];
        for (; s < n; ++s) sum[0] += a[s] * dots[s];
        out[i * outputs + o] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      }
    }
  });
}

}  // namespace textmill::linear
