#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/checked.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "strings/cosine.h"
#include "strings/search.h"
#include "strings/second_level.h"

namespace textmill::bind {
namespace {

using strings::Alignment;
using strings::OwnNames;
using strings::Rule;
using strings::Sides;
using strings::Table;

using Words = std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>>;                  // offsets, words of names
using Similar = std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>, In<float, 1>>;  // rows, columns, similarities

void check_names(const char* name, std::span<const std::int64_t> offsets, std::size_t size) {
  check_offsets(offsets, size, name);
  require(std::in_range<std::int32_t>(offsets.size()), name, " must be fewer than 2,147,483,647");
}

void check_ids(const char* name, std::span<const std::int32_t> ids, std::size_t extent) {
  for (const std::int32_t id : ids) {
    require(id >= 0 && static_cast<std::size_t>(id) < extent, name, " must lie from 0 to ", extent, " - 1, got ", id);
  }
}

// A table of similarities to `words` words, or to as many as it has rows.
Table checked_table(const Similar& similar, std::optional<std::size_t> words = std::nullopt) {
  const auto& [offsets, columns, values] = similar;
  check_names("the table", view(offsets), columns.size());
  require(columns.size() == values.size(), "the table must have as many columns as similarities");
  check_ids("columns of the table", view(columns), words.value_or(offsets.size() - 1));
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    for (auto e = static_cast<std::size_t>(offsets.data()[row]) + 1;
         e < static_cast<std::size_t>(offsets.data()[row + 1]); ++e) {
      require(columns.data()[e] > columns.data()[e - 1], "columns of the table must rise within row ", row);
    }
  }
  for (const float value : view(values))
    require(value >= 0.0f && value <= 1.0f, "similarities must lie from 0 to 1, got ", value);
  return {view(offsets), view(columns), view(values)};
}

void check_idf(std::span<const double> idf, std::size_t words, bool needed) {
  require(idf.size() == words || (idf.empty() && !needed), "there must be one weight a word, ", words, ", got ",
          idf.size());
  for (const double weight : idf)
    require(weight >= 0.0 && weight <= 1e100, "weights of words must not be negative, got ", weight);
}

Rule rule_of(const std::string& alignment, const std::string& sides, int gap, double theta) {
  static const std::unordered_map<std::string, Alignment> alignments = {{"chain", Alignment::chain},
                                                                        {"assignment", Alignment::assignment},
                                                                        {"greedy", Alignment::greedy},
                                                                        {"closest", Alignment::closest},
                                                                        {"average", Alignment::average}};
  static const std::unordered_map<std::string, Sides> directions = {
      {"forward", Sides::forward}, {"mean", Sides::mean}, {"max", Sides::max}, {"min", Sides::min}};
  const auto found = alignments.find(alignment);
  require(found != alignments.end(), "no alignment is called ", alignment);
  const auto side = directions.find(sides);
  require(side != directions.end(), "no sides are called ", sides);
  require(gap >= -1, "gap must be at least 0, or -1 for no transpositions, got ", gap);
  require(theta >= -1.0 && theta <= 1.0, "theta must lie from 0 to 1, got ", theta);
  return {found->second, side->second, gap < 0 ? Rule::kNoSwaps : static_cast<std::size_t>(gap), std::max(theta, 0.0)};
}

OwnNames own(const char* name, const Words& names, std::span<const double> idf, std::size_t words, bool types) {
  const auto& [offsets, ids] = names;
  check_names(name, view(offsets), ids.size());
  check_ids("words", view(ids), words);
  return strings::weigh_names(view(offsets), view(ids), idf, types);
}

void score_pairs(const Words& left, const Words& right, In<double, 1> idf, const Similar& similar,
                 In<std::int32_t, 1> lefts, In<std::int32_t, 1> rights, const std::string& alignment,
                 const std::string& sides, int gap, double theta, bool types, Out<double, 1> out, std::size_t threads) {
  const Rule rule = rule_of(alignment, sides, gap, theta);
  require(threads > 0, "threads must be at least 1");
  require(lefts.size() == rights.size() && lefts.size() == out.size(), "pairs and scores must have the same length");
  nb::gil_scoped_release nogil;
  const Table table = checked_table(similar);
  const std::size_t words = table.offsets.size() - 1;
  check_idf(view(idf), words, false);
  const std::span<const double> weights = rule.weighted() ? view(idf) : std::span<const double>();
  const OwnNames a = own("left", left, weights, words, types), b = own("right", right, weights, words, types);
  check_ids("left names", view(lefts), a.squares.size());
  check_ids("right names", view(rights), b.squares.size());
  strings::score_pairs(a.view(), b.view(), table, rule, view(lefts), view(rights), view(out), threads);
}

void score_matrix(const Words& left, const Words& right, In<double, 1> idf, const Similar& similar,
                  const std::string& alignment, const std::string& sides, int gap, double theta, bool types,
                  Out<double, 2> out, std::size_t threads) {
  const Rule rule = rule_of(alignment, sides, gap, theta);
  require(threads > 0, "threads must be at least 1");
  nb::gil_scoped_release nogil;
  const Table table = checked_table(similar);
  const std::size_t words = table.offsets.size() - 1;
  check_idf(view(idf), words, false);
  const std::span<const double> weights = rule.weighted() ? view(idf) : std::span<const double>();
  const OwnNames a = own("left", left, weights, words, types), b = own("right", right, weights, words, types);
  require(out.shape(0) == a.squares.size() && out.shape(1) == b.squares.size(), "out must be ", a.squares.size(), " x ",
          b.squares.size());
  strings::score_matrix(a.view(), b.view(), table, rule, view(out), threads);
}

// An index that owns its arrays, checked once.
class NameIndex {
 public:
  NameIndex(const Words& names, In<double, 1> idf, const Similar& similar, const std::string& alignment,
            const std::string& sides, int gap, double theta, bool types)
      : rule_(rule_of(alignment, sides, gap, theta)), types_(types) {
    nb::gil_scoped_release nogil;
    const Table table = checked_table(similar);
    rows_.assign(table.offsets.begin(), table.offsets.end());
    columns_.assign(table.columns.begin(), table.columns.end());
    values_.assign(table.values.begin(), table.values.end());
    check_idf(view(idf), rows_.size() - 1, false);
    if (rule_.weighted()) idf_.assign(view(idf).begin(), view(idf).end());
    names_ = own("names", names, idf_, rows_.size() - 1, types_);
    index_.emplace(names_.view(), rows_.size() - 1, rule_);
  }

