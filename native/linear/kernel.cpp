#include "linear/kernel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"

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

double inverse_length(double square) { return square > 0.0 ? 1.0 / std::sqrt(square) : 0.0; }

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

// The squared length of a row, and 1 / its length.
struct Length {
  double square;
  double inverse;
};

// As in the header, with the inverse lengths at hand for a kernel of unit rows.
void apply(const Kernel& kernel, Length own, std::span<const double> squares, std::span<const double> inverse,
           std::span<double> dots) {
  const std::size_t n = dots.size();
  if (kernel.unit)
    for (std::size_t k = 0; k < n; ++k) dots[k] *= own.inverse * inverse[k];
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
      dots[k] = std::exp(-kernel.gamma * std::max(0.0, size(own.square) + size(squares[k]) - 2.0 * dots[k]));
  }
}

// Columns that many rows have, with their zeros: adding one of them is a walk through memory and no jumping about.
class FullColumns {
 public:
  explicit FullColumns(const Design& z) : n_(z.rows()), place_(z.columns(), kNone) {
    for (std::size_t j = 0; j < z.columns(); ++j) {
      if (z.entries(j) * kShare < n_) continue;
      place_[j] = values_.size();
      values_.resize(values_.size() + n_, 0.0);
      add_column(z, j, z.entries(j), 1.0, values_.data() + place_[j]);
    }
  }
  const double* find(std::size_t column) const {
    return place_[column] == kNone ? nullptr : values_.data() + place_[column];
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kShare = 6;  // a column in one row of so many is full
  std::size_t n_;
  std::vector<std::size_t> place_;  // [m]
  std::vector<double> values_;      // [full columns][n]
};

struct Scaled {
  double factor;
  const double* column;
};

// dots += all of the scaled columns, one after the other, four in one walk.
void add_full(std::span<const Scaled> scaled, std::size_t size, double* dots) {
  for (std::size_t s = 0; s < scaled.size(); s += 4) {
    const std::size_t count = std::min<std::size_t>(4, scaled.size() - s);
    Scaled four[4];
    for (std::size_t l = 0; l < 4; ++l) four[l] = scaled[s + std::min(l, count - 1)];
    for (std::size_t l = count; l < 4; ++l) four[l].factor = 0.0;
    base::with_packs([=]<class P>() TEXTMILL_INLINED {
      const P a = four[0].factor, b = four[1].factor, c = four[2].factor, d = four[3].factor;
      std::size_t k = 0;
      for (; k + P::width <= size; k += P::width) {
        P sum = P::load(dots + k) + a * P::load(four[0].column + k);
        sum = sum + b * P::load(four[1].column + k);
        sum = sum + c * P::load(four[2].column + k);
        sum = sum + d * P::load(four[3].column + k);
        sum.store(dots + k);
      }
      for (; k < size; ++k) {
        double sum = dots[k] + four[0].factor * four[0].column[k];
        sum = sum + four[1].factor * four[1].column[k];
        sum = sum + four[2].factor * four[2].column[k];
        dots[k] = sum + four[3].factor * four[3].column[k];
      }
    });
  }
}

}  // namespace

void apply(const Kernel& kernel, double square, std::span<const double> squares, std::span<double> dots) {
  std::vector<double> inverse;
  if (kernel.unit) {
    inverse.resize(dots.size());
    std::ranges::transform(squares, inverse.begin(), inverse_length);
  }
  apply(kernel, {square, kernel.unit ? inverse_length(square) : 1.0}, squares, inverse, dots);
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
  std::vector<double> inverse(kernel.unit ? n : 0);
  if (kernel.unit) std::ranges::transform(squares, inverse.begin(), inverse_length);
  const FullColumns full(z);
  base::parallel_blocks(n, kRows, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Scaled> scaled;
    for (std::size_t i = begin; i < end; ++i) {
      const auto dots = out.subspan(i * n, i + 1);
      std::ranges::fill(dots, 0.0);
      scaled.clear();
      for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) {
        const auto j = static_cast<std::size_t>(x.indices[e]);
        const double factor = weight.empty() ? x.values[e] : x.values[e] * weight[j];
        if (factor == 0.0) continue;
        if (const double* column = full.find(j))
          scaled.push_back({factor, column});
        else
          add_column(z, j, static_cast<std::size_t>(rank[e]) + 1, factor, dots.data());
      }
      add_full(scaled, i + 1, dots.data());
      apply(kernel, {squares[i], kernel.unit ? inverse[i] : 1.0}, std::span(squares).first(i + 1), inverse, dots);
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
