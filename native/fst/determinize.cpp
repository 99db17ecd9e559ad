#include "fst/determinize.h"

#include "fst/determinizer.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

// A machine that is deterministic already: its subsets are its states, so that only their order changes. Nothing where
// weights are left over when they are divided by themselves.
template <class S>
std::optional<Machine<S>> in_order_of_sight(const Machine<S>& machine) {
  using Arc = typename Machine<S>::Arc;
  const S& k = machine.semiring();
  const auto cancels = [&](const typename S::Weight& w) { return k.equal(k.divide(w, w, Side::left), k.one()); };
  const bool sorted = is(machine, property::ilabel_sorted);
  std::vector<std::int32_t> number(machine.states(), kNoState), order{machine.start()};
  order.reserve(machine.states());
  number[machine.start()] = 0;
  std::vector<Arc> arcs;
  Builder<S> out(k);
  out.reserve(machine.states(), machine.arcs());
  for (std::size_t q = 0; q < order.size(); ++q) {
    const std::int32_t s = order[q];
    out.open(machine.final(s));
    auto from = machine.arcs(s);
    if (!sorted) {
      arcs.assign(from.begin(), from.end());
      sort_by_input(arcs);
      from = arcs;
    }
    for (Arc arc : from) {
      if (k.equal(arc.weight, k.zero())) continue;
      if (!cancels(arc.weight)) return {};
      std::int32_t& next = number[arc.nextstate];
      if (next == kNoState) {
        next = static_cast<std::int32_t>(order.size());
        order.push_back(arc.nextstate);
      }
      arc.nextstate = next;
      out.push(arc);
    }
  }
  return out.finish(0);
}

}  // namespace

template <class S>
Machine<S> determinize(const Machine<S>& machine, const DeterminizeOptions& options,
                       const std::optional<typename S::Weight>& worst) {
  const S& k = machine.semiring();
  if (machine.start() == kNoState) return Machine<S>(k);
  if (!k.left())
    fail("determinization needs weights that distribute from the left; those of ", std::string(k.name()),
         " do not, reverse the machine first");
  const bool pruned = worst || options.kept_states != kMostStates;
  if (pruned && !k.path())
    fail("a threshold needs the path property, which ", std::string(k.name()), " has not; convert to 'tropical'");
  const bool transducer = !is(machine, property::acceptor);
  if (transducer && options.outputs == Outputs::best && !k.path())
    fail("keeping the lighter output needs the path property, which ", std::string(k.name()),
         " has not; convert to 'tropical'");
  std::optional<Machine<S>> trimmed;  // a state that leads nowhere must not count as a second output
  if ((transducer || pruned) && !connected(machine)) trimmed = connect(machine);
  const Machine<S>& from = trimmed ? *trimmed : machine;
  if (from.start() == kNoState) return Machine<S>(k);
  std::optional<Machine<S>> made;
  if (!pruned && static_cast<std::size_t>(from.states()) <= options.most_states && is(from, property::ideterministic))
    made = in_order_of_sight(from);
  if (!made) {
    Determinizer<S, Machine<S>> determinizer(from, k, options, transducer);
    if constexpr (may_have_order<S>) {
      if (pruned) made = determinizer.run_pruned(worst);
    }
    if (!made) made = determinizer.run();
  }
  Machine<S> out = std::move(*made);
  out.know(property::accessible);
  if (!transducer)
    out.know(property::acceptor | property::ideterministic | property::odeterministic | property::ilabel_sorted |
             property::olabel_sorted);
  return out;
}

#define X(S)                                                                    \
  template Machine<S> determinize(const Machine<S>&, const DeterminizeOptions&, \
                                  const std::optional<typename S::Weight>&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
