#include "trees/categorical.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/parallel.h"

namespace textmill::trees {
namespace {

constexpr double kTie = 1e-12;      // ratios nearer than this are equal: the first one wins
constexpr double kBetter = 1e-5;    // what a join of two groups must add to the ratio
constexpr double kNearMean = 1e-3;  // by which a gain may miss the mean, as in C4.5
constexpr double kSlack = 0.1;      // errors by which pruning may raise the estimate, as in C4.5
constexpr double kNoGain = 1e-10;
constexpr std::size_t kGroups = 64;    // pairs of more groups than twice this are not all looked at, over and over
constexpr std::size_t kLarge = 20000;  // cases of a node whose attributes are shared among threads

// x log2 x
double k(double x) {
  static const auto table = [] {
    std::array<double, 4096> values{};
    for (std::size_t i = 1; i < values.size(); ++i)
      values[i] = static_cast<double>(i) * std::log2(static_cast<double>(i));
    return values;
  }();
  if (x < 4096.0) {
    const auto whole = static_cast<std::size_t>(x);
    if (static_cast<double>(whole) == x) return table[whole];
  }
  return x * std::log2(x);
}

struct Count {
  std::int32_t label;
  double weight;
};

struct Node {
  std::int32_t attribute = -1;
  double threshold = 0.0;
  std::int32_t label = 0;
  double cases = 0.0;
  double errors = 0.0;        // of a leaf
  std::vector<Count> counts;  // by class
  std::vector<Seen> seen;     // by value; empty for thresholds
  std::vector<std::unique_ptr<Node>> children;
};

struct Group {
  double weight = 0.0;
  double inner = 0.0;         // sum_c K(n_c)
  std::vector<Count> counts;  // by class
  std::vector<std::int32_t> values;
};

// Classes of a stretch of cases: sparse, ascending.
struct Tally {
  std::vector<double> dense;
  std::vector<std::int32_t> touched;

  void add(std::int32_t label, double weight) {
    if (dense[label] == 0.0) touched.push_back(label);
    dense[label] += weight;
  }

  void take(std::vector<Count>& out) {
    std::ranges::sort(touched);
    out.clear();
    out.reserve(touched.size());
    for (const std::int32_t label : touched) {
      out.push_back({label, dense[label]});
      dense[label] = 0.0;
    }
    touched.clear();
  }
};

double inner_sum(const std::vector<Count>& counts) {
  double sum = 0.0;
  for (const Count& count : counts) sum += k(count.weight);
  return sum;
}

double total(const std::vector<Count>& counts) {
  double sum = 0.0;
  for (const Count& count : counts) sum += count.weight;
  return sum;
}

// K(a + b) - K(a) - K(b), summed over the classes of both
double shared_classes(const std::vector<Count>& a, const std::vector<Count>& b) {
  double sum = 0.0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].label < b[j].label) {
      ++i;
    } else if (b[j].label < a[i].label) {
      ++j;
    } else {
      sum += k(a[i].weight + b[j].weight) - k(a[i].weight) - k(b[j].weight);
      ++i, ++j;
    }
  }
  return sum;
}

void join(Group& into, Group& from) {
  std::vector<Count> counts;
  counts.reserve(into.counts.size() + from.counts.size());
  std::size_t i = 0, j = 0;
  while (i < into.counts.size() || j < from.counts.size()) {
    if (j == from.counts.size() || (i < into.counts.size() && into.counts[i].label < from.counts[j].label)) {
      counts.push_back(into.counts[i++]);
    } else if (i == into.counts.size() || from.counts[j].label < into.counts[i].label) {
      counts.push_back(from.counts[j++]);
    } else {
      counts.push_back({into.counts[i].label, into.counts[i].weight + from.counts[j].weight});
      ++i, ++j;
    }
  }
  into.counts = std::move(counts);
  into.weight += from.weight;
  into.inner = inner_sum(into.counts);
  into.values.insert(into.values.end(), from.values.begin(), from.values.end());
}

