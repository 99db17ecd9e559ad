// Next-label distributions by counting, with back-off over ever coarser histories.
//
// A test is a value of one pattern of a chain (extract.h), its level the number of that pattern, 0 the finest. With g the
// labels before a token, as many as the level looks at, and c(x, g, y) how often label y followed g where test x is true,
//
//   n = sum_y c(x, g, y)     r = number of y with c(x, g, y) > 0     q = distribution of the coarser levels, at first 1/Y
//
//   Witten-Bell      p(y) = (c + d r q(y)) / (n + d r)                                  d: strength
//   absolute         p(y) = max(c - D, 0) / n + (mass taken) / n q(y)                   D of the level
//   Jelinek-Mercer   p(y) = w c / n + (1 - w) q(y)                                      w of the level and of log2 n
//   hard             p(y) = c / n of the finest level with n >= m
//
// from the coarsest level to the finest; what was never seen changes nothing. Labels that must not follow get 0 and the
// others are divided by their sum, so that every distribution sums to 1.
//
// A joint model gives p(word, label | history) in the same way (Witten-Bell): a level then has what is observed here, its
// event e, and what was observed before. n and r are those of all events after the history, and where the event of a level
// is finer than that of the level before, q is shared evenly by the finer events seen with the coarser one, and one more.
//
// Counts lie in a table of three floors: tests -> rows (labels before) -> entries (label, count), each sorted. Cost: the
// rows of the tests of a token. References: Jansche (2002); Witten & Bell (1991); Ney, Essen & Kneser (1994).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::sequence {

inline constexpr std::size_t kCountBuckets = 8;  // of Jelinek-Mercer weights: n in 1, 2-3, 4-7, ...

struct Histories {     // the labels before a token as a number: sum_i label_i base^i, i = 0 the nearest
  std::size_t labels;  // Y
  std::size_t base;    // Y, or Y + 1 where what stands before the first token is no label
  std::size_t order;   // >= 1
  std::size_t start;   // what stands before the first token, < base

  std::size_t size(std::size_t of_order) const {
    std::size_t n = 1;
    for (std::size_t i = 0; i < of_order; ++i) n *= base;
    return n;
  }
  std::size_t begin() const {
    std::size_t h = 0;
    for (std::size_t i = 0; i < order; ++i) h = h * base + start;
    return h;
  }
};

struct CountTable {                       // a view
  std::span<const std::int32_t> level;    // [tests]
  std::span<const std::int32_t> orders;   // [levels] number of labels before that a level looks at
  std::span<const std::size_t> strides;   // [levels] number of histories of that order
  std::span<const std::int64_t> rows;     // [tests + 1]
  std::span<const std::int32_t> history;  // [rows] rising within a test
  std::span<const std::int64_t> entries;  // [rows + 1]
  std::span<const std::int32_t> label;    // [entries] rising within a row
  std::span<const double> count;          // [entries]
};

enum class Smoothing : std::uint8_t { kHard, kWittenBell, kAbsolute, kJelinekMercer };

struct BackOff {
  Smoothing method;
  double strength;                        // d
  double min_count;                       // m
  std::span<const double> weights;        // [levels][kCountBuckets] D (equal in all buckets) or w
  std::span<const std::uint8_t> allowed;  // [histories][Y]
};

struct TokenTests {                       // the tests of each token, finest level first
  std::span<const std::int64_t> offsets;  // [S + 1] tokens of sequences
  std::span<const std::int64_t> indptr;   // [T + 1]
  std::span<const std::int32_t> ids;      // [indptr[T]]
};

struct JointTests {                       // empty for a conditional model
  std::span<const std::int32_t> full;     // [T][levels] test, -1 never seen
  std::span<const std::int32_t> before;   // [T][levels] number of what was observed before, -1 never seen
  std::span<const double> share;          // [T][levels] 1 / (finer events + 1) where the event is finer, else 1
  std::span<const std::int64_t> rows;     // [befores + 1] labels before, as in a table of counts
  std::span<const std::int32_t> history;  // [rows]
  std::span<const double> total;          // [rows] n
  std::span<const double> distinct;       // [rows] r
};

