#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "corpus/arpa.h"
#include "corpus/bagfiles.h"
#include "corpus/counting.h"
#include "corpus/pairs.h"
#include "corpus/sentences.h"
#include "corpus/spill.h"
#include "corpus/words.h"

namespace textmill::bind {
namespace {

using corpus::Text;

Text text_of(PyObject* object) {
  return {PyUnicode_DATA(object), static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)),
          static_cast<int>(PyUnicode_KIND(object)), PyUnicode_IS_ASCII(object) != 0};
}

// Documents together with references to their Python strings, so that they outlive the release of the GIL.
class Held {
 public:
  // Each document is a str, or, with `tokens`, a list or tuple of str. `first` is the number of the first one.
  Held(nb::list documents, bool tokens, std::size_t first) : first_(first) {
    const std::size_t n = documents.size();
    begin_.reserve(n + 1);
    begin_.push_back(0);
    std::size_t total = 0;
    for (std::size_t d = 0; d < n; ++d) {
      PyObject* document = PyList_GET_ITEM(documents.ptr(), static_cast<Py_ssize_t>(d));
      total += tokens && (PyList_Check(document) || PyTuple_Check(document))
                   ? static_cast<std::size_t>(PySequence_Fast_GET_SIZE(document))
                   : 1;
    }
    owners_.reserve(total);
    texts_.reserve(total);
    for (std::size_t d = 0; d < n; ++d) {
      PyObject* document = PyList_GET_ITEM(documents.ptr(), static_cast<Py_ssize_t>(d));
      if (!tokens) {
        add(document, d, 0, "a document must be a str, not ");
      } else if (PyList_Check(document) || PyTuple_Check(document)) {
        const Py_ssize_t size = PySequence_Fast_GET_SIZE(document);
        for (Py_ssize_t t = 0; t < size; ++t) {
          if (t + kAhead < size) fetch(PySequence_Fast_GET_ITEM(document, t + kAhead));
          add(PySequence_Fast_GET_ITEM(document, t), d, static_cast<std::size_t>(t), "a token must be a str, not ");
        }
      } else {
        throw base::Fault(
            std::string("a document must be a list or tuple of tokens, not ") + Py_TYPE(document)->tp_name,
            {first + d, 0});
      }
      begin_.push_back(texts_.size());
    }
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      if (i + kAhead < owners_.size()) __builtin_prefetch(owners_[i + kAhead].ptr());
      owners_[i].reset();
    }
  }
  corpus::Documents view() const { return {texts_, begin_, first_}; }
  nb::object take(std::size_t number) { return std::move(owners_[number]); }  // a token of all documents, once

 private:
  static constexpr std::ptrdiff_t kAhead = 8;  // strings lie all over memory: several are waited for together
  static void fetch(PyObject* object) {
    __builtin_prefetch(object);
    __builtin_prefetch(reinterpret_cast<const char*>(object) + 64);  // where the characters of a short one lie
  }
  void add(PyObject* object, std::size_t document, std::size_t position, const char* fault) {
    if (!PyUnicode_Check(object)) refuse(object, document, position, fault);
    owners_.push_back(nb::borrow(object));
    texts_.push_back(text_of(object));
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(PyObject* object, std::size_t document, std::size_t position,
                                                     const char* fault) {
    throw base::Fault(fault + std::string(Py_TYPE(object)->tp_name), {first_ + document, position});
  }

  std::size_t first_;
  std::vector<nb::object> owners_;
  std::vector<Text> texts_;
  std::vector<std::size_t> begin_;
};

bool given(const corpus::TokenRules& rules) { return std::holds_alternative<corpus::GivenTokens>(rules.cut); }

using Cut = std::optional<std::variant<corpus::WordRules, corpus::NgramRules>>;  // None: documents are token lists
using Rules = std::optional<std::variant<corpus::WordRules, corpus::NgramRules, corpus::TokenRules>>;

corpus::TokenRules token_rules(const Rules& rules) {
  if (!rules) return {corpus::GivenTokens{}};
  return std::visit(
      [](const auto& rule) {
        if constexpr (std::is_same_v<std::decay_t<decltype(rule)>, corpus::TokenRules>)
          return rule;
        else
          return corpus::TokenRules{rule};
      },
      *rules);
}

// The UTF-8 bytes of a str; they live as long as it does.
std::string_view utf8_of(nb::handle string, const char* what) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_Check(string.ptr()) ? PyUnicode_AsUTF8AndSize(string.ptr(), &size) : nullptr;
  if (utf8 == nullptr) {
    if (PyErr_Occurred()) throw nb::python_error();
    throw nb::type_error(what);
  }
  return {utf8, static_cast<std::size_t>(size)};
}

