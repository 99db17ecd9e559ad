#include "trees/forest_best.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace textmill::trees {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

struct Derivation {
  double score;
  std::int32_t choice;
  std::int32_t left, right;  // ranks
};

bool worse(const Derivation& a, const Derivation& b) {
  if (a.score != b.score) return a.score < b.score;
  if (a.choice != b.choice) return a.choice > b.choice;
  return a.left != b.left ? a.left > b.left : a.right > b.right;
}

class KBest {
 public:
  KBest(const Woven& woven, std::size_t structure, const Weights& weights)
      : woven_(woven),
        weights_(weights),
        first_(static_cast<std::size_t>(woven.node_at[structure])),
        leaves_(static_cast<std::size_t>(woven.leaves[structure])),
        nodes_(static_cast<std::size_t>(woven.node_at[structure + 1] - woven.node_at[structure])) {
    // The best score of every node first, from the leaves: no recursion is deep then.
    for (std::size_t local = 0; local < nodes_.size(); ++local) {
      Node& node = nodes_[local];
      const std::size_t at = first_ + local;
      if (local < leaves_) continue;
      for (auto c = woven_.step_at[structure] + woven_.entry[at];
           c < woven_.step_at[structure + 1] && woven_.step[c].head == static_cast<std::int32_t>(local) + 1; ++c)
        push(node, static_cast<std::int32_t>(c), 0, 0);
      pop(node);
    }
  }

  const Derivation* find(std::int32_t local, std::int32_t rank) {
    Node& node = nodes_[local];
    while (node.best.size() <= static_cast<std::size_t>(rank)) {
      if (node.best.empty()) return nullptr;
      const Derivation last = node.best.back();
      if (!node.expanded) {
        node.expanded = true;
        push(node, last.choice, last.left + 1, last.right);
        if (woven_.step[last.choice].right > 0 && last.left == 0) push(node, last.choice, 0, last.right + 1);
      }
      if (!pop(node)) return nullptr;
    }
    return &node.best[rank];
  }

  void write(std::int32_t root, std::int32_t root_rank, std::vector<std::int32_t>& out) {
    std::vector<std::pair<std::int32_t, std::int32_t>> stack{{root, root_rank}};
    while (!stack.empty()) {
      const auto [local, rank] = stack.back();
      stack.pop_back();
      if (static_cast<std::size_t>(local) < leaves_) continue;
      const Derivation d = *find(local, rank);
      out.push_back(d.choice);
      const Step& step = woven_.step[d.choice];
      if (step.right > 0) stack.emplace_back(step.right - 1, d.right);
      stack.emplace_back(step.left - 1, d.left);
    }
  }

  std::int32_t top() const { return static_cast<std::int32_t>(nodes_.size()) - 1; }

 private:
  struct Node {
    std::vector<Derivation> best, waiting;
    bool expanded = false;
  };

  // Score of a node's derivation, -infinity if there is none of this rank.
  double score(std::int32_t local, std::int32_t rank) {
    if (static_cast<std::size_t>(local) < leaves_)
      return rank == 0 ? std::log(weights_.event[woven_.entry[first_ + local]]) : kNone;
    const Derivation* d = find(local, rank);
    return d == nullptr ? kNone : d->score;
  }

  void push(Node& node, std::int32_t choice, std::int32_t left, std::int32_t right) {
    const Step& step = woven_.step[choice];
    double total = std::log(weights_.parameter[step.parameter]) + score(step.left - 1, left);
    if (step.right > 0) total += score(step.right - 1, right);
    if (!(total > kNone)) return;
    node.waiting.push_back({total, choice, left, right});
    std::push_heap(node.waiting.begin(), node.waiting.end(), worse);
  }

  bool pop(Node& node) {
    if (node.waiting.empty()) return false;
    std::pop_heap(node.waiting.begin(), node.waiting.end(), worse);
    node.best.push_back(node.waiting.back());
    node.waiting.pop_back();
    node.expanded = false;
    return true;
  }

  const Woven& woven_;
  const Weights& weights_;
  std::size_t first_, leaves_;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<BestTree> best_trees(const Woven& woven, std::size_t structure, const Weights& weights, std::size_t k) {
  KBest best(woven, structure, weights);
  std::vector<BestTree> trees;
  for (std::size_t rank = 0; rank < k; ++rank) {
    const Derivation* found = best.find(best.top(), static_cast<std::int32_t>(rank));
    if (found == nullptr) break;
    trees.push_back({found->score, {}});
    best.write(best.top(), static_cast<std::int32_t>(rank), trees.back().choices);
  }
  return trees;
}

double best_through(const Woven& woven, std::size_t structure, const Weights& weights, std::span<double> out) {
  const auto first = static_cast<std::size_t>(woven.node_at[structure]);
  const auto nodes = static_cast<std::size_t>(woven.node_at[structure + 1]) - first;
  std::vector<double> best(nodes + 1, kNone), outside(nodes + 1, kNone);
  best[0] = 0.0;
  for (std::size_t n = 0; n < static_cast<std::size_t>(woven.leaves[structure]); ++n)
    best[n + 1] = std::log(weights.event[woven.entry[first + n]]);
  const auto begin = static_cast<std::size_t>(woven.step_at[structure]);
  const auto end = static_cast<std::size_t>(woven.step_at[structure + 1]);
  const auto own = [&](const Step& step) {
    return std::log(weights.parameter[step.parameter]) + best[step.left] + best[step.right];
  };
  for (std::size_t c = begin; c < end; ++c)
    best[woven.step[c].head] = std::max(best[woven.step[c].head], own(woven.step[c]));
  if (!(best[nodes] > kNone)) return kNone;
  outside[nodes] = 0.0;
  for (std::size_t c = end; c-- > begin;) {
    const Step& step = woven.step[c];
    const double through = outside[step.head] + own(step);
    if (!(through > kNone)) continue;
    outside[step.left] = std::max(outside[step.left], through - best[step.left]);
    outside[step.right] = std::max(outside[step.right], through - best[step.right]);
    if (woven.origin[c] >= 0) out[woven.origin[c]] = std::max(out[woven.origin[c]], through);
  }
  return best[nodes];
}

}  // namespace textmill::trees
