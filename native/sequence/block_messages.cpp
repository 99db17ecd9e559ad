#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "sequence/block_parts.h"
#include "sequence/kernels.h"

namespace textmill::sequence {

namespace {

using base::with_packs;

// Brings alpha up to the last token of the span, and beta down to the first.
void extend(const BlockPlan& plan, const BlockPotentials& potentials, BlockMessages& m, const Span& span,
            std::span<const double> w, BlockLane& lane) {
  const auto begin = static_cast<std::size_t>(plan.data.offsets[span.sequence]);
  const auto end = static_cast<std::size_t>(plan.data.offsets[span.sequence + 1]);
  lane.mu.resize(plan.stride);
  lane.v.resize(plan.stride);
  lane.own.resize(std::max(lane.own.size(), plan.cells));
  lane.cells.mark.resize(plan.cells, -1);
  const std::size_t labels = plan.Y, width = plan.stride;
  std::int64_t &ahead = m.ahead[span.sequence], &behind = m.behind[span.sequence];
  for (auto t = static_cast<std::size_t>(ahead); t <= span.last; ++t) {
    double more = 0.0;
    const double* mu = row_of(plan, potentials, t, w, lane.mu.data(), &m.shift[t]);
    lane.cells.clear();
    const Pair pair = t == begin ? Pair{} : pair_of(plan, potentials, t, w, lane.own.data(), &more, lane.cells);
    m.shift[t] += more;
    double* const row = &m.alpha[t * width];
    const std::int32_t* cell_of = lane.cells.cell.data();
    const double* correction = lane.cells.correction.data();
    m.scale[t] = with_packs([=]<class P>() TEXTMILL_INLINED {
      if (pair.matrix != nullptr) {
        const double* a[1] = {row - width};
        double* out[1] = {row};
        times_matrix<P, 1>(a, pair.matrix, labels, width, out);
        for (std::size_t e = pair.begin; e < pair.end; ++e) {
          const std::size_t from = cell_of[e] / width;
          row[cell_of[e] - from * width] += a[0][from] * correction[e];
        }
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < width; y += P::width) {
        const P value = pair.matrix == nullptr ? P::load(mu + y) : P::load(row + y) * P::load(mu + y);
        total = total + value;
        value.store(row + y);
      }
      const double mass = sum(total);
      for (std::size_t y = 0; y < width; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
      return mass;
    });
  }
  ahead = std::max(ahead, static_cast<std::int64_t>(span.last) + 1);
  for (auto t = static_cast<std::size_t>(behind); t-- > span.first;) {
    double* const row = &m.beta[t * width];
    if (t + 1 == end) {
      std::fill_n(row, width, 1.0);
      continue;
    }
    double shift;
    const double* mu = row_of(plan, potentials, t + 1, w, lane.mu.data(), &shift);
    lane.cells.clear();
    const Pair pair = pair_of(plan, potentials, t + 1, w, lane.own.data(), &shift, lane.cells);
    const std::int32_t* cell_of = lane.cells.cell.data();
    const double* correction = lane.cells.correction.data();
    double* const v = lane.v.data();
    with_packs([=]<class P>() TEXTMILL_INLINED {
      for (std::size_t y = 0; y < width; y += P::width) {
        (P::load(mu + y) * P::load(row + width + y)).store(v + y);
      }
      const double* next[1] = {v};
      double* out[1] = {row};
      matrix_times<P, 1>(pair.matrix, next, labels, width, out);
      for (std::size_t e = pair.begin; e < pair.end; ++e) {
        const std::size_t from = cell_of[e] / width;
        row[from] += v[cell_of[e] - from * width] * correction[e];
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < width; y += P::width) total = total + P::load(row + y);
      const double mass = sum(total);
      for (std::size_t y = 0; y < width; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
    });
  }
  lane.steps += static_cast<std::size_t>(std::max<std::int64_t>(behind - static_cast<std::int64_t>(span.first), 0));
  behind = std::min(behind, static_cast<std::int64_t>(span.first));
}

}  // namespace

void visit_messages(const BlockPlan& plan, const BlockPotentials& potentials, BlockMessages& messages,
                    const BlockPositions& positions, std::size_t number, std::span<const double> w, BlockLane& lane) {
  const Span& span = positions.spans[number];
  const std::int64_t ahead = messages.ahead[span.sequence];
  lane.steps += static_cast<std::size_t>(std::max<std::int64_t>(static_cast<std::int64_t>(span.last) + 1 - ahead, 0));
  extend(plan, potentials, messages, span, w, lane);
  const auto begin = static_cast<std::size_t>(plan.data.offsets[span.sequence]);
  double inside = 0.0, both = 0.0;
  for (std::size_t t = span.first; t <= span.last; ++t) inside += messages.shift[t] + std::log(messages.scale[t]);
  for (std::size_t y = span.last * plan.stride; y < span.last * plan.stride + plan.Y; ++y)
    both += messages.alpha[y] * messages.beta[y];
  lane.log_z += plan.weight(span.sequence) * (inside + std::log(both));
  for (std::size_t i = span.begin; i < span.end; ++i) {
    const auto t = static_cast<std::size_t>(positions.tokens[i]);
    Step step{
        &messages.alpha[t * plan.stride], &messages.beta[t * plan.stride], nullptr, nullptr, messages.scale[t], {}};
    if (t > begin && positions.bigram_values[i] != 0.0F) {
      double shift;
      const double* mu = row_of(plan, potentials, t, w, lane.mu.data(), &shift);
      lane.cells.clear();
      step.pair = pair_of(plan, potentials, t, w, lane.own.data(), &shift, lane.cells);
      for (std::size_t y = 0; y < plan.stride; ++y) lane.v[y] = mu[y] * step.beta[y];
      step.before = step.alpha - plan.stride;
      step.v = lane.v.data();
    }
    add_derivatives(plan, positions, i, step, lane);
  }
}

void forget(BlockMessages& messages, std::span<const Span> spans) {
  for (const Span& span : spans) {
    std::int64_t &ahead = messages.ahead[span.sequence], &behind = messages.behind[span.sequence];
    ahead = std::min(ahead, static_cast<std::int64_t>(span.first));
    behind = std::max(behind, static_cast<std::int64_t>(span.last));
  }
}

}  // namespace textmill::sequence
