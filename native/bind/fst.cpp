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
#include "fst/text.h"

namespace textmill::bind {
namespace {

using fst::Algebra;
using fst::AlgebraPointer;
using fst::fail;
using fst::GallicAlgebra;
using fst::GallicKind;
using fst::NumberAlgebra;
using fst::Side;
using fst::StringAlgebra;
using fst::StringKind;
using fst::SymbolTable;
using fst::TupleAlgebra;
using fst::TupleKind;

// A semiring written in Python: values are hashable objects, numbered as they come.
class PythonAlgebra final : public Algebra {
 public:
  PythonAlgebra(nb::object definition, std::string name) : definition_(std::move(definition)), name_(std::move(name)) {
    of(definition_.attr("zero"));
    of(definition_.attr("one"));
    if (values_.size() != 2) fail("zero and one of the semiring ", name_, " must differ");
    values_.push_back(nb::none());
    left_ = flag("left", true);
    right_ = flag("right", true);
    commutative_ = flag("commutative", false);
    idempotent_ = flag("idempotent", false);
    path_ = flag("path", false);
  }
  nb::object value(Id a) const { return values_[a]; }
  Id of(nb::handle value) {
    if (value.is_none()) return kNone;
    if (index_.contains(value)) return nb::cast<Id>(index_[value]);
    const Id made = static_cast<Id>(values_.size());
    index_[value] = made;
    values_.push_back(nb::borrow(value));
    return made;
  }
  std::string name() const override { return name_; }
  Id plus(Id a, Id b) override { return of(definition_.attr("plus")(values_[a], values_[b])); }
  Id times(Id a, Id b) override { return of(definition_.attr("times")(values_[a], values_[b])); }
  Id divide(Id a, Id b, Side side) override {
    if (!nb::hasattr(definition_, "divide")) fail("the semiring ", name_, " has no division: give its class a method divide(a, b, side)");
    return of(definition_.attr("divide")(values_[a], values_[b], side == Side::left ? "left" : side == Side::right ? "right" : "any"));
  }
  bool approx(Id a, Id b, double delta) override {
    if (a == b || !nb::hasattr(definition_, "approx_equal")) return a == b;
    return nb::cast<bool>(definition_.attr("approx_equal")(values_[a], values_[b], delta));
  }
  Id quantize(Id a, double delta) override {
    return a <= kNone || !nb::hasattr(definition_, "quantize") ? a : of(definition_.attr("quantize")(values_[a], delta));
  }
  Id reverse(Id a) override {
    if (commutative_) return a;
    reversible();
    return a <= kNone ? a : of(definition_.attr("reverse")(values_[a]));
  }
  AlgebraPointer reversed() override {
    if (!commutative_) reversible();
    return shared_from_this();
  }
  std::string text(Id a) override {
    if (nb::hasattr(definition_, "format")) return nb::cast<std::string>(definition_.attr("format")(values_[a]));
    return nb::cast<std::string>(nb::str(values_[a]));
  }
  bool parse(std::string_view text, Id& a) override {
    if (!nb::hasattr(definition_, "parse")) fail("weights of ", name_, " cannot be read from text: give its class a method parse(text)");
    a = of(definition_.attr("parse")(nb::str(text.data(), text.size())));
    return true;
  }
  bool left() const override { return left_; }
  bool right() const override { return right_; }
  bool commutative() const override { return commutative_; }
  bool idempotent() const override { return idempotent_; }
  bool path() const override { return path_; }

 private:
  bool flag(const char* key, bool otherwise) const {
    return nb::hasattr(definition_, key) ? nb::cast<bool>(definition_.attr(key)) : otherwise;
  }
  void reversible() const {
    if (!nb::hasattr(definition_, "reverse"))
      fail("the semiring ", name_, " does not commute: give its class a method reverse(a) with reverse(ab) = reverse(b) reverse(a)");
  }

