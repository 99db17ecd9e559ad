#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bind/fst.h"
#include "bind/fst_options.h"
#include "fst/chains.h"
#include "fst/compare.h"
#include "fst/factor.h"
#include "fst/gallic.h"
#include "fst/propagation.h"
#include "fst/sampling.h"
#include "fst/transform.h"

namespace textmill::bind {
namespace {

using fst::fail;

AnyMachine replace(const std::vector<std::pair<std::int64_t, AnyMachine*>>& machines,
                   const fst::ReplaceOptions& options) {
  if (machines.empty()) fail("there is no machine to begin with");
  for (const auto& [label, machine] : machines) {
    if (label <= 0) fail("label ", label, " cannot stand for a machine: such labels are above 0");
    check(*machine);
  }
  std::vector<std::pair<std::int32_t, All::Handle>> held;  // under the lock: nobody changes them from here on
  for (const auto& [label, machine] : machines) held.emplace_back(check_label(label), machine->handle);
  return with(*machines[0].second, [&](const auto& first) {
    using S = typename std::decay_t<decltype(first)>::Semiring;
    std::vector<std::pair<std::int32_t, const Machine<S>*>> all;
    for (const auto& [label, handle] : held) {
      const auto* same = std::get_if<std::shared_ptr<Machine<S>>>(&handle);
      bool fits = same != nullptr;
      if constexpr (std::same_as<S, Dynamic>) fits = fits && (*same)->semiring().algebra == first.semiring().algebra;
      if (!fits)
        fail("the machine of label ", label, " has another semiring than ", std::string(first.semiring().name()));
      all.emplace_back(label, same->get());
    }
    return any(fst::replace(all, options));
  });
}

AnyMachine convert(const AnyMachine& machine, const AnySemiring& semiring) {
  return with(machine, [&](const auto& x) {
    using From = typename std::decay_t<decltype(x)>::Semiring;
    return std::visit(
        [&](const auto& to) -> AnyMachine {
          using To = std::decay_t<decltype(to)>;
          if constexpr (std::same_as<From, Dynamic> || std::same_as<To, Dynamic>) {
            fail("weights of ", std::string(x.semiring().name()), " have no known image in ", std::string(to.name()),
                 "; pass a function");
          } else {
            return any(fst::convert(x, to));
          }
        },
        semiring.object);
  });
}

template <class S>
void try_from_gallic(const Machine<Dynamic>& machine, const fst::GallicAlgebra& gallic,
                     std::optional<AnyMachine>& made) {
  if (!made && fst::GallicWeights<S>::fit(gallic)) made = any(fst::from_gallic<S>(machine));
}

AnyMachine from_gallic(const AnyMachine& machine) {
  const auto* held = std::get_if<std::shared_ptr<Machine<Dynamic>>>(&machine.handle);
  if (!held) fail("the weights are not gallic: there are no outputs in them");
  const std::shared_ptr<Machine<Dynamic>> kept = *held;
  const auto gallic = gallic_of({kept->semiring()});
  std::optional<AnyMachine> made;
#define X(S) try_from_gallic<S>(*kept, *gallic, made);
  TEXTMILL_FST_SEMIRINGS(X)  // that of all others last
#undef X
  return std::move(*made);
}

AnyMachine factor_weights(const AnyMachine& machine, bool arcs, bool finals, std::size_t most_states) {
  const auto* held = std::get_if<std::shared_ptr<Machine<Dynamic>>>(&machine.handle);
  if (!held) return {machine.handle, 0, machine.checked};  // numbers cannot be cut
  const std::shared_ptr<Machine<Dynamic>> kept = *held;
  return any(fst::factor_weights(*kept, arcs, finals, most_states));
}

}  // namespace

fst::CallLabels call_labels(const std::string& name) {
  const std::pair<const char*, fst::CallLabels> kinds[] = {{"neither", fst::CallLabels::neither},
                                                           {"input", fst::CallLabels::input},
                                                           {"output", fst::CallLabels::output},
                                                           {"both", fst::CallLabels::both}};
  for (const auto& [key, kind] : kinds)
    if (name == key) return kind;
  fail("labels of calls are 'neither', 'input', 'output' or 'both', not '", name, "'");
}

std::shared_ptr<fst::GallicAlgebra> gallic_of(const AnySemiring& semiring) {
  const auto* dynamic = std::get_if<Dynamic>(&semiring.object);
  auto gallic = dynamic ? std::dynamic_pointer_cast<fst::GallicAlgebra>(dynamic->algebra) : nullptr;
  if (!gallic) fail("the semiring is not gallic; take gallic(A), gallic_left(A), ... over that of the machine");
  return gallic;
}

fst::WeightMap weight_map_of(const std::string& name) {
  const std::pair<const char*, fst::WeightMap> kinds[] = {
      {"invert", fst::WeightMap::invert},  {"plus", fst::WeightMap::plus},         {"times", fst::WeightMap::times},
      {"power", fst::WeightMap::power},    {"quantize", fst::WeightMap::quantize}, {"rmweight", fst::WeightMap::remove},
      {"reverse", fst::WeightMap::reverse}};
  for (const auto& [key, kind] : kinds)
    if (name == key) return kind;
  fail("no map of weights is called '", name, "'");
}

fst::ArcMap arc_map_of(const std::string& name) {
  const std::pair<const char*, fst::ArcMap> kinds[] = {{"superfinal", fst::ArcMap::superfinal},
                                                       {"input_epsilon", fst::ArcMap::input_epsilon},
                                                       {"output_epsilon", fst::ArcMap::output_epsilon},
                                                       {"arc_sum", fst::ArcMap::arc_sum},
                                                       {"arc_unique", fst::ArcMap::arc_unique}};
  for (const auto& [key, kind] : kinds)
    if (name == key) return kind;
  fail("no map of arcs is called '", name, "'");
}

void bind_fst_transform(nb::module_& m) {
  m.def("equal", [](const AnyMachine& a, const AnyMachine& b, double delta) {
    return with(a, b, [&](const auto& x, const auto& y) { return fst::equal(x, y, delta); });
  });
  m.def("isomorphic", [](const AnyMachine& a, const AnyMachine& b, double delta) {
    return with(a, b, [&](const auto& x, const auto& y) { return fst::isomorphic(x, y, delta); });
  });
  m.def("equivalent", [](const AnyMachine& a, const AnyMachine& b, double delta) {
    return with(a, b, [&](const auto& x, const auto& y) { return fst::equivalent(x, y, delta); });
  });
  m.def(
      "random_paths",
      [](const AnyMachine& a, std::size_t paths, std::size_t longest, std::uint64_t seed, bool by_weight,
         bool weighted) {
        return with(
            a, [&](const auto& x) { return any(fst::random_paths(x, {paths, longest, seed, by_weight, weighted})); });
      },
      "machine"_a, nb::kw_only(), "paths"_a, "longest"_a, "seed"_a, "by_weight"_a, "weighted"_a);
  m.def(
      "replace",
      [](const std::vector<std::pair<std::int64_t, AnyMachine*>>& machines, std::int64_t root, const std::string& call,
         const std::string& back, std::int64_t label, std::size_t most) {
        return replace(machines, {check_label(root), call_labels(call), call_labels(back), check_label(label), most});
      },
      "machines"_a, nb::kw_only(), "root"_a, "call"_a, "back"_a, "return_label"_a, "most_states"_a);
  m.def("synchronize",
        [](const AnyMachine& a) { return with(a, [](const auto& x) { return any(fst::synchronize(x)); }); });
  m.def("normalize_epsilons", [](const AnyMachine& a, bool output) {
    return with(a, [&](const auto& x) { return any(fst::normalize_epsilons(x, output)); });
  });
  m.def(
      "map_weights",
      [](const AnyMachine& a, const std::string& kind, nb::handle weight, double number) {
        const fst::WeightMap map = weight_map_of(kind);
        check(a);
        return std::visit(
            [&](auto held) {
              const auto& k = held->semiring();
              const auto w = weight.is_none() ? k.one() : to_weight(k, weight);
              auto made = fst::map_weights(std::as_const(*held), map, w, number);
              made.know(
                  fst::reweighted(held->known()) |
                  (map == fst::WeightMap::remove ? fst::property::unweighted | fst::property::unweighted_cycles : 0));
              return any(std::move(made));
            },
            a.handle);
      },
      "machine"_a, "kind"_a, "weight"_a.none(), "number"_a);
  m.def("map_arcs", [](const AnyMachine& a, const std::string& kind) {
    const fst::ArcMap map = arc_map_of(kind);
    return with(a, [map](const auto& x) { return any(fst::map_arcs(x, map)); });
  });
  m.def("convert", &convert);
  m.def("to_gallic", [](const AnyMachine& machine, const AnySemiring& semiring) {
    check(machine);
    const auto gallic = gallic_of(semiring);  // algebras are used under the interpreter's lock
    return std::visit([&](const auto& held) { return any(fst::to_gallic(std::as_const(*held), gallic)); },
                      machine.handle);
  });
  m.def("from_gallic", &from_gallic);
  m.def("factor_weights", &factor_weights, "machine"_a, "arcs"_a, "finals"_a, "most_states"_a);
  m.def("factor_chains", [](const AnyMachine& machine) {
    return with(machine, [](const auto& x) {
      auto both = fst::factor_chains(x);
      return std::pair(any(std::move(both.chains)), any(std::move(both.factored)));
    });
  });
}

}  // namespace textmill::bind
