// From counts to probabilities: seven ways of smoothing, written over whole numbers that a document can be taken from.
//
// a(v) is what a method counts: for Kneser-Ney the number of different words seen before v (the count itself at the
// highest order and for n-grams that begin with the start symbol), for all others the count. Of the words x after a
// context h, those seen at least min_count times (of their order) have a probability of their own; K is that set.
//
//   interpolated   p(w | h) = s (a(hw) - D(a(hw))) / d(h) [w in K] + b(h) p(w | h')
//   backing off    p(w | h) = (a(hw) - D(a(hw))) / d(h) if w in K, else b(h) p(w | h')
//
//   modified Kneser-Ney, Kneser-Ney, absolute    interpolated, d = sum_x a(hx), b = 1 - sum_K (a - D) / d
//   Witten-Bell      interpolated, D = 0, d = c(h) + types(h), b = (types(h) + what is cut off) / d
//   Jelinek-Mercer   interpolated, D = 0, d = c(h), s = 1 - g with g by order and floor(log2 c(h)):
//                    g = (n-grams seen once + 1) / (occurrences + 2), the chance, leaving one out, that a word is new
//   Katz             backing off, D(r) = r (1 - d_r), d_r = (r*/r - A) / (1 - A), r* = (r + 1) t_{r+1} / t_r,
//                    A = (k + 1) t_{k+1} / t_1, for r <= k
//   Good-Turing      backing off, D(r) = r - r* for r <= 7, r* by simple Good-Turing (Gale & Sampson); for larger r the
//                    limit -(1 + slope) of r - r* on the line that is fitted to log t_r over log r
//
//   b(h) of backing off = (1 - sum_K p(x | h)) / (1 - sum_K p(x | h'))
//
// The shortest context stands on 1 / (words that can follow). t_r: n-grams of the order with a = r. All sums of a context
// are whole numbers (Context), so what is left when a document is taken out is exactly what counting without it gives.
//
// Where counts of counts have holes (a discount outside (0, r)): modified Kneser-Ney takes y = t_1 / (t_1 + 2 t_2) for all
// counts, and 0.5, 1, 1.5 where y is not between 0 and 1; the others take y, and 0.5 where there is none. Where backing off
// has no mass to give, the denominator grows by one (Paul's rule); where a context has seen all words, it gives none.
//
// Cost: two visits of each node. References: Katz (1987); Good (1953); Gale & Sampson (1995), Good-Turing frequency
// estimation without tears; Witten & Bell (1991); Ney, Essen & Kneser (1994); Jelinek & Mercer (1980); Chen & Goodman (1999).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lm/ngram.h"

namespace textmill::lm {

enum class Method { kModifiedKneserNey, kKneserNey, kKatz, kGoodTuring, kWittenBell, kAbsolute, kJelinekMercer };

inline constexpr std::size_t kClasses = 8;  // counts 1 to 7, and larger ones, have a discount each
inline constexpr std::size_t kFitted = 64;  // counts of counts that a line is fitted to
inline constexpr std::size_t kSizes = 64;   // of contexts, by the logarithm of their count

struct Rules {
  Method method;
  std::vector<std::int64_t> min_count;  // [order], never falling
  std::vector<std::int32_t> limit;      // [order], Katz's k, at most 7; 0 and 1: no discount

  bool backs_off() const { return method == Method::kKatz || method == Method::kGoodTuring; }
  bool continues() const { return method == Method::kModifiedKneserNey || method == Method::kKneserNey; }
  std::size_t classes() const { return continues() ? 3 : kClasses; }  // that Context distinguishes
};

// What smoothing must know of the words after a context.
struct Context {
  std::int64_t total = 0;                            // sum of a
  std::int64_t kept = 0;                             // the same over K
  std::int64_t lower = 0;                            // backing off: sum over K of the counts after h'
  std::int32_t types = 0;                            // different words
  std::int32_t singles = 0;                          // of these with a = 1
  std::array<std::int32_t, kClasses> times{};        // of K with a = 1, 2, ...
  std::array<std::int32_t, kClasses> lower_times{};  // backing off: of K by their counts after h'

  std::int64_t size() const {  // of K
    std::int64_t sum = 0;
    for (const std::int32_t n : times) sum += n;
    return sum;
  }
};

struct Statistics {                                                     // of all n-grams
  std::vector<std::array<std::int64_t, kFitted + 1>> counts_of_counts;  // [order][r]
  std::vector<std::array<std::int64_t, kSizes>> tokens, singles;        // Jelinek-Mercer, [order][bucket]
  std::int64_t words = 0;                                               // that can follow

  explicit Statistics(std::size_t order) : counts_of_counts(order), tokens(order), singles(order) {}
  void count(std::size_t n, std::int64_t a, std::int64_t by) {
    if (a > 0 && a <= static_cast<std::int64_t>(kFitted)) counts_of_counts[n - 1][static_cast<std::size_t>(a)] += by;
  }
  void weigh(std::size_t n, const Context& context, std::int64_t by);
};

// The numbers of a method that hold for a whole order.
struct Parameters {
  std::vector<std::array<double, kClasses>> discounts;  // [order]
  std::vector<std::array<double, kSizes>> new_word;     // [order], Jelinek-Mercer's g
  std::vector<char> fell_back;                          // [order]: the counts of counts have holes

  Parameters(const Rules& rules, const Statistics& statistics);
};

// How a context shares out its probability.
struct Share {
  double scale = 1.0;        // of counts
  double denominator = 1.0;  // 0: the context says nothing
  double back_off = 1.0;     // weight of the shorter context
};

// `n` is the order of the n-grams that continue the context; `below` the denominator of the shorter context (n > 1).
Share share_of(const Rules& rules, const Parameters& parameters, const Statistics& statistics, std::size_t n,
               const Context& context, double below);

inline std::size_t class_of(std::int64_t a, std::size_t classes) {
  return static_cast<std::size_t>(a < static_cast<std::int64_t>(classes) ? a : static_cast<std::int64_t>(classes)) - 1;
}

// A tree with what a method counts.
struct Adjusted {
  const Tree& tree;
  std::span<const std::int32_t> suffix;  // [nodes]
  std::span<const std::int64_t> count;   // [nodes]
  std::span<const std::int64_t> a;       // [nodes]; may be `count`
  std::int32_t begin;                    // the start symbol, which is never predicted
};

// Fills a [nodes] for Kneser-Ney.
void continuations(const Tree& tree, std::span<const std::int32_t> suffix, std::span<const std::int64_t> count,
                   std::int32_t begin, std::span<std::int64_t> a, std::size_t threads);

// Of the children of node h, which is of level n - 1.
Context context_of(const Rules& rules, const Adjusted& data, std::size_t n, std::size_t h);

// `open`: words without a count, other than the unknown one and the end, are none.
Statistics statistics_of(const Rules& rules, const Adjusted& data, std::size_t threads);

// Log10 probabilities and back-off weights, [nodes]. What is cut off is kNever; remove it from the tree.
Parameters smooth(const Rules& rules, const Adjusted& data, std::span<double> log_probability,
                  std::span<double> log_back_off, std::size_t threads);

}  // namespace textmill::lm
