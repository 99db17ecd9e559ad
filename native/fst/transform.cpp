#include "fst/transform.h"

#include <cmath>
#include <deque>
#include <tuple>

#include "base/flat_table.h"
#include "fst/algebra.h"
#include "fst/epsilons.h"
#include "fst/examples.h"
#include "fst/gallic.h"
#include "fst/lazy_transform.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

// A fault if a machine calls itself, through others or at once: it would never be written out.
template <class W>
void check_calls(const std::vector<std::pair<std::int32_t, const Automaton<W>*>>& machines,
                 const base::FlatTable<std::int32_t>& number, std::int32_t root) {
  std::vector<int> color(machines.size(), 0);  // 1: being looked at, 2: done
  struct Frame {
    std::int32_t machine, state;
    std::size_t arc;
  };
  std::vector<Frame> stack{{root, 0, 0}};
  color[root] = 1;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const Automaton<W>& machine = *machines[frame.machine].second;
    std::int32_t called = -1;
    while (frame.state < machine.states() && called < 0) {
      const auto arcs = machine.arcs(frame.state);
      if (frame.arc >= arcs.size()) {
        ++frame.state;
        frame.arc = 0;
        continue;
      }
      const std::int32_t* const found = number.find(base::key_of(arcs[frame.arc++].olabel));
      if (found != nullptr && color[*found] != 2) called = *found;
    }
    if (called < 0) {
      color[frame.machine] = 2;
      stack.pop_back();
      continue;
    }
    if (color[called] == 1)
      fail("the machine of label ", machines[called].first,
           " calls itself, so it cannot be written out; make the grammar finite first");
    color[called] = 1;
    stack.push_back({called, 0, 0});
  }
}

// A fault if a cycle reads more than it writes, or less: input and output would drift apart without limit. Inside a
// component every state has one delay then.
template <class W>
void check_delay(const Automaton<W>& machine) {
  const Components found = components(machine);
  if (!found.cyclic) return;
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> delay(machine.states(), unknown);
  std::vector<std::int32_t> stack;
  for (std::int32_t root = 0; root < machine.states(); ++root) {
    if (delay[root] != unknown) continue;
    delay[root] = 0;
    stack.push_back(root);
    while (!stack.empty()) {
      const std::int32_t s = stack.back();
      stack.pop_back();
      for (const auto& arc : machine.arcs(s)) {
        if (found.of[arc.nextstate] != found.of[s]) continue;
        const std::int64_t now = delay[s] + (arc.ilabel != 0) - (arc.olabel != 0);
        if (delay[arc.nextstate] == unknown) {
          delay[arc.nextstate] = now;
          stack.push_back(arc.nextstate);
        } else if (delay[arc.nextstate] != now) {
          fail("input and output drift apart without limit: the input ", string_to(machine, s), " leads to state ", s,
               ", and a cycle through it reads more than it writes, or less");
        }
      }
    }
  }
}

// A fault if a cycle writes more than it reads: with one label on each arc, what is left to write would grow for ever.
// The longest way from the start, by how much is written more than read; endless where a state gets better too often.
template <class W>
void check_surplus(const Automaton<W>& machine) {
  const auto n = static_cast<std::size_t>(machine.states());
  std::vector<std::int64_t> surplus(n, std::numeric_limits<std::int64_t>::min());
  std::vector<std::size_t> times(n, 0);
  std::vector<bool> waiting(n, false);
  std::deque<std::int32_t> queue;
  if (n > 0) {
    queue.push_back(machine.start());
    surplus[machine.start()] = 0;
  }
  while (!queue.empty()) {
    const std::int32_t s = queue.front();
    queue.pop_front();
    waiting[s] = false;
    if (++times[s] > n)
      fail("a cycle writes more than it reads, so that outputs would be held back without end: the input ",
           string_to(machine, s), " leads to state ", s, ", which it passes");
    for (const auto& arc : machine.arcs(s)) {
      const std::int64_t now = surplus[s] + (arc.olabel != 0) - (arc.ilabel != 0);
      if (now <= surplus[arc.nextstate]) continue;
      surplus[arc.nextstate] = now;
      if (!waiting[arc.nextstate]) queue.push_back(arc.nextstate);
      waiting[arc.nextstate] = true;
    }
  }
}

