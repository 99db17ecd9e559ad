#include "trees/splits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "trees/grouping.h"

namespace textmill::trees {
namespace {

constexpr double kNearMean = 1e-3;  // by which a gain may miss the mean, as in C4.5
constexpr double kNoGain = 1e-10;

}  // namespace

Splits::Splits(const Cases& cases, const Growth& growth) : cases_(cases), growth_(growth) {
  for (const double weight : cases.weights) weight_ += weight;
}

std::vector<Worth> Splits::worths(const std::vector<Count>& counts, std::span<const std::int32_t> rows,
                                  std::size_t threads, Tally& tally) const {
  std::vector<Worth> worths(attributes());
  const double cases = total(counts);
  const Counted node{counts, cases, (x_log_x(cases) - inner_sum(counts)) / cases};
  const auto measure = [&](std::size_t a, Tally& own) {
    worths[a] = is_numeric(a) ? threshold_worth(a - cases_.values.size(), node, rows) : group_worth(a, node, rows, own);
  };
  if (threads <= 1 || rows.size() < kLarge) {
    for (std::size_t a = 0; a < attributes(); ++a) measure(a, tally);
  } else {
    base::parallel_for(attributes(), threads, [&](std::size_t a) {
      Tally own{std::vector<double>(cases_.classes, 0.0), {}};
      measure(a, own);
    });
  }
  return worths;
}

Worth Splits::group_worth(std::size_t a, const Counted& node, std::span<const std::int32_t> rows, Tally& tally) const {
  Worth worth;
  const std::size_t values = cases_.values[a];
  const std::span<const std::int32_t> codes = cases_.codes.subspan(a * cases_.rows, cases_.rows);
  // Rows by value: a counting sort, or one by comparison where the rows are few.
  std::vector<std::int32_t> sorted(rows.begin(), rows.end());
  std::vector<std::pair<std::int32_t, std::size_t>> runs;  // value, end
  if (rows.size() * 4 < values) {
    std::ranges::stable_sort(sorted, {}, [&](std::int32_t row) { return codes[row]; });
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (i + 1 == sorted.size() || codes[sorted[i]] != codes[sorted[i + 1]])
        runs.emplace_back(codes[sorted[i]], i + 1);
  } else {
    std::vector<std::size_t> at(values + 1, 0);
    for (const std::int32_t row : rows) ++at[codes[row] + 1];
    for (std::size_t v = 0; v < values; ++v) at[v + 1] += at[v];
    for (std::size_t v = 0; v < values; ++v)
      if (at[v + 1] > at[v]) runs.emplace_back(static_cast<std::int32_t>(v), at[v + 1]);
    for (const std::int32_t row : rows) sorted[at[codes[row]]++] = row;
  }
  if (runs.size() < 2) return worth;
  std::vector<Group> groups(runs.size());
  for (std::size_t g = 0, i = 0; g < runs.size(); ++g) {
    for (; i < runs[g].second; ++i) tally.add(cases_.labels[sorted[i]], cases_.weights[sorted[i]]);
    tally.take(groups[g].counts);
    groups[g].weight = total(groups[g].counts);
    groups[g].inner = inner_sum(groups[g].counts);
    groups[g].values = {runs[g].first};
  }
  Grouping grouping(std::move(groups), node.cases, node.info, growth_.min_cases);
  if (growth_.subsets) {
    grouping.join_pure();
    grouping.join_rare();
    grouping.climb();
  }
  worth.gain = grouping.gain();
  worth.split_info = grouping.split_info();
  worth.usable = grouping.groups().size() >= 2 && grouping.reasonable() >= 2;
  for (std::size_t g = 0; g < grouping.groups().size(); ++g)
    for (const std::int32_t value : grouping.groups()[g].values)
      worth.seen.push_back({value, static_cast<std::int32_t>(g)});
  std::ranges::sort(worth.seen, {}, &Seen::value);
  return worth;
}

Worth Splits::threshold_worth(std::size_t d, const Counted& node, std::span<const std::int32_t> rows) const {
  Worth worth;
  const std::span<const double> numbers = cases_.numbers.subspan(d * cases_.rows, cases_.rows);
  const double share = 0.1 * node.cases / static_cast<double>(cases_.classes);
  const double smallest = std::max(growth_.min_cases, std::min(share, 25.0));
  if (node.cases < 2.0 * smallest - 1e-9) return worth;
  std::vector<std::int32_t> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, {}, [&](std::int32_t row) { return numbers[row]; });
  std::vector<double> left(node.counts.size(), 0.0), right;
  for (const Count& count : node.counts) right.push_back(count.weight);
  const auto place = [&](std::int32_t label) {
    const auto at = std::ranges::lower_bound(node.counts, label, {}, &Count::label);
    return static_cast<std::size_t>(at - node.counts.begin());
  };
  double below = 0.0, inner_left = 0.0, inner_right = inner_sum(node.counts), tries = 0.0;
  double best = -1.0, best_below = 0.0;
  std::size_t best_at = 0;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    const double weight = cases_.weights[sorted[i]];
    const std::size_t c = place(cases_.labels[sorted[i]]);
    inner_left += x_log_x(left[c] + weight) - x_log_x(left[c]);
    left[c] += weight;
    const double rest = std::max(right[c] - weight, 0.0);
    inner_right += x_log_x(rest) - x_log_x(right[c]);
    right[c] = rest;
    below += weight;
    if (!(numbers[sorted[i]] < numbers[sorted[i + 1]])) continue;
    if (below < smallest - 1e-9) continue;
    if (node.cases - below < smallest - 1e-9) break;
    tries += 1.0;
    const double after = x_log_x(below) - inner_left + x_log_x(node.cases - below) - inner_right;
    const double gain = node.info - after / node.cases;
    if (gain > best + kTie) {
      best = gain;
      best_at = i;
      best_below = below;
    }
  }
  if (tries == 0.0) return worth;
  worth.gain = best - std::log2(tries) / node.cases;  // the price of having chosen among so many
  worth.split_info = (x_log_x(node.cases) - x_log_x(best_below) - x_log_x(node.cases - best_below)) / node.cases;
  const double low = numbers[sorted[best_at]], high = numbers[sorted[best_at + 1]];
  worth.threshold = low + (high - low) / 2.0;
  if (!(worth.threshold < high) || !(worth.threshold >= low)) worth.threshold = low;
  worth.usable = true;
  return worth;
}

