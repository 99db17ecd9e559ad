// Semirings: the algebra of weights that every operation of this folder is written for.
//
// HOW native/fst IS BUILT
//
//   semirings.h    the numeric semirings, and Dynamic, which stands for all that are put together at run time
//   algebra.h      what a Dynamic semiring calls: strings, products, powers, gallic weights; Python's come from native/bind
//   machine.h      Automaton<W>: states and arcs in two flat arrays, growing or mapped from a file; Machine<S>: an
//                  automaton with its semiring
//   properties.h   what is known of a machine: acceptor, sorted, acyclic, ... in OpenFst's bits
//   <operation>.h  one header for each family of operations, templates declared; <operation>.cpp defines them and
//                  instantiates each for TEXTMILL_FST_SEMIRINGS, or for TEXTMILL_FST_WEIGHTS (below)
//
// A semiring is an object, not a type of weight: weights are plain trivially copyable values (a float, a pair, a number
// of an interned value) and S knows how to add and multiply them. For the numeric semirings S is empty and everything is
// inlined; a Dynamic semiring holds a pointer to its Algebra. So one template serves compiled and user-defined semirings,
// arcs stay as small as they can be, and a new semiring needs no new instantiation unless it must be fast.
//
// To add an operation: declare `template <class S> Machine<S> f(const Machine<S>&, ...)` in a header, define it in a
// .cpp that ends with the instantiation macro, and bind it once in native/bind/fst_*.cpp, where std::visit finds the S.
// Operations throw Fault (base/fault.h) with one line that says what to do. They never change their argument.
//
// What costs time is compiling: nine semirings times every operation. An operation that never adds or multiplies is
// written for Automaton<W> and compiled for the five types of weight; one that needs an order of weights is compiled
// only for semirings that may_have_order. `python -m bench native` shows what each file costs.
//
// The laws (checked for every semiring in tests/fst/test_semirings.py): plus is associative and commutative with zero;
// times is associative with one, zero annihilates; times distributes over plus from the left if left(), from the right
// if right(). path(): a plus b is a or b, so that weights are ordered, a before b iff a plus b == a. divide(a, b, left)
// is some c with b times c == a, divide(a, b, right) some c with c times b == a; none() where there is none. star(a) is
// one plus a plus aa plus ..., none() where that sum has no end.
// Reference: Mohri (2002), Semiring frameworks and algorithms for shortest-distance problems.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/fault.h"
#include "fst/sequences.h"

