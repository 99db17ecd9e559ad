#include "lm/merging.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace textmill::lm {

std::vector<std::int64_t> merge(std::span<Stored> trees, std::size_t words, std::span<std::int32_t> word,
                                std::span<std::int32_t> first, std::span<std::int64_t> count) {
  const std::size_t order = trees[0].tree.order();
  std::vector<std::int64_t> level{0, 1};
  word[0] = -1;
  count[0] = 0;
  first[0] = 1;
  for (std::size_t w = 0; w < words; ++w) {
    word[1 + w] = static_cast<std::int32_t>(w);
    count[1 + w] = 0;
  }
  for (Stored& stored : trees) {
    stored.number[0] = 0;
    for (std::size_t v = 1; v <= stored.tree.words(); ++v) {
      stored.number[v] = static_cast<std::int32_t>(v);
      count[v] += stored.count[v];
    }
  }
  struct Cursor {
    std::size_t parent, last;  // the node whose children come next, and the end of its level
    std::int32_t child, stop;  // of the children of the present parent
    bool active;
  };
  std::size_t end = 1 + words;
  for (std::size_t n = 2; n <= order; ++n) {
    level.push_back(static_cast<std::int64_t>(end));
    std::vector<Cursor> cursors;
    for (const Stored& stored : trees)
      cursors.push_back({static_cast<std::size_t>(stored.tree.level[n - 1]),
                         static_cast<std::size_t>(stored.tree.level[n]), 0, 0, false});
    const auto from = static_cast<std::size_t>(level[n - 1]), to = end;  // the parents in the sum
    for (std::size_t parent = from; parent < to; ++parent) {
      first[parent] = static_cast<std::int32_t>(end);
      bool any = false;
      for (std::size_t t = 0; t < trees.size(); ++t) {
        Cursor& cursor = cursors[t];
        cursor.active =
            cursor.parent < cursor.last && static_cast<std::size_t>(trees[t].number[cursor.parent]) == parent;
        if (!cursor.active) continue;
        cursor.child = trees[t].tree.first[cursor.parent];
        cursor.stop = trees[t].tree.first[++cursor.parent];
        any |= cursor.active = cursor.child < cursor.stop;
      }
      while (any) {
        std::int32_t next = std::numeric_limits<std::int32_t>::max();
        for (std::size_t t = 0; t < trees.size(); ++t)
          if (cursors[t].active) next = std::min(next, trees[t].tree.word[static_cast<std::size_t>(cursors[t].child)]);
        if (end > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
          throw std::length_error("more than 2,147,483,647 n-grams");
        word[end] = next;
        std::int64_t sum = 0;
        any = false;
        for (std::size_t t = 0; t < trees.size(); ++t) {
          Cursor& cursor = cursors[t];
          if (!cursor.active) continue;
          const auto child = static_cast<std::size_t>(cursor.child);
          if (trees[t].tree.word[child] == next) {
            sum += trees[t].count[child];
            trees[t].number[child] = static_cast<std::int32_t>(end);
            cursor.active = ++cursor.child < cursor.stop;
          }
          any |= cursor.active;
        }
        count[end++] = sum;
      }
    }
  }
  level.push_back(static_cast<std::int64_t>(end));
  first[static_cast<std::size_t>(level[order])] = static_cast<std::int32_t>(end);
  return level;
}

}  // namespace textmill::lm
