#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "strings/characters.h"

namespace textmill::bind {
namespace {

using strings::CharacterMeasure;
using strings::Kind;
using strings::Sequences;
using strings::Window;

using Symbols = std::tuple<In<std::int64_t, 1>, In<std::uint32_t, 1>>;  // offsets, symbols

Sequences checked(const char* name, const Symbols& sequences) {
  const auto& [offsets, symbols] = sequences;
  check_offsets(view(offsets), symbols.size(), name);
  require(offsets.size() <= (std::size_t{1} << 31), name, " must be fewer than 2,147,483,648");
  std::uint32_t most = 0;
  for (const std::uint32_t symbol : view(symbols)) most = std::max(most, symbol);
  require(most < strings::kMostSymbols, "symbols of ", name, " must be below ", strings::kMostSymbols, ", got ", most);
  return {view(offsets), view(symbols)};
}

CharacterMeasure measure_of(const std::string& kind, const std::string& window, bool floor, double prefix,
                            double boost) {
  static const std::unordered_map<std::string, Kind> kinds = {
      {"levenshtein", Kind::levenshtein}, {"osa", Kind::osa}, {"damerau", Kind::damerau}, {"jaro", Kind::jaro}};
  static const std::unordered_map<std::string, Window> windows = {
      {"paper", Window::paper}, {"winkler", Window::winkler}, {"secondstring", Window::secondstring}};
  const auto found = kinds.find(kind);
  require(found != kinds.end(), "no measure of characters is called ", kind);
  const auto places = windows.find(window);
  require(places != windows.end(), "no window is called ", window);
  require(prefix >= 0.0 && prefix <= 0.25, "prefix must lie from 0 to 0.25, got ", prefix);
  return {found->second, places->second, floor, prefix, boost};
}

template <class Real>
void character_matrix(const Symbols& left, const Symbols& right, const std::string& kind, const std::string& window,
                      bool floor, double prefix, double boost, bool symmetric, Out<Real, 2> out, std::size_t threads) {
  const CharacterMeasure measure = measure_of(kind, window, floor, prefix, boost);
  require(threads > 0, "threads must be at least 1");
  nb::gil_scoped_release nogil;
  const Sequences a = checked("left", left), b = checked("right", right);
  require(out.shape(0) == a.size() && out.shape(1) == b.size(), "out must be ", a.size(), " x ", b.size());
  require(!symmetric || std::ranges::equal(a.offsets, b.offsets),
          "a symmetric matrix has the same strings on both sides");
  strings::character_matrix<Real>(a, b, measure, symmetric, view(out), threads);
}

std::tuple<Numpy<std::int64_t, 1>, Numpy<std::int32_t, 1>, Numpy<float, 1>> character_table(
    const Symbols& left, const Symbols& right, const std::string& kind, const std::string& window, bool floor,
    double prefix, double boost, double epsilon, std::size_t threads) {
  const CharacterMeasure measure = measure_of(kind, window, floor, prefix, boost);
  require(threads > 0, "threads must be at least 1");
  require(epsilon >= 0.0 && epsilon <= 1.0, "epsilon must lie from 0 to 1, got ", epsilon);
  strings::SparseScores found;
  {
    nb::gil_scoped_release nogil;
    found = strings::character_table(checked("left", left), checked("right", right), measure,
                                     static_cast<float>(epsilon), threads);
  }
  return {to_numpy(std::move(found.offsets)), to_numpy(std::move(found.columns)), to_numpy(std::move(found.values))};
}

void character_pairs(const Symbols& left, const Symbols& right, In<std::int32_t, 1> lefts, In<std::int32_t, 1> rights,
                     const std::string& kind, const std::string& window, bool floor, double prefix, double boost,
                     Out<double, 1> out, std::size_t threads) {
  const CharacterMeasure measure = measure_of(kind, window, floor, prefix, boost);
  require(threads > 0, "threads must be at least 1");
  require(lefts.size() == rights.size() && lefts.size() == out.size(), "pairs and scores must have the same length");
  nb::gil_scoped_release nogil;
  const Sequences a = checked("left", left), b = checked("right", right);
  for (std::size_t p = 0; p < out.size(); ++p) {
    const std::int32_t i = lefts.data()[p], j = rights.data()[p];
    require(i >= 0 && static_cast<std::size_t>(i) < a.size() && j >= 0 && static_cast<std::size_t>(j) < b.size(),
            "pair ", p, " is (", i, ", ", j, "), outside ", a.size(), " x ", b.size());
  }
  strings::character_pairs(a, b, view(lefts), view(rights), measure, view(out), threads);
}

std::tuple<Numpy<std::int32_t, 1>, Numpy<std::int32_t, 1>, Numpy<double, 1>> character_search(
    const Symbols& left, const Symbols& right, const std::string& kind, const std::string& window, bool floor,
    double prefix, double boost, double at_least, double length_ratio, bool symmetric, std::size_t threads) {
  const CharacterMeasure measure = measure_of(kind, window, floor, prefix, boost);
  require(threads > 0, "threads must be at least 1");
  require(at_least >= 0.0 && at_least <= 1.0, "at_least must lie from 0 to 1, got ", at_least);
  require(length_ratio >= 0.0 && length_ratio <= 1.0, "length_ratio must lie from 0 to 1, got ", length_ratio);
  strings::FoundPairs found;
  {
    nb::gil_scoped_release nogil;
    const Sequences a = checked("left", left), b = checked("right", right);
    require(!symmetric || (std::ranges::equal(a.offsets, b.offsets) && std::ranges::equal(a.symbols, b.symbols)),
            "a symmetric search has the same strings on both sides");
    found = strings::character_search(a, b, measure, at_least, length_ratio, symmetric, threads);
  }
  return {to_numpy(std::move(found.left)), to_numpy(std::move(found.right)), to_numpy(std::move(found.scores))};
}

template <class Real>
void def_matrix(nb::module_& m) {
  m.def("character_matrix", &character_matrix<Real>, "left"_a, "right"_a, nb::kw_only(), "kind"_a, "window"_a,
        "floor"_a, "prefix"_a, "boost"_a, "symmetric"_a, "out"_a.noconvert(), "threads"_a,
        "Similarities of all pairs of sequences of symbols.");
}

}  // namespace

void bind_strings(nb::module_& m) {
  def_matrix<double>(m);
  def_matrix<float>(m);
  m.def("character_table", &character_table, "left"_a, "right"_a, nb::kw_only(), "kind"_a, "window"_a, "floor"_a,
        "prefix"_a, "boost"_a, "epsilon"_a, "threads"_a,
        "Similarities of at least epsilon: offsets, columns, values of sparse rows.");
  m.def("character_search", &character_search, "left"_a, "right"_a, nb::kw_only(), "kind"_a, "window"_a, "floor"_a,
        "prefix"_a, "boost"_a, "at_least"_a, "length_ratio"_a, "symmetric"_a, "threads"_a,
        "Pairs that score at least at_least: left, right, scores; each once when symmetric.");
  m.def("character_pairs", &character_pairs, "left"_a, "right"_a, "lefts"_a, "rights"_a, nb::kw_only(), "kind"_a,
        "window"_a, "floor"_a, "prefix"_a, "boost"_a, "out"_a.noconvert(), "threads"_a,
        "Similarities of pairs of sequences of symbols.");
}

}  // namespace textmill::bind
