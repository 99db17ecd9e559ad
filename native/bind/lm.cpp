#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "base/all_of.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/bulk.h"
#include "lm/counting.h"
#include "lm/editing.h"
#include "lm/leave_out.h"
#include "lm/merging.h"
#include "lm/ngram.h"
#include "lm/pairs.h"
#include "lm/smoothing.h"

namespace textmill::bind {
namespace {

using lm::Tree;
using Levels = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;

Tree checked_tree(const Levels& level, const Ids& word, const Ids& first, std::size_t threads = 1) {
  const Tree tree{view(level), view(word), view(first)};
  require(tree.level.size() >= 3 && tree.level.size() <= 101, "a tree needs 3 to 101 levels, got ", tree.level.size());
  const char* fault = lm::fault_of(tree, threads);
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
  return nb::make_tuple(to_numpy(std::move(made.level)), bulk_to_numpy<std::int32_t>(std::move(made.word)),
                        bulk_to_numpy<std::int32_t>(std::move(made.first)),
                        bulk_to_numpy<std::int64_t>(std::move(made.count)));
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
    const auto ids = [](const Ids& values) {
      return base::Bulk<std::int32_t>(view(values).begin(), view(values).end());
    };
    held.push_back(
        {{tree.level.begin(), tree.level.end()}, ids(word), ids(first), {view(counts).begin(), view(counts).end()}});
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

void suffixes(Levels level, Ids word, Ids first, Out<std::int32_t, 1> suffix, std::size_t threads) {
  require(threads >= 1, "threads must be at least 1");
  const Tree tree = checked_tree(level, word, first, threads);
  require(suffix.size() == tree.nodes(), "there must be room for a suffix of each node");
  nb::gil_scoped_release nogil;
  lm::suffixes(tree, view(suffix), threads);
}

// Rows: an array for each order from 1 on.
void spell(Levels level, Ids word, Ids first, const std::vector<Out<std::int32_t, 2>>& rows, std::size_t threads) {
  const Tree tree = checked_tree(level, word, first, threads);
  require(threads >= 1 && rows.size() == tree.order(), "there must be rows for each of ", tree.order(), " orders");
  for (std::size_t n = 1; n <= rows.size(); ++n)
    require(rows[n - 1].shape(0) == static_cast<std::size_t>(tree.level[n + 1] - tree.level[n]) &&
                rows[n - 1].shape(1) == n,
            "there must be a row of ", n, " words for each n-gram of that order");
  nb::gil_scoped_release nogil;
  for (std::size_t n = 1; n <= rows.size(); ++n)
    lm::spell(tree, n, n == 1 ? std::span<std::int32_t>() : view(rows[n - 2]), view(rows[n - 1]), threads);
}

// Trees as for combine, mapped; numbers, word, first and count receive the result.
Numpy<std::int64_t, 1> merge(nb::list trees, nb::list numbers, std::size_t words, Out<std::int32_t, 1> word,
                             Out<std::int32_t, 1> first, Out<std::int64_t, 1> count) {
  require(trees.size() >= 1 && trees.size() == numbers.size(), "pass at least one tree, and numbers for each");
  std::vector<Levels> levels;
  std::vector<Ids> ids;
  std::vector<Levels> counts;
  std::vector<Out<std::int32_t, 1>> number;
  std::vector<lm::Stored> stored;
  std::size_t room = 1 + words;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const auto parts = nb::cast<nb::tuple>(trees[t]);
    require(parts.size() == 4, "a tree has 4 arrays, got ", parts.size());
    levels.push_back(nb::cast<Levels>(parts[0]));
    ids.push_back(nb::cast<Ids>(parts[1]));
    ids.push_back(nb::cast<Ids>(parts[2]));
    counts.push_back(nb::cast<Levels>(parts[3]));
    number.push_back(nb::cast<Out<std::int32_t, 1>>(numbers[t], false));
    const Tree tree = checked_tree(levels.back(), ids[2 * t], ids[2 * t + 1]);
    require(counts.back().size() == tree.nodes() && number.back().size() == tree.nodes(),
            "there must be a count and a number for each node");
    require(tree.words() <= words, "a tree has more than ", words, " words");
    require(tree.level.size() == levels.front().size(), "trees of different orders cannot be added");
    stored.push_back({tree, view(counts.back()), view(number.back())});
    room += tree.nodes() - 1 - tree.words();
  }
  require(word.size() >= room && count.size() >= room && first.size() >= room + 1, "there must be room for ", room,
          " nodes");
  std::vector<std::int64_t> made;
  {
    nb::gil_scoped_release nogil;
    made = lm::merge(stored, words, view(word), view(first), view(count));
  }
  return to_numpy(std::move(made));
}

// `whole`: the tree has all ends of its n-grams.
void check_suffixes(const Tree& tree, std::span<const std::int32_t> suffix, bool whole, std::size_t threads) {
  require(suffix.size() == tree.nodes() && suffix[0] == 0, "there must be a suffix for each node, 0 for node 0");
  const auto all = [&](std::size_t n, auto&& fine) {
    return base::all_of(static_cast<std::size_t>(tree.level[n]), static_cast<std::size_t>(tree.level[n + 1]), threads,
                        fine);
  };
  for (std::size_t n = 1; n <= tree.order(); ++n) {
    const auto end = static_cast<std::uint32_t>(tree.level[n]);
    require(all(n, [&](std::size_t v) { return static_cast<std::uint32_t>(suffix[v]) < end; }),
            "a suffix must be a shorter n-gram");
    const std::int64_t least = whole && n > 1 ? tree.level[n - 1] : 0;
    require(least == 0 || all(n, [&](std::size_t v) { return suffix[v] >= least; }), "the end of an n-gram is missing");
  }
}

lm::Rules rules_of(int method, const Levels& min_count, const Ids& limit, std::size_t order) {
  require(method >= 0 && method <= static_cast<int>(lm::Method::kJelinekMercer), "there is no method ", method);
  require(min_count.size() == order && limit.size() == order, "there must be a smallest count and a limit by order");
  for (std::size_t n = 0; n < order; ++n) {
    require(min_count.data()[n] >= 1 && (n == 0 || min_count.data()[n] >= min_count.data()[n - 1]),
            "smallest counts must be at least 1 and not fall");
    require(limit.data()[n] >= 0 && limit.data()[n] < static_cast<std::int32_t>(lm::kClasses), "a limit is above 7");
  }
  const auto copy = [](auto values) { return std::vector(values.begin(), values.end()); };
  return {static_cast<lm::Method>(method), copy(view(min_count)), copy(view(limit))};
}

// A tree of all n-grams: every end of one is one.
void check_counts(const Tree& tree, std::span<const std::int32_t> suffix, std::span<const std::int64_t> counts,
                  std::int32_t begin, std::size_t threads) {
  check_suffixes(tree, suffix, true, threads);
  require(counts.size() == tree.nodes(), "there must be a count for each node");
  require(base::all_of(0, tree.nodes(), threads, [&](std::size_t v) { return counts[v] >= 0; }),
          "counts must not be negative");
  require(tree.words() >= 2, "there must be a word beside the start symbol");
  check_word("begin", begin, tree.words());
}

// Fills a (only for Kneser-Ney, else empty), probability and back_off.
nb::tuple smooth(Levels level, Ids word, Ids first, Ids suffix, Levels counts, Out<std::int64_t, 1> a,
                 Out<double, 1> probability, Out<double, 1> back_off, int method, Levels min_count, Ids limit,
                 std::int32_t begin, std::size_t threads) {
  const Tree tree = checked_tree(level, word, first, threads);
  check_counts(tree, view(suffix), view(counts), begin, threads);
  const lm::Rules rules = rules_of(method, min_count, limit, tree.order());
  require(threads >= 1 && probability.size() == tree.nodes() && back_off.size() == tree.nodes() &&
              a.size() == (rules.continues() ? tree.nodes() : 0),
          "there must be two numbers for each node");
  std::vector<double> discounts, fresh;
  std::vector<std::int8_t> fell_back;
  {
    nb::gil_scoped_release nogil;
    if (rules.continues()) lm::continuations(tree, view(suffix), view(counts), begin, view(a), threads);
    const std::span<const std::int64_t> own = rules.continues() ? std::span<const std::int64_t>(view(a)) : view(counts);
    const lm::Adjusted data{tree, view(suffix), view(counts), own, begin};
    const lm::Parameters made = lm::smooth(rules, data, view(probability), view(back_off), threads);
    for (const auto& row : made.discounts) discounts.insert(discounts.end(), row.begin(), row.end());
    for (const auto& row : made.new_word) fresh.insert(fresh.end(), row.begin(), row.end());
    fell_back.assign(made.fell_back.begin(), made.fell_back.end());
  }
  return nb::make_tuple(to_numpy(std::move(discounts)), to_numpy(std::move(fresh)), to_numpy(std::move(fell_back)));
}

nb::tuple select(Levels level, Ids word, Ids first, In<std::uint8_t, 1> marked) {
  const Tree tree = checked_tree(level, word, first);
  require(marked.size() == tree.nodes(), "there must be a mark for each node");
  lm::Selected made;
  {
    nb::gil_scoped_release nogil;
    made = lm::select(tree, view(marked));
  }
  return nb::make_tuple(to_numpy(std::move(made.level)), to_numpy(std::move(made.word)),
                        to_numpy(std::move(made.first)), to_numpy(std::move(made.old)));
}

// A model from which sentences can be taken out; it shares and keeps its arrays.
class LeaveOut {
 public:
  LeaveOut(Levels level, Ids word, Ids first, Ids suffix, Levels counts, int method, Levels min_count, Ids limit,
           std::int32_t unknown, std::int32_t begin, std::int32_t end, bool open, std::int32_t fixed,
           std::size_t threads)
      : level_(level), word_(word), first_(first), suffix_(suffix), counts_(counts) {
    const Tree tree = checked_tree(level_, word_, first_, threads);
    check_counts(tree, view(suffix_), view(counts_), begin, threads);
    check_word("unknown", unknown, tree.words());
    check_word("end", end, tree.words());
    require(fixed >= 0 && unknown < fixed && begin < fixed && end < fixed && threads >= 1,
            "the special words must be among the fixed ones");
    const lm::Rules rules = rules_of(method, min_count, limit, tree.order());
    nb::gil_scoped_release nogil;
    model_.emplace(rules, tree, view(suffix_), view(counts_), unknown, begin, end, open, fixed, threads);
    words_ = tree.words();
    orders_ = tree.order();
  }

