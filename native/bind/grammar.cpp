#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "trees/chart.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Table = In<double, 2>;
using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;

template <class Array>
auto copy(const Array& array) {
  const auto span = view(array);
  return std::vector(span.begin(), span.end());
}

void check_ids(const Ids& ids, std::size_t below, const char* what) {
  for (const std::int32_t id : view(ids))
    require(id >= 0 && static_cast<std::size_t>(id) < below, what, " ", id, " is not below ", below);
}

void check_logs(const Reals& values, const char* what) {
  for (const double value : view(values)) require(value < HUGE_VAL, what, " must be logarithms below infinity");
}

void check_weights(std::span<const double> values, const char* what) {
  for (const double value : values)
    require(std::isfinite(value) && value >= 0.0, what, " must be finite and not below 0");
}

// Rules with the arrays that they point into. Steps come as a list and are kept as a table.
struct BoundRules {
  std::size_t labels, groups, root;
  std::vector<std::int32_t> label, group, state_symbol, state_group;
  std::vector<double> stop;
  std::vector<std::int64_t> row;
  std::vector<trees::Step> step;
  std::vector<std::int32_t> group_first;
  std::vector<std::int64_t> begin_at;
  std::vector<std::int32_t> begin_state;
  std::vector<double> begin;
  std::vector<std::int64_t> chain_at;
  std::vector<std::int32_t> chain_top;
  std::vector<double> chain;

  trees::Rules rules() const {
    return {labels, groups,      root,     label,       group, state_symbol, state_group, stop, row,
            step,   group_first, begin_at, begin_state, begin, chain_at,     chain_top,   chain};
  }
};

void make_rules(BoundRules* self, std::size_t labels, std::size_t groups, std::size_t root, Ids label, Ids group,
                Ids state_symbol, Ids state_group, Reals stop, Offsets step_at, Ids step_label, Ids step_next,
                Reals step, Offsets begin_at, Ids begin_state, Reals begin, Offsets chain_at, Ids chain_top,
                Reals chain) {
  const std::size_t symbols = label.size(), states = state_symbol.size();
  require(labels > 0 && groups > 0 && symbols > 0 && root < symbols, "a grammar needs labels, groups and a root");
  require(group.size() == symbols, "there must be a group for each of ", symbols, " symbols");
  check_ids(label, labels, "label");
  check_ids(group, groups, "group");
  for (std::size_t s = 1; s < symbols; ++s)
    require(group(s) > group(s - 1) || (group(s) == group(s - 1) && label(s) > label(s - 1)),
            "symbols must be in the order of groups and labels, at ", s);
  require(state_group.size() == states && stop.size() == states && step_at.size() == states + 1,
          "there must be a group, a stop and steps for each of ", states, " states");
  check_ids(state_symbol, symbols, "symbol");
  check_ids(state_group, groups, "group");
  check_logs(stop, "stops");
  check_offsets(view(step_at), step_label.size(), "steps");
  require(step_next.size() == step_label.size() && step.size() == step_label.size(), "steps must be of one size");
  check_ids(step_label, labels, "label");
  check_ids(step_next, states, "state");
  check_logs(step, "steps");
  require(begin_at.size() == symbols + 1 && chain_at.size() == symbols + 1, "there must be rules for each symbol");
  check_offsets(view(begin_at), begin_state.size(), "beginnings");
  require(begin.size() == begin_state.size(), "beginnings must be of one size");
  check_ids(begin_state, states, "state");
  check_logs(begin, "beginnings");
  check_offsets(view(chain_at), chain_top.size(), "chains");
  require(chain.size() == chain_top.size(), "chains must be of one size");
  check_ids(chain_top, symbols, "symbol");
  check_logs(chain, "chains");
  std::vector<std::int32_t> group_first(groups + 1);
  for (const std::int32_t g : view(group)) ++group_first[g + 1];
  for (std::size_t g = 0; g < groups; ++g) group_first[g + 1] += group_first[g];
  std::vector<std::int64_t> row(states);
  std::vector<trees::Step> table;
  std::vector<std::int32_t> column(labels);  // of the labels of a group
  for (std::size_t q = 0; q < states; ++q) {
    const std::int32_t first = group_first[state_group(q)], end = group_first[state_group(q) + 1];
    std::fill(column.begin(), column.end(), -1);
    for (std::int32_t s = first; s < end; ++s) column[label(s)] = s - first;
    row[q] = static_cast<std::int64_t>(table.size());
    table.resize(table.size() + (end - first), {-HUGE_VAL, 0});
    for (std::int64_t e = step_at(q); e < step_at(q + 1); ++e) {
      require(state_symbol(step_next(e)) == state_symbol(q), "a step leads from state ", q, " to another rule");
      require(column[step_label(e)] >= 0, "label ", step_label(e), " is not among the children of state ", q);
      table[row[q] + column[step_label(e)]] = {step(e), step_next(e)};
    }
  }
  new (self) BoundRules{labels,
                        groups,
                        root,
                        copy(label),
                        copy(group),
                        copy(state_symbol),
                        copy(state_group),
                        copy(stop),
                        std::move(row),
                        std::move(table),
                        std::move(group_first),
                        copy(begin_at),
                        copy(begin_state),
                        copy(begin),
                        copy(chain_at),
                        copy(chain_top),
                        copy(chain)};
}