  // Words of `left` have numbers of their own: `idf` and the rows of `similar` go by these, `known` says which number the
  // word has here, -1 if none.
  auto search(const Words& left, In<double, 1> idf, In<std::int32_t, 1> known, const Similar& similar, double threshold,
              std::size_t top, double cut, std::size_t threads) const {
    OwnNames names;
    Table table;
    {
      nb::gil_scoped_release nogil;
      const std::size_t here = rows_.size() - 1;
      table = checked_table(similar, here);
      const std::size_t words = table.offsets.size() - 1;
      check_idf(view(idf), words, false);
      require(known.size() == words, "there must be one number a word, ", words, ", got ", known.size());
      for (const std::int32_t word : view(known)) {
        require(word >= -1 && word < static_cast<std::int64_t>(here), "numbers must lie from -1 to ", here,
                " - 1, got ", word);
      }
      require(here + words <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()), "too many words");
      names = own("left", left, rule_.weighted() ? view(idf) : std::span<const double>(), words, types_);
      for (std::int32_t& word : names.words) {  // equal numbers mean equal words: new ones get numbers of their own
        const std::int32_t number = known.data()[word];
        word = number >= 0 ? number : static_cast<std::int32_t>(here) + word;
      }
    }
    return run(names.view(), table, 0, names.squares.size(), threshold, top, false, cut, threads);
  }

  auto search_self(std::size_t begin, std::size_t end, double threshold, std::size_t top, double cut,
                   std::size_t threads) const {
    require(begin <= end && end <= names_.squares.size(), "names must lie from 0 to ", names_.squares.size());
    return run(names_.view(), {rows_, columns_, values_}, begin, end, threshold, top, true, cut, threads);
  }

  Numpy<double, 1> squares() const { return to_numpy(std::vector<double>(names_.squares)); }

 private:
  std::tuple<Numpy<std::int32_t, 1>, Numpy<std::int32_t, 1>, Numpy<double, 1>, std::size_t, std::size_t> run(
      const strings::Names& left, const Table& table, std::size_t begin, std::size_t end, double threshold,
      std::size_t top, bool same, double cut, std::size_t threads) const {
    require(cut >= 0.0 && cut <= 1.0, "cut must lie from 0 to 1, got ", cut);
    require(threshold >= 0.0, "the threshold must not be negative, got ", threshold);
    require(threads > 0, "threads must be at least 1");
    strings::Matches found;
    {
      nb::gil_scoped_release nogil;
      found = index_->search(left, table, begin, end, threshold, top, same, cut, threads);
    }
    return {to_numpy(std::move(found.left)), to_numpy(std::move(found.right)), to_numpy(std::move(found.scores)),
            found.candidates, found.aligned};
  }

  Rule rule_;
  bool types_;
  std::vector<std::int64_t> rows_;
  std::vector<std::int32_t> columns_;
  std::vector<float> values_;
  std::vector<double> idf_;
  OwnNames names_;
  std::optional<strings::Index> index_;
};