  // Groups are rows: first and last removed, first and last scored sentence.
  nb::tuple score(Levels removed_offsets, Ids removed, Levels scored_offsets, Ids scored, In<std::int64_t, 2> groups,
                  bool shorter_models, std::size_t threads) {
    require(threads >= 1, "threads must be at least 1");
    check_sentences(view(removed_offsets), view(removed), -1, words_);
    check_sentences(view(scored_offsets), view(scored), -1, words_);
    require(groups.shape(1) == 4, "a group has four borders");
    std::vector<lm::LeaveOut::Group> cut;
    const auto inside = [](std::int64_t from, std::int64_t to, std::size_t end) {
      return from >= 0 && from <= to && static_cast<std::size_t>(to) < end;
    };
    std::int64_t last = 0;
    for (std::size_t g = 0; g < groups.shape(0); ++g) {
      const std::int64_t* row = groups.data() + 4 * g;
      require(inside(row[0], row[1], removed_offsets.size()) && inside(row[2], row[3], scored_offsets.size()) &&
                  row[2] >= last,
              "group ", g, " is out of range or out of order");
      last = row[3];
      cut.push_back({static_cast<std::size_t>(row[0]), static_cast<std::size_t>(row[1]),
                     static_cast<std::size_t>(row[2]), static_cast<std::size_t>(row[3])});
    }
    const std::size_t size = scored.size() + scored_offsets.size() - 1;
    std::vector<double> out(size);
    std::vector<std::int8_t> unknown(size), order(size);
    std::vector<double> shorter(shorter_models ? size * (orders_ - 1) : 0);
    std::optional<lm::LeaveOut::Fault> fault;
    {
      nb::gil_scoped_release nogil;
      fault = model_->score({view(removed_offsets), view(removed)}, {view(scored_offsets), view(scored)}, cut, out,
                            unknown, order, shorter, threads);
    }
    nb::object wrong = nb::none();
    if (fault) wrong = nb::make_tuple(fault->group, fault->sentence, fault->word, fault->emptied);
    return nb::make_tuple(to_numpy(std::move(out)), to_numpy(std::move(unknown)), to_numpy(std::move(order)),
                          to_numpy(std::move(shorter)), wrong);
  }

