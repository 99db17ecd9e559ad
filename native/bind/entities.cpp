#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include "base/intern.h"
#include "bind/bindings.h"
#include "bind/cells.h"
#include "bind/counted.h"
#include "entities/candidates.h"
#include "entities/phrases.h"
#include "entities/sharing.h"

namespace textmill::bind {
namespace {

using entities::Position;

constexpr std::size_t kMostWords = std::size_t{1} << 20;  // whose views are remembered

nb::tuple to_python(entities::Candidates&& found) {
  return nb::make_tuple(to_numpy(std::move(found.offsets)), to_numpy(std::move(found.begin)),
                        to_numpy(std::move(found.end)), to_numpy(std::move(found.probability)));
}

entities::PhraseLabels checked_phrase_labels(const sequence::Histories& histories, std::size_t begin,
                                             std::size_t inside, double least) {
  require(begin < histories.labels && inside <= histories.labels && begin != inside, "there are no such labels");
  require(least > 0.0 && least <= 1.0, "least must lie above 0 and at most 1");
  return {begin, inside};
}

nb::tuple find_candidates(const StepSource& source, std::size_t begin, std::size_t inside, double least,
                          std::size_t threads) {
  const entities::PhraseLabels labels = checked_phrase_labels(source.histories(), begin, inside, least);
  require(threads > 0, "threads must be at least 1");
  const std::vector<std::size_t> tasks = tasks_of(source.offsets());
  entities::Candidates found;
  {
    nb::gil_scoped_release nogil;
    std::vector<entities::Candidates> blocks(tasks.size() - 1);
    base::parallel_for(blocks.size(), threads, [&](std::size_t task) {
      std::vector<double> scratch;
      sequence::CoarseSteps coarse;
      entities::Candidates block;
      for (std::size_t s = tasks[task]; s < tasks[task + 1]; ++s) {
        const auto length = static_cast<std::size_t>(source.offsets()[s + 1] - source.offsets()[s]);
        entities::find_candidates({source.histories(), length, source.of(s, scratch, coarse), nullptr}, labels, least,
                                  block);
        block.offsets.push_back(static_cast<std::int64_t>(block.begin.size()));
      }
      blocks[task] = std::move(block);
    });
    found = entities::join_candidates(blocks);
  }
  return to_python(std::move(found));
}

// Candidates of training sentences, each by the counts without its fold: sentences folds[f] .. folds[f + 1] - 1.
nb::tuple jackknife_candidates(const CountedModel& model, const PyTokenTests& given,
                               In<std::int32_t, 1> labels_of_tokens, In<std::int64_t, 1> folds, std::size_t begin,
                               std::size_t inside, double least, std::size_t threads) {
  const entities::PhraseLabels labels = checked_phrase_labels(model.histories(), begin, inside, least);
  require(threads > 0, "threads must be at least 1");
  const sequence::TokenTests tests = checked_tests(given, model.tests());
  const auto bounds = view(folds);
  check_offsets(bounds, tests.offsets.size() - 1, "folds");
  require(labels_of_tokens.size() + 1 == tests.indptr.size(), "there must be one label a token");
  for (const std::int32_t y : view(labels_of_tokens))
    require(y >= -1 && y < static_cast<std::int64_t>(model.histories().labels), "there is no label ", y);
  entities::Candidates found;
  {
    nb::gil_scoped_release nogil;
    const sequence::CountTable table = model.table();
    const sequence::BackOff back_off = model.back_off();
    const sequence::Histories& histories = model.histories();
    const sequence::Events events = sequence::events_of(tests.offsets, view(labels_of_tokens), histories);
    const std::size_t cells = histories.size(histories.order) * histories.labels;
    std::vector<entities::Candidates> blocks(bounds.size() - 1);
    base::parallel_for(blocks.size(), threads, [&](std::size_t fold) {
      const auto first = static_cast<std::size_t>(bounds[fold]), last = static_cast<std::size_t>(bounds[fold + 1]);
      std::vector<double> counts(table.count.begin(), table.count.end()), steps;
      sequence::subtract_events(table, tests, events, histories, static_cast<std::size_t>(tests.offsets[first]),
                                static_cast<std::size_t>(tests.offsets[last]), counts);
      entities::Candidates block;
      sequence::CoarseSteps coarse;
      for (std::size_t s = first; s < last; ++s) {
        const auto length = static_cast<std::size_t>(tests.offsets[s + 1] - tests.offsets[s]);
        steps.resize(std::max(steps.size(), length * cells));
        sequence::fill_steps(table, counts, back_off, histories, tests, s, coarse, steps.data());
        entities::find_candidates({histories, length, steps.data(), nullptr}, labels, least, block);
        block.offsets.push_back(static_cast<std::int64_t>(block.begin.size()));
      }
      blocks[fold] = std::move(block);
    });
    found = entities::join_candidates(blocks);
  }
  return to_python(std::move(found));
}

void choose(In<std::int64_t, 1> offsets, In<std::int32_t, 1> begin, In<std::int32_t, 1> end, In<double, 1> score,
            double threshold, Out<std::uint8_t, 1> chosen, std::size_t threads) {
  check_offsets(view(offsets), begin.size(), "candidates");
  require(end.size() == begin.size() && score.size() == begin.size() && chosen.size() == begin.size(),
          "candidates must be equally many");
  for (std::size_t i = 0; i < begin.size(); ++i) {
    require(begin.data()[i] >= 0 && begin.data()[i] < end.data()[i], "candidate ", i, " is empty");
    require(std::isfinite(score.data()[i]), "scores must be finite");
  }
  require(threads > 0 && std::isfinite(threshold), "threads must be at least 1, the threshold finite");
  nb::gil_scoped_release nogil;
  entities::choose_candidates(view(offsets), view(begin), view(end), view(score), threshold,
                              {chosen.data(), chosen.size()}, threads);
}

// What documents say elsewhere of the words of candidates: same and longer [candidates][types].
void share_types(const std::tuple<In<std::int64_t, 1>, In<std::uint64_t, 1>, In<std::int64_t, 1>>& text,
                 In<std::int64_t, 1> offsets, In<std::int32_t, 1> begin, In<std::int32_t, 1> end, In<double, 1> name,
                 In<double, 2> types, Out<double, 2> same, Out<double, 2> longer) {
  const auto& [tokens, sums, document] = text;
  const std::size_t N = name.size(), K = types.shape(1), S = document.size();
  require(sums.size() > 0 && tokens.size() == S + 1 && offsets.size() == S + 1, "sentences must be equally many");
  check_offsets(view(tokens), sums.size() - 1, "tokens");
  check_offsets(view(offsets), N, "candidates");
  require(begin.size() == N && end.size() == N && types.shape(0) == N, "candidates must be equally many");
  for (const auto* out : {&same, &longer})
    require(out->shape(0) == N && out->shape(1) == K, "outputs must be candidates x types");
  for (std::size_t s = 0; s < S; ++s)
    for (std::int64_t i = offsets.data()[s]; i < offsets.data()[s + 1]; ++i)
      require(begin.data()[i] >= 0 && begin.data()[i] < end.data()[i] &&
                  end.data()[i] <= tokens.data()[s + 1] - tokens.data()[s],
              "candidate ", i, " is not in its sentence");
  nb::gil_scoped_release nogil;
  entities::share_types({view(tokens), view(sums), view(document), view(offsets), view(begin), view(end)}, view(name),
                        {types.data(), types.size()}, K, {same.data(), same.size()}, {longer.data(), longer.size()});
}

// Lists of names, one per sequence, from the number of the name at each token; every name is one object, shared.
nb::list spelled(In<std::int32_t, 1> codes, In<std::int64_t, 1> offsets, const nb::list& names) {
  check_offsets(view(offsets), codes.size(), "sequences");
  std::vector<PyObject*> name;
  for (const nb::handle one : names) name.push_back(one.ptr());
  for (const std::int32_t code : view(codes))
    require(code >= 0 && static_cast<std::size_t>(code) < name.size(), "there is no name ", code);
  nb::list out;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t first = offsets.data()[s], length = offsets.data()[s + 1] - first;
    nb::object row = nb::steal(PyList_New(static_cast<Py_ssize_t>(length)));
    if (!row.is_valid()) throw nb::python_error();
    for (std::int64_t t = 0; t < length; ++t)
      PyList_SET_ITEM(row.ptr(), static_cast<Py_ssize_t>(t),
                      Py_NewRef(name[static_cast<std::size_t>(codes.data()[first + t])]));
    out.append(row);
  }
  return out;
}

// The features of phrases, and the views of words that were met.
class Phrases {
 public:
  Phrases(const std::vector<std::tuple<int, std::int32_t, std::int32_t>>& templates, std::size_t width)
      : table_(checked(templates, width)), width_(width) {}

