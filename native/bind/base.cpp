#include <cerrno>
#include <cmath>
#include <exception>
#include <initializer_list>
#include <limits>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <nanobind/stl/string.h>

#include "base/checked.h"
#include "base/fault.h"
#include "base/math.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/simd.h"
#include "base/sparse.h"
#include "base/vector.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/blocks.h"

namespace textmill::bind {
namespace {

using AnyShapeIn = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using AnyShapeOut = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using AnyType = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;  // dtype and rank are looked at by hand
using AnyTypeOut = nb::ndarray<nb::c_contig, nb::device::cpu>;

// -------------------------------------------------------------------------------------------------------- mathematics

std::string simd() { return base::simd() == base::Simd::avx2 ? "avx2" : "baseline"; }

template <void (*function)(std::span<const double>, std::span<double>)>
void elementwise(AnyShapeIn values, AnyShapeOut out, std::size_t threads) {
  require_threads(threads);
  require(values.ndim() == out.ndim(), "out must have ", values.ndim(), " axes, got ", out.ndim());
  for (std::size_t i = 0; i < values.ndim(); ++i) {
    require(values.shape(i) == out.shape(i), "axis ", i, " of out must be ", values.shape(i), ", got ", out.shape(i));
  }
  require(values.data() == out.data() || !overlap(values, out), "out overlaps values without being the same array");
  const auto from = view(values);
  const auto to = view(out);
  nb::gil_scoped_release nogil;
  base::parallel_blocks(to.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    function(from.subspan(begin, end - begin), to.subspan(begin, end - begin));
  });
}

void logsumexp_rows(In<double, 2> values, Out<double, 1> out, std::size_t threads) {
  require_threads(threads);
  const std::size_t rows = values.shape(0), columns = values.shape(1);
  require(out.shape(0) == rows, "out must have ", rows, " entries, got ", out.shape(0));
  require(!overlap(values, out), "out overlaps values");
  const auto from = view(values);
  const auto to = view(out);
  nb::gil_scoped_release nogil;
  base::parallel_blocks(rows, kBlock / (columns + 1) + 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] = base::logsumexp(from.subspan(i * columns, columns));
  });
}

// ----------------------------------------------------------------------------------------------------- random numbers

void random_normal(std::uint64_t seed, Out<double, 2> out, std::size_t threads, std::uint64_t first) {
  fill_rows(
      seed, out, threads,
      [](base::Random& random, std::span<double> row) {
        for (double& x : row) x = random.normal();
      },
      first);
}

void random_gamma(std::uint64_t seed, double shape, Out<double, 2> out, std::size_t threads) {
  require_shape(shape, "shape");
  fill_rows(seed, out, threads, [shape](base::Random& random, std::span<double> row) {
    for (double& x : row) x = random.gamma(shape);
  });
}

void random_dirichlet(std::uint64_t seed, In<double, 1> alpha, Out<double, 2> out, std::size_t threads) {
  require(alpha.size() >= 1, "alpha is empty");
  require(out.shape(1) == alpha.size(), "out must have ", alpha.size(), " columns, got ", out.shape(1));
  require(!overlap(alpha, out), "out overlaps alpha");
  const auto shapes = view(alpha);
  for (const double shape : shapes) require_shape(shape, "alpha");
  fill_rows(seed, out, threads,
            [shapes](base::Random& random, std::span<double> row) { random.dirichlet(shapes, row); });
}

// -------------------------------------------------------------------------------------------- vectors of parameters

using Vector = In<double, 1>;
using VectorOut = Out<double, 1>;

void require_sizes(std::size_t size, std::initializer_list<const Vector*> others) {
  for (const Vector* other : others) {
    require(other->size() == size, "the vectors must have ", size, " entries each, got ", other->size());
  }
}

void require_outside(const VectorOut& out, std::initializer_list<const Vector*> inputs) {
  for (const Vector* input : inputs) require(!overlap(out, *input), "the output overlaps an input");
}

void require_penalty(const Vector& l1, std::size_t size) {
  require(l1.size() == 1 || l1.size() == size, "l1 must have 1 or ", size, " entries, got ", l1.size());
}

