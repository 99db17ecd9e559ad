#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "base/fault.h"
#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "language/counts.h"
#include "language/segment.h"

namespace textmill::bind {
namespace {

using language::Model;
using language::Source;

// Texts together with what owns them, so that they outlive the release of the GIL.
class Texts {
 public:
  explicit Texts(nb::list texts) {
    owners_.reserve(texts.size());
    sources_.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      PyObject* text = PyList_GET_ITEM(texts.ptr(), static_cast<Py_ssize_t>(i));
      if (PyUnicode_Check(text)) {
        sources_.push_back({{PyUnicode_DATA(text), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text)),
                             static_cast<int>(PyUnicode_KIND(text)), PyUnicode_IS_ASCII(text) != 0}});
      } else if (PyBytes_Check(text)) {
        sources_.push_back({{PyBytes_AS_STRING(text), static_cast<std::size_t>(PyBytes_GET_SIZE(text)), 1}, true});
      } else {
        throw nb::type_error(
            ("text " + std::to_string(i) + " is a " + Py_TYPE(text)->tp_name + ", not a str or bytes").c_str());
      }
      owners_.push_back(nb::borrow(text));
    }
  }
  Texts(In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets) {
    require(offsets.size() > 0 && offsets.data()[0] >= 0, "offsets of texts must begin with at least 0");
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const std::int64_t begin = offsets.data()[i], end = offsets.data()[i + 1];
      require(begin <= end && static_cast<std::size_t>(end) <= bytes.size(), "offsets of texts must not decrease and ",
              "must end inside of the bytes, at ", i);
      sources_.push_back({{bytes.data() + begin, static_cast<std::size_t>(end - begin), 1}, true});
    }
  }
  std::size_t size() const { return sources_.size(); }
  const Source& operator[](std::size_t i) const { return sources_[i]; }

 private:
  std::vector<nb::object> owners_;
  std::vector<Source> sources_;
};

class Evidence {  // a model and the arrays that it looks at
 public:
  Evidence(In<std::uint32_t, 1> slots, In<std::uint8_t, 1> tags, In<std::uint8_t, 1> records, float step,
           std::size_t languages, std::size_t order, float scale, float alpha, In<float, 2> script,
           bool without_accents)
      : slots_(slots), tags_(tags), records_(records), script_(script) {
    require(tags.size() == slots.size() && std::has_single_bit(slots.size()), "slots and tags must be a power of two");
    require(languages >= 1 && languages <= language::kMostLanguages, "there must be 1 to ", language::kMostLanguages,
            " languages, got ", languages);
    require(order <= language::kMostLetters, "n-grams have at most ", language::kMostLetters, " letters, got ", order);
    require(step >= 0 && alpha > 0 && alpha < 1, "alpha must lie between 0 and 1");
    require(script.shape(0) == language::kScripts && script.shape(1) == languages, "scripts must have ",
            language::kScripts, " rows and ", languages, " columns");
    model_ = {{view(slots), view(tags), view(records), step},
              languages,
              order,
              scale,
              alpha,
              view(script),
              {},
              without_accents};
  }
  Model with(const In<std::uint8_t, 1>& chosen) const {
    require(chosen.size() == model_.languages, "there must be a choice for each of ", model_.languages, " languages");
    Model model = model_;
    static std::atomic<std::uint64_t> calls{0};
    model.chosen = view(chosen);
    model.call = ++calls;
    return model;
  }
  const Model& model() const { return model_; }

 private:
  In<std::uint32_t, 1> slots_;
  In<std::uint8_t, 1> tags_;
  In<std::uint8_t, 1> records_;
  In<float, 2> script_;
  Model model_;
};

void identify(const Evidence& evidence, const Texts& texts, In<std::uint8_t, 1> chosen, Out<float, 2> known,
              Out<float, 2> total, Out<std::int64_t, 2> words, std::size_t threads) {
  const Model model = evidence.with(chosen);
  const std::size_t n = model.languages;
  require(known.shape(0) == texts.size() && known.shape(1) == n, "known must be texts x languages");
  require(total.shape(0) == texts.size() && total.shape(1) == n, "total must be texts x languages");
  require(words.shape(0) == texts.size() && words.shape(1) == 2, "words must be texts x 2");
  nb::gil_scoped_release nogil;
  base::parallel_blocks(texts.size(), 32, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const language::Sums sums = language::identify(model, texts[i], known.data() + i * n, total.data() + i * n);
      words.data()[2 * i] = static_cast<std::int64_t>(sums.words);
      words.data()[2 * i + 1] = static_cast<std::int64_t>(sums.in_dictionary);
    }
  });
}

