// What each attribute is worth as a split of a node, and which one to take. categorical.h has the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/categorical.h"
#include "trees/class_counts.h"

namespace textmill::trees {

inline constexpr std::size_t kLarge = 20000;  // cases of a node whose attributes are shared among threads

class Splits {
 public:
  // A view: cases and growth must outlive it.
  Splits(const Cases& cases, const Growth& growth);

  std::size_t attributes() const { return cases_.values.size() + cases_.numeric; }
  bool is_numeric(std::size_t attribute) const { return attribute >= cases_.values.size(); }

  // The worth of every attribute for the cases `rows`, whose classes have been counted.
  std::vector<Worth> worths(const std::vector<Count>& counts, std::span<const std::int32_t> rows, std::size_t threads,
                            Tally& tally) const;

  // The attribute of the highest ratio among those of enough gain; -1 where none is usable.
  std::int32_t choose(const std::vector<Worth>& worths) const;

 private:
  struct Counted {
    const std::vector<Count>& counts;
    double cases;
    double info;
  };

  Worth group_worth(std::size_t a, const Counted& node, std::span<const std::int32_t> rows, Tally& tally) const;
  Worth threshold_worth(std::size_t d, const Counted& node, std::span<const std::int32_t> rows) const;

  const Cases& cases_;
  const Growth& growth_;
  double weight_ = 0.0;  // of all cases
};

}  // namespace textmill::trees
