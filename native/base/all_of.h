// Whether something holds of every item, asked by several threads: for checks of arrays that many kernels share.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/parallel.h"

namespace textmill::base {

// Whether fine(i) for all i from `begin` to `end` - 1. All are asked: that is faster than to stop, where most are fine.
template <class F>
bool all_of(std::size_t begin, std::size_t end, std::size_t threads, F&& fine) {
  std::atomic<bool> every = true;
  parallel_blocks(end - begin, std::size_t{1} << 14, threads, [&](std::size_t from, std::size_t to) {
    bool mine = true;
    for (std::size_t i = begin + from; i < begin + to; ++i) mine &= fine(i);
    if (!mine) every = false;
  });
  return every;
}

}  // namespace textmill::base