  // Takes the features of a model, sorted as `arrays` gives them.
  void load(In<std::int32_t, 1> template_of, In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets) {
    check_offsets(view(offsets), bytes.size(), "values");
    require(offsets.size() == template_of.size() + 1, "there must be one value a feature");
    const std::lock_guard lock(mutex_);
    require(table_.features() == 0, "features are there already");
    for (std::size_t f = 0; f < template_of.size(); ++f) {
      const std::int32_t of = template_of.data()[f];
      require(of >= 0 && static_cast<std::size_t>(of) < table_.templates().size(), "there is no template ", of);
      const std::string_view value(reinterpret_cast<const char*>(bytes.data()) + offsets.data()[f],
                                   static_cast<std::size_t>(offsets.data()[f + 1] - offsets.data()[f]));
      require(static_cast<std::size_t>(table_.add(of, table_.value_id(value))) == f, "feature ", f, " is there twice");
    }
  }

  // Values of the views of all distinct words of the cells, and whether they are keywords. `describe` gets a list of
  // words that were not met before and gives for each a tuple of its views, and at last whether it is a keyword.
  // The lock is never held while Python runs: other threads would wait for it with the GIL in their hands.
  nb::tuple views(const Cells& cells, nb::callable describe) {
    require(cells.finished() && !cells.cells().columns().empty(), "the cells must be finished first");
    const base::InternTable& words = cells.cells().table(0);
    std::vector<std::uint32_t> row(words.size());
    for (bool first = true;; first = false) {
      std::vector<std::size_t> unknown;
      {
        const std::lock_guard lock(mutex_);
        if (first && met_.size() > kMostWords) forget();
        for (std::size_t w = 0; w < words.size(); ++w) {
          row[w] = met_.find(words[w], words.hash(w));
          if (row[w] == base::InternTable::kNone) unknown.push_back(w);
        }
        if (unknown.empty()) return views_of(row);
      }
      nb::list texts;
      for (const std::size_t w : unknown) texts.append(nb::str(words[w].data(), words[w].size()));
      const nb::list described(describe(texts));
      const std::lock_guard lock(mutex_);
      take(words, unknown, described);
    }
  }

