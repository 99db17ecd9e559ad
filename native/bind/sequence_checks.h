// What bindings of chain models check: tests of tokens, labels, layouts, weights.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "base/checked.h"
#include "bind/arrays.h"
#include "sequence/contexts.h"
#include "sequence/features.h"

namespace textmill::bind {

using sequence::Layout;
using sequence::Rows;
using sequence::Support;
using sequence::Weights;

using Tests = std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>, std::optional<In<float, 1>>, std::size_t>;
using Labels = std::optional<In<std::int32_t, 1>>;

// Tests of the tokens of a data set, checked.
inline Rows checked_rows(const Tests& tests, std::size_t tokens, const char* name) {
  const auto& [offsets, ids, values, size] = tests;
  require(offsets.size() == tokens + 1, name, " must have one offset a token and one more, got ", offsets.size());
  const auto o = view(offsets);
  check_offsets(o, ids.size(), name);
  for (const std::int32_t id : view(ids)) {
    require(id >= 0 && static_cast<std::size_t>(id) < size, "ids of ", name, " must lie from 0 to ", size, " - 1, got ",
            id);
  }
  if (!values) return {o, view(ids), {}};
  require(values->size() == ids.size(), name, " must have one value an id");
  for (const float value : view(*values))
    require(std::isfinite(value), "values of ", name, " must be finite, got ", value);
  return {o, view(ids), view(*values)};
}

inline std::size_t checked_offsets(std::span<const std::int64_t> offsets) {
  check_offsets(offsets, offsets.empty() ? 0 : static_cast<std::size_t>(offsets.back()), "sequences");
  base::narrow<std::int32_t>(offsets.back(), "the number of tokens");
  return static_cast<std::size_t>(offsets.back());
}

inline std::span<const std::int32_t> checked_labels(const Labels& labels, std::size_t tokens, std::size_t extent,
                                                    const char* name) {
  if (!labels) return {};
  require(labels->size() == tokens, name, " must be one per token");
  for (const std::int32_t y : view(*labels)) {
    require(y >= -1 && y < static_cast<std::int64_t>(extent), name, " must lie from -1 to ", extent, " - 1, got ", y);
  }
  return view(*labels);
}

inline Layout checked_layout(std::size_t labels, const Tests& unigram, const Tests& bigram) {
  require(labels >= 1 && labels <= 32768, "there must be from 1 to 32768 labels, got ", labels);
  const Layout layout{labels, std::get<3>(unigram), std::get<3>(bigram)};
  base::product(base::product(layout.bigrams, labels, "weights"), labels, "weights");
  return layout;
}

inline Weights checked_weights(const Layout& layout, const In<double, 1>& theta, const Support* support) {
  if (support == nullptr) {
    require(theta.size() == layout.size(), "there must be ", layout.size(), " weights, got ", theta.size());
  } else {
    require(
        support->unigram_offsets.size() == layout.unigrams + 1 && support->bigram_offsets.size() == layout.bigrams + 1,
        "the support belongs to other tests");
    require(theta.size() == support->features.size(), "there must be ", support->features.size(), " weights, got ",
            theta.size());
  }
  for (const double w : view(theta)) require(std::isfinite(w), "weights must be finite, got ", w);
  return {view(theta), support};
}

}  // namespace textmill::bind
