// Semirings whose plus and times are written in Python.
#pragma once

#include <nanobind/stl/string.h>

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/fst.h"

namespace textmill::bind {

// Values are hashable objects, numbered as they come.
class PythonAlgebra final : public fst::Algebra {
 public:
  PythonAlgebra(nb::object definition, std::string name) : definition_(std::move(definition)), name_(std::move(name)) {
    of(definition_.attr("zero"), "zero");
    of(definition_.attr("one"), "one");
    if (values_.size() != 2) fst::fail("zero and one of the semiring ", name_, " must differ");
    values_.push_back(nb::none());
    left_ = flag("left", true);
    right_ = flag("right", true);
    commutative_ = flag("commutative", false);
    idempotent_ = flag("idempotent", false);
    path_ = flag("path", false);
  }
  nb::object value(Id a) const { return values_[a]; }
  // The number of a value; `where` says in messages how it came.
  Id of(nb::handle value, const char* where) {
    if (value.is_none()) fst::fail("None is not a weight of the semiring ", name_, " (", where, ")");
    if (PyFloat_Check(value.ptr()) && std::isnan(PyFloat_AS_DOUBLE(value.ptr())))
      fst::fail("NaN is not a weight of the semiring ", name_, " (", where, ")");
    try {
      if (index_.contains(value)) return nb::cast<Id>(index_[value]);
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_TypeError) || !std::strstr(error.what(), "unhashable")) throw;
      fst::fail("weights of the semiring ", name_, " must be hashable, but ", described(value), " is not (", where,
                ")");
    }
    if (values_.size() >= kMost) fst::fail("the semiring ", name_, " has more than ", kMost, " different weights");
    const Id made = static_cast<Id>(values_.size());
    values_.push_back(nb::borrow(value));  // before Python's code may run again
    index_[value] = made;
    return made;
  }
  std::string name() const override { return name_; }
  Id plus(Id a, Id b) override { return of(definition_.attr("plus")(values_[a], values_[b]), "returned by plus"); }
  Id times(Id a, Id b) override { return of(definition_.attr("times")(values_[a], values_[b]), "returned by times"); }
  Id divide(Id a, Id b, fst::Side side) override {
    if (!nb::hasattr(definition_, "divide"))
      fst::fail("the semiring ", name_, " has no division: give its class a method divide(a, b, side)");
    const nb::object made = definition_.attr("divide")(values_[a], values_[b],
                                                       side == fst::Side::left    ? "left"
                                                       : side == fst::Side::right ? "right"
                                                                                  : "any");
    return made.is_none() ? kNone : of(made, "returned by divide");
  }
  bool approx(Id a, Id b, double delta) override {
    if (a == b || !nb::hasattr(definition_, "approx_equal")) return a == b;
    return truth(definition_.attr("approx_equal")(values_[a], values_[b], delta));
  }
  Id quantize(Id a, double delta) override {
    if (a <= kNone || !nb::hasattr(definition_, "quantize")) return a;
    return of(definition_.attr("quantize")(values_[a], delta), "returned by quantize");
  }
  Id reverse(Id a) override {
    if (commutative_) return a;
    reversible();
    return a <= kNone ? a : of(definition_.attr("reverse")(values_[a]), "returned by reverse");
  }
  fst::AlgebraPointer reversed() override {
    if (!commutative_) reversible();
    return shared_from_this();
  }
  std::string text(Id a) override {
    if (!nb::hasattr(definition_, "format")) return nb::cast<std::string>(nb::str(values_[a]));
    std::string made;
    const nb::object given = definition_.attr("format")(values_[a]);
    if (!nb::try_cast(given, made))
      fst::fail("format of the semiring ", name_, " must return a string, but returned ", described(given));
    return made;
  }
  bool parse(std::string_view text, Id& a) override {
    if (!nb::hasattr(definition_, "parse"))
      fst::fail("weights of ", name_, " cannot be read from text: give its class a method parse(text)");
    const nb::object made = definition_.attr("parse")(nb::str(text.data(), text.size()));
    if (made.is_none()) return false;
    a = of(made, "returned by parse");
    return true;
  }
  bool left() const override { return left_; }
  bool right() const override { return right_; }
  bool commutative() const override { return commutative_; }
  bool idempotent() const override { return idempotent_; }
  bool path() const override { return path_; }

 private:
  static constexpr std::size_t kMost = 0x7FFFFFFF;
  static bool truth(nb::handle value) {
    const int is = PyObject_IsTrue(value.ptr());
    if (is < 0) throw nb::python_error();
    return is != 0;
  }
  static std::string described(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }
  bool flag(const char* key, bool otherwise) const {
    return nb::hasattr(definition_, key) ? truth(definition_.attr(key)) : otherwise;
  }
  void reversible() const {
    if (!nb::hasattr(definition_, "reverse"))
      fst::fail("the semiring ", name_,
                " does not commute: give its class a method reverse(a) with reverse(ab) = reverse(b) reverse(a)");
  }

  nb::object definition_;
  std::string name_;
  std::vector<nb::object> values_;
  nb::dict index_;
  bool left_, right_, commutative_, idempotent_, path_;
};

}  // namespace textmill::bind
