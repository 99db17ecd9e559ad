#include "fst/lazy_compose.h"

#include <optional>

#include "base/flat_table.h"
#include "fst/lazy_labels.h"
#include "fst/properties.h"
#include "fst/special_arcs.h"
#include "fst/traversal.h"

namespace textmill::fst {
namespace {

constexpr std::uint32_t kPushed = 4;      // in f: a weight was paid early
constexpr std::uint32_t kPendingBit = 3;  // in f: above it, the label that A still has to write
constexpr std::size_t kStretch = 64;

template <class W>
class Composed final : public Cached<W> {
 public:
  Composed(LazyPointer<W> a, LazyPointer<W> b, const LazyComposeOptions& options, const Specials& given, bool rewrites,
           std::optional<Reachability> reach, std::size_t limit)
      : Cached<W>(a->ring_pointer(), limit),
        a_(std::move(a)),
        b_(std::move(b)),
        options_(options),
        given_(given),
        rewrites_(rewrites),
        reach_(std::move(reach)),
        source_a_{a_.get()},
        source_b_{b_.get()} {
    if (options.matcher == Matcher::hash) hashed_.emplace();
    if (options.left.any()) left_.emplace(source_a_, this->ring(), options_.left, options_);
    if (options.right.any()) right_.emplace(source_b_, this->ring(), options_.right, options_);
  }

  W final(std::int32_t q) override {
    const std::lock_guard lock(this->mutex_);
    const WideKey key = table_[q];
    if (left_) left_->begin(key.first);
    if (right_) right_->begin(key.second);
    return final_weight(q, key, left_ ? this->ring().one() : a_->final(key.first),
                        right_ ? this->ring().one() : b_->final(key.second));
  }

 protected:
  std::int32_t compute_start() override {
    if (a_->start() == kNoState || b_->start() == kNoState) return kNoState;
    return number({a_->start(), b_->start(), 0}, this->ring().one());
  }
  std::int32_t count() override { return static_cast<std::int32_t>(table_.size()); }

  void compute(std::int32_t q, Assembly<W>& out) override {
    const Ring<W>& k = this->ring();
    const WideKey key = table_[q];
    s1_ = key.first;
    s2_ = key.second;
    f_ = key.filter & 3;
    out_ = &out;
    paid_ = key.filter & kPushed ? &paid_weights_[q] : nullptr;
    const W paid = paid_ ? *paid_ : k.one();
    if (paid_) paid_ = &paid;  // the table may move
    const View<W> x = a_->state(s1_), y = b_->state(s2_);
    if (left_) left_->begin(s1_);
    if (right_) right_->begin(s2_);
    out.open(final_weight(q, key, x.final, y.final));
    if (const std::int32_t label = static_cast<std::int32_t>(key.filter >> kPendingBit)) {
      pending(x, label);
      return;
    }
    if (x.noepsilons > 0 || y.niepsilons > 0) epsilons(x, y);
    match(x, y);
  }

 private:
  using Arc = fst::Arc<W>;

  std::int32_t number(const WideKey& key, const W& paid) {
    const std::int32_t q = table_.of(key);
    if (options_.push_weights && static_cast<std::size_t>(q) == paid_weights_.size()) paid_weights_.push_back(paid);
    return q;
  }
  W final_weight(std::int32_t q, const WideKey& key, const W& final1, const W& final2) {
    const Ring<W>& k = this->ring();
    if (key.filter >> kPendingBit) return k.zero();
    const W x = left_ ? left_->final() : final1, y = right_ ? right_->final() : final2;
    if (k.equal(x, k.zero()) || k.equal(y, k.zero())) return k.zero();
    const W w = k.times(x, y);
    return key.filter & kPushed ? taken_off(w, paid_weights_[q]) : w;
  }
  W taken_off(const W& w, const W& paid) const {
    const W rest = this->ring().divide(w, paid, Side::any);
    if (!this->ring().member(rest))
      fail("weights of ", this->ring().name(),
           " cannot be paid early, because they cannot be divided; take push='labels'");
    return rest;
  }

  void emit(std::int32_t ilabel, std::int32_t olabel, const W& w, std::int32_t n1, std::int32_t n2, std::uint32_t f) {
    if (options_.look_ahead == LookAhead::arc && !something_matches(n1, n2)) return;
    out_->push({ilabel, olabel, paid_ ? taken_off(w, *paid_) : w, number({n1, n2, f}, this->ring().one())});
  }
  void real(const Arc& x, const Arc& y) {
    emit(x.ilabel, y.olabel, this->ring().times(x.weight, y.weight), x.nextstate, y.nextstate, 0);
  }