void best_languages(const Evidence& evidence, const Texts& texts, In<std::uint8_t, 1> chosen,
                    In<std::uint8_t, 1> answered, In<double, 1> prior, Out<std::int64_t, 1> best, std::size_t threads) {
  const Model model = evidence.with(chosen);
  const std::size_t n = model.languages;
  require(answered.size() == n && prior.size() == n, "there must be an answer and a prior for each of ", n,
          " languages");
  require(best.size() == texts.size(), "there must be a place for each text");
  nb::gil_scoped_release nogil;
  base::parallel_blocks(texts.size(), 32, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      best.data()[i] = static_cast<std::int64_t>(language::best_language(model, texts[i], view(answered), view(prior)));
  });
}

nb::tuple signal(const Evidence& evidence, const Texts& texts, std::size_t text, In<std::uint8_t, 1> chosen) {
  const Model model = evidence.with(chosen);
  require(text < texts.size(), "there is no text ", text);
  std::vector<std::int64_t> spans;
  std::vector<std::uint8_t> kinds, keys;
  std::vector<std::int64_t> key_ends{0};
  std::vector<float> rows;
  {
    nb::gil_scoped_release nogil;
    float row[language::kRow];
    language::read(texts[text], [&](const auto& reader) {
      language::scan(reader, model.without_accents, [&](const language::Word& word) {
        kinds.push_back(static_cast<std::uint8_t>(language::relevance(model, word, row)));
        spans.push_back(static_cast<std::int64_t>(word.begin));
        spans.push_back(static_cast<std::int64_t>(word.end));
        keys.insert(keys.end(), word.key.begin(), word.key.end());
        key_ends.push_back(static_cast<std::int64_t>(keys.size()));
        rows.insert(rows.end(), row, row + model.languages);
      });
    });
  }
  return nb::make_tuple(to_numpy(std::move(spans)), to_numpy(std::move(kinds)), to_numpy(std::move(keys)),
                        to_numpy(std::move(key_ends)), to_numpy(std::move(rows)));
}

nb::tuple segment(const Evidence& evidence, const Texts& texts, In<std::uint8_t, 1> chosen, float penalty,
                  float unknown, float unseen, float at_break, std::size_t threads) {
  const Model model = evidence.with(chosen);
  require(penalty >= 0 && at_break >= 0, "the penalty must not be negative");
  std::vector<std::vector<language::Piece>> pieces(texts.size());
  {
    nb::gil_scoped_release nogil;
    base::parallel_blocks(texts.size(), 8, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        pieces[i] = language::segment(model, texts[i], {penalty, unknown, unseen, at_break});
    });
  }
  std::vector<std::int64_t> offsets{0}, spans;
  std::vector<std::int32_t> labels;
  std::vector<float> confidence;
  for (const auto& text : pieces) {
    for (const language::Piece& piece : text) {
      spans.insert(spans.end(), {piece.begin, piece.end, piece.first, piece.last});
      labels.push_back(piece.language);
      confidence.push_back(piece.confidence);
    }
    offsets.push_back(static_cast<std::int64_t>(labels.size()));
  }
  return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(spans)), to_numpy(std::move(labels)),
                        to_numpy(std::move(confidence)));
}

nb::object switching_path(In<float, 2> scores, float penalty) {
  require(scores.shape(1) > 0, "there must be a label");
  std::vector<std::int32_t> path(scores.shape(0));
  {
    nb::gil_scoped_release nogil;
    language::switching_path(view(scores), scores.shape(1), penalty, path);
  }
  return nb::cast(to_numpy(std::move(path)));
}

void smooth(In<float, 2> rows, std::size_t half, Out<float, 2> medians) {
  require(medians.shape(0) == rows.shape(0) && medians.shape(1) == rows.shape(1),
          "medians must have the shape of rows");
  nb::gil_scoped_release nogil;
  language::smooth(view(rows), rows.shape(1), half, view(medians));
}

nb::tuple smoothed_pieces(In<float, 2> rows, In<float, 1> thresholds, std::size_t half, std::size_t least,
                          std::size_t least_unknown) {
  require(thresholds.size() == rows.shape(1) && rows.shape(1) <= language::kRow, "there must be a threshold for each ",
          "column");
  language::Sets sets;
  {
    nb::gil_scoped_release nogil;
    sets = language::smoothed_pieces(view(rows), rows.shape(1), view(thresholds), half, least, least_unknown);
  }
  return nb::make_tuple(to_numpy(std::move(sets.begin)), to_numpy(std::move(sets.offsets)),
                        to_numpy(std::move(sets.languages)));
}

