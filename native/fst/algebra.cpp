#include "fst/algebra.h"

#include <algorithm>
#include <charconv>

namespace textmill::fst {
namespace {

using Id = Algebra::Id;
using Numbers = std::vector<std::int32_t>;

std::int32_t number(Id a) { return static_cast<std::int32_t>(a); }
Id id(std::int32_t a) { return static_cast<Id>(a); }

// A component inside a composite: in parentheses if it is written with commas itself.
void append_part(std::string& out, const std::string& part) {
  const bool nested = part.find(',') != part.npos;
  if (nested) out += '(';
  out += part;
  if (nested) out += ')';
}

// Cuts at commas outside parentheses and takes a pair of parentheses off each piece; false if they do not match.
bool split(std::string_view text, std::vector<std::string_view>& pieces) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      std::string_view piece = text.substr(begin, i - begin);
      if (piece.size() >= 2 && piece.front() == '(' && piece.back() == ')') piece = piece.substr(1, piece.size() - 2);
      pieces.push_back(piece);
      begin = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')' && --depth < 0) {
      return false;
    }
  }
  return depth == 0;
}

Dynamic dynamic(const AlgebraPointer& algebra) { return {algebra}; }

// With the shortcuts of Dynamic for zero, one and none.
Id plus(const AlgebraPointer& k, Id a, Id b) { return dynamic(k).plus({a}, {b}).id; }
Id times(const AlgebraPointer& k, Id a, Id b) { return dynamic(k).times({a}, {b}).id; }
Id divide(const AlgebraPointer& k, Id a, Id b, Side side) {
  if (a == Algebra::kZero && b == Algebra::kZero) return Algebra::kZero;  // inside a tuple anything times zero is zero
  return dynamic(k).divide({a}, {b}, side).id;
}

template <class Make>
AlgebraPointer partner(std::weak_ptr<Algebra>& known, Make make) {
  if (AlgebraPointer found = known.lock()) return found;
  AlgebraPointer made = make();
  known = made;
  return made;
}

}  // namespace

void SequenceAlgebra::begin(std::span<const std::int32_t> zero, std::span<const std::int32_t> one,
                            std::span<const std::int32_t> none) {
  of(zero);
  of(one);
  of(none);
  if (table_.size() != 3) fail("zero and one of a semiring must differ");
}

// ---- numbers

template <class S>
NumberAlgebra<S>::NumberAlgebra() : values_{S::zero(), S::one(), S::none()} {
  for (Id a = 0; a < 2; ++a) index_.add(stir(S::hash(values_[a])), a, [](Id) { return false; });
}

template <class S>
Id NumberAlgebra<S>::of(const Weight& w) {
  if (!S::member(w)) return kNone;
  const Id fresh = static_cast<Id>(values_.size());
  const Id made = index_.add(stir(S::hash(w)), fresh, [&](Id a) { return S::equal(values_[a], w); });
  if (made == fresh) values_.push_back(w);
  return made;
}

template <class S>
std::string NumberAlgebra<S>::text(Id a) {
  std::string out;
  S::write(out, values_[a]);
  return out;
}

template <class S>
bool NumberAlgebra<S>::parse(std::string_view text, Id& a) {
  Weight w;
  if (!S::read(text, w)) return false;
  a = of(w);
  return true;
}

template class NumberAlgebra<Tropical<float>>;
template class NumberAlgebra<Tropical<double>>;
template class NumberAlgebra<Log<float>>;
template class NumberAlgebra<Log<double>>;
template class NumberAlgebra<Probability>;
template class NumberAlgebra<Boolean>;
template class NumberAlgebra<MinMax>;
template class NumberAlgebra<SignedLog>;

// ---- strings

StringAlgebra::StringAlgebra(StringKind kind) : kind_(kind) {
  const std::int32_t infinite[] = {-1}, bad[] = {-2};
  begin(infinite, {}, bad);
}

std::string StringAlgebra::name() const {
  return kind_ == StringKind::left ? "left_string" : kind_ == StringKind::right ? "right_string" : "restricted_string";
}