  nb::object definition_;
  std::string name_;
  std::vector<nb::object> values_;
  nb::dict index_;
  bool left_, right_, commutative_, idempotent_, path_;
};

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
  if (a == Algebra::kZero) return nb::none();
  nb::list labels;
  for (const std::int32_t label : strings.value(a)) labels.append(label);
  return nb::tuple(labels);
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
  if (!S::member(w)) not_a_weight(S::name(), value, "another set: NaN and infinities that stand for nothing are not in it");
  return w;
}

template <class S>
bool try_number_from(Algebra& algebra, nb::handle value, Algebra::Id& a) {
  auto* const numbers = dynamic_cast<NumberAlgebra<S>*>(&algebra);
  if (numbers) a = numbers->of(number_from_python<S>(value));
  return numbers != nullptr;
}

Algebra::Id string_from_python(StringAlgebra& strings, nb::handle value) {
  if (value.is_none()) return Algebra::kZero;
  std::vector<std::int32_t> labels;
  if (!nb::try_cast(value, labels) || std::ranges::any_of(labels, [](std::int32_t label) { return label <= 0; }))
    not_a_weight(strings.name(), value, "a tuple of positive labels, or None for zero");
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
    return python->of(value);
  }
  if (auto* strings = dynamic_cast<StringAlgebra*>(&algebra)) return string_from_python(*strings, value);
  std::vector<nb::object> parts;
  if (!nb::isinstance<nb::tuple>(value) || !nb::try_cast(value, parts)) not_a_weight(algebra.name(), value, "a tuple");
  std::vector<std::int32_t> numbers;
  if (auto* tuples = dynamic_cast<TupleAlgebra*>(&algebra)) {
    if (parts.size() != tuples->parts().size()) not_a_weight(algebra.name(), value, "a tuple of as many parts");
    for (std::size_t i = 0; i < parts.size(); ++i) numbers.push_back(static_cast<std::int32_t>(algebra_from_python(*tuples->parts()[i], parts[i])));
    return tuples->of_parts(numbers);
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
  fail("no semiring is called '", name, "'; there are tropical, tropical64, log, log64, real, boolean, minmax, signed_log and what is made of them");
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
  if (kind == "power" || kind == "expectation") std::fill(algebras.begin(), algebras.end(), algebras.empty() ? nullptr : algebras[0]);
  for (int i = 0; i < 4; ++i)
    if (kind == names[i]) return {Dynamic{std::make_shared<TupleAlgebra>(kinds[i], std::move(algebras))}};
  fail("no semiring of tuples is called '", kind, "'");
}

AnySemiring gallic_semiring(const std::string& kind, const AnySemiring& weights) {
  const char* names[] = {"left", "right", "restricted", "min", "general"};
  for (int i = 0; i < 5; ++i)
    if (kind == names[i]) return {Dynamic{std::make_shared<GallicAlgebra>(static_cast<GallicKind>(i), algebra_of(weights))}};
  fail("gallic weights are 'left', 'right', 'restricted', 'min' or 'general', not '", kind, "'");
}

template <class F>
auto semiring_call(const AnySemiring& any, F f) {
  return std::visit([&](const auto& k) { return f(k); }, any.object);
}

Side side_of(const std::string& side) {
  if (side != "left" && side != "right" && side != "any") fail("side is 'left', 'right' or 'any', not '", side, "'");
  return side == "left" ? Side::left : side == "right" ? Side::right : Side::any;
}

template <class M>
void check_state(const M& machine, std::int64_t s) {
  if (s < 0 || s >= machine.states()) fail("state ", s, " is not one of the ", machine.states(), " states of the machine");
}

std::int32_t check_label(std::int64_t label) {
  if (label < 0 || label > 0x7FFFFFFF) fail("label ", label, " is not a whole number from 0 to 2,147,483,647");
  return static_cast<std::int32_t>(label);
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
        return nb::cast(nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(arcs.data(), {arcs.size_bytes()}, owner));
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
        std::vector<std::uint8_t> arcs(held->arcs() * sizeof(typename M::Arc)), finals(held->states() * sizeof(typename M::Weight));
        for (std::int32_t s = 0; s < held->states(); ++s) {
          const auto from = held->arcs(s);
          if (!from.empty()) std::memcpy(arcs.data() + offsets.back() * sizeof(typename M::Arc), from.data(), from.size_bytes());
          std::memcpy(finals.data() + s * sizeof(typename M::Weight), &held->final(s), sizeof(typename M::Weight));
          offsets.push_back(offsets.back() + static_cast<std::int64_t>(from.size()));
        }
        return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(arcs)), to_numpy(std::move(finals)));
      },
      any.handle);
}

