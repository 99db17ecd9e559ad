#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "vectors/distance.h"
#include "vectors/weighting.h"

namespace textmill::bind {
namespace {

using vectors::DenseRows;
using vectors::Local;
using vectors::Measure;
using vectors::SparseRows;

// Checks the arrays of a sparse matrix; columns must rise within each row when `sorted`.
void check_rows(const char* name, std::span<const std::int64_t> offsets, std::span<const std::int32_t> columns,
                std::size_t values, std::size_t extent, bool sorted) {
  check_offsets(offsets, columns.size(), name);
  require(columns.size() == values, name, " must have as many values as columns");
  std::int32_t least = 0, most = -1;
  for (const std::int32_t column : columns) {
    least = std::min(least, column);
    most = std::max(most, column);
  }
  require(least >= 0 && most < static_cast<std::int64_t>(extent), "columns of ", name, " must lie from 0 to ", extent,
          " - 1, got ", least < 0 ? least : most);
  if (!sorted) return;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    bool rising = true;
    for (auto e = static_cast<std::size_t>(offsets[i - 1]) + 1; e < static_cast<std::size_t>(offsets[i]); ++e)
      rising &= columns[e] > columns[e - 1];
    require(rising, "columns of ", name, " must rise within row ", i - 1);
  }
}

template <class Count, class Real>
std::size_t weigh(In<std::int64_t, 1> offsets, In<std::int32_t, 1> columns, In<Count, 1> values,
                  const std::string& local, In<double, 1> global, std::size_t extent, double per_log, bool unit,
                  Out<std::int64_t, 1> out_offsets, Out<std::int32_t, 1> out_columns, Out<Real, 1> out_values,
                  std::size_t threads) {
  static const std::unordered_map<std::string, Local> locals = {
      {"n", Local::raw}, {"b", Local::binary}, {"a", Local::augmented}, {"l", Local::logarithm}};
  const auto found = locals.find(local);
  require(found != locals.end(), "the local weight must be n, b, a or l");
  require(threads > 0, "threads must be at least 1");
  require(global.size() == 0 || global.size() == extent, "there must be one global weight a column, or none");
  require(out_offsets.size() == offsets.size() && out_columns.size() == columns.size() &&
              out_values.size() == values.size(),
          "outputs must have the sizes of the inputs");
  nb::gil_scoped_release nogil;
  check_rows("X", view(offsets), view(columns), values.size(), extent, false);
  return vectors::weigh<Count, Real>({view(offsets), view(columns), view(values)},
                                     {found->second, view(global), per_log, unit},
                                     {view(out_offsets), view(out_columns), view(out_values)}, threads);
}

Measure measure_of(const std::string& name) {
  static const std::unordered_map<std::string, Measure> measures = {{"manhattan", Measure::manhattan},
                                                                    {"euclidean", Measure::euclidean},
                                                                    {"chebyshev", Measure::chebyshev},
                                                                    {"minkowski", Measure::minkowski},
                                                                    {"cosine", Measure::cosine},
                                                                    {"kl", Measure::kl},
                                                                    {"js", Measure::js},
                                                                    {"jaccard", Measure::jaccard}};
  const auto found = measures.find(name);
  require(found != measures.end(), "no measure is called ", name);
  return found->second;
}

using Csr = std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>, In<double, 1>>;  // offsets, columns, values

SparseRows rows_of(const Csr& m) {
  const auto& [offsets, columns, values] = m;
  return {offsets.size() - 1, view(offsets), view(columns), view(values)};
}

SparseRows checked(const char* name, const Csr& m, std::size_t extent) {
  const auto& [offsets, columns, values] = m;
  check_rows(name, view(offsets), view(columns), values.size(), extent, true);
  return rows_of(m);
}

template <class Matrix>
void check_result(const Matrix& x, const Matrix& y, const Out<double, 2>& out, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(out.shape(0) == x.rows && out.shape(1) == y.rows, "out must be ", x.rows, " x ", y.rows);
}

void check_power(Measure measure, double p) {
  require(measure != Measure::minkowski || p >= 1.0, "p must be at least 1");
}

void merge_rows(const Csr& x, const Csr& y, const std::string& name, double p, std::size_t extent, Out<double, 2> out,
                std::size_t threads) {
  const Measure measure = measure_of(name);
  check_power(measure, p);
  nb::gil_scoped_release nogil;
  const SparseRows a = checked("X", x, extent), b = checked("Y", y, extent);
  check_result(a, b, out, threads);
  vectors::merge_rows(a, b, measure, p, view(out), threads);
}

void match_rows(const Csr& x, const Csr& y, const Csr& terms, const std::string& name, std::size_t extent,
                Out<double, 2> out, std::size_t threads) {
  const Measure measure = measure_of(name);
  require(measure == Measure::cosine || measure == Measure::jaccard || measure == Measure::manhattan ||
              measure == Measure::euclidean || measure == Measure::js,
          name, " is not made of common terms");
  nb::gil_scoped_release nogil;
  const SparseRows a = checked("X", x, extent), b = checked("Y", y, extent), t = checked("terms", terms, b.rows);
  require(t.rows == extent, "terms must have ", extent, " rows");
  check_result(a, b, out, threads);
  vectors::match_rows(a, b, t, measure, view(out), threads);
}

DenseRows rows_of(const In<double, 2>& m) { return {m.shape(0), m.shape(1), view(m)}; }

void check_columns(const DenseRows& x, const DenseRows& y) {
  require(x.columns == y.columns, "X has ", x.columns, " columns, Y has ", y.columns);
}

void compare_rows(In<double, 2> x, In<double, 2> y, const std::string& name, double p, Out<double, 2> out,
                  std::size_t threads) {
  const Measure measure = measure_of(name);
  check_power(measure, p);
  const DenseRows a = rows_of(x), b = rows_of(y);
  check_columns(a, b);
  check_result(a, b, out, threads);
  nb::gil_scoped_release nogil;
  vectors::compare_rows(a, b, measure, p, view(out), threads);
}

void euclidean_of_products(In<double, 2> x, In<double, 2> y, Out<double, 2> out, std::size_t threads) {
  const DenseRows a = rows_of(x), b = rows_of(y);
  check_columns(a, b);
  check_result(a, b, out, threads);
  nb::gil_scoped_release nogil;
  vectors::euclidean_of_products(a, b, view(out), threads);
}

template <class Count, class Real>
void def_weigh(nb::module_& m) {
  m.def("weigh", &weigh<Count, Real>, "offsets"_a, "columns"_a, "values"_a.noconvert(), nb::kw_only(), "local"_a,
        "weights"_a, "extent"_a, "per_log"_a, "unit"_a, "out_offsets"_a.noconvert(), "out_columns"_a.noconvert(),
        "out_values"_a.noconvert(), "threads"_a, "Weigh the entries of sparse rows; returns how many were kept.");
}

}  // namespace

