#include "tasks/letters.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include <nanobind/stl/tuple.h>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "tasks/joining.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;
using Keys = In<std::uint64_t, 1>;
using Weights = In<float, 1>;

// A field over letters: its labels and weights, which it shares and keeps.
class LetterField {
 public:
  LetterField(Offsets label_begin, Ids labels, Offsets write_begin, Ids writes, std::int32_t window,
              std::int32_t longest)
      : label_begin_(label_begin), label_ids_(labels), write_begin_(write_begin), writes_(writes) {
    check_offsets(view(label_begin_), label_ids_.size(), "labels");
    check_offsets(view(write_begin_), writes_.size(), "written symbols");
    labels_ = {view(label_begin_), view(label_ids_), view(write_begin_), view(writes_)};
    const std::size_t all = labels_.all_labels();
    require(all <= 20000, "there are ", all, " labels; 20000 are the most");
    for (const std::int32_t label : view(label_ids_))
      require(label >= 0 && static_cast<std::size_t>(label) < all, "there is no label ", label);
    require(window >= 0 && window <= 100 && longest >= 1 && longest <= 100, "window or longest are out of range");
    windows_ = {window, longest};
  }

  Numpy<std::uint64_t, 1> tests(Offsets offsets, Ids letters, std::size_t least) const {
    const tasks::Words words = checked(offsets, letters);
    std::vector<std::uint64_t> keys;
    {
      nb::gil_scoped_release nogil;
      keys = tasks::letter_tests(words, labels_, windows_, least);
    }
    return to_numpy(std::move(keys));
  }

  Numpy<double, 1> train(Offsets offsets, Ids letters, Ids gold, Keys tests, Offsets begin, Keys pairs,
                         Offsets pair_begin, Out<float, 1> weights, Out<float, 1> pair_weights,
                         Out<float, 1> label_weights, double l2, std::size_t epochs, std::uint64_t seed) const {
    const tasks::Words words = checked(offsets, letters);
    const tasks::LetterWeights where =
        located(tests, begin, pairs, pair_begin, view(weights), view(pair_weights), view(label_weights));
    check_gold(gold, letters);
    require(l2 >= 0.0, "l2 must not be negative");
    std::vector<double> trace;
    {
      nb::gil_scoped_release nogil;
      trace = tasks::train_letters(words, view(gold), labels_, windows_, where, view(weights), view(pair_weights),
                                   view(label_weights), {l2, epochs, seed});
    }
    return to_numpy(std::move(trace));
  }

  // The objective, with its gradient filled into the last three.
  double objective(Offsets offsets, Ids letters, Ids gold, Keys tests, Offsets begin, Keys pairs, Offsets pair_begin,
                   Weights weights, Weights pair_weights, Weights label_weights, Out<float, 1> weight_gradient,
                   Out<float, 1> pair_gradient, Out<float, 1> label_gradient, double l2) const {
    const tasks::Words words = checked(offsets, letters);
    const tasks::LetterWeights where =
        located(tests, begin, pairs, pair_begin, view(weights), view(pair_weights), view(label_weights));
    check_gold(gold, letters);
    require(weight_gradient.size() == weights.size() && pair_gradient.size() == pair_weights.size() &&
                label_gradient.size() == label_weights.size(),
            "the gradient must be as long as the weights");
    nb::gil_scoped_release nogil;
    return tasks::letter_objective(words, view(gold), labels_, windows_, where, l2, view(weight_gradient),
                                   view(pair_gradient), view(label_gradient));
  }

  // Takes the weights that the next two work with.
  void hold(Keys tests, Offsets begin, Keys pairs, Offsets pair_begin, Weights weights, Weights pair_weights,
            Weights label_weights) {
    const tasks::LetterWeights where =
        located(tests, begin, pairs, pair_begin, view(weights), view(pair_weights), view(label_weights));
    held_ = {tests, begin, pairs, pair_begin, weights, pair_weights, label_weights};
    model_.emplace(labels_, windows_, where);
  }

