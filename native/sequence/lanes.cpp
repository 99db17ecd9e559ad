#include "sequence/lanes.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "base/parallel.h"
#include "sequence/lane_passes.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;

// All of these are part of the result: they decide what is added to what first.
constexpr std::size_t kChunkTokens = 1024;   // vectors of a chunk stay in the cache
constexpr std::size_t kWindowTokens = 8192;  // sequences are sorted by length within a window
constexpr std::size_t kLaneTokens = 16384;
constexpr std::size_t kMostLanes = 16;
constexpr double kCalm = 100.0;               // scores that need no shift before exp
constexpr std::size_t kFewLabels = 16;        // with more the recursion costs most, and sharing saves some of it
constexpr std::size_t kMostBlocks = 1 << 23;  // of all features: 512 MB, and what several lanes have copies of

Schedule make_schedule(const Layout& layout, std::span<const std::int64_t> offsets) {
  Schedule plan;
  plan.labels = layout.labels;
  plan.stride = layout.stride();
  const std::size_t sequences = offsets.size() - 1, tokens = static_cast<std::size_t>(offsets.back());
  const auto length = [&](std::size_t s) { return offsets[s + 1] - offsets[s]; };
  plan.token.reserve(tokens);
  plan.lanes.assign(1, 0);
  const std::size_t lanes = std::clamp<std::size_t>(tokens / kLaneTokens, 1, kMostLanes);
  std::vector<std::size_t> window;
  std::size_t s = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::size_t limit = tokens * (l + 1) / lanes;
    while (s < sequences && (l + 1 == lanes || plan.token.size() < limit)) {
      window.clear();
      for (std::size_t held = 0; s < sequences && held < kWindowTokens && plan.token.size() + held < limit; ++s) {
        if (length(s) > 0) window.push_back(s);
        held += static_cast<std::size_t>(length(s));
      }
      if (plan.token.size() == tokens) s = sequences;  // nothing but empty sequences is left
      std::stable_sort(window.begin(), window.end(), [&](auto a, auto b) { return length(a) > length(b); });
      for (std::size_t begin = 0; begin < window.size();) {
        std::size_t end = begin, held = 0;
        while (end < window.size() && held < kChunkTokens) held += static_cast<std::size_t>(length(window[end++]));
        const auto node = static_cast<std::int32_t>(plan.token.size());
        plan.chunks.push_back({node, static_cast<std::int32_t>(plan.token.size() + held), plan.depths.size()});
        for (std::int64_t d = 0; d < length(window[begin]); ++d) {
          plan.depths.push_back(static_cast<std::int32_t>(plan.token.size()));
          for (std::size_t i = begin; i < end && d < length(window[i]); ++i) {
            plan.token.push_back(static_cast<std::int32_t>(offsets[window[i]] + d));
          }
        }
        plan.depths.push_back(static_cast<std::int32_t>(plan.token.size()));
        begin = end;
      }
    }
    if (plan.lanes.back() < plan.chunks.size()) plan.lanes.push_back(plan.chunks.size());
  }
  return plan;
}

// The features of unigram tests among all, or among those of a support.
struct Features {
  std::size_t labels;
  const Support* support;

  std::int64_t begin(std::int32_t u) const {
    return support == nullptr ? static_cast<std::int64_t>(u * labels) : support->unigram_offsets[u];
  }
  std::int64_t end(std::int32_t u) const { return begin(u + 1); }
  std::size_t label(std::int32_t u, std::int64_t slot) const {
    return static_cast<std::size_t>(support == nullptr ? slot - begin(u) : support->cell[slot]);
  }
  // Calls use(slot, stripe, mask) for every block of a test, in order.
  template <class Use>
  void blocks(std::int32_t u, Use use) const {
    for (auto slot = begin(u); slot < end(u);) {
      const std::int64_t first = slot;
      const std::size_t stripe = label(u, slot) / kStripe;
      unsigned mask = 0;
      for (; slot < end(u) && label(u, slot) / kStripe == stripe; ++slot) mask |= 1U << label(u, slot) % kStripe;
      use(first, stripe, static_cast<std::uint8_t>(mask));
    }
  }
};

