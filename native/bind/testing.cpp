// The extension module `textmill._testing`: what tests and benchmarks ask of the native code and no user does. It is
// built beside `_native` for development (TEXTMILL_TESTING) and is in no wheel.
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "bind/arrays.h"

namespace textmill::bind {
namespace {

// Parallel loops: their sums, what they do with exceptions, and how many bodies run at a time.

struct Total {
  double value = 0.0;
  static Total zero_like(const Total&) { return {}; }
  void operator+=(const Total& other) { value += other.value; }
};

double sum(In<double, 1> values, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  const auto v = view(values);
  nb::gil_scoped_release nogil;
  Total total;
  base::parallel_sum(v.size(), threads, total, [&](std::size_t i, Total& lane) { lane.value += v[i]; });
  return total.value;
}

void raise_in_loop(std::size_t items, std::size_t threads, In<bool, 1> raises) {
  require(raises.size() == items, "raises must have ", items, " entries");
  const bool* raise = raises.data();
  nb::gil_scoped_release nogil;
  base::parallel_for(items, threads, [=](std::size_t item) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    require(!raise[item], "item ", item);
  });
}

std::size_t concurrency(std::size_t outer, std::size_t inner, std::size_t threads, std::size_t inner_threads) {
  nb::gil_scoped_release nogil;
  std::atomic<std::size_t> running{0}, most{0};
  base::parallel_for(outer, threads, [&](std::size_t) {
    base::parallel_for(inner, inner_threads, [&](std::size_t) {
      const std::size_t now = ++running;
      for (std::size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      --running;
    });
  });
  return most;
}

// Conversions that are checked.

std::int32_t narrow(std::int64_t value) { return base::narrow<std::int32_t>(value, "value"); }
std::size_t product(std::size_t a, std::size_t b) { return base::product(a, b, "array"); }
std::int32_t count(double value) { return base::count<std::int32_t>(value, "value"); }

// The sum of all values, read once by all threads: the speed of memory, which bounds that of a scan.
double read_all(In<float, 2> values, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  const auto v = view(values);
  nb::gil_scoped_release nogil;
  constexpr std::size_t block = 1 << 20;
  std::vector<double> parts(v.size() / block + 1);
  base::parallel_blocks(v.size(), block, threads, [&](std::size_t begin, std::size_t end) {
    const float* from = v.data() + begin;
    const std::size_t size = end - begin;
    parts[begin / block] = base::with_packs([=]<class P>() TEXTMILL_INLINED {
      using F = base::PackOf<P, float>;
      constexpr std::size_t step = 4 * F::width;  // four chains of additions, which hides their latency
      F a(0.0f), b(0.0f), c(0.0f), d(0.0f);
      std::size_t i = 0;
      for (; i + step <= size; i += step) {
        a = a + F::load(from + i);
        b = b + F::load(from + i + F::width);
        c = c + F::load(from + i + 2 * F::width);
        d = d + F::load(from + i + 3 * F::width);
      }
      double rest = 0.0;
      for (; i < size; ++i) rest += from[i];
      return sum((a + b) + (c + d)) + rest;
    });
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace
}  // namespace textmill::bind

NB_MODULE(_testing, m) {
  using namespace textmill::bind;
  m.doc() = "Entry points of the native code for tests and benchmarks.";
  m.def("sum", &textmill::bind::sum, "values"_a, "threads"_a,
        "Sum of an array: the same bits for any number of threads.");
  m.def("raise_in_loop", &raise_in_loop, "items"_a, "threads"_a, "raises"_a,
        "A parallel loop whose marked items raise.");
  m.def("concurrency", &concurrency, "outer"_a, "inner"_a, "threads"_a, "inner_threads"_a,
        "The most bodies of two nested parallel loops, each asleep for half a millisecond, that met.");
  m.def("narrow", &narrow, "value"_a, "int64 to int32, checked.");
  m.def("product", &product, "a"_a, "b"_a, "A size of a x b, checked.");
  m.def("count", &count, "value"_a, "float to an int32 count, checked.");
  m.def("read_all", &read_all, "values"_a.noconvert(), "threads"_a, "Sum of all values, at the speed of memory.");
}
