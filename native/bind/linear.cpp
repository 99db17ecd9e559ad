#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cmath>

#include "base/all_of.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "linear/combinations.h"
#include "linear/conjunctions.h"
#include "linear/descent.h"
#include "linear/design.h"
#include "linear/dual.h"
#include "linear/loss.h"
#include "linear/newton.h"
#include "linear/online.h"
#include "linear/optimality.h"
#include "linear/passes.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Ids = In<std::int32_t, 1>;
using linear::Conjunctions;
using linear::Design;

void check_labels(std::span<const std::int32_t> labels, std::size_t classes) {
  bool inside = true;
  for (const std::int32_t label : labels) inside &= label >= 0 && static_cast<std::size_t>(label) < classes;
  require(inside, "labels must lie from 0 to ", classes - 1);
}

void check_listed(const Design& x, std::span<const std::int32_t> listed) {
  bool inside = true;
  for (const std::int32_t j : listed) inside &= j >= 0 && static_cast<std::size_t>(j) < x.columns();
  require(inside, "listed columns must lie below ", x.columns());
}

void make_design(Design* self, std::size_t columns, In<std::int64_t, 1> offsets, Ids indices, Reals values,
                 std::size_t threads, std::optional<Ids> number, std::optional<Ids> order) {
  const std::span<const std::int32_t> places = number ? view(*number) : std::span<const std::int32_t>();
  require(!number || places.size() == columns, "number needs ", columns, " entries");
  std::int32_t next = 0;
  for (const std::int32_t place : places) {
    require(place == -1 || place == next, "numbers of columns must rise from 0, or be -1");
    next += place >= 0;
  }
  require(offsets.size() >= 1 && threads >= 1, "there must be an offset behind the last row, and a thread");
  require(offsets.size() - 1 < (std::size_t{1} << 31), "there must be fewer than 2^31 rows");
  const std::span<const std::int32_t> sources = order ? view(*order) : std::span<const std::int32_t>();
  require(!order || sources.size() == offsets.size() - 1, "order needs ", offsets.size() - 1, " entries");
  std::vector<char> taken(sources.size(), 0);
  for (const std::int32_t source : sources) {
    require(source >= 0 && static_cast<std::size_t>(source) < taken.size() && !taken[source],
            "order needs each row once");
    taken[source] = 1;
  }
  nb::gil_scoped_release nogil;
  new (self) Design(offsets.size() - 1, columns, view(offsets), view(indices), view(values), places, sources, threads);
}

auto rows_by_commonest_column(std::size_t columns, In<std::int64_t, 1> offsets, Ids indices) {
  require(offsets.size() >= 1 && offsets.size() - 1 < (std::size_t{1} << 31), "there must be fewer than 2^31 rows");
  std::vector<std::int32_t> order;
  {
    nb::gil_scoped_release nogil;
    order = linear::rows_by_commonest_column(offsets.size() - 1, columns, view(offsets), view(indices));
  }
  return to_numpy(std::move(order));
}

double binary_loss(Reals margin, Ids label, Reals weight, Out<double, 1> residual, Out<double, 1> curvature,
                   std::size_t threads) {
  const std::size_t n = margin.size();
  require(label.size() == n && weight.size() == n, "label and weight need ", n, " entries");
  require((residual.size() == n || residual.size() == 0) && (curvature.size() == n || curvature.size() == 0),
          "residual and curvature need ", n, " entries or none");
  nb::gil_scoped_release nogil;
  return linear::binary_loss(view(margin), view(label), view(weight), view(residual), view(curvature), threads);
}

double binary_entropy(Reals residual, Reals weight, double factor, std::size_t threads) {
  require(residual.size() == weight.size(), "weight needs ", residual.size(), " entries");
  nb::gil_scoped_release nogil;
  return linear::binary_entropy(view(residual), view(weight), factor, threads);
}

double smoothed_slopes(Out<double, 1> miss, Ids label, Reals weight, double gain_negative, double gain_positive,
                       std::size_t threads) {
  const std::size_t n = miss.size();
  require(label.size() == n && weight.size() == n, "label and weight need ", n, " entries");
  nb::gil_scoped_release nogil;
  return linear::smoothed_slopes(view(miss), view(label), view(weight), gain_negative, gain_positive, threads);
}

