#include "sequence/lanes.h"

#include <algorithm>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;

// All of these are part of the result: they decide what is added to what first.
constexpr std::size_t kChunkTokens = 1024;   // vectors of a chunk stay in the cache
constexpr std::size_t kWindowTokens = 8192;  // sequences are sorted by length within a window
constexpr std::size_t kLaneTokens = 16384;
constexpr std::size_t kMostLanes = 16;
constexpr std::size_t kWideCells = 1 << 18;  // of the wide tests: a lane should keep most of them in the cache
constexpr std::size_t kOften = 4;            // a wide test occurs this often per lane, at least

}  // namespace

Lanes::Lanes(const Layout& layout, std::span<const std::int64_t> offsets, const Contexts& unigram,
             std::span<const double> weight)
    : labels_(layout.labels),
      stride_(layout.stride()),
      contexts_(&unigram),
      weight_(weight),
      counts_(layout.unigrams, 0) {
  const std::size_t sequences = offsets.size() - 1, tokens = static_cast<std::size_t>(offsets.back());
  const auto length = [&](std::size_t s) { return offsets[s + 1] - offsets[s]; };
  token_.reserve(tokens);
  const std::size_t lanes = std::clamp<std::size_t>(tokens / kLaneTokens, 1, kMostLanes);
  std::vector<std::size_t> window;
  std::size_t s = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::size_t first = chunks_.size(), limit = tokens * (l + 1) / lanes;
    while (s < sequences && (l + 1 == lanes || token_.size() < limit)) {
      window.clear();
      for (std::size_t held = 0; s < sequences && held < kWindowTokens && token_.size() + held < limit; ++s) {
        if (length(s) > 0) window.push_back(s);
        held += static_cast<std::size_t>(length(s));
      }
      if (token_.size() == tokens) s = sequences;  // nothing but empty sequences is left
      std::stable_sort(window.begin(), window.end(), [&](auto a, auto b) { return length(a) > length(b); });
      for (std::size_t begin = 0; begin < window.size();) {
        std::size_t end = begin, held = 0;
        while (end < window.size() && held < kChunkTokens) held += static_cast<std::size_t>(length(window[end++]));
        const auto node = static_cast<std::int32_t>(token_.size());
        chunks_.push_back({node, static_cast<std::int32_t>(token_.size() + held), depths_.size()});
        for (std::int64_t d = 0; d < length(window[begin]); ++d) {
          depths_.push_back(static_cast<std::int32_t>(token_.size()));
          for (std::size_t i = begin; i < end && d < length(window[i]); ++i) {
            token_.push_back(static_cast<std::int32_t>(offsets[window[i]] + d));
          }
        }
        depths_.push_back(static_cast<std::int32_t>(token_.size()));
        begin = end;
      }
    }
    if (first == chunks_.size()) continue;
    lanes_.emplace_back();
    lanes_.back().begin = first;
    lanes_.back().end = chunks_.size();
  }
  for (const std::int32_t t : token_) {
    const std::int32_t c = unigram.of[t];
    for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) ++counts_[unigram.tests.items[e]];
  }
}

// Which tests are wide, and the entries of every node.
void Lanes::prepare(const Support& support, std::size_t threads) {
  if (prepared_ == support.number) return;
  prepared_ = support.number;
  const auto slots = [&](std::int32_t u) { return support.unigram_offsets[u + 1] - support.unigram_offsets[u]; };
  const auto many = static_cast<std::int64_t>(std::max<std::size_t>(3, stride_ / 8));
  const auto often = static_cast<std::int64_t>(kOften * lanes_.size());
  wide_tests_.clear();
  for (std::size_t u = 0; u < counts_.size(); ++u) {
    const auto test = static_cast<std::int32_t>(u);
    if (slots(test) >= many && counts_[u] >= often) wide_tests_.push_back(test);
  }
  const std::size_t most = std::max<std::size_t>(kWideCells / stride_, 64);
  if (wide_tests_.size() > most) {
    std::stable_sort(wide_tests_.begin(), wide_tests_.end(), [&](auto a, auto b) { return counts_[a] > counts_[b]; });
    wide_tests_.resize(most);
    std::sort(wide_tests_.begin(), wide_tests_.end());
  }
  wide_weights_.resize(wide_tests_.size() * stride_);
  parallel_for(lanes_.size(), threads, [&](std::size_t l) { fill_lane(support, lanes_[l]); });
}

