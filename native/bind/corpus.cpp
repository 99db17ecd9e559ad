// How texts are cut: rules, tokens, phrases, words and sentences.

#include <limits>

#include "bind/texts.h"
#include "corpus/sentences.h"
#include "corpus/words.h"

namespace textmill::bind {
namespace {

using corpus::Text;

void insert_forms(corpus::Forms& forms, nb::list written, nb::list rewritten) {
  require(written.size() == rewritten.size(), "a token needs a form");
  for (std::size_t i = 0; i < written.size(); ++i) {
    const nb::handle form = rewritten[i];
    forms.insert(utf8_of(written[i], "a token must be a str"),
                 form.is_none() ? std::string_view() : utf8_of(form, "a form must be a str or None"));
  }
}

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

// One Python string for each of a table.
std::vector<nb::str> python_strings(const base::InternTable& table) {
  std::vector<nb::str> strings;
  strings.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) strings.push_back(python_string(table[i]));
  return strings;
}

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
  Held held(documents, true, first, /*whole=*/true);
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

// Words as numbers by first appearance, the distinct ones, and where each begins and ends; numbers and places are not
// alike in number if words were dropped.
nb::tuple numbered_words(nb::list one, const corpus::WordRules& rules) {
  require(one.size() == 1, "one text is numbered at a time");
  const corpus::TokenRules how{rules};
  const Held held(one, false, 0);
  const Text units = text_of(one[0].ptr());
  std::vector<corpus::TokenStream> streams;
  std::vector<std::int64_t> begins, ends;
  {
    nb::gil_scoped_release nogil;
    streams = corpus::tokenize(held.view(), how, 1);
    corpus::visit(units, [&](auto u) {
      corpus::scan_words(u, rules, [&](std::size_t begin, std::size_t end) {
        begins.push_back(static_cast<std::int64_t>(begin));
        ends.push_back(static_cast<std::int64_t>(end));
      });
    });
  }
  require(streams.size() == 1, "one text makes one stream");
  std::vector<std::int32_t> ids(streams[0].tokens.begin(), streams[0].tokens.end());
  nb::list terms;
  for (const nb::str& term : python_strings(streams[0].table)) terms.append(term);
  return nb::make_tuple(terms, to_numpy(std::move(ids)), to_numpy(std::move(begins)), to_numpy(std::move(ends)));
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

}  // namespace

void bind_corpus(nb::module_& m) {
  nb::class_<corpus::WordRules>(m, "WordRules", "How words are cut and normalized.")
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
  m.def("tokenize", &tokenize, "documents"_a, "rules"_a.none(), nb::kw_only(), "threads"_a, "first"_a,
        "The tokens of each document.");
  m.def("join_tokens", &join_tokens, "documents"_a, "phrases"_a, nb::kw_only(), "threads"_a, "first"_a,
        "Lists of tokens with phrases joined.");
  m.def("word_spans", &word_spans, "text"_a, "rules"_a, "(begin, end) of each word.");
  m.def("numbered_words", &numbered_words, "one"_a, "rules"_a,
        "Distinct words of a text, the number of each word, and where each begins and ends.");
  m.def("word_boundaries", &word_boundaries, "text"_a, "Ends of all UAX #29 word segments.");
  m.def("sentence_spans", &sentence_spans, "text"_a, "abbreviations"_a,
        "(begin, end) of each sentence; they cover the text.");
  m.attr("unicode_version") = corpus::tables::kUnicodeVersion;
}

}  // namespace textmill::bind
