// Second-level measures: two sequences of words compared by an alignment of their words.
//
//   w_ij = s(a_i, b_j) x_i y_j             s: similarity of words, from a table; x, y: weights of the words, often IDF
//   score = sum of w_ij over the alignment / (|x| |y|)
//
// What an alignment may be is the measure:
//
//   chain        no crossing, each word once (Meta-Levenshtein):
//                  D[i][j] = max(D[i-1][j], D[i][j-1], D[i-1][j-1] + w_ij)
//                and, with transpositions over gaps up to g (g = 0: Damerau), for all p, q in 0..g
//                  D[i-2-p][j-2-q] + w_{i-1-p,j} + w_{i,j-1-q}
//   assignment   each word once, any order: the heaviest matching (assignment.h)
//   greedy       each word once: edges taken by falling w_ij
//   closest      each a_i with the b_j of largest s, at all places of that word, which may serve several (Soft-TFIDF)
//   average      closest without weights: (1/n) sum_i max_j s(a_i, b_j) (Monge-Elkan)
//
// closest and average have a direction; `Sides` says how both are put together. Only edges with s > theta count.
//
// Cost of a pair: n m look-ups, then n m (g+1)^2 for chains, min(n,m)^2 max(n,m) for assignments. Memory: n m; of long names
// (g+3) n for chains, the edges for greedy, the square of the largest group of linked words for assignments.
// Rounding: w_ij = s (x_i y_j) and sums run along the sequences, so chains give the same bits in both directions, and
// exactly 1 for a sequence with itself. Reference: Moreau, Yvon, Cappe (2008).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace textmill::strings {

struct Names {                            // a view: the caller owns the memory
  std::span<const std::int64_t> offsets;  // [N+1]
  std::span<const std::int32_t> words;    // [offsets[N]]: equal numbers, equal words, on both sides
  std::span<const double> weights;        // [offsets[N]], finite, >= 0
  std::span<const double> squares;        // [N]: sum of the squared weights of a name, in order
  std::span<const std::int32_t> rows;     // [offsets[N]]: row of the table that holds the neighbors of the word

  std::size_t size() const { return squares.size(); }
  std::size_t begin(std::size_t name) const { return static_cast<std::size_t>(offsets[name]); }
  std::size_t length(std::size_t name) const { return static_cast<std::size_t>(offsets[name + 1] - offsets[name]); }
};

struct Table {                            // similarities of left words to right words; what is not stored is 0
  std::span<const std::int64_t> offsets;  // [rows+1]
  std::span<const std::int32_t> columns;  // rising within a row
  std::span<const float> values;          // 0 to 1
};

enum class Alignment { chain, assignment, greedy, closest, average };
enum class Sides { forward, mean, max, min };

struct Rule {
  static constexpr std::size_t kNoSwaps = std::numeric_limits<std::size_t>::max();
  Alignment alignment = Alignment::chain;
  Sides sides = Sides::forward;  // of closest and average
  std::size_t gap = kNoSwaps;    // of chain
  double theta = 0.0;

  bool one_to_one() const { return alignment != Alignment::closest && alignment != Alignment::average; }
  bool weighted() const { return alignment != Alignment::average; }
};

// Collapses repeated words when `types`: the weight of a word becomes its count times idf, at its first position.
// Fills squares; without idf all weights are 1. Rows are the words.
struct OwnNames {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> words, rows;
  std::vector<double> weights, squares;
  Names view() const { return {offsets, words, weights, squares, rows}; }
};
OwnNames weigh_names(std::span<const std::int64_t> offsets, std::span<const std::int32_t> words,
                     std::span<const double> idf, bool types);

// One name made ready to be compared with many: its words' neighbors are laid out so that the similarities of a word of
// the other side to all of its own words stand together.
class Scorer {
 public:
  // `words`: the columns of the table, all words of the right side.
  Scorer(const Table& table, const Rule& rule, std::size_t words)
      : table_(table), rule_(rule), slot_(words, -1), best_(words, 0.0f) {}

  // Makes `name` of `left` the one to be compared. The views must live as long as it is.
  void take(const Names& left, std::size_t name);
  double score(const Names& right, std::size_t name);  // 0 when either side has weight 0
  // An upper bound of score() when similarities that are not in the table are at most `rest`. Bounds of one-to-one
  // alignments that are below `least` may be loose: these cost n m, others an alignment.
  double bound(const Names& right, std::size_t name, float rest, double least);
  // max_i s(i, word) x_i / |x| for a word of the other side: what it can add to a one-to-one alignment, times v_j.
  float best(std::int32_t word) const { return best_[static_cast<std::size_t>(word)]; }
  // One pair without take(): cheaper for a single partner.
  double score(const Names& left, std::size_t a, const Names& right, std::size_t b);

 private:
  static constexpr std::size_t kLong = 2048;  // words of a name whose neighbors are looked up one by one
  bool is_long() const { return rule_.one_to_one() && n_ > kLong; }
  bool is_long(std::size_t m) const;
  void set_left(const Names& left, std::size_t name);
  void set_right(const Names& right, std::size_t name);
  bool gather(const Names& right, std::size_t name);
  bool look_up(std::size_t j, float rest, float* out) const;
  double looked_up(float rest);
  double finish();
  double scale(double forward, double backward) const;
  template <class Row>
  double chain(Row similar);
  template <class Row>
  double rows_and_columns(Row similar);
  double by_edges();
  double closest(bool transposed, double rest = 0.0) const;

  Table table_;
  Rule rule_;
  std::vector<std::int32_t> slot_;  // word -> row of near_, or -1
  std::vector<float> best_;
  std::vector<std::int32_t> slotted_;  // words with a slot
  std::vector<float> near_;            // [slots][n]
  std::size_t n_ = 0, m_ = 0;
  const std::int32_t* left_words_ = nullptr;
  const std::int32_t* rows_ = nullptr;
  const std::int32_t* right_words_ = nullptr;
  const double* x_ = nullptr;
  const double* y_ = nullptr;
  double x_square_ = 0.0, y_square_ = 0.0;
  std::vector<float> sim_;       // [m][n]
  std::vector<double> w_;        // [n][m]; of chains the last rows
  std::vector<double> d_;        // the last rows of D
  std::vector<double> row_max_;  // [n]
};

// scores[k] of left[k] with right[k]; pairs with equal left ones are best put together.
void score_pairs(const Names& left, const Names& right, const Table& table, const Rule& rule,
                 std::span<const std::int32_t> lefts, std::span<const std::int32_t> rights, std::span<double> scores,
                 std::size_t threads);
// scores [left][right] of all pairs.
void score_matrix(const Names& left, const Names& right, const Table& table, const Rule& rule, std::span<double> scores,
                  std::size_t threads);

}  // namespace textmill::strings