double softmax_loss(In<double, 2> margin, Ids label, Reals weight, Out<double, 2> residual, std::size_t threads) {
  const std::size_t classes = margin.shape(0), n = margin.shape(1);
  require(classes >= 2, "there must be at least 2 classes, got ", classes);
  require(label.size() == n && weight.size() == n, "label and weight need ", n, " entries");
  require(residual.size() == 0 || (residual.shape(0) == classes && residual.shape(1) == n), "residual must be ",
          classes, " x ", n, " or empty");
  check_labels(view(label), classes);
  nb::gil_scoped_release nogil;
  return linear::softmax_loss(view(margin), classes, view(label), view(weight), view(residual), threads);
}

void column_sums(const Design& x, Ids listed, Reals residual, Reals row_curvature, Out<double, 1> slope,
                 Out<double, 1> curvature, std::size_t threads) {
  check_listed(x, view(listed));
  const std::size_t count = listed.size() == 0 ? x.columns() : listed.size();
  require(slope.size() == count || slope.size() == 0, "slope needs ", count, " entries or none");
  require(curvature.size() == count || curvature.size() == 0, "curvature needs ", count, " entries or none");
  require(slope.size() == 0 || residual.size() == x.rows(), "residual needs ", x.rows(), " entries");
  require(curvature.size() == 0 || row_curvature.size() == x.rows(), "row_curvature needs ", x.rows(), " entries");
  nb::gil_scoped_release nogil;
  linear::column_sums(x, view(listed), view(residual), view(row_curvature), view(slope), view(curvature), threads);
}

std::tuple<double, double, double, double, double, std::size_t> optimality(Reals slope, Reals weight, double l1,
                                                                           double l2, std::size_t threads) {
  require(weight.size() == slope.size(), "weight needs ", slope.size(), " entries");
  nb::gil_scoped_release nogil;
  const linear::Optimality found = linear::optimality(view(slope), view(weight), l1, l2, threads);
  return {found.highest, found.violation, found.excess, found.norm, found.square, found.active};
}

nb::object working_set(Reals slope, Reals weight, double floor, std::size_t threads) {
  require(weight.size() == slope.size(), "weight needs ", slope.size(), " entries");
  std::vector<std::int32_t> found;
  {
    nb::gil_scoped_release nogil;
    found = linear::working_set(view(slope), view(weight), floor, threads);
  }
  return nb::cast(to_numpy(std::move(found)));
}

std::pair<std::size_t, double> descend(const Design& x, Ids listed, Reals weight, Reals slope, Reals curvature,
                                       Reals row_curvature, double l1, double l2, bool intercept,
                                       double intercept_slope, std::size_t most, double accuracy, double enough,
                                       std::uint64_t seed, Out<double, 1> step, Out<double, 1> change,
                                       std::size_t threads) {
  check_listed(x, view(listed));
  const std::size_t a = listed.size();
  require(weight.size() == a && slope.size() == a && curvature.size() == a && step.size() == a,
          "weight, slope, curvature and step need an entry for each of ", a, " listed columns");
  require(row_curvature.size() == x.rows() && change.size() == x.rows(), "row_curvature and change need ", x.rows(),
          " entries");
  bool positive = true;
  for (const double d : view(row_curvature)) positive &= d > 0.0;
  require(positive, "row_curvature must be above 0");
  require(l1 >= 0 && l2 >= 0 && most >= 1, "penalties must not be negative");
  linear::Descent made;
  {
    nb::gil_scoped_release nogil;
    made = linear::descend(x,
                           {view(listed), view(weight), view(slope), view(curvature), view(row_curvature), l1, l2,
                            intercept, intercept_slope},
                           {most, accuracy, enough, seed}, view(step), view(change), threads);
  }
  return {made.sweeps, made.intercept_step};
}

nb::tuple learn_rows(In<std::int64_t, 1> offsets, Ids indices, Reals values, Ids label, Reals weight, double offset,
                     double decay, double l1, double l2, bool intercept, Out<double, 2> w, Out<double, 2> q,
                     Out<double, 1> seen, Out<double, 1> bias, double steps, double penalty, double shrink) {
  const std::size_t margins = w.shape(0), columns = w.shape(1);
  check_offsets(view(offsets), values.size(), "rows");
  require(indices.size() == values.size(), "there must be a value for each index");
  bool inside = true;
  for (const std::int32_t j : view(indices)) inside &= j >= 0 && static_cast<std::size_t>(j) < columns;
  require(inside, "columns must lie below ", columns);
  const std::size_t n = offsets.size() - 1;
  require(label.size() == n && weight.size() == n, "label and weight need ", n, " entries");
  check_labels(view(label), std::max<std::size_t>(margins, 2));
  require(q.shape(0) == margins && q.shape(1) == columns && seen.size() == columns && bias.size() == margins,
          "q, seen and bias must fit the weights, ", margins, " x ", columns);
  linear::Stream stream{steps, penalty, shrink};
  double loss = 0.0;
  {
    nb::gil_scoped_release nogil;
    loss = linear::learn_rows({n, columns, view(offsets), view(indices), view(values)}, view(label), view(weight),
                              {offset, decay, l1, l2, intercept}, margins, view(w), view(q), view(seen), view(bias),
                              stream);
    linear::settle(margins, view(w), view(q), view(seen), stream);
  }
  return nb::make_tuple(loss, stream.steps, stream.penalty, stream.shrink);
}

