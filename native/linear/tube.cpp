#include "linear/tube.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace textmill::linear {

double tube_pass(const base::Csr<std::int64_t, double>& x, std::span<const double> target,
                 std::span<const double> square, const TubeSettings& settings, std::uint64_t seed,
                 std::span<double> dual, std::span<double> w, double& total) {
  const auto [cost, tube, center, rate] = settings;
  std::vector<std::int32_t> order(x.rows);
  std::iota(order.begin(), order.end(), 0);
  base::Random(seed, 0).shuffle(std::span(order));
  double worst = 0.0;
  for (const std::size_t i : order) {
    const double bend = square[i] + rate;
    if (bend <= 0.0) continue;  // a row without entries, no intercept: it has no say
    double slope = center + rate * total - target[i];
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) slope += x.values[e] * w[x.indices[e]];
    const double before = dual[i];
    const double raise = slope + (before >= 0.0 ? tube : -tube), lower = slope + (before > 0.0 ? tube : -tube);
    if (before < cost) worst = std::max(worst, -raise);
    if (before > -cost) worst = std::max(worst, lower);
    double step = -before;  // the minimum is at the kink
    if (slope + tube < bend * before)
      step = -(slope + tube) / bend;
    else if (slope - tube > bend * before)
      step = -(slope - tube) / bend;
    const double after = std::clamp(before + step, -cost, cost);
    if (after == before) continue;
    const double moved = after - before;
    dual[i] = after;
    total += moved;
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) w[x.indices[e]] += moved * x.values[e];
  }
  return worst;
}

}  // namespace textmill::linear