// By both labels and the next state; equal ones keep their order.
template <class W>
void sort_by_labels(std::vector<Arc<W>>& arcs) {
  std::ranges::stable_sort(arcs, [](const auto& x, const auto& y) {
    return std::tie(x.ilabel, x.olabel, x.nextstate) < std::tie(y.ilabel, y.olabel, y.nextstate);
  });
}

// Between two semirings weights are costs: numbers, with infinity for zero and -infinity for one, which no other weight
// has. Arcs of a state at once, so that eight semirings need two functions each and not one for each pair of them.
constexpr double kZeroCost = std::numeric_limits<double>::infinity(), kOneCost = -kZeroCost;

template <class S>
double to_cost(const typename S::Weight& w) {
  if (S::equal(w, S::zero())) return kZeroCost;
  if (S::equal(w, S::one())) return kOneCost;
  if constexpr (std::same_as<S, Probability>) {
    return -std::log(w);
  } else if constexpr (std::same_as<S, SignedLog>) {
    if (w.sign < 0) fail("a negative weight has no logarithm; only signed_log has such weights");
    return w.x;
  } else {
    return static_cast<double>(w);
  }
}
template <class S>
typename S::Weight from_cost(double x, const char* from) {
  if (x == kZeroCost) return S::zero();
  if (x == kOneCost) return S::one();
  typename S::Weight w;
  if constexpr (std::same_as<S, Probability>) {
    w = std::exp(-x);
  } else if constexpr (std::same_as<S, SignedLog>) {
    w = {1.0, x};
  } else if constexpr (std::same_as<S, Boolean>) {
    w = 1;
  } else {
    w = static_cast<typename S::Weight>(x);
  }
  if (!S::member(w)) fail("a weight of ", from, " has no image in ", S::name());
  return w;
}

// Costs of the final weight and of the arcs of a state, and the weights that have them.
template <class S>
void to_costs(const typename S::Weight& final, std::span<const Arc<typename S::Weight>> arcs,
              std::vector<double>& costs) {
  costs.clear();
  costs.push_back(to_cost<S>(final));
  for (const auto& arc : arcs) costs.push_back(to_cost<S>(arc.weight));
}
template <class S>
void from_costs(const std::vector<double>& costs, const char* from, std::vector<typename S::Weight>& weights) {
  weights.clear();
  for (const double cost : costs) weights.push_back(from_cost<S>(cost, from));
}

template <class V, class W>
Automaton<V> converted(const Automaton<W>& machine, const V& zero, const V& one, const char* name,
                       void (*to)(const W&, std::span<const Arc<W>>, std::vector<double>&),
                       void (*from)(const std::vector<double>&, const char*, std::vector<V>&)) {
  std::vector<double> costs;
  std::vector<V> weights;
  Assembly<V> out;
  out.reserve(machine.states(), machine.arcs());
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    const auto arcs = machine.arcs(s);
    to(machine.final(s), arcs, costs);
    from(costs, name, weights);
    out.open(weights[0]);
    for (std::size_t a = 0; a < arcs.size(); ++a)
      out.push({arcs[a].ilabel, arcs[a].olabel, weights[a + 1], arcs[a].nextstate});
  }
  return out.finish(zero, one, machine.start());
}

}  // namespace