base::Csr<std::int64_t, double> checked_rows(const In<std::int64_t, 1>& offsets, const Ids& indices,
                                             const Reals& values, std::size_t columns) {
  check_offsets(view(offsets), values.size(), "rows");
  require(indices.size() == values.size(), "there must be a value for each index");
  require(columns < (std::size_t{1} << 31) && offsets.size() - 1 < (std::size_t{1} << 31), "a matrix is too large");
  const std::span<const std::int32_t> ids = view(indices);
  const std::span<const std::int64_t> begin = view(offsets);
  bool sorted = true;
  for (std::size_t i = 0; i + 1 < begin.size(); ++i)
    for (auto e = begin[i]; e < begin[i + 1]; ++e)
      sorted &= ids[e] >= 0 && static_cast<std::size_t>(ids[e]) < columns && (e == begin[i] || ids[e] > ids[e - 1]);
  require(sorted, "columns of a row must rise and lie below ", columns);
  return {begin.size() - 1, columns, begin, ids, view(values)};
}

nb::tuple violators(linear::Violators&& found) {
  return nb::make_tuple(to_numpy(std::move(found.features)), to_numpy(std::move(found.gradient)), found.visited,
                        found.stored);
}

nb::tuple search_examples(In<std::int64_t, 1> offsets, Ids indices, Reals values, std::size_t columns, Reals residual,
                          double threshold, std::size_t degree, bool negative, bool erasing) {
  const auto x = checked_rows(offsets, indices, values, columns);
  require(residual.size() == x.rows, "residual needs ", x.rows, " entries");
  require(degree >= 2 && degree <= 64 && threshold >= 0, "degree must lie from 2 to 64");
  require(std::pow(static_cast<double>(columns + 1), static_cast<double>(degree)) < 0x1p63, "combinations of ", degree,
          " of ", columns, " features have no number; search vertically");
  linear::Violators found;
  {
    nb::gil_scoped_release nogil;
    found = linear::search_examples(x, {degree, threshold, view(residual), negative}, erasing);
  }
  return violators(std::move(found));
}

nb::tuple search_vertical(const Design& x, std::size_t features, Reals residual, double threshold, std::size_t degree,
                          bool negative, std::size_t threads) {
  require(features <= x.columns(), "there are ", x.columns(), " columns");
  require(residual.size() == x.rows(), "residual needs ", x.rows(), " entries");
  require(degree >= 2 && degree <= 64 && threshold >= 0 && threads >= 1, "degree must lie from 2 to 64");
  linear::Violators found;
  {
    nb::gil_scoped_release nogil;
    found = linear::search_vertical(x, features, {degree, threshold, view(residual), negative}, threads);
  }
  return violators(std::move(found));
}

void graft(Design& x, In<std::int32_t, 2> features, std::size_t threads) {
  require(features.shape(1) >= 1, "a combination needs at least one feature");
  for (std::size_t k = 0; k < features.shape(0); ++k)
    for (std::size_t p = 0; p < features.shape(1); ++p) {
      const std::int32_t j = features(k, p);
      require((j >= 0 || (j == -1 && p > 0)) && (j < 0 || static_cast<std::size_t>(j) < x.columns()), "combination ", k,
              " has the feature ", j, ", there are ", x.columns());
    }
  nb::gil_scoped_release nogil;
  x.graft(view(features), features.shape(1), threads);
}

void column_product(const Design& x, Ids listed, Reals weight, Out<double, 1> margin) {
  check_listed(x, view(listed));
  require(weight.size() == listed.size() && margin.size() == x.rows(), "weight needs ", listed.size(),
          " entries and margin ", x.rows());
  nb::gil_scoped_release nogil;
  linear::column_product(x, view(listed), view(weight), view(margin));
}

