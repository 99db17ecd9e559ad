// Semirings and their weights, between Python and C++.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string>

#include "bind/fst.h"
#include "bind/fst_custom.h"
#include "fst/collections.h"

namespace textmill::bind {
namespace {

using fst::Algebra;
using fst::AlgebraPointer;
using fst::ErrorAlgebra;
using fst::fail;
using fst::GallicAlgebra;
using fst::GallicKind;
using fst::NumberAlgebra;
using fst::SetAlgebra;
using fst::SetKind;
using fst::Side;
using fst::SparsePowerAlgebra;
using fst::StringAlgebra;
using fst::StringKind;
using fst::TupleAlgebra;
using fst::TupleKind;
using fst::UnionAlgebra;

nb::object number_to_python(double x) { return nb::float_(x); }
nb::object number_to_python(float x) { return nb::float_(x); }
nb::object number_to_python(std::int8_t x) { return nb::bool_(x > 0); }
nb::object number_to_python(SignedLog::Weight x) { return nb::make_tuple(x.sign, x.x); }

nb::object algebra_to_python(Algebra& algebra, Algebra::Id a);

template <class S>
bool try_number(Algebra& algebra, Algebra::Id a, nb::object& out) {
  auto* const numbers = dynamic_cast<NumberAlgebra<S>*>(&algebra);
  if (numbers) out = number_to_python(numbers->value(a));
  return numbers != nullptr;
}

nb::object string_to_python(StringAlgebra& strings, Algebra::Id a) {
  if (a == Algebra::kZero) return nb::float_(std::numeric_limits<double>::infinity());  // None means one in add_arc
  nb::list labels;
  for (const std::int32_t label : strings.value(a)) labels.append(label);
  return nb::tuple(labels);
}

template <class Make>
nb::object frozen(std::span<const std::int32_t> values, Make make) {
  nb::list out;
  for (const std::int32_t value : values) out.append(make(value));
  return nb::steal(PyFrozenSet_New(out.ptr()));
}

nb::object algebra_to_python(Algebra& algebra, Algebra::Id a) {
  nb::object out;
#define X(S) \
  if (try_number<S>(algebra, a, out)) return out;
  TEXTMILL_FST_NUMBERS(X)
#undef X
  if (auto* python = dynamic_cast<PythonAlgebra*>(&algebra)) return python->value(a);
  if (a == Algebra::kNone) return nb::none();
  if (auto* strings = dynamic_cast<StringAlgebra*>(&algebra)) return string_to_python(*strings, a);
  if (auto* tuples = dynamic_cast<TupleAlgebra*>(&algebra)) {
    nb::list parts;
    for (std::size_t i = 0; i < tuples->parts().size(); ++i)
      parts.append(algebra_to_python(*tuples->parts()[i], static_cast<Algebra::Id>(tuples->value(a)[i])));
    return nb::tuple(parts);
  }
  if (auto* sets = dynamic_cast<SetAlgebra*>(&algebra)) {
    if (a == sets->universal()) return nb::borrow(nb::handle(Py_Ellipsis));
    return frozen(sets->value(a), [](std::int32_t label) { return nb::int_(label); });
  }
  if (auto* unions = dynamic_cast<UnionAlgebra*>(&algebra))
    return frozen(unions->value(a),
                  [&](std::int32_t w) { return algebra_to_python(*unions->weights(), static_cast<Algebra::Id>(w)); });
  if (auto* sparse = dynamic_cast<SparsePowerAlgebra*>(&algebra)) {
    const auto value = sparse->value(a);
    const auto weight = [&](std::size_t i) {
      return algebra_to_python(*sparse->weights(), static_cast<Algebra::Id>(value[i]));
    };
    nb::list entries;
    for (std::size_t i = 1; i + 1 < value.size(); i += 2) entries.append(nb::make_tuple(value[i], weight(i + 1)));
    return nb::make_tuple(weight(0), nb::tuple(entries));
  }
  if (dynamic_cast<ErrorAlgebra*>(&algebra)) return nb::bool_(a == Algebra::kOne);
  auto& gallic = dynamic_cast<GallicAlgebra&>(algebra);
  nb::list pairs;
  const auto value = gallic.value(a);
  for (std::size_t i = 0; i + 1 < value.size(); i += 2)
    pairs.append(nb::make_tuple(string_to_python(gallic.strings(), static_cast<Algebra::Id>(value[i])),
                                algebra_to_python(*gallic.weights(), static_cast<Algebra::Id>(value[i + 1]))));
  if (gallic.kind() == GallicKind::general) return nb::tuple(pairs);
  return pairs[0];
}

[[noreturn]] void not_a_weight(const std::string& semiring, nb::handle value, const char* wanted) {
  fail(nb::cast<std::string>(nb::repr(value)), " is not a weight of the semiring ", semiring, ", which is ", wanted);
}

template <class S>
typename S::Weight number_from_python(nb::handle value) {
  typename S::Weight w;
  if constexpr (std::same_as<S, SignedLog>) {
    std::pair<double, double> pair;
    if (!nb::try_cast(value, pair)) not_a_weight(S::name(), value, "a pair (sign, number)");
    w = {pair.first, pair.second};
  } else {
    double x;
    if (!nb::try_cast(value, x)) not_a_weight(S::name(), value, "a number");
    if constexpr (std::same_as<S, Boolean>) {
      if (x != 0.0 && x != 1.0) not_a_weight(S::name(), value, "0 or 1");
    }
    w = static_cast<typename S::Weight>(x);
  }
  if (!S::member(w))
    not_a_weight(S::name(), value, "another set: NaN and infinities that stand for nothing are not in it");
  return w;
}

template <class S>
bool try_number_from(Algebra& algebra, nb::handle value, Algebra::Id& a) {
  auto* const numbers = dynamic_cast<NumberAlgebra<S>*>(&algebra);
  if (numbers) a = numbers->of(number_from_python<S>(value));
  return numbers != nullptr;
}

Algebra::Id string_from_python(StringAlgebra& strings, nb::handle value) {
  if (PyFloat_Check(value.ptr()) && PyFloat_AS_DOUBLE(value.ptr()) == std::numeric_limits<double>::infinity())
    return Algebra::kZero;
  std::vector<std::int32_t> labels;
  if (!nb::try_cast(value, labels) || std::ranges::any_of(labels, [](std::int32_t label) { return label <= 0; }))
    not_a_weight(strings.name(), value, "a tuple of positive labels, or inf for zero");
  return strings.of(labels);
}

Algebra::Id algebra_from_python(Algebra& algebra, nb::handle value) {
  Algebra::Id a;
#define X(S) \
  if (try_number_from<S>(algebra, value, a)) return a;
  TEXTMILL_FST_NUMBERS(X)
#undef X
  if (auto* python = dynamic_cast<PythonAlgebra*>(&algebra)) {
    if (value.is_none()) not_a_weight(algebra.name(), value, "any hashable object but None");
    return python->of(value, "given");
  }
  if (auto* strings = dynamic_cast<StringAlgebra*>(&algebra)) return string_from_python(*strings, value);
  if (auto* sets = dynamic_cast<SetAlgebra*>(&algebra)) {
    if (value.ptr() == Py_Ellipsis) return sets->universal();
    std::vector<std::int32_t> labels;
    if (!PyAnySet_Check(value.ptr()) || !nb::try_cast(nb::object(nb::list(value)), labels) ||
        (a = sets->of_labels(labels)) == Algebra::kNone)
      not_a_weight(algebra.name(), value, "a set of positive labels, or ... for the set of all");
    return a;
  }
  if (auto* unions = dynamic_cast<UnionAlgebra*>(&algebra)) {
    if (!PyAnySet_Check(value.ptr())) not_a_weight(algebra.name(), value, "a set of weights");
    std::vector<std::int32_t> weights;
    for (const nb::handle part : nb::list(value))
      weights.push_back(static_cast<std::int32_t>(algebra_from_python(*unions->weights(), part)));
    return unions->of_weights(std::move(weights));
  }
  if (dynamic_cast<ErrorAlgebra*>(&algebra)) {
    bool one = false;
    if (!nb::try_cast(value, one)) not_a_weight(algebra.name(), value, "False or True");
    return one ? Algebra::kOne : Algebra::kZero;
  }
  std::vector<nb::object> parts;
  if (!nb::isinstance<nb::tuple>(value) || !nb::try_cast(value, parts)) not_a_weight(algebra.name(), value, "a tuple");
  std::vector<std::int32_t> numbers;
  if (auto* tuples = dynamic_cast<TupleAlgebra*>(&algebra)) {
    if (parts.size() != tuples->parts().size()) not_a_weight(algebra.name(), value, "a tuple of as many parts");
    for (std::size_t i = 0; i < parts.size(); ++i)
      numbers.push_back(static_cast<std::int32_t>(algebra_from_python(*tuples->parts()[i], parts[i])));
    return tuples->of_parts(numbers);
  }
  if (auto* sparse = dynamic_cast<SparsePowerAlgebra*>(&algebra)) {
    const char* const wanted = "a pair (default, ((key, weight), ...)) with rising keys";
    std::vector<std::pair<std::int32_t, nb::object>> entries;
    if (parts.size() != 2 || !nb::try_cast(parts[1], entries)) not_a_weight(algebra.name(), value, wanted);
    numbers.push_back(static_cast<std::int32_t>(algebra_from_python(*sparse->weights(), parts[0])));
    for (const auto& [key, weight] : entries) {
      if (numbers.size() > 1 && key <= numbers[numbers.size() - 2]) not_a_weight(algebra.name(), value, wanted);
      numbers.push_back(key);
      numbers.push_back(static_cast<std::int32_t>(algebra_from_python(*sparse->weights(), weight)));
    }
    return sparse->of_entries(std::move(numbers));
  }
  auto& gallic = dynamic_cast<GallicAlgebra&>(algebra);
  const auto pair_of = [&](const std::vector<nb::object>& two) {
    if (two.size() != 2) not_a_weight(algebra.name(), value, "a pair (labels, weight)");
    const std::int32_t pair[] = {static_cast<std::int32_t>(string_from_python(gallic.strings(), two[0])),
                                 static_cast<std::int32_t>(algebra_from_python(*gallic.weights(), two[1]))};
    return gallic.of_pairs(pair);
  };
  if (gallic.kind() != GallicKind::general) return pair_of(parts);
  Algebra::Id sum = Algebra::kZero;
  for (const nb::object& part : parts) {
    std::vector<nb::object> two;
    if (!nb::try_cast(part, two)) not_a_weight(algebra.name(), value, "a tuple of pairs (labels, weight)");
    sum = gallic.plus(sum, pair_of(two));
  }
  return sum;
}

template <class S>
AnySemiring make_semiring() {
  return {S{}};
}

AnySemiring number_semiring(const std::string& name) {
#define X(S) \
  if (name == S::name()) return make_semiring<S>();
  TEXTMILL_FST_NUMBERS(X)
#undef X
  fail("no semiring is called '", name,
       "'; there are tropical, tropical64, log, log64, real, boolean, minmax, signed_log and what is made of them");
}

AnySemiring string_semiring(const std::string& kind) {
  const StringKind kinds[] = {StringKind::left, StringKind::right, StringKind::restrict};
  const char* names[] = {"left", "right", "restricted"};
  for (int i = 0; i < 3; ++i)
    if (kind == names[i]) return {Dynamic{std::make_shared<StringAlgebra>(kinds[i])}};
  fail("strings are 'left', 'right' or 'restricted', not '", kind, "'");
}

AnySemiring tuple_semiring(const std::string& kind, const std::vector<AnySemiring*>& parts) {
  const TupleKind kinds[] = {TupleKind::product, TupleKind::lexicographic, TupleKind::power, TupleKind::expectation};
  const char* names[] = {"product", "lexicographic", "power", "expectation"};
  std::vector<AlgebraPointer> algebras;
  for (const AnySemiring* part : parts) algebras.push_back(algebra_of(*part));
  if (kind == "power" || kind == "expectation")
    std::fill(algebras.begin(), algebras.end(), algebras.empty() ? nullptr : algebras[0]);
  for (int i = 0; i < 4; ++i)
    if (kind == names[i]) return {Dynamic{std::make_shared<TupleAlgebra>(kinds[i], std::move(algebras))}};
  fail("no semiring of tuples is called '", kind, "'");
}

AnySemiring gallic_semiring(const std::string& kind, const AnySemiring& weights) {
  const char* names[] = {"left", "right", "restricted", "min", "general"};
  for (int i = 0; i < 5; ++i)
    if (kind == names[i])
      return {Dynamic{std::make_shared<GallicAlgebra>(static_cast<GallicKind>(i), algebra_of(weights))}};
  fail("gallic weights are 'left', 'right', 'restricted', 'min' or 'general', not '", kind, "'");
}

AnySemiring set_semiring(const std::string& name) {
  for (const SetKind kind : {SetKind::intersect_union, SetKind::union_intersect, SetKind::restrict, SetKind::boolean}) {
    auto made = std::make_shared<SetAlgebra>(kind);
    if (made->name() == name) return {Dynamic{std::move(made)}};
  }
  fail("no semiring of sets is called '", name, "'");
}

template <class F>
auto semiring_call(const AnySemiring& any, F f) {
  return std::visit([&](const auto& k) { return f(k); }, any.object);
}

Side side_of(const std::string& side) {
  if (side != "left" && side != "right" && side != "any") fail("side is 'left', 'right' or 'any', not '", side, "'");
  return side == "left" ? Side::left : side == "right" ? Side::right : Side::any;
}

}  // namespace

void bind_fst_semirings(nb::module_& m) {
  nb::class_<AnySemiring>(m, "Semiring", "A semiring: how weights are added and multiplied.")
      .def_prop_ro("name",
                   [](const AnySemiring& any) {
                     return semiring_call(any, [](const auto& k) { return std::string(k.name()); });
                   })
      .def_prop_ro("zero",
                   [](const AnySemiring& any) {
                     return semiring_call(any, [](const auto& k) { return to_python(k, k.zero()); });
                   })
      .def_prop_ro("one",
                   [](const AnySemiring& any) {
                     return semiring_call(any, [](const auto& k) { return to_python(k, k.one()); });
                   })
      .def_prop_ro("flags",
                   [](const AnySemiring& any) {
                     return semiring_call(any, [](const auto& k) {
                       return std::make_tuple(k.left(), k.right(), k.commutative(), k.idempotent(), k.path());
                     });
                   })
      .def_prop_ro(
          "weight_bytes",
          [](const AnySemiring& any) { return semiring_call(any, [](const auto& k) { return sizeof(k.zero()); }); })
      .def(
          "plus",
          [](const AnySemiring& any, nb::handle a, nb::handle b) {
            return semiring_call(any,
                                 [&](const auto& k) { return to_python(k, k.plus(to_weight(k, a), to_weight(k, b))); });
          },
          "a"_a.none(), "b"_a.none())
      .def(
          "times",
          [](const AnySemiring& any, nb::handle a, nb::handle b) {
            return semiring_call(
                any, [&](const auto& k) { return to_python(k, k.times(to_weight(k, a), to_weight(k, b))); });
          },
          "a"_a.none(), "b"_a.none())
      .def(
          "divide",
          [](const AnySemiring& any, nb::handle a, nb::handle b, const std::string& side) {
            return semiring_call(any, [&](const auto& k) {
              const auto w = k.divide(to_weight(k, a), to_weight(k, b), side_of(side));
              return k.member(w) ? to_python(k, w) : nb::none();
            });
          },
          "a"_a.none(), "b"_a.none(), "side"_a)
      .def(
          "approx_equal",
          [](const AnySemiring& any, nb::handle a, nb::handle b, double delta) {
            return semiring_call(any, [&](const auto& k) { return k.approx(to_weight(k, a), to_weight(k, b), delta); });
          },
          "a"_a.none(), "b"_a.none(), "delta"_a)
      .def(
          "quantize",
          [](const AnySemiring& any, nb::handle a, double delta) {
            return semiring_call(any, [&](const auto& k) { return to_python(k, k.quantize(to_weight(k, a), delta)); });
          },
          "a"_a.none(), "delta"_a)
      .def(
          "reverse",
          [](const AnySemiring& any, nb::handle a) {
            return semiring_call(any, [&](const auto& k) {
              const auto other = k.reversed();
              return to_python(other, k.reverse(to_weight(k, a)));
            });
          },
          "a"_a.none())
      .def("reversed",
           [](const AnySemiring& any) {
             return semiring_call(any, [](const auto& k) { return AnySemiring{All::Object(k.reversed())}; });
           })
      .def(
          "format",
          [](const AnySemiring& any, nb::handle a) {
            return semiring_call(any, [&](const auto& k) {
              std::string out;
              k.write(out, to_weight(k, a));
              return out;
            });
          },
          "a"_a.none())
      .def("parse",
           [](const AnySemiring& any, std::string_view text) {
             return semiring_call(any, [&](const auto& k) {
               typename std::decay_t<decltype(k)>::Weight w{};
               if (!k.read(text, w) || !k.member(w))
                 fail("'", text, "' is not a weight of the semiring ", std::string(k.name()));
               return to_python(k, w);
             });
           })
      .def("same", [](const AnySemiring& a, const AnySemiring& b) {
        if (a.object.index() != b.object.index()) return false;
        const auto* x = std::get_if<Dynamic>(&a.object);
        return !x || x->algebra == std::get<Dynamic>(b.object).algebra;
      });
  m.def("number_semiring", &number_semiring, "name"_a);
  m.def("string_semiring", &string_semiring, "kind"_a);
  m.def("tuple_semiring", &tuple_semiring, "kind"_a, "parts"_a);
  m.def("gallic_semiring", &gallic_semiring, "kind"_a, "weights"_a);
  m.def("set_semiring", &set_semiring, "name"_a);
  m.def("union_semiring", [](const AnySemiring& weights) {
    return AnySemiring{Dynamic{std::make_shared<UnionAlgebra>(algebra_of(weights))}};
  });
  m.def("sparse_power_semiring", [](const AnySemiring& weights) {
    return AnySemiring{Dynamic{std::make_shared<SparsePowerAlgebra>(algebra_of(weights))}};
  });
  m.def("error_semiring", [] { return AnySemiring{Dynamic{std::make_shared<ErrorAlgebra>()}}; });
  m.def("python_semiring", [](nb::object definition, std::string name) {
    return AnySemiring{Dynamic{std::make_shared<PythonAlgebra>(std::move(definition), std::move(name))}};
  });
}

template <class S>
nb::object to_python(const S& semiring, const typename S::Weight& w) {
  if constexpr (std::same_as<S, Dynamic>) {
    return algebra_to_python(*semiring.algebra, w.id);
  } else {
    return number_to_python(w);
  }
}

template <class S>
typename S::Weight to_weight(const S& semiring, nb::handle value) {
  if constexpr (std::same_as<S, Dynamic>) {
    return {algebra_from_python(*semiring.algebra, value)};
  } else {
    return number_from_python<S>(value);
  }
}

#define X(S)                                                                     \
  template nb::object to_python(const S& semiring, const typename S::Weight& w); \
  template typename S::Weight to_weight(const S& semiring, nb::handle value);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

fst::AlgebraPointer algebra_of(const AnySemiring& semiring) {
  return std::visit(
      [](const auto& k) -> AlgebraPointer {
        using S = std::decay_t<decltype(k)>;
        if constexpr (std::same_as<S, Dynamic>) {
          return k.algebra;
        } else {
          static const AlgebraPointer shared = std::make_shared<NumberAlgebra<S>>();
          return shared;
        }
      },
      semiring.object);
}

}  // namespace textmill::bind
