#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "linear/bayes.h"
#include "linear/count_fits.h"
#include "linear/count_models.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Ids = In<std::int32_t, 1>;
using linear::CountTable;
using linear::Family;
using linear::Parameters;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Family family_of(int number) {
  require(number >= 0 && number <= 3, "there are families 0 to 3, got ", number);
  return static_cast<Family>(number);
}

// Probabilities in [0, 1], mu >= 0 and finite, kappa > 0, gamma < 1.
void check_parameters(Family family, double first, double second, double z) {
  const bool binomial = family == Family::binom || family == Family::betabinom;
  require(first >= 0 && first < kInfinity && (!binomial || first <= 1), "mu must not be negative, p must be in [0, 1]");
  require(family != Family::negbinom || second > 0, "kappa must be above 0");
  require(family != Family::betabinom || (second < 1 && second > -kInfinity), "gamma must be below 1");
  require(z <= 1 && z > -kInfinity, "z must be at most 1");
}

// Entry i of an array that has one entry or as many as there are counts.
struct Spread {
  std::span<const double> values;
  double operator[](std::size_t i) const { return values.size() == 1 ? values[0] : values[i]; }
};

void check_spread(const Reals& array, std::size_t size, const char* what) {
  require(array.size() == size || array.size() == 1, what, " needs 1 entry or ", size, ", got ", array.size());
}

void check_counts(Family family, Spread x, Spread n, std::size_t size) {
  bool whole = true, inside = true;
  const bool binomial = family == Family::binom || family == Family::betabinom;
  for (std::size_t i = 0; i < size; ++i) {
    const double count = x[i], exposure = n[i];
    whole &= count >= 0 && count <= 1e15 && count == std::floor(count);
    inside &= exposure >= 0 && exposure <= 1e15 && (!binomial || exposure == std::floor(exposure));
  }
  require(whole && inside, "counts and exposures must be whole numbers >= 0");
}

void log_pmf(int family_number, Reals first, Reals second, Reals z, Reals x, Reals n, Out<double, 1> out,
             std::size_t threads) {
  const Family family = family_of(family_number);
  const std::size_t size = out.size();
  check_spread(first, size, "first"), check_spread(second, size, "second"), check_spread(z, size, "z");
  check_spread(x, size, "x"), check_spread(n, size, "n");
  const Spread a{view(first)}, b{view(second)}, c{view(z)}, counts{view(x)}, exposure{view(n)};
  for (std::size_t i = 0; i < std::max({first.size(), second.size(), z.size()}); ++i)
    check_parameters(family, a[i], b[i], c[i]);
  check_counts(family, counts, exposure, size);
  const auto result = view(out);
  nb::gil_scoped_release nogil;
  base::parallel_blocks(size, 256, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      result[i] = linear::log_pmf(family, {a[i], b[i], c[i]}, counts[i], exposure[i]);
  });
}

void slopes(int family_number, double first, double second, double z, Reals x, Reals n, Out<double, 2> out,
            std::size_t threads) {
  const Family family = family_of(family_number);
  const std::size_t size = out.shape(0);
  require(out.shape(1) == 3, "out needs 3 columns");
  check_spread(x, size, "x"), check_spread(n, size, "n");
  check_parameters(family, first, second, z);
  require(first > 0 && second >= 0, "there are no slopes at mu = 0, p = 0 or negative gamma");
  const Spread counts{view(x)}, exposure{view(n)};
  check_counts(family, counts, exposure, size);
  const bool binomial = family == Family::binom || family == Family::betabinom;
  bool inside = !binomial || first < 1;
  if (binomial)
    for (std::size_t i = 0; i < size; ++i) inside &= counts[i] <= exposure[i];
  require(inside, "p must be below 1, and counts not above their exposure");
  double* result = out.data();
  nb::gil_scoped_release nogil;
  base::parallel_blocks(size, 256, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      linear::slopes(family, {first, second, z}, counts[i], exposure[i], result + 3 * i);
  });
}

