// One-to-one matchings of the rows and columns of a matrix of weights >= 0.
//
//   heaviest   the matching of largest total weight, by shortest augmenting paths with potentials (Jonker and Volgenant
//              1987): O(r^2 c) for r = min(n, m) rows and c = max(n, m) columns
//   greedy     edges by falling weight, ties by the smaller row, then column: O(e log e) for e edges
//
// A sparse matrix is a list of edges. Its heaviest matching is that of each connected part, so memory is the square of the
// largest part, never n m.
//
// Sums add the weights of the matching from the largest to the smallest, so a transposed matrix gives the same bits when
// the heaviest matching is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::strings {

struct WeightedEdge {
  double weight;  // > 0
  std::uint32_t row, column;
};

double heaviest_matching(std::span<const double> weights, std::size_t rows,
                         std::size_t columns);  // weights [rows][columns]
double greedy_matching(std::span<const double> weights, std::size_t rows, std::size_t columns);
// Both put the edges, each of which may be there once, in another order.
double heaviest_matching(std::vector<WeightedEdge>& edges, std::size_t rows, std::size_t columns);
double greedy_matching(std::vector<WeightedEdge>& edges, std::size_t rows, std::size_t columns);

}  // namespace textmill::strings
