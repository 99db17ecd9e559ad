// Machines: states, arcs, properties, between Python and C++.
#include "bind/fst.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <thread>

#include "bind/bindings.h"
#include "fst/binary.h"
#include "fst/properties.h"

namespace textmill::bind {
namespace {

using fst::fail;

template <class M>
void check_state(const M& machine, std::int64_t s) {
  if (s < 0 || s >= machine.states())
    fail("state ", s, " is not one of the ", machine.states(), " states of the machine");
}

// The arcs of a state, or all of them, as bytes that Python gives their types; the array keeps the machine as it is.
nb::object arc_bytes(const AnyMachine& any, std::int64_t s) {
  check(any);
  return std::visit(
      [&](const auto& held) -> nb::object {
        using M = std::decay_t<decltype(*held)>;
        check_state(*held, s);
        const auto arcs = held->arcs(static_cast<std::int32_t>(s));
        auto* keep = new std::shared_ptr<M>(held);
        nb::capsule owner(keep, [](void* p) noexcept { delete static_cast<std::shared_ptr<M>*>(p); });
        return nb::cast(
            nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(arcs.data(), {arcs.size_bytes()}, owner));
      },
      any.handle);
}

// offsets [N+1], arcs without gaps as bytes, finals as bytes: copies.
nb::object machine_arrays(const AnyMachine& any) {
  return std::visit(
      [&](const auto& held) -> nb::object {
        using M = std::decay_t<decltype(*held)>;
        check(any);
        std::vector<std::int64_t> offsets(1, 0);
        std::vector<std::uint8_t> arcs(held->arcs() * sizeof(typename M::Arc)),
            finals(held->states() * sizeof(typename M::Weight));
        for (std::int32_t s = 0; s < held->states(); ++s) {
          const auto from = held->arcs(s);
          if (!from.empty())
            std::memcpy(arcs.data() + offsets.back() * sizeof(typename M::Arc), from.data(), from.size_bytes());
          std::memcpy(finals.data() + s * sizeof(typename M::Weight), &held->final(s), sizeof(typename M::Weight));
          offsets.push_back(offsets.back() + static_cast<std::int64_t>(from.size()));
        }
        return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(arcs)), to_numpy(std::move(finals)));
      },
      any.handle);
}

// A machine from columns; weights as components (float32, float64, int8, pairs of float64 side by side).
template <class S>
AnyMachine from_columns(const S& k, std::int64_t start, In<std::int32_t, 1> sources, In<std::int32_t, 1> ilabels,
                        In<std::int32_t, 1> olabels, std::optional<In<std::uint8_t, 1>> weights,
                        In<std::int32_t, 1> nextstates, In<std::int32_t, 1> final_states,
                        std::optional<In<std::uint8_t, 1>> final_weights, std::int64_t states) {
  using Weight = typename S::Weight;
  const std::size_t n = sources.size();
  if (ilabels.size() != n || olabels.size() != n || nextstates.size() != n ||
      (weights && weights->size() != n * sizeof(Weight)))
    fail("sources, ilabels, olabels, weights and nextstates must have the same length");
  if (final_weights && final_weights->size() != final_states.size() * sizeof(Weight))
    fail("final_states and final_weights must have the same length");
  if (states < 0 || states > static_cast<std::int64_t>(fst::kMostStates))
    fail("a machine has 0 to 2,147,483,647 states, not ", states);
  if (start < -1 || start >= states) fail("the start state is ", start, " of ", states);
  std::vector<typename Machine<S>::State> made(states, {k.zero(), 0, 0, 0, 0});
  const auto weight_at = [&](const std::optional<In<std::uint8_t, 1>>& bytes, std::size_t i) {
    Weight w = k.one();
    if (bytes) std::memcpy(&w, bytes->data() + i * sizeof(Weight), sizeof(Weight));
    if (!k.member(w))
      fail("weight ", i, " is not in the semiring ", std::string(k.name()),
           ": NaN and infinities that stand for nothing are not in it");
    return w;
  };
  for (std::size_t i = 0; i < final_states.size(); ++i) {
    const std::int32_t s = final_states.data()[i];
    if (s < 0 || s >= states) fail("final state ", s, " is not one of the ", states, " states");
    made[s].final = weight_at(final_weights, i);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t s = sources.data()[i], t = nextstates.data()[i];
    if (s < 0 || s >= states || t < 0 || t >= states)
      fail("arc ", i, " leads from state ", s, " to ", t, " of ", states);
    check_label(ilabels.data()[i]);
    check_label(olabels.data()[i]);
    ++made[s].narcs;
  }
  std::uint32_t pos = 0;
  std::vector<std::uint32_t> next(states);
  for (std::int64_t s = 0; s < states; ++s) {
    next[s] = made[s].pos = pos;
    pos += made[s].narcs;
  }
  std::vector<typename Machine<S>::Arc> arcs(n);
  for (std::size_t i = 0; i < n; ++i)
    arcs[next[sources.data()[i]]++] = {ilabels.data()[i], olabels.data()[i], weight_at(weights, i),
                                       nextstates.data()[i]};
  return any(Machine<S>::assembled(k, static_cast<std::int32_t>(start), std::move(made), std::move(arcs)));
}

}  // namespace

