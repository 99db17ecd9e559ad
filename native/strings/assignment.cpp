#include "strings/assignment.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace textmill::strings {
namespace {

double falling_sum(std::vector<double>& parts) {
  std::sort(parts.begin(), parts.end(), std::greater<>());
  double sum = 0.0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace

double heaviest_matching(std::span<const double> weights, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) return 0.0;
  const bool turned = rows > columns;
  const std::size_t R = turned ? columns : rows, C = turned ? rows : columns;
  const auto cost = [&](std::size_t r, std::size_t c) {
    return -(turned ? weights[c * columns + r] : weights[r * columns + c]);
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  // Rows and columns count from 1; column 0 is where a path begins. row_of[c] is the row matched with c.
  std::vector<double> row_price(R + 1, 0.0), column_price(C + 1, 0.0), distance(C + 1);
  std::vector<std::size_t> row_of(C + 1, 0), before(C + 1);
  std::vector<char> done(C + 1);
  for (std::size_t r = 1; r <= R; ++r) {
    row_of[0] = r;
    std::fill(distance.begin(), distance.end(), kInfinite);
    std::fill(done.begin(), done.end(), 0);
    std::size_t at = 0;
    do {
      done[at] = 1;
      const std::size_t row = row_of[at];
      double least = kInfinite;
      std::size_t next = 0;
      for (std::size_t c = 1; c <= C; ++c) {
        if (done[c]) continue;
        const double reduced = cost(row - 1, c - 1) - row_price[row] - column_price[c];
        if (reduced < distance[c]) {
          distance[c] = reduced;
          before[c] = at;
        }
        if (distance[c] < least) {
          least = distance[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= C; ++c) {
        if (done[c]) {
          row_price[row_of[c]] += least;
          column_price[c] -= least;
        } else {
          distance[c] -= least;
        }
      }
      at = next;
    } while (row_of[at] != 0);
    for (; at != 0; at = before[at]) row_of[at] = row_of[before[at]];
  }
  std::vector<double> parts;
  for (std::size_t c = 1; c <= C; ++c) {
    if (row_of[c] != 0) parts.push_back(-cost(row_of[c] - 1, c - 1));
  }
  return falling_sum(parts);
}

double greedy_matching(std::span<const double> weights, std::size_t rows, std::size_t columns) {
  std::vector<std::tuple<double, std::size_t, std::size_t>> edges;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (weights[i * columns + j] > 0.0) edges.emplace_back(-weights[i * columns + j], i, j);
    }
  }
  std::sort(edges.begin(), edges.end());
  std::vector<char> row_used(rows, 0), column_used(columns, 0);
  double sum = 0.0;
  for (const auto& [negative, i, j] : edges) {
    if (row_used[i] || column_used[j]) continue;
    row_used[i] = column_used[j] = 1;
    sum -= negative;
  }
  return sum;
}

}  // namespace textmill::strings
