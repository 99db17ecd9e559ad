#include "trees/grouping.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace textmill::trees {
namespace {

constexpr double kBetter = 1e-5;     // what a join of two groups must add to the ratio
constexpr std::size_t kGroups = 64;  // pairs of more groups than twice this are not all looked at, over and over

// K(a + b) - K(a) - K(b), summed over the classes of both
double shared_classes(const std::vector<Count>& a, const std::vector<Count>& b) {
  double sum = 0.0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].label < b[j].label) {
      ++i;
    } else if (b[j].label < a[i].label) {
      ++j;
    } else {
      sum += x_log_x(a[i].weight + b[j].weight) - x_log_x(a[i].weight) - x_log_x(b[j].weight);
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

}  // namespace

Grouping::Grouping(std::vector<Group>&& groups, double weight, double info, double min_cases)
    : groups_(std::move(groups)), weight_(weight), info_(info), min_cases_(min_cases) {
  measure();
}

std::size_t Grouping::reasonable() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(groups_, [&](const Group& group) { return group.weight >= min_cases_ - 1e-9; }));
}

void Grouping::join_pure() {
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

void Grouping::join_rare() {
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

void Grouping::climb() {
  const double half = gain() / 2.0;
  std::size_t n = groups_.size();
  std::vector<double> inner(n * n, 0.0), outer(n * n, 0.0);
  const auto pair = [&](std::size_t a, std::size_t b) {
    inner[a * n + b] = inner[b * n + a] = shared_classes(groups_[a].counts, groups_[b].counts);
    outer[a * n + b] = outer[b * n + a] =
        x_log_x(groups_[a].weight + groups_[b].weight) - x_log_x(groups_[a].weight) - x_log_x(groups_[b].weight);
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

double Grouping::ratio_of(double after, double outer) const {
  const double split = (x_log_x(weight_) - outer) / weight_;
  return split > 1e-10 ? std::max(info_ - after / weight_, 0.0) / split : 0.0;
}

void Grouping::measure() {
  after_ = outer_ = 0.0;
  for (const Group& group : groups_) {
    outer_ += x_log_x(group.weight);
    after_ += x_log_x(group.weight) - group.inner;
  }
}

}  // namespace textmill::trees
