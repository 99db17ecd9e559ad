#include "bind/counted.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/parallel.h"
#include "bind/bindings.h"

namespace textmill::bind {

CountedModel::CountedModel(const PyHistories& given, const PyTable& table, int method, double strength,
                           double min_count, In<double, 1> weights, In<std::uint8_t, 2> allowed)
    : histories_(checked_histories(given)),
      level_(held(std::get<0>(table))),
      orders_(held(std::get<1>(table))),
      rows_(held(std::get<2>(table))),
      history_(held(std::get<3>(table))),
      entries_(held(std::get<4>(table))),
      label_(held(std::get<5>(table))),
      count_(held(std::get<6>(table))),
      strength_(strength),
      min_count_(min_count),
      weights_(held(weights)),
      allowed_(allowed.data(), allowed.data() + allowed.size()) {
  require(method >= 0 && method <= 3, "method must be 0 to 3");
  method_ = static_cast<sequence::Smoothing>(method);
  require(std::isfinite(strength) && strength > 0.0, "strength must be above 0");
  const std::size_t Y = histories_.labels;
  for (const std::int32_t order : orders_)
    require(order >= 1 && static_cast<std::size_t>(order) <= histories_.order, "a level looks at ", order, " labels");
  for (const std::int32_t order : orders_) strides_.push_back(histories_.size(static_cast<std::size_t>(order)));
  require(rows_.size() == level_.size() + 1, "rows must have one offset a test and one more");
  check_offsets(rows_, history_.size(), "tests");
  require(entries_.size() == history_.size() + 1, "entries must have one offset a row and one more");
  check_offsets(entries_, label_.size(), "rows");
  require(count_.size() == label_.size(), "there must be one count an entry");
  require(weights_.size() == orders_.size() * sequence::kCountBuckets, "weights must be levels x buckets");
  for (const double weight : weights_) require(weight >= 0.0 && weight <= 1.0, "weights must lie from 0 to 1");
  require(allowed.shape(0) == histories_.size(histories_.order) && allowed.shape(1) == Y,
          "allowed must be histories x labels");
  for (std::size_t x = 0; x < level_.size(); ++x) {
    require(level_[x] >= 0 && static_cast<std::size_t>(level_[x]) < orders_.size(), "test ", x, " has no level");
    const std::size_t size = histories_.size(static_cast<std::size_t>(orders_[static_cast<std::size_t>(level_[x])]));
    for (auto row = static_cast<std::size_t>(rows_[x]); row < static_cast<std::size_t>(rows_[x + 1]); ++row) {
      require(history_[row] >= 0 && static_cast<std::size_t>(history_[row]) < size &&
                  (row == static_cast<std::size_t>(rows_[x]) || history_[row - 1] < history_[row]),
              "histories of test ", x, " must rise");
    }
  }
  for (std::size_t row = 0; row < history_.size(); ++row) {
    for (auto e = static_cast<std::size_t>(entries_[row]); e < static_cast<std::size_t>(entries_[row + 1]); ++e) {
      require(label_[e] >= 0 && static_cast<std::size_t>(label_[e]) < Y &&
                  (e == static_cast<std::size_t>(entries_[row]) || label_[e - 1] < label_[e]),
              "labels of row ", row, " must rise");
      require(std::isfinite(count_[e]) && count_[e] >= 0.0, "counts must be finite and not negative, got ", count_[e]);
    }
  }
  require(orders_.size() < 1000, "there are more than 1000 levels");
  blends_ = sequence::Blends(this->table(), back_off());
}

namespace {

using Mask = std::optional<In<std::uint8_t, 2>>;

const std::uint8_t* checked_mask(const StepSource& source, const Mask& allowed, std::size_t threads) {
  require(threads > 0, "threads must be at least 1");
  if (!allowed) return nullptr;
  require(allowed->shape(0) == source.tokens() && allowed->shape(1) == source.histories().labels,
          "allowed must be tokens x labels");
  return allowed->data();
}

void label(const StepSource& source, const Mask& allowed, std::size_t beam, Out<std::int32_t, 1> path,
           Out<double, 1> scores, std::size_t threads) {
  const std::uint8_t* mask = checked_mask(source, allowed, threads);
  require(path.size() == source.tokens() && scores.size() + 1 == source.offsets().size(), "outputs have other sizes");
  nb::gil_scoped_release nogil;
  source.each(threads, mask, [&](std::size_t s, const sequence::Steps& steps) {
    scores.data()[s] = sequence::best_path(
        steps, beam,
        std::span(path.data(), path.size()).subspan(static_cast<std::size_t>(source.offsets()[s]), steps.length));
  });
}

void marginals(const StepSource& source, const Mask& allowed, Out<double, 2> out, Out<double, 1> log_z,
               std::size_t threads) {
  const std::uint8_t* mask = checked_mask(source, allowed, threads);
  const std::size_t Y = source.histories().labels;
  require(out.shape(0) == source.tokens() && out.shape(1) == Y && log_z.size() + 1 == source.offsets().size(),
          "outputs have other sizes");
  nb::gil_scoped_release nogil;
  source.each(threads, mask, [&](std::size_t s, const sequence::Steps& steps) {
    log_z.data()[s] = sequence::label_marginals(
        steps, {out.data() + static_cast<std::size_t>(source.offsets()[s]) * Y, steps.length * Y});
  });
}

using PyPath = std::pair<double, std::vector<std::int32_t>>;

std::vector<std::vector<PyPath>> best(const StepSource& source, const Mask& allowed, std::size_t n,
                                      std::size_t threads) {
  const std::uint8_t* mask = checked_mask(source, allowed, threads);
  require(n > 0, "n must be at least 1");
  std::vector<std::vector<PyPath>> out(source.offsets().size() - 1);
  nb::gil_scoped_release nogil;
  source.each(threads, mask, [&](std::size_t s, const sequence::Steps& steps) {
    for (sequence::Path& path : sequence::best_paths(steps, n)) out[s].emplace_back(path.score, std::move(path.labels));
  });
  return out;
}

using PyEvents = std::tuple<Numpy<std::int64_t, 1>, Numpy<std::int32_t, 1>, Numpy<std::int32_t, 1>, Numpy<double, 1>>;

PyEvents to_python(sequence::Events&& events) {
  return {to_numpy(std::move(events.offsets)), to_numpy(std::move(events.history)), to_numpy(std::move(events.label)),
          to_numpy(std::move(events.weight))};
}

PyEvents expected(const StepSource& source, const Mask& allowed, double least, Out<double, 1> log_z,
                  std::size_t threads) {
  const std::uint8_t* mask = checked_mask(source, allowed, threads);
  require(log_z.size() + 1 == source.offsets().size(), "log_z must be one per sequence");
  std::vector<sequence::Events> parts(source.offsets().size() - 1);
  sequence::Events events;
  events.offsets.push_back(0);
  {
    nb::gil_scoped_release nogil;
    source.each(threads, mask, [&](std::size_t s, const sequence::Steps& steps) {
      log_z.data()[s] = sequence::expected_events(steps, least, parts[s]);
    });
    for (sequence::Events& part : parts) {
      const auto from = static_cast<std::int64_t>(events.history.size());
      for (const std::int64_t offset : part.offsets) events.offsets.push_back(from + offset);
      events.history.insert(events.history.end(), part.history.begin(), part.history.end());
      events.label.insert(events.label.end(), part.label.begin(), part.label.end());
      events.weight.insert(events.weight.end(), part.weight.begin(), part.weight.end());
      part = sequence::Events();
    }
  }
  return to_python(std::move(events));
}

PyEvents label_events(const PyHistories& given, In<std::int64_t, 1> offsets, In<std::int32_t, 1> labels) {
  const sequence::Histories histories = checked_histories(given);
  check_offsets(view(offsets), labels.size(), "sequences");
  for (const std::int32_t y : view(labels))
    require(y >= -1 && y < static_cast<std::int64_t>(histories.labels), "there is no label ", y);
  return to_python(sequence::events_of(view(offsets), view(labels), histories));
}

using GivenEvents = std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>, In<std::int32_t, 1>, In<double, 1>>;

sequence::Events checked_events(const GivenEvents& given, const sequence::Histories& histories, std::size_t tokens) {
  const auto& [offsets, history, label, weight] = given;
  require(offsets.size() == tokens + 1, "events must have one offset a token and one more");
  check_offsets(view(offsets), history.size(), "events");
  require(label.size() == history.size() && weight.size() == history.size(), "events must be equally long");
  const std::size_t H = histories.size(histories.order);
  for (std::size_t e = 0; e < history.size(); ++e) {
    require(history.data()[e] >= 0 && static_cast<std::size_t>(history.data()[e]) < H && label.data()[e] >= 0 &&
                static_cast<std::size_t>(label.data()[e]) < histories.labels,
            "event ", e, " has no such history or label");
    require(std::isfinite(weight.data()[e]) && weight.data()[e] >= 0.0, "weights of events must not be negative");
  }
  return {held(offsets), held(history), held(label), held(weight)};
}

void check_levels(In<std::int32_t, 1> level, In<std::int32_t, 1> orders, const sequence::Histories& histories) {
  for (const std::int32_t order : view(orders))
    require(order >= 1 && static_cast<std::size_t>(order) <= histories.order, "a level looks at ", order, " labels");
  for (const std::int32_t of : view(level))
    require(of >= 0 && static_cast<std::size_t>(of) < orders.size(), "there is no level ", of);
}

nb::tuple count_events(const PyHistories& given, In<std::int32_t, 1> level, In<std::int32_t, 1> orders,
                       const PyTokenTests& tests, const GivenEvents& given_events, std::size_t threads) {
  const sequence::Histories histories = checked_histories(given);
  require(threads > 0, "threads must be at least 1");
  check_levels(level, orders, histories);
  const sequence::TokenTests checked = checked_tests(tests, level.size());
  const sequence::Events events = checked_events(given_events, histories, checked.indptr.size() - 1);
  sequence::Counted counted;
  {
    nb::gil_scoped_release nogil;
    counted = sequence::count_events(view(level), view(orders), checked, events, histories, threads);
  }
  return nb::make_tuple(to_numpy(std::move(counted.rows)), to_numpy(std::move(counted.history)),
                        to_numpy(std::move(counted.entries)), to_numpy(std::move(counted.label)),
                        to_numpy(std::move(counted.count)));
}

Numpy<double, 1> interpolation_weights(const CountedModel& model, const PyTokenTests& tests,
                                       const GivenEvents& given_events, std::size_t rounds) {
  const sequence::TokenTests checked = checked_tests(tests, model.tests());
  const sequence::Events events = checked_events(given_events, model.histories(), checked.indptr.size() - 1);
  std::vector<double> weights;
  {
    nb::gil_scoped_release nogil;
    weights = sequence::interpolation_weights(model.table(), checked, events, model.histories(), rounds);
  }
  return to_numpy(std::move(weights));
}

void steps(const StepSource& source, Out<double, 3> out, std::size_t threads) {
  require(out.shape(0) == source.tokens() && out.shape(1) * out.shape(2) == source.cells(), "out has another size");
  nb::gil_scoped_release nogil;
  source.each(threads, nullptr, [&](std::size_t s, const sequence::Steps& made) {
    std::copy_n(made.weights, made.length * source.cells(),
                out.data() + static_cast<std::size_t>(source.offsets()[s]) * source.cells());
  });
}

}  // namespace

void bind_counted(nb::module_& m) {
  m.attr("COUNT_BUCKETS") = sequence::kCountBuckets;
  nb::class_<CountedModel>(m, "CountedModel", "Next-label distributions by counting.")
      .def(nb::init<const PyHistories&, const CountedModel::PyTable&, int, double, double, In<double, 1>,
                    In<std::uint8_t, 2>>(),
           "histories"_a, "table"_a, "method"_a, "strength"_a, "min_count"_a, "weights"_a, "allowed"_a);
  nb::class_<StepSource>(m, "StepSource", "Distributions of the labels of sequences, step by step.")
      .def(nb::init<const CountedModel&, const PyTokenTests&, const std::optional<PyJoint>&>(), "model"_a, "tests"_a,
           "joint"_a.none(), nb::keep_alive<1, 2>())
      .def(nb::init<const PyHistories&, In<std::int64_t, 1>, In<double, 3>>(), "histories"_a, "offsets"_a, "steps"_a)
      .def("steps", &steps, "out"_a.noconvert(), "threads"_a)
      .def("label", &label, "allowed"_a.none(), "beam"_a, "path"_a.noconvert(), "scores"_a.noconvert(), "threads"_a)
      .def("marginals", &marginals, "allowed"_a.none(), "out"_a.noconvert(), "log_z"_a.noconvert(), "threads"_a)
      .def("best", &best, "allowed"_a.none(), "n"_a, "threads"_a)
      .def("expected", &expected, "allowed"_a.none(), "least"_a, "log_z"_a.noconvert(), "threads"_a);
  m.def("label_events", &label_events, "histories"_a, "offsets"_a, "labels"_a, "Labels as events.");
  m.def("count_events", &count_events, "histories"_a, "level"_a, "orders"_a, "tests"_a, "events"_a, "threads"_a,
        "Add up events by test.");
  m.def("interpolation_weights", &interpolation_weights, "model"_a, "tests"_a, "events"_a, "rounds"_a,
        "Weights of levels by leaving one event out.");
}

}  // namespace textmill::bind
