#include "tasks/segmentation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace textmill::tasks {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The counts of a window of units, and what a cosine needs of two of them.
struct Windows {
  explicit Windows(std::size_t vocabulary) : left(vocabulary), right(vocabulary) {}

  void add_left(std::int32_t t, std::int64_t sign) {
    left_square += sign * 2 * left[t] + 1;
    left[t] += sign;
    dot += sign * right[t];
  }
  void add_right(std::int32_t t, std::int64_t sign) {
    right_square += sign * 2 * right[t] + 1;
    right[t] += sign;
    dot += sign * left[t];
  }
  double cosine() const {
    if (left_square == 0 || right_square == 0) return left_square == right_square ? 1.0 : 0.0;
    return static_cast<double>(dot) /
           (std::sqrt(static_cast<double>(left_square)) * std::sqrt(static_cast<double>(right_square)));
  }

  std::vector<std::int64_t> left, right;
  std::int64_t left_square = 0, right_square = 0, dot = 0;
};

// Sums over squares of a matrix along its diagonal. `look` at a segment [a, b) before asking for the sums and sizes of
// its parts [a, p) and [p, b).
class Sums {
 public:
  Sums(std::span<const float> matrix, std::size_t n) : width_(n + 1), sums_((n + 1) * (n + 1)) {
    for (std::size_t i = 0; i < n; ++i) {
      double row = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        row += static_cast<double>(matrix[i * n + j]);
        sums_[(i + 1) * width_ + j + 1] = sums_[i * width_ + j + 1] + row;
      }
    }
  }
  void look(std::size_t a, std::size_t b) { begin_ = a, end_ = b; }
  double left(std::size_t p) const { return square(begin_, p); }
  double right(std::size_t p) const { return square(p, end_); }
  static double area(std::size_t length) { return static_cast<double>(length) * static_cast<double>(length); }

 private:
  double square(std::size_t a, std::size_t b) const { return at(b, b) - at(a, b) - at(b, a) + at(a, a); }
  double at(std::size_t i, std::size_t j) const { return sums_[i * width_ + j]; }

  std::size_t width_, begin_ = 0, end_ = 0;
  std::vector<double> sums_;
};

// The same from the cells with |i - j| < band, of which running totals away from the diagonal are kept: [n][band], entry
// d of row i the sum of the cells (i, i) .. (i, i + d), or (i, i) .. (i - d, i).
class BandSums {
 public:
  BandSums(std::vector<double> behind, std::size_t band)
      : band_(band), behind_(std::move(behind)), before_(behind_.size()) {
    const std::size_t n = behind_.size() / band;
    for (std::size_t i = 0; i < n; ++i) {
      before_[i * band] = behind_[i * band];
      for (std::size_t d = 1; d < band; ++d) {
        const double* cell = behind_.data() + (d <= i ? (i - d) * band + d : 1);
        before_[i * band + d] = before_[i * band + d - 1] + (d <= i ? cell[0] - cell[-1] : 0.0);
      }
    }
  }

  void look(std::size_t a, std::size_t b) {
    begin_ = a;
    left_.assign(b - a + 1, 0.0);
    right_.assign(b - a + 1, 0.0);
    for (std::size_t p = a; p < b; ++p) left_[p + 1 - a] = left_[p - a] + both(before_, p, p + 1 - a);
    for (std::size_t p = b; p-- > a;) right_[p - a] = right_[p + 1 - a] + both(behind_, p, b - p);
  }
  double left(std::size_t p) const { return left_[p - begin_]; }
  double right(std::size_t p) const { return right_[p - begin_]; }
  double area(std::size_t length) const {
    const auto n = static_cast<double>(length), k = static_cast<double>(band_);
    return length <= band_ ? n * n : n * (2.0 * k - 1.0) - k * (k - 1.0);
  }

 private:
  // A row and the column like it, without counting the diagonal twice.
  double both(const std::vector<double>& sums, std::size_t i, std::size_t length) const {
    return 2.0 * sums[i * band_ + std::min(length, band_) - 1] - sums[i * band_];
  }

  std::size_t band_, begin_ = 0;
  std::vector<double> behind_, before_, left_, right_;
};

struct Segment {
  std::size_t begin, end, cut;
  double whole;      // sum of all of it
  double sum, size;  // of the two parts, at the cut that the segment names
};

// Equal up to rounding counts as not better: the first of equals is taken.
bool better(double value, double best) { return value > best + 1e-12 * std::abs(best); }