  void match(const View<W>& x, const View<W>& y) {
    const Ring<W>& k = this->ring();
    const auto arcs1 = x.arcs(), arcs2 = y.arcs();
    const auto olabel = [](const Arc& arc) { return arc.olabel; };
    const auto ilabel = [](const Arc& arc) { return arc.ilabel; };
    if (right_ && right_->only_phi()) {
      const auto take = [&](const Arc& first, const Arc& second, const W& w) {
        emit(first.ilabel, second.olabel, k.times(first.weight, k.times(w, second.weight)), first.nextstate,
             second.nextstate, 0);
      };
      right_->each_of(s1_, arcs1, olabel, take,
                      [&](const Arc& first, const Arc& second, const W& w, std::int32_t) { take(first, second, w); });
    } else if (left_ && left_->only_phi()) {
      const auto take = [&](const Arc& second, const Arc& first, const W& w) {
        emit(first.ilabel, second.olabel, k.times(k.times(w, first.weight), second.weight), first.nextstate,
             second.nextstate, 0);
      };
      left_->each_of(s2_, arcs2, ilabel, take,
                     [&](const Arc& second, const Arc& first, const W& w, std::int32_t) { take(second, first, w); });
    } else if (right_) {
      for (const Arc& arc : arcs1)
        if (arc.olabel != 0)
          right_->each(arc.olabel, [&](const Arc& other, const W& w, std::int32_t special) {
            const bool same = rewrites_ && special != kNoLabel && other.olabel == written_right(special);
            emit(arc.ilabel, same ? original(arc.olabel) : other.olabel, k.times(arc.weight, k.times(w, other.weight)),
                 arc.nextstate, other.nextstate, 0);
          });
    } else if (left_) {
      for (const Arc& arc : arcs2)
        if (arc.ilabel != 0)
          left_->each(arc.ilabel, [&](const Arc& other, const W& w, std::int32_t special) {
            const bool same = rewrites_ && special != kNoLabel && other.ilabel == special;
            emit(same ? arc.ilabel : other.ilabel, arc.olabel, k.times(k.times(w, other.weight), arc.weight),
                 other.nextstate, arc.nextstate, 0);
          });
    } else if (hashed_) {
      for (const Arc& arc : arcs1)
        if (arc.olabel != 0) hashed_->each(s2_, arcs2, arc.olabel, [&](const Arc& other) { real(arc, other); });
    } else if (b_->sorted(false) && (!a_->sorted(true) || arcs1.size() <= arcs2.size())) {
      lookup(arcs1, arcs2, olabel, ilabel, [&](const Arc& arc, const Arc& other) { real(arc, other); });
    } else {
      lookup(arcs2, arcs1, ilabel, olabel, [&](const Arc& arc, const Arc& other) { real(other, arc); });
    }
  }
  // Looks up the labels of some arcs among others, which are sorted.
  template <class Of, class In, class Found>
  static void lookup(std::span<const Arc> arcs, std::span<const Arc> others, Of of, In in, Found found) {
    std::size_t at = 0;
    std::int32_t last = 0;
    for (const Arc& arc : arcs) {
      if (of(arc) == 0) continue;
      if (of(arc) < last) at = 0;  // not sorted: from the front again
      last = of(arc);
      at = search(others, at, last, in);
      for (std::size_t i = at; i < others.size() && in(others[i]) == last; ++i) found(arc, others[i]);
    }
  }

  void epsilons(const View<W>& x, const View<W>& y) {
    const Ring<W>& k = this->ring();
    const auto only = [&](std::uint32_t n, const View<W>& v) {
      return n == v.arcs().size() && k.equal(v.final, k.zero());
    };
    const std::uint32_t a_moves =
        options_.right_stays ? a_alone(options_.filter, f_, y.niepsilons == 0, only(y.niepsilons, y)) : kForbidden;
    if (a_moves != kForbidden && x.noepsilons > 0) {
      for (const Arc& arc : x)
        if (arc.olabel == 0) move_a(arc, y, a_moves);
    }
    const std::uint32_t b_moves =
        options_.left_stays ? b_alone(options_.filter, f_, x.noepsilons == 0, only(x.noepsilons, x)) : kForbidden;
    if (b_moves != kForbidden && y.niepsilons > 0) {
      for (const Arc& arc : y)
        if (arc.ilabel == 0) emit(0, arc.olabel, arc.weight, s1_, arc.nextstate, b_moves);
    }
    if (!together(options_.filter, f_) || x.noepsilons == 0 || y.niepsilons == 0) return;
    for (const Arc& first : x) {
      if (first.olabel != 0) continue;
      for (const Arc& second : y)
        if (second.ilabel == 0) real(first, second);
    }
  }

