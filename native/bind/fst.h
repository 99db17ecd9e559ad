// Machines of any semiring under one Python class: std::visit finds the template when an operation is called.
#pragma once

#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.h"
#include "fst/algebra.h"
#include "fst/machine.h"
#include "fst/minimize.h"
#include "fst/queues.h"
#include "fst/symbols.h"

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

// The list of semirings.h as one type; the first argument takes up the comma in front of the list.
template <class, class... S>
using Listed = Semirings<S...>;
#define X(S) , S
using All = Listed<void TEXTMILL_FST_SEMIRINGS(X)>;
#undef X

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

// Another machine, which must have the semiring of this one.
template <class M>
const M& alike(const M& a, const All::Handle& other) {
  const auto* held = std::get_if<std::shared_ptr<M>>(&other);
  bool fits = held != nullptr;
  if constexpr (std::same_as<typename M::Semiring, Dynamic>)
    fits = fits && (*held)->semiring().algebra == a.semiring().algebra;
  if (!fits)
    fst::fail("the machines have different semirings, ", std::string(a.semiring().name()), " and ",
              std::visit([](const auto& b) { return std::string(b->semiring().name()); }, other),
              "; convert one of them first");
  return **held;
}

// The same for two machines, which must have one semiring.
template <class F>
auto with(const AnyMachine& left, const AnyMachine& right, F f) {
  check(right);
  const All::Handle other = right.handle;  // held under the lock, as the left one is
  return with(left, [&](const auto& a) { return f(a, alike(a, other)); });
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

// Tables that are read while the interpreter's lock may be given away: until this goes, nobody changes them.
class TablesInUse {
 public:
  explicit TablesInUse(std::initializer_list<const fst::SymbolTable*> tables) : tables_(tables) { add(1); }
  ~TablesInUse() { add(-1); }
  TablesInUse(const TablesInUse&) = delete;
  TablesInUse& operator=(const TablesInUse&) = delete;

 private:
  void add(int change) {
    for (const fst::SymbolTable* table : tables_)
      if (table) table->readers.count += change;
  }
  std::vector<const fst::SymbolTable*> tables_;
};

inline std::int32_t check_label(std::int64_t label) {
  if (label < 0 || label > 0x7FFFFFFF) fst::fail("label ", label, " is not a whole number from 0 to 2,147,483,647");
  return static_cast<std::int32_t>(label);
}

template <class S>
nb::object to_python(const S& semiring, const typename S::Weight& w);
template <class S>
typename S::Weight to_weight(const S& semiring, nb::handle value);

// f(machine to be changed, weight): one if there is none. The weight first, because Python's own code may run for it.
template <class F>
void change(AnyMachine& any, nb::handle weight, F f) {
  std::visit(
      [&](const auto& held) {
        using M = std::decay_t<decltype(*held)>;
        const auto k = held->semiring();
        const auto w = weight.is_none() ? k.one() : to_weight(k, weight);
        change(any, [&](auto& machine) {
          if constexpr (std::same_as<std::decay_t<decltype(machine)>, M>) f(machine, w);
        });
      },
      any.handle);
}

template <class... S>
auto encoder_variant(Semirings<S...>) -> std::variant<std::shared_ptr<fst::Encoder<S>>...>;

struct AnyEncoder {
  decltype(encoder_variant(All{})) handle;
  std::shared_ptr<std::mutex> turn = std::make_shared<std::mutex>();  // tables grow while others encode: one at a time
};
// That of a semiring; a fault if it was made for another.
template <class S>
std::shared_ptr<fst::Encoder<S>> encoder_of(const AnyEncoder& encoder, const S& semiring) {
  const auto* held = std::get_if<std::shared_ptr<fst::Encoder<S>>>(&encoder.handle);
  bool fits = held != nullptr;
  if constexpr (std::same_as<S, Dynamic>) fits = fits && (*held)->semiring().algebra == semiring.algebra;
  if (!fits) fst::fail("the encoder was made for another semiring than ", std::string(semiring.name()));
  return *held;
}

// auto, fifo, lifo, shortest, state, top
fst::Queue queue_of(const std::string& name);

void bind_fst_align(nb::module_& m);
void bind_fst_files(nb::module_& m);
void bind_fst_grammar(nb::module_& m);
void bind_fst_lazy(nb::module_& m);
void bind_fst_learning(nb::module_& m);
void bind_fst_models(nb::module_& m);
void bind_fst_operations(nb::module_& m);
void bind_fst_optimize(nb::module_& m);
void bind_fst_overlay(nb::module_& m);
void bind_fst_pushdown(nb::module_& m);
void bind_fst_semirings(nb::module_& m);
void bind_fst_strings(nb::module_& m);
void bind_fst_transform(nb::module_& m);
void bind_fst_traversal(nb::module_& m);

}  // namespace textmill::bind