void check_rows(const In<std::int64_t, 1>& offsets, const Ids& indices, std::size_t entries, std::size_t columns) {
  check_offsets(view(offsets), entries, "rows");
  require(indices.size() == entries, "indices and values need one length");
  require(offsets.size() - 1 < (std::size_t{1} << 31), "there must be fewer than 2^31 rows");
  std::int32_t least = 0;
  std::int64_t most = -1;
  for (const std::int32_t j : view(indices)) least = std::min(least, j), most = std::max<std::int64_t>(most, j);
  require(least >= 0 && most < static_cast<std::int64_t>(columns), "columns must lie from 0 to ", columns, " - 1");
}

void check_labels(const Ids& label, std::size_t rows, std::size_t classes) {
  require(label.size() == rows && classes >= 1, "label needs ", rows, " entries");
  bool inside = true;
  for (const std::int32_t c : view(label)) inside &= c >= 0 && static_cast<std::size_t>(c) < classes;
  require(inside, "labels must lie from 0 to ", classes - 1);
}

void make_table(CountTable* self, std::size_t columns, std::size_t classes, In<std::int64_t, 1> offsets, Ids indices,
                Reals values, Ids label, Reals exposure, Reals weight, bool clipped, std::size_t threads) {
  require(offsets.size() >= 1, "there must be an offset behind the last row");
  const std::size_t rows = offsets.size() - 1;
  check_rows(offsets, indices, values.size(), columns);
  check_labels(label, rows, classes);
  require(exposure.size() == rows && weight.size() == rows, "exposure and weight need ", rows, " entries");
  bool right = true;
  for (std::size_t i = 0; i < rows; ++i) {
    right &= exposure(i) >= 0 && exposure(i) <= 1e15 && weight(i) >= 0 && weight(i) < kInfinity;
    for (auto e = offsets(i); e < offsets(i + 1); ++e) {
      const double x = values(e);
      right &= x >= 0 && x <= 1e15 && x == std::floor(x) && (x == 0 || exposure(i) > 0);
    }
  }
  require(right, "counts must be whole, exposures and weights not negative, and no count without exposure");
  nb::gil_scoped_release nogil;
  new (self) CountTable(columns, classes, view(offsets), view(indices), view(values), view(label), view(exposure),
                        view(weight), clipped, threads);
}

void fit_table(const CountTable& table, int family_number, bool inflated, bool em, In<double, 1> prior,
               std::size_t max_iter, double tolerance, In<double, 1> start, Out<double, 1> z, Out<double, 1> first,
               Out<double, 1> second, Out<double, 1> log_likelihood, Out<double, 2> errors, Out<std::int32_t, 1> state,
               Out<std::int32_t, 1> iterations, std::size_t threads) {
  const Family family = family_of(family_number);
  const std::size_t cells = table.cells();
  require(prior.size() == 4 && prior(0) >= 0 && prior(1) >= 0 && prior(2) >= 0 && prior(3) >= 0,
          "prior needs 4 numbers >= 0");
  require(start.size() == 0 || start.size() == 3, "start needs 3 numbers or none");
  require(z.size() == cells && first.size() == cells && second.size() == cells && log_likelihood.size() == cells &&
              state.size() == cells && iterations.size() == cells && errors.shape(0) == cells && errors.shape(1) == 3,
          "results need ", cells, " entries");
  if (family == Family::binom || family == Family::betabinom) {
    bool inside = true;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const auto own = table.entries(cell);
      const auto lengths = table.lengths(cell / table.columns());
      for (std::size_t k = 0; k < own.count.size(); ++k) {
        const double n = lengths[own.length[k]];
        inside &= own.count[k] <= n;
      }
    }
    for (std::size_t c = 0; c < table.classes(); ++c)
      for (const double n : table.lengths(c)) inside &= n == std::floor(n);
    require(inside, "exposures must be whole and not below the counts");
  }
  Parameters begin;
  if (start.size() == 3) {
    begin = {start(0), start(1), start(2)};
    check_parameters(family, begin.first, begin.second, begin.z);
    require(begin.first > 0 && begin.z > 0 && begin.z < 1, "EM must begin with z inside (0, 1) and some mass");
  }
  const linear::FitRules rules{family,
                               inflated,
                               em,
                               {prior(0), prior(1), prior(2), prior(3)},
                               max_iter,
                               tolerance,
                               start.size() == 3 ? &begin : nullptr};
  nb::gil_scoped_release nogil;
  linear::fit_table(
      table, rules,
      {view(z), view(first), view(second), view(log_likelihood), view(errors), view(state), view(iterations)}, threads);
}

