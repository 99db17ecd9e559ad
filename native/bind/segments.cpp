#include "sequence/segments.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <tuple>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/cells.h"
#include "bind/sources.h"
#include "sequence/segment_tests.h"

namespace textmill::bind {
namespace {

using sequence::Find;
using sequence::History;
using sequence::Rows;

// Distinct strings in the order of their first appearance.
class StringNumbers {
 public:
  StringNumbers() = default;
  StringNumbers(In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets) {
    const auto text = view(bytes);
    const auto begin = view(offsets);
    check_offsets(begin, text.size(), "tests");
    nb::gil_scoped_release nogil;
    table.reserve(begin.size() - 1);
    for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
      const std::string_view test(reinterpret_cast<const char*>(text.data()) + begin[i],
                                  static_cast<std::size_t>(begin[i + 1] - begin[i]));
      require(table.insert(test, base::hash_bytes(test)) == i, "test ", i, " is there twice");
    }
  }
  std::size_t size() const {
    const std::shared_lock lock(mutex);
    return table.size();
  }
  nb::tuple arrays() const {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};
    {
      nb::gil_scoped_release nogil;
      const std::shared_lock lock(mutex);
      for (std::size_t i = 0; i < table.size(); ++i) {
        bytes.insert(bytes.end(), table[i].begin(), table[i].end());
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
      }
    }
    return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(offsets)));
  }
  // Numbers of strings, -1 for those that are not there.
  Numpy<std::int64_t, 1> find(nb::list strings) const {
    const std::shared_lock lock(mutex);
    std::vector<std::int64_t> numbers;
    for (const nb::handle string : strings) {
      const std::string_view test = utf8_of(string.ptr(), 0, 0);
      const std::uint32_t id = table.find(test, base::hash_bytes(test));
      numbers.push_back(id == base::InternTable::kNone ? -1 : static_cast<std::int64_t>(id));
    }
    return to_numpy(std::move(numbers));
  }
  void add(nb::list strings) {
    const std::unique_lock lock(mutex);
    for (const nb::handle string : strings) {
      const std::string_view test = utf8_of(string.ptr(), 0, 0);
      table.insert(test, base::hash_bytes(test));
    }
  }

  mutable std::shared_mutex mutex;
  base::InternTable table;
};

// What patterns read of some cells: columns seen through functions, and the names of boundaries.
class SegmentSources {
 public:
  SegmentSources(const Cells& cells, const std::vector<PySource>& sources, std::size_t left, std::size_t right)
      : cells_(cells), left_(left), right_(right) {
    require(left > 0 && right > 0, "boundaries need names");
    require(cells.finished(), "the cells must be finished first");
    sources_ = made_sources(cells, sources, left + right, arenas_);
  }
  SegmentSources(const SegmentSources&) = delete;
  SegmentSources& operator=(const SegmentSources&) = delete;

  const sequence::Cells& cells() const { return cells_.cells(); }
  std::span<const sequence::Source> sources() const { return sources_; }
  std::size_t left() const { return left_; }
  std::size_t right() const { return right_; }

  Numpy<std::int32_t, 1> values_at(std::size_t slot, std::int32_t offset) const {
    require(slot < cells().columns().size(), "there is no column ", slot);
    std::vector<std::int32_t> values;
    {
      nb::gil_scoped_release nogil;
      values = sequence::values_at(cells(), slot, offset, left_, right_);
    }
    return to_numpy(std::move(values));
  }

 private:
  const Cells& cells_;  // kept alive by Python
  std::size_t left_, right_;
  std::vector<std::string> arenas_;
  std::vector<sequence::Source> sources_;
};

class SegmentExtractor {
 public:
  using PyItem = std::tuple<std::string, std::int32_t, std::int32_t, std::int32_t, std::string>;

