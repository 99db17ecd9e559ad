// Strings for messages: an example says more than the name of a property.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

// Labels between blanks, the first forty.
inline std::string spelled(const std::vector<std::int32_t>& labels) {
  std::string out;
  for (std::size_t i = 0; i < labels.size() && i < 40; ++i) {
    if (i) out += ' ';
    base::append(out, labels[i]);
  }
  if (labels.size() > 40) out += " ...";
  return labels.empty() ? "(empty)" : out;
}

// What is read on a shortest path from the start to a state that can be reached.
template <class W>
std::string string_to(const Automaton<W>& machine, std::int32_t state) {
  std::vector<std::pair<std::int32_t, std::int32_t>> before(machine.states(), {kNoState, 0});
  std::vector<std::int32_t> queue{machine.start()};
  before[machine.start()].first = machine.start();
  for (std::size_t i = 0; i < queue.size() && before[state].first == kNoState; ++i)
    for (const auto& arc : machine.arcs(queue[i])) {
      if (before[arc.nextstate].first != kNoState) continue;
      before[arc.nextstate] = {queue[i], arc.ilabel};
      queue.push_back(arc.nextstate);
    }
  std::vector<std::int32_t> labels;
  for (; state != machine.start(); state = before[state].first)
    if (before[state].second != 0) labels.push_back(before[state].second);
  std::ranges::reverse(labels);
  return spelled(labels);
}

}  // namespace textmill::fst