template <double (*function)(base::Reals, base::Reals)>
double of_two(Vector a, Vector b) {
  require_sizes(a.size(), {&b});
  nb::gil_scoped_release nogil;
  return function(view(a), view(b));
}

void release_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

double largest_magnitude(Vector a) {
  nb::gil_scoped_release nogil;
  return base::largest_magnitude(view(a));
}

double weighted_norm(Vector a, Vector l1) {
  require_penalty(l1, a.size());
  nb::gil_scoped_release nogil;
  return base::weighted_norm(view(a), view(l1));
}

void add_scaled(VectorOut y, double factor, Vector x) {
  require_sizes(y.size(), {&x});
  require_outside(y, {&x});
  nb::gil_scoped_release nogil;
  base::add_scaled(view(y), factor, view(x));
}

double add_scaled_dot(VectorOut y, double factor, Vector x, Vector b) {
  require_sizes(y.size(), {&x, &b});
  require_outside(y, {&x, &b});
  nb::gil_scoped_release nogil;
  return base::add_scaled_dot(view(y), factor, view(x), view(b));
}

void pseudo_gradient(Vector theta, Vector gradient, Vector l1, VectorOut out) {
  require_sizes(out.size(), {&theta, &gradient});
  require_penalty(l1, theta.size());
  require_outside(out, {&theta, &gradient, &l1});
  nb::gil_scoped_release nogil;
  base::pseudo_gradient(view(theta), view(gradient), view(l1), view(out));
}

double align(Vector theta, Vector gradient, Vector l1, bool zeros, VectorOut direction) {
  require_sizes(direction.size(), {&theta, &gradient});
  require_penalty(l1, theta.size());
  require_outside(direction, {&theta, &gradient, &l1});
  nb::gil_scoped_release nogil;
  return base::align(view(theta), view(gradient), view(l1), zeros, view(direction));
}

double project(Vector theta, Vector gradient, Vector l1, Vector direction, double size, VectorOut out) {
  require_sizes(out.size(), {&theta, &gradient, &direction});
  require_penalty(l1, theta.size());
  require_outside(out, {&theta, &gradient, &l1, &direction});
  nb::gil_scoped_release nogil;
  return base::project(view(theta), view(gradient), view(l1), view(direction), size, view(out));
}

// ---------------------------------------------------------------------------------------------------- sparse products

std::string name(nb::dlpack::dtype type) {
  static constexpr const char* kinds[] = {"int", "uint", "float"};
  return (type.code < 3 ? kinds[type.code] : "type") + std::to_string(static_cast<int>(type.bits));
}

template <class T, class Array>
bool holds(const Array& array) {
  return array.dtype() == nb::dtype<T>();
}

template <class T, class Array>
std::span<T> typed(const Array& array) {
  return {static_cast<T*>(const_cast<void*>(static_cast<const void*>(array.data()))), array.size()};
}

// Calls body(Csr<...>) with the types of the three arrays of a SciPy CSR matrix; the products check their contents.
template <class Body>
void with_csr(const AnyType& indptr, const AnyType& indices, const AnyType& data, std::size_t columns,
              std::size_t threads, Body body) {
  require_threads(threads);
  require(indices.ndim() == 1 && data.ndim() == 1, "indices and data must have one axis");
  require(holds<std::int32_t>(indices), "indices must be int32, got ", name(indices.dtype()));
  const auto with_types = [&]<class Offset, class Value>() {
    const base::Csr<Offset, Value> a{indptr.size() - 1, columns, typed<const Offset>(indptr),
                                     typed<const std::int32_t>(indices), typed<const Value>(data)};
    nb::gil_scoped_release nogil;
    body(a);
  };
  const auto with_offsets = [&]<class Offset>() {
    if (holds<double>(data)) return with_types.template operator()<Offset, double>();
    if (holds<float>(data)) return with_types.template operator()<Offset, float>();
    if (holds<std::int32_t>(data)) return with_types.template operator()<Offset, std::int32_t>();
    require(false, "data must be float64, float32 or int32, got ", name(data.dtype()));
  };
  if (holds<std::int32_t>(indptr)) return with_offsets.template operator()<std::int32_t>();
  if (holds<std::int64_t>(indptr)) return with_offsets.template operator()<std::int64_t>();
  require(false, "indptr must be int32 or int64, got ", name(indptr.dtype()));
}

