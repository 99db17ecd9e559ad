#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "vectors/best.h"
#include "vectors/coarse.h"
#include "vectors/inverted.h"
#include "vectors/lists.h"
#include "vectors/scan.h"
#include "vectors/vafile.h"

namespace textmill::bind {
namespace {

using vectors::Best;
using vectors::Hit;
using vectors::Kind;
using vectors::Wanted;

using Floats1 = In<float, 1>;
using Floats2 = In<float, 2>;
using Bytes1 = In<std::uint8_t, 1>;

Kind kind_of(const std::string& name) {
  require(name == "product" || name == "distance", "kind must be product or distance, got ", name);
  return name == "product" ? Kind::product : Kind::distance;
}

Wanted wanted_of(std::int64_t k, double least) {  // k = 0: all
  require(k >= 0, "k must not be negative");
  require(!std::isnan(least), "least must be a number");
  return {k == 0 ? vectors::kAll : static_cast<std::size_t>(k), least};
}

// Offsets [queries + 1], rows and keys, best first, of all queries.
using Found = std::tuple<Numpy<std::int64_t, 1>, Numpy<std::int64_t, 1>, Numpy<double, 1>, std::size_t>;

struct Answers {
  std::vector<std::int64_t> offsets{0}, rows;
  std::vector<double> keys;

  explicit Answers(const std::vector<Best>& best) {
    for (const Best& one : best) {
      for (const Hit& hit : one.sorted()) {
        rows.push_back(hit.row);
        keys.push_back(hit.key);
      }
      offsets.push_back(static_cast<std::int64_t>(rows.size()));
    }
  }

  Found found(std::size_t read) {
    return {to_numpy(std::move(offsets)), to_numpy(std::move(rows)), to_numpy(std::move(keys)), read};
  }
};

// Dense rows as a scan takes them; the arrays live as long as this does.
class DenseView {
 public:
  DenseView(const std::string& kind, Floats2 values, Floats2 heads, Floats1 tails, Floats1 halves, Bytes1 allowed,
            double longest)
      : values_(values), heads_(heads), tails_(tails), halves_(halves), allowed_(allowed) {
    const std::size_t rows = values.shape(0), columns = values.shape(1), head = heads.shape(1);
    require(columns >= 1, "rows need at least one column");
    require(heads.shape(0) == rows && head >= 1 && head <= columns, "heads must be ", rows, " x 1 to ", columns);
    require(tails.size() == (head == columns ? 0 : rows), "there must be one tail a row when the heads are shorter");
    require(halves.size() == (kind_of(kind) == Kind::distance ? rows : 0),
            "there must be one half a row for distances");
    require(allowed.size() == 0 || allowed.size() == rows, "allowed must have one entry a row, or none");
    require(longest >= 0.0 && longest <= 1e18, "longest must lie from 0 to 1e18");
    dense_ = {kind_of(kind), rows,         columns,       head,           view(values_),
              view(heads_),  view(tails_), view(halves_), view(allowed_), longest};
  }

  const vectors::Dense& operator*() const { return dense_; }

  void check_queries(const Floats2& queries, std::size_t threads) const {
    require(threads > 0, "threads must be at least 1");
    require(queries.shape(1) == dense_.columns, "queries must have ", dense_.columns, " columns");
    for (const float q : view(queries)) require(std::abs(q) <= 1e18f, "queries must be finite and at most 1e18");
  }

 private:
  Floats2 values_, heads_;
  Floats1 tails_, halves_;
  Bytes1 allowed_;
  vectors::Dense dense_;
};

// One(i, best): searches query i and returns what it read.
template <class One>
Found each_query(std::size_t queries, Wanted wanted, std::size_t threads, One one) {
  std::vector<Best> best(queries, Best(wanted));
  std::atomic<std::size_t> read = 0;
  std::optional<Answers> answers;
  {
    nb::gil_scoped_release nogil;
    base::parallel_for(queries, threads, [&](std::size_t i) { read += one(i, best[i]); });
    answers.emplace(best);
  }
  return answers->found(read);
}

Found scan(const DenseView& x, Floats2 queries, std::int64_t k, double least, std::size_t threads) {
  x.check_queries(queries, threads);
  const Wanted wanted = wanted_of(k, least);
  return each_query(queries.shape(0), wanted, threads, [&](std::size_t i, Best& best) {
    const vectors::Query query = vectors::prepare(*x, queries.data() + i * (*x).columns);
    return vectors::scan(*x, query, wanted, best, threads);
  });
}

// The best of many queries, filled tile by tile; for one thread.
class Selection {
 public:
  Selection(const DenseView& x, Floats2 queries, std::int64_t k, double least)
      : values_(queries), best_(queries.shape(0), Best(wanted_of(k, least))) {
    x.check_queries(queries, 1);
    for (std::size_t i = 0; i < queries.shape(0); ++i)
      queries_.push_back(vectors::prepare(*x, queries.data() + i * (*x).columns));
  }

