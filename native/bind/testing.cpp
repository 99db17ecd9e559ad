// The extension module `textmill._testing`: what tests and benchmarks ask of the native code and no user does. It is
// built beside `_native` for development (TEXTMILL_TESTING) and is in no wheel.
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include "base/checked.h"
#include "base/flat_table.h"
#include "base/math.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/simd.h"
#include "bind/arrays.h"
#include "bind/blocks.h"

namespace textmill::bind {
namespace {

// Parallel loops: their sums, what they do with exceptions, and how many bodies run at a time.

struct Total {
  double value = 0.0;
  static Total zero_like(const Total&) { return {}; }
  void operator+=(const Total& other) { value += other.value; }
};

double sum(In<double, 1> values, std::size_t threads) {
  require_threads(threads);
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

// Functions and random numbers of the core, each by itself.

double logsumexp(In<double, 1> values) {
  const auto v = view(values);
  nb::gil_scoped_release nogil;
  return base::logsumexp(v);
}

void philox4x32(In<std::uint32_t, 1> counter, In<std::uint32_t, 1> key, Out<std::uint32_t, 1> out) {
  require(counter.size() == 4 && key.size() == 2 && out.size() == 4, "counter, key, out must have 4, 2, 4 words");
  const auto words = base::philox4x32({counter(0), counter(1), counter(2), counter(3)}, {key(0), key(1)});
  std::copy(words.begin(), words.end(), out.data());
}

void random_uniform(std::uint64_t seed, Out<double, 2> out, std::size_t threads) {
  fill_rows(seed, out, threads, [](base::Random& random, std::span<double> row) {
    for (double& x : row) x = random.uniform();
  });
}

void random_below(std::uint64_t seed, std::int64_t n, Out<std::int64_t, 2> out, std::size_t threads) {
  require(n >= 1, "n must be at least 1, got ", n);
  fill_rows(seed, out, threads, [n](base::Random& random, std::span<std::int64_t> row) {
    for (std::int64_t& x : row) x = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  });
}

void random_beta(std::uint64_t seed, double a, double b, Out<double, 2> out, std::size_t threads) {
  require_shape(a, "a");
  require_shape(b, "b");
  fill_rows(seed, out, threads, [a, b](base::Random& random, std::span<double> row) {
    for (double& x : row) x = random.beta(a, b);
  });
}

void random_categorical(std::uint64_t seed, In<double, 1> weights, Out<std::int64_t, 2> out, std::size_t threads) {
  require(!overlap(weights, out), "out overlaps weights");
  const auto w = view(weights);
  double total = 0.0;
  for (const double weight : w) {
    require(weight >= 0.0, "weights must be at least 0, got ", weight);
    total += weight;
  }
  require(total > 0.0 && std::isfinite(total), "weights must have a positive, finite sum, got ", total);
  fill_rows(seed, out, threads, [w](base::Random& random, std::span<std::int64_t> row) {
    for (std::int64_t& x : row) x = static_cast<std::int64_t>(random.categorical(w));
  });
}

void random_permutation(std::uint64_t seed, Out<std::int64_t, 2> out, std::size_t threads) {
  fill_rows(seed, out, threads, [](base::Random& random, std::span<std::int64_t> row) {
    std::iota(row.begin(), row.end(), 0);
    random.shuffle(row);
  });
}

// The sum of all values, read once by all threads: the speed of memory, which bounds that of a scan.
double read_all(In<float, 2> values, std::size_t threads) {
  require_threads(threads);
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

// Hash tables: what they say of keys that come one after the other; a negative key empties the index.

nb::list numbers_of_keys(In<std::int64_t, 1> keys, std::int64_t collide, std::int64_t first) {
  base::FlatTable<std::int64_t> table;
  base::FlatIndex index;
  std::vector<std::int64_t> kept;
  nb::list out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::int64_t key = keys.data()[i];
    if (key < 0) {
      index.clear();
      kept.clear();
      continue;
    }
    const auto unsigned_key = static_cast<std::uint64_t>(key);
    const std::int64_t in_table = table.add(unsigned_key, static_cast<std::int64_t>(table.size())).first;
    const auto fresh = static_cast<std::uint32_t>(first + static_cast<std::int64_t>(kept.size()));
    const auto equal = [&](std::uint32_t number) { return kept[static_cast<std::size_t>(number - first)] == key; };
    const std::uint64_t hash = base::Mixed{}(unsigned_key % static_cast<std::uint64_t>(collide));
    const std::uint32_t found = index.find(hash, equal), in_index = index.add(hash, fresh, equal);
    require((found == base::FlatIndex::kNone) == (in_index == fresh), "find and add do not agree");
    if (in_index == fresh) kept.push_back(key);
    out.append(nb::make_tuple(in_table, static_cast<std::int64_t>(in_index) - first, index.size()));
  }
  return out;
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

  m.def("numbers_of_keys", &numbers_of_keys, "keys"_a, "collide"_a, "first"_a,
        "Number of each key in a FlatTable, then in a FlatIndex whose numbers begin at `first`, and the size of that.");
  m.def("logsumexp", &logsumexp, "values"_a, "log(sum(exp(values))), -inf for no values.");
  m.def("philox4x32", &philox4x32, "counter"_a, "key"_a, "out"_a.noconvert(), "One block of Philox4x32-10.");
  const auto def_random = [&m](const char* name, auto function, const char* text, auto... parameters) {
    m.def(name, function, "seed"_a, parameters..., "out"_a.noconvert(), "threads"_a, text);
  };
  def_random("random_uniform", &random_uniform, "Row i: uniform numbers in [0, 1) of the stream (seed, i).");
  def_random("random_below", &random_below, "Row i: uniform integers in [0, n) of the stream (seed, i).", "n"_a);
  def_random("random_beta", &random_beta, "Row i: beta numbers of the stream (seed, i).", "a"_a, "b"_a);
  def_random("random_categorical", &random_categorical,
             "Row i: indices drawn in proportion to weights, of the stream (seed, i).", "weights"_a);
  def_random("random_permutation", &random_permutation, "Row i: a permutation of the stream (seed, i).");
}
