#include "fst/compose.h"

#include <optional>
#include <unordered_map>

#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

// Numbers of (s1, s2, f), in order of first sight.
class PairTable {
 public:
  PairTable() : slots_(1024, 0), mask_(1023) {}
  std::int32_t of(std::int32_t s1, std::int32_t s2, std::uint32_t f) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(s1)} << 33 | std::uint64_t{static_cast<std::uint32_t>(s2)} << 2 | f;
    std::size_t at = place(key) & mask_;
    for (; slots_[at] != 0; at = (at + 1) & mask_)
      if (keys_[slots_[at] - 1] == key) return static_cast<std::int32_t>(slots_[at] - 1);
    if (keys_.size() >= kMostStates) fail("the composition has more than 2,147,483,647 states");
    keys_.push_back(key);
    slots_[at] = static_cast<std::uint32_t>(keys_.size());
    if (keys_.size() * 2 > slots_.size()) grow();
    return static_cast<std::int32_t>(keys_.size() - 1);
  }
  std::size_t size() const { return keys_.size(); }
  std::int32_t first(std::size_t i) const { return static_cast<std::int32_t>(keys_[i] >> 33); }
  std::int32_t second(std::size_t i) const { return static_cast<std::int32_t>(keys_[i] >> 2 & 0x7FFFFFFF); }
  std::uint32_t filter(std::size_t i) const { return keys_[i] & 3; }

 private:
  static std::uint64_t place(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return key ^ key >> 32;
  }
  void grow() {
    slots_.assign(slots_.size() * 4, 0);
    mask_ = slots_.size() - 1;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = place(keys_[i]) & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;  // number + 1; 0: empty
  std::size_t mask_;
};

constexpr std::uint32_t kForbidden = 4;

// The first place at or after `from` whose label is not below the wanted one.
template <class Arc, class Label>
std::size_t search(std::span<const Arc> arcs, std::size_t from, std::int32_t wanted, Label label) {
  std::size_t n = arcs.size() - from;
  if (n > 8) {  // gallop, then bisect: labels that are looked up one after another lie near each other
    std::size_t step = 4;
    while (step < n && label(arcs[from + step]) < wanted) {
      from += step;
      n -= step;
      step *= 2;
    }
    n = std::min(n, step);
    while (n > 0) {
      const std::size_t half = n / 2;
      if (label(arcs[from + half]) < wanted) {
        from += half + 1;
        n -= half + 1;
      } else {
        n = half;
      }
    }
    return from;
  }
  while (from < arcs.size() && label(arcs[from]) < wanted) ++from;
  return from;
}

// Arcs of a machine by state and input label; the arcs of a state are entered when it is first searched.
template <class S>
class HashedArcs {
 public:
  explicit HashedArcs(const Machine<S>& machine) : machine_(machine), known_(machine.states(), false) {}
  template <class Body>
  void each(std::int32_t s, std::int32_t label, Body body) {
    const auto arcs = machine_.arcs(s);
    if (!known_[s]) {
      known_[s] = true;
      for (std::size_t a = arcs.size(); a-- > 0;) {  // backwards: a list begins with the first arc
        const auto [at, is_new] = first_.try_emplace(key(s, arcs[a].ilabel), kEnd);
        before_.push_back({static_cast<std::uint32_t>(a), at->second});
        at->second = static_cast<std::uint32_t>(before_.size() - 1);
      }
    }
    const auto found = first_.find(key(s, label));
    if (found == first_.end()) return;
    for (std::uint32_t at = found->second; at != kEnd; at = before_[at].second) body(arcs[before_[at].first]);
  }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  static std::uint64_t key(std::int32_t s, std::int32_t label) {
    return std::uint64_t{static_cast<std::uint32_t>(s)} << 32 | static_cast<std::uint32_t>(label);
  }
  const Machine<S>& machine_;
  std::vector<bool> known_;                                      // [N]
  std::unordered_map<std::uint64_t, std::uint32_t> first_;       // into before_
  std::vector<std::pair<std::uint32_t, std::uint32_t>> before_;  // arc, the next with the same label
};

template <class S>
class Composer {
 public:
  using Arc = typename Machine<S>::Arc;
  using Weight = typename S::Weight;