void make_conjunctions(Conjunctions* made, In<std::int32_t, 2> combinations, In<double, 2> weights,
                       std::size_t columns) {
  require(combinations.shape(1) >= 1, "a combination needs at least one feature");
  require(weights.shape(1) == combinations.shape(0), "there must be a weight for each of ", combinations.shape(0),
          " combinations");
  require(columns < (std::size_t{1} << 31), "there are too many columns");
  for (std::size_t k = 0; k < combinations.shape(0); ++k)
    for (std::size_t p = 0; p < combinations.shape(1); ++p) {
      const std::int32_t j = combinations(k, p), before = p == 0 ? -1 : combinations(k, p - 1);
      const bool right =
          j == -1 ? p > 0 : j > before && (p == 0 || before >= 0) && static_cast<std::size_t>(j) < columns;
      require(right, "combination ", k, " has the feature ", j, "; they must rise and lie below ", columns);
    }
  nb::gil_scoped_release nogil;
  new (made) Conjunctions(view(combinations), combinations.shape(1), view(weights), weights.shape(0), columns);
}

void score_rows(In<std::int64_t, 1> offsets, Ids indices, Reals values, const Conjunctions& model, Out<double, 2> score,
                std::size_t threads) {
  const auto x = checked_rows(offsets, indices, values, model.columns());
  require(score.shape(0) == x.rows && score.shape(1) == model.margins(), "score must be rows x margins");
  nb::gil_scoped_release nogil;
  linear::score_rows(x, model, view(score), threads);
}

// Rows that stay with their passes.
struct Rows {
  In<std::int64_t, 1> offsets;
  Ids indices;
  Reals values;
  linear::RowPasses passes;
};

void make_rows(Rows* self, std::size_t columns, In<std::int64_t, 1> offsets, Ids indices, Reals values,
               std::size_t threads) {
  check_offsets(view(offsets), values.size(), "rows");
  require(indices.size() == values.size(), "there must be a value for each index");
  const std::span<const std::int32_t> ids = view(indices);
  const bool inside = base::all_of(
      0, ids.size(), threads, [&](std::size_t e) { return ids[e] >= 0 && static_cast<std::size_t>(ids[e]) < columns; });
  require(inside, "columns must lie below ", columns);
  const base::Csr<std::int64_t, double> x{offsets.size() - 1, columns, view(offsets), ids, view(values)};
  new (self) Rows{offsets, indices, values, linear::RowPasses(x)};
}

void row_squares(const Rows& x, Out<double, 1> out, std::size_t threads) {
  require(out.size() == x.passes.rows(), "squares need ", x.passes.rows(), " entries");
  nb::gil_scoped_release nogil;
  x.passes.squares(view(out), threads);
}

std::tuple<double, double, double, double> smoothed_counts(const Rows& x, Reals theta, Ids label, Reals weight,
                                                           double gamma, Out<double, 1> miss, std::size_t threads) {
  const std::size_t n = x.passes.rows();
  require(theta.size() == x.passes.columns() + 1, "theta needs ", x.passes.columns() + 1, " entries");
  require(label.size() == n && weight.size() == n && miss.size() == n, "label, weight and miss need ", n, " entries");
  nb::gil_scoped_release nogil;
  const std::span<const double> all = view(theta);
  const auto [hits, misses, alarms, rejections] =
      x.passes.smoothed_counts(all.subspan(1), all[0], view(label), view(weight), gamma, view(miss), threads);
  return {hits, misses, alarms, rejections};
}

void smoothed_gradient(Rows& x, Reals miss, Ids label, Reals weight, double gain_negative, double gain_positive,
                       Out<double, 1> gradient, std::size_t threads) {
  const std::size_t n = x.passes.rows();
  require(gradient.size() == x.passes.columns() + 1, "gradient needs ", x.passes.columns() + 1, " entries");
  require(label.size() == n && weight.size() == n && miss.size() == n, "label, weight and miss need ", n, " entries");
  nb::gil_scoped_release nogil;
  const std::span<double> all = view(gradient);
  all[0] = x.passes.smoothed_slopes(view(miss), view(label), view(weight), gain_negative, gain_positive, all.subspan(1),
                                    threads);
}

