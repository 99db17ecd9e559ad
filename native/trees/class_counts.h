// How often classes occur among some cases: sparse, ascending by class, with the sums that splits are measured by.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace textmill::trees {

// K(x) = x log2 x, of whole numbers from a table.
inline double x_log_x(double x) {
  static const auto table = [] {
    std::array<double, 4096> values{};
    for (std::size_t i = 1; i < values.size(); ++i)
      values[i] = static_cast<double>(i) * std::log2(static_cast<double>(i));
    return values;
  }();
  if (x < 4096.0) {
    const auto whole = static_cast<std::size_t>(x);
    if (static_cast<double>(whole) == x) return table[whole];
  }
  return x * std::log2(x);
}

struct Count {
  std::int32_t label;
  double weight;
};

// Classes of a stretch of cases: sparse, ascending.
struct Tally {
  std::vector<double> dense;
  std::vector<std::int32_t> touched;

  void add(std::int32_t label, double weight) {
    if (dense[label] == 0.0) touched.push_back(label);
    dense[label] += weight;
  }

  void take(std::vector<Count>& out) {
    std::ranges::sort(touched);
    out.clear();
    out.reserve(touched.size());
    for (const std::int32_t label : touched) {
      out.push_back({label, dense[label]});
      dense[label] = 0.0;
    }
    touched.clear();
  }
};

// sum_c K(n_c)
inline double inner_sum(const std::vector<Count>& counts) {
  double sum = 0.0;
  for (const Count& count : counts) sum += x_log_x(count.weight);
  return sum;
}

inline double total(const std::vector<Count>& counts) {
  double sum = 0.0;
  for (const Count& count : counts) sum += count.weight;
  return sum;
}

}  // namespace textmill::trees