Id StringAlgebra::plus(Id a, Id b) {
  if (a == b) return a;
  const auto x = value(a), y = value(b);
  const std::size_t most = std::min(x.size(), y.size());
  if (kind_ == StringKind::restrict)
    fail("the strings ", text(a), " and ", text(b),
         " cannot be added: the machine is not functional (two outputs for one input)");
  std::size_t same = 0;
  if (kind_ == StringKind::left) {
    while (same < most && x[same] == y[same]) ++same;
    return of(Numbers(x.begin(), x.begin() + same));
  }
  while (same < most && x[x.size() - 1 - same] == y[y.size() - 1 - same]) ++same;
  return of(Numbers(x.end() - same, x.end()));
}

Id StringAlgebra::times(Id a, Id b) {
  Numbers joined(value(a).begin(), value(a).end());
  joined.insert(joined.end(), value(b).begin(), value(b).end());
  return of(joined);
}

Id StringAlgebra::divide(Id a, Id b, Side side) {
  const auto x = value(a), y = value(b);
  if (side == Side::any) side = kind_ == StringKind::right ? Side::right : Side::left;
  if (y.size() > x.size()) return kNone;
  if (side == Side::left) {
    if (!std::ranges::equal(x.first(y.size()), y)) return kNone;
    return of(Numbers(x.begin() + y.size(), x.end()));
  }
  if (!std::ranges::equal(x.last(y.size()), y)) return kNone;
  return of(Numbers(x.begin(), x.end() - y.size()));
}

Id StringAlgebra::reverse(Id a) {
  if (a <= kNone) return a;
  return static_cast<StringAlgebra&>(*reversed()).of(Numbers(value(a).rbegin(), value(a).rend()));
}

AlgebraPointer StringAlgebra::reversed() {
  if (kind_ == StringKind::restrict) return shared_from_this();
  return partner(partner_, [&] {
    auto made = std::make_shared<StringAlgebra>(kind_ == StringKind::left ? StringKind::right : StringKind::left);
    made->partner_ = weak_from_this();
    return made;
  });
}

std::string StringAlgebra::text(Id a) {
  if (a == kZero) return "Infinity";
  if (a == kOne) return "Epsilon";
  if (a == kNone) return "BadString";
  std::string out;
  for (const std::int32_t label : value(a)) {
    if (!out.empty()) out += '_';
    base::append(out, label);
  }
  return out;
}

bool StringAlgebra::parse(std::string_view text, Id& a) {
  if (text == "Infinity" || text == "Epsilon") {
    a = text == "Infinity" ? kZero : kOne;
    return true;
  }
  Numbers labels;
  while (true) {
    const std::size_t end = std::min(text.find('_'), text.size());
    std::int32_t label = 0;
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + end, label);
    if (fault != std::errc() || stop != text.data() + end || label <= 0) return false;
    labels.push_back(label);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  a = of(labels);
  return true;
}

// ---- tuples

TupleAlgebra::TupleAlgebra(TupleKind kind, std::vector<AlgebraPointer> parts) : kind_(kind), parts_(std::move(parts)) {
  if (parts_.empty()) fail("a semiring of tuples needs at least one part");
  if (kind == TupleKind::lexicographic)
    for (const auto& part : parts_)
      if (!part->path())
        fail("lexicographic semirings are made of semirings with the path property; '", part->name(),
             "' has it not, take 'tropical'");
  if (kind == TupleKind::expectation && (parts_.size() < 2 || !parts_[0]->commutative()))
    fail("an expectation semiring is made of a commutative semiring; take 'log64', 'real' or 'signed_log'");
  Numbers zero(parts_.size(), kZero), one(parts_.size(), kOne), none(parts_.size(), kNone);
  if (kind == TupleKind::expectation) std::fill(one.begin() + 1, one.end(), kZero);
  begin(zero, one, none);
}

Id TupleAlgebra::of_parts(std::span<const std::int32_t> value) {
  for (const std::int32_t part : value)
    if (id(part) == kNone) return kNone;
  if (kind_ == TupleKind::lexicographic && std::ranges::count(value, static_cast<std::int32_t>(kZero)) != 0)
    return kZero;
  return of(value);
}

