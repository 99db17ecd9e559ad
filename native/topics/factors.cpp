#include "topics/factors.h"

#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::topics {
namespace {

using base::Pack;

constexpr std::size_t kBlock = 32;  // rows handed to a thread at once

// slope += scale row
template <Pack P>
TEXTMILL_INLINED inline void add_row(double scale, const double* row, double* slope, std::size_t size) {
  const P s = scale;
  std::size_t i = 0;
  for (; i + P::width <= size; i += P::width) multiply_add(s, P::load(row + i), P::load(slope + i)).store(slope + i);
  for (; i < size; ++i) slope[i] += scale * row[i];
}

template <Pack P>
TEXTMILL_INLINED inline void descend_row(const double* gram, const double* cross, std::size_t topics,
                                         std::size_t sweeps, double tolerance, double* h, double* slope) {
  for (std::size_t t = 0; t < topics; ++t) slope[t] = -cross[t];
  for (std::size_t t = 0; t < topics; ++t) {
    if (h[t] != 0.0) add_row<P>(h[t], gram + t * topics, slope, topics);
  }
  double first = 0.0;
  for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
    double moved = 0.0;
    for (std::size_t t = 0; t < topics; ++t) {
      const double curvature = gram[t * topics + t];
      if (!(curvature > 0.0)) continue;
      const double value = std::fmax(0.0, h[t] - slope[t] / curvature), change = value - h[t];
      if (change == 0.0) continue;
      add_row<P>(change, gram + t * topics, slope, topics);
      h[t] = value;
      moved += change * change * curvature;
    }
    if (sweep == 0) first = moved;
    if (moved <= tolerance * tolerance * first) break;
  }
}

}  // namespace

void descend(std::span<const double> gram, std::span<const double> cross, std::size_t topics, std::size_t sweeps,
             double tolerance, std::span<double> h, std::size_t threads) {
  if (topics == 0) return;
  base::parallel_blocks(h.size() / topics, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch(topics);
    double* slope = scratch.data();
    const double *g = gram.data(), *c = cross.data();
    double* rows = h.data();
    base::with_packs([=]<class P>() TEXTMILL_INLINED {
      for (std::size_t i = begin; i < end; ++i) {
        descend_row<P>(g, c + i * topics, topics, sweeps, tolerance, rows + i * topics, slope);
      }
    });
  });
}

}  // namespace textmill::topics
