#include "linear/count_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/math.h"
#include "base/parallel.h"

namespace textmill::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kFar = 30.0;  // coordinates are held within +-kFar: 1e-13 from the end of a probability
constexpr double kLongestStep = 4.0;
constexpr double kSmallStep = 1e-7;  // Newton's next step would be its square
constexpr std::size_t kCellBlock = 32;
constexpr int kEmSteps = 3;     // before Newton takes over
constexpr double kBend = 1e-4;  // share of the expected gain that a step must bring

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

double log_factorial(double x) {
  static const std::array<double, 64> table = [] {
    std::array<double, 64> out{};
    for (std::size_t k = 2; k < out.size(); ++k) out[k] = static_cast<double>(log_gamma_ratio(1, k));
    return out;
  }();
  return x < 64 ? table[static_cast<std::size_t>(x)] : static_cast<double>(log_gamma_ratio(1, x));
}

// log n (n - 1) ... (n - x + 1)
double log_falling(double n, double x) {
  double product = 1.0;
  for (double j = 0; j < x; ++j) product *= n - j;
  return std::log(product);
}

double logit(double p) { return std::log(p) - std::log1p(-p); }
double logistic(double u) { return u >= 0 ? 1 / (1 + std::exp(-u)) : std::exp(u) / (1 + std::exp(u)); }

Vector3 to_coordinates(Family family, const Parameters& p) {
  const bool binomial = family == Family::binom || family == Family::betabinom;
  const double u = binomial ? logit(p.first) : std::log(p.first);
  const double v = family == Family::negbinom    ? std::log(p.second)
                   : family == Family::betabinom ? logit(p.second)  // = log t
                                                 : 0.0;
  const auto held = [](double x) { return std::clamp(x, -kFar, kFar); };
  return {binomial ? held(u) : u, held(v), p.z > 0 ? held(logit(p.z)) : -kFar};
}

Parameters to_parameters(Family family, const Vector3& at, bool inflated) {
  const bool binomial = family == Family::binom || family == Family::betabinom;
  Parameters out;
  out.first = binomial ? logistic(at[0]) : std::exp(at[0]);
  if (family == Family::negbinom) out.second = std::exp(at[1]);
  if (family == Family::betabinom) out.second = logistic(at[1]);
  if (family == Family::poisson) out.second = kInfinity;
  out.z = inflated ? logistic(at[2]) : 0.0;
  return out;
}

// Solves (-H + lambda D) step = g over the active coordinates by Cholesky; false unless positive definite.
bool solve(const std::array<double, 6>& curvature, const Vector3& slope, const std::array<bool, 3>& active,
           double lambda, Vector3& step, std::array<Vector3, 3>* inverse = nullptr) {
  const double full[3][3] = {{curvature[0], curvature[1], curvature[3]},
                             {curvature[1], curvature[2], curvature[4]},
                             {curvature[3], curvature[4], curvature[5]}};
  std::size_t index[3], size = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (active[i]) index[size++] = i;
  double factor[3][3];
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double own = -full[index[i]][index[j]];
      double sum = own + (i == j ? lambda * std::max(std::abs(own), 1e-12) : 0.0);
      for (std::size_t k = 0; k < j; ++k) sum -= factor[i][k] * factor[j][k];
      if (i == j) {
        if (!(sum > 1e-14 * std::abs(own)) || !std::isfinite(sum)) return false;
        factor[i][i] = std::sqrt(sum);
      } else {
        factor[i][j] = sum / factor[j][j];
      }
    }
  const auto back = [&](const double* right, double* out) {
    double y[3];
    for (std::size_t i = 0; i < size; ++i) {
      double sum = right[i];
      for (std::size_t k = 0; k < i; ++k) sum -= factor[i][k] * y[k];
      y[i] = sum / factor[i][i];
    }
    for (std::size_t i = size; i-- > 0;) {
      double sum = y[i];
      for (std::size_t k = i + 1; k < size; ++k) sum -= factor[k][i] * out[k];
      out[i] = sum / factor[i][i];
    }
  };
  double right[3], out[3];
  for (std::size_t i = 0; i < size; ++i) right[i] = slope[index[i]];
  back(right, out);
  step = {};
  for (std::size_t i = 0; i < size; ++i) step[index[i]] = out[i];
  if (inverse != nullptr)
    for (std::size_t c = 0; c < size; ++c) {
      const double unit[3] = {c == 0 ? 1.0 : 0.0, c == 1 ? 1.0 : 0.0, c == 2 ? 1.0 : 0.0};
      back(unit, out);
      for (std::size_t i = 0; i < size; ++i) (*inverse)[index[i]][index[c]] = out[i];
    }
  return true;
}

