#include "fst/gallic.h"

#include "fst/paths.h"
#include "fst/properties.h"

namespace textmill::fst {

template <class S>
bool GallicWeights<S>::fit(const GallicAlgebra& gallic) {
  if constexpr (std::same_as<S, Dynamic>) {
    return true;
  } else {
    return dynamic_cast<NumberAlgebra<S>*>(gallic.weights().get()) != nullptr;
  }
}

template <class S>
GallicWeights<S>::GallicWeights(const GallicAlgebra& gallic) : weights_(gallic.weights()) {
  if (!fit(gallic)) fail(gallic.name(), " is made of other weights than those of the machine");
}

template <class S>
Algebra::Id GallicWeights<S>::id(const typename S::Weight& w) const {
  if constexpr (std::same_as<S, Dynamic>) {
    return w.id;
  } else {
    return static_cast<NumberAlgebra<S>&>(*weights_).of(w);
  }
}

template <class S>
typename S::Weight GallicWeights<S>::weight(Algebra::Id id) const {
  if constexpr (std::same_as<S, Dynamic>) {
    return {id};
  } else {
    return static_cast<NumberAlgebra<S>&>(*weights_).value(id);
  }
}

template <class S>
S GallicWeights<S>::semiring() const {
  if constexpr (std::same_as<S, Dynamic>) {
    return {weights_};
  } else {
    return {};
  }
}

template <class S>
Machine<Dynamic> to_gallic(const Machine<S>& machine, const std::shared_ptr<GallicAlgebra>& gallic) {
  const GallicWeights<S> weights(*gallic);
  if constexpr (std::same_as<S, Dynamic>) {
    if (gallic->weights() != machine.semiring().algebra)
      fail(gallic->name(), " is made of other weights than those of the machine");
  }
  const auto pair = [&](std::int32_t label, const typename S::Weight& w) {
    const std::vector<std::int32_t> labels(label != 0, label);
    const std::int32_t value[] = {static_cast<std::int32_t>(gallic->strings().of(labels)),
                                  static_cast<std::int32_t>(weights.id(w))};
    return Dynamic::Weight{gallic->of_pairs(value)};
  };
  Builder<Dynamic> out(Dynamic{gallic});
  out.reserve(machine.states(), machine.arcs());
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    out.open(machine.is_final(s) ? pair(0, machine.final(s)) : Dynamic::zero());
    for (const auto& arc : machine.arcs(s))
      out.push({arc.ilabel, arc.ilabel, pair(arc.olabel, arc.weight), arc.nextstate});
  }
  return out.finish(machine.start());
}

template <class S>
Machine<S> from_gallic(const Machine<Dynamic>& machine) {
  auto* const gallic = dynamic_cast<GallicAlgebra*>(machine.semiring().algebra.get());
  if (!gallic) fail("weights of ", machine.semiring().name(), " are not gallic: there are no outputs in them");
  if (!is(machine, property::acceptor))
    fail("the machine has outputs of its own beside those in its weights; project it to its input first");
  const GallicWeights<S> weights(*gallic);
  const S k = weights.semiring();
  StringPool pool;
  Builder<S> plain(k);
  std::vector<std::uint32_t> outputs;
  std::vector<std::vector<std::pair<std::uint32_t, typename S::Weight>>> finals(machine.states());
  const auto each = [&](Dynamic::Weight w, auto body) {
    const auto value = gallic->value(w.id);
    for (std::size_t i = 0; i + 1 < value.size(); i += 2) {
      const auto string = static_cast<Algebra::Id>(value[i]), weight = static_cast<Algebra::Id>(value[i + 1]);
      if (string == Algebra::kZero || weight == Algebra::kZero) continue;
      body(pool.of(gallic->strings().value(string)), weights.weight(weight));
    }
  };
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    plain.open(k.zero());
    each(machine.final(s),
         [&](std::uint32_t string, const typename S::Weight& w) { finals[s].emplace_back(string, w); });
    for (const auto& arc : machine.arcs(s))
      each(arc.weight, [&](std::uint32_t string, const typename S::Weight& w) {
        plain.push({arc.ilabel, 0, w, arc.nextstate});
        outputs.push_back(string);
      });
  }
  return factor(plain.finish(machine.start()), outputs, finals, 0, pool);
}

#define X(S)                                                                                     \
  template class GallicWeights<S>;                                                               \
  template Machine<Dynamic> to_gallic(const Machine<S>&, const std::shared_ptr<GallicAlgebra>&); \
  template Machine<S> from_gallic(const Machine<Dynamic>&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
