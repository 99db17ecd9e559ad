#include "linear/loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/math.h"
#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kRowBlock = 2048;
constexpr std::size_t kWidest = 4;  // doubles of a pack at most; divides kRowBlock
constexpr double kSecant = 0.25;

template <class F>
double sum_of_blocks(std::size_t rows, std::size_t threads, F body) {
  std::vector<double> sums((rows + kRowBlock - 1) / kRowBlock);
  base::parallel_for(sums.size(), threads,
                     [&](std::size_t b) { sums[b] = body(b * kRowBlock, std::min(rows, (b + 1) * kRowBlock)); });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

double binary_loss(std::span<const double> margin, std::span<const std::int32_t> label, std::span<const double> weight,
                   std::span<double> residual, std::span<double> curvature, std::size_t threads) {
  const bool slopes = !residual.empty(), bends = slopes && !curvature.empty();
  return sum_of_blocks(margin.size(), threads, [&](std::size_t begin, std::size_t end) {
    // Everything by u = +-z, the margin towards the row's own class, without a branch; blocks are whole packs.
    std::array<double, kRowBlock> towards, sign, heavy, small, log_term, slope, bend;
    const std::size_t size = end - begin, whole = (size + kWidest - 1) / kWidest * kWidest;
    for (std::size_t k = 0; k < size; ++k) {
      sign[k] = label[begin + k] == 1 ? 1.0 : -1.0;
      heavy[k] = weight[begin + k];
      towards[k] = sign[k] * margin[begin + k];
    }
    for (std::size_t k = size; k < whole; ++k) sign[k] = heavy[k] = towards[k] = 0.0;
    double *u = towards.data(), *w = heavy.data(), *s = small.data(), *t = log_term.data();
    double *g = slope.data(), *d = bend.data();
    const double* c = sign.data();
    base::with_packs([=]<class P>() TEXTMILL_INLINED {
      base::map<P>({u, whole}, {s, whole}, [](P x) TEXTMILL_INLINED { return exp(P(0.0) - abs(x)); });
      base::map<P>({s, whole}, {t, whole}, [](P x) TEXTMILL_INLINED { return log1p(x); });
      if (!slopes) return;
      for (std::size_t k = 0; k < whole; k += P::width) {
        const P x = P::load(u + k), e = P::load(s + k), own = P::load(w + k);
        const P inverse = P(1.0) / (P(1.0) + e), far = e * inverse;  // of both classes, the likelier one first
        const auto right = P(0.0) < x;
        (own * P::load(c + k) * select(right, far, inverse)).store(g + k);
        if (!bends) continue;
        const P secant = P(kSecant) * (inverse - P(0.5)) / (abs(x) + P(1e-12)), plain = far * inverse;
        max(own * select(right, plain, max(plain, secant)), P(kLeastRowCurvature)).store(d + k);
      }
    });
    double total = 0.0;
    for (std::size_t k = 0; k < size; ++k) total += w[k] * (t[k] + std::max(-u[k], 0.0));
    if (slopes) std::copy_n(g, size, residual.begin() + begin);
    if (bends) std::copy_n(d, size, curvature.begin() + begin);
    return total;
  });
}

double binary_entropy(std::span<const double> residual, std::span<const double> weight, double factor,
                      std::size_t threads) {
  return sum_of_blocks(residual.size(), threads, [&](std::size_t begin, std::size_t end) {
    std::array<double, kRowBlock> share, log_share, log_rest;
    const std::size_t size = end - begin;
    double* t = share.data();
    double* own = log_share.data();
    double* rest = log_rest.data();
    for (std::size_t k = 0; k < size; ++k) {
      const double s = weight[begin + k];
      t[k] = s > 0 ? std::min(1.0, factor * std::abs(residual[begin + k]) / s) : 0.0;
      rest[k] = -t[k];
    }
    base::with_packs([=]<class P>() TEXTMILL_INLINED {
      base::map<P>({t, size}, {own, size}, [](P x) TEXTMILL_INLINED { return log(max(x, P(1e-300))); });
      base::map<P>({rest, size}, {rest, size}, [](P x) TEXTMILL_INLINED { return log1p(max(x, P(-1.0 + 1e-16))); });
    });
    double total = 0.0;
    for (std::size_t k = 0; k < size; ++k) total -= weight[begin + k] * (t[k] * own[k] + (1.0 - t[k]) * rest[k]);
    return total;
  });
}

std::array<double, 4> smoothed_counts(std::span<const double> margin, std::span<const std::int32_t> label,
                                      std::span<const double> weight, double gamma, std::span<double> miss) {
  const std::size_t size = margin.size();
  const double* z = margin.data();
  double* wrong = miss.data();
  base::with_packs([=]<class P>() TEXTMILL_INLINED {
    base::map<P>({z, size}, {wrong, size}, [=](P x) TEXTMILL_INLINED { return exp(P(-gamma) * abs(x)); });
  });
  std::array<double, 4> sum{};
  for (std::size_t k = 0; k < size; ++k) {
    const bool positive = label[k] == 1;
    const double inverse = 1.0 / (1.0 + wrong[k]), far = wrong[k] * inverse;
    const bool right = positive == (z[k] >= 0);
    wrong[k] = right ? far : inverse;
    const double lost = weight[k] * wrong[k], won = weight[k] * (right ? inverse : far);
    sum[0] += positive ? won : 0.0;
    sum[1] += positive ? lost : 0.0;
    sum[2] += positive ? 0.0 : lost;
    sum[3] += positive ? 0.0 : won;
  }
  return sum;
}

double smoothed_slopes(std::span<double> miss, std::span<const std::int32_t> label, std::span<const double> weight,
                       double gain_negative, double gain_positive, std::size_t threads) {
  return sum_of_blocks(miss.size(), threads, [&](std::size_t begin, std::size_t end) {
    double total = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      miss[i] = weight[i] * (label[i] == 1 ? gain_positive : gain_negative) * miss[i] * (1.0 - miss[i]);
      total += miss[i];
    }
    return total;
  });
}

