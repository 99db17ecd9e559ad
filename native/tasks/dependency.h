// Deterministic parsing of sentences whose units all depend on a later one, without crossing.
//
//   push(-1); push(0)
//   for i = 1 .. n-1:
//     j = pop()
//     while j != -1 and (i == n-1 or ask(j, i)):  head[j] = i;  j = pop()
//     push(j); push(i)
//
// A question (j, i), does unit j depend on i, is a row of binary features: the attributes of units in their roles
// (modifier j, head i, the neighbors j+1, i-1 and i+1, those between, and those that depend on i already), how far apart
// the two are, and whether only one unit follows i. A parser answers by the sign of a score, training by the right heads.
//
// Cost: at most 2n - 1 questions for n units. Reference: Sassano (2004), Linear-time dependency analysis for Japanese.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "linear/conjunctions.h"

namespace textmill::tasks {

struct Units {
  std::span<const std::int64_t> sentences;   // [S + 1] first unit of each sentence
  std::span<const std::int64_t> offsets;     // [U + 1] first attribute of each unit
  std::span<const std::int32_t> attributes;  // each in [0, A), those of a unit apart from each other
};

inline constexpr std::size_t kRoles = 7;  // modifier, head, j+1, i-1, i+1, between, dependents of i
inline constexpr std::size_t kShape = 4;  // distance 1, 2 to 5, 6 and more; one unit follows
struct Templates {
  std::size_t attributes;                // A
  std::span<const std::int32_t> column;  // [kRoles][A], then [kShape]: the feature, or -1
};

struct Events {
  std::vector<std::int64_t> offsets;   // [E + 1]
  std::vector<std::int32_t> features;  // rising in each event
  std::vector<std::int32_t> modifier;  // [E] unit j, counted over all sentences
  std::vector<std::int32_t> head;      // [E] unit i
  std::vector<std::int32_t> answer;    // [E] 1 if j depends on i
};

// For each sentence whether it can be parsed so: two units or more, heads [U] that lie behind but for the last, counted
// in the sentence, none crossing.
std::vector<std::uint8_t> parsable(std::span<const std::int64_t> sentences, std::span<const std::int32_t> heads);

// The questions asked while sentences with these heads, all parsable, are parsed.
Events events(const Units& units, const Templates& templates, std::span<const std::int32_t> heads);

// heads [U], counted in the sentence, -1 for the last unit. The model has one margin, above -bias for yes.
void parse(const Units& units, const Templates& templates, const linear::Conjunctions& model, double bias,
           std::span<std::int32_t> heads, std::size_t threads);

}  // namespace textmill::tasks