  // Items are (what is looked for, source, offset, end, text), see segment_tests.h.
  void add_pattern(std::int32_t shortest, std::int32_t longest, const std::vector<PyItem>& items) {
    require(shortest >= 1 && longest >= 0, "lengths count from 1");
    sequence::SegmentPattern pattern{shortest, longest, {}};
    for (const auto& [name, source, offset, end, text] : items) {
      static constexpr const char* names[] = {"text", "first", "last", "sentence", "range", "length", "repeated"};
      std::size_t find = 0;
      while (find < std::size(names) && name != names[find]) ++find;
      require(find < std::size(names), "there is nothing called ", name, " in a segment");
      const bool reads = name != "text" && name != "length";
      require(reads == (source >= 0), "sources count from 0, and ", name, " has one or none");
      sources_ = std::max(sources_, static_cast<std::size_t>(source + 1));
      pattern.items.push_back({static_cast<Find>(find), source, offset, end, text});
    }
    patterns_.push_back(std::move(pattern));
  }

  std::size_t size() const { return patterns_.size(); }

  nb::tuple rows(const SegmentSources& sources, StringNumbers& tests, In<std::int64_t, 1> begin,
                 In<std::int32_t, 1> length, bool grow, std::size_t threads) const {
    require(threads > 0, "threads must be at least 1");
    require(begin.size() == length.size(), "there must be one length a segment");
    const sequence::SegmentProgram program = made(sources);
    const sequence::Stretches rows{view(begin), view(length)};
    sequence::TestRows out;
    {
      nb::gil_scoped_release nogil;
      const std::span<const std::int64_t> offsets = sources.cells().offsets();
      for (std::size_t r = 0; r < rows.begin.size(); ++r) {
        const std::int64_t first = rows.begin[r];
        require(first >= 0 && first < offsets.back() && rows.length[r] >= 1, "segment ", r,
                " is outside of the tokens");
        const auto s = std::upper_bound(offsets.begin(), offsets.end(), first);
        require(first + rows.length[r] <= *s, "segment ", r, " goes beyond its sentence");
      }
      if (grow) {
        const std::unique_lock lock(tests.mutex);
        out = sequence::segment_tests_new(sources.cells(), program, rows, tests.table, threads);
      } else {
        const std::shared_lock lock(tests.mutex);
        out = sequence::segment_tests_known(sources.cells(), program, rows, tests.table, threads);
      }
    }
    return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.ids)));
  }

  // Known tests of patterns that look at one value of a column, for its values and the boundaries.
  nb::tuple values(const SegmentSources& sources, const StringNumbers& tests, std::size_t slot) const {
    const sequence::SegmentProgram program = made(sources);
    for (const sequence::SegmentPattern& pattern : patterns_)
      for (const sequence::SegmentItem& item : pattern.items)
        require(item.source < 0 || program.sources[static_cast<std::size_t>(item.source)].slot == slot,
                "a pattern reads another column than ", slot);
    require(slot < sources.cells().columns().size(), "there is no column ", slot);
    sequence::TestRows out;
    {
      nb::gil_scoped_release nogil;
      const std::shared_lock lock(tests.mutex);
      out = sequence::value_tests(program, tests.table, sources.cells().table(slot).size());
    }
    return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.ids)));
  }

 private:
  sequence::SegmentProgram made(const SegmentSources& sources) const {
    require(sources.sources().size() >= sources_, "patterns use ", sources_, " sources, got ",
            sources.sources().size());
    return {sources.sources(), patterns_, sources.left(), sources.right()};
  }

  std::size_t sources_ = 0;
  std::vector<sequence::SegmentPattern> patterns_;
};

using PyRows = std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>, std::optional<In<float, 1>>>;

Rows checked_rows(const PyRows& rows, std::size_t count, std::size_t tests, const char* name) {
  const auto& [offsets, ids, values] = rows;
  require(offsets.size() == count + 1, name, " must have ", count + 1, " offsets, got ", offsets.size());
  check_offsets(view(offsets), ids.size(), name);
  for (const std::int32_t id : view(ids))
    require(id >= 0 && static_cast<std::size_t>(id) < tests, name, " names a test that is not there");
  if (values.has_value()) require(values->size() == ids.size(), name, " must have one value a test");
  return {view(offsets), view(ids), values.has_value() ? view(*values) : std::span<const float>{}};
}

