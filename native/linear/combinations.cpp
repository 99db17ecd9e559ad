#include "linear/combinations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"

namespace textmill::linear {
namespace {

using Rows = base::Csr<std::int64_t, double>;

constexpr double kSlack = 1e-12;  // of masses that are taken away again, relative to the whole

struct Masses {
  std::vector<double> positive, negative;  // [m], the second <= 0
  std::vector<double> scale;               // [m] M_j
  double growth = 1.0;                     // largest product of the d - 1 other scales, at least 1
};

void add_mass(Masses& masses, std::size_t j, double value, double residual, bool negative, double sign) {
  const double moved = residual * value;
  if (negative) {
    masses.positive[j] += sign * std::abs(moved);
    masses.negative[j] -= sign * std::abs(moved);
  } else {
    (moved > 0 ? masses.positive : masses.negative)[j] += sign * moved;
  }
}

Masses masses_of(const Rows& x, const Candidates& candidates) {
  Masses masses{std::vector<double>(x.columns), std::vector<double>(x.columns), std::vector<double>(x.columns), 1.0};
  for (std::size_t i = 0; i < x.rows; ++i)
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) {
      const std::size_t j = x.indices[e];
      masses.scale[j] = std::max(masses.scale[j], std::abs(x.values[e]));
      add_mass(masses, j, x.values[e], candidates.residual[i], candidates.negative, 1.0);
    }
  const double highest = x.columns == 0 ? 1.0 : *std::max_element(masses.scale.begin(), masses.scale.end());
  if (highest > 1.0) masses.growth = std::pow(highest, static_cast<double>(candidates.degree - 1));
  return masses;
}

// Rows without the features that no violating combination can have, and zeros.
struct Filtered {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> indices;
  std::vector<double> values;
};

Filtered filtered(const Rows& x, const Masses& masses, double threshold) {
  std::vector<char> kept(x.columns);
  for (std::size_t j = 0; j < x.columns; ++j)
    kept[j] = std::max(masses.positive[j], -masses.negative[j]) * masses.growth * (1 + kSlack) > threshold;
  Filtered out;
  out.offsets.push_back(0);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e)
      if (kept[x.indices[e]] && x.values[e] != 0.0) {
        out.indices.push_back(x.indices[e]);
        out.values.push_back(x.values[e]);
      }
    out.offsets.push_back(static_cast<std::int64_t>(out.indices.size()));
  }
  return out;
}

struct Hash {
  std::size_t operator()(std::uint64_t key) const {
    key *= 0x9E3779B97F4A7C15u;
    return key ^ (key >> 32);
  }
};

// One row of Algorithm 2: every combination of its features.
class Scan {
 public:
  Scan(std::size_t columns, const Candidates& candidates, Masses& masses, Violators& out)
      : base_(columns + 1), candidates_(candidates), masses_(masses), out_(out) {}

  void row(std::span<const std::int32_t> features, std::span<const double> values, double residual) {
    features_ = features;
    values_ = values;
    residual_ = residual;
    extend(0, 0, 0, 1.0, 1.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
  }

  void finish() {
    std::vector<std::uint64_t> keys;
    for (const auto& [key, sum] : sums_)
      if (std::abs(sum) > candidates_.threshold) keys.push_back(key);
    const auto unpacked = [&](std::uint64_t key) {  // the first feature was packed first: the highest digit
      std::vector<std::int32_t> features;
      for (; key != 0; key /= base_) features.push_back(static_cast<std::int32_t>(key % base_) - 1);
      std::reverse(features.begin(), features.end());
      return features;
    };
    std::vector<std::pair<std::vector<std::int32_t>, double>> found;
    for (const std::uint64_t key : keys) found.emplace_back(unpacked(key), sums_.at(key));
    std::sort(found.begin(), found.end());
    for (auto& [features, gradient] : found) {
      features.resize(candidates_.degree, -1);
      out_.features.insert(out_.features.end(), features.begin(), features.end());
      out_.gradient.push_back(gradient);
    }
    out_.stored = sums_.size();
  }

 private:
  void extend(std::size_t from, std::size_t size, std::uint64_t key, double value, double scale, double upper,
              double lower) {
    for (std::size_t a = from; a < features_.size(); ++a) {
      const std::size_t j = features_[a];
      const double m = masses_.scale[j], all = scale * m, phi = value * values_[a];
      const double high = std::min(upper, masses_.positive[j] / m), low = std::max(lower, masses_.negative[j] / m);
      const std::uint64_t packed = key * base_ + j + 1;
      if (size >= 1) {
        ++out_.visited;
        const auto at = sums_.find(packed);
        const double sum = at == sums_.end() ? 0.0 : at->second, slack = kSlack * (1 + std::abs(sum));
        if (sum + all * high + slack > candidates_.threshold || sum + all * low - slack < -candidates_.threshold) {
          if (at == sums_.end()) {
            sums_.emplace(packed, residual_ * phi);
          } else {
            at->second += residual_ * phi;
          }
        }
      }
      if (size + 1 < candidates_.degree) extend(a + 1, size + 1, packed, phi, all, high, low);
    }
  }

  std::uint64_t base_;
  const Candidates& candidates_;
  Masses& masses_;
  Violators& out_;
  std::unordered_map<std::uint64_t, double, Hash> sums_;
  std::span<const std::int32_t> features_;
  std::span<const double> values_;
  double residual_ = 0.0;
};

// Rows over the features that passed the filter, numbered anew in the same order: sums by feature then lie together.
struct Packed {
  Filtered rows;
  std::vector<std::int32_t> feature;  // [F] number of each in x
  bool unit = true;                   // every value is 1
};

Packed packed(Filtered&& rows, std::size_t columns) {
  Packed out{std::move(rows), {}, true};
  std::vector<std::int32_t> number(columns, -1);
  for (const std::int32_t j : out.rows.indices) number[j] = 0;
  for (std::size_t j = 0; j < columns; ++j)
    if (number[j] == 0) {
      number[j] = static_cast<std::int32_t>(out.feature.size());
      out.feature.push_back(static_cast<std::int32_t>(j));
    }
  for (std::int32_t& j : out.rows.indices) j = number[j];
  for (const double value : out.rows.values) out.unit &= value == 1.0;
  return out;
}

struct Member {
  std::int32_t row;
  std::int32_t next;  // first entry of the row behind the last feature, counted from the row's first
  double value;       // r phi
};

// Depth first below one feature. Unit: values are all 1. Mixed: they may be below 0.
template <bool Unit, bool Mixed>
class Descent {
 public:
  Descent(const Packed& packed, const Candidates& candidates, double growth)
      : packed_(packed),
        candidates_(candidates),
        growth_(growth),
        sums_(packed.feature.size()),
        next_(packed.feature.size(), -1),
        levels_(candidates.degree) {}

