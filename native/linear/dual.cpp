#include "linear/dual.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace textmill::linear {

double dual_pass(const base::Csr<std::int64_t, double>& x, std::span<const std::int32_t> label,
                 std::span<const double> weight, std::span<const double> square, double l2, std::uint64_t seed,
                 std::span<double> dual, std::span<double> w) {
  constexpr double kAccuracy = 1e-8;
  constexpr int kNewtonSteps = 100;
  std::vector<std::int32_t> order(x.rows);
  std::iota(order.begin(), order.end(), 0);
  base::Random(seed, 0).shuffle(std::span(order));
  double worst = 0.0;
  for (const std::size_t i : order) {
    const double s = weight[i], y = label[i] == 1 ? 1.0 : -1.0, a = square[i] / l2;
    if (s <= 0.0) continue;
    double margin = 0.0;
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) margin += x.values[e] * w[x.indices[e]];
    const double b = y * margin;
    const bool other = 0.5 * a * (dual[2 * i + 1] - dual[2 * i]) + b < 0;  // the smaller of the two is moved
    const double sign = other ? -1.0 : 1.0;
    double& own = dual[2 * i + (other ? 1 : 0)];
    double& rest = dual[2 * i + (other ? 0 : 1)];
    const double before = own;
    double z = s - before < 0.5 * s ? 0.1 * before : before;
    double slope = a * (z - before) + sign * b + std::log(z / (s - z));
    worst = std::max(worst, std::abs(slope));
    int steps = 0;
    for (; steps < kNewtonSteps && std::abs(slope) >= kAccuracy; ++steps) {
      const double next = z - slope / (a + s / (s - z) / z);
      z = next <= 0 ? 0.1 * z : next;
      slope = a * (z - before) + sign * b + std::log(z / (s - z));
    }
    if (steps == 0) continue;
    own = z;
    rest = s - z;
    const double moved = sign * (z - before) * y / l2;
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) w[x.indices[e]] += moved * x.values[e];
  }
  return worst;
}

}  // namespace textmill::linear
