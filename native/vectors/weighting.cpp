#include "vectors/weighting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/parallel.h"

namespace textmill::vectors {
namespace {

constexpr std::size_t kBlock = 256;  // rows that a thread takes at a time
constexpr std::size_t kTable = 256;  // small counts, nearly all there are, whose logarithm is looked up

// log(1 + a) to the base of the scheme.
class Logarithm {
 public:
  explicit Logarithm(double per_log) : per_log_(per_log) {
    for (std::size_t a = 0; a < kTable; ++a) table_[a] = std::log1p(static_cast<double>(a)) * per_log;
  }
  double operator()(double a) const {
    if (a < static_cast<double>(kTable)) {
      const auto whole = static_cast<std::size_t>(a);
      if (static_cast<double>(whole) == a) return table_[whole];
    }
    return std::log1p(a) * per_log_;
  }

 private:
  double per_log_;
  std::array<double, kTable> table_;
};

// Euclidean length, also where squares would overflow or vanish.
double length(std::span<const double> row) {
  std::array<double, 4> sums{};  // four, so that additions need not wait for each other
  std::size_t k = 0;
  for (; k + 4 <= row.size(); k += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += row[k + lane] * row[k + lane];
  for (; k < row.size(); ++k) sums[0] += row[k] * row[k];
  const double squares = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  if (squares > 1e-280 && squares < 1e280) return std::sqrt(squares);
  double largest = 0.0;
  for (const double w : row) largest = std::max(largest, std::abs(w));
  if (largest == 0.0) return 0.0;
  double sum = 0.0;
  for (const double w : row) sum += (w / largest) * (w / largest);
  return largest * std::sqrt(sum);
}

// Drops the entries of value 0 and returns how many are left.
template <class Real>
std::size_t drop_zeros(std::span<std::int32_t> columns, std::span<Real> values) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    columns[kept] = columns[k];
    values[kept] = values[k];
    kept += values[k] != Real(0);
  }
  return kept;
}

template <class Count, class Real, class Local>
std::size_t weigh_row(const Rows<Count>& in, std::size_t row, const Scheme& scheme, const Local& local,
                      const Weighted<Real>& out, std::vector<double>& weights) {
  const auto begin = static_cast<std::size_t>(in.offsets[row]),
             size = static_cast<std::size_t>(in.offsets[row + 1]) - begin;
  if (weights.size() < size) weights.resize(size);
  const auto given = in.values.subspan(begin, size);
  const auto columns = out.columns.subspan(begin, size);
  const auto values = out.values.subspan(begin, size);
  std::copy_n(in.columns.begin() + static_cast<std::ptrdiff_t>(begin), size, columns.begin());
  double* w = weights.data();
  for (std::size_t k = 0; k < size; ++k) {
    const auto a = static_cast<double>(given[k]);
    w[k] = a == 0.0 ? 0.0 : local(a);
  }
  if (!scheme.global.empty())
    for (std::size_t k = 0; k < size; ++k) w[k] *= scheme.global[static_cast<std::size_t>(columns[k])];
  double divisor = scheme.unit ? length({w, size}) : 1.0;
  if (divisor == 0.0) divisor = 1.0;  // nothing in the row
  bool zeros = false;
  for (std::size_t k = 0; k < size; ++k) {
    values[k] = static_cast<Real>(w[k] / divisor);
    zeros |= values[k] == Real(0);
  }
  return zeros ? drop_zeros(columns, values) : size;
}

// Moves the rows, which lie where they lay in the input, together; offsets[i + 1] holds the length of row i.
template <class Real>
std::size_t pack(std::span<const std::int64_t> old, const Weighted<Real>& out) {
  std::int64_t position = 0;
  out.offsets[0] = 0;
  for (std::size_t i = 0; i + 1 < old.size(); ++i) {
    const std::int64_t size = out.offsets[i + 1];
    if (position != old[i]) {
      std::copy_n(out.columns.begin() + old[i], size, out.columns.begin() + position);
      std::copy_n(out.values.begin() + old[i], size, out.values.begin() + position);
    }
    position += size;
    out.offsets[i + 1] = position;
  }
  return static_cast<std::size_t>(position);
}

template <class Count, class Real, class Local>
std::size_t weigh_rows(const Rows<Count>& in, const Scheme& scheme, const Local& local_of_row,
                       const Weighted<Real>& out, std::size_t threads) {
  const std::size_t rows = in.offsets.size() - 1;
  base::parallel_for((rows + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    std::vector<double> weights;
    for (std::size_t i = block * kBlock; i < std::min(rows, (block + 1) * kBlock); ++i) {
      const auto kept = weigh_row(in, i, scheme, local_of_row(i), out, weights);
      out.offsets[i + 1] = static_cast<std::int64_t>(kept);
    }
  });
  return pack(in.offsets, out);
}

}  // namespace

template <class Count, class Real>
std::size_t weigh(const Rows<Count>& in, const Scheme& scheme, const Weighted<Real>& out, std::size_t threads) {
  switch (scheme.local) {
    case Local::raw:
      return weigh_rows(in, scheme, [](std::size_t) { return [](double a) { return a; }; }, out, threads);
    case Local::binary:
      return weigh_rows(in, scheme, [](std::size_t) { return [](double) { return 1.0; }; }, out, threads);
    case Local::augmented: {
      const auto local = [&in](std::size_t row) {
        double largest = 0.0;
        for (auto e = in.offsets[row]; e < in.offsets[row + 1]; ++e)
          largest = std::max(largest, static_cast<double>(in.values[static_cast<std::size_t>(e)]));
        return [largest](double a) { return 0.5 + 0.5 * (a / largest); };
      };
      return weigh_rows(in, scheme, local, out, threads);
    }
    case Local::logarithm: {
      const Logarithm logarithm(scheme.per_log);
      return weigh_rows(in, scheme, [&](std::size_t) { return [&](double a) { return logarithm(a); }; }, out, threads);
    }
  }
  return 0;
}

#define TEXTMILL_WEIGH(Count)                                                                          \
  template std::size_t weigh(const Rows<Count>&, const Scheme&, const Weighted<double>&, std::size_t); \
  template std::size_t weigh(const Rows<Count>&, const Scheme&, const Weighted<float>&, std::size_t);
TEXTMILL_WEIGH(std::int32_t)
TEXTMILL_WEIGH(float)
TEXTMILL_WEIGH(double)
#undef TEXTMILL_WEIGH

}  // namespace textmill::vectors