std::int32_t Splits::choose(const std::vector<Worth>& worths) const {
  double sum = 0.0, all = 0.0;
  std::size_t few = 0, usable = 0;
  for (std::size_t a = 0; a < worths.size(); ++a) {
    if (!worths[a].usable || worths[a].gain <= kNoGain) continue;
    ++usable;
    all += worths[a].gain;
    if (is_numeric(a) || cases_.values[a] <= 0.3 * weight_) {
      ++few;
      sum += worths[a].gain;
    }
  }
  if (usable == 0) {
    // Without a rule for the number of cases a tree goes on until its leaves are pure.
    if (growth_.min_cases > 1.0) return -1;
    for (std::size_t a = 0; a < worths.size(); ++a)
      if (worths[a].usable) return static_cast<std::int32_t>(a);
    return -1;
  }
  const double mean = few > 0 ? sum / static_cast<double>(few) : all / static_cast<double>(usable);
  std::int32_t best = -1;
  double ratio = 0.0;
  for (std::size_t a = 0; a < worths.size(); ++a) {
    if (!worths[a].usable || worths[a].gain <= kNoGain || worths[a].gain < mean - kNearMean) continue;
    if (worths[a].split_info <= 1e-10) continue;
    const double own = worths[a].gain / worths[a].split_info;
    if (own > ratio + kTie) {
      ratio = own;
      best = static_cast<std::int32_t>(a);
    }
  }
  return best;
}

}  // namespace textmill::trees