std::size_t count_rows(const AnyType& indptr) {
  require(indptr.ndim() == 1 && indptr.size() >= 1, "indptr must have one axis and one entry more than there are rows");
  return indptr.size() - 1;
}

// The number of columns of a dense operand: a vector has one.
template <class Array>
std::size_t dense_columns(const Array& array, std::size_t rows, std::size_t rank, const char* name) {
  require(array.ndim() == rank, name, " must have ", rank, " axes, got ", array.ndim());
  require(array.shape(0) == rows, name, " must have ", rows, " rows, got ", array.shape(0));
  return rank == 1 ? 1 : array.shape(1);
}

void require_apart(const AnyTypeOut& out, std::initializer_list<const AnyType*> inputs) {
  for (const AnyType* input : inputs) require(!overlap(out, *input), "out overlaps an input");
}

template <std::size_t Rank>
void csr_product(AnyType indptr, AnyType indices, AnyType data, std::size_t columns, AnyType dense, AnyTypeOut out,
                 std::size_t threads) {
  const std::size_t rows = count_rows(indptr);
  const std::size_t k = dense_columns(dense, columns, Rank, "dense");
  require(dense_columns(out, rows, Rank, "out") == k, "out must have ", k, " columns");
  require_apart(out, {&indptr, &indices, &data, &dense});
  require(holds<double>(dense) || holds<float>(dense), "dense must be float64 or float32, got ", name(dense.dtype()));
  require(out.dtype() == dense.dtype(), "out must be ", name(dense.dtype()), " like dense, got ", name(out.dtype()));
  with_csr(indptr, indices, data, columns, threads, [&](const auto& a) {
    if (holds<double>(dense)) return base::multiply(a, typed<const double>(dense), k, typed<double>(out), threads);
    base::multiply(a, typed<const float>(dense), k, typed<float>(out), threads);
  });
}

template <std::size_t Rank>
void csr_transposed_product(AnyType indptr, AnyType indices, AnyType data, std::size_t columns, AnyType dense,
                            AnyTypeOut out, std::size_t threads) {
  const std::size_t rows = count_rows(indptr);
  const std::size_t k = dense_columns(dense, rows, Rank, "dense");
  require(dense_columns(out, columns, Rank, "out") == k, "out must have ", k, " columns");
  require_apart(out, {&indptr, &indices, &data, &dense});
  require(holds<double>(dense) || holds<float>(dense), "dense must be float64 or float32, got ", name(dense.dtype()));
  require(holds<double>(out), "out must be float64, got ", name(out.dtype()));
  with_csr(indptr, indices, data, columns, threads, [&](const auto& a) {
    const auto to = typed<double>(out);
    if (holds<double>(dense)) return base::multiply_transposed(a, typed<const double>(dense), k, to, threads);
    base::multiply_transposed(a, typed<const float>(dense), k, to, threads);
  });
}

// ------------------------------------------------------------------------------------------------------------- faults

// Faults of every kernel: an OSError with the name of the file, or a DataError, with its place in the documents if it
// has one.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const base::Fault& fault) {
    if (fault.system_error != 0) {
      errno = fault.system_error;
      PyErr_SetFromErrnoWithFilename(PyExc_OSError, fault.what());
      return;
    }
    const std::string_view words = fault.what();  // which may quote what is not UTF-8
    const nb::object message =
        nb::steal(PyUnicode_DecodeUTF8(words.data(), static_cast<Py_ssize_t>(words.size()), "replace"));
    const nb::object data_error = nb::module_::import_("textmill.errors").attr("DataError");
    const nb::object error = fault.place
                                 ? data_error(message, "source"_a = "document", "line"_a = fault.place->record + 1,
                                              "column"_a = fault.place->position + 1)
                                 : data_error(message);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

}  // namespace