  // products [queries][>= count] of the heads of rows first .. first + count - 1.
  void add(const DenseView& x, Floats2 products, std::size_t first, std::size_t count) {
    require((*x).columns == values_.shape(1), "rows must have ", values_.shape(1), " columns");
    require(first <= (*x).rows && count <= (*x).rows - first, "rows ", first, " to ", first + count, " are not there");
    require(products.shape(0) == best_.size() && products.shape(1) >= count, "products must be queries x rows");
    nb::gil_scoped_release nogil;
    for (std::size_t i = 0; i < best_.size(); ++i)
      read_ += vectors::scan_products(*x, first, count, products.data() + i * products.shape(1), queries_[i], best_[i]);
  }

  void merge(const Selection& other) {
    require(other.best_.size() == best_.size(), "selections must be of the same queries");
    for (std::size_t i = 0; i < best_.size(); ++i) best_[i].take(other.best_[i]);
    read_ += other.read_;
  }

  Found found() const { return Answers(best_).found(read_); }

 private:
  Floats2 values_;
  std::vector<vectors::Query> queries_;
  std::vector<Best> best_;
  std::size_t read_ = 0;
};

void exact_keys(const DenseView& x, Floats1 query, In<std::int64_t, 1> rows, Out<double, 1> out) {
  require(query.size() == (*x).columns, "the query must have ", (*x).columns, " columns");
  require(out.size() == rows.size(), "out must have one entry a row");
  for (const std::int64_t row : view(rows))
    require(row >= 0 && row < static_cast<std::int64_t>((*x).rows), "there is no row ", row);
  nb::gil_scoped_release nogil;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* row = (*x).values.data() + static_cast<std::size_t>(rows.data()[i]) * (*x).columns;
    out.data()[i] = vectors::exact_key((*x).kind, row, query.data(), (*x).columns);
  }
}

vectors::Approximations edges_of(std::size_t bits, const Floats2& edges, std::size_t columns) {
  require(bits >= 1 && bits <= 8, "bits must lie from 1 to 8");
  require(edges.shape(0) == columns && edges.shape(1) == (std::size_t{1} << bits) + 1, "edges must be ", columns,
          " x 2^bits + 1");
  return {bits, view(edges), {}};
}

void approximate(Floats2 values, Floats2 edges, std::size_t bits, Out<std::uint8_t, 2> cells, std::size_t threads) {
  const vectors::Approximations a = edges_of(bits, edges, values.shape(1));
  require(values.shape(1) >= 1 && threads > 0, "there must be columns and threads");
  require(cells.shape(0) == values.shape(0) && cells.shape(1) == vectors::bytes_of(bits, values.shape(1)),
          "cells must be rows x bytes");
  nb::gil_scoped_release nogil;
  vectors::approximate(view(values), values.shape(1), a, view(cells), threads);
}

Found search_cells(const DenseView& x, Floats2 edges, std::size_t bits, In<std::uint8_t, 2> cells, Floats2 queries,
                   std::int64_t k, double least, std::size_t threads) {
  vectors::Approximations a = edges_of(bits, edges, (*x).columns);
  require(cells.shape(0) == (*x).rows && cells.shape(1) == vectors::bytes_of(bits, (*x).columns),
          "cells must be rows x bytes");
  a.cells = view(cells);
  x.check_queries(queries, threads);
  const Wanted wanted = wanted_of(k, least);
  return each_query(queries.shape(0), wanted, threads, [&](std::size_t i, Best& best) {
    const vectors::Query query = vectors::prepare(*x, queries.data() + i * (*x).columns);
    return vectors::search(*x, a, query, wanted, best, threads);
  });
}

void coarsen(Floats2 values, Out<std::int8_t, 2> cells, Out<float, 1> steps, Out<float, 1> errors,
             std::size_t threads) {
  const std::size_t rows = values.shape(0);
  require(values.shape(1) >= 1 && threads > 0, "there must be columns and threads");
  require(cells.shape(0) == rows && cells.shape(1) == vectors::stride_of(values.shape(1)),
          "cells must be rows x bytes");
  require(steps.size() == rows && errors.size() == rows, "there must be one step and one error a row");
  nb::gil_scoped_release nogil;
  vectors::coarsen(view(values), values.shape(1), view(cells), view(steps), view(errors), threads);
}

// Dense rows and the same rounded to bytes; the arrays live as long as this does.
class CoarseView {
 public:
  CoarseView(const DenseView& x, In<std::int8_t, 2> cells, Floats1 steps, Floats1 errors)
      : x_(x), cells_(cells), steps_(steps), errors_(errors) {
    const std::size_t rows = (*x).rows, stride = vectors::stride_of((*x).columns);
    require((*x).columns < (std::size_t{1} << 20), "there must be fewer than 2^20 columns");
    require(cells.shape(0) == rows && cells.shape(1) == stride, "cells must be rows x bytes");
    require(steps.size() == rows && errors.size() == rows, "there must be one step and one error a row");
    rows_ = {*x_, {stride, view(cells_), view(steps_), view(errors_)}};
  }