  nb::tuple rows(const Cells& cells, In<std::int32_t, 1> views, In<std::uint8_t, 1> keyword,
                 In<std::int64_t, 1> phrases, In<std::int32_t, 1> begin, In<std::int32_t, 1> end, bool grow,
                 std::size_t threads) {
    const sequence::Cells& plain = cells.cells();
    require(cells.finished() && !plain.columns().empty(), "the cells must be finished first");
    require(keyword.size() == plain.table(0).size() && views.size() == keyword.size() * width_,
            "views must be those of the cells");
    require(phrases.size() == plain.offsets().size(), "there must be one list of phrases a sentence");
    check_offsets(view(phrases), begin.size(), "phrases");
    require(end.size() == begin.size() && threads > 0, "phrases must have as many ends as beginnings");
    for (std::size_t s = 0; s + 1 < phrases.size(); ++s) {
      const std::int64_t length = plain.offsets()[s + 1] - plain.offsets()[s];
      for (std::int64_t i = phrases.data()[s]; i < phrases.data()[s + 1]; ++i)
        require(begin.data()[i] >= 0 && begin.data()[i] < end.data()[i] && end.data()[i] <= length, "phrase ", i,
                " is not in its sentence");
    }
    entities::PhraseTable::Rows rows;
    {
      nb::gil_scoped_release nogil;
      const std::lock_guard lock(mutex_);
      const entities::Sentences sentences{plain.offsets(), plain.ids(0), view(views), width_, view(keyword)};
      rows = grow ? table_.fresh(sentences, view(phrases), view(begin), view(end))
                  : std::as_const(table_).known(sentences, view(phrases), view(begin), view(end), threads);
    }
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.ids)));
  }

  Numpy<std::int32_t, 1> sort() {
    const std::lock_guard lock(mutex_);
    return to_numpy(table_.sort());
  }
  std::size_t size() const { return table_.features(); }

  nb::tuple arrays() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::int32_t> template_of;
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};
    for (std::size_t f = 0; f < table_.features(); ++f) {
      template_of.push_back(table_.template_of(f));
      const std::string_view value = table_.value(f);
      bytes.insert(bytes.end(), value.begin(), value.end());
      offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
    return nb::make_tuple(to_numpy(std::move(template_of)), to_numpy(std::move(bytes)), to_numpy(std::move(offsets)));
  }

 private:
  static std::vector<entities::Template> checked(
      const std::vector<std::tuple<int, std::int32_t, std::int32_t>>& templates, std::size_t width) {
    std::vector<entities::Template> out;
    for (const auto& [position, place, of_view] : templates) {
      require(position >= 0 && position <= static_cast<int>(Position::kKeyword), "there is no position ", position);
      require(place >= 1 && place <= 1000000, "places count from 1, got ", place);
      require(of_view >= 0 && static_cast<std::size_t>(of_view) < width, "there is no view ", of_view);
      out.push_back({static_cast<Position>(position), place, of_view});
    }
    return out;
  }

  void forget() {
    met_.clear();
    views_.clear();
    keyword_.clear();
  }

  nb::tuple views_of(const std::vector<std::uint32_t>& rows) const {
    std::vector<std::int32_t> values;
    std::vector<std::uint8_t> keyword;
    values.reserve(rows.size() * width_);
    keyword.reserve(rows.size());
    for (const std::uint32_t r : rows) {
      values.insert(values.end(), views_.begin() + static_cast<std::ptrdiff_t>(r * width_),
                    views_.begin() + static_cast<std::ptrdiff_t>((r + 1) * width_));
      keyword.push_back(keyword_[r]);
    }
    return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(keyword)));
  }

  void take(const base::InternTable& words, const std::vector<std::size_t>& unknown, const nb::list& described) {
    require(described.size() == unknown.size(), "there must be a description of each word");
    std::size_t next = 0;
    for (const nb::handle one : described) {
      require(PyTuple_Check(one.ptr()) && static_cast<std::size_t>(PyTuple_GET_SIZE(one.ptr())) == width_ + 1,
              "a description must be a tuple of ", width_, " views and a truth value");
      const std::size_t w = unknown[next++];
      std::vector<std::int32_t> row;
      for (std::size_t v = 0; v < width_; ++v) {
        PyObject* value = PyTuple_GET_ITEM(one.ptr(), static_cast<Py_ssize_t>(v));
        row.push_back(value == Py_None ? -1 : table_.value_id(utf8_of(value, 0, 0)));
      }
      if (met_.insert(words[w], words.hash(w)) != keyword_.size()) continue;  // another thread was faster
      views_.insert(views_.end(), row.begin(), row.end());
      keyword_.push_back(PyTuple_GET_ITEM(one.ptr(), static_cast<Py_ssize_t>(width_)) == Py_True);
    }
  }

  mutable std::mutex mutex_;
  entities::PhraseTable table_;
  std::size_t width_;
  base::InternTable met_;              // words whose views are known
  std::vector<std::int32_t> views_;    // [words met][width]
  std::vector<std::uint8_t> keyword_;  // [words met]
};

}  // namespace

