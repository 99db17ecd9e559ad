#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>

#include "base/fault.h"
#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/cells.h"
#include "bind/sources.h"
#include "sequence/extract.h"

namespace textmill::bind {
namespace {

using sequence::Extracted;
using sequence::Program;
using sequence::TestRows;

constexpr std::size_t kMostBits = 30;

// Patterns, and for each (column, function) the strings it gives for the distinct values of the column.
class Extractor {
 public:
  using PyItem = std::tuple<std::int32_t, std::int32_t, bool, std::string>;  // source, offset, absolute, literal

  Extractor(std::size_t left, std::size_t right) : left_(left), right_(right) {
    require(left > 0 && right > 0, "boundaries need names");
  }

  void add_pattern(int kind, std::int32_t parent, const std::vector<PyItem>& items) {
    require(kind >= 1 && kind <= 3, "kind must be 1, 2 or 3");
    require(parent >= -1 && parent < static_cast<std::int32_t>(patterns_.size()),
            "a parent must stand before its child");
    sequence::Pattern pattern{static_cast<std::uint8_t>(kind), parent, {}};
    for (const auto& [source, offset, absolute, literal] : items) {
      require(source >= -1, "sources count from 0");
      sources_ = std::max(sources_, static_cast<std::size_t>(source + 1));
      pattern.items.push_back({source, offset, absolute, literal});
    }
    patterns_.push_back(std::move(pattern));
  }

  nb::tuple known(const Cells& cells, const class Tests& tests, const std::vector<PySource>& sources,
                  std::size_t threads) const;
  nb::tuple fresh(const Cells& cells, class Tests& tests, const std::vector<PySource>& sources,
                  In<std::uint8_t, 1> active, std::size_t threads) const;
  nb::tuple hashed(const Cells& cells, const std::vector<PySource>& sources, std::size_t bits,
                   std::size_t threads) const;

 private:
  struct Made {
    Program program;
    std::vector<std::string> arenas;
  };
  Made make(const Cells& cells, const std::vector<PySource>& sources, std::size_t threads) const {
    require(threads > 0, "threads must be at least 1");
    require(cells.finished(), "the cells must be finished first");
    require(sources.size() >= sources_, "patterns use ", sources_, " sources, got ", sources.size());
    Made made{{{}, patterns_, left_, right_}, {}};
    made.program.sources = made_sources(cells, sources, left_ + right_, made.arenas);
    return made;
  }

  std::size_t left_, right_, sources_ = 0;
  std::vector<sequence::Pattern> patterns_;
};

// The tests of a model. Extraction of new ones holds them alone, looking up shares them.
class Tests {
 public:
  Tests() = default;
  Tests(In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets) {
    const auto text = view(bytes);
    const auto begin = view(offsets);
    check_offsets(begin, text.size(), "tests");
    nb::gil_scoped_release nogil;
    tests.strings.reserve(begin.size() - 1);
    for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
      const std::string_view test(reinterpret_cast<const char*>(text.data()) + begin[i],
                                  static_cast<std::size_t>(begin[i + 1] - begin[i]));
      require(sequence::kind_of(test) != 0, "test ", i, " begins with neither u, b nor *");
      require(tests.insert(test, base::hash_bytes(test)) == i, "test ", i, " is there twice");
    }
  }

  std::size_t size() const {
    const std::shared_lock lock(mutex);
    return tests.unigram.size();
  }
  nb::tuple sizes() const {
    const std::shared_lock lock(mutex);
    return nb::make_tuple(tests.unigrams, tests.bigrams);
  }
  std::int64_t find(std::string_view test) const {
    const std::shared_lock lock(mutex);
    const std::uint32_t id = tests.strings.find(test, base::hash_bytes(test));
    return id == base::InternTable::kNone ? -1 : static_cast<std::int64_t>(id);
  }

  // Bytes and offsets of all tests, and the numbers of their weights.
  nb::tuple arrays() const {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> unigram, bigram;
    {
      nb::gil_scoped_release nogil;
      const std::shared_lock lock(mutex);
      for (std::size_t i = 0; i < tests.unigram.size(); ++i) {
        const std::string_view test = tests.strings[i];
        bytes.insert(bytes.end(), test.begin(), test.end());
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
      }
      unigram = tests.unigram;
      bigram = tests.bigram;
    }
    return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(offsets)), to_numpy(std::move(unigram)),
                          to_numpy(std::move(bigram)));
  }

  mutable std::shared_mutex mutex;
  sequence::Tests tests;
};

nb::tuple to_python(TestRows&& rows) {
  return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.ids)));
}
nb::tuple to_python(Extracted&& out) {
  return nb::make_tuple(to_python(std::move(out.unigram)), to_python(std::move(out.bigram)));
}

nb::tuple Extractor::known(const Cells& cells, const Tests& tests, const std::vector<PySource>& sources,
                           std::size_t threads) const {
  const Made made = make(cells, sources, threads);
  Extracted out;
  {
    nb::gil_scoped_release nogil;
    const std::shared_lock lock(tests.mutex);
    out = sequence::extract_known(cells.cells(), made.program, tests.tests, threads);
  }
  return to_python(std::move(out));
}

