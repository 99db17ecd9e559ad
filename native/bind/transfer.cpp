#include <nanobind/stl/tuple.h>

#include <cmath>

#include "base/parallel.h"
#include "base/random.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "trees/collapsed.h"
#include "trees/forest.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;

struct BoundForests {
  trees::Woven woven;
  std::size_t parameters = 0, events = 0;
  std::vector<std::int32_t> event_state, event_word;  // of n-grams
  std::vector<std::int64_t> history_at{0};
  std::vector<std::int32_t> history;
};

struct Sums {
  std::vector<double> parameter, event;
  static Sums zero_like(const Sums& other) {
    return {std::vector<double>(other.parameter.size()), std::vector<double>(other.event.size())};
  }
  Sums& operator+=(const Sums& other) {
    for (std::size_t i = 0; i < parameter.size(); ++i) parameter[i] += other.parameter[i];
    for (std::size_t i = 0; i < event.size(); ++i) event[i] += other.event[i];
    return *this;
  }
};

// order 0: the automaton of the arcs.
void make_forests(BoundForests* self, Offsets node_at, Ids word, Offsets choice_at, Ids left, Ids right, Ids parameter,
                  std::size_t order, std::int32_t start, Offsets arc_at, Ids label, Ids target,
                  In<std::uint8_t, 1> final) {
  check_offsets(view(node_at), word.size(), "nodes");
  require(choice_at.size() == word.size() + 1, "there must be choices for each node");
  check_offsets(view(choice_at), left.size(), "choices");
  require(right.size() == left.size() && parameter.size() == left.size(), "choices must be of one size");
  std::size_t parameters = 0;
  for (std::size_t s = 0; s + 1 < node_at.size(); ++s) {
    require(node_at(s) < node_at(s + 1), "forest ", s, " has no node");
    for (std::int64_t n = node_at(s); n < node_at(s + 1); ++n) {
      const std::int64_t own = n - node_at(s);
      require((word(n) >= 0) == (choice_at(n) == choice_at(n + 1)), "node ", own, " of forest ", s,
              " must be a word or have choices");
      for (std::int64_t c = choice_at(n); c < choice_at(n + 1); ++c) {
        require(left(c) >= 0 && left(c) < own && right(c) >= -1 && right(c) < own, "node ", own, " of forest ", s,
                " must stand behind what is below it");
        require(parameter(c) >= -1, "parameters must be -1 or a number");
        parameters = std::max(parameters, static_cast<std::size_t>(parameter(c) + 1));
      }
    }
  }
  if (order == 0) {
    require(arc_at.size() > 0 && final.size() + 1 == arc_at.size(), "there must be arcs and an end for each state");
    check_offsets(view(arc_at), label.size(), "arcs");
    require(target.size() == label.size(), "arcs must be of one size");
    const auto states = static_cast<std::int64_t>(final.size());
    require(start >= 0 && start < states, "the start must be a state");
    for (std::int64_t q = 0; q < states; ++q)
      for (std::int64_t a = arc_at(q); a < arc_at(q + 1); ++a) {
        require(target(a) >= 0 && target(a) < states, "arc ", a, " leads to a state that is not there");
        require(label(a) >= 0 && (a == arc_at(q) || label(a) >= label(a - 1)), "arcs must be in the order of labels");
      }
  }
  const trees::Plain plain{view(node_at), view(word), view(choice_at), view(left), view(right), view(parameter)};
  BoundForests forests;
  std::int64_t failed = -1;
  {
    nb::gil_scoped_release nogil;
    const auto run = [&](trees::Automaton& automaton) {
      for (std::size_t s = 0; s + 1 < node_at.size() && failed < 0; ++s)
        if (!trees::weave(plain, s, automaton, forests.woven)) failed = static_cast<std::int64_t>(s);
    };
    if (order > 0) {
      trees::Histories histories(order);
      run(histories);
      forests.events = histories.event_state.size();
      forests.event_state = std::move(histories.event_state);
      forests.event_word = std::move(histories.event_word);
      for (const auto& words : histories.history) {
        forests.history.insert(forests.history.end(), words.begin(), words.end());
        forests.history_at.push_back(static_cast<std::int64_t>(forests.history.size()));
      }
    } else {
      const auto vector = []<class Array>(const Array& array) {
        const auto span = view(array);
        return std::vector(span.begin(), span.end());
      };
      trees::Arcs arcs(start, vector(arc_at), vector(label), vector(target), vector(final));
      run(arcs);
      forests.events = label.size() + final.size();
    }
  }
  require(failed < 0, "the automaton accepts no tree of forest ", failed);
  forests.parameters = parameters;
  new (self) BoundForests(std::move(forests));
}