nb::tuple index_records(In<std::uint8_t, 1> records, float step) {
  language::Slots slots;
  {
    nb::gil_scoped_release nogil;
    slots = language::index_records(view(records), step);
  }
  return nb::make_tuple(to_numpy(std::move(slots.slots)), to_numpy(std::move(slots.tags)));
}

// Records of sorted keys from rows of pairs.
nb::object write_records(In<std::uint8_t, 1> keys, In<std::int64_t, 1> offsets, std::uint8_t kind, In<float, 1> rest,
                         In<std::int64_t, 1> begin, In<std::uint8_t, 1> languages, In<float, 1> values, float step) {
  check_offsets(view(offsets), keys.size(), "keys");
  check_offsets(view(begin), languages.size(), "pairs");
  require(begin.size() == offsets.size() && rest.size() + 1 == offsets.size(), "each key needs pairs and a rest");
  require(values.size() == languages.size() && kind <= 1, "each pair needs a value");
  std::vector<std::uint8_t> records;
  const auto put = [&](float value) {
    if (step > 0) {
      const float level = std::nearbyint(value / step);
      records.push_back(static_cast<std::uint8_t>(static_cast<std::int8_t>(std::clamp(level, -127.0f, 127.0f))));
    } else {
      std::uint8_t bytes[4];
      std::memcpy(bytes, &value, 4);
      records.insert(records.end(), bytes, bytes + 4);
    }
  };
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto first = static_cast<std::size_t>(offsets.data()[i]),
               last = static_cast<std::size_t>(offsets.data()[i + 1]);
    const auto from = static_cast<std::size_t>(begin.data()[i]), to = static_cast<std::size_t>(begin.data()[i + 1]);
    require(last - first <= language::kLongest, "a word has more than ", language::kLongest, " bytes, at ", i);
    require(to - from <= language::kMostLanguages, "a word has too many languages, at ", i);
    records.push_back(static_cast<std::uint8_t>(kind << 7 | (last - first)));
    records.insert(records.end(), keys.data() + first, keys.data() + last);
    const std::size_t row =
        to > from ? std::size_t{*std::max_element(languages.data() + from, languages.data() + to)} + 1 : 0;
    if (row <= language::kMostLanguages && 2 * (to - from) > row) {  // shorter as a row
      records.push_back(language::kRowMark);
      records.push_back(static_cast<std::uint8_t>(row));
      put(rest.data()[i]);
      std::vector<float> dense(row, rest.data()[i]);
      for (std::size_t p = from; p < to; ++p) dense[languages.data()[p]] = values.data()[p];
      for (const float value : dense) put(value);
      continue;
    }
    records.push_back(static_cast<std::uint8_t>(to - from));
    put(rest.data()[i]);
    records.insert(records.end(), languages.data() + from, languages.data() + to);
    for (std::size_t p = from; p < to; ++p) put(values.data()[p]);
  }
  return nb::cast(to_numpy(std::move(records)));
}

// Columns of the records of one kind: keys, offsets, rest, begin of pairs, languages, values.
nb::tuple read_records(In<std::uint8_t, 1> records, float step, std::uint8_t kind) {
  const language::Table table{{}, {}, view(records), step};
  std::vector<std::uint8_t> keys, languages;
  std::vector<std::int64_t> offsets{0}, begin{0};
  std::vector<float> rest, values;
  language::Record record;
  for (std::size_t at = 0; at < records.size(); at += table.bytes_of(record)) {
    require(table.read(at, record), "the records end in the middle of one");
    if (static_cast<std::uint8_t>(record.kind) != kind) continue;
    keys.insert(keys.end(), record.key.begin(), record.key.end());
    offsets.push_back(static_cast<std::int64_t>(keys.size()));
    rest.push_back(table.value(record.rest));
    for (std::size_t p = 0; p < record.pairs; ++p) {
      if (record.is_row() && table.value(record.values, p) == rest.back()) continue;
      languages.push_back(record.languages[p]);
      values.push_back(table.value(record.values, p));
    }
    begin.push_back(static_cast<std::int64_t>(languages.size()));
  }
  return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(offsets)), to_numpy(std::move(rest)),
                        to_numpy(std::move(begin)), to_numpy(std::move(languages)), to_numpy(std::move(values)));
}

