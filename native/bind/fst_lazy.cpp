// Lazy operations, and machines that Python defines.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <string>

#include "bind/fst_lazy.h"
#include "bind/fst_options.h"
#include "fst/gallic.h"
#include "fst/lazy_compose.h"
#include "fst/lazy_map.h"
#include "fst/lazy_paths.h"
#include "fst/lazy_transform.h"

namespace textmill::bind {
namespace {

using fst::fail;
using Given = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::vector<std::pair<std::int32_t, std::int32_t>> label_pairs(const Given& given) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (const auto& [old, made] : given) pairs.emplace_back(check_label(old), check_label(made));
  return pairs;
}

AnyLazy whole(const AnyMachine& machine) {
  check(machine);
  return std::visit(
      [](auto held) -> AnyLazy {
        using S = typename std::decay_t<decltype(*held)>::Semiring;
        using W = typename S::Weight;
        const S k = held->semiring();
        std::shared_ptr<const fst::Automaton<W>> bare(held, &held->bare());
        return {k, LazyPointer<W>(std::make_shared<fst::Leaf<W>>(fst::ring_of(k), std::move(bare))),
                std::same_as<S, Dynamic>};
      },
      machine.handle);
}

// A machine by the methods start(), final(state) and arcs(state) of a Python object; states are hashable objects.
template <class S>
class Defined final : public fst::Cached<typename S::Weight> {
 public:
  using W = typename S::Weight;
  Defined(const S& k, nb::object definition, std::size_t limit)
      : fst::Cached<W>(fst::ring_of(k), limit), k_(k), definition_(std::move(definition)) {}
  ~Defined() override {
    const nb::gil_scoped_acquire gil;
    definition_.reset();
    states_.clear();
    numbers_.reset();
  }

 protected:
  std::int32_t compute_start() override {
    const nb::gil_scoped_acquire gil;
    const nb::object start = definition_.attr("start")();
    return start.is_none() ? fst::kNoState : number(start);
  }
  std::int32_t count() override { return static_cast<std::int32_t>(states_.size()); }
  void compute(std::int32_t q, fst::Assembly<W>& out) override {
    const nb::gil_scoped_acquire gil;
    const nb::object state = states_[q];
    const nb::object final = definition_.attr("final")(state);
    out.open(final.is_none() ? k_.zero() : to_weight(k_, final));
    for (const nb::handle arc : definition_.attr("arcs")(state)) {
      std::tuple<std::int64_t, std::int64_t, nb::object, nb::object> fields;
      if (!nb::try_cast(arc, fields))
        fail("an arc of the lazy machine is ", nb::cast<std::string>(nb::repr(arc)),
             ", not (input label, output label, weight, next state)");
      const auto& [ilabel, olabel, weight, next] = fields;
      out.push({check_label(ilabel), check_label(olabel), weight.is_none() ? k_.one() : to_weight(k_, weight),
                number(next)});
    }
  }

