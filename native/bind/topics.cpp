#include <cmath>

#include "bind/arrays.h"
#include "bind/bags.h"
#include "bind/bindings.h"
#include "topics/exponentiated.h"
#include "topics/factors.h"
#include "topics/mixture.h"
#include "topics/variational.h"
#include "topics/windows.h"

namespace textmill::bind {
namespace {

using topics::Documents;

Documents checked_documents(const In<std::int64_t, 1>& offsets, const In<std::int32_t, 1>& terms,
                            const In<double, 1>& counts, std::size_t extent) {
  check_counts(offsets, terms, counts, extent);
  return {view(offsets), view(terms), view(counts)};
}

bool finite_and_positive(std::span<const double> values) {
  bool fine = true;
  for (const double value : values) fine &= value >= 0.0 && std::isfinite(value);
  return fine;
}

// Checks the outputs of an ascent on n mixtures of K topics; the trace has a column an iteration or none.
topics::Outcome checked_outcome(const Out<double, 2>& theta, const Out<double, 1>& likelihood,
                                const Out<double, 1>& gap, const Out<std::int32_t, 1>& steps,
                                const Out<double, 2>& trace, std::size_t n, std::size_t K, std::size_t iterations) {
  require(theta.shape(0) == n && theta.shape(1) == K, "theta must be ", n, " x ", K);
  require(finite_and_positive(view(theta)), "theta must be finite and not negative");
  require(likelihood.size() == n && gap.size() == n && steps.size() == n, "outputs must have ", n, " entries");
  require(trace.shape(0) == n && (trace.shape(1) == 0 || trace.shape(1) == iterations), "trace must be ", n, " x 0 or ",
          n, " x ", iterations);
  return {view(likelihood), view(gap), view(steps), view(trace)};
}

template <class Real>
void fold_in(In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms, In<double, 1> counts, In<Real, 2> phi,
             In<double, 1> prior, double temper, double tolerance, std::size_t iterations, bool accelerate,
             Out<double, 2> theta, Out<double, 1> likelihood, Out<double, 1> gap, Out<std::int32_t, 1> steps,
             Out<double, 2> trace, std::size_t threads) {
  const Documents documents = checked_documents(offsets, terms, counts, phi.shape(0));
  const std::size_t n = offsets.size() - 1, K = phi.shape(1);
  require(K >= 1 && prior.size() == K, "prior must have ", K, " entries, got ", prior.size());
  require(temper > 0.0 && temper <= 1.0, "temper must be above 0 and at most 1, got ", temper);
  require(tolerance > 0.0 && iterations >= 1 && iterations < (std::size_t{1} << 31) && threads >= 1,
          "tolerance, iterations and threads must be positive");
  require(finite_and_positive(view(prior)), "prior must be finite and not negative");
  const topics::Outcome outcome = checked_outcome(theta, likelihood, gap, steps, trace, n, K, iterations);
  const topics::Rule rule{view(prior), temper, tolerance, iterations, accelerate};
  const auto out = view(theta);
  nb::gil_scoped_release nogil;
  topics::fold_in<Real>(documents, view(phi), K, rule, out, outcome, threads);
}

template <class Real>
void exponentiate(In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms, In<double, 1> counts, In<Real, 2> phi,
                  double rate, double tolerance, std::size_t iterations, Out<double, 2> theta,
                  Out<double, 1> likelihood, Out<double, 1> gap, Out<std::int32_t, 1> steps, Out<double, 2> trace,
                  std::size_t threads) {
  const Documents documents = checked_documents(offsets, terms, counts, phi.shape(0));
  const std::size_t n = offsets.size() - 1, K = phi.shape(1);
  require(K >= 1, "phi must have at least one topic");
  require(rate > 0.0 && std::isfinite(rate) && tolerance > 0.0 && iterations >= 1 &&
              iterations < (std::size_t{1} << 31) && threads >= 1,
          "rate, tolerance, iterations and threads must be positive");
  const topics::Outcome outcome = checked_outcome(theta, likelihood, gap, steps, trace, n, K, iterations);
  const topics::Ascent ascent{rate, tolerance, iterations};
  const auto out = view(theta);
  nb::gil_scoped_release nogil;
  topics::exponentiate<Real>(documents, view(phi), K, ascent, out, outcome, threads);
}

template <class Real>
void expect(In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms, In<double, 1> counts, In<Real, 2> phi,
            In<double, 2> theta, Out<double, 1> ratio, Out<double, 2> gradient, Out<double, 1> likelihood,
            std::size_t threads) {
  const Documents documents = checked_documents(offsets, terms, counts, phi.shape(0));
  const std::size_t n = offsets.size() - 1, K = phi.shape(1);
  require(theta.shape(0) == n && theta.shape(1) == K, "theta must be ", n, " x ", K);
  require(gradient.shape(0) == n && gradient.shape(1) == K, "gradient must be ", n, " x ", K);
  require(ratio.size() == terms.size() && likelihood.size() == n && threads >= 1,
          "ratio, likelihood or threads do not fit");
  nb::gil_scoped_release nogil;
  topics::expect<Real>(documents, view(phi), K, view(theta), view(ratio), view(gradient), view(likelihood), threads);
}

void descend(In<double, 2> gram, In<double, 2> cross, std::size_t sweeps, double tolerance, Out<double, 2> h,
             std::size_t threads) {
  const std::size_t K = gram.shape(0);
  require(gram.shape(1) == K, "gram must be square, got ", K, " x ", gram.shape(1));
  require(cross.shape(1) == K && h.shape(1) == K && cross.shape(0) == h.shape(0),
          "cross and h must have one shape, with ", K, " columns");
  require(threads >= 1, "threads must be at least 1");
  nb::gil_scoped_release nogil;
  topics::descend(view(gram), view(cross), K, sweeps, tolerance, view(h), threads);
}

std::int64_t count_windows(In<std::int64_t, 1> offsets, In<std::int32_t, 1> tokens, std::size_t size,
                           In<std::int64_t, 1> pair_offsets, In<std::int32_t, 1> partners, Out<std::int64_t, 1> words,
                           Out<std::int64_t, 1> pairs, std::size_t threads) {
  check_offsets(view(offsets), tokens.size(), "documents");
  check_offsets(view(pair_offsets), partners.size(), "words");
  require(pair_offsets.size() == words.size() + 1 && pairs.size() == partners.size(),
          "words and pairs must have as many entries as there are words and partners");
  bool inside = true;
  for (const std::int32_t partner : view(partners))
    inside &= partner >= 0 && static_cast<std::size_t>(partner) < words.size();
  require(inside && threads >= 1 && size < (std::size_t{1} << 62), "partners must be words, and threads at least 1");
  nb::gil_scoped_release nogil;
  return topics::count_windows(view(offsets), view(tokens), size, {view(pair_offsets), view(partners)}, view(words),
                               view(pairs), threads);
}

template <class Real>
nb::tuple expect_topics(In<std::int64_t, 1> offsets, In<std::int32_t, 1> terms, In<double, 1> counts,
                        In<Real, 2> statistics, In<double, 2> eta, In<double, 1> psi_totals, In<double, 1> alpha,
                        std::size_t iterations, double tolerance, bool collect, Out<Real, 2> gamma,
                        Out<std::int32_t, 1> steps, Out<double, 1> likelihood, std::size_t threads) {
  const Documents documents = checked_documents(offsets, terms, counts, statistics.shape(0));
  const std::size_t n = offsets.size() - 1, V = statistics.shape(0), K = statistics.shape(1);
  require(K >= 1 && alpha.size() == K && psi_totals.size() == K, "alpha and psi_totals must have ", K, " entries");
  require((eta.shape(0) == 1 || eta.shape(0) == V) && (eta.shape(1) == 1 || eta.shape(1) == K), "eta must be 1 or ", V,
          " x 1 or ", K);
  require(gamma.shape(0) == n && gamma.shape(1) == K, "gamma must be ", n, " x ", K);
  require(steps.size() == n && (likelihood.size() == n || likelihood.size() == 0), "steps and likelihood must have ", n,
          " entries");
  require(iterations >= 1 && iterations < (std::size_t{1} << 31) && tolerance >= 0.0 && threads >= 1,
          "iterations, tolerance and threads must be positive");
  bool fine = finite_and_positive(view(eta));
  for (const double a : view(alpha)) fine &= a > 0.0 && std::isfinite(a);
  for (const Real g : view(gamma)) fine &= g > Real(0) && std::isfinite(g);
  require(fine, "eta must be finite and not negative, alpha and gamma finite and positive");
  topics::Chunk<Real> made;
  {
    const topics::Posterior<Real> posterior{view(statistics), view(eta), eta.shape(0), eta.shape(1), view(psi_totals)};
    nb::gil_scoped_release nogil;
    made = topics::expect_topics<Real>(documents, posterior, {view(alpha), iterations, tolerance}, collect, view(gamma),
                                       view(steps), view(likelihood), threads);
  }
  return nb::make_tuple(to_numpy(std::move(made.words)), to_numpy(std::move(made.statistics)));
}

template <class Real>
void blend(Out<Real, 2> statistics, double keep, In<std::int32_t, 1> words, In<Real, 2> rows, double add,
           In<double, 1> noise, std::uint64_t seed, Out<double, 1> sums, std::size_t threads) {
  const std::size_t V = statistics.shape(0), K = statistics.shape(1);
  require(K >= 1 && rows.shape(0) == words.size() && (rows.shape(1) == K), "rows must be ", words.size(), " x ", K);
  require(sums.size() == K && threads >= 1, "sums must have ", K, " entries");
  require(noise.size() == K || noise.size() == 0, "noise must have ", K, " entries or none, got ", noise.size());
  std::int64_t before = -1;
  bool rising = true;
  for (const std::int32_t word : view(words)) rising &= word > before, before = word;
  require(rising && before < static_cast<std::int64_t>(V), "words must rise from 0 to ", V, " - 1");
  nb::gil_scoped_release nogil;
  topics::blend<Real>(view(statistics), K, keep, view(words), view(rows), add, view(noise), seed, view(sums), threads);
}

template <class Real>
void random_start(std::uint64_t seed, std::size_t first, Out<Real, 2> rows, std::size_t threads) {
  require(rows.shape(1) >= 1 && threads >= 1, "there must be topics and threads");
  nb::gil_scoped_release nogil;
  topics::random_start<Real>(seed, first, rows.shape(1), view(rows), threads);
}

}  // namespace

void bind_topics(nb::module_& m) {
  const auto def_mixture = [&m](auto fold, auto climb, auto step) {
    m.def("fold_in", fold, "offsets"_a, "terms"_a, "counts"_a, "phi"_a.noconvert(), "prior"_a, "temper"_a,
          "tolerance"_a, "iterations"_a, "accelerate"_a, "theta"_a.noconvert(), "likelihood"_a.noconvert(),
          "gap"_a.noconvert(), "steps"_a.noconvert(), "trace"_a.noconvert(), "threads"_a,
          "Mixtures theta of documents by EM, topics phi (terms x topics) fixed.");
    m.def("exponentiate", climb, "offsets"_a, "terms"_a, "counts"_a, "phi"_a.noconvert(), "rate"_a, "tolerance"_a,
          "iterations"_a, "theta"_a.noconvert(), "likelihood"_a.noconvert(), "gap"_a.noconvert(), "steps"_a.noconvert(),
          "trace"_a.noconvert(), "threads"_a,
          "Mixtures theta of documents by exponentiated gradient, topics phi fixed.");
    m.def("expect", step, "offsets"_a, "terms"_a, "counts"_a, "phi"_a.noconvert(), "theta"_a, "ratio"_a.noconvert(),
          "gradient"_a.noconvert(), "likelihood"_a.noconvert(), "threads"_a,
          "ratio = count / (theta phi), gradient = ratio phi, log-likelihood of each document.");
  };
  def_mixture(&fold_in<double>, &exponentiate<double>, &expect<double>);
  def_mixture(&fold_in<float>, &exponentiate<float>, &expect<float>);
  const auto def_variational = [&m](auto expect, auto blend_rows, auto start) {
    m.def("expect_topics", expect, "offsets"_a, "terms"_a, "counts"_a, "statistics"_a.noconvert(), "eta"_a,
          "psi_totals"_a, "alpha"_a, "iterations"_a, "tolerance"_a, "collect"_a, "gamma"_a.noconvert(),
          "steps"_a.noconvert(), "likelihood"_a.noconvert(), "threads"_a,
          "E step of Dirichlet allocation: improves gamma; returns the words of the chunk and their statistics, flat.");
    m.def("blend", blend_rows, "statistics"_a.noconvert(), "keep"_a, "words"_a, "rows"_a.noconvert(), "add"_a,
          "noise"_a, "seed"_a, "sums"_a.noconvert(), "threads"_a,
          "statistics = keep * statistics + add * rows at words; sums of the columns.");
    m.def("random_start", start, "seed"_a, "first"_a, "rows"_a.noconvert(), "threads"_a,
          "Rows of numbers of mean 1 and deviation 0.1, of the streams (seed, first), (seed, first + 1), ...");
  };
  def_variational(&expect_topics<double>, &blend<double>, &random_start<double>);
  def_variational(&expect_topics<float>, &blend<float>, &random_start<float>);
  m.def("count_windows", &count_windows, "offsets"_a, "tokens"_a, "size"_a, "pair_offsets"_a, "partners"_a,
        "words"_a.noconvert(), "pairs"_a.noconvert(), "threads"_a,
        "Add to words and pairs the windows of documents that hold them; returns the number of windows.");
  m.def("descend", &descend, "gram"_a, "cross"_a, "sweeps"_a, "tolerance"_a, "h"_a.noconvert(), "threads"_a,
        "Improve the rows of h >= 0 by coordinate descent on 1/2 h gram h - cross h.");
}

}  // namespace textmill::bind