  const vectors::CoarseRows& operator*() const { return rows_; }
  const DenseView& dense() const { return x_; }

 private:
  DenseView x_;
  In<std::int8_t, 2> cells_;
  Floats1 steps_, errors_;
  vectors::CoarseRows rows_;
};

Found search_coarse(const std::vector<CoarseView>& parts, Floats2 queries, std::int64_t k, double least,
                    std::size_t threads) {
  require(!parts.empty(), "there must be rows to search");
  std::vector<vectors::CoarseRows> rows;
  for (const CoarseView& part : parts) {
    part.dense().check_queries(queries, threads);  // so all parts have as many columns
    rows.push_back(*part);
  }
  const Wanted wanted = wanted_of(k, least);
  const std::size_t count = queries.shape(0), groups = (count + vectors::kGroup - 1) / vectors::kGroup;
  std::vector<Best> best(count, Best(wanted));
  std::atomic<std::size_t> read = 0;
  std::optional<Answers> answers;
  {
    nb::gil_scoped_release nogil;
    base::parallel_for(groups, threads, [&](std::size_t group) {
      const std::size_t first = group * vectors::kGroup, size = std::min(vectors::kGroup, count - first);
      std::vector<const float*> some;
      for (std::size_t i = first; i < first + size; ++i) some.push_back(queries.data() + i * queries.shape(1));
      read += vectors::search(rows, some, wanted, std::span(best).subspan(first, size), threads);
    });
    answers.emplace(best);
  }
  return answers->found(read);
}

// Rows and their keys.
using Reached = std::tuple<Numpy<std::int64_t, 1>, Numpy<double, 1>>;

Reached reach_coarse(const CoarseView& part, Floats1 query, In<double, 1> least, std::size_t threads) {
  const vectors::CoarseRows& rows = *part;
  require(least.size() == rows.x.rows && threads > 0, "there must be one least key a row, and threads");
  require(query.size() == rows.x.columns, "the query must have ", rows.x.columns, " columns");
  for (const float q : view(query)) require(std::abs(q) <= 1e18f, "queries must be finite and at most 1e18");
  std::vector<std::int64_t> found;
  std::vector<double> keys;
  {
    nb::gil_scoped_release nogil;
    vectors::reach(rows.x, rows.coarse, vectors::prepare(rows.x, query.data()), view(least), found, keys, threads);
  }
  return {to_numpy(std::move(found)), to_numpy(std::move(keys))};
}

// The k nearest of all rows, filled tile by tile, by any number of threads.
class NearestLists {
 public:
  NearestLists(std::size_t rows, std::size_t k) : k_(k), lists_(rows, k) { require(k > 0, "k must be at least 1"); }