namespace textmill::fst {

using base::fail;
using base::Fault;

inline constexpr double kDelta = 1.0 / 1024;      // weights closer than this are equal in comparisons
inline constexpr double kShortestDelta = 1.0e-6;  // ... and here a cyclic sum has converged

enum class Side : std::uint8_t { left, right, any };

// Numbers as OpenFst writes them, but with as many digits as they need to be read back.
template <std::floating_point Real>
void write_number(std::string& out, Real x) {
  if (x == std::numeric_limits<Real>::infinity()) {
    out += "Infinity";
  } else if (x == -std::numeric_limits<Real>::infinity()) {
    out += "-Infinity";
  } else if (x != x) {
    out += "BadNumber";
  } else {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
  }
}

template <std::floating_point Real>
bool read_number(std::string_view text, Real& x) {
  if (text == "Infinity" || text == "inf") {
    x = std::numeric_limits<Real>::infinity();
    return true;
  }
  if (text == "-Infinity" || text == "-inf") {
    x = -std::numeric_limits<Real>::infinity();
    return true;
  }
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (end != text.data() + text.size()) return false;
  if (fault == std::errc::result_out_of_range) {  // too large, or so small that it is 0
    x = static_cast<Real>(std::strtod(std::string(text).c_str(), nullptr));
    return x > -1 && x < 1;
  }
  return fault == std::errc() && x == x;
}

template <std::floating_point Real>
std::uint64_t hash_number(Real x) {
  x += Real{0};  // -0 and 0 are equal
  if constexpr (sizeof(Real) == 4) {
    return stir(std::bit_cast<std::uint32_t>(x));
  } else {
    return stir(std::bit_cast<std::uint64_t>(x));
  }
}

// floor(x / delta + 1/2) delta: equal for numbers that differ by rounding, but at the borders.
template <std::floating_point Real>
Real quantize_number(Real x, double delta) {
  if (!std::isfinite(x) || !(delta > 0.0)) return x;
  return static_cast<Real>(std::floor(x / delta + 0.5) * delta);
}

template <std::floating_point Real>
bool approx_number(Real a, Real b, double delta) {
  return a == b || (a <= b + delta && b <= a + delta);  // equal infinities first: their difference is no number
}

// What all semirings over one number share.
template <std::floating_point R>
struct Numeric {
  using Weight = R;
  using Component = R;
  static constexpr Weight none() { return std::numeric_limits<R>::quiet_NaN(); }
  static bool equal(Weight a, Weight b) { return a == b; }
  static bool approx(Weight a, Weight b, double delta) { return approx_number(a, b, delta); }
  static Weight quantize(Weight a, double delta) { return quantize_number(a, delta); }
  static std::uint64_t hash(Weight a) { return hash_number(a); }
  static Weight reverse(Weight a) { return a; }
  static void write(std::string& out, Weight a) { write_number(out, a); }
  static bool read(std::string_view text, Weight& a) { return read_number(text, a); }
  static constexpr bool left() { return true; }
  static constexpr bool right() { return true; }
  static constexpr bool commutative() { return true; }
};

// min, +
template <std::floating_point R>
struct Tropical : Numeric<R> {
  static constexpr bool idempotent() { return true; }
  static constexpr bool path() { return true; }
  static constexpr const char* name() { return sizeof(R) == 4 ? "tropical" : "tropical64"; }
  static constexpr R zero() { return std::numeric_limits<R>::infinity(); }
  static constexpr R one() { return 0; }
  static bool member(R a) { return a == a && a != -std::numeric_limits<R>::infinity(); }
  static R plus(R a, R b) { return b < a ? b : a; }
  static R times(R a, R b) { return a + b; }  // infinity absorbs: no member is -infinity
  static R divide(R a, R b, Side = Side::any) {
    return a == zero() ? (b == zero() ? Numeric<R>::none() : a) : b == zero() ? Numeric<R>::none() : a - b;
  }
  static bool less(R a, R b) { return a < b; }
  static R star(R a) { return a >= 0 ? R{0} : Numeric<R>::none(); }
  const Tropical& reversed() const { return *this; }
};

// -ln(e^-a + e^-b), +
template <std::floating_point R>
struct Log : Numeric<R> {
  static constexpr bool idempotent() { return false; }
  static constexpr bool path() { return false; }
  static constexpr const char* name() { return sizeof(R) == 4 ? "log" : "log64"; }
  static constexpr R zero() { return std::numeric_limits<R>::infinity(); }
  static constexpr R one() { return 0; }
  static bool member(R a) { return a == a && a != -std::numeric_limits<R>::infinity(); }
  static R plus(R a, R b) {
    if (b < a) std::swap(a, b);
    if (b == zero()) return a;
    return static_cast<R>(a - std::log1p(std::exp(-static_cast<double>(b - a))));
  }
  static R times(R a, R b) { return a + b; }
  static R divide(R a, R b, Side side = Side::any) { return Tropical<R>::divide(a, b, side); }
  static bool less(R, R) { return false; }
  static R star(R a) {
    return a > 0 ? static_cast<R>(std::log1p(-std::exp(-static_cast<double>(a)))) : Numeric<R>::none();
  }
  const Log& reversed() const { return *this; }
};

// +, x over [0, infinity)
struct Probability : Numeric<double> {
  static constexpr bool idempotent() { return false; }
  static constexpr bool path() { return false; }
  static constexpr const char* name() { return "real"; }
  static constexpr double zero() { return 0.0; }
  static constexpr double one() { return 1.0; }
  static bool member(double a) { return a >= 0.0 && a < std::numeric_limits<double>::infinity(); }
  static double plus(double a, double b) { return a + b; }
  static double times(double a, double b) { return a * b; }
  static double divide(double a, double b, Side = Side::any) { return b == 0.0 ? none() : a / b; }
  static bool less(double, double) { return false; }
  static double star(double a) { return a < 1.0 ? 1.0 / (1.0 - a) : none(); }
  const Probability& reversed() const { return *this; }
};

// or, and
struct Boolean {
  using Weight = std::int8_t;  // 0, 1; -1 is no weight
  using Component = std::int8_t;
  static constexpr bool left() { return true; }
  static constexpr bool right() { return true; }
  static constexpr bool commutative() { return true; }
  static constexpr bool idempotent() { return true; }
  static constexpr bool path() { return true; }
  static constexpr const char* name() { return "boolean"; }
  static constexpr Weight zero() { return 0; }
  static constexpr Weight one() { return 1; }
  static constexpr Weight none() { return -1; }
  static bool member(Weight a) { return a == 0 || a == 1; }
  static Weight plus(Weight a, Weight b) { return (a | b) < 0 ? none() : a | b; }
  static Weight times(Weight a, Weight b) { return (a | b) < 0 ? none() : a & b; }
  static Weight divide(Weight a, Weight b, Side = Side::any) { return b == 1 ? a : none(); }
  static bool less(Weight a, Weight b) { return a > b; }  // 1 or 0 is 1: the one comes first
  static Weight star(Weight) { return one(); }
  static bool equal(Weight a, Weight b) { return a == b; }
  static bool approx(Weight a, Weight b, double) { return a == b; }
  static Weight quantize(Weight a, double) { return a; }
  static std::uint64_t hash(Weight a) { return stir(static_cast<std::uint64_t>(a)); }
  static Weight reverse(Weight a) { return a; }
  static void write(std::string& out, Weight a) { out += a < 0 ? "BadNumber" : a ? "1" : "0"; }
  static bool read(std::string_view text, Weight& a) {
    a = text == "1" || text == "true";
    return a || text == "0" || text == "false";
  }
  const Boolean& reversed() const { return *this; }
};

// min, max
struct MinMax : Numeric<float> {
  static constexpr bool idempotent() { return true; }
  static constexpr bool path() { return true; }
  static constexpr const char* name() { return "minmax"; }
  static constexpr float zero() { return std::numeric_limits<float>::infinity(); }
  static constexpr float one() { return -std::numeric_limits<float>::infinity(); }
  static bool member(float a) { return a == a; }
  static float plus(float a, float b) { return b < a ? b : a; }
  static float times(float a, float b) { return b > a ? b : a; }
  static float divide(float a, float b, Side = Side::any) { return a >= b ? a : none(); }  // max(a, b) == a
  static bool less(float a, float b) { return a < b; }
  static float star(float) { return one(); }
  const MinMax& reversed() const { return *this; }
};

// Numbers of either sign by their logarithms: (sign, x) stands for sign e^-x.
struct SignedLog {
  struct Weight {
    double sign;  // 1 or -1
    double x;
    friend bool operator==(const Weight&, const Weight&) = default;
  };
  using Component = double;
  static constexpr bool left() { return true; }
  static constexpr bool right() { return true; }
  static constexpr bool commutative() { return true; }
  static constexpr bool idempotent() { return false; }
  static constexpr bool path() { return false; }
  static constexpr const char* name() { return "signed_log"; }
  static constexpr Weight zero() { return {1.0, std::numeric_limits<double>::infinity()}; }
  static constexpr Weight one() { return {1.0, 0.0}; }
  static constexpr Weight none() { return {0.0, std::numeric_limits<double>::quiet_NaN()}; }
  static bool member(Weight a) {
    return (a.sign == 1.0 || a.sign == -1.0) && a.x == a.x && a.x != -std::numeric_limits<double>::infinity();
  }
  static Weight plus(Weight a, Weight b) {
    if (b.x < a.x) std::swap(a, b);
    if (b.x == std::numeric_limits<double>::infinity()) return a.x == b.x ? zero() : a;
    const double ratio = std::exp(a.x - b.x);  // <= 1
    if (a.sign == b.sign) return {a.sign, a.x - std::log1p(ratio)};
    return ratio == 1.0 ? zero() : Weight{a.sign, a.x - std::log1p(-ratio)};
  }
  static Weight times(Weight a, Weight b) {
    const double x = a.x + b.x;
    return x == std::numeric_limits<double>::infinity() ? zero() : Weight{a.sign * b.sign, x};
  }
  static Weight divide(Weight a, Weight b, Side = Side::any) {
    if (b.x == std::numeric_limits<double>::infinity()) return none();
    return a.x == std::numeric_limits<double>::infinity() ? zero() : Weight{a.sign * b.sign, a.x - b.x};
  }
  static bool less(Weight, Weight) { return false; }
  static Weight star(Weight a) {  // 1 / (1 - a) for |a| < 1
    if (!(a.x > 0.0)) return none();
    return {1.0, std::log1p(-a.sign * std::exp(-a.x))};
  }
  static bool equal(Weight a, Weight b) {
    return a.x == b.x && (a.sign == b.sign || a.x == std::numeric_limits<double>::infinity());
  }
  static bool approx(Weight a, Weight b, double delta) {
    return approx_number(a.x, b.x, delta) && (a.sign == b.sign || a.x == std::numeric_limits<double>::infinity());
  }
  static Weight quantize(Weight a, double delta) { return {a.sign, quantize_number(a.x, delta)}; }
  static std::uint64_t hash(Weight a) { return join(hash_number(a.x), a.sign > 0); }
  static Weight reverse(Weight a) { return a; }
  static void write(std::string& out, Weight a) {
    write_number(out, a.sign);
    out += ',';
    write_number(out, a.x);
  }
  static bool read(std::string_view text, Weight& a) {
    const std::size_t comma = text.find(',');
    return comma != text.npos && read_number(text.substr(0, comma), a.sign) &&
           read_number(text.substr(comma + 1), a.x) && (a.sign == 1.0 || a.sign == -1.0);
  }
  const SignedLog& reversed() const { return *this; }
};

// Strings under the longest common prefix, by their numbers in a table: outputs of transducers that are pushed or
// determinized. kInfinite is zero, 0 the empty string and one.
class StringPool {
 public:
  static constexpr std::uint32_t kInfinite = std::numeric_limits<std::uint32_t>::max();
  StringPool() { table_.insert({}); }

