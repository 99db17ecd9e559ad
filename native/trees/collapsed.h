// Trees of a corpus with all multinomials integrated out: one sentence after the other is drawn anew, given the counts
// of all others.
//
//   propose T' by draw() with weights (n_i + alpha_i) / (n_row + alpha_row), n: counts without this sentence
//   accept with probability min(1, p(T') q(T) / (p(T) q(T')))
//
// q is the product of these weights; p counts events one after the other, as they come in the tree (Polya's urn). The
// two differ only where a tree uses a row twice, so nearly all proposals are accepted.
//
// Cost of a scan: that of inside() and draw() for each sentence; scans are sequential, chains independent.
// Reference: Johnson, Griffiths & Goldwater (2007), Bayesian inference for PCFGs via Markov chain Monte Carlo.
#pragma once

#include <span>
#include <vector>

#include "trees/forest_sums.h"

namespace textmill::trees {

// Multinomials in rows: entry i belongs to row[i] and has the prior count alpha[i]; `total` holds the prior counts of
// whole rows, which may have entries that no tree uses. Entries of row -1 have the fixed weight alpha[i].
struct Urns {
  std::vector<std::int32_t> row;
  std::vector<double> alpha;
  std::vector<double> total;
};

class CollapsedChain {
 public:
  CollapsedChain(const Woven& woven, Urns parameters, Urns events);

  // Draws every tree once; returns how many proposals were accepted. The first scan adds sentence by sentence.
  std::size_t scan(std::uint64_t seed, std::uint64_t iteration);

  std::vector<double> parameter_counts, event_counts;
  std::vector<std::vector<std::int32_t>> choices;  // of the intersection, by sentence

 private:
  struct Side {  // one of the two kinds of multinomials
    Urns urns;
    std::vector<double> rows;                      // counts and prior counts of rows
    std::vector<double> weight;                    // predictive weights of what a sentence uses
    std::vector<std::vector<std::int32_t>> uses;   // entries in a structure
    std::vector<std::vector<std::int32_t>> drawn;  // entries of its current tree
    void refresh(std::size_t structure, const std::vector<double>& counts);
    void add(std::span<const std::int32_t> entries, std::vector<double>& counts, double sign);
    // log of the urn scheme of the entries, minus that of their weights.
    double excess(std::span<const std::int32_t> entries, std::vector<double>& counts);
  };
  const Woven& woven_;
  Side parameters_, events_;
  Inside W_;
  std::vector<std::int32_t> stack_;
};

}  // namespace textmill::trees
