#include "linear/descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "linear/dots.h"

namespace textmill::linear {
namespace {

constexpr double kLeastCurvature = 1e-12;

struct Sum {
  double violation = 0.0;  // over one sweep
  double worst = 0.0;
};

double violation_of(double u, double slope, double l1) {
  if (u > 0) return std::abs(slope + l1);
  if (u < 0) return std::abs(slope - l1);
  return std::max(0.0, std::abs(slope) - l1);
}

double soft_threshold(double z, double t) { return z > t ? z - t : z < -t ? z + t : 0.0; }

template <bool Unit>
Sum sweep(const Design& x, const Quadratic& model, double margin, std::vector<std::int32_t>& order, double* step,
          double* q) {
  const double* d = model.row_curvature.data();
  Sum sum;
  std::size_t left = 0;
  const std::size_t size = order.size();
  for (std::size_t k = 0; k < size; ++k) {
    if (k + 2 < size) {  // columns come in random order: fetch the beginning of the next but one
      const std::size_t next = model.listed[order[k + 2]];
      __builtin_prefetch(x.row(next));
      if (!Unit) __builtin_prefetch(x.value(next));
    }
    const std::int32_t a = order[k];
    const std::size_t j = model.listed[a], entries = x.entries(j);
    const double u = model.weight[a] + step[a];
    const double slope = model.slope[a] + model.l2 * step[a] + dot<Unit>(x.row(j), x.value(j), entries, q);
    const double violation = violation_of(u, slope, model.l1);
    if (u == 0.0 && std::abs(slope) + margin < model.l1) continue;
    order[left++] = a;
    sum.violation += violation;
    sum.worst = std::max(sum.worst, violation);
    const double h = model.curvature[a] + model.l2 + kLeastCurvature;
    const double moved = soft_threshold(h * u - slope, model.l1) / h - u;
    if (std::abs(moved) < 1e-15 * std::abs(u) || moved == 0.0) continue;
    step[a] += moved;
    add_scaled<Unit>(x.row(j), x.value(j), entries, moved, d, q);
  }
  order.resize(left);
  return sum;
}

}  // namespace

Descent descend(const Design& x, const Quadratic& model, const Sweeps& sweeps, std::span<double> step,
                std::span<double> change) {
  const double* d = model.row_curvature.data();
  double* q = change.data();
  std::fill(step.begin(), step.end(), 0.0);
  std::fill(change.begin(), change.end(), 0.0);
  std::vector<std::int32_t> order(model.listed.size());  // positions in the list that are still looked at
  std::iota(order.begin(), order.end(), 0);
  base::Random(sweeps.seed, 0).shuffle(std::span(order));
  const double whole = model.intercept ? std::accumulate(d, d + x.rows(), 0.0) : 0.0;

  Descent result{0, 0.0};
  double first = 0.0, margin = std::numeric_limits<double>::infinity();
  while (result.sweeps < sweeps.most) {
    const Sum sum = x.binary() ? sweep<true>(x, model, margin, order, step.data(), q)
                               : sweep<false>(x, model, margin, order, step.data(), q);
    margin = sum.worst;
    double violation = sum.violation;
    if (whole > 0.0) {
      const double slope = model.intercept_slope + std::accumulate(q, q + x.rows(), 0.0), moved = -slope / whole;
      for (std::size_t i = 0; i < x.rows(); ++i) q[i] += moved * d[i];
      result.intercept_step += moved;
      violation += std::abs(slope);
    }
    if (++result.sweeps == 1) first = violation;
    if (violation <= sweeps.accuracy * first) break;
  }
  return result;
}

}  // namespace textmill::linear
