#include "trees/tree_walker.h"

#include <algorithm>

namespace textmill::trees {

Walker::Walker(const Flat& flat, std::span<const std::int32_t> values)
    : values_(values.begin(), values.end()), numeric_from_(static_cast<std::int32_t>(values.size())) {
  steps_.reserve(flat.attribute.size());
  for (std::size_t node = 0; node < flat.attribute.size(); ++node) {
    const std::int32_t attribute = flat.attribute[node];
    steps_.push_back({attribute, flat.label[node], flat.first[node], 0, targets_.size(), flat.threshold[node]});
    if (attribute < 0 || attribute >= numeric_from_) continue;
    const std::size_t at = targets_.size();
    const auto begin = static_cast<std::size_t>(flat.seen_begin[node]);
    const auto count = static_cast<std::size_t>(flat.seen_begin[node + 1]) - begin;
    if (static_cast<std::size_t>(values_[attribute]) > 256 + 16 * count) {  // a table would be mostly holes
      steps_.back().listed = static_cast<std::int32_t>(count);
      targets_.insert(targets_.end(), flat.seen.begin() + begin, flat.seen.begin() + begin + count);
      for (std::size_t i = begin; i < begin + count; ++i) targets_.push_back(flat.first[node] + flat.branch[i]);
      continue;
    }
    targets_.resize(at + static_cast<std::size_t>(values_[attribute]), -1);
    for (std::size_t i = begin; i < begin + count; ++i) targets_[at + flat.seen[i]] = flat.first[node] + flat.branch[i];
  }
}

std::int32_t Walker::find(std::size_t at, std::int32_t count, std::int32_t value) const {
  const auto seen = std::span(targets_).subspan(at, static_cast<std::size_t>(count));
  const auto place = std::ranges::lower_bound(seen, value);
  return place != seen.end() && *place == value ? targets_[at + static_cast<std::size_t>(place - seen.begin() + count)]
                                                : -1;
}

}  // namespace textmill::trees