 private:
  Levels level_;
  Ids word_, first_, suffix_;
  Levels counts_;
  std::size_t words_ = 0, orders_ = 1;
  std::optional<lm::LeaveOut> model_;
};

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

// Numbers of a model: an array, or codes and their book.
class Held {
 public:
  Held(const In<double, 1>& exact) : exact_(exact), numbers_{view(*exact_), {}, {}, 0} {}
  Held(const In<std::uint8_t, 1>& packed, const In<double, 1>& book, unsigned bits, std::int64_t nodes)
      : packed_(packed), book_(book) {
    require(bits >= 1 && bits <= 16 && book.size() == std::size_t{1} << bits, "a book of ", bits, " bits has ",
            std::size_t{1} << bits, " entries, got ", book.size());
    require(nodes >= 0 && packed.size() == (static_cast<std::size_t>(nodes) * bits + 7) / 8 + 3,
            "there must be a code for each node");
    numbers_ = {{}, view(*packed_), view(*book_), bits};
  }
  std::size_t size(std::size_t nodes) const { return numbers_.bits == 0 ? exact_->size() : nodes; }
  const lm::Numbers& numbers() const { return numbers_; }
  bool finite() const {
    bool fine = true;
    for (const double x : numbers_.bits == 0 ? numbers_.exact : numbers_.book) fine &= std::isfinite(x);
    return fine;
  }

