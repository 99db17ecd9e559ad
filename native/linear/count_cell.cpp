#include "linear/count_cell.h"

#include <numeric>

#include "base/math.h"

namespace textmill::linear {
namespace {

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

}  // namespace

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

}  // namespace textmill::linear
