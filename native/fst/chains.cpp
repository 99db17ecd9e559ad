#include "fst/chains.h"

#include <string_view>

#include "base/intern.h"

namespace textmill::fst {
namespace {

// The strings of chains and the machine that reads them.
template <class S>
class Chains {
 public:
  explicit Chains(const S& semiring) : semiring_(semiring), machine_(semiring) {
    machine_.add_state(semiring.one());
    machine_.set_start(0);
  }

  std::int32_t label(const std::vector<std::int32_t>& string) {
    if (string.empty()) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(string.data()), string.size() * sizeof(std::int32_t));
    const std::size_t before = strings_.size();
    const auto label = static_cast<std::int32_t>(strings_.insert(bytes, base::hash_bytes(bytes)) + 1);
    if (strings_.size() > before) add(string, label);
    return label;
  }

  Machine<S> finish() { return std::move(machine_); }

 private:
  void add(const std::vector<std::int32_t>& string, std::int32_t label) {
    std::int32_t from = 0;
    for (std::size_t i = 0; i < string.size(); ++i) {
      const std::int32_t to = i + 1 == string.size() ? 0 : machine_.add_state();
      machine_.add_arc(from, {string[i], i == 0 ? label : 0, semiring_.one(), to});
      from = to;
    }
  }

  S semiring_;
  Machine<S> machine_;
  base::InternTable strings_;
};

// For each state: is it inside of a chain?
template <class S>
std::vector<std::uint8_t> inner_states(const Machine<S>& a) {
  std::vector<std::uint8_t> in(static_cast<std::size_t>(a.states()));  // number of arcs that lead there, at most 2
  for (std::int32_t s = 0; s < a.states(); ++s)
    for (const auto& arc : a.arcs(s)) in[arc.nextstate] = static_cast<std::uint8_t>(std::min(in[arc.nextstate] + 1, 2));
  for (std::int32_t s = 0; s < a.states(); ++s)
    in[s] = in[s] == 1 && a.arcs(s).size() == 1 && s != a.start() && !a.is_final(s);
  return in;
}

}  // namespace

template <class S>
ChainFactors<S> factor_chains(const Machine<S>& a) {
  const S& k = a.semiring();
  Chains<S> chains(k);
  Builder<S> out(k);
  const std::vector<std::uint8_t> inner = inner_states(a);
  std::vector<std::int32_t> number(inner.size(), kNoState), order, string;
  const auto to = [&](std::int32_t s) {
    if (number[s] == kNoState) {
      number[s] = static_cast<std::int32_t>(order.size());
      order.push_back(s);
    }
    return number[s];
  };
  if (a.start() != kNoState) to(a.start());
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.open(a.final(order[i]));
    for (auto arc : a.arcs(order[i])) {
      string.clear();
      if (arc.ilabel != 0) string.push_back(arc.ilabel);
      // a cycle of inner states has no way in from outside, so this ends
      while (inner[arc.nextstate]) {
        const auto& next = a.arcs(arc.nextstate)[0];
        if (arc.olabel != 0 && next.olabel != 0) break;
        arc.weight = k.times(arc.weight, next.weight);
        arc.olabel += next.olabel;
        if (next.ilabel != 0) string.push_back(next.ilabel);
        arc.nextstate = next.nextstate;
      }
      out.push({chains.label(string), arc.olabel, arc.weight, to(arc.nextstate)});
    }
  }
  return {chains.finish(), out.finish(order.empty() ? kNoState : 0)};
}

#define X(S) template ChainFactors<S> factor_chains(const Machine<S>&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