 private:
  std::optional<In<double, 1>> exact_;
  std::optional<In<std::uint8_t, 1>> packed_;
  std::optional<In<double, 1>> book_;
  lm::Numbers numbers_;
};

// A smoothed model whose arrays were checked once; it shares and keeps them. One of codes is searched by bisection, so
// that it needs no memory beside the file.
class Table {
 public:
  Table(Levels level, Ids word, Ids first, Ids suffix, In<double, 1> probability, In<double, 1> back_off,
        std::int32_t unknown, std::int32_t begin, std::int32_t end)
      : Table(level, word, first, suffix, Held(probability), Held(back_off), unknown, begin, end) {}
  Table(Levels level, Ids word, Ids first, Ids suffix, In<std::uint8_t, 1> probability, In<double, 1> probability_book,
        In<std::uint8_t, 1> back_off, In<double, 1> back_off_book, unsigned bits, std::int32_t unknown,
        std::int32_t begin, std::int32_t end)
      : Table(level, word, first, suffix,
              Held(probability, probability_book, bits, static_cast<std::int64_t>(word.size())),
              Held(back_off, back_off_book, bits, level.size() < 2 ? 0 : level.data()[level.size() - 2]), unknown,
              begin, end) {}

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
      index();
      std::call_once(summed_, [&] { sums_ = lm::running_sums(model_, threads); });
      drawn = lm::sample(model_, sums_, state, sentences, longest, unknown, seed, first_sentence, threads);
    }
    return nb::make_tuple(to_numpy(std::move(drawn.offsets)), to_numpy(std::move(drawn.words)));
  }

  Numpy<double, 1> back_offs(std::size_t threads) {
    require(threads >= 1, "threads must be at least 1");
    std::vector<double> made;
    {
      nb::gil_scoped_release nogil;
      index();
      made = lm::back_offs(model_, threads);
    }
    return to_numpy(std::move(made));
  }

