#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <optional>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "lm/ngram.h"

namespace textmill::bind {
namespace {

using lm::Tree;
using Levels = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;

Tree checked_tree(const Levels& level, const Ids& word, const Ids& first) {
  const Tree tree{view(level), view(word), view(first)};
  require(tree.level.size() >= 3 && tree.level.size() <= 101, "a tree needs 3 to 101 levels, got ", tree.level.size());
  const char* fault = lm::fault_of(tree);
  require(fault == nullptr, fault == nullptr ? "" : fault);
  return tree;
}

// Sentences: offsets from 0 to the number of tokens, tokens from `least` to words - 1.
void check_sentences(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens, std::int32_t least,
                     std::size_t words) {
  check_offsets(offsets, tokens.size(), "sentences");
  bool inside = true;
  for (const std::int32_t token : tokens)
    inside &= token >= least && (token < 0 || static_cast<std::size_t>(token) < words);
  require(inside, "tokens must lie below ", words);
}

void check_word(const char* what, std::int32_t word, std::size_t words) {
  require(word >= 0 && static_cast<std::size_t>(word) < words, what, " is ", word, ", no word");
}

nb::tuple to_python(lm::Counted&& made) {
  return nb::make_tuple(to_numpy(std::move(made.level)), to_numpy(std::move(made.word)),
                        to_numpy(std::move(made.first)), to_numpy(std::move(made.count)));
}

nb::tuple count(Levels offsets, Ids tokens, std::size_t order, std::size_t words, std::int32_t begin, std::int32_t end,
                std::size_t threads) {
  require(order >= 1 && order <= 99 && threads >= 1, "order must lie from 1 to 99, threads must be at least 1");
  check_sentences(view(offsets), view(tokens), 0, words);
  check_word("begin", begin, words);
  check_word("end", end, words);
  lm::Counted made;
  {
    nb::gil_scoped_release nogil;
    made = lm::count(view(offsets), view(tokens), order, words, begin, end, threads);
  }
  return to_python(std::move(made));
}

nb::tuple combine(nb::list trees, nb::list rename, std::size_t words, std::size_t threads) {
  require(trees.size() >= 1 && trees.size() == rename.size() && threads >= 1,
          "pass at least one tree, and a renaming for each");
  std::vector<lm::Counted> held;
  std::vector<Ids> names;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const auto parts = nb::cast<nb::tuple>(trees[t]);
    require(parts.size() == 4, "a tree has 4 arrays, got ", parts.size());
    const auto level = nb::cast<Levels>(parts[0]);
    const auto word = nb::cast<Ids>(parts[1]), first = nb::cast<Ids>(parts[2]);
    const auto counts = nb::cast<In<std::int64_t, 1>>(parts[3]);
    const Tree tree = checked_tree(level, word, first);
    require(counts.size() == tree.nodes(), "there must be a count for each node");
    const auto copy = [](auto values) { return std::vector(values.begin(), values.end()); };
    held.push_back({copy(view(level)), copy(view(word)), copy(view(first)), copy(view(counts))});
    require(held.back().level.size() == held.front().level.size(), "trees of different orders cannot be added");
    names.push_back(nb::cast<Ids>(rename[t]));
    require(names.back().size() == tree.words(), "a renaming needs a number for each of ", tree.words(), " words");
    for (const std::int32_t name : view(names.back())) check_word("a new number", name, words);
  }
  std::vector<const lm::Counted*> pointers;
  std::vector<std::span<const std::int32_t>> renaming;
  for (std::size_t t = 0; t < held.size(); ++t) {
    pointers.push_back(&held[t]);
    renaming.push_back(view(names[t]));
  }
  lm::Counted made;
  {
    nb::gil_scoped_release nogil;
    made = lm::combine(pointers, renaming, words, threads);
  }
  return to_python(std::move(made));
}

Numpy<std::int32_t, 1> suffixes(Levels level, Ids word, Ids first, std::size_t threads) {
  require(threads >= 1, "threads must be at least 1");
  const Tree tree = checked_tree(level, word, first);
  std::vector<std::int32_t> made;
  {
    nb::gil_scoped_release nogil;
    made = lm::suffixes(tree, threads);
  }
  return to_numpy(std::move(made));
}

void check_suffixes(const Tree& tree, std::span<const std::int32_t> suffix) {
  require(suffix.size() == tree.nodes() && suffix[0] == 0, "there must be a suffix for each node, 0 for node 0");
  bool shorter = true;
  for (std::size_t n = 1; n <= tree.order(); ++n)
    for (auto v = tree.level[n]; v < tree.level[n + 1]; ++v) shorter &= suffix[v] >= 0 && suffix[v] < tree.level[n];
  require(shorter, "a suffix must be a shorter n-gram");
}

nb::tuple kneser_ney(Levels level, Ids word, Ids first, Ids suffix, In<std::int64_t, 1> counts, std::int32_t begin,
                     std::size_t threads) {
  const Tree tree = checked_tree(level, word, first);
  check_suffixes(tree, view(suffix));
  require(counts.size() == tree.nodes() && threads >= 1, "there must be a count for each node");
  for (const std::int64_t c : view(counts)) require(c >= 0, "counts must not be negative");
  require(tree.words() >= 2, "there must be a word beside the start symbol");
  check_word("begin", begin, tree.words());
  lm::Smoothed made;
  {
    nb::gil_scoped_release nogil;
    made = lm::kneser_ney(tree, view(suffix), view(counts), begin, threads);
  }
  std::vector<double> discounts;
  for (const auto& row : made.discounts) discounts.insert(discounts.end(), row.begin(), row.end());
  return nb::make_tuple(to_numpy(std::move(discounts)), to_numpy(std::move(made.log_probability)),
                        to_numpy(std::move(made.log_back_off)));
}

// The nodes of n-grams, -1 for those that are not there.
Numpy<std::int32_t, 1> find(Levels level, Ids word, Ids first, In<std::int32_t, 2> rows) {
  const Tree tree = checked_tree(level, word, first);
  require(rows.shape(1) <= tree.order(), "n-grams of ", rows.shape(1), " words are longer than the tree is deep");
  for (const std::int32_t w : view(rows)) check_word("an entry", w, tree.words());
  std::vector<std::int32_t> found(rows.shape(0));
  {
    nb::gil_scoped_release nogil;
    for (std::size_t i = 0; i < found.size(); ++i)
      for (std::size_t n = 0; n < rows.shape(1) && found[i] >= 0; ++n)
        found[i] = lm::child(tree, found[i], rows.data()[i * rows.shape(1) + n]);
  }
  return to_numpy(std::move(found));
}

// A smoothed model whose arrays were checked once; it shares and keeps them.
class Table {
 public:
  Table(Levels level, Ids word, Ids first, Ids suffix, In<double, 1> probability, In<double, 1> back_off,
        std::int32_t unknown, std::int32_t begin, std::int32_t end)
      : level_(level),
        word_(word),
        first_(first),
        suffix_(suffix),
        probability_(probability),
        back_off_(back_off),
        model_{checked_tree(level_, word_, first_),
               view(suffix_),
               view(probability_),
               view(back_off_),
               &lookup_,
               unknown,
               begin,
               end} {
    check_suffixes(model_.tree, model_.suffix);
    const std::size_t words = model_.tree.words();
    require(probability_.size() == model_.tree.nodes() && back_off_.size() == model_.tree.nodes(),
            "a node needs two numbers");
    bool fine = true;
    for (const double p : model_.log_probability) fine &= std::isfinite(p);
    for (const double b : model_.log_back_off) fine &= std::isfinite(b);
    require(fine, "log probabilities and back-off weights must be finite");
    check_word("unknown", unknown, words);
    check_word("begin", begin, words);
    check_word("end", end, words);
    require(words >= 3, "there must be an unknown word, a start and an end");
  }