using PyShared = std::tuple<std::size_t, In<std::int32_t, 1>, PyRows>;  // role, row for each token, rows

class Problem {
 public:
  Problem(In<std::int64_t, 1> offsets, const std::vector<std::optional<PyRows>>& roles, In<std::int64_t, 1> candidates,
          In<std::int32_t, 1> lengths, In<std::uint8_t, 1> single, const PyRows& own, const PyRows& history,
          std::size_t labels, std::size_t tests, std::size_t history_tests, const std::string& kind,
          std::optional<In<double, 1>> weights, const std::vector<PyShared>& shared) {
    require(offsets.size() >= 1, "offsets must not be empty");
    const auto T = static_cast<std::size_t>(offsets.data()[offsets.size() - 1]);
    check_offsets(view(offsets), T, "sentences");
    require(labels >= 1 && labels < 10000, "labels must be in 1 .. 9999");
    require(T < std::size_t{1} << 31, "there are too many tokens");
    require(roles.size() == sequence::kRoles, "there must be rows or None for ", std::size_t{sequence::kRoles},
            " roles");
    require(candidates.size() == T + 1, "candidates must have one offset a token and one more");
    check_offsets(view(candidates), lengths.size(), "candidates");
    require(single.size() == T, "single must have one flag a token");
    sequence::Segments data{view(offsets), {}, view(candidates), view(lengths), view(single), {}, {}, {}};
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      for (std::int64_t t = data.offsets[s]; t < data.offsets[s + 1]; ++t) {
        std::int32_t before = 1;
        for (auto k = data.candidates[t]; k < data.candidates[t + 1]; ++k) {
          const std::int32_t length = data.lengths[k];
          require(length > before && t + length <= data.offsets[s + 1], "candidates of token ", t,
                  " must rise from 2 tokens on and end in their sentence");
          before = length;
        }
      }
    }
    for (std::size_t r = 0; r < roles.size(); ++r)
      if (roles[r].has_value()) data.roles[r] = checked_rows(*roles[r], T, tests, "a role");
    data.own = checked_rows(own, T + lengths.size(), tests, "segments");
    std::vector<sequence::Shared> groups;
    for (const auto& [role, of, rows] : shared) {
      require(role <= sequence::kRoles && (role == sequence::kSingle || roles[role].has_value()), "role ", role,
              " of shared rows has no rows");
      require(of.size() == T, "shared rows must be named for every token");
      const std::size_t count = std::get<0>(rows).size() - 1;
      for (const std::int32_t row : view(of))
        require(row >= -1 && (row < 0 || static_cast<std::size_t>(row) < count),
                "a token names a row that is not there");
      groups.push_back({role, view(of), checked_rows(rows, count, tests, "shared rows")});
    }
    data.shared = groups;
    data.history = checked_rows(history, T, history_tests, "histories");
    if (weights.has_value()) {
      require(weights->size() + 1 == offsets.size(), "there must be one weight a sentence");
      data.weights = view(*weights);
    }
    require(kind == "none" || kind == "label" || kind == "entity", "there is no history ", kind);
    const History history_kind = kind == "none" ? History::kNone : kind == "label" ? History::kLabel : History::kEntity;
    nb::gil_scoped_release nogil;
    problem.emplace(data, labels, tests, history_tests, history_kind);
  }

  void observe(In<std::int64_t, 2> segments) {
    require(segments.shape(1) == 3, "segments must be rows of three");
    const auto s = view(segments);
    const auto T = static_cast<std::int64_t>(problem->tokens());
    std::int64_t before = 0;
    for (std::size_t i = 0; i < s.size(); i += 3) {
      require(s[i] >= before && s[i + 1] >= 1 && s[i] + s[i + 1] <= T && s[i + 2] >= 1 &&
                  s[i + 2] < static_cast<std::int64_t>(problem->labels()),
              "segment ", i / 3, " overlaps the one before it or is outside");
      before = s[i] + s[i + 1];
    }
    nb::gil_scoped_release nogil;
    const std::lock_guard lock(mutex);
    problem->observe(s);
  }

  double evaluate(In<double, 1> theta, std::optional<Out<double, 1>> gradient, bool packed, std::size_t threads) {
    check(theta, threads);
    std::span<double> out;
    if (gradient.has_value()) {
      require(gradient->size() == theta.size(), "the gradient must be as long as theta");
      out = std::span(gradient->data(), gradient->size());
    }
    nb::gil_scoped_release nogil;
    const std::lock_guard lock(mutex);
    return problem->evaluate(view(theta), out, packed, threads);
  }

  nb::tuple marginals(In<double, 1> theta, std::size_t threads) {
    check(theta, threads);
    std::vector<double> out((problem->tokens() + problem->candidates()) * problem->labels()), log_z;
    {
      nb::gil_scoped_release nogil;
      const std::lock_guard lock(mutex);
      problem->marginals(view(theta), out, threads);
      log_z.assign(problem->log_z().begin(), problem->log_z().end());
    }
    return nb::make_tuple(to_numpy(std::move(out)), to_numpy(std::move(log_z)));
  }

  nb::tuple scores(In<double, 1> theta, std::size_t threads) {
    check(theta, threads);
    std::vector<double> segments((problem->tokens() + problem->candidates()) * problem->labels());
    std::vector<double> histories(problem->tokens() * problem->states() * problem->labels());
    {
      nb::gil_scoped_release nogil;
      const std::lock_guard lock(mutex);
      problem->scores(view(theta), segments, histories, threads);
    }
    return nb::make_tuple(to_numpy(std::move(segments)), to_numpy(std::move(histories)));
  }

  // For each sentence its best segmentations, as offsets of hypotheses, their scores, offsets of segments, segments.
  // `asked`, S x 4: a segment of each sentence that answers must have or not, see segments.h.
  nb::tuple best(In<double, 1> theta, std::size_t k, std::size_t threads, std::optional<In<std::int32_t, 2>> asked) {
    check(theta, threads);
    require(k >= 1, "k must be at least 1");
    if (asked)
      require(asked->shape(0) == problem->sentences() && asked->shape(1) == 4, "asked must be ", problem->sentences(),
              " x 4");
    const auto rules = asked ? std::span(asked->data(), asked->size()) : std::span<const std::int32_t>();
    std::vector<std::int64_t> hypotheses{0}, segments{0};
    std::vector<double> scores;
    std::vector<std::int32_t> flat;
    {
      nb::gil_scoped_release nogil;
      const std::lock_guard lock(mutex);
      for (const auto& answers : problem->best(view(theta), k, rules, threads)) {
        for (const sequence::Hypothesis& answer : answers) {
          scores.push_back(answer.score);
          flat.insert(flat.end(), answer.segments.begin(), answer.segments.end());
          segments.push_back(static_cast<std::int64_t>(flat.size() / 3));
        }
        hypotheses.push_back(static_cast<std::int64_t>(scores.size()));
      }
    }
    return nb::make_tuple(to_numpy(std::move(hypotheses)), to_numpy(std::move(scores)), to_numpy(std::move(segments)),
                          to_numpy(std::move(flat)));
  }

  Numpy<double, 1> frequencies() {
    std::vector<double> counts;
    {
      nb::gil_scoped_release nogil;
      const std::lock_guard lock(mutex);
      counts = problem->frequencies();
    }
    return to_numpy(std::move(counts));
  }

  std::size_t features() const { return problem->features(); }
  std::size_t memory() const { return problem->memory(); }

 private:
  void check(const In<double, 1>& theta, std::size_t threads) const {
    require(threads > 0, "threads must be at least 1");
    require(theta.size() == problem->features(), "theta must have ", problem->features(), " entries, got ",
            theta.size());
  }

  std::mutex mutex;
  std::optional<sequence::SegmentProblem> problem;
};

