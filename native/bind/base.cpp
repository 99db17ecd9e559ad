#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"

namespace textmill::bind {
namespace {

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

}  // namespace

void bind_base(nb::module_& m) {
  m.def("sum", &sum, "values"_a, "threads"_a, "Sum of an array: the same bits for any number of threads.");
}

}  // namespace textmill::bind
