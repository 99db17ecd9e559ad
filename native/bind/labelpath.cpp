#include "sequence/labelpath.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/sequence_checks.h"
#include "sequence/secondorder.h"

namespace textmill::bind {
namespace {

using sequence::States;
using sequence::TrellisInput;
using Mask = std::optional<In<std::uint8_t, 2>>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

// A model of hidden states at some sequences, whose arrays stay alive with it.
struct Hidden {
  In<std::int64_t, 1> offsets;
  Tests unigram, arcs;
  std::optional<In<double, 1>> theta;
  std::shared_ptr<Support> support;
  Mask allowed, transitions;
  States states;
  TrellisInput input;
};

States checked_states(std::size_t order, std::size_t labels, const In<std::int32_t, 1>& owner) {
  require(order == 1 || order == 2, "the order must be 1 or 2, got ", order);
  require(owner.size() >= 1 && owner.size() <= (order == 2 ? 256 : 32768), "there are too many states for order ",
          order);
  std::int32_t last = 0;
  for (const std::int32_t y : view(owner)) {
    require(y >= last && static_cast<std::size_t>(y) < labels, "owners of states must rise from 0 to ", labels, " - 1");
    last = y;
  }
  return States(order, labels, view(owner));
}

TrellisInput checked_input(const States& states, const In<std::int64_t, 1>& offsets, const Tests& unigram,
                           const Tests& arcs, std::size_t bigrams) {
  const std::size_t tokens = checked_offsets(view(offsets)), H = states.states, tests = std::get<3>(arcs);
  require(tests >= bigrams && (states.order == 2 || tests == bigrams), "trigram tests need order 2");
  const std::size_t pairs = base::product(base::product(tests, H, "weights"), H, "weights");
  base::product(pairs, states.order == 2 ? H : 1, "weights");
  return {.layout = {H, std::get<3>(unigram), bigrams},
          .trigrams = tests - bigrams,
          .weights = {{}, nullptr},
          .offsets = view(offsets),
          .unigram = checked_rows(unigram, tokens, "unigram tests"),
          .arcs = checked_rows(arcs, tokens, "bigram and trigram tests"),
          .allowed = {},
          .transitions = {}};
}

std::shared_ptr<Hidden> make_hidden(std::size_t order, std::size_t labels, In<std::int32_t, 1> owner,
                                    In<std::int64_t, 1> offsets, Tests unigram, Tests arcs, std::size_t bigrams,
                                    In<double, 1> theta, std::shared_ptr<Support> support, Mask allowed,
                                    Mask transitions) {
  States states = checked_states(order, labels, owner);
  auto made = std::make_shared<Hidden>(
      Hidden{offsets, std::move(unigram), std::move(arcs), theta, support, allowed, transitions, states, {}});
  TrellisInput& input = made->input;
  input = checked_input(made->states, made->offsets, made->unigram, made->arcs, bigrams);
  if (order == 1) {
    input.weights = checked_weights(input.layout, theta, support.get());
  } else {
    require(support == nullptr && theta.size() == made->states.size(input.layout, input.trigrams), "there must be ",
            made->states.size(input.layout, input.trigrams), " weights, got ", theta.size());
    for (const double w : view(theta)) require(std::isfinite(w), "weights must be finite, got ", w);
    input.weights = {view(theta), nullptr};
  }
  const std::size_t H = made->states.states;
  if (allowed) {
    require(allowed->shape(0) == static_cast<std::size_t>(view(offsets).back()) && allowed->shape(1) == H,
            "allowed must be tokens x states");
    input.allowed = view(*made->allowed);
  }
  if (transitions) {
    require(transitions->shape(0) == H && transitions->shape(1) == H, "transitions must be states x states");
    input.transitions = view(*made->transitions);
  }
  return made;
}

// Calls body(s, trellis) for every sequence that is not empty, in parallel.
template <class Body>
void for_each(const Hidden& hidden, std::size_t threads, Body body) {
  const std::size_t S = hidden.input.offsets.size() - 1;
  for (std::size_t first = 0; first < S;) {
    const sequence::Round round = sequence::next_round(hidden.states, hidden.input, first, threads);
    base::parallel_blocks(round.last - round.first, 8, threads, [&](std::size_t from, std::size_t to) {
      std::vector<double> unary;
      std::vector<const sequence::Arcs*> arcs;
      for (std::size_t s = first + from; s < first + to; ++s) {
        if (hidden.input.offsets[s] == hidden.input.offsets[s + 1]) continue;
        body(s, sequence::trellis_of(hidden.states, hidden.input, round, s, unary, arcs));
      }
    });
    first = round.last;
  }
}

using Certificates = std::tuple<Numpy<std::int32_t, 1>, Numpy<std::int64_t, 1>, Numpy<double, 1>, Numpy<double, 1>,
                                Numpy<std::int32_t, 1>>;

// Labels of all answers one after the other, how many each sequence has, their log probabilities, ten figures of every
// sequence (number proved, log Z, log upper, log bound, unexplored, expansions, pushes, paths, log of the runner-up, has one),
// and the labels of runners-up [T].
Certificates label_paths(const Hidden& hidden, std::size_t n, const std::string& search, std::size_t expansions,
                         std::size_t paths, double seconds, bool masses, std::size_t threads) {
  require(threads > 0 && n > 0, "threads and n must be at least 1");
  const auto kind = search == "label"    ? sequence::Search::label
                    : search == "hidden" ? sequence::Search::hidden
                                         : sequence::Search::hidden_exact;
  require(kind == sequence::Search::label || n == 1, "searches over hidden paths have n = 1");
  const std::size_t S = hidden.input.offsets.size() - 1;
  std::vector<sequence::LabelPaths> found(S);
  std::vector<std::int32_t> labels, second(static_cast<std::size_t>(hidden.input.offsets.back()), -1);
  std::vector<std::int64_t> counts(S);
  std::vector<double> logs, figures;
  {
    nb::gil_scoped_release nogil;
    for_each(hidden, threads, [&](std::size_t s, const sequence::Trellis& trellis) {
      found[s] = sequence::best_label_paths(trellis, n, kind, {expansions, paths, seconds}, masses);
    });
    for (std::size_t s = 0; s < S; ++s) {
      const auto& one = found[s];
      const bool empty = hidden.input.offsets[s] == hidden.input.offsets[s + 1];
      counts[s] = empty ? 1 : static_cast<std::int64_t>(one.best.size());
      if (empty) logs.push_back(0.0);
      for (const auto& path : one.best) {
        labels.insert(labels.end(), path.labels.begin(), path.labels.end());
        logs.push_back(path.log_probability);
      }
      const bool another = !one.runner_up.labels.empty();
      if (another)
        std::copy(one.runner_up.labels.begin(), one.runner_up.labels.end(), second.begin() + hidden.input.offsets[s]);
      for (const double x :
           {empty ? 1.0 : static_cast<double>(one.proved), empty ? 0.0 : one.log_z, empty ? 0.0 : one.upper,
            empty ? kNever : one.bound, empty ? 0.0 : one.unexplored, static_cast<double>(one.expansions),
            static_cast<double>(one.pushes), static_cast<double>(one.paths),
            another ? one.runner_up.log_probability : kNever, another ? 1.0 : 0.0}) {
        figures.push_back(x);
      }
    }
  }
  return {to_numpy(std::move(labels)), to_numpy(std::move(counts)), to_numpy(std::move(logs)),
          to_numpy(std::move(figures)), to_numpy(std::move(second))};
}

void hidden_viterbi(const Hidden& hidden, Out<std::int32_t, 1> path, Out<double, 1> scores, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(path.size() == static_cast<std::size_t>(hidden.input.offsets.back()) &&
              scores.size() + 1 == hidden.input.offsets.size(),
          "outputs must be one per token and one per sequence");
  nb::gil_scoped_release nogil;
  std::fill_n(scores.data(), scores.size(), 0.0);
  for_each(hidden, threads, [&](std::size_t s, const sequence::Trellis& trellis) {
    scores.data()[s] =
        sequence::best_states(trellis, std::span<std::int32_t>(path.data() + hidden.input.offsets[s], trellis.length));
  });
}

void state_probabilities(const Hidden& hidden, Out<double, 2> probabilities, Out<double, 1> log_z,
                         std::size_t threads) {
  const States& states = hidden.states;
  const std::size_t H = states.states, N = states.nodes();
  require(threads > 0, "threads must be at least 1");
  require(probabilities.shape(0) == static_cast<std::size_t>(hidden.input.offsets.back()) &&
              probabilities.shape(1) == H && log_z.size() + 1 == hidden.input.offsets.size(),
          "outputs must be tokens x states and one per sequence");
  nb::gil_scoped_release nogil;
  std::fill_n(log_z.data(), log_z.size(), 0.0);
  std::fill_n(probabilities.data(), probabilities.size(), 0.0);
  for_each(hidden, threads, [&](std::size_t s, const sequence::Trellis& trellis) {
    std::vector<double> a(trellis.length * N), b(trellis.length * N);
    const double total = log_z.data()[s] = sequence::trellis_sums(trellis, a, b);
    if (total == kNever) return;
    for (std::size_t t = 0; t < trellis.length; ++t) {
      double* out = probabilities.data() + (static_cast<std::size_t>(hidden.input.offsets[s]) + t) * H;
      for (std::size_t node = 0; node < N; ++node)
        out[states.state(node)] += std::exp(a[t * N + node] + b[t * N + node] - total);
    }
  });
}

void label_masses(const Hidden& hidden, In<std::int32_t, 1> labels, Out<double, 1> masses, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(labels.size() == static_cast<std::size_t>(hidden.input.offsets.back()) &&
              masses.size() + 1 == hidden.input.offsets.size(),
          "there must be one label a token and one mass a sequence");
  nb::gil_scoped_release nogil;
  std::fill_n(masses.data(), masses.size(), 0.0);
  for_each(hidden, threads, [&](std::size_t s, const sequence::Trellis& trellis) {
    masses.data()[s] = sequence::label_mass(
        trellis, view(labels).subspan(static_cast<std::size_t>(hidden.input.offsets[s]), trellis.length));
  });
}

// Hidden paths of one sequence, with all that they look at.
struct HeldPaths {
  std::shared_ptr<Hidden> hidden;
  sequence::Round round;
  std::vector<double> unary;
  std::vector<const sequence::Arcs*> arcs;
  std::optional<sequence::HiddenPaths> paths;
  std::size_t length = 0;
  double log_z = 0.0;
  std::mutex lock;
};

std::shared_ptr<HeldPaths> hidden_paths(std::shared_ptr<Hidden> hidden, std::size_t s) {
  require(s + 1 < hidden->input.offsets.size() && hidden->input.offsets[s] < hidden->input.offsets[s + 1], "sequence ",
          s, " is empty or not there");
  auto held = std::make_shared<HeldPaths>();
  held->hidden = hidden;
  nb::gil_scoped_release nogil;
  held->round = sequence::next_round(hidden->states, hidden->input, s, 1);
  const auto trellis = sequence::trellis_of(hidden->states, hidden->input, held->round, s, held->unary, held->arcs);
  held->length = trellis.length;
  held->log_z = sequence::trellis_sums(trellis, {}, {});
  held->paths.emplace(trellis);
  return held;
}

// The next paths, at most n: states of all, one after the other, and logs of their probabilities.
std::tuple<Numpy<std::int32_t, 1>, Numpy<double, 1>> take_paths(HeldPaths& held, std::size_t n) {
  std::vector<std::int32_t> states, path(held.length);
  std::vector<double> logs;
  {
    nb::gil_scoped_release nogil;
    const std::lock_guard guard(held.lock);
    double score;
    while (logs.size() < n && held.paths->next(path, score)) {
      states.insert(states.end(), path.begin(), path.end());
      logs.push_back(score - held.log_z);
    }
  }
  return {to_numpy(std::move(states)), to_numpy(std::move(logs))};
}

// The objective of order 2, with its arrays and the lock that keeps two threads from evaluating it at once.
struct HeldSecond {
  In<std::int64_t, 1> offsets;
  Tests unigram, arcs;
  In<std::int32_t, 1> labels;
  std::optional<In<double, 1>> weights;
  std::unique_ptr<sequence::SecondOrder> problem;
  std::mutex lock;
};

std::shared_ptr<HeldSecond> make_second_order(std::size_t labels, In<std::int32_t, 1> owner,
                                              In<std::int64_t, 1> offsets, Tests unigram, Tests arcs,
                                              std::size_t bigrams, In<std::int32_t, 1> observed,
                                              std::optional<In<double, 1>> weights) {
  States states = checked_states(2, labels, owner);
  auto held = std::make_shared<HeldSecond>();
  held->offsets = offsets;
  held->unigram = std::move(unigram);
  held->arcs = std::move(arcs);
  held->labels = observed;
  held->weights = weights;
  const TrellisInput input = checked_input(states, held->offsets, held->unigram, held->arcs, bigrams);
  require(observed.size() == static_cast<std::size_t>(view(offsets).back()), "labels must be one per token");
  for (const std::int32_t y : view(observed)) {
    require(y >= -1 && y < static_cast<std::int64_t>(labels), "labels must lie from -1 to ", labels, " - 1, got ", y);
    require(y < 0 || states.first[y] < states.first[y + 1], "label ", y, " has no state");
  }
  if (weights) {
    require(weights->size() + 1 == offsets.size(), "there must be one weight a sequence");
    for (const double w : view(*weights)) require(std::isfinite(w), "weights of sequences must be finite, got ", w);
  }
  nb::gil_scoped_release nogil;
  held->problem = std::make_unique<sequence::SecondOrder>(
      std::move(states), input, view(held->labels), held->weights ? view(*held->weights) : std::span<const double>());
  return held;
}

double evaluate_second_order(HeldSecond& held, In<double, 1> theta, std::optional<Out<double, 1>> gradient,
                             std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  require(theta.size() == held.problem->size(), "there must be ", held.problem->size(), " weights, got ", theta.size());
  require(!gradient || gradient->size() == theta.size(), "the gradient must be as long as the weights");
  for (const double w : view(theta)) require(std::isfinite(w), "weights must be finite, got ", w);
  nb::gil_scoped_release nogil;
  const std::lock_guard guard(held.lock);
  return held.problem->evaluate(
      view(theta), gradient ? std::span<double>(gradient->data(), gradient->size()) : std::span<double>(), threads);
}

}  // namespace

void bind_labelpath(nb::module_& m) {
  nb::class_<Hidden>(m, "Hidden", "A model of hidden states at some sequences.")
      .def("label_paths", &label_paths, "n"_a, "search"_a, nb::kw_only(), "expansions"_a, "paths"_a, "seconds"_a,
           "masses"_a, "threads"_a, "The n best label paths of every sequence, and their certificates.")
      .def("viterbi", &hidden_viterbi, "path"_a.noconvert(), "scores"_a.noconvert(), "threads"_a,
           "Fill the best hidden paths and their scores.")
      .def("state_probabilities", &state_probabilities, "probabilities"_a.noconvert(), "log_z"_a.noconvert(),
           "threads"_a, "Fill the probabilities of states.")
      .def("label_masses", &label_masses, "labels"_a, "masses"_a.noconvert(), "threads"_a,
           "Fill the log of the mass of the hidden paths with these labels.");
  m.def("make_hidden", &make_hidden, "order"_a, "labels"_a, "owner"_a, "offsets"_a, "unigram"_a, "arcs"_a, "bigrams"_a,
        "theta"_a, "support"_a.none(), nb::kw_only(), "allowed"_a.none(), "transitions"_a.none(),
        "Put a model and sequences together.");
  nb::class_<HeldPaths>(m, "HiddenPaths", "Hidden paths of one sequence, best first.")
      .def("take", &take_paths, "n"_a, "The next paths, at most n, and logs of their probabilities.");
  m.def("hidden_paths", &hidden_paths, "hidden"_a, "sequence"_a, "Hidden paths of a sequence.");
  nb::class_<HeldSecond>(m, "SecondOrder", "The objective of a chain of hidden states of order 2.")
      .def("evaluate", &evaluate_second_order, "theta"_a, "gradient"_a.noconvert().none(), "threads"_a,
           "Add the gradient of the negative log-likelihood, return its value.");
  m.def("make_second_order", &make_second_order, "labels"_a, "owner"_a, "offsets"_a, "unigram"_a, "arcs"_a, "bigrams"_a,
        "observed"_a, "weights"_a.none(), "Prepare sequences.");
}

}  // namespace textmill::bind