void bind_vectors(nb::module_& m) {
  def_weigh<std::int32_t, double>(m);
  def_weigh<std::int32_t, float>(m);
  def_weigh<float, double>(m);
  def_weigh<float, float>(m);
  def_weigh<double, double>(m);
  def_weigh<double, float>(m);
  m.def("merge_rows", &merge_rows, "x"_a, "y"_a, "measure"_a, nb::kw_only(), "p"_a, "extent"_a, "out"_a.noconvert(),
        "threads"_a, "Measure all pairs of sparse rows by merging their supports.");
  m.def("match_rows", &match_rows, "x"_a, "y"_a, "terms"_a, "measure"_a, nb::kw_only(), "extent"_a, "out"_a.noconvert(),
        "threads"_a, "Measure all pairs of sparse rows by their common terms; terms is y transposed.");
  m.def("compare_rows", &compare_rows, "x"_a, "y"_a, "measure"_a, nb::kw_only(), "p"_a, "out"_a.noconvert(),
        "threads"_a, "Measure all pairs of dense rows.");
  m.def("euclidean_of_products", &euclidean_of_products, "x"_a, "y"_a, nb::kw_only(), "out"_a.noconvert(), "threads"_a,
        "Turn the products x y^T in out into Euclidean distances.");
}

}  // namespace textmill::bind
