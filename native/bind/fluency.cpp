#include "tasks/fluency.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bind/arrays.h"
#include "bind/bindings.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;
using Sequence = std::tuple<Offsets, Ids, std::size_t, std::int32_t>;  // offsets, symbols, order, border

std::vector<tasks::View> checked(const std::vector<Sequence>& sequences) {
  require(!sequences.empty() && sequences.size() <= tasks::kMostViews, "there must be 1 to 4 views, got ",
          sequences.size());
  std::vector<tasks::View> views;
  for (const auto& [offsets, symbols, order, border] : sequences) {
    require(order >= 1 && order <= tasks::kMostOrder, "order must lie from 1 to 4, got ", order);
    check_offsets(view(offsets), symbols.size(), "sentences");
    require(offsets.size() == std::get<0>(sequences[0]).size(), "views must have the same number of sentences");
    const std::int64_t end = std::int64_t{1} << (60 / order);
    for (const std::int32_t symbol : view(symbols))
      require(symbol >= 0 && symbol < end, "symbol ", symbol, " is too large for n-grams of ", order);
    require(border < end, "the border is too large a symbol");
    views.push_back({view(offsets), view(symbols), order, border});
  }
  return views;
}

nb::tuple ngram_sets(const std::vector<Sequence>& sequences, std::size_t threads) {
  const std::vector<tasks::View> views = checked(sequences);
  require(threads >= 1, "threads must be at least 1");
  tasks::NGramSets made;
  {
    nb::gil_scoped_release nogil;
    made = tasks::ngram_sets(views, threads);
  }
  return nb::make_tuple(to_numpy(std::move(made.begin)), to_numpy(std::move(made.key)));
}

nb::tuple ngram_places(const std::vector<Sequence>& sequences) {
  const std::vector<tasks::View> views = checked(sequences);
  tasks::NGramSets sets;
  tasks::Occurrences made;
  {
    nb::gil_scoped_release nogil;
    sets = tasks::ngram_sets(views, 1);
    made = tasks::occurrences(views, sets);
  }
  return nb::make_tuple(to_numpy(std::move(sets.begin)), to_numpy(std::move(sets.key)), to_numpy(std::move(made.at)),
                        to_numpy(std::move(made.place)));
}

}  // namespace

void bind_fluency(nb::module_& m) {
  m.def("ngram_sets", &ngram_sets, "views"_a, nb::kw_only(), "threads"_a,
        "Sentences as sets of n-grams: offsets, keys.");
  m.def("ngram_places", &ngram_places, "views"_a, "The same, and where each n-gram stands: offsets, keys, at, places.");
}

}  // namespace textmill::bind