void row_sums(Rows& x, Reals residual, Reals row_curvature, Out<double, 1> slope, Out<double, 1> square,
              std::size_t threads) {
  const std::size_t n = x.passes.rows(), m = x.passes.columns();
  require(slope.size() == m || slope.size() == 0, "slope needs ", m, " entries or none");
  require(square.size() == m || square.size() == 0, "square needs ", m, " entries or none");
  require(slope.size() == 0 || residual.size() == n, "residual needs ", n, " entries");
  require(square.size() == 0 || row_curvature.size() == n, "row_curvature needs ", n, " entries");
  nb::gil_scoped_release nogil;
  x.passes.sums(view(residual), view(row_curvature), view(slope), view(square), threads);
}

std::pair<std::size_t, double> newton_step(Rows& x, Reals gradient, Reals diagonal, Reals row_curvature, double l2,
                                           bool intercept, double accuracy, std::size_t most, Out<double, 1> step,
                                           Out<double, 1> change, std::size_t threads) {
  const std::size_t n = x.passes.rows(), size = x.passes.columns() + (intercept ? 1 : 0);
  require(gradient.size() == size && diagonal.size() == size && step.size() == size,
          "gradient, diagonal and step need ", size, " entries");
  require(row_curvature.size() == n && change.size() == n, "row_curvature and change need ", n, " entries");
  bool positive = true;
  for (const double d : view(diagonal)) positive &= d > 0.0;
  require(positive, "diagonal must be above 0");
  linear::NewtonStep made;
  {
    nb::gil_scoped_release nogil;
    made = linear::newton_step(x.passes, {view(gradient), view(diagonal), view(row_curvature), l2, intercept}, accuracy,
                               most, view(step), view(change), threads);
  }
  return {made.iterations, made.slope};
}

void dual_pass(Rows& x, Ids label, Reals weight, Reals square, double l2, double caution, std::uint64_t seed,
               Out<double, 1> dual, Out<double, 1> implied, Out<double, 1> w, std::size_t threads) {
  const std::size_t n = x.passes.rows();
  require(w.size() == x.passes.columns(), "w needs ", x.passes.columns(), " entries");
  require(label.size() == n && weight.size() == n && square.size() == n && dual.size() == n && implied.size() == n,
          "label, weight, square, dual and implied need ", n, " entries");
  require(l2 > 0 && caution >= 1, "l2 must be above 0, and caution at least 1");
  nb::gil_scoped_release nogil;
  linear::dual_pass(x.passes.matrix(), view(label), view(weight), view(square), {l2, caution, seed, threads},
                    view(dual), view(implied), view(w));
}

}  // namespace

