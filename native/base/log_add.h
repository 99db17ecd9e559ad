// log(e^a + e^b), without overflow; -infinity is the logarithm of nothing.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

namespace textmill::base {

inline double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -std::numeric_limits<double>::infinity() ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace textmill::base