void check(const AnyMachine& any) {
  if (any.checked) return;
  std::visit(
      [](auto held) {  // by value, as in with()
        using S = typename std::decay_t<decltype(*held)>::Semiring;
        if constexpr (!std::same_as<S, Dynamic>) {
          nb::gil_scoped_release nogil;
          fst::check_mapped(*held, std::min(4u, std::max(1u, std::thread::hardware_concurrency())));
        }
      },
      any.handle);
  any.checked = true;
}

void bind_fst(nb::module_& m) {
  bind_fst_semirings(m);
  nb::class_<AnyMachine>(m, "Machine", "A weighted transducer.")
      .def("__init__",
           [](AnyMachine* self, const AnySemiring& semiring) {
             new (self) AnyMachine{std::visit(
                 [](const auto& k) -> All::Handle { return std::make_shared<Machine<std::decay_t<decltype(k)>>>(k); },
                 semiring.object)};
           })
      .def("copy", [](const AnyMachine& any) { return AnyMachine{any.handle, 0, any.checked}; })
      .def_prop_ro("version", [](const AnyMachine& any) { return any.version; })
      .def_prop_ro("semiring",
                   [](const AnyMachine& any) {
                     return std::visit([](const auto& held) { return AnySemiring{All::Object(held->semiring())}; },
                                       any.handle);
                   })
      .def_prop_ro(
          "states",
          [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->states(); }, any.handle); })
      .def_prop_ro(
          "arcs",
          [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->arcs(); }, any.handle); })
      .def_prop_ro(
          "start",
          [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->start(); }, any.handle); })
      .def_prop_ro("mapped",
                   [](const AnyMachine& any) {
                     return std::visit([](const auto& held) { return held->is_mapped(); }, any.handle);
                   })
      .def_prop_ro(
          "memory",
          [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->memory(); }, any.handle); })
      .def("set_start",
           [](AnyMachine& any, std::int64_t s) {
             change(any, [&](auto& machine) {
               if (s != -1) check_state(machine, s);
               machine.set_start(static_cast<std::int32_t>(s));
             });
           })
      .def("add_states",
           [](AnyMachine& any, std::int64_t n) {
             if (n < 0) fail("the number of states to add is ", n, ", below 0");
             return change(any, [&](auto& machine) {
               const std::int32_t first = machine.states();
               machine.add_states(static_cast<std::size_t>(n));
               return first;
             });
           })
      .def("final",
           [](const AnyMachine& any, std::int64_t s) {
             return std::visit(
                 [&](const auto& held) {
                   check_state(*held, s);
                   return to_python(held->semiring(), held->final(static_cast<std::int32_t>(s)));
                 },
                 any.handle);
           })
      .def(
          "set_final",
          [](AnyMachine& any, std::int64_t s, nb::handle weight) {
            change(any, weight, [&](auto& machine, const auto& w) {
              check_state(machine, s);
              machine.set_final(static_cast<std::int32_t>(s), w);
            });
          },
          "state"_a, "weight"_a.none())
      .def(
          "add_arc",
          [](AnyMachine& any, std::int64_t s, std::int64_t ilabel, std::int64_t olabel, nb::handle weight,
             std::int64_t next) {
            change(any, weight, [&](auto& machine, const auto& w) {
              check_state(machine, s);
              check_state(machine, next);
              machine.add_arc(static_cast<std::int32_t>(s),
                              {check_label(ilabel), check_label(olabel), w, static_cast<std::int32_t>(next)});
            });
          },
          "state"_a, "ilabel"_a, "olabel"_a, "weight"_a.none(), "nextstate"_a)
      .def("arc",
           [](const AnyMachine& any, std::int64_t s, std::int64_t i) {
             check(any);
             return std::visit(
                 [&](const auto& held) {
                   check_state(*held, s);
                   const auto arcs = held->arcs(static_cast<std::int32_t>(s));
                   if (i < 0 || static_cast<std::size_t>(i) >= arcs.size())
                     fail("state ", s, " has ", arcs.size(), " arcs, there is no arc ", i);
                   const auto& arc = arcs[i];
                   return nb::make_tuple(arc.ilabel, arc.olabel, to_python(held->semiring(), arc.weight),
                                         arc.nextstate);
                 },
                 any.handle);
           })
      .def(
          "set_arc",
          [](AnyMachine& any, std::int64_t s, std::int64_t i, std::int64_t ilabel, std::int64_t olabel,
             nb::handle weight, std::int64_t next) {
            change(any, weight, [&](auto& machine, const auto& w) {
              check_state(machine, s);
              check_state(machine, next);
              const auto arcs = machine.edit(static_cast<std::int32_t>(s));
              if (i < 0 || static_cast<std::size_t>(i) >= arcs.size())
                fail("state ", s, " has ", arcs.size(), " arcs, there is no arc ", i);
              arcs[i] = {check_label(ilabel), check_label(olabel), w, static_cast<std::int32_t>(next)};
              machine.recount(static_cast<std::int32_t>(s));
            });
          },
          "state"_a, "position"_a, "ilabel"_a, "olabel"_a, "weight"_a.none(), "nextstate"_a)
      .def("arc_list",
           [](const AnyMachine& any, std::int64_t s) {
             check(any);
             return std::visit(
                 [&](const auto& held) {
                   check_state(*held, s);
                   nb::list out;
                   for (const auto& arc : held->arcs(static_cast<std::int32_t>(s)))
                     out.append(nb::make_tuple(arc.ilabel, arc.olabel, to_python(held->semiring(), arc.weight),
                                               arc.nextstate));
                   return out;
                 },
                 any.handle);
           })
      .def("counts",
           [](const AnyMachine& any, std::int64_t s) {
             check(any);
             return std::visit(
                 [&](const auto& held) {
                   check_state(*held, s);
                   const auto& state = held->state(static_cast<std::int32_t>(s));
                   return std::make_tuple(state.narcs, state.niepsilons, state.noepsilons);
                 },
                 any.handle);
           })
      .def("arc_bytes", &arc_bytes)
      .def("arrays", &machine_arrays, "Offsets of states, bytes of arcs, bytes of final weights.")
      .def_prop_ro("arc_layout",
                   [](const AnyMachine& any) {
                     return std::visit(
                         [](const auto& held) {
                           using Arc = typename std::decay_t<decltype(*held)>::Arc;
                           return std::make_tuple(sizeof(Arc), offsetof(Arc, weight), offsetof(Arc, nextstate));
                         },
                         any.handle);
                   })
      .def_static(
          "from_columns",
          [](const AnySemiring& semiring, std::int64_t start, In<std::int32_t, 1> sources, In<std::int32_t, 1> ilabels,
             In<std::int32_t, 1> olabels, std::optional<In<std::uint8_t, 1>> weights, In<std::int32_t, 1> nextstates,
             In<std::int32_t, 1> final_states, std::optional<In<std::uint8_t, 1>> final_weights, std::int64_t states) {
            return std::visit(
                [&](const auto& k) {
                  if constexpr (std::same_as<std::decay_t<decltype(k)>, Dynamic>) {
                    if (weights || final_weights)
                      fail("weights of the semiring ", k.name(), " have no arrays; add the arcs one by one");
                  }
                  return from_columns(k, start, sources, ilabels, olabels, weights, nextstates, final_states,
                                      final_weights, states);
                },
                semiring.object);
          },
          "semiring"_a, "start"_a, "sources"_a, "ilabels"_a, "olabels"_a, "weights"_a.none(), "nextstates"_a,
          "final_states"_a, "final_weights"_a.none(), "states"_a)
      .def(
          "delete_arcs",
          [](AnyMachine& any, std::int64_t s, std::optional<std::int64_t> keep) {
            change(any, [&](auto& machine) {
              check_state(machine, s);
              const auto n = static_cast<std::int64_t>(machine.arcs(static_cast<std::int32_t>(s)).size());
              if (keep && (*keep < 0 || *keep > n)) fail("state ", s, " has ", n, " arcs, ", *keep, " cannot be kept");
              machine.truncate(static_cast<std::int32_t>(s), static_cast<std::size_t>(keep.value_or(0)));
            });
          },
          "state"_a, "keep"_a.none() = nb::none())
      .def("delete_states",
           [](AnyMachine& any, const std::vector<std::int64_t>& states) {
             change(any, [&](auto& machine) {
               std::vector<std::uint8_t> mask(machine.states(), 1);
               for (const std::int64_t s : states) {
                 check_state(machine, s);
                 mask[s] = 0;
               }
               machine.keep(mask);
             });
           })
      .def("clear", [](AnyMachine& any) { change(any, [](auto& machine) { machine.clear(); }); })
      .def("reserve", [](AnyMachine& any, std::uint32_t states,
                         std::uint32_t arcs) { change(any, [&](auto& machine) { machine.reserve(states, arcs); }); })
      .def(
          "properties",
          [](const AnyMachine& any, std::uint64_t mask, bool test) {
            return with(any, [&](const auto& machine) {
              return test ? fst::properties(machine, mask) : machine.known() & mask;
            });
          },
          "mask"_a, "test"_a);
  bind_fst_align(m);
  bind_fst_files(m);
  bind_fst_grammar(m);
  bind_fst_lazy(m);
  bind_fst_learning(m);
  bind_fst_models(m);
  bind_fst_operations(m);
  bind_fst_optimize(m);
  bind_fst_overlay(m);
  bind_fst_pushdown(m);
  bind_fst_strings(m);
  bind_fst_transform(m);
  bind_fst_traversal(m);
}

}  // namespace textmill::bind
