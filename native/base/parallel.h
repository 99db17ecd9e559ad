// Threads: parallel_for and parallel_sum over one process-wide pool.
//
// Work is cut by the data, never by the machine: the caller decides what item i is, and the pool only decides who
// computes it and when. Results therefore have the same bytes for any number of threads.
//
//   parallel_for(n, threads, body)             body(i) once for every i in [0, n), at most `threads` at a time
//   parallel_blocks(n, block, threads, body)   body(begin, end) for every stretch of `block` items: for cheap items
//   parallel_sum(n, threads, total, body)      body(i, lane) adds item i; lanes are fixed ranges, added in order
//
// Safe to call from several threads at once: the pool grows to the number of helpers wanted together. A call from
// inside a body runs in the calling thread, so that nesting never makes more than `threads` busy threads; only a loop
// of a single item leaves its threads to the loops inside it. After fork() the child starts a pool of its own when it
// first needs one. Threads of the pool take no signals.
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

namespace textmill::base {

inline constexpr std::size_t kMaxThreads = 256;

namespace detail {
using Body = void (*)(void* context, std::size_t item);
void run(std::size_t items, std::size_t threads, Body body, void* context);
}  // namespace detail

// Calls body(i) for every i in [0, items). An exception stops the handing out of further items. Items are handed out in
// order, so the smallest item that throws has always been reached: its exception is the one rethrown here. `threads`
// above kMaxThreads counts as kMaxThreads, 0 as 1.
template <class F>
void parallel_for(std::size_t items, std::size_t threads, F&& body) {
  using Callable = std::remove_reference_t<F>;
  detail::run(
      items, threads, [](void* context, std::size_t item) { (*static_cast<Callable*>(context))(item); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Calls body(begin, end) for [0, block), [block, 2 block), ... up to items; block >= 1.
template <class F>
void parallel_blocks(std::size_t items, std::size_t block, std::size_t threads, F&& body) {
  parallel_for(items / block + (items % block != 0), threads, [&](std::size_t b) {
    const std::size_t begin = b * block;
    body(begin, items - begin < block ? items : begin + block);
  });
}

inline constexpr std::size_t kLanes = 16;  // part of the result: changing it changes models in their last bits

// Sums items into `total`. Sum has zero_like(const Sum&) and operator+=. At most kLanes threads work, kLanes sums are
// held.
template <class Sum, class F>
void parallel_sum(std::size_t items, std::size_t threads, Sum& total, F&& body) {
  std::vector<Sum> lane(kLanes, Sum::zero_like(total));
  parallel_for(kLanes, threads, [&](std::size_t l) {
    Sum sum = std::move(lane[l]);  // off the cache line of its neighbors
    for (std::size_t i = items * l / kLanes; i < items * (l + 1) / kLanes; ++i) body(i, sum);
    lane[l] = std::move(sum);
  });
  for (const Sum& part : lane) total += part;  // lane order, always
}

}  // namespace textmill::base
