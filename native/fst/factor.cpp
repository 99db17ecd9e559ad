#include "fst/factor.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "fst/lazy_transform.h"

namespace textmill::fst {
namespace {

using Id = Algebra::Id;

// What a weight is made of: (first, rest) with first times rest, or a sum of such products. Empty: it cannot be cut.
class Factors {
 public:
  explicit Factors(Algebra& algebra)
      : strings_(dynamic_cast<StringAlgebra*>(&algebra)), gallic_(dynamic_cast<GallicAlgebra*>(&algebra)) {}

  const std::vector<std::pair<Id, Id>>& of(Id weight) {
    found_.clear();
    if (weight == Algebra::kZero || weight == Algebra::kNone) return found_;
    if (strings_) {
      const std::vector<std::int32_t> labels = copied(strings_->value(weight));
      if (labels.size() > 1) found_.push_back(cut(*strings_, labels));
    } else if (gallic_) {
      const std::vector<std::int32_t> pairs = copied(gallic_->value(weight));
      const bool whole = pairs.size() == 2 && length(pairs[0]) <= 1;
      for (std::size_t i = 0; !whole && i + 1 < pairs.size(); i += 2) {
        const auto [first, rest] = cut(gallic_->strings(), copied(gallic_->strings().value(static_cast<Id>(pairs[i]))));
        found_.emplace_back(pair(first, static_cast<Id>(pairs[i + 1])), pair(rest, Algebra::kOne));
      }
    }
    return found_;
  }

  // Labels of the longest string in a weight.
  std::size_t labels(Id weight) {
    if (weight == Algebra::kZero || weight == Algebra::kNone) return 0;
    if (strings_) return strings_->value(weight).size();
    std::size_t most = 0;
    if (gallic_)
      for (std::size_t i = 0; i + 1 < gallic_->value(weight).size(); i += 2)
        most = std::max(most, length(gallic_->value(weight)[i]));
    return most;
  }

 private:
  // Values lie in a table that moves when it grows.
  template <class Value>
  static std::vector<std::int32_t> copied(const Value& value) {
    return {value.begin(), value.end()};
  }
  static std::pair<Id, Id> cut(StringAlgebra& strings, const std::vector<std::int32_t>& labels) {
    const std::size_t first = labels.empty() ? 0 : 1;
    return {strings.of(std::vector(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(first))),
            strings.of(std::vector(labels.begin() + static_cast<std::ptrdiff_t>(first), labels.end()))};
  }
  std::size_t length(std::int32_t string) { return gallic_->strings().value(static_cast<Id>(string)).size(); }
  Id pair(Id string, Id weight) {
    const std::int32_t value[] = {static_cast<std::int32_t>(string), static_cast<std::int32_t>(weight)};
    return gallic_->of_pairs(value);
  }

  StringAlgebra* const strings_;
  GallicAlgebra* const gallic_;
  std::vector<std::pair<Id, Id>> found_;
};

// States are (state, weight still to be paid); behind the end the state is kNoState.
class Factored final : public Cached<Dynamic::Weight> {
 public:
  using W = Dynamic::Weight;
  Factored(LazyPointer<W> a, const Dynamic& k, bool arcs, bool finals, std::size_t longest, std::size_t limit)
      : Cached(a->ring_pointer(), limit),
        a_(std::move(a)),
        k_(k),
        arcs_(arcs),
        finals_(finals),
        longest_(longest),
        factors_(*k_.algebra) {}

 protected:
  std::int32_t compute_start() override { return a_->start() == kNoState ? kNoState : to(a_->start(), Algebra::kOne); }
  std::int32_t count() override { return static_cast<std::int32_t>(places_.size()); }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const auto [s, rest] = places_[q];
    const W end = s == kNoState ? W{rest} : k_.times({rest}, a_->final(s));
    const auto ends = finals_ ? factors_.of(end.id) : std::vector<std::pair<Id, Id>>();
    out.open(ends.empty() ? end : k_.zero());
    if (s != kNoState)
      for (const auto& arc : a_->state(s)) {
        const W weight = k_.times({rest}, arc.weight);
        const auto parts = arcs_ ? factors_.of(weight.id) : std::vector<std::pair<Id, Id>>();
        if (parts.empty()) out.push({arc.ilabel, arc.olabel, weight, to(arc.nextstate, Algebra::kOne)});
        for (const auto& [first, left] : parts) out.push({arc.ilabel, arc.olabel, {first}, to(arc.nextstate, left)});
      }
    for (const auto& [first, left] : ends) out.push({0, 0, {first}, to(kNoState, left)});
  }

 private:
  std::int32_t to(std::int32_t state, Id rest) {
    const auto [at, is_new] = number_.add(std::uint64_t{static_cast<std::uint32_t>(state)} << 32 | rest,
                                          static_cast<std::int32_t>(places_.size()));
    if (is_new) {
      if (factors_.labels(rest) > longest_)
        fail("the weights on a cycle through state ", state,
             " hold more labels than it has arcs: they cannot be factored");
      places_.push_back({state, rest});
    }
    return at;
  }
  struct Place {
    std::int32_t state;
    Id rest;
  };
  LazyPointer<W> a_;
  Dynamic k_;
  bool arcs_, finals_;
  std::size_t longest_;
  Factors factors_;
  std::vector<Place> places_;
  base::FlatTable<std::int32_t> number_;
};

}  // namespace

LazyPointer<Dynamic::Weight> lazy_factor_weights(LazyPointer<Dynamic::Weight> a, const Dynamic& semiring, bool arcs,
                                                 bool finals, std::size_t longest, std::size_t limit) {
  return std::make_shared<Factored>(std::move(a), semiring, arcs, finals, longest, limit);
}

Machine<Dynamic> factor_weights(const Machine<Dynamic>& machine, bool arcs, bool finals, std::size_t most_states) {
  const Dynamic& k = machine.semiring();
  Factors factors(*k.algebra);
  std::size_t longest = 0;  // that can wait on a way that takes no arc twice
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    longest += factors.labels(machine.final(s).id);
    for (const auto& arc : machine.arcs(s)) longest += factors.labels(arc.weight.id);
  }
  return {k, expand(*lazy_factor_weights(borrowed(ring_of(k), machine.bare()), k, arcs, finals, longest, kNoLimit),
                    most_states)};
}

}  // namespace textmill::fst