// The cut of [a, b) that makes (rest + parts) / (room + squares) largest; a segment of one unit has none.
template <class S>
Segment best_cut(S& sums, std::size_t a, std::size_t b, double rest, double room) {
  sums.look(a, b);
  Segment found{a, b, 0, sums.right(a), 0.0, 0.0};
  double best = -kNever;
  for (std::size_t p = a + 1; p < b; ++p) {
    const double sum = sums.left(p) + sums.right(p), size = sums.area(p - a) + sums.area(b - p);
    const double density = (rest + sum) / (room + size);
    if (found.cut == 0 || better(density, best)) {
      best = density;
      found = {a, b, p, found.whole, sum, size};
    }
  }
  return found;
}

template <class S>
Division divided(S& sums, std::size_t n, bool exact) {
  std::vector<Segment> segments{best_cut(sums, 0, n, 0.0, 0.0)};
  double inside = segments[0].whole, size = sums.area(n);
  Division answer;
  answer.density.push_back(inside / size);
  while (answer.cuts.size() + 1 < n) {
    std::size_t chosen = segments.size();
    double best = -kNever;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      Segment& segment = segments[s];
      if (segment.end - segment.begin < 2) continue;
      const double rest = inside - segment.whole;
      const double room = size - sums.area(segment.end - segment.begin);
      if (exact) segment = best_cut(sums, segment.begin, segment.end, rest, room);
      const double density = (rest + segment.sum) / (room + segment.size);
      if (chosen == segments.size() || better(density, best)) {
        best = density;
        chosen = s;
      }
    }
    const Segment cut = segments[chosen];
    inside += cut.sum - cut.whole;
    size += cut.size - sums.area(cut.end - cut.begin);
    answer.cuts.push_back(static_cast<std::int32_t>(cut.cut));
    answer.density.push_back(inside / size);
    segments[chosen] = best_cut(sums, cut.begin, cut.cut, 0.0, 0.0);
    const auto behind = segments.begin() + static_cast<std::ptrdiff_t>(chosen) + 1;
    segments.insert(behind, best_cut(sums, cut.cut, cut.end, 0.0, 0.0));
  }
  return answer;
}

// Products of the rows near each other, a few rows at a time: row i holds those with i .. i + band - 1.
class NearProducts {
 public:
  NearProducts(const UnitRows& rows, std::size_t band, std::size_t kept)
      : rows_(rows),
        n_(rows.offsets.size() - 1),
        band_(band),
        kept_(kept),
        cells_(kept * band),
        first_(rows.width + 1),
        units_(rows.columns.size()),
        weights_(rows.columns.size()),
        norms_(n_) {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::int64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) norms_[i] += rows.values[e] * rows.values[e];
      norms_[i] = norms_[i] > 0.0 ? std::sqrt(norms_[i]) : 1.0;
    }
    for (const std::int32_t c : rows.columns) ++first_[static_cast<std::size_t>(c) + 1];
    for (std::size_t c = 0; c < rows.width; ++c) first_[c + 1] += first_[c];
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::int64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) {
        const std::size_t to = next[static_cast<std::size_t>(rows.columns[e])]++;
        units_[to] = i;
        weights_[to] = rows.values[e];
      }
    next_.assign(first_.begin(), first_.end() - 1);
  }

  // Rows must be asked for in order; those `kept` before go.
  void compute(std::size_t i) {
    float* out = cells_.data() + i % kept_ * band_;
    row_.assign(band_, 0.0);
    for (std::int64_t e = rows_.offsets[i]; e < rows_.offsets[i + 1]; ++e) {
      const auto c = static_cast<std::size_t>(rows_.columns[e]);
      while (units_[next_[c]] < i) ++next_[c];
      for (std::size_t q = next_[c]; q < first_[c + 1] && units_[q] < i + band_; ++q)
        row_[units_[q] - i] += rows_.values[e] * weights_[q];
    }
    for (std::size_t d = 0; d < band_; ++d) out[d] = static_cast<float>(row_[d] / norm(i + d) / norm(i));
  }
  float at(std::size_t i, std::size_t j) const {  // in the band
    return i <= j ? cells_[i % kept_ * band_ + j - i] : cells_[j % kept_ * band_ + i - j];
  }

 private:
  double norm(std::size_t i) const { return i < n_ ? norms_[i] : 1.0; }

  const UnitRows& rows_;
  std::size_t n_, band_, kept_;
  std::vector<float> cells_;
  std::vector<std::size_t> first_, units_, next_;
  std::vector<double> weights_, row_, norms_;
};

