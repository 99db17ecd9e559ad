// Chains of hidden states of order 1 and 2 as one shape, each state with a label: what searches over labels walk on.
//
//   order 1   a node at t is the state h_t                    H nodes
//   order 2   a node at t is the pair (h_{t-1}, h_t)          H^2 nodes, number h_{t-1} H + h_t; at t = 0 it is h_0
//
// From every node go H arcs, one per next state c, to the node base(node) + c, where base is 0 or H h_t. So both orders
// have one recursion: alpha_t(base(a) + c) += alpha_{t-1}(a) psi_t(a, c) phi_t(c). Scores of arcs are the sum of the
// weights of the bigram and trigram tests of a token, once per distinct set of them (contexts.h).
//
// States of a label are neighbors: label y has the states first[y] .. first[y + 1] - 1.
// Potentials psi, phi are exponentials, scaled, while the scores of a token differ little (`wide` is false): values of
// the nodes of one position can then differ by no more than one or two steps make, and nothing underflows. Otherwise,
// and where arcs are forbidden, searches work on the logarithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/contexts.h"
#include "sequence/features.h"

namespace textmill::sequence {

struct States {
  std::size_t order;                // 1 or 2
  std::size_t states;               // H
  std::size_t labels;               // Y
  std::vector<std::size_t> first;   // [Y + 1] states of a label
  std::vector<std::int32_t> owner;  // [H]

  States(std::size_t order, std::size_t labels, std::span<const std::int32_t> owner);  // owners rise

  std::size_t nodes() const { return order == 2 ? states * states : states; }
  std::size_t stride() const { return (states + 3) / 4 * 4; }
  std::size_t base(std::size_t node) const { return order == 2 ? node % states * states : 0; }
  std::size_t state(std::size_t node) const { return order == 2 ? node % states : node; }
  // Features: (unigram test, h), then (bigram test, h', h), then (trigram test, h'', h', h).
  std::size_t size(const Layout& layout, std::size_t trigrams) const {
    return layout.size() + trigrams * states * states * states;
  }
};

struct Arcs {                // of one context
  const double* scores;      // [nodes][stride] logarithms; -infinity is forbidden
  const double* psi;         // [nodes][stride] exp(score - shift), zeros behind the last state; or null: too wide
  const double* transposed;  // [states][stride] of psi, for order 1; else null
  double shift;
};

struct Trellis {  // one sequence: a view
  const States* states;
  std::size_t length;       // T >= 1
  const double* unary;      // [T][H] logarithms; -infinity is forbidden
  const Arcs* const* arcs;  // [T], the first is not looked at
  bool wide;                // potentials do not hold it: use the logarithms
};

struct TrellisInput {
  Layout layout;                          // labels are the H states
  std::size_t trigrams;                   // tests
  Weights weights;                        // of all features; a support only without trigram tests
  std::span<const std::int64_t> offsets;  // [S + 1]
  Rows unigram;
  Rows arcs;  // bigram tests, and trigram tests b numbered layout.bigrams + b; not looked at in first tokens
  std::span<const std::uint8_t> allowed;      // [T][H] or empty
  std::span<const std::uint8_t> transitions;  // [H][H] or empty
};

// Scores of the arcs of a context.
void arc_scores(const States& states, const TrellisInput& input, const Lists& tests, std::size_t context, double* out);

// Contexts of a stretch of sequences, and their arcs.
struct Round {
  Contexts contexts;
  std::vector<double> scores, psi, transposed;
  std::vector<Arcs> arcs;   // [contexts]
  std::size_t first, last;  // sequences
};
// The next round from sequence `first` on.
Round next_round(const States& states, const TrellisInput& input, std::size_t first, std::size_t threads);

// Fills unary [T][H] and arcs [T] of a sequence of a round.
Trellis trellis_of(const States& states, const TrellisInput& input, const Round& round, std::size_t sequence,
                   std::vector<double>& unary, std::vector<const Arcs*>& arcs);

// Logarithms of sums over all paths: fills forward a and backward b [T][nodes] (either may be empty), returns log Z.
double trellis_sums(const Trellis& trellis, std::span<double> a, std::span<double> b);

// Viterbi: fills the states [T] of the best path and returns its score; -infinity and -1 when all are forbidden.
double best_states(const Trellis& trellis, std::span<std::int32_t> path);

}  // namespace textmill::sequence
