#include "tasks/segmentation.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// Sums over rectangles of a matrix.
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
  // Over the square of the units [a, b).
  double square(std::size_t a, std::size_t b) const { return at(b, b) - at(a, b) - at(b, a) + at(a, a); }

 private:
  double at(std::size_t i, std::size_t j) const { return sums_[i * width_ + j]; }

  std::size_t width_;
  std::vector<double> sums_;
};

double area(std::size_t a, std::size_t b) { return static_cast<double>(b - a) * static_cast<double>(b - a); }

struct Segment {
  std::size_t begin, end, cut;
  double sum, size;  // of the two parts, at the cut that the segment names
};

// Equal up to rounding counts as not better: the first of equals is taken.
bool better(double value, double best) { return value > best + 1e-12 * std::abs(best); }

// The cut of [a, b) that makes (rest + parts) / (room + squares) largest; a segment of one unit has none.
Segment best_cut(const Sums& sums, std::size_t a, std::size_t b, double rest, double room) {
  Segment found{a, b, 0, 0.0, 0.0};
  double best = -kNever;
  for (std::size_t p = a + 1; p < b; ++p) {
    const double sum = sums.square(a, p) + sums.square(p, b), size = area(a, p) + area(p, b);
    const double density = (rest + sum) / (room + size);
    if (found.cut == 0 || better(density, best)) {
      best = density;
      found = {a, b, p, sum, size};
    }
  }
  return found;
}

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
  const Sums sums(matrix, n);
  double inside = sums.square(0, n), size = area(0, n);
  Division answer;
  answer.density.push_back(inside / size);
  std::vector<Segment> segments{best_cut(sums, 0, n, 0.0, 0.0)};
  while (answer.cuts.size() + 1 < n) {
    std::size_t chosen = segments.size();
    double best = -kNever;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      Segment& segment = segments[s];
      if (segment.end - segment.begin < 2) continue;
      const double rest = inside - sums.square(segment.begin, segment.end);
      const double room = size - area(segment.begin, segment.end);
      if (exact) segment = best_cut(sums, segment.begin, segment.end, rest, room);
      const double density = (rest + segment.sum) / (room + segment.size);
      if (chosen == segments.size() || better(density, best)) {
        best = density;
        chosen = s;
      }
    }
    const Segment cut = segments[chosen];
    inside += cut.sum - sums.square(cut.begin, cut.end);
    size += cut.size - area(cut.begin, cut.end);
    answer.cuts.push_back(static_cast<std::int32_t>(cut.cut));
    answer.density.push_back(inside / size);
    segments[chosen] = best_cut(sums, cut.begin, cut.cut, 0.0, 0.0);
    const auto behind = segments.begin() + static_cast<std::ptrdiff_t>(chosen) + 1;
    segments.insert(behind, best_cut(sums, cut.cut, cut.end, 0.0, 0.0));
  }
  return answer;
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
