#include "topics/windows.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace textmill::topics {
namespace {

struct Range {
  std::int64_t first, last;  // windows, by where they begin
};

// Counts of one lane, with its scratch.
struct Counts {
  std::vector<std::int64_t> words, pairs;
  std::int64_t windows = 0;
  std::vector<std::vector<Range>> ranges;  // [R], of the words of the document
  std::vector<std::int32_t> present;       // those words

  static Counts zero_like(const Counts& other) {
    Counts made;
    made.words.resize(other.words.size());
    made.pairs.resize(other.pairs.size());
    made.ranges.resize(other.words.size());
    return made;
  }

  Counts& operator+=(const Counts& other) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += other.words[i];
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] += other.pairs[i];
    windows += other.windows;
    return *this;
  }
};

std::int64_t common(const std::vector<Range>& a, const std::vector<Range>& b) {
  std::int64_t total = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    total += std::max<std::int64_t>(0, std::min(a[i].last, b[j].last) - std::max(a[i].first, b[j].first) + 1);
    a[i].last < b[j].last ? ++i : ++j;
  }
  return total;
}

void count_document(std::span<const std::int32_t> tokens, std::size_t size, const Pairs& wanted, Counts& counts) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  const std::int64_t reach = size == 0 ? std::max<std::int64_t>(length, 1) : static_cast<std::int64_t>(size);
  const std::int64_t windows = std::max<std::int64_t>(1, length - reach + 1);
  counts.windows += windows;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t word = tokens[static_cast<std::size_t>(i)];
    if (word < 0 || static_cast<std::size_t>(word) >= counts.words.size()) continue;
    auto& ranges = counts.ranges[static_cast<std::size_t>(word)];
    const Range range{std::max<std::int64_t>(0, i - reach + 1), std::min(i, windows - 1)};
    if (ranges.empty()) counts.present.push_back(word);
    if (!ranges.empty() && range.first <= ranges.back().last + 1) {
      ranges.back().last = std::max(ranges.back().last, range.last);
    } else if (range.first <= range.last) {
      ranges.push_back(range);
    }
  }
  for (const std::int32_t word : counts.present) {
    const auto& ranges = counts.ranges[static_cast<std::size_t>(word)];
    for (const Range& range : ranges) counts.words[static_cast<std::size_t>(word)] += range.last - range.first + 1;
    const auto begin = static_cast<std::size_t>(wanted.offsets[static_cast<std::size_t>(word)]);
    const auto end = static_cast<std::size_t>(wanted.offsets[static_cast<std::size_t>(word) + 1]);
    for (std::size_t p = begin; p < end; ++p) {
      counts.pairs[p] += common(ranges, counts.ranges[static_cast<std::size_t>(wanted.partners[p])]);
    }
  }
  for (const std::int32_t word : counts.present) counts.ranges[static_cast<std::size_t>(word)].clear();
  counts.present.clear();
}

}  // namespace

std::int64_t count_windows(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
                           std::size_t size, const Pairs& wanted, std::span<std::int64_t> words,
                           std::span<std::int64_t> pairs, std::size_t threads) {
  Counts total;
  total.words.assign(words.begin(), words.end());
  total.pairs.assign(pairs.begin(), pairs.end());
  base::parallel_sum(offsets.size() - 1, threads, total, [&](std::size_t d, Counts& counts) {
    const auto begin = static_cast<std::size_t>(offsets[d]), end = static_cast<std::size_t>(offsets[d + 1]);
    count_document(tokens.subspan(begin, end - begin), size, wanted, counts);
  });
  std::ranges::copy(total.words, words.begin());
  std::ranges::copy(total.pairs, pairs.begin());
  return total.windows;
}

}  // namespace textmill::topics
