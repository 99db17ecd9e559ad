#include "tasks/fluency.h"

#include <algorithm>

#include "base/parallel.h"

namespace textmill::tasks {

namespace {

constexpr std::size_t kBlock = 256;  // sentences that a thread handles at a time

// Calls take(key, place) for the n-grams of a sentence.
template <class F>
void each(std::span<const View> views, std::size_t sentence, F&& take) {
  for (std::size_t v = 0; v < views.size(); ++v) {
    const View& view = views[v];
    const std::int64_t from = view.begin[sentence], to = view.begin[sentence + 1];
    const bool bordered = view.border >= 0 && from < to;
    const auto symbol = [&](std::int64_t i) {
      return static_cast<std::uint64_t>(i < from || i >= to ? view.border : view.symbol[static_cast<std::size_t>(i)]);
    };
    for (std::size_t n = 1; n <= view.order; ++n) {
      const auto length = static_cast<std::int64_t>(n);
      const std::int64_t margin = bordered && n > 1 ? 1 : 0;
      for (std::int64_t i = from - margin; i + length <= to + margin; ++i) {
        std::uint64_t key = 0;
        for (std::int64_t j = i; j < i + length; ++j) key = key << (60 / n) | symbol(j);
        take(key | static_cast<std::uint64_t>(4 * v + n - 1) << 60, static_cast<std::int32_t>(i - from));
      }
    }
  }
}

}  // namespace

NGramSets ngram_sets(std::span<const View> views, std::size_t threads) {
  const std::size_t sentences = views[0].begin.size() - 1;
  std::vector<std::vector<std::uint64_t>> sets(sentences);
  base::parallel_blocks(sentences, kBlock, threads, [&](std::size_t from, std::size_t to) {
    std::vector<std::uint64_t> keys;
    for (std::size_t s = from; s < to; ++s) {
      keys.clear();
      each(views, s, [&](std::uint64_t key, std::int32_t) { keys.push_back(key); });
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      sets[s] = keys;
    }
  });
  NGramSets made{{0}, {}};
  std::size_t size = 0;
  for (const auto& set : sets) size += set.size();
  made.begin.reserve(sentences + 1);
  made.key.reserve(size);
  for (const auto& set : sets) {
    made.key.insert(made.key.end(), set.begin(), set.end());
    made.begin.push_back(static_cast<std::int64_t>(made.key.size()));
  }
  return made;
}

Occurrences occurrences(std::span<const View> views, const NGramSets& sets) {
  Occurrences made{{0}, {}};
  std::vector<std::vector<std::int32_t>> places;
  for (std::size_t s = 0; s + 1 < sets.begin.size(); ++s) {
    const auto from = sets.key.begin() + sets.begin[s], to = sets.key.begin() + sets.begin[s + 1];
    places.assign(static_cast<std::size_t>(to - from), {});
    each(views, s, [&](std::uint64_t key, std::int32_t place) {
      places[static_cast<std::size_t>(std::lower_bound(from, to, key) - from)].push_back(place);
    });
    for (const auto& own : places) {
      made.place.insert(made.place.end(), own.begin(), own.end());
      made.at.push_back(static_cast<std::int64_t>(made.place.size()));
    }
  }
  return made;
}

}  // namespace textmill::tasks
