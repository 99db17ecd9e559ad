#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/descent.h"
#include "sequence/kernels.h"

namespace textmill::sequence {
namespace {

using base::with_packs;

constexpr double kStrongest = 30.0, kWeakest = -6.0;  // corrections that keep 12 digits

}  // namespace

const double* Descent::State::row_of(std::size_t token, std::span<const double> w, double* space, double* shift) const {
  const std::int32_t c = unigram.of[token];
  const Entry& entry = row_entry[c % row_entry.size()];
  bool valid = entry.context == c;
  for (auto e = unigram.tests.offsets[c]; valid && e < unigram.tests.offsets[c + 1]; ++e)
    valid = changed_unigram[unigram.tests.items[e]] <= entry.time;
  if (valid) {
    *shift = entry.shift;
    return &rows[c % row_entry.size() * stride];
  }
  std::fill_n(space, stride, 0.0);
  for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) {
    const double* block = &w[unigram.tests.items[e] * Y];
    for (std::size_t y = 0; y < Y; ++y) space[y] += unigram.tests.value(e) * block[y];
  }
  exponentiate(space, 1, Y, stride, shift, true);
  return space;
}

const double* Descent::State::matrix_of(std::size_t token, std::span<const double> w, double* space,
                                        double* shift) const {
  const std::int32_t c = bigram.of[token];
  const std::size_t slot = c % matrix_entry.size();
  const Entry& entry = matrix_entry[slot];
  bool valid = entry.context == c;
  for (auto e = bigram.tests.offsets[c]; valid && e < bigram.tests.offsets[c + 1]; ++e)
    valid = changed_bigram[bigram.tests.items[e]] <= entry.time;
  if (valid) {
    *shift = entry.shift;
    return &matrices[slot * cells];
  }
  bigram_scores(data.layout, {w, nullptr}, bigram.tests, c, space);
  exponentiate(space, Y, Y, stride, shift, true);
  return space;
}

// The potentials of a token: those of its group with corrections, or a matrix of its own.
Pair Descent::State::pair_of(std::size_t token, std::span<const double> w, double* space, double* shift,
                             Lane& lane) const {
  const std::int32_t c = bigram.of[token];
  const std::size_t begin = lane.cell.size();
  if (!simple[c]) return {matrix_of(token, w, space, shift), begin, begin, false};
  const std::int32_t g = grouping.group[c];
  const double* matrix = &group_matrices[g * cells];
  *shift = group_entry[g].shift;
  for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
    const std::int32_t b = bigram.tests.items[e];
    if (grouping.frequent[b]) continue;
    const double* block = &w[data.layout.unigrams * Y + b * Y * Y];
    for (const std::int32_t cell : nonzero[b].cells) {
      const std::size_t from = cell / stride;
      if (lane.mark[cell] < 0) {
        lane.mark[cell] = static_cast<std::int32_t>(lane.cell.size());
        lane.cell.push_back(cell);
        lane.correction.push_back(0.0);
      }
      lane.correction[lane.mark[cell]] += bigram.tests.value(e) * block[from * Y + (cell - from * stride)];
    }
  }
  const std::size_t end = lane.cell.size();
  for (std::size_t i = begin; i < end; ++i) {
    lane.mark[lane.cell[i]] = -1;
    lane.correction[i] = matrix[lane.cell[i]] * std::expm1(lane.correction[i]);
  }
  return {matrix, begin, end, false};
}

// What pair_of needs of a context: the cells of its rare tests, the matrix of its group, and whether that will do.
void Descent::State::refresh_context(std::int32_t c, std::span<const double> w) {
  std::size_t count = 0;
  double high = 0.0, low = 0.0;
  bool valid = true;
  const std::int32_t g = grouping.group[c];
  for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
    const std::int32_t b = bigram.tests.items[e];
    if (grouping.frequent[b]) {
      valid = valid && changed_bigram[b] <= group_entry[g].time;
      continue;
    }
    const double* block = &w[data.layout.unigrams * Y + b * Y * Y];
    Nonzero& mine = nonzero[b];
    if (mine.time == 0 || mine.time < changed_bigram[b]) {
      mine.time = time;
      mine.cells.clear();
      for (std::size_t k = 0; k < Y * Y; ++k) {
        if (block[k] != 0.0) mine.cells.push_back(static_cast<std::int32_t>(k / Y * stride + k % Y));
      }
    }
    count += mine.cells.size();
    double most = 0.0, least = 0.0;
    for (const std::int32_t cell : mine.cells) {
      const std::size_t from = cell / stride;
      const double score = bigram.tests.value(e) * block[from * Y + (cell - from * stride)];
      most = std::max(most, score);
      least = std::min(least, score);
    }
    high += most;
    low += least;
  }
  simple[c] = 6 * count <= Y * Y && high <= kStrongest && low >= kWeakest;
  if (!simple[c] || (valid && group_entry[g].context == g)) return;
  double* matrix = &group_matrices[g * cells];
  std::fill_n(matrix, cells, 0.0);
  for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
    const std::int32_t b = bigram.tests.items[e];
    if (grouping.frequent[b]) add_bigram(data.layout, {w, nullptr}, b, bigram.tests.value(e), matrix);
  }
  double shift;
  exponentiate(matrix, Y, Y, stride, &shift, true);
  group_entry[g] = {g, time, shift};
}

