#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/message.h"
#include "base/parallel.h"
#include "linear/combinations.h"

namespace textmill::linear {
namespace {

constexpr double kSlack = 1e-12;
constexpr std::size_t kColumnBlock = 1024;

// Rows over the features that no bound rules out, numbered anew in the same order.
struct Kept {
  std::vector<std::int32_t> feature;   // [F] number of each in x
  std::vector<std::uint32_t> offsets;  // [n + 1]
  std::vector<std::int32_t> indices;   // rising in each row
  std::vector<double> values;          // none where all are 1
  double growth = 1.0;                 // largest product of the d - 1 other values, at least 1
};

// For every feature the larger of its one-sided sums of r x, or where values may be below 0 the sum of |r x|.
std::vector<double> masses_of(const Design& x, std::size_t features, const Candidates& candidates,
                              std::size_t threads) {
  std::vector<double> masses(features);
  const double* r = candidates.residual.data();
  base::parallel_blocks(features, kColumnBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const std::int32_t* row = x.row(j);
      const double* value = x.value(j);
      double above = 0.0, all = 0.0;
      for (std::size_t e = 0; e < x.entries(j); ++e) {
        const double moved = value == nullptr ? r[row[e]] : r[row[e]] * value[e];
        above += std::max(moved, 0.0);
        all += std::abs(moved);
      }
      masses[j] = candidates.negative ? all : std::max(above, all - above);
    }
  });
  return masses;
}

Kept kept_rows(const Design& x, std::size_t features, const Candidates& candidates, std::size_t threads) {
  Kept out;
  double highest = 0.0;
  if (!x.binary())
    for (std::size_t j = 0; j < features; ++j)
      for (std::size_t e = 0; e < x.entries(j); ++e) highest = std::max(highest, std::abs(x.value(j)[e]));
  if (highest > 1.0) out.growth = std::pow(highest, static_cast<double>(candidates.degree - 1));
  const std::vector<double> masses = masses_of(x, features, candidates, threads);
  std::size_t entries = 0;
  out.offsets.assign(x.rows() + 1, 0);
  for (std::size_t j = 0; j < features; ++j) {
    if (!(masses[j] * out.growth * (1 + kSlack) > candidates.threshold)) continue;
    out.feature.push_back(static_cast<std::int32_t>(j));
    for (std::size_t e = 0; e < x.entries(j); ++e) ++out.offsets[x.row(j)[e]];
    entries += x.entries(j);
  }
  if (entries > std::numeric_limits<std::uint32_t>::max())
    base::refuse_with({"a search over ", entries, " entries is too large; raise the penalty, or leave out features"});
  std::exclusive_scan(out.offsets.begin(), out.offsets.end(), out.offsets.begin(), std::uint32_t{0});
  out.indices.resize(entries);
  if (!x.binary()) out.values.resize(entries);
  for (std::size_t k = 0; k < out.feature.size(); ++k) {
    const std::size_t j = out.feature[k];
    for (std::size_t e = 0; e < x.entries(j); ++e) {
      const std::uint32_t at = out.offsets[x.row(j)[e]]++;
      out.indices[at] = static_cast<std::int32_t>(k);
      if (!x.binary()) out.values[at] = x.value(j)[e];
    }
  }
  std::copy_backward(out.offsets.begin(), out.offsets.end() - 1, out.offsets.end());  // each had moved to the next
  out.offsets[0] = 0;
  return out;
}

struct Member {
  std::int32_t row;
  double value;  // r phi
};

// Depth first below one feature, towards smaller ones: the entries of a row before the last feature are those that may
// join. Unit: values are all 1. Mixed: they may be below 0.
template <bool Unit, bool Mixed>
class Nodes {
 public:
  Nodes(const Design& x, const Kept& kept, const Candidates& candidates, Violators& out)
      : x_(x),
        kept_(kept),
        candidates_(candidates),
        out_(out),
        sums_(candidates.degree > 2 ? kept.feature.size() : 0),
        leaves_(kept.feature.size()),
        next_(candidates.degree > 2 ? kept.feature.size() : 0, -1),
        levels_(candidates.degree - 1) {}

  void first(std::int32_t feature) {
    const std::size_t j = kept_.feature[feature];
    const std::int32_t* row = x_.row(j);
    const double* value = x_.value(j);
    const double* r = candidates_.residual.data();
    path_.assign(1, feature);
    below(x_.entries(j), [&](std::size_t e) { return Member{row[e], Unit ? r[row[e]] : r[row[e]] * value[e]}; });
  }

 private:
  struct Sum {
    std::array<double, 2> part{};  // of positive and of negative parts
    std::int64_t count = 0;        // rows
  };
  struct Leaf {
    double sum = 0.0;
    bool there = false;
  };
  struct Open {  // a feature whose subtree may hold more
    std::int32_t feature;
    std::int64_t begin;  // of its members
  };
  struct Listed {
    const Member* from;
    Member operator()(std::size_t m) const { return from[m]; }
  };
  struct Level {  // kept from node to node: most are small
    std::vector<std::int32_t> seen;
    std::vector<Open> open;
    std::vector<Member> members;
  };

  // Visits the entries before the last feature of the path in the rows that have all of it.
  template <class Members, class Visit>
  void entries_of(std::size_t size, Members member, Visit visit) const {
    const std::int32_t last = path_.back();
    for (std::size_t m = 0; m < size; ++m) {
      const Member one = member(m);
      for (std::size_t e = kept_.offsets[one.row]; kept_.indices[e] < last; ++e)
        visit(one.row, kept_.indices[e], Unit ? one.value : one.value * kept_.values[e]);
    }
  }

