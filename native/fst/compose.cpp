#include "fst/compose.h"

#include <optional>

#include "fst/properties.h"
#include "fst/special_arcs.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

template <class S>
class Composer {
 public:
  using Arc = typename Machine<S>::Arc;
  using Weight = typename S::Weight;

  Composer(const Machine<S>& a, const Machine<S>& b, const ComposeOptions& options, bool a_sorted, bool b_sorted)
      : a_(a), b_(b), k_(a.semiring()), options_(options), a_sorted_(a_sorted), b_sorted_(b_sorted) {
    rewrites_ = options.rewrite == Rewrite::always ||
                (options.rewrite == Rewrite::acceptors && is(options.left.any() ? a : b, property::acceptor));
    if (options.matcher == Matcher::hash) hashed_.emplace();
    if (options.left.any()) left_.emplace(a, k_, options.left, options);
    if (options.right.any()) right_.emplace(b, k_, options.right, options);
  }

  Machine<S> run() {
    if (a_.start() == kNoState || b_.start() == kNoState) return Machine<S>(k_);
    pairs_.of(PairKey(a_.start(), b_.start(), 0));
    for (std::size_t q = 0; q < pairs_.size();) {
      const std::size_t known = pairs_.size(), first = arcs_.size();
      if (right_) fetch(*right_, q, known, [](const PairKey& key) { return key.second(); });
      if (left_) fetch(*left_, q, known, [](const PairKey& key) { return key.first(); });
      for (std::size_t i = 0; i < kTogether && targets_.size() < 8 * kTogether && q < known; ++i) {
        expand(q++);
        count();
      }
      resolve(std::span(arcs_).subspan(first));
    }
    return Machine<S>::counted(k_, 0, std::move(states_), std::move(arcs_));
  }

 private:
  static constexpr std::size_t kTogether = 32;  // states whose arcs are made before they are told where they lead

  // Until then an arc leads to the place of its target, counted down from -2.
  void resolve(std::span<Arc> arcs) {
    for (const auto target : targets_) pairs_.fetch_key(target);
    numbers_.clear();
    for (const auto target : targets_) numbers_.push_back(pairs_.of(target));
    const auto settle = [&](std::int32_t& state) {
      if (state < kNoState) state = numbers_[static_cast<std::size_t>(-2 - state)];
    };
    for (Arc& arc : arcs) settle(arc.nextstate);
    if (right_) right_->settle(settle);
    if (left_) left_->settle(settle);
    targets_.clear();
  }

  // Of the arcs of the last state.
  void count() {
    auto& state = states_.back();
    const auto arcs = std::span(arcs_).subspan(state.pos);
    state.narcs = static_cast<std::uint32_t>(arcs.size());
    state.niepsilons = static_cast<std::uint32_t>(std::ranges::count(arcs, 0, &Arc::ilabel));
    state.noepsilons = static_cast<std::uint32_t>(std::ranges::count(arcs, 0, &Arc::olabel));
  }

  template <class Special, class Of>
  void fetch(const Special& special, std::size_t q, std::size_t known, Of of) {
    std::int32_t states[kTogether];
    const std::size_t n = std::min(kTogether, known - q);
    for (std::size_t i = 0; i < n; ++i) states[i] = of(pairs_[q + i]);
    special.fetch(std::span(states, n));
  }