template <class Value>
void class_sums(std::size_t columns, In<std::int64_t, 1> offsets, Ids indices, In<Value, 1> values, Ids label,
                Reals weight, Out<double, 2> occurrences, Out<double, 2> documents, std::size_t threads) {
  require(offsets.size() >= 1, "there must be an offset behind the last row");
  const std::size_t rows = offsets.size() - 1, classes = occurrences.shape(0);
  check_rows(offsets, indices, values.size(), columns);
  check_labels(label, rows, classes);
  require(weight.size() == rows, "weight needs ", rows, " entries");
  require(occurrences.shape(1) == columns, "occurrences must be classes x columns");
  require(documents.size() == 0 || (documents.shape(0) == classes && documents.shape(1) == columns),
          "documents must be classes x columns, or empty");
  nb::gil_scoped_release nogil;
  linear::class_sums<Value>({columns, view(offsets), view(indices), view(values)}, classes, view(label), view(weight),
                            view(occurrences), view(documents), threads);
}

linear::EventTable event_table(Family family, bool is_linear, bool presence, const In<double, 2>& first,
                               const In<double, 2>& second, const In<double, 2>& z, const In<double, 2>& weight) {
  const In<double, 2>& shape = is_linear ? weight : first;
  const std::size_t columns = shape.shape(0), classes = shape.shape(1);
  const auto right = [&](const In<double, 2>& array) { return array.shape(0) == columns && array.shape(1) == classes; };
  require(is_linear || (right(first) && right(second) && right(z)), "parameters must be columns x classes");
  require(!(is_linear || family == Family::binom) || right(weight), "weights must be columns x classes");
  if (!is_linear)
    for (std::size_t i = 0; i < first.size(); ++i)
      check_parameters(family, first.data()[i], second.data()[i], z.data()[i]);
  return {family, is_linear, presence, columns, classes, view(first), view(second), view(z), view(weight)};
}

void check_buckets(const Ids& bucket, std::size_t columns, std::size_t buckets) {
  require(bucket.size() == columns, "bucket needs ", columns, " entries");
  bool inside = true;
  for (const std::int32_t b : view(bucket)) inside &= b >= -1 && b < static_cast<std::int64_t>(buckets);
  require(inside, "buckets must lie from -1 to ", buckets, " - 1");
}

template <class Value>
void score_counts(int family, bool is_linear, bool presence, In<double, 2> first, In<double, 2> second, In<double, 2> z,
                  In<double, 2> weight, In<std::int64_t, 1> offsets, Ids indices, In<Value, 1> values, Reals length,
                  Ids bucket, Out<double, 3> score, std::size_t threads) {
  const auto table = event_table(family_of(family), is_linear, presence, first, second, z, weight);
  require(offsets.size() >= 1, "there must be an offset behind the last row");
  const std::size_t rows = offsets.size() - 1;
  check_rows(offsets, indices, values.size(), table.columns);
  check_buckets(bucket, table.columns, score.shape(0));
  require(length.size() == rows && score.shape(1) == rows && score.shape(2) == table.classes,
          "score must be buckets x rows x classes, and length have an entry a row");
  nb::gil_scoped_release nogil;
  linear::score_counts<Value>(table, {table.columns, view(offsets), view(indices), view(values)}, view(length),
                              view(bucket), view(score), threads);
}