  template <class Members>
  void below(std::size_t size, Members member) {
    Level& level = levels_[path_.size() - 1];
    level.seen.clear();
    level.open.clear();
    const bool deeper = path_.size() + 1 < candidates_.degree;
    if (!deeper) return leaves(level.seen, size, member);
    entries_of(size, member, [&](std::int32_t, std::int32_t j, double part) {
      Sum& sum = sums_[j];
      if (sum.count++ == 0) level.seen.push_back(j);
      sum.part[part > 0 ? 0 : 1] += part;
    });
    out_.visited += level.seen.size();
    std::int64_t total = 0;
    for (const std::int32_t j : level.seen) {
      const Sum sum = sums_[j];
      sums_[j] = Sum{};
      const double gradient = sum.part[0] + sum.part[1];
      if (std::abs(gradient) > candidates_.threshold) found(j, gradient);
      const double bound = Mixed ? sum.part[0] - sum.part[1] : std::max(sum.part[0], -sum.part[1]);
      if (bound * kept_.growth * (1 + kSlack) > candidates_.threshold) {
        level.open.push_back({j, total});
        next_[j] = total;
        total += sum.count;
      }
    }
    if (level.open.empty()) return;
    level.members.resize(total);
    entries_of(size, member, [&](std::int32_t row, std::int32_t j, double part) {
      if (next_[j] >= 0) level.members[next_[j]++] = {row, part};
    });
    for (const Open& open : level.open) next_[open.feature] = -1;
    for (std::size_t k = 0; k < level.open.size(); ++k) {
      const Member* from = level.members.data() + level.open[k].begin;
      const std::int64_t end = k + 1 < level.open.size() ? level.open[k + 1].begin : total;
      path_.push_back(level.open[k].feature);
      below(end - level.open[k].begin, Listed{from});
      path_.pop_back();
    }
  }

  // The same where nothing is below: the sums need no sides.
  template <class Members>
  void leaves(std::vector<std::int32_t>& seen, std::size_t size, Members member) {
    entries_of(size, member, [&](std::int32_t, std::int32_t j, double part) {
      Leaf& leaf = leaves_[j];
      if (!leaf.there) seen.push_back(j);
      leaf.there = true;
      leaf.sum += part;
    });
    out_.visited += seen.size();
    for (const std::int32_t j : seen) {
      if (std::abs(leaves_[j].sum) > candidates_.threshold) found(j, leaves_[j].sum);
      leaves_[j] = Leaf{};
    }
  }

  void found(std::int32_t last, double gradient) {
    ++out_.stored;
    out_.features.push_back(kept_.feature[last]);
    for (auto k = path_.rbegin(); k != path_.rend(); ++k) out_.features.push_back(kept_.feature[*k]);
    out_.features.resize(out_.features.size() + candidates_.degree - path_.size() - 1, -1);
    out_.gradient.push_back(gradient);
  }

  const Design& x_;
  const Kept& kept_;
  const Candidates& candidates_;
  Violators& out_;
  std::vector<std::int32_t> path_;  // falling
  std::vector<Sum> sums_;           // [F], zero between nodes
  std::vector<Leaf> leaves_;        // [F], likewise
  std::vector<std::int64_t> next_;  // [F] where the next member of an open feature goes, else -1
  std::vector<Level> levels_;       // [degree - 1], one for each length of the path
};

// What the threads have found, in the order of features: it does not matter who found it.
Violators sorted(const std::vector<Violators>& parts, std::size_t degree) {
  Violators all, out;
  for (const Violators& part : parts) {
    all.features.insert(all.features.end(), part.features.begin(), part.features.end());
    all.gradient.insert(all.gradient.end(), part.gradient.begin(), part.gradient.end());
    out.visited += part.visited;
    out.stored += part.stored;
  }
  std::vector<std::uint32_t> order(all.gradient.size());
  std::iota(order.begin(), order.end(), 0);
  const auto features = [&](std::size_t k) { return all.features.begin() + k * degree; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(features(a), features(a) + degree, features(b), features(b) + degree);
  });
  out.features.reserve(all.features.size());
  out.gradient.reserve(order.size());
  for (const std::size_t k : order) {
    out.features.insert(out.features.end(), features(k), features(k) + degree);
    out.gradient.push_back(all.gradient[k]);
  }
  return out;
}

}  // namespace

Violators search_vertical(const Design& x, std::size_t features, const Candidates& candidates, std::size_t threads) {
  const Kept kept = kept_rows(x, features, candidates, threads);
  const std::size_t lanes = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(kept.feature.size(), 1));
  std::vector<Violators> found(lanes);
  std::atomic<std::size_t> next = 0;  // subtrees differ in size: who is free takes the next
  const auto run = [&]<bool Unit, bool Mixed>() {
    base::parallel_for(lanes, threads, [&](std::size_t lane) {
      Nodes<Unit, Mixed> nodes(x, kept, candidates, found[lane]);
      for (std::size_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < kept.feature.size();)
        nodes.first(static_cast<std::int32_t>(k));
    });
  };
  if (x.binary())
    run.template operator()<true, false>();
  else if (candidates.negative)
    run.template operator()<false, true>();
  else
    run.template operator()<false, false>();
  return sorted(found, candidates.degree);
}

}  // namespace textmill::linear
