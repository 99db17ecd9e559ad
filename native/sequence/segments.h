// Semi-Markov conditional random fields: sums over all segmentations of a sentence, factored.
//
//   p(s | x) = exp(sum_j [tr(q_j, y_j, t_j) + seg(t_j, u_j, y_j)]) / Z(x)     segments (t, u, y), O always one token long
//
//   A(t, e)      = sum_q alpha(t, q) T_t(q, e)                                T = exp tr, W = exp seg, positions from 0
//   alpha(u, e) += A(t, e) W(t, u, e)           for every candidate [t, u)
//   alpha(t + 1, after(q)) += alpha(t, q) T_t(q, O) W(t, t + 1, O)
//   B(t, e)      = sum_u W(t, u, e) beta(u, e)
//   beta(t, q)   = T_t(q, O) W(t, t + 1, O) beta(t + 1, after(q)) + sum_e T_t(q, e) B(t, e)
//   P(t, u, e)   = A(t, e) W(t, u, e) beta(u, e) / Z,     P(q, e at t) = alpha(t, q) T_t(q, e) B(t, e) / Z
//
// What a segment follows (`History`) is nothing, the label before it, or the last entity before it. The state q is 0 or
// the number of an entity, and after O it is q itself (entity) or 0.
//
// Tests of a segment are kept where they are the same: those that look only at its first token once for that token, and
// so on (`Role`). Those that look at one value near a token have one row for each distinct value (`Shared`), which the
// rows of tokens refer to. All rows, of tokens in their roles, of segments and of values, are rows of one sparse matrix M;
// G says which rows of values belong to a row of a token:
//
//   scores = M W, those of tokens + G scores of values,   gradient = M^T expectations, those of values being G^T those of
//                                                                    tokens
//
//   seg(t, u, y) = first[t] + last[u - 1] + sum all[t .. u) + sum rest[t + 1 .. u) + sum inner[t + 1 .. u - 1)
//                  + (longer than one token: first2[t] + last2[u - 1]) + own[t, u]
//
// Sums along a segment are differences of running sums. Cost of an evaluation: the entries of M times labels, twice, and
// O(N |Q| |E| + candidates |E|) for the recursions; the packed form of the paper, O(candidates |Q| |E|), is there to be
// compared with. Scores are taken relative to the segmentation that is O everywhere, whose weight is 1, and rescaled when
// they grow; a sentence whose scores are too wide for that is computed in logarithms. The same bytes for any number of
// threads. References: Sarawagi & Cohen (2004); Okanohara, Miyao, Tsuruoka & Tsujii (2006).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/contexts.h"

namespace textmill::sequence {

enum class History : std::uint8_t { kNone, kLabel, kEntity };

enum Role : std::uint8_t { kFirst, kLast, kFirst2, kLast2, kAll, kInner, kRest, kRoles };

enum : std::size_t { kSingle = kRoles };  // for Shared: the token as a segment of its own

struct Shared {                      // tests that look at one value near a token
  std::size_t role;                  // a Role, or kSingle
  std::span<const std::int32_t> of;  // [T] row of the value at a token, -1 for none
  Rows rows;                         // of the values
};

struct Segments {                            // sentences and their candidates
  std::span<const std::int64_t> offsets;     // [S + 1] tokens of a sentence
  std::array<Rows, kRoles> roles;            // [T] rows each, or no rows: no test has that role
  std::span<const std::int64_t> candidates;  // [T + 1] candidates longer than one token that begin at a token
  std::span<const std::int32_t> lengths;     // [candidates] tokens of each, rising for one token
  std::span<const std::uint8_t> single;      // [T] whether the token alone is a candidate
  Rows own;                                  // [T + candidates] tests of single tokens, then of candidates
  Rows history;                              // [T] tests of segments that begin at a token and what they follow
  std::span<const double> weights;           // [S], or empty: all one
  std::span<const Shared> shared;            // of roles that have rows, which may be empty, and of single tokens
};

struct Hypothesis {
  double score;
  std::vector<std::int32_t>
      segments;  // (first token, tokens, label) each, counted from the first token of the sentence
};

class SegmentProblem {
 public:
  // `tests` and `history_tests` are the numbers of tests; `labels` counts O, which is label 0.
  SegmentProblem(const Segments& data, std::size_t labels, std::size_t tests, std::size_t history_tests,
                 History history);

