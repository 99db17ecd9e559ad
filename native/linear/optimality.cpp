#include "linear/optimality.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kBlock = 8192;

std::size_t blocks_of(std::size_t size) { return (size + kBlock - 1) / kBlock; }

}  // namespace

Optimality optimality(std::span<const double> slope, std::span<const double> weight, double l1, double l2,
                      std::size_t threads) {
  std::vector<Optimality> parts(blocks_of(slope.size()));
  base::parallel_for(parts.size(), threads, [&](std::size_t b) {
    Optimality part;
    for (std::size_t j = b * kBlock; j < std::min(slope.size(), (b + 1) * kBlock); ++j) {
      const double g = slope[j], w = weight[j], size = std::abs(g), above = std::max(0.0, size - l1);
      part.highest = std::max(part.highest, size);
      part.excess += above * above;
      if (w == 0.0) {
        part.violation = std::max(part.violation, above);
        continue;
      }
      part.violation = std::max(part.violation, std::abs(g + l2 * w + std::copysign(l1, w)));
      part.norm += std::abs(w);
      part.square += w * w;
      ++part.active;
    }
    parts[b] = part;
  });
  Optimality all;
  for (const Optimality& part : parts) {
    all.highest = std::max(all.highest, part.highest);
    all.violation = std::max(all.violation, part.violation);
    all.excess += part.excess;
    all.norm += part.norm;
    all.square += part.square;
    all.active += part.active;
  }
  return all;
}

std::vector<std::int32_t> working_set(std::span<const double> slope, std::span<const double> weight, double floor,
                                      std::size_t threads) {
  std::vector<std::vector<std::int32_t>> parts(blocks_of(slope.size()));
  base::parallel_for(parts.size(), threads, [&](std::size_t b) {
    for (std::size_t j = b * kBlock; j < std::min(slope.size(), (b + 1) * kBlock); ++j)
      if (weight[j] != 0.0 || std::abs(slope[j]) > floor) parts[b].push_back(static_cast<std::int32_t>(j));
  });
  std::vector<std::int32_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace textmill::linear