  void add(const DenseView& x, std::size_t x_first, std::size_t x_base, const DenseView& y, std::size_t y_first,
           std::size_t y_base, Floats2 products, std::size_t x_count, std::size_t y_count) {
    for (const auto& [of, first, base, count] :
         {std::tuple{&x, x_first, x_base, x_count}, {&y, y_first, y_base, y_count}}) {
      require((**of).head == (**of).columns, "rows must be whole");
      require(first <= (**of).rows && count <= (**of).rows - first, "rows ", first, " to ", first + count,
              " are not there");
      require(base <= lists_.size() && count <= lists_.size() - base, "there is no list for row ", base + count);
    }
    require((*x).columns == (*y).columns && (*x).kind == (*y).kind, "both sides must have the same columns and kind");
    require(products.shape(0) >= x_count && products.shape(1) >= y_count, "products must be rows x rows");
    nb::gil_scoped_release nogil;
    lists_.add({&*x, x_first, x_count, x_base}, {&*y, y_first, y_count, y_base}, products.data(), products.shape(1));
  }

  // Takes up what `lists` gave before; -1 stands for no row.
  void resume(In<std::int64_t, 2> rows, In<double, 2> keys) {
    require(rows.shape(0) == lists_.size() && rows.shape(1) == k_, "rows must be ", lists_.size(), " x ", k_);
    require(keys.shape(0) == rows.shape(0) && keys.shape(1) == rows.shape(1), "there must be one key a row");
    for (const std::int64_t row : view(rows))
      require(row >= -1 && row < static_cast<std::int64_t>(lists_.size()), "there is no row ", row);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows.data()[i] >= 0) lists_.offer(i / k_, keys.data()[i], rows.data()[i]);
  }

  void lists(Out<std::int64_t, 2> rows, Out<double, 2> keys) const {
    require(rows.shape(0) == lists_.size() && rows.shape(1) == k_, "rows must be ", lists_.size(), " x ", k_);
    require(keys.shape(0) == rows.shape(0) && keys.shape(1) == rows.shape(1), "there must be one key a row");
    nb::gil_scoped_release nogil;
    lists_.fill(k_, view(rows), view(keys));
  }

 private:
  std::size_t k_;
  vectors::Lists lists_;
};

using Csr = std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>, Floats1>;  // offsets, columns, values

void check_csr(const char* name, const Csr& m, std::size_t extent) {
  const auto& [offsets, columns, values] = m;
  const auto o = view(offsets);
  const auto c = view(columns);
  check_offsets(o, c.size(), name);
  require(c.size() == values.size(), name, " must have as many values as columns");
  for (const std::int32_t column : c)
    require(column >= 0 && column < static_cast<std::int64_t>(extent), "columns of ", name, " must lie below ", extent);
  for (std::size_t i = 1; i < o.size(); ++i)
    for (auto e = o[i - 1] + 1; e < o[i]; ++e)
      require(c[static_cast<std::size_t>(e)] > c[static_cast<std::size_t>(e - 1)], "columns of ", name,
              " must rise in row ", i - 1);
}

// Sparse rows and their postings, checked once; the arrays live as long as this does.
class PostingsView {
 public:
  PostingsView(const std::string& kind, Csr rows, Csr terms, Floats1 largest, Floats1 smallest, Floats1 halves,
               double longest)
      : rows_(rows), terms_(terms), largest_(largest), smallest_(smallest), halves_(halves) {
    const std::size_t n = std::get<0>(rows_).size() - 1, m = std::get<0>(terms_).size() - 1;
    require(std::get<0>(rows_).size() > 0 && std::get<0>(terms_).size() > 0, "offsets must not be empty");
    {
      nb::gil_scoped_release nogil;
      check_csr("rows", rows_, m);
      check_csr("terms", terms_, n);
    }
    require(std::get<1>(rows_).size() == std::get<1>(terms_).size(), "rows and terms must have the same entries");
    require(largest.size() == m && smallest.size() == m, "there must be a largest and a smallest weight a term");
    require(halves.size() == (kind_of(kind) == Kind::distance ? n : 0), "there must be one half a row for distances");
    require(longest >= 0.0 && longest <= 1e18, "longest must lie from 0 to 1e18");
    x_ = {kind_of(kind),
          n,
          m,
          view(std::get<0>(rows_)),
          view(std::get<1>(rows_)),
          view(std::get<2>(rows_)),
          view(std::get<0>(terms_)),
          view(std::get<1>(terms_)),
          view(std::get<2>(terms_)),
          view(largest_),
          view(smallest_),
          view(halves_),
          {},
          longest};
  }

