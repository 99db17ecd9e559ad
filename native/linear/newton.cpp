#include "linear/newton.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/parallel.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kBlock = 8192;

// The sum over blocks of what body(begin, end) returns, added in order.
template <class F>
double sum_of_blocks(std::size_t size, std::size_t threads, F body) {
  std::vector<double> sums((size + kBlock - 1) / kBlock);
  base::parallel_for(sums.size(), threads,
                     [&](std::size_t b) { sums[b] = body(b * kBlock, std::min(size, (b + 1) * kBlock)); });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

NewtonStep newton_step(RowPasses& x, const NewtonSystem& system, double accuracy, std::size_t most,
                       std::span<double> step, std::span<double> change, std::size_t threads) {
  const std::size_t m = x.columns(), size = system.gradient.size();
  std::vector<double> left(size), direction(size), product(size), margin(x.rows());
  const double* g = system.gradient.data();
  const double* scale = system.diagonal.data();
  double* r = left.data();
  double* q = direction.data();
  double* s = step.data();
  const double* h = product.data();
  double square = sum_of_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t j = begin; j < end; ++j) {
      s[j] = 0.0;
      r[j] = -g[j];
      q[j] = r[j] / scale[j];
      sum += r[j] * q[j];
    }
    return sum;
  });
  std::fill(change.begin(), change.end(), 0.0);
  const double aim = accuracy * accuracy * square;
  NewtonStep result{0, 0.0};
  while (result.iterations < most && square > aim) {
    const double shift = system.intercept ? q[m] : 0.0;
    const double all = x.curve(std::span(direction).first(m), shift, system.row_curvature, margin,
                               std::span(product).first(m), threads);
    if (system.intercept) product[m] = all;
    double* p = product.data();
    const double bend = sum_of_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t j = begin; j < end; ++j) {
        if (j < m) p[j] += system.l2 * q[j];
        sum += q[j] * p[j];
      }
      return sum;
    });
    if (!(bend > 0.0)) break;
    ++result.iterations;
    const double length = square / bend;
    for (std::size_t i = 0; i < margin.size(); ++i) change[i] += length * margin[i];
    const double after = sum_of_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t j = begin; j < end; ++j) {
        s[j] += length * q[j];
        r[j] -= length * h[j];
        sum += r[j] * r[j] / scale[j];
      }
      return sum;
    });
    const double share = after / square;
    square = after;
    base::parallel_blocks(size, kBlock, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) q[j] = r[j] / scale[j] + share * q[j];
    });
  }
  result.slope = sum_of_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t j = begin; j < end; ++j) sum += g[j] * s[j];
    return sum;
  });
  return result;
}

}  // namespace textmill::linear
