// Changes that lie beside a machine.
#include <nanobind/stl/string.h>

#include "bind/fst_lazy.h"
#include "fst/overlay.h"

namespace textmill::bind {
namespace {

using fst::Edits;
using fst::fail;

template <class, class... W>
using Pointers = std::variant<std::shared_ptr<Edits<W>>...>;
#define X(W) , W
using EditsHandle = Pointers<void TEXTMILL_FST_WEIGHTS(X)>;
#undef X

// Lazy machines share the edits until somebody changes them again.
struct AnyEdits {
  All::Object semiring;
  EditsHandle handle;
};

AnyEdits begun(const AnyMachine& machine) {
  check(machine);
  return std::visit(
      [](auto held) -> AnyEdits {
        using W = typename std::decay_t<decltype(*held)>::Weight;
        std::shared_ptr<const fst::Automaton<W>> bare(held, &held->bare());
        return {held->semiring(), std::make_shared<Edits<W>>(std::move(bare))};
      },
      machine.handle);
}

// f(semiring, edits)
template <class F>
auto typed(const AnyEdits& any, F f) {
  return std::visit(
      [&](const auto& k) {
        using W = typename std::decay_t<decltype(k)>::Weight;
        return f(k, *std::get<std::shared_ptr<Edits<W>>>(any.handle));
      },
      any.semiring);
}

// The same for edits that are about to change: a copy if somebody reads them.
template <class F>
void change(AnyEdits& any, F f) {
  std::visit(
      [&](const auto& k) {
        using W = typename std::decay_t<decltype(k)>::Weight;
        auto& held = std::get<std::shared_ptr<Edits<W>>>(any.handle);
        if (held.use_count() > 1) held = std::make_shared<Edits<W>>(*held);
        f(k, *held);
      },
      any.semiring);
}

template <class E>
std::int32_t state_in(const E& edits, std::int64_t s) {
  if (s < 0 || s >= edits.states()) fail("state ", s, " is not one of ", edits.states());
  return static_cast<std::int32_t>(s);
}

template <class S>
typename S::Weight weight_or_one(const S& k, nb::handle weight) {
  return weight.is_none() ? k.one() : to_weight(k, weight);
}

}  // namespace

void bind_fst_overlay(nb::module_& m) {
  nb::class_<AnyEdits>(m, "Edits", "Changes that lie beside a machine.")
      .def_static("of", &begun)
      .def_prop_ro("start", [](const AnyEdits& a) { return typed(a, [](auto&, auto& e) { return e.start(); }); })
      .def_prop_ro("states", [](const AnyEdits& a) { return typed(a, [](auto&, auto& e) { return e.states(); }); })
      .def_prop_ro("arcs", [](const AnyEdits& a) { return typed(a, [](auto&, auto& e) { return e.arcs(); }); })
      .def_prop_ro("changed", [](const AnyEdits& a) { return typed(a, [](auto&, auto& e) { return e.changed(); }); })
      .def_prop_ro("memory", [](const AnyEdits& a) { return typed(a, [](auto&, auto& e) { return e.memory(); }); })
      .def("final",
           [](const AnyEdits& a, std::int64_t s) {
             return typed(a, [&](auto& k, auto& e) { return to_python(k, e.final(state_in(e, s))); });
           })
      .def("arc_list",
           [](const AnyEdits& a, std::int64_t s) {
             return typed(a, [&](auto& k, auto& e) {
               nb::list out;
               for (const auto& arc : e.arcs(state_in(e, s)))
                 out.append(nb::make_tuple(arc.ilabel, arc.olabel, to_python(k, arc.weight), arc.nextstate));
               return out;
             });
           })
      .def("set_start",
           [](AnyEdits& a, std::int64_t s) { change(a, [&](auto&, auto& e) { e.set_start(state_in(e, s)); }); })
      .def("add_state",
           [](AnyEdits& a) {
             std::int32_t made = 0;
             change(a, [&](auto&, auto& e) { made = e.add_state(); });
             return made;
           })
      .def(
          "set_final",
          [](AnyEdits& a, std::int64_t s, nb::handle weight) {
            change(a, [&](auto& k, auto& e) {
              const auto w = weight_or_one(k, weight);
              e.set_final(state_in(e, s), w);
            });
          },
          "state"_a, "weight"_a.none())
      .def(
          "add_arc",
          [](AnyEdits& a, std::int64_t s, std::int64_t ilabel, std::int64_t olabel, nb::handle weight,
             std::int64_t next) {
            change(a, [&](auto& k, auto& e) {
              const auto w = weight_or_one(k, weight);
              const std::int32_t from = state_in(e, s), to = state_in(e, next);
              e.add_arc(from, {check_label(ilabel), check_label(olabel), w, to});
            });
          },
          "state"_a, "ilabel"_a, "olabel"_a, "weight"_a.none(), "nextstate"_a)
      .def(
          "set_arc",
          [](AnyEdits& a, std::int64_t s, std::int64_t position, std::int64_t ilabel, std::int64_t olabel,
             nb::handle weight, std::int64_t next) {
            change(a, [&](auto& k, auto& e) {
              const auto w = weight_or_one(k, weight);
              const std::int32_t from = state_in(e, s), to = state_in(e, next);
              const auto has = static_cast<std::int64_t>(e.arcs(from).size());
              if (position < 0 || position >= has) fail("state ", s, " has ", has, " arcs and none at ", position);
              e.set_arc(from, static_cast<std::size_t>(position), {check_label(ilabel), check_label(olabel), w, to});
            });
          },
          "state"_a, "position"_a, "ilabel"_a, "olabel"_a, "weight"_a.none(), "nextstate"_a)
      .def("delete_arcs",
           [](AnyEdits& a, std::int64_t s, std::int64_t keep) {
             change(a, [&](auto&, auto& e) {
               const std::int32_t state = state_in(e, s);
               const auto has = static_cast<std::int64_t>(e.arcs(state).size());
               if (keep < 0 || keep > has) fail("state ", s, " has ", has, " arcs, ", keep, " cannot be kept");
               e.truncate(state, static_cast<std::size_t>(keep));
             });
           })
      .def("lazy",
           [](const AnyEdits& a) {
             return std::visit(
                 [&](const auto& k) -> AnyLazy {
                   using S = std::decay_t<decltype(k)>;
                   using W = typename S::Weight;
                   std::shared_ptr<const Edits<W>> held = std::get<std::shared_ptr<Edits<W>>>(a.handle);
                   const bool python = std::same_as<S, Dynamic>;
                   return {k, guarded(python, [&] { return LazyHandle(fst::lazy_edited(fst::ring_of(k), held)); }),
                           python};
                 },
                 a.semiring);
           })
      .def("merged", [](const AnyEdits& a) {
        return std::visit(
            [&](const auto& k) {
              using S = std::decay_t<decltype(k)>;
              using W = typename S::Weight;
              const auto held = std::get<std::shared_ptr<Edits<W>>>(a.handle);
              return guarded(std::same_as<S, Dynamic>, [&] { return any(Machine<S>(k, held->merged())); });
            },
            a.semiring);
      });
}

}  // namespace textmill::bind
