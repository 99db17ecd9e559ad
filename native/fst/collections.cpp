#include "fst/collections.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace textmill::fst {
namespace {

using Id = Algebra::Id;
using Numbers = std::vector<std::int32_t>;

constexpr std::int32_t kUniversal = -1, kBad = -2;

Numbers copy(std::span<const std::int32_t> value) { return {value.begin(), value.end()}; }
std::int32_t number(Id a) { return static_cast<std::int32_t>(a); }
Id id(std::int32_t a) { return static_cast<Id>(a); }

AlgebraPointer partner(std::weak_ptr<Algebra>& known, const AlgebraPointer& made) {
  known = made;
  return made;
}

bool read_whole(std::string_view text, std::int32_t& value) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size();
}

}  // namespace

// ---- sets of labels

SetAlgebra::SetAlgebra(SetKind kind) : kind_(kind) {
  const std::int32_t universal[] = {kUniversal}, bad[] = {kBad};
  const std::span<const std::int32_t> all(universal), nothing;
  kind == SetKind::union_intersect ? begin(nothing, all, bad) : begin(all, nothing, bad);
}

Id SetAlgebra::of_labels(Numbers labels) {
  std::ranges::sort(labels);
  labels.erase(std::ranges::unique(labels).begin(), labels.end());
  if (!labels.empty() && labels[0] <= 0) return kNone;
  return kind_ == SetKind::boolean ? kOne : of(labels);
}

std::string SetAlgebra::name() const {
  static constexpr const char* names[] = {"intersect_union_set", "union_intersect_set",
                                          "restricted_set_intersect_union", "boolean_set"};
  return names[static_cast<int>(kind_)];
}

Id SetAlgebra::intersection(Id a, Id b) {
  if (a == universal()) return b;
  if (b == universal()) return a;
  Numbers made;
  std::ranges::set_intersection(copy(value(a)), copy(value(b)), std::back_inserter(made));
  return of(made);
}

Id SetAlgebra::joined(Id a, Id b) {
  if (a == universal() || b == universal()) return universal();
  Numbers made;
  std::ranges::set_union(copy(value(a)), copy(value(b)), std::back_inserter(made));
  return of(made);
}

Id SetAlgebra::plus(Id a, Id b) {
  if (kind_ == SetKind::union_intersect) return joined(a, b);
  if (kind_ == SetKind::restrict && a != b && a != kZero && b != kZero)
    fail("the sets ", text(a), " and ", text(b), " cannot be added: paths of one string have different labels");
  return intersection(a, b);
}

Id SetAlgebra::times(Id a, Id b) { return kind_ == SetKind::union_intersect ? intersection(a, b) : joined(a, b); }

// b times c == a.
Id SetAlgebra::divide(Id a, Id b, Side) {
  if (kind_ == SetKind::union_intersect) return intersection(a, b) == a ? a : kNone;
  if (a == universal()) return a;
  if (b == universal() || intersection(a, b) != b) return kNone;
  Numbers made;
  std::ranges::set_difference(copy(value(a)), copy(value(b)), std::back_inserter(made));
  return of(made);
}

std::string SetAlgebra::text(Id a) {
  if (a == kNone) return "BadSet";
  if (a == universal()) return "UnivSet";
  if (a == empty()) return "EmptySet";
  std::string out;
  for (const std::int32_t label : value(a)) {
    if (!out.empty()) out += '_';
    base::append(out, label);
  }
  return out;
}