  std::span<const std::int32_t> operator[](std::uint32_t id) const { return table_[id]; }
  std::uint32_t of(std::span<const std::int32_t> labels) { return table_.insert(labels); }
  std::uint32_t of(std::int32_t label) { return label == 0 ? 0 : of(std::span(&label, 1)); }  // label 0 is no label

  std::uint32_t concat(std::uint32_t a, std::uint32_t b);
  std::uint32_t append(std::uint32_t a, std::int32_t label) { return label == 0 ? a : concat(a, of(label)); }
  std::uint32_t common_prefix(std::uint32_t a, std::uint32_t b);
  std::uint32_t prefix(std::uint32_t a, std::size_t length);
  std::uint32_t suffix(std::uint32_t a, std::size_t length);  // without its first `length` labels

 private:
  SequenceTable table_;
  std::vector<std::int32_t> buffer_;
};

// What a Dynamic semiring is made of: a table of its distinct values, each with a number. 0 is zero, 1 one, 2 no weight.
// Calls are not thread-safe: operations on such machines keep the interpreter's lock.
class Algebra : public std::enable_shared_from_this<Algebra> {
 public:
  using Id = std::uint32_t;
  static constexpr Id kZero = 0, kOne = 1, kNone = 2;

  virtual ~Algebra() = default;
  virtual std::string name() const = 0;
  virtual Id plus(Id a, Id b) = 0;
  virtual Id times(Id a, Id b) = 0;
  virtual Id divide(Id a, Id b, Side side) = 0;
  virtual bool approx(Id a, Id b, double delta) = 0;
  virtual Id quantize(Id a, double delta) = 0;
  virtual Id reverse(Id a) = 0;                     // a number of reversed()
  virtual std::shared_ptr<Algebra> reversed() = 0;  // itself if commutative
  virtual std::string text(Id a) = 0;
  virtual bool parse(std::string_view text, Id& a) = 0;
  virtual bool endless(Id) { return false; }  // does one plus a plus aa plus ... grow for ever?
  virtual bool left() const = 0;
  virtual bool right() const = 0;
  virtual bool commutative() const = 0;
  virtual bool idempotent() const = 0;
  virtual bool path() const = 0;
};

struct Dynamic {
  struct Weight {
    Algebra::Id id = Algebra::kZero;
    friend bool operator==(const Weight&, const Weight&) = default;
  };
  using Component = std::uint32_t;
  std::shared_ptr<Algebra> algebra;