  void expand(std::size_t q) {
    const PairKey key = pairs_[q];
    s1_ = key.first();
    s2_ = key.second();
    f_ = key.filter();
    if (left_) left_->begin(s1_);
    if (right_) right_->begin(s2_);
    states_.push_back({final_weight(), static_cast<std::uint32_t>(arcs_.size()), 0, 0, 0});
    const auto& x = a_.state(s1_);
    const auto& y = b_.state(s2_);
    const auto arcs1 = a_.arcs(s1_), arcs2 = b_.arcs(s2_);
    if (x.noepsilons > 0 || y.niepsilons > 0) epsilons(arcs1, arcs2);
    if (right_ && right_->only_phi()) {
      right_->each_of(
          s1_, arcs1, [](const Arc& arc) { return arc.olabel; },
          [&](const Arc& x, const Arc& y, const Weight& w) {
            emit(x.ilabel, y.olabel, k_.times(x.weight, k_.times(w, y.weight)), x.nextstate, y.nextstate, 0);
          },
          [&](const Arc& x, const Arc& y, const Weight& w, std::int32_t& successor) {
            if (successor == kNoState) successor = target(x.nextstate, y.nextstate, 0);
            arcs_.push_back({x.ilabel, y.olabel, k_.times(x.weight, k_.times(w, y.weight)), successor});
          });
      return;
    }
    if (left_ && left_->only_phi()) {
      left_->each_of(
          s2_, arcs2, [](const Arc& arc) { return arc.ilabel; },
          [&](const Arc& y, const Arc& x, const Weight& w) {
            emit(x.ilabel, y.olabel, k_.times(k_.times(w, x.weight), y.weight), x.nextstate, y.nextstate, 0);
          },
          [&](const Arc& y, const Arc& x, const Weight& w, std::int32_t& successor) {
            if (successor == kNoState) successor = target(x.nextstate, y.nextstate, 0);
            arcs_.push_back({x.ilabel, y.olabel, k_.times(k_.times(w, x.weight), y.weight), successor});
          });
      return;
    }
    if (right_) {
      for (const Arc& arc : arcs1)
        if (arc.olabel != 0) special_right(arc);
      return;
    }
    if (left_) {
      for (const Arc& arc : arcs2)
        if (arc.ilabel != 0) special_left(arc);
      return;
    }
    if (hashed_) {
      for (const Arc& arc : arcs1)
        if (arc.olabel != 0) hashed_->each(s2_, arcs2, arc.olabel, [&](const Arc& other) { real(arc, other); });
      return;
    }
    const bool search_b = b_sorted_ && (!a_sorted_ || arcs1.size() <= arcs2.size());
    if (search_b) {
      std::size_t at = 0;
      std::int32_t last = 0;
      for (const Arc& arc : arcs1) {
        if (arc.olabel == 0) continue;
        if (arc.olabel < last) at = 0;  // not sorted: from the front again
        last = arc.olabel;
        at = search(arcs2, at, last, [](const Arc& other) { return other.ilabel; });
        for (std::size_t i = at; i < arcs2.size() && arcs2[i].ilabel == last; ++i) real(arc, arcs2[i]);
      }
    } else {
      std::size_t at = 0;
      std::int32_t last = 0;
      for (const Arc& arc : arcs2) {
        if (arc.ilabel == 0) continue;
        if (arc.ilabel < last) at = 0;
        last = arc.ilabel;
        at = search(arcs1, at, last, [](const Arc& other) { return other.olabel; });
        for (std::size_t i = at; i < arcs1.size() && arcs1[i].olabel == last; ++i) real(arcs1[i], arc);
      }
    }
  }

  void emit(std::int32_t ilabel, std::int32_t olabel, const Weight& w, std::int32_t n1, std::int32_t n2,
            std::uint32_t f) {
    arcs_.push_back({ilabel, olabel, w, target(n1, n2, f)});
  }
  std::int32_t target(std::int32_t n1, std::int32_t n2, std::uint32_t f) {
    targets_.push_back(PairKey(n1, n2, f));
    pairs_.fetch_slot(targets_.back());
    return -1 - static_cast<std::int32_t>(targets_.size());
  }
  void real(const Arc& x, const Arc& y) {
    emit(x.ilabel, y.olabel, k_.times(x.weight, y.weight), x.nextstate, y.nextstate, 0);
  }

  void epsilons(std::span<const Arc> arcs1, std::span<const Arc> arcs2) {
    const auto& x = a_.state(s1_);
    const auto& y = b_.state(s2_);
    const std::uint32_t a_moves =
        a_alone(options_.filter, f_, y.niepsilons == 0, y.niepsilons == y.narcs && !b_.is_final(s2_));
    if (a_moves != kForbidden) {
      for (const Arc& arc : arcs1) {
        if (arc.olabel == 0) {
          emit(arc.ilabel, 0, arc.weight, arc.nextstate, s2_, a_moves);
        } else if (a_sorted_) {
          break;
        }
      }
    }
    const std::uint32_t b_moves =
        b_alone(options_.filter, f_, x.noepsilons == 0, x.noepsilons == x.narcs && !a_.is_final(s1_));
    if (b_moves != kForbidden) {
      for (const Arc& arc : arcs2) {
        if (arc.ilabel == 0) {
          emit(0, arc.olabel, arc.weight, s1_, arc.nextstate, b_moves);
        } else if (b_sorted_) {
          break;
        }
      }
    }
    if (!together(options_.filter, f_) || x.noepsilons == 0 || y.niepsilons == 0) return;
    for (const Arc& first : arcs1) {
      if (first.olabel != 0) continue;
      for (const Arc& second : arcs2)
        if (second.ilabel == 0) real(first, second);
    }
  }

  Weight final_weight() {
    const Weight x = left_ ? left_->final() : a_.final(s1_), y = right_ ? right_->final() : b_.final(s2_);
    if (k_.equal(x, k_.zero()) || k_.equal(y, k_.zero())) return k_.zero();
    return k_.times(x, y);
  }
  void special_right(const Arc& x) {
    right_->each(x.olabel, [&](const Arc& y, const Weight& w, std::int32_t special) {
      const std::int32_t olabel = rewrites_ && special != kNoLabel && y.olabel == special ? x.olabel : y.olabel;
      emit(x.ilabel, olabel, k_.times(x.weight, k_.times(w, y.weight)), x.nextstate, y.nextstate, 0);
    });
  }
  void special_left(const Arc& y) {
    left_->each(y.ilabel, [&](const Arc& x, const Weight& w, std::int32_t special) {
      const std::int32_t ilabel = rewrites_ && special != kNoLabel && x.ilabel == special ? y.ilabel : x.ilabel;
      emit(ilabel, y.olabel, k_.times(k_.times(w, x.weight), y.weight), x.nextstate, y.nextstate, 0);
    });
  }