// Puts the potentials of the contexts of these sequences into the cache, or those from the first to the last token of
// the test (`inside`); before lanes read it side by side.
void Descent::State::refresh(std::span<const Span> spans, bool inside, std::span<const double> w, std::size_t threads) {
  std::vector<std::int32_t> tokens;  // one for each slot that needs filling
  ++round;
  for (const Span& span : spans) {
    const auto begin = inside ? span.first : static_cast<std::size_t>(data.offsets[span.sequence]);
    const auto end = inside ? span.last + 1 : static_cast<std::size_t>(data.offsets[span.sequence + 1]);
    for (std::size_t t = begin; t < end; ++t) {
      double shift;
      const std::int32_t c = unigram.of[t];
      if (row_claimed[c] != round) {
        row_claimed[c] = round;
        row_of(t, w, &rows[c * stride], &shift);
        row_entry[c] = {c, time, shift};
      }
      const std::int32_t b = bigram.of[t];
      if (b < 0 || data.layout.bigrams == 0) continue;
      if (context_claimed[b] != round) {
        context_claimed[b] = round;
        refresh_context(b, w);
      }
      if (simple[b] || matrix_claimed[b % matrix_claimed.size()] == round) continue;
      matrix_claimed[b % matrix_claimed.size()] = round;
      tokens.push_back(static_cast<std::int32_t>(t));
    }
  }
  base::parallel_blocks(tokens.size(), 8, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t b = bigram.of[tokens[i]];
      const std::size_t slot = b % matrix_entry.size();
      double shift;
      matrix_of(tokens[i], w, &matrices[slot * cells], &shift);
      matrix_entry[slot] = {b, time, shift};
    }
  });
}