  // Weight empty: by the chain rule.
  Numpy<double, 1> importance(In<double, 1> weight, bool entropy, std::size_t threads) {
    require(threads >= 1, "threads must be at least 1");
    require(weight.size() == 0 || weight.size() == model_.tree.nodes(), "there must be a weight for each node");
    std::vector<double> made;
    {
      nb::gil_scoped_release nogil;
      index();
      std::vector<double> own;
      if (weight.size() == 0) own = lm::chain_rule(model_);
      made = lm::importance(model_, weight.size() == 0 ? std::span<const double>(own) : view(weight),
                            entropy ? lm::Loss::kEntropy : lm::Loss::kDifference, threads);
    }
    return to_numpy(std::move(made));
  }

  Numpy<double, 1> evaluate(Levels level, Ids word, Ids first, Ids name) {
    const Tree tree = checked_tree(level, word, first);
    require(name.size() == tree.words(), "there must be a name for each of ", tree.words(), " words");
    for (const std::int32_t w : view(name)) check_word("a name", w, model_.tree.words());
    std::vector<double> made;
    {
      nb::gil_scoped_release nogil;
      index();
      made = lm::evaluate(model_, tree, view(name));
    }
    return to_numpy(std::move(made));
  }

  // All numbers as they are used: log10 probabilities and back-off weights.
  nb::tuple numbers() const {
    std::vector<double> probability(model_.tree.nodes()), back_off(model_.tree.nodes(), 0.0);
    const auto inner = static_cast<std::size_t>(model_.tree.level[model_.tree.order()]);
    for (std::size_t v = 0; v < probability.size(); ++v) {
      probability[v] = model_.log_probability[v];
      if (v < inner) back_off[v] = model_.log_back_off[v];
    }
    return nb::make_tuple(to_numpy(std::move(probability)), to_numpy(std::move(back_off)));
  }

  const lm::BackOff& model() const { return model_; }

 private:
  Table(Levels level, Ids word, Ids first, Ids suffix, Held probability, Held back_off, std::int32_t unknown,
        std::int32_t begin, std::int32_t end)
      : level_(level),
        word_(word),
        first_(first),
        suffix_(suffix),
        probability_(probability),
        back_off_(back_off),
        model_{checked_tree(level_, word_, first_),
               view(suffix_),
               probability_.numbers(),
               back_off_.numbers(),
               probability_.numbers().bits == 0 ? &lookup_ : nullptr,
               unknown,
               begin,
               end} {
    check_suffixes(model_.tree, model_.suffix, false, 1);
    const std::size_t words = model_.tree.words(), nodes = model_.tree.nodes();
    require(probability_.size(nodes) == nodes && back_off_.size(nodes) == nodes, "a node needs two numbers");
    require(probability_.finite() && back_off_.finite(), "log probabilities and back-off weights must be finite");
    check_word("unknown", unknown, words);
    check_word("begin", begin, words);
    check_word("end", end, words);
    require(words >= 3, "there must be an unknown word, a start and an end");
  }

  void index() {
    if (model_.lookup != nullptr)
      std::call_once(indexed_, [&] {
        lookup_ = lm::Lookup(model_.tree, model_.suffix, model_.log_probability.exact, model_.log_back_off.exact);
      });
  }

  std::int32_t state_after(std::span<const std::int32_t> context, bool from_start) {
    index();
    for (const std::int32_t w : context) check_word("a word of the context", w, model_.tree.words());
    return model_.after(from_start ? model_.start() : 0, context);
  }

  Levels level_;
  Ids word_, first_, suffix_;
  Held probability_, back_off_;
  lm::BackOff model_;
  std::once_flag summed_;
  std::vector<double> sums_;  // made when a sentence is first drawn
  std::once_flag indexed_;
  lm::Lookup lookup_;  // made when a word is first looked up
};

