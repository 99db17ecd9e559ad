// Counts of a chain as Python gives them, checked and held.
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "bind/arrays.h"
#include "sequence/counted.h"
#include "sequence/steps.h"

namespace textmill::bind {

using PyHistories = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;  // labels, base, order, start

inline sequence::Histories checked_histories(const PyHistories& given) {
  const auto [labels, base, order, start] = given;
  require(labels >= 1 && labels <= 32768, "there must be from 1 to 32768 labels, got ", labels);
  require((base == labels || base == labels + 1) && start < base && order >= 1, "histories of labels do not fit");
  std::size_t cells = labels;
  for (std::size_t i = 0; i < order; ++i) {
    cells = base::product(cells, base, "histories of labels");
    require(cells <= std::size_t{1} << 31, "too many histories of ", order, " labels; use a smaller order");
  }
  return {labels, base, order, start};
}

using PyTokenTests = std::tuple<In<std::int64_t, 1>, In<std::int64_t, 1>, In<std::int32_t, 1>>;

// Tests of tokens: offsets of sequences, offsets of tokens, numbers below `size`.
inline sequence::TokenTests checked_tests(const PyTokenTests& tests, std::size_t size) {
  const auto& [offsets, indptr, ids] = tests;
  require(indptr.size() > 0, "tests of tokens need offsets");
  check_offsets(view(offsets), indptr.size() - 1, "sequences");
  check_offsets(view(indptr), ids.size(), "tokens");
  for (const std::int32_t id : view(ids))
    require(id >= 0 && static_cast<std::size_t>(id) < size, "tests must lie from 0 to ", size, " - 1, got ", id);
  return {view(offsets), view(indptr), view(ids)};
}

template <class T>
std::vector<T> held(const In<T, 1>& array) {
  return {array.data(), array.data() + array.size()};
}

class CountedModel {
 public:
  using PyTable = std::tuple<In<std::int32_t, 1>, In<std::int32_t, 1>, In<std::int64_t, 1>, In<std::int32_t, 1>,
                             In<std::int64_t, 1>, In<std::int32_t, 1>, In<double, 1>>;

  CountedModel(const PyHistories& given, const PyTable& table, int method, double strength, double min_count,
               In<double, 1> weights, In<std::uint8_t, 2> allowed);

  const sequence::Histories& histories() const { return histories_; }
  std::size_t tests() const { return level_.size(); }
  std::size_t levels() const { return orders_.size(); }
  sequence::CountTable table() const { return {level_, orders_, strides_, rows_, history_, entries_, label_, count_}; }
  sequence::BackOff back_off() const { return {method_, strength_, min_count_, weights_, allowed_}; }
  const sequence::Blends& blends() const { return blends_; }

