#include "vectors/distance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "base/parallel.h"

namespace textmill::vectors {
namespace {

constexpr std::size_t kLanes = 4;     // partial sums of a dense row, so that additions need not wait for each other
constexpr std::size_t kBlock = 1024;  // pairs that a thread takes at a time
constexpr double kNear = 1e-3;        // a difference below this share of what it was made of is computed anew
constexpr double kTiny = 1e-280, kHuge = 1e280;  // squares outside lose digits or overflow
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Sums = std::array<double, kLanes>;

double total(const Sums& sums) { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }

double value_if(bool condition, double value) {  // else 0
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & -std::uint64_t{condition});
}

// Pairs of entries of two sparse rows: each(f) calls f(x_i, y_i, lane) for the union of their supports.
struct SparsePair {
  std::span<const std::int32_t> x_columns, y_columns;
  std::span<const double> x, y;

  template <class F>
  void each(F&& f) const {
    std::size_t i = 0, j = 0;
    while (i < x.size() && j < y.size()) {  // without branches: which side is next cannot be predicted
      const bool left = x_columns[i] <= y_columns[j], right = y_columns[j] <= x_columns[i];
      f(value_if(left, x[i]), value_if(right, y[j]), 0);
      i += left;
      j += right;
    }
    for (; i < x.size(); ++i) f(x[i], 0.0, 0);
    for (; j < y.size(); ++j) f(0.0, y[j], 0);
  }
};

struct DensePair {
  std::span<const double> x, y;