// The groups of a node and what they are worth as a split.
class Grouping {
 public:
  Grouping(std::vector<Group>&& groups, double weight, double info, double min_cases)
      : groups_(std::move(groups)), weight_(weight), info_(info), min_cases_(min_cases) {
    measure();
  }

  double gain() const { return info_ - after_ / weight_; }
  double split_info() const { return (k(weight_) - outer_) / weight_; }
  double ratio() const { return ratio_of(after_, outer_); }
  const std::vector<Group>& groups() const { return groups_; }

  std::size_t reasonable() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(groups_, [&](const Group& group) { return group.weight >= min_cases_ - 1e-9; }));
  }

  // Values of one class each become one group a class.
  void join_pure() {
    for (std::size_t a = 0; a < groups_.size(); ++a) {
      if (groups_[a].counts.size() != 1) continue;
      for (std::size_t b = a + 1; b < groups_.size();) {
        if (groups_[b].counts.size() == 1 && groups_[b].counts[0].label == groups_[a].counts[0].label) {
          join(groups_[a], groups_[b]);
          groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(b));
        } else {
          ++b;
        }
      }
    }
    measure();
  }

  // Of very many groups, as characters of Chinese make, the heaviest stay and the others become one group a largest class;
  // of these the lightest become one. Climbing costs the cube of the number of groups.
  void join_rare() {
    if (groups_.size() <= 2 * kGroups) return;
    const auto heavier = [](const Group& a, const Group& b) { return a.weight > b.weight; };
    std::ranges::stable_sort(groups_, heavier);
    std::vector<Group> rest(std::make_move_iterator(groups_.begin() + kGroups), std::make_move_iterator(groups_.end()));
    groups_.resize(kGroups);
    const auto largest = [](const Group& group) {
      return std::ranges::max_element(group.counts, {}, &Count::weight)->label;
    };
    std::ranges::stable_sort(rest, {}, largest);
    std::vector<Group> joined;
    std::int32_t last = -1;
    for (Group& group : rest) {
      const std::int32_t label = largest(group);
      if (label == last)
        join(joined.back(), group);
      else
        joined.push_back(std::move(group));
      last = label;
    }
    std::ranges::stable_sort(joined, heavier);
    for (std::size_t g = kGroups; g < joined.size(); ++g) join(joined[kGroups - 1], joined[g]);
    joined.resize(std::min(joined.size(), kGroups));
    std::ranges::move(joined, std::back_inserter(groups_));
    measure();
  }

  // Joins pairs while that raises the ratio, or while there are not two groups of min_cases.
  void climb() {
    const double half = gain() / 2.0;
    std::size_t n = groups_.size();
    std::vector<double> inner(n * n, 0.0), outer(n * n, 0.0);
    const auto pair = [&](std::size_t a, std::size_t b) {
      inner[a * n + b] = inner[b * n + a] = shared_classes(groups_[a].counts, groups_[b].counts);
      outer[a * n + b] = outer[b * n + a] =
          k(groups_[a].weight + groups_[b].weight) - k(groups_[a].weight) - k(groups_[b].weight);
    };
    std::vector<std::size_t> open(n);
    std::iota(open.begin(), open.end(), std::size_t{0});
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a + 1; b < n; ++b) pair(a, b);
    while (open.size() > 2) {
      std::size_t large = 0, heaviest = open[0];
      for (const std::size_t g : open) {
        large += groups_[g].weight >= min_cases_ - 1e-9;
        if (groups_[g].weight > groups_[heaviest].weight) heaviest = g;
      }
      const bool barred = large < 3;
      bool best_keeps = false;
      double best_ratio = -1.0;
      std::size_t left = 0, right = 0;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const std::size_t a = open[i];
        if (barred && a == heaviest) continue;
        for (std::size_t j = i + 1; j < open.size(); ++j) {
          const std::size_t b = open[j];
          if (barred && b == heaviest) continue;
          const double after = after_ + outer[a * n + b] - inner[a * n + b];
          const bool keeps = info_ - after / weight_ >= half - kTie;
          const double ratio = ratio_of(after, outer_ + outer[a * n + b]);
          if (best_ratio < 0.0 || (keeps && !best_keeps) || (keeps == best_keeps && ratio > best_ratio + kTie)) {
            best_keeps = keeps;
            best_ratio = ratio;
            left = i;
            right = j;
          }
        }
      }
      if (large >= 2 && best_ratio <= ratio() + kBetter) break;
      const std::size_t a = open[left], b = open[right];
      after_ += outer[a * n + b] - inner[a * n + b];
      outer_ += outer[a * n + b];
      join(groups_[a], groups_[b]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(right));
      for (const std::size_t g : open)
        if (g != a) pair(a, g);
    }
    std::vector<Group> rest;
    for (const std::size_t g : open) rest.push_back(std::move(groups_[g]));
    groups_ = std::move(rest);
    measure();
  }

 private:
  double ratio_of(double after, double outer) const {
    const double split = (k(weight_) - outer) / weight_;
    return split > 1e-10 ? std::max(info_ - after / weight_, 0.0) / split : 0.0;
  }

  void measure() {
    after_ = outer_ = 0.0;
    for (const Group& group : groups_) {
      outer_ += k(group.weight);
      after_ += k(group.weight) - group.inner;
    }
  }

  std::vector<Group> groups_;
  double weight_, info_, min_cases_;
  double after_ = 0.0;  // N times the information left
  double outer_ = 0.0;  // sum of K(|S_j|)
};

