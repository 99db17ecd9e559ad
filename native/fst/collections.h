// More semirings that are put together at run time (algebra.h): sets of labels, sets of weights, sparse vectors, errors.
//
//   sets           intersect_union_set: plus is intersection, times union (zero: the universal set, one: the empty set);
//                  restricted_set_intersect_union: plus only of equal sets; union_intersect_set: the two exchanged;
//                  boolean_set: all sets but the universal one count as the empty one
//   union(A)       finite sets of weights of A: plus is the union, times all products; zero: no weight, one: {one}
//   sparse_power(A)   vectors over all whole numbers, component by component: a default and the components that differ
//   error          what is left where no weight could be computed: zero and one, and a fault when they are calculated with
//
// Written as text: labels joined by "_", EmptySet, UnivSet; weights of a union in parentheses, separated by commas; the
// default, then keys and values. As OpenFst's weights of these names.
#pragma once

#include <string>
#include <vector>

#include "fst/algebra.h"

namespace textmill::fst {

enum class SetKind : std::uint8_t { intersect_union, union_intersect, restrict, boolean };

// Values: sorted positive labels; {-1} is the universal set.
class SetAlgebra final : public Commutative<Exact<SequenceAlgebra>> {
 public:
  explicit SetAlgebra(SetKind kind);
  Id universal() const { return kind_ == SetKind::union_intersect ? kOne : kZero; }
  Id empty() const { return kind_ == SetKind::union_intersect ? kZero : kOne; }
  Id of_labels(std::vector<std::int32_t> labels);  // sorted or not
  std::string name() const override;
  Id plus(Id a, Id b) override;
  Id times(Id a, Id b) override;
  Id divide(Id a, Id b, Side) override;
  std::string text(Id a) override;
  bool parse(std::string_view text, Id& a) override;
  bool idempotent() const override { return true; }
  bool path() const override { return kind_ == SetKind::boolean; }

 private:
  Id intersection(Id a, Id b);
  Id joined(Id a, Id b);
  SetKind kind_;
};

// Values: numbers of weights, rising, without zero.
class UnionAlgebra final : public SequenceAlgebra {
 public:
  explicit UnionAlgebra(AlgebraPointer weights);
  const AlgebraPointer& weights() const { return weights_; }
  Id of_weights(std::vector<std::int32_t> weights);  // no weight if one of them is none
  std::string name() const override;
  Id plus(Id a, Id b) override;
  Id times(Id a, Id b) override;
  Id divide(Id a, Id b, Side side) override;
  bool approx(Id a, Id b, double delta) override;
  Id quantize(Id a, double delta) override;
  Id reverse(Id a) override;
  AlgebraPointer reversed() override;
  std::string text(Id a) override;
  bool parse(std::string_view text, Id& a) override;
  bool left() const override { return true; }
  bool right() const override { return true; }
  bool commutative() const override { return weights_->commutative(); }
  bool idempotent() const override { return true; }
  bool path() const override { return false; }

 private:
  AlgebraPointer weights_;
  std::weak_ptr<Algebra> partner_;
};

// Values: the default, then key and value of each component that differs, by rising key.
class SparsePowerAlgebra final : public SequenceAlgebra {
 public:
  explicit SparsePowerAlgebra(AlgebraPointer weights);
  const AlgebraPointer& weights() const { return weights_; }
  Id of_entries(std::vector<std::int32_t> value);  // keys rising; entries equal to the default are dropped
  std::string name() const override;
  Id plus(Id a, Id b) override;
  Id times(Id a, Id b) override;
  Id divide(Id a, Id b, Side side) override;
  bool approx(Id a, Id b, double delta) override;
  Id quantize(Id a, double delta) override;
  Id reverse(Id a) override;
  AlgebraPointer reversed() override;
  std::string text(Id a) override;
  bool parse(std::string_view text, Id& a) override;
  bool left() const override { return weights_->left(); }
  bool right() const override { return weights_->right(); }
  bool commutative() const override { return weights_->commutative(); }
  bool idempotent() const override { return weights_->idempotent(); }
  bool path() const override { return false; }

 private:
  AlgebraPointer weights_;
  std::weak_ptr<Algebra> partner_;
};

class ErrorAlgebra final : public Commutative<Exact<Algebra>> {
 public:
  std::string name() const override { return "error"; }
  Id plus(Id, Id) override { refuse(); }
  Id times(Id, Id) override { refuse(); }
  Id divide(Id, Id, Side) override { refuse(); }
  std::string text(Id a) override { return a == kZero ? "0" : a == kOne ? "1" : "BadNumber"; }
  bool parse(std::string_view text, Id& a) override {
    a = text == "1" ? kOne : kZero;
    return text == "0" || text == "1";
  }
  bool idempotent() const override { return false; }
  bool path() const override { return false; }

 private:
  [[noreturn]] static void refuse() {
    fail("the weights of this machine are errors and cannot be calculated with; map them to another semiring");
  }
};

}  // namespace textmill::fst