bool allowed(const Limits& limits, std::size_t i, std::size_t j) {
  const auto size = static_cast<std::size_t>(limits.sizes[j] - limits.sizes[i]);
  return size >= limits.shortest && size <= limits.longest;
}

// Best cost of cutting units [0, j) into some number of segments (a row for each number, or one row), and the begin of
// the last segment.
class Table {
 public:
  Table(std::size_t units, std::size_t segments)
      : units_(units),
        rows_(segments == 0 ? 1 : segments),
        fixed_(segments != 0),
        cost_((rows_ + 1) * (units + 1)),
        from_((rows_ + 1) * (units + 1), -1) {
    std::ranges::fill(cost_, kNever);
    cost_[0] = 0.0;
  }
  std::size_t rows() const { return rows_; }
  bool fixed() const { return fixed_; }
  double& cost(std::size_t row, std::size_t j) { return cost_[row * (units_ + 1) + j]; }
  std::int32_t& from(std::size_t row, std::size_t j) { return from_[row * (units_ + 1) + j]; }

  // A last segment [i, j) of this cost, on top of the best of [0, i).
  void offer(std::size_t i, std::size_t j, double segment) {
    if (!fixed_) {
      improve(0, 0, i, j, segment);
      return;
    }
    for (std::size_t row = 0; row < std::min(rows_, i + 1); ++row) improve(row, row + 1, i, j, segment);
  }

  Cuts cuts() {
    Cuts answer{{}, true};
    std::size_t row = fixed_ ? rows_ : 0, j = units_;
    if (cost(row, j) == kNever) return {{}, false};
    while (true) {
      const std::int32_t i = from(row, j);
      if (i <= 0) break;
      answer.cuts.push_back(i);
      j = static_cast<std::size_t>(i);
      if (fixed_) --row;
    }
    std::ranges::reverse(answer.cuts);
    return answer;
  }

 private:
  void improve(std::size_t row, std::size_t next, std::size_t i, std::size_t j, double segment) {
    const double total = cost(row, i) + segment;
    if (total < cost(next, j)) {
      cost(next, j) = total;
      from(next, j) = static_cast<std::int32_t>(i);
    }
  }

  std::size_t units_, rows_;
  bool fixed_;
  std::vector<double> cost_;
  std::vector<std::int32_t> from_;
};

}  // namespace

void gap_cosines(const Tokens& text, std::size_t k, std::span<double> out) {
  const std::size_t n = text.units();
  if (n < 2) return;
  Windows windows(text.vocabulary);
  const auto each = [&](std::size_t unit, auto&& visit) {
    for (std::int64_t p = text.offsets[unit]; p < text.offsets[unit + 1]; ++p) visit(text.ids[p]);
  };
  for (std::size_t unit = 0; unit < std::min(k, n); ++unit)
    each(unit, [&](std::int32_t t) { windows.add_right(t, 1); });
  for (std::size_t g = 1; g < n; ++g) {
    each(g - 1, [&](std::int32_t t) { windows.add_right(t, -1); });
    each(g - 1, [&](std::int32_t t) { windows.add_left(t, 1); });
    if (g > k) each(g - 1 - k, [&](std::int32_t t) { windows.add_left(t, -1); });
    if (g - 1 + k < n) each(g - 1 + k, [&](std::int32_t t) { windows.add_right(t, 1); });
    out[g - 1] = windows.cosine();
  }
}

void rank_matrix(std::span<const float> similarity, std::size_t n, std::size_t r, std::span<float> out) {
  const std::size_t reach = r / 2;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t top = i > reach ? i - reach : 0, bottom = std::min(n, i + reach + 1);
    for (std::size_t j = i; j < n; ++j) {
      const std::size_t first = j > reach ? j - reach : 0, last = std::min(n, j + reach + 1);
      const float value = similarity[i * n + j];
      std::int32_t lower = 0;
      for (std::size_t y = top; y < bottom; ++y) {
        const float* row = similarity.data() + y * n;
        for (std::size_t x = first; x < last; ++x) lower += row[x] < value;
      }
      const std::size_t others = (bottom - top) * (last - first) - 1;
      const float rank = others == 0 ? 0.0f : static_cast<float>(lower) / static_cast<float>(others);
      out[i * n + j] = out[j * n + i] = rank;
    }
  }
}

Division divide(std::span<const float> matrix, std::size_t n, bool exact) {
  Sums sums(matrix, n);
  return divided(sums, n, exact);
}