nb::tuple Extractor::fresh(const Cells& cells, Tests& tests, const std::vector<PySource>& sources,
                           In<std::uint8_t, 1> active, std::size_t threads) const {
  const Made made = make(cells, sources, threads);
  for (const sequence::Pattern& pattern : made.program.patterns)
    require(!pattern.items.empty() && pattern.items[0].source < 0 &&
                sequence::kind_of(pattern.items[0].literal) == pattern.kind,
            "a pattern must begin with its kind");
  Extracted out;
  {
    nb::gil_scoped_release nogil;
    const std::unique_lock lock(tests.mutex);
    require(active.size() == tests.tests.unigram.size(), "active must have one entry a known test");
    out = sequence::extract_new(cells.cells(), made.program, tests.tests, view(active), threads);
  }
  return to_python(std::move(out));
}

nb::tuple Extractor::hashed(const Cells& cells, const std::vector<PySource>& sources, std::size_t bits,
                            std::size_t threads) const {
  require(bits >= 1 && bits <= kMostBits, "bits must be in 1 .. ", kMostBits);
  const Made made = make(cells, sources, threads);
  Extracted out;
  {
    nb::gil_scoped_release nogil;
    out = sequence::extract_hashed(cells.cells(), made.program, static_cast<int>(bits), threads);
  }
  return to_python(std::move(out));
}

// Attributes with values, token by token.
class AttributeReader {
 public:
  AttributeReader(sequence::Tests* open, const sequence::Tests* known, int bits, bool kinds)
      : open_(open), known_(known), bits_(bits), kinds_(kinds) {}

  void sequence(PyObject* tokens) {
    if (!is_row(tokens))
      throw Fault(std::string("a sequence must be a list of tokens, not ") + Py_TYPE(tokens)->tp_name, {s_, 0});
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(tokens);
    for (t_ = 0; t_ < static_cast<std::size_t>(length); ++t_) {
      name_.assign(kinds_ ? "" : "u");
      token(PySequence_Fast_GET_ITEM(tokens, static_cast<Py_ssize_t>(t_)));
      if (!kinds_) emit("b", 1.0);  // the pair of labels, at every token
      for (Side& side : sides_) side.indptr.push_back(static_cast<std::int64_t>(side.ids.size()));
    }
    offsets.push_back(offsets.back() + length);
    ++s_;
  }

  struct Side {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> ids;
    std::vector<float> values;
    bool ones = true;
  };
  nb::tuple rows(Side& side) {
    nb::object values = nb::none();
    if (!side.ones) values = nb::cast(to_numpy(std::move(side.values)));
    return nb::make_tuple(to_numpy(std::move(side.indptr)), to_numpy(std::move(side.ids)), values);
  }
  nb::tuple result() {
    nb::tuple unigram = rows(sides_[0]);
    nb::tuple bigram = rows(sides_[1]);
    return nb::make_tuple(to_numpy(std::move(offsets)), unigram, bigram);
  }
  std::vector<std::int64_t> offsets{0};

 private:
  static constexpr int kDeepest = 8;

  void token(PyObject* object) {
    if (PyDict_Check(object)) return mapping(object, 0);
    if (is_row(object) || PyAnySet_Check(object)) return items(object, 0, false);
    throw Fault(std::string("a token must be a dict or a list of attributes, not ") + Py_TYPE(object)->tp_name,
                {s_, t_});
  }