Numpy<std::uint8_t, 1> best_disjoint(In<std::int64_t, 1> offsets, In<std::int64_t, 1> candidates,
                                     In<std::int32_t, 1> lengths, In<double, 1> gains) {
  require(offsets.size() >= 1, "offsets must not be empty");
  const auto T = static_cast<std::size_t>(offsets.data()[offsets.size() - 1]);
  check_offsets(view(offsets), T, "sentences");
  require(candidates.size() == T + 1, "candidates must have one offset a token and one more");
  check_offsets(view(candidates), lengths.size(), "candidates");
  require(gains.size() == T + lengths.size(), "there must be a gain for each token and candidate");
  const auto o = view(offsets), c = view(candidates);
  for (std::size_t s = 0; s + 1 < o.size(); ++s)
    for (std::int64_t t = o[s]; t < o[s + 1]; ++t)
      for (auto k = c[t]; k < c[t + 1]; ++k)
        require(lengths.data()[k] >= 1 && t + lengths.data()[k] <= o[s + 1], "candidate ", k,
                " goes beyond its sentence");
  std::vector<std::uint8_t> chosen(gains.size());
  {
    nb::gil_scoped_release nogil;
    sequence::best_disjoint(o, c, view(lengths), view(gains), chosen);
  }
  return to_numpy(std::move(chosen));
}

}  // namespace

