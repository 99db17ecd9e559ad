#include "fst/factor.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

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

}  // namespace

Machine<Dynamic> factor_weights(const Machine<Dynamic>& machine, bool arcs, bool finals, std::size_t most_states) {
  const Dynamic& k = machine.semiring();
  Builder<Dynamic> out(k);
  if (machine.start() == kNoState) return out.finish(kNoState);
  Factors factors(*k.algebra);
  struct Place {
    std::int32_t state;  // kNoState: behind the end
    Id rest;
  };
  std::size_t longest = 0;  // that can wait on a way that takes no arc twice
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    longest += factors.labels(machine.final(s).id);
    for (const auto& arc : machine.arcs(s)) longest += factors.labels(arc.weight.id);
  }
  std::vector<Place> places;
  std::unordered_map<std::uint64_t, std::int32_t> number;
  const auto to = [&](std::int32_t state, Id rest) {
    const auto [at, is_new] = number.try_emplace(std::uint64_t{static_cast<std::uint32_t>(state)} << 32 | rest,
                                                 static_cast<std::int32_t>(places.size()));
    if (is_new) {
      if (factors.labels(rest) > longest)
        fail("the weights on a cycle through state ", state,
             " hold more labels than it has arcs: they cannot be factored");
      if (places.size() >= most_states) fail("more than ", most_states, " states; raise max_states");
      places.push_back({state, rest});
    }
    return at->second;
  };
  to(machine.start(), Algebra::kOne);
  for (std::size_t q = 0; q < places.size(); ++q) {
    const auto [s, rest] = places[q];
    const Dynamic::Weight end = s == kNoState ? Dynamic::Weight{rest} : k.times({rest}, machine.final(s));
    const auto ends = finals ? factors.of(end.id) : std::vector<std::pair<Id, Id>>();
    out.open(ends.empty() ? end : k.zero());
    if (s != kNoState)
      for (const auto& arc : machine.arcs(s)) {
        const Dynamic::Weight weight = k.times({rest}, arc.weight);
        const auto parts = arcs ? factors.of(weight.id) : std::vector<std::pair<Id, Id>>();
        if (parts.empty()) out.push({arc.ilabel, arc.olabel, weight, to(arc.nextstate, Algebra::kOne)});
        for (const auto& [first, left] : parts) out.push({arc.ilabel, arc.olabel, {first}, to(arc.nextstate, left)});
      }
    for (const auto& [first, left] : ends) out.push({0, 0, {first}, to(kNoState, left)});
  }
  return out.finish(0);
}

}  // namespace textmill::fst
