#include "fst/partition.h"

#include <algorithm>
#include <numeric>

#include "base/flat_table.h"
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

// Every state before those that its arcs lead to (Kahn 1962); empty if there is a cycle.
std::vector<std::int32_t> topological_order(const LabelledGraph& graph) {
  const auto n = static_cast<std::int32_t>(graph.end.size());
  std::vector<std::int32_t> order;
  std::vector<std::uint32_t> into(n, 0);
  bool in_order = true;
  for (std::int32_t s = 0; s < n; ++s)
    for (std::uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a) {
      ++into[graph.next[a]];
      in_order &= graph.next[a] > s;
    }
  order.reserve(n);
  for (std::int32_t s = 0; s < n; ++s)
    if (in_order || into[s] == 0) order.push_back(s);
  if (in_order) return order;
  for (std::size_t i = 0; i < order.size(); ++i)  // grows while it is read
    for (std::uint32_t a = graph.begin[order[i]]; a < graph.begin[order[i] + 1]; ++a)
      if (--into[graph.next[a]] == 0) order.push_back(graph.next[a]);
  if (order.size() < graph.end.size()) order.clear();
  return order;
}

// What tells states apart: end, then (label, class of next) sorted.
void signature(const LabelledGraph& graph, const std::vector<std::int32_t>& classes, std::size_t s,
               std::vector<std::pair<std::int64_t, std::int32_t>>& arcs, std::vector<std::int32_t>& out) {
  arcs.clear();
  for (std::uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
    arcs.emplace_back(graph.label[a], classes[graph.next[a]]);
  if (!std::is_sorted(arcs.begin(), arcs.end())) std::sort(arcs.begin(), arcs.end());
  out.clear();
  out.push_back(graph.end[s]);
  for (const auto& [label, next] : arcs) {
    out.push_back(static_cast<std::int32_t>(label >> 32));
    out.push_back(static_cast<std::int32_t>(label));
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

// States by what tells them apart; the first of those that are equal stands for them.
class StateTable {
 public:
  // The state that stands for s, s itself if it is the first.
  template <class Equal>
  std::int32_t find(std::uint64_t hash, std::int32_t s, Equal equal) {
    return static_cast<std::int32_t>(index_.add(hash, static_cast<std::uint32_t>(s), [&](std::uint32_t known) {
      return equal(static_cast<std::int32_t>(known), s);
    }));
  }

 private:
  base::FlatIndex index_;
};

// Of a deterministic graph. `own` and `next` give what is known of a state itself and of where its arcs lead.
template <class Own, class Next>
std::uint64_t hash_of(const LabelledGraph& graph, std::int32_t s, bool labels, Own own, Next next) {
  std::uint64_t h = static_cast<std::uint32_t>(own(s));
  for (std::uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a) {
    if (labels) h = (h ^ static_cast<std::uint64_t>(graph.label[a])) * 0x9E3779B97F4A7C15u;
    h = (h ^ h >> 32 ^ static_cast<std::uint32_t>(next(graph.next[a]))) * 0xFF51AFD7ED558CCDu;
  }
  return stir(h + graph.begin[s + 1] - graph.begin[s]);
}
template <class Own, class Next>
bool same(const LabelledGraph& graph, std::int32_t s, std::int32_t t, bool labels, Own own, Next next) {
  const std::uint32_t x = graph.begin[s], y = graph.begin[t], size = graph.begin[s + 1] - x;
  if (own(s) != own(t) || graph.begin[t + 1] - y != size) return false;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (labels && graph.label[x + i] != graph.label[y + i]) return false;
    if (next(graph.next[x + i]) != next(graph.next[y + i])) return false;
  }
  return true;
}

// Valmari's refinement of the classes that have several states; arcs of others split nothing.
std::vector<std::int32_t> refine(const LabelledGraph& graph, const std::vector<std::int32_t>& classes,
                                 const std::vector<std::uint32_t>& sizes) {
  const std::size_t n = graph.end.size();
  std::vector<std::int32_t> tail, head;
  std::vector<std::int64_t> label;
  for (std::size_t s = 0; s < n; ++s) {
    if (sizes[classes[s]] == 1) continue;
    tail.insert(tail.end(), graph.begin[s + 1] - graph.begin[s], static_cast<std::int32_t>(s));
    head.insert(head.end(), graph.next.begin() + graph.begin[s], graph.next.begin() + graph.begin[s + 1]);
    label.insert(label.end(), graph.label.begin() + graph.begin[s], graph.label.begin() + graph.begin[s + 1]);
  }
  const std::size_t m = tail.size();
  std::vector<std::uint32_t> into(n + 1, 0), incoming(m);
  for (const std::int32_t t : head) ++into[t];
  std::partial_sum(into.begin(), into.end(), into.begin());  // the ends; they become the beginnings
  for (std::size_t a = m; a-- > 0;) incoming[--into[head[a]]] = static_cast<std::uint32_t>(a);
  Blocks states(n), arcs(m);
  states.group([&](std::int32_t s) { return classes[s]; });
  arcs.group([&](std::int32_t a) { return label[a]; });
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

std::vector<std::int32_t> of_deterministic(const LabelledGraph& graph, const std::vector<std::int32_t>& order) {
  const std::size_t n = graph.end.size();
  std::vector<std::int32_t> classes(n);
  const auto end = [&](std::int32_t s) { return graph.end[s]; };
  const auto class_of = [&](std::int32_t s) { return classes[s]; };
  if (!order.empty()) {  // what arcs lead to has its class already: the state that stands for it
    StateTable table;
    for (auto s = order.rbegin(); s != order.rend(); ++s)
      classes[*s] = table.find(hash_of(graph, *s, true, end, class_of), *s,
                               [&](std::int32_t x, std::int32_t y) { return same(graph, x, y, true, end, class_of); });
    return by_first(classes, n);
  }
  std::vector<std::uint32_t> sizes;
  std::vector<std::int32_t> rest(n), finer(n);
  {
    StateTable table;
    const auto none = [](std::int32_t) { return 0; };
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(n); ++s) {
      rest[s] = s;
      const std::int32_t found = table.find(hash_of(graph, s, true, end, none), s, [&](std::int32_t x, std::int32_t y) {
        return same(graph, x, y, true, end, none);
      });
      if (found == s) sizes.push_back(0);
      classes[s] = found == s ? static_cast<std::int32_t>(sizes.size() - 1) : classes[found];
      ++sizes[classes[s]];
    }
  }
  for (;;) {
    const std::size_t before = rest.size(), known = sizes.size();
    std::erase_if(rest, [&](std::int32_t s) { return sizes[classes[s]] == 1; });
    if (rest.empty()) return by_first(classes, known);
    if (rest.size() >= before - before / 4) return refine(graph, classes, sizes);
    StateTable table;
    for (const std::int32_t s : rest) {
      const std::int32_t found =
          table.find(hash_of(graph, s, false, class_of, class_of), s,
                     [&](std::int32_t x, std::int32_t y) { return same(graph, x, y, false, class_of, class_of); });
      if (found == s) sizes.push_back(0);
      finer[s] = found == s ? static_cast<std::int32_t>(sizes.size() - 1) : finer[found];
      ++sizes[finer[s]];
    }
    for (const std::int32_t s : rest) classes[s] = finer[s];
  }
}

}  // namespace

std::vector<std::int32_t> equivalent_states(const LabelledGraph& graph, bool deterministic) {
  const std::size_t n = graph.end.size();
  if (n == 0) return {};
  const std::vector<std::int32_t> order = topological_order(graph);
  if (deterministic) return of_deterministic(graph, order);
  std::vector<std::pair<std::int64_t, std::int32_t>> arcs;
  std::vector<std::int32_t> key, classes(n, 0);
  if (!order.empty()) {
    SequenceTable table;
    for (auto s = order.rbegin(); s != order.rend(); ++s) {
      signature(graph, classes, *s, arcs, key);
      classes[*s] = static_cast<std::int32_t>(table.insert(key));
    }
    return by_first(classes, table.size());
  }
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