nb::tuple to_python(lm::PairAnswers&& answers) {
  return nb::make_tuple(to_numpy(std::move(answers.offsets)), to_numpy(std::move(answers.log_probability)),
                        to_numpy(std::move(answers.best_alignment)), to_numpy(std::move(answers.token_begin)),
                        to_numpy(std::move(answers.tokens)), to_numpy(std::move(answers.total)));
}

// A model of pairs; it keeps its arrays.
class PairNgrams {
 public:
  PairNgrams(const Table& table, Levels input_begin, Ids inputs, Levels output_begin, Ids outputs, Ids words_of_pairs,
             In<double, 1> bias, std::int32_t output_symbols)
      : input_begin_(input_begin),
        inputs_(inputs),
        output_begin_(output_begin),
        outputs_(outputs),
        words_(words_of_pairs),
        bias_(bias) {
    const std::size_t words = table.model().tree.words();
    check_offsets(view(input_begin_), inputs_.size(), "inputs");
    check_offsets(view(output_begin_), outputs_.size(), "outputs");
    require(input_begin_.size() == output_begin_.size() && input_begin_.size() == words_.size() + 1 &&
                words_.size() == bias_.size(),
            "there must be an input, an output, a word and a bias for each pair");
    for (const std::int32_t word : view(words_))
      require(word >= 3 && static_cast<std::size_t>(word) < words, "word ", word, " cannot be a pair");
    for (const double value : view(bias_)) require(std::isfinite(value), "a bias is not finite");
    check_symbols(view(inputs_), std::numeric_limits<std::int32_t>::max());
    require(output_symbols >= 0, "the number of output symbols is negative");
    check_symbols(view(outputs_), output_symbols);
    symbols_ = output_symbols;
    nb::gil_scoped_release nogil;
    pairs_.emplace(table.model(), lm::PairTokens{view(input_begin_), view(inputs_), view(output_begin_), view(outputs_),
                                                 view(words_), view(bias_), output_symbols});
  }

  nb::tuple decode(Levels offsets, Ids letters, In<std::int32_t, 2> next, In<std::uint8_t, 1> accept, std::size_t k,
                   std::size_t beam, double width, std::size_t insertions, bool copy, bool summed,
                   std::size_t threads) const {
    check_offsets(view(offsets), letters.size(), "inputs");
    check_symbols(view(letters), std::numeric_limits<std::int32_t>::max() - symbols_);
    require(k >= 1 && width >= 0.0 && insertions <= 255 && threads >= 1, "k, width or threads are out of range");
    const auto states = static_cast<std::int32_t>(accept.size());
    require(
        next.shape(0) == accept.size() && (accept.size() == 0 || next.shape(1) == static_cast<std::size_t>(symbols_)),
        "an acceptor needs a row of ", symbols_, " numbers for each state");
    for (const std::int32_t state : view(next)) require(state >= -1 && state < states, "there is no state ", state);
    const lm::PairSearch search{k, beam, width, insertions, copy, summed};
    lm::PairAnswers answers;
    std::vector<std::int64_t> output_begin;
    std::vector<std::int32_t> outputs;
    {
      nb::gil_scoped_release nogil;
      answers = pairs_->decode(view(offsets), view(letters), {view(next), view(accept)}, search, threads);
      pairs_->write(view(offsets), view(letters), answers, search, output_begin, outputs);
    }
    return nb::tuple(to_python(std::move(answers)) +
                     nb::make_tuple(to_numpy(std::move(output_begin)), to_numpy(std::move(outputs))));
  }

  Numpy<double, 1> score_lists(Levels x_begin, Ids x, Levels lists, Levels y_begin, Ids y, double width,
                               std::size_t insertions, bool copy, std::size_t threads) const {
    check_offsets(view(x_begin), x.size(), "inputs");
    check_offsets(view(y_begin), y.size(), "outputs");
    check_offsets(view(lists), y_begin.size() - 1, "lists of outputs");
    require(x_begin.size() == lists.size(), "there must be a list of outputs for each input");
    check_symbols(view(x), std::numeric_limits<std::int32_t>::max() - symbols_);
    require(width >= 0.0 && insertions <= 255 && threads >= 1, "width, insertions or threads are out of range");
    std::vector<double> sums;
    {
      nb::gil_scoped_release nogil;
      sums = pairs_->score_lists(view(x_begin), view(x), view(lists), view(y_begin), view(y),
                                 {1, 0, width, insertions, copy, true}, threads);
    }
    return to_numpy(std::move(sums));
  }