base::InternTable intern(nb::list strings) {
  base::InternTable table;
  for (const nb::handle string : strings) {
    const std::string_view bytes = utf8_of(string, "a word must be a str");
    table.insert(bytes, base::hash_bytes(bytes));
  }
  return table;
}

void insert_forms(corpus::Forms& forms, nb::list written, nb::list rewritten) {
  require(written.size() == rewritten.size(), "a token needs a form");
  for (std::size_t i = 0; i < written.size(); ++i) {
    const nb::handle form = rewritten[i];
    forms.insert(utf8_of(written[i], "a token must be a str"),
                 form.is_none() ? std::string_view() : utf8_of(form, "a form must be a str or None"));
  }
}

nb::tuple strings_to_python(const base::InternTable& table) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets{0};
  for (std::size_t i = 0; i < table.size(); ++i) {
    bytes.insert(bytes.end(), table[i].begin(), table[i].end());
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(offsets)));
}

// A PairCounter that several Python threads may use, one after the other.
class Pairs {
 public:
  explicit Pairs(nb::list connectors) : counter_(intern(connectors)) {}

  void count(nb::list documents, const Rules& rules, std::size_t threads, std::size_t first) {
    require(threads > 0, "threads must be at least 1");
    const corpus::TokenRules how = token_rules(rules);
    const Held held(documents, given(how), first);
    nb::gil_scoped_release nogil;
    const std::scoped_lock lock(mutex_);
    counter_.count(held.view(), how, threads);
  }

  std::size_t memory() {
    nb::gil_scoped_release nogil;
    const std::scoped_lock lock(mutex_);
    return counter_.memory();
  }

  std::size_t size() {
    nb::gil_scoped_release nogil;
    const std::scoped_lock lock(mutex_);
    return counter_.size();
  }

  void drop_below(std::int64_t count) {
    nb::gil_scoped_release nogil;
    const std::scoped_lock lock(mutex_);
    counter_.drop_below(count);
  }

  std::int64_t tokens() {
    nb::gil_scoped_release nogil;
    const std::scoped_lock lock(mutex_);
    return counter_.tokens();
  }

  nb::tuple words() {
    const std::scoped_lock lock(mutex_);
    nb::object strings = strings_to_python(counter_.words());
    return nb::make_tuple(strings, to_numpy(std::vector<std::int64_t>(counter_.word_counts())));
  }

  nb::tuple links() {
    const std::scoped_lock lock(mutex_);
    return strings_to_python(counter_.links());
  }

  nb::tuple pairs(std::int64_t least) {
    std::vector<std::int32_t> first, link, second;
    std::vector<std::int64_t> count;
    {
      nb::gil_scoped_release nogil;
      const std::scoped_lock lock(mutex_);
      for (const auto& pair : counter_.pairs(least)) {
        first.push_back(static_cast<std::int32_t>(pair.first));
        link.push_back(static_cast<std::int32_t>(pair.link));
        second.push_back(static_cast<std::int32_t>(pair.second));
        count.push_back(pair.count);
      }
    }
    return nb::make_tuple(to_numpy(std::move(first)), to_numpy(std::move(link)), to_numpy(std::move(second)),
                          to_numpy(std::move(count)));
  }

 private:
  corpus::PairCounter counter_;
  std::mutex mutex_;
};

std::u32string folded(nb::str abbreviation) {
  std::u32string result;
  corpus::visit(text_of(abbreviation.ptr()), [&](auto units) {
    for (const char32_t c : units) {
      const corpus::Folded f = corpus::fold(c);
      result.append(f.point, f.size);
    }
  });
  return result;
}

std::vector<std::u32string> folded(const std::vector<nb::str>& abbreviations) {
  std::vector<std::u32string> result;
  for (const nb::str& abbreviation : abbreviations) {
    result.push_back(folded(abbreviation));
    require(!result.back().empty() && result.back().back() == U'.', "an abbreviation must end with a full stop: '",
            abbreviation.c_str(), "'");
  }
  std::sort(result.begin(), result.end());
  return result;
}

nb::str python_string(std::string_view utf8) {
  PyObject* made = PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "strict");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

// One Python string for each of a table.
std::vector<nb::str> python_strings(const base::InternTable& table) {
  std::vector<nb::str> strings;
  strings.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) strings.push_back(python_string(table[i]));
  return strings;
}