  // ---- look-ahead
  struct Ahead {
    std::size_t count = 0;     // arcs of B that A can still meet: exact up to 2
    bool end = false;          // can both end without another label?
    const Arc* arc = nullptr;  // the last of them
    W sum;                     // of all, if weights are pushed
  };

  void move_a(const Arc& x, const View<W>& y, std::uint32_t f) {
    const Ring<W>& k = this->ring();
    if (!reach_) {
      emit(x.ilabel, 0, x.weight, x.nextstate, s2_, f);
      return;
    }
    const Ahead ahead = look(x.nextstate, y);
    if (ahead.count == 0 && !ahead.end) return;
    if (options_.push_labels && ahead.count == 1 && !ahead.end && ahead.arc) {
      const auto label = static_cast<std::uint32_t>(ahead.arc->ilabel);
      emit(x.ilabel, ahead.arc->olabel, k.times(x.weight, ahead.arc->weight), x.nextstate, ahead.arc->nextstate,
           label << kPendingBit);
      return;
    }
    // sums that cancel out cannot be divided by: nothing is paid then
    if (!options_.push_weights || right_ || k.equal(ahead.sum, k.zero())) {
      emit(x.ilabel, 0, x.weight, x.nextstate, s2_, f);
      return;
    }
    const W w = k.times(x.weight, ahead.sum);
    out_->push({x.ilabel, 0, paid_ ? taken_off(w, *paid_) : w, number({x.nextstate, s2_, f | kPushed}, ahead.sum)});
  }

  // A has to write a label for which B has moved already.
  void pending(const View<W>& x, std::int32_t label) {
    const std::uint32_t f = static_cast<std::uint32_t>(label) << kPendingBit;
    for (const Arc& arc : x) {
      if (arc.olabel == label) {
        emit(arc.ilabel, 0, arc.weight, arc.nextstate, s2_, 0);
      } else if (arc.olabel == 0 && reaches(arc.nextstate, label)) {
        emit(arc.ilabel, 0, arc.weight, arc.nextstate, s2_, f);
      }
    }
  }
  // Labels are numbers of the reachability + 1.
  std::span<const std::pair<std::int32_t, std::int32_t>> intervals(std::int32_t s1) const {
    const std::int32_t c = reach_->component[s1];
    return {reach_->interval.data() + reach_->begin[c], reach_->begin[c + 1] - reach_->begin[c]};
  }
  static bool holds(std::span<const std::pair<std::int32_t, std::int32_t>> set, std::int32_t label) {
    const auto after =
        std::ranges::upper_bound(set, label - 1, {}, [](const auto& interval) { return interval.first; });
    return after != set.begin() && label - 1 <= std::prev(after)->second;
  }
  bool reaches(std::int32_t s1, std::int32_t label) const { return holds(intervals(s1), label); }

