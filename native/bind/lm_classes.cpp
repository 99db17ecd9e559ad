#include <limits>
#include <optional>
#include <utility>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "lm/classes.h"
#include "lm/ngram.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;

void check_tokens(const Offsets& offsets, const Ids& tokens, std::size_t below) {
  check_offsets(view(offsets), tokens.size(), "sentences");
  bool inside = true;
  for (const std::int32_t token : view(tokens)) inside &= token >= 0 && static_cast<std::size_t>(token) < below;
  require(inside, "tokens must lie from 0 to ", below, " - 1");
}

class Exchange {
 public:
  Exchange(Offsets offsets, Ids tokens, std::int32_t boundary, Ids class_of, std::size_t classes,
           std::size_t candidates, std::size_t threads)
      : types_(class_of.size()), classes_(classes), boundary_(boundary) {
    require(types_ >= 1 && types_ < (std::size_t{1} << 31) && classes >= 2 && classes <= 1 << 15 && candidates >= 1,
            "there must be at least 1 type, 2 to 32768 classes and 1 candidate");
    require(boundary >= 0 && static_cast<std::size_t>(boundary) < types_, "the boundary is no type");
    check_tokens(offsets, tokens, types_);
    for (const std::int32_t token : view(tokens)) require(token != boundary, "a sentence holds the boundary");
    const auto classes_of = view(class_of);
    for (std::size_t t = 0; t < types_; ++t)
      require(classes_of[t] >= (static_cast<std::int32_t>(t) != boundary) &&
                  static_cast<std::size_t>(classes_of[t]) < (static_cast<std::int32_t>(t) == boundary ? 1 : classes),
              "class ", classes_of[t], " of type ", t, " is out of range");
    nb::gil_scoped_release nogil;
    exchange_.emplace(types_, classes, view(offsets), view(tokens), boundary, view(class_of), candidates, threads);
  }

  std::size_t sweep(Ids order, Ids first) {
    for (const std::int32_t type : view(order))
      require(type >= 0 && static_cast<std::size_t>(type) < types_ && type != boundary_, "type ", type,
              " cannot be moved");
    const auto groups = view(first);
    require(groups.size() >= 2 && groups.front() == 1 && groups.back() == static_cast<std::int32_t>(classes_),
            "groups must reach from class 1 to the last");
    for (std::size_t g = 1; g < groups.size(); ++g) require(groups[g] >= groups[g - 1], "groups must not fall");
    nb::gil_scoped_release nogil;
    return exchange_->sweep(view(order), groups);
  }

  double log_likelihood() const { return exchange_->log_likelihood(); }
  double recomputed() const { return exchange_->recomputed(); }
  Numpy<std::int32_t, 1> class_of() const { return to_numpy(std::vector(exchange_->class_of())); }
  Numpy<std::int64_t, 1> counts() const { return to_numpy(std::vector(exchange_->counts())); }
  Numpy<std::int64_t, 1> transitions() const { return to_numpy(std::vector(exchange_->transitions())); }

 private:
  std::size_t types_, classes_;
  std::int32_t boundary_;
  std::optional<lm::Exchange> exchange_;
};

// Chunks by their words, and the cutting of sentences into them.
class ChunkTable {
 public:
  ChunkTable(Offsets level, Ids word, Ids first) {
    const lm::Tree tree{view(level), view(word), view(first)};
    require(tree.level.size() >= 3 && tree.level.size() <= 101, "a tree needs 3 to 101 levels");
    const char* fault = lm::fault_of(tree, 1);
    require(fault == nullptr, fault == nullptr ? "" : fault);
    types_ = tree.nodes() - 1;
    words_ = tree.words();
    longest_ = tree.order();
    lookup_ = lm::Lookup(tree);
  }

  nb::tuple segment(Offsets offsets, Ids tokens, Ids class_of, In<double, 1> lexicon, In<double, 2> transition,
                    std::size_t threads) const {
    check_tokens(offsets, tokens, words_);
    const std::size_t classes = transition.shape(0);
    require(threads >= 1 && classes >= 1 && transition.shape(1) == classes, "transitions must be a square");
    require(class_of.size() == types_ && lexicon.size() == types_, "there must be a class and a number for each of ",
            types_, " chunks");
    for (const std::int32_t k : view(class_of))
      require(k >= 0 && static_cast<std::size_t>(k) < classes, "there is no class ", k);
    const auto numbers = [](std::span<const double> values) {
      bool fine = true;
      for (const double x : values) fine &= x < std::numeric_limits<double>::infinity();
      return fine;
    };
    require(numbers(view(lexicon)) && numbers(view(transition)), "logarithms must be numbers below infinity");
    const std::size_t sentences = offsets.size() - 1;
    std::vector<std::int32_t> types(tokens.size()), pieces(sentences);
    std::vector<double> best(sentences), all(sentences);
    {
      nb::gil_scoped_release nogil;
      const lm::Chunks model{lookup_, longest_, view(class_of), view(lexicon), view(transition), classes};
      lm::segment(model, view(offsets), view(tokens), types, pieces, best, all, threads);
    }
    auto cut = compact(view(offsets), types, pieces);
    return nb::make_tuple(to_numpy(std::move(cut.first)), to_numpy(std::move(cut.second)), to_numpy(std::move(best)),
                          to_numpy(std::move(all)));
  }

 private:
  static std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> compact(
      std::span<const std::int64_t> offsets, const std::vector<std::int32_t>& types,
      const std::vector<std::int32_t>& pieces) {
    std::vector<std::int64_t> begin{0};
    std::vector<std::int32_t> made;
    for (std::size_t s = 0; s < pieces.size(); ++s) {
      const auto from = types.begin() + offsets[s];
      made.insert(made.end(), from, from + pieces[s]);
      begin.push_back(static_cast<std::int64_t>(made.size()));
    }
    return {std::move(begin), std::move(made)};
  }

  std::size_t types_ = 0, words_ = 0, longest_ = 0;
  lm::Lookup lookup_;
};

}  // namespace

void bind_lm_classes(nb::module_& m) {
  nb::class_<Exchange>(m, "Exchange", "Classes of types by the exchange algorithm.")
      .def(nb::init<Offsets, Ids, std::int32_t, Ids, std::size_t, std::size_t, std::size_t>(), "offsets"_a, "tokens"_a,
           nb::kw_only(), "boundary"_a, "class_of"_a, "classes"_a, "candidates"_a, "threads"_a)
      .def("sweep", &Exchange::sweep, "order"_a, "first"_a,
           "Moves types to their best classes; returns how many moved.")
      .def("log_likelihood", &Exchange::log_likelihood, "Kept up to date from move to move.")
      .def("recomputed", &Exchange::recomputed, "The same from the counts.")
      .def("class_of", &Exchange::class_of, "Class of each type.")
      .def("counts", &Exchange::counts, "Count of each type.")
      .def("transitions", &Exchange::transitions, "Counts of pairs of classes, by rows.");
  nb::class_<ChunkTable>(m, "ChunkTable", "Chunks by their words.")
      .def(nb::init<Offsets, Ids, Ids>(), "level"_a, "word"_a, "first"_a)
      .def("segment", &ChunkTable::segment, "offsets"_a, "tokens"_a, nb::kw_only(), "class_of"_a, "lexicon"_a,
           "transition"_a, "threads"_a, "Best partitions: offsets, types, log p of the best and of all.");
}

}  // namespace textmill::bind
