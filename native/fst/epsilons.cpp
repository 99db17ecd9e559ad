#include "fst/epsilons.h"

#include <algorithm>
#include <numeric>

#include "base/flat_table.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kDense = 64;           // states of a component that are worth a matrix
constexpr std::size_t kReserved = 1u << 24;  // arcs that may be reserved for more than there will be

// Adds up arcs with equal labels and next state, at the end of an array of arcs.
template <class S>
class ArcSum {
 public:
  using Arc = typename Machine<S>::Arc;
  explicit ArcSum(const S& k) : k_(k), merges_(k.right()) {}
  // What is added from now on goes to the end of `arcs`, which nobody else may change meanwhile.
  void open(std::vector<Arc>& arcs) {
    arcs_ = &arcs;
    first_ = arcs.size();
    index_.clear();
  }
  std::size_t first() const { return first_; }
  std::size_t size() const { return arcs_->size() - first_; }
  void add(const Arc& arc) {
    if (!merges_) {  // (a + b) c is not ac + bc
      arcs_->push_back(arc);
      return;
    }
    const auto fresh = static_cast<std::uint32_t>(size());
    const std::uint32_t found = index_.add(hash(arc), fresh, [&](std::uint32_t i) {
      const Arc& there = (*arcs_)[first_ + i];
      return there.ilabel == arc.ilabel && there.olabel == arc.olabel && there.nextstate == arc.nextstate;
    });
    if (found == fresh) {
      arcs_->push_back(arc);
    } else {
      Arc& there = (*arcs_)[first_ + found];
      there.weight = k_.plus(there.weight, arc.weight);
    }
  }

 private:
  static std::uint64_t hash(const Arc& arc) {
    std::uint64_t h =
        std::uint64_t{static_cast<std::uint32_t>(arc.ilabel)} << 32 | static_cast<std::uint32_t>(arc.olabel);
    h = (h ^ h >> 29) * 0x9E3779B97F4A7C15u + static_cast<std::uint32_t>(arc.nextstate);
    h *= 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 32;
  }
  const S& k_;
  bool merges_;
  base::FlatIndex index_;
  std::vector<Arc>* arcs_ = nullptr;
  std::size_t first_ = 0;
};

template <class S>
class Remover {
 public:
  using Arc = typename Machine<S>::Arc;
  using Weight = typename S::Weight;
  Remover(const Machine<S>& machine, Queue queue)
      : machine_(machine),
        k_(machine.semiring()),
        queue_(queue),
        sum_(k_),
        found_(components(machine, EpsilonArcs{})) {}