  Ahead look(std::int32_t n1, const View<W>& y) {
    const Ring<W>& k = this->ring();
    Ahead ahead;
    ahead.sum = k.zero();
    const auto set = intervals(n1);
    const bool ends = reach_->ends[reach_->component[n1]] != 0;
    if (right_) {
      right_->begin(s2_);
      ahead.end = ends && !k.equal(right_->final(), k.zero());
      ahead.count =
          right_->any_of([&](std::span<const Arc> arcs) { return count(set, arcs, ahead, true) > 0; }, !set.empty());
      right_->begin(s2_);
      return ahead;
    }
    ahead.end = ends && !k.equal(y.final, k.zero());
    ahead.count = count(set, y.arcs(), ahead, !options_.push_weights && !options_.push_labels);
    if (options_.push_weights && ahead.end) ahead.sum = k.plus(ahead.sum, y.final);
    return ahead;
  }
  // How many of the sorted arcs have labels of the set; `one` is enough?
  std::size_t count(std::span<const std::pair<std::int32_t, std::int32_t>> set, std::span<const Arc> arcs, Ahead& ahead,
                    bool one) {
    std::size_t found = 0;
    if (2 * arcs.size() < set.size()) {
      for (const Arc& arc : arcs) {
        if (arc.ilabel == 0 || !holds(set, arc.ilabel)) continue;
        ++found;
        ahead.arc = &arc;
        if (one) return found;
        if (options_.push_weights) ahead.sum = this->ring().plus(ahead.sum, arc.weight);
      }
      return found;
    }
    const auto label = [](const Arc& arc) { return arc.ilabel; };
    std::size_t at = 0;
    for (const auto& [first, last] : set) {
      at = search(arcs, at, first + 1, label);
      if (at == arcs.size()) break;
      if (arcs[at].ilabel > last + 1) continue;
      if (one) return 1;
      const std::size_t end = search(arcs, at, last + 2, label);
      found += end - at;
      ahead.arc = &arcs[end - 1];
      if (options_.push_weights) ahead.sum = add(ahead.sum, arcs, at, end);
      if (!options_.push_weights && found > 1) return found;
      at = end;
    }
    return found;
  }

  // sum plus the weights of arcs[first ... last - 1] of s2. Where a state has many arcs, sums of stretches of them are
  // kept.
  W add(W sum, std::span<const Arc> arcs, std::size_t first, std::size_t last) {
    const Ring<W>& k = this->ring();
    if (last - first < 2 * kStretch) return k.add(sum, arcs.subspan(first, last - first));
    std::vector<W>& sums = stretches_.add(base::key_of(s2_), {}).first;
    if (sums.empty())
      for (std::size_t at = 0; at + kStretch <= arcs.size(); at += kStretch)
        sums.push_back(k.add(k.zero(), arcs.subspan(at, kStretch)));
    const std::size_t from = (first + kStretch - 1) / kStretch, to = last / kStretch;
    sum = k.add(sum, arcs.subspan(first, from * kStretch - first));
    for (std::size_t i = from; i < to; ++i) sum = k.plus(sum, sums[i]);
    return k.add(sum, arcs.subspan(to * kStretch, last - to * kStretch));
  }

  // Can (n1, n2) go on or end?
  bool something_matches(std::int32_t n1, std::int32_t n2) {
    const Ring<W>& k = this->ring();
    const View<W> x = a_->state(n1), y = b_->state(n2);
    if (x.noepsilons > 0 || y.niepsilons > 0 || left_ || right_) return true;
    if (!k.equal(x.final, k.zero()) && !k.equal(y.final, k.zero())) return true;
    bool found = false;
    const auto olabel = [](const Arc& arc) { return arc.olabel; };
    const auto ilabel = [](const Arc& arc) { return arc.ilabel; };
    const auto note = [&](const Arc&, const Arc&) { found = true; };
    if (hashed_) {
      for (const Arc& arc : x) hashed_->each(n2, y.arcs(), arc.olabel, [&](const Arc&) { found = true; });
    } else if (b_->sorted(false)) {
      lookup(x.arcs(), y.arcs(), olabel, ilabel, note);
    } else {
      lookup(y.arcs(), x.arcs(), ilabel, olabel, note);
    }
    return found;
  }

  // Labels of A's output are numbers while there is a look-ahead; what is written in their place are labels again.
  std::int32_t original(std::int32_t label) const { return reach_ ? reach_->labels[label - 1] : label; }
  std::int32_t written_right(std::int32_t special) const {
    if (!reach_) return special;
    return special == options_.right.sigma ? given_.sigma : special == options_.right.rho ? given_.rho : given_.phi;
  }

