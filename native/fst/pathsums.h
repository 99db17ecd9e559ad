// Sums over the paths of a machine that read a given string and write another, and how often each arc is on them.
//
//   alpha(i, j, s) = sum of the weights of all paths from the start to s that have read x_1..x_i and written y_1..y_j
//   beta(i, j, s)  = sum of the weights of all ways from there to the end that read and write the rest
//   Z(x, y)        = sum over s of alpha(|x|, |y|, s) final(s)
//   E[arc]         = sum over its places (i, j) of alpha(i, j, source) p(arc) beta(i', j', target) / Z
//
// so that E[arc] = d ln Z / d ln p(arc), and E[final of s] likewise. A side that is not observed is summed over: its
// labels count as epsilon. Arcs that read and write nothing (silent ones) are summed inside a cell: the components of
// silent arcs are visited in topological order, and a component with cycles is multiplied by the star of its matrix,
// (I - P)^-1, which does not depend on the place and is made once for each set of weights. P's star exists if and only
// if silent cycles lose mass.
//
// Weights are plain probabilities or scores >= 0. A cell (i, j) has an exponent of its own, so that strings of any
// length neither vanish nor overflow; states whose share of a cell is below 2^-900 are dropped. Only states that can be
// reached are visited. Cost: one visit per (cell, arc that fits), twice; memory: 20 bytes per reached state of a cell of
// the pair at work, and one array of counts per lane (native/base/parallel.h), so that results have the same bytes for
// any number of threads. Reference: Eisner (2002), Parameter estimation for probabilistic finite-state transducers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fst/align.h"

namespace textmill::fst {

// A machine without weights; a view. Labels are >= 0, 0 is epsilon.
struct Skeleton {
  std::int32_t start;                    // -1: there is none
  std::span<const std::int64_t> begin;   // [N + 1] where the arcs of each state begin
  std::span<const std::int32_t> ilabel;  // [M]
  std::span<const std::int32_t> olabel;  // [M]
  std::span<const std::int32_t> next;    // [M]
};

class PathSums {
 public:
  // Copies what it needs. `input`, `output`: is this side observed?
  PathSums(const Skeleton& machine, bool input, bool output);

  std::size_t states() const { return begin_.size() - 1; }
  std::size_t arcs() const { return arc_.size(); }
  bool input() const { return input_; }
  bool output() const { return output_; }
  bool weighed() const { return weighed_; }  // did weigh return true?

  // Weights of arcs [M] and of ends [N], finite and >= 0. False if a silent cycle has a mass of one or more: there are no
  // sums, and the weights of before are lost.
  bool weigh(std::span<const double> weight, std::span<const double> final);

  // ln Z of every pair into log_total [pairs], -infinity where no path fits; adds share[k] (1 if empty) times the
  // expected counts of pair k to counts [M] and final_counts [N] if `counting`. A side that is not observed
  // has no strings: pass none. Symbols are not 0; one below 0 is read by no arc. weigh must have returned true.
  void expect(const Strings& x, const Strings& y, std::span<const double> share, std::size_t threads, bool counting,
              std::span<double> log_total, std::span<double> counts, std::span<double> final_counts) const;

 private:
  struct Cell;
  struct Work;
  struct Sum;
  struct Component {
    std::vector<std::int32_t> states;
    std::vector<double> star;  // [k][k]; empty: no cycle
  };

  void find_components();
  double run(std::span<const std::int32_t> x, std::span<const std::int32_t> y, double share, Work& work,
             Sum* sum) const;
  void close_forward(Work& work) const;
  void close_backward(Work& work, const Cell& cell, double share, Sum* sum) const;

  std::int32_t start_;
  bool input_, output_, weighed_ = false;
  std::vector<std::int64_t> begin_;      // [N + 1]
  std::vector<std::uint64_t> key_;       // [M] labels of the observed sides, rising inside a state; 0: silent
  std::vector<std::int32_t> next_;       // [M]
  std::vector<std::int64_t> arc_;        // [M] which arc of the caller's this is
  std::vector<double> weight_;           // [M]
  std::vector<double> final_;            // [N]
  std::vector<std::int32_t> component_;  // [N] in topological order; empty: there are no silent arcs
  std::vector<Component> components_;
};

}  // namespace textmill::fst
