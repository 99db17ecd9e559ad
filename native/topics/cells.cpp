#include "topics/cells.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace textmill::topics {
namespace {

// A group costs a visit of every document, and samplers mix a little slower with more of them, so small corpora have few;
// large ones leave work for many threads.
std::size_t groups_for(std::size_t items, std::size_t documents) {
  std::size_t groups = 1;
  for (std::size_t least = std::size_t{1} << 15; groups < Cells::kMostGroups && items >= least; least *= 64) {
    groups = std::max<std::size_t>(4, 2 * groups);  // 4 from 2^15 items, 8 from 2^21, 16 from 2^27, 32 from 2^33
  }
  return documents >= groups ? groups : 1;
}

}  // namespace

Cells::Cells(const Bags& bags, Items items) : kind(items), starts(bags.offsets.size()), group(bags.vocabulary) {
  const std::size_t n = bags.offsets.size() - 1;
  std::vector<std::int64_t> frequency(bags.vocabulary, 0);
  for (std::size_t d = 0; d < n; ++d) {
    std::int64_t length = 0;
    for (auto e = static_cast<std::size_t>(bags.offsets[d]); e < static_cast<std::size_t>(bags.offsets[d + 1]); ++e) {
      const std::int64_t many = repeats(bags.counts[e]);
      frequency[static_cast<std::size_t>(bags.terms[e])] += many;
      length += many;
    }
    if (length >= std::int64_t{1} << 32) throw std::invalid_argument("a document has more than 4,294,967,295 words");
    starts[d + 1] = starts[d] + length;
  }
  groups = groups_for(this->items(), n);

  bounds.assign(groups + 1, n);
  bounds[0] = 0;
  for (std::size_t c = 1, d = 0; c < groups; ++c) {
    const auto goal = static_cast<std::int64_t>(this->items() / groups * c);
    while (d < n && starts[d] < goal) ++d;
    bounds[c] = d;
  }

  std::vector<std::int32_t> falling(bags.vocabulary);
  std::iota(falling.begin(), falling.end(), 0);
  std::stable_sort(falling.begin(), falling.end(), [&](std::int32_t a, std::int32_t b) {
    return frequency[static_cast<std::size_t>(a)] > frequency[static_cast<std::size_t>(b)];
  });
  std::vector<std::int64_t> load(groups, 0);
  for (const std::int32_t word : falling) {
    const auto least = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    group[static_cast<std::size_t>(word)] = static_cast<std::uint8_t>(least);
    load[least] += frequency[static_cast<std::size_t>(word)];
  }

  ends.assign(n * groups, 0);
  for (std::size_t d = 0; d < n; ++d) {
    std::uint32_t* end = ends.data() + d * groups;
    for (auto e = static_cast<std::size_t>(bags.offsets[d]); e < static_cast<std::size_t>(bags.offsets[d + 1]); ++e) {
      end[group[static_cast<std::size_t>(bags.terms[e])]] += static_cast<std::uint32_t>(repeats(bags.counts[e]));
    }
    std::partial_sum(end, end + groups, end);
  }
}

}  // namespace textmill::topics
