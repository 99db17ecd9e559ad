// Minimization: the smallest machine of its kind, by merging states that cannot be told apart.
//
//   acceptors     weights are pushed to the start, arcs become single labels for (label, weight), equivalent states merge
//   transducers   outputs are pushed too, as strings; arcs are (input, output string, weight); strings are spelled out again
//
// The least number of states is reached for deterministic machines; others become smaller (bisimulation) if asked for.
// Weights that differ by less than delta are one label; the machine keeps those of the states that are kept, which are
// exact.
// Reference: Mohri (2000), Minimization algorithms for sequential transducers.
#pragma once

#include "base/flat_table.h"
#include "fst/machine.h"

namespace textmill::fst {

// With `strings` the output strings of arcs are not spelled out but numbered: the result writes the numbers, and *strings,
// a machine of loops at one state, reads a number and writes its string. The two composed are equivalent to the machine.
template <class S>
Machine<S> minimize(const Machine<S>& machine, double delta, bool allow_nondeterministic,
                    Machine<S>* strings = nullptr);

// ---- encoding: labels and weights of arcs as single labels

template <class W>
class Codes {
 public:
  struct Code {
    std::int32_t ilabel, olabel;
    W weight;
  };
  Codes(bool labels, bool weights) : labels_(labels), weights_(weights) {}
  bool labels() const { return labels_; }
  bool weights() const { return weights_; }
  std::size_t size() const { return codes_.size(); }
  const Code& operator[](std::int32_t label) const { return codes_[label - 1]; }  // labels count from 1
  std::int32_t of(std::int32_t ilabel, std::int32_t olabel, const W& weight);

 private:
  bool labels_, weights_;
  std::vector<Code> codes_;
  base::FlatIndex index_;
};
#define X(W) extern template class Codes<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

template <class S>
class Encoder : public Codes<typename S::Weight> {
 public:
  Encoder(const S& semiring, bool labels, bool weights)
      : Codes<typename S::Weight>(labels, weights), semiring_(semiring) {}
  const S& semiring() const { return semiring_; }

 private:
  [[no_unique_address]] S semiring_;
};

// An arc of state s with what its label stands for; k has times(). A label of a final weight becomes epsilon.
template <class K, class W>
Arc<W> decoded(const K& k, const Codes<W>& codes, Arc<W> arc, std::int32_t s) {
  if (arc.ilabel == 0) return arc;
  if (static_cast<std::size_t>(arc.ilabel) > codes.size())
    fail("label ", arc.ilabel, " at state ", s, " is not one of the ", codes.size(), " of the encoder");
  if (codes.labels() && arc.ilabel != arc.olabel)
    fail("an encoded machine is an acceptor, but state ", s, " has the labels ", arc.ilabel, " and ", arc.olabel);
  const auto code = codes[arc.ilabel];
  arc.ilabel = std::max(code.ilabel, 0);  // kNoLabel: a final weight
  if (codes.labels()) arc.olabel = std::max(code.olabel, 0);
  if (codes.weights()) arc.weight = k.times(arc.weight, code.weight);
  return arc;
}

// An acceptor with labels of the encoder. Encoded final weights become arcs to one final state.
template <class W>
Automaton<W> encode(const Automaton<W>& machine, Codes<W>& encoder);
template <class S>
Machine<S> encode(const Machine<S>& machine, Encoder<S>& encoder) {
  Codes<typename S::Weight>& codes = encoder;
  return {machine.semiring(), encode(machine.bare(), codes)};
}
template <class S>
Machine<S> decode(const Machine<S>& machine, const Encoder<S>& encoder);

}  // namespace textmill::fst