nb::tuple to_python(corpus::Counts&& counts) {
  return nb::make_tuple(to_numpy(std::move(counts.offsets)), to_numpy(std::move(counts.terms)),
                        to_numpy(std::move(counts.values)));
}

nb::object fault_to_python(const std::optional<base::Fault>& fault) {
  if (!fault) return nb::none();
  return nb::make_tuple(fault->place->record, fault->place->position, fault->what());
}

void check_strings(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets) {
  check_offsets(offsets, bytes.size(), "strings");
}

// A TermTable that several Python threads may use: counting holds it alone, looking things up shares it.
class Terms {
 public:
  Terms() = default;
  Terms(In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets, std::size_t threads) {
    require(threads > 0, "threads must be at least 1");
    check_strings(view(bytes), view(offsets));
    nb::gil_scoped_release nogil;
    table_.emplace(view(bytes), view(offsets), threads);
  }

  std::size_t size() {
    nb::gil_scoped_release nogil;
    const std::shared_lock lock(mutex_);
    return table_->size();
  }

  std::int32_t find(std::string_view term) {
    nb::gil_scoped_release nogil;
    const std::shared_lock lock(mutex_);
    return table_->find(term);
  }

  nb::object count(nb::list documents, const Rules& rules, std::size_t threads, bool rows, std::size_t first) {
    require(threads > 0, "threads must be at least 1");
    const corpus::TokenRules how = token_rules(rules);
    const Held held(documents, given(how), first);
    corpus::Counts counts;
    {
      nb::gil_scoped_release nogil;
      const std::unique_lock lock(mutex_);
      table_->count(held.view(), how, threads, rows ? &counts : nullptr);
    }
    return rows ? nb::object(to_python(std::move(counts))) : nb::none();
  }

  nb::tuple count_known(nb::list documents, const Rules& rules, std::size_t threads, std::size_t first) {
    require(threads > 0, "threads must be at least 1");
    const corpus::TokenRules how = token_rules(rules);
    const Held held(documents, given(how), first);
    corpus::Counts counts;
    std::int64_t unknown;
    {
      nb::gil_scoped_release nogil;
      const std::shared_lock lock(mutex_);
      unknown = table_->count_known(held.view(), how, threads, counts);
    }
    return nb::make_tuple(to_python(std::move(counts)), unknown);
  }

