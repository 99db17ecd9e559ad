#include "fst/epsilons.h"

#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kDense = 64;  // states of a component that are worth a matrix

// Adds up arcs with equal labels and next state. Open addressing, emptied by counting up.
template <class S>
class ArcSum {
 public:
  using Arc = typename Machine<S>::Arc;
  explicit ArcSum(const S& k) : k_(k), merges_(k.right()), slots_(64), mask_(63) {}
  void clear() {
    arcs.clear();
    ++round_;
  }
  void add(const Arc& arc) {
    if (!merges_) {  // (a + b) c is not ac + bc
      arcs.push_back(arc);
      return;
    }
    std::size_t at = place(arc) & mask_;
    while (slots_[at].round == round_) {
      Arc& there = arcs[slots_[at].arc];
      if (there.ilabel == arc.ilabel && there.olabel == arc.olabel && there.nextstate == arc.nextstate) {
        there.weight = k_.plus(there.weight, arc.weight);
        return;
      }
      at = (at + 1) & mask_;
    }
    slots_[at] = {round_, static_cast<std::uint32_t>(arcs.size())};
    arcs.push_back(arc);
    if (arcs.size() * 2 > slots_.size()) grow();
  }
  std::vector<Arc> arcs;

 private:
  struct Slot {
    std::uint64_t round = 0;
    std::uint32_t arc = 0;
  };
  static std::uint64_t place(const Arc& arc) {
    std::uint64_t h =
        std::uint64_t{static_cast<std::uint32_t>(arc.ilabel)} << 32 | static_cast<std::uint32_t>(arc.olabel);
    h = (h ^ h >> 29) * 0x9E3779B97F4A7C15u + static_cast<std::uint32_t>(arc.nextstate);
    h *= 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 32;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    mask_ = slots_.size() - 1;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      std::size_t at = place(arcs[i]) & mask_;
      while (slots_[at].round == round_) at = (at + 1) & mask_;
      slots_[at] = {round_, static_cast<std::uint32_t>(i)};
    }
  }
  const S& k_;
  bool merges_;
  std::vector<Slot> slots_;
  std::size_t mask_;
  std::uint64_t round_ = 1;
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
    // states that only epsilons lead to are copied from, and then not needed
    std::vector<bool> wanted(n, false);
    wanted[machine_.start()] = true;
    for (std::int32_t s = 0; s < n; ++s)
      for (const auto& arc : machine_.arcs(s))
        if (arc.ilabel != 0 || arc.olabel != 0) wanted[arc.nextstate] = true;
    final_.assign(n, k_.zero());
    begin_.assign(n, 0);
    count_.assign(n, 0);
    std::vector<std::uint32_t> begin(found_.count + 1, 0);
    for (const std::int32_t c : found_.of) ++begin[c + 1];
    for (std::int32_t c = 0; c < found_.count; ++c) begin[c + 1] += begin[c];
    std::vector<std::int32_t> order(n);
    std::vector<std::uint32_t> at(begin.begin(), begin.end() - 1);
    for (std::int32_t s = 0; s < n; ++s) order[at[found_.of[s]]++] = s;
    store_.reserve(machine_.arcs());
    for (std::int32_t c = found_.count; c-- > 0;) component({order.data() + begin[c], begin[c + 1] - begin[c]}, c);
    std::vector<typename Machine<S>::State> states;
    std::vector<Arc> arcs;
    std::vector<std::int32_t> number(n, kNoState);
    std::int32_t kept = 0;
    std::size_t total = 0;
    for (std::int32_t s = 0; s < n; ++s) {
      if (!wanted[s]) continue;
      number[s] = kept++;
      total += count_[s];
    }
    states.reserve(kept);
    arcs.reserve(total);
    for (std::int32_t s = 0; s < n; ++s) {
      if (!wanted[s]) continue;
      states.push_back({final_[s], static_cast<std::uint32_t>(arcs.size()), count_[s], 0, 0});
      const Arc* from = begin_[s] == kInPlace ? machine_.arcs(s).data() : store_.data() + begin_[s];
      for (std::uint32_t a = 0; a < count_[s]; ++a) {
        Arc arc = from[a];
        states.back().niepsilons += arc.ilabel == 0;
        states.back().noepsilons += arc.olabel == 0;
        arc.nextstate = number[arc.nextstate];
        arcs.push_back(arc);
      }
    }
    return Machine<S>::counted(k_, number[machine_.start()], std::move(states), std::move(arcs));
  }

 private:
  static constexpr std::size_t kInPlace = static_cast<std::size_t>(-1);
  static bool is_epsilon(const Arc& arc) { return arc.ilabel == 0 && arc.olabel == 0; }

  void component(std::span<const std::int32_t> states, std::int32_t c) {
    bool loops = states.size() > 1;
    bool any = loops;
    if (!loops)
      for (const Arc& arc : machine_.arcs(states[0])) {
        if (!is_epsilon(arc)) continue;
        any = true;
        loops |= arc.nextstate == states[0];
      }
    if (!any) {
      const std::int32_t s = states[0];
      final_[s] = machine_.final(s);
      begin_[s] = kInPlace;
      count_[s] = static_cast<std::uint32_t>(machine_.arcs(s).size());
      return;
    }
    if (!loops) {
      const std::int32_t s = states[0];
      sum_.clear();
      Weight final = machine_.final(s);
      collect(s, k_.one(), c, final);
      write(s, final);
      return;
    }
    const std::size_t n = states.size();
    std::vector<Weight> closure;
    const bool dense = n <= kDense && queue_ == Queue::automatic;
    if (dense) closure = all_pairs(states, c);
    std::vector<std::pair<Weight, std::vector<Arc>>> made;
    for (std::size_t i = 0; i < n; ++i) {
      sum_.clear();
      Weight final = k_.zero();
      const std::vector<Weight> row =
          dense ? std::vector<Weight>(closure.begin() + i * n, closure.begin() + (i + 1) * n) : from_one(states, i, c);
      for (std::size_t j = 0; j < n; ++j) {
        if (k_.equal(row[j], k_.zero())) continue;
        if (machine_.is_final(states[j])) final = k_.plus(final, k_.times(row[j], machine_.final(states[j])));
        collect(states[j], row[j], c, final);
      }
      made.push_back({final, sum_.arcs});
    }
    for (std::size_t i = 0; i < n; ++i) {
      sum_.arcs = std::move(made[i].second);
      write(states[i], made[i].first);
    }
    sum_.clear();
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
      const Arc* from = begin_[t] == kInPlace ? machine_.arcs(t).data() : store_.data() + begin_[t];
      for (std::uint32_t a = 0; a < count_[t]; ++a) {
        Arc copy = from[a];
        copy.weight = k_.times(there, copy.weight);
        sum_.add(copy);
      }
    }
  }

  void write(std::int32_t s, const Weight& final) {
    final_[s] = final;
    begin_[s] = store_.size();
    count_[s] = static_cast<std::uint32_t>(sum_.arcs.size());
    store_.insert(store_.end(), sum_.arcs.begin(), sum_.arcs.end());
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
  std::vector<Arc> store_;            // arcs of states that had epsilons
  std::vector<std::size_t> begin_;    // [N] into store_, or kInPlace
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
