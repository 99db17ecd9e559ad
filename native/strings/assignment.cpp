#include "strings/assignment.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace textmill::strings {
namespace {

double falling_sum(std::vector<double>& parts) {
  std::sort(parts.begin(), parts.end(), std::greater<>());
  double sum = 0.0;
  for (const double part : parts) sum += part;
  return sum;
}

// Appends the weights of the edges of the heaviest matching.
void match(std::span<const double> weights, std::size_t rows, std::size_t columns, std::vector<double>& parts) {
  if (rows == 0 || columns == 0) return;
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
  for (std::size_t c = 1; c <= C; ++c) {
    if (row_of[c] != 0) parts.push_back(-cost(row_of[c] - 1, c - 1));
  }
}

// Rows, then columns, by the smallest vertex of the connected part they belong to.
std::vector<std::uint32_t> connected_parts(std::span<const WeightedEdge> edges, std::size_t rows, std::size_t columns) {
  std::vector<std::uint32_t> part(rows + columns);
  std::iota(part.begin(), part.end(), 0u);
  const auto root = [&](std::uint32_t vertex) {
    while (part[vertex] != vertex) vertex = part[vertex] = part[part[vertex]];
    return vertex;
  };
  for (const WeightedEdge& edge : edges) {
    const std::uint32_t a = root(edge.row), b = root(static_cast<std::uint32_t>(rows) + edge.column);
    part[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t vertex = 0; vertex < part.size(); ++vertex) part[vertex] = root(vertex);
  return part;
}

}  // namespace

double heaviest_matching(std::span<const double> weights, std::size_t rows, std::size_t columns) {
  std::vector<double> parts;
  match(weights, rows, columns, parts);
  return falling_sum(parts);
}

double heaviest_matching(std::vector<WeightedEdge>& edges, std::size_t rows, std::size_t columns) {
  const std::vector<std::uint32_t> part = connected_parts(edges, rows, columns);
  std::sort(edges.begin(), edges.end(),
            [&](const WeightedEdge& a, const WeightedEdge& b) { return part[a.row] < part[b.row]; });
  std::vector<std::uint32_t> row_at(rows), column_at(columns);
  std::vector<double> weights, parts;
  for (auto begin = edges.begin(); begin != edges.end();) {
    const auto end =
        std::find_if(begin, edges.end(), [&](const WeightedEdge& edge) { return part[edge.row] != part[begin->row]; });
    std::vector<std::uint32_t> used_rows, used_columns;
    for (auto edge = begin; edge != end; ++edge) {
      used_rows.push_back(edge->row);
      used_columns.push_back(edge->column);
    }
    for (auto* used : {&used_rows, &used_columns}) {
      std::sort(used->begin(), used->end());
      used->erase(std::unique(used->begin(), used->end()), used->end());
    }
    for (std::size_t i = 0; i < used_rows.size(); ++i) row_at[used_rows[i]] = static_cast<std::uint32_t>(i);
    for (std::size_t j = 0; j < used_columns.size(); ++j) column_at[used_columns[j]] = static_cast<std::uint32_t>(j);
    weights.assign(used_rows.size() * used_columns.size(), 0.0);
    for (auto edge = begin; edge != end; ++edge) {
      weights[row_at[edge->row] * used_columns.size() + column_at[edge->column]] = edge->weight;
    }
    match(weights, used_rows.size(), used_columns.size(), parts);
    begin = end;
  }
  return falling_sum(parts);
}

double greedy_matching(std::span<const double> weights, std::size_t rows, std::size_t columns) {
  std::vector<WeightedEdge> edges;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double weight = weights[i * columns + j];
      if (weight > 0.0) edges.push_back({weight, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)});
    }
  }
  return greedy_matching(edges, rows, columns);
}

double greedy_matching(std::vector<WeightedEdge>& edges, std::size_t rows, std::size_t columns) {
  std::sort(edges.begin(), edges.end(), [](const WeightedEdge& a, const WeightedEdge& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  std::vector<char> row_used(rows, 0), column_used(columns, 0);
  double sum = 0.0;
  for (const WeightedEdge& edge : edges) {
    if (row_used[edge.row] || column_used[edge.column]) continue;
    row_used[edge.row] = column_used[edge.column] = 1;
    sum += edge.weight;
  }
  return sum;
}

}  // namespace textmill::strings