LaneTests number_tests(const Schedule& schedule, std::size_t lane, std::size_t tests) {
  LaneTests numbered;
  const Lists& lists = schedule.contexts->tests;
  const std::int32_t begin = schedule.first_node(lane), end = schedule.last_node(lane);
  const auto context = [&](std::int32_t node) { return schedule.contexts->of[schedule.token[node]]; };
  std::vector<std::int32_t> number(tests, -1);
  numbered.offsets.reserve(static_cast<std::size_t>(end - begin) + 1);
  numbered.offsets.push_back(0);
  for (auto node = begin; node < end; ++node) {
    const std::int32_t c = context(node);
    for (auto e = lists.offsets[c]; e < lists.offsets[c + 1]; ++e) number[lists.items[e]] = 0;
    numbered.offsets.push_back(numbered.offsets.back() + lists.offsets[c + 1] - lists.offsets[c]);
  }
  for (std::size_t u = 0; u < tests; ++u) {
    if (number[u] < 0) continue;
    number[u] = static_cast<std::int32_t>(numbered.test.size());
    numbered.test.push_back(static_cast<std::int32_t>(u));
  }
  numbered.number.reserve(static_cast<std::size_t>(numbered.offsets.back()));
  for (auto node = begin; node < end; ++node) {
    const std::int32_t c = context(node);
    for (auto e = lists.offsets[c]; e < lists.offsets[c + 1]; ++e) numbered.number.push_back(number[lists.items[e]]);
  }
  return numbered;
}

// Fills `entries`, in memory that may be there.
void make_entries(const Schedule& schedule, std::size_t lane, const LaneTests& tests, const Features& features,
                  Entries& entries) {
  entries.first.clear();
  entries.mask.clear();
  std::vector<std::int32_t> block(tests.test.size() + 1);  // the first block of a test
  std::vector<std::int32_t> stripe;                        // of a block
  for (std::size_t i = 0; i < tests.test.size(); ++i) {
    block[i] = static_cast<std::int32_t>(entries.first.size());
    features.blocks(tests.test[i], [&](std::int64_t slot, std::size_t at, std::uint8_t mask) {
      entries.first.push_back(slot);
      entries.mask.push_back(mask);
      stripe.push_back(static_cast<std::int32_t>(at));
    });
  }
  block.back() = static_cast<std::int32_t>(entries.first.size());
  const std::size_t stripes = schedule.stride / kStripe, nodes = tests.offsets.size() - 1;
  const Lists& lists = schedule.contexts->tests;
  const std::int32_t begin = schedule.first_node(lane);
  const auto values = [&](std::size_t node) {  // of the tests of a node
    return lists.values.data() + lists.offsets[schedule.contexts->of[schedule.token[begin + node]]];
  };
  const bool valued = !lists.values.empty();
  entries.offsets.assign(nodes * stripes + 1, 0);
  if (stripes == 1) {  // a test has a block or none: without branches
    for (std::size_t node = 0; node < nodes; ++node) {
      std::int64_t count = entries.offsets[node];
      for (auto e = tests.offsets[node]; e < tests.offsets[node + 1]; ++e) {
        count += block[tests.number[e] + 1] - block[tests.number[e]];
      }
      entries.offsets[node + 1] = count;
    }
    const auto size = static_cast<std::size_t>(entries.offsets.back());
    entries.block.resize(size + 1);  // one is written behind the last, and taken away
    entries.value.resize(valued ? size + 1 : 0);
    std::size_t at = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
      const float* value = valued ? values(node) : nullptr;
      for (auto e = tests.offsets[node]; e < tests.offsets[node + 1]; ++e) {
        const std::int32_t mine = block[tests.number[e]];
        entries.block[at] = mine;
        if (valued) entries.value[at] = value[e - tests.offsets[node]];
        at += static_cast<std::size_t>(block[tests.number[e] + 1] - mine);
      }
    }
    entries.block.resize(size);
    entries.value.resize(valued ? size : 0);
    return;
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    std::int64_t* count = &entries.offsets[node * stripes + 1];
    for (auto e = tests.offsets[node]; e < tests.offsets[node + 1]; ++e) {
      for (auto b = block[tests.number[e]]; b < block[tests.number[e] + 1]; ++b) ++count[stripe[b]];
    }
  }
  std::partial_sum(entries.offsets.begin(), entries.offsets.end(), entries.offsets.begin());
  entries.block.resize(static_cast<std::size_t>(entries.offsets.back()));
  entries.value.resize(valued ? entries.block.size() : 0);
  std::vector<std::int64_t> next(stripes);
  for (std::size_t node = 0; node < nodes; ++node) {
    std::copy_n(&entries.offsets[node * stripes], stripes, next.begin());
    const float* value = valued ? values(node) : nullptr;
    for (auto e = tests.offsets[node]; e < tests.offsets[node + 1]; ++e) {
      for (auto b = block[tests.number[e]]; b < block[tests.number[e] + 1]; ++b) {
        const auto at = static_cast<std::size_t>(next[stripe[b]]++);
        entries.block[at] = b;
        if (valued) entries.value[at] = value[e - tests.offsets[node]];
      }
    }
  }
}

