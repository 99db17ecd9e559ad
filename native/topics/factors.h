// Non-negative least squares by coordinate descent, many right-hand sides with one Gram matrix.
//
//   minimize over h_i >= 0    1/2 h_i^T G h_i - c_i^T h_i         for every row i, G = W W^T [K][K], C = X W^T [n][K]
//   h_it <- max(0, h_it - (G h_i - c_i)_t / G_tt)                 t = 0 ... K - 1, `sweeps` times
//
// One sweep over both factors in turn is HALS; several sweeps for each pair of products C and G, which cost more, are
// accelerated HALS. A topic with G_tt = 0 keeps its numbers.
//
// Cost: K^2 multiplications a row and sweep. Rows are independent: same bytes for any number of threads.
// References: Cichocki & Phan (2009), Fast local algorithms for large scale nonnegative matrix and tensor
// factorizations; Gillis & Glineur (2012), Accelerated multiplicative updates and hierarchical ALS algorithms for
// nonnegative matrix factorization.
#pragma once

#include <cstddef>
#include <span>

namespace textmill::topics {

// Improves h [n][K] (>= 0). A row stops early when a sweep moves it by less than `tolerance` times what the first one
// did. Sizes: gram K * K, cross n * K.
void descend(std::span<const double> gram, std::span<const double> cross, std::size_t topics, std::size_t sweeps,
             double tolerance, std::span<double> h, std::size_t threads);

}  // namespace textmill::topics
