// Composition: C(x, z) = plus over y of A(x, y) times B(y, z).
//
// A state of C is (s1, s2, f). Arcs with a.olabel = b.ilabel give (a.ilabel, b.olabel, a.weight times b.weight). Where A
// writes epsilon it may move while B stays, and the other way round; the filter, whose state is f, lets just one of the
// orders through in which that can happen, or paths would be counted several times:
//
//   filter         A moves alone                      B moves alone                      both move by epsilon
//   sequence       if f = 0, then 0                   1, or 0 if s1 writes no epsilon;    no
//                                                     not if s1 does nothing else
//   alt_sequence   mirror image                       mirror image                       no
//   match          f = 0: 1, or 0 if s2 reads none,   f = 0: 2, or 0 if s1 writes none,   if f = 0, then 0
//                  not if it does nothing else;       not if it does nothing else;
//                  f = 1: 1                           f = 2: 2
//   no_match       yes                                yes                                no
//   trivial        yes                                yes                                yes
//   null           no                                 no                                 as an ordinary symbol
//
// Symbols of one of the machines that are never in the result: sigma matches any label, rho any that nothing else matches,
// phi is followed, reading nothing, when nothing matches. Arcs are found by bisection in the arcs sorted by label; if both
// machines are sorted, the state with fewer arcs is searched for in the other. O(N1 N2 D1 (log D2 + matches)).
// Reference: Mohri (2009); Allauzen & Mohri (2008), 3-way composition.
#pragma once

#include "fst/machine.h"

namespace textmill::fst {

enum class Filter : std::uint8_t { sequence, alt_sequence, match, no_match, trivial, null };

struct Specials {
  std::int32_t sigma = kNoLabel, rho = kNoLabel, phi = kNoLabel;
  bool any() const { return sigma != kNoLabel || rho != kNoLabel || phi != kNoLabel; }
};

// Where the other label of an arc that matched by sigma, rho or phi is that symbol too: does it become the matched label?
enum class Rewrite : std::uint8_t { always, never, acceptors };

// How arcs with a label are found: by bisection, where the arcs of a machine are sorted (automatic sorts one if neither
// is, sorted refuses), or in a hash table of the second machine, which is filled for each state that is searched.
enum class Matcher : std::uint8_t { automatic, sorted, hash };

struct ComposeOptions {
  Filter filter = Filter::sequence;
  bool connect = true;
  Specials left, right;    // on the output of A, on the input of B; at most one of them
  bool phi_finals = true;  // a state that is not final is final through its phi arc
  bool phi_loop = false;   // a phi arc to its own state takes the label, as rho does
  Rewrite rewrite = Rewrite::always;
  Matcher matcher = Matcher::automatic;
};

template <class S>
Machine<S> compose(const Machine<S>& a, const Machine<S>& b, const ComposeOptions& options);

// A with B's strings taken away: B an unweighted, deterministic acceptor without epsilons.
template <class S>
Machine<S> difference(const Machine<S>& a, const Machine<S>& b, const ComposeOptions& options);

}  // namespace textmill::fst
