#include "sequence/features.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/math.h"
#include "base/simd.h"

namespace textmill::sequence {
namespace {

using base::with_packs;

constexpr double kLarge = 300.0;  // a score beyond is shifted before exp

// out[i] += factor * in[i] for `size` doubles.
template <class P>
TEXTMILL_INLINED inline void add_scaled(double factor, const double* in, double* out, std::size_t size) {
  const std::size_t whole = size - size % P::width;
  const P by = P(factor);
  for (std::size_t i = 0; i < whole; i += P::width) multiply_add(by, P::load(in + i), P::load(out + i)).store(out + i);
  if (whole < size) {
    const std::size_t rest = size - whole;
    multiply_add(by, P::load(in + whole, rest, 0.0), P::load(out + whole, rest, 0.0)).store(out + whole, rest);
  }
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Support::Support(const Layout& layout, std::span<const std::int64_t> chosen)
    : number(next_number()), features(chosen.begin(), chosen.end()), cell(chosen.size()) {
  const std::size_t Y = layout.labels, first = layout.unigrams * Y;
  unigram_offsets.assign(layout.unigrams + 1, 0);
  bigram_offsets.assign(layout.bigrams + 1, 0);
  std::size_t s = 0;
  for (std::size_t u = 0; u < layout.unigrams; ++u) {
    for (; s < features.size() && static_cast<std::size_t>(features[s]) < (u + 1) * Y; ++s) {
      cell[s] = static_cast<std::int32_t>(features[s] - static_cast<std::int64_t>(u * Y));
    }
    unigram_offsets[u + 1] = static_cast<std::int64_t>(s);
  }
  bigram_offsets[0] = static_cast<std::int64_t>(s);
  for (std::size_t b = 0; b < layout.bigrams; ++b) {
    for (; s < features.size() && static_cast<std::size_t>(features[s]) < first + (b + 1) * Y * Y; ++s) {
      const std::size_t inner = static_cast<std::size_t>(features[s]) - first - b * Y * Y;
      cell[s] = static_cast<std::int32_t>(inner / Y * layout.stride() + inner % Y);
    }
    bigram_offsets[b + 1] = static_cast<std::int64_t>(s);
  }
}

void add_unigram(const Layout& layout, const Weights& weights, std::size_t test, double value, double* scores) {
  if (weights.support == nullptr) {
    const double* row = weights.theta.data() + test * layout.labels;
    const std::size_t labels = layout.labels;
    with_packs([=]<class P>() TEXTMILL_INLINED { add_scaled<P>(value, row, scores, labels); });
    return;
  }
  const Support& support = *weights.support;
  for (auto s = support.unigram_offsets[test]; s < support.unigram_offsets[test + 1]; ++s) {
    scores[support.cell[s]] += value * weights.theta[s];
  }
}

void add_bigram(const Layout& layout, const Weights& weights, std::size_t test, double value, double* matrix) {
  const std::size_t labels = layout.labels, stride = layout.stride();
  if (weights.support == nullptr) {
    const double* block = weights.theta.data() + layout.unigrams * labels + test * labels * labels;
    with_packs([=]<class P>() TEXTMILL_INLINED {
      for (std::size_t y = 0; y < labels; ++y) add_scaled<P>(value, block + y * labels, matrix + y * stride, labels);
    });
    return;
  }
  const Support& support = *weights.support;
  for (auto s = support.bigram_offsets[test]; s < support.bigram_offsets[test + 1]; ++s) {
    matrix[support.cell[s]] += value * weights.theta[s];
  }
}

Extent exponentiate(double* matrix, std::size_t rows, std::size_t labels, std::size_t stride, double* shift,
                    bool always) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t whole = labels - labels % P::width, rest = labels - whole;
    P top = P(matrix[0]), bottom = P(-matrix[0]);
    for (std::size_t r = 0; r < rows; ++r) {
      const double* row = matrix + r * stride;
      for (std::size_t y = 0; y < whole; y += P::width) {
        top = max(top, P::load(row + y));
        bottom = max(bottom, P(0.0) - P::load(row + y));
      }
      if (rest > 0) {
        const P last = P::load(row + whole, rest, row[0]);
        top = max(top, last);
        bottom = max(bottom, P(0.0) - last);
      }
    }
    const double most = largest(top), least = -largest(bottom);
    const double by = *shift = always || std::abs(most) > kLarge ? most : 0.0;
    for (std::size_t r = 0; r < rows; ++r) {
      double* row = matrix + r * stride;
      for (std::size_t y = 0; y < whole; y += P::width) base::exp(P::load(row + y) - P(by)).store(row + y);
      if (rest > 0) base::exp(P::load(row + whole, rest, row[0]) - P(by)).store(row + whole, rest);
      for (std::size_t y = labels; y < stride; ++y) row[y] = 0.0;
    }
    return Extent{most, least};
  });
}

void unigram_scores(const Layout& layout, const Weights& weights, const Rows& rows, std::size_t token, double* unary) {
  std::fill_n(unary, layout.labels, 0.0);
  for (auto e = rows.offsets[token]; e < rows.offsets[token + 1]; ++e) {
    add_unigram(layout, weights, rows.ids[e], rows.values.empty() ? 1.0 : rows.values[e], unary);
  }
}

void bigram_scores(const Layout& layout, const Weights& weights, const Lists& tests, std::size_t context,
                   double* pair) {
  std::fill_n(pair, layout.labels * layout.stride(), 0.0);
  for (auto e = tests.offsets[context]; e < tests.offsets[context + 1]; ++e) {
    add_bigram(layout, weights, tests.items[e], tests.value(e), pair);
  }
}

}  // namespace textmill::sequence