 private:
  std::int32_t number(const nb::object& state) {
    if (numbers_.contains(state)) return nb::cast<std::int32_t>(numbers_[state]);
    if (states_.size() >= fst::kMostStates) fail("the lazy machine has more than 2,147,483,647 states");
    const auto made = static_cast<std::int32_t>(states_.size());
    numbers_[state] = made;
    states_.push_back(state);
    return made;
  }
  S k_;
  nb::object definition_;
  std::vector<nb::object> states_;
  nb::dict numbers_;
};

AnyLazy defined(const AnySemiring& semiring, nb::object definition, const Limit& limit) {
  return std::visit(
      [&](const auto& k) -> AnyLazy {
        using S = std::decay_t<decltype(k)>;
        return {k, LazyPointer<typename S::Weight>(std::make_shared<Defined<S>>(k, definition, bytes(limit))), true};
      },
      semiring.object);
}

template <class W>
void check_state(Lazy<W>& lazy, std::int64_t s) {
  lazy.start();  // which has a number from then on
  if (s < 0 || s >= lazy.known())
    fail("state ", s, " is not one of the ", lazy.known(),
         " that are known; ask for the start and follow the arcs from there");
}

nb::tuple facts_of(const fst::CacheFacts& facts) {
  return nb::make_tuple(facts.states, facts.computed, facts.hits, facts.dropped, facts.cached, facts.bytes,
                        facts.most_bytes);
}

// f(machine of one state) for each state, in the same semiring: see lazy_map.h.
template <class F>
AnyLazy mapped(const AnyLazy& a, const Limit& limit, F f) {
  return typed(a, [&](const auto& k, const auto& pointer) -> AnyLazy {
    using S = std::decay_t<decltype(k)>;
    using W = typename S::Weight;
    const auto g = f(k);
    return {k,
            fst::lazy_map<W>(
                pointer->ring_pointer(), pointer,
                [k, g](const fst::Automaton<W>& window) -> fst::Automaton<W> {
                  return std::move(g(Machine<S>(k, fst::Automaton<W>(window))));
                },
                bytes(limit)),
            a.python};
  });
}

AnyLazy map_weights(const AnyLazy& a, const std::string& kind, nb::handle weight, double number, const Limit& limit) {
  const fst::WeightMap map = weight_map_of(kind);
  if (map == fst::WeightMap::reverse) fail("a lazy machine cannot change its semiring by 'reverse'; expand() it first");
  return mapped(a, limit, [&](const auto& k) {
    const auto w = weight.is_none() ? k.one() : to_weight(k, weight);
    return [map, w, number](const auto& window) { return fst::map_weights(window, map, w, number); };
  });
}

AnyLazy convert(const AnyLazy& a, const AnySemiring& semiring, const Limit& limit) {
  return typed(a, [&](const auto& from, const auto& pointer) {
    using From = std::decay_t<decltype(from)>;
    return std::visit(
        [&](const auto& to) -> AnyLazy {
          using To = std::decay_t<decltype(to)>;
          if constexpr (std::same_as<From, Dynamic> || std::same_as<To, Dynamic>) {
            fail("weights of ", std::string(from.name()), " have no known image in ", std::string(to.name()),
                 "; pass a function");
          } else {
            using V = typename To::Weight;
            const auto f = [from, to](const fst::Automaton<typename From::Weight>& window) -> fst::Automaton<V> {
              return fst::convert(Machine<From>(from, fst::Automaton<typename From::Weight>(window)), to);
            };
            return {to, fst::lazy_map<V>(fst::ring_of(to), pointer, f, bytes(limit)), a.python};
          }
        },
        semiring.object);
  });
}

AnyLazy to_gallic(const AnyLazy& a, const AnySemiring& semiring, const Limit& limit) {
  const auto gallic = gallic_of(semiring);
  return typed(a, [&](const auto& k, const auto& pointer) -> AnyLazy {
    using S = std::decay_t<decltype(k)>;
    const Dynamic to{gallic};
    const auto f = [k, gallic](const fst::Automaton<typename S::Weight>& window) -> fst::Automaton<Dynamic::Weight> {
      return fst::to_gallic(Machine<S>(k, fst::Automaton<typename S::Weight>(window)), gallic);
    };
    return {to, fst::lazy_map<Dynamic::Weight>(fst::ring_of(to), pointer, f, bytes(limit)), true};
  });
}

AnyLazy encode(const AnyLazy& a, const AnyEncoder& encoder, const Limit& limit) {
  return mapped(a, limit, [&](const auto& k) {
    return [codes = encoder_of(encoder, k), turn = encoder.turn](const auto& window) {
      const std::lock_guard lock(*turn);
      return fst::encode(window, *codes);
    };
  });
}

AnyLazy decode(const AnyLazy& a, const AnyEncoder& encoder, const Limit& limit) {
  return typed(a, [&](const auto& k, const auto& pointer) -> AnyLazy {
    using W = typename std::decay_t<decltype(k)>::Weight;
    std::shared_ptr<const fst::Codes<W>> codes = encoder_of(encoder, k);
    return {k, fst::lazy_decode(pointer, std::move(codes), encoder.turn, bytes(limit)), a.python};
  });
}

AnyLazy factor_weights(const AnyLazy& a, bool arcs, bool finals, std::size_t longest, const Limit& limit) {
  const auto* dynamic = std::get_if<Dynamic>(&a.semiring);
  if (!dynamic) return a;  // numbers cannot be cut
  return {*dynamic,
          fst::lazy_factor_weights(std::get<LazyPointer<Dynamic::Weight>>(a.handle), *dynamic, arcs, finals, longest,
                                   bytes(limit)),
          true};
}

AnyLazy replace(const std::vector<std::pair<std::int64_t, const AnyLazy*>>& machines,
                const fst::ReplaceOptions& options, const Limit& limit) {
  std::vector<const AnyLazy*> parts;
  for (const auto& [label, machine] : machines) {
    if (label <= 0) fail("label ", label, " cannot stand for a machine: such labels are above 0");
    check_label(label);
    parts.push_back(machine);
  }
  return joined(parts, [&](auto& pointers) {
    using P = typename std::decay_t<decltype(pointers)>::value_type;
    std::vector<std::pair<std::int32_t, P>> labeled;
    for (std::size_t i = 0; i < pointers.size(); ++i)
      labeled.emplace_back(static_cast<std::int32_t>(machines[i].first), pointers[i]);
    return fst::lazy_replace(std::move(labeled), options, bytes(limit));
  });
}

fst::LookAhead look_ahead_of(const std::string& name) {
  if (name == "none") return fst::LookAhead::none;
  if (name == "arc") return fst::LookAhead::arc;
  if (name == "output") return fst::LookAhead::output;
  if (name == "input") return fst::LookAhead::input;
  fail("look_ahead is none, arc, output or input, not '", name, "'");
}

AnyLazy compose(const AnyLazy& a, const AnyLazy& b, const std::string& filter, const SpecialLabels& left,
                const SpecialLabels& right, bool phi_finals, bool phi_loop, const std::string& rewrite,
                const std::string& matcher, const std::string& look_ahead, bool push_weights, bool push_labels,
                bool left_stays, bool right_stays, const std::vector<std::int64_t>& left_epsilons,
                const std::vector<std::int64_t>& right_epsilons, const Limit& limit) {
  fst::LazyComposeOptions options;
  static_cast<fst::ComposeOptions&>(options) =
      compose_options(filter, false, left, right, phi_finals, phi_loop, rewrite, matcher);
  options.look_ahead = look_ahead_of(look_ahead);
  const bool labels = options.look_ahead == fst::LookAhead::output || options.look_ahead == fst::LookAhead::input;
  if (labels && filter == "auto") options.filter = fst::Filter::alt_sequence;
  options.push_weights = push_weights;
  options.push_labels = push_labels;
  options.left_stays = left_stays;
  options.right_stays = right_stays;
  for (const std::int64_t label : left_epsilons) options.epsilons[0].push_back(check_label(label));
  for (const std::int64_t label : right_epsilons) options.epsilons[1].push_back(check_label(label));
  return joined({&a, &b},
                [&](auto& pointers) { return fst::lazy_compose(pointers[0], pointers[1], options, bytes(limit)); });
}

AnyLazy difference(const AnyLazy& a, const AnyLazy& b, const std::string& filter, const Limit& limit) {
  fst::LazyComposeOptions options;
  static_cast<fst::ComposeOptions&>(options) =
      compose_options(filter, false, {-1, -1, -1}, {-1, -1, -1}, true, false, "always", "auto");
  options.right.rho = fst::kRest;
  return joined({&a, &b}, [&](auto& pointers) {
    auto sorted = pointers[1]->sorted(false) ? pointers[1] : fst::lazy_sort(pointers[1], false, bytes(limit));
    return fst::lazy_compose(pointers[0], fst::lazy_complement(sorted, bytes(limit)), options, bytes(limit));
  });
}

}  // namespace

