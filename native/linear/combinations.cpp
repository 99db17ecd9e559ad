#include "linear/combinations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

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
  Scan(std::size_t columns, const Candidates& candidates, Masses& masses, bool erasing, Violators& out)
      : base_(columns + 1), candidates_(candidates), masses_(masses), erasing_(erasing), out_(out) {}

  void row(std::span<const std::int32_t> features, std::span<const double> values, double residual) {
    features_ = features;
    values_ = values;
    residual_ = residual;
    extend(0, 0, 0, 1.0, 1.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
  }

  // Begins the second pass, over the same rows: exact sums of what seems to violate, and of nothing else.
  void verify() {
    std::erase_if(sums_, [&](const auto& entry) { return std::abs(entry.second) <= candidates_.threshold; });
    for (auto& [key, sum] : sums_) sum = 0.0;
    verifying_ = true;
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
  }

 private:
  void extend(std::size_t from, std::size_t size, std::uint64_t key, double value, double scale, double upper,
              double lower) {
    for (std::size_t a = from; a < features_.size(); ++a) {
      const std::size_t j = features_[a];
      const double m = masses_.scale[j], all = scale * m, phi = value * values_[a];
      const double high = std::min(upper, masses_.positive[j] / m), low = std::max(lower, masses_.negative[j] / m);
      const std::uint64_t packed = key * base_ + j + 1;
      if (size >= 1) visit(packed, residual_ * phi, all * high, all * low);
      if (size + 1 < candidates_.degree) extend(a + 1, size + 1, packed, phi, all, high, low);
    }
  }

  // Adds to the sum of a candidate as long as what may still come, from `low` to `high`, lets it violate.
  void visit(std::uint64_t key, double part, double high, double low) {
    const auto at = sums_.find(key);
    if (verifying_) {
      if (at != sums_.end()) at->second += part;
      return;
    }
    ++out_.visited;
    const double sum = at == sums_.end() ? 0.0 : at->second, slack = kSlack * (1 + std::abs(sum));
    if (sum + high + slack > candidates_.threshold || sum + low - slack < -candidates_.threshold) {
      if (at != sums_.end()) {
        at->second += part;
        return;
      }
      sums_.emplace(key, part);
      out_.stored = std::max(out_.stored, sums_.size());
    } else if (erasing_ && at != sums_.end()) {
      sums_.erase(at);
    }
  }

  std::uint64_t base_;
  const Candidates& candidates_;
  Masses& masses_;
  bool erasing_;
  bool verifying_ = false;
  Violators& out_;
  std::unordered_map<std::uint64_t, double, Hash> sums_;
  std::span<const std::int32_t> features_;
  std::span<const double> values_;
  double residual_ = 0.0;
};

}  // namespace

Violators search_examples(const Rows& x, const Candidates& candidates, bool erasing) {
  Violators out;
  Masses masses = masses_of(x, candidates);
  const Filtered rows = filtered(x, masses, candidates.threshold);
  std::vector<std::size_t> order(x.rows);
  std::iota(order.begin(), order.end(), 0);
  const std::span<const double> residual = candidates.residual;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(residual[a]) > std::abs(residual[b]); });
  Scan scan(x.columns, candidates, masses, erasing, out);
  const auto entries = [&](std::size_t i) {
    return std::pair(static_cast<std::size_t>(rows.offsets[i]), static_cast<std::size_t>(rows.offsets[i + 1]));
  };
  const auto visit = [&](std::size_t i) {
    const auto [begin, end] = entries(i);
    scan.row(std::span(rows.indices).subspan(begin, end - begin), std::span(rows.values).subspan(begin, end - begin),
             residual[i]);
  };
  for (const std::size_t i : order) {
    visit(i);
    const auto [begin, end] = entries(i);
    for (std::size_t e = begin; e < end; ++e) {
      const std::size_t j = rows.indices[e];
      add_mass(masses, j, rows.values[e], residual[i], candidates.negative, -1.0);
      masses.positive[j] = std::max(masses.positive[j], 0.0);
      masses.negative[j] = std::min(masses.negative[j], 0.0);
    }
  }
  if (erasing) {
    scan.verify();
    for (const std::size_t i : order) visit(i);
  }
  scan.finish();
  return out;
}

}  // namespace textmill::linear
