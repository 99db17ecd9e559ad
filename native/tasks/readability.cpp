#include "tasks/readability.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/parallel.h"

namespace textmill::tasks {
namespace {

constexpr std::size_t kBlock = 8;  // documents that share scratch memory

}  // namespace

void tally(const Layout& layout, std::span<const std::int32_t> type, std::size_t types,
           std::span<const std::uint32_t> mask, std::size_t classes, std::span<std::int64_t> out, std::size_t threads) {
  struct Seen {
    std::int64_t document = -1, sentence = -1;
    std::uint32_t in_document = 0, in_sentence = 0;
  };
  base::parallel_blocks(layout.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Seen> seen(types);
    for (std::size_t d = begin; d < end; ++d) {
      std::int64_t* const sums = out.data() + d * classes * 3;
      std::fill(sums, sums + classes * 3, 0);
      for (std::int64_t s = layout.documents[d]; s < layout.documents[d + 1]; ++s) {
        for (std::int64_t t = layout.sentences[s]; t < layout.sentences[s + 1]; ++t) {
          const std::uint32_t bits = mask[t];
          if (bits == 0) continue;
          Seen& place = seen[static_cast<std::size_t>(type[t])];
          if (place.document != static_cast<std::int64_t>(d)) place.in_document = 0;
          if (place.sentence != s) place.in_sentence = 0;
          place.document = static_cast<std::int64_t>(d);
          place.sentence = s;
          for (std::size_t c = 0; c < classes; ++c) {
            const std::uint32_t bit = std::uint32_t{1} << c;
            if (!(bits & bit)) continue;
            ++sums[3 * c];
            sums[3 * c + 1] += !(place.in_document & bit);
            sums[3 * c + 2] += !(place.in_sentence & bit);
          }
          place.in_document |= bits;
          place.in_sentence |= bits;
        }
      }
    }
  });
}

void grid(const Mentions& mentions, std::span<const std::int32_t> sentences, std::int32_t salience,
          std::span<double> out, std::size_t threads) {
  constexpr std::uint8_t kAbsent = 3;
  base::parallel_blocks(sentences.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> count;
    std::vector<std::uint8_t> cells;
    for (std::size_t d = begin; d < end; ++d) {
      const auto from = static_cast<std::size_t>(mentions.offsets[d]),
                 to = static_cast<std::size_t>(mentions.offsets[d + 1]);
      const auto S = static_cast<std::size_t>(sentences[d]);
      std::int32_t entities = 0;
      for (std::size_t m = from; m < to; ++m) entities = std::max(entities, mentions.entity[m] + 1);
      count.assign(static_cast<std::size_t>(entities), 0);
      cells.assign(static_cast<std::size_t>(entities) * S, kAbsent);
      for (std::size_t m = from; m < to; ++m) {
        const auto e = static_cast<std::size_t>(mentions.entity[m]);
        ++count[e];
        std::uint8_t& cell = cells[e * S + static_cast<std::size_t>(mentions.sentence[m])];
        cell = std::min(cell, static_cast<std::uint8_t>(mentions.role[m]));
      }
      std::array<std::int64_t, 16> pairs{};
      std::int64_t total = 0;
      for (std::size_t e = 0; e < count.size(); ++e) {
        if (count[e] < salience) continue;
        for (std::size_t s = 0; s + 1 < S; ++s, ++total) ++pairs[4 * cells[e * S + s] + cells[e * S + s + 1]];
      }
      for (std::size_t k = 0; k < 16; ++k)
        out[16 * d + k] = total > 0 ? static_cast<double>(pairs[k]) / static_cast<double>(total)
                                    : std::numeric_limits<double>::quiet_NaN();
    }
  });
}

void tree_sums(const Nodes& nodes, const Layout& layout, std::span<const std::int32_t> letters,
               std::span<const std::uint8_t> word, std::span<double> out, std::size_t threads) {
  base::parallel_blocks(layout.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> depth;
    std::vector<double> words_before, letters_before;
    for (std::size_t d = begin; d < end; ++d) {
      double* const row = out.data() + d * kTreeSums;
      std::fill(row, row + kTreeSums, 0.0);
      for (std::int64_t s = layout.documents[d]; s < layout.documents[d + 1]; ++s) {
        const std::int64_t token = layout.sentences[s], tokens = layout.sentences[s + 1] - token;
        words_before.assign(1, 0.0);
        letters_before.assign(1, 0.0);
        for (std::int64_t t = token; t < token + tokens; ++t) {
          words_before.push_back(words_before.back() + (word[t] ? 1.0 : 0.0));
          letters_before.push_back(letters_before.back() + (word[t] ? letters[t] : 0));
        }
        const auto from = static_cast<std::size_t>(nodes.offsets[s]),
                   to = static_cast<std::size_t>(nodes.offsets[s + 1]);
        depth.assign(to - from, 0);
        std::int32_t height = 0;
        for (std::size_t v = from; v < to; ++v) {
          if (nodes.parent[v] >= 0) depth[v - from] = depth[static_cast<std::size_t>(nodes.parent[v])] + 1;
          height = std::max(height, depth[v - from] + 1);
          const std::uint8_t label = nodes.label[v];
          if (label == kNoun || label == kPreterminal) continue;
          ++row[2];
          if (label == kSbar || label == kClause) ++row[15];
          if (label < kSbar || label > kPp) continue;
          const auto first = static_cast<std::size_t>(nodes.first[v]), last = static_cast<std::size_t>(nodes.last[v]);
          double* const sums = row + 3 + 3 * (label - kSbar);
          ++sums[0];
          sums[1] += words_before[last] - words_before[first];
          sums[2] += letters_before[last] - letters_before[first];
        }
        row[0] += to > from;
        row[1] += height;
      }
    }
  });
}

void tree_roles(const Nodes& nodes, const Layout& layout, std::span<std::uint8_t> role) {
  std::fill(role.begin(), role.end(), std::uint8_t{2});
  std::vector<std::int32_t> noun, phrase;  // of each node: its last noun, its first noun phrase
  for (std::size_t s = 0; s + 1 < layout.sentences.size(); ++s) {
    const auto from = static_cast<std::size_t>(nodes.offsets[s]), to = static_cast<std::size_t>(nodes.offsets[s + 1]);
    noun.assign(to - from, -1);
    phrase.assign(to - from, -1);
    for (std::size_t v = from; v < to; ++v) {
      if (nodes.parent[v] < 0) continue;
      const auto above = static_cast<std::size_t>(nodes.parent[v]);
      if (nodes.label[v] == kNoun) noun[above] = nodes.first[v];
      if (nodes.label[v] == kNp && phrase[above] < 0) phrase[above] = static_cast<std::int32_t>(v - from);
    }
    for (std::size_t v = from; v < to; ++v) {
      if (nodes.label[v] != kNp || nodes.parent[v] < 0) continue;
      const std::uint8_t above = nodes.label[from + static_cast<std::size_t>(nodes.parent[v])];
      if (above != kClause && above != kVp) continue;
      auto at = static_cast<std::int32_t>(v - from);
      while (at >= 0 && noun[static_cast<std::size_t>(at)] < 0) at = phrase[static_cast<std::size_t>(at)];
      if (at < 0) continue;
      std::uint8_t& own = role[static_cast<std::size_t>(layout.sentences[s] + noun[static_cast<std::size_t>(at)])];
      own = std::min(own, static_cast<std::uint8_t>(above == kClause ? 0 : 1));
    }
  }
}

}  // namespace textmill::tasks