trees::Weights checked(const BoundForests& forests, const Reals& parameter, const Reals& event) {
  require(parameter.size() >= forests.parameters, "there must be ", forests.parameters, " parameters");
  require(event.size() == forests.events, "there must be ", forests.events, " weights of events");
  for (const auto values : {view(parameter), view(event)})
    for (const double value : values)
      require(std::isfinite(value) && value >= 0.0, "weights must be finite and not below 0");
  return {view(parameter), view(event)};
}

// Draws a tree of each sentence: log Z, counts of parameters and events, offsets, plain choices from the top.
nb::tuple sample(const BoundForests& forests, Reals parameter, Reals event, std::uint64_t seed, std::uint64_t iteration,
                 bool wanted, std::size_t threads) {
  const trees::Weights weights = checked(forests, parameter, event);
  const std::size_t sentences = forests.woven.sentences();
  Sums sums{std::vector<double>(parameter.size()), std::vector<double>(event.size())};
  std::vector<double> log_z(sentences);
  std::vector<std::vector<std::int32_t>> picked(wanted ? sentences : 0);
  {
    nb::gil_scoped_release nogil;
    base::parallel_sum(sentences, threads, sums, [&](std::size_t s, Sums& lane) {
      thread_local std::vector<trees::Scaled> W;
      log_z[s] = trees::inside(forests.woven, s, weights, W);
      if (!(log_z[s] > -HUGE_VAL)) return;
      base::Random random(seed, iteration * sentences + s);
      trees::draw(
          forests.woven, s, weights, W, [&] { return random.uniform(); },
          [&](std::int32_t choice, std::int32_t of_leaf) {
            if (of_leaf >= 0) {
              lane.event[of_leaf] += 1.0;
              return;
            }
            if (const std::int32_t p = forests.woven.parameter[choice]; p >= 0) lane.parameter[p] += 1.0;
            if (wanted && forests.woven.origin[choice] >= 0) picked[s].push_back(forests.woven.origin[choice]);
          });
    });
  }
  std::vector<std::int64_t> at{0};
  std::vector<std::int32_t> flat;
  for (const auto& one : picked) {
    flat.insert(flat.end(), one.begin(), one.end());
    at.push_back(static_cast<std::int64_t>(flat.size()));
  }
  return nb::make_tuple(to_numpy(std::move(log_z)), to_numpy(std::move(sums.parameter)),
                        to_numpy(std::move(sums.event)), to_numpy(std::move(at)), to_numpy(std::move(flat)));
}

nb::tuple expect(const BoundForests& forests, Reals parameter, Reals event, std::size_t threads) {
  const trees::Weights weights = checked(forests, parameter, event);
  Sums sums{std::vector<double>(parameter.size()), std::vector<double>(event.size())};
  std::vector<double> log_z(forests.woven.sentences());
  {
    nb::gil_scoped_release nogil;
    base::parallel_sum(log_z.size(), threads, sums, [&](std::size_t s, Sums& lane) {
      thread_local std::vector<trees::Scaled> W;
      thread_local std::vector<double> posterior;
      log_z[s] = trees::inside(forests.woven, s, weights, W);
      if (log_z[s] > -HUGE_VAL) trees::expect(forests.woven, s, weights, W, posterior, lane.parameter, lane.event);
    });
  }
  return nb::make_tuple(to_numpy(std::move(log_z)), to_numpy(std::move(sums.parameter)),
                        to_numpy(std::move(sums.event)));
}

// The k best trees of each sentence: offsets of trees, log weights, offsets of choices, plain choices from the top.
nb::tuple best(const BoundForests& forests, Reals parameter, Reals event, std::size_t k, std::size_t threads) {
  const trees::Weights weights = checked(forests, parameter, event);
  require(k >= 1, "k must be at least 1");
  std::vector<std::vector<trees::BestTree>> trees_of(forests.woven.sentences());
  {
    nb::gil_scoped_release nogil;
    base::parallel_for(trees_of.size(), threads,
                       [&](std::size_t s) { trees_of[s] = trees::best_trees(forests.woven, s, weights, k); });
  }
  std::vector<std::int64_t> tree_at{0}, choice_at{0};
  std::vector<double> scores;
  std::vector<std::int32_t> flat;
  for (const auto& of_sentence : trees_of) {
    for (const trees::BestTree& tree : of_sentence) {
      scores.push_back(tree.score);
      for (const std::int32_t c : tree.choices)
        if (forests.woven.origin[c] >= 0) flat.push_back(forests.woven.origin[c]);
      choice_at.push_back(static_cast<std::int64_t>(flat.size()));
    }
    tree_at.push_back(static_cast<std::int64_t>(scores.size()));
  }
  return nb::make_tuple(to_numpy(std::move(tree_at)), to_numpy(std::move(scores)), to_numpy(std::move(choice_at)),
                        to_numpy(std::move(flat)));
}