  // Attributes of a dict, after what `name_` holds; deeper ones are named 'outer:inner'.
  void mapping(PyObject* dict, int depth) {
    if (depth > kDeepest) throw Fault("attributes are nested too deep", {s_, t_});
    const std::size_t size = name_.size();
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
      name_.append(utf8_of(key, s_, t_));
      attribute(value, depth);
      name_.resize(size);
    }
  }

  void attribute(PyObject* value, int depth) {
    if (PyUnicode_Check(value)) {
      name_ += ':';
      name_.append(utf8_of(value, s_, t_));
      emit(name_, 1.0);
    } else if (PyDict_Check(value)) {
      name_ += ':';
      mapping(value, depth + 1);
    } else if (is_row(value) || PyAnySet_Check(value)) {
      name_ += ':';
      items(value, depth + 1, true);
    } else {
      emit(name_, number(value));
    }
  }

  void items(PyObject* collection, int depth, bool nested) {
    if (depth > kDeepest) throw Fault("attributes are nested too deep", {s_, t_});
    const std::size_t size = name_.size();
    const nb::object iterator = nb::steal(PyObject_GetIter(collection));
    if (!iterator.is_valid()) throw nb::python_error();
    while (PyObject* next = PyIter_Next(iterator.ptr())) {
      const nb::object item = nb::steal(next);
      if (!nested && PyTuple_Check(next) && PyTuple_GET_SIZE(next) == 2) {  // (attribute, value)
        name_.append(utf8_of(PyTuple_GET_ITEM(next, 0), s_, t_));
        emit(name_, number(PyTuple_GET_ITEM(next, 1)));
      } else {
        name_.append(utf8_of(next, s_, t_));
        emit(name_, 1.0);
      }
      name_.resize(size);
    }
    if (PyErr_Occurred()) throw nb::python_error();
  }

  double number(PyObject* value) {
    const double x = PyFloat_AsDouble(value);
    if (x == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      throw Fault("the value of attribute '" + plain() + "' is a " + Py_TYPE(value)->tp_name +
                      "; use a str, a number, a bool, a list or a dict",
                  {s_, t_});
    }
    return x;
  }
  std::string plain() const { return kinds_ ? name_ : name_.substr(1); }

  void emit(std::string_view test, double value) {
    const auto small = static_cast<float>(value);
    if (!std::isfinite(small))
      throw Fault("the value of attribute '" + plain() + "' is " +
                      (std::isnan(value) ? "not a number" : "infinite or too large") + "; use finite values",
                  {s_, t_});
    if (small == 0.0f) return;
    const std::uint8_t kind = sequence::kind_of(test);
    if (kind == 0)
      throw Fault("test '" + std::string(test) + "' begins with neither u, b nor *; say what it has weights for",
                  {s_, t_});
    std::int32_t unigram = -1, bigram = -1;
    if (bits_ > 0) {
      const auto id = static_cast<std::int32_t>(sequence::feature_hash(test, bits_));
      if (kind & sequence::kUnigram) unigram = id;
      if (kind & sequence::kBigram) bigram = id;
    } else {
      const std::uint64_t hash = base::hash_bytes(test);
      const std::uint32_t id = open_ != nullptr ? open_->insert(test, hash) : known_->strings.find(test, hash);
      if (id == base::InternTable::kNone) return;
      unigram = known_->unigram[id];
      bigram = known_->bigram[id];
    }
    if (unigram >= 0) push(sides_[0], unigram, small);
    if (bigram >= 0) push(sides_[1], bigram, small);
  }
  static void push(Side& side, std::int32_t id, float value) {
    side.ids.push_back(id);
    side.values.push_back(value);
    side.ones &= value == 1.0f;
  }

  sequence::Tests* open_;
  const sequence::Tests* known_;
  int bits_;
  bool kinds_;
  std::string name_;
  std::size_t s_ = 0, t_ = 0;
  Side sides_[2];
};

// `bits` > 0 hashes; else `grow` says whether new tests are taken. With `kinds` attributes begin with u, b or *,
// otherwise they are unigram tests and every token has the bigram test "b".
nb::tuple encode_attributes(nb::list sequences, Tests& tests, bool grow, std::size_t bits, bool kinds) {
  require(bits <= kMostBits, "bits must be in 0 .. ", kMostBits);
  const std::unique_lock lock(tests.mutex);  // with the GIL: the strings are Python's
  AttributeReader reader(grow ? &tests.tests : nullptr, &tests.tests, static_cast<int>(bits), kinds);
  for (const nb::handle tokens : sequences) reader.sequence(tokens.ptr());
  return reader.result();
}

}  // namespace

void bind_extract(nb::module_& m) {
  nb::class_<Cells>(m, "Cells", "Columns of sequences, each distinct string interned once.")
      .def(nb::init<const std::vector<std::size_t>&>(), "columns"_a)
      .def("add_rows", &Cells::add_rows, "rows"_a)
      .def("add_columns", &Cells::add_columns, "columns"_a)
      .def("finish", &Cells::finish, "threads"_a)
      .def("find", &Cells::find, "slot"_a, "value"_a)
      .def("distinct", &Cells::distinct, "slot"_a)
      .def("ids", &Cells::ids, "slot"_a)
      .def_prop_ro("width", &Cells::width)
      .def("offsets", &Cells::offsets);
  nb::class_<Tests>(m, "Tests", "Tests and the numbers of their weights.")
      .def(nb::init<>())
      .def(nb::init<In<std::uint8_t, 1>, In<std::int64_t, 1>>(), "bytes"_a, "offsets"_a)
      .def("__len__", &Tests::size)
      .def("sizes", &Tests::sizes)
      .def("find", &Tests::find, "test"_a)
      .def("arrays", &Tests::arrays);
  nb::class_<FunctionMemo>(m, "FunctionMemo", "What a function of strings gives, asked once per string.")
      .def(nb::init<nb::callable, std::vector<std::string>, std::size_t>(), "function"_a, "boundaries"_a, "most"_a);
  nb::class_<Extractor>(m, "Extractor", "Compiled patterns.")
      .def(nb::init<std::size_t, std::size_t>(), "left"_a, "right"_a)
      .def("add_pattern", &Extractor::add_pattern, "kind"_a, "parent"_a, "items"_a)
      .def("known", &Extractor::known, "cells"_a, "tests"_a, "sources"_a, "threads"_a)
      .def("fresh", &Extractor::fresh, "cells"_a, "tests"_a, "sources"_a, "active"_a, "threads"_a)
      .def("hashed", &Extractor::hashed, "cells"_a, "sources"_a, "bits"_a, "threads"_a);
  m.def("encode_attributes", &encode_attributes, "sequences"_a, "tests"_a, "grow"_a, "bits"_a, "kinds"_a);
}

}  // namespace textmill::bind