void Cell::take(std::size_t cell) {
  const std::size_t label = cell / table_.columns();
  entries_ = table_.entries(cell);
  length_ = table_.lengths(label);
  const auto weights = table_.weights(label);
  zero_.assign(weights.begin(), weights.end());
  sum_x_ = sum_n_positive_ = weight_positive_ = weight_all_ = sum_n_all_ = 0.0;
  for (std::size_t l = 0; l < zero_.size(); ++l) weight_all_ += zero_[l], sum_n_all_ += zero_[l] * length_[l];
  double most = 0.0;
  for (std::size_t k = 0; k < entries_.count.size(); ++k) {
    const double x = entries_.count[k], w = entries_.weight[k], n = length_[entries_.length[k]];
    zero_[entries_.length[k]] -= w;
    sum_x_ += w * x, sum_n_positive_ += w * n, weight_positive_ += w;
    most = std::max(most, x);
  }
  for (double& weight : zero_) weight = std::max(weight, 0.0);
  constant_ = 0.0;
  if (entries_.count.empty()) return;
  const bool spread = rules_.family == Family::negbinom || rules_.family == Family::betabinom;
  if (spread && most <= 4096) {
    tail_.assign(static_cast<std::size_t>(most), 0.0);
    for (std::size_t k = 0; k < entries_.count.size(); ++k)
      tail_[static_cast<std::size_t>(entries_.count[k]) - 1] += entries_.weight[k];
    for (std::size_t j = tail_.size() - 1; j-- > 0;) tail_[j] += tail_[j + 1];
  } else {
    tail_.clear();
  }
  const bool binomial = is_binomial(rules_.family);
  for (std::size_t k = 0; k < entries_.count.size(); ++k) {
    const double x = entries_.count[k], n = length_[entries_.length[k]];
    double term = binomial ? 0.0 : x * std::log(n);
    if (x == 1) {
      if (binomial) term = std::log(n);
    } else {
      term -= log_factorial(x);
      if (binomial) term += x <= 8 ? log_falling(n, x) : static_cast<double>(log_gamma_ratio(n - x + 1, x));
    }
    constant_ += entries_.weight[k] * term;
  }
}