trees::Coarse checked_coarse(std::size_t labels, std::size_t parents, std::size_t root, const Reals& prior,
                             const Table& begin, const Table& step, const Reals& stop, const Table& chain) {
  require(parents <= labels && root < parents, "the root must be a label with rules");
  require(prior.size() == labels && stop.size() == parents,
          "there must be a prior for each label, a stop for each rule");
  for (const Table* table : {&begin, &step, &chain})
    require(table->shape(0) == labels && table->shape(1) == parents, "tables must be ", labels, " x ", parents);
  for (const auto values : {view(prior), view(begin), view(step), view(stop), view(chain)})
    check_weights(values, "weights of the coarse grammar");
  return {labels, parents, root, view(prior), view(begin), view(step), view(stop), view(chain)};
}

void check_entries(const Offsets& at, const Ids& ids, const Reals& values, std::size_t words, std::size_t below) {
  require(at.size() == words + 1 && values.size() == ids.size(), "there must be tags for each of ", words, " words");
  check_offsets(view(at), ids.size(), "tags");
  check_ids(ids, below, "tag");
}

// Scores, whether from the last resort, offsets of trees and of brackets, brackets (start, end, symbol, chain).
nb::tuple parse(const BoundRules& fine, const BoundRules& plain, std::size_t parents, std::size_t root, Reals prior,
                Table begin, Table step, Reals stop, Table chain, Offsets label_at, Ids label, Reals weight,
                Offsets symbol_at, Ids symbol, Reals score, Offsets plain_at, Ids plain_symbol, Reals plain_score,
                Offsets sentences, Ids words, double share, double beam, std::size_t k, std::size_t threads) {
  const trees::Coarse coarse = checked_coarse(fine.labels, parents, root, prior, begin, step, stop, chain);
  require(plain.labels == fine.labels, "both grammars must have the same labels");
  for (const BoundRules* rules : {&fine, &plain})
    for (const std::int32_t s : rules->state_symbol)
      require(static_cast<std::size_t>(rules->label[s]) < parents, "a label with rules must be below ", parents);
  require(label_at.size() > 0, "offsets of tags must begin with 0");
  const std::size_t distinct = label_at.size() - 1;
  check_entries(label_at, label, weight, distinct, fine.labels);
  check_entries(symbol_at, symbol, score, distinct, fine.label.size());
  check_entries(plain_at, plain_symbol, plain_score, distinct, plain.label.size());
  check_weights(view(weight), "weights of tags");
  check_logs(score, "scores of tags");
  check_logs(plain_score, "scores of tags");
  check_offsets(view(sentences), words.size(), "sentences");
  check_ids(words, distinct, "word");
  require(share > 0.0 && share < 1.0, "share must lie between 0 and 1, got ", share);
  require(beam > 0.0, "beam must be above 0, got ", beam);
  require(k >= 1, "k must be at least 1");
  const std::size_t count = sentences.size() - 1;
  for (std::size_t s = 0; s < count; ++s) require(sentences(s) < sentences(s + 1), "sentence ", s, " has no words");
  const trees::Words lexicon{view(label_at), view(label),    view(weight),       view(symbol_at),  view(symbol),
                             view(score),    view(plain_at), view(plain_symbol), view(plain_score)};
  std::vector<std::vector<trees::Parse>> parses(count);
  {
    nb::gil_scoped_release nogil;
    const trees::Rules rules = fine.rules(), last_resort = plain.rules();
    base::parallel_for(count, threads, [&](std::size_t s) {
      const auto from = static_cast<std::size_t>(sentences(s)), to = static_cast<std::size_t>(sentences(s + 1));
      parses[s] = trees::best_parses(rules, last_resort, coarse, lexicon, view(words).subspan(from, to - from),
                                     {share, beam, k});
    });
  }
  std::vector<double> scores;
  std::vector<std::uint8_t> resort;
  std::vector<std::int64_t> tree_at{0}, bracket_at{0};
  std::vector<std::int32_t> brackets;
  for (const auto& of_sentence : parses) {
    for (const trees::Parse& one : of_sentence) {
      scores.push_back(one.score);
      resort.push_back(one.plain);
      for (const trees::Bracket& b : one.brackets) brackets.insert(brackets.end(), {b.start, b.end, b.symbol, b.chain});
      bracket_at.push_back(static_cast<std::int64_t>(brackets.size() / 4));
    }
    tree_at.push_back(static_cast<std::int64_t>(scores.size()));
  }
  return nb::make_tuple(to_numpy(std::move(scores)), to_numpy(std::move(resort)), to_numpy(std::move(tree_at)),
                        to_numpy(std::move(bracket_at)), to_numpy(std::move(brackets)));
}

}  // namespace

void bind_grammar(nb::module_& m) {
  nb::class_<BoundRules>(m, "Rules", "A grammar whose rules read their children from left to right.")
      .def("__init__", &make_rules, "labels"_a, "groups"_a, "root"_a, "label"_a, "group"_a, "state_symbol"_a,
           "state_group"_a, "stop"_a, "step_at"_a, "step_label"_a, "step_next"_a, "step"_a, "begin_at"_a,
           "begin_state"_a, "begin"_a, "chain_at"_a, "chain_top"_a, "chain"_a);
  m.def("parse", &parse, "fine"_a, "plain"_a, "parents"_a, "root"_a, "prior"_a, "begin"_a, "step"_a, "stop"_a,
        "chain"_a, "label_at"_a, "label"_a, "weight"_a, "symbol_at"_a, "symbol"_a, "score"_a, "plain_at"_a,
        "plain_symbol"_a, "plain_score"_a, "sentences"_a, "words"_a, "share"_a, "beam"_a, "k"_a, "threads"_a,
        "Scores, last resort, offsets of trees and brackets, brackets of the best trees.");
}

}  // namespace textmill::bind
