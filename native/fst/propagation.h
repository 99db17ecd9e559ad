// What is known of a result from what is known of the arguments (bits of properties.h), without looking at it.
//
// Every function takes the known bits of the arguments and returns bits that must be true of the result; a pair of which
// neither bit comes out stays unknown until somebody asks.
#pragma once

#include <cstdint>

#include "fst/properties.h"

namespace textmill::fst {

namespace property {
inline constexpr std::uint64_t inputs =
    ideterministic | non_ideterministic | iepsilons | no_iepsilons | ilabel_sorted | not_ilabel_sorted;
inline constexpr std::uint64_t outputs =
    odeterministic | non_odeterministic | oepsilons | no_oepsilons | olabel_sorted | not_olabel_sorted;
inline constexpr std::uint64_t labels = inputs | outputs | acceptor | not_acceptor | epsilons | no_epsilons;
inline constexpr std::uint64_t weights = weighted | unweighted | weighted_cycles | unweighted_cycles;
inline constexpr std::uint64_t numbering = top_sorted | not_top_sorted | string | not_string;
inline constexpr std::uint64_t shape =
    cyclic | acyclic | initial_cyclic | initial_acyclic | accessible | not_accessible | coaccessible | not_coaccessible;
}  // namespace property

// Bits of inputs moved to outputs and the other way round.
inline std::uint64_t exchanged(std::uint64_t known) {
  using namespace property;
  const auto move = [known](std::uint64_t from, std::uint64_t to) { return known & from ? to : 0; };
  return move(ideterministic, odeterministic) | move(non_ideterministic, non_odeterministic) |
         move(odeterministic, ideterministic) | move(non_odeterministic, non_ideterministic) |
         move(iepsilons, oepsilons) | move(no_iepsilons, no_oepsilons) | move(oepsilons, iepsilons) |
         move(no_oepsilons, no_iepsilons) | move(ilabel_sorted, olabel_sorted) |
         move(not_ilabel_sorted, not_olabel_sorted) | move(olabel_sorted, ilabel_sorted) |
         move(not_olabel_sorted, not_ilabel_sorted);
}

inline std::uint64_t inverted(std::uint64_t known) {
  using namespace property;
  return (known & ~(inputs | outputs)) | exchanged(known);
}

inline std::uint64_t projected(std::uint64_t known, bool output) {
  using namespace property;
  const std::uint64_t side = known & (output ? outputs : inputs), both = side | exchanged(side);
  return (known & ~labels) | acceptor | both | (both & iepsilons ? epsilons : 0) |
         (both & no_iepsilons ? no_epsilons : 0);
}

// Labels are changed, nothing else.
inline std::uint64_t relabeled(std::uint64_t known) { return known & ~property::labels; }

// Weights are changed, and may become zero; nothing else.
inline std::uint64_t reweighted(std::uint64_t known) {
  using namespace property;
  return known & ~(weights | coaccessible | not_coaccessible | string | not_string);
}

inline std::uint64_t renumbered(std::uint64_t known) { return known & ~property::numbering; }

// The next four are of machines with a start. Epsilons with one as weight join the two.
inline std::uint64_t united(std::uint64_t a, std::uint64_t b) {
  using namespace property;
  return (a & b & (acceptor | unweighted | acyclic | unweighted_cycles | accessible | coaccessible)) |
         ((a | b) & (not_acceptor | weighted | cyclic | weighted_cycles | not_accessible)) | epsilons | iepsilons |
         oepsilons;
}

inline std::uint64_t concatenated(std::uint64_t a, std::uint64_t b) {
  using namespace property;
  return (a & b & (acceptor | unweighted | acyclic | unweighted_cycles)) |
         ((a | b) & (not_acceptor | weighted | cyclic | weighted_cycles)) | (a & (initial_acyclic | initial_cyclic));
}

inline std::uint64_t closed(std::uint64_t known) {
  using namespace property;
  return known & (acceptor | not_acceptor | weighted | unweighted | cyclic | accessible | not_accessible |
                  coaccessible | weighted_cycles | epsilons | iepsilons | oepsilons);
}

inline std::uint64_t reversed(std::uint64_t known) {
  using namespace property;
  return known & (acceptor | not_acceptor | epsilons | iepsilons | oepsilons | weighted | unweighted | cyclic |
                  acyclic | weighted_cycles | unweighted_cycles);
}

inline std::uint64_t composed(std::uint64_t a, std::uint64_t b) {
  using namespace property;
  std::uint64_t known = (a & b & (acceptor | acyclic | unweighted | unweighted_cycles)) | accessible;
  if (a & b & no_iepsilons) known |= no_iepsilons | no_epsilons;
  if (a & b & no_oepsilons) known |= no_oepsilons | no_epsilons;
  return known;
}

}  // namespace textmill::fst
