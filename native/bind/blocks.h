// What bindings of loops over large arrays share: checks, and rows of random numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "base/random.h"
#include "bind/arrays.h"

namespace textmill::bind {

inline constexpr std::size_t kBlock = 1 << 14;  // values a thread takes at once: 128 KiB

inline void require_threads(std::size_t threads) { require(threads > 0, "threads must be at least 1"); }

inline void require_shape(double shape, const char* name) {
  require(shape >= 1e-300 && std::isfinite(shape), name, " must be finite and at least 1e-300, got ", shape);
}

template <class A, class B>
bool overlap(const A& a, const B& b) {
  const auto* first = static_cast<const char*>(static_cast<const void*>(a.data()));
  const auto* second = static_cast<const char*>(static_cast<const void*>(b.data()));
  return a.nbytes() > 0 && b.nbytes() > 0 && first < second + b.nbytes() && second < first + a.nbytes();
}

// Row i of out is filled by fill(Random(seed, first + i), row).
template <class T, class Fill>
void fill_rows(std::uint64_t seed, const Out<T, 2>& out, std::size_t threads, Fill fill, std::uint64_t first = 0) {
  require_threads(threads);
  const std::size_t columns = out.shape(1);
  const auto to = view(out);
  nb::gil_scoped_release nogil;
  base::parallel_blocks(out.shape(0), kBlock / (columns + 1) + 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      base::Random random(seed, first + i);
      fill(random, to.subspan(i * columns, columns));
    }
  });
}

}  // namespace textmill::bind