void Cell::add_zeros(Family family, bool inflated, const Vector3& at, Sums& sums) {
  const std::size_t size = length_.size();
  const Parameters p = to_parameters(family, at, inflated);
  const bool spread = family == Family::negbinom || family == Family::betabinom;
  for (auto* scratch : {&f_, &e_, &l_, &gu_, &gv_, &huu_, &huv_, &hvv_})
    if (scratch->size() < size) scratch->resize(size);
  switch (family) {
    case Family::poisson:
      for (std::size_t l = 0; l < size; ++l) f_[l] = gu_[l] = huu_[l] = -p.first * length_[l];
      break;
    case Family::binom: {
      const double log_q = at[0] > 0 ? -at[0] - std::log1p(std::exp(-at[0])) : -std::log1p(std::exp(at[0]));
      const double q = logistic(-at[0]);
      for (std::size_t l = 0; l < size; ++l) {
        f_[l] = log_q * length_[l];
        gu_[l] = -p.first * length_[l];
        huu_[l] = gu_[l] * q;
      }
      break;
    }
    case Family::negbinom: {
      const double k = p.second;
      for (std::size_t l = 0; l < size; ++l) e_[l] = p.first * length_[l] / k;
      base::log1p({e_.data(), size}, {l_.data(), size});
      for (std::size_t l = 0; l < size; ++l) {
        const double m = p.first * length_[l], sum = k + m, share = m / sum, slope = share - l_[l];
        f_[l] = -k * l_[l];
        gu_[l] = -k * share;
        huu_[l] = gu_[l] * k / sum;
        huv_[l] = gu_[l] * share;
        gv_[l] = k * slope;
        hvv_[l] = k * slope + k * share * share;  // kappa^2 (m / (kappa s) - m / s^2) = kappa share^2
      }
      break;
    }
    case Family::betabinom: {
      const double t = std::exp(at[1]), w = p.first * (1 - p.first), q = 1 - p.first;
      whole_.resize(size);
      for (std::size_t l = 0; l < size; ++l) {
        const Rising c = whole_[l] = rising(1, t, length_[l]), b = rising(q, t, length_[l]);
        const double by_t = b.j - c.j;
        f_[l] = b.log - c.log;
        gu_[l] = -w * b.one;
        huu_[l] = -w * w * b.one2 - w * (1 - 2 * p.first) * b.one;
        gv_[l] = t * by_t;
        huv_[l] = w * t * b.j2;
        hvv_[l] = t * t * (c.jj2 - b.jj2) + t * by_t;
      }
      break;
    }
  }
  double value = 0.0, gu = 0.0, huu = 0.0;
  if (!inflated) {
    for (std::size_t l = 0; l < size; ++l) {
      value += zero_[l] * f_[l];
      gu += zero_[l] * gu_[l];
      huu += zero_[l] * huu_[l];
    }
    sums.value += value, sums.slope[0] += gu, sums.curvature[0] += huu;
    if (spread)
      for (std::size_t l = 0; l < size; ++l) {
        sums.slope[1] += zero_[l] * gv_[l];
        sums.curvature[1] += zero_[l] * huv_[l];
        sums.curvature[2] += zero_[l] * hvv_[l];
      }
    return;
  }
  const double z = p.z;
  base::exp({f_.data(), size}, {e_.data(), size});
  for (std::size_t l = 0; l < size; ++l) e_[l] = z + (1 - z) * e_[l];
  base::log({e_.data(), size}, {l_.data(), size});
  double hz = 0.0, gz = 0.0, huz = 0.0;
  for (std::size_t l = 0; l < size; ++l) {
    const double r = z / e_[l], rest = 1 - r, c = zero_[l], mixed = c * r * rest;
    value += c * l_[l];
    gz += c * (r - z);
    hz += mixed - c * z * (1 - z);
    gu += c * rest * gu_[l];
    huu += c * rest * huu_[l] + mixed * gu_[l] * gu_[l];
    huz -= mixed * gu_[l];
  }
  sums.value += value, sums.slope[0] += gu, sums.curvature[0] += huu;
  sums.slope[2] += gz, sums.curvature[5] += hz, sums.curvature[3] += huz;
  if (spread)
    for (std::size_t l = 0; l < size; ++l) {
      const double r = z / e_[l], rest = 1 - r, c = zero_[l], mixed = c * r * rest;
      sums.slope[1] += c * rest * gv_[l];
      sums.curvature[1] += c * rest * huv_[l] + mixed * gu_[l] * gv_[l];
      sums.curvature[2] += c * rest * hvv_[l] + mixed * gv_[l] * gv_[l];
      sums.curvature[4] -= mixed * gv_[l];
    }
}