  template <class F>
  void each(F&& f) const {
    std::size_t i = 0;
    for (; i + kLanes <= x.size(); i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) f(x[i + lane], y[i + lane], lane);
    for (; i < x.size(); ++i) f(x[i], y[i], 0);
  }
};

SparsePair pair_of(const SparseRows& x, std::size_t i, const SparseRows& y, std::size_t j) {
  const auto row = [](const SparseRows& m, std::size_t r, auto values) {
    const auto begin = static_cast<std::size_t>(m.offsets[r]), end = static_cast<std::size_t>(m.offsets[r + 1]);
    return values.subspan(begin, end - begin);
  };
  return {row(x, i, x.columns), row(y, j, y.columns), row(x, i, x.values), row(y, j, y.values)};
}

DensePair pair_of(const DenseRows& x, std::size_t i, const DenseRows& y, std::size_t j) {
  return {x.values.subspan(i * x.columns, x.columns), y.values.subspan(j * y.columns, y.columns)};
}

template <class Pair>
double chebyshev(const Pair& pair) {
  Sums largest{};
  pair.each([&](double x, double y, std::size_t lane) { largest[lane] = std::max(largest[lane], std::abs(x - y)); });
  return *std::max_element(largest.begin(), largest.end());
}

template <class Pair>
double manhattan(const Pair& pair) {
  Sums sums{};
  pair.each([&](double x, double y, std::size_t lane) { sums[lane] += std::abs(x - y); });
  return total(sums);
}

// Differences are divided by the largest, so that no power overflows and not all of them vanish.
template <class Pair>
double minkowski(const Pair& pair, double p) {
  const double largest = chebyshev(pair);
  if (largest == 0.0 || largest == kInfinity) return largest;
  Sums sums{};
  pair.each([&](double x, double y, std::size_t lane) { sums[lane] += std::pow(std::abs(x - y) / largest, p); });
  return largest * std::pow(total(sums), 1.0 / p);
}

template <class Pair>
double euclidean(const Pair& pair) {
  Sums sums{};
  pair.each([&](double x, double y, std::size_t lane) { sums[lane] += (x - y) * (x - y); });
  const double squares = total(sums);
  return squares > kTiny && squares < kHuge ? std::sqrt(squares) : minkowski(pair, 2.0);
}

double log_ratio(double x, double y) {
  const double ratio = x / y;
  return ratio < kInfinity ? std::log(ratio) : std::log(x) - std::log(y);
}

template <class Pair>
double kl(const Pair& pair) {
  Sums sums{};
  pair.each([&](double x, double y, std::size_t lane) {
    sums[lane] += x == 0.0 ? y : y == 0.0 ? kInfinity : x * log_ratio(x, y) - x + y;
  });
  return std::max(0.0, total(sums));
}

double kl(const SparsePair& pair) {  // most pairs of sparse rows end at the first term that only x has
  const auto &x = pair.x_columns, &y = pair.y_columns;
  return std::includes(y.begin(), y.end(), x.begin(), x.end()) ? kl<SparsePair>(pair) : kInfinity;
}

template <class Pair>
double js(const Pair& pair) {
  Sums sums{};
  pair.each([&](double x, double y, std::size_t lane) {
    const double sum = x + y;
    if (x > 0.0) sums[lane] += x * std::log(2.0 * (x / sum));
    if (y > 0.0) sums[lane] += y * std::log(2.0 * (y / sum));
  });
  return std::max(0.0, 0.5 * total(sums));
}

double js_of_common(double x, double y) { return x * std::log(x / (x + y)) + y * std::log(y / (x + y)); }

template <class Pair>
double cosine(const Pair& pair) {
  Sums sums{};
  pair.each([&](double x, double y, std::size_t lane) { sums[lane] += x * y; });
  return std::clamp(total(sums), -1.0, 1.0);
}

double jaccard_of(double common, double either) { return either == 0.0 ? 1.0 : common / either; }

template <class Pair>
double jaccard(const Pair& pair) {
  Sums common{}, either{};
  pair.each([&](double x, double y, std::size_t lane) {
    common[lane] += x != 0.0 && y != 0.0;
    either[lane] += x != 0.0 || y != 0.0;
  });
  return jaccard_of(total(common), total(either));
}

template <class Matrix, class Value>
void fill(const Matrix& x, const Matrix& y, std::span<double> out, std::size_t threads, Value value) {
  const std::size_t blocks = (y.rows + kBlock - 1) / kBlock;  // of a row, for one query and many documents
  base::parallel_for(x.rows * blocks, threads, [&](std::size_t item) {
    const std::size_t i = item / blocks, first = item % blocks * kBlock;
    for (std::size_t j = first; j < std::min(y.rows, first + kBlock); ++j)
      out[i * y.rows + j] = value(pair_of(x, i, y, j));
  });
}

template <class Matrix>
void compare(const Matrix& x, const Matrix& y, Measure measure, double p, std::span<double> out, std::size_t threads) {
  switch (measure) {
    case Measure::manhattan: return fill(x, y, out, threads, [](const auto& pair) { return manhattan(pair); });
    case Measure::euclidean: return fill(x, y, out, threads, [](const auto& pair) { return euclidean(pair); });
    case Measure::chebyshev: return fill(x, y, out, threads, [](const auto& pair) { return chebyshev(pair); });
    case Measure::minkowski: return fill(x, y, out, threads, [p](const auto& pair) { return minkowski(pair, p); });
    case Measure::kl: return fill(x, y, out, threads, [](const auto& pair) { return kl(pair); });
    case Measure::js: return fill(x, y, out, threads, [](const auto& pair) { return js(pair); });
    case Measure::jaccard: return fill(x, y, out, threads, [](const auto& pair) { return jaccard(pair); });
    case Measure::cosine: return fill(x, y, out, threads, [](const auto& pair) { return cosine(pair); });
  }
}

// out [y.rows] += f(x_t, y_jt) for every common term t of row i of x and row j of y.
template <class F>
void add_matches(const SparseRows& x, std::size_t i, const SparseRows& terms, std::span<double> out, F&& f) {
  for (auto e = static_cast<std::size_t>(x.offsets[i]); e < static_cast<std::size_t>(x.offsets[i + 1]); ++e) {
    const auto t = static_cast<std::size_t>(x.columns[e]);
    const double value = x.values[e];
    for (auto k = static_cast<std::size_t>(terms.offsets[t]); k < static_cast<std::size_t>(terms.offsets[t + 1]); ++k)
      out[static_cast<std::size_t>(terms.columns[k])] += f(value, terms.values[k]);
  }
}

// One total a row: the sum of f over its entries.
template <class F>
std::vector<double> totals(const SparseRows& m, F&& f) {
  std::vector<double> sums(m.rows);
  for (std::size_t i = 0; i < m.rows; ++i)
    for (auto e = m.offsets[i]; e < m.offsets[i + 1]; ++e) sums[i] += f(m.values[static_cast<std::size_t>(e)]);
  return sums;
}

// Has a difference of sums of size `of` kept enough digits? No, either, when they overflowed.
bool is_exact(double difference, double of) { return difference > kNear * of + kTiny; }

// f: what a common term adds; total: what an entry of a row adds; finish(sum of f, totals of both rows, i, j).
template <class F, class Total, class Finish>
void match(const SparseRows& x, const SparseRows& y, const SparseRows& terms, std::span<double> out,
           std::size_t threads, F f, Total entry, Finish finish) {
  const std::vector<double> of_x = totals(x, entry), of_y = totals(y, entry);
  base::parallel_for(x.rows, threads, [&](std::size_t i) {
    const auto row = out.subspan(i * y.rows, y.rows);
    std::fill(row.begin(), row.end(), 0.0);
    add_matches(x, i, terms, row, f);
    for (std::size_t j = 0; j < y.rows; ++j) row[j] = finish(row[j], of_x[i], of_y[j], i, j);
  });
}

}  // namespace

