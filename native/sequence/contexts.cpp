#include "sequence/contexts.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/flat_table.h"

namespace textmill::sequence {
namespace {

constexpr std::size_t kLaneTokens = 4096;  // part of the schedule, not of the result
constexpr std::size_t kMostLanes = 64;

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15;
  return h ^ (h >> 29);
}

// Numbers equal rows alike. Row r is described by hash(r); equal(r, s) compares two rows; visit order 0 .. rows - 1.
template <class Hash, class Equal>
std::size_t number_rows(std::size_t rows, Hash hash, Equal equal, std::span<std::int32_t> of,
                        std::vector<std::size_t>& firsts) {
  base::FlatIndex index;
  firsts.clear();
  for (std::size_t r = 0; r < rows; ++r) {
    if (of[r] < 0) continue;
    const auto fresh = static_cast<std::uint32_t>(firsts.size());
    const std::uint32_t i = index.add(hash(r), fresh, [&](std::uint32_t known) { return equal(firsts[known], r); });
    if (i == fresh) firsts.push_back(r);
    of[r] = static_cast<std::int32_t>(i);
  }
  return firsts.size();
}

}  // namespace

Contexts distinct_rows(const Rows& rows, std::span<const char> skip, std::span<const std::int32_t> tags) {
  const std::size_t tokens = rows.offsets.size() - 1;
  Contexts found;
  found.of.assign(tokens, 0);
  for (std::size_t t = 0; t < skip.size(); ++t) {
    if (skip[t]) found.of[t] = -1;
  }
  const auto ids = [&](std::size_t r) {
    return rows.ids.subspan(rows.offsets[r], rows.offsets[r + 1] - rows.offsets[r]);
  };
  const auto hash = [&](std::size_t r) {
    std::uint64_t h = tags.empty() ? 0x2545F4914F6CDD1D : mix(1, static_cast<std::uint32_t>(tags[r]));
    for (const std::int32_t id : ids(r)) h = mix(h, static_cast<std::uint32_t>(id));
    if (!rows.values.empty()) {
      for (auto e = rows.offsets[r]; e < rows.offsets[r + 1]; ++e) {
        std::uint32_t bits;
        std::memcpy(&bits, &rows.values[e], sizeof bits);
        h = mix(h, bits);
      }
    }
    return h;
  };
  const auto equal = [&](std::size_t a, std::size_t b) {
    const auto x = ids(a), y = ids(b);
    if (!tags.empty() && tags[a] != tags[b]) return false;
    if (x.size() != y.size() || !std::equal(x.begin(), x.end(), y.begin())) return false;
    return rows.values.empty() || std::equal(&rows.values[0] + rows.offsets[a], &rows.values[0] + rows.offsets[a + 1],
                                             &rows.values[0] + rows.offsets[b]);
  };
  std::vector<std::size_t> firsts;
  number_rows(tokens, hash, equal, found.of, firsts);
  found.tests.offsets.push_back(0);
  for (const std::size_t r : firsts) {
    const auto row = ids(r);
    if (!tags.empty()) found.tag.push_back(tags[r]);
    found.tests.items.insert(found.tests.items.end(), row.begin(), row.end());
    if (!rows.values.empty()) {
      found.tests.values.insert(found.tests.values.end(), rows.values.begin() + rows.offsets[r],
                                rows.values.begin() + rows.offsets[r + 1]);
    }
    found.tests.offsets.push_back(static_cast<std::int64_t>(found.tests.items.size()));
  }
  return found;
}

Lists transpose(const Lists& lists, std::size_t items) {
  Lists out;
  out.offsets.assign(items + 1, 0);
  for (const std::int32_t item : lists.items) ++out.offsets[item + 1];
  std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());
  out.items.resize(lists.items.size());
  if (!lists.values.empty()) out.values.resize(lists.items.size());
  std::vector<std::int64_t> next(out.offsets.begin(), out.offsets.end() - 1);
  for (std::size_t key = 0; key < lists.size(); ++key) {
    for (auto e = lists.offsets[key]; e < lists.offsets[key + 1]; ++e) {
      const std::int64_t at = next[lists.items[e]]++;
      out.items[at] = static_cast<std::int32_t>(key);
      if (!lists.values.empty()) out.values[at] = lists.values[e];
    }
  }
  return out;
}

Grouping group_contexts(const Contexts& contexts, std::span<const std::int64_t> counts, std::size_t limit) {
  std::vector<std::int64_t> thresholds(counts.begin(), counts.end());
  std::sort(thresholds.begin(), thresholds.end(), std::greater<>());
  Grouping best;
  best.frequent.assign(counts.size(), 0);
  best.group.assign(contexts.size(), 0);
  if (contexts.size() > 0) best.first.push_back(0);
  const Lists& tests = contexts.tests;
  for (std::size_t most = 1; most <= counts.size();
       most = most < counts.size() && 2 * most > counts.size() ? counts.size() : 2 * most) {
    Grouping now;
    now.frequent.resize(counts.size());
    for (std::size_t b = 0; b < counts.size(); ++b) now.frequent[b] = counts[b] >= thresholds[most - 1];
    now.group.assign(contexts.size(), 0);
    const auto next = [&](std::size_t c, std::int64_t e) {
      while (e < tests.offsets[c + 1] && !now.frequent[tests.items[e]]) ++e;
      return e;
    };
    const auto hash = [&](std::size_t c) {
      std::uint64_t h = 1;
      for (auto e = next(c, tests.offsets[c]); e < tests.offsets[c + 1]; e = next(c, e + 1)) {
        std::uint32_t bits;
        const float value = tests.value(e);
        std::memcpy(&bits, &value, sizeof bits);
        h = mix(mix(h, static_cast<std::uint32_t>(tests.items[e])), bits);
      }
      return h;
    };
    const auto equal = [&](std::size_t a, std::size_t b) {
      auto e = next(a, tests.offsets[a]), f = next(b, tests.offsets[b]);
      for (; e < tests.offsets[a + 1] && f < tests.offsets[b + 1]; e = next(a, e + 1), f = next(b, f + 1)) {
        if (tests.items[e] != tests.items[f] || tests.value(e) != tests.value(f)) return false;
      }
      return e >= tests.offsets[a + 1] && f >= tests.offsets[b + 1];
    };
    std::vector<std::size_t> firsts;
    if (number_rows(contexts.size(), hash, equal, now.group, firsts) > limit) break;
    now.first.assign(firsts.begin(), firsts.end());
    best = std::move(now);
    if (most == counts.size()) break;
  }
  return best;
}