// Texts with the word; add_zeros() came before.
void Cell::add_positives(Family family, const Vector3& at, Sums& sums) {
  const Parameters p = to_parameters(family, at, false);
  if (family == Family::poisson || family == Family::binom) {
    const Jet all = jet(family, p.first, 0.0, sum_x_, sum_n_positive_);
    sums.value += all.value, sums.slope[0] += all.u, sums.curvature[0] += all.uu;
    return;
  }
  const double second = std::exp(at[1]);  // kappa or t
  Jet total;
  // Products over j < x, for all texts together where counts are small.
  const double a = family == Family::negbinom ? 1.0 : p.first, t = family == Family::negbinom ? 1 / second : second;
  Rising up;
  if (!tail_.empty()) {
    for (std::size_t j = 0; j < tail_.size(); ++j) {
      const double step = static_cast<double>(j), inverse = 1 / (a + step * t), scaled = step * inverse, w = tail_[j];
      up.log += w * std::log(a + step * t);
      up.one += w * inverse, up.j += w * scaled;
      up.one2 += w * inverse * inverse, up.j2 += w * scaled * inverse, up.jj2 += w * scaled * scaled;
    }
  } else {
    for (std::size_t k = 0; k < entries_.count.size(); ++k) {
      const Rising r = rising(a, t, entries_.count[k]);
      const double w = entries_.weight[k];
      up.log += w * r.log, up.one += w * r.one, up.j += w * r.j;
      up.one2 += w * r.one2, up.j2 += w * r.j2, up.jj2 += w * r.jj2;
    }
  }
  if (family == Family::negbinom) {
    const double k = second;
    total.value = up.log + sum_x_ * at[0];
    total.v = up.one;             // kappa sum 1 / (kappa + j)
    total.vv = up.one - up.one2;  // + kappa^2 times - sum 1 / (kappa + j)^2
    for (std::size_t i = 0; i < entries_.count.size(); ++i) {
      const double x = entries_.count[i], w = entries_.weight[i], m = p.first * length_[entries_.length[i]];
      const double sum = k + m, grown = std::log1p(m / k), slope = -grown + (m - x) / sum;
      total.value -= w * (k + x) * grown;
      total.u += w * k * (x - m) / sum;
      total.uu -= w * m * k * (k + x) / (sum * sum);
      total.uv += w * k * (x - m) * m / (sum * sum);
      total.v += w * k * slope;
      total.vv += w * (k * slope + k * m / sum - k * k * (m - x) / (sum * sum));
    }
  } else {
    const double q = 1 - p.first, w0 = p.first * q;
    double by_p = up.one, by_t = up.j, pp = -up.one2, pt = -up.j2, tt = -up.jj2;
    total.value = up.log;
    for (std::size_t i = 0; i < entries_.count.size(); ++i) {
      const double n = length_[entries_.length[i]], w = entries_.weight[i];
      const Rising b = rising(q, second, n - entries_.count[i]), &c = whole_[entries_.length[i]];
      total.value += w * (b.log - c.log);
      by_p -= w * b.one, by_t += w * (b.j - c.j);
      pp -= w * b.one2, pt += w * b.j2, tt += w * (c.jj2 - b.jj2);
    }
    total.u = w0 * by_p, total.uu = w0 * w0 * pp + w0 * (1 - 2 * p.first) * by_p;
    total.v = second * by_t, total.uv = w0 * second * pt, total.vv = second * second * tt + second * by_t;
  }
  sums.value += total.value;
  sums.slope[0] += total.u, sums.slope[1] += total.v;
  sums.curvature[0] += total.uu, sums.curvature[1] += total.uv, sums.curvature[2] += total.vv;
}

void Cell::evaluate(Family family, bool inflated, const Vector3& at, Sums& sums, bool with_prior) {
  sums = {};
  add_zeros(family, inflated, at, sums);
  add_positives(family, at, sums);
  const Prior& prior = rules_.prior;
  if (inflated) {
    const double z = logistic(at[2]), rest = logistic(-at[2]);
    sums.value += weight_positive_ * std::log(rest);
    sums.slope[2] -= weight_positive_ * z;
    sums.curvature[5] -= weight_positive_ * z * rest;
    if (with_prior && prior.inflated + prior.not_inflated > 0) {
      const double both = prior.inflated + prior.not_inflated;
      sums.value += prior.inflated * std::log(z) + prior.not_inflated * std::log(rest);
      sums.slope[2] += prior.inflated - both * z;
      sums.curvature[5] -= both * z * rest;
    }
  }
  if (with_prior && prior.success + prior.failure > 0) {
    if (is_binomial(family)) {
      const double p = logistic(at[0]), q = logistic(-at[0]), both = prior.success + prior.failure;
      sums.value += prior.success * std::log(p) + prior.failure * std::log(q);
      sums.slope[0] += prior.success - both * p;
      sums.curvature[0] -= both * p * q;
    } else {
      const double mu = std::exp(at[0]);
      sums.value += prior.success * at[0] - prior.failure * mu;
      sums.slope[0] += prior.success - prior.failure * mu;
      sums.curvature[0] -= prior.failure * mu;
    }
  }
}

// The objective with its prior at parameters that may lie at their limits.
double Cell::objective(Family family, bool inflated, const Parameters& at) {
  Sums sums;
  const bool limit = family == Family::negbinom ? std::isinf(at.second) : at.second <= 0;
  const Family shape = limit ? simple(family) : family;
  evaluate(shape, inflated && at.z > 0, to_coordinates(shape, at), sums);
  return sums.value;
}

// e_ becomes F(0 | n) for every length.
void Cell::fill_zeros(Family family, const Parameters& at) {
  const std::size_t size = length_.size();
  if (f_.size() < size) f_.resize(size);
  if (e_.size() < size) e_.resize(size);
  if (family == Family::binom) {
    const double log_q = std::log1p(-at.first);
    for (std::size_t l = 0; l < size; ++l) f_[l] = length_[l] > 0 ? log_q * length_[l] : 0.0;
  } else {
    for (std::size_t l = 0; l < size; ++l) f_[l] = log_zero(family, at, length_[l]);
  }
  base::exp({f_.data(), size}, {e_.data(), size});
}

