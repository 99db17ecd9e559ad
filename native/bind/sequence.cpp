#include "sequence/objective.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "base/checked.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/sequence_checks.h"
#include "sequence/blocks.h"
#include "sequence/chain.h"
#include "sequence/decode.h"
#include "sequence/online.h"

namespace textmill::bind {
namespace {

using sequence::Problem;

// Every clamped label must have a state, or the sum over its states would be empty.
void check_clamped(const sequence::Sequences& data) {
  std::vector<char> owned(data.owner.size(), 0);
  for (const std::int32_t y : data.owner) {
    require(y >= 0, "every state must have an owner");
    owned[y] = 1;
  }
  require(data.clamped.empty() || !data.owner.empty(), "clamped labels need the owners of states");
  for (const std::int32_t y : data.clamped) require(y < 0 || owned[y], "label ", y, " has no state");
}

// A problem and the lock that keeps two threads from evaluating it at once.
struct Held {
  std::unique_ptr<Problem> problem;
  std::mutex lock;
};

std::shared_ptr<Held> make_problem(std::size_t labels, In<std::int64_t, 1> offsets, const Tests& unigram,
                                   const Tests& bigram, const Labels& observed, const Labels& forced,
                                   std::optional<In<double, 1>> weights, const Labels& owner, const Labels& clamped) {
  const Layout layout = checked_layout(labels, unigram, bigram);
  auto held = std::make_shared<Held>();
  nb::gil_scoped_release nogil;
  const std::size_t tokens = checked_offsets(view(offsets));
  sequence::Sequences data{view(offsets),
                           checked_rows(unigram, tokens, "unigram tests"),
                           checked_rows(bigram, tokens, "bigram tests"),
                           checked_labels(observed, tokens, labels, "labels"),
                           checked_labels(forced, tokens, labels, "forced labels"),
                           {},
                           checked_labels(owner, labels, labels, "owners of states"),
                           checked_labels(clamped, tokens, labels, "clamped labels")};
  check_clamped(data);
  if (weights) {
    require(weights->size() + 1 == offsets.size(), "there must be one weight a sequence");
    for (const double w : view(*weights)) require(std::isfinite(w), "weights of sequences must be finite, got ", w);
    data.weights = view(*weights);
  }
  held->problem = std::make_unique<Problem>(layout, data);
  return held;
}

std::shared_ptr<Support> make_support(std::size_t labels, std::size_t unigrams, std::size_t bigrams,
                                      In<std::int64_t, 1> features) {
  require(labels >= 1 && labels <= 32768, "there must be from 1 to 32768 labels, got ", labels);
  const Layout layout{labels, unigrams, bigrams};
  base::product(base::product(bigrams, labels, "weights"), labels, "weights");
  const auto chosen = view(features);
  std::int64_t last = -1;
  for (const std::int64_t feature : chosen) {
    require(feature > last && static_cast<std::size_t>(feature) < layout.size(), "features must rise from 0 to ",
            layout.size(), " - 1, got ", feature);
    last = feature;
  }
  nb::gil_scoped_release nogil;
  return std::make_shared<Support>(layout, chosen);
}

double evaluate(Held& held, In<double, 1> theta, std::shared_ptr<Support> support,
                std::optional<Out<double, 1>> gradient, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(!gradient || gradient->size() == theta.size(), "the gradient must be as long as the weights");
  nb::gil_scoped_release nogil;
  const std::lock_guard guard(held.lock);
  const Weights w = checked_weights(held.problem->layout(), theta, support.get());
  return held.problem->evaluate(
      w, gradient ? std::span<double>(gradient->data(), gradient->size()) : std::span<double>(), threads);
}

std::tuple<double, Numpy<std::int64_t, 1>, Numpy<double, 1>> violations(Held& held, In<double, 1> theta,
                                                                        std::shared_ptr<Support> support,
                                                                        double threshold, Out<double, 1> gradient,
                                                                        std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(support != nullptr, "a search needs a support, which may be empty");
  require(gradient.size() == theta.size(), "the gradient must be as long as the weights");
  double value = 0.0;
  std::vector<std::int64_t> features;
  std::vector<double> gradients;
  {
    nb::gil_scoped_release nogil;
    const std::lock_guard guard(held.lock);
    const Weights w = checked_weights(held.problem->layout(), theta, support.get());
    for (const auto& found : held.problem->violations(w, threshold, value, view(gradient), threads)) {
      features.push_back(found.feature);
      gradients.push_back(found.gradient);
    }
  }
  return {value, to_numpy(std::move(features)), to_numpy(std::move(gradients))};
}

void marginals(Held& held, In<double, 1> theta, std::shared_ptr<Support> support, Out<double, 2> probabilities,
               Out<double, 1> log_z, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(probabilities.shape(0) == held.problem->tokens() && probabilities.shape(1) == held.problem->layout().labels &&
              log_z.size() == held.problem->sequences(),
          "outputs must be tokens x labels and one per sequence");
  nb::gil_scoped_release nogil;
  const std::lock_guard guard(held.lock);
  held.problem->marginals(checked_weights(held.problem->layout(), theta, support.get()), view(probabilities),
                          view(log_z), threads);
}

double zero_rate(Held& held, In<double, 1> theta, std::shared_ptr<Support> support) {
  nb::gil_scoped_release nogil;
  const std::lock_guard guard(held.lock);
  return held.problem->zero_rate(checked_weights(held.problem->layout(), theta, support.get()));
}

// One chain: unary [T][Y], pairs [T][Y][Y] of which the first is not looked at.
struct OneChain {
  std::vector<const double*> pointers;
  sequence::Chain chain;
};

OneChain make_chain(const In<double, 2>& unary, const In<double, 3>& pairs) {
  const std::size_t T = unary.shape(0), Y = unary.shape(1);
  require(T > 0 && Y > 0, "a chain needs a position and a label");
  require(pairs.shape(0) == T && pairs.shape(1) == Y && pairs.shape(2) == Y, "pairs must be ", T, " x ", Y, " x ", Y);
  for (const double x : view(unary))
    require(x < std::numeric_limits<double>::infinity(), "scores must be below infinity, got ", x);
  for (const double x : view(pairs))
    require(x < std::numeric_limits<double>::infinity(), "scores must be below infinity, got ", x);
  OneChain one;
  for (std::size_t t = 0; t < T; ++t) one.pointers.push_back(pairs.data() + t * Y * Y);
  one.chain = {T, Y, unary.data(), one.pointers, Y};
  return one;
}

double chain_sums(In<double, 2> unary, In<double, 3> pairs, Out<double, 2> a, Out<double, 2> b) {
  const OneChain one = make_chain(unary, pairs);
  require(a.shape(0) == unary.shape(0) && a.shape(1) == unary.shape(1) && b.shape(0) == unary.shape(0) &&
              b.shape(1) == unary.shape(1),
          "outputs must be as large as unary");
  nb::gil_scoped_release nogil;
  sequence::backward(one.chain, view(b));
  return sequence::forward(one.chain, view(a));
}

using Mask = std::optional<In<std::uint8_t, 2>>;

struct Decoding {
  Layout layout;
  Weights weights;
  sequence::Input input;
};

// Everything a decoder needs, checked.
Decoding checked_decoding(std::size_t labels, const In<std::int64_t, 1>& offsets, const Tests& unigram,
                          const Tests& bigram, const In<double, 1>& theta, const Support* support, const Mask& allowed,
                          const Mask& transitions, bool normalized, bool sparse, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  const Layout layout = checked_layout(labels, unigram, bigram);
  const std::size_t tokens = checked_offsets(view(offsets));
  Decoding d{layout,
             checked_weights(layout, theta, support),
             {view(offsets),
              checked_rows(unigram, tokens, "unigram tests"),
              checked_rows(bigram, tokens, "bigram tests"),
              {},
              normalized,
              sparse}};
  if (allowed) {
    require(allowed->shape(0) == tokens && allowed->shape(1) == labels, "allowed must be tokens x labels");
    d.input.allowed.labels = view(*allowed);
  }
  if (transitions) {
    require(transitions->shape(0) == labels && transitions->shape(1) == labels, "transitions must be labels x labels");
    d.input.allowed.transitions = view(*transitions);
  }
  return d;
}

void label(std::size_t labels, In<std::int64_t, 1> offsets, const Tests& unigram, const Tests& bigram,
           In<double, 1> theta, std::shared_ptr<Support> support, const Mask& allowed, const Mask& transitions,
           bool normalized, bool sparse, Out<std::int32_t, 1> path, Out<double, 1> scores, std::size_t threads) {
  nb::gil_scoped_release nogil;
  const Decoding d = checked_decoding(labels, offsets, unigram, bigram, theta, support.get(), allowed, transitions,
                                      normalized, sparse, threads);
  require(path.size() == static_cast<std::size_t>(view(offsets).back()) && scores.size() + 1 == offsets.size(),
          "outputs must be one per token and one per sequence");
  sequence::label(d.layout, d.weights, d.input, view(path), view(scores), threads);
}

using Paths = std::vector<std::tuple<double, std::vector<std::int32_t>>>;
std::vector<std::tuple<Paths, double>> best_labels(std::size_t labels, In<std::int64_t, 1> offsets,
                                                   const Tests& unigram, const Tests& bigram, In<double, 1> theta,
                                                   std::shared_ptr<Support> support, const Mask& allowed,
                                                   const Mask& transitions, bool normalized, std::size_t n,
                                                   std::size_t threads) {
  nb::gil_scoped_release nogil;
  const Decoding d = checked_decoding(labels, offsets, unigram, bigram, theta, support.get(), allowed, transitions,
                                      normalized, false, threads);
  std::vector<std::tuple<Paths, double>> out;
  for (auto& ranked : sequence::best_labels(d.layout, d.weights, d.input, n, threads)) {
    Paths paths;
    for (auto& path : ranked.paths) paths.emplace_back(path.score, std::move(path.labels));
    out.emplace_back(std::move(paths), ranked.log_z);
  }
  return out;
}

void label_probabilities(std::size_t labels, In<std::int64_t, 1> offsets, const Tests& unigram, const Tests& bigram,
                         In<double, 1> theta, std::shared_ptr<Support> support, const Mask& allowed,
                         const Mask& transitions, bool normalized, Out<double, 2> probabilities, Out<double, 1> log_z,
                         std::size_t threads) {
  nb::gil_scoped_release nogil;
  const Decoding d = checked_decoding(labels, offsets, unigram, bigram, theta, support.get(), allowed, transitions,
                                      normalized, false, threads);
  require(probabilities.shape(0) == static_cast<std::size_t>(view(offsets).back()) &&
              probabilities.shape(1) == labels && log_z.size() + 1 == offsets.size(),
          "outputs must be tokens x labels and one per sequence");
  sequence::label_probabilities(d.layout, d.weights, d.input, view(probabilities), view(log_z), threads);
}

void conditionals(std::size_t labels, In<std::int64_t, 1> offsets, const Tests& unigram, const Tests& bigram,
                  In<double, 1> theta, std::shared_ptr<Support> support, const Mask& allowed, const Mask& transitions,
                  bool normalized, Out<double, 3> out, std::size_t threads) {
  nb::gil_scoped_release nogil;
  const Decoding d = checked_decoding(labels, offsets, unigram, bigram, theta, support.get(), allowed, transitions,
                                      normalized, false, threads);
  require(out.shape(0) == static_cast<std::size_t>(view(offsets).back()) && out.shape(1) == labels &&
              out.shape(2) == labels,
          "out must be tokens x labels x labels");
  sequence::conditionals(d.layout, d.weights, d.input, view(out), threads);
}

// Labeled sequences whose arrays stay alive with it.
struct Training {
  In<std::int64_t, 1> offsets;
  Tests unigram, bigram;
  In<std::int32_t, 1> labels;
  std::optional<In<double, 1>> weights;
  Labels owner;
  sequence::Labeled data;
  sequence::Groups groups;
};

std::shared_ptr<Training> make_training(std::size_t labels, In<std::int64_t, 1> offsets, Tests unigram, Tests bigram,
                                        In<std::int32_t, 1> observed, std::optional<In<double, 1>> weights,
                                        Labels owner) {
  const Layout layout = checked_layout(labels, unigram, bigram);
  const std::size_t tokens = checked_offsets(view(offsets));
  check_clamped({.offsets = {},
                 .unigram = {},
                 .bigram = {},
                 .labels = {},
                 .forced = {},
                 .weights = {},
                 .owner = checked_labels(owner, labels, labels, "owners of states"),
                 .clamped = owner ? view(observed) : std::span<const std::int32_t>()});
  require(observed.size() == tokens, "labels must be one per token");
  for (const std::int32_t y : view(observed))
    require(y >= 0 && y < static_cast<std::int64_t>(labels), "labels must lie from 0 to ", labels, " - 1, got ", y);
  if (weights) {
    require(weights->size() + 1 == offsets.size(), "there must be one weight a sequence");
    for (const double w : view(*weights))
      require(std::isfinite(w) && w >= 0.0, "weights of sequences must be finite and >= 0, got ", w);
  }
  auto made = std::make_shared<Training>(Training{offsets, unigram, bigram, observed, weights, owner, {}, {}});
  made->data = {layout,
                view(made->offsets),
                checked_rows(made->unigram, tokens, "unigram tests"),
                checked_rows(made->bigram, tokens, "bigram tests"),
                view(made->labels),
                made->weights ? view(*made->weights) : std::span<const double>(),
                made->owner ? view(*made->owner) : std::span<const std::int32_t>()};
  return made;
}

void check_order(const Training& training, const In<std::int64_t, 1>& order) {
  for (const std::int64_t s : view(order)) {
    require(s >= 0 && static_cast<std::size_t>(s) + 1 < training.data.offsets.size(), "there is no sequence ", s);
  }
}

using StepState = std::tuple<double, double, double>;  // step, penalty, decay

std::tuple<double, StepState> sgd_steps(Training& training, In<std::int64_t, 1> order, Out<double, 1> w,
                                        Out<double, 1> q, Out<double, 1> seen, const StepState& state, double eta0,
                                        double alpha, double l1, double l2) {
  const sequence::Labeled& data = training.data;
  check_order(training, order);
  const std::size_t size = data.layout.size();
  require(w.size() == size && (q.size() == size || (l1 == 0.0 && q.size() == 0)), "there must be ", size,
          " weights and as many penalties");
  require(seen.size() == data.layout.unigrams + data.layout.bigrams, "seen must be one a test");
  require(eta0 > 0.0 && alpha >= 0.0 && l1 >= 0.0 && l2 >= 0.0, "rates and penalties must not be negative");
  const auto sequences = static_cast<double>(data.offsets.size() - 1);
  sequence::Steps steps{std::get<0>(state), std::get<1>(state), std::get<2>(state)};
  double loss;
  {
    nb::gil_scoped_release nogil;
    loss = sequence::sgd_steps(data, {eta0, alpha, l1, l2, sequences}, view(order), view(w), view(q), view(seen), steps,
                               training.groups);
  }
  return {loss, {steps.step, steps.penalty, steps.decay}};
}

void sgd_flush(const Training& training, Out<double, 1> w, Out<double, 1> q, Out<double, 1> seen,
               const StepState& state) {
  const Layout& layout = training.data.layout;
  require(w.size() == layout.size() && (q.size() == 0 || q.size() == w.size()) &&
              seen.size() == layout.unigrams + layout.bigrams,
          "weights, penalties and tests do not fit");
  nb::gil_scoped_release nogil;
  sequence::sgd_flush(layout, view(w), view(q), view(seen),
                      {std::get<0>(state), std::get<1>(state), std::get<2>(state)});
}

std::tuple<std::size_t, double> perceptron_steps(const Training& training, In<std::int64_t, 1> order, Out<double, 1> w,
                                                 Out<double, 1> updates, double step) {
  check_order(training, order);
  require(w.size() == training.data.layout.size() && updates.size() == w.size(), "there must be ",
          training.data.layout.size(), " weights and updates");
  nb::gil_scoped_release nogil;
  sequence::Steps steps{step};
  const std::size_t wrong = sequence::perceptron_steps(training.data, view(order), view(w), view(updates), steps);
  return {wrong, steps.step};
}

struct HeldDescent {
  std::shared_ptr<Training> training;
  sequence::Descent descent;
};

std::tuple<double, std::size_t, std::size_t, std::size_t> sweep(HeldDescent& held, In<std::int32_t, 2> order,
                                                                Out<double, 1> w, std::size_t threads) {
  const Layout& layout = held.training->data.layout;
  require(threads > 0, "threads must be at least 1");
  require(order.shape(1) == 2, "blocks must be pairs of a unigram and a bigram test");
  require(w.size() == layout.size(), "there must be ", layout.size(), " weights");
  std::vector<sequence::BlockTest> blocks(order.shape(0));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = {order.data()[2 * i], order.data()[2 * i + 1]};
    require(blocks[i].unigram >= -1 && blocks[i].unigram < static_cast<std::int64_t>(layout.unigrams) &&
                blocks[i].bigram >= -1 && blocks[i].bigram < static_cast<std::int64_t>(layout.bigrams),
            "there is no test of block ", i);
  }
  nb::gil_scoped_release nogil;
  const auto done = held.descent.sweep(blocks, view(w), threads);
  return {done.change, done.changed, done.evaluations, done.positions};
}

}  // namespace

