#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <string>

#include "bind/fst.h"
#include "bind/fst_options.h"
#include "fst/determinize.h"
#include "fst/disambiguate.h"
#include "fst/epsilons.h"
#include "fst/minimize.h"

namespace textmill::bind {
namespace {

using fst::fail;

// f(machine, encoder) of one semiring.
template <class F>
auto with_encoder(const AnyMachine& machine, const AnyEncoder& encoder, F f) {
  return with(machine, [&](const auto& x) {
    const auto held = encoder_of(encoder, x.semiring());
    const std::lock_guard lock(*encoder.turn);
    return f(x, *held);
  });
}

template <class F>
auto with_codes(const AnyEncoder& encoder, F f) {
  const std::lock_guard lock(*encoder.turn);
  return std::visit([&](const auto& held) { return f(*held); }, encoder.handle);
}

}  // namespace

fst::Outputs outputs_of(const std::string& name) {
  if (name == "functional") return fst::Outputs::functional;
  if (name == "nonfunctional") return fst::Outputs::nonfunctional;
  if (name == "disambiguate") return fst::Outputs::best;
  fail("det_type is functional, nonfunctional or disambiguate, not '", name, "'");
}

void bind_fst_optimize(nb::module_& m) {
  m.def("remove_epsilons", [](const AnyMachine& a, bool connect, const std::string& queue) {
    const fst::Queue kind = queue_of(queue);
    return with(a, [&](const auto& x) { return any(fst::remove_epsilons(x, connect, kind)); });
  });
  m.def(
      "determinize",
      [](const AnyMachine& machine, const std::string& outputs, double delta, nb::handle weight,
         std::size_t most_states, std::optional<std::size_t> kept_states, std::int64_t label, bool increment) {
        check(machine);
        if (!(delta > 0.0)) fail("delta must be above 0, got ", delta);
        fst::DeterminizeOptions options;
        options.outputs = outputs_of(outputs);
        options.delta = delta;
        options.most_states = most_states;
        options.kept_states = kept_states.value_or(fst::kMostStates);
        options.subsequential_label = check_label(label);
        options.increment_subsequential = increment;
        return std::visit(
            [&](auto held) {
              using S = typename std::decay_t<decltype(*held)>::Semiring;
              std::optional<typename S::Weight> worst;
              if (!weight.is_none()) worst = to_weight(held->semiring(), weight);
              if constexpr (std::same_as<S, Dynamic>) {
                return any(fst::determinize(std::as_const(*held), options, worst));
              } else {
                nb::gil_scoped_release nogil;
                return any(fst::determinize(std::as_const(*held), options, worst));
              }
            },
            machine.handle);
      },
      "machine"_a, nb::kw_only(), "outputs"_a, "delta"_a, "weight"_a.none(), "most_states"_a, "kept_states"_a.none(),
      "label"_a, "increment"_a);
  m.def("minimize", [](const AnyMachine& a, double delta, bool nondeterministic) {
    if (!(delta > 0.0)) fail("delta must be above 0, got ", delta);
    return with(a, [&](const auto& x) { return any(fst::minimize(x, delta, nondeterministic)); });
  });
  m.def("minimize_strings", [](const AnyMachine& a, double delta, bool nondeterministic) {
    if (!(delta > 0.0)) fail("delta must be above 0, got ", delta);
    return with(a, [&](const auto& x) {
      std::decay_t<decltype(x)> strings(x.semiring());
      AnyMachine made = any(fst::minimize(x, delta, nondeterministic, &strings));
      return std::make_pair(std::move(made), any(std::move(strings)));
    });
  });
  m.def("disambiguate", [](const AnyMachine& a, double delta, std::size_t most_states) {
    if (!(delta > 0.0)) fail("delta must be above 0, got ", delta);
    return with(a, [&](const auto& x) { return any(fst::disambiguate(x, delta, most_states)); });
  });
  nb::class_<AnyEncoder>(m, "Encoder", "Labels and weights of arcs as single labels.")
      .def("__init__",
           [](AnyEncoder* self, const AnySemiring& semiring, bool labels, bool weights) {
             new (self) AnyEncoder{std::visit(
                 [&](const auto& k) -> decltype(AnyEncoder::handle) {
                   return std::make_shared<fst::Encoder<std::decay_t<decltype(k)>>>(k, labels, weights);
                 },
                 semiring.object)};
           })
      .def("__len__", [](const AnyEncoder& e) { return with_codes(e, [](const auto& codes) { return codes.size(); }); })
      .def_prop_ro("flags",
                   [](const AnyEncoder& e) {
                     return std::visit(
                         [](const auto& held) { return std::make_tuple(held->labels(), held->weights()); }, e.handle);
                   })
      .def_prop_ro("semiring",
                   [](const AnyEncoder& e) {
                     return std::visit([](const auto& held) { return AnySemiring{All::Object(held->semiring())}; },
                                       e.handle);
                   })
      .def("codes",
           [](const AnyEncoder& e) {
             return with_codes(e, [](const auto& codes) {
               nb::list out;
               for (std::size_t i = 1; i <= codes.size(); ++i) {
                 const auto& code = codes[static_cast<std::int32_t>(i)];
                 out.append(nb::make_tuple(code.ilabel, code.olabel, to_python(codes.semiring(), code.weight)));
               }
               return out;
             });
           })
      .def(
          "add",
          [](AnyEncoder& e, std::int64_t ilabel, std::int64_t olabel, nb::handle weight) {
            return std::visit(
                [&](auto& held) {
                  const auto w = to_weight(held->semiring(), weight);
                  const std::lock_guard lock(*e.turn);
                  const auto one = [](std::int64_t label) { return label == -1 ? fst::kNoLabel : check_label(label); };
                  return held->of(one(ilabel), one(olabel), w);  // -1 twice: the code of a final weight
                },
                e.handle);
          },
          "ilabel"_a, "olabel"_a, "weight"_a.none());
  m.def("encode", [](const AnyMachine& a, AnyEncoder& encoder) {
    return with_encoder(a, encoder, [](const auto& x, auto& e) { return any(fst::encode(x, e)); });
  });
  m.def("decode", [](const AnyMachine& a, const AnyEncoder& encoder) {
    return with_encoder(a, encoder, [](const auto& x, auto& e) { return any(fst::decode(x, e)); });
  });
}

}  // namespace textmill::bind