// d/dz at z = 0 of the objective: above 0 when some inflation helps.
double Cell::inflation_slope(Family family, const Parameters& at) {
  const bool limit = family == Family::negbinom ? std::isinf(at.second) : at.second <= 0;
  const Family shape = limit ? simple(family) : family;
  if (rules_.prior.inflated > 0) return kInfinity;
  fill_zeros(shape, at);
  double slope = -weight_positive_ - rules_.prior.not_inflated;
  for (std::size_t l = 0; l < length_.size(); ++l)
    if (zero_[l] > 0) slope += zero_[l] * (1 / e_[l] - 1);
  return slope;
}

// The slope by 1 / kappa or t at the simple model.
double Cell::spread_slope(const Parameters& at, Family family) const {
  double slope = 0.0;
  if (family == Family::negbinom) {  // sum (x - m)^2 - x, over 2
    for (std::size_t l = 0; l < length_.size(); ++l) {
      const double m = at.first * length_[l];
      slope += zero_[l] * m * m;
    }
    for (std::size_t k = 0; k < entries_.count.size(); ++k) {
      const double x = entries_.count[k], gap = x - at.first * length_[entries_.length[k]];
      slope += entries_.weight[k] * (gap * gap - x);
    }
    return slope / 2;
  }
  const double p = at.first, q = 1 - p;
  if (p >= 1) return 0.0;
  for (std::size_t l = 0; l < length_.size(); ++l) {
    const double n = length_[l];
    slope += zero_[l] * n * (n - 1) * (1 / q - 1);
  }
  for (std::size_t k = 0; k < entries_.count.size(); ++k) {
    const double x = entries_.count[k], n = length_[entries_.length[k]], rest = n - x;
    slope += entries_.weight[k] * (x * (x - 1) / p + rest * (rest - 1) / q - n * (n - 1));
  }
  return slope / 2;
}

Cell::Point Cell::fit_simple(Family family) {
  Point out;
  const Prior& prior = rules_.prior;
  double weighted = sum_n_positive_;
  for (std::size_t l = 0; l < length_.size(); ++l) weighted += zero_[l] * length_[l];
  const double extra = is_binomial(family) ? prior.success + prior.failure : prior.failure;
  const double below = weighted + extra, above = sum_x_ + prior.success;
  out.at.first = below > 0 ? above / below : 0.0;
  if (is_binomial(family) && out.at.first >= 1) out.state |= kAtEnd;
  out.at.second = is_binomial(family) ? 0.0 : kInfinity;
  return out;
}

Cell::Point Cell::newton(Family family, bool inflated, Point start) {
  const bool spread = family == Family::negbinom || family == Family::betabinom;
  const std::array<bool, 3> active{true, spread, inflated};
  Vector3 at = to_coordinates(family, start.at), step;
  Sums now, next;
  evaluate(family, inflated, at, now);
  bool done = false;
  std::int32_t iteration = 0;
  const auto most = static_cast<std::int32_t>(rules_.max_iter);
  for (; iteration < most && !done; ++iteration) {
    double lambda = 0.0;
    while (!solve(now.curvature, now.slope, active, lambda, step)) {
      lambda = lambda == 0.0 ? 1e-3 : 10 * lambda;
      if (lambda > 1e12) break;
    }
    if (lambda > 1e12) break;
    double longest = 0.0, gain = 0.0;
    for (std::size_t i = 0; i < 3; ++i) longest = std::max(longest, std::abs(step[i])), gain += step[i] * now.slope[i];
    double scale = longest > kLongestStep ? kLongestStep / longest : 1.0;
    const double noise = 1e-14 * (std::abs(now.value) + 1);
    bool better = false;
    for (int half = 0; half < 40; ++half, scale /= 2) {
      Vector3 tried;
      for (std::size_t i = 0; i < 3; ++i) {
        const double moved = at[i] + scale * step[i];
        tried[i] = i == 0 && !is_binomial(family) ? moved : std::clamp(moved, -kFar, kFar);
      }
      evaluate(family, inflated, tried, next);
      if (std::isfinite(next.value) && next.value >= now.value + kBend * scale * gain - noise) {
        better = true;
        double moved = 0.0;
        for (std::size_t i = 0; i < 3; ++i) moved = std::max(moved, std::abs(tried[i] - at[i]));
        done = moved < kSmallStep || (lambda == 0.0 && longest < kSmallStep);
        at = tried;
        break;
      }
    }
    if (!better) {
      done = gain < 1e-9 * (std::abs(now.value) + 1);
      break;
    }
    std::swap(now, next);
  }
  Point out;
  out.at = to_parameters(family, at, inflated);
  if (!spread) out.at.second = is_binomial(family) ? 0.0 : kInfinity;
  out.value = now.value;
  out.iterations = start.iterations + iteration;
  if (!done) out.state |= kUnfinished;
  const double end = kFar - 8;
  if ((is_binomial(family) && at[0] > end) || (family == Family::betabinom && at[1] > end) ||
      (family == Family::negbinom && at[1] < -end))
    out.state |= kAtEnd;
  return out;
}

