// Tokens of a corpus in cells that can be worked on at once: P groups of documents x P groups of words.
//
//   stage s, cell c:   documents of group c, words of group (c + s) mod P
//
// The P cells of a stage share neither a document nor a word, so whoever updates counts of words in topics and of topics
// in documents meets nobody; P stages see every token once. P is a matter of the data alone, never of the threads.
// Groups of documents are consecutive, groups of words are dealt out by falling frequency to the group with the fewest
// items; both are balanced by items. The items of a document are stored together, by group of words.
//
// Reference: Yan, Xu & Qi (2009), Parallel inference for latent Dirichlet allocation on graphics processing units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace textmill::topics {

struct Bags {                             // a view of n rows of whole counts
  std::span<const std::int64_t> offsets;  // [n + 1], rising from 0 to nnz
  std::span<const std::int32_t> terms;    // [nnz], each in [0, V)
  std::span<const std::int32_t> counts;   // [nnz], >= 0
  std::size_t vocabulary;                 // V
};

// Items are tokens (an entry as many times as its count says) or entries (those whose count is above 0).
enum class Items { tokens, entries };

struct Cells {
  Cells(const Bags& bags, Items items);

  std::size_t documents() const { return starts.size() - 1; }
  std::size_t items() const { return static_cast<std::size_t>(starts.back()); }

  // Items first to second of document d have words of group g.
  std::pair<std::size_t, std::size_t> segment(std::size_t d, std::size_t g) const {
    const auto start = static_cast<std::size_t>(starts[d]);
    const std::uint32_t* end = ends.data() + d * groups + g;
    return {start + (g == 0 ? 0 : end[-1]), start + *end};
  }

  // Calls body(item, entry) for the items of document d, in order of its entries in the bags.
  template <class F>
  void each(const Bags& bags, std::size_t d, F&& body) const {
    std::size_t next[kMostGroups];
    for (std::size_t g = 0; g < groups; ++g) next[g] = segment(d, g).first;
    for (auto e = static_cast<std::size_t>(bags.offsets[d]); e < static_cast<std::size_t>(bags.offsets[d + 1]); ++e) {
      std::size_t& item = next[group[static_cast<std::size_t>(bags.terms[e])]];
      for (std::int32_t i = 0; i < repeats(bags.counts[e]); ++i) body(item++, e);
    }
  }

  // Calls body(item, position) for all items, document by document, those of a document by the words of items.
  template <class F>
  void in_order(std::span<const std::int32_t> words, F&& body) const {
    std::size_t next[kMostGroups], last[kMostGroups];
    for (std::size_t d = 0; d < documents(); ++d) {
      for (std::size_t g = 0; g < groups; ++g) {
        const auto [begin, end] = segment(d, g);
        next[g] = begin, last[g] = end;
      }
      for (auto at = static_cast<std::size_t>(starts[d]); at < static_cast<std::size_t>(starts[d + 1]); ++at) {
        std::size_t best = groups;
        for (std::size_t g = 0; g < groups; ++g) {
          if (next[g] < last[g] && (best == groups || words[next[g]] < words[next[best]])) best = g;
        }
        body(next[best]++, at);
      }
    }
  }

  std::int32_t repeats(std::int32_t count) const { return kind == Items::tokens ? count : count > 0; }

  static constexpr std::size_t kMostGroups = 32;
  Items kind;
  std::size_t groups;                // P
  std::vector<std::size_t> bounds;   // [P + 1]: documents of group c are bounds[c] to bounds[c + 1]
  std::vector<std::int64_t> starts;  // [n + 1]: items of a document
  std::vector<std::uint32_t> ends;   // [n][P]: ends of segments, counted from the start of the document
  std::vector<std::uint8_t> group;   // [V]
};

}  // namespace textmill::topics