void bind_fst_lazy(nb::module_& m) {
  nb::class_<AnyLazy>(m, "LazyMachine", "A transducer whose states are computed when they are asked for.")
      .def_static("whole", &whole)
      .def_static("defined", &defined, "semiring"_a, "definition"_a, "limit"_a.none())
      .def_prop_ro("semiring", [](const AnyLazy& a) { return AnySemiring{a.semiring}; })
      .def_prop_ro("start",
                   [](const AnyLazy& a) {
                     return typed(a,
                                  [&](const auto&, auto p) { return guarded(a.python, [&] { return p->start(); }); });
                   })
      .def_prop_ro("known",
                   [](const AnyLazy& a) {
                     return typed(a,
                                  [&](const auto&, auto p) { return guarded(a.python, [&] { return p->known(); }); });
                   })
      .def("final",
           [](const AnyLazy& a, std::int64_t s) {
             return typed(a, [&](const auto& k, auto p) {
               return to_python(k, guarded(a.python, [&] {
                                  check_state(*p, s);
                                  return p->final(static_cast<std::int32_t>(s));
                                }));
             });
           })
      .def("arc_list",
           [](const AnyLazy& a, std::int64_t s) {
             return typed(a, [&](const auto& k, auto p) {
               const auto state = guarded(a.python, [&] {
                 check_state(*p, s);
                 return p->state(static_cast<std::int32_t>(s));
               });
               nb::list out;
               for (const auto& arc : state)
                 out.append(nb::make_tuple(arc.ilabel, arc.olabel, to_python(k, arc.weight), arc.nextstate));
               return out;
             });
           })
      .def("facts",
           [](const AnyLazy& a) {
             return typed(a,
                          [&](const auto&, auto p) { return facts_of(guarded(a.python, [&] { return p->facts(); })); });
           })
      .def("expand",
           [](const AnyLazy& a, std::size_t most) {
             return typed(a, [&](const auto& k, auto p) {
               return guarded(a.python, [&] {
                 Machine<std::decay_t<decltype(k)>> made(k, fst::expand(*p, most));
                 return any(std::move(made));
               });
             });
           })
      .def("probe",
           [](const AnyLazy& a, std::size_t most) {
             return typed(a, [&](const auto&, auto p) {
               const fst::Probe found = guarded(a.python, [&] { return fst::probe(*p, most); });
               return std::make_tuple(found.expanded, found.met, found.arcs);
             });
           })
      .def("best_paths", [](const AnyLazy& a, std::size_t n, std::size_t most) {
        return typed(a, [&](const auto& k, auto p) {
          fst::LazyPathFacts facts;
          AnyMachine made = guarded(a.python, [&] { return any(fst::lazy_best_paths(*p, k, {n, most}, facts)); });
          return std::make_pair(std::move(made), facts.expanded);
        });
      });
  m.def("lazy_unite", [](const std::vector<const AnyLazy*>& parts, const Limit& limit) {
    return joined(parts, [&](auto& pointers) { return fst::lazy_unite(pointers, bytes(limit)); });
  });
  m.def("lazy_concatenate", [](const std::vector<const AnyLazy*>& parts, const Limit& limit) {
    return joined(parts, [&](auto& pointers) { return fst::lazy_concatenate(pointers, bytes(limit)); });
  });
  m.def("lazy_close", [](const AnyLazy& a, bool star, const Limit& limit) {
    return changed(a, [&](auto& p) { return fst::lazy_close(p, star, bytes(limit)); });
  });
  m.def("lazy_invert", [](const AnyLazy& a, const Limit& limit) {
    return changed(a, [&](auto& p) { return fst::lazy_invert(p, bytes(limit)); });
  });
  m.def("lazy_project", [](const AnyLazy& a, bool output, const Limit& limit) {
    return changed(a, [&](auto& p) { return fst::lazy_project(p, output, bytes(limit)); });
  });
  m.def("lazy_relabel", [](const AnyLazy& a, const Given& input, const Given& output, const Limit& limit) {
    const auto in = label_pairs(input), out = label_pairs(output);
    return changed(a, [&](auto& p) -> std::decay_t<decltype(p)> {
      return fst::lazy_relabel(p, std::span(in), std::span(out), bytes(limit));
    });
  });
  m.def("lazy_sort", [](const AnyLazy& a, bool output, const Limit& limit) {
    return changed(a, [&](auto& p) { return fst::lazy_sort(p, output, bytes(limit)); });
  });
  m.def("lazy_remove_epsilons", [](const AnyLazy& a, const Limit& limit) {
    return changed(a, [&](auto& p) { return fst::lazy_remove_epsilons(p, bytes(limit)); });
  });
  m.def(
      "lazy_determinize",
      [](const AnyLazy& a, const std::string& outputs, double delta, std::int64_t label, bool increment,
         bool transducer, const Limit& limit) {
        if (!(delta > 0.0)) fail("delta must be above 0, got ", delta);
        fst::DeterminizeOptions options;
        options.outputs = outputs_of(outputs);
        options.delta = delta;
        options.subsequential_label = check_label(label);
        options.increment_subsequential = increment;
        return changed(a, [&](auto& p) { return fst::lazy_determinize(p, options, transducer, bytes(limit)); });
      },
      "machine"_a, nb::kw_only(), "outputs"_a, "delta"_a, "label"_a, "increment"_a, "transducer"_a, "limit"_a.none());
  m.def("lazy_synchronize", [](const AnyLazy& a, const Limit& limit) {
    return changed(a, [&](auto& p) { return fst::lazy_synchronize(p, bytes(limit)); });
  });
  m.def(
      "lazy_replace",
      [](const std::vector<std::pair<std::int64_t, const AnyLazy*>>& machines, std::int64_t root,
         const std::string& call, const std::string& back, std::int64_t label, const Limit& limit) {
        return replace(machines,
                       {check_label(root), call_labels(call), call_labels(back), check_label(label), fst::kMostStates},
                       limit);
      },
      "machines"_a, nb::kw_only(), "root"_a, "call"_a, "back"_a, "return_label"_a, "limit"_a.none());
  m.def("lazy_map_weights", &map_weights, "machine"_a, "kind"_a, "weight"_a.none(), "number"_a, "limit"_a.none());
  m.def("lazy_map_arcs", [](const AnyLazy& a, const std::string& kind, const Limit& limit) {
    const fst::ArcMap map = arc_map_of(kind);
    return mapped(a, limit,
                  [&](const auto&) { return [map](const auto& window) { return fst::map_arcs(window, map); }; });
  });
  m.def("lazy_convert", &convert, "machine"_a, "semiring"_a, "limit"_a.none());
  m.def("lazy_to_gallic", &to_gallic, "machine"_a, "semiring"_a, "limit"_a.none());
  m.def("lazy_encode", &encode, "machine"_a, "encoder"_a, "limit"_a.none());
  m.def("lazy_decode", &decode, "machine"_a, "encoder"_a, "limit"_a.none());
  m.def("lazy_factor_weights", &factor_weights, "machine"_a, "arcs"_a, "finals"_a, "longest"_a, "limit"_a.none());
  m.def("lazy_compose", &compose, "a"_a, "b"_a, nb::kw_only(), "filter"_a, "left"_a, "right"_a, "phi_finals"_a,
        "phi_loop"_a, "rewrite"_a, "matcher"_a, "look_ahead"_a, "push_weights"_a, "push_labels"_a, "left_stays"_a,
        "right_stays"_a, "left_epsilons"_a, "right_epsilons"_a, "limit"_a.none());
  m.def("lazy_difference", &difference, "a"_a, "b"_a, nb::kw_only(), "filter"_a, "limit"_a.none());
}

}  // namespace textmill::bind
