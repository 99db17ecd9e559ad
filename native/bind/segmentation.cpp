#include <nanobind/stl/pair.h>

#include <cmath>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "tasks/segmentation.h"

namespace textmill::bind {
namespace {

using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;
using Positions = Numpy<std::int32_t, 1>;

constexpr std::size_t kMostCells = std::size_t{1} << 31;

tasks::Tokens checked(const Ids& ids, const Offsets& offsets, std::size_t vocabulary) {
  check_offsets(view(offsets), ids.size(), "units");
  require(ids.size() < (std::size_t{1} << 31) && vocabulary <= ids.size(), "there must be fewer than 2,147,483,648 ",
          "tokens, and no more words than tokens");
  bool inside = true;
  for (const std::int32_t t : view(ids)) inside &= t >= 0 && static_cast<std::size_t>(t) < vocabulary;
  require(inside, "ids must lie below ", vocabulary);
  return {view(ids), view(offsets), vocabulary};
}

tasks::Limits limited(const Offsets& sizes, std::size_t units, double penalty, std::size_t segments,
                      std::size_t shortest, std::size_t longest) {
  require(sizes.size() == units + 1, "sizes must be given for ", units, " units");
  check_offsets(view(sizes), static_cast<std::size_t>(sizes.data()[units]), "sizes");
  require(std::isfinite(penalty) && penalty >= 0.0, "penalty must be at least 0, got ", penalty);
  require(segments <= units && (segments + 1) * (units + 1) < kMostCells, "there are not ", segments, " segments");
  require(units > 0, "there are no units");
  return {penalty, segments, shortest, longest, view(sizes)};
}

void gap_cosines(Ids ids, Offsets offsets, std::size_t vocabulary, std::size_t k, Out<double, 1> out) {
  const tasks::Tokens text = checked(ids, offsets, vocabulary);
  require(k > 0, "k must be at least 1");
  require(text.units() > 0 && out.size() == text.units() - 1, "out must have a place for each gap");
  nb::gil_scoped_release nogil;
  tasks::gap_cosines(text, k, view(out));
}

void rank_matrix(In<float, 2> similarity, std::size_t r, Out<float, 2> out) {
  const std::size_t n = similarity.shape(0);
  require(similarity.shape(1) == n && out.shape(0) == n && out.shape(1) == n, "the matrices must be square");
  require(r % 2 == 1, "r must be odd, got ", r);
  nb::gil_scoped_release nogil;
  tasks::rank_matrix(view(similarity), n, r, view(out));
}

std::pair<Positions, Numpy<double, 1>> divide(In<float, 2> matrix, bool exact) {
  const std::size_t n = matrix.shape(0);
  require(matrix.shape(1) == n && n > 0, "the matrix must be square, with a row or more");
  tasks::Division division;
  {
    nb::gil_scoped_release nogil;
    division = tasks::divide(view(matrix), n, exact);
  }
  return {to_numpy(std::move(division.cuts)), to_numpy(std::move(division.density))};
}

// Tables that a pass over all segments may follow: a length for every number of tokens, a gain for every token of a word.
void check_tables(const tasks::Tokens& text, const Offsets& rows, const In<double, 1>& gain,
                  const In<double, 1>& length) {
  require(length.size() > text.ids.size(), "the table of lengths must reach to the number of tokens");
  require(rows.size() == text.vocabulary, "one row for each word");
  std::vector<std::int64_t> ends(rows.data(), rows.data() + rows.size());
  for (const std::int64_t row : ends) require(row >= 0, "rows must not be negative");
  for (const std::int32_t id : text.ids)
    require(static_cast<std::size_t>(ends[static_cast<std::size_t>(id)]++) < gain.size(),
            "rows must have room for all tokens of a word");
}

std::pair<Positions, bool> probable_cuts(Ids ids, Offsets offsets, std::size_t vocabulary, Offsets sizes, Offsets rows,
                                         In<double, 1> gain, In<double, 1> length, double penalty, std::size_t segments,
                                         std::size_t shortest, std::size_t longest) {
  const tasks::Tokens text = checked(ids, offsets, vocabulary);
  check_tables(text, rows, gain, length);
  const tasks::Limits limits = limited(sizes, text.units(), penalty, segments, shortest, longest);
  tasks::Cuts cuts;
  {
    nb::gil_scoped_release nogil;
    cuts = tasks::probable_cuts(text, view(rows), view(gain), view(length), limits);
  }
  return {to_numpy(std::move(cuts.cuts)), cuts.possible};
}

std::pair<Positions, Numpy<std::int64_t, 1>> granular_cuts(Ids ids, Offsets offsets, std::size_t vocabulary,
                                                           Offsets rows, In<double, 1> gain, In<double, 1> length,
                                                           In<double, 1> power, In<double, 1> weights) {
  const tasks::Tokens text = checked(ids, offsets, vocabulary);
  check_tables(text, rows, gain, length);
  require(power.size() > ids.size(), "the table of powers must reach to the number of tokens");
  require(text.units() > 0 && (text.units() + 1) * (weights.size() + 1) < kMostCells, "no units, or too many");
  tasks::GranularCuts cuts;
  {
    nb::gil_scoped_release nogil;
    cuts = tasks::granular_cuts(text, view(rows), view(gain), view(length), view(power), view(weights));
  }
  return {to_numpy(std::move(cuts.cuts)), to_numpy(std::move(cuts.offsets))};
}

Numpy<double, 1> recurrences(Ids ids, Offsets offsets, std::size_t vocabulary, Ids cuts, Offsets first) {
  const tasks::Tokens text = checked(ids, offsets, vocabulary);
  check_offsets(view(first), cuts.size(), "cuts");
  require(text.units() > 0 && text.units() < kMostCells / tasks::kDistances, "no units, or too many");
  for (const std::int32_t cut : view(cuts))
    require(cut > 0 && static_cast<std::size_t>(cut) < text.units(), "cuts must lie between units");
  const tasks::GranularCuts all{{cuts.data(), cuts.data() + cuts.size()}, {first.data(), first.data() + first.size()}};
  std::vector<double> out((first.size() - 1) * tasks::kBins * 6);
  {
    nb::gil_scoped_release nogil;
    tasks::recurrences(text, all, out);
  }
  return to_numpy(std::move(out));
}

std::pair<Positions, Numpy<double, 1>> divide_band(Offsets offsets, Ids columns, In<double, 1> values,
                                                   std::size_t width, std::size_t r, std::size_t band, bool exact) {
  check_offsets(view(offsets), columns.size(), "rows");
  const std::size_t n = offsets.size() - 1;
  require(values.size() == columns.size(), "one value for each column");
  require(r % 2 == 1, "r must be odd, got ", r);
  require(n > 0 && band > 0 && band <= n && n < kMostCells / band, "the band must have from 1 to ", n, " units");
  for (const std::int32_t c : view(columns))
    require(c >= 0 && static_cast<std::size_t>(c) < width, "a column is wrong");
  tasks::Division division;
  {
    nb::gil_scoped_release nogil;
    division = tasks::divide_band({view(offsets), view(columns), view(values), width}, r, band, exact);
  }
  return {to_numpy(std::move(division.cuts)), to_numpy(std::move(division.density))};
}

std::pair<Positions, bool> compact_cuts(In<double, 2> vectors, Offsets sizes, double penalty, std::size_t segments,
                                        std::size_t shortest, std::size_t longest) {
  const tasks::Limits limits = limited(sizes, vectors.shape(0), penalty, segments, shortest, longest);
  tasks::Cuts cuts;
  {
    nb::gil_scoped_release nogil;
    cuts = tasks::compact_cuts(view(vectors), vectors.shape(1), limits);
  }
  return {to_numpy(std::move(cuts.cuts)), cuts.possible};
}

}  // namespace

void bind_segmentation(nb::module_& m) {
  m.def("gap_cosines", &gap_cosines, "ids"_a, "offsets"_a, "vocabulary"_a, "k"_a, "out"_a.noconvert(),
        "Cosines of the counts before and after each gap between units of a text.");
  m.def("rank_matrix", &rank_matrix, "similarity"_a, "r"_a, "out"_a.noconvert(),
        "Share of the cells around each cell of a symmetric matrix that are lower.");
  m.def("divide", &divide, "matrix"_a, "exact"_a,
        "Cuts in the order in which they make a text denser inside its segments, and the densities.");
  m.def("divide_band", &divide_band, "offsets"_a, "columns"_a, "values"_a, "width"_a, nb::kw_only(), "r"_a, "band"_a,
        "exact"_a, "The same from the ranks of cosines of rows that are near each other.");
  m.def("probable_cuts", &probable_cuts, "ids"_a, "offsets"_a, "vocabulary"_a, "sizes"_a, nb::kw_only(), "rows"_a,
        "gain"_a, "length"_a, "penalty"_a, "segments"_a, "shortest"_a, "longest"_a,
        "Cuts of least description length, and whether there are any.");
  m.def("granular_cuts", &granular_cuts, "ids"_a, "offsets"_a, "vocabulary"_a, nb::kw_only(), "rows"_a, "gain"_a,
        "length"_a, "power"_a, "weights"_a,
        "Cuts of least description length for each weight of the lengths of segments, and the first cut of each.");
  m.def(
      "recurrences", &recurrences, "ids"_a, "offsets"_a, "vocabulary"_a, "cuts"_a, "first"_a,
      "Words in common and pairs of tokens, inside of segments and across cuts, by distance, for each cut of a text.");
  m.def("compact_cuts", &compact_cuts, "vectors"_a, "sizes"_a, nb::kw_only(), "penalty"_a, "segments"_a, "shortest"_a,
        "longest"_a, "Cuts of least squared deviation, and whether there are any.");
}

}  // namespace textmill::bind
