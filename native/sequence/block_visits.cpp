#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/simd.h"
#include "sequence/block_parts.h"
#include "sequence/kernels.h"

namespace textmill::sequence {

using base::with_packs;

void visit(const BlockPlan& plan, const BlockPotentials& potentials, const BlockPositions& positions,
           std::size_t number, std::span<const double> w, BlockEnds& ends, BlockLane& lane) {
  const Span& span = positions.spans[number];
  const auto begin = static_cast<std::size_t>(plan.data.offsets[span.sequence]);
  const std::size_t T = static_cast<std::size_t>(plan.data.offsets[span.sequence + 1]) - begin;
  lane.mu.resize(T * plan.stride);
  lane.alpha.resize(T * plan.stride);
  lane.beta.assign(T * plan.stride, 0.0);
  lane.v.resize(T * plan.stride);
  lane.scale.resize(T);
  lane.shift.resize(T);
  const std::size_t first = span.first - begin, last = span.last - begin;
  const std::size_t stop = last, start = first;  // alpha up to `stop`, beta down to `start`
  const bool pairs = plan.paired();
  for (std::size_t t = 0; t < T; ++t) {
    const double* row = row_of(plan, potentials, begin + t, w, &lane.mu[t * plan.stride], &lane.shift[t]);
    if (row != &lane.mu[t * plan.stride]) std::copy_n(row, plan.stride, &lane.mu[t * plan.stride]);
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
  }
  lane.steps += (stop + 1) + (T - 1 - start);
  double *alpha = lane.alpha.data(), *beta = lane.beta.data(), *v = lane.v.data(), *scale = lane.scale.data();
  const double* mu = lane.mu.data();
  const Pair* pair = lane.pair.data();
  const std::int32_t* cell_of = lane.cells.cell.data();
  const double* correction = lane.cells.correction.data();
  const std::size_t labels = plan.Y, width = plan.stride;
  with_packs([=]<class P>() TEXTMILL_INLINED {
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
      for (std::size_t y = 0; y < width; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
    }
    for (std::size_t t = T; t-- > start;) {
      double* row = beta + t * width;
      if (t + 1 == T || !pairs) {
        for (std::size_t y = 0; y < width; y += P::width) P(1.0).store(row + y);
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
        for (std::size_t y = 0; y < width; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
      }
      for (std::size_t y = 0; y < width; y += P::width) {
        (P::load(mu + t * width + y) * P::load(row + y)).store(v + t * width + y);
      }
    }
  });
  if (first > 0) std::copy_n(&lane.alpha[(first - 1) * plan.stride], plan.stride, &ends.alpha[number * plan.stride]);
  std::copy_n(&lane.beta[last * plan.stride], plan.stride, &ends.beta[number * plan.stride]);
  double log_z = std::log(std::inner_product(&lane.alpha[last * plan.stride], &lane.alpha[last * plan.stride] + plan.Y,
                                             &lane.beta[last * plan.stride], 0.0));
  for (std::size_t t = first; t <= last; ++t) log_z += lane.shift[t] + std::log(lane.scale[t]);
  lane.log_z += plan.weight(span.sequence) * log_z;
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
                  const BlockMove& move, bool derivatives, BlockLane& lane) {
  const Span& span = positions.spans[number];
  const std::size_t labels = plan.Y, width = plan.stride, tokens = span.last - span.first + 1;
  const bool head = span.first == static_cast<std::size_t>(plan.data.offsets[span.sequence]), pairs = plan.paired();
  const bool stored = !messages.empty();
  lane.mu.resize(tokens * width);
  lane.alpha.resize((tokens + 1) * width);  // row j + 1 is that of token j of the span
  lane.beta.resize(tokens * width);
  lane.v.resize(tokens * width);
  lane.scale.resize(tokens);
  lane.pair.assign(tokens, {});
  if (pairs) {
    lane.own.resize(std::max(lane.own.size(), tokens * plan.cells));
    lane.cells.mark.resize(plan.cells, -1);
  }
  if (!head) {
    std::copy_n(stored ? &messages.alpha[(span.first - 1) * width] : &ends.alpha[number * width], width,
                lane.alpha.data());
  }
  double log_z = 0.0;
  std::size_t i = span.begin;
  for (std::size_t j = 0; j < tokens; ++j) {
    const std::size_t t = span.first + j;
    const bool start = (head && j == 0) || !pairs;
    double shift, more = 0.0;
    double* const mu = &lane.mu[j * width];
    const double* known = row_of(plan, potentials, t, w, mu, &shift);
    if (known != mu) std::copy_n(known, width, mu);
    const bool here = move.moved && i < span.end && static_cast<std::size_t>(positions.tokens[i]) == t;
    if (!start) {
      double* const own = &lane.own[j * plan.cells];
      lane.cells.clear();
      const Pair pair = pair_of(plan, potentials, t, w, own, &more, lane.cells);
      lane.pair[j].matrix = pair.matrix;
      if ((here || pair.begin < pair.end) && pair.matrix != own) {
        std::copy_n(pair.matrix, plan.cells, own);
        lane.pair[j].matrix = own;
      }
      for (std::size_t e = pair.begin; e < pair.end; ++e) own[lane.cells.cell[e]] += lane.cells.correction[e];
    }
    for (; i < span.end && static_cast<std::size_t>(positions.tokens[i]) == t; ++i) {
      if (!move.moved) continue;
      if (const double value = positions.unigram_values[i]; value == 1.0) {
        for (std::size_t y = 0; y < width; ++y) mu[y] *= move.unigram[y];
      } else if (value != 0.0) {
        for (std::size_t y = 0; y < labels; ++y) mu[y] *= std::exp(value * move.by[y]);
      }
      if (start) continue;
      double* const own = &lane.own[j * plan.cells];
      if (const double value = positions.bigram_values[i]; value == 1.0) {
        for (std::size_t k = 0; k < plan.cells; ++k) own[k] *= move.bigram[k];
      } else if (value != 0.0) {
        for (std::size_t k = 0; k < plan.cells; ++k) own[k] *= std::exp(value * move.by[labels + k]);
      }
    }
    log_z += shift + more;
  }
  double *alpha = lane.alpha.data(), *beta = lane.beta.data(), *v = lane.v.data(), *scale = lane.scale.data();
  const double* mu = lane.mu.data();
  const double* after = stored ? &messages.beta[span.last * width] : &ends.beta[number * width];
  const Pair* pair = lane.pair.data();
  log_z += with_packs([=]<class P>() TEXTMILL_INLINED -> double {
    double logs = 0.0;
    P both = P(0.0);
    for (std::size_t j = 0; j < tokens; ++j) {
      double* row = alpha + (j + 1) * width;
      const bool start = pair[j].matrix == nullptr;
      if (!start) {
        const double* a[1] = {row - width};
        double* out[1] = {row};
        times_matrix<P, 1>(a, pair[j].matrix, labels, width, out);
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < width; y += P::width) {
        const P value = start ? P::load(mu + j * width + y) : P::load(row + y) * P::load(mu + j * width + y);
        total = total + value;
        value.store(row + y);
      }
      const double mass = sum(total);
      scale[j] = mass;
      logs += std::log(mass);
      for (std::size_t y = 0; y < width; y += P::width) {
        const P value = P::load(row + y) * P(1.0 / mass);
        value.store(row + y);
        if (j + 1 == tokens && pairs) both = multiply_add(value, P::load(after + y), both);
      }
    }
    if (pairs) logs += std::log(sum(both));
    for (std::size_t j = tokens; derivatives && j-- > 0;) {
      double* row = beta + j * width;
      if (!pairs) {
        for (std::size_t y = 0; y < width; y += P::width) P(1.0).store(row + y);
      } else if (j + 1 == tokens) {
        for (std::size_t y = 0; y < width; y += P::width) P::load(after + y).store(row + y);
      } else {
        const double* next[1] = {v + (j + 1) * width};
        double* out[1] = {row};
        matrix_times<P, 1>(pair[j + 1].matrix, next, labels, width, out);
        P total = P(0.0);
        for (std::size_t y = 0; y < width; y += P::width) total = total + P::load(row + y);
        const double mass = sum(total);
        for (std::size_t y = 0; y < width; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
      }
      for (std::size_t y = 0; y < width; y += P::width)
        (P::load(mu + j * width + y) * P::load(row + y)).store(v + j * width + y);
    }
    return logs;
  });
  lane.log_z += plan.weight(span.sequence) * log_z;
  lane.steps += tokens + (derivatives ? tokens - 1 : 0);
  for (i = span.begin; derivatives && i < span.end; ++i) {
    const std::size_t j = positions.tokens[i] - span.first;
    const double* at = alpha + (j + 1) * width;
    add_derivatives(plan, positions, i,
                    {at, beta + j * width, head && j == 0 ? nullptr : at - width, v + j * width, scale[j], pair[j]},
                    lane);
  }
}

}  // namespace textmill::sequence