void bind_linear(nb::module_& m) {
  nb::class_<Design>(m, "Design", "A design matrix by columns, made from compressed sparse rows.")
      .def("__init__", &make_design, "columns"_a, "offsets"_a, "indices"_a, "values"_a, "threads"_a,
           "number"_a = nb::none(), "order"_a = nb::none())
      .def("add_ones", &Design::add_ones, "Add a column of ones.")
      .def("graft", &graft, "features"_a, "threads"_a, "Add the products of columns as further columns.")
      .def_prop_ro("rows", &Design::rows)
      .def_prop_ro("columns", [](const Design& x) { return x.columns(); })
      .def_prop_ro("entries", [](const Design& x) { return x.entries(); });
  nb::class_<Rows>(m, "Rows", "Compressed sparse rows, checked once, for passes whose results are sums by column.")
      .def("__init__", &make_rows, "columns"_a, "offsets"_a, "indices"_a, "values"_a, "threads"_a)
      .def("squares", &row_squares, "out"_a.noconvert(), "threads"_a, "Fill out with the squared lengths of the rows.")
      .def("smoothed_counts", &smoothed_counts, "theta"_a, "label"_a, "weight"_a, "gamma"_a, "miss"_a.noconvert(),
           "threads"_a, "Hits, misses, false alarms and rejections of smoothed decisions; fills miss.")
      .def("smoothed_gradient", &smoothed_gradient, "miss"_a, "label"_a, "weight"_a, "gain_negative"_a,
           "gain_positive"_a, "gradient"_a.noconvert(), "threads"_a,
           "Fill gradient with the slopes by intercept and weights.")
      .def("sums", &row_sums, "residual"_a, "row_curvature"_a, "slope"_a.noconvert(), "square"_a.noconvert(),
           "threads"_a, "Fill slope with X^T r and square with the sums of x^2 d, unless empty.")
      .def("newton_step", &newton_step, "gradient"_a, "diagonal"_a, "row_curvature"_a, "l2"_a, "intercept"_a,
           "accuracy"_a, "most"_a, "step"_a.noconvert(), "change"_a.noconvert(), "threads"_a,
           "Solve (X^T D X + l2) s = -g; fills s and X s, returns the iterations and g . s.")
      .def("dual_pass", &dual_pass, "label"_a, "weight"_a, "square"_a, "l2"_a, "caution"_a, "seed"_a,
           "dual"_a.noconvert(), "implied"_a.noconvert(), "w"_a.noconvert(), "threads"_a,
           "One pass of dual coordinate descent.");
  m.def("rows_by_commonest_column", &rows_by_commonest_column, "columns"_a, "offsets"_a, "indices"_a,
        "The numbers of rows, those with the same commonest column together.");
  m.def("binary_loss", &binary_loss, "margin"_a, "label"_a, "weight"_a, "residual"_a.noconvert(),
        "curvature"_a.noconvert(), "threads"_a, "Loss of two classes; fills residual and curvature unless empty.");
  m.def("binary_entropy", &binary_entropy, "residual"_a, "weight"_a, "factor"_a, "threads"_a,
        "Weighted entropy of two classes between the labels and the model.");
  m.def("smoothed_slopes", &smoothed_slopes, "miss"_a.noconvert(), "label"_a, "weight"_a, "gain_negative"_a,
        "gain_positive"_a, "threads"_a, "Turn miss into slopes by the margins; returns their sum.");
  m.def("softmax_loss", &softmax_loss, "margin"_a, "label"_a, "weight"_a, "residual"_a.noconvert(), "threads"_a,
        "Loss of several classes; fills the residuals, class x row, unless empty.");
  m.def("column_sums", &column_sums, "x"_a, "listed"_a, "residual"_a, "row_curvature"_a, "slope"_a.noconvert(),
        "curvature"_a.noconvert(), "threads"_a, "Slopes and curvatures of listed columns, of all when none is listed.");
  m.def("optimality", &optimality, "slope"_a, "weight"_a, "l1"_a, "l2"_a, "threads"_a,
        "Largest slope, largest violation, sum of squares above l1, sums of |w| and w^2, weights that are not 0.");
  m.def("working_set", &working_set, "slope"_a, "weight"_a, "floor"_a, "threads"_a,
        "Columns with a weight or with a slope above a floor.");
  m.def("descend", &descend, "x"_a, "listed"_a, "weight"_a, "slope"_a, "curvature"_a, "row_curvature"_a, "l1"_a, "l2"_a,
        "intercept"_a, "intercept_slope"_a, "most"_a, "accuracy"_a, "enough"_a, "seed"_a, "step"_a.noconvert(),
        "change"_a.noconvert(), "threads"_a,
        "Coordinate descent on the quadratic model; returns the sweeps and the step of the intercept.");
  m.def("learn_rows", &learn_rows, "offsets"_a, "indices"_a, "values"_a, "label"_a, "weight"_a, "offset"_a, "decay"_a,
        "l1"_a, "l2"_a, "intercept"_a, "w"_a.noconvert(), "q"_a.noconvert(), "seen"_a.noconvert(), "bias"_a.noconvert(),
        "steps"_a, "penalty"_a, "shrink"_a,
        "One pass of stochastic gradient over rows; returns loss, steps, penalty and shrink.");
  m.def("search_examples", &search_examples, "offsets"_a, "indices"_a, "values"_a, "columns"_a, "residual"_a,
        "threshold"_a, "degree"_a, "negative"_a, "erasing"_a,
        "Combinations whose gradient exceeds a threshold: features, gradients, visits, candidates entered.");
  m.def("search_vertical", &search_vertical, "x"_a, "features"_a, "residual"_a, "threshold"_a, "degree"_a, "negative"_a,
        "threads"_a, "The same, depth first over the first columns of a design.");
  m.def("column_product", &column_product, "x"_a, "listed"_a, "weight"_a, "margin"_a.noconvert(),
        "Margins of the rows by the weights of listed columns.");
  nb::class_<Conjunctions>(m, "Conjunctions", "Weights of combinations of features, for the scores of rows.")
      .def("__init__", &make_conjunctions, "combinations"_a, "weights"_a, "columns"_a)
      .def_prop_ro("nodes", &Conjunctions::nodes);
  m.def("score_rows", &score_rows, "offsets"_a, "indices"_a, "values"_a, "model"_a, "score"_a.noconvert(), "threads"_a,
        "Add the weights of the combinations of rows to their scores.");
}

}  // namespace textmill::bind