  // The ids of the tokens of documents, in their order; -1 for tokens that are not there and may not be added.
  nb::tuple sequences(nb::list documents, const Rules& rules, bool grow, std::size_t threads, std::size_t first) {
    require(threads > 0, "threads must be at least 1");
    const corpus::TokenRules how = token_rules(rules);
    const Held held(documents, given(how), first);
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> ids;
    {
      nb::gil_scoped_release nogil;
      const auto end_document = [&offsets](std::int64_t base, std::size_t end) {
        offsets.push_back(base + static_cast<std::int64_t>(end));
      };
      if (!grow) {
        const std::shared_lock lock(mutex_);
        for (const corpus::FoundTokens& chunk : corpus::find_tokens(held.view(), how, *table_, threads)) {
          ids.insert(ids.end(), chunk.ids.begin(), chunk.ids.end());
          const auto base = offsets.back();
          for (const std::size_t end : chunk.document_ends) end_document(base, end);
        }
      } else {
        const std::vector<corpus::TokenStream> streams = corpus::tokenize(held.view(), how, threads);
        const std::unique_lock lock(mutex_);
        for (const corpus::TokenStream& stream : streams) {
          std::vector<std::int32_t> known(stream.table.size());
          for (std::size_t t = 0; t < known.size(); ++t) known[t] = table_->insert(stream.table[t]);
          for (const std::uint32_t token : stream.tokens) ids.push_back(known[token]);
          const auto base = offsets.back();
          for (const std::size_t end : stream.document_ends) end_document(base, end);
        }
      }
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(ids)));
  }

  std::size_t memory() {
    nb::gil_scoped_release nogil;
    const std::shared_lock lock(mutex_);
    return table_->memory();
  }

  void write_run(const std::string& path, std::int64_t base, std::size_t threads) {
    require(threads > 0, "threads must be at least 1");
    nb::gil_scoped_release nogil;
    const std::shared_lock lock(mutex_);
    corpus::write_run(*table_, base, path, threads);
  }

  void absorb(In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets, In<std::int64_t, 1> documents,
              In<std::int64_t, 1> occurrences) {
    check_strings(view(bytes), view(offsets));
    require(documents.size() + 1 == offsets.size() && occurrences.size() + 1 == offsets.size(),
            "a term needs two frequencies");
    nb::gil_scoped_release nogil;
    const std::unique_lock lock(mutex_);
    table_->absorb(view(bytes), view(offsets), view(documents), view(occurrences));
  }

  const corpus::TermTable& table() const { return *table_; }

  nb::tuple parse_ngrams(nb::bytes block, std::size_t order) {
    require(order >= 1, "order must be at least 1");
    const std::string_view text(block.c_str(), block.size());
    corpus::NgramLines out;
    {
      nb::gil_scoped_release nogil;
      const std::unique_lock lock(mutex_);
      out = corpus::parse_ngrams(text, order, *table_);
    }
    nb::object fault = fault_to_python(out.fault);
    return nb::make_tuple(to_numpy(std::move(out.words)), to_numpy(std::move(out.log_probability)),
                          to_numpy(std::move(out.back_off)), fault);
  }

  nb::bytes format_ngrams(In<std::int32_t, 2> words, In<double, 1> log_probability, In<double, 1> back_off, bool last) {
    require(words.shape(0) == log_probability.size() && words.shape(0) == back_off.size(),
            "an n-gram needs two numbers");
    std::string text;
    {
      nb::gil_scoped_release nogil;
      const std::shared_lock lock(mutex_);
      for (const std::int32_t id : view(words))
        require(id >= 0 && static_cast<std::size_t>(id) < table_->size(), "word ", id, " is out of range");
      text = corpus::format_ngrams(view(words), view(log_probability), view(back_off), last, *table_);
    }
    return nb::bytes(text.data(), text.size());
  }

  // Ids of strings, new ones for those not yet there; -1 for None.
  Numpy<std::int32_t, 1> insert(nb::list strings) {
    std::vector<std::int32_t> ids;
    const std::unique_lock lock(mutex_);  // short, and no Python code runs inside
    for (const nb::handle string : strings) {
      if (string.is_none()) {
        ids.push_back(-1);
        continue;
      }
      ids.push_back(table_->insert(utf8_of(string, "a term must be a str or None")));
    }
    return to_numpy(std::move(ids));
  }

  void tally(In<std::int32_t, 1> terms, In<std::int32_t, 1> values) {
    require(terms.size() == values.size(), "terms and values must have the same length");
    nb::gil_scoped_release nogil;
    const std::unique_lock lock(mutex_);
    for (const std::int32_t id : view(terms))
      require(id >= 0 && static_cast<std::size_t>(id) < table_->size(), "term id ", id, " is out of range");
    table_->tally(view(terms), view(values));
  }

  nb::tuple terms_from(std::size_t first) {
    corpus::TermTable::Export copy;
    {
      nb::gil_scoped_release nogil;
      const std::shared_lock lock(mutex_);
      require(first <= table_->size(), "first is beyond the last term");
      copy = table_->terms_from(first);
    }
    return nb::make_tuple(to_numpy(std::move(copy.bytes)), to_numpy(std::move(copy.offsets)),
                          to_numpy(std::move(copy.document_frequency)), to_numpy(std::move(copy.collection_frequency)));
  }

 private:
  std::optional<corpus::TermTable> table_{std::in_place};
  std::shared_mutex mutex_;
};

nb::list tokenize(nb::list documents, const Rules& rules, std::size_t threads, std::size_t first) {
  require(threads > 0, "threads must be at least 1");
  const corpus::TokenRules how = token_rules(rules);
  const Held held(documents, given(how), first);
  std::vector<corpus::TokenStream> streams;
  {
    nb::gil_scoped_release nogil;
    streams = corpus::tokenize(held.view(), how, threads);
  }
  nb::list result;
  for (const corpus::TokenStream& stream : streams) {
    const std::vector<nb::str> strings = python_strings(stream.table);
    std::size_t token = 0;
    for (const std::size_t end : stream.document_ends) {
      nb::list tokens = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(end - token)));
      for (Py_ssize_t k = 0; token < end; ++token, ++k)
        PyList_SET_ITEM(tokens.ptr(), k, nb::object(strings[stream.tokens[token]]).release().ptr());
      result.append(tokens);
    }
  }
  return result;
}

// No garbage collection while many lists of strings are made: it would visit each of their items several times.
class Uncollected {
 public:
  Uncollected() : before_(PyGC_Disable()) {}
  ~Uncollected() {
    if (before_ != 0) PyGC_Enable();
  }
  Uncollected(const Uncollected&) = delete;
  Uncollected& operator=(const Uncollected&) = delete;

 private:
  int before_;
};