Division divide_band(const UnitRows& rows, std::size_t r, std::size_t band, bool exact) {
  const std::size_t n = rows.offsets.size() - 1, reach = r / 2;
  NearProducts products(rows, band, 2 * reach + 1);
  std::vector<double> sums(n * band);
  std::size_t computed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t top = i > reach ? i - reach : 0, bottom = std::min(n, i + reach + 1);
    for (; computed < bottom; ++computed) products.compute(computed);
    double total = 0.0;
    for (std::size_t j = i; j < std::min(n, i + band); ++j) {
      const float value = products.at(i, j);
      std::int32_t lower = 0;
      std::size_t cells = 0;
      for (std::size_t y = top; y < bottom; ++y) {
        const std::size_t first = std::max(j > reach ? j - reach : 0, y + 1 > band ? y + 1 - band : 0);
        const std::size_t last = std::min({n, j + reach + 1, y + band});
        for (std::size_t x = first; x < last; ++x) lower += products.at(y, x) < value;
        cells += last > first ? last - first : 0;
      }
      total += cells < 2 ? 0.0 : static_cast<double>(static_cast<float>(lower) / static_cast<float>(cells - 1));
      sums[i * band + j - i] = total;
    }
    for (std::size_t d = std::min(n, i + band) - i; d < band; ++d) sums[i * band + d] = total;
  }
  BandSums squares(std::move(sums), band);
  return divided(squares, n, exact);
}

Cuts probable_cuts(const Tokens& text, std::span<const std::int64_t> rows, std::span<const double> gain,
                   std::span<const double> length, const Limits& limits) {
  const std::size_t n = text.units();
  Table table(n, limits.segments);
  std::vector<std::int64_t> next(rows.begin(), rows.end());  // entry of the table for one more token of each word
  for (std::size_t i = 0; i < n; ++i) {
    if (!table.fixed() && table.cost(0, i) == kNever) continue;
    double seen = 0.0;
    std::size_t j = i;
    for (; j < n; ++j) {
      for (std::int64_t p = text.offsets[j]; p < text.offsets[j + 1]; ++p) seen += gain[next[text.ids[p]]++];
      if (static_cast<std::size_t>(limits.sizes[j + 1] - limits.sizes[i]) > limits.longest) break;
      if (!allowed(limits, i, j + 1)) continue;
      const auto words = static_cast<std::size_t>(text.offsets[j + 1] - text.offsets[i]);
      table.offer(i, j + 1, length[words] - seen + limits.penalty);
    }
    for (std::size_t u = i; u < std::min(j + 1, n); ++u)
      for (std::int64_t p = text.offsets[u]; p < text.offsets[u + 1]; ++p) next[text.ids[p]] = rows[text.ids[p]];
  }
  return table.cuts();
}

GranularCuts granular_cuts(const Tokens& text, std::span<const std::int64_t> rows, std::span<const double> gain,
                           std::span<const double> length, std::span<const double> power,
                           std::span<const double> weights) {
  const std::size_t n = text.units(), many = weights.size();
  std::vector<double> cost((n + 1) * many, kNever);
  std::vector<std::int32_t> from((n + 1) * many, 0);
  std::fill_n(cost.begin(), many, 0.0);
  std::vector<std::int64_t> next(rows.begin(), rows.end());
  for (std::size_t i = 0; i < n; ++i) {
    const double* before = cost.data() + i * many;
    double seen = 0.0;
    for (std::size_t j = i; j < n; ++j) {
      for (std::int64_t p = text.offsets[j]; p < text.offsets[j + 1]; ++p) seen += gain[next[text.ids[p]]++];
      const auto words = static_cast<std::size_t>(text.offsets[j + 1] - text.offsets[i]);
      const double segment = length[words] - seen;
      double* after = cost.data() + (j + 1) * many;
      std::int32_t* begin = from.data() + (j + 1) * many;
      for (std::size_t k = 0; k < many; ++k) {
        const double total = before[k] + (segment + weights[k] * power[words]);
        const bool less = total < after[k];
        after[k] = less ? total : after[k];
        begin[k] = less ? static_cast<std::int32_t>(i) : begin[k];
      }
    }
    for (std::int64_t p = text.offsets[i]; p < text.offsets[n]; ++p) next[text.ids[p]] = rows[text.ids[p]];
  }
  GranularCuts answer;
  answer.offsets.push_back(0);
  for (std::size_t k = 0; k < many; ++k) {
    for (auto j = static_cast<std::size_t>(from[n * many + k]); j > 0; j = static_cast<std::size_t>(from[j * many + k]))
      answer.cuts.push_back(static_cast<std::int32_t>(j));
    std::ranges::reverse(answer.cuts.begin() + answer.offsets.back(), answer.cuts.end());
    answer.offsets.push_back(static_cast<std::int64_t>(answer.cuts.size()));
  }
  return answer;
}