void bind_entities(nb::module_& m) {
  nb::class_<Phrases>(m, "Phrases", "Features of phrases.")
      .def(nb::init<const std::vector<std::tuple<int, std::int32_t, std::int32_t>>&, std::size_t>(), "templates"_a,
           "width"_a)
      .def("load", &Phrases::load, "template_of"_a, "bytes"_a, "offsets"_a)
      .def("views", &Phrases::views, "cells"_a, "describe"_a)
      .def("rows", &Phrases::rows, "cells"_a, "views"_a, "keyword"_a, "phrases"_a, "begin"_a, "end"_a, "grow"_a,
           "threads"_a)
      .def("sort", &Phrases::sort)
      .def("__len__", &Phrases::size)
      .def("arrays", &Phrases::arrays);
  m.def("find_candidates", &find_candidates, "source"_a, "begin"_a, "inside"_a, "least"_a, "threads"_a,
        "Phrases that a chain finds probable.");
  m.def("jackknife_candidates", &jackknife_candidates, "model"_a, "tests"_a, "labels"_a, "folds"_a, "begin"_a,
        "inside"_a, "least"_a, "threads"_a, "The same of training sentences, without the counts of their fold.");
  m.def("choose", &choose, "offsets"_a, "begin"_a, "end"_a, "score"_a, "threshold"_a, "chosen"_a.noconvert(),
        "threads"_a, "The set of phrases without overlaps of the greatest sum of scores above the threshold.");
  m.def("share_types", &share_types, "text"_a, "offsets"_a, "begin"_a, "end"_a, "name"_a, "types"_a,
        "same"_a.noconvert(), "longer"_a.noconvert(), "What documents say elsewhere of the words of phrases.");
  m.def("spelled", &spelled, "codes"_a, "offsets"_a, "names"_a, "Numbers of names as lists of names.");
}

}  // namespace textmill::bind