template <class T>
Numpy<T, 1> copied(const std::vector<T>& values) {
  return to_numpy(std::vector<T>(values));
}

nb::tuple arrays(const BoundForests& f) {
  return nb::make_tuple(copied(f.woven.node_at), copied(f.woven.event), copied(f.woven.choice_at), copied(f.woven.left),
                        copied(f.woven.right), copied(f.woven.parameter), copied(f.woven.origin), copied(f.woven.node),
                        copied(f.woven.from), copied(f.woven.to));
}

nb::tuple events(const BoundForests& f) {
  return nb::make_tuple(copied(f.event_state), copied(f.event_word), copied(f.history_at), copied(f.history));
}

std::size_t size_in_bytes(const BoundForests& f) {
  const trees::Woven& w = f.woven;
  return 8 * (w.node_at.capacity() + w.choice_at.capacity()) +
         4 * (w.event.capacity() + w.left.capacity() + w.right.capacity() + w.parameter.capacity() +
              w.origin.capacity() + w.node.capacity() + w.from.capacity() + w.to.capacity());
}

trees::Urns checked_urns(const Ids& row, const Reals& alpha, const Reals& total, std::size_t size) {
  require(row.size() == size && alpha.size() == size, "there must be a row and a prior count for each of ", size);
  for (const std::int32_t r : view(row))
    require(r >= -1 && r < static_cast<std::int64_t>(total.size()), "row ", r, " is not there");
  for (const double a : view(alpha)) require(std::isfinite(a) && a >= 0.0, "prior counts must not be below 0");
  for (const double t : view(total)) require(std::isfinite(t) && t > 0.0, "prior counts of rows must be above 0");
  const auto r = view(row);
  const auto a = view(alpha), t = view(total);
  return {{r.begin(), r.end()}, {a.begin(), a.end()}, {t.begin(), t.end()}};
}

void make_chain(trees::CollapsedChain* self, const BoundForests& forests, Ids row, Reals alpha, Reals total,
                Ids event_row, Reals event_alpha, Reals event_total) {
  new (self) trees::CollapsedChain(forests.woven, checked_urns(row, alpha, total, row.size()),
                                   checked_urns(event_row, event_alpha, event_total, forests.events));
}

nb::tuple chain_trees(const trees::CollapsedChain& chain, const BoundForests& forests) {
  std::vector<std::int64_t> at{0};
  std::vector<std::int32_t> flat;
  for (const auto& one : chain.choices) {
    for (const std::int32_t c : one)
      if (forests.woven.origin[c] >= 0) flat.push_back(forests.woven.origin[c]);
    at.push_back(static_cast<std::int64_t>(flat.size()));
  }
  return nb::make_tuple(to_numpy(std::move(at)), to_numpy(std::move(flat)));
}

}  // namespace

void bind_transfer(nb::module_& m) {
  nb::class_<BoundForests>(m, "Forests", "Packed forests of sentences, intersected with an automaton.")
      .def("__init__", &make_forests, "node_at"_a, "word"_a, "choice_at"_a, "left"_a, "right"_a, "parameter"_a,
           "order"_a, "start"_a, "arc_at"_a, "label"_a, "target"_a, "final"_a)
      .def("sample", &sample, "parameter"_a, "event"_a, "seed"_a, "iteration"_a, "wanted"_a, "threads"_a)
      .def("expect", &expect, "parameter"_a, "event"_a, "threads"_a)
      .def("best", &best, "parameter"_a, "event"_a, "k"_a, "threads"_a)
      .def("arrays", &arrays)
      .def("events", &events)
      .def_prop_ro("n_bytes", &size_in_bytes)
      .def_ro("n_events", &BoundForests::events);
  nb::class_<trees::CollapsedChain>(m, "CollapsedChain", "Trees of a corpus with all multinomials integrated out.")
      .def("__init__", &make_chain, "forests"_a, "row"_a, "alpha"_a, "total"_a, "event_row"_a, "event_alpha"_a,
           "event_total"_a, nb::keep_alive<1, 2>())
      .def("scan", &trees::CollapsedChain::scan, "seed"_a, "iteration"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("counts",
           [](const trees::CollapsedChain& chain) {
             return nb::make_tuple(copied(chain.parameter_counts), copied(chain.event_counts));
           })
      .def("trees", &chain_trees, "forests"_a);
}

}  // namespace textmill::bind