// Lists of tokens with phrases joined; a token that stays single is the very object that was given.
nb::list join_tokens(nb::list documents, const corpus::PhraseTable& phrases, std::size_t threads, std::size_t first) {
  require(threads > 0, "threads must be at least 1");
  Held held(documents, true, first);
  const corpus::Documents view = held.view();
  std::vector<corpus::JoinedTokens> chunks;
  {
    nb::gil_scoped_release nogil;
    chunks = corpus::join_tokens(view, phrases, threads);
  }
  const Uncollected uncollected;
  nb::list result = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(view.size())));
  std::size_t document = 0;
  for (const corpus::JoinedTokens& chunk : chunks) {
    const std::vector<nb::str> strings = python_strings(chunk.phrases);
    auto join = chunk.joins.begin();
    for (const std::size_t end : chunk.document_ends) {
      const auto last = chunk.joins.begin() + static_cast<std::ptrdiff_t>(end);
      std::size_t given = view.begin[document], size = view.begin[document + 1] - given;
      for (auto each = join; each < last; ++each) size -= each->parts - 1;
      PyObject* tokens = PyList_New(static_cast<Py_ssize_t>(size));
      if (tokens == nullptr) throw nb::python_error();
      PyList_SET_ITEM(result.ptr(), static_cast<Py_ssize_t>(document++), tokens);
      Py_ssize_t k = 0;
      for (; join < last; ++join) {
        for (; given < join->token; ++given) PyList_SET_ITEM(tokens, k++, held.take(given).release().ptr());
        PyList_SET_ITEM(tokens, k++, nb::object(strings[join->phrase]).release().ptr());
        given += join->parts;
      }
      for (; given < view.begin[document]; ++given) PyList_SET_ITEM(tokens, k++, held.take(given).release().ptr());
    }
  }
  return result;
}

nb::tuple count_hashed(nb::list documents, const Rules& rules, std::size_t columns, bool with_sign, std::size_t threads,
                       std::size_t first) {
  require(threads > 0, "threads must be at least 1");
  require(columns >= 1 && columns <= std::numeric_limits<std::int32_t>::max(),
          "columns must be between 1 and 2^31 - 1");
  const corpus::TokenRules how = token_rules(rules);
  const Held held(documents, given(how), first);
  corpus::Counts counts;
  {
    nb::gil_scoped_release nogil;
    counts = corpus::TermTable::count_hashed(held.view(), how, columns, with_sign, threads);
  }
  return to_python(std::move(counts));
}

nb::list spans_to_python(const std::vector<corpus::Span>& spans) {
  nb::list result;
  for (const corpus::Span& span : spans) result.append(nb::make_tuple(span.begin, span.end));
  return result;
}

nb::list word_spans(nb::str text, const corpus::WordRules& rules) {
  const Text units = text_of(text.ptr());
  std::vector<corpus::Span> spans;
  {
    nb::gil_scoped_release nogil;
    corpus::require_no_surrogate(units, 0);
    corpus::visit(units, [&](auto u) {
      corpus::scan_words(u, rules, [&](std::size_t begin, std::size_t end) { spans.push_back({begin, end}); });
    });
  }
  return spans_to_python(spans);
}

nb::list word_boundaries(nb::str text) {
  const Text units = text_of(text.ptr());
  nb::list result;
  corpus::visit(units, [&](auto u) {
    for (std::size_t i = 0; i < u.size();) {
      i = corpus::word_end(u, i);
      result.append(i);
    }
  });
  return result;
}

nb::list sentence_spans(nb::str text, const std::vector<nb::str>& abbreviations) {
  const Text units = text_of(text.ptr());
  const std::vector<std::u32string> known = folded(abbreviations);
  std::vector<corpus::Span> spans;
  {
    nb::gil_scoped_release nogil;
    corpus::split_sentences(units, known, spans);
  }
  return spans_to_python(spans);
}

nb::tuple remap(In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms, In<std::int32_t, 1> values,
                In<std::int32_t, 1> new_id, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(terms.size() == values.size(), "terms and values must have the same length");
  const auto starts = view(offsets);
  corpus::Counts result;
  {
    nb::gil_scoped_release nogil;
    check_offsets(starts, terms.size(), "rows");
    for (const std::int32_t id : view(terms))
      require(id >= 0 && static_cast<std::size_t>(id) < new_id.size(), "column ", id, " is outside the mapping");
    result = corpus::remap(starts, view(terms), view(values), view(new_id), threads);
  }
  return to_python(std::move(result));
}

