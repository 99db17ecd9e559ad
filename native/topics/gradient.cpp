#include "topics/gradient.h"

#include "base/math.h"
#include "base/simd.h"

namespace textmill::topics {
namespace {

using base::Pack;

constexpr std::size_t kChains = 4;  // sums of a dot product that do not wait for each other

// sum_t a_t b_t, in an order that depends on K only.
template <Pack P, class Real>
TEXTMILL_INLINED inline double dot(const double* a, const Real* b, std::size_t size) {
  P sums[kChains];
  for (std::size_t c = 0; c < kChains; ++c) sums[c] = P(0.0);
  std::size_t i = 0;
  for (; i + kChains * P::width <= size; i += kChains * P::width) {
    for (std::size_t c = 0; c < kChains; ++c) {
      const std::size_t at = i + c * P::width;
      sums[c] = multiply_add(P::load(a + at), P::load(b + at), sums[c]);
    }
  }
  for (; i + P::width <= size; i += P::width) sums[0] = multiply_add(P::load(a + i), P::load(b + i), sums[0]);
  double rest = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < size; ++i) rest += a[i] * static_cast<double>(b[i]);
  return rest;
}

// to_t += scale from_t
template <Pack P, class Real>
TEXTMILL_INLINED inline void add_scaled(double scale, const Real* from, double* to, std::size_t size) {
  const P s = scale;
  std::size_t i = 0;
  for (; i + P::width <= size; i += P::width) multiply_add(s, P::load(from + i), P::load(to + i)).store(to + i);
  for (; i < size; ++i) to[i] += scale * static_cast<double>(from[i]);
}

}  // namespace

template <class Real>
double gradient_at(const Words<Real>& words, const double* theta, double* ratio, double* gradient) {
  base::with_packs([=, &words]<class P>() TEXTMILL_INLINED {
    for (std::size_t t = 0; t < words.topics; ++t) gradient[t] = 0.0;
    for (std::size_t e = 0; e < words.size; ++e) {
      const Real* row = words.row(e);
      const double p = dot<P>(theta, row, words.topics);
      ratio[e] = p;
      if (p > kLeastProbability) add_scaled<P>(words.counts[e] / p, row, gradient, words.topics);
    }
  });
  double likelihood = 0.0;
  for (std::size_t begin = 0; begin < words.size; begin += 64) {
    double logs[64];
    const std::size_t size = std::min<std::size_t>(64, words.size - begin);
    for (std::size_t e = 0; e < size; ++e) logs[e] = ratio[begin + e] > kLeastProbability ? ratio[begin + e] : 1.0;
    base::log({logs, size}, {logs, size});
    for (std::size_t e = 0; e < size; ++e) likelihood += words.counts[begin + e] * logs[e];
  }
  for (std::size_t e = 0; e < words.size; ++e)
    ratio[e] = ratio[e] > kLeastProbability ? words.counts[e] / ratio[e] : 0.0;
  return likelihood;
}

template double gradient_at(const Words<double>&, const double*, double*, double*);
template double gradient_at(const Words<float>&, const double*, double*, double*);

}  // namespace textmill::topics