// Upper limit of the errors of a leaf, less the errors themselves: Quinlan's approximation of the binomial.
double added_errors_by(double n, double e, double confidence, double deviate) {
  if (e < 1e-6) return n * (1.0 - std::exp(std::log(confidence) / n));
  if (e < 0.9999) {
    const double none = n * (1.0 - std::exp(std::log(confidence) / n));
    return none + e * (added_errors_by(n, 1.0, confidence, deviate) - none);
  }
  if (e + 0.5 >= n) return 0.67 * (n - e);
  const double q = deviate * deviate;
  const double bound = (e + 0.5 + q / 2.0 + std::sqrt(q * ((e + 0.5) * (1.0 - (e + 0.5) / n) + q / 4.0))) / (n + q);
  return n * bound - e;
}

class Grower {
 public:
  Grower(const Cases& cases, const Growth& growth)
      : cases_(cases),
        growth_(growth),
        attributes_(cases.values.size() + cases.numeric),
        deviate_(growth.confidence < 1.0 ? normal_deviate(growth.confidence) : 0.0),
        order_(cases.rows) {
    std::iota(order_.begin(), order_.end(), 0);
    for (const double weight : cases.weights) weight_ += weight;
  }

  std::unique_ptr<Node> grow(std::size_t threads) {
    auto root = std::make_unique<Node>();
    grow_large(*root, {order_.data(), order_.size()}, 0, threads);
    return root;
  }

  std::vector<Worth> worths(std::size_t threads) {
    Node root;
    Tally tally{std::vector<double>(cases_.classes, 0.0), {}};
    count(root, order_, tally);
    return worths_of(root, order_, threads, tally);
  }

 private:
  using Rows = std::span<std::int32_t>;

  void count(Node& node, std::span<const std::int32_t> rows, Tally& tally) const {
    for (const std::int32_t row : rows) tally.add(cases_.labels[row], cases_.weights[row]);
    tally.take(node.counts);
    set_label(node);
  }

  static void set_label(Node& node) {
    node.cases = total(node.counts);
    double most = 0.0;
    for (const Count& count : node.counts) {
      if (count.weight > most + 1e-9) {
        most = count.weight;
        node.label = count.label;
      }
    }
    node.errors = node.cases - most;
    if (node.counts.size() <= 1) node.errors = 0.0;
  }

