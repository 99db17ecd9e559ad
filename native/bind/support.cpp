#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <optional>

#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "linear/kernel.h"
#include "linear/smo.h"
#include "linear/tube.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;
using linear::Design;
using linear::Kernel;
using linear::KernelKind;
using Rows = base::Csr<std::int64_t, double>;

Rows checked_rows(const Offsets& offsets, const Ids& indices, const Reals& values, std::size_t columns) {
  check_offsets(view(offsets), values.size(), "rows");
  require(indices.size() == values.size(), "there must be a value for each index");
  bool inside = columns < (std::size_t{1} << 31) && offsets.size() - 1 < (std::size_t{1} << 31);
  for (const std::int32_t j : view(indices)) inside &= j >= 0 && static_cast<std::size_t>(j) < columns;
  require(inside, "columns must lie below ", columns);
  return {offsets.size() - 1, columns, view(offsets), view(indices), view(values)};
}

// A column must have as many entries in both forms, or the ranks of entries would lead out of it.
void check_same(const Rows& x, const Design& z) {
  std::vector<std::size_t> entries(x.columns, 0);
  for (const std::int32_t j : x.indices) ++entries[j];
  bool same = true;
  for (std::size_t j = 0; j < x.columns; ++j) same &= entries[j] == z.entries(j);
  require(same, "both forms of the rows must hold the same entries");
}

void make_kernel(Kernel* self, const std::string& name, int degree, double gamma, double coef0, bool unit) {
  require(name == "linear" || name == "polynomial" || name == "rbf", "no kernel ", name);
  require(degree >= 1 && std::isfinite(gamma) && std::isfinite(coef0), "degree must be 1 at least, the rest finite");
  const KernelKind kind = name == "linear" ? KernelKind::linear
                          : name == "rbf"  ? KernelKind::rbf
                                           : KernelKind::polynomial;
  new (self) Kernel{kind, degree, gamma, coef0, unit};
}

void gram(Offsets offsets, Ids indices, Reals values, const Design& z, Reals weight, const Kernel& kernel,
          Out<double, 2> out, std::size_t threads) {
  const Rows x = checked_rows(offsets, indices, values, z.columns());
  require(z.rows() == x.rows && z.entries() == values.size(), "both forms of the rows must have ", x.rows, " rows");
  check_same(x, z);
  require(weight.size() == x.columns || weight.size() == 0, "weight needs ", x.columns, " entries or none");
  require(out.shape(0) == x.rows && out.shape(1) == x.rows, "out must be ", x.rows, " x ", x.rows);
  nb::gil_scoped_release nogil;
  linear::gram(x, z, view(weight), kernel, view(out), threads);
}

void kernel_sums(Offsets offsets, Ids indices, Reals values, const Design& z, Reals squares, const Kernel& kernel,
                 In<double, 2> dual, Out<double, 2> out, std::size_t threads) {
  const Rows x = checked_rows(offsets, indices, values, z.columns());
  require(squares.size() == z.rows() && dual.shape(1) == z.rows(), "squares and dual need ", z.rows(), " entries");
  require(out.shape(0) == x.rows && out.shape(1) == dual.shape(0), "out must be ", x.rows, " x ", dual.shape(0));
  nb::gil_scoped_release nogil;
  linear::kernel_sums(x, z, view(squares), kernel, view(dual), dual.shape(0), view(out), threads);
}

void check_problem(std::size_t n, const Reals& target, const Reals& lower, const Reals& upper, double tube) {
  require(target.size() == n && lower.size() == n && upper.size() == n, "target, lower and upper need ", n, " entries");
  bool right = tube >= 0.0 && std::isfinite(tube);
  for (std::size_t k = 0; k < n; ++k)
    right &= std::isfinite(target(k)) && lower(k) <= 0.0 && upper(k) >= 0.0 && std::isfinite(lower(k) - upper(k));
  require(right, "targets must be finite, and bounds finite with 0 between them");
}