double softmax_loss(std::span<const double> margin, std::size_t classes, std::span<const std::int32_t> label,
                    std::span<const double> weight, std::span<double> residual, std::size_t threads) {
  const std::size_t n = label.size();
  return sum_of_blocks(n, threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t size = end - begin;
    std::array<double, kRowBlock> highest, sum, term;
    std::copy_n(margin.data() + begin, size, highest.data());
    for (std::size_t c = 1; c < classes; ++c)
      for (std::size_t k = 0; k < size; ++k) highest[k] = std::max(highest[k], margin[c * n + begin + k]);
    sum.fill(0.0);
    for (std::size_t c = 0; c < classes; ++c) {
      const double* z = margin.data() + c * n + begin;
      for (std::size_t k = 0; k < size; ++k) term[k] = z[k] - highest[k];
      double* t = term.data();
      base::with_packs([=]<class P>() TEXTMILL_INLINED {
        base::map<P>({t, size}, {t, size}, [](P x) TEXTMILL_INLINED { return exp(x); });
      });
      for (std::size_t k = 0; k < size; ++k) sum[k] += term[k];
      if (!residual.empty()) std::copy_n(t, size, residual.data() + c * n + begin);
    }
    double total = 0.0;
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t i = begin + k;
      total += weight[i] * (std::log(sum[k]) + highest[k] - margin[static_cast<std::size_t>(label[i]) * n + i]);
    }
    if (!residual.empty())
      for (std::size_t c = 0; c < classes; ++c) {
        double* r = residual.data() + c * n + begin;
        for (std::size_t k = 0; k < size; ++k) {
          const std::size_t i = begin + k;
          r[k] = weight[i] * ((static_cast<std::size_t>(label[i]) == c ? 1.0 : 0.0) - r[k] / sum[k]);
        }
      }
    return total;
  });
}

}  // namespace textmill::linear