nb::tuple columns(const language::Counter& counter) {
  language::Counter::Columns made;
  {
    nb::gil_scoped_release nogil;
    made = counter.columns();
  }
  return nb::make_tuple(to_numpy(std::move(made.bytes)), to_numpy(std::move(made.offsets)),
                        to_numpy(std::move(made.begin)), to_numpy(std::move(made.language)),
                        to_numpy(std::move(made.count)));
}

void add_texts(language::Counter& counter, const Texts& texts, In<std::int32_t, 1> languages, bool without_accents) {
  require(languages.size() == texts.size(), "there must be a language for each text");
  for (const std::int32_t l : view(languages))
    require(l >= 0 && static_cast<std::size_t>(l) < counter.languages(), "languages must lie below ",
            counter.languages());
  nb::gil_scoped_release nogil;
  for (std::size_t i = 0; i < texts.size(); ++i) counter.add_text(texts[i], languages.data()[i], without_accents);
}

void add_counts(language::Counter& counter, In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets,
                In<std::int64_t, 1> begin, In<std::int32_t, 1> languages, In<double, 1> counts, In<std::int32_t, 1> map,
                double factor) {
  check_offsets(view(offsets), bytes.size(), "words");
  check_offsets(view(begin), languages.size(), "entries");
  require(begin.size() == offsets.size() && counts.size() == languages.size(), "each entry needs a count");
  for (const std::int32_t l : view(languages))
    require(l >= 0 && static_cast<std::size_t>(l) < map.size(), "languages must lie below ", map.size());
  for (const std::int32_t l : view(map))
    require(l >= -1 && (l < 0 || static_cast<std::size_t>(l) < counter.languages()), "languages must lie below ",
            counter.languages());
  nb::gil_scoped_release nogil;
  for (std::size_t w = 0; w + 1 < offsets.size(); ++w) {
    const std::string_view word(reinterpret_cast<const char*>(bytes.data()) + offsets.data()[w],
                                static_cast<std::size_t>(offsets.data()[w + 1] - offsets.data()[w]));
    for (std::int64_t e = begin.data()[w]; e < begin.data()[w + 1]; ++e) {
      const std::int32_t to = map.data()[languages.data()[e]];
      if (to >= 0) counter.add(word, to, factor * counts.data()[e]);
    }
  }
}

nb::tuple count_grams(In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets, In<std::int64_t, 1> begin,
                      In<std::int32_t, 1> languages, In<double, 1> weights, std::size_t count, std::size_t order,
                      double least) {
  check_offsets(view(offsets), bytes.size(), "words");
  check_offsets(view(begin), languages.size(), "entries");
  require(begin.size() == offsets.size() && weights.size() == languages.size(), "each entry needs a weight");
  for (const std::int32_t l : view(languages))
    require(l >= 0 && static_cast<std::size_t>(l) < count, "languages must lie below ", count);
  language::Grams made;
  {
    nb::gil_scoped_release nogil;
    made = language::count_grams(view(bytes), view(offsets), view(begin), view(languages), view(weights), count, order,
                                 least);
  }
  return nb::make_tuple(to_numpy(std::move(made.bytes)), to_numpy(std::move(made.offsets)),
                        to_numpy(std::move(made.weight)));
}

// The script of each key: that of its first letter.
nb::object scripts(In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets) {
  check_offsets(view(offsets), bytes.size(), "words");
  std::vector<std::uint8_t> made;
  for (std::size_t w = 0; w + 1 < offsets.size(); ++w) {
    const language::Utf8 reader{
        {bytes.data() + offsets.data()[w], static_cast<std::size_t>(offsets.data()[w + 1] - offsets.data()[w])}};
    std::uint8_t script = 0;
    for (std::size_t at = 0; at < reader.size() && script == 0;) script = language::script_of(reader.next(at));
    made.push_back(script);
  }
  return nb::cast(to_numpy(std::move(made)));
}

nb::object word_begins(const Texts& texts, std::size_t text) {
  require(text < texts.size(), "there is no text ", text);
  std::vector<std::int64_t> begins;
  language::read(texts[text], [&](const auto& reader) {
    language::scan(reader, false,
                   [&](const language::Word& word) { begins.push_back(static_cast<std::int64_t>(word.begin)); });
  });
  return nb::cast(to_numpy(std::move(begins)));
}

nb::list keys_of(const Texts& texts, std::size_t text, bool without_accents) {
  nb::list keys;
  require(text < texts.size(), "there is no text ", text);
  language::read(texts[text], [&](const auto& reader) {
    language::scan(reader, without_accents,
                   [&](const language::Word& word) { keys.append(nb::str(word.key.data(), word.key.size())); });
  });
  return keys;
}