// An index of vectors; words of the names searched for may be new, with numbers behind those of the collection.
class CosineIndex {
 public:
  CosineIndex(const Words& names, In<double, 1> idf, std::size_t threads) {
    require(threads > 0, "threads must be at least 1");
    nb::gil_scoped_release nogil;
    check_idf(view(idf), idf.size(), true);
    index_.emplace(own("names", names, view(idf), idf.size(), true).view(), idf.size(), threads);
  }

  auto search(const Words& left, In<double, 1> idf, double threshold, std::size_t top, std::size_t threads) const {
    OwnNames names;
    {
      nb::gil_scoped_release nogil;
      check_idf(view(idf), idf.size(), true);
      names = own("left", left, view(idf), idf.size(), true);
      for (std::int32_t& word : names.words) word = static_cast<std::size_t>(word) < index_->words() ? word : -1;
    }
    return run(threshold, threads,
               [&] { return index_->search(names.view(), 0, names.squares.size(), threshold, top, threads); });
  }

  auto search_self(std::size_t begin, std::size_t end, double threshold, std::size_t top, std::size_t threads) const {
    require(begin <= end && end <= index_->size(), "names must lie from 0 to ", index_->size());
    return run(threshold, threads, [&] { return index_->search_self(begin, end, threshold, top, threads); });
  }

  Numpy<double, 1> squares() const { return to_numpy(index_->squares()); }

 private:
  template <class Search>
  std::tuple<Numpy<std::int32_t, 1>, Numpy<std::int32_t, 1>, Numpy<double, 1>, std::size_t, std::size_t> run(
      double threshold, std::size_t threads, Search search) const {
    require(threshold >= 0.0, "the threshold must not be negative, got ", threshold);
    require(threads > 0, "threads must be at least 1");
    strings::Matches found;
    {
      nb::gil_scoped_release nogil;
      found = search();
    }
    return {to_numpy(std::move(found.left)), to_numpy(std::move(found.right)), to_numpy(std::move(found.scores)),
            found.candidates, found.aligned};
  }

  std::optional<strings::CosineIndex> index_;
};

}  // namespace

void bind_strings_joins(nb::module_& m) {
  m.def("score_pairs", &score_pairs, "left"_a, "right"_a, "idf"_a, "table"_a, "lefts"_a, "rights"_a, nb::kw_only(),
        "alignment"_a, "sides"_a, "gap"_a, "theta"_a, "types"_a, "out"_a.noconvert(), "threads"_a,
        "Score pairs of names by alignments of words.");
  m.def("score_matrix", &score_matrix, "left"_a, "right"_a, "idf"_a, "table"_a, nb::kw_only(), "alignment"_a, "sides"_a,
        "gap"_a, "theta"_a, "types"_a, "out"_a.noconvert(), "threads"_a,
        "Score all pairs of names by alignments of words.");
  nb::class_<CosineIndex>(m, "CosineIndex", "Names that can be searched for all whose cosine is above a threshold.")
      .def(nb::init<const Words&, In<double, 1>, std::size_t>(), "names"_a, "idf"_a, nb::kw_only(), "threads"_a)
      .def("search", &CosineIndex::search, "left"_a, "idf"_a, nb::kw_only(), "threshold"_a, "top"_a, "threads"_a,
           "Left, right, score, candidates, scored: matches of other names.")
      .def("search_self", &CosineIndex::search_self, "begin"_a, "end"_a, nb::kw_only(), "threshold"_a, "top"_a,
           "threads"_a, "Matches of names begin to end - 1 with the others of the collection.")
      .def("squares", &CosineIndex::squares, "Squared length of each name.");
  nb::class_<NameIndex>(m, "NameIndex", "Names that can be searched for all above a threshold.")
      .def(nb::init<const Words&, In<double, 1>, const Similar&, const std::string&, const std::string&, int, double,
                    bool>(),
           "names"_a, "idf"_a, "table"_a, nb::kw_only(), "alignment"_a, "sides"_a, "gap"_a, "theta"_a, "types"_a)
      .def("search", &NameIndex::search, "left"_a, "idf"_a, "known"_a, "table"_a, nb::kw_only(), "threshold"_a, "top"_a,
           "cut"_a = 0.0, "threads"_a, "Left, right, score, candidates, aligned: matches of other names.")
      .def("search_self", &NameIndex::search_self, "begin"_a, "end"_a, nb::kw_only(), "threshold"_a, "top"_a,
           "cut"_a = 0.0, "threads"_a, "Matches of names begin to end - 1 with the others of the collection.")
      .def("squares", &NameIndex::squares, "Squared length of each name.");
}

}  // namespace textmill::bind
