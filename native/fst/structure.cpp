#include "fst/structure.h"

#include <numeric>
#include <unordered_map>

#include "fst/properties.h"

namespace textmill::fst {
namespace {

// Appends the states and arcs of b, moved by `shift`.
template <class S>
void append(Builder<S>& out, const Machine<S>& b, std::int32_t shift) {
  for (std::int32_t s = 0; s < b.states(); ++s) {
    out.open(b.final(s));
    for (auto arc : b.arcs(s)) {
      arc.nextstate += shift;
      out.push(arc);
    }
  }
}

template <class S>
bool has_arcs_to_start(const Machine<S>& a) {
  for (std::int32_t s = 0; s < a.states(); ++s)
    for (const auto& arc : a.arcs(s))
      if (arc.nextstate == a.start()) return true;
  return false;
}

// The only final state, if its weight can go on the arcs that lead to it: kNoState otherwise.
template <class S>
std::int32_t only_end(const Machine<S>& a) {
  std::int32_t end = kNoState;
  for (std::int32_t s = 0; s < a.states(); ++s) {
    if (!a.is_final(s)) continue;
    if (end != kNoState) return kNoState;
    end = s;
  }
  if (end == kNoState || a.semiring().equal(a.final(end), a.semiring().one())) return end;
  const Components found = components(a);
  for (const auto& arc : a.arcs(end))
    if (found.of[arc.nextstate] == found.of[end]) return kNoState;  // it would be paid each time round
  return end == a.start() ? kNoState : end;
}

// Turned round with the same numbers of states; `end` becomes the start, its final weight goes on the arcs that leave it.
template <class S>
Machine<S> reverse_from(const Machine<S>& a, std::int32_t end) {
  const S& k = a.semiring();
  const S turned = k.reversed();
  std::vector<typename Machine<S>::State> states(a.states(), {turned.zero(), 0, 0, 0, 0});
  for (std::int32_t s = 0; s < a.states(); ++s)
    for (const auto& arc : a.arcs(s)) ++states[arc.nextstate].narcs;
  std::vector<std::uint32_t> next(states.size());
  std::uint32_t pos = 0;
  for (std::size_t s = 0; s < states.size(); ++s) {
    next[s] = states[s].pos = pos;
    pos += states[s].narcs;
  }
  const auto paid = k.reverse(a.final(end));
  std::vector<typename Machine<S>::Arc> arcs(a.arcs());
  for (std::int32_t s = 0; s < a.states(); ++s)
    for (const auto& arc : a.arcs(s)) {
      const auto w = k.reverse(arc.weight);
      arcs[next[arc.nextstate]++] = {arc.ilabel, arc.olabel, arc.nextstate == end ? turned.times(paid, w) : w, s};
    }
  states[a.start()].final = turned.one();
  return Machine<S>::assembled(turned, end, std::move(states), std::move(arcs));
}

}  // namespace

template <class S>
Machine<S> unite(const Machine<S>& a, const Machine<S>& b) {
  if (b.start() == kNoState) return Machine<S>(a);
  if (a.start() == kNoState) return Machine<S>(b);
  const S& k = a.semiring();
  Builder<S> out(k);
  out.reserve(a.states() + b.states() + 1, a.arcs() + b.arcs() + 2);
  const bool fresh = has_arcs_to_start(a);
  const std::int32_t shift = a.states();
  for (std::int32_t s = 0; s < a.states(); ++s) {
    out.open(a.final(s));
    for (const auto& arc : a.arcs(s)) out.push(arc);
    if (!fresh && s == a.start()) out.push({0, 0, k.one(), b.start() + shift});
  }
  append(out, b, shift);
  if (!fresh) return out.finish(a.start());
  const std::int32_t start = out.open(k.zero());
  out.push({0, 0, k.one(), a.start()});
  out.push({0, 0, k.one(), b.start() + shift});
  return out.finish(start);
}

template <class S>
Machine<S> concatenate(const Machine<S>& a, const Machine<S>& b) {
  const S& k = a.semiring();
  if (a.start() == kNoState || b.start() == kNoState) return Machine<S>(k);
  Builder<S> out(k);
  out.reserve(a.states() + b.states(), a.arcs() + b.arcs());
  const std::int32_t shift = a.states();
  for (std::int32_t s = 0; s < a.states(); ++s) {
    out.open(k.zero());
    for (const auto& arc : a.arcs(s)) out.push(arc);
    if (a.is_final(s)) out.push({0, 0, a.final(s), b.start() + shift});
  }
  append(out, b, shift);
  return out.finish(a.start());
}

template <class S>
Machine<S> close(const Machine<S>& a, bool star) {
  const S& k = a.semiring();
  Builder<S> out(k);
  out.reserve(a.states() + 1, a.arcs() + 8);
  if (a.start() == kNoState) {
    if (!star) return Machine<S>(k);
    return out.finish(out.open(k.one()));
  }
  for (std::int32_t s = 0; s < a.states(); ++s) {
    out.open(a.final(s));
    for (const auto& arc : a.arcs(s)) out.push(arc);
    if (a.is_final(s)) out.push({0, 0, a.final(s), a.start()});
  }
  if (!star) return out.finish(a.start());
  const std::int32_t start = out.open(k.one());
  out.push({0, 0, k.one(), a.start()});
  return out.finish(start);
}

template <class S>
Machine<S> reverse(const Machine<S>& a, bool fresh) {
  const S& k = a.semiring();
  const S turned = k.reversed();
  if (a.start() == kNoState) return Machine<S>(turned);
  if (!fresh) {
    const std::int32_t end = only_end(a);
    if (end != kNoState) return reverse_from(a, end);
  }
  std::vector<typename Machine<S>::State> states(a.states() + 1, {turned.zero(), 0, 0, 0, 0});
  std::size_t finals = 0;
  for (std::int32_t s = 0; s < a.states(); ++s) {
    finals += a.is_final(s);
    for (const auto& arc : a.arcs(s)) ++states[arc.nextstate + 1].narcs;
  }
  states[0].narcs = static_cast<std::uint32_t>(finals);
  std::vector<std::uint32_t> next(states.size());
  std::uint32_t pos = 0;
  for (std::size_t s = 0; s < states.size(); ++s) {
    next[s] = states[s].pos = pos;
    pos += states[s].narcs;
  }
  std::vector<typename Machine<S>::Arc> arcs(a.arcs() + finals);
  for (std::int32_t s = 0; s < a.states(); ++s) {
    if (a.is_final(s)) arcs[next[0]++] = {0, 0, k.reverse(a.final(s)), s + 1};
    for (const auto& arc : a.arcs(s))
      arcs[next[arc.nextstate + 1]++] = {arc.ilabel, arc.olabel, k.reverse(arc.weight), s + 1};
  }
  states[a.start() + 1].final = turned.one();
  return Machine<S>::assembled(turned, 0, std::move(states), std::move(arcs));
}

template <class S>
Machine<S> invert(const Machine<S>& a) {
  Machine<S> out(a);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) std::swap(arc.ilabel, arc.olabel);
    out.recount(s);
  }
  return out;
}