  LazyPointer<W> a_, b_;
  const LazyComposeOptions options_;
  const Specials given_;  // of the right machine, before labels were numbered
  const bool rewrites_;
  const std::optional<Reachability> reach_;
  LazySource<W> source_a_, source_b_;
  std::optional<HashedArcs<W>> hashed_;
  std::optional<SpecialArcs<Ring<W>, LazySource<W>, true>> left_;
  std::optional<SpecialArcs<Ring<W>, LazySource<W>, false>> right_;
  StateTable<WideKey> table_;
  base::FlatTable<std::vector<W>> stretches_;  // of states of B, sums of kStretch arcs each
  std::vector<W> paid_weights_;                // [states] what was paid early, if weights are pushed
  // of the state that is computed
  std::int32_t s1_ = 0, s2_ = 0;
  std::uint32_t f_ = 0;
  Assembly<W>* out_ = nullptr;
  const W* paid_ = nullptr;
};

template <class W>
bool known_unweighted(const Lazy<W>& a) {
  return a.whole() && is(*a.whole(), property::unweighted);
}

template <class W>
void check_options(const Lazy<W>& a, const Lazy<W>& b, const LazyComposeOptions& options) {
  if (!a.ring().same(b.ring()))
    fail("the machines have different semirings, ", a.ring().name(), " and ", b.ring().name(),
         "; convert one of them first");
  if (!a.ring().commutative() && !known_unweighted(a) && !known_unweighted(b))
    fail("composition multiplies weights in any order, but those of ", a.ring().name(),
         " do not commute; remove the weights of one machine");
  const bool special = options.left.any() || options.right.any();
  if (options.left.any() && options.right.any()) fail("sigma, rho and phi may stand in one of the two machines only");
  if (options.matcher == Matcher::hash && special)
    fail("sigma, rho and phi are found in sorted arcs; take matcher='auto'");
  if (options.look_ahead == LookAhead::none || options.look_ahead == LookAhead::arc) {
    if (options.push_weights || options.push_labels)
      fail("weights and labels are pushed by look-ahead on labels; take look_ahead='output' or 'input'");
    return;
  }
  if (options.matcher == Matcher::hash) fail("look-ahead needs sorted arcs; take matcher='auto'");
  if (!a.whole())
    fail("look-ahead needs the whole machine whose labels are looked at; expand() it first, or look at the other side");
  if (options.filter != Filter::alt_sequence)
    fail("look-ahead on labels has a filter of its own; take compose_filter='auto'");
  if (options.left.any())
    fail("the machine that look-ahead looks at cannot have sigma, rho or phi; look at the other side");
  if (options.right.any() && options.push_labels)
    fail("labels cannot be pushed past sigma, rho and phi; take push='none'");
}

}  // namespace

template <class W>
LazyPointer<W> lazy_compose(LazyPointer<W> a, LazyPointer<W> b, const LazyComposeOptions& given, std::size_t limit) {
  LazyComposeOptions options = given;
  if (options.look_ahead == LookAhead::input) {  // the mirror image
    options.look_ahead = LookAhead::output;
    std::swap(options.left, options.right);
    std::swap(options.left_stays, options.right_stays);
    std::swap(options.epsilons[0], options.epsilons[1]);
    return lazy_invert(lazy_compose(inverted(b, limit), inverted(a, limit), options, limit), limit);
  }
  check_options(*a, *b, options);
  bool rewrites = options.rewrite == Rewrite::always;
  if (options.rewrite == Rewrite::acceptors && (options.left.any() || options.right.any())) {
    const Automaton<W>* machine = (options.left.any() ? a : b)->whole();
    if (!machine) fail("whether a lazy machine is an acceptor is not known; take rewrite='always' or 'never'");
    rewrites = is(*machine, property::acceptor);
  }
  a = with_epsilons(a, options.epsilons[0], true, limit);
  b = with_epsilons(b, options.epsilons[1], false, limit);
  std::optional<Reachability> reach;
  if (options.look_ahead == LookAhead::output) {
    reach = number_labels(a, b, options.right, limit);
  } else if (options.matcher != Matcher::hash) {  // whoever will be searched has to be sorted
    const bool left = options.left.any(), right = options.right.any();
    const bool fits = left ? a->sorted(true) : right ? b->sorted(false) : a->sorted(true) || b->sorted(false);
    if (!fits && options.matcher == Matcher::sorted)
      fail(
          "neither the outputs of the first nor the inputs of the second machine are sorted; arcsort one of them, or "
          "take matcher='auto'");
    if (!fits) {
      const bool smaller = a->whole() && (!b->whole() || a->whole()->arcs() < b->whole()->arcs());
      if (left || (!right && smaller)) {
        a = sorted(a, true, limit);
      } else {
        b = sorted(b, false, limit);
      }
    }
  }
  return std::make_shared<Composed<W>>(std::move(a), std::move(b), options, given.right, rewrites, std::move(reach),
                                       limit);
}

#define X(W) \
  template LazyPointer<W> lazy_compose(LazyPointer<W>, LazyPointer<W>, const LazyComposeOptions&, std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