Numpy<std::uint8_t, 1> holding_words(const Terms& words, In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets,
                                     std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  check_strings(view(bytes), view(offsets));
  std::vector<std::uint8_t> holding;
  {
    nb::gil_scoped_release nogil;
    holding = corpus::holding_words(words.table(), view(bytes), view(offsets), threads);
  }
  return to_numpy(std::move(holding));
}

nb::tuple merge_runs(const std::vector<std::string>& paths, const Terms* stop_words, bool any_word,
                     double most_documents, double least_documents, std::int64_t least_occurrences,
                     std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  corpus::MergedTerms merged;
  {
    nb::gil_scoped_release nogil;
    const corpus::TermTable* stop = stop_words == nullptr ? nullptr : &stop_words->table();
    merged = corpus::merge_runs(paths, {stop, any_word, most_documents, least_documents, least_occurrences}, threads);
  }
  nb::list removed;
  for (const auto& rule : merged.removed) removed.append(nb::make_tuple(rule.types, rule.tokens));
  return nb::make_tuple(to_numpy(std::move(merged.terms.bytes)), to_numpy(std::move(merged.terms.offsets)),
                        to_numpy(std::move(merged.terms.document_frequency)),
                        to_numpy(std::move(merged.terms.collection_frequency)), to_numpy(std::move(merged.first)),
                        removed, merged.tokens, merged.nonzeros, merged.words);
}

corpus::ParseLimits limits(std::int64_t base, std::int64_t columns, std::int64_t rows, bool negative) {
  require(base == 0 || base == 1, "base must be 0 or 1");
  require(columns >= 0 && columns <= std::numeric_limits<std::int32_t>::max(), "columns must be below 2^31");
  return {base, columns, rows, negative};
}

std::string_view bytes_of(nb::bytes block) { return {block.c_str(), block.size()}; }

nb::tuple parse_triples(nb::bytes block, std::int64_t base, std::int64_t columns, std::int64_t rows, bool negative,
                        std::int64_t previous) {
  const corpus::ParseLimits how = limits(base, columns, rows, negative);
  const std::string_view text = bytes_of(block);
  corpus::Triples out;
  {
    nb::gil_scoped_release nogil;
    out = corpus::parse_triples(text, how, previous);
  }
  nb::object fault = fault_to_python(out.fault);
  return nb::make_tuple(to_numpy(std::move(out.row)), to_numpy(std::move(out.column)), to_numpy(std::move(out.value)),
                        to_numpy(std::move(out.begin)), fault);
}

nb::tuple parse_pairs(nb::bytes block, bool labels, std::int64_t base, std::int64_t columns, bool negative) {
  const corpus::ParseLimits how = limits(base, columns, 0, negative);
  const std::string_view text = bytes_of(block);
  corpus::Pairs out;
  {
    nb::gil_scoped_release nogil;
    out = labels ? corpus::parse_svmlight(text, how) : corpus::parse_ldac(text, how);
  }
  nb::object fault = fault_to_python(out.fault);
  return nb::make_tuple(to_numpy(std::move(out.offsets)), to_numpy(std::move(out.column)),
                        to_numpy(std::move(out.value)), to_numpy(std::move(out.label)), to_numpy(std::move(out.begin)),
                        fault);
}