// Each problem is a stretch of `listed` from offsets[p] to offsets[p + 1]: rows of the one matrix.
nb::tuple solve_listed(In<double, 2> matrix, Offsets offsets, Ids listed, Reals target, Reals lower, Reals upper,
                       double tube, double tolerance, std::size_t max_steps, Out<double, 1> dual, std::size_t threads) {
  const std::size_t size = matrix.shape(0), n = listed.size();
  require(matrix.shape(1) == size, "the matrix must be square");
  check_offsets(view(offsets), n, "problems");
  check_problem(n, target, lower, upper, tube);
  require(dual.size() == n, "dual needs ", n, " entries");
  bool inside = true;
  for (const std::int32_t i : view(listed)) inside &= i >= 0 && static_cast<std::size_t>(i) < size;
  require(inside, "listed rows must lie below ", size);
  const std::size_t problems = offsets.size() - 1;
  std::vector<double> intercept(problems), objective(problems), violation(problems);
  std::vector<std::int64_t> steps(problems);
  {
    nb::gil_scoped_release nogil;
    base::parallel_for(problems, threads, [&](std::size_t p) {
      const auto begin = static_cast<std::size_t>(offsets(p)), count = static_cast<std::size_t>(offsets(p + 1)) - begin;
      linear::DenseRows rows(view(matrix), size, view(listed).subspan(begin, count));
      std::vector<double> slope(count);
      for (std::size_t k = 0; k < count; ++k) slope[k] = -target(begin + k);
      const auto own = view(dual).subspan(begin, count);
      std::ranges::fill(own, 0.0);
      const linear::SupportProblem problem{view(target).subspan(begin, count), view(lower).subspan(begin, count),
                                           view(upper).subspan(begin, count), tube};
      const auto solution = linear::solve_support(rows, problem, tolerance, max_steps, own, slope);
      intercept[p] = solution.intercept;
      objective[p] = solution.objective;
      violation[p] = solution.violation;
      steps[p] = static_cast<std::int64_t>(solution.steps);
    });
  }
  return nb::make_tuple(to_numpy(std::move(intercept)), to_numpy(std::move(objective)), to_numpy(std::move(violation)),
                        to_numpy(std::move(steps)));
}

nb::tuple solve_cached(Offsets offsets, Ids indices, Reals values, const Design& z, const Kernel& kernel, Reals target,
                       Reals lower, Reals upper, double tube, double tolerance, std::size_t max_steps,
                       std::size_t rows_held, Out<double, 1> dual, Out<double, 1> slope) {
  const Rows x = checked_rows(offsets, indices, values, z.columns());
  check_problem(x.rows, target, lower, upper, tube);
  require(z.rows() == x.rows, "both forms of the rows must have ", x.rows, " rows");
  require(dual.size() == x.rows && slope.size() == x.rows, "dual and slope need ", x.rows, " entries");
  linear::SupportSolution solution;
  {
    nb::gil_scoped_release nogil;
    linear::CachedRows rows(x, z, kernel, rows_held);
    solution = linear::solve_support(rows, {view(target), view(lower), view(upper), tube}, tolerance, max_steps,
                                     view(dual), view(slope));
  }
  return nb::make_tuple(solution.intercept, solution.objective, solution.violation, solution.steps);
}

std::tuple<double, double> tube_pass(Offsets offsets, Ids indices, Reals values, Reals target, Reals square,
                                     double cost, double tube, double center, double rate, std::uint64_t seed,
                                     double total, Out<double, 1> dual, Out<double, 1> w) {
  const Rows x = checked_rows(offsets, indices, values, w.size());
  require(target.size() == x.rows && square.size() == x.rows && dual.size() == x.rows, "target, square and dual need ",
          x.rows, " entries");
  require(cost > 0.0 && tube >= 0.0 && rate >= 0.0, "cost must be above 0, tube and rate at least 0");
  nb::gil_scoped_release nogil;
  const double worst =
      linear::tube_pass(x, view(target), view(square), {cost, tube, center, rate}, seed, view(dual), view(w), total);
  return {worst, total};
}

}  // namespace

void bind_support(nb::module_& m) {
  nb::class_<Kernel>(m, "Kernel", "A kernel of two rows.")
      .def("__init__", &make_kernel, "name"_a, "degree"_a, "gamma"_a, "coef0"_a, "unit"_a);
  m.def("gram", &gram, "offsets"_a, "indices"_a, "values"_a, "z"_a, "weight"_a, "kernel"_a, "out"_a.noconvert(),
        "threads"_a, "The kernel between all rows.");
  m.def("kernel_sums", &kernel_sums, "offsets"_a, "indices"_a, "values"_a, "z"_a, "squares"_a, "kernel"_a, "dual"_a,
        "out"_a.noconvert(), "threads"_a, "Sums of kernel values with the rows of z, weighted by each dual.");
  m.def("solve_listed", &solve_listed, "matrix"_a, "offsets"_a, "listed"_a, "target"_a, "lower"_a, "upper"_a, "tube"_a,
        "tolerance"_a, "max_steps"_a, "dual"_a.noconvert(), "threads"_a,
        "Support vector problems over rows of one matrix: intercepts, objectives, violations, steps.");
  m.def("solve_cached", &solve_cached, "offsets"_a, "indices"_a, "values"_a, "z"_a, "kernel"_a, "target"_a, "lower"_a,
        "upper"_a, "tube"_a, "tolerance"_a, "max_steps"_a, "rows_held"_a, "dual"_a.noconvert(), "slope"_a.noconvert(),
        "One support vector problem whose matrix is made row by row: intercept, objective, violation, steps.");
  m.def("tube_pass", &tube_pass, "offsets"_a, "indices"_a, "values"_a, "target"_a, "square"_a, "cost"_a, "tube"_a,
        "center"_a, "rate"_a, "seed"_a, "total"_a, "dual"_a.noconvert(), "w"_a.noconvert(),
        "One pass of dual coordinate descent for linear regression; returns the worst slope and the sum of the dual.");
}

}  // namespace textmill::bind