void fill_blocks(const Entries& entries, const double* theta, std::vector<Block>& blocks) {
  blocks.resize(entries.first.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double* from = theta + entries.first[i];
    const unsigned mask = entries.mask[i];
    Block block{};
    for (std::size_t y = 0; y < kStripe; ++y) {
      const unsigned there = mask >> y & 1U;
      if (there != 0) block.weights[y] = *from;
      from += there;
    }
    blocks[i] = block;
  }
}

// Adds the sums of the lanes, in their order.
void add_gradient(const std::vector<Entries>& entries, const std::vector<LaneSums>& sums, std::int64_t features,
                  double* gradient, std::size_t threads) {
  const auto size = static_cast<std::size_t>(features);
  parallel_blocks(size, std::max<std::size_t>(size / 16 + 1, 4096), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t l = 0; l < entries.size(); ++l) {
      const auto& [first, mask] = std::tie(entries[l].first, entries[l].mask);
      const auto place = [&](std::size_t at) {
        return std::lower_bound(first.begin(), first.end(), static_cast<std::int64_t>(at)) - first.begin();
      };
      const auto last = place(end);
      for (auto i = place(begin); i < last; ++i) {
        double* to = gradient + first[i];
        const double* from = sums[l].blocks[static_cast<std::size_t>(i)].gradient;
        for (unsigned left = mask[i]; left != 0; left &= left - 1) *to++ += from[std::countr_zero(left)];
      }
    }
  });
}

}  // namespace

Lanes::Lanes(const Plan& plan, std::span<const std::int64_t> offsets)
    : layout_(plan.layout), schedule_(make_schedule(plan.layout, offsets)) {
  schedule_.weight = plan.token_weight;
  schedule_.contexts = &plan.unigram;
  schedule_.plan = &plan;
  sums_.resize(schedule_.lanes.size() - 1);
}

bool Lanes::suits(const Support* support) const {
  if (support != nullptr) return true;
  const bool few = layout_.labels <= kFewLabels || !schedule_.plan->clamped.empty();  // two sums go one way here
  return few && layout_.unigrams <= kMostBlocks / (schedule_.stride / kStripe);
}

const std::vector<Entries>& Lanes::entries_of(const Support* support, std::size_t threads) {
  const std::uint64_t number = support == nullptr ? 0 : support->number;
  Prepared* chosen = &prepared_[prepared_[0].time <= prepared_[1].time ? 0 : 1];  // asked for longest ago
  for (Prepared& known : prepared_) {
    if (known.number == number && !known.entries.empty()) chosen = &known;
  }
  chosen->time = ++time_;
  if (chosen->number == number && !chosen->entries.empty()) return chosen->entries;
  chosen->number = number;
  chosen->entries.resize(sums_.size());
  tests_.resize(sums_.size());
  parallel_for(sums_.size(), threads, [&](std::size_t l) {
    if (tests_[l].offsets.empty()) tests_[l] = number_tests(schedule_, l, layout_.unigrams);
    make_entries(schedule_, l, tests_[l], {layout_.labels, support}, chosen->entries[l]);
  });
  return chosen->entries;
}

bool Lanes::evaluate(const Weights& weights, const PairMatrix& matrix, double range, double& value, double* gradient,
                     double* pairs, std::size_t threads) {
  const std::vector<Entries>& entries = entries_of(weights.support, threads);
  const std::size_t stride = schedule_.stride;
  std::vector<double> transposed(stride * stride);
  for (std::size_t y = 0; y < stride; ++y) {
    for (std::size_t to = 0; to < stride; ++to) transposed[to * stride + y] = matrix.psi[y * stride + to];
  }
  const double calm = std::min(kCalm, 0.5 * (range - matrix.range));  // so that the range need not be looked at
  parallel_for(sums_.size(), threads, [&](std::size_t l) {
    fill_blocks(entries[l], weights.theta.data(), sums_[l].blocks);
    run_lane(schedule_, l, entries[l], matrix, transposed.data(), calm, gradient != nullptr, sums_[l]);
  });
  for (const LaneSums& lane : sums_) {
    if (!(lane.range + matrix.range <= range)) return false;
  }
  for (const LaneSums& lane : sums_) value += lane.value;
  if (gradient == nullptr) return true;
  for (const LaneSums& lane : sums_) {
    for (std::size_t i = 0; i < lane.product.size(); ++i) pairs[i] += matrix.psi[i] * lane.product[i];
  }
  const Features features{layout_.labels, weights.support};
  add_gradient(entries, sums_, features.begin(static_cast<std::int32_t>(layout_.unigrams)), gradient, threads);
  return true;
}

}  // namespace textmill::sequence
