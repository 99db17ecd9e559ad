// What bindings of topics check alike: the three arrays of n documents over V terms.
#pragma once

#include <cmath>

#include "bind/arrays.h"

namespace textmill::bind {

// Offsets from 0 to the number of entries, terms from 0 to V - 1, counts that are finite and not negative.
template <class Count>
void check_counts(const In<std::int64_t, 1>& offsets, const In<std::int32_t, 1>& terms, const In<Count, 1>& counts,
                  std::size_t vocabulary) {
  check_offsets(view(offsets), terms.size(), "documents");
  require(terms.size() == counts.size(), "there must be one count for each of the ", terms.size(), " terms");
  bool inside = true, fine = true;
  for (const std::int32_t term : view(terms)) inside &= term >= 0 && static_cast<std::size_t>(term) < vocabulary;
  require(inside, "terms must lie from 0 to ", vocabulary, " - 1");
  for (const Count count : view(counts)) fine &= count >= 0 && std::isfinite(static_cast<double>(count));
  require(fine, "counts must be finite and not negative");
}

}  // namespace textmill::bind
