#include "linear/conjunctions.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"

namespace textmill::linear {

Conjunctions::Conjunctions(std::span<const std::int32_t> combinations, std::size_t degree,
                           std::span<const double> weights, std::size_t margins, std::size_t columns)
    : margins_(margins), slot_(columns, -1) {
  const std::size_t count = combinations.size() / degree;
  std::vector<std::int32_t> uses(columns), used;
  for (const std::int32_t j : combinations)
    if (j >= 0 && uses[j]++ == 0) used.push_back(j);
  std::sort(used.begin(), used.end(), [&](auto a, auto b) { return uses[a] != uses[b] ? uses[a] < uses[b] : a < b; });
  slots_ = used.size();
  for (std::size_t s = 0; s < slots_; ++s) slot_[used[s]] = static_cast<std::int32_t>(s);

  std::vector<std::int32_t> paths(combinations.size(), -1);  // [A][degree] slots, rising, -1 behind the last
  for (std::size_t k = 0; k < count; ++k) {
    std::size_t size = 0;
    for (std::size_t p = 0; p < degree; ++p)
      if (const std::int32_t j = combinations[k * degree + p]; j >= 0) paths[k * degree + size++] = slot_[j];
    std::sort(paths.begin() + k * degree, paths.begin() + k * degree + size);
  }
  const auto path = [&](std::size_t k) { return std::span(paths).subspan(k * degree, degree); };
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::ranges::lexicographical_compare(path(a), path(b)); });

  // Breadth first. A node is a run of `order` that shares a beginning; the one that ends there, if any, is its first.
  struct Run {
    std::size_t begin, end, depth;
  };
  std::vector<Run> runs{{0, count, 0}};  // the root, then node t as runs[t + 1]
  root_.assign(slots_, -1);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto [begin, end, depth] = runs[r];
    if (r > 0) {
      const std::size_t t = r - 1;
      weight_.resize((t + 1) * margins_);
      for (std::size_t k = begin; k < end && (depth == degree || path(order[k])[depth] < 0); ++k)
        for (std::size_t c = 0; c < margins_; ++c) weight_[t * margins_ + c] += weights[c * count + order[k]];
      first_.push_back(static_cast<std::int64_t>(runs.size() - 1));
    }
    if (depth == degree) continue;
    for (std::size_t k = begin; k < end;) {
      const std::int32_t slot = path(order[k])[depth];
      std::size_t next = k + 1;
      while (next < end && path(order[next])[depth] == slot) ++next;
      if (slot >= 0) {
        if (r == 0) root_[slot] = static_cast<std::int64_t>(slot_of_.size());
        slot_of_.push_back(slot);
        runs.push_back({k, next, depth + 1});
      }
      k = next;
    }
  }
  first_.push_back(static_cast<std::int64_t>(slot_of_.size()));
}

void Conjunctions::add(std::span<const std::int32_t> features, std::span<const double> values, Scratch& scratch,
                       double* score) const {
  scratch.active.clear();
  for (std::size_t e = 0; e < features.size(); ++e) {
    const std::int32_t slot = slot_[features[e]];
    const double value = values.empty() ? 1.0 : values[e];
    if (slot < 0 || value == 0.0) continue;
    scratch.active.push_back(slot);
    scratch.value[slot] = value;
  }
  for (const std::int32_t slot : scratch.active)
    if (const std::int64_t t = root_[slot]; t >= 0) visit(t, t + 1, 1.0, scratch.value.data(), score);
  for (const std::int32_t slot : scratch.active) scratch.value[slot] = 0.0;
}

void Conjunctions::visit(std::int64_t begin, std::int64_t end, double value, const double* row, double* score) const {
  for (std::int64_t t = begin; t < end; ++t) {
    const double own = row[slot_of_[t]];
    if (own == 0.0) continue;
    const double phi = value * own;
    for (std::size_t c = 0; c < margins_; ++c) score[c] += phi * weight_[t * margins_ + c];
    const std::int64_t from = first_[t], to = first_[t + 1];
    if (from == to) continue;
    if (margins_ == 1 && first_[from] == first_[to])  // no child has children, whose nodes would follow each other
      *score += phi * leaves(from, to, row);
    else
      visit(from, to, phi, row, score);
  }
}

// sum of weights times values, of the only margin; four sums at once, always added up in the same order
double Conjunctions::leaves(std::int64_t begin, std::int64_t end, const double* row) const {
  double sum[4] = {};
  std::int64_t t = begin;
  for (; t + 4 <= end; t += 4)
    for (std::int64_t k = 0; k < 4; ++k) sum[k] += weight_[t + k] * row[slot_of_[t + k]];
  for (; t < end; ++t) sum[0] += weight_[t] * row[slot_of_[t]];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void score_rows(const base::Csr<std::int64_t, double>& x, const Conjunctions& model, std::span<double> score,
                std::size_t threads) {
  base::parallel_blocks(x.rows, 512, threads, [&](std::size_t begin, std::size_t end) {
    Conjunctions::Scratch scratch = model.scratch();
    for (std::size_t i = begin; i < end; ++i) {
      const auto from = static_cast<std::size_t>(x.offsets[i]),
                 size = static_cast<std::size_t>(x.offsets[i + 1]) - from;
      model.add(x.indices.subspan(from, size), x.values.subspan(from, size), scratch,
                score.data() + i * model.margins());
    }
  });
}

}  // namespace textmill::linear