void bind_segments(nb::module_& m) {
  nb::class_<StringNumbers>(m, "StringNumbers", "Distinct strings and their numbers.")
      .def(nb::init<>())
      .def(nb::init<In<std::uint8_t, 1>, In<std::int64_t, 1>>(), "bytes"_a, "offsets"_a)
      .def("__len__", &StringNumbers::size)
      .def("arrays", &StringNumbers::arrays)
      .def("find", &StringNumbers::find, "strings"_a)
      .def("add", &StringNumbers::add, "strings"_a);
  nb::class_<SegmentSources>(m, "SegmentSources", "Columns seen through functions, for patterns of segments.")
      .def(nb::init<const Cells&, const std::vector<PySource>&, std::size_t, std::size_t>(), nb::keep_alive<1, 2>(),
           "cells"_a, "sources"_a, "left"_a, "right"_a)
      .def("values_at", &SegmentSources::values_at, "slot"_a, "offset"_a);
  nb::class_<SegmentExtractor>(m, "SegmentExtractor", "Compiled patterns of segments.")
      .def(nb::init<>())
      .def("add_pattern", &SegmentExtractor::add_pattern, "shortest"_a, "longest"_a, "items"_a)
      .def("__len__", &SegmentExtractor::size)
      .def("rows", &SegmentExtractor::rows, "sources"_a, "tests"_a, "begin"_a, "length"_a, "grow"_a, "threads"_a)
      .def("values", &SegmentExtractor::values, "sources"_a, "tests"_a, "slot"_a);
  nb::class_<Problem>(m, "SegmentProblem", "Sentences with their candidates, ready for sums over segmentations.")
      .def(nb::init<In<std::int64_t, 1>, const std::vector<std::optional<PyRows>>&, In<std::int64_t, 1>,
                    In<std::int32_t, 1>, In<std::uint8_t, 1>, const PyRows&, const PyRows&, std::size_t, std::size_t,
                    std::size_t, const std::string&, std::optional<In<double, 1>>, const std::vector<PyShared>&>(),
           "offsets"_a, "roles"_a, "candidates"_a, "lengths"_a, "single"_a, "own"_a, "history"_a, "labels"_a, "tests"_a,
           "history_tests"_a, "kind"_a, "weights"_a.none() = nb::none(), "shared"_a = nb::list())
      .def("observe", &Problem::observe, "segments"_a)
      .def("evaluate", &Problem::evaluate, "theta"_a, "gradient"_a.noconvert().none(), "packed"_a, "threads"_a)
      .def("marginals", &Problem::marginals, "theta"_a, "threads"_a)
      .def("scores", &Problem::scores, "theta"_a, "threads"_a)
      .def("best", &Problem::best, "theta"_a, "k"_a, "threads"_a, "asked"_a = nb::none())
      .def("frequencies", &Problem::frequencies)
      .def_prop_ro("features", &Problem::features)
      .def_prop_ro("memory", &Problem::memory);
  m.def("best_disjoint", &best_disjoint, "offsets"_a, "candidates"_a, "lengths"_a, "gains"_a);
}

}  // namespace textmill::bind