  // A large node shares its attributes among the threads, then its children; small ones are grown whole, side by side.
  void grow_large(Node& node, Rows rows, std::size_t depth, std::size_t threads) {
    Tally tally{std::vector<double>(cases_.classes, 0.0), {}};
    if (rows.size() < kLarge) {
      grow_small(node, rows, depth, tally);
      return;
    }
    if (!split(node, rows, depth, threads, tally)) return;
    std::vector<Rows> parts = partition(node, rows);
    std::vector<std::size_t> small;
    for (std::size_t c = 0; c < parts.size(); ++c) {
      if (parts[c].size() >= kLarge) {
        grow_large(*node.children[c], parts[c], depth + 1, threads);
      } else {
        small.push_back(c);
      }
    }
    base::parallel_for(small.size(), threads, [&](std::size_t i) {
      Tally own{std::vector<double>(cases_.classes, 0.0), {}};
      grow_small(*node.children[small[i]], parts[small[i]], depth + 1, own);
    });
    finish(node, rows, tally);
  }

  void grow_small(Node& node, Rows rows, std::size_t depth, Tally& tally) {
    if (!split(node, rows, depth, 1, tally)) return;
    std::vector<Rows> parts = partition(node, rows);
    for (std::size_t c = 0; c < parts.size(); ++c) grow_small(*node.children[c], parts[c], depth + 1, tally);
    finish(node, rows, tally);
  }

  // Counts the cases; makes the children, still empty, unless the node is a leaf.
  bool split(Node& node, Rows rows, std::size_t depth, std::size_t threads, Tally& tally) {
    count(node, rows, tally);
    if (node.counts.size() <= 1 || node.cases < 2.0 * growth_.min_cases - 1e-9 || depth >= growth_.max_depth)
      return false;
    std::vector<Worth> worths = worths_of(node, rows, threads, tally);
    const std::int32_t best = choose(worths);
    if (best < 0) return false;
    node.attribute = best;
    node.threshold = worths[best].threshold;
    node.seen = std::move(worths[best].seen);
    std::int32_t branches = 2;
    for (const Seen& seen : node.seen) branches = std::max(branches, seen.branch + 1);
    for (std::int32_t b = 0; b < branches; ++b) node.children.push_back(std::make_unique<Node>());
    return true;
  }

  bool is_numeric(std::size_t attribute) const { return attribute >= cases_.values.size(); }

  std::vector<Worth> worths_of(const Node& node, std::span<const std::int32_t> rows, std::size_t threads,
                               Tally& tally) const {
    std::vector<Worth> worths(attributes_);
    const double info = (k(node.cases) - inner_sum(node.counts)) / node.cases;
    const auto measure = [&](std::size_t a, Tally& own) {
      worths[a] = is_numeric(a) ? threshold_worth(a - cases_.values.size(), node, rows, info)
                                : group_worth(a, node, rows, info, own);
    };
    if (threads <= 1 || rows.size() < kLarge) {
      for (std::size_t a = 0; a < attributes_; ++a) measure(a, tally);
    } else {
      base::parallel_for(attributes_, threads, [&](std::size_t a) {
        Tally own{std::vector<double>(cases_.classes, 0.0), {}};
        measure(a, own);
      });
    }
    return worths;
  }

  Worth group_worth(std::size_t a, const Node& node, std::span<const std::int32_t> rows, double info,
                    Tally& tally) const {
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
    Grouping grouping(std::move(groups), node.cases, info, growth_.min_cases);
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

  Worth threshold_worth(std::size_t d, const Node& node, std::span<const std::int32_t> rows, double info) const {
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
      inner_left += k(left[c] + weight) - k(left[c]);
      left[c] += weight;
      const double rest = std::max(right[c] - weight, 0.0);
      inner_right += k(rest) - k(right[c]);
      right[c] = rest;
      below += weight;
      if (!(numbers[sorted[i]] < numbers[sorted[i + 1]])) continue;
      if (below < smallest - 1e-9) continue;
      if (node.cases - below < smallest - 1e-9) break;
      tries += 1.0;
      const double after = k(below) - inner_left + k(node.cases - below) - inner_right;
      const double gain = info - after / node.cases;
      if (gain > best + kTie) {
        best = gain;
        best_at = i;
        best_below = below;
      }
    }
    if (tries == 0.0) return worth;
    worth.gain = best - std::log2(tries) / node.cases;  // the price of having chosen among so many
    worth.split_info = (k(node.cases) - k(best_below) - k(node.cases - best_below)) / node.cases;
    const double low = numbers[sorted[best_at]], high = numbers[sorted[best_at + 1]];
    worth.threshold = low + (high - low) / 2.0;
    if (!(worth.threshold < high) || !(worth.threshold >= low)) worth.threshold = low;
    worth.usable = true;
    return worth;
  }

