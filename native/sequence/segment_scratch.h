// What a thread keeps while it works on one sentence after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "sequence/segments.h"

namespace textmill::sequence {

inline constexpr std::size_t kSentences = 8;  // that a thread takes at a time

struct SegmentProblem::Scratch {
  std::vector<double> weights;  // [slots][stride] a slot is a single token or a candidate; logarithms, then powers
  std::vector<double> plain;    // [T + 1] running sums of the scores of O
  std::vector<double> sums;     // [3][T + 1][stride] running sums of all, rest and inner
  std::vector<double> alpha, beta, links, scale;
  std::vector<double> nodes;  // [slots][states][stride] of the packed form

  void resize(std::size_t n, std::size_t slots, std::size_t stride, std::size_t states, bool packed) {
    weights.resize(slots * stride);
    plain.resize(n + 1);
    sums.resize(3 * (n + 1) * stride);
    alpha.resize((n + 1) * stride);
    beta.resize((n + 1) * stride);
    links.resize((n + 1) * stride);
    scale.resize(n + 1);
    if (packed) nodes.resize(slots * states * stride);
  }
};

}  // namespace textmill::sequence