  nb::tuple decode(Offsets offsets, Ids letters, std::size_t k, std::size_t beam, double least,
                   std::size_t threads) const {
    const tasks::Words words = checked(offsets, letters);
    require(model_.has_value(), "the field holds no weights");
    require(k >= 1 && threads >= 1, "k and threads must be at least 1");
    tasks::LetterAnswers answers;
    {
      nb::gil_scoped_release nogil;
      answers = model_->decode(words, k, beam, least, threads);
    }
    return nb::make_tuple(to_numpy(std::move(answers.offsets)), to_numpy(std::move(answers.log_probability)),
                          to_numpy(std::move(answers.labels)), to_numpy(std::move(answers.output_begin)),
                          to_numpy(std::move(answers.outputs)));
  }

  Numpy<double, 1> score(Offsets offsets, Ids letters, Offsets lists, Offsets output_offsets, Ids outputs,
                         std::size_t threads) const {
    const tasks::Words words = checked(offsets, letters), written = checked(output_offsets, outputs);
    require(model_.has_value(), "the field holds no weights");
    check_offsets(view(lists), written.size(), "lists of outputs");
    require(lists.size() == offsets.size() && threads >= 1, "there must be a list of outputs for each word");
    std::vector<double> scores;
    {
      nb::gil_scoped_release nogil;
      scores = model_->score(words, view(lists), written, threads);
    }
    return to_numpy(std::move(scores));
  }

 private:
  static tasks::Words checked(const Offsets& offsets, const Ids& letters) {
    check_offsets(view(offsets), letters.size(), "words");
    for (const std::int32_t letter : view(letters)) require(letter >= -1, "there is no letter ", letter);
    return {view(offsets), view(letters)};
  }

  void check_gold(const Ids& gold, const Ids& letters) const {
    require(gold.size() == letters.size(), "there must be a label for each letter");
    for (std::size_t i = 0; i < gold.size(); ++i)
      require(gold.data()[i] >= 0 &&
                  static_cast<std::size_t>(gold.data()[i]) < std::max<std::size_t>(1, labels_.count(letters.data()[i])),
              "letter ", i, " has no label ", gold.data()[i]);
  }

  // Every block of weights must have room for the labels that can ask for it: a test belongs to one letter, which its
  // key alone does not tell, so each must have room for the letter with most labels behind it, or the array must.
  tasks::LetterWeights located(const Keys& tests, const Offsets& begin, const Keys& pairs, const Offsets& pair_begin,
                               std::span<const float> weights, std::span<const float> pair_weights,
                               std::span<const float> label_weights) const {
    std::size_t most = 1;
    for (std::size_t x = 0; x < labels_.letters(); ++x)
      most = std::max(most, labels_.count(static_cast<std::int32_t>(x)));
    require(begin.size() == tests.size() + 1 && pair_begin.size() == pairs.size() + 1,
            "there must be a place for the weights of each test and pair");
    const auto inside = [](const Offsets& places, std::size_t size, std::size_t room) {
      for (std::size_t i = 0; i + 1 < places.size(); ++i)
        require(places.data()[i] >= 0 && static_cast<std::size_t>(places.data()[i]) + room <= size,
                "weights do not fit their array");
    };
    inside(begin, weights.size(), most);
    inside(pair_begin, pair_weights.size(), most * most);
    for (std::size_t i = 1; i < tests.size(); ++i) require(tests.data()[i] > tests.data()[i - 1], "tests must rise");
    for (std::size_t i = 1; i < pairs.size(); ++i) require(pairs.data()[i] > pairs.data()[i - 1], "pairs must rise");
    require(label_weights.size() == labels_.all_labels() * labels_.all_labels(), "pairs of labels need a weight each");
    for (const auto part : {weights, pair_weights, label_weights})
      for (const float w : part) require(std::isfinite(w), "a weight is not finite");
    return {view(tests), view(begin), weights, view(pairs), view(pair_begin), pair_weights, label_weights};
  }

  Offsets label_begin_;
  Ids label_ids_;
  Offsets write_begin_;
  Ids writes_;
  tasks::LetterLabels labels_;
  tasks::Windows windows_{};
  std::tuple<Keys, Offsets, Keys, Offsets, Weights, Weights, Weights> held_;  // what the model looks at
  std::optional<tasks::LetterModel> model_;
};