  nb::tuple score(Levels offsets, Ids tokens, bool with_end, bool orders, std::size_t threads) {
    require(threads >= 1, "threads must be at least 1");
    check_sentences(view(offsets), view(tokens), -1, model_.tree.words());
    std::vector<double> out(tokens.size() + (with_end ? offsets.size() - 1 : 0));
    std::vector<std::int8_t> order(orders ? out.size() : 0);
    {
      nb::gil_scoped_release nogil;
      index();
      lm::score(model_, view(offsets), view(tokens), with_end, out, order, threads);
    }
    return nb::make_tuple(to_numpy(std::move(out)), to_numpy(std::move(order)));
  }

  Numpy<double, 1> distribution(Ids context, bool from_start) {
    const std::int32_t state = state_after(view(context), from_start);
    std::vector<double> out(model_.tree.words());
    {
      nb::gil_scoped_release nogil;
      lm::distribution(model_, state, out);
    }
    return to_numpy(std::move(out));
  }

  nb::tuple sample(Ids context, bool from_start, std::size_t sentences, std::size_t longest, bool unknown,
                   std::uint64_t seed, std::uint64_t first_sentence, std::size_t threads) {
    require(threads >= 1, "threads must be at least 1");
    const std::int32_t state = state_after(view(context), from_start);
    lm::Drawn drawn;
    {
      nb::gil_scoped_release nogil;
      std::call_once(summed_, [&] { sums_ = lm::running_sums(model_, threads); });
      drawn = lm::sample(model_, sums_, state, sentences, longest, unknown, seed, first_sentence, threads);
    }
    return nb::make_tuple(to_numpy(std::move(drawn.offsets)), to_numpy(std::move(drawn.words)));
  }