  std::int32_t choose(const std::vector<Worth>& worths) const {
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

  // Rows of the children side by side, in their old order; those whose value was not seen at the end.
  std::vector<Rows> partition(const Node& node, Rows rows) const {
    const std::size_t children = node.children.size();
    std::vector<std::size_t> at(children + 2, 0);
    std::vector<std::int32_t> place(rows.size());
    const auto a = static_cast<std::size_t>(node.attribute), values = cases_.values.size();
    const auto none = static_cast<std::int32_t>(children);
    if (is_numeric(a)) {
      const std::span<const double> numbers = cases_.numbers.subspan((a - values) * cases_.rows, cases_.rows);
      for (std::size_t i = 0; i < rows.size(); ++i) place[i] = numbers[rows[i]] <= node.threshold ? 0 : 1;
    } else {
      const std::span<const std::int32_t> codes = cases_.codes.subspan(a * cases_.rows, cases_.rows);
      const auto many = static_cast<std::size_t>(cases_.values[a]);
      if (many <= std::max<std::size_t>(64, 4 * rows.size())) {
        std::vector<std::int32_t> branch(many, none);
        for (const Seen& seen : node.seen) branch[seen.value] = seen.branch;
        for (std::size_t i = 0; i < rows.size(); ++i) place[i] = branch[codes[rows[i]]];
      } else {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const auto seen = std::ranges::lower_bound(node.seen, codes[rows[i]], {}, &Seen::value);
          place[i] = seen != node.seen.end() && seen->value == codes[rows[i]] ? seen->branch : none;
        }
      }
    }
    for (const std::int32_t child : place) ++at[child + 1];
    for (std::size_t c = 0; c <= children; ++c) at[c + 1] += at[c];
    std::vector<Rows> parts(children);
    for (std::size_t c = 0; c < children; ++c) parts[c] = rows.subspan(at[c], at[c + 1] - at[c]);
    const std::vector<std::int32_t> old(rows.begin(), rows.end());
    for (std::size_t i = 0; i < old.size(); ++i) rows[at[place[i]]++] = old[i];
    return parts;
  }

  static void make_leaf(Node& node) {
    node.attribute = -1;
    node.threshold = 0.0;
    node.seen.clear();
    node.children.clear();
  }

  static double training_errors(const Node& node) {
    if (node.children.empty()) return node.errors;
    double sum = 0.0;
    for (const auto& child : node.children) sum += training_errors(*child);
    return sum;
  }

  // After the children are done: collapse, then prune. Every subtree was pruned with its own cases before.
  void finish(Node& node, Rows rows, Tally& tally) const {
    if (training_errors(node) >= node.errors - 1e-9) {
      make_leaf(node);
      return;
    }
    if (growth_.confidence >= 1.0) return;
    decide(node, rows, tally);
  }

  double leaf_estimate(double cases, double errors) const {
    return cases <= 0.0 ? 0.0 : errors + added_errors_by(cases, errors, growth_.confidence, deviate_);
  }

  // Estimated errors of a subtree whose counts are those of its cases; cases of unseen values are a leaf of their own.
  double estimate(const Node& node) const {
    if (node.children.empty()) return leaf_estimate(node.cases, node.errors);
    double sum = 0.0;
    std::vector<Count> lost = node.counts;
    double inside = 0.0;
    for (const auto& child : node.children) {
      sum += estimate(*child);
      inside += child->cases;
    }
    if (inside < node.cases - 1e-9) sum += lost_estimate(node, lost);
    return sum;
  }