// A machine from columns; weights as components (float32, float64, int8, pairs of float64 side by side).
template <class S>
AnyMachine from_columns(const S& k, std::int64_t start, In<std::int32_t, 1> sources, In<std::int32_t, 1> ilabels, In<std::int32_t, 1> olabels,
                        std::optional<In<std::uint8_t, 1>> weights, In<std::int32_t, 1> nextstates, In<std::int32_t, 1> final_states,
                        std::optional<In<std::uint8_t, 1>> final_weights, std::int64_t states) {
  using Weight = typename S::Weight;
  const std::size_t n = sources.size();
  if (ilabels.size() != n || olabels.size() != n || nextstates.size() != n || (weights && weights->size() != n * sizeof(Weight)))
    fail("sources, ilabels, olabels, weights and nextstates must have the same length");
  if (final_weights && final_weights->size() != final_states.size() * sizeof(Weight)) fail("final_states and final_weights must have the same length");
  if (states < 0 || states > static_cast<std::int64_t>(fst::kMostStates)) fail("a machine has 0 to 2,147,483,647 states, not ", states);
  if (start < -1 || start >= states) fail("the start state is ", start, " of ", states);
  std::vector<typename Machine<S>::State> made(states, {k.zero(), 0, 0, 0, 0});
  const auto weight_at = [&](const std::optional<In<std::uint8_t, 1>>& bytes, std::size_t i) {
    Weight w = k.one();
    if (bytes) std::memcpy(&w, bytes->data() + i * sizeof(Weight), sizeof(Weight));
    if (!k.member(w)) fail("weight ", i, " is not in the semiring ", std::string(k.name()), ": NaN and infinities that stand for nothing are not in it");
    return w;
  };
  for (std::size_t i = 0; i < final_states.size(); ++i) {
    const std::int32_t s = final_states.data()[i];
    if (s < 0 || s >= states) fail("final state ", s, " is not one of the ", states, " states");
    made[s].final = weight_at(final_weights, i);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t s = sources.data()[i], t = nextstates.data()[i];
    if (s < 0 || s >= states || t < 0 || t >= states) fail("arc ", i, " leads from state ", s, " to ", t, " of ", states);
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
    arcs[next[sources.data()[i]]++] = {ilabels.data()[i], olabels.data()[i], weight_at(weights, i), nextstates.data()[i]};
  return any(Machine<S>::assembled(k, static_cast<std::int32_t>(start), std::move(made), std::move(arcs)));
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const fst::Fault& fault) {
    const std::string_view words = fault.what();  // which may quote what is not UTF-8
    const nb::object message = nb::steal(PyUnicode_DecodeUTF8(words.data(), static_cast<Py_ssize_t>(words.size()), "replace"));
    const nb::object error = nb::module_::import_("textmill.errors").attr("DataError")(message);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

void bind_semirings(nb::module_& m) {
  nb::class_<AnySemiring>(m, "Semiring", "A semiring: how weights are added and multiplied.")
      .def_prop_ro("name", [](const AnySemiring& any) { return semiring_call(any, [](const auto& k) { return std::string(k.name()); }); })
      .def_prop_ro("zero", [](const AnySemiring& any) { return semiring_call(any, [](const auto& k) { return to_python(k, k.zero()); }); })
      .def_prop_ro("one", [](const AnySemiring& any) { return semiring_call(any, [](const auto& k) { return to_python(k, k.one()); }); })
      .def_prop_ro("flags",
                   [](const AnySemiring& any) {
                     return semiring_call(any, [](const auto& k) {
                       return std::make_tuple(k.left(), k.right(), k.commutative(), k.idempotent(), k.path());
                     });
                   })
      .def_prop_ro("weight_bytes", [](const AnySemiring& any) { return semiring_call(any, [](const auto& k) { return sizeof(k.zero()); }); })
      .def("plus", [](const AnySemiring& any, nb::handle a, nb::handle b) {
        return semiring_call(any, [&](const auto& k) { return to_python(k, k.plus(to_weight(k, a), to_weight(k, b))); });
      }, "a"_a.none(), "b"_a.none())
      .def("times", [](const AnySemiring& any, nb::handle a, nb::handle b) {
        return semiring_call(any, [&](const auto& k) { return to_python(k, k.times(to_weight(k, a), to_weight(k, b))); });
      }, "a"_a.none(), "b"_a.none())
      .def("divide", [](const AnySemiring& any, nb::handle a, nb::handle b, const std::string& side) {
        return semiring_call(any, [&](const auto& k) {
          const auto w = k.divide(to_weight(k, a), to_weight(k, b), side_of(side));
          return k.member(w) ? to_python(k, w) : nb::none();
        });
      }, "a"_a.none(), "b"_a.none(), "side"_a)
      .def("approx_equal", [](const AnySemiring& any, nb::handle a, nb::handle b, double delta) {
        return semiring_call(any, [&](const auto& k) { return k.approx(to_weight(k, a), to_weight(k, b), delta); });
      }, "a"_a.none(), "b"_a.none(), "delta"_a)
      .def("quantize", [](const AnySemiring& any, nb::handle a, double delta) {
        return semiring_call(any, [&](const auto& k) { return to_python(k, k.quantize(to_weight(k, a), delta)); });
      }, "a"_a.none(), "delta"_a)
      .def("reverse", [](const AnySemiring& any, nb::handle a) {
        return semiring_call(any, [&](const auto& k) {
          const auto other = k.reversed();
          return to_python(other, k.reverse(to_weight(k, a)));
        });
      }, "a"_a.none())
      .def("reversed", [](const AnySemiring& any) { return semiring_call(any, [](const auto& k) { return AnySemiring{All::Object(k.reversed())}; }); })
      .def("format", [](const AnySemiring& any, nb::handle a) {
        return semiring_call(any, [&](const auto& k) {
          std::string out;
          k.write(out, to_weight(k, a));
          return out;
        });
      }, "a"_a.none())
      .def("parse", [](const AnySemiring& any, std::string_view text) {
        return semiring_call(any, [&](const auto& k) {
          typename std::decay_t<decltype(k)>::Weight w{};
          if (!k.read(text, w) || !k.member(w)) fail("'", text, "' is not a weight of the semiring ", std::string(k.name()));
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
  m.def("python_semiring", [](nb::object definition, std::string name) {
    return AnySemiring{Dynamic{std::make_shared<PythonAlgebra>(std::move(definition), std::move(name))}};
  });
}

// Symbols are bytes; those that are not UTF-8 come out as Python reads file names.
nb::object symbol_text(std::string_view symbol) {
  return nb::steal(PyUnicode_DecodeUTF8(symbol.data(), static_cast<Py_ssize_t>(symbol.size()), "surrogateescape"));
}

void bind_symbols(nb::module_& m) {
  nb::class_<SymbolTable>(m, "SymbolTable", "Names of labels.")
      .def(nb::init<>())
      .def("__init__", [](SymbolTable* self, const SymbolTable& other) { new (self) SymbolTable(other); })
      .def_prop_rw("name", [](const SymbolTable& t) { return symbol_text(t.name); }, [](SymbolTable& t, const std::string& name) { t.name = name; })
      .def_prop_ro("available", &SymbolTable::available)
      .def("__len__", &SymbolTable::size)
      .def("key", [](const SymbolTable& t, std::string_view symbol) { return t.find(symbol); })
      .def("symbol", [](const SymbolTable& t, std::int64_t key) -> nb::object {
        const auto found = t.find(key);
        return found ? symbol_text(*found) : nb::none();
      })
      .def("add", [](SymbolTable& t, std::string_view symbol, std::optional<std::int64_t> key) { return key ? t.add(symbol, *key) : t.add(symbol); },
           "symbol"_a, "key"_a.none() = nb::none())
      .def("remove", &SymbolTable::remove)
      .def("items",
           [](const SymbolTable& t) {
             nb::list items;
             t.each([&](std::int64_t key, std::string_view symbol) { items.append(nb::make_tuple(key, symbol_text(symbol))); });
             return items;
           })
      .def("same",
           [](const SymbolTable& a, const SymbolTable& b) {
             bool same = a.size() == b.size();
             a.each([&](std::int64_t key, std::string_view symbol) { same = same && b.find(symbol) == key; });
             return same;
           })
      .def("to_text", [](const SymbolTable& t) {
        const std::string text = fst::write_symbols_text(t);
        return nb::bytes(text.data(), text.size());
      })
      .def("to_bytes", [](const SymbolTable& t) {
        std::string out;
        fst::write_symbols_binary(out, t);
        return nb::bytes(out.data(), out.size());
      })
      .def_static("from_text", [](nb::bytes text) { return fst::read_symbols_text({text.c_str(), text.size()}); })
      .def_static("from_bytes", [](nb::bytes bytes) {
        std::size_t at = 0;
        return fst::read_symbols_binary({bytes.c_str(), bytes.size()}, at);
      });
}

// Owns a Python buffer from C++: given back under the interpreter's lock.
std::shared_ptr<void> owner_of(nb::handle buffer) {
  auto* held = new nb::object(nb::borrow(buffer));
  return std::shared_ptr<void>(held, [](void* p) {
    nb::gil_scoped_acquire gil;
    delete static_cast<nb::object*>(p);
  });
}

template <class S>
bool try_read(const fst::BinaryHeader& header, std::span<const char> bytes, std::shared_ptr<void> owner, std::size_t& end, std::optional<AnyMachine>& made) {
  const std::string type = std::same_as<S, Tropical<float>> ? "standard" : std::same_as<S, Probability> ? "real64" : std::string(S::name());
  if (header.arc_type != type) return false;
  nb::gil_scoped_release nogil;
  Machine<S> machine = fst::read_binary(bytes, header, S{}, std::move(owner), end);
  const bool mapped = machine.is_mapped();
  made = any(std::move(machine));
  made->checked = !mapped;
  return true;
}

nb::tuple read_binary(In<std::uint8_t, 1> buffer, std::size_t offset, bool map) {
  if (offset > buffer.size()) fail("the machine begins behind the end of the file");
  const std::span<const char> bytes(reinterpret_cast<const char*>(buffer.data()) + offset, buffer.size() - offset);
  fst::BinaryHeader header = fst::read_header(bytes);
  std::optional<AnyMachine> made;
  std::size_t end = 0;
  auto owner = map ? owner_of(buffer.cast()) : nullptr;
#define X(S) \
  if (!made) try_read<S>(header, bytes, owner, end, made);
  TEXTMILL_FST_NUMBERS(X)
#undef X
  if (!made) fail("arcs of type '", header.arc_type, "' cannot be read; convert the machine with `fstmap --map_type=to_standard`");
  return nb::make_tuple(std::move(*made), offset + end, header.type, std::move(header.input), std::move(header.output));
}

nb::bytes write_binary(const AnyMachine& any, const std::string& type, bool align, const SymbolTable* input, const SymbolTable* output) {
  const std::string out = with(any, [&](const auto& machine) -> std::string {
    using S = typename std::decay_t<decltype(machine)>::Semiring;
    if constexpr (std::same_as<S, Dynamic>) {
      fail("machines of the semiring ", machine.semiring().name(), " have no binary form; write them as text");
    } else {
      return fst::write_binary(machine, type, align, input, output);
    }
  });
  return nb::bytes(out.data(), out.size());
}

void bind_files(nb::module_& m) {
  m.def("read_text",
        [](nb::bytes text, const AnySemiring& semiring, bool acceptor, const SymbolTable* input, const SymbolTable* output, const SymbolTable* states, bool keep_numbers) {
          const std::string_view view(text.c_str(), text.size());
          const fst::TextOptions options{{input, output, states}, acceptor, keep_numbers, false, {}};
          return std::visit(
              [&](const auto& k) {
                if constexpr (std::same_as<std::decay_t<decltype(k)>, Dynamic>) {
                  return any(fst::read_text(view, k, options));
                } else {
                  nb::gil_scoped_release nogil;
                  return any(fst::read_text(view, k, options));
                }
              },
              semiring.object);
        },
        "text"_a, "semiring"_a, nb::kw_only(), "acceptor"_a, "input"_a.none(), "output"_a.none(), "states"_a.none(), "keep_numbers"_a);
  m.def("write_text",
        [](const AnyMachine& any, bool acceptor, const SymbolTable* input, const SymbolTable* output, const SymbolTable* states, bool show_one, const std::string& missing) {
          const fst::TextOptions options{{input, output, states}, acceptor, false, show_one, missing};
          const std::string out = with(any, [&](const auto& machine) { return fst::write_text(machine, options); });
          return nb::bytes(out.data(), out.size());
        },
        "machine"_a, nb::kw_only(), "acceptor"_a, "input"_a.none(), "output"_a.none(), "states"_a.none(), "show_one"_a, "missing"_a);
  m.def("read_binary", &read_binary, "buffer"_a, "offset"_a, "map"_a, "Machine, end, type, input symbols, output symbols.");
  m.def("write_binary", &write_binary, "machine"_a, "type"_a, "align"_a, "input"_a.none(), "output"_a.none());
}

}  // namespace

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

#define X(S)                                                                \
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

void check(const AnyMachine& any) {
  if (any.checked) return;
  std::visit(
      [](const auto& held) {
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
  nb::register_exception_translator(translate, nullptr);
  bind_semirings(m);
  bind_symbols(m);
  nb::class_<AnyMachine>(m, "Machine", "A weighted transducer.")
      .def("__init__",
           [](AnyMachine* self, const AnySemiring& semiring) {
             new (self) AnyMachine{std::visit([](const auto& k) -> All::Handle { return std::make_shared<Machine<std::decay_t<decltype(k)>>>(k); }, semiring.object)};
           })
      .def("copy", [](const AnyMachine& any) { return AnyMachine{any.handle, 0, any.checked}; })
      .def_prop_ro("version", [](const AnyMachine& any) { return any.version; })
      .def_prop_ro("semiring",
                   [](const AnyMachine& any) { return std::visit([](const auto& held) { return AnySemiring{All::Object(held->semiring())}; }, any.handle); })
      .def_prop_ro("states", [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->states(); }, any.handle); })
      .def_prop_ro("arcs", [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->arcs(); }, any.handle); })
      .def_prop_ro("start", [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->start(); }, any.handle); })
      .def_prop_ro("mapped", [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->is_mapped(); }, any.handle); })
      .def_prop_ro("memory", [](const AnyMachine& any) { return std::visit([](const auto& held) { return held->memory(); }, any.handle); })
      .def("set_start", [](AnyMachine& any, std::int64_t s) {
        change(any, [&](auto& machine) {
          if (s != -1) check_state(machine, s);
          machine.set_start(static_cast<std::int32_t>(s));
        });
      })
      .def("add_states", [](AnyMachine& any, std::int64_t n) {
        if (n < 0) fail("the number of states to add is ", n, ", below 0");
        return change(any, [&](auto& machine) {
          const std::int32_t first = machine.states();
          machine.add_states(static_cast<std::size_t>(n));
          return first;
        });
      })
      .def("final", [](const AnyMachine& any, std::int64_t s) {
        return std::visit(
            [&](const auto& held) {
              check_state(*held, s);
              return to_python(held->semiring(), held->final(static_cast<std::int32_t>(s)));
            },
            any.handle);
      })
      .def("set_final", [](AnyMachine& any, std::int64_t s, nb::handle weight) {
        change(any, [&](auto& machine) {
          check_state(machine, s);
          const auto& k = machine.semiring();
          machine.set_final(static_cast<std::int32_t>(s), weight.is_none() ? k.one() : to_weight(k, weight));
        });
      }, "state"_a, "weight"_a.none())
      .def("add_arc", [](AnyMachine& any, std::int64_t s, std::int64_t ilabel, std::int64_t olabel, nb::handle weight, std::int64_t next) {
        change(any, [&](auto& machine) {
          check_state(machine, s);
          check_state(machine, next);
          const auto& k = machine.semiring();
          machine.add_arc(static_cast<std::int32_t>(s), {check_label(ilabel), check_label(olabel), weight.is_none() ? k.one() : to_weight(k, weight), static_cast<std::int32_t>(next)});
        });
      }, "state"_a, "ilabel"_a, "olabel"_a, "weight"_a.none(), "nextstate"_a)
      .def("arc", [](const AnyMachine& any, std::int64_t s, std::int64_t i) {
        check(any);
        return std::visit(
            [&](const auto& held) {
              check_state(*held, s);
              const auto arcs = held->arcs(static_cast<std::int32_t>(s));
              if (i < 0 || static_cast<std::size_t>(i) >= arcs.size()) fail("state ", s, " has ", arcs.size(), " arcs, there is no arc ", i);
              const auto& arc = arcs[i];
              return nb::make_tuple(arc.ilabel, arc.olabel, to_python(held->semiring(), arc.weight), arc.nextstate);
            },
            any.handle);
      })
      .def("set_arc", [](AnyMachine& any, std::int64_t s, std::int64_t i, std::int64_t ilabel, std::int64_t olabel, nb::handle weight, std::int64_t next) {
        change(any, [&](auto& machine) {
          check_state(machine, s);
          check_state(machine, next);
          const auto& k = machine.semiring();
          const auto arcs = machine.edit(static_cast<std::int32_t>(s));
          if (i < 0 || static_cast<std::size_t>(i) >= arcs.size()) fail("state ", s, " has ", arcs.size(), " arcs, there is no arc ", i);
          arcs[i] = {check_label(ilabel), check_label(olabel), weight.is_none() ? k.one() : to_weight(k, weight), static_cast<std::int32_t>(next)};
          machine.recount(static_cast<std::int32_t>(s));
        });
      }, "state"_a, "position"_a, "ilabel"_a, "olabel"_a, "weight"_a.none(), "nextstate"_a)
      .def("arc_list", [](const AnyMachine& any, std::int64_t s) {
        check(any);
        return std::visit(
            [&](const auto& held) {
              check_state(*held, s);
              nb::list out;
              for (const auto& arc : held->arcs(static_cast<std::int32_t>(s)))
                out.append(nb::make_tuple(arc.ilabel, arc.olabel, to_python(held->semiring(), arc.weight), arc.nextstate));
              return out;
            },
            any.handle);
      })
      .def("counts", [](const AnyMachine& any, std::int64_t s) {
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
      .def_prop_ro("arc_layout", [](const AnyMachine& any) {
        return std::visit(
            [](const auto& held) {
              using Arc = typename std::decay_t<decltype(*held)>::Arc;
              return std::make_tuple(sizeof(Arc), offsetof(Arc, weight), offsetof(Arc, nextstate));
            },
            any.handle);
      })
      .def_static("from_columns",
           [](const AnySemiring& semiring, std::int64_t start, In<std::int32_t, 1> sources, In<std::int32_t, 1> ilabels, In<std::int32_t, 1> olabels,
              std::optional<In<std::uint8_t, 1>> weights, In<std::int32_t, 1> nextstates, In<std::int32_t, 1> final_states,
              std::optional<In<std::uint8_t, 1>> final_weights, std::int64_t states) {
             return std::visit(
                 [&](const auto& k) {
                   if constexpr (std::same_as<std::decay_t<decltype(k)>, Dynamic>) {
                     if (weights || final_weights) fail("weights of the semiring ", k.name(), " have no arrays; add the arcs one by one");
                   }
                   return from_columns(k, start, sources, ilabels, olabels, weights, nextstates, final_states, final_weights, states);
                 },
                 semiring.object);
           },
           "semiring"_a, "start"_a, "sources"_a, "ilabels"_a, "olabels"_a, "weights"_a.none(), "nextstates"_a, "final_states"_a, "final_weights"_a.none(), "states"_a)
      .def("delete_arcs", [](AnyMachine& any, std::int64_t s, std::optional<std::int64_t> keep) {
        change(any, [&](auto& machine) {
          check_state(machine, s);
          const auto n = static_cast<std::int64_t>(machine.arcs(static_cast<std::int32_t>(s)).size());
          if (keep && (*keep < 0 || *keep > n)) fail("state ", s, " has ", n, " arcs, ", *keep, " cannot be kept");
          machine.truncate(static_cast<std::int32_t>(s), static_cast<std::size_t>(keep.value_or(0)));
        });
      }, "state"_a, "keep"_a.none() = nb::none())
      .def("delete_states", [](AnyMachine& any, const std::vector<std::int64_t>& states) {
        change(any, [&](auto& machine) {
          std::vector<bool> mask(machine.states(), true);
          for (const std::int64_t s : states) {
            check_state(machine, s);
            mask[s] = false;
          }
          machine.keep(mask);
        });
      })
      .def("clear", [](AnyMachine& any) { change(any, [](auto& machine) { machine.clear(); }); })
      .def("reserve", [](AnyMachine& any, std::uint32_t states, std::uint32_t arcs) { change(any, [&](auto& machine) { machine.reserve(states, arcs); }); })
      .def("properties", [](const AnyMachine& any, std::uint64_t mask, bool test) {
        return with(any, [&](const auto& machine) { return test ? fst::properties(machine, mask) : machine.known() & mask; });
      }, "mask"_a, "test"_a);
  bind_files(m);
  bind_fst_operations(m);
  bind_fst_optimize(m);
  bind_fst_strings(m);
  bind_fst_transform(m);
}

}  // namespace textmill::bind