  Found search(Csr queries, Bytes1 allowed, std::int64_t k, double least, In<std::int64_t, 1> first,
               std::size_t threads) const {
    require(threads > 0, "threads must be at least 1");
    require(allowed.size() == 0 || allowed.size() == x_.rows, "allowed must have one entry a row, or none");
    check_csr("queries", queries, x_.terms);
    const auto& [offsets, columns, values] = queries;
    for (const float q : view(values)) require(std::abs(q) <= 1e18f, "queries must be finite and at most 1e18");
    require(first.size() == 0 || first.size() == offsets.size() - 1, "there must be one first row a query, or none");
    for (const std::int64_t row : view(first)) require(row >= 0, "first rows must not be negative");
    vectors::Postings x = x_;
    x.allowed = view(allowed);
    const Wanted wanted = wanted_of(k, least);
    const auto o = view(offsets);
    return each_query(o.size() - 1, wanted, threads, [&](std::size_t i, Best& best) {
      const auto begin = static_cast<std::size_t>(o[i]), size = static_cast<std::size_t>(o[i + 1]) - begin;
      const std::size_t from = first.size() ? static_cast<std::size_t>(first.data()[i]) : 0;
      return vectors::search(x, {view(columns).subspan(begin, size), view(values).subspan(begin, size)}, wanted, from,
                             best, threads);
    });
  }

  Reached reach(Csr query, Bytes1 allowed, In<double, 1> least) const {
    require(allowed.size() == 0 || allowed.size() == x_.rows, "allowed must have one entry a row, or none");
    check_csr("query", query, x_.terms);
    const auto& [offsets, columns, values] = query;
    require(offsets.size() == 2, "there must be one query");
    require(least.size() == x_.rows, "there must be one least key a row");
    for (const float q : view(values)) require(std::abs(q) <= 1e18f, "queries must be finite and at most 1e18");
    vectors::Postings x = x_;
    x.allowed = view(allowed);
    std::vector<std::int64_t> found;
    std::vector<double> keys;
    {
      nb::gil_scoped_release nogil;
      vectors::reach(x, {view(columns), view(values)}, view(least), found, keys);
    }
    return {to_numpy(std::move(found)), to_numpy(std::move(keys))};
  }

 private:
  Csr rows_, terms_;
  Floats1 largest_, smallest_, halves_;
  vectors::Postings x_;
};

// The best of sparse rows without postings.
Found scan_sparse(const std::string& kind, Csr rows, std::size_t terms, Csr queries, Bytes1 allowed, std::int64_t k,
                  double least, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  const auto& [row_offsets, columns, values] = rows;
  require(row_offsets.size() > 0, "offsets must not be empty");
  const std::size_t n = row_offsets.size() - 1;
  require(allowed.size() == 0 || allowed.size() == n, "allowed must have one entry a row, or none");
  check_csr("rows", rows, terms);
  check_csr("queries", queries, terms);
  const auto& [offsets, query_columns, query_values] = queries;
  for (const float q : view(query_values)) require(std::abs(q) <= 1e18f, "queries must be finite and at most 1e18");
  vectors::Postings x{};
  x.kind = kind_of(kind);
  x.rows = n;
  x.terms = terms;
  x.row_offsets = view(row_offsets);
  x.columns = view(columns);
  x.values = view(values);
  x.allowed = view(allowed);
  const auto o = view(offsets);
  return each_query(o.size() - 1, wanted_of(k, least), threads, [&](std::size_t i, Best& best) {
    const auto begin = static_cast<std::size_t>(o[i]), size = static_cast<std::size_t>(o[i + 1]) - begin;
    return vectors::scan(x, {view(query_columns).subspan(begin, size), view(query_values).subspan(begin, size)}, best);
  });
}

}  // namespace