 private:
  void index() {
    std::call_once(indexed_, [&] { lookup_ = lm::Lookup(model_.tree); });
  }

  std::int32_t state_after(std::span<const std::int32_t> context, bool from_start) {
    index();
    for (const std::int32_t w : context) check_word("a word of the context", w, model_.tree.words());
    return model_.after(from_start ? model_.start() : 0, context);
  }

  Levels level_;
  Ids word_, first_, suffix_;
  In<double, 1> probability_, back_off_;
  lm::BackOff model_;
  std::once_flag summed_;
  std::vector<double> sums_;  // made when a sentence is first drawn
  std::once_flag indexed_;
  lm::Lookup lookup_;  // made when a word is first looked up
};

}  // namespace

void bind_lm(nb::module_& m) {
  m.def("count", &count, "offsets"_a, "tokens"_a, nb::kw_only(), "order"_a, "words"_a, "begin"_a, "end"_a, "threads"_a,
        "Count n-grams: the levels, words, first children and counts of a tree.");
  m.def("combine", &combine, "trees"_a, "rename"_a, nb::kw_only(), "words"_a, "threads"_a,
        "Add trees, their words renamed.");
  m.def("suffixes", &suffixes, "level"_a, "word"_a, "first"_a, nb::kw_only(), "threads"_a, "The suffix of each node.");
  m.def("kneser_ney", &kneser_ney, "level"_a, "word"_a, "first"_a, "suffix"_a, "counts"_a, nb::kw_only(), "begin"_a,
        "threads"_a, "Discounts by order, log10 probabilities and back-off weights.");
  m.def("find", &find, "level"_a, "word"_a, "first"_a, "rows"_a,
        "The nodes of n-grams, -1 for those that are not there.");
  nb::class_<Table>(m, "Table", "A back-off model.")
      .def(nb::init<Levels, Ids, Ids, Ids, In<double, 1>, In<double, 1>, std::int32_t, std::int32_t, std::int32_t>(),
           "level"_a, "word"_a, "first"_a, "suffix"_a, "probability"_a, "back_off"_a, nb::kw_only(), "unknown"_a,
           "begin"_a, "end"_a)
      .def("score", &Table::score, "offsets"_a, "tokens"_a, nb::kw_only(), "with_end"_a, "orders"_a, "threads"_a,
           "log10 p of each token, and the lengths of the n-grams found.")
      .def("distribution", &Table::distribution, "context"_a, nb::kw_only(), "from_start"_a,
           "p of each word in a context.")
      .def("sample", &Table::sample, "context"_a, nb::kw_only(), "from_start"_a, "sentences"_a, "longest"_a,
           "unknown"_a, "seed"_a, "first_sentence"_a, "threads"_a, "Sentences from the model: offsets and words.");
}

}  // namespace textmill::bind