template <class S>
Machine<S> project(const Machine<S>& a, bool output) {
  Machine<S> out(a);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) (output ? arc.ilabel : arc.olabel) = output ? arc.olabel : arc.ilabel;
    out.recount(s);
  }
  return out;
}

template <class S>
Machine<S> relabel(const Machine<S>& a, std::span<const std::pair<std::int32_t, std::int32_t>> input,
                   std::span<const std::pair<std::int32_t, std::int32_t>> output) {
  const std::unordered_map<std::int32_t, std::int32_t> inputs(input.begin(), input.end()),
      outputs(output.begin(), output.end());
  const auto change = [](const auto& map, std::int32_t& label) {
    if (const auto found = map.find(label); found != map.end()) label = found->second;
  };
  Machine<S> out(a);
  for (std::int32_t s = 0; s < out.states(); ++s) {
    for (auto& arc : out.edit(s)) {
      change(inputs, arc.ilabel);
      change(outputs, arc.olabel);
    }
    out.recount(s);
  }
  return out;
}

template <class S>
Machine<S> sort_arcs(const Machine<S>& a, bool output) {
  using Arc = typename Machine<S>::Arc;
  const std::uint64_t known = a.known();
  Machine<S> out(a);
  const auto key = [&](const Arc& arc) {
    const auto first = static_cast<std::uint32_t>(output ? arc.olabel : arc.ilabel),
               second = static_cast<std::uint32_t>(output ? arc.ilabel : arc.olabel);
    return std::uint64_t{first} << 32 | second;
  };
  for (std::int32_t s = 0; s < out.states(); ++s) {
    const auto arcs = out.edit(s);
    const auto before = [&](const Arc& x, const Arc& y) { return key(x) < key(y); };
    if (!std::is_sorted(arcs.begin(), arcs.end(), before)) std::stable_sort(arcs.begin(), arcs.end(), before);
  }
  using namespace property;
  out.know((known & ~(ilabel_sorted | not_ilabel_sorted | olabel_sorted | not_olabel_sorted)) |
           (output ? olabel_sorted : ilabel_sorted));
  if (known & acceptor) out.know(ilabel_sorted | olabel_sorted);
  return out;
}