void recurrences(const Tokens& text, const GranularCuts& cuts, std::span<double> out) {
  const std::size_t n = text.units();
  std::vector<double> counts(text.vocabulary);
  for (const std::int32_t t : text.ids) counts[t] += 1.0;
  std::vector<double> common(n * kDistances);  // words in common of units i and i + 1 + d
  std::vector<std::int64_t> last(text.vocabulary, -1), before(text.ids.size(), -1);  // chains of tokens of one word
  std::vector<std::size_t> unit(text.ids.size());
  for (std::size_t u = 0; u < n; ++u)
    for (std::int64_t p = text.offsets[u]; p < text.offsets[u + 1]; ++p) {
      const std::int32_t t = text.ids[p];
      unit[p] = u;
      before[p] = last[t];
      last[t] = p;
      for (std::int64_t q = before[p]; q >= 0 && u - unit[q] <= kDistances; q = before[q])
        if (unit[q] != u) common[unit[q] * kDistances + u - unit[q] - 1] += 1.0 / (counts[t] - 1.0);
    }
  std::vector<std::int32_t> segment(n);
  for (std::size_t k = 0; k + 1 < cuts.offsets.size(); ++k) {
    std::ranges::fill(segment, 0);
    for (std::int64_t c = cuts.offsets[k]; c < cuts.offsets[k + 1]; ++c) segment[cuts.cuts[c]] = 1;
    for (std::size_t u = 1; u < n; ++u) segment[u] += segment[u - 1];
    for (std::size_t u = 0; u < n; ++u)
      for (std::size_t d = 1; d <= kDistances && u + d < n; ++d) {
        const auto pairs = static_cast<double>((text.offsets[u + 1] - text.offsets[u]) *
                                               (text.offsets[u + d + 1] - text.offsets[u + d]));
        const std::int32_t apart = segment[u + d] - segment[u];
        double* row = out.data() + (k * kBins + static_cast<std::size_t>(std::bit_width(d)) - 1) * 6;
        row[apart == 0 ? 0 : 2] += common[u * kDistances + d - 1];
        row[apart == 0 ? 1 : 3] += pairs;
        if (apart != 1) continue;
        row[4] += common[u * kDistances + d - 1];
        row[5] += pairs;
      }
  }
}

Cuts compact_cuts(std::span<const double> vectors, std::size_t dimensions, const Limits& limits) {
  const std::size_t n = limits.sizes.size() - 1, d = dimensions;
  std::vector<double> sums((n + 1) * d), squares(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    squares[i + 1] = squares[i];
    for (std::size_t x = 0; x < d; ++x) {
      const double value = vectors[i * d + x];
      sums[(i + 1) * d + x] = sums[i * d + x] + value;
      squares[i + 1] += value * value;
    }
  }
  const auto deviation = [&](std::size_t i, std::size_t j) {
    double square = 0.0;
    for (std::size_t x = 0; x < d; ++x) {
      const double sum = sums[j * d + x] - sums[i * d + x];
      square += sum * sum;
    }
    return std::max(0.0, squares[j] - squares[i] - square / static_cast<double>(j - i));
  };
  Table table(n, limits.segments);
  const bool pruned =
      !table.fixed() && limits.shortest == 0 && limits.longest >= static_cast<std::size_t>(limits.sizes[n]);
  std::vector<std::size_t> begins{0};
  std::vector<double> costs;
  for (std::size_t j = 1; j <= n; ++j) {
    costs.clear();
    for (const std::size_t i : begins) {
      costs.push_back(deviation(i, j));
      if (allowed(limits, i, j)) table.offer(i, j, costs.back() + limits.penalty);
    }
    if (pruned) {  // a begin that is already worse than ending here stays worse: deviations only grow
      std::size_t left = 0;
      for (std::size_t b = 0; b < begins.size(); ++b)
        if (table.cost(0, begins[b]) + costs[b] <= table.cost(0, j)) begins[left++] = begins[b];
      begins.resize(left);
    }
    begins.push_back(j);
  }
  return table.cuts();
}

}  // namespace textmill::tasks
