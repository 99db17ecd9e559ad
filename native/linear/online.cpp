#include "linear/online.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace textmill::linear {
namespace {

// What is owed to one column: decay since it was seen, then, if `owed`, its penalty.
void charge(std::size_t margins, std::size_t columns, std::size_t j, const Stream& stream, bool owed, double* w,
            double* q, double* seen) {
  const double decay = std::exp(stream.shrink - seen[j]);
  seen[j] = stream.shrink;
  for (std::size_t c = 0; c < margins; ++c) {
    double& weight = w[c * columns + j];
    weight *= decay;
    if (!owed) continue;
    const double z = weight;
    double& received = q[c * columns + j];
    if (z > 0) weight = std::max(0.0, z - (stream.penalty + received));
    if (z < 0) weight = std::min(0.0, z + (stream.penalty - received));
    received += weight - z;
  }
}

// The residual of every margin; returns the loss.
double residuals(std::span<const double> margin, std::size_t label, double weight, std::span<double> residual) {
  if (margin.size() == 1) {
    const double z = margin[0], e = std::exp(-std::abs(z)), far = e / (1 + e), near = 1 / (1 + e);
    const double positive = z >= 0 ? near : far;
    residual[0] = weight * (label == 1 ? (z >= 0 ? far : near) : -positive);
    return weight * (std::log1p(e) + std::max(label == 1 ? -z : z, 0.0));
  }
  const double most = *std::max_element(margin.begin(), margin.end());
  double sum = 0.0;
  for (std::size_t c = 0; c < margin.size(); ++c) sum += residual[c] = std::exp(margin[c] - most);
  for (std::size_t c = 0; c < margin.size(); ++c) residual[c] = weight * ((c == label ? 1.0 : 0.0) - residual[c] / sum);
  return weight * (std::log(sum) + most - margin[label]);
}

}  // namespace

double learn_rows(const base::Csr<std::int64_t, double>& x, std::span<const std::int32_t> label,
                  std::span<const double> weight, const Rates& rates, std::size_t margins, std::span<double> w,
                  std::span<double> q, std::span<double> seen, std::span<double> bias, Stream& stream) {
  std::vector<double> margin(margins), residual(margins);
  double loss = 0.0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::copy(bias.begin(), bias.end(), margin.begin());
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) {
      const std::size_t j = x.indices[e];
      charge(margins, x.columns, j, stream, false, w.data(), q.data(), seen.data());
      for (std::size_t c = 0; c < margins; ++c) margin[c] += x.values[e] * w[c * x.columns + j];
    }
    loss += residuals(margin, label[i], weight[i], residual);
    stream.steps += 1;
    const double eta = std::pow(rates.offset + stream.steps, -rates.decay);
    stream.penalty += eta * rates.l1 / stream.steps;
    stream.shrink += std::log1p(-std::min(0.5, eta * rates.l2 / stream.steps));
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) {
      const std::size_t j = x.indices[e];
      for (std::size_t c = 0; c < margins; ++c) w[c * x.columns + j] += eta * residual[c] * x.values[e];
      charge(margins, x.columns, j, stream, true, w.data(), q.data(), seen.data());
    }
    if (rates.intercept)
      for (std::size_t c = 0; c < margins; ++c) bias[c] += eta * residual[c];
  }
  return loss;
}

void settle(std::size_t margins, std::span<double> w, std::span<double> q, std::span<double> seen,
            const Stream& stream) {
  for (std::size_t j = 0; j < seen.size(); ++j)
    charge(margins, seen.size(), j, stream, true, w.data(), q.data(), seen.data());
}

}  // namespace textmill::linear
