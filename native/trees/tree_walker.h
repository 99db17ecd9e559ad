// A tree that classifies: values lead to nodes in one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/categorical.h"

namespace textmill::trees {

class Walker {
 public:
  // `values` as in Cases; the arrays of `flat` must be consistent (the binding checks them).
  Walker(const Flat& flat, std::span<const std::int32_t> values);

  // The node where a case ends: a leaf, or the node at which its value was never seen. code(a), number(d).
  template <class Code, class Number>
  std::int32_t walk(Code&& code, Number&& number) const {
    std::int32_t node = 0;
    while (true) {
      const Step& step = steps_[node];
      if (step.attribute < 0) return node;
      std::int32_t next;
      if (step.attribute < numeric_from_) {
        const std::int32_t value = code(step.attribute);
        next = value < 0 || value >= values_[step.attribute] ? -1
               : step.listed                                 ? find(step.at, step.listed, value)
                                                             : targets_[step.at + value];
      } else {
        next = step.first + (number(step.attribute - numeric_from_) <= step.threshold ? 0 : 1);
      }
      if (next < 0) return node;
      node = next;
    }
  }

  std::size_t nodes() const { return steps_.size(); }
  std::size_t attributes() const { return values_.size(); }
  std::int32_t label(std::int32_t node) const { return steps_[node].label; }

 private:
  struct Step {
    std::int32_t attribute;
    std::int32_t label;
    std::int32_t first;
    std::int32_t listed;  // 0: a target for each value; else so many values seen, then their targets
    std::size_t at;       // in targets_
    double threshold;
  };
  std::int32_t find(std::size_t at, std::int32_t count, std::int32_t value) const;

  std::vector<Step> steps_;
  std::vector<std::int32_t> targets_;
  std::vector<std::int32_t> values_;
  std::int32_t numeric_from_;
};

}  // namespace textmill::trees