  const Machine<S>& a_;
  const Machine<S>& b_;
  const S& k_;
  const ComposeOptions& options_;
  bool a_sorted_, b_sorted_, rewrites_;
  std::optional<HashedArcs<Weight>> hashed_;
  std::optional<SpecialArcs<S, Machine<S>, true>> left_;
  std::optional<SpecialArcs<S, Machine<S>, false>> right_;
  std::vector<State<Weight>> states_;  // of the result
  std::vector<Arc> arcs_;
  StateTable<PairKey> pairs_;
  std::vector<PairKey> targets_;       // of the arcs made last
  std::vector<std::int32_t> numbers_;  // [targets]
  std::int32_t s1_ = 0, s2_ = 0;
  std::uint32_t f_ = 0;
};

}  // namespace

template <class S>
Machine<S> compose(const Machine<S>& a, const Machine<S>& b, const ComposeOptions& options) {
  using namespace property;
  if (!a.semiring().commutative() && is(a, weighted) && is(b, weighted))
    fail("composition multiplies weights in any order, but those of ", std::string(a.semiring().name()),
         " do not commute; remove the weights of one machine");
  if (options.left.any() && options.right.any()) fail("sigma, rho and phi may stand in one of the two machines only");
  bool a_sorted = is(a, olabel_sorted), b_sorted = is(b, ilabel_sorted);
  const bool special = options.left.any() || options.right.any();
  if (options.matcher == Matcher::hash && special)
    fail("sigma, rho and phi are found in sorted arcs; take matcher='auto'");
  if (options.matcher == Matcher::sorted &&
      !(special ? (options.left.any() ? a_sorted : b_sorted) : a_sorted || b_sorted))
    fail(
        "neither the outputs of the first nor the inputs of the second machine are sorted; arcsort one of them, or "
        "take "
        "matcher='auto'");
  std::optional<Machine<S>> sorted;  // whoever will be searched has to be sorted
  const Machine<S>* left = &a;
  const Machine<S>* right = &b;
  if (options.matcher != Matcher::hash &&
      (options.left.any() ? !a_sorted : (!b_sorted && (options.right.any() || !a_sorted)))) {
    const bool sort_left = options.left.any() || (!options.right.any() && a.arcs() < b.arcs());
    sorted = sort_arcs(sort_left ? a : b, sort_left);
    (sort_left ? left : right) = &*sorted;
    (sort_left ? a_sorted : b_sorted) = true;
  }
  Machine<S> out = Composer<S>(*left, *right, options, a_sorted, b_sorted).run();
  out.know(accessible);
  if (options.connect) trim(out);
  return out;
}

template <class S>
Machine<S> difference(const Machine<S>& a, const Machine<S>& b, const ComposeOptions& options) {
  using namespace property;
  const S& k = a.semiring();
  const std::uint64_t wanted = acceptor | ideterministic | no_epsilons | unweighted;
  const std::uint64_t has = properties(b, wanted | not_acceptor | non_ideterministic | epsilons | weighted);
  if ((has & wanted) != wanted) {
    fail("the machine to take away must be an unweighted deterministic acceptor without epsilons, but it is ",
         has & not_acceptor ? "a transducer; project it first"
         : has & epsilons   ? "not free of epsilons; remove them first"
         : has & weighted   ? "weighted; remove its weights first"
                            : "not deterministic; determinize it first");
  }
  // complement of b: what it does not read leads to a state that takes everything
  const auto used = [&](std::int32_t label) {
    const auto in = [&](const Machine<S>& machine, auto of) {
      for (std::int32_t s = 0; s < machine.states(); ++s)
        for (const auto& arc : machine.arcs(s))
          if (of(arc) == label) return true;
      return false;
    };
    return in(a, [](const auto& arc) { return arc.olabel; }) || in(b, [](const auto& arc) { return arc.ilabel; });
  };
  std::int32_t rest = 0x7FFFFFFF;  // a label that nobody uses
  while (used(rest)) --rest;
  Builder<S> out(k);
  for (std::int32_t s = 0; s < b.states(); ++s) {
    out.open(b.is_final(s) ? k.zero() : k.one());
    for (const auto& arc : b.arcs(s)) out.push(arc);
    out.push({rest, rest, k.one(), b.states()});
  }
  const std::int32_t sink = out.open(k.one());
  out.push({rest, rest, k.one(), sink});
  const Machine<S> complement = out.finish(b.start() == kNoState ? sink : b.start());
  ComposeOptions with_rest = options;
  with_rest.right.rho = rest;
  return compose(a, complement, with_rest);
}

#define X(S)                                                                                \
  template Machine<S> compose(const Machine<S>&, const Machine<S>&, const ComposeOptions&); \
  template Machine<S> difference(const Machine<S>&, const Machine<S>&, const ComposeOptions&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