  Machine<S> run() {
    const std::int32_t n = machine_.states();
    // states that only epsilons lead to are copied from, and then not needed; those that no epsilon leads to are not
    // copied from, so that their arcs are made where they are to stay
    std::vector<std::uint8_t> wanted(n, 0), copied(n, 0);
    wanted[machine_.start()] = 1;
    for (std::int32_t s = 0; s < n; ++s)
      for (const auto& arc : machine_.arcs(s)) (is_epsilon(arc) ? copied : wanted)[arc.nextstate] = 1;
    final_.assign(n, k_.zero());
    begin_.assign(n, kLater);
    count_.assign(n, 0);
    std::vector<std::uint32_t> begin(found_.count + 1, 0);
    for (const std::int32_t c : found_.of) ++begin[c];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());  // the ends; they become the beginnings
    std::vector<std::int32_t> order(n);
    for (std::int32_t s = n; s-- > 0;) order[--begin[found_.of[s]]] = s;
    for (std::int32_t c = found_.count; c-- > 0;) {
      const std::span<const std::int32_t> states(order.data() + begin[c], begin[c + 1] - begin[c]);
      if (!copy_in_place(states) && (states.size() > 1 || copied[states[0]])) component(states, c);
    }
    std::vector<typename Machine<S>::State> states;
    std::vector<Arc> arcs;
    std::vector<std::int32_t> number(n, kNoState);
    std::int32_t kept = 0;
    std::size_t total = 0;  // at most
    for (std::int32_t s = 0; s < n; ++s) {
      if (!wanted[s]) continue;
      number[s] = kept++;
      total += count_[s];
      if (begin_[s] != kLater) continue;
      for (const Arc& arc : machine_.arcs(s)) total += is_epsilon(arc) ? count_[arc.nextstate] : 1;
    }
    states.reserve(kept);
    arcs.reserve(std::min(total, std::max(kReserved, 4 * machine_.arcs())));
    for (std::int32_t s = 0; s < n; ++s) {
      if (!wanted[s]) continue;
      const std::size_t first = arcs.size();
      if (begin_[s] == kLater) {
        sum_.open(arcs);
        final_[s] = machine_.final(s);
        collect(s, k_.one(), found_.of[s], final_[s]);
      } else {
        const Arc* from = arcs_of(s);
        arcs.insert(arcs.end(), from, from + count_[s]);
      }
      states.push_back({final_[s], static_cast<std::uint32_t>(first), 0, 0, 0});
      auto& state = states.back();
      for (std::size_t a = first; a < arcs.size(); ++a) {
        state.niepsilons += arcs[a].ilabel == 0;
        state.noepsilons += arcs[a].olabel == 0;
        arcs[a].nextstate = number[arcs[a].nextstate];
      }
      state.narcs = static_cast<std::uint32_t>(arcs.size() - first);
    }
    return Machine<S>::counted(k_, number[machine_.start()], std::move(states), std::move(arcs));
  }

 private:
  static constexpr std::size_t kInPlace = static_cast<std::size_t>(-1), kLater = static_cast<std::size_t>(-2);
  static bool is_epsilon(const Arc& arc) { return arc.ilabel == 0 && arc.olabel == 0; }

  // What a state does without epsilons, once that is known.
  const Arc* arcs_of(std::int32_t s) const {
    return begin_[s] == kInPlace ? machine_.arcs(s).data() : store_.data() + begin_[s];
  }

  // One state without epsilons stays as it is.
  bool copy_in_place(std::span<const std::int32_t> states) {
    const std::int32_t s = states[0];
    if (states.size() > 1 || std::ranges::any_of(machine_.arcs(s), is_epsilon)) return false;
    final_[s] = machine_.final(s);
    begin_[s] = kInPlace;
    count_[s] = static_cast<std::uint32_t>(machine_.arcs(s).size());
    return true;
  }

  void component(std::span<const std::int32_t> states, std::int32_t c) {
    const bool loops = states.size() > 1 || std::ranges::any_of(machine_.arcs(states[0]), [&](const Arc& arc) {
                         return is_epsilon(arc) && arc.nextstate == states[0];
                       });
    if (!loops) {
      Weight final = machine_.final(states[0]);
      sum_.open(store_);
      collect(states[0], k_.one(), c, final);
      keep(states[0], final);
      return;
    }
    const std::size_t n = states.size();
    std::vector<Weight> closure;
    const bool dense = n <= kDense && queue_ == Queue::automatic;
    if (dense) closure = all_pairs(states, c);
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<Weight> row =
          dense ? std::vector<Weight>(closure.begin() + i * n, closure.begin() + (i + 1) * n) : from_one(states, i, c);
      Weight final = k_.zero();
      sum_.open(store_);
      for (std::size_t j = 0; j < n; ++j) {
        if (k_.equal(row[j], k_.zero())) continue;
        if (machine_.is_final(states[j])) final = k_.plus(final, k_.times(row[j], machine_.final(states[j])));
        collect(states[j], row[j], c, final);
      }
      keep(states[i], final);
    }
  }

  // Adds w times what s does outside epsilon paths of its own component.
  void collect(std::int32_t s, const Weight& w, std::int32_t c, Weight& final) {
    const bool plain = k_.equal(w, k_.one());
    for (const Arc& arc : machine_.arcs(s)) {
      if (!is_epsilon(arc)) {
        Arc copy = arc;
        if (!plain) copy.weight = k_.times(w, arc.weight);
        sum_.add(copy);
        continue;
      }
      const std::int32_t t = arc.nextstate;
      if (found_.of[t] == c) continue;
      const Weight there = k_.times(w, arc.weight);
      if (!k_.equal(final_[t], k_.zero())) final = k_.plus(final, k_.times(there, final_[t]));
      for (std::uint32_t a = 0; a < count_[t]; ++a) {
        Arc copy = arcs_of(t)[a];  // looked up again each time: the store may move while it grows
        copy.weight = k_.times(there, copy.weight);
        sum_.add(copy);
      }
    }
  }

  // What was summed up at the end of the store belongs to s.
  void keep(std::int32_t s, const Weight& final) {
    final_[s] = final;
    begin_[s] = sum_.first();
    count_[s] = static_cast<std::uint32_t>(sum_.size());
  }

  // Sums over all epsilon paths inside the component, the empty one included (Lehmann 1977).
  std::vector<Weight> all_pairs(std::span<const std::int32_t> states, std::int32_t c) {
    const std::size_t n = states.size();
    std::vector<Weight> a(n * n, k_.zero());
    const auto local = [&](std::int32_t s) {
      return static_cast<std::size_t>(std::ranges::lower_bound(states, s) - states.begin());
    };
    for (std::size_t i = 0; i < n; ++i)
      for (const Arc& arc : machine_.arcs(states[i]))
        if (is_epsilon(arc) && found_.of[arc.nextstate] == c) {
          Weight& cell = a[i * n + local(arc.nextstate)];
          cell = k_.plus(cell, arc.weight);
        }
    for (std::size_t m = 0; m < n; ++m) {
      const Weight loop = k_.star(a[m * n + m]);
      if (!k_.member(loop))
        fail("the epsilon cycles through state ", states[m],
             " have a total weight of one or more, so that their sum has no limit; scale the weights down");
      for (std::size_t i = 0; i < n; ++i) {
        if (i == m || k_.equal(a[i * n + m], k_.zero())) continue;
        const Weight in = k_.times(a[i * n + m], loop);
        for (std::size_t j = 0; j < n; ++j)
          if (j != m && !k_.equal(a[m * n + j], k_.zero()))
            a[i * n + j] = k_.plus(a[i * n + j], k_.times(in, a[m * n + j]));
        a[i * n + m] = in;
      }
      for (std::size_t j = 0; j < n; ++j)
        if (j != m) a[m * n + j] = k_.times(loop, a[m * n + j]);
      a[m * n + m] = k_.times(loop, a[m * n + m]);
    }
    for (std::size_t i = 0; i < n; ++i) a[i * n + i] = k_.plus(k_.one(), a[i * n + i]);
    return a;
  }

  std::vector<Weight> from_one(std::span<const std::int32_t> states, std::size_t source, std::int32_t c) {
    Builder<S> inner(k_);
    const auto local = [&](std::int32_t s) {
      return static_cast<std::int32_t>(std::ranges::lower_bound(states, s) - states.begin());
    };
    for (const std::int32_t s : states) {
      inner.open(k_.zero());
      for (const Arc& arc : machine_.arcs(s))
        if (is_epsilon(arc) && found_.of[arc.nextstate] == c) inner.push({0, 0, arc.weight, local(arc.nextstate)});
    }
    return distances_by(queue_, inner.finish(static_cast<std::int32_t>(source)), false);
  }

  const Machine<S>& machine_;
  const S& k_;
  const Queue queue_;
  ArcSum<S> sum_;
  Components found_;
  std::vector<Arc> store_;            // arcs of states that had epsilons and that epsilons lead to
  std::vector<std::size_t> begin_;    // [N] into store_, or kInPlace, or kLater
  std::vector<std::uint32_t> count_;  // [N]
  std::vector<Weight> final_;         // [N]
};

}  // namespace

template <class S>
Machine<S> remove_epsilons(const Machine<S>& machine, bool connect, Queue queue) {
  if (machine.start() == kNoState) return Machine<S>(machine);
  if (is(machine, property::no_epsilons)) {
    Machine<S> same(machine);
    if (connect) trim(same);
    return same;
  }
  Machine<S> out = Remover<S>(machine, queue).run();
  if (connect) trim(out);
  out.know(property::no_epsilons);
  return out;
}

#define X(S) template Machine<S> remove_epsilons(const Machine<S>&, bool, Queue);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