bool SetAlgebra::parse(std::string_view text, Id& a) {
  if (text == "UnivSet" || text == "EmptySet") {
    a = text == "UnivSet" ? universal() : empty();
    return true;
  }
  Numbers labels;
  while (true) {
    const std::size_t end = std::min(text.find('_'), text.size());
    std::int32_t label = 0;
    if (!read_whole(text.substr(0, end), label) || label <= 0) return false;
    labels.push_back(label);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  a = of_labels(std::move(labels));
  return true;
}

// ---- sets of weights

UnionAlgebra::UnionAlgebra(AlgebraPointer weights) : weights_(std::move(weights)) {
  const std::int32_t one[] = {kOne}, none[] = {kNone};
  begin({}, one, none);
}

Id UnionAlgebra::of_weights(Numbers weights) {
  std::ranges::sort(weights);
  weights.erase(std::ranges::unique(weights).begin(), weights.end());
  if (std::ranges::binary_search(weights, number(kNone))) return kNone;
  if (!weights.empty() && id(weights[0]) == kZero) weights.erase(weights.begin());
  return of(weights);
}

std::string UnionAlgebra::name() const { return base::message("union(", weights_->name(), ")"); }

Id UnionAlgebra::plus(Id a, Id b) {
  Numbers sum = copy(value(a));
  sum.insert(sum.end(), value(b).begin(), value(b).end());
  return of_weights(std::move(sum));
}

Id UnionAlgebra::times(Id a, Id b) {
  const Dynamic k{weights_};
  Numbers made;
  for (const std::int32_t x : copy(value(a)))
    for (const std::int32_t y : copy(value(b))) made.push_back(number(k.times({id(x)}, {id(y)}).id));
  return of_weights(std::move(made));
}

Id UnionAlgebra::divide(Id a, Id b, Side side) {
  if (value(b).size() != 1) return kNone;  // a set of several weights has no inverse
  const Dynamic k{weights_};
  const Dynamic::Weight divisor{id(value(b)[0])};
  Numbers made;
  for (const std::int32_t x : copy(value(a))) made.push_back(number(k.divide({id(x)}, divisor, side).id));
  return of_weights(std::move(made));
}

bool UnionAlgebra::approx(Id a, Id b, double delta) {
  const Dynamic k{weights_};
  const auto covers = [&](Id x, Id y) {
    return std::ranges::all_of(value(x), [&](std::int32_t w) {
      return std::ranges::any_of(value(y), [&](std::int32_t v) { return k.approx({id(w)}, {id(v)}, delta); });
    });
  };
  return covers(a, b) && covers(b, a);
}

Id UnionAlgebra::quantize(Id a, double delta) {
  Numbers made;
  for (const std::int32_t x : copy(value(a))) made.push_back(number(weights_->quantize(id(x), delta)));
  return of_weights(std::move(made));
}

Id UnionAlgebra::reverse(Id a) {
  if (commutative() || a <= kNone) return a;
  Numbers made;
  for (const std::int32_t x : copy(value(a))) made.push_back(number(weights_->reverse(id(x))));
  return static_cast<UnionAlgebra&>(*reversed()).of_weights(std::move(made));
}

AlgebraPointer UnionAlgebra::reversed() {
  if (commutative()) return shared_from_this();
  if (AlgebraPointer known = partner_.lock()) return known;
  auto made = std::make_shared<UnionAlgebra>(weights_->reversed());
  made->partner_ = weak_from_this();
  return partner(partner_, made);
}

std::string UnionAlgebra::text(Id a) {
  if (a == kNone) return "BadNumber";
  if (value(a).empty()) return "EmptySet";
  std::string out;
  for (const std::int32_t x : copy(value(a))) {
    if (!out.empty()) out += ',';
    out += base::message('(', weights_->text(id(x)), ')');
  }
  return out;
}

bool UnionAlgebra::parse(std::string_view text, Id& a) {
  if (text == "EmptySet") {
    a = kZero;
    return true;
  }
  Numbers made;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' && depth++ == 0) begin = i + 1;
    if (text[i] != ')') continue;
    if (--depth < 0) return false;
    if (depth > 0) continue;
    Id part;
    if (!weights_->parse(text.substr(begin, i - begin), part)) return false;
    made.push_back(number(part));
  }
  if (depth != 0 || made.empty()) return false;
  a = of_weights(std::move(made));
  return true;
}

// ---- sparse vectors

SparsePowerAlgebra::SparsePowerAlgebra(AlgebraPointer weights) : weights_(std::move(weights)) {
  const std::int32_t zero[] = {kZero}, one[] = {kOne}, none[] = {kNone};
  begin(zero, one, none);
}

Id SparsePowerAlgebra::of_entries(Numbers value) {
  Numbers kept(1, value[0]);
  if (id(value[0]) == kNone) return kNone;
  for (std::size_t i = 1; i + 1 < value.size(); i += 2) {
    if (id(value[i + 1]) == kNone) return kNone;
    if (value[i + 1] != value[0]) kept.insert(kept.end(), {value[i], value[i + 1]});
  }
  return of(kept);
}

std::string SparsePowerAlgebra::name() const { return base::message("sparse_power(", weights_->name(), ")"); }

