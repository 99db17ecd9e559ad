#include "fst/partition.h"

#include <algorithm>
#include <numeric>

#include "fst/sequences.h"

namespace textmill::fst {
namespace {

// Classes in the order of their smallest states.
std::vector<std::int32_t> by_first(const std::vector<std::int32_t>& classes, std::size_t count) {
  std::vector<std::int32_t> number(count, -1), out(classes.size());
  std::int32_t next = 0;
  for (std::size_t s = 0; s < classes.size(); ++s) {
    if (number[classes[s]] < 0) number[classes[s]] = next++;
    out[s] = number[classes[s]];
  }
  return out;
}

// What tells states apart: end, then (label, class of next) sorted.
void signature(const LabelledGraph& graph, const std::vector<std::int32_t>& classes, std::size_t s,
               std::vector<std::pair<std::int32_t, std::int32_t>>& arcs, std::vector<std::int32_t>& out) {
  arcs.clear();
  for (std::uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
    arcs.emplace_back(graph.label[a], classes[graph.next[a]]);
  if (!std::is_sorted(arcs.begin(), arcs.end())) std::sort(arcs.begin(), arcs.end());
  out.clear();
  out.push_back(graph.end[s]);
  for (const auto& [label, next] : arcs) {
    out.push_back(label);
    out.push_back(next);
  }
}

// A partition that can be refined: elements are marked, then every block with marked and unmarked ones is split.
class Blocks {
 public:
  std::vector<std::int32_t> elements, place, block, first, past, marked, touched;
  std::int32_t count = 0;

  explicit Blocks(std::size_t n) : elements(n), place(n), block(n, 0), first(n + 1), past(n + 1), marked(n + 1, 0) {
    std::iota(elements.begin(), elements.end(), 0);
    std::iota(place.begin(), place.end(), 0);
  }
  // Blocks of equal keys, elements sorted by them.
  template <class Key>
  void group(Key key) {
    std::stable_sort(elements.begin(), elements.end(), [&](std::int32_t x, std::int32_t y) { return key(x) < key(y); });
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i == 0 || key(elements[i]) != key(elements[i - 1])) {
        if (i > 0) past[count - 1] = static_cast<std::int32_t>(i);
        first[count++] = static_cast<std::int32_t>(i);
      }
      block[elements[i]] = count - 1;
      place[elements[i]] = static_cast<std::int32_t>(i);
    }
    if (count > 0) past[count - 1] = static_cast<std::int32_t>(elements.size());
  }
  void mark(std::int32_t element) {
    const std::int32_t b = block[element], i = place[element], j = first[b] + marked[b];
    if (i < j) return;
    elements[i] = elements[j];
    place[elements[i]] = i;
    elements[j] = element;
    place[element] = j;
    if (marked[b]++ == 0) touched.push_back(b);
  }
  void split() {
    while (!touched.empty()) {
      const std::int32_t b = touched.back(), j = first[b] + marked[b];
      touched.pop_back();
      marked[b] = 0;
      if (j == past[b]) continue;
      if (j - first[b] <= past[b] - j) {  // the smaller half is the new block
        first[count] = first[b];
        past[count] = first[b] = j;
      } else {
        past[count] = past[b];
        first[count] = past[b] = j;
      }
      for (std::int32_t i = first[count]; i < past[count]; ++i) block[elements[i]] = count;
      ++count;
    }
  }
};

std::vector<std::int32_t> refine(const LabelledGraph& graph) {
  const std::size_t n = graph.end.size(), m = graph.label.size();
  std::vector<std::int32_t> tail(m);
  for (std::size_t s = 0; s < n; ++s)
    std::fill(tail.begin() + graph.begin[s], tail.begin() + graph.begin[s + 1], static_cast<std::int32_t>(s));
  std::vector<std::uint32_t> into(n + 1, 0), incoming(m);
  for (const std::int32_t head : graph.next) ++into[head + 1];
  for (std::size_t s = 0; s < n; ++s) into[s + 1] += into[s];
  std::vector<std::uint32_t> at(into.begin(), into.end() - 1);
  for (std::size_t a = 0; a < m; ++a) incoming[at[graph.next[a]]++] = static_cast<std::uint32_t>(a);
  Blocks states(n), arcs(m);
  states.group([&](std::int32_t s) { return graph.end[s]; });
  arcs.group([&](std::int32_t a) { return graph.label[a]; });
  std::int32_t b = 1, c = 0;
  const auto split_arcs = [&] {
    for (; b < states.count; ++b) {
      for (std::int32_t i = states.first[b]; i < states.past[b]; ++i) {
        const std::int32_t s = states.elements[i];
        for (std::uint32_t j = into[s]; j < into[s + 1]; ++j) arcs.mark(static_cast<std::int32_t>(incoming[j]));
      }
      arcs.split();
    }
  };
  split_arcs();
  for (; c < arcs.count; ++c) {
    for (std::int32_t i = arcs.first[c]; i < arcs.past[c]; ++i) states.mark(tail[arcs.elements[i]]);
    states.split();
    split_arcs();
  }
  return by_first(states.block, states.count);
}

}  // namespace

std::vector<std::int32_t> equivalent_states(const LabelledGraph& graph, bool deterministic,
                                            const std::vector<std::int32_t>& order) {
  const std::size_t n = graph.end.size();
  std::vector<std::pair<std::int32_t, std::int32_t>> arcs;
  std::vector<std::int32_t> key, classes(n, 0);
  if (n == 0) return classes;
  if (!order.empty()) {
    SequenceTable table;
    for (auto s = order.rbegin(); s != order.rend(); ++s) {
      signature(graph, classes, *s, arcs, key);
      classes[*s] = static_cast<std::int32_t>(table.insert(key));
    }
    return by_first(classes, table.size());
  }
  if (deterministic) return refine(graph);
  std::size_t count = 1;
  for (;;) {
    SequenceTable table;
    std::vector<std::int32_t> finer(n);
    for (std::size_t s = 0; s < n; ++s) {
      signature(graph, classes, s, arcs, key);
      key.push_back(classes[s]);
      finer[s] = static_cast<std::int32_t>(table.insert(key));
    }
    classes.swap(finer);
    if (table.size() == count) return by_first(classes, count);
    count = table.size();
  }
}

}  // namespace textmill::fst