  // path holds numbers of x; members the rows that have all of it.
  void below(std::vector<std::int32_t>& path, std::span<const Member> members, Violators& out) {
    const Filtered& rows = packed_.rows;
    Level& level = levels_[path.size() - 1];  // kept from call to call: most nodes are small
    level.seen.clear();
    level.open.clear();
    for (const Member& member : members) {
      const std::int32_t* j = rows.indices.data() + rows.offsets[member.row];
      const double* value = rows.values.data() + rows.offsets[member.row];
      const auto end = static_cast<std::int32_t>(rows.offsets[member.row + 1] - rows.offsets[member.row]);
      const std::size_t side = member.value > 0 ? 0 : 1;
      for (std::int32_t e = member.next; e < end; ++e) {
        const double part = Unit ? member.value : member.value * value[e];
        Sum& sum = sums_[j[e]];
        if (sum.count++ == 0) level.seen.push_back(j[e]);
        sum.part[Mixed ? (part > 0 ? 0 : 1) : side] += part;
      }
    }
    const bool deeper = path.size() + 1 < candidates_.degree;
    out.visited += level.seen.size();
    std::int64_t size = 0;
    for (const std::int32_t j : level.seen) {
      const Sum sum = sums_[j];
      sums_[j] = Sum{};
      const double gradient = sum.part[0] + sum.part[1];
      if (std::abs(gradient) > candidates_.threshold) {
        ++out.stored;
        out.features.insert(out.features.end(), path.begin(), path.end());
        out.features.push_back(packed_.feature[j]);
        out.features.resize(out.features.size() + candidates_.degree - path.size() - 1, -1);
        out.gradient.push_back(gradient);
      }
      const double bound = Mixed ? sum.part[0] - sum.part[1] : std::max(sum.part[0], -sum.part[1]);
      if (deeper && bound * growth_ * (1 + kSlack) > candidates_.threshold) {
        level.open.push_back({j, size});
        next_[j] = size;
        size += sum.count;
      }
    }
    if (level.open.empty()) return;
    level.members.resize(size);
    for (const Member& member : members) {
      const auto begin = rows.offsets[member.row];
      const auto end = static_cast<std::int32_t>(rows.offsets[member.row + 1] - begin);
      for (std::int32_t e = member.next; e < end; ++e)
        if (std::int64_t& at = next_[rows.indices[begin + e]]; at >= 0)
          level.members[at++] = {member.row, e + 1, Unit ? member.value : member.value * rows.values[begin + e]};
    }
    for (const Open& open : level.open) next_[open.feature] = -1;
    for (std::size_t k = 0; k < level.open.size(); ++k) {
      const std::int64_t end = k + 1 < level.open.size() ? level.open[k + 1].begin : size;
      path.push_back(packed_.feature[level.open[k].feature]);
      below(path, std::span(level.members).subspan(level.open[k].begin, end - level.open[k].begin), out);
      path.pop_back();
    }
  }

