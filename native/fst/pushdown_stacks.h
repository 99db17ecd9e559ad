// What is open on the stacks of a push-down transducer, as a number.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flat_table.h"
#include "fst/pushdown.h"
#include "fst/sequences.h"

namespace textmill::fst {

// What is open: for each stack a node of a tree whose root is the empty stack.
class Stacks {
 public:
  static constexpr std::int32_t kNone = -1;

  explicit Stacks(const Parentheses& parentheses) : parentheses_(parentheses) {
    nodes_.push_back({kNone, kNone, 0});
    const std::vector<std::int32_t> empty(parentheses.stacks(), 0);
    configurations_.insert(empty);  // 0
  }
  // With a parenthesis opened or closed; kNone if that is not allowed.
  std::int32_t next(std::int32_t configuration, Parentheses::Kind kind, std::size_t depth) {
    const auto now = configurations_[configuration];
    const std::int32_t stack = parentheses_.stack(kind.pair);
    const Restriction bound = kind.opens ? Restriction::write : Restriction::read;
    if (parentheses_.restriction() == bound)
      for (std::int32_t i = 0; i < stack; ++i)
        if (now[i] != 0) return kNone;
    scratch_.assign(now.begin(), now.end());
    std::int32_t& top = scratch_[stack];
    if (kind.opens) {
      std::size_t open = 0;
      for (const std::int32_t node : scratch_) open += static_cast<std::size_t>(nodes_[node].depth);
      if (open >= depth) return kNone;
      top = child(top, kind.pair);
    } else {
      if (nodes_[top].pair != kind.pair) return kNone;
      top = nodes_[top].parent;
    }
    return static_cast<std::int32_t>(configurations_.insert(scratch_));
  }
  // Of the only stack.
  std::int32_t pair(std::int32_t configuration) const { return nodes_[configurations_[configuration][0]].pair; }

 private:
  struct Node {
    std::int32_t parent, pair, depth;
  };
  std::int32_t child(std::int32_t node, std::int32_t pair) {
    const auto [at, added] = children_.add(base::joined_key(node, pair), static_cast<std::int32_t>(nodes_.size()));
    if (added) {
      if (nodes_.size() >= kMostStates) fail("more than 2,147,483,647 different stacks");
      nodes_.push_back({node, pair, nodes_[node].depth + 1});
    }
    return at;
  }

  const Parentheses& parentheses_;
  std::vector<Node> nodes_;
  base::FlatTable<std::int32_t> children_;
  SequenceTable configurations_;
  std::vector<std::int32_t> scratch_;
};

}  // namespace textmill::fst
