// The tree of native/trees as Python holds it.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/categorical.h"
#include "trees/tree_walker.h"

namespace textmill::bind {

struct BoundTree {
  std::vector<std::int32_t> values;  // of each attribute with values
  std::size_t numeric;
  trees::Walker walker;
};

}  // namespace textmill::bind