  nb::tuple score(Levels x_begin, Ids x, Levels y_begin, Ids y, std::size_t insertions, bool copy, bool summed,
                  std::size_t threads) const {
    check_offsets(view(x_begin), x.size(), "inputs");
    check_offsets(view(y_begin), y.size(), "outputs");
    require(x_begin.size() == y_begin.size(), "there must be an output for each input");
    check_symbols(view(x), std::numeric_limits<std::int32_t>::max() - symbols_);
    require(insertions <= 255 && threads >= 1, "insertions or threads are out of range");
    lm::PairAnswers answers;
    {
      nb::gil_scoped_release nogil;
      answers = pairs_->score(view(x_begin), view(x), view(y_begin), view(y),
                              {1, 0, std::numeric_limits<double>::infinity(), insertions, copy, summed}, threads);
    }
    return to_python(std::move(answers));
  }

 private:
  static void check_symbols(std::span<const std::int32_t> symbols, std::int32_t end) {
    for (const std::int32_t symbol : symbols) require(symbol >= 0 && symbol < end, "there is no symbol ", symbol);
  }

  Levels input_begin_;
  Ids inputs_;
  Levels output_begin_;
  Ids outputs_;
  Ids words_;
  In<double, 1> bias_;
  std::int32_t symbols_ = 0;
  std::optional<lm::PairTable> pairs_;
};

}  // namespace

