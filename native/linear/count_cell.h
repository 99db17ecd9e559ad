// One cell of a table of counts, a word in a class: what it is fitted to, and the objective of every model there.
//
// The objective is the log-likelihood with its prior, by coordinates without limits: u = logit p or log mu, v = log kappa
// or logit gamma, zeta = logit z. Texts without the word count by their distinct lengths, so its cost is that of the
// lengths and of the texts with the word. count_fits.cpp moves the coordinates.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "linear/count_fits.h"

namespace textmill::linear {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kFar = 30.0;  // coordinates are held within +-kFar: 1e-13 from the end of a probability

using Vector3 = std::array<double, 3>;

// Value, slope and curvature of the objective by the coordinates (u, v, zeta = logit z).
struct Sums {
  double value = 0.0;
  Vector3 slope{};
  std::array<double, 6> curvature{};  // uu, uv, vv, u zeta, v zeta, zeta zeta
};

// What one cell is fitted to, and scratch memory; one for each block of cells.
class Cell {
 public:
  Cell(const CountTable& table, const FitRules& rules) : table_(table), rules_(rules) {}

  void take(std::size_t cell);
  void fit();
  void write(const Fits& out, std::size_t cell);

 private:
  struct Point {
    Parameters at;  // second is kappa or gamma
    double value = -kInfinity;
    std::int32_t state = 0;
    std::int32_t iterations = 0;
  };

  bool is_binomial(Family family) const { return family == Family::binom || family == Family::betabinom; }
  static Family simple(Family family) {
    return family == Family::betabinom ? Family::binom : family == Family::negbinom ? Family::poisson : family;
  }

  Point fit(Family family, bool inflated);
  Point fit_simple(Family family);
  Point fit_spread(Family family);
  Point fit_inflated(Family family);
  Point fit_both(Family family);
  Point em(Family family, Point start, std::size_t steps, double tolerance);
  Point newton(Family family, bool inflated, Point start);
  double inflation_slope(Family family, const Parameters& at);
  void fill_zeros(Family family, const Parameters& at);
  double spread_slope(const Parameters& at, Family family) const;
  void evaluate(Family family, bool inflated, const Vector3& at, Sums& sums, bool with_prior = true);
  void add_zeros(Family family, bool inflated, const Vector3& at, Sums& sums);
  void add_positives(Family family, const Vector3& at, Sums& sums);
  double objective(Family family, bool inflated, const Parameters& at);

  const CountTable& table_;
  const FitRules& rules_;
  CountTable::Entries entries_;
  std::span<const double> length_;
  std::vector<double> zero_;                                   // [lengths] weight of texts without the word
  std::vector<double> tail_;                                   // [largest count] weight of texts with a count above j
  std::vector<double> f_, e_, l_, gu_, gv_, huu_, huv_, hvv_;  // [lengths] of log F(0 | n)
  std::vector<Rising> whole_;                                  // [lengths] sums of log(1 + j t)
  double sum_x_ = 0.0, sum_n_positive_ = 0.0, weight_positive_ = 0.0, weight_all_ = 0.0, sum_n_all_ = 0.0;
  double constant_ = 0.0;
  Point best_;
};

inline double logit(double p) { return std::log(p) - std::log1p(-p); }
inline double logistic(double u) { return u >= 0 ? 1 / (1 + std::exp(-u)) : std::exp(u) / (1 + std::exp(u)); }

Vector3 to_coordinates(Family family, const Parameters& p);
Parameters to_parameters(Family family, const Vector3& at, bool inflated);

}  // namespace textmill::linear