// Adds log Z of a sequence, and the derivatives by the weights of the block, to the lane.
void Descent::State::visit(const Span& span, std::size_t number, std::span<const std::int32_t> tokens,
                           std::span<const float> unigram_values, std::span<const float> bigram_values,
                           std::span<const double> w, bool derivatives, Lane& lane) {
  const auto begin = static_cast<std::size_t>(data.offsets[span.sequence]);
  const std::size_t T = static_cast<std::size_t>(data.offsets[span.sequence + 1]) - begin;
  const double weight = data.weights.empty() ? 1.0 : data.weights[span.sequence];
  lane.mu.resize(T * stride);
  lane.alpha.resize(T * stride);
  lane.beta.assign(T * stride, 0.0);
  lane.v.resize(T * stride);
  lane.scale.resize(T);
  lane.shift.resize(T);
  const std::size_t first = span.first - begin, last = span.last - begin;
  // alpha up to `stop`, beta down to `start`, and log Z = log sum alpha_stop beta_stop with all the scales
  const std::size_t stop = truncated ? last : T - 1, start = derivatives ? (truncated ? first : 0) : stop;
  const bool pairs = data.layout.bigrams > 0;
  double log_z = 0.0;
  for (std::size_t t = 0; t < T; ++t) {
    const double* row = row_of(begin + t, w, &lane.mu[t * stride], &lane.shift[t]);
    if (row != &lane.mu[t * stride]) std::copy_n(row, stride, &lane.mu[t * stride]);
    log_z += lane.shift[t];
  }
  lane.pair.assign(T, {});
  lane.cell.clear();
  lane.correction.clear();
  lane.mark.resize(cells, -1);
  std::size_t others = 0;  // matrices that are neither a group's nor in the cache
  for (std::size_t t = 1; t < T && pairs; ++t) {
    double shift;
    if (lane.own.size() < (others + 1) * cells) {
      lane.own.resize((others + 1) * cells);
      for (std::size_t s = 1, i = 0; s < t; ++s) {  // it has moved
        if (lane.pair[s].own) lane.pair[s].matrix = &lane.own[i++ * cells];
      }
    }
    double* space = &lane.own[others * cells];
    lane.pair[t] = pair_of(begin + t, w, space, &shift, lane);
    lane.pair[t].own = lane.pair[t].matrix == space;
    others += lane.pair[t].own;
    lane.shift[t] += shift;
    log_z += shift;
  }
  lane.steps += (stop + 1) + (T - 1 - start);
  const Lane* source = &lane;
  double *alpha = lane.alpha.data(), *beta = lane.beta.data(), *v = lane.v.data(), *scale = lane.scale.data();
  const double* mu = source->mu.data();
  const Pair* pair = lane.pair.data();
  const std::int32_t* cell_of = lane.cell.data();
  const double* correction = lane.correction.data();
  const std::size_t labels = Y, width = stride;
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
  if (kept) {
    if (first > 0) std::copy_n(&lane.alpha[(first - 1) * stride], stride, &kept_alpha[number * stride]);
    std::copy_n(&lane.beta[last * stride], stride, &kept_beta[number * stride]);
    double inside = std::log(
        std::inner_product(&lane.alpha[last * stride], &lane.alpha[last * stride] + Y, &lane.beta[last * stride], 0.0));
    for (std::size_t t = first; t <= last; ++t) inside += lane.shift[t] + std::log(lane.scale[t]);
    kept_log[number] = log_z - inside;
  }
  for (std::size_t i = span.begin; i < span.end; ++i) {
    const std::size_t t = tokens[i] - begin;
    const double *a = &lane.alpha[t * stride], *b = &lane.beta[t * stride];
    double total = 0.0;
    for (std::size_t y = 0; y < Y; ++y) total += a[y] * b[y];
    if (!unigram_values.empty() && unigram_values[i] != 0.0F) {
      const double value = unigram_values[i];
      for (std::size_t y = 0; y < Y; ++y) {
        const double p = a[y] * b[y] / total;
        lane.g[y] += weight * value * p;
        lane.h[y] += weight * value * value * p * (1.0 - p);
      }
      lane.g[data.labels[begin + t]] -= weight * value;
    }
    if (t == 0 || bigram_values.empty() || bigram_values[i] == 0.0F) continue;
    const double value = bigram_values[i], by = 1.0 / (lane.scale[t] * total);
    const double *before = &lane.alpha[(t - 1) * stride], *cell = pair[t].matrix, *to = &lane.v[t * stride];
    if (pair[t].begin < pair[t].end) {
      lane.dense.assign(cell, cell + cells);
      for (std::size_t e = pair[t].begin; e < pair[t].end; ++e) lane.dense[cell_of[e]] += correction[e];
      cell = lane.dense.data();
    }
    double *g = &lane.g[Y], *h = &lane.h[Y];
    const double slope = weight * value, bend = weight * value * value;
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
    lane.g[Y + data.labels[begin + t - 1] * stride + data.labels[begin + t]] -= weight * value;
  }
}

// Adds log Z of a sequence to the lane, from what was kept of the steps outside its span.
void Descent::State::visit_inside(const Span& span, std::size_t number, std::span<const double> w, Lane& lane) const {
  const bool head = span.first == static_cast<std::size_t>(data.offsets[span.sequence]);
  lane.alpha.resize(2 * stride);
  lane.mu.resize(stride);
  lane.own.resize(std::max(lane.own.size(), cells));
  lane.mark.resize(cells, -1);
  double *before = lane.alpha.data(), *after = before + stride;
  if (!head) std::copy_n(&kept_alpha[number * stride], stride, before);
  const double* beta = &kept_beta[number * stride];
  double log_z = kept_log[number];
  for (std::size_t t = span.first; t <= span.last; ++t) {
    double shift, more = 0.0;
    const double* mu = row_of(t, w, lane.mu.data(), &shift);
    const bool start = head && t == span.first;
    lane.cell.clear();
    lane.correction.clear();
    const Pair pair = start ? Pair{} : pair_of(t, w, lane.own.data(), &more, lane);
    const std::int32_t* cell_of = lane.cell.data();
    const double* correction = lane.correction.data();
    const std::size_t labels = Y, width = stride;
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
  lane.log_z += (data.weights.empty() ? 1.0 : data.weights[span.sequence]) * log_z;
  lane.steps += span.last - span.first + 1;
}

}  // namespace textmill::sequence
