#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "bind/fst.h"
#include "fst/lexicon.h"
#include "fst/nearest.h"
#include "fst/properties.h"
#include "fst/rewrite.h"
#include "fst/scan.h"

namespace textmill::bind {
namespace {

using fst::fail;

std::pair<AnyMachine, fst::LabelClasses> rewrite(const AnyMachine& tau, const AnyMachine& left, const AnyMachine& right,
                                                 In<std::int32_t, 1> alphabet, const std::vector<std::int32_t>& bounds,
                                                 bool obligatory, bool simultaneous, std::size_t most_states) {
  require(bounds.size() == 2, "bounds are the labels of begin and end");
  const fst::RewriteOptions options{view(alphabet), bounds[0], bounds[1], obligatory, simultaneous, most_states};
  fst::LabelClasses classes;
  check(right);
  const All::Handle context = right.handle;
  AnyMachine rule = with(tau, left, [&](const auto& t, const auto& l) {
    const auto* r = std::get_if<std::shared_ptr<std::decay_t<decltype(t)>>>(&context);
    if (!r) fail("the contexts of a rule must have the semiring of the rule; convert them first");
    return any(fst::rewrite(t, l, **r, options, classes));
  });
  return {std::move(rule), std::move(classes)};
}

std::shared_ptr<Machine<Tropical<float>>> tropical(const AnyMachine& machine, const char* what) {
  check(machine);
  const auto* held = std::get_if<std::shared_ptr<Machine<Tropical<float>>>>(&machine.handle);
  if (!held) fail(what, " must have tropical weights; convert the machine first");
  return *held;
}

void check_ends(std::span<const std::int64_t> ends, std::size_t size, const char* what) {
  std::int64_t last = 0;
  for (const std::int64_t end : ends) {
    require(end >= last, "ends of ", what, " must not decrease");
    last = end;
  }
  require(static_cast<std::size_t>(last) == size, "ends of ", what, " must end with ", size, ", got ", last);
}

std::pair<AnyMachine, Numpy<std::int64_t, 1>> lexicon(nb::bytes text, In<std::int64_t, 1> ends, In<float, 1> weights,
                                                      bool utf8) {
  const std::span<const char> bytes(text.c_str(), text.size());
  check_ends(view(ends), bytes.size(), "words");
  require(weights.size() == 0 || weights.size() == ends.size(), "weights and words differ in number");
  for (const float weight : view(weights)) require(std::isfinite(weight), "weights of words must be finite");
  std::vector<std::int64_t> duplicates;
  std::unique_ptr<AnyMachine> machine;
  {
    nb::gil_scoped_release nogil;
    machine = std::make_unique<AnyMachine>(any(fst::lexicon(bytes, view(ends), view(weights), utf8, duplicates)));
  }
  return {std::move(*machine), to_numpy(std::move(duplicates))};
}

nb::tuple nearest(const AnyMachine& machine, In<std::int32_t, 1> labels, In<std::int64_t, 1> ends, int max_edits,
                  bool swaps, float edit_cost, std::size_t k, std::size_t threads) {
  const auto held = tropical(machine, "a lexicon to be searched");
  require(max_edits >= 0 && max_edits <= fst::kMostEdits, "max_edits is from 0 to ", fst::kMostEdits, ", got ",
          max_edits);
  require(k >= 1, "k is at least 1");
  check_ends(view(ends), labels.size(), "words");
  fst::NearestAnswers answers;
  {
    nb::gil_scoped_release nogil;
    answers = fst::nearest(*held, view(labels), view(ends), {max_edits, swaps, edit_cost, k, threads});
  }
  return nb::make_tuple(to_numpy(std::move(answers.counts)), to_numpy(std::move(answers.ends)),
                        to_numpy(std::move(answers.labels)), to_numpy(std::move(answers.edits)),
                        to_numpy(std::move(answers.costs)));
}

}  // namespace

void bind_fst_grammar(nb::module_& m) {
  m.def("rewrite", &rewrite, "tau"_a, "left"_a, "right"_a, "alphabet"_a, "bounds"_a, nb::kw_only(), "obligatory"_a,
        "simultaneous"_a, "most_states"_a);
  m.def("expand_classes", [](const AnyMachine& machine, const fst::LabelClasses& classes) {
    for (const auto& members : classes) require(!members.empty(), "a class of labels is empty");
    return with(machine, [&](const auto& x) { return any(fst::expand_classes(x, classes)); });
  });
  m.def("lexicon", &lexicon, "text"_a, "ends"_a, "weights"_a, nb::kw_only(), "utf8"_a,
        "The minimal acceptor of words, one after the other in valid UTF-8 if they are read as such.");
  m.def("nearest", &nearest, "lexicon"_a, "labels"_a, "ends"_a, nb::kw_only(), "max_edits"_a, "swaps"_a, "edit_cost"_a,
        "k"_a, "threads"_a);
  nb::class_<fst::Scanner>(m, "Scanner", "Rewrites stretches of texts by a transducer of bytes.")
      .def(
          "__init__",
          [](fst::Scanner* self, const AnyMachine& rules, const AnyMachine& inputs, std::size_t remembered) {
            new (self) fst::Scanner(tropical(rules, "rules"), *tropical(inputs, "inputs"), remembered);
          },
          "rules"_a, "inputs"_a, "remembered"_a)
      .def_prop_ro("states", &fst::Scanner::states)
      .def(
          "rewrite",
          [](fst::Scanner& self, nb::bytes text, std::size_t threads) {
            const std::string_view bytes(text.c_str(), text.size());
            fst::Rewritten result;
            {
              nb::gil_scoped_release nogil;
              result = self.rewrite(bytes, threads);
            }
            std::vector<std::int64_t> places;
            for (const auto& s : result.stretches)
              places.insert(places.end(), {s.begin, s.end, s.out_begin, s.out_end});
            return nb::make_tuple(nb::bytes(result.text.data(), result.text.size()), to_numpy(std::move(places)));
          },
          "text"_a, "threads"_a);
}

}  // namespace textmill::bind