// Distributions of the coarsest levels, which few different tests share: one for the counts in use.
struct CoarseSteps {
  static constexpr std::size_t kLevels = 3;  // tests at the end of a token's list
  static constexpr std::size_t kSlots = 64;

  std::vector<std::int32_t> tests;  // [kSlots][kLevels], -1 for an empty slot
  std::vector<double> steps;        // [kSlots][histories][Y]
};

// A table and its smoothing made ready for steps. Every method turns a row into p(y) = keep q(y) + add(y), and both are
// worked out here once; what belongs to a test lies together, so that a step waits for memory twice and not five times.
class Blends {
 public:
  Blends() = default;
  Blends(const CountTable& table, const BackOff& back_off);

  void prefetch_place(std::size_t test) const { __builtin_prefetch(begin_.data() + test); }
  void prefetch(std::size_t test) const { __builtin_prefetch(cells_.data() + begin_[test]); }
  // The level of a test onto the distributions of coarser ones, step [histories][Y].
  template <class Size>
  void apply(std::size_t test, std::size_t histories, Size labels, double* step) const;

 private:
  struct Cell {  // of a row: keep, history, entries and level; then of each entry: add and label
    double value;
    std::int32_t first;
    std::uint32_t second;
  };
  static constexpr std::uint32_t kEntryBits = 16;  // for up to 32768 labels

  std::vector<std::size_t> strides_;  // [levels] number of histories
  std::vector<std::int64_t> begin_;   // [tests + 1]
  std::vector<Cell> cells_;
};

// Fills steps [length][histories][Y] of one sequence, the distributions after every possible history; at the first token
// only that of Histories::begin(). `counts` [entries] stands in the place of table.count.
void fill_steps(const CountTable& table, std::span<const double> counts, const BackOff& back_off,
                const Histories& histories, const TokenTests& tests, std::size_t sequence, CoarseSteps& coarse,
                double* steps);
// The same by the counts of the table itself, made ready.
void fill_steps(const Blends& blends, const BackOff& back_off, const Histories& histories, const TokenTests& tests,
                std::size_t sequence, CoarseSteps& coarse, double* steps);
void fill_joint_steps(const CountTable& table, const JointTests& joint, const BackOff& back_off,
                      const Histories& histories, const TokenTests& tests, std::size_t sequence, double* steps);

// What happened: for each token some (history, label, weight).
struct Events {
  std::vector<std::int64_t> offsets;  // [T + 1]
  std::vector<std::int32_t> history;
  std::vector<std::int32_t> label;
  std::vector<double> weight;
};

// The labels of sequences as events, -1 for those not known: a token counts if its label and those before it are known.
Events events_of(std::span<const std::int64_t> offsets, std::span<const std::int32_t> labels,
                 const Histories& histories);

struct Counted {                   // owns what CountTable looks at
  std::vector<std::int64_t> rows;  // [tests + 1]
  std::vector<std::int32_t> history;
  std::vector<std::int64_t> entries;
  std::vector<std::int32_t> label;
  std::vector<double> count;
};

// Adds up the events by test. Sums go over tokens in their order.
Counted count_events(std::span<const std::int32_t> level, std::span<const std::int32_t> orders, const TokenTests& tests,
                     const Events& events, const Histories& histories, std::size_t threads);

// Subtracts the events of tokens [first, last) from counts [entries] of a table that holds them.
void subtract_events(const CountTable& table, const TokenTests& tests, const Events& events, const Histories& histories,
                     std::size_t first, std::size_t last, std::span<double> counts);

// Weights w [levels][kCountBuckets] that predict every event best from the counts without it, by EM.
std::vector<double> interpolation_weights(const CountTable& table, const TokenTests& tests, const Events& events,
                                          const Histories& histories, std::size_t rounds);

}  // namespace textmill::sequence
