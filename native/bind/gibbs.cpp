#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <memory>

#include "bind/arrays.h"
#include "bind/bags.h"
#include "bind/bindings.h"
#include "topics/cvb0.h"
#include "topics/folding.h"
#include "topics/gibbs.h"

namespace textmill::bind {
namespace {

using topics::Bags;
using topics::Sampler;

Bags checked_bags(const In<std::int64_t, 1>& offsets, const In<std::int32_t, 1>& terms,
                  const In<std::int32_t, 1>& counts, std::size_t vocabulary) {
  check_counts(offsets, terms, counts, vocabulary);
  return {view(offsets), view(terms), view(counts), vocabulary};
}

std::size_t tokens_of(const Bags& bags) {
  std::size_t tokens = 0;
  for (const std::int32_t count : bags.counts) tokens += static_cast<std::size_t>(count);
  return tokens;
}

template <class Values>
bool positive(const Values& values) {
  bool fine = true;
  for (const auto value : values) fine &= value > 0 && std::isfinite(value);
  return fine;
}

topics::Priors checked_priors(const In<double, 1>& alpha, const In<double, 2>& eta, std::size_t vocabulary) {
  const std::size_t K = alpha.size();
  require(K >= 1 && K <= topics::kMostTopics, "there must be 1 to ", topics::kMostTopics, " topics, got ", K);
  require(vocabulary >= 1, "there must be a term");
  require((eta.shape(0) == 1 || eta.shape(0) == vocabulary) && (eta.shape(1) == 1 || eta.shape(1) == K) &&
              (eta.shape(0) == vocabulary || eta.shape(1) == 1),
          "eta must be 1 x 1, ", vocabulary, " x 1 or ", vocabulary, " x ", K);
  require(positive(view(alpha)) && positive(view(eta)), "alpha and eta must be finite and above 0");
  return {K, view(alpha), view(eta)};
}

std::unique_ptr<Sampler> make_sampler(In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms,
                                      In<std::int32_t, 1> counts, In<float, 1> weights, In<double, 1> alpha,
                                      In<double, 2> eta, std::size_t vocabulary, bool collapsed, std::uint64_t seed,
                                      In<std::int32_t, 1> start) {
  const Bags bags = checked_bags(offsets, terms, counts, vocabulary);
  const topics::Priors priors = checked_priors(alpha, eta, vocabulary);
  const std::size_t K = priors.topics;
  require(weights.size() == 0 || weights.size() == terms.size(), "there must be ", terms.size(), " weights, or none");
  for (const float weight : view(weights))
    require(weight >= 0.0F && std::isfinite(weight), "weights must be finite, not negative");
  require(start.size() == 0 || start.size() == tokens_of(bags), "start must have ", tokens_of(bags),
          " topics, or none");
  for (const std::int32_t topic : view(start))
    require(topic >= 0 && static_cast<std::size_t>(topic) < K, "start must hold topics from 0 to ", K, " - 1");
  nb::gil_scoped_release nogil;
  return topics::make_sampler(bags, view(weights), priors, collapsed, seed, view(start));
}

std::unique_ptr<Sampler> make_collapsed_variational(In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms,
                                                    In<std::int32_t, 1> counts, In<double, 1> alpha, In<double, 2> eta,
                                                    std::size_t vocabulary, std::uint64_t seed) {
  const Bags bags = checked_bags(offsets, terms, counts, vocabulary);
  const topics::Priors priors = checked_priors(alpha, eta, vocabulary);
  nb::gil_scoped_release nogil;
  return topics::make_collapsed_variational(bags, priors, seed);
}

template <class Real>
void average(const Sampler& sampler, Out<Real, 2> counts, Out<Real, 2> theta, double share, std::size_t threads) {
  const std::size_t K = sampler.alpha().size();
  require(counts.shape(0) == sampler.vocabulary() && counts.shape(1) == K, "counts must be ", sampler.vocabulary(),
          " x ", K);
  require(theta.shape(0) == sampler.documents() && theta.shape(1) == K, "theta must be ", sampler.documents(), " x ",
          K);
  nb::gil_scoped_release nogil;
  sampler.average(view(counts), view(theta), share, threads);
}

template <class Real>
std::unique_ptr<topics::FixedTopics> fixed_topics(In<Real, 2> phi, In<double, 1> alpha, std::size_t threads) {
  const std::size_t K = alpha.size();
  require(K >= 1 && K <= topics::kMostTopics && phi.shape(1) == K, "phi must have ", K, " columns, one per topic");
  require(positive(view(alpha)), "alpha must be finite and above 0");
  bool fine = true;
  for (const Real value : view(phi)) fine &= value >= 0 && std::isfinite(value);
  require(fine, "phi must be finite and not negative");
  nb::gil_scoped_release nogil;
  return std::make_unique<topics::FixedTopics>(view(phi), view(alpha), threads);
}

void mixtures(const topics::FixedTopics& fixed, In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms,
              In<std::int32_t, 1> counts, std::size_t sweeps, std::size_t burn_in, std::uint64_t seed,
              std::uint64_t first, Out<double, 2> theta, std::size_t threads) {
  const Bags bags = checked_bags(offsets, terms, counts, fixed.vocabulary());
  require(sweeps > burn_in, "sweeps must be more than burn_in");
  require(theta.shape(0) + 1 == offsets.size() && theta.shape(1) == fixed.topics(), "theta must be ",
          offsets.size() - 1, " x ", fixed.topics());
  nb::gil_scoped_release nogil;
  fixed.mixtures(bags, sweeps, burn_in, seed, first, view(theta), threads);
}

void left_to_right(const topics::FixedTopics& fixed, In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms,
                   In<std::int32_t, 1> counts, std::size_t particles, std::uint64_t seed, std::uint64_t first,
                   Out<double, 1> evidence, std::size_t threads) {
  const Bags bags = checked_bags(offsets, terms, counts, fixed.vocabulary());
  require(particles >= 1, "there must be a particle");
  require(evidence.size() + 1 == offsets.size(), "evidence must have ", offsets.size() - 1, " entries");
  nb::gil_scoped_release nogil;
  fixed.left_to_right(bags, particles, seed, first, view(evidence), threads);
}

}  // namespace

void bind_gibbs(nb::module_& m) {
  nb::class_<Sampler>(m, "Sampler", "The topics of all tokens of a corpus, and their counts.")
      .def_prop_ro("stages", &Sampler::stages)
      .def_prop_ro("tokens", &Sampler::tokens)
      .def("advance", &Sampler::advance, "threads"_a, nb::call_guard<nb::gil_scoped_release>(),
           "One stage of the running sweep.")
      .def("joint", &Sampler::joint, "threads"_a, nb::call_guard<nb::gil_scoped_release>(), "log P(w, z)")
      .def("learn_alpha", &Sampler::learn_alpha, "iterations"_a, "threads"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("alpha", [](const Sampler& s) { return to_numpy(std::vector<double>(s.alpha().begin(), s.alpha().end())); })
      .def("assignments",
           [](const Sampler& s) {
             std::vector<std::int32_t> out(s.tokens());
             s.assignments(out);
             return to_numpy(std::move(out));
           })
      .def(
          "totals",
          [](const Sampler& s) {
            std::vector<double> words(s.alpha().size()), documents(s.alpha().size());
            s.totals(words, documents);
            return nb::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(documents)));
          },
          "Tokens by topic: counted by word, and counted by document.")
      .def("average", &average<float>, "counts"_a.noconvert(), "theta"_a.noconvert(), "share"_a, "threads"_a)
      .def("average", &average<double>, "counts"_a.noconvert(), "theta"_a.noconvert(), "share"_a, "threads"_a);
  m.def("make_sampler", &make_sampler, "offsets"_a, "terms"_a, "counts"_a, "weights"_a, "alpha"_a, "eta"_a,
        "vocabulary"_a, "collapsed"_a, "seed"_a, "start"_a);
  m.def("make_collapsed_variational", &make_collapsed_variational, "offsets"_a, "terms"_a, "counts"_a, "alpha"_a,
        "eta"_a, "vocabulary"_a, "seed"_a);
  nb::class_<topics::FixedTopics>(m, "FixedTopics", "Topics that stay while new documents are sampled.")
      .def_prop_ro("topics", &topics::FixedTopics::topics)
      .def("mixtures", &mixtures, "offsets"_a, "terms"_a, "counts"_a, "sweeps"_a, "burn_in"_a, "seed"_a, "first"_a,
           "theta"_a.noconvert(), "threads"_a)
      .def("left_to_right", &left_to_right, "offsets"_a, "terms"_a, "counts"_a, "particles"_a, "seed"_a, "first"_a,
           "evidence"_a.noconvert(), "threads"_a);
  m.def("fixed_topics", &fixed_topics<double>, "phi"_a.noconvert(), "alpha"_a, "threads"_a);
  m.def("fixed_topics", &fixed_topics<float>, "phi"_a.noconvert(), "alpha"_a, "threads"_a);
}

}  // namespace textmill::bind
