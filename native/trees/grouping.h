// Values of an attribute in groups, the branches of a split: joined by pairs while that raises the ratio of gain and
// split information. categorical.h has the formulas and the costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trees/class_counts.h"

namespace textmill::trees {

inline constexpr double kTie = 1e-12;  // ratios nearer than this are equal: the first one wins

struct Group {
  double weight = 0.0;
  double inner = 0.0;         // sum_c K(n_c)
  std::vector<Count> counts;  // by class
  std::vector<std::int32_t> values;
};

// The groups of a node and what they are worth as a split.
class Grouping {
 public:
  Grouping(std::vector<Group>&& groups, double weight, double info, double min_cases);

  double gain() const { return info_ - after_ / weight_; }
  double split_info() const { return (x_log_x(weight_) - outer_) / weight_; }
  double ratio() const { return ratio_of(after_, outer_); }
  const std::vector<Group>& groups() const { return groups_; }

  // Groups of min_cases or more.
  std::size_t reasonable() const;

  // Values of one class each become one group a class.
  void join_pure();

  // Of very many groups, as characters of Chinese make, the heaviest stay and the others become one group a largest class;
  // of these the lightest become one. Climbing costs the cube of the number of groups.
  void join_rare();

  // Joins pairs while that raises the ratio, or while there are not two groups of min_cases.
  void climb();

 private:
  double ratio_of(double after, double outer) const;
  void measure();

  std::vector<Group> groups_;
  double weight_, info_, min_cases_;
  double after_ = 0.0;  // N times the information left
  double outer_ = 0.0;  // sum of K(|S_j|)
};

}  // namespace textmill::trees