template <class W>
Automaton<W> replace(const std::vector<std::pair<std::int32_t, const Automaton<W>*>>& machines,
                     const ReplaceOptions& options) {
  base::FlatTable<std::int32_t> number;
  for (std::size_t i = 0; i < machines.size(); ++i)
    if (!number.add(base::key_of(machines[i].first), static_cast<std::int32_t>(i)).second)
      fail("label ", machines[i].first, " has two machines");
  const std::int32_t* const root = number.find(base::key_of(options.root));
  if (root == nullptr) fail("the root label ", options.root, " has no machine");
  check_calls(machines, number, *root);
  const auto ring = bare_ring(*machines[*root].second);
  std::vector<std::pair<std::int32_t, LazyPointer<W>>> leaves;
  for (const auto& [label, machine] : machines) leaves.emplace_back(label, borrowed(ring, *machine));
  return expand(*lazy_replace(std::move(leaves), options, kNoLimit), options.most_states);
}

template <class W>
Automaton<W> synchronize(const Automaton<W>& machine) {
  const Automaton<W> trimmed = connect(machine);
  if (trimmed.start() == kNoState) return Automaton<W>(machine.zero(), machine.one());
  check_delay(trimmed);
  return expand(*lazy_synchronize(borrowed(bare_ring(machine), trimmed), kNoLimit));
}

template <class S>
Machine<S> normalize_epsilons(const Machine<S>& machine, bool output) {
  if (output) return invert(normalize_epsilons(invert(machine), false));
  const S& k = machine.semiring();
  if (machine.start() == kNoState) return Machine<S>(k);
  const Machine<S> trimmed = connect(machine);
  AlgebraPointer weights;
  if constexpr (std::same_as<S, Dynamic>) {
    weights = k.algebra;
  } else {
    weights = std::make_shared<NumberAlgebra<S>>();
  }
  const auto gallic = std::make_shared<GallicAlgebra>(GallicKind::general, std::move(weights));
  const Machine<Dynamic> inputs = to_gallic(trimmed, gallic);
  const Components silent = components(inputs, EpsilonArcs{});
  for (std::int32_t s = 0; s < trimmed.states(); ++s)
    for (const auto& arc : trimmed.arcs(s))
      if (arc.ilabel == 0 && arc.olabel != 0 && silent.of[s] == silent.of[arc.nextstate])
        fail("a cycle reads nothing but writes, so that one input has outputs without end: the input ",
             string_to(trimmed, s), " leads to state ", s, ", where it begins");
  check_surplus(trimmed);
  return from_gallic<S>(remove_epsilons(inputs, true));
}

template <class S>
Machine<S> map_weights(const Machine<S>& machine, WeightMap kind, const typename S::Weight& weight, double number) {
  const S& k = machine.semiring();
  const S made = kind == WeightMap::reverse ? k.reversed() : k;  // held: reversed weights are numbers in it
  const auto map = [&](const typename S::Weight& w) -> typename S::Weight {
    if (k.equal(w, k.zero())) return w;
    switch (kind) {
      case WeightMap::invert: return k.divide(k.one(), w, Side::any);
      case WeightMap::plus: return k.plus(w, weight);
      case WeightMap::times: return k.times(w, weight);
      case WeightMap::quantize: return k.quantize(w, number);
      case WeightMap::remove: return k.one();
      case WeightMap::reverse: return k.reverse(w);
      case WeightMap::power: break;
    }
    if constexpr (std::same_as<S, Probability>) {
      return std::pow(w, number);
    } else if constexpr (std::floating_point<typename S::Weight> && !std::same_as<S, MinMax>) {
      return static_cast<typename S::Weight>(w * number);
    } else {
      if (number < 0 || number != std::floor(number) || number > 1000)
        fail("weights of ", std::string(k.name()), " have whole powers from 0 to 1000, not ", number);
      typename S::Weight product = k.one();
      for (int i = 0; i < static_cast<int>(number); ++i) product = k.times(product, w);
      return product;
    }
  };
  Machine<S> out(machine);
  const auto checked = [&](const typename S::Weight& w, std::int32_t s) {
    const auto mapped = map(w);
    if (!k.member(mapped)) fail("a weight of state ", s, " has no such image in ", std::string(k.name()));
    return mapped;
  };
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) arc.weight = checked(arc.weight, s);
    if (out.is_final(s)) out.set_final(s, checked(out.final(s), s));
  }
  out.set_semiring(made);
  return out;
}