void bind_lm(nb::module_& m) {
  m.def("count", &count, "offsets"_a, "tokens"_a, nb::kw_only(), "order"_a, "words"_a, "begin"_a, "end"_a, "threads"_a,
        "Count n-grams: the levels, words, first children and counts of a tree.");
  m.def("combine", &combine, "trees"_a, "rename"_a, nb::kw_only(), "words"_a, "threads"_a,
        "Add trees, their words renamed.");
  m.def("suffixes", &suffixes, "level"_a, "word"_a, "first"_a, "suffix"_a.noconvert(), nb::kw_only(), "threads"_a,
        "Fill in the suffix of each node.");
  m.def("spell", &spell, "level"_a, "word"_a, "first"_a, "rows"_a.noconvert(), nb::kw_only(), "threads"_a,
        "Fill in the words of the n-grams of each order.");
  m.def("merge", &merge, "trees"_a, "numbers"_a, nb::kw_only(), "words"_a, "word"_a.noconvert(), "first"_a.noconvert(),
        "count"_a.noconvert(), "Add trees that lie on disk; the levels of the sum.");
  m.def("smooth", &smooth, "level"_a, "word"_a, "first"_a, "suffix"_a, "counts"_a, "a"_a.noconvert(),
        "probability"_a.noconvert(), "back_off"_a.noconvert(), nb::kw_only(), "method"_a, "min_count"_a, "limit"_a,
        "begin"_a, "threads"_a,
        "Fill in log10 probabilities and back-off weights; (discounts, chances of new words, fell back).");
  m.def("select", &select, "level"_a, "word"_a, "first"_a, "marked"_a,
        "The tree of the marked nodes, and their old numbers.");
  nb::class_<LeaveOut>(m, "LeaveOut", "A model from which sentences can be taken out.")
      .def(nb::init<Levels, Ids, Ids, Ids, Levels, int, Levels, Ids, std::int32_t, std::int32_t, std::int32_t, bool,
                    std::int32_t, std::size_t>(),
           "level"_a, "word"_a, "first"_a, "suffix"_a, "counts"_a, nb::kw_only(), "method"_a, "min_count"_a, "limit"_a,
           "unknown"_a, "begin"_a, "end"_a, "open"_a, "fixed"_a, "threads"_a)
      .def("score", &LeaveOut::score, "removed_offsets"_a, "removed"_a, "scored_offsets"_a, "scored"_a, "groups"_a,
           nb::kw_only(), "shorter_models"_a, "threads"_a,
           "log10 p of each token, whether it is unknown, length of its n-gram, log10 p by shorter models; what was "
           "never counted or None.");
  m.def("find", &find, "level"_a, "word"_a, "first"_a, "rows"_a,
        "The nodes of n-grams, -1 for those that are not there.");
  nb::class_<Table>(m, "Table", "A back-off model.")
      .def(nb::init<Levels, Ids, Ids, Ids, In<double, 1>, In<double, 1>, std::int32_t, std::int32_t, std::int32_t>(),
           "level"_a, "word"_a, "first"_a, "suffix"_a, "probability"_a, "back_off"_a, nb::kw_only(), "unknown"_a,
           "begin"_a, "end"_a)
      .def(nb::init<Levels, Ids, Ids, Ids, In<std::uint8_t, 1>, In<double, 1>, In<std::uint8_t, 1>, In<double, 1>,
                    unsigned, std::int32_t, std::int32_t, std::int32_t>(),
           "level"_a, "word"_a, "first"_a, "suffix"_a, "probability"_a, "probability_book"_a, "back_off"_a,
           "back_off_book"_a, "bits"_a, nb::kw_only(), "unknown"_a, "begin"_a, "end"_a)
      .def("back_offs", &Table::back_offs, nb::kw_only(), "threads"_a,
           "log10 back-off weights with which every context sums to 1.")
      .def("importance", &Table::importance, "weight"_a, nb::kw_only(), "entropy"_a, "threads"_a,
           "What is lost with each n-gram.")
      .def("evaluate", &Table::evaluate, "level"_a, "word"_a, "first"_a, "name"_a,
           "log10 p of the n-grams of another tree.")
      .def("numbers", &Table::numbers, "log10 probabilities and back-off weights.")
      .def("score", &Table::score, "offsets"_a, "tokens"_a, nb::kw_only(), "with_end"_a, "orders"_a, "threads"_a,
           "log10 p of each token, and the lengths of the n-grams found.")
      .def("distribution", &Table::distribution, "context"_a, nb::kw_only(), "from_start"_a,
           "p of each word in a context.")
      .def("sample", &Table::sample, "context"_a, nb::kw_only(), "from_start"_a, "sentences"_a, "longest"_a,
           "unknown"_a, "seed"_a, "first_sentence"_a, "threads"_a, "Sentences from the model: offsets and words.");
  nb::class_<PairNgrams>(m, "PairNgrams", "A back-off model of pairs of symbols.")
      .def(nb::init<const Table&, Levels, Ids, Levels, Ids, Ids, In<double, 1>, std::int32_t>(), "table"_a,
           "input_begin"_a, "inputs"_a, "output_begin"_a, "outputs"_a, "words"_a, "bias"_a, "output_symbols"_a)
      .def(
          "decode", &PairNgrams::decode, "offsets"_a, "letters"_a, "next"_a, "accept"_a, nb::kw_only(), "k"_a, "beam"_a,
          "width"_a, "insertions"_a, "copy"_a, "summed"_a, "threads"_a,
          "Best outputs: offsets, ln p, ln p of best alignments, where these begin, their pairs, ln p of inputs, where "
          "the symbols of outputs begin, the symbols.")
      .def("score", &PairNgrams::score, "x_begin"_a, "x"_a, "y_begin"_a, "y"_a, nb::kw_only(), "insertions"_a, "copy"_a,
           "summed"_a, "threads"_a, "The same for pairs of strings, without the symbols.")
      .def("score_lists", &PairNgrams::score_lists, "x_begin"_a, "x"_a, "lists"_a, "y_begin"_a, "y"_a, nb::kw_only(),
           "width"_a, "insertions"_a, "copy"_a, "threads"_a, "ln p of inputs with lists of outputs.");
}

}  // namespace textmill::bind
