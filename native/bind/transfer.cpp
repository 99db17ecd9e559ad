#include <nanobind/stl/tuple.h>

#include <cmath>

#include "base/parallel.h"
#include "base/random.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "trees/collapsed.h"
#include "trees/forest.h"
#include "trees/forest_best.h"
#include "trees/forest_reject.h"
#include "trees/forest_sums.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;

constexpr std::int64_t kDeepest = 5000;  // levels of a forest: weaving goes down by calls

struct BoundForests {
  trees::Woven woven;
  std::vector<std::int64_t> member_at{0};  // sentences of each structure
  std::vector<std::int32_t> member;
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

// Levels of the deepest forest; every index is checked on the way.
void check_plain(const Offsets& node_at, const Ids& word, const Offsets& choice_at, const Offsets& below_at,
                 const Ids& below, const Ids& parameter) {
  check_offsets(view(node_at), word.size(), "nodes");
  require(choice_at.size() == word.size() + 1, "there must be choices for each node");
  require(below_at.size() == parameter.size() + 1, "choices must be of one size");
  check_offsets(view(choice_at), parameter.size(), "choices");
  check_offsets(view(below_at), below.size(), "nodes below");
  std::vector<std::int64_t> level(word.size(), 1);
  for (std::size_t s = 0; s + 1 < node_at.size(); ++s) {
    require(node_at(s) < node_at(s + 1), "forest ", s + 1, " has no node");
    for (std::int64_t n = node_at(s); n < node_at(s + 1); ++n) {
      const std::int64_t own = n - node_at(s);
      require((word(n) >= 0) == (choice_at(n) == choice_at(n + 1)), "node ", own, " of forest ", s + 1,
              " must be a word or have choices");
      for (std::int64_t c = choice_at(n); c < choice_at(n + 1); ++c) {
        require(below_at(c) < below_at(c + 1), "a choice of node ", own, " of forest ", s + 1, " has nothing below");
        for (std::int64_t b = below_at(c); b < below_at(c + 1); ++b) {
          require(below(b) >= 0 && below(b) < own, "node ", own, " of forest ", s + 1,
                  " must stand behind what is below it");
          level[n] = std::max(level[n], level[node_at(s) + below(b)] + 1);
        }
        require(parameter(c) >= -1, "parameters must be -1 or a number");
      }
      require(level[n] <= kDeepest, "forest ", s + 1, " is deeper than ", kDeepest, " levels");
    }
  }
}

// order 0: the automaton of the arcs.
void make_forests(BoundForests* self, Offsets node_at, Ids word, Offsets choice_at, Offsets below_at, Ids below,
                  Ids parameter, std::size_t order, std::int32_t start, Offsets arc_at, Ids label, Ids target,
                  In<std::uint8_t, 1> final) {
  check_plain(node_at, word, choice_at, below_at, below, parameter);
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
  const trees::Plain plain{view(node_at), view(word), view(choice_at), view(below_at), view(below), view(parameter)};
  BoundForests forests;
  std::int64_t failed = -1;
  {
    nb::gil_scoped_release nogil;
    const auto run = [&](trees::Automaton& automaton) {
      trees::Twins twins(plain);
      for (std::size_t s = 0; s + 1 < node_at.size() && failed < 0; ++s) {
        const std::size_t like = twins.first_like(s);
        if (like == s && !trees::weave(plain, s, automaton, forests.woven)) failed = static_cast<std::int64_t>(s);
        forests.woven.structure.push_back(like == s ? static_cast<std::int32_t>(forests.woven.structures()) - 1
                                                    : forests.woven.structure[like]);
      }
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
  require(failed < 0, "the automaton accepts no tree of forest ", failed + 1);
  for (const std::int32_t p : view(parameter))
    forests.parameters = std::max(forests.parameters, static_cast<std::size_t>(p + 1));
  const trees::Woven& woven = forests.woven;
  forests.member_at.assign(woven.structures() + 1, 0);
  for (const std::int32_t t : woven.structure) ++forests.member_at[t + 1];
  for (std::size_t t = 0; t < woven.structures(); ++t) forests.member_at[t + 1] += forests.member_at[t];
  std::vector<std::int64_t> next(forests.member_at.begin(), forests.member_at.end() - 1);
  forests.member.resize(woven.sentences());
  for (std::size_t s = 0; s < woven.sentences(); ++s)
    forests.member[next[woven.structure[s]]++] = static_cast<std::int32_t>(s);
  new (self) BoundForests(std::move(forests));
}

// Weights as kernels want them: 1 before the parameters.
struct CheckedWeights {
  std::vector<double> parameter;
  std::span<const double> event;
  trees::Weights view() const { return {parameter, event}; }
};

CheckedWeights checked(const BoundForests& forests, const Reals& parameter, const Reals& event) {
  require(parameter.size() >= forests.parameters, "there must be ", forests.parameters, " parameters");
  require(event.size() == forests.events, "there must be ", forests.events, " weights of events");
  for (const auto values : {view(parameter), view(event)})
    for (const double value : values)
      require(std::isfinite(value) && value >= 0.0, "weights must be finite and not below 0");
  CheckedWeights weights{{1.0}, view(event)};
  weights.parameter.insert(weights.parameter.end(), view(parameter).begin(), view(parameter).end());
  return weights;
}

Sums sums_of(const CheckedWeights& weights) {
  return {std::vector<double>(weights.parameter.size()), std::vector<double>(weights.event.size())};
}

// Without the entry of weight 1.
Numpy<double, 1> counts_of(std::vector<double>&& counts) {
  counts.erase(counts.begin());
  return to_numpy(std::move(counts));
}

// Calls body(structure, sentences of it).
template <class Body>
void for_structures(const BoundForests& forests, std::size_t threads, Body&& body) {
  base::parallel_for(forests.woven.structures(), threads, [&](std::size_t t) {
    const auto begin = static_cast<std::size_t>(forests.member_at[t]);
    body(t, std::span(forests.member).subspan(begin, static_cast<std::size_t>(forests.member_at[t + 1]) - begin));
  });
}

struct Flat {  // offsets, and plain choices from the top
  std::vector<std::int64_t> at{0};
  std::vector<std::int32_t> choice;
};

Flat flat_choices(const trees::Woven& woven, const std::vector<std::vector<std::int32_t>>& lists) {
  Flat flat;
  for (const auto& one : lists) {
    for (const std::int32_t c : one)
      if (woven.origin[c] >= 0) flat.choice.push_back(woven.origin[c]);
    flat.at.push_back(static_cast<std::int64_t>(flat.choice.size()));
  }
  return flat;
}

// Draws a tree of each sentence: log Z, counts of parameters and events, offsets, plain choices from the top.
nb::tuple sample(const BoundForests& forests, Reals parameter, Reals event, std::uint64_t seed, std::uint64_t iteration,
                 bool wanted, std::size_t threads) {
  const CheckedWeights owned = checked(forests, parameter, event);
  const trees::Weights weights = owned.view();
  const trees::Woven& woven = forests.woven;
  const std::size_t sentences = woven.sentences();
  Sums sums = sums_of(owned);
  std::vector<double> log_z(sentences);
  std::vector<std::vector<std::int32_t>> picked(wanted ? sentences : 0);
  {
    nb::gil_scoped_release nogil;
    base::parallel_sum(woven.structures(), threads, sums, [&](std::size_t t, Sums& lane) {
      thread_local trees::Inside W;
      thread_local std::vector<std::int32_t> stack;
      trees::inside(woven, t, weights, W);
      for (std::int64_t m = forests.member_at[t]; m < forests.member_at[t + 1]; ++m) {
        const auto s = static_cast<std::size_t>(forests.member[m]);
        log_z[s] = W.log_top;
        if (!(W.log_top > -HUGE_VAL)) continue;
        base::Random random(seed, iteration * sentences + s);
        trees::draw(
            woven, t, weights, W, stack, [&] { return random.uniform(); },
            [&](std::int32_t choice, std::int32_t of_leaf) {
              if (of_leaf >= 0) {
                lane.event[of_leaf] += 1.0;
                return;
              }
              lane.parameter[woven.step[choice].parameter] += 1.0;
              if (wanted) picked[s].push_back(choice);
            });
      }
    });
  }
  Flat flat = flat_choices(woven, picked);
  return nb::make_tuple(to_numpy(std::move(log_z)), counts_of(std::move(sums.parameter)),
                        to_numpy(std::move(sums.event)), to_numpy(std::move(flat.at)),
                        to_numpy(std::move(flat.choice)));
}

nb::tuple expect(const BoundForests& forests, Reals parameter, Reals event, std::size_t threads) {
  const CheckedWeights owned = checked(forests, parameter, event);
  const trees::Weights weights = owned.view();
  Sums sums = sums_of(owned);
  std::vector<double> log_z(forests.woven.sentences());
  {
    nb::gil_scoped_release nogil;
    base::parallel_sum(forests.woven.structures(), threads, sums, [&](std::size_t t, Sums& lane) {
      thread_local trees::Inside W;
      thread_local std::vector<double> posterior;
      trees::inside(forests.woven, t, weights, W);
      const std::int64_t begin = forests.member_at[t], end = forests.member_at[t + 1];
      for (std::int64_t m = begin; m < end; ++m) log_z[forests.member[m]] = W.log_top;
      if (W.log_top > -HUGE_VAL)
        trees::expect(forests.woven, t, weights, W, static_cast<double>(end - begin), posterior, lane.parameter,
                      lane.event);
    });
  }
  return nb::make_tuple(to_numpy(std::move(log_z)), counts_of(std::move(sums.parameter)),
                        to_numpy(std::move(sums.event)));
}

// P(choice | node) of each choice of a sentence's intersection.
Numpy<double, 1> shares(const BoundForests& forests, Reals parameter, Reals event, std::size_t sentence) {
  require(sentence < forests.woven.sentences(), "there is no sentence ", sentence + 1);
  const CheckedWeights weights = checked(forests, parameter, event);
  trees::Inside W;
  const auto t = static_cast<std::size_t>(forests.woven.structure[sentence]);
  trees::inside(forests.woven, t, weights.view(), W);
  return to_numpy(trees::shares(forests.woven, t, weights.view(), W));
}

// Draws from the trees without the automaton until the automaton takes one: tries of each sentence (0: none was taken),
// offsets, plain choices from the top.
nb::tuple reject(const BoundForests& forests, Reals parameter, Reals event, std::uint64_t seed, std::int64_t most,
                 std::size_t threads) {
  const CheckedWeights weights = checked(forests, parameter, event);
  std::vector<std::int64_t> tries(forests.woven.sentences());
  std::vector<std::vector<std::int32_t>> picked(tries.size());
  {
    nb::gil_scoped_release nogil;
    for_structures(forests, threads, [&](std::size_t t, std::span<const std::int32_t> members) {
      trees::Rejection rejection(forests.woven, t, weights.view());
      for (const std::int32_t s : members) {
        base::Random random(seed, static_cast<std::uint64_t>(s));
        tries[s] = rejection.draw(random, most, picked[s]);
      }
    });
  }
  Flat flat = flat_choices(forests.woven, picked);
  return nb::make_tuple(to_numpy(std::move(tries)), to_numpy(std::move(flat.at)), to_numpy(std::move(flat.choice)));
}

// Log weight of the best tree through each plain choice: offsets by sentence, values; and that of the best tree.
nb::tuple best_through(const BoundForests& forests, Reals parameter, Reals event, Offsets choices,
                       std::size_t threads) {
  const CheckedWeights weights = checked(forests, parameter, event);
  const std::size_t sentences = forests.woven.sentences();
  require(choices.size() == sentences + 1, "there must be offsets of choices for each sentence");
  check_offsets(view(choices), static_cast<std::size_t>(choices(sentences)), "choices");
  for (std::size_t s = 0; s < sentences; ++s) {
    const auto t = static_cast<std::size_t>(forests.woven.structure[s]);
    for (auto c = forests.woven.step_at[t]; c < forests.woven.step_at[t + 1]; ++c)
      require(forests.woven.origin[c] < choices(s + 1) - choices(s), "sentence ", s + 1, " has more choices");
  }
  std::vector<double> through(static_cast<std::size_t>(choices(sentences)), -HUGE_VAL), best(sentences);
  {
    nb::gil_scoped_release nogil;
    base::parallel_for(sentences, threads, [&](std::size_t s) {
      best[s] = trees::best_through(forests.woven, static_cast<std::size_t>(forests.woven.structure[s]), weights.view(),
                                    std::span(through).subspan(static_cast<std::size_t>(choices(s)),
                                                               static_cast<std::size_t>(choices(s + 1) - choices(s))));
    });
  }
  return nb::make_tuple(to_numpy(std::move(through)), to_numpy(std::move(best)));
}

// The k best trees of each sentence: offsets of trees, log weights, offsets of choices, plain choices from the top.
nb::tuple best(const BoundForests& forests, Reals parameter, Reals event, std::size_t k, std::size_t threads) {
  const CheckedWeights weights = checked(forests, parameter, event);
  require(k >= 1, "k must be at least 1");
  std::vector<std::vector<trees::BestTree>> trees_of(forests.woven.sentences());
  {
    nb::gil_scoped_release nogil;
    for_structures(forests, threads, [&](std::size_t t, std::span<const std::int32_t> members) {
      const auto found = trees::best_trees(forests.woven, t, weights.view(), k);
      for (const std::int32_t s : members) trees_of[s] = found;
    });
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

// Structure of each sentence, then arrays by structure; nodes and parameters from 0, -1 for none.
nb::tuple arrays(const BoundForests& f) {
  std::vector<std::int32_t> left, right, parameter, event(f.woven.entry);
  std::vector<std::int64_t> choice_at;
  for (std::size_t t = 0; t < f.woven.structures(); ++t)
    for (auto n = f.woven.node_at[t]; n < f.woven.node_at[t + 1]; ++n) {
      const bool leaf = n - f.woven.node_at[t] < f.woven.leaves[t];
      choice_at.push_back(f.woven.step_at[t] + (leaf ? 0 : event[n]));
      if (!leaf) event[n] = -1;
    }
  choice_at.push_back(static_cast<std::int64_t>(f.woven.step.size()));
  for (const trees::Step& step : f.woven.step) {
    left.push_back(step.left - 1);
    right.push_back(step.right - 1);
    parameter.push_back(step.parameter - 1);
  }
  return nb::make_tuple(copied(f.woven.structure), copied(f.woven.node_at), to_numpy(std::move(event)),
                        to_numpy(std::move(choice_at)), to_numpy(std::move(left)), to_numpy(std::move(right)),
                        to_numpy(std::move(parameter)), copied(f.woven.origin), copied(f.woven.node),
                        copied(f.woven.from), copied(f.woven.to));
}

nb::tuple events(const BoundForests& f) {
  return nb::make_tuple(copied(f.event_state), copied(f.event_word), copied(f.history_at), copied(f.history));
}

std::size_t size_in_bytes(const BoundForests& f) {
  const trees::Woven& w = f.woven;
  return 8 * (w.node_at.capacity() + w.step_at.capacity() + f.member_at.capacity()) +
         sizeof(trees::Step) * w.step.capacity() +
         4 * (w.entry.capacity() + w.origin.capacity() + w.node.capacity() + w.from.capacity() + w.to.capacity() +
              w.structure.capacity() + f.member.capacity());
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
  require(row.size() >= forests.parameters, "there must be ", forests.parameters, " parameters");
  trees::Urns urns = checked_urns(row, alpha, total, row.size());
  urns.row.insert(urns.row.begin(), -1);  // the parameter of weight 1
  urns.alpha.insert(urns.alpha.begin(), 1.0);
  new (self) trees::CollapsedChain(forests.woven, std::move(urns),
                                   checked_urns(event_row, event_alpha, event_total, forests.events));
}

nb::tuple chain_trees(const trees::CollapsedChain& chain, const BoundForests& forests) {
  Flat flat = flat_choices(forests.woven, chain.choices);
  return nb::make_tuple(to_numpy(std::move(flat.at)), to_numpy(std::move(flat.choice)));
}

}  // namespace

void bind_transfer(nb::module_& m) {
  nb::class_<BoundForests>(m, "Forests", "Packed forests of sentences, intersected with an automaton.")
      .def("__init__", &make_forests, "node_at"_a, "word"_a, "choice_at"_a, "below_at"_a, "below"_a, "parameter"_a,
           "order"_a, "start"_a, "arc_at"_a, "label"_a, "target"_a, "final"_a)
      .def("sample", &sample, "parameter"_a, "event"_a, "seed"_a, "iteration"_a, "wanted"_a, "threads"_a)
      .def("expect", &expect, "parameter"_a, "event"_a, "threads"_a)
      .def("best", &best, "parameter"_a, "event"_a, "k"_a, "threads"_a)
      .def("shares", &shares, "parameter"_a, "event"_a, "sentence"_a)
      .def("reject", &reject, "parameter"_a, "event"_a, "seed"_a, "most"_a, "threads"_a)
      .def("best_through", &best_through, "parameter"_a, "event"_a, "choices"_a, "threads"_a)
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
             return nb::make_tuple(counts_of(std::vector(chain.parameter_counts)), copied(chain.event_counts));
           })
      .def("trees", &chain_trees, "forests"_a);
}

}  // namespace textmill::bind