Cell::Point Cell::em(Family family, Point start, std::size_t steps, double tolerance) {
  const std::vector<double> all = zero_;
  const Prior& prior = rules_.prior;
  Point now = start;
  now.state |= kUnfinished;
  for (std::size_t step = 0; step < steps; ++step) {
    const double z = now.at.z;
    const bool limit = family == Family::negbinom ? std::isinf(now.at.second) : now.at.second <= 0;
    fill_zeros(limit ? simple(family) : family, now.at);
    double inflated = 0.0;
    for (std::size_t l = 0; l < length_.size(); ++l) {
      if (all[l] <= 0) continue;
      const double total = z + (1 - z) * e_[l], r = total > 0 ? z / total : 1.0;
      inflated += all[l] * r;
      zero_[l] = all[l] * (1 - r);
    }
    Point next = fit(family, false);
    zero_ = all;
    next.at.z = (inflated + prior.inflated) / (weight_all_ + prior.inflated + prior.not_inflated);
    next.iterations = now.iterations + 1;
    next.state = (next.state & kAtEnd) | kUnfinished;
    double change = std::abs(next.at.z - z);
    change = std::max(change, std::abs(std::log(next.at.first) - std::log(now.at.first)));
    if (std::isfinite(next.at.second) && next.at.second > 0 && std::isfinite(now.at.second) && now.at.second > 0)
      change = std::max(change, std::abs(std::log(next.at.second) - std::log(now.at.second)));
    now = next;
    if (change < tolerance) {
      now.state &= ~kUnfinished;
      break;
    }
  }
  return now;
}

Cell::Point Cell::fit_inflated(Family family) {
  Point base = fit_simple(family);
  base.value = objective(family, false, base.at);
  if (inflation_slope(family, base.at) <= 0) {
    base.state |= kNoInflation;
    return base;
  }
  double zeros = 0.0;
  for (const double weight : zero_) zeros += weight;
  Point start = base;
  start.at.z = std::max(0.5 * zeros / weight_all_, 1e-6);
  start = em(family, start, kEmSteps, 0.0);
  start.state = 0;
  start.at.first = std::min(start.at.first, is_binomial(family) ? 1 - 1e-6 : start.at.first);
  Point out = newton(family, true, start);
  if (out.value >= base.value || rules_.prior.inflated > 0) return out;  // such a prior rules z = 0 out
  base.state |= kNoInflation;
  return base;
}

Cell::Point Cell::fit_spread(Family family) {
  Point base = fit_simple(simple(family));
  base.value = objective(simple(family), false, base.at);
  if (base.at.first <= 0 || spread_slope(base.at, family) <= 0) {
    base.state |= kNoSpread;
    return base;
  }
  // Moments: sum of squared distances against that of the simple model.
  double square = 0.0, expected = 0.0, growth = 0.0;
  const double first = base.at.first, q = 1 - first;
  const auto add = [&](double x, double n, double w) {
    const double m = first * n, gap = x - m;
    square += w * gap * gap;
    expected += w * (family == Family::negbinom ? m : m * q);
    growth += w * (family == Family::negbinom ? m * m : m * q * (n - 1));
  };
  for (std::size_t l = 0; l < length_.size(); ++l) add(0, length_[l], zero_[l]);
  for (std::size_t k = 0; k < entries_.count.size(); ++k)
    add(entries_.count[k], length_[entries_.length[k]], entries_.weight[k]);
  const double spread = growth > 0 ? std::max((square - expected) / growth, 1e-4) : 1e-2;  // 1 / kappa, or gamma
  Point start = base;
  start.at.second = family == Family::negbinom ? 1 / spread : std::min(spread, 0.5);
  Point out = newton(family, false, start);
  if (out.value >= base.value) return out;
  base.state |= kNoSpread;
  return base;
}