void Lanes::fill_lane(const Support& support, Lane& lane) const {
  const Lists& tests = contexts_->tests;
  const std::int32_t begin = chunks_[lane.begin].begin, end = chunks_[lane.end - 1].end;
  std::vector<std::int32_t> row_of(counts_.size(), -1);
  for (std::size_t i = 0; i < wide_tests_.size(); ++i) row_of[wide_tests_[i]] = static_cast<std::int32_t>(i);
  const auto entries = [&](std::int32_t node, auto use) {
    const std::int32_t c = contexts_->of[token_[node]];
    for (auto e = tests.offsets[c]; e < tests.offsets[c + 1]; ++e) use(tests.items[e], tests.value(e));
  };
  std::vector<std::int32_t> number(support.features.size(), -1);  // of a slot within the lane
  std::vector<char> met(counts_.size(), 0);
  lane.narrow_offsets.assign(1, 0);
  lane.wide_offsets.assign(1, 0);
  std::int64_t narrow = 0, wide = 0;
  for (auto node = begin; node < end; ++node) {
    entries(node, [&](std::int32_t u, float) {
      if (row_of[u] >= 0) {
        ++wide;
      } else {
        met[u] = 1;
        narrow += support.unigram_offsets[u + 1] - support.unigram_offsets[u];
      }
    });
    lane.narrow_offsets.push_back(narrow);
    lane.wide_offsets.push_back(wide);
  }
  lane.slots.clear();
  for (std::size_t u = 0; u < met.size(); ++u) {
    if (!met[u]) continue;
    for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
      number[s] = static_cast<std::int32_t>(lane.slots.size());
      lane.slots.push_back(s);
    }
  }
  const bool valued = !tests.values.empty();
  lane.narrow_slot.resize(narrow);
  lane.narrow_label.resize(narrow);
  lane.wide_row.resize(wide);
  lane.narrow_value.resize(valued ? narrow : 0);
  lane.wide_value.resize(valued ? wide : 0);
  narrow = wide = 0;
  for (auto node = begin; node < end; ++node) {
    entries(node, [&](std::int32_t u, float value) {
      if (row_of[u] >= 0) {
        if (valued) lane.wide_value[wide] = value;
        lane.wide_row[wide++] = row_of[u];
        return;
      }
      for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
        if (valued) lane.narrow_value[narrow] = value;
        lane.narrow_slot[narrow] = number[s];
        lane.narrow_label[narrow++] = static_cast<std::uint16_t>(support.cell[s]);
      }
    });
  }
}

bool Lanes::evaluate(const Weights& weights, const PairMatrix& matrix, double range, double& value, double* gradient,
                     double* pairs, std::size_t threads) {
  const Support& support = *weights.support;
  prepare(support, threads);
  std::fill(wide_weights_.begin(), wide_weights_.end(), 0.0);
  for (std::size_t i = 0; i < wide_tests_.size(); ++i) {
    const std::int32_t u = wide_tests_[i];
    for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
      wide_weights_[i * stride_ + support.cell[s]] = weights.theta[s];
    }
  }
  std::vector<double> transposed(labels_ * stride_, 0.0);
  for (std::size_t y = 0; y < labels_; ++y) {
    for (std::size_t to = 0; to < labels_; ++to) transposed[to * stride_ + y] = matrix.psi[y * stride_ + to];
  }
  parallel_for(lanes_.size(), threads, [&](std::size_t l) {
    Lane& lane = lanes_[l];
    lane.weights.resize(lane.slots.size());
    for (std::size_t i = 0; i < lane.slots.size(); ++i) lane.weights[i] = weights.theta[lane.slots[i]];
    run_lane(lane, matrix, transposed.data(), gradient != nullptr);
  });
  for (const Lane& lane : lanes_) {
    if (!(lane.range + matrix.range <= range)) return false;
  }
  for (const Lane& lane : lanes_) value += lane.value;
  if (gradient == nullptr) return true;
  for (const Lane& lane : lanes_) {
    for (std::size_t i = 0; i < lane.product.size(); ++i) pairs[i] += matrix.psi[i] * lane.product[i];
  }
  merge(support, gradient, threads);
  return true;
}

// Adds up what the lanes have, in their order.
void Lanes::merge(const Support& support, double* gradient, std::size_t threads) const {
  const std::size_t slots =
      support.unigram_offsets.empty() ? 0 : static_cast<std::size_t>(support.unigram_offsets.back());
  parallel_blocks(slots, std::max<std::size_t>(slots / 16 + 1, 4096), threads, [&](std::size_t begin, std::size_t end) {
    for (const Lane& lane : lanes_) {
      auto i = static_cast<std::size_t>(
          std::lower_bound(lane.slots.begin(), lane.slots.end(), static_cast<std::int64_t>(begin)) -
          lane.slots.begin());
      for (; i < lane.slots.size() && static_cast<std::size_t>(lane.slots[i]) < end; ++i) {
        gradient[lane.slots[i]] += lane.gradient[i];
      }
    }
  });
  parallel_blocks(wide_tests_.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> row(stride_);
    for (std::size_t i = begin; i < end; ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      for (const Lane& lane : lanes_) {
        for (std::size_t y = 0; y < stride_; ++y) row[y] += lane.wide[i * stride_ + y];
      }
      const std::int32_t u = wide_tests_[i];
      for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
        gradient[s] += row[support.cell[s]];
      }
    }
  });
}

}  // namespace textmill::sequence