  double lost_estimate(const Node& node, std::vector<Count>& lost) const {
    for (const auto& child : node.children)
      for (const Count& count : child->counts)
        std::ranges::lower_bound(lost, count.label, {}, &Count::label)->weight -= count.weight;
    double cases = 0.0, right = 0.0;
    for (const Count& count : lost) {
      cases += count.weight;
      if (count.label == node.label) right = count.weight;
    }
    return leaf_estimate(cases, cases - right);
  }

  // Estimated errors of a subtree on other cases, the tree left as it is.
  double estimate_on(const Node& node, Rows rows, Tally& tally) const {
    if (rows.empty()) return 0.0;
    if (node.children.empty()) {
      Node leaf;
      count(leaf, rows, tally);
      return leaf_estimate(leaf.cases, leaf.errors);
    }
    std::vector<Rows> parts = partition(node, rows);
    double sum = 0.0;
    std::size_t inside = 0;
    for (std::size_t c = 0; c < parts.size(); ++c) {
      sum += estimate_on(*node.children[c], parts[c], tally);
      inside += parts[c].size();
    }
    if (inside < rows.size()) {
      Node whole, lost;
      count(whole, rows, tally);
      count(lost, rows.subspan(inside), tally);
      double right = 0.0;
      for (const Count& count : lost.counts)
        if (count.label == whole.label) right = count.weight;
      sum += leaf_estimate(lost.cases, lost.cases - right);
    }
    return sum;
  }

  // Gives a subtree other cases and prunes it by them. A child without cases keeps what it knew.
  void retake(Node& node, Rows rows, Tally& tally) const {
    if (rows.empty()) {
      const std::int32_t label = node.label;
      make_leaf(node);
      node.counts.clear();
      node.cases = node.errors = 0.0;
      node.label = label;
      return;
    }
    count(node, rows, tally);
    if (node.children.empty()) return;
    std::vector<Rows> parts = partition(node, rows);
    for (std::size_t c = 0; c < parts.size(); ++c) retake(*node.children[c], parts[c], tally);
    decide(node, rows, tally);
  }

  void decide(Node& node, Rows rows, Tally& tally) const {
    const double as_leaf = leaf_estimate(node.cases, node.errors);
    const double as_tree = estimate(node);
    double as_branch = std::numeric_limits<double>::infinity();
    std::size_t largest = 0;
    if (growth_.raising) {
      for (std::size_t c = 1; c < node.children.size(); ++c)
        if (node.children[c]->cases > node.children[largest]->cases + 1e-9) largest = c;
      std::vector<std::int32_t> copy(rows.begin(), rows.end());
      as_branch = estimate_on(*node.children[largest], copy, tally);
    }
    if (as_leaf <= as_tree + kSlack && as_leaf <= as_branch + kSlack) {
      make_leaf(node);
    } else if (as_branch <= as_tree + kSlack) {
      std::unique_ptr<Node> branch = std::move(node.children[largest]);
      node = std::move(*branch);
      retake(node, rows, tally);
    }
  }

  const Cases& cases_;
  const Growth& growth_;
  std::size_t attributes_;
  double deviate_;
  double weight_ = 0.0;
  std::vector<std::int32_t> order_;
};