std::string TupleAlgebra::name() const {
  if (kind_ == TupleKind::power || kind_ == TupleKind::expectation) {
    return base::message(kind_ == TupleKind::power ? "power(" : "expectation(", parts_[0]->name(), ",",
                         parts_.size() - (kind_ == TupleKind::expectation), ")");
  }
  std::string out = kind_ == TupleKind::product ? "product(" : "lexicographic(";
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i) out += ',';
    out += parts_[i]->name();
  }
  out += ')';
  return out;
}

Id TupleAlgebra::plus(Id a, Id b) {
  const Numbers x(value(a).begin(), value(a).end()), y(value(b).begin(), value(b).end());
  if (kind_ == TupleKind::lexicographic) {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] != y[i]) return dynamic(parts_[i]).less({id(y[i])}, {id(x[i])}) ? b : a;
    return a;
  }
  Numbers sum(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] = number(fst::plus(parts_[i], id(x[i]), id(y[i])));
  return of_parts(sum);
}

Id TupleAlgebra::times(Id a, Id b) {
  const Numbers x(value(a).begin(), value(a).end()), y(value(b).begin(), value(b).end());
  Numbers made(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (kind_ == TupleKind::expectation && i > 0) {
      made[i] = number(
          fst::plus(parts_[0], fst::times(parts_[0], id(x[0]), id(y[i])), fst::times(parts_[0], id(x[i]), id(y[0]))));
    } else {
      made[i] = number(fst::times(parts_[i], id(x[i]), id(y[i])));
    }
  }
  return of_parts(made);
}

Id TupleAlgebra::divide(Id a, Id b, Side side) {
  if (kind_ == TupleKind::expectation) fail("weights of ", name(), " cannot be divided");
  const Numbers x(value(a).begin(), value(a).end()), y(value(b).begin(), value(b).end());
  Numbers made(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) made[i] = number(fst::divide(parts_[i], id(x[i]), id(y[i]), side));
  return of_parts(made);
}

bool TupleAlgebra::approx(Id a, Id b, double delta) {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!dynamic(parts_[i]).approx({id(value(a)[i])}, {id(value(b)[i])}, delta)) return false;
  return true;
}

Id TupleAlgebra::quantize(Id a, double delta) {
  Numbers made(value(a).begin(), value(a).end());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = number(parts_[i]->quantize(id(made[i]), delta));
  return of_parts(made);
}

Id TupleAlgebra::reverse(Id a) {
  if (commutative() || a <= kNone) return a;
  Numbers made(value(a).begin(), value(a).end());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = number(parts_[i]->reverse(id(made[i])));
  return static_cast<TupleAlgebra&>(*reversed()).of_parts(made);
}

AlgebraPointer TupleAlgebra::reversed() {
  if (commutative()) return shared_from_this();
  return partner(partner_, [&] {
    std::vector<AlgebraPointer> parts;
    for (const auto& part : parts_) parts.push_back(part->reversed());
    auto made = std::make_shared<TupleAlgebra>(kind_, std::move(parts));
    made->partner_ = weak_from_this();
    return made;
  });
}

std::string TupleAlgebra::text(Id a) {
  std::string out;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i) out += ',';
    append_part(out, parts_[i]->text(id(value(a)[i])));
  }
  return out;
}

bool TupleAlgebra::parse(std::string_view text, Id& a) {
  std::vector<std::string_view> pieces;
  if (!split(text, pieces) || pieces.size() != parts_.size()) return false;
  Numbers made(parts_.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    Id part;
    if (!parts_[i]->parse(pieces[i], part)) return false;
    made[i] = number(part);
  }
  a = of_parts(made);
  return true;
}

bool TupleAlgebra::endless(Id a) {
  if (a <= kNone) return false;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i]->endless(id(value(a)[i]))) return true;
  return false;
}

bool TupleAlgebra::left() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part->left(); });
}
bool TupleAlgebra::right() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part->right(); });
}
bool TupleAlgebra::commutative() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part->commutative(); });
}
bool TupleAlgebra::idempotent() const {
  return kind_ != TupleKind::expectation &&
         std::ranges::all_of(parts_, [](const auto& part) { return part->idempotent(); });
}

// ---- gallic