template <class S>
Machine<S> renumber(const Machine<S>& a, std::span<const std::int32_t> order) {
  std::vector<std::int32_t> old(order.size());
  for (std::size_t s = 0; s < order.size(); ++s) old[order[s]] = static_cast<std::int32_t>(s);
  Builder<S> out(a.semiring());
  out.reserve(a.states(), a.arcs());
  for (const std::int32_t s : old) {
    out.open(a.final(s));
    for (auto arc : a.arcs(s)) {
      arc.nextstate = order[arc.nextstate];
      out.push(arc);
    }
  }
  return out.finish(a.start() == kNoState ? kNoState : order[a.start()]);
}

template <class S>
Machine<S> sort_states(const Machine<S>& a) {
  if (is(a, property::top_sorted)) return Machine<S>(a);
  const Components found = components(a);
  if (found.cyclic) {
    for (std::int32_t s = 0; s < a.states(); ++s)
      for (const auto& arc : a.arcs(s))
        if (found.of[s] == found.of[arc.nextstate])
          fail("the machine has a cycle through the states ", s, " and ", arc.nextstate,
               ", so it cannot be sorted topologically");
  }
  Machine<S> out = renumber(a, found.of);
  out.know(property::top_sorted | property::acyclic | property::initial_acyclic | property::unweighted_cycles);
  return out;
}

template <class S>
void trim(Machine<S>& a) {
  using namespace property;
  if ((a.known() & (accessible | coaccessible)) == (accessible | coaccessible)) return;
  if (a.start() == kNoState) {
    a.clear();
    return;
  }
  const Components found = components(a);
  std::vector<bool> kept(a.states());
  bool all = true;
  for (std::int32_t s = 0; s < a.states(); ++s) {
    kept[s] = found.accessible[s] && found.coaccessible[s];
    all &= kept[s];
  }
  // what states and arcs have one by one stays true of those that are left
  const std::uint64_t stays = a.known() & (acceptor | ideterministic | odeterministic | no_epsilons | no_iepsilons |
                                           no_oepsilons | ilabel_sorted | olabel_sorted | unweighted | acyclic |
                                           initial_acyclic | top_sorted | unweighted_cycles);
  if (!kept[a.start()]) {
    a.clear();
  } else if (!all) {
    a.keep(kept);
    a.know(stays);
  }
  a.know(accessible | coaccessible);
}

template <class S>
Machine<S> connect(const Machine<S>& a) {
  Machine<S> out(a);
  trim(out);
  return out;
}

#define X(S)                                                                                             \
  template Machine<S> unite(const Machine<S>&, const Machine<S>&);                                       \
  template Machine<S> concatenate(const Machine<S>&, const Machine<S>&);                                 \
  template Machine<S> close(const Machine<S>&, bool);                                                    \
  template Machine<S> reverse(const Machine<S>&, bool);                                                  \
  template Machine<S> invert(const Machine<S>&);                                                         \
  template Machine<S> project(const Machine<S>&, bool);                                                  \
  template Machine<S> relabel(const Machine<S>&, std::span<const std::pair<std::int32_t, std::int32_t>>, \
                              std::span<const std::pair<std::int32_t, std::int32_t>>);                   \
  template Machine<S> sort_arcs(const Machine<S>&, bool);                                                \
  template Machine<S> renumber(const Machine<S>&, std::span<const std::int32_t>);                        \
  template Machine<S> sort_states(const Machine<S>&);                                                    \
  template void trim(Machine<S>&);                                                                       \
  template Machine<S> connect(const Machine<S>&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
