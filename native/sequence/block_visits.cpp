#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/simd.h"
#include "sequence/block_parts.h"
#include "sequence/kernels.h"

namespace textmill::sequence {

using base::with_packs;

void visit(const BlockPlan& plan, const BlockPotentials& potentials, const BlockPositions& positions,
           std::size_t number, std::span<const double> w, bool derivatives, BlockEnds& ends, BlockLane& lane) {
  const Span& span = positions.spans[number];
  const auto begin = static_cast<std::size_t>(plan.data.offsets[span.sequence]);
  const std::size_t T = static_cast<std::size_t>(plan.data.offsets[span.sequence + 1]) - begin;
  const double weight = plan.weight(span.sequence);
  lane.mu.resize(T * plan.stride);
  lane.alpha.resize(T * plan.stride);
  lane.beta.assign(T * plan.stride, 0.0);
  lane.v.resize(T * plan.stride);
  lane.scale.resize(T);
  lane.shift.resize(T);
  const std::size_t first = span.first - begin, last = span.last - begin;
  // alpha up to `stop`, beta down to `start`, and log Z = log sum alpha_stop beta_stop with all the scales
  const std::size_t stop = plan.truncated ? last : T - 1, start = derivatives ? (plan.truncated ? first : 0) : stop;
  const bool pairs = plan.paired();
  double log_z = 0.0;
  for (std::size_t t = 0; t < T; ++t) {
    const double* row = row_of(plan, potentials, begin + t, w, &lane.mu[t * plan.stride], &lane.shift[t]);
    if (row != &lane.mu[t * plan.stride]) std::copy_n(row, plan.stride, &lane.mu[t * plan.stride]);
    log_z += lane.shift[t];
  }
  lane.pair.assign(T, {});
  lane.cells.clear();
  lane.cells.mark.resize(plan.cells, -1);
  std::size_t others = 0;  // matrices that are neither a group's nor in the cache
  for (std::size_t t = 1; t < T && pairs; ++t) {
    double shift;
    if (lane.own.size() < (others + 1) * plan.cells) {
      lane.own.resize((others + 1) * plan.cells);
      for (std::size_t s = 1, i = 0; s < t; ++s) {  // it has moved
        if (lane.pair[s].own) lane.pair[s].matrix = &lane.own[i++ * plan.cells];
      }
    }
    double* space = &lane.own[others * plan.cells];
    lane.pair[t] = pair_of(plan, potentials, begin + t, w, space, &shift, lane.cells);
    lane.pair[t].own = lane.pair[t].matrix == space;
    others += lane.pair[t].own;
    lane.shift[t] += shift;
    log_z += shift;
  }
  lane.steps += (stop + 1) + (T - 1 - start);
  double *alpha = lane.alpha.data(), *beta = lane.beta.data(), *v = lane.v.data(), *scale = lane.scale.data();
  const double* mu = lane.mu.data();
  const Pair* pair = lane.pair.data();
  const std::int32_t* cell_of = lane.cells.cell.data();
  const double* correction = lane.cells.correction.data();
  const std::size_t labels = plan.Y, width = plan.stride;
  log_z += with_packs([=]<class P>() TEXTMILL_INLINED -> double {
    double logs = 0.0;
    for (std::size_t t = 0; t <= stop; ++t) {
      double* row = alpha + t * width;
      if (t > 0 && pairs) {
        const double* a[1] = {alpha + (t - 1) * width};
        double* out[1] = {row};
        times_matrix<P, 1>(a, pair[t].matrix, labels, width, out);
        for (std::size_t e = pair[t].begin; e < pair[t].end; ++e) {
          const std::size_t from = cell_of[e] / width;
          row[cell_of[e] - from * width] += a[0][from] * correction[e];
        }
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < width; y += P::width) {
        const P value = t > 0 && pairs ? P::load(row + y) * P::load(mu + t * width + y) : P::load(mu + t * width + y);
        total = total + value;
        value.store(row + y);
      }
      const double mass = sum(total);
      scale[t] = mass;
      logs += std::log(mass);
      for (std::size_t y = 0; y < width; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
    }
    for (std::size_t t = T; t-- > start;) {
      double* row = beta + t * width;
      if (t + 1 == T || !pairs) {
        for (std::size_t y = 0; y < width; y += P::width) P(1.0).store(row + y);
        if (!pairs && t > stop) {
          P total = P(0.0);
          for (std::size_t y = 0; y < width; y += P::width) total = total + P::load(mu + t * width + y);
          logs += std::log(sum(total));
        }
      } else {
        const double* next[1] = {v + (t + 1) * width};
        double* out[1] = {row};
        matrix_times<P, 1>(pair[t + 1].matrix, next, labels, width, out);
        for (std::size_t e = pair[t + 1].begin; e < pair[t + 1].end; ++e) {
          const std::size_t from = cell_of[e] / width;
          row[from] += next[0][cell_of[e] - from * width] * correction[e];
        }
        P total = P(0.0);
        for (std::size_t y = 0; y < width; y += P::width) total = total + P::load(row + y);
        const double mass = sum(total);
        if (t >= stop) logs += std::log(mass);
        for (std::size_t y = 0; y < width; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < width; y += P::width) {
        (P::load(mu + t * width + y) * P::load(row + y)).store(v + t * width + y);
        if (t == stop) total = multiply_add(P::load(alpha + t * width + y), P::load(row + y), total);
      }
      if (t == stop && pairs) logs += std::log(sum(total));
    }
    return logs;
  });
  lane.log_z += weight * log_z;
  if (!derivatives) return;
  if (ends.used) {
    if (first > 0) std::copy_n(&lane.alpha[(first - 1) * plan.stride], plan.stride, &ends.alpha[number * plan.stride]);
    std::copy_n(&lane.beta[last * plan.stride], plan.stride, &ends.beta[number * plan.stride]);
    double inside =
        std::log(std::inner_product(&lane.alpha[last * plan.stride], &lane.alpha[last * plan.stride] + plan.Y,
                                    &lane.beta[last * plan.stride], 0.0));
    for (std::size_t t = first; t <= last; ++t) inside += lane.shift[t] + std::log(lane.scale[t]);
    ends.log[number] = log_z - inside;
  }
  for (std::size_t i = span.begin; i < span.end; ++i) {
    const std::size_t t = positions.tokens[i] - begin;
    const double* at = &lane.alpha[t * plan.stride];
    const double* before = t > 0 ? at - plan.stride : nullptr;
    const Step step{at, &lane.beta[t * plan.stride], before, &lane.v[t * plan.stride], lane.scale[t], lane.pair[t]};
    add_derivatives(plan, positions, i, step, lane);
  }
}

void add_derivatives(const BlockPlan& plan, const BlockPositions& positions, std::size_t i, const Step& step,
                     BlockLane& lane) {
  const auto token = static_cast<std::size_t>(positions.tokens[i]);
  const float unigram_value = positions.unigram_values[i], bigram_value = positions.bigram_values[i];
  const double weight = plan.weight(plan.sequence_of[token]);
  const std::int32_t label = plan.data.labels[token];
  const double *a = step.alpha, *b = step.beta;
  double total = 0.0;
  for (std::size_t y = 0; y < plan.Y; ++y) total += a[y] * b[y];
  if (unigram_value != 0.0F) {
    const double value = unigram_value;
    for (std::size_t y = 0; y < plan.Y; ++y) {
      const double p = a[y] * b[y] / total;
      lane.g[y] += weight * value * p;
      lane.h[y] += weight * value * value * p * (1.0 - p);
    }
    lane.g[label] -= weight * value;
  }
  if (step.before == nullptr || bigram_value == 0.0F) return;
  const double value = bigram_value, by = 1.0 / (step.scale * total);
  const double *before = step.before, *cell = step.pair.matrix, *to = step.v;
  if (step.pair.begin < step.pair.end) {
    lane.dense.assign(cell, cell + plan.cells);
    for (std::size_t e = step.pair.begin; e < step.pair.end; ++e)
      lane.dense[lane.cells.cell[e]] += lane.cells.correction[e];
    cell = lane.dense.data();
  }
  double *g = &lane.g[plan.Y], *h = &lane.h[plan.Y];
  const double slope = weight * value, bend = weight * value * value;
  const std::size_t labels = plan.Y, width = plan.stride;
  with_packs([=]<class P>() TEXTMILL_INLINED {
    for (std::size_t f = 0; f < labels; ++f) {
      const P from = P(by * before[f]);
      for (std::size_t y = f * width; y < (f + 1) * width; y += P::width) {
        const P p = from * P::load(cell + y) * P::load(to + y - f * width);
        multiply_add(P(slope), p, P::load(g + y)).store(g + y);
        multiply_add(P(bend) * p, P(1.0) - p, P::load(h + y)).store(h + y);
      }
    }
  });
  lane.g[plan.Y + plan.data.labels[token - 1] * plan.stride + label] -= weight * value;
}

void visit_inside(const BlockPlan& plan, const BlockPotentials& potentials, const BlockMessages& messages,
                  const BlockEnds& ends, const BlockPositions& positions, std::size_t number, std::span<const double> w,
                  BlockLane& lane) {
  const Span& span = positions.spans[number];
  const bool head = span.first == static_cast<std::size_t>(plan.data.offsets[span.sequence]);
  lane.alpha.resize(2 * plan.stride);
  lane.mu.resize(plan.stride);
  lane.own.resize(std::max(lane.own.size(), plan.cells));
  lane.cells.mark.resize(plan.cells, -1);
  double *before = lane.alpha.data(), *after = before + plan.stride;
  const bool stored = !messages.empty();
  if (!head) {
    std::copy_n(stored ? &messages.alpha[(span.first - 1) * plan.stride] : &ends.alpha[number * plan.stride],
                plan.stride, before);
  }
  const double* beta = stored ? &messages.beta[span.last * plan.stride] : &ends.beta[number * plan.stride];
  double log_z = stored ? 0.0 : ends.log[number];
  for (std::size_t t = span.first; t <= span.last; ++t) {
    double shift, more = 0.0;
    const double* mu = row_of(plan, potentials, t, w, lane.mu.data(), &shift);
    const bool start = head && t == span.first;
    lane.cells.clear();
    const Pair pair = start ? Pair{} : pair_of(plan, potentials, t, w, lane.own.data(), &more, lane.cells);
    const std::int32_t* cell_of = lane.cells.cell.data();
    const double* correction = lane.cells.correction.data();
    const std::size_t labels = plan.Y, width = plan.stride;
    const bool end = t == span.last;
    log_z += shift + more + with_packs([=]<class P>() TEXTMILL_INLINED -> double {
               if (!start) {
                 const double* a[1] = {before};
                 double* out[1] = {after};
                 times_matrix<P, 1>(a, pair.matrix, labels, width, out);
                 for (std::size_t e = pair.begin; e < pair.end; ++e) {
                   const std::size_t from = cell_of[e] / width;
                   after[cell_of[e] - from * width] += before[from] * correction[e];
                 }
               }
               P total = P(0.0);
               for (std::size_t y = 0; y < width; y += P::width) {
                 const P value = start ? P::load(mu + y) : P::load(after + y) * P::load(mu + y);
                 total = total + value;
                 value.store(after + y);
               }
               const double mass = sum(total);
               P both = P(0.0);
               for (std::size_t y = 0; y < width; y += P::width) {
                 const P value = P::load(after + y) * P(1.0 / mass);
                 value.store(after + y);
                 if (end) both = multiply_add(value, P::load(beta + y), both);
               }
               return std::log(mass) + (end ? std::log(sum(both)) : 0.0);
             });
    std::swap(before, after);
  }
  lane.log_z += plan.weight(span.sequence) * log_z;
  lane.steps += span.last - span.first + 1;
}

}  // namespace textmill::sequence
