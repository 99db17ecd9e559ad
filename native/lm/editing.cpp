#include "lm/editing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"

namespace textmill::lm {
namespace {

constexpr std::size_t kBlock = 1024;  // contexts handed to a thread at once

double power(double log10) { return std::pow(10.0, log10); }

std::size_t index(std::int64_t x) { return static_cast<std::size_t>(x); }

// Sums over the words seen after a context.
struct Seen {
  double own = 0.0;    // of p(x | h)
  double lower = 0.0;  // of p(x | h')
};

double lower_probability(const BackOff& model, std::size_t h, std::int32_t word, std::span<const double> back_off) {
  std::int32_t state = model.suffix[h], found = model.find(state, word);
  double sum = 0.0;
  while (found < 0) {
    sum += back_off[index(state)];
    state = model.suffix[index(state)];
    found = model.find(state, word);
  }
  return power(sum + model.log_probability[index(found)]);
}

Seen seen_after(const BackOff& model, std::size_t h, std::span<const double> back_off) {
  Seen seen;
  for (std::int32_t c = model.tree.first[h]; c < model.tree.first[h + 1]; ++c) {
    seen.own += power(model.log_probability[index(c)]);
    seen.lower += lower_probability(model, h, model.tree.word[index(c)], back_off);
  }
  return seen;
}

// Of what is left and what it is spread over; the smallest weight where rounding leaves nothing.
double weight_of(double mass, double room) {
  if (!(mass > 0.0)) return kNever;
  return room > 0.0 ? std::log10(mass / room) : 0.0;
}

}  // namespace

std::vector<double> back_offs(const BackOff& model, std::size_t threads) {
  const Tree& tree = model.tree;
  std::vector<double> b(tree.nodes(), 0.0);
  for (std::size_t n = 1; n < tree.order(); ++n) {
    const std::size_t from = index(tree.level[n]), to = index(tree.level[n + 1]);
    base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t h = from + first; h < from + last; ++h) {
        if (tree.first[h] == tree.first[h + 1]) continue;
        const Seen seen = seen_after(model, h, b);
        b[h] = weight_of(1.0 - seen.own, 1.0 - seen.lower);
      }
    });
  }
  return b;
}

std::vector<double> importance(const BackOff& model, std::span<const double> weight, Loss loss, std::size_t threads) {
  const Tree& tree = model.tree;
  std::vector<double> score(tree.nodes(), std::numeric_limits<double>::infinity());
  std::vector<double> b(index(tree.level[tree.order()]));  // of contexts
  for (std::size_t v = 0; v < b.size(); ++v) b[v] = model.log_back_off[v];
  for (std::size_t n = tree.order(); n-- > 1;) {  // longest first: what has children is worth the best of them
    const std::size_t from = index(tree.level[n]), to = index(tree.level[n + 1]);
    base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t h = from + first; h < from + last; ++h) {
        if (tree.first[h] == tree.first[h + 1]) continue;
        const Seen seen = seen_after(model, h, b);
        const double mass = std::max(1.0 - seen.own, 0.0), room = 1.0 - seen.lower, alpha = b[h];
        for (std::int32_t c = tree.first[h]; c < tree.first[h + 1]; ++c) {
          const std::size_t v = index(c);
          const double p = power(model.log_probability[v]);
          const double lower = lower_probability(model, h, tree.word[v], b);
          double lost;
          if (loss == Loss::kEntropy) {
            const double without = weight_of(mass + p, room + lower);
            lost = weight[h] * std::log(10.0) *
                   (p * (model.log_probability[v] - without - std::log10(lower)) + (alpha - without) * mass);
          } else {
            lost = weight[v] * std::log(10.0) * (model.log_probability[v] - alpha - std::log10(lower));
          }
          double best = lost;
          if (n + 1 < tree.order())
            for (std::int32_t g = tree.first[v]; g < tree.first[v + 1]; ++g) best = std::max(best, score[index(g)]);
          score[v] = best;
        }
      }
    });
  }
  return score;
}

std::vector<double> chain_rule(const BackOff& model) {
  const Tree& tree = model.tree;
  std::vector<double> p(tree.nodes(), 1.0);
  for (std::size_t n = 0; n < tree.order(); ++n)
    for (std::size_t h = index(tree.level[n]); h < index(tree.level[n + 1]); ++h)
      for (std::int32_t c = tree.first[h]; c < tree.first[h + 1]; ++c) {
        const bool starts = h == 0 && tree.word[index(c)] == model.begin;
        p[index(c)] = p[h] * power(model.log_probability[starts ? index(1 + model.end) : index(c)]);
      }
  return p;
}

Selected select(const Tree& tree, std::span<const std::uint8_t> marked) {
  Selected made;
  made.level = {0, 1};
  made.word = {-1};
  made.old = {0};
  std::size_t from = 0;  // of the parents in the new tree
  for (std::size_t n = 0; n < tree.order(); ++n) {
    const std::size_t to = made.old.size();
    for (std::size_t parent = from; parent < to; ++parent) {
      const std::size_t h = index(made.old[parent]);
      made.first.push_back(static_cast<std::int32_t>(made.word.size()));
      for (std::int32_t c = tree.first[h]; c < tree.first[h + 1]; ++c) {
        if (n > 0 && !marked[index(c)]) continue;
        made.word.push_back(tree.word[index(c)]);
        made.old.push_back(c);
      }
    }
    from = to;
    made.level.push_back(static_cast<std::int64_t>(made.word.size()));
  }
  made.first.push_back(static_cast<std::int32_t>(made.word.size()));
  return made;
}

std::vector<double> evaluate(const BackOff& model, const Tree& tree, std::span<const std::int32_t> name) {
  std::vector<double> out(tree.nodes(), kNever);
  std::vector<std::int32_t> state(tree.nodes(), 0);  // of the model after each n-gram
  for (std::size_t n = 0; n < tree.order(); ++n)
    for (std::size_t h = index(tree.level[n]); h < index(tree.level[n + 1]); ++h)
      for (std::int32_t c = tree.first[h]; c < tree.first[h + 1]; ++c) {
        std::int32_t next = state[h];
        const std::int32_t word = tree.word[index(c)];
        out[index(c)] = model.step(next, name[index(word)]);
        state[index(c)] = next;
      }
  return out;
}

}  // namespace textmill::lm