// Rows with equal attributes and class become one, weights added, in the order of first occurrence.
void join_duplicates(const Cases& cases, std::vector<std::int64_t>& rows, std::vector<double>& weights) {
  const std::size_t attributes = cases.values.size();
  const std::size_t slots = std::bit_ceil(cases.rows * 2 + 1);
  std::vector<std::int64_t> table(slots, -1);  // places in rows
  const auto hash = [&](std::size_t row) {
    std::uint64_t h = 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(cases.labels[row]);
    const auto mix = [&](std::uint64_t bits) {
      h = (h ^ bits) * 0xBF58476D1CE4E5B9ull;
      h ^= h >> 29;
    };
    for (std::size_t a = 0; a < attributes; ++a) mix(static_cast<std::uint64_t>(cases.codes[a * cases.rows + row]));
    for (std::size_t d = 0; d < cases.numeric; ++d)
      mix(std::bit_cast<std::uint64_t>(cases.numbers[d * cases.rows + row] + 0.0));
    return h;
  };
  const auto equal = [&](std::size_t x, std::size_t y) {
    if (cases.labels[x] != cases.labels[y]) return false;
    for (std::size_t a = 0; a < attributes; ++a)
      if (cases.codes[a * cases.rows + x] != cases.codes[a * cases.rows + y]) return false;
    for (std::size_t d = 0; d < cases.numeric; ++d)
      if (cases.numbers[d * cases.rows + x] != cases.numbers[d * cases.rows + y]) return false;
    return true;
  };
  for (std::size_t row = 0; row < cases.rows; ++row) {
    std::size_t slot = hash(row) & (slots - 1);
    while (table[slot] >= 0 && !equal(static_cast<std::size_t>(rows[table[slot]]), row))
      slot = (slot + 1) & (slots - 1);
    if (table[slot] < 0) {
      table[slot] = static_cast<std::int64_t>(rows.size());
      rows.push_back(static_cast<std::int64_t>(row));
      weights.push_back(cases.weights[row]);
    } else {
      weights[table[slot]] += cases.weights[row];
    }
  }
}

// The cases without duplicates, with memory of their own.
struct Distinct {
  std::vector<std::int32_t> codes, labels;
  std::vector<double> numbers, weights;
  Cases cases;

  explicit Distinct(const Cases& all) : cases(all) {
    std::vector<std::int64_t> rows;
    join_duplicates(all, rows, weights);
    const auto gather = [&](const auto& from, std::size_t columns, auto& to) {
      to.reserve(columns * rows.size());
      for (std::size_t column = 0; column < columns; ++column)
        for (const std::int64_t row : rows) to.push_back(from[column * all.rows + static_cast<std::size_t>(row)]);
    };
    gather(all.codes, all.values.size(), codes);
    gather(all.numbers, all.numeric, numbers);
    gather(all.labels, 1, labels);
    cases = {rows.size(), all.classes, all.values, codes, all.numeric, numbers, labels, weights};
  }
};

}  // namespace

double normal_deviate(double confidence) {
  constexpr std::array<double, 9> value = {0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00};
  constexpr std::array<double, 9> deviate = {4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00};
  std::size_t i = 1;
  while (i + 1 < value.size() && confidence > value[i]) ++i;
  return deviate[i - 1] + (deviate[i] - deviate[i - 1]) * (confidence - value[i - 1]) / (value[i] - value[i - 1]);
}

double added_errors(double n, double e, double confidence) {
  return added_errors_by(n, e, confidence, normal_deviate(confidence));
}

std::vector<Worth> split_worths(const Cases& cases, const Growth& growth, std::size_t threads) {
  return Grower(cases, growth).worths(threads);
}

Flat grow_tree(const Cases& all, const Growth& growth, std::size_t threads) {
  const Distinct distinct(all);
  const std::unique_ptr<Node> root = Grower(distinct.cases, growth).grow(threads);
  Flat flat;
  std::vector<const Node*> queue{root.get()};
  flat.seen_begin.push_back(0);
  flat.count_begin.push_back(0);
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const Node& node = *queue[at];
    flat.attribute.push_back(node.attribute);
    flat.threshold.push_back(node.threshold);
    flat.label.push_back(node.label);
    flat.first.push_back(node.children.empty() ? 0 : static_cast<std::int32_t>(queue.size()));
    flat.children.push_back(static_cast<std::int32_t>(node.children.size()));
    for (const Seen& seen : node.seen) {
      flat.seen.push_back(seen.value);
      flat.branch.push_back(seen.branch);
    }
    for (const Count& count : node.counts) {
      flat.count_class.push_back(count.label);
      flat.count.push_back(count.weight);
    }
    flat.seen_begin.push_back(static_cast<std::int64_t>(flat.seen.size()));
    flat.count_begin.push_back(static_cast<std::int64_t>(flat.count.size()));
    for (const auto& child : node.children) queue.push_back(child.get());
  }
  return flat;
}

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