Trie build_trie(std::span<const std::int64_t> offsets, std::span<const std::int32_t> unigram,
                std::span<const std::int32_t> bigram, std::span<const std::int32_t> group, bool reversed) {
  const std::size_t sequences = offsets.size() - 1, tokens = static_cast<std::size_t>(offsets[sequences]);
  const auto length = [&](std::size_t s) { return static_cast<std::size_t>(offsets[s + 1] - offsets[s]); };
  // the token at depth d of a sequence, and how deep it goes: an end never holds the first token
  const auto token = [&](std::size_t s, std::size_t d) {
    return static_cast<std::size_t>(reversed ? offsets[s + 1] - 1 - static_cast<std::int64_t>(d)
                                             : offsets[s] + static_cast<std::int64_t>(d));
  };
  const auto depth_of = [&](std::size_t s) { return reversed && length(s) > 0 ? length(s) - 1 : length(s); };
  std::vector<std::size_t> order(sequences);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t both = std::min(depth_of(a), depth_of(b));
    for (std::size_t d = 0; d < both; ++d) {
      const std::size_t x = token(a, d), y = token(b, d);
      if (bigram[x] != bigram[y]) return bigram[x] < bigram[y];
      if (unigram[x] != unigram[y]) return unigram[x] < unigram[y];
    }
    return depth_of(a) != depth_of(b) ? depth_of(a) < depth_of(b) : a < b;
  });

  struct Node {
    std::int32_t lane, parent, unigram, bigram;
    std::uint32_t depth;
  };
  std::vector<Node> nodes;
  std::vector<std::int32_t> path, raw(tokens, -1);
  const std::size_t lanes = std::clamp<std::size_t>(tokens / kLaneTokens, 1, kMostLanes);
  std::size_t lane = 0, seen = 0, before = 0;
  bool fresh = true;
  for (const std::size_t s : order) {
    while (lane + 1 < lanes && seen >= tokens * (lane + 1) / lanes) ++lane, fresh = true;
    seen += length(s);
    const std::size_t depth = depth_of(s);
    std::size_t common = 0;
    if (!fresh) {
      const std::size_t both = std::min(depth, path.size());
      while (common < both && unigram[token(s, common)] == unigram[token(before, common)] &&
             bigram[token(s, common)] == bigram[token(before, common)]) {
        ++common;
      }
    }
    path.resize(common);
    for (std::size_t d = common; d < depth; ++d) {
      const std::size_t t = token(s, d);
      nodes.push_back({static_cast<std::int32_t>(lane), d == 0 ? -1 : path[d - 1], unigram[t], bigram[t],
                       static_cast<std::uint32_t>(d)});
      path.push_back(static_cast<std::int32_t>(nodes.size() - 1));
    }
    for (std::size_t d = 0; d < length(s); ++d) {
      if (!reversed)
        raw[token(s, d)] = path[d];
      else if (d > 0)
        raw[token(s, d)] = path[d - 1];
    }
    before = s;
    fresh = false;
  }

  const auto group_of = [&](const Node& n) { return n.bigram < 0 ? -1 : group[n.bigram]; };
  std::vector<std::int32_t> sorted(nodes.size()), number(nodes.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::int32_t a, std::int32_t b) {
    const Node &x = nodes[a], &y = nodes[b];
    if (x.lane != y.lane) return x.lane < y.lane;
    if (x.depth != y.depth) return x.depth < y.depth;
    if (group_of(x) != group_of(y)) return group_of(x) < group_of(y);
    return x.bigram < y.bigram;
  });
  for (std::size_t i = 0; i < sorted.size(); ++i) number[sorted[i]] = static_cast<std::int32_t>(i);
  Trie trie;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Node& n = nodes[sorted[i]];
    const Node* last = i > 0 ? &nodes[sorted[i - 1]] : nullptr;
    const bool new_lane = last == nullptr || last->lane != n.lane;
    if (new_lane || last->depth != n.depth || group_of(*last) != group_of(n)) {
      const auto at = static_cast<std::int32_t>(i);
      if (!trie.batches.empty()) trie.batches.back().end = at;
      if (new_lane) trie.lanes.push_back(trie.batches.size());
      trie.batches.push_back({at, at});
    }
    trie.parent.push_back(n.parent < 0 ? -1 : number[n.parent]);
    trie.unigram.push_back(n.unigram);
    trie.bigram.push_back(n.bigram);
  }
  if (!trie.batches.empty()) trie.batches.back().end = static_cast<std::int32_t>(sorted.size());
  trie.lanes.push_back(trie.batches.size());
  trie.of.resize(tokens);
  for (std::size_t t = 0; t < tokens; ++t) trie.of[t] = raw[t] < 0 ? -1 : number[raw[t]];
  return trie;
}

}  // namespace textmill::sequence