void bind_base(nb::module_& m) {
  nb::register_exception_translator(translate, nullptr);
  m.def("simd", &simd, "The instruction set in use: 'avx2', or 'baseline', which TEXTMILL_SIMD=baseline forces.");
  const auto def_elementwise = [&m](const char* name, auto function, const char* text) {
    m.def(name, function, "values"_a, "out"_a.noconvert(), "threads"_a, text);
  };
  def_elementwise("exp", &elementwise<base::exp>, "out = exp(values), to 1 ulp; out may be values.");
  def_elementwise("log", &elementwise<base::log>, "out = log(values), to 1 ulp; out may be values.");
  def_elementwise("log1p", &elementwise<base::log1p>, "out = log(1 + values), to 1 ulp; out may be values.");
  def_elementwise("digamma", &elementwise<base::digamma>,
                  "out = digamma(values) for values > 0, to a relative 1e-15; out may be values.");
  m.def("logsumexp_rows", &logsumexp_rows, "values"_a, "out"_a.noconvert(), "threads"_a,
        "out[i] = log(sum(exp(values[i]))).");

  m.def("dot", &of_two<base::dot>, "a"_a, "b"_a, "sum(a * b), the same bits for any number of threads.");
  m.def("divided_square", &of_two<base::divided_square>, "a"_a, "d"_a, "sum(a * a / d).");
  m.def("release_memory", &release_memory, "Give memory that was freed back to the system, where it can be told to.");
  m.def("largest_magnitude", &largest_magnitude, "a"_a, "max(abs(a)), 0 for no values.");
  m.def("weighted_norm", &weighted_norm, "a"_a, "l1"_a, "sum(l1 * abs(a)); l1 has one entry or one for each of a.");
  m.def("add_scaled", &add_scaled, "y"_a.noconvert(), "factor"_a, "x"_a, "y += factor * x.");
  m.def("add_scaled_dot", &add_scaled_dot, "y"_a.noconvert(), "factor"_a, "x"_a, "b"_a,
        "y += factor * x, then sum(b * y).");
  m.def("pseudo_gradient", &pseudo_gradient, "theta"_a, "gradient"_a, "l1"_a, "out"_a.noconvert(),
        "out = pseudo-gradient of a function with this gradient and an L1 penalty.");
  m.def("align", &align, "theta"_a, "gradient"_a, "l1"_a, "zeros"_a, "direction"_a.noconvert(),
        "Zero what does not go down the pseudo-gradient, everywhere or where theta is zero; sum(direction ** 2).");
  m.def("project", &project, "theta"_a, "gradient"_a, "l1"_a, "direction"_a, "size"_a, "out"_a.noconvert(),
        "out = theta + size * direction, 0 where it leaves the orthant; the change that the pseudo-gradient predicts.");

  m.def("random_normal", &random_normal, "seed"_a, "out"_a.noconvert(), "threads"_a, "first"_a = 0,
        "Row i: standard normal numbers of the stream (seed, first + i).");
  m.def("random_gamma", &random_gamma, "seed"_a, "shape"_a, "out"_a.noconvert(), "threads"_a,
        "Row i: gamma numbers of the stream (seed, i).");
  m.def("random_dirichlet", &random_dirichlet, "seed"_a, "alpha"_a, "out"_a.noconvert(), "threads"_a,
        "Row i: a Dirichlet vector of the stream (seed, i).");

  const auto def_product = [&m](const char* name, auto function, const char* text) {
    m.def(name, function, "indptr"_a, "indices"_a, "data"_a, "columns"_a, "dense"_a, "out"_a.noconvert(), "threads"_a,
          text);
  };
  def_product("csr_dense", &csr_product<2>, "out = A @ dense for a CSR matrix A; out has the dtype of dense.");
  def_product("csr_vector", &csr_product<1>, "out = A @ dense for a CSR matrix A and a vector.");
  def_product("csr_transposed_dense", &csr_transposed_product<2>,
              "out = A.T @ dense for a CSR matrix A; out is float64.");
  def_product("csr_transposed_vector", &csr_transposed_product<1>,
              "out = A.T @ dense for a CSR matrix A and a vector.");
}

}  // namespace textmill::bind