void zero_sums(int family, bool presence, In<double, 2> first, In<double, 2> second, In<double, 2> z, Reals lengths,
               Ids bucket, Out<double, 3> out, std::size_t threads) {
  const Family kind = family_of(family);
  const auto table = event_table(kind, false, presence, first, second, z, first);
  check_buckets(bucket, table.columns, out.shape(0));
  require(out.shape(1) == lengths.size() && out.shape(2) == table.classes, "out must be buckets x lengths x classes");
  bool right = true;
  for (const double n : view(lengths)) right &= n >= 0 && n <= 1e15;
  require(right, "lengths must not be negative");
  nb::gil_scoped_release nogil;
  linear::zero_sums(table, view(lengths), view(bucket), out.shape(0), view(out), threads);
}

}  // namespace

void bind_counts(nb::module_& m) {
  m.def("log_pmf", &log_pmf, "family"_a, "first"_a, "second"_a, "z"_a, "x"_a, "n"_a, "out"_a.noconvert(), "threads"_a,
        "Logarithms of probabilities of counts.");
  m.def("count_slopes", &slopes, "family"_a, "first"_a, "second"_a, "z"_a, "x"_a, "n"_a, "out"_a.noconvert(),
        "threads"_a, "Slopes of these by mu or p, kappa or gamma, and z.");
  nb::class_<CountTable>(m, "CountTable", "Counts by class and word, with the lengths of their texts.")
      .def("__init__", &make_table, "columns"_a, "classes"_a, "offsets"_a, "indices"_a, "values"_a, "label"_a,
           "exposure"_a, "weight"_a, "clipped"_a, "threads"_a)
      .def_prop_ro("cells", &CountTable::cells)
      .def_prop_ro("entries", [](const CountTable& table) { return table.entries(); });
  m.def("fit_table", &fit_table, "table"_a, "family"_a, "inflated"_a, "em"_a, "prior"_a, "max_iter"_a, "tolerance"_a,
        "start"_a, "z"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(), "log_likelihood"_a.noconvert(),
        "errors"_a.noconvert(), "state"_a.noconvert(), "iterations"_a.noconvert(), "threads"_a,
        "Fit a distribution to every class and word.");
  m.def("class_sums", &class_sums<std::int32_t>, "columns"_a, "offsets"_a, "indices"_a, "values"_a.noconvert(),
        "label"_a, "weight"_a, "occurrences"_a.noconvert(), "documents"_a.noconvert(), "threads"_a);
  m.def("class_sums", &class_sums<double>, "columns"_a, "offsets"_a, "indices"_a, "values"_a, "label"_a, "weight"_a,
        "occurrences"_a.noconvert(), "documents"_a.noconvert(), "threads"_a,
        "Add occurrences and texts of every word and class.");
  m.def("score_counts", &score_counts<std::int32_t>, "family"_a, "is_linear"_a, "presence"_a, "first"_a, "second"_a,
        "z"_a, "weight"_a, "offsets"_a, "indices"_a, "values"_a.noconvert(), "length"_a, "bucket"_a,
        "score"_a.noconvert(), "threads"_a);
  m.def("score_counts", &score_counts<double>, "family"_a, "is_linear"_a, "presence"_a, "first"_a, "second"_a, "z"_a,
        "weight"_a, "offsets"_a, "indices"_a, "values"_a, "length"_a, "bucket"_a, "score"_a.noconvert(), "threads"_a,
        "Add what the words of texts bring to the scores of classes, by bucket.");
  m.def("zero_sums", &zero_sums, "family"_a, "presence"_a, "first"_a, "second"_a, "z"_a, "lengths"_a, "bucket"_a,
        "out"_a.noconvert(), "threads"_a, "Sums of log F(0 | n) over words, by bucket, length and class.");
}

}  // namespace textmill::bind