std::vector<std::string> script_names() {
  return {std::begin(language::tables::kScriptNames), std::end(language::tables::kScriptNames)};
}

std::vector<std::string> unspaced_scripts() {
  std::vector<std::string> names;
  for (std::size_t script = 0; script < language::kScripts; ++script)
    if (language::tables::kUnspaced[script]) names.emplace_back(language::tables::kScriptNames[script]);
  return names;
}

}  // namespace

void bind_language(nb::module_& m) {
  nb::class_<Texts>(m, "Texts", "Texts of Python, or bytes of UTF-8 with offsets; nothing is copied.")
      .def(nb::init<nb::list>(), "texts"_a)
      .def(nb::init<In<std::uint8_t, 1>, In<std::int64_t, 1>>(), "bytes"_a, "offsets"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>())
      .def("__len__", &Texts::size);
  nb::class_<Evidence>(m, "Evidence", "Relevances by word and n-gram, in arrays that a file holds.")
      .def(nb::init<In<std::uint32_t, 1>, In<std::uint8_t, 1>, In<std::uint8_t, 1>, float, std::size_t, std::size_t,
                    float, float, In<float, 2>, bool>(),
           "slots"_a, "tags"_a, "records"_a, "step"_a, "languages"_a, "order"_a, "scale"_a, "alpha"_a, "script"_a,
           "without_accents"_a);
  nb::class_<language::Counter>(m, "Counter", "Counts of words by language.")
      .def(nb::init<std::size_t>(), "languages"_a)
      .def("add_texts", &add_texts, "texts"_a, "languages"_a, "without_accents"_a)
      .def("add_counts", &add_counts, "bytes"_a, "offsets"_a, "begin"_a, "languages"_a, "counts"_a, "map"_a, "factor"_a)
      .def("columns", &columns);
  m.def("identify", &identify, "evidence"_a, "texts"_a, "chosen"_a, "known"_a.noconvert(), "total"_a.noconvert(),
        "words"_a.noconvert(), "threads"_a, "Sums of relevances of each text.");
  m.def("best_languages", &best_languages, "evidence"_a, "texts"_a, "chosen"_a, "answered"_a, "prior"_a,
        "best"_a.noconvert(), "threads"_a, "The best language of each text; their number for a text without evidence.");
  m.def("signal", &signal, "evidence"_a, "texts"_a, "text"_a, "chosen"_a,
        "Words of a text: spans, kinds of evidence, keys and their ends, relevances.");
  m.def("segment", &segment, "evidence"_a, "texts"_a, "chosen"_a, "penalty"_a, "unknown"_a, "unseen"_a, "at_break"_a,
        "threads"_a, "Pieces of each text by Viterbi: offsets, spans, languages, confidence.");
  m.def("switching_path", &switching_path, "scores"_a, "penalty"_a,
        "The best labels of rows when a change has a price.");
  m.def("smooth", &smooth, "rows"_a, "half"_a, "medians"_a.noconvert(), "Running medians of each column.");
  m.def("smoothed_pieces", &smoothed_pieces, "rows"_a, "thresholds"_a, "half"_a, "least"_a, "least_unknown"_a,
        "Pieces by the smoothing procedure: begins, offsets of sets, languages.");
  m.def("index_records", &index_records, "records"_a, "step"_a, "Slots and tags of records.");
  m.def("write_records", &write_records, "keys"_a, "offsets"_a, "kind"_a, "rest"_a, "begin"_a, "languages"_a,
        "values"_a, "step"_a, "Records of keys and pairs.");
  m.def("read_records", &read_records, "records"_a, "step"_a, "kind"_a, "Columns of the records of one kind.");
  m.def("count_grams", &count_grams, "bytes"_a, "offsets"_a, "begin"_a, "languages"_a, "weights"_a, "count"_a,
        "order"_a, "least"_a, "N-grams of letters of weighted words: bytes, offsets, weights by language.");
  m.def("scripts", &scripts, "bytes"_a, "offsets"_a, "The number of the script of each word.");
  m.def("keys", &keys_of, "texts"_a, "text"_a, "without_accents"_a,
        "Words of a text as keys; empty ones are too long.");
  m.def("word_begins", &word_begins, "texts"_a, "text"_a, "Where each word of a text begins, in its units.");
  m.def("script_names", &script_names, "Names of the scripts by number.");
  m.def("unspaced_scripts", &unspaced_scripts, "Names of the scripts without blanks between words.");
}

}  // namespace textmill::bind