Cell::Point Cell::fit_both(Family family) {
  const Family plain = simple(family);
  Point spread = fit_spread(family);  // z = 0
  Point inflated = fit_inflated(plain);
  spread.state |= kNoInflation;
  inflated.state |= kNoSpread;
  const bool must_inflate = rules_.prior.inflated > 0;
  Point best = must_inflate || inflated.value > spread.value ? inflated : spread;
  std::vector<Point> starts;
  if (!(spread.state & kNoSpread)) {
    starts.push_back(spread);
    starts.back().at.z = 0.2;
  }
  if (inflated.at.z > 0) {
    starts.push_back(inflated);
    starts.back().at.second = family == Family::negbinom ? 2.0 : std::min(0.1, std::max(1e-3, inflated.at.first));
    starts.push_back(starts.back());
    starts.back().at.second = family == Family::negbinom ? 0.2 : 0.02;
    starts.back().at.z *= 0.5;
  }
  for (Point& start : starts) {
    start.state = 0;
    if (is_binomial(family)) start.at.first = std::min(start.at.first, 1 - 1e-6);
    Point out = newton(family, true, start);
    const bool vanished = family == Family::negbinom ? out.at.second > 1e9 : out.at.second < 1e-10;
    if (vanished || out.at.z < 1e-9) continue;  // the simpler models are those, without rounding
    const double margin = 1e-10 * (std::abs(best.value) + 1);
    if (out.value > best.value + margin || (out.value > best.value - margin && (best.state & kUnfinished))) best = out;
  }
  return best;
}

Cell::Point Cell::fit(Family family, bool inflated) {
  const bool spread = family == Family::negbinom || family == Family::betabinom;
  if (!spread && !inflated) return fit_simple(family);
  if (!inflated) return fit_spread(family);
  return spread ? fit_both(family) : fit_inflated(family);
}

void Cell::fit() {
  const Family family = rules_.family;
  if (entries_.count.empty() || weight_positive_ <= 0) {
    best_ = fit_simple(simple(family));
    best_.state = kAbsent;
    return;
  }
  const double longest = length_.empty() ? 0.0 : length_.back();
  const bool unidentified = is_binomial(family) && longest <= 1;
  if (unidentified) {
    best_ = fit_simple(simple(family));
    if (rules_.inflated || family == Family::betabinom) best_.state |= kUnidentified;
    return;
  }
  if (!rules_.em || !rules_.inflated) {
    best_ = fit(family, rules_.inflated);
    return;
  }
  Point start;
  if (rules_.start != nullptr) {
    start.at = *rules_.start;
  } else {
    start = fit(family, false);
    double zeros = 0.0;
    for (const double weight : zero_) zeros += weight;
    start.at.z = 0.5 * zeros / weight_all_;
  }
  start.iterations = 0;
  best_ = em(family, start, rules_.max_iter, rules_.tolerance);
}

void Cell::write(const Fits& out, std::size_t cell) {
  const Parameters& at = best_.at;
  out.z[cell] = at.z, out.first[cell] = at.first, out.second[cell] = at.second;
  out.state[cell] = best_.state, out.iterations[cell] = best_.iterations;
  double* errors = out.errors.data() + 3 * cell;
  errors[0] = errors[1] = errors[2] = kNaN;
  const bool limit = rules_.family == Family::negbinom ? std::isinf(at.second) : at.second <= 0;
  const bool has_second = rules_.family == Family::negbinom || rules_.family == Family::betabinom;
  const Family shape = limit || !has_second ? simple(rules_.family) : rules_.family;
  if (best_.state & kAbsent) {  // every text has count 0
    double value = 0.0;
    for (std::size_t l = 0; l < length_.size(); ++l) value += zero_[l] * log_zero(shape, at, length_[l]);
    out.log_likelihood[cell] = value;
    return;
  }
  if (at.first >= 1 && is_binomial(shape)) {  // every text consists of the word
    double value = 0.0;
    for (std::size_t l = 0; l < length_.size(); ++l)
      if (length_[l] > 0 && zero_[l] > 0) value += zero_[l] * std::log(at.z);
    out.log_likelihood[cell] = value + weight_positive_ * std::log1p(-at.z);
    return;
  }
  const bool inflated = at.z > 0;
  const Vector3 place = to_coordinates(shape, at);
  Sums sums;
  evaluate(shape, inflated, place, sums, false);
  out.log_likelihood[cell] = sums.value + constant_;
  evaluate(shape, inflated, place, sums);
  std::array<Vector3, 3> covariance{};
  Vector3 step;
  const std::array<bool, 3> active{true, shape == rules_.family && has_second, inflated};
  if (!solve(sums.curvature, sums.slope, active, 0.0, step, &covariance)) return;
  const double by_first = is_binomial(shape) ? at.first * (1 - at.first) : at.first;
  errors[0] = by_first * std::sqrt(covariance[0][0]);
  if (active[1]) {
    const double by_second = shape == Family::negbinom ? at.second : at.second * (1 - at.second);
    errors[1] = by_second * std::sqrt(covariance[1][1]);
  }
  if (inflated) errors[2] = at.z * (1 - at.z) * std::sqrt(covariance[2][2]);
}

}  // namespace

