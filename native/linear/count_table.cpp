#include <algorithm>

#include "base/parallel.h"
#include "linear/count_fits.h"

namespace textmill::linear {

CountTable::CountTable(std::size_t columns, std::size_t classes, std::span<const std::int64_t> offsets,
                       std::span<const std::int32_t> indices, std::span<const double> values,
                       std::span<const std::int32_t> label, std::span<const double> exposure,
                       std::span<const double> weight, bool clipped, std::size_t threads)
    : columns_(columns) {
  const std::size_t rows = label.size();
  const auto length_of = [&](std::size_t i) { return clipped ? std::min(exposure[i], 1.0) : exposure[i]; };
  std::vector<std::vector<std::int32_t>> members(classes);
  for (std::size_t i = 0; i < rows; ++i) members[label[i]].push_back(static_cast<std::int32_t>(i));
  std::vector<std::int32_t> length_id(rows);
  std::vector<std::vector<double>> lengths(classes), weights(classes);
  begin_.assign(columns * classes + 1, 0);
  base::parallel_for(classes, threads, [&](std::size_t c) {
    auto& own = lengths[c];
    for (const std::int32_t i : members[c]) own.push_back(length_of(i));
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    weights[c].assign(own.size(), 0.0);
    std::size_t* counts = begin_.data() + c * columns + 1;
    for (const std::int32_t i : members[c]) {
      const auto at = std::lower_bound(own.begin(), own.end(), length_of(i)) - own.begin();
      length_id[i] = static_cast<std::int32_t>(at);
      weights[c][at] += weight[i];
      if (weight[i] > 0)
        for (auto e = offsets[i]; e < offsets[i + 1]; ++e) counts[indices[e]] += values[e] > 0;
    }
  });
  for (std::size_t k = 1; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  count_.resize(begin_.back()), at_.resize(begin_.back()), entry_weight_.resize(begin_.back());
  base::parallel_for(classes, threads, [&](std::size_t c) {
    std::vector<std::size_t> next(begin_.begin() + c * columns, begin_.begin() + (c + 1) * columns);
    for (const std::int32_t i : members[c]) {
      if (weight[i] <= 0) continue;
      for (auto e = offsets[i]; e < offsets[i + 1]; ++e) {
        if (values[e] <= 0) continue;
        const std::size_t k = next[indices[e]]++;
        count_[k] = clipped ? 1.0 : values[e];
        at_[k] = length_id[i];
        entry_weight_[k] = weight[i];
      }
    }
  });
  length_begin_.assign(1, 0);
  for (std::size_t c = 0; c < classes; ++c) {
    length_.insert(length_.end(), lengths[c].begin(), lengths[c].end());
    length_weight_.insert(length_weight_.end(), weights[c].begin(), weights[c].end());
    length_begin_.push_back(length_.size());
  }
}

CountTable::Entries CountTable::entries(std::size_t cell) const {
  const std::size_t begin = begin_[cell], size = begin_[cell + 1] - begin;
  return {{count_.data() + begin, size}, {at_.data() + begin, size}, {entry_weight_.data() + begin, size}};
}

std::span<const double> CountTable::lengths(std::size_t label) const {
  return {length_.data() + length_begin_[label], length_begin_[label + 1] - length_begin_[label]};
}

std::span<const double> CountTable::weights(std::size_t label) const {
  return {length_weight_.data() + length_begin_[label], length_begin_[label + 1] - length_begin_[label]};
}

}  // namespace textmill::linear
