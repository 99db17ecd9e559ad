// Cutting a text into topics: similarities across gaps, ranks and division of a similarity matrix, best cuts.
//
// A text is a row of units (sentences, or runs of equally many tokens); gap g lies before unit g. All functions are
// serial: callers work on many texts at once.
//
//   gap_cosines      counts of the k units before and after each gap, moved by one unit at a time: O(tokens)
//   rank_matrix      share of the cells around a cell that are lower: O(n^2 r^2)
//   divide           splits a text again and again where the density inside the segments grows most: O(n^2)
//   divide_band      both from the cells near the diagonal, for long texts: O(n band) memory
//   probable_cuts    the segmentation of least description length: O(units * tokens)
//   granular_cuts    the same at several granularities, from one pass over all segments
//   recurrences      how often words come again inside of segments and across cuts, by distance: O(tokens * distance)
//   compact_cuts     the segmentation of least squared deviation from the means of its segments: O(units^2 d) at most
//
// References: Hearst (1997), TextTiling; Choi (2000), domain independent linear text segmentation; Utiyama & Isahara
// (2001), a statistical model for domain-independent text segmentation; Killick, Fearnhead & Eckley (2012), PELT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::tasks {

struct Tokens {
  std::span<const std::int32_t> ids;      // each in [0, vocabulary)
  std::span<const std::int64_t> offsets;  // [units + 1] first token of each unit
  std::size_t vocabulary;

  std::size_t units() const { return offsets.size() - 1; }
};

// out [units - 1]: for gap g = 1 .. units - 1 the cosine of the counts of the k units before it and of those after it,
// fewer at the ends of the text; 1 if both are without tokens, 0 if one is.
void gap_cosines(const Tokens& text, std::size_t k, std::span<double> out);

// out [n][n]: for each cell of a symmetric matrix the share of the other cells in its r x r neighborhood, clipped at
// the border, that are strictly lower.
void rank_matrix(std::span<const float> similarity, std::size_t n, std::size_t r, std::span<float> out);

struct Division {
  std::vector<std::int32_t> cuts;  // [n - 1] in the order in which they were made
  std::vector<double> density;     // [n] before the first cut, after it, ...
};

// `exact` looks for the cut that gives the whole text the largest density; else each segment names the place that
// gives itself the largest, and the best of these is taken. Among equals, the first.
Division divide(std::span<const float> matrix, std::size_t n, bool exact);

// One row of values for each unit.
struct UnitRows {
  std::span<const std::int64_t> offsets;  // [units + 1]
  std::span<const std::int32_t> columns;
  std::span<const double> values;
  std::size_t width;  // columns lie below it
};

// The same where only cells with |i - j| < band count: similarities are cosines of rows, neighborhoods and squares are
// clipped at the edge of the band. With a band of n it is `divide` of `rank_matrix`. O(n band r^2) time for the ranks,
// O(n band) memory.
Division divide_band(const UnitRows& rows, std::size_t r, std::size_t band, bool exact);

struct Limits {
  double penalty;                       // of a segment
  std::size_t segments;                 // exactly so many, 0 for as many as are best
  std::size_t shortest, longest;        // in tokens, or whatever `sizes` counts
  std::span<const std::int64_t> sizes;  // [units + 1] running total
};

// Cuts of the segmentation with the least cost, rising; `possible` is false if the limits allow none.
struct Cuts {
  std::vector<std::int32_t> cuts;
  bool possible;
};

// cost of a segment of n tokens = length[n] - sum over its tokens w of gain[rows[w] + how many w came before it there];
// length [tokens + 1], rows [vocabulary] with room for all tokens of each word behind its row
Cuts probable_cuts(const Tokens& text, std::span<const std::int64_t> rows, std::span<const double> gain,
                   std::span<const double> length, const Limits& limits);

struct GranularCuts {
  std::vector<std::int32_t> cuts;     // of all granularities, one after the other, rising in each
  std::vector<std::int64_t> offsets;  // [weights + 1] first cut of each
};

// The best cuts for each weight, where a segment of n tokens costs what `probable_cuts` says and weight * power[n] more;
// power [tokens + 1]. O(units * tokens + weights * units^2) time, O(weights * units) memory.
GranularCuts granular_cuts(const Tokens& text, std::span<const std::int64_t> rows, std::span<const double> gain,
                           std::span<const double> length, std::span<const double> power,
                           std::span<const double> weights);

inline constexpr std::size_t kDistances = 32;  // units over which words that come again are counted
inline constexpr std::size_t kBins = 6;        // of distances: 1, 2-3, 4-7, 8-15, 16-31, 32

// out [cuts][kBins][6]: for each cut the words in common and the pairs of tokens, over the pairs of units at these
// distances: of those inside of segments, of those with a cut between them, and of those in neighboring segments. A word
// of f tokens in the text that is x times in one unit and y times in the other counts x y / (f - 1).
void recurrences(const Tokens& text, const GranularCuts& cuts, std::span<double> out);

// cost of a segment = sum |v - mean|^2 over its units; vectors [units][dimensions]
Cuts compact_cuts(std::span<const double> vectors, std::size_t dimensions, const Limits& limits);

}  // namespace textmill::tasks