  Composer(const Machine<S>& a, const Machine<S>& b, const ComposeOptions& options, bool a_sorted, bool b_sorted)
      : a_(a), b_(b), k_(a.semiring()), options_(options), a_sorted_(a_sorted), b_sorted_(b_sorted), out_(k_) {
    rewrites_ = options.rewrite == Rewrite::always ||
                (options.rewrite == Rewrite::acceptors && is(options.left.any() ? a : b, property::acceptor));
    if (options.matcher == Matcher::hash) hashed_.emplace(b);
  }

  Machine<S> run() {
    if (a_.start() == kNoState || b_.start() == kNoState) return Machine<S>(k_);
    pairs_.of(a_.start(), b_.start(), 0);
    for (std::size_t q = 0; q < pairs_.size(); ++q) expand(q);
    return out_.finish(0);
  }

 private:
  void expand(std::size_t q) {
    s1_ = pairs_.first(q);
    s2_ = pairs_.second(q);
    f_ = pairs_.filter(q);
    out_.open(final_weight());
    const auto& x = a_.state(s1_);
    const auto& y = b_.state(s2_);
    const auto arcs1 = a_.arcs(s1_), arcs2 = b_.arcs(s2_);
    if (x.noepsilons > 0 || y.niepsilons > 0) epsilons(arcs1, arcs2);
    if (options_.right.any()) {
      for (const Arc& arc : arcs1)
        if (arc.olabel != 0) special_right(arc);
      return;
    }
    if (options_.left.any()) {
      for (const Arc& arc : arcs2)
        if (arc.ilabel != 0) special_left(arc);
      return;
    }
    if (hashed_) {
      for (const Arc& arc : arcs1)
        if (arc.olabel != 0) hashed_->each(s2_, arc.olabel, [&](const Arc& other) { real(arc, other); });
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
    out_.push({ilabel, olabel, w, pairs_.of(n1, n2, f)});
  }
  void real(const Arc& x, const Arc& y) {
    emit(x.ilabel, y.olabel, k_.times(x.weight, y.weight), x.nextstate, y.nextstate, 0);
  }

  void epsilons(std::span<const Arc> arcs1, std::span<const Arc> arcs2) {
    const auto& x = a_.state(s1_);
    const auto& y = b_.state(s2_);
    const std::uint32_t a_moves = a_alone(y.niepsilons == 0, y.niepsilons == y.narcs && !b_.is_final(s2_));
    if (a_moves != kForbidden) {
      for (const Arc& arc : arcs1) {
        if (arc.olabel == 0) {
          emit(arc.ilabel, 0, arc.weight, arc.nextstate, s2_, a_moves);
        } else if (a_sorted_) {
          break;
        }
      }
    }
    const std::uint32_t b_moves = b_alone(x.noepsilons == 0, x.noepsilons == x.narcs && !a_.is_final(s1_));
    if (b_moves != kForbidden) {
      for (const Arc& arc : arcs2) {
        if (arc.ilabel == 0) {
          emit(0, arc.olabel, arc.weight, s1_, arc.nextstate, b_moves);
        } else if (b_sorted_) {
          break;
        }
      }
    }
    const bool together = options_.filter == Filter::trivial || options_.filter == Filter::null ||
                          (options_.filter == Filter::match && f_ == 0);
    if (!together || x.noepsilons == 0 || y.niepsilons == 0) return;
    for (const Arc& first : arcs1) {
      if (first.olabel != 0) continue;
      for (const Arc& second : arcs2)
        if (second.ilabel == 0) real(first, second);
    }
  }

  std::uint32_t a_alone(bool no_epsilons, bool only_epsilons) const {
    switch (options_.filter) {
      case Filter::sequence: return f_ == 0 ? 0 : kForbidden;
      case Filter::alt_sequence: return only_epsilons ? kForbidden : no_epsilons ? 0 : 1;
      case Filter::match:
        return f_ == 0 ? (no_epsilons ? 0 : only_epsilons ? kForbidden : 1) : f_ == 1 ? 1 : kForbidden;
      case Filter::null: return kForbidden;
      default: return 0;
    }
  }
  std::uint32_t b_alone(bool no_epsilons, bool only_epsilons) const {
    switch (options_.filter) {
      case Filter::sequence: return only_epsilons ? kForbidden : no_epsilons ? 0 : 1;
      case Filter::alt_sequence: return f_ == 0 ? 0 : kForbidden;
      case Filter::match:
        return f_ == 0 ? (no_epsilons ? 0 : only_epsilons ? kForbidden : 2) : f_ == 2 ? 2 : kForbidden;
      case Filter::null: return kForbidden;
      default: return 0;
    }
  }

  // Follows the phi arcs of one machine from a state: calls body(state, weight) until it returns true or no phi is left.
  template <class Label, class Body>
  void follow(const Machine<S>& machine, std::int32_t s, std::int32_t phi, Label label, Body body) const {
    Weight w = k_.one();
    for (std::int32_t steps = 0; !body(s, w) && phi != kNoLabel; ++steps) {
      const auto arcs = machine.arcs(s);
      const std::size_t at = search(arcs, 0, phi, label);
      if (at == arcs.size() || label(arcs[at]) != phi) return;
      if (options_.phi_loop && arcs[at].nextstate == s) return;
      if (steps > machine.states()) fail("the phi arcs of state ", s, " lead round in a cycle");
      w = k_.times(w, arcs[at].weight);
      s = arcs[at].nextstate;
    }
  }

  Weight final_weight() const {
    const auto of = [&](const Machine<S>& machine, std::int32_t s, std::int32_t phi, auto label) {
      if (phi == kNoLabel || machine.is_final(s) || !options_.phi_finals) return machine.final(s);
      Weight found = k_.zero();
      follow(machine, s, phi, label, [&](std::int32_t t, const Weight& w) {
        if (!machine.is_final(t)) return false;
        found = k_.times(w, machine.final(t));
        return true;
      });
      return found;
    };
    const Weight x = of(a_, s1_, options_.left.phi, [](const Arc& arc) { return arc.olabel; });
    const Weight y = of(b_, s2_, options_.right.phi, [](const Arc& arc) { return arc.ilabel; });
    if (k_.equal(x, k_.zero()) || k_.equal(y, k_.zero())) return k_.zero();
    return k_.times(x, y);
  }

  // The arcs of a state that match a label, through sigma, rho and phi: calls take(arc, weight before it, was special).
  template <class Label, class Take>
  void matches(const Machine<S>& machine, std::int32_t s, const Specials& specials, std::int32_t wanted, Label label,
               Take take) const {
    follow(machine, s, specials.phi, label, [&](std::int32_t t, const Weight& w) {
      const auto arcs = machine.arcs(t);
      bool found = false;
      const auto all = [&](std::int32_t key, bool special) {
        for (std::size_t i = search(arcs, 0, key, label); i < arcs.size() && label(arcs[i]) == key; ++i) {
          take(arcs[i], w, special ? key : kNoLabel);
          found = true;
        }
      };
      if (wanted != specials.phi && wanted != specials.rho && wanted != specials.sigma) all(wanted, false);
      if (specials.sigma != kNoLabel) all(specials.sigma, true);
      if (!found && specials.rho != kNoLabel) all(specials.rho, true);
      if (!found && specials.phi != kNoLabel && options_.phi_loop) {
        const std::size_t at = search(arcs, 0, specials.phi, label);
        if (at < arcs.size() && label(arcs[at]) == specials.phi && arcs[at].nextstate == t) {
          take(arcs[at], w, specials.phi);
          found = true;
        }
      }
      return found;
    });
  }
  void special_right(const Arc& x) {
    matches(
        b_, s2_, options_.right, x.olabel, [](const Arc& arc) { return arc.ilabel; },
        [&](const Arc& y, const Weight& w, std::int32_t special) {
          const std::int32_t olabel = rewrites_ && special != kNoLabel && y.olabel == special ? x.olabel : y.olabel;
          emit(x.ilabel, olabel, k_.times(x.weight, k_.times(w, y.weight)), x.nextstate, y.nextstate, 0);
        });
  }
  void special_left(const Arc& y) {
    matches(
        a_, s1_, options_.left, y.ilabel, [](const Arc& arc) { return arc.olabel; },
        [&](const Arc& x, const Weight& w, std::int32_t special) {
          const std::int32_t ilabel = rewrites_ && special != kNoLabel && x.ilabel == special ? y.ilabel : x.ilabel;
          emit(ilabel, y.olabel, k_.times(k_.times(w, x.weight), y.weight), x.nextstate, y.nextstate, 0);
        });
  }

  const Machine<S>& a_;
  const Machine<S>& b_;
  const S& k_;
  const ComposeOptions& options_;
  bool a_sorted_, b_sorted_, rewrites_;
  std::optional<HashedArcs<S>> hashed_;
  Builder<S> out_;
  PairTable pairs_;
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
                            : "not deterministic; determinise it first");
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