 private:
  sequence::Histories histories_;
  std::vector<std::int32_t> level_, orders_;
  std::vector<std::size_t> strides_;
  std::vector<std::int64_t> rows_;
  std::vector<std::int32_t> history_;
  std::vector<std::int64_t> entries_;
  std::vector<std::int32_t> label_;
  std::vector<double> count_;
  sequence::Smoothing method_;
  double strength_, min_count_;
  std::vector<double> weights_;
  std::vector<std::uint8_t> allowed_;
  sequence::Blends blends_;
};

inline constexpr std::size_t kTaskTokens = 2048;  // what one task labels, at least

// First sequence of every task, and at last the number of sequences.
inline std::vector<std::size_t> tasks_of(std::span<const std::int64_t> offsets) {
  std::vector<std::size_t> begin{0};
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    if (static_cast<std::size_t>(offsets[s + 1] - offsets[begin.back()]) >= kTaskTokens) begin.push_back(s + 1);
  if (begin.back() + 1 < offsets.size()) begin.push_back(offsets.size() - 1);
  return begin;
}

using PyJoint = std::tuple<In<std::int32_t, 2>, In<std::int32_t, 2>, In<double, 2>, In<std::int64_t, 1>,
                           In<std::int32_t, 1>, In<double, 1>, In<double, 1>>;

// Steps of sequences, one at a time: of a model of counts, of a joint one, or as they are given.
class StepSource {
 public:
  StepSource(const CountedModel& model, const PyTokenTests& tests, const std::optional<PyJoint>& joint)
      : histories_(model.histories()),
        table_(model.table()),
        back_off_(model.back_off()),
        blends_(&model.blends()),
        held_tests_(tests),
        held_joint_(joint) {
    tests_ = checked_tests(*held_tests_, model.tests());
    offsets_ = tests_.offsets;
    if (!joint) return;
    const auto& [full, before, share, rows, history, total, distinct] = *held_joint_;
    const std::size_t T = tests_.indptr.size() - 1, L = model.levels(), H = histories_.size(histories_.order);
    for (const auto* array : {&full, &before})
      require(array->shape(0) == T && array->shape(1) == L, "tests of a joint model must be tokens x levels");
    require(share.shape(0) == T && share.shape(1) == L, "shares must be tokens x levels");
    check_offsets(view(rows), history.size(), "totals");
    require(total.size() == history.size() && distinct.size() == history.size(), "totals must have one entry a row");
    for (const std::int32_t x : view(full))
      require(x >= -1 && x < static_cast<std::int64_t>(model.tests()), "there is no test ", x);
    for (const std::int32_t x : view(before))
      require(x >= -1 && x + 1 < static_cast<std::int64_t>(rows.size()), "there is no total ", x);
    for (const std::int32_t h : view(history))
      require(h >= 0 && static_cast<std::size_t>(h) < H, "there is no history ", h);
    for (const double n : view(total)) require(n > 0.0, "totals must be above 0");
    joint_ = {view(full), view(before), view(share), view(rows), view(history), view(total), view(distinct)};
    is_joint_ = true;
  }
  StepSource(const PyHistories& histories, In<std::int64_t, 1> offsets, In<double, 3> steps)
      : histories_(checked_histories(histories)),
        offsets_(view(offsets)),
        given_(steps.data()),
        held_offsets_(offsets),
        held_steps_(steps) {
    check_offsets(offsets_, steps.shape(0), "sequences");
    require(steps.shape(1) == histories_.size(histories_.order) && steps.shape(2) == histories_.labels,
            "steps must be tokens x histories x labels");
    for (const double w : view(steps)) require(std::isfinite(w) && w >= 0.0, "steps must be finite and not negative");
  }

  const sequence::Histories& histories() const { return histories_; }
  std::span<const std::int64_t> offsets() const { return offsets_; }
  std::size_t tokens() const { return static_cast<std::size_t>(offsets_.back()); }
  std::size_t cells() const { return histories_.size(histories_.order) * histories_.labels; }

  // The steps of a sequence, in `scratch` where they have to be made.
  const double* of(std::size_t s, std::vector<double>& scratch, sequence::CoarseSteps& coarse) const {
    const auto first = static_cast<std::size_t>(offsets_[s]), last = static_cast<std::size_t>(offsets_[s + 1]);
    if (given_ != nullptr) return given_ + first * cells();
    scratch.resize(std::max(scratch.size(), (last - first) * cells()));
    if (is_joint_)
      sequence::fill_joint_steps(table_, joint_, back_off_, histories_, tests_, s, scratch.data());
    else
      sequence::fill_steps(*blends_, back_off_, histories_, tests_, s, coarse, scratch.data());
    return scratch.data();
  }

  // body(sequence, steps) for every sequence, in tasks of whole sequences.
  template <class Body>
  void each(std::size_t threads, const std::uint8_t* allowed, Body&& body) const {
    const std::vector<std::size_t> begin = tasks_of(offsets_);
    base::parallel_for(begin.size() - 1, threads, [&](std::size_t task) {
      std::vector<double> scratch;
      sequence::CoarseSteps coarse;
      for (std::size_t s = begin[task]; s < begin[task + 1]; ++s) {
        const auto first = static_cast<std::size_t>(offsets_[s]);
        const std::size_t length = static_cast<std::size_t>(offsets_[s + 1]) - first;
        body(s, sequence::Steps{histories_, length, of(s, scratch, coarse),
                                allowed == nullptr ? nullptr : allowed + first * histories_.labels});
      }
    });
  }

 private:
  sequence::Histories histories_;
  std::span<const std::int64_t> offsets_;
  const double* given_ = nullptr;
  sequence::CountTable table_{};
  sequence::BackOff back_off_{};
  const sequence::Blends* blends_ = nullptr;
  sequence::TokenTests tests_{};
  sequence::JointTests joint_{};
  bool is_joint_ = false;
  // the arrays that all these look at
  std::optional<PyTokenTests> held_tests_;
  std::optional<PyJoint> held_joint_;
  std::optional<In<std::int64_t, 1>> held_offsets_;
  std::optional<In<double, 3>> held_steps_;
};

}  // namespace textmill::bind
