// The log-likelihood of one document under a mixture of topics, and its gradient: what every ascent on mixtures needs.
//
//   p_w = sum_t theta_t phi_wt       L = sum_w n_w log p_w       g_t = dL / dtheta_t = sum_w n_w phi_wt / p_w
//
// Topics are stored by term, phi [V][K], so that the K numbers of a word lie together. Words that theta gives no
// probability (p_w <= kLeastProbability) are left out of L and g. Cost: 2 K multiplications a word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::topics {

inline constexpr double kLeastProbability = 1e-280;  // probabilities below count as 0: their reciprocals would overflow

struct Documents {                        // a view of n rows of counts
  std::span<const std::int64_t> offsets;  // [n + 1], rising from 0 to nnz
  std::span<const std::int32_t> terms;    // [nnz], each in [0, V)
  std::span<const double> counts;         // [nnz], finite, >= 0
};

template <class Real>
struct Words {                // one document
  const std::int32_t* terms;  // [size]
  const double* counts;       // [size]
  std::size_t size;
  const Real* phi;     // [V][K]
  std::size_t topics;  // K

  const Real* row(std::size_t e) const { return phi + static_cast<std::size_t>(terms[e]) * topics; }
  bool known(std::size_t e) const {  // whether some topic has word e
    return std::any_of(row(e), row(e) + topics, [](Real value) { return value > kLeastProbability; });
  }
  double known_count() const {
    double total = 0.0;
    for (std::size_t e = 0; e < size; ++e) total += known(e) ? counts[e] : 0.0;
    return total;
  }
};

template <class Real>
Words<Real> words_of(const Documents& documents, std::size_t d, const Real* phi, std::size_t topics) {
  const auto begin = static_cast<std::size_t>(documents.offsets[d]),
             end = static_cast<std::size_t>(documents.offsets[d + 1]);
  return {documents.terms.data() + begin, documents.counts.data() + begin, end - begin, phi, topics};
}

// Fills ratio [size] = n_w / p_w (0 where p_w counts as 0) and gradient [K]; returns L. Real is double or float.
template <class Real>
double gradient_at(const Words<Real>& words, const double* theta, double* ratio, double* gradient);

}  // namespace textmill::topics
