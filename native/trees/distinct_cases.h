// Cases without duplicates: equal ones become one, their weights added, in the order of first occurrence.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/categorical.h"

namespace textmill::trees {

// The distinct cases, with memory of their own.
struct DistinctCases {
  std::vector<std::int32_t> codes, labels;
  std::vector<double> numbers, weights;
  Cases cases;

  explicit DistinctCases(const Cases& all);
};

}  // namespace textmill::trees