void bind_search(nb::module_& m) {
  nb::class_<DenseView>(m, "DenseView", "Dense rows with what bounds them.")
      .def(nb::init<const std::string&, Floats2, Floats2, Floats1, Floats1, Bytes1, double>(), "kind"_a,
           "values"_a.noconvert(), "heads"_a.noconvert(), "tails"_a.noconvert(), "halves"_a.noconvert(),
           "allowed"_a.noconvert(), "longest"_a);
  nb::class_<Selection>(m, "Selection", "The best rows of many queries, filled tile by tile.")
      .def(nb::init<const DenseView&, Floats2, std::int64_t, double>(), "x"_a, "queries"_a, "k"_a, "least"_a)
      .def("add", &Selection::add, "x"_a, "products"_a.noconvert(), "first"_a, "count"_a,
           "Offer rows by their products.")
      .def("merge", &Selection::merge, "other"_a, "Take what another selection of the same queries found.")
      .def("found", &Selection::found, "Offsets, rows and keys, best first, and how many rows were read.");
  nb::class_<PostingsView>(m, "PostingsView", "Sparse rows and their postings.")
      .def(nb::init<const std::string&, Csr, Csr, Floats1, Floats1, Floats1, double>(), "kind"_a, "rows"_a, "terms"_a,
           "largest"_a, "smallest"_a, "halves"_a, "longest"_a)
      .def("search", &PostingsView::search, "queries"_a, "allowed"_a, "k"_a, "least"_a, "first"_a, "threads"_a,
           "The best rows for sparse queries.")
      .def("reach", &PostingsView::reach, "query"_a, "allowed"_a, "least"_a,
           "Rows whose key with a query is at least their own.");
  nb::class_<NearestLists>(m, "NearestLists", "The k nearest of every row, filled by tiles of products.")
      .def(nb::init<std::size_t, std::size_t>(), "rows"_a, "k"_a)
      .def("add", &NearestLists::add, "x"_a, "x_first"_a, "x_base"_a, "y"_a, "y_first"_a, "y_base"_a,
           "products"_a.noconvert(), "x_count"_a, "y_count"_a, "Offer all pairs of two stretches of rows.")
      .def("resume", &NearestLists::resume, "rows"_a, "keys"_a, "Take up lists that were filled before.")
      .def("lists", &NearestLists::lists, "rows"_a.noconvert(), "keys"_a.noconvert(), "Write all lists, best first.");
  nb::class_<CoarseView>(m, "CoarseView", "Dense rows and the same rounded to bytes.")
      .def(nb::init<const DenseView&, In<std::int8_t, 2>, Floats1, Floats1>(), "x"_a, "cells"_a.noconvert(), "steps"_a,
           "errors"_a);
  m.def("reach_coarse", &reach_coarse, "part"_a, "query"_a, "least"_a, "threads"_a,
        "Rows whose key with a query is at least their own.");
  m.def("scan_sparse", &scan_sparse, "kind"_a, "rows"_a, "terms"_a, "queries"_a, "allowed"_a, "k"_a, "least"_a,
        "threads"_a, "The best of sparse rows without postings, for sparse queries.");
  m.def("scan", &scan, "x"_a, "queries"_a, "k"_a, "least"_a, "threads"_a,
        "The best rows for each query, one after the other.");
  m.def("exact_keys", &exact_keys, "x"_a, "query"_a, "rows"_a, "out"_a.noconvert(), "Exact keys of some rows.");
  m.def("approximate", &approximate, "values"_a, "edges"_a, "bits"_a, "cells"_a.noconvert(), "threads"_a,
        "Cell numbers of rows, bit-packed.");
  m.def("search_cells", &search_cells, "x"_a, "edges"_a, "bits"_a, "cells"_a.noconvert(), "queries"_a, "k"_a, "least"_a,
        "threads"_a, "The best rows for each query, by approximations first.");
  m.def("coarsen", &coarsen, "values"_a, "cells"_a.noconvert(), "steps"_a.noconvert(), "errors"_a.noconvert(),
        "threads"_a, "Rows rounded to bytes.");
  m.def("search_coarse", &search_coarse, "parts"_a, "queries"_a, "k"_a, "least"_a, "threads"_a,
        "The best rows of all parts for each query, by rounded rows first.");
}

}  // namespace textmill::bind
