// Sums over the trees of woven forests, draws, expected counts, and rejection.
//
//   W(leaf) = weight of its event     W(choice) = weight * W(left) W(right)     W(node) = sum of W(choice)
//   P(choice | node) = W(choice) / W(node): sampling from the top draws trees by their weight
//
// Sums are plain doubles; where a node leaves the range in which they are safe, the structure is summed again with
// mantissas and powers of two, so that no sentence is too long.
//
// Cost: one visit per choice, without branches; a draw visits the choices of the nodes of one tree.
// Reference: Jansche (2005), Treebank transfer.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/forest.h"

namespace textmill::trees {

// Weights of parameters and events, >= 0 and finite; parameter 0 has weight 1.
struct Weights {
  std::span<const double> parameter, event;
};

struct Scaled {  // value * 2^power
  double value;
  std::int32_t power;
};

// W of the nodes of a structure, from 1; entry 0 is 1.
struct Inside {
  std::vector<double> plain;
  std::vector<Scaled> scaled;  // used if is_scaled
  bool is_scaled = false;
  double log_top = 0.0;  // -infinity if no tree has weight
};

void inside(const Woven& woven, std::size_t structure, const Weights& weights, Inside& W);

// Draws a tree by its weight, after inside(). Visits its choices from the top, left to right, as (choice, -1), and its
// events, in any order, as (-1, event); next() gives numbers in [0, 1).
template <class Next, class Visit>
void draw(const Woven& woven, std::size_t structure, const Weights& weights, const Inside& W,
          std::vector<std::int32_t>& stack, Next&& next, Visit&& visit);

// Adds the expected counts of parameters and events, times `share`, after inside().
void expect(const Woven& woven, std::size_t structure, const Weights& weights, const Inside& W, double share,
            std::vector<double>& posterior, std::span<double> parameters, std::span<double> events);

// P(choice | node) of each choice of the structure, after inside(); 0 below nodes without weight.
std::vector<double> shares(const Woven& woven, std::size_t structure, const Weights& weights, const Inside& W);

// ---- definitions of templates

namespace detail {

inline double two_to(std::int32_t power) {  // 0 below the range of doubles
  if (power < -1022) return 0.0;
  std::uint64_t bits = static_cast<std::uint64_t>(power + 1023) << 52;
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

inline double product(const Step& step, double weight, const std::vector<double>& W) {
  return weight * W[step.left] * W[step.right];
}
inline Scaled product(const Step& step, double weight, const std::vector<Scaled>& W) {
  const Scaled &left = W[step.left], &right = W[step.right];
  return {weight * left.value * right.value, left.power + right.power};
}

// part / whole, for a part of a sum.
inline double ratio(double part, double whole) { return part / whole; }
inline double ratio(const Scaled& part, const Scaled& whole) {
  return part.value <= 0.0 ? 0.0 : part.value * two_to(part.power - whole.power) / whole.value;
}

// Part of a sum, and the whole, on one scale.
inline double part_of(double part, double) { return part; }
inline double part_of(const Scaled& part, const Scaled& whole) { return part.value * two_to(part.power - whole.power); }
inline double whole_of(double whole) { return whole; }
inline double whole_of(const Scaled& whole) { return whole.value; }

template <class Value, class Next, class Visit>
void draw(const Woven& woven, std::size_t structure, const Weights& weights, const std::vector<Value>& W,
          std::vector<std::int32_t>& stack, Next&& next, Visit&& visit) {
  const auto first = static_cast<std::size_t>(woven.node_at[structure]) - 1;  // nodes are counted from 1
  const std::int32_t leaves = woven.leaves[structure];
  const std::int32_t* entry = woven.entry.data() + first;
  const auto base = woven.step_at[structure], last = woven.step_at[structure + 1];
  const Step* steps = woven.step.data();
  auto number = static_cast<std::int32_t>(W.size()) - 1;
  stack.clear();
  while (true) {
    if (number <= leaves) {
      visit(-1, entry[number]);
      if (stack.empty()) return;
      number = stack.back();
      stack.pop_back();
      continue;
    }
    std::int64_t chosen = base + entry[number];
    if (chosen + 1 < last && steps[chosen + 1].head == number) {
      double left = next() * whole_of(W[number]);
      std::int64_t possible = chosen;  // where rounding takes us past the end, the last that is possible
      for (; chosen < last && steps[chosen].head == number; ++chosen) {
        const double part = part_of(product(steps[chosen], weights.parameter[steps[chosen].parameter], W), W[number]);
        if (part > 0.0) possible = chosen;
        left -= part;
        if (left < 0.0) break;
      }
      chosen = possible;
    }
    visit(static_cast<std::int32_t>(chosen), -1);
    const Step& step = steps[chosen];
    if (step.right > leaves)
      stack.push_back(step.right);
    else if (step.right > 0)
      visit(-1, entry[step.right]);
    number = step.left;
  }
}

}  // namespace detail

template <class Next, class Visit>
void draw(const Woven& woven, std::size_t structure, const Weights& weights, const Inside& W,
          std::vector<std::int32_t>& stack, Next&& next, Visit&& visit) {
  if (W.is_scaled)
    detail::draw(woven, structure, weights, W.scaled, stack, next, visit);
  else
    detail::draw(woven, structure, weights, W.plain, stack, next, visit);
}

}  // namespace textmill::trees