void merge_rows(const SparseRows& x, const SparseRows& y, Measure measure, double p, std::span<double> out,
                std::size_t threads) {
  compare(x, y, measure, p, out, threads);
}

void compare_rows(const DenseRows& x, const DenseRows& y, Measure measure, double p, std::span<double> out,
                  std::size_t threads) {
  compare(x, y, measure, p, out, threads);
}

void match_rows(const SparseRows& x, const SparseRows& y, const SparseRows& terms, Measure measure,
                std::span<double> out, std::size_t threads) {
  const auto product = [](double a, double b) { return a * b; };
  if (measure == Measure::cosine) {
    match(
        x, y, terms, out, threads, product, [](double) { return 0.0; },
        [](double sum, double, double, std::size_t, std::size_t) { return std::clamp(sum, -1.0, 1.0); });
  } else if (measure == Measure::jaccard) {
    match(
        x, y, terms, out, threads, [](double, double) { return 1.0; }, [](double) { return 1.0; },
        [](double common, double of_x, double of_y, std::size_t, std::size_t) {
          return jaccard_of(common, of_x + of_y - common);
        });
  } else if (measure == Measure::js) {
    match(
        x, y, terms, out, threads, js_of_common, [](double a) { return a * std::numbers::ln2; },
        [&](double sum, double of_x, double of_y, std::size_t i, std::size_t j) {
          const double twice = of_x + of_y + sum;
          return is_exact(twice, of_x + of_y) ? 0.5 * twice : js(pair_of(x, i, y, j));
        });
  } else if (measure == Measure::manhattan) {
    match(
        x, y, terms, out, threads, [](double a, double b) { return std::abs(a - b) - std::abs(a) - std::abs(b); },
        [](double a) { return std::abs(a); },
        [&](double sum, double of_x, double of_y, std::size_t i, std::size_t j) {
          const double distance = of_x + of_y + sum;
          return is_exact(distance, of_x + of_y) ? distance : manhattan(pair_of(x, i, y, j));
        });
  } else if (measure == Measure::euclidean) {
    match(
        x, y, terms, out, threads, product, [](double a) { return a * a; },
        [&](double sum, double of_x, double of_y, std::size_t i, std::size_t j) {
          const double squares = of_x + of_y - 2.0 * sum;
          return is_exact(squares, of_x + of_y) ? std::sqrt(squares) : euclidean(pair_of(x, i, y, j));
        });
  }
}

void euclidean_of_products(const DenseRows& x, const DenseRows& y, std::span<double> out, std::size_t threads) {
  const auto squares_of = [](const DenseRows& m) {
    std::vector<double> sums(m.rows);
    for (std::size_t i = 0; i < m.rows; ++i)
      for (std::size_t k = 0; k < m.columns; ++k) sums[i] += m.values[i * m.columns + k] * m.values[i * m.columns + k];
    return sums;
  };
  const std::vector<double> of_x = squares_of(x), of_y = squares_of(y);
  base::parallel_for(x.rows, threads, [&](std::size_t i) {
    for (std::size_t j = 0; j < y.rows; ++j) {
      double& value = out[i * y.rows + j];
      const double squares = of_x[i] + of_y[j] - 2.0 * value;
      value = is_exact(squares, of_x[i] + of_y[j]) ? std::sqrt(squares) : euclidean(pair_of(x, i, y, j));
    }
  });
}

}  // namespace textmill::vectors
