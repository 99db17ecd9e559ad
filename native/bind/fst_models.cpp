// Machines that are computed from models: n-grams in little memory, linear taggers and classifiers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/fst_lazy.h"
#include "fst/linear_model.h"
#include "fst/succinct_ngram.h"

namespace textmill::bind {
namespace {

using fst::fail;

template <class S>
inline constexpr bool is_cost = std::same_as<S, Tropical<float>> || std::same_as<S, Tropical<double>> ||
                                std::same_as<S, Log<float>> || std::same_as<S, Log<double>>;

using Words = In<std::uint64_t, 1>;
using Floats = In<float, 1>;

// The tree, and the arrays that it reads, until the last machine of it goes.
struct AnyNgrams {
  std::shared_ptr<const fst::NgramTree> tree;
};

AnyNgrams ngrams(std::int64_t states, std::int64_t entries, std::int64_t start, std::int64_t words, std::int64_t begin,
                 std::int64_t word_bits, std::int64_t cost_bits, const std::vector<Words>& bits,
                 const std::vector<Floats>& floats) {
  if (states < 0 || entries < 0 || word_bits < 0 || cost_bits < 0 || word_bits > 64 || cost_bits > 64 ||
      words > 0x7FFFFFFE || bits.size() != 5 || floats.size() != 3)
    fail("the sizes of the n-gram model are impossible");
  fst::SuccinctNgram data;
  data.states = static_cast<std::size_t>(states);
  data.entries = static_cast<std::size_t>(entries);
  data.start = check_label(start);
  data.words = check_label(words);
  data.begin = check_label(begin);
  data.word_bits = static_cast<unsigned>(word_bits);
  data.cost_bits = static_cast<unsigned>(cost_bits);
  data.word_data = view(bits[0]);
  data.degree_data = view(bits[1]);
  data.inner_data = view(bits[2]);
  data.ending_data = view(bits[3]);
  data.code_data = view(bits[4]);
  data.costs = view(floats[0]);
  data.back_offs = view(floats[1]);
  data.finals = view(floats[2]);
  struct Held {
    std::vector<Words> bits;
    std::vector<Floats> floats;
    std::optional<fst::NgramTree> tree;
  };
  std::shared_ptr<Held> held(new Held{bits, floats, {}}, [](Held* p) {
    const nb::gil_scoped_acquire gil;
    delete p;
  });
  {
    nb::gil_scoped_release nogil;
    held->tree.emplace(data);
  }
  return {std::shared_ptr<const fst::NgramTree>(held, &*held->tree)};
}

AnyLazy ngram_machine(const AnyNgrams& ngrams, const AnySemiring& semiring, bool phi, const Limit& limit) {
  return std::visit(
      [&](const auto& k) -> AnyLazy {
        using S = std::decay_t<decltype(k)>;
        if constexpr (is_cost<S>) {
          const std::int32_t label = phi ? ngrams.tree->data().words + 1 : 0;
          return {k, fst::lazy_ngram(fst::ring_of(k), ngrams.tree, label, bytes(limit)), false};
        } else {
          fail("an n-gram machine has costs: tropical, tropical64, log or log64, not ", std::string(k.name()));
        }
      },
      semiring.object);
}

struct AnyLinear {
  std::shared_ptr<fst::LinearModel> model;
};

// f(input) of the type of its costs
template <class F>
AnyLazy along(const AnyLazy& input, F f) {
  return typed(input, [&](const auto& k, const auto& pointer) -> AnyLazy {
    if constexpr (is_cost<std::decay_t<decltype(k)>>) {
      return {k, f(pointer), input.python};
    } else {
      fail("a linear model has costs: tropical, tropical64, log or log64, not ", std::string(k.name()));
    }
  });
}

}  // namespace

void bind_fst_models(nb::module_& m) {
  nb::class_<AnyNgrams>(m, "NgramTree", "A back-off model in bits.")
      .def_static("of", &ngrams, "states"_a, "entries"_a, "start"_a, "words"_a, "begin"_a, "word_bits"_a, "cost_bits"_a,
                  "bits"_a, "floats"_a)
      .def_prop_ro("memory", [](const AnyNgrams& a) { return a.tree->memory(); })
      .def("machine", &ngram_machine, "semiring"_a, "phi"_a, "limit"_a.none());
  nb::class_<AnyLinear>(m, "LinearModel", "Weights of features of words and tags.")
      .def_static(
          "of",
          [](std::int64_t columns, const In<std::int32_t, 1>& values, const In<std::int32_t, 1>& begin,
             const In<std::int32_t, 1>& end, const std::vector<std::int64_t>& tags) {
            const auto owned = [](const In<std::int32_t, 1>& given) {
              return std::vector<std::int32_t>(given.data(), given.data() + given.size());
            };
            std::vector<std::int32_t> labels;
            for (const std::int64_t label : tags) labels.push_back(check_label(label));
            if (columns < 1 || columns > 1 << 20) fail("words have 1 to 1,048,576 columns, not ", columns);
            return AnyLinear{std::make_shared<fst::LinearModel>(static_cast<std::int32_t>(columns), owned(values),
                                                                owned(begin), owned(end), std::move(labels))};
          })
      .def("add",
           [](AnyLinear& a, const std::vector<std::pair<std::int32_t, std::int32_t>>& slots, std::int32_t before,
              const In<std::int32_t, 2>& keys, const In<std::int32_t, 1>& tags, const In<double, 1>& weights) {
             if (before < 0 || before > 8) fail("a feature looks at 0 to 8 tags before, not ", before);
             for (const auto& [offset, column] : slots)
               if (offset < -1000 || offset > 1000) fail("offset ", offset, " is not within 1000 words");
             if (keys.shape(0) != tags.shape(0) || tags.shape(0) != weights.shape(0) ||
                 keys.shape(1) != slots.size() + static_cast<std::size_t>(before))
               fail("the columns of features have different lengths");
             if (a.model.use_count() > 1) fail("features are added before the model is used");
             a.model->add({slots, before}, view(keys), view(tags), view(weights));
           })
      .def(
          "tagger",
          [](const AnyLinear& a, const AnyLazy& input, const Limit& limit) {
            return along(input,
                         [&](const auto& pointer) { return fst::lazy_tagger(pointer, {a.model}, bytes(limit)); });
          },
          "input"_a, "limit"_a.none())
      .def(
          "classifier",
          [](const AnyLinear& a, const AnyLazy& input, const std::vector<double>& bias, const Limit& limit) {
            return along(input, [&](const auto& pointer) {
              return fst::lazy_classifier(pointer, {a.model}, bias, bytes(limit));
            });
          },
          "input"_a, "bias"_a, "limit"_a.none());
}

}  // namespace textmill::bind
