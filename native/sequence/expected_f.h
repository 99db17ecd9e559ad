// Expected F of sets of items whose labels are independent, y_i = 1 with probability p_i.
//
//   F_b(z, y) = (b + 1) A / (P + b T),  0/0 = 1       A = z.y hits,  P = z.z claimed,  T = y.y to be found
//   E_m: the expectation for the m most probable items, which are the best m. A is a sum over the first m items, R = T - A
//   over the others, both Poisson-binomial:
//
//   general b     E_m = sum_{A,R} pre_m[A] suf_m[R] (b + 1) A / (m + b (A + R))
//   b = q / r     s_n[c] = 1 / c,   s_{m-1}[c] = (1 - p_m) s_m[c] + p_m s_m[c + q]       s_m[c] = E 1 / (c + q R)
//                 E_m = (q + r) sum_A A pre_m[A] s_m[r m + q A]
//
// Masses below 1e-30 at the ends of a distribution are dropped: rows of n items have some 23 standard deviations, not
// n + 1 entries. Prefix rows are wanted backwards; one in sqrt(n) is kept, the others are made again a stretch at a time.
// Cost for all m: (q + r) n^2 / 2 steps for b = q / r; n V steps a hundredfold for general b, V the variance of T.
// References: Jansche (2007); Ye, Chai, Lee & Chieu (2012).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::sequence {

struct FWeight {             // b of F_b
  double b;                  // >= 0
  std::size_t q = 0, r = 0;  // b = q / r, or 0 and 0 when b is no ratio of small numbers
};

// The distribution of a sum of independent labels without its negligible ends.
struct Sum {
  std::size_t first = 0;  // the value that mass[0] belongs to
  std::vector<double> mass{1.0};
  void add(double p);  // one more label
};

// E_m for m in [first, last], `p` [n] falling, 0 <= first <= last <= n; out [last - first + 1].
void expected_f_curve(std::span<const double> p, const FWeight& weight, std::size_t first, std::size_t last,
                      std::span<double> out);

// For every run of p [offsets] the set of the greatest expected F, at most `most` items: label [n] 0 or 1, value [runs].
// Among equal values the smallest set, among equal probabilities the first items.
void decode_f(std::span<const double> p, std::span<const std::int64_t> offsets, const FWeight& weight, std::size_t most,
              std::span<std::uint8_t> label, std::span<double> value, std::size_t threads);

struct Pruned {
  double value;        // a lower bound of the expectation
  double lost;         // mass of the states left out: the expectation is at most value + lost
  std::size_t states;  // over all positions, the start with them
};

// The expectation for a fixed set z [n] by a sweep over states (A, T), of which at most `beam` (all for 0) are expanded at
// each position: the most probable ones, among equals those of the smallest A, then T.
Pruned pruned_expected_f(std::span<const std::uint8_t> z, std::span<const double> p, double b, std::size_t beam);

// d/dp_i of sum_k P(sum of labels = k) g[k], g [n + 1]; gradient [n]. Returns the sum itself. O(n^2).
double sum_gradient(std::span<const double> p, std::span<const double> g, std::span<double> gradient);

}  // namespace textmill::sequence
