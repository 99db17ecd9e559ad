#include "trees/forest_sums.h"

#include <algorithm>
#include <limits>

#include "base/simd.h"

namespace textmill::trees {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
// A node within these bounds has lost nothing that counts: parts of it that left the range of doubles are 2^-100 of it.
constexpr double kLeast = 0x1p-900, kMost = 0x1p900;

struct Bounds {
  std::size_t first, nodes, leaves, begin, end;  // nodes, leaves: how many; begin, end: choices
};

Bounds bounds_of(const Woven& woven, std::size_t structure) {
  const auto first = static_cast<std::size_t>(woven.node_at[structure]);
  const auto last = static_cast<std::size_t>(woven.node_at[structure + 1]);
  return {first, last - first, static_cast<std::size_t>(woven.leaves[structure]),
          static_cast<std::size_t>(woven.step_at[structure]), static_cast<std::size_t>(woven.step_at[structure + 1])};
}

void add(Scaled& own, const Scaled& one) {
  if (one.value <= 0.0) return;
  if (own.value <= 0.0) {
    own = one;
  } else if (one.power <= own.power) {
    own.value += one.value * detail::two_to(one.power - own.power);
  } else {
    own.value = own.value * detail::two_to(own.power - one.power) + one.value;
    own.power = one.power;
  }
}

void sum_scaled(const Woven& woven, const Bounds& at, const Weights& weights, std::vector<Scaled>& W) {
  W.assign(at.nodes + 1, {0.0, 0});
  W[0] = {1.0, 0};
  std::size_t c = at.begin;
  for (std::size_t n = 1; n <= at.nodes; ++n) {
    Scaled& own = W[n];
    if (n <= at.leaves) own.value = weights.event[woven.entry[at.first + n - 1]];
    for (; c < at.end && woven.step[c].head == static_cast<std::int32_t>(n); ++c)
      add(own, detail::product(woven.step[c], weights.parameter[woven.step[c].parameter], W));
    if (own.value > 0.0 && (own.value < 0x1p-60 || own.value > 0x1p60)) {  // rarely: powers stay far from the limits
      const int shift = std::ilogb(own.value);
      own.value = std::ldexp(own.value, -shift);
      own.power += shift;
    }
  }
}

// Steps that fill a line of the cache, and how many lines ahead they are asked for: the processor itself stops at pages.
constexpr std::ptrdiff_t kLine = 64 / sizeof(Step), kAhead = 12;

inline void add(const Step& step, const double* parameter, double* values) {
  values[step.head] += parameter[step.parameter] * values[step.left] * values[step.right];
}

// Whether a value is below kLeast or above kMost. A product of infinity and 0 is no number, but then the infinity shows.
bool leaves_range(std::span<const double> values) {
  using base::PlainPack;
  PlainPack least = kMost, most = kLeast;
  std::size_t n = 0;
  for (; n + 2 <= values.size(); n += 2) {
    const PlainPack two = PlainPack::load(values.data() + n);
    least = two.v < least.v ? two.v : least.v;
    most = most.v < two.v ? two.v : most.v;
  }
  for (; n < values.size(); ++n) {
    least.v[0] = std::min(values[n], least.v[0]);
    most.v[0] = std::max(values[n], most.v[0]);
  }
  return std::min(least.v[0], least.v[1]) < kLeast || std::max(most.v[0], most.v[1]) > kMost;
}

template <class Value>
void expect(const Woven& woven, const Bounds& at, const Weights& weights, const std::vector<Value>& W, double share,
            std::vector<double>& posterior, std::span<double> parameters, std::span<double> events) {
  posterior.assign(W.size(), 0.0);
  posterior.back() = share;
  for (std::size_t c = at.end; c-- > at.begin;) {  // choices of a node are done when those above it are
    const Step& step = woven.step[c];
    if (posterior[step.head] <= 0.0) continue;
    const double part =
        posterior[step.head] * detail::ratio(detail::product(step, weights.parameter[step.parameter], W), W[step.head]);
    posterior[step.left] += part;
    posterior[step.right] += part;
    parameters[step.parameter] += part;
  }
  for (std::size_t n = 0; n < at.leaves; ++n) events[woven.entry[at.first + n]] += posterior[n + 1];
}

}  // namespace

void inside(const Woven& woven, std::size_t structure, const Weights& weights, Inside& W) {
  const Bounds at = bounds_of(woven, structure);
  W.plain.resize(at.nodes + 1);
  double* values = W.plain.data();
  values[0] = 1.0;
  std::fill(values + at.leaves + 1, values + at.nodes + 1, 0.0);
  for (std::size_t n = 0; n < at.leaves; ++n) values[n + 1] = weights.event[woven.entry[at.first + n]];
  for (std::size_t n = at.leaves; n < at.nodes; n += 16) __builtin_prefetch(&woven.entry[at.first + n]);  // for draw()
  const double* parameter = weights.parameter.data();
  const Step *step = woven.step.data() + at.begin, *last = woven.step.data() + at.end;
  for (; last - step >= kLine; step += kLine) {
    __builtin_prefetch(step + kAhead * kLine);
    for (std::ptrdiff_t i = 0; i < kLine; ++i) add(step[i], parameter, values);
  }
  for (; step != last; ++step) add(*step, parameter, values);
  W.is_scaled = leaves_range({values + at.leaves + 1, values + at.nodes + 1});
  if (!W.is_scaled) {
    W.log_top = std::log(values[at.nodes]);
    return;
  }
  sum_scaled(woven, at, weights, W.scaled);
  const Scaled& top = W.scaled.back();
  W.log_top = top.value > 0.0 ? std::log(top.value) + top.power * 0.6931471805599453 : kNone;
}

void expect(const Woven& woven, std::size_t structure, const Weights& weights, const Inside& W, double share,
            std::vector<double>& posterior, std::span<double> parameters, std::span<double> events) {
  const Bounds at = bounds_of(woven, structure);
  if (W.is_scaled)
    expect(woven, at, weights, W.scaled, share, posterior, parameters, events);
  else
    expect(woven, at, weights, W.plain, share, posterior, parameters, events);
}

std::vector<double> shares(const Woven& woven, std::size_t structure, const Weights& weights, const Inside& W) {
  const Bounds at = bounds_of(woven, structure);
  std::vector<double> out(at.end - at.begin);
  for (std::size_t c = at.begin; c < at.end; ++c) {
    const Step& step = woven.step[c];
    const double weight = weights.parameter[step.parameter];
    out[c - at.begin] = W.is_scaled ? detail::ratio(detail::product(step, weight, W.scaled), W.scaled[step.head])
                                    : detail::ratio(detail::product(step, weight, W.plain), W.plain[step.head]);
  }
  return out;
}

}  // namespace textmill::trees
