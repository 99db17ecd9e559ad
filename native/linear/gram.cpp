#include "linear/gram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kMostColumns = 1024;
constexpr std::size_t kLongestRow = 32;  // products for each entry, in the mean
constexpr std::size_t kMoreSweeps = 20;  // as many for one that visits the entries
constexpr double kExacter = 0.01;        // to this share of the accuracy
constexpr std::size_t kLanes = 4;
constexpr double kLeastCurvature = 1e-12;

// The listed columns by row.
struct ShortRows {
  std::vector<std::size_t> begin;  // [n + 1]
  std::vector<std::int32_t> place;
  std::vector<double> value;  // none where all are 1
};

std::optional<ShortRows> short_rows(const Design& x, std::span<const std::int32_t> listed) {
  std::size_t entries = 0;
  for (const std::int32_t j : listed) entries += x.entries(j);
  if (listed.empty() || listed.size() > kMostColumns || listed.size() * listed.size() > entries) return std::nullopt;
  ShortRows rows;
  rows.begin.assign(x.rows() + 1, 0);
  for (const std::int32_t j : listed)
    for (std::size_t e = 0; e < x.entries(j); ++e) ++rows.begin[x.row(j)[e] + 1];
  std::size_t products = 0;
  for (const std::size_t size : rows.begin) products += size * size;
  if (products > kLongestRow * entries) return std::nullopt;
  std::partial_sum(rows.begin.begin(), rows.begin.end(), rows.begin.begin());
  rows.place.resize(entries);
  if (!x.binary()) rows.value.resize(entries);
  std::vector<std::size_t> next(rows.begin.begin(), rows.begin.end() - 1);
  for (std::size_t a = 0; a < listed.size(); ++a) {
    const std::int32_t j = listed[a];
    for (std::size_t e = 0; e < x.entries(j); ++e) {
      const std::size_t at = next[x.row(j)[e]]++;
      rows.place[at] = static_cast<std::int32_t>(a);
      if (!x.binary()) rows.value[at] = x.value(j)[e];
    }
  }
  return rows;
}

// G, symmetric, [side][side], the last row and column those of the intercept.
std::vector<double> gram(const ShortRows& rows, std::span<const double> d, std::size_t side, std::size_t threads) {
  std::vector<std::vector<double>> lanes(kLanes);
  const std::size_t n = d.size();
  base::parallel_for(kLanes, threads, [&](std::size_t lane) {
    std::vector<double>& sum = lanes[lane];
    sum.assign(side * side, 0.0);
    double* all = sum.data() + (side - 1) * side;
    const auto add = [&]<bool Unit>() {
      for (std::size_t i = n * lane / kLanes; i < n * (lane + 1) / kLanes; ++i) {
        const double bend = d[i];
        for (std::size_t e = rows.begin[i]; e < rows.begin[i + 1]; ++e) {
          const double one = Unit ? bend : bend * rows.value[e];
          double* row = sum.data() + static_cast<std::size_t>(rows.place[e]) * side;
          for (std::size_t f = rows.begin[i]; f <= e; ++f) row[rows.place[f]] += Unit ? one : one * rows.value[f];
          all[rows.place[e]] += one;
        }
        all[side - 1] += bend;
      }
    };
    rows.value.empty() ? add.template operator()<true>() : add.template operator()<false>();
  });
  std::vector<double> full(side * side);
  for (std::size_t a = 0; a < side; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = 0.0;
      for (const auto& lane : lanes) sum += lane[a * side + b];
      full[a * side + b] = full[b * side + a] = sum;
    }
  return full;
}

double soft_threshold(double z, double t) { return z > t ? z - t : z < -t ? z + t : 0.0; }

}  // namespace

std::optional<Descent> descend_gram(const Design& x, const Quadratic& model, const Sweeps& sweeps,
                                    std::span<double> step, std::span<double> change, std::size_t threads) {
  const std::optional<ShortRows> rows = short_rows(x, model.listed);
  if (!rows) return std::nullopt;
  const std::size_t size = model.listed.size(), side = size + 1;
  const std::vector<double> full = gram(*rows, model.row_curvature, side, threads);
  std::vector<double> slope(side);
  std::copy(model.slope.begin(), model.slope.end(), slope.begin());
  slope[size] = model.intercept_slope;
  std::fill(step.begin(), step.end(), 0.0);
  const auto move = [&](std::size_t a, double by) {
    const double* row = full.data() + a * side;
    for (std::size_t b = 0; b < side; ++b) slope[b] += by * row[b];
  };
  std::vector<std::int32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  base::Random(sweeps.seed, 0).shuffle(std::span(order));
  const double whole = model.intercept ? full[side * side - 1] : 0.0;
  Descent result{0, 0.0};
  double first = 0.0, margin = std::numeric_limits<double>::infinity();
  while (result.sweeps < kMoreSweeps * sweeps.most) {
    double violation = 0.0, worst = 0.0, gain = 0.0;
    std::size_t left = 0;
    for (const std::int32_t a : order) {
      const double u = model.weight[a] + step[a], g = slope[a] + model.l2 * step[a];
      if (u == 0.0 && std::abs(g) + margin < model.l1) continue;
      order[left++] = a;
      const double wrong = u == 0.0 ? std::max(0.0, std::abs(g) - model.l1) : std::abs(g + std::copysign(model.l1, u));
      violation += wrong;
      worst = std::max(worst, wrong);
      const double h = full[static_cast<std::size_t>(a) * side + a] + model.l2 + kLeastCurvature;
      const double moved = soft_threshold(h * u - g, model.l1) / h - u;
      if (std::abs(moved) < 1e-15 * std::abs(u) || moved == 0.0) continue;
      step[a] += moved;
      gain += 0.5 * h * moved * moved;
      move(a, moved);
    }
    order.resize(left);
    margin = worst;
    if (whole > 0.0) {
      const double g = slope[size], moved = -g / whole;
      result.intercept_step += moved;
      violation += std::abs(g);
      gain += 0.5 * whole * moved * moved;
      move(size, moved);
    }
    if (++result.sweeps == 1) first = violation;
    if (violation <= kExacter * sweeps.accuracy * first || gain <= kExacter * sweeps.enough) break;
  }
  base::parallel_for(kLanes, threads, [&](std::size_t lane) {
    const std::size_t n = change.size();
    for (std::size_t i = n * lane / kLanes; i < n * (lane + 1) / kLanes; ++i) {
      double z = result.intercept_step;
      for (std::size_t e = rows->begin[i]; e < rows->begin[i + 1]; ++e)
        z += rows->value.empty() ? step[rows->place[e]] : rows->value[e] * step[rows->place[e]];
      change[i] = model.row_curvature[i] * z;
    }
  });
  return result;
}

}  // namespace textmill::linear