template <class S>
Machine<S> map_arcs(const Machine<S>& machine, ArcMap kind) {
  const S& k = machine.semiring();
  Builder<S> out(k);
  out.reserve(machine.states() + 1, machine.arcs());
  std::vector<typename Machine<S>::Arc> arcs;
  bool any = false;
  if (kind == ArcMap::arc_sum && !k.right())
    fail("weights of ", std::string(k.name()), " do not distribute from the right, so arcs cannot be added up");
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    const bool moved = kind == ArcMap::superfinal && machine.is_final(s);
    out.open(moved ? k.zero() : machine.final(s));
    arcs.assign(machine.arcs(s).begin(), machine.arcs(s).end());
    if (kind == ArcMap::arc_sum || kind == ArcMap::arc_unique) {
      sort_by_labels(arcs);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        bool merged = false;
        for (std::size_t j = kept; j-- > 0;) {
          auto& there = arcs[j];
          if (there.ilabel != arcs[i].ilabel || there.olabel != arcs[i].olabel || there.nextstate != arcs[i].nextstate)
            break;
          if (kind == ArcMap::arc_sum) {
            there.weight = k.plus(there.weight, arcs[i].weight);
            merged = true;
            break;
          }
          if (k.equal(there.weight, arcs[i].weight)) {
            merged = true;
            break;
          }
        }
        if (!merged) arcs[kept++] = arcs[i];
      }
      arcs.resize(kept);
    }
    for (auto& arc : arcs) {
      if (kind == ArcMap::input_epsilon) arc.ilabel = 0;
      if (kind == ArcMap::output_epsilon) arc.olabel = 0;
      out.push(arc);
    }
    if (moved) {
      out.push({0, 0, machine.final(s), machine.states()});
      any = true;
    }
  }
  if (any) out.open(k.one());
  return out.finish(machine.start());
}

template <class From, class To>
Machine<To> convert(const Machine<From>& machine, const To& semiring) {
  return {semiring, converted<typename To::Weight>(machine.bare(), To::zero(), To::one(), From::name(), &to_costs<From>,
                                                   &from_costs<To>)};
}

#define X(S)                                                                                        \
  template Machine<S> normalize_epsilons(const Machine<S>&, bool);                                  \
  template Machine<S> map_weights(const Machine<S>&, WeightMap, const typename S::Weight&, double); \
  template Machine<S> map_arcs(const Machine<S>&, ArcMap);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

#define X(W)                                                                                      \
  template Automaton<W> replace(const std::vector<std::pair<std::int32_t, const Automaton<W>*>>&, \
                                const ReplaceOptions&);                                           \
  template Automaton<W> synchronize(const Automaton<W>&);
TEXTMILL_FST_WEIGHTS(X)
#undef X

#define X(S)                                                                              \
  template Machine<Tropical<float>> convert(const Machine<S>&, const Tropical<float>&);   \
  template Machine<Tropical<double>> convert(const Machine<S>&, const Tropical<double>&); \
  template Machine<Log<float>> convert(const Machine<S>&, const Log<float>&);             \
  template Machine<Log<double>> convert(const Machine<S>&, const Log<double>&);           \
  template Machine<Probability> convert(const Machine<S>&, const Probability&);           \
  template Machine<Boolean> convert(const Machine<S>&, const Boolean&);                   \
  template Machine<MinMax> convert(const Machine<S>&, const MinMax&);                     \
  template Machine<SignedLog> convert(const Machine<S>&, const SignedLog&);
TEXTMILL_FST_NUMBERS(X)
#undef X

}  // namespace textmill::fst