// Candidates of several models: offsets, ln p, where outputs begin and their symbols of each.
nb::tuple join_lists(nb::list lists, std::size_t most, std::int32_t symbols, In<std::int32_t, 2> next,
                     In<std::uint8_t, 1> accept, std::size_t threads) {
  using List = std::tuple<Offsets, In<double, 1>, Offsets, Ids>;
  std::vector<List> held;
  std::vector<tasks::OutputLists> models;
  require(lists.size() > 0 && most >= 1 && threads >= 1 && symbols >= 0,
          "there must be a model, a candidate and a thread");
  for (nb::handle item : lists) {
    held.push_back(nb::cast<List>(item));
    const auto& [offsets, log_p, begin, ids] = held.back();
    check_offsets(view(offsets), log_p.size(), "words");
    check_offsets(view(begin), ids.size(), "outputs");
    require(begin.size() == log_p.size() + 1 && offsets.size() == std::get<0>(held[0]).size(),
            "all models must have lists for the same words");
    for (const std::int32_t symbol : view(ids)) require(symbol >= 0 && symbol < symbols, "there is no symbol ", symbol);
  }
  for (const auto& [offsets, log_p, begin, ids] : held)
    models.push_back({view(offsets), view(log_p), view(begin), view(ids)});
  const auto states = static_cast<std::int32_t>(accept.size());
  require(next.shape(0) == accept.size() && (states == 0 || next.shape(1) == static_cast<std::size_t>(symbols)),
          "an acceptor needs a row of ", symbols, " numbers for each state");
  for (const std::int32_t state : view(next)) require(state >= -1 && state < states, "there is no state ", state);
  tasks::JoinedLists joined;
  {
    nb::gil_scoped_release nogil;
    joined = tasks::join_lists(models, most, {view(next), view(accept), static_cast<std::size_t>(symbols)}, threads);
  }
  return nb::make_tuple(to_numpy(std::move(joined.offsets)), to_numpy(std::move(joined.output_begin)),
                        to_numpy(std::move(joined.symbols)), to_numpy(std::move(joined.model)),
                        to_numpy(std::move(joined.number)), to_numpy(std::move(joined.scores)));
}

}  // namespace

void bind_letters(nb::module_& m) {
  nb::class_<LetterField>(m, "LetterField", "A conditional random field over letters with few labels each.")
      .def(nb::init<Offsets, Ids, Offsets, Ids, std::int32_t, std::int32_t>(), "label_begin"_a, "labels"_a,
           "write_begin"_a, "writes"_a, "window"_a, "longest"_a)
      .def("tests", &LetterField::tests, "offsets"_a, "letters"_a, "least"_a, "The tests of words, as keys.")
      .def("train", &LetterField::train, "offsets"_a, "letters"_a, "gold"_a, "tests"_a, "begin"_a, "pairs"_a,
           "pair_begin"_a, "weights"_a.noconvert(), "pair_weights"_a.noconvert(), "label_weights"_a.noconvert(),
           nb::kw_only(), "l2"_a, "epochs"_a, "seed"_a, "Fill in the weights; the objective after each epoch.")
      .def("objective", &LetterField::objective, "offsets"_a, "letters"_a, "gold"_a, "tests"_a, "begin"_a, "pairs"_a,
           "pair_begin"_a, "weights"_a, "pair_weights"_a, "label_weights"_a, "weight_gradient"_a.noconvert(),
           "pair_gradient"_a.noconvert(), "label_gradient"_a.noconvert(), nb::kw_only(), "l2"_a,
           "The objective; its gradient is added to the last three.")
      .def("hold", &LetterField::hold, "tests"_a, "begin"_a, "pairs"_a, "pair_begin"_a, "weights"_a, "pair_weights"_a,
           "label_weights"_a, "Take the weights for decode and score.")
      .def("decode", &LetterField::decode, "offsets"_a, "letters"_a, nb::kw_only(), "k"_a, "beam"_a, "least"_a,
           "threads"_a, "Best outputs: offsets, ln p, a label for each letter, where the symbols begin, the symbols.")
      .def("score", &LetterField::score, "offsets"_a, "letters"_a, "lists"_a, "output_offsets"_a, "outputs"_a,
           nb::kw_only(), "threads"_a, "ln p of words with lists of outputs.");
  m.def(
      "join_lists", &join_lists, "lists"_a, nb::kw_only(), "most"_a, "symbols"_a, "next"_a, "accept"_a, "threads"_a,
      "Candidates of several models: offsets, where outputs begin, symbols, model and number of each, ln p by model.");
}

}  // namespace textmill::bind
