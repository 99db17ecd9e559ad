// Push-down transducers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/fst_lazy.h"
#include "fst/pushdown.h"

namespace textmill::bind {
namespace {

using fst::fail;
using fst::Parentheses;

Parentheses made(const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs,
                 const std::vector<std::int64_t>& stacks, const std::string& restriction) {
  std::vector<std::pair<std::int32_t, std::int32_t>> labels;
  for (const auto& [open, close] : pairs) labels.emplace_back(check_label(open), check_label(close));
  std::vector<std::int32_t> numbers;
  for (const std::int64_t stack : stacks) {
    if (stack < 1 || stack > 63) fail("stack ", stack, " is not one of 1 to 63");
    numbers.push_back(static_cast<std::int32_t>(stack) - 1);
  }
  fst::Restriction bound = fst::Restriction::none;
  if (restriction == "read")
    bound = fst::Restriction::read;
  else if (restriction == "write")
    bound = fst::Restriction::write;
  else if (restriction != "none")
    fail("restriction is none, read or write, not '", restriction, "'");
  return {std::move(labels), std::move(numbers), bound};
}

AnyLazy expand(const AnyLazy& a, const Parentheses& parentheses, bool keep, const Limit& depth, const Limit& limit) {
  return joined({&a}, [&](auto& pointers) {
    return fst::lazy_expand(pointers[0], parentheses, {keep, bytes(depth), bytes(limit)});
  });
}

AnyMachine expand_pruned(const AnyMachine& a, const Parentheses& parentheses, nb::handle weight, bool keep,
                         std::size_t most) {
  return std::visit(
      [&](const auto& held) -> AnyMachine {
        using S = typename std::decay_t<decltype(*held)>::Semiring;
        const auto worst = to_weight(held->semiring(), weight);
        return with(a, [&](const auto& machine) -> AnyMachine {
          if constexpr (std::same_as<typename std::decay_t<decltype(machine)>::Semiring, S>) {
            const auto ring = fst::ring_of(machine.semiring());
            return any(Machine<S>(machine.semiring(),
                                  fst::expand_pruned(*ring, machine.bare(), parentheses, worst, keep, most)));
          } else {
            fail("the machine was changed meanwhile");
          }
        });
      },
      a.handle);
}

AnyMachine best(const AnyMachine& a, const Parentheses& parentheses, std::size_t n, bool keep, std::size_t most) {
  return with(a, [&](const auto& machine) {
    using S = typename std::decay_t<decltype(machine)>::Semiring;
    const auto ring = fst::ring_of(machine.semiring());
    return any(Machine<S>(machine.semiring(), fst::best_balanced(*ring, machine.bare(), parentheses, n, keep, most)));
  });
}

std::pair<AnyMachine, std::vector<std::pair<std::int32_t, std::int32_t>>> replace(
    const std::vector<std::pair<std::int64_t, const AnyMachine*>>& machines, std::int64_t first_label) {
  if (machines.empty()) fail("there is no machine to begin with");
  const std::int32_t first = check_label(first_label);
  for (const auto& [label, machine] : machines) {
    if (label <= 0) fail("label ", label, " cannot stand for a machine: such labels are above 0");
    check_label(label);
    check(*machine);
  }
  std::vector<All::Handle> held;  // as they are now
  for (const auto& [label, machine] : machines) held.push_back(machine->handle);
  return with(*machines[0].second, [&](const auto& root) {
    using M = std::decay_t<decltype(root)>;
    std::vector<std::pair<std::int32_t, const typename M::Bare*>> parts;
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const auto* part = std::get_if<std::shared_ptr<M>>(&held[i]);
      bool fits = part != nullptr;
      if constexpr (std::same_as<typename M::Semiring, Dynamic>)
        fits = fits && (*part)->semiring().algebra == root.semiring().algebra;
      if (!fits)
        fail("the machine of label ", machines[i].first, " has another semiring than ",
             std::string(root.semiring().name()));
      parts.emplace_back(static_cast<std::int32_t>(machines[i].first), &(*part)->bare());
    }
    auto result = fst::replace_pushdown(parts, first);
    return std::make_pair(any(M(root.semiring(), std::move(result.machine))), std::move(result.parentheses));
  });
}

}  // namespace

void bind_fst_pushdown(nb::module_& m) {
  nb::class_<Parentheses>(m, "Parentheses", "Pairs of labels that open and close.")
      .def("__init__", [](Parentheses* self, const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs,
                          const std::vector<std::int64_t>& stacks,
                          const std::string& restriction) { new (self) Parentheses(made(pairs, stacks, restriction)); })
      .def("check", [](const Parentheses& p, const AnyMachine& a) {
        with(a, [&](const auto& machine) { fst::check_parentheses(machine.bare(), p); });
      });
  m.def("pushdown_expand", &expand, "machine"_a, "parentheses"_a, nb::kw_only(), "keep"_a, "depth"_a.none(),
        "limit"_a.none());
  m.def("pushdown_expand_pruned", &expand_pruned, "machine"_a, "parentheses"_a, nb::kw_only(), "weight"_a, "keep"_a,
        "most"_a);
  m.def("pushdown_best", &best, "machine"_a, "parentheses"_a, nb::kw_only(), "n"_a, "keep"_a, "most"_a);
  m.def("pushdown_replace", &replace, "machines"_a, "first_label"_a);
  m.def("pushdown_echo", [](const AnyMachine& a, const Parentheses& p, bool output) {
    return with(a, [&](const auto& machine) {
      using M = std::decay_t<decltype(machine)>;
      return any(M(machine.semiring(), fst::echo_labels(machine.bare(), p, output)));
    });
  });
  m.def("pushdown_facts", [](const AnyMachine& a, const Parentheses& p) {
    const auto f = with(a, [&](const auto& machine) { return fst::pushdown_facts(machine.bare(), p); });
    return std::vector<std::size_t>{f.open_arcs,  f.close_arcs,   f.open_used,
                                    f.close_used, f.open_targets, f.close_sources};
  });
}

}  // namespace textmill::bind
