#include "linear/combinations.h"

#include <algorithm>
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

// Depth first below one feature.
class Descent {
 public:
  Descent(const Filtered& rows, std::size_t columns, const Candidates& candidates, double growth)
      : rows_(rows),
        candidates_(candidates),
        growth_(growth),
        positive_(columns),
        negative_(columns),
        count_(columns) {}

  struct Member {
    std::int32_t row;
    std::int32_t next;  // first entry of the row behind the last feature, counted from the row's first
    double value;       // phi
  };

  void below(std::vector<std::int32_t>& path, const std::vector<Member>& members, Violators& out) {
    std::vector<std::int32_t> seen;
    for (const Member& member : members) {
      const double residual = candidates_.residual[member.row];
      for (auto e = rows_.offsets[member.row] + member.next; e < rows_.offsets[member.row + 1]; ++e) {
        const std::int32_t j = rows_.indices[e];
        const double part = residual * member.value * rows_.values[e];
        if (count_[j]++ == 0) seen.push_back(j);
        (part > 0 ? positive_ : negative_)[j] += part;
      }
    }
    std::sort(seen.begin(), seen.end());
    std::vector<std::pair<std::int32_t, std::size_t>> open;  // features whose subtree may hold more, and their rows
    for (const std::int32_t j : seen) {
      ++out.visited;
      const double gradient = positive_[j] + negative_[j];
      const double bound = candidates_.negative ? positive_[j] - negative_[j] : std::max(positive_[j], -negative_[j]);
      if (std::abs(gradient) > candidates_.threshold) {
        ++out.stored;
        out.features.insert(out.features.end(), path.begin(), path.end());
        out.features.push_back(j);
        out.features.resize(out.features.size() + candidates_.degree - path.size() - 1, -1);
        out.gradient.push_back(gradient);
      }
      if (path.size() + 1 < candidates_.degree && bound * growth_ * (1 + kSlack) > candidates_.threshold)
        open.emplace_back(j, count_[j]);
      positive_[j] = negative_[j] = 0.0;
      count_[j] = 0;
    }
    for (const auto& [j, size] : open) {
      std::vector<Member> inner;
      inner.reserve(size);
      for (const Member& member : members) {
        const auto begin = rows_.indices.begin() + rows_.offsets[member.row];
        const auto end = rows_.indices.begin() + rows_.offsets[member.row + 1];
        const auto at = std::lower_bound(begin + member.next, end, j);
        if (at == end || *at != j) continue;
        const auto place = static_cast<std::int32_t>(at - begin);
        inner.push_back({member.row, place + 1, member.value * rows_.values[rows_.offsets[member.row] + place]});
      }
      path.push_back(j);
      below(path, inner, out);
      path.pop_back();
    }
  }

 private:
  const Filtered& rows_;
  const Candidates& candidates_;
  double growth_;
  std::vector<double> positive_, negative_;
  std::vector<std::size_t> count_;
};

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
  const Filtered rows = filtered(x, masses, candidates.threshold);
  std::vector<std::vector<Descent::Member>> members(x.columns);
  for (std::size_t i = 0; i < x.rows; ++i)
    for (auto e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e)
      members[rows.indices[e]].push_back(
          {static_cast<std::int32_t>(i), static_cast<std::int32_t>(e - rows.offsets[i] + 1), rows.values[e]});
  std::vector<std::size_t> firsts;
  for (std::size_t j = 0; j < x.columns; ++j)
    if (!members[j].empty()) firsts.push_back(j);
  std::vector<Violators> found(firsts.size());
  const std::size_t lanes = std::min(std::max<std::size_t>(threads, 1), std::max<std::size_t>(firsts.size(), 1));
  base::parallel_for(lanes, threads, [&](std::size_t lane) {  // each has sums of its own; what is found does not differ
    Descent descent(rows, x.columns, candidates, masses.growth);
    std::vector<std::int32_t> path;
    for (std::size_t k = lane; k < firsts.size(); k += lanes) {
      path.assign(1, static_cast<std::int32_t>(firsts[k]));
      descent.below(path, members[firsts[k]], found[k]);
    }
  });
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

Columns expand(const Rows& x_t, std::span<const std::int32_t> features, std::size_t degree, std::size_t threads) {
  const std::size_t count = features.size() / degree;
  std::vector<std::vector<std::int32_t>> rows(count);
  std::vector<std::vector<double>> values(count);
  base::parallel_blocks(count, 64, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      std::vector<std::int32_t> parts(features.begin() + k * degree, features.begin() + (k + 1) * degree);
      std::erase(parts, -1);
      const auto size = [&](std::int32_t j) { return x_t.offsets[j + 1] - x_t.offsets[j]; };
      std::stable_sort(parts.begin(), parts.end(), [&](auto a, auto b) { return size(a) < size(b); });
      for (auto e = x_t.offsets[parts[0]]; e < x_t.offsets[parts[0] + 1]; ++e) {
        double value = x_t.values[e];
        for (std::size_t p = 1; p < parts.size() && value != 0.0; ++p) {
          const auto first = x_t.indices.begin() + x_t.offsets[parts[p]];
          const auto last = x_t.indices.begin() + x_t.offsets[parts[p] + 1];
          const auto at = std::lower_bound(first, last, x_t.indices[e]);
          value = at == last || *at != x_t.indices[e] ? 0.0 : value * x_t.values[at - x_t.indices.begin()];
        }
        if (value == 0.0) continue;
        rows[k].push_back(x_t.indices[e]);
        values[k].push_back(value);
      }
    }
  });
  Columns out;
  out.offsets.push_back(0);
  for (std::size_t k = 0; k < count; ++k) {
    out.rows.insert(out.rows.end(), rows[k].begin(), rows[k].end());
    out.values.insert(out.values.end(), values[k].begin(), values[k].end());
    out.offsets.push_back(static_cast<std::int64_t>(out.rows.size()));
  }
  return out;
}

}  // namespace textmill::linear