namespace {

// Component by component, over the keys of either.
template <class F>
Numbers combine(const Numbers& x, const Numbers& y, F f) {
  Numbers made(1, f(x[0], y[0]));
  std::size_t i = 1, j = 1;
  while (i < x.size() || j < y.size()) {
    const bool left = j >= y.size() || (i < x.size() && x[i] <= y[j]);
    const bool right = i >= x.size() || (j < y.size() && y[j] <= x[i]);
    const std::int32_t key = left ? x[i] : y[j];
    made.insert(made.end(), {key, f(left ? x[i + 1] : x[0], right ? y[j + 1] : y[0])});
    i += 2 * left;
    j += 2 * right;
  }
  return made;
}

}  // namespace

Id SparsePowerAlgebra::plus(Id a, Id b) {
  const Dynamic k{weights_};
  return of_entries(combine(copy(value(a)), copy(value(b)),
                            [&](std::int32_t x, std::int32_t y) { return number(k.plus({id(x)}, {id(y)}).id); }));
}

Id SparsePowerAlgebra::times(Id a, Id b) {
  const Dynamic k{weights_};
  return of_entries(combine(copy(value(a)), copy(value(b)),
                            [&](std::int32_t x, std::int32_t y) { return number(k.times({id(x)}, {id(y)}).id); }));
}

Id SparsePowerAlgebra::divide(Id a, Id b, Side side) {
  const Dynamic k{weights_};
  return of_entries(combine(copy(value(a)), copy(value(b)), [&](std::int32_t x, std::int32_t y) {
    if (id(x) == kZero && id(y) == kZero) return x;  // anything times zero is zero
    return number(k.divide({id(x)}, {id(y)}, side).id);
  }));
}

bool SparsePowerAlgebra::approx(Id a, Id b, double delta) {
  const Dynamic k{weights_};
  bool near = true;
  combine(copy(value(a)), copy(value(b)), [&](std::int32_t x, std::int32_t y) {
    near &= k.approx({id(x)}, {id(y)}, delta);
    return x;
  });
  return near;
}

Id SparsePowerAlgebra::quantize(Id a, double delta) {
  Numbers made = copy(value(a));
  for (std::size_t i = 0; i < made.size(); i += 2) made[i] = number(weights_->quantize(id(made[i]), delta));
  return of_entries(std::move(made));
}

Id SparsePowerAlgebra::reverse(Id a) {
  if (commutative() || a <= kNone) return a;
  Numbers made = copy(value(a));
  for (std::size_t i = 0; i < made.size(); i += 2) made[i] = number(weights_->reverse(id(made[i])));
  return static_cast<SparsePowerAlgebra&>(*reversed()).of_entries(std::move(made));
}

AlgebraPointer SparsePowerAlgebra::reversed() {
  if (commutative()) return shared_from_this();
  if (AlgebraPointer known = partner_.lock()) return known;
  auto made = std::make_shared<SparsePowerAlgebra>(weights_->reversed());
  made->partner_ = weak_from_this();
  return partner(partner_, made);
}

std::string SparsePowerAlgebra::text(Id a) {
  const Numbers x = copy(value(a));
  std::string out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i > 0) out += ',';
    if (i % 2 == 1) {
      base::append(out, x[i]);
    } else {
      const std::string part = weights_->text(id(x[i]));
      const bool nested = part.find(',') != part.npos;
      out += base::message(nested ? "(" : "", part, nested ? ")" : "");
    }
  }
  return out;
}

bool SparsePowerAlgebra::parse(std::string_view text, Id& a) {
  Numbers made;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')' && --depth < 0) return false;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    std::string_view piece = text.substr(begin, i - begin);
    begin = i + 1;
    if (made.size() % 2 == 1) {
      std::int32_t key = 0;
      if (!read_whole(piece, key) || (made.size() > 1 && key <= made[made.size() - 2])) return false;
      made.push_back(key);
    } else {
      if (piece.size() >= 2 && piece.front() == '(' && piece.back() == ')') piece = piece.substr(1, piece.size() - 2);
      Id part;
      if (!weights_->parse(piece, part)) return false;
      made.push_back(number(part));
    }
  }
  if (depth != 0 || made.size() % 2 == 0) return false;
  a = of_entries(std::move(made));
  return true;
}

}  // namespace textmill::fst
