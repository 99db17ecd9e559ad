// log Gamma and its differences, the same on every platform and safe among threads (std::lgamma is neither).
#pragma once

#include <cmath>

namespace textmill::topics {

// log Gamma(x), x > 0: x is raised to 10 or more by the recurrence, then Stirling's series; relative error 1e-14.
inline double log_gamma(double x) {
  double product = 1.0;
  double below = 0.0;
  while (x < 10.0) {
    product *= x;
    x += 1.0;
    if (product > 1e200 || product < 1e-200) below += std::log(product), product = 1.0;
  }
  const double z = 1.0 / x, s = z * z;
  const double series =
      z * (1.0 / 12 + s * (-1.0 / 360 + s * (1.0 / 1260 + s * (-1.0 / 1680 + s * (1.0 / 1188 - s * 691.0 / 360360)))));
  return (x - 0.5) * std::log(x) - x + 0.91893853320467274178 + series - below - std::log(product);
}

// log Gamma(a + n) - log Gamma(a), a > 0, n >= 0.
inline double log_rise(double n, double a) {
  if (n <= 16.0 && n == std::floor(n)) {
    double product = 1.0, logs = 0.0;
    for (int i = 0; i < static_cast<int>(n); ++i) {
      product *= a + i;
      if (product > 1e200 || product < 1e-200) logs += std::log(product), product = 1.0;
    }
    return logs + std::log(product);
  }
  return log_gamma(a + n) - log_gamma(a);
}

}  // namespace textmill::topics
