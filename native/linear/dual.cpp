#include "linear/dual.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "linear/dots.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kLanes = 2;
constexpr std::size_t kStretches = 8;
constexpr std::size_t kColumnBlock = 8192;
constexpr double kAccuracy = 1e-3;  // of a root, relative to where the search for it began
constexpr int kNewtonSteps = 20;

// The root of f between the margin that a stands for and b.
double root(double b, double q, double s, double a, double implied) {
  if (q * s <= 4.0) {  // the slope of f lies between 1 and 2: two steps of Newton are near enough
    double m = b;
    for (int step = 0; step < 2; ++step) {
      const double p = 1.0 / (1.0 + std::exp(m));
      m -= (m - b - q * (s * p - a)) / (1.0 + q * s * p * (1.0 - p));
    }
    return m;
  }
  double low = std::min(b, implied), high = std::max(b, implied);
  const double enough = kAccuracy * (high - low) + 1e-12;
  double m = b;
  for (int step = 0; step < kNewtonSteps; ++step) {
    const double p = 1.0 / (1.0 + std::exp(m)), f = m - b - q * (s * p - a);
    if (std::abs(f) <= enough) break;
    (f > 0 ? high : low) = m;
    const double next = m - f / (1.0 + q * s * p * (1.0 - p));
    m = next > low && next < high ? next : 0.5 * (low + high);
  }
  return m;
}

}  // namespace

void dual_pass(const base::Csr<std::int64_t, double>& x, std::span<const std::int32_t> label,
               std::span<const double> weight, std::span<const double> square, const DualPass& pass,
               std::span<double> dual, std::span<double> implied, std::span<double> w) {
  std::vector<std::int32_t> order(x.rows);
  std::iota(order.begin(), order.end(), 0);
  base::Random(pass.seed, 0).shuffle(std::span(order));
  std::vector<double> second(w.begin(), w.end()), before(w.begin(), w.end());  // w of the second lane, and of both
  constexpr std::size_t pieces = kStretches * kLanes;
  const auto piece = [&](std::size_t number, double* v) {
    const std::size_t end = x.rows * (number + 1) / pieces;
    for (std::size_t k = x.rows * number / pieces; k < end; ++k) {
      if (k + 2 < end) {  // rows come in random order: fetch the next but one
        const auto from = x.offsets[order[k + 2]], to = x.offsets[order[k + 2] + 1];
        for (auto e = from; e < to; e += 16) __builtin_prefetch(x.indices.data() + e);
        for (auto e = from; e < to; e += 8) __builtin_prefetch(x.values.data() + e);
      }
      const std::size_t i = order[k];
      const double s = weight[i], y = label[i] == 1 ? 1.0 : -1.0;
      if (s <= 0.0) continue;
      const auto at = x.offsets[i];
      const std::size_t size = x.offsets[i + 1] - at;
      const std::int32_t* index = x.indices.data() + at;
      const double* value = x.values.data() + at;
      const double b = y * dot<false>(index, value, size, v), a = dual[i];
      implied[i] = root(b, pass.caution * square[i] / pass.l2, s, a, implied[i]);
      dual[i] = s / (1.0 + std::exp(implied[i]));
      const double moved = (dual[i] - a) * y / pass.l2;
      for (std::size_t e = 0; e < size; ++e) v[index[e]] += moved * value[e];
    }
  };
  for (std::size_t stretch = 0; stretch < kStretches; ++stretch) {
    base::parallel_for(kLanes, pass.threads,
                       [&](std::size_t lane) { piece(stretch * kLanes + lane, lane == 0 ? w.data() : second.data()); });
    base::parallel_blocks(w.size(), kColumnBlock, pass.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) w[j] = second[j] = before[j] = w[j] + (second[j] - before[j]);
    });
  }
}

}  // namespace textmill::linear
