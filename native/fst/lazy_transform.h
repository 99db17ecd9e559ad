// Lazy forms of transform.h and factor.h, which write them out.
#pragma once

#include "fst/lazy.h"
#include "fst/transform.h"

namespace textmill::fst {

// Machines may call themselves: there is no end of states then, but each is reached in finite time.
template <class W>
LazyPointer<W> lazy_replace(std::vector<std::pair<std::int32_t, LazyPointer<W>>> machines,
                            const ReplaceOptions& options, std::size_t limit);
template <class W>
LazyPointer<W> lazy_synchronize(LazyPointer<W> a, std::size_t limit);
// `longest`: a fault if more labels than that wait for arcs.
LazyPointer<Dynamic::Weight> lazy_factor_weights(LazyPointer<Dynamic::Weight> a, const Dynamic& semiring, bool arcs,
                                                 bool finals, std::size_t longest, std::size_t limit);

}  // namespace textmill::fst