GallicAlgebra::GallicAlgebra(GallicKind kind, AlgebraPointer weights) : kind_(kind), weights_(std::move(weights)) {
  strings_ = std::make_shared<StringAlgebra>(kind == GallicKind::left    ? StringKind::left
                                             : kind == GallicKind::right ? StringKind::right
                                                                         : StringKind::restrict);
  if (kind == GallicKind::min && !weights_->path())
    fail("gallic_min needs weights with the path property; '", weights_->name(), "' has it not, take 'tropical'");
  const std::int32_t zero[] = {kZero, kZero}, one[] = {kOne, kOne}, none[] = {kNone, kNone};
  begin(kind == GallicKind::general ? std::span<const std::int32_t>{} : zero, one, none);
}

Id GallicAlgebra::of_pairs(std::span<const std::int32_t> value) {
  Numbers kept;
  for (std::size_t i = 0; i + 1 < value.size(); i += 2) {
    if (id(value[i]) == kNone || id(value[i + 1]) == kNone) return kNone;
    if (id(value[i]) != kZero && id(value[i + 1]) != kZero) kept.insert(kept.end(), {value[i], value[i + 1]});
  }
  return kept.empty() ? kZero : of(kept);
}

std::string GallicAlgebra::name() const {
  static constexpr const char* names[] = {"gallic_left(", "gallic_right(", "gallic_restricted(", "gallic_min(",
                                          "gallic("};
  return base::message(names[static_cast<int>(kind_)], weights_->name(), ")");
}

Id GallicAlgebra::plus(Id a, Id b) {
  if (a == kZero || a == kNone) return a == kZero ? b : a;
  if (b == kZero || b == kNone) return b == kZero ? a : b;
  const Numbers x(value(a).begin(), value(a).end()), y(value(b).begin(), value(b).end());
  if (kind_ == GallicKind::min) {
    if (x[1] != y[1]) return dynamic(weights_).less({id(y[1])}, {id(x[1])}) ? b : a;
    const auto s = strings_->value(id(x[0])),
               t = strings_->value(id(y[0]));  // by length first: it stays so in products
    if (s.size() != t.size()) return s.size() < t.size() ? a : b;
    return std::ranges::lexicographical_compare(t, s) ? b : a;
  }
  if (kind_ != GallicKind::general) {
    const std::int32_t sum[] = {number(fst::plus(strings_, id(x[0]), id(y[0]))),
                                number(fst::plus(weights_, id(x[1]), id(y[1])))};
    return of_pairs(sum);
  }
  Numbers sum;
  const auto before = [&](std::int32_t s, std::int32_t t) {
    return std::ranges::lexicographical_compare(strings_->value(id(s)), strings_->value(id(t)));
  };
  std::size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    if (j == y.size() || (i < x.size() && before(x[i], y[j]))) {
      sum.insert(sum.end(), {x[i], x[i + 1]});
      i += 2;
    } else if (i == x.size() || before(y[j], x[i])) {
      sum.insert(sum.end(), {y[j], y[j + 1]});
      j += 2;
    } else {
      sum.insert(sum.end(), {x[i], number(fst::plus(weights_, id(x[i + 1]), id(y[j + 1])))});
      i += 2;
      j += 2;
    }
  }
  return of_pairs(sum);
}

Id GallicAlgebra::times(Id a, Id b) {
  const Numbers x(value(a).begin(), value(a).end()), y(value(b).begin(), value(b).end());
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2)
    for (std::size_t j = 0; j + 1 < y.size(); j += 2)
      pairs.emplace_back(number(fst::times(strings_, id(x[i]), id(y[j]))),
                         number(fst::times(weights_, id(x[i + 1]), id(y[j + 1]))));
  if (pairs.size() > 1) {  // products of different strings may be equal, and in another order
    std::ranges::stable_sort(pairs, [&](const auto& p, const auto& q) {
      return std::ranges::lexicographical_compare(strings_->value(id(p.first)), strings_->value(id(q.first)));
    });
  }
  Numbers product;
  for (const auto& [string, weight] : pairs) {
    if (product.size() >= 2 && product[product.size() - 2] == string) {
      product.back() = number(fst::plus(weights_, id(product.back()), id(weight)));
    } else {
      product.insert(product.end(), {string, weight});
    }
  }
  return of_pairs(product);
}

