// Transducers as acceptors over gallic weights, and back: the output of an arc becomes part of its weight, as a string.
//
//   to_gallic     (i, o, w) becomes (i, i, (o, w))
//   from_gallic   (i, i, (string, w)) becomes (i, first label, w), the other labels on the arcs that follow (they are
//                 factored out), what is left at the end on arcs that read nothing; of sets of strings an arc for each
#pragma once

#include <memory>

#include "fst/algebra.h"
#include "fst/machine.h"

namespace textmill::fst {

// The weights of a gallic algebra as those of a machine; the algebra must be made of them.
template <class S>
class GallicWeights {
 public:
  explicit GallicWeights(const GallicAlgebra& gallic);
  static bool fit(const GallicAlgebra& gallic);
  Algebra::Id id(const typename S::Weight& w) const;
  typename S::Weight weight(Algebra::Id id) const;
  S semiring() const;

 private:
  AlgebraPointer weights_;
};

template <class S>
Machine<Dynamic> to_gallic(const Machine<S>& machine, const std::shared_ptr<GallicAlgebra>& gallic);

template <class S>
Machine<S> from_gallic(const Machine<Dynamic>& machine);

}  // namespace textmill::fst