  static Weight zero() { return {Algebra::kZero}; }
  static Weight one() { return {Algebra::kOne}; }
  static Weight none() { return {Algebra::kNone}; }
  static bool member(Weight a) { return a.id != Algebra::kNone; }
  static bool equal(Weight a, Weight b) { return a.id == b.id && a.id != Algebra::kNone; }
  static std::uint64_t hash(Weight a) { return stir(a.id); }
  std::string name() const { return algebra->name(); }
  bool left() const { return algebra->left(); }
  bool right() const { return algebra->right(); }
  bool commutative() const { return algebra->commutative(); }
  bool idempotent() const { return algebra->idempotent(); }
  bool path() const { return algebra->path(); }
  Weight plus(Weight a, Weight b) const {
    if (a.id == Algebra::kZero) return b;
    if (b.id == Algebra::kZero) return a;
    if (a.id == Algebra::kNone || b.id == Algebra::kNone) return none();
    return {algebra->plus(a.id, b.id)};
  }
  Weight times(Weight a, Weight b) const {
    if (a.id == Algebra::kNone || b.id == Algebra::kNone) return none();
    if (a.id == Algebra::kZero || b.id == Algebra::kZero) return zero();
    if (a.id == Algebra::kOne) return b;
    if (b.id == Algebra::kOne) return a;
    return {algebra->times(a.id, b.id)};
  }
  Weight divide(Weight a, Weight b, Side side = Side::any) const {
    if (a.id == Algebra::kNone || b.id == Algebra::kNone || b.id == Algebra::kZero) return none();
    if (b.id == Algebra::kOne || a.id == Algebra::kZero) return a;
    return {algebra->divide(a.id, b.id, side)};
  }
  bool less(Weight a, Weight b) const { return a.id != b.id && plus(a, b).id == a.id; }
  // one plus a plus aa plus ...: summed until it stands still, none if it does not.
  Weight star(Weight a) const {
    if (algebra->endless(a.id)) return none();
    Weight sum = one();
    for (int i = 0; i < 1000; ++i) {
      const Weight next = plus(one(), times(a, sum));
      if (next == sum || (i > 0 && approx(next, sum, 1e-12))) return next;
      sum = next;
    }
    return none();
  }
  bool approx(Weight a, Weight b, double delta) const { return a.id == b.id || algebra->approx(a.id, b.id, delta); }
  Weight quantize(Weight a, double delta) const { return {algebra->quantize(a.id, delta)}; }
  Weight reverse(Weight a) const { return {algebra->reverse(a.id)}; }
  Dynamic reversed() const { return {algebra->reversed()}; }
  void write(std::string& out, Weight a) const { out += algebra->text(a.id); }
  bool read(std::string_view text, Weight& a) const { return algebra->parse(text, a.id); }
};

// What can be told of weights by their type alone: equal, hash, quantize, approx, write, read.
template <class W>
struct ValuesOf {
  using Type = Numeric<W>;
};
template <>
struct ValuesOf<Boolean::Weight> {
  using Type = Boolean;
};
template <>
struct ValuesOf<SignedLog::Weight> {
  using Type = SignedLog;
};
template <>
struct ValuesOf<Dynamic::Weight> {
  using Type = Dynamic;
};
template <class W>
using Values = typename ValuesOf<W>::Type;

// False where path() is known to be false when the program is compiled, so that best paths need no code.
template <class S>
inline constexpr bool may_have_order = S::path();
template <>
inline constexpr bool may_have_order<Dynamic> = true;

// Every semiring that operations are compiled for; first those of numbers. The only list: all others come from it.
#define TEXTMILL_FST_NUMBERS(X) \
  X(Tropical<float>)            \
  X(Tropical<double>)           \
  X(Log<float>)                 \
  X(Log<double>)                \
  X(Probability)                \
  X(Boolean)                    \
  X(MinMax)                     \
  X(SignedLog)
#define TEXTMILL_FST_SEMIRINGS(X) TEXTMILL_FST_NUMBERS(X) X(Dynamic)

// Every type of weight that a semiring has.
#define TEXTMILL_FST_WEIGHTS(X) X(float) X(double) X(Boolean::Weight) X(SignedLog::Weight) X(Dynamic::Weight)

}  // namespace textmill::fst