 private:
  struct Sum {
    std::array<double, 2> part{};  // of positive and of negative parts
    std::int64_t count = 0;        // rows
  };
  struct Open {  // a feature whose subtree may hold more
    std::int32_t feature;
    std::int64_t begin;  // of its members
  };
  struct Level {
    std::vector<std::int32_t> seen;
    std::vector<Open> open;
    std::vector<Member> members;
  };

  const Packed& packed_;
  const Candidates& candidates_;
  double growth_;
  std::vector<Sum> sums_;           // zero between nodes
  std::vector<std::int64_t> next_;  // where the next member of an open feature goes, else -1
  std::vector<Level> levels_;       // [degree], one for each length of the path
};

// Threads share the first features; what is found is sorted afterwards, so it does not matter who found it.
template <bool Unit, bool Mixed>
std::vector<Violators> descend(const Packed& packed, const Candidates& candidates, double growth,
                               std::span<const std::size_t> first, std::span<const Member> members,
                               std::size_t threads) {
  const std::size_t features = packed.feature.size();
  const std::size_t lanes = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(features, 1));
  std::vector<Violators> found(lanes);
  base::parallel_for(lanes, threads, [&](std::size_t lane) {
    Descent<Unit, Mixed> descent(packed, candidates, growth);
    std::vector<std::int32_t> path;
    for (std::size_t j = lane; j < features; j += lanes) {
      path.assign(1, packed.feature[j]);
      descent.below(path, members.subspan(first[j], first[j + 1] - first[j]), found[lane]);
    }
  });
  return found;
}

void sort_by_features(Violators& found, std::size_t degree) {
  std::vector<std::size_t> order(found.gradient.size());
  std::iota(order.begin(), order.end(), 0);
  const auto features = [&](std::size_t k) { return found.features.begin() + k * degree; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(features(a), features(a) + degree, features(b), features(b) + degree);
  });
  Violators sorted;
  for (const std::size_t k : order) {
    sorted.features.insert(sorted.features.end(), features(k), features(k) + degree);
    sorted.gradient.push_back(found.gradient[k]);
  }
  found.features = std::move(sorted.features);
  found.gradient = std::move(sorted.gradient);
}

}  // namespace

Violators search_examples(const Rows& x, const Candidates& candidates) {
  Violators out;
  Masses masses = masses_of(x, candidates);
  const Filtered rows = filtered(x, masses, candidates.threshold);
  std::vector<std::size_t> order(x.rows);
  std::iota(order.begin(), order.end(), 0);
  const std::span<const double> residual = candidates.residual;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(residual[a]) > std::abs(residual[b]); });
  Scan scan(x.columns, candidates, masses, out);
  for (const std::size_t i : order) {
    const auto begin = static_cast<std::size_t>(rows.offsets[i]), end = static_cast<std::size_t>(rows.offsets[i + 1]);
    scan.row(std::span(rows.indices).subspan(begin, end - begin), std::span(rows.values).subspan(begin, end - begin),
             residual[i]);
    for (std::size_t e = begin; e < end; ++e) {
      const std::size_t j = rows.indices[e];
      add_mass(masses, j, rows.values[e], residual[i], candidates.negative, -1.0);
      masses.positive[j] = std::max(masses.positive[j], 0.0);
      masses.negative[j] = std::min(masses.negative[j], 0.0);
    }
  }
  scan.finish();
  return out;
}

Violators search_vertical(const Rows& x, const Candidates& candidates, std::size_t threads) {
  const Masses masses = masses_of(x, candidates);
  const Packed rows = packed(filtered(x, masses, candidates.threshold), x.columns);
  const std::size_t features = rows.feature.size();
  std::vector<std::size_t> first(features + 1, 0);  // where the members of each feature begin
  for (const std::int32_t j : rows.rows.indices) ++first[j + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Member> members(rows.rows.indices.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < x.rows; ++i)
    for (auto e = rows.rows.offsets[i]; e < rows.rows.offsets[i + 1]; ++e)
      members[next[rows.rows.indices[e]]++] = {static_cast<std::int32_t>(i),
                                               static_cast<std::int32_t>(e - rows.rows.offsets[i] + 1),
                                               candidates.residual[i] * rows.rows.values[e]};
  const auto run = [&]<bool Unit, bool Mixed>() {
    return descend<Unit, Mixed>(rows, candidates, masses.growth, first, members, threads);
  };
  const std::vector<Violators> found = candidates.negative ? run.template operator()<false, true>()
                                       : rows.unit         ? run.template operator()<true, false>()
                                                           : run.template operator()<false, false>();
  Violators out;
  for (const Violators& part : found) {
    out.features.insert(out.features.end(), part.features.begin(), part.features.end());
    out.gradient.insert(out.gradient.end(), part.gradient.begin(), part.gradient.end());
    out.visited += part.visited;
    out.stored += part.stored;
  }
  sort_by_features(out, candidates.degree);
  return out;
}

}  // namespace textmill::linear
