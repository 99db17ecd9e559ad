// Lazy machines of any semiring under one Python class.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bind/fst.h"
#include "fst/lazy.h"

namespace textmill::bind {

using fst::Lazy;
using fst::LazyPointer;
using Limit = std::optional<std::size_t>;

template <class, class... W>
using Pointers = std::variant<LazyPointer<W>...>;
#define X(W) , W
using LazyHandle = Pointers<void TEXTMILL_FST_WEIGHTS(X)>;
#undef X

struct AnyLazy {
  All::Object semiring;
  LazyHandle handle;
  bool python;  // may it run Python's code? Then one at a time, under the interpreter's lock.
};

inline std::size_t bytes(const Limit& limit) { return limit.value_or(fst::kNoLimit); }

// Whoever runs Python's code waits here without the interpreter's lock, so that nobody who holds it waits for them.
inline std::recursive_mutex& turn() {
  static std::recursive_mutex mutex;
  return mutex;
}

// f() as the machine wants it: without the interpreter's lock, or in turn.
template <class F>
auto guarded(bool python, F f) {
  if (!python) {
    nb::gil_scoped_release nogil;
    return f();
  }
  std::unique_lock lock(turn(), std::defer_lock);
  {
    nb::gil_scoped_release nogil;
    lock.lock();
  }
  return f();
}

// f(semiring, pointer) of one type.
template <class F>
auto typed(const AnyLazy& any, F f) {
  return std::visit(
      [&](const auto& k) {
        using W = typename std::decay_t<decltype(k)>::Weight;
        return f(k, std::get<LazyPointer<W>>(any.handle));
      },
      any.semiring);
}

// The same for several machines of one semiring: f(semiring, pointers).
template <class F>
AnyLazy joined(const std::vector<const AnyLazy*>& parts, F f) {
  if (parts.empty()) fst::fail("there is no machine to begin with");
  bool python = false;
  for (const AnyLazy* part : parts) python = python || part->python;
  return typed(*parts[0], [&](const auto& k, const auto& first) {
    using P = std::decay_t<decltype(first)>;
    std::vector<P> pointers;
    for (const AnyLazy* part : parts) {
      const auto* same = std::get_if<P>(&part->handle);
      if (!same || !(*same)->ring().same(first->ring()))
        fst::fail("the machines have different semirings, ", std::string(k.name()), " and ",
                  std::visit([](const auto& other) { return std::string(other.name()); }, part->semiring),
                  "; convert one of them first");
      pointers.push_back(*same);
    }
    return AnyLazy{parts[0]->semiring, guarded(python, [&] { return LazyHandle(f(pointers)); }), python};
  });
}
template <class F>
AnyLazy changed(const AnyLazy& a, F f) {
  return joined({&a}, [&](auto& pointers) { return f(pointers[0]); });
}

}  // namespace textmill::bind