  std::size_t sentences() const { return offsets_.size() - 1; }
  std::size_t tokens() const { return static_cast<std::size_t>(offsets_.back()); }
  std::size_t labels() const { return labels_; }
  std::size_t states() const { return states_; }
  std::size_t candidates() const { return lengths_.size(); }
  std::size_t features() const { return (tests_ + history_tests_ * states_) * labels_; }
  // For every test the sum of the squares of its values over all rows, [tests].
  std::vector<double> frequencies() const;
  // Bytes that the problem holds, what evaluations need included.
  std::size_t memory() const;
  std::span<const double> log_z() const { return log_z_; }

  // Sets the segments that are observed, as (first token, tokens, label) of entities, counted over all sentences and
  // rising; every other token is O. Each must be a candidate.
  void observe(std::span<const std::int64_t> segments);

  // Minus the log-likelihood of what is observed; adds its gradient to `gradient` (may be empty).
  double evaluate(std::span<const double> theta, std::span<double> gradient, bool packed, std::size_t threads);

  // Probabilities of every single token and candidate with every label, [T + candidates][labels].
  void marginals(std::span<const double> theta, std::span<double> probabilities, std::size_t threads);

  // Scores of rows and of histories, for forests: [T + candidates][labels] and [T][states][labels].
  void scores(std::span<const double> theta, std::span<double> segments, std::span<double> histories,
              std::size_t threads);

  // The k best segmentations of every sentence, best first; of equals the one met first. `asked`, [S][4] or empty, has
  // for every sentence a segment (first token in the sentence, tokens, label) that its answers must have (1) or not (0).
  std::vector<std::vector<Hypothesis>> best(std::span<const double> theta, std::size_t k,
                                            std::span<const std::int32_t> asked, std::size_t threads);

 private:
  struct Scratch;
  void fill_scores(std::span<const double> theta, std::size_t threads);
  void pad_and_sum(std::span<const double> theta, std::size_t threads);
  void add_shared(std::size_t threads);
  double expectations(bool packed, std::size_t threads);
  bool run_scaled(std::size_t s, bool packed, Scratch& scratch);
  void run_logarithms(std::size_t s, Scratch& scratch);
  void segment_scores(std::size_t s, Scratch& scratch) const;
  void add_gradient(std::span<double> gradient, std::size_t threads);
  std::int32_t after(std::int32_t q) const { return history_ == History::kEntity ? q : 0; }
  std::int32_t state_of(std::int32_t label) const { return history_ == History::kNone ? 0 : label; }
  double* row(std::size_t r) { return rows_.data() + r * stride_; }
  const double* row(std::size_t r) const { return rows_.data() + r * stride_; }

  std::size_t labels_, stride_, states_, tests_, history_tests_;
  History history_;
  std::vector<std::int64_t> offsets_, candidates_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::uint8_t> single_;
  std::vector<double> weights_;
  std::array<std::int64_t, kRoles> base_;  // first row of a role, -1 for none
  std::size_t own_ = 0;                    // first row of single tokens and candidates
  std::size_t values_ = 0;                 // first row of values
  Lists matrix_, transposed_;              // rows to tests and back
  Lists links_, links_back_;               // rows of tokens to rows of values, counted from `values_`, and back
  Contexts contexts_;                      // distinct sets of history tests
  Lists context_tokens_, context_of_test_;
  std::vector<double> observed_;           // [features]
  std::vector<double> rows_;               // [rows][stride] scores, then expectations
  std::vector<double> padded_;             // weights of tests, padded
  std::vector<double> histories_;          // [contexts][states][stride] tr, relative to tr(0, O)
  std::vector<double> powers_;             // exp of these
  std::vector<double> before_;             // [T][3][stride] alpha(t, q), B(t, e), alpha(t, q) beta(t + 1, after(q))
  std::vector<std::vector<double>> wide_;  // [S] of sentences in logarithms P(q, y at t), [n][states][stride]
  std::vector<double> log_z_;              // [S]
};

// The disjoint segments of each sentence with the greatest sum of gains: candidates as in Segments, gains of single
// tokens and candidates [T + candidates]. Sets a flag for each of these that is chosen.
void best_disjoint(std::span<const std::int64_t> offsets, std::span<const std::int64_t> candidates,
                   std::span<const std::int32_t> lengths, std::span<const double> gains,
                   std::span<std::uint8_t> chosen);

}  // namespace textmill::sequence