void bind_sequence(nb::module_& m) {
  nb::class_<Support>(m, "Support", "Some of the features of a model, by test.")
      .def_prop_ro("size", [](const Support& s) { return s.features.size(); });
  m.def("make_support", &make_support, "labels"_a, "unigrams"_a, "bigrams"_a, "features"_a, "Features that rise.");
  nb::class_<Held>(m, "Problem", "Sequences prepared for the evaluation of a linear-chain model.")
      .def("evaluate", &evaluate, "theta"_a, "support"_a.none(), "gradient"_a.noconvert().none(), "threads"_a,
           "Add the gradient of the negative log-likelihood, return its value.")
      .def("violations", &violations, "theta"_a, "support"_a, "threshold"_a, "gradient"_a.noconvert(), "threads"_a,
           "The value, and features outside the support with a large gradient, and their gradients.")
      .def("marginals", &marginals, "theta"_a, "support"_a.none(), "probabilities"_a.noconvert(), "log_z"_a.noconvert(),
           "threads"_a, "Fill the probabilities of labels and the log of every normalizer.")
      .def("zero_rate", &zero_rate, "theta"_a, "support"_a.none(), "Share of zero scores of pairs of labels.")
      .def(
          "sizes", [](const Held& h) { return h.problem->sizes(); },
          "Numbers of unigram contexts, bigram contexts, groups, beginnings and ends.");
  m.def("make_problem", &make_problem, "labels"_a, "offsets"_a, "unigram"_a, "bigram"_a, "observed"_a.none(),
        "forced"_a.none(), "weights"_a.none(), "owner"_a.none() = nb::none(), "clamped"_a.none() = nb::none(),
        "Prepare sequences; with owners of states and clamped labels, of a model with hidden states.");
  m.def("label", &label, "labels"_a, "offsets"_a, "unigram"_a, "bigram"_a, "theta"_a, "support"_a.none(), nb::kw_only(),
        "allowed"_a.none(), "transitions"_a.none(), "normalized"_a, "sparse"_a, "path"_a.noconvert(),
        "scores"_a.noconvert(), "threads"_a, "Fill the best labels and their scores.");
  m.def("best_labels", &best_labels, "labels"_a, "offsets"_a, "unigram"_a, "bigram"_a, "theta"_a, "support"_a.none(),
        nb::kw_only(), "allowed"_a.none(), "transitions"_a.none(), "normalized"_a, "n"_a, "threads"_a,
        "The n best labelings of every sequence with their scores, and log Z.");
  m.def("label_probabilities", &label_probabilities, "labels"_a, "offsets"_a, "unigram"_a, "bigram"_a, "theta"_a,
        "support"_a.none(), nb::kw_only(), "allowed"_a.none(), "transitions"_a.none(), "normalized"_a,
        "probabilities"_a.noconvert(), "log_z"_a.noconvert(), "threads"_a,
        "Fill the probabilities of labels under restrictions.");
  m.def("conditionals", &conditionals, "labels"_a, "offsets"_a, "unigram"_a, "bigram"_a, "theta"_a, "support"_a.none(),
        nb::kw_only(), "allowed"_a.none(), "transitions"_a.none(), "normalized"_a, "out"_a.noconvert(), "threads"_a,
        "Fill the probabilities of labels given the labels before them.");
  nb::class_<Training>(m, "Training", "Labeled sequences for training one at a time.")
      .def("sgd_steps", &sgd_steps, "order"_a, "w"_a.noconvert(), "q"_a.noconvert(), "seen"_a.noconvert(), "state"_a,
           nb::kw_only(), "eta0"_a, "alpha"_a, "l1"_a, "l2"_a,
           "Stochastic gradient steps; returns the loss met and the state.")
      .def("sgd_flush", &sgd_flush, "w"_a.noconvert(), "q"_a.noconvert(), "seen"_a.noconvert(), "state"_a,
           "Give every weight what it is owed.")
      .def("perceptron_steps", &perceptron_steps, "order"_a, "w"_a.noconvert(), "updates"_a.noconvert(), "step"_a,
           "Perceptron steps; returns the wrong labels and the step.");
  m.def("make_training", &make_training, "labels"_a, "offsets"_a, "unigram"_a, "bigram"_a, "observed"_a,
        "weights"_a.none(), "owner"_a.none() = nb::none(), "Hold sequences.");
  nb::class_<HeldDescent>(m, "Descent", "Block coordinate descent.")
      .def(
          "__init__",
          [](HeldDescent* at, std::shared_ptr<Training> training, double l1, double l2, bool truncated) {
            require(l1 >= 0.0 && l2 >= 0.0, "penalties must not be negative");
            new (at) HeldDescent{training, sequence::Descent(training->data, l1, l2, truncated)};
          },
          "training"_a, "l1"_a, "l2"_a, "truncated"_a)
      .def(
          "begin", [](HeldDescent& held) { held.descent.begin(); },
          "Begin a sweep: what follows depends on the weights alone.")
      .def("sweep", &sweep, "order"_a, "w"_a.noconvert(), "threads"_a,
           "Visit blocks; returns the change of the objective, NaN where it is no number, and counts of changed "
           "blocks, evaluations and positions.");
  m.def("chain_sums", &chain_sums, "unary"_a, "pairs"_a, "a"_a.noconvert(), "b"_a.noconvert(),
        "Fill forward and backward logs, return log Z.");
  bind_labelpath(m);
}

}  // namespace textmill::bind
