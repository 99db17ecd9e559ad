// Machines of any semiring under one Python class: std::visit finds the template when an operation is called.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "bind/arrays.h"
#include "fst/algebra.h"
#include "fst/machine.h"
#include "fst/queues.h"

namespace textmill::bind {

using fst::Boolean;
using fst::Dynamic;
using fst::Log;
using fst::Machine;
using fst::MinMax;
using fst::Probability;
using fst::SignedLog;
using fst::Tropical;

template <class... S>
struct Semirings {
  using Object = std::variant<S...>;
  using Handle = std::variant<std::shared_ptr<Machine<S>>...>;
};
using All = Semirings<Tropical<float>, Tropical<double>, Log<float>, Log<double>, Probability, Boolean, MinMax,
                      SignedLog, Dynamic>;

struct AnySemiring {
  All::Object object;
};

// A machine as Python holds it. Copies share the machine until one of them is changed, and an operation holds it while
// it runs without the interpreter's lock, so that nobody changes what it reads.
struct AnyMachine {
  All::Handle handle;
  std::uint64_t version = 0;    // raised by every change: iterators compare it
  mutable bool checked = true;  // false: mapped from a file and not yet looked through
};

fst::AlgebraPointer algebra_of(const AnySemiring& semiring);

// Faults unless the machine may be followed: mapped ones are looked through once.
void check(const AnyMachine& machine);

template <class S>
AnyMachine any(Machine<S>&& machine) {
  return {std::make_shared<Machine<S>>(std::move(machine))};
}

// Calls f(machine) without the interpreter's lock, or with it if weights may be Python's.
template <class F>
auto with(const AnyMachine& any, F f) {
  check(any);
  return std::visit(
      [&](auto held) {  // by value: a change meanwhile makes a copy
        using S = typename std::decay_t<decltype(*held)>::Semiring;
        if constexpr (std::same_as<S, Dynamic>) {
          return f(std::as_const(*held));
        } else {
          nb::gil_scoped_release nogil;
          return f(std::as_const(*held));
        }
      },
      any.handle);
}

// The same for two machines, which must have one semiring.
template <class F>
auto with(const AnyMachine& left, const AnyMachine& right, F f) {
  check(right);
  return with(left, [&](const auto& a) {
    using M = std::decay_t<decltype(a)>;
    const auto* other = std::get_if<std::shared_ptr<M>>(&right.handle);
    const auto name = [](const AnyMachine& any) {
      return std::visit([](const auto& held) { return std::string(held->semiring().name()); }, any.handle);
    };
    if (!other)
      fst::fail("the machines have different semirings, ", name(left), " and ", name(right),
                "; convert one of them first");
    const std::shared_ptr<M> held = *other;
    if constexpr (std::same_as<typename M::Semiring, Dynamic>) {
      if (held->semiring().algebra != a.semiring().algebra)
        fst::fail("the machines have different semirings, ", name(left), " and ", name(right),
                  "; convert one of them first");
    }
    return f(a, std::as_const(*held));
  });
}

// The machine to be changed: its own from now on.
template <class F>
auto change(AnyMachine& any, F f) {
  check(any);
  ++any.version;
  return std::visit(
      [&](auto& held) {
        if (held.use_count() > 1) held = std::make_shared<std::decay_t<decltype(*held)>>(*held);
        return f(*held);
      },
      any.handle);
}

template <class S>
nb::object to_python(const S& semiring, const typename S::Weight& w);
template <class S>
typename S::Weight to_weight(const S& semiring, nb::handle value);

// auto, fifo, lifo, shortest, state, top
fst::Queue queue_of(const std::string& name);

void bind_fst_align(nb::module_& m);
void bind_fst_files(nb::module_& m);
void bind_fst_operations(nb::module_& m);
void bind_fst_optimize(nb::module_& m);
void bind_fst_semirings(nb::module_& m);
void bind_fst_strings(nb::module_& m);
void bind_fst_transform(nb::module_& m);
void bind_fst_traversal(nb::module_& m);

}  // namespace textmill::bind
