#include "sequence/logarithms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sequence/chain.h"

namespace textmill::sequence {

double evaluate_in_logarithms(const Plan& plan, const Weights& w, double* gradient, double* probabilities,
                              double* logs) {
  const Layout& layout = plan.layout;
  const Contexts &unigram = plan.unigram, &bigram = plan.bigram;
  const std::size_t Y = plan.labels, stride = plan.stride;
  std::vector<double> unary, a, b, pair(Y * stride);
  std::vector<std::vector<double>> scores(bigram.of.empty() ? 0 : bigram.size());
  std::vector<const double*> pairs;
  const std::vector<double> nothing(Y * stride, 0.0);
  double value = 0.0;
  for (std::size_t s = 0; s < plan.sequences(); ++s) {
    const auto begin = static_cast<std::size_t>(plan.offsets[s]);
    const std::size_t T = static_cast<std::size_t>(plan.offsets[s + 1]) - begin;
    if (T == 0) {
      if (logs != nullptr) logs[s] = 0.0;
      continue;
    }
    unary.assign(T * Y, 0.0);
    pairs.assign(T, nothing.data());
    for (std::size_t t = 0; t < T; ++t) {
      const std::int32_t c = unigram.of[begin + t];
      for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) {
        add_unigram(layout, w, unigram.tests.items[e], unigram.tests.value(e), &unary[t * Y]);
      }
      if (!unigram.tag.empty() && unigram.tag[c] >= 0) {
        for (std::size_t y = 0; y < Y; ++y) {
          if (!plan.allows(unigram.tag[c], y)) unary[t * Y + y] = -std::numeric_limits<double>::infinity();
        }
      }
      if (t == 0 || plan.local()) continue;
      const std::int32_t d = bigram.of[begin + t];
      if (scores[d].empty()) {
        scores[d].assign(Y * stride, 0.0);
        for (auto e = bigram.tests.offsets[d]; e < bigram.tests.offsets[d + 1]; ++e) {
          add_bigram(layout, w, bigram.tests.items[e], bigram.tests.value(e), scores[d].data());
        }
      }
      pairs[t] = scores[d].data();
    }
    const Chain chain{T, Y, unary.data(), pairs, stride};
    a.resize(T * Y);
    b.resize(T * Y);
    const auto add = [&](double weight, bool first) {
      const double total = forward(chain, a);
      value += weight * total;
      if (first && logs != nullptr) logs[s] = total;
      if (gradient == nullptr && probabilities == nullptr) return;
      backward(chain, b);
      for (std::size_t t = 0; t < T; ++t) {
        const std::int32_t c = unigram.of[begin + t];
        for (std::size_t y = 0; y < Y; ++y) pair[y] = std::exp(a[t * Y + y] + b[t * Y + y] - total);
        if (first && probabilities != nullptr) std::copy_n(pair.data(), Y, probabilities + (begin + t) * Y);
        if (gradient == nullptr) continue;
        for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) {
          const std::int32_t u = unigram.tests.items[e];
          const double by = weight * unigram.tests.value(e);
          if (w.support == nullptr) {
            for (std::size_t y = 0; y < Y; ++y) gradient[u * Y + y] += by * pair[y];
          } else {
            for (auto i = w.support->unigram_offsets[u]; i < w.support->unigram_offsets[u + 1]; ++i)
              gradient[i] += by * pair[w.support->cell[i]];
          }
        }
        if (t == 0 || plan.local()) continue;
        for (std::size_t f = 0; f < Y; ++f) {
          for (std::size_t y = 0; y < Y; ++y) {
            pair[f * stride + y] =
                std::exp(a[(t - 1) * Y + f] + pairs[t][f * stride + y] + unary[t * Y + y] + b[t * Y + y] - total);
          }
        }
        const std::int32_t d = bigram.of[begin + t];
        for (auto e = bigram.tests.offsets[d]; e < bigram.tests.offsets[d + 1]; ++e) {
          const std::int32_t test = bigram.tests.items[e];
          const double by = weight * bigram.tests.value(e);
          if (w.support == nullptr) {
            double* out = gradient + layout.unigrams * Y + test * Y * Y;
            for (std::size_t f = 0; f < Y; ++f) {
              for (std::size_t y = 0; y < Y; ++y) out[f * Y + y] += by * pair[f * stride + y];
            }
          } else {
            for (auto i = w.support->bigram_offsets[test]; i < w.support->bigram_offsets[test + 1]; ++i)
              gradient[i] += by * pair[w.support->cell[i]];
          }
        }
      }
    };
    add(plan.weight(s), true);
    if (plan.clamped.empty()) continue;
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t y = 0; y < Y; ++y) {
        if (!plan.allows(plan.clamped[begin + t], y)) unary[t * Y + y] = -std::numeric_limits<double>::infinity();
      }
    }
    add(-plan.weight(s), false);
  }
  return value;
}

}  // namespace textmill::sequence
