#include "trees/boosting.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/parallel.h"

namespace textmill::trees {
namespace {

constexpr std::size_t kBins = 64;
constexpr std::uint8_t kRest = kBins;  // the bin of rows without a number

struct Column {
  std::vector<double> cuts;        // ascending; bin b holds cuts[b - 1] <= x < cuts[b]
  std::vector<std::uint8_t> bins;  // [rows]
};

struct Sums {
  double g = 0.0, h = 0.0;
  std::size_t rows = 0;

  Sums& operator+=(const Sums& other) {
    g += other.g, h += other.h, rows += other.rows;
    return *this;
  }
  Sums operator-(const Sums& other) const { return {g - other.g, h - other.h, rows - other.rows}; }
};

struct Split {
  double gain = 0.0;
  double threshold = 0.0;
  std::int32_t column = -1;
  std::uint8_t bin = 0;  // bins below it go to the first child
  bool rest_first = false;
};

using Histogram = std::array<Sums, kBins + 1>;

Column bins_of(std::span<const double> numbers, std::size_t columns, std::size_t c) {
  const std::size_t rows = numbers.size() / columns;
  std::vector<double> sorted;
  for (std::size_t i = 0; i < rows; ++i)
    if (const double x = numbers[i * columns + c]; !std::isnan(x)) sorted.push_back(x);
  std::ranges::sort(sorted);
  Column column;
  std::size_t begin = 0;  // of the bin that is being filled
  for (std::size_t i = 1; i < sorted.size() && column.cuts.size() + 1 < kBins; ++i) {
    const std::size_t wanted = (sorted.size() - begin + kBins - column.cuts.size() - 1) / (kBins - column.cuts.size());
    if (sorted[i] == sorted[i - 1] || i - begin < wanted) continue;
    const double middle = sorted[i - 1] + (sorted[i] - sorted[i - 1]) / 2;
    column.cuts.push_back(middle > sorted[i - 1] ? middle : sorted[i]);
    begin = i;
  }
  column.bins.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = numbers[i * columns + c];
    const auto at = std::ranges::upper_bound(column.cuts, x) - column.cuts.begin();
    column.bins[i] = std::isnan(x) ? kRest : static_cast<std::uint8_t>(at);
  }
  return column;
}

double weight(const Sums& sums, double lambda) { return sums.g * sums.g / (sums.h + lambda); }

// The best split of a column, if any is better than none.
Split best_split(const Histogram& bins, const Column& column, std::size_t c, const Sums& all,
                 const BoostingOptions& options) {
  Split best;
  Sums below;
  for (std::size_t bin = 1; bin <= column.cuts.size(); ++bin) {
    below += bins[bin - 1];
    for (const bool rest_first : {false, true}) {
      if (rest_first && bins[kRest].rows == 0) continue;
      Sums first = below;
      if (rest_first) first += bins[kRest];
      const Sums second = all - first;
      if (first.rows < options.least || second.rows < options.least) continue;
      const double gain = weight(first, options.lambda) + weight(second, options.lambda) - weight(all, options.lambda);
      if (gain > best.gain + 1e-12)
        best = {gain, column.cuts[bin - 1], static_cast<std::int32_t>(c), static_cast<std::uint8_t>(bin), rest_first};
    }
  }
  return best;
}

}  // namespace

BoostedTrees boost_trees(std::span<const double> numbers, std::span<const std::uint8_t> labels, double start,
                         const BoostingOptions& options, std::size_t threads) {
  const std::size_t rows = labels.size(), columns = numbers.size() / rows;
  const std::size_t nodes = (std::size_t{2} << options.depth) - 1;
  std::vector<Column> column(columns);
  base::parallel_for(columns, threads, [&](std::size_t c) { column[c] = bins_of(numbers, columns, c); });
  BoostedTrees trees{nodes, {}, {}, {}, {}};
  trees.column.assign(options.rounds * nodes, -1);
  trees.threshold.assign(options.rounds * nodes, 0.0);
  trees.rest_first.assign(options.rounds * nodes, 0);
  trees.value.assign(options.rounds * nodes, 0.0);
  std::vector<double> margin(rows, start), g(rows), h(rows);
  std::vector<std::size_t> node(rows);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const std::size_t base = round * nodes;
    for (std::size_t i = 0; i < rows; ++i) {
      const double p = 1.0 / (1.0 + std::exp(-margin[i]));
      g[i] = p - labels[i], h[i] = p * (1.0 - p), node[i] = 0;
    }
    std::vector<Sums> all(nodes);
    for (std::size_t i = 0; i < rows; ++i) all[0] += {g[i], h[i], 1};
    for (std::size_t level = 0; level < options.depth; ++level) {
      const std::size_t first = (std::size_t{1} << level) - 1, width = first + 1;
      std::vector<Split> splits(columns * width);
      base::parallel_for(columns, threads, [&](std::size_t c) {
        std::vector<Histogram> bins(width);
        for (std::size_t i = 0; i < rows; ++i)
          if (node[i] >= first) bins[node[i] - first][column[c].bins[i]] += {g[i], h[i], 1};
        for (std::size_t n = 0; n < width; ++n)
          splits[c * width + n] = best_split(bins[n], column[c], c, all[first + n], options);
      });
      for (std::size_t n = 0; n < width; ++n) {
        Split best;
        for (std::size_t c = 0; c < columns; ++c)
          if (splits[c * width + n].gain > best.gain) best = splits[c * width + n];
        splits[n] = best;  // of column 0, which is done
        trees.column[base + first + n] = best.column;
        trees.threshold[base + first + n] = best.threshold;
        trees.rest_first[base + first + n] = best.rest_first;
      }
      for (std::size_t i = 0; i < rows; ++i) {
        if (node[i] < first || splits[node[i] - first].column < 0) continue;
        const Split& split = splits[node[i] - first];
        const std::uint8_t bin = column[static_cast<std::size_t>(split.column)].bins[i];
        node[i] = 2 * node[i] + ((bin == kRest ? split.rest_first : bin < split.bin) ? 1 : 2);
        all[node[i]] += {g[i], h[i], 1};
      }
    }
    for (std::size_t n = 1; n < nodes; ++n)
      if (all[n].rows) trees.value[base + n] = -options.rate * all[n].g / (all[n].h + options.lambda);
    for (std::size_t i = 0; i < rows; ++i) margin[i] += trees.value[base + node[i]];
  }
  return trees;
}

void boosted_leaves(std::span<const double> numbers, std::size_t columns, std::span<const std::int32_t> column,
                    std::span<const double> threshold, std::span<const std::uint8_t> rest_first, std::size_t nodes,
                    std::span<std::int32_t> leaves, std::size_t threads) {
  const std::size_t rounds = column.size() / nodes, rows = numbers.size() / columns;
  base::parallel_blocks(rows, 256, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t round = 0; round < rounds; ++round) {
        std::size_t n = 0;
        while (column[round * nodes + n] >= 0) {
          const std::size_t at = round * nodes + n;
          const double x = numbers[i * columns + static_cast<std::size_t>(column[at])];
          n = 2 * n + ((std::isnan(x) ? rest_first[at] != 0 : x < threshold[at]) ? 1 : 2);
        }
        leaves[i * rounds + round] = static_cast<std::int32_t>(n);
      }
    }
  });
}

}  // namespace textmill::trees
