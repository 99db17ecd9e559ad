#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "sequence/descent.h"

namespace textmill::sequence {
namespace {

constexpr double kStrongest = 30.0, kWeakest = -6.0;  // corrections that keep 12 digits
constexpr double kLargest = 1e200;                    // number of a row that is moved

}  // namespace

const double* Descent::State::row_of(std::size_t token, std::span<const double> w, double* space, double* shift) const {
  const std::int32_t c = unigram.of[token];
  const Entry& entry = row_entry[c];
  if (entry.context == c && entry.time > 0) {
    *shift = entry.shift;
    return &rows[c * stride];
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

void Descent::State::refresh_row(std::size_t token, std::span<const double> w) {
  const std::int32_t c = unigram.of[token];
  if (row_entry[c].time > 0) return;
  double shift;
  row_of(token, w, &rows[c * stride], &shift);
  row_entry[c] = {c, time, shift};
  --stale;
}

// The unigram weights of a block move: rows of its tokens are multiplied by `factor` [Y], exp of the change. Rows that
// leave the range of numbers, or have the test with a value or twice, are left to be computed again.
void Descent::State::move_rows(std::span<const std::int32_t> tokens, std::span<const float> values,
                               std::span<const double> factor) {
  ++round;
  const auto spoil = [&](Entry& entry) {
    stale += entry.time > 0;
    entry.time = 0;
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int32_t c = unigram.of[tokens[i]];
    Entry& entry = row_entry[c];
    if (i > 0 && tokens[i] == tokens[i - 1]) spoil(entry);
    if (row_claimed[c] == round || values[i] == 0.0F || entry.time == 0) continue;
    row_claimed[c] = round;
    double* row = &rows[c * stride];
    bool good = values[i] == 1.0F;
    for (std::size_t y = 0; y < Y; ++y) {
      row[y] *= factor[y];
      good = good && row[y] > 1.0 / kLargest && row[y] < kLargest;  // not NaN either
    }
    if (!good) spoil(entry);
  }
}

// Puts the potentials of the contexts of these sequences into the cache, or those from the first to the last token of
// the test (`inside`), or those that kept recursions will need; before lanes read it side by side.
void Descent::State::refresh(std::span<const Span> spans, bool inside, std::span<const double> w, std::size_t threads) {
  std::vector<std::int32_t> tokens;  // one for each slot that needs filling
  ++round;
  if (stale == 0 && bigram.size() == 1) {  // all have the same pair, if any
    refresh_context(0, w);
    if (simple[0]) return;
  }
  for (const Span& span : spans) {
    auto begin = static_cast<std::size_t>(data.offsets[span.sequence]);
    auto end = static_cast<std::size_t>(data.offsets[span.sequence + 1]);
    if (inside) {
      begin = span.first;
      end = span.last + 1;
    } else if (!messages.empty()) {
      begin = std::min(span.first, static_cast<std::size_t>(messages.known[span.sequence]));
      end = std::min(end, std::max(span.last, static_cast<std::size_t>(messages.behind[span.sequence])) + 1);
    }
    for (std::size_t t = begin; t < end; ++t) {
      refresh_row(t, w);
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

}  // namespace textmill::sequence
