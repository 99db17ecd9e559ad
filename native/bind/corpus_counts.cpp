// Terms, pairs of tokens and rows of counts.

#include <limits>
#include <mutex>
#include <shared_mutex>

#include "base/parallel.h"
#include "bind/bulk.h"
#include "bind/texts.h"
#include "corpus/arpa.h"
#include "corpus/pairs.h"
#include "corpus/spill.h"

namespace textmill::bind {
namespace {

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

nb::tuple to_python(corpus::Counts&& counts) {
  return nb::make_tuple(to_numpy(std::move(counts.offsets)), to_numpy(std::move(counts.terms)),
                        to_numpy(std::move(counts.values)));
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
        std::vector<std::vector<std::int32_t>> known(streams.size());  // by number in its stream, in the table
        std::vector<std::size_t> begin;                                // of the tokens of each stream
        const std::unique_lock lock(mutex_);
        for (std::size_t s = 0; s < streams.size(); ++s) {
          const corpus::TokenStream& stream = streams[s];
          known[s].resize(stream.table.size());
          for (std::size_t t = 0; t < known[s].size(); ++t) known[s][t] = table_->insert(stream.table[t]);
          const auto base = offsets.back();
          begin.push_back(static_cast<std::size_t>(base));
          for (const std::size_t end : stream.document_ends) end_document(base, end);
        }
        ids.resize(static_cast<std::size_t>(offsets.back()));
        base::parallel_for(streams.size(), threads, [&](std::size_t s) {
          std::int32_t* at = ids.data() + begin[s];
          for (const std::uint32_t token : streams[s].tokens) *at++ = known[s][token];
        });
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

// The bytes of lines, in an array: nothing is copied.
Numpy<std::uint8_t, 1> format_ngrams(In<std::uint8_t, 1> names, In<std::int64_t, 1> offsets, In<std::int32_t, 2> words,
                                     In<double, 1> log_probability, In<double, 1> back_off, bool last) {
  require(words.shape(0) == log_probability.size() && words.shape(0) == back_off.size(), "an n-gram needs two numbers");
  base::Bulk<char> text;
  {
    nb::gil_scoped_release nogil;
    check_strings(view(names), view(offsets));
    const corpus::Names table{view(names), view(offsets)};
    for (const std::int32_t id : view(words))
      require(id >= 0 && static_cast<std::size_t>(id) < table.size(), "word ", id, " is out of range");
    text = corpus::format_ngrams(table, view(words), view(log_probability), view(back_off), last);
  }
  return bulk_to_numpy<std::uint8_t>(std::move(text));
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

}  // namespace

void bind_corpus_counts(nb::module_& m) {
  nb::class_<Pairs>(m, "PairCounter", "Counts of neighboring tokens.")
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
      .def("tally", &Terms::tally, "terms"_a, "counts"_a, "Add entries of rows to the frequencies.")
      .def("terms_from", &Terms::terms_from, "first"_a,
           "(bytes, offsets, document frequencies, collection frequencies) of the terms from an id on.");
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
  m.def("format_ngrams", &format_ngrams, "names"_a, "offsets"_a, "words"_a, "log_probability"_a, "back_off"_a, "last"_a,
        "Lines of an ARPA section.");
  m.def("count_hashed", &count_hashed, "documents"_a, "rules"_a.none(), nb::kw_only(), "columns"_a, "with_sign"_a,
        "threads"_a, "first"_a, "Count documents by hashed terms: (offsets, columns, counts).");
  m.def("remap", &remap, "offsets"_a, "terms"_a, "counts"_a, "new_id"_a, nb::kw_only(), "threads"_a,
        "Rename columns by new_id (-1 drops), sort rows, add equal columns.");
  m.def("holding_words", &holding_words, "words"_a, "bytes"_a, "offsets"_a, nb::kw_only(), "threads"_a,
        "1 for n-grams with one of the words, else 0.");
  m.def("merge_runs", &merge_runs, "paths"_a, nb::kw_only(), "stop_words"_a.none(), "any_word"_a, "most_documents"_a,
        "least_documents"_a, "least_occurrences"_a, "threads"_a,
        "Merge runs: (bytes, offsets, document frequencies, collection frequencies, first positions, removed, tokens, "
        "nonzeros, tokens that are single words).");
}

}  // namespace textmill::bind
