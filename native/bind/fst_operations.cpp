#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bind/fst.h"
#include "bind/fst_options.h"
#include "fst/distance.h"
#include "fst/paths.h"
#include "fst/propagation.h"
#include "fst/structure.h"

namespace textmill::bind {
namespace {

using fst::fail;
using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;
using Given = std::vector<std::pair<std::int64_t, std::int64_t>>;

fst::Filter filter_of(const std::string& name) {
  const std::pair<const char*, fst::Filter> filters[] = {{"sequence", fst::Filter::sequence},
                                                         {"auto", fst::Filter::sequence},
                                                         {"alt_sequence", fst::Filter::alt_sequence},
                                                         {"match", fst::Filter::match},
                                                         {"no_match", fst::Filter::no_match},
                                                         {"trivial", fst::Filter::trivial},
                                                         {"null", fst::Filter::null}};
  for (const auto& [key, filter] : filters)
    if (name == key) return filter;
  fail("no filter is called '", name, "'; there are auto, sequence, alt_sequence, match, no_match, trivial and null");
}

fst::Rewrite rewrite_of(const std::string& name) {
  if (name == "auto") return fst::Rewrite::acceptors;
  if (name == "always") return fst::Rewrite::always;
  if (name == "never") return fst::Rewrite::never;
  fail("labels are rewritten 'always', 'never' or 'auto' (in acceptors), not '", name, "'");
}

fst::Matcher matcher_of(const std::string& name) {
  if (name == "auto") return fst::Matcher::automatic;
  if (name == "sorted") return fst::Matcher::sorted;
  if (name == "hash") return fst::Matcher::hash;
  fail("arcs are matched by 'auto', 'sorted' or 'hash', not '", name, "'");
}

// A result of which this is known.
template <class S>
AnyMachine knowing(Machine<S>&& machine, std::uint64_t bits) {
  machine.know(bits);
  return any(std::move(machine));
}

template <class M>
bool have_start(const M& x, const M& y) {
  return x.start() != fst::kNoState && y.start() != fst::kNoState;
}

template <class M>
std::optional<typename M::Weight> optional_weight(const M& machine, nb::handle value) {
  if (value.is_none()) return std::nullopt;
  return to_weight(machine.semiring(), value);
}

// The same for a call that has to look at Python objects before the lock is given up.
template <class F>
AnyMachine with_weight(const AnyMachine& machine, nb::handle weight, F f) {
  check(machine);
  return std::visit(
      [&](auto held) {
        using S = typename std::decay_t<decltype(*held)>::Semiring;
        const auto w = optional_weight(*held, weight);
        if constexpr (std::same_as<S, Dynamic>) {
          return any(f(std::as_const(*held), w));
        } else {
          nb::gil_scoped_release nogil;
          return any(f(std::as_const(*held), w));
        }
      },
      machine.handle);
}

nb::object distances(const AnyMachine& machine, bool backward, double delta, const std::string& queue) {
  check(machine);
  const fst::Queue kind = queue_of(queue);
  return std::visit(
      [&](auto held) -> nb::object {
        using S = typename std::decay_t<decltype(*held)>::Semiring;
        if constexpr (std::same_as<S, Dynamic>) {
          nb::list out;
          for (const auto& w : fst::distances_by(kind, std::as_const(*held), backward, delta))
            out.append(to_python(held->semiring(), w));
          return out;
        } else {
          std::vector<typename S::Weight> d;
          {
            nb::gil_scoped_release nogil;
            d = fst::distances_by(kind, std::as_const(*held), backward, delta);
          }
          const auto* bytes = reinterpret_cast<const std::uint8_t*>(d.data());
          return nb::cast(to_numpy(std::vector<std::uint8_t>(bytes, bytes + d.size() * sizeof(typename S::Weight))));
        }
      },
      machine.handle);
}

}  // namespace

fst::ComposeOptions compose_options(const std::string& filter, bool connect, const SpecialLabels& left,
                                    const SpecialLabels& right, bool phi_finals, bool phi_loop,
                                    const std::string& rewrite, const std::string& matcher) {
  const auto specials = [](const SpecialLabels& labels) {
    const auto one = [](std::int64_t label) { return label == -1 ? fst::kNoLabel : check_label(label); };
    return fst::Specials{one(std::get<0>(labels)), one(std::get<1>(labels)), one(std::get<2>(labels))};
  };
  return {filter_of(filter), connect,  specials(left),      specials(right),
          phi_finals,        phi_loop, rewrite_of(rewrite), matcher_of(matcher)};
}

fst::Queue queue_of(const std::string& name) {
  const std::pair<const char*, fst::Queue> kinds[] = {
      {"auto", fst::Queue::automatic},    {"fifo", fst::Queue::fifo},   {"lifo", fst::Queue::lifo},
      {"shortest", fst::Queue::shortest}, {"state", fst::Queue::state}, {"top", fst::Queue::top}};
  for (const auto& [key, kind] : kinds)
    if (name == key) return kind;
  fail("no queue is called '", name, "'; queue_type is auto, fifo, lifo, shortest, state or top");
}

void bind_fst_operations(nb::module_& m) {
  m.def("unite", [](const std::vector<const AnyMachine*>& machines) {
    if (machines.empty()) fail("there are no machines to unite");
    std::vector<All::Handle> handles;  // held under the lock
    for (const AnyMachine* machine : machines) {
      check(*machine);
      handles.push_back(machine->handle);
    }
    return with(*machines.front(), [&](const auto& first) {
      using M = std::decay_t<decltype(first)>;
      std::vector<const M*> parts{&first};
      std::uint64_t known = first.known();
      bool started = first.start() != fst::kNoState;
      for (std::size_t i = 1; i < handles.size(); ++i) {
        parts.push_back(&alike(first, handles[i]));
        known = fst::united(known, parts.back()->known());
        started &= parts.back()->start() != fst::kNoState;
      }
      return knowing(fst::unite(std::span<const M* const>(parts)), started && parts.size() > 1 ? known : 0);
    });
  });
  m.def("concatenate", [](const AnyMachine& a, const AnyMachine& b) {
    return with(a, b, [](const auto& x, const auto& y) {
      return knowing(fst::concatenate(x, y), have_start(x, y) ? fst::concatenated(x.known(), y.known()) : 0);
    });
  });
  m.def("close", [](const AnyMachine& a, bool star) {
    return with(
        a, [&](const auto& x) { return knowing(fst::close(x, star), have_start(x, x) ? fst::closed(x.known()) : 0); });
  });
  m.def("reverse", [](const AnyMachine& a, bool fresh) {
    return with(a, [&](const auto& x) {
      return knowing(fst::reverse(x, fresh), fresh && have_start(x, x) ? fst::reversed(x.known()) : 0);
    });
  });
  m.def("invert", [](const AnyMachine& a) {
    return with(a, [](const auto& x) { return knowing(fst::invert(x), fst::inverted(x.known())); });
  });
  m.def("project", [](const AnyMachine& a, bool output) {
    return with(a, [&](const auto& x) { return knowing(fst::project(x, output), fst::projected(x.known(), output)); });
  });
  m.def("relabel", [](const AnyMachine& a, const Given& from, const Given& to) {
    const auto checked = [](const Given& given) {
      Pairs pairs;
      for (const auto& [old, made] : given) pairs.emplace_back(check_label(old), check_label(made));
      return pairs;
    };
    const Pairs input = checked(from), output = checked(to);
    return with(a, [&](const auto& x) { return knowing(fst::relabel(x, input, output), fst::relabeled(x.known())); });
  });
  m.def("sort_arcs", [](const AnyMachine& a, bool output) {
    return with(a, [&](const auto& x) { return any(fst::sort_arcs(x, output)); });
  });
  m.def("sort_states",
        [](const AnyMachine& a) { return with(a, [](const auto& x) { return any(fst::sort_states(x)); }); });
  m.def("renumber", [](const AnyMachine& a, const std::vector<std::int64_t>& order) {
    return with(a, [&](const auto& x) {
      std::vector<bool> seen(x.states());
      if (order.size() != seen.size()) fail("the order has ", order.size(), " numbers for ", seen.size(), " states");
      for (const std::int64_t s : order) {
        if (s < 0 || static_cast<std::size_t>(s) >= seen.size() || seen[s])
          fail("the order must hold each state once; ", s, " is wrong");
        seen[s] = true;
      }
      const std::vector<std::int32_t> numbers(order.begin(), order.end());
      return knowing(fst::renumber(x, std::span<const std::int32_t>(numbers)), fst::renumbered(x.known()));
    });
  });
  m.def("connect", [](const AnyMachine& a) { return with(a, [](const auto& x) { return any(fst::connect(x)); }); });
  m.def(
      "compose",
      [](const AnyMachine& a, const AnyMachine& b, const std::string& filter, bool connect, const SpecialLabels& left,
         const SpecialLabels& right, bool phi_finals, bool phi_loop, const std::string& rewrite,
         const std::string& matcher) {
        const auto options = compose_options(filter, connect, left, right, phi_finals, phi_loop, rewrite, matcher);
        return with(a, b, [&](const auto& x, const auto& y) {
          auto made = fst::compose(x, y, options);
          const bool plain = !options.left.any() && !options.right.any();
          return knowing(std::move(made), plain ? fst::composed(x.known(), y.known()) : 0);
        });
      },
      "a"_a, "b"_a, nb::kw_only(), "filter"_a, "connect"_a, "left"_a, "right"_a, "phi_finals"_a, "phi_loop"_a,
      "rewrite"_a, "matcher"_a);
  m.def(
      "difference",
      [](const AnyMachine& a, const AnyMachine& b, const std::string& filter, bool connect) {
        const auto options =
            compose_options(filter, connect, {-1, -1, -1}, {-1, -1, -1}, true, false, "always", "auto");
        return with(a, b, [&](const auto& x, const auto& y) { return any(fst::difference(x, y, options)); });
      },
      "a"_a, "b"_a, nb::kw_only(), "filter"_a, "connect"_a);
  m.def("distances", &distances, "machine"_a, "backward"_a, "delta"_a, "queue"_a,
        "Bytes of weights, or a list if they are not numbers.");
  m.def(
      "best_paths",
      [](const AnyMachine& a, std::size_t n, bool unique, nb::handle weight, const std::string& queue) {
        const fst::PathOptions options{n, unique, queue_of(queue)};
        return with_weight(a, weight, [&](const auto& x, const auto& w) { return fst::best_paths(x, options, w); });
      },
      "machine"_a, "n"_a, "unique"_a, "weight"_a.none(), "queue"_a);
  m.def(
      "prune",
      [](const AnyMachine& a, nb::handle weight, std::optional<std::size_t> states) {
        const std::size_t most = states.value_or(fst::kMostStates);
        return with_weight(a, weight, [&](const auto& x, const auto& w) { return fst::prune(x, w, most); });
      },
      "machine"_a, "weight"_a.none(), "states"_a.none());
  m.def("reweight", [](const AnyMachine& a, const std::vector<nb::object>& potentials, bool to_final) {
    check(a);
    return std::visit(
        [&](auto held) {
          using S = typename std::decay_t<decltype(*held)>::Semiring;
          std::vector<typename S::Weight> v;
          for (const nb::object& weight : potentials) v.push_back(to_weight(held->semiring(), weight));
          return any(fst::reweight(std::as_const(*held), std::span<const typename S::Weight>(v), to_final));
        },
        a.handle);
  });
  m.def(
      "push",
      [](const AnyMachine& a, bool weights, bool labels, bool to_final, bool remove_total, bool remove_affix,
         double delta) {
        return with(a, [&](const auto& x) {
          return any(fst::push(x, {weights, labels, to_final, remove_total, remove_affix, delta}));
        });
      },
      "machine"_a, nb::kw_only(), "weights"_a, "labels"_a, "to_final"_a, "remove_total"_a, "remove_affix"_a, "delta"_a);
}

}  // namespace textmill::bind