bool GallicAlgebra::endless(Id a) {
  if (a <= kNone) return false;
  const auto x = value(a);
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    if (kind_ == GallicKind::general && !strings_->value(id(x[i])).empty()) return true;  // ever longer strings
    if (weights_->endless(id(x[i + 1]))) return true;
  }
  return false;
}

Id GallicAlgebra::divide(Id a, Id b, Side side) {
  const Numbers x(value(a).begin(), value(a).end()), y(value(b).begin(), value(b).end());
  if (y.size() != 2) return kNone;  // a set of strings has no inverse
  if (side == Side::any) side = kind_ == GallicKind::right ? Side::right : Side::left;
  Id sum = kZero;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    const std::int32_t pair[] = {number(fst::divide(strings_, id(x[i]), id(y[0]), side)),
                                 number(fst::divide(weights_, id(x[i + 1]), id(y[1]), side))};
    const Id part = of_pairs(pair);
    if (part == kNone) return kNone;
    sum = plus(sum, part);
  }
  return sum;
}

bool GallicAlgebra::approx(Id a, Id b, double delta) {
  const auto x = value(a), y = value(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2)
    if (x[i] != y[i] || !dynamic(weights_).approx({id(x[i + 1])}, {id(y[i + 1])}, delta)) return false;
  return true;
}

Id GallicAlgebra::quantize(Id a, double delta) {
  if (a <= kNone) return a;
  Numbers made(value(a).begin(), value(a).end());
  for (std::size_t i = 1; i < made.size(); i += 2) made[i] = number(weights_->quantize(id(made[i]), delta));
  return of_pairs(made);
}

Id GallicAlgebra::reverse(Id a) {
  if (a <= kNone) return a;
  auto& other = static_cast<GallicAlgebra&>(*reversed());
  const Numbers x(value(a).begin(), value(a).end());
  Id sum = kZero;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    const auto string = strings_->value(id(x[i]));
    const std::int32_t pair[] = {number(other.strings_->of(Numbers(string.rbegin(), string.rend()))),
                                 number(weights_->reverse(id(x[i + 1])))};
    sum = other.plus(sum, other.of_pairs(pair));
  }
  return sum;
}

AlgebraPointer GallicAlgebra::reversed() {
  return partner(partner_, [&] {
    const GallicKind kind = kind_ == GallicKind::left    ? GallicKind::right
                            : kind_ == GallicKind::right ? GallicKind::left
                                                         : kind_;
    auto made = std::make_shared<GallicAlgebra>(kind, weights_->reversed());
    made->partner_ = weak_from_this();
    return made;
  });
}

std::string GallicAlgebra::text(Id a) {
  if (a == kNone) return "BadString,BadNumber";
  const auto x = value(a);
  std::string out;
  if (kind_ == GallicKind::general && x.size() != 2) {
    if (x.empty()) return "EmptySet";
    for (std::size_t i = 0; i < x.size(); i += 2) {
      if (i) out += ',';
      base::append(out, '(');
      out += strings_->text(id(x[i]));
      out += ',';
      append_part(out, weights_->text(id(x[i + 1])));
      out += ')';
    }
    return out;
  }
  out = strings_->text(id(x[0]));
  out += ',';
  append_part(out, weights_->text(id(x[1])));
  return out;
}

bool GallicAlgebra::parse(std::string_view text, Id& a) {
  if (text == "EmptySet") {
    a = kZero;
    return kind_ == GallicKind::general;
  }
  std::vector<std::string_view> pieces;
  if (!split(text, pieces)) return false;
  const auto pair_of = [&](std::string_view string, std::string_view weight, Id& made) {
    Id s, w;
    if (!strings_->parse(string, s) || !weights_->parse(weight, w)) return false;
    const std::int32_t pair[] = {number(s), number(w)};
    made = of_pairs(pair);
    return true;
  };
  if (text.front() != '(' || kind_ != GallicKind::general)
    return pieces.size() == 2 && pair_of(pieces[0], pieces[1], a);
  a = kZero;
  for (const std::string_view piece : pieces) {
    std::vector<std::string_view> two;
    Id made;
    if (!split(piece, two) || two.size() != 2 || !pair_of(two[0], two[1], made)) return false;
    a = plus(a, made);
  }
  return true;
}

}  // namespace textmill::fst
