#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind/fst.h"
#include "fst/strings.h"

namespace textmill::bind {
namespace {

using fst::fail;

void check_labels(std::span<const std::int32_t> labels) {
  for (const std::int32_t label : labels)
    if (label < 0) fail("label ", label, " is below 0");
}

template <class S>
nb::tuple to_python(const S& k, const fst::PathString<typename S::Weight>& path) {
  const auto tuple = [](const std::vector<std::int32_t>& labels) {
    nb::list out;
    for (const std::int32_t label : labels) out.append(label);
    return nb::tuple(out);
  };
  return nb::make_tuple(tuple(path.ilabels), tuple(path.olabels), bind::to_python(k, path.weight));
}

// Outputs as flat arrays: per string where its paths begin, per path where its labels begin, labels, bytes of weights.
nb::tuple apply(const AnyMachine& machine, In<std::int64_t, 1> offsets, In<std::int32_t, 1> labels, std::size_t n,
                std::size_t threads) {
  check(machine);
  if (offsets.size() == 0 || offsets.data()[0] != 0) fail("offsets must begin with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets.data()[i] < offsets.data()[i - 1]) fail("offsets must not decrease");
  if (static_cast<std::size_t>(offsets.data()[offsets.size() - 1]) != labels.size())
    fail("offsets must end with ", labels.size());
  check_labels(view(labels));
  return std::visit(
      [&](auto held) {
        using S = typename std::decay_t<decltype(*held)>::Semiring;
        std::vector<std::vector<fst::PathString<typename S::Weight>>> found;
        if constexpr (std::same_as<S, Dynamic>) {
          found = fst::apply(std::as_const(*held), view(offsets), view(labels), n, 1);
        } else {
          nb::gil_scoped_release nogil;
          found = fst::apply(std::as_const(*held), view(offsets), view(labels), n, threads);
        }
        std::vector<std::int64_t> paths(1, 0), begins(1, 0);
        std::vector<std::int32_t> outputs;
        nb::list weights;
        for (const auto& row : found) {
          for (const auto& path : row) {
            outputs.insert(outputs.end(), path.olabels.begin(), path.olabels.end());
            begins.push_back(static_cast<std::int64_t>(outputs.size()));
            weights.append(bind::to_python(held->semiring(), path.weight));
          }
          paths.push_back(static_cast<std::int64_t>(begins.size() - 1));
        }
        return nb::make_tuple(to_numpy(std::move(paths)), to_numpy(std::move(begins)), to_numpy(std::move(outputs)),
                              weights);
      },
      machine.handle);
}

}  // namespace

void bind_fst_strings(nb::module_& m) {
  m.def(
      "linear",
      [](const AnySemiring& semiring, const std::vector<std::int32_t>& ilabels,
         const std::vector<std::int32_t>& olabels, nb::handle weight) {
        check_labels(ilabels);
        check_labels(olabels);
        return std::visit(
            [&](const auto& k) {
              return any(fst::linear(k, std::span<const std::int32_t>(ilabels), std::span<const std::int32_t>(olabels),
                                     weight.is_none() ? k.one() : to_weight(k, weight)));
            },
            semiring.object);
      },
      "semiring"_a, "ilabels"_a, "olabels"_a, "weight"_a.none());
  m.def("paths", [](const AnyMachine& machine, std::size_t most, std::size_t longest) {
    check(machine);
    return std::visit(
        [&](auto held) {  // by value: weights may run Python's code, which may change the machine
          nb::list out;
          for (const auto& path : fst::paths(std::as_const(*held), most, longest))
            out.append(to_python(held->semiring(), path));
          return out;
        },
        machine.handle);
  });
  m.def("apply", &apply, "machine"_a, "offsets"_a, "labels"_a, "n"_a, "threads"_a);
}

}  // namespace textmill::bind
