// Edit distances and Jaro similarities of sequences of symbols: one pair, pairs, and matrices of all pairs.
//
//   levenshtein, osa   1 - d / max(n, m), d in bits (Myers 1999, Hyyro 2003): the differences of a column of
//                      D[i][j] = min(D[i-1][j] + 1, D[i][j-1] + 1, D[i-1][j-1] + [x_i != y_j]) are two words VP and VN,
//                      and one symbol of x is a dozen operations on them; d = n + |VP| - |VN| at the end
//   damerau            the unrestricted form (Lowrance & Wagner 1975), O(n m)
//   jaro, jaro_winkler common symbols at most H apart, greedily from the left of x: a lowest set bit each
//
// Which algorithm when:
//   matrices, m <= 64     names y lie side by side in the lanes of 64-byte vectors, lanes of 8, 16, 32 or 64 bits by
//                         length; all lanes meet the same x: 64, 32, 16 or 8 pairs at a time
//   m > 64                blocks of 64 bits, O(n m / 64); Jaro by lists of places, O(n + m), because the first free place
//                         of a symbol only moves right
//   pairs                 one word of 64 bits or blocks
//   above a threshold     before any of these, two limits, so that most pairs are never scored: names whose lengths are
//                         too different (by length_ratio), and names with too few common symbols. Each symbol that one
//                         name has and the other lacks takes a place, so at most
//                         c = min(n - |X \ Y|, m - |Y \ X|) places agree, X and Y as sets of 64 bits; the score is at
//                         most c / max(n, m) for edits, (c / n + c / m + 1) / 3 for jaro, before the prefix
//
// A symbol is any number below kMostSymbols: a code point or the id of a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::strings {

inline constexpr std::uint32_t kMostSymbols = 1u << 26;

enum class Kind { levenshtein, osa, damerau, jaro };
enum class Window { paper, winkler, secondstring };  // H = min / 2, max / 2 - 1, min / 2 + 1

struct CharacterMeasure {
  Kind kind;
  Window window;  // of jaro
  bool floor;     // half transpositions become whole ones
  double prefix;  // what each of the first four common symbols adds where the score exceeds boost; 0: Jaro itself
  double boost;
};

struct Sequences {
  std::span<const std::int64_t> offsets;   // [n + 1], rising from 0
  std::span<const std::uint32_t> symbols;  // each below kMostSymbols
  std::size_t size() const { return offsets.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    return symbols.subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  }
};

// out [left.size()][right.size()]. When `symmetric`, left and right are the same and half of the work is saved.
template <class Real>  // double or float
void character_matrix(const Sequences& left, const Sequences& right, const CharacterMeasure& measure, bool symmetric,
                      std::span<Real> out, std::size_t threads);

// Similarities of at least epsilon, above 0, as sparse rows with rising columns.
struct SparseScores {
  std::vector<std::int64_t> offsets;  // [left.size() + 1]
  std::vector<std::int32_t> columns;
  std::vector<float> values;
};
SparseScores character_table(const Sequences& left, const Sequences& right, const CharacterMeasure& measure,
                             float epsilon, std::size_t threads);

// Pairs that score at least `at_least` and above 0, by left and then by right place. `length_ratio`: the least shorter /
// longer of the lengths of two names that can. When `symmetric`, left and right are the same, and each pair comes once,
// left < right.
struct FoundPairs {
  std::vector<std::int32_t> left, right;
  std::vector<double> scores;
};
FoundPairs character_search(const Sequences& left, const Sequences& right, const CharacterMeasure& measure,
                            double at_least, double length_ratio, bool symmetric, std::size_t threads);

// out[p] = similarity of left[i[p]] and right[j[p]].
void character_pairs(const Sequences& left, const Sequences& right, std::span<const std::int32_t> i,
                     std::span<const std::int32_t> j, const CharacterMeasure& measure, std::span<double> out,
                     std::size_t threads);

}  // namespace textmill::strings