nb::bytes format_rows(const std::string& kind, In<std::int64_t, 1> offsets, In<std::int32_t, 1> columns,
                      In<double, 1> values, In<double, 1> labels, std::int64_t base, std::int64_t first_row) {
  const auto starts = view(offsets);
  check_offsets(starts, columns.size(), "rows");
  require(columns.size() == values.size(), "there must be as many values as columns");
  require(kind != "svmlight" || labels.size() + 1 == starts.size(), "a row needs a label");
  std::string text;
  {
    nb::gil_scoped_release nogil;
    const corpus::Rows rows{starts.data(), starts.size() - 1, columns.data(), values.data()};
    text = kind == "triples"    ? corpus::format_triples(rows, base, first_row)
           : kind == "svmlight" ? corpus::format_svmlight(rows, base, labels.data())
                                : corpus::format_ldac(rows);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_corpus(nb::module_& m) {
  nb::class_<corpus::WordRules>(m, "WordRules", "How words are cut and normalised.")
      .def(
          "__init__",
          [](corpus::WordRules* self, bool fold, const std::string& digits, unsigned keep, unsigned split,
             std::size_t shortest, std::optional<std::size_t> longest, const std::vector<nb::str>& abbreviations) {
            require(digits == "keep" || digits == "drop" || digits == "mask", "digits must be keep, drop or mask");
            require((keep & split) == 0, "a compound cannot be both kept and split");
            new (self) corpus::WordRules{fold,
                                         digits == "keep"   ? corpus::Digits::keep
                                         : digits == "drop" ? corpus::Digits::drop
                                                            : corpus::Digits::mask,
                                         keep,
                                         split,
                                         shortest,
                                         longest.value_or(std::numeric_limits<std::size_t>::max()),
                                         folded(abbreviations)};
          },
          nb::kw_only(), "fold"_a, "digits"_a, "keep"_a, "split"_a, "shortest"_a, "longest"_a.none(),
          "abbreviations"_a);
  nb::class_<corpus::NgramRules>(m, "NgramRules", "Which character n-grams are taken.")
      .def(
          "__init__",
          [](corpus::NgramRules* self, bool fold, std::size_t shortest, std::size_t longest, bool within_words) {
            require(shortest >= 1 && longest >= shortest, "n-gram lengths must be 1 <= shortest <= longest");
            new (self) corpus::NgramRules{fold, shortest, longest, within_words};
          },
          nb::kw_only(), "fold"_a, "shortest"_a, "longest"_a, "within_words"_a);
  nb::class_<corpus::Forms>(m, "Forms", "What each distinct token becomes.")
      .def(nb::init<>())
      .def("insert", &insert_forms, "tokens"_a, "forms"_a, "Add tokens with their forms, None for those to drop.");
  nb::class_<corpus::PhraseTable>(m, "PhraseTable", "Phrases by level, their words joined by _.")
      .def(
          "__init__",
          [](corpus::PhraseTable* self, const std::vector<nb::list>& levels, nb::list connectors) {
            corpus::PhraseTable table;
            for (const nb::list& level : levels) table.levels.emplace_back(intern(level));
            table.connectors = intern(connectors);
            new (self) corpus::PhraseTable(std::move(table));
          },
          "levels"_a, "connectors"_a);
  nb::class_<corpus::TokenRules>(m, "TokenRules", "How texts are cut, and what becomes of the tokens.")
      .def(
          "__init__",
          [](corpus::TokenRules* self, const Cut& cut, const corpus::Forms* forms, const corpus::PhraseTable* phrases,
             std::size_t shortest, std::size_t longest) {
            require(shortest >= 1 && longest >= shortest, "n-gram lengths must be 1 <= shortest <= longest");
            corpus::TokenRules rules =
                token_rules(cut ? std::visit([](const auto& rule) { return Rules(rule); }, *cut) : Rules());
            rules.forms = forms;
            rules.phrases = phrases;
            rules.shortest = shortest;
            rules.longest = longest;
            new (self) corpus::TokenRules(std::move(rules));
          },
          nb::kw_only(), "cut"_a.none(), "forms"_a.none(), "phrases"_a.none(), "shortest"_a, "longest"_a,
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
  nb::class_<Pairs>(m, "PairCounter", "Counts of neighbouring tokens.")
      .def(nb::init<nb::list>(), "connectors"_a)
      .def("__len__", &Pairs::size)
      .def("count", &Pairs::count, "documents"_a, "rules"_a.none(), nb::kw_only(), "threads"_a, "first"_a,
           "Count the pairs of documents.")
      .def("memory", &Pairs::memory, "Bytes held, about.")
      .def("drop_below", &Pairs::drop_below, "count"_a, "Forget pairs that occur less often.")
      .def("tokens", &Pairs::tokens, "Number of tokens counted.")
      .def("words", &Pairs::words, "((bytes, offsets), occurrences) of the words; connectors occur 0 times.")
      .def("links", &Pairs::links, "(bytes, offsets) of what stood between words; the first is nothing.")
      .def("pairs", &Pairs::pairs, "least"_a, "(first words, links, second words, counts) of frequent pairs.");
  nb::class_<Terms>(m, "TermTable", "Distinct terms with their frequencies.")
      .def(nb::init<>())
      .def(nb::init<In<std::uint8_t, 1>, In<std::int64_t, 1>, std::size_t>(), "bytes"_a, "offsets"_a, "threads"_a)
      .def("__len__", &Terms::size)
      .def("find", &Terms::find, "term"_a, "The id of a term, -1 if it is not there.")
      .def("insert", &Terms::insert, "terms"_a, "Ids of terms, new ones for those not there; -1 for None.")
      .def("count", &Terms::count, "documents"_a, "rules"_a.none(), nb::kw_only(), "threads"_a, "rows"_a, "first"_a,
           "Count documents and add their terms; returns (offsets, terms, counts) when rows are asked for.")
      .def("count_known", &Terms::count_known, "documents"_a, "rules"_a.none(), nb::kw_only(), "threads"_a, "first"_a,
           "Count documents by the terms that are there: ((offsets, terms, counts), number of unknown tokens).")
      .def("sequences", &Terms::sequences, "documents"_a, "rules"_a.none(), nb::kw_only(), "grow"_a, "threads"_a,
           "first"_a,
           "Offsets of documents and ids of their tokens in order; new terms are added if the table may grow.")
      .def("memory", &Terms::memory, "Bytes held, about.")
      .def("write_run", &Terms::write_run, "path"_a, nb::kw_only(), "base"_a, "threads"_a,
           "Write the terms to a file, sorted, for merge_runs; term i gets the position base + i.")
      .def("absorb", &Terms::absorb, "bytes"_a, "offsets"_a, "documents"_a, "occurrences"_a,
           "Add terms with their frequencies; new ones get the next ids.")
      .def("parse_ngrams", &Terms::parse_ngrams, "block"_a, "order"_a,
           "Lines of an ARPA section: (word ids, log10 probabilities, log10 back-offs, fault or None).")
      .def("format_ngrams", &Terms::format_ngrams, "words"_a, "log_probability"_a, "back_off"_a, "last"_a,
           "Lines of an ARPA section.")
      .def("tally", &Terms::tally, "terms"_a, "counts"_a, "Add entries of rows to the frequencies.")
      .def("terms_from", &Terms::terms_from, "first"_a,
           "(bytes, offsets, document frequencies, collection frequencies) of the terms from an id on.");
  m.def("tokenize", &tokenize, "documents"_a, "rules"_a.none(), nb::kw_only(), "threads"_a, "first"_a,
        "The tokens of each document.");
  m.def("join_tokens", &join_tokens, "documents"_a, "phrases"_a, nb::kw_only(), "threads"_a, "first"_a,
        "Lists of tokens with phrases joined.");
  m.def(
      "sort_strings",
      [](In<std::uint8_t, 1> bytes, In<std::int64_t, 1> offsets) {
        check_strings(view(bytes), view(offsets));
        std::vector<std::int64_t> order;
        {
          nb::gil_scoped_release nogil;
          order = corpus::sort_strings(view(bytes), view(offsets));
        }
        return to_numpy(std::move(order));
      },
      "bytes"_a, "offsets"_a, "Positions of strings in the order of their code points.");
  m.def("count_hashed", &count_hashed, "documents"_a, "rules"_a.none(), nb::kw_only(), "columns"_a, "with_sign"_a,
        "threads"_a, "first"_a, "Count documents by hashed terms: (offsets, columns, counts).");
  m.def("word_spans", &word_spans, "text"_a, "rules"_a, "(begin, end) of each word.");
  m.def("word_boundaries", &word_boundaries, "text"_a, "Ends of all UAX #29 word segments.");
  m.def("sentence_spans", &sentence_spans, "text"_a, "abbreviations"_a,
        "(begin, end) of each sentence; they cover the text.");
  m.def("remap", &remap, "offsets"_a, "terms"_a, "counts"_a, "new_id"_a, nb::kw_only(), "threads"_a,
        "Rename columns by new_id (-1 drops), sort rows, add equal columns.");
  m.def("holding_words", &holding_words, "words"_a, "bytes"_a, "offsets"_a, nb::kw_only(), "threads"_a,
        "1 for n-grams with one of the words, else 0.");
  m.def("merge_runs", &merge_runs, "paths"_a, nb::kw_only(), "stop_words"_a.none(), "any_word"_a, "most_documents"_a,
        "least_documents"_a, "least_occurrences"_a, "threads"_a,
        "Merge runs: (bytes, offsets, document frequencies, collection frequencies, first positions, removed, tokens, "
        "nonzeros, tokens that are single words).");
  m.def("parse_triples", &parse_triples, "block"_a, nb::kw_only(), "base"_a, "columns"_a, "rows"_a, "negative"_a,
        "previous"_a, "Lines 'row column value': (rows, columns, values, line positions, fault or None).");
  m.def("parse_pairs", &parse_pairs, "block"_a, nb::kw_only(), "labels"_a, "base"_a, "columns"_a, "negative"_a,
        "Lines of column:value pairs: (offsets, columns, values, labels, line positions, fault or None).");
  m.def("format_rows", &format_rows, "kind"_a, "offsets"_a, "columns"_a, "values"_a, "labels"_a, nb::kw_only(),
        "base"_a, "first_row"_a, "Lines of rows, kind triples, svmlight or ldac.");
  m.attr("unicode_version") = corpus::tables::kUnicodeVersion;
}

}  // namespace textmill::bind
