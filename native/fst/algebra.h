// Semirings that are put together at run time, as algebras over numbered values (semirings.h).
//
//   number     any numeric semiring, so that others can be built of it
//   string     sequences of labels: times is concatenation; plus the longest common prefix (left) or suffix (right), or
//              defined for equal strings only (restrict)
//   product    pairs, component by component; power: n equal components
//   lexicographic   pairs of path semirings, ordered by the first and then the second
//   expectation     (x, y1 ... yn) times (x', y') = (x x', x y' + y x')
//   gallic     a string and a weight; of two different strings plus takes the common prefix (left) or suffix (right),
//              refuses (restrict), keeps the lighter (min), or keeps both (general)
//
// Written as text, components are separated by commas, nested ones stand in parentheses, labels of a string are joined
// by "_". Reference: Mohri (2009), Weighted automata algorithms.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/flat_table.h"
#include "fst/semirings.h"

namespace textmill::fst {

using AlgebraPointer = std::shared_ptr<Algebra>;

// An algebra in which times commutes: every value is its own reverse, and division is from both sides.
template <class Base>
class Commutative : public Base {
 public:
  using Id = typename Base::Id;
  Id reverse(Id a) override { return a; }
  AlgebraPointer reversed() override { return this->shared_from_this(); }
  bool left() const override { return true; }
  bool right() const override { return true; }
  bool commutative() const override { return true; }
};

// An algebra of values that are equal or not, with nothing in between.
template <class Base>
class Exact : public Base {
 public:
  using Id = typename Base::Id;
  bool approx(Id a, Id b, double) override { return a == b; }
  Id quantize(Id a, double) override { return a; }
};

// Values as sequences of numbers (of components, of labels): what all of the above but the numbers themselves are.
class SequenceAlgebra : public Algebra {
 public:
  std::span<const std::int32_t> value(Id a) const { return table_[a]; }
  Id of(std::span<const std::int32_t> value) { return table_.insert(value); }

 protected:
  void begin(std::span<const std::int32_t> zero, std::span<const std::int32_t> one, std::span<const std::int32_t> none);

 private:
  SequenceTable table_;
};

template <class S>
class NumberAlgebra final : public Commutative<Algebra> {
 public:
  using Weight = typename S::Weight;
  NumberAlgebra();
  Weight value(Id a) const { return values_[a]; }
  Id of(const Weight& w);
  std::string name() const override { return S::name(); }
  Id plus(Id a, Id b) override { return of(S::plus(values_[a], values_[b])); }
  Id times(Id a, Id b) override { return of(S::times(values_[a], values_[b])); }
  Id divide(Id a, Id b, Side) override { return of(S::divide(values_[a], values_[b])); }
  bool approx(Id a, Id b, double delta) override { return S::approx(values_[a], values_[b], delta); }
  Id quantize(Id a, double delta) override { return of(S::quantize(values_[a], delta)); }
  std::string text(Id a) override;
  bool parse(std::string_view text, Id& a) override;
  bool idempotent() const override { return S::idempotent(); }
  bool path() const override { return S::path(); }

 private:
  std::vector<Weight> values_;
  base::FlatIndex index_;
};

enum class StringKind : std::uint8_t { left, right, restrict };

class StringAlgebra final : public Exact<SequenceAlgebra> {
 public:
  explicit StringAlgebra(StringKind kind);
  StringKind kind() const { return kind_; }
  std::string name() const override;
  Id plus(Id a, Id b) override;
  Id times(Id a, Id b) override;
  Id divide(Id a, Id b, Side side) override;
  Id reverse(Id a) override;
  AlgebraPointer reversed() override;
  std::string text(Id a) override;
  bool parse(std::string_view text, Id& a) override;
  bool left() const override { return kind_ != StringKind::right; }
  bool right() const override { return kind_ != StringKind::left; }
  bool commutative() const override { return false; }
  bool idempotent() const override { return true; }
  bool path() const override { return false; }

 private:
  StringKind kind_;
  std::weak_ptr<Algebra> partner_;
};

enum class TupleKind : std::uint8_t { product, lexicographic, power, expectation };

class TupleAlgebra final : public SequenceAlgebra {
 public:
  // product and lexicographic: two or more parts; power and expectation: equal ones.
  TupleAlgebra(TupleKind kind, std::vector<AlgebraPointer> parts);
  TupleKind kind() const { return kind_; }
  const std::vector<AlgebraPointer>& parts() const { return parts_; }
  Id of_parts(std::span<const std::int32_t> value);  // no weight if one of them is none
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
  bool endless(Id a) override;
  bool left() const override;
  bool right() const override;
  bool commutative() const override;
  bool idempotent() const override;
  bool path() const override { return kind_ == TupleKind::lexicographic; }

 private:
  TupleKind kind_;
  std::vector<AlgebraPointer> parts_;
  std::weak_ptr<Algebra> partner_;
};

enum class GallicKind : std::uint8_t { left, right, restrict, min, general };

// Values: string, weight, string, weight ...; more than one pair only if general, then by rising string.
class GallicAlgebra final : public SequenceAlgebra {
 public:
  GallicAlgebra(GallicKind kind, AlgebraPointer weights);
  GallicKind kind() const { return kind_; }
  StringAlgebra& strings() { return *strings_; }
  const AlgebraPointer& weights() const { return weights_; }
  Id of_pairs(std::span<const std::int32_t> value);
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
  bool endless(Id a) override;
  bool left() const override { return kind_ != GallicKind::right && weights_->left(); }
  bool right() const override { return kind_ != GallicKind::left && weights_->right(); }
  bool commutative() const override { return false; }
  bool idempotent() const override { return weights_->idempotent(); }
  bool path() const override { return kind_ == GallicKind::min && weights_->path(); }

 private:
  GallicKind kind_;
  std::shared_ptr<StringAlgebra> strings_;
  AlgebraPointer weights_;
  std::weak_ptr<Algebra> partner_;
};

}  // namespace textmill::fst
