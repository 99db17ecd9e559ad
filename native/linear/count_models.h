// Distributions of counts: how often a word occurs in a text of a given length.
//
//   n   exposure, the length of the text; x <= n for the two binomials
//   poisson(mu)             m^x e^-m / x!                                       m = mu n
//   negbinom(mu, kappa)     m^x / x! (kappa)_x kappa^kappa / (m + kappa)^(kappa + x)
//   binom(p)                C(n, x) p^x q^(n - x)                               q = 1 - p
//   betabinom(p, gamma)     C(n, x) prod_{j<x} (p + j t) prod_{j<n-x} (q + j t) / prod_{j<n} (1 + j t),
//                           t = gamma / (1 - gamma); the beta parameters are p / t and q / t
//   inflated by z           z [x = 0] + (1 - z) F(x | n)
//
// (a)_x = a (a + 1) ... (a + x - 1). The limits kappa = infinity and gamma = 0 are the Poisson and the binomial.
//
// Logarithms are worked out in long double with differences that do not cancel: relative errors are below 1e-10 for n up
// to 1e5, p from 1e-9, gamma from 1e-12. Cost: some logarithms; the beta-binomial with t < 1e-6 has n of them.
// Reference: Jansche (2003), Parametric models of linguistic count data.
#pragma once

#include <cstddef>

namespace textmill::linear {

enum class Family : int { poisson, negbinom, binom, betabinom };

struct Parameters {
  double first = 0.0;   // mu or p
  double second = 0.0;  // kappa or gamma
  double z = 0.0;
};

// log Gamma(y + a) - log Gamma(y), also where it is far smaller than either; y > 0, y + a > 0.
long double log_gamma_ratio(long double y, long double a);

// log F(x | n); -infinity where x cannot be.
double log_pmf(Family family, const Parameters& parameters, double x, double n);

// log F(x | n) - log F(0 | n), without inflation and without the terms that no parameter changes: C(n, x), n^x / x!.
// What a classifier adds up over the words of a text.
double log_odds_of_count(Family family, const Parameters& parameters, double x, double n);

// log F(0 | n) without inflation, in double.
double log_zero(Family family, const Parameters& parameters, double n);

// log(z + (1 - z) e^f), f = log F(0 | n) <= 0.
double log_inflated_zero(double z, double f);

// Sums over 0 <= j < m of log(a + j t) and what its derivatives by a and t need.
struct Rising {
  double log = 0.0;                        // log(a + j t)
  double one = 0.0, j = 0.0;               // 1 / (a + j t), j / (a + j t)
  double one2 = 0.0, j2 = 0.0, jj2 = 0.0;  // 1, j, j^2, each / (a + j t)^2
};

// m a whole number >= 0, a > 0, t >= 0. O(1) for large m.
Rising rising(double a, double t, double m);

// Value, slopes and curvatures of log F(x | n) by the coordinates u = log mu or logit p and v = log kappa or log t;
// constants are left out as above. parameters.second is kappa, or t instead of gamma; neither at its limit.
struct Jet {
  double value = 0.0;
  double u = 0.0, v = 0.0;
  double uu = 0.0, uv = 0.0, vv = 0.0;
};
Jet jet(Family family, double first, double second, double x, double n);

// Slopes of log F, inflated by z, by the parameters themselves: out[0] by mu or p, out[1] by kappa or gamma, out[2] by z.
void slopes(Family family, const Parameters& parameters, double x, double n, double* out);

}  // namespace textmill::linear
