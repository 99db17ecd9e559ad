#include "fst/disambiguate.h"

#include <map>

#include "base/flat_table.h"
#include "fst/minimize.h"
#include "fst/properties.h"
#include "fst/structure.h"
#include "fst/twins.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kMostPairs = 2'000'000;

// Pairs of states that one string leads to and from which one string leads to the end.
template <class S>
class CommonFutures {
 public:
  explicit CommonFutures(const Machine<S>& machine) {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    std::vector<std::vector<std::int32_t>> before;
    const auto of = [&](std::int32_t p, std::int32_t q) {
      const auto [at, is_new] = number_.add(base::joined_key(p, q), static_cast<std::int32_t>(pairs.size()));
      if (is_new) {
        pairs.emplace_back(p, q);
        before.emplace_back();
      }
      return at;
    };
    of(machine.start(), machine.start());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs.size() > kMostPairs) {  // too many to know: all may share a future
        number_.clear();
        return;
      }
      const auto [p, q] = pairs[i];
      const auto x = machine.arcs(p), y = machine.arcs(q);  // sorted by input
      for (std::size_t a = 0, b = 0; a < x.size() && b < y.size();) {
        if (x[a].ilabel != y[b].ilabel) {
          x[a].ilabel < y[b].ilabel ? ++a : ++b;
          continue;
        }
        const std::int32_t label = x[a].ilabel;
        std::size_t a_end = a, b_end = b;
        while (a_end < x.size() && x[a_end].ilabel == label) ++a_end;
        while (b_end < y.size() && y[b_end].ilabel == label) ++b_end;
        for (std::size_t c = a; c < a_end; ++c)
          for (std::size_t d = b; d < b_end; ++d) {
            const std::int32_t to = of(x[c].nextstate, y[d].nextstate);
            before[to].push_back(static_cast<std::int32_t>(i));
          }
        a = a_end;
        b = b_end;
      }
    }
    shared_.assign(pairs.size(), false);
    std::vector<std::int32_t> stack;
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if (machine.is_final(pairs[i].first) && machine.is_final(pairs[i].second)) {
        shared_[i] = true;
        stack.push_back(static_cast<std::int32_t>(i));
      }
    while (!stack.empty()) {
      const std::int32_t i = stack.back();
      stack.pop_back();
      for (const std::int32_t from : before[i]) {
        if (shared_[from]) continue;
        shared_[from] = true;
        stack.push_back(from);
      }
    }
  }
  bool operator()(std::int32_t p, std::int32_t q) const {
    if (number_.size() == 0) return true;
    const std::int32_t* const found = number_.find(base::joined_key(p, q));
    return found != nullptr && shared_[*found];
  }

 private:
  base::FlatTable<std::int32_t> number_;
  std::vector<bool> shared_;
};

}  // namespace

template <class S>
Machine<S> disambiguate(const Machine<S>& machine, double delta, std::size_t most_states) {
  using Arc = typename Machine<S>::Arc;
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  if (!k.path())
    fail("disambiguation keeps the best path of each string, which needs the path property; convert from '",
         std::string(k.name()), "' to 'tropical'");
  if (is(machine, property::iepsilons))
    fail("disambiguation needs a machine that reads something on every arc; remove epsilons first");
  Machine<S> trimmed = connect(machine);
  if (trimmed.start() == kNoState) return trimmed;
  const Machine<S> from = sort_arcs(trimmed, false);
  const CommonFutures<S> share(from);
  struct Rival {
    std::int32_t state;
    Weight weight;  // against that of q
  };
  SequenceTable states;  // q, then state and rounded weight of each rival
  Codes<typename S::Weight> rounded(true, true);
  std::vector<std::pair<std::int32_t, std::vector<Rival>>> subsets;
  std::vector<std::int32_t> key;
  const auto of = [&](std::int32_t q, std::vector<Rival>&& rivals) {
    key.assign(1, q);
    for (const Rival& rival : rivals) {
      key.push_back(rival.state);
      key.push_back(rounded.of(0, 0, k.quantize(rival.weight, delta)));
    }
    const std::uint32_t id = states.insert(key);
    if (id == subsets.size()) subsets.emplace_back(q, std::move(rivals));
    return static_cast<std::int32_t>(id);
  };
  const auto ahead = [&](const Weight& theirs, std::int32_t p, const Weight& mine, std::int32_t q) {
    return k.less(theirs, mine) || (!k.less(mine, theirs) && p < q);
  };
  std::size_t suspicious = std::max<std::size_t>(20'000, 8 * static_cast<std::size_t>(from.states()));
  Builder<S> out(k);
  of(from.start(), {});
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    if (subsets.size() > suspicious) {
      const auto wanted = [&](std::int32_t p, std::int32_t q) { return share(p, q); };
      for (const std::size_t most : {std::size_t{20'000}, std::size_t{2'000'000}}) {
        const std::string example = find_unequal_twins(from, delta, most, wanted);
        if (!example.empty())
          fail("the machine cannot be disambiguated: ", example, "; push or round the weights, or prune it first");
      }
      suspicious = std::max<std::size_t>(4 * subsets.size(), 1'000'000);
    }
    if (subsets.size() > most_states)
      fail("disambiguation has made more than ", most_states, " states; raise max_states, or prune the machine first");
    const std::int32_t q = subsets[i].first;
    const std::vector<Rival> rivals = subsets[i].second;
    bool ends = from.is_final(q);
    for (const Rival& rival : rivals)
      ends = ends && !(from.is_final(rival.state) &&
                       ahead(k.times(rival.weight, from.final(rival.state)), rival.state, from.final(q), q));
    out.open(ends ? from.final(q) : k.zero());
    const auto arcs = from.arcs(q);
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const Arc& arc = arcs[a];
      std::map<std::int32_t, Weight> reached;  // by the same label, from q and its rivals
      bool beaten = false;
      const auto look = [&](std::int32_t p, const Weight& w, bool own) {
        const auto others = from.arcs(p);
        auto at = std::ranges::lower_bound(others, arc.ilabel, {}, &Arc::ilabel);
        for (; at != others.end() && at->ilabel == arc.ilabel; ++at) {
          const Weight weight = k.times(w, at->weight);
          if (at->nextstate == arc.nextstate) {
            if (own) {
              const auto place = static_cast<std::size_t>(at - others.begin());
              beaten |= place != a && (k.less(weight, arc.weight) || (!k.less(arc.weight, weight) && place < a));
            } else {
              beaten |= ahead(weight, p, arc.weight, q);
            }
          } else if (share(at->nextstate, arc.nextstate)) {
            const auto [there, is_new] = reached.try_emplace(at->nextstate, weight);
            if (!is_new) there->second = k.plus(there->second, weight);
          }
        }
      };
      look(q, k.one(), true);
      for (const Rival& rival : rivals) look(rival.state, rival.weight, false);
      if (beaten) continue;
      std::vector<Rival> next;
      for (const auto& [state, weight] : reached) {
        const Weight against = k.divide(weight, arc.weight, Side::left);
        if (!k.member(against))
          fail("weights of ", std::string(k.name()), " cannot be divided, so the machine cannot be disambiguated");
        next.push_back({state, against});
      }
      Arc kept = arc;
      kept.nextstate = of(arc.nextstate, std::move(next));
      out.push(kept);
    }
  }
  Machine<S> made = out.finish(0);
  trim(made);
  return made;
}

#define X(S) template Machine<S> disambiguate(const Machine<S>&, double, std::size_t);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
