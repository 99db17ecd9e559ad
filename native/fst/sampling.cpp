#include "fst/sampling.h"

#include <cmath>
#include <map>
#include <optional>

#include "base/random.h"
#include "fst/path_writer.h"
#include "fst/properties.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kMostLength = 10'000'000;  // of a path whose length nobody has limited

template <class S>
constexpr bool kLogarithmic = std::same_as<S, Tropical<float>> || std::same_as<S, Tropical<double>> ||
                              std::same_as<S, Log<float>> || std::same_as<S, Log<double>>;

// The mass of a weight and the weight of a share of one.
template <class S>
double mass(const S& k, const typename S::Weight& w) {
  if constexpr (kLogarithmic<S>) return std::exp(-static_cast<double>(w));
  if constexpr (std::same_as<S, Probability>) return w;
  fail("weights of ", std::string(k.name()), " are no probabilities; choose uniformly, or convert to 'log64'");
}
template <class S>
typename S::Weight share(const S& k, double p) {
  if constexpr (kLogarithmic<S>) return static_cast<typename S::Weight>(-std::log(p));
  if constexpr (std::same_as<S, Probability>) return p;
  fail("shares of paths are no weights of ", std::string(k.name()), "; pass weighted=False");
}

}  // namespace

template <class S>
Machine<S> random_paths(const Machine<S>& machine, const SampleOptions& options) {
  const S& k = machine.semiring();
  PathWriter<S> out(k);
  if (machine.start() == kNoState) return out.finish();
  std::map<std::vector<std::uint32_t>, std::size_t> counts;  // arcs chosen, by place
  std::vector<std::vector<std::uint32_t>> order;
  std::vector<double> masses;
  std::optional<Components> found;  // looked up for the first path that has gone round a cycle
  for (std::size_t i = 0; i < options.paths; ++i) {
    base::Random random(options.seed, i);
    std::vector<std::uint32_t> chosen;
    std::int32_t s = machine.start();
    bool ended = false;
    while (chosen.size() <= options.longest) {
      const auto arcs = machine.arcs(s);
      const std::size_t choices = arcs.size() + machine.is_final(s);
      if (choices == 0) break;
      std::size_t pick;
      if (options.by_weight) {
        masses.clear();
        double sum = 0.0;
        for (const auto& arc : arcs) sum += masses.emplace_back(mass(k, arc.weight));
        if (machine.is_final(s)) sum += masses.emplace_back(mass(k, machine.final(s)));
        if (!(sum > 0.0) || !std::isfinite(sum))
          fail("the weights of state ", s, " have no finite sum as probabilities");
        pick = random.categorical(masses);
      } else {
        pick = random.below(choices);
      }
      if (pick == arcs.size()) {
        ended = true;
        break;
      }
      if (chosen.size() == options.longest) break;
      if (chosen.size() >= static_cast<std::size_t>(machine.states())) {
        if (!found) found = components(machine);
        if (!found->coaccessible[s]) break;  // it would never end
        if (chosen.size() >= kMostLength && options.longest == SampleOptions{}.longest)
          fail("a random path has more than ", kMostLength, " arcs: leaving a cycle through state ", s,
               " is too unlikely; pass max_length=");
      }
      chosen.push_back(static_cast<std::uint32_t>(pick));
      s = arcs[pick].nextstate;
    }
    if (!ended) continue;
    std::size_t& count = counts[chosen];
    if (++count == 1 || !options.weighted) order.push_back(std::move(chosen));
  }
  for (const auto& chosen : order) {
    std::vector<typename Machine<S>::Arc> arcs;
    std::int32_t s = machine.start();
    for (const std::uint32_t pick : chosen) {
      arcs.push_back(machine.arcs(s)[pick]);
      s = arcs.back().nextstate;
      arcs.back().weight = k.one();
    }
    out.add(std::move(arcs), options.weighted
                                 ? share(k, static_cast<double>(counts[chosen]) / static_cast<double>(options.paths))
                                 : k.one());
  }
  return out.finish();
}

#define X(S) template Machine<S> random_paths(const Machine<S>&, const SampleOptions&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