CountTable::CountTable(std::size_t columns, std::size_t classes, std::span<const std::int64_t> offsets,
                       std::span<const std::int32_t> indices, std::span<const double> values,
                       std::span<const std::int32_t> label, std::span<const double> exposure,
                       std::span<const double> weight, bool clipped, std::size_t threads)
    : columns_(columns) {
  const std::size_t rows = label.size();
  const auto length_of = [&](std::size_t i) { return clipped ? std::min(exposure[i], 1.0) : exposure[i]; };
  std::vector<std::vector<std::int32_t>> members(classes);
  for (std::size_t i = 0; i < rows; ++i) members[label[i]].push_back(static_cast<std::int32_t>(i));
  std::vector<std::int32_t> length_id(rows);
  std::vector<std::vector<double>> lengths(classes), weights(classes);
  begin_.assign(columns * classes + 1, 0);
  base::parallel_for(classes, threads, [&](std::size_t c) {
    auto& own = lengths[c];
    for (const std::int32_t i : members[c]) own.push_back(length_of(i));
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    weights[c].assign(own.size(), 0.0);
    std::size_t* counts = begin_.data() + c * columns + 1;
    for (const std::int32_t i : members[c]) {
      const auto at = std::lower_bound(own.begin(), own.end(), length_of(i)) - own.begin();
      length_id[i] = static_cast<std::int32_t>(at);
      weights[c][at] += weight[i];
      if (weight[i] > 0)
        for (auto e = offsets[i]; e < offsets[i + 1]; ++e) counts[indices[e]] += values[e] > 0;
    }
  });
  for (std::size_t k = 1; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  count_.resize(begin_.back()), at_.resize(begin_.back()), entry_weight_.resize(begin_.back());
  base::parallel_for(classes, threads, [&](std::size_t c) {
    std::vector<std::size_t> next(begin_.begin() + c * columns, begin_.begin() + (c + 1) * columns);
    for (const std::int32_t i : members[c]) {
      if (weight[i] <= 0) continue;
      for (auto e = offsets[i]; e < offsets[i + 1]; ++e) {
        if (values[e] <= 0) continue;
        const std::size_t k = next[indices[e]]++;
        count_[k] = clipped ? 1.0 : values[e];
        at_[k] = length_id[i];
        entry_weight_[k] = weight[i];
      }
    }
  });
  length_begin_.assign(1, 0);
  for (std::size_t c = 0; c < classes; ++c) {
    length_.insert(length_.end(), lengths[c].begin(), lengths[c].end());
    length_weight_.insert(length_weight_.end(), weights[c].begin(), weights[c].end());
    length_begin_.push_back(length_.size());
  }
}

CountTable::Entries CountTable::entries(std::size_t cell) const {
  const std::size_t begin = begin_[cell], size = begin_[cell + 1] - begin;
  return {{count_.data() + begin, size}, {at_.data() + begin, size}, {entry_weight_.data() + begin, size}};
}

std::span<const double> CountTable::lengths(std::size_t label) const {
  return {length_.data() + length_begin_[label], length_begin_[label + 1] - length_begin_[label]};
}

std::span<const double> CountTable::weights(std::size_t label) const {
  return {length_weight_.data() + length_begin_[label], length_begin_[label + 1] - length_begin_[label]};
}

void fit_table(const CountTable& table, const FitRules& rules, const Fits& out, std::size_t threads) {
  base::parallel_blocks(table.cells(), kCellBlock, threads, [&](std::size_t begin, std::size_t end) {
    Cell work(table, rules);
    for (std::size_t cell = begin; cell < end; ++cell) {
      work.take(cell);
      work.fit();
      work.write(out, cell);
    }
  });
}

}  // namespace textmill::linear
