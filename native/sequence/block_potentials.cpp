#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "sequence/block_parts.h"

namespace textmill::sequence {
namespace {

constexpr double kStrongest = 30.0, kWeakest = -6.0;  // corrections that keep 12 digits
constexpr double kLargest = 1e200;                    // number of a row that is moved
constexpr std::size_t kLeastCache = 1 << 19;          // numbers: 4 MB are worth it, however small the model

const double* matrix_of(const BlockPlan& plan, const BlockPotentials& potentials, std::size_t token,
                        std::span<const double> w, double* space, double* shift) {
  const std::int32_t c = plan.bigram.of[token];
  const std::size_t slot = c % potentials.matrix_entry.size();
  const BlockPotentials::Entry& entry = potentials.matrix_entry[slot];
  bool valid = entry.context == c;
  for (auto e = plan.bigram.tests.offsets[c]; valid && e < plan.bigram.tests.offsets[c + 1]; ++e)
    valid = potentials.changed_bigram[plan.bigram.tests.items[e]] <= entry.time;
  if (valid) {
    *shift = entry.shift;
    return &potentials.matrices[slot * plan.cells];
  }
  bigram_scores(plan.data.layout, {w, nullptr}, plan.bigram.tests, c, space);
  exponentiate(space, plan.Y, plan.Y, plan.stride, shift, true);
  return space;
}

// What pair_of needs of a context: the cells of its rare tests, the matrix of its group, and whether that will do.
void refresh_context(const BlockPlan& plan, BlockPotentials& potentials, std::int32_t c, std::span<const double> w) {
  std::size_t count = 0;
  double high = 0.0, low = 0.0;
  bool valid = true;
  const std::int32_t g = plan.grouping.group[c];
  for (auto e = plan.bigram.tests.offsets[c]; e < plan.bigram.tests.offsets[c + 1]; ++e) {
    const std::int32_t b = plan.bigram.tests.items[e];
    if (plan.grouping.frequent[b]) {
      valid = valid && potentials.changed_bigram[b] <= potentials.group_entry[g].time;
      continue;
    }
    const double* block = &w[plan.data.layout.unigrams * plan.Y + b * plan.Y * plan.Y];
    BlockPotentials::Nonzero& mine = potentials.nonzero[b];
    if (mine.time == 0 || mine.time < potentials.changed_bigram[b]) {
      mine.time = potentials.time;
      mine.cells.clear();
      for (std::size_t k = 0; k < plan.Y * plan.Y; ++k) {
        if (block[k] != 0.0) mine.cells.push_back(static_cast<std::int32_t>(k / plan.Y * plan.stride + k % plan.Y));
      }
    }
    count += mine.cells.size();
    double most = 0.0, least = 0.0;
    for (const std::int32_t cell : mine.cells) {
      const std::size_t from = cell / plan.stride;
      const double score = plan.bigram.tests.value(e) * block[from * plan.Y + (cell - from * plan.stride)];
      most = std::max(most, score);
      least = std::min(least, score);
    }
    high += most;
    low += least;
  }
  potentials.simple[c] = 6 * count <= plan.Y * plan.Y && high <= kStrongest && low >= kWeakest;
  if (!potentials.simple[c] || (valid && potentials.group_entry[g].context == g)) return;
  double* matrix = &potentials.group_matrices[g * plan.cells];
  std::fill_n(matrix, plan.cells, 0.0);
  for (auto e = plan.bigram.tests.offsets[c]; e < plan.bigram.tests.offsets[c + 1]; ++e) {
    const std::int32_t b = plan.bigram.tests.items[e];
    if (plan.grouping.frequent[b]) add_bigram(plan.data.layout, {w, nullptr}, b, plan.bigram.tests.value(e), matrix);
  }
  double shift;
  exponentiate(matrix, plan.Y, plan.Y, plan.stride, &shift, true);
  potentials.group_entry[g] = {g, potentials.time, shift};
}

}  // namespace

BlockPotentials make_block_potentials(const BlockPlan& plan) {
  BlockPotentials potentials;
  const Layout& layout = plan.data.layout;
  potentials.changed_bigram.assign(layout.bigrams, 0);
  if (plan.paired()) {
    potentials.group_entry.resize(plan.grouping.first.size());
    potentials.group_matrices.resize(plan.grouping.first.size() * plan.cells);
    potentials.nonzero.resize(layout.bigrams);
    potentials.simple.resize(plan.bigram.size());
    potentials.context_claimed.resize(plan.bigram.size());
  }
  const std::size_t numbers = std::max(layout.size() / 4, kLeastCache);
  const std::size_t most = std::max<std::size_t>(plan.bigram.size(), 1);
  potentials.matrix_entry.resize(std::clamp<std::size_t>(numbers / plan.cells, 1, most));
  potentials.row_entry.resize(std::max<std::size_t>(plan.unigram.size(), 1));
  potentials.matrices.resize(potentials.matrix_entry.size() * plan.cells);
  potentials.rows.resize(potentials.row_entry.size() * plan.stride);
  potentials.row_claimed.resize(potentials.row_entry.size());
  potentials.matrix_claimed.resize(potentials.matrix_entry.size());
  return potentials;
}

const double* row_of(const BlockPlan& plan, const BlockPotentials& potentials, std::size_t token,
                     std::span<const double> w, double* space, double* shift) {
  const std::int32_t c = plan.unigram.of[token];
  const BlockPotentials::Entry& entry = potentials.row_entry[c];
  if (entry.context == c && entry.time > 0) {
    *shift = entry.shift;
    return &potentials.rows[c * plan.stride];
  }
  std::fill_n(space, plan.stride, 0.0);
  for (auto e = plan.unigram.tests.offsets[c]; e < plan.unigram.tests.offsets[c + 1]; ++e) {
    const double* block = &w[plan.unigram.tests.items[e] * plan.Y];
    for (std::size_t y = 0; y < plan.Y; ++y) space[y] += plan.unigram.tests.value(e) * block[y];
  }
  exponentiate(space, 1, plan.Y, plan.stride, shift, true);
  return space;
}

Pair pair_of(const BlockPlan& plan, const BlockPotentials& potentials, std::size_t token, std::span<const double> w,
             double* space, double* shift, PairCells& cells) {
  const std::int32_t c = plan.bigram.of[token];
  const std::size_t begin = cells.cell.size();
  if (!potentials.simple[c]) return {matrix_of(plan, potentials, token, w, space, shift), begin, begin, false};
  const std::int32_t g = plan.grouping.group[c];
  const double* matrix = &potentials.group_matrices[g * plan.cells];
  *shift = potentials.group_entry[g].shift;
  for (auto e = plan.bigram.tests.offsets[c]; e < plan.bigram.tests.offsets[c + 1]; ++e) {
    const std::int32_t b = plan.bigram.tests.items[e];
    if (plan.grouping.frequent[b]) continue;
    const double* block = &w[plan.data.layout.unigrams * plan.Y + b * plan.Y * plan.Y];
    for (const std::int32_t cell : potentials.nonzero[b].cells) {
      const std::size_t from = cell / plan.stride;
      if (cells.mark[cell] < 0) {
        cells.mark[cell] = static_cast<std::int32_t>(cells.cell.size());
        cells.cell.push_back(cell);
        cells.correction.push_back(0.0);
      }
      cells.correction[cells.mark[cell]] +=
          plan.bigram.tests.value(e) * block[from * plan.Y + (cell - from * plan.stride)];
    }
  }
  const std::size_t end = cells.cell.size();
  for (std::size_t i = begin; i < end; ++i) {
    cells.mark[cells.cell[i]] = -1;
    cells.correction[i] = matrix[cells.cell[i]] * std::expm1(cells.correction[i]);
  }
  return {matrix, begin, end, false};
}

void refresh_row(const BlockPlan& plan, BlockPotentials& potentials, std::size_t token, std::span<const double> w) {
  const std::int32_t c = plan.unigram.of[token];
  if (potentials.row_entry[c].time > 0) return;
  double shift;
  row_of(plan, potentials, token, w, &potentials.rows[c * plan.stride], &shift);
  potentials.row_entry[c] = {c, potentials.time, shift};
  --potentials.stale;
}

void move_rows(const BlockPlan& plan, BlockPotentials& potentials, const BlockPositions& positions,
               std::span<const double> factor) {
  const std::vector<std::int32_t>& tokens = positions.tokens;
  const std::vector<float>& values = positions.unigram_values;
  ++potentials.round;
  const auto spoil = [&](BlockPotentials::Entry& entry) {
    potentials.stale += entry.time > 0;
    entry.time = 0;
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int32_t c = plan.unigram.of[tokens[i]];
    BlockPotentials::Entry& entry = potentials.row_entry[c];
    if (i > 0 && tokens[i] == tokens[i - 1]) spoil(entry);
    if (potentials.row_claimed[c] == potentials.round || values[i] == 0.0F || entry.time == 0) continue;
    potentials.row_claimed[c] = potentials.round;
    double* row = &potentials.rows[c * plan.stride];
    bool good = values[i] == 1.0F;
    for (std::size_t y = 0; y < plan.Y; ++y) {
      row[y] *= factor[y];
      good = good && row[y] > 1.0 / kLargest && row[y] < kLargest;  // not NaN either
    }
    if (!good) spoil(entry);
  }
}

void refresh(const BlockPlan& plan, BlockPotentials& potentials, const BlockMessages& messages,
             std::span<const Span> spans, std::span<const double> w, std::size_t threads) {
  std::vector<std::int32_t> tokens;  // one for each slot that needs filling
  ++potentials.round;
  if (potentials.stale == 0 && plan.bigram.size() == 1) {  // all have the same pair, if any
    refresh_context(plan, potentials, 0, w);
    if (potentials.simple[0]) return;
  }
  for (const Span& span : spans) {
    auto begin = static_cast<std::size_t>(plan.data.offsets[span.sequence]);
    auto end = static_cast<std::size_t>(plan.data.offsets[span.sequence + 1]);
    if (!messages.empty()) {
      begin = std::min(span.first, static_cast<std::size_t>(messages.ahead[span.sequence]));
      end = std::min(end, std::max(span.last, static_cast<std::size_t>(messages.behind[span.sequence])) + 1);
    }
    for (std::size_t t = begin; t < end; ++t) {
      refresh_row(plan, potentials, t, w);
      const std::int32_t b = plan.bigram.of[t];
      if (b < 0 || plan.data.layout.bigrams == 0) continue;
      if (potentials.context_claimed[b] != potentials.round) {
        potentials.context_claimed[b] = potentials.round;
        refresh_context(plan, potentials, b, w);
      }
      if (potentials.simple[b] || potentials.matrix_claimed[b % potentials.matrix_claimed.size()] == potentials.round)
        continue;
      potentials.matrix_claimed[b % potentials.matrix_claimed.size()] = potentials.round;
      tokens.push_back(static_cast<std::int32_t>(t));
    }
  }
  base::parallel_blocks(tokens.size(), 8, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t b = plan.bigram.of[tokens[i]];
      const std::size_t slot = b % potentials.matrix_entry.size();
      double shift;
      matrix_of(plan, potentials, tokens[i], w, &potentials.matrices[slot * plan.cells], &shift);
      potentials.matrix_entry[slot] = {b, potentials.time, shift};
    }
  });
}

}  // namespace textmill::sequence
