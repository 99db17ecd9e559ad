#include "trees/categorical.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "trees/class_counts.h"
#include "trees/distinct_cases.h"
#include "trees/splits.h"

namespace textmill::trees {
namespace {

constexpr double kSlack = 0.1;  // errors by which pruning may raise the estimate, as in C4.5

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
        splits_(cases, growth),
        deviate_(growth.confidence < 1.0 ? normal_deviate(growth.confidence) : 0.0),
        order_(cases.rows) {
    std::iota(order_.begin(), order_.end(), 0);
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
    return splits_.worths(root.counts, order_, threads, tally);
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
    std::vector<Worth> worths = splits_.worths(node.counts, rows, threads, tally);
    const std::int32_t best = splits_.choose(worths);
    if (best < 0) return false;
    node.attribute = best;
    node.threshold = worths[best].threshold;
    node.seen = std::move(worths[best].seen);
    std::int32_t branches = 2;
    for (const Seen& seen : node.seen) branches = std::max(branches, seen.branch + 1);
    for (std::int32_t b = 0; b < branches; ++b) node.children.push_back(std::make_unique<Node>());
    return true;
  }

  // Rows of the children side by side, in their old order; those whose value was not seen at the end.
  std::vector<Rows> partition(const Node& node, Rows rows) const {
    const std::size_t children = node.children.size();
    std::vector<std::size_t> at(children + 2, 0);
    std::vector<std::int32_t> place(rows.size());
    const auto a = static_cast<std::size_t>(node.attribute), values = cases_.values.size();
    const auto none = static_cast<std::int32_t>(children);
    if (splits_.is_numeric(a)) {
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
  Splits splits_;
  double deviate_;
  std::vector<std::int32_t> order_;
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
  const DistinctCases distinct(all);
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

}  // namespace textmill::trees
