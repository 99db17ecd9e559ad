#include "lm/ngram.h"

#include <algorithm>
#include <cmath>

#include "base/all_of.h"
#include "base/parallel.h"
#include "base/random.h"

namespace textmill::lm {
namespace {

constexpr std::size_t kBlock = 4096;     // nodes, or
constexpr std::size_t kSentences = 256;  // sentences handed to a thread at once
constexpr std::size_t kTries = 1000;     // words drawn before all are weighed one by one

// The length of the n-gram of a node.
std::int8_t length_of(const Tree& tree, std::int32_t node) {
  std::int8_t n = 1;
  while (node >= tree.level[static_cast<std::size_t>(n + 1)]) ++n;
  return n;
}

}  // namespace

const char* fault_of(const Tree& tree, std::size_t threads) {
  if (tree.level.size() < 3 || tree.level[0] != 0 || tree.level[1] != 1)
    return "levels must begin with 0, 1 and hold an order";
  for (std::size_t n = 1; n < tree.level.size(); ++n)
    if (tree.level[n] < tree.level[n - 1]) return "levels must not decrease";
  if (static_cast<std::size_t>(tree.level.back()) != tree.word.size() || tree.word.size() > kMostNodes)
    return "the last level must be the number of nodes";
  const auto inner = static_cast<std::size_t>(tree.level[tree.order()]);
  if (tree.first.size() != inner + 1 || tree.first[0] != 1 || tree.first[1] != tree.level[2])
    return "there must be a first child for each node but those of the highest order, and one more";
  for (std::size_t n = 0; n < tree.order(); ++n) {
    if (tree.first[static_cast<std::size_t>(tree.level[n])] != tree.level[n + 1])
      return "children must follow level by level";
  }
  const auto all = [threads](std::size_t begin, std::size_t end, auto&& fine) {
    return base::all_of(begin, end, threads, fine);
  };
  if (!all(0, inner, [&](std::size_t v) { return tree.first[v] <= tree.first[v + 1]; }))
    return "children must not overlap";
  if (tree.first[inner] != tree.level.back()) return "every node must be a child";
  if (tree.word[0] != -1) return "node 0 must be empty";
  const auto words = static_cast<std::size_t>(tree.level[2] - 1);
  if (!all(0, words, [&](std::size_t w) { return tree.word[1 + w] == static_cast<std::int32_t>(w); }))
    return "every word must have a node of order 1";
  if (!all(1 + words, tree.nodes(), [&](std::size_t v) { return static_cast<std::uint32_t>(tree.word[v]) < words; }))
    return "a word is out of range";
  if (!all(1, inner, [&](std::size_t v) {
        bool rising = true;
        for (std::int32_t c = tree.first[v] + 1; c < tree.first[v + 1]; ++c) rising &= tree.word[c - 1] < tree.word[c];
        return rising;
      }))
    return "children must be sorted by word";
  return nullptr;
}

std::int32_t child(const Tree& tree, std::int32_t node, std::int32_t word) {
  if (node == 0) return 1 + word;
  const auto begin = tree.word.begin() + tree.first[node], end = tree.word.begin() + tree.first[node + 1];
  const auto at = std::lower_bound(begin, end, word);
  return at != end && *at == word ? static_cast<std::int32_t>(at - tree.word.begin()) : -1;
}

void suffixes(const Tree& tree, std::span<std::int32_t> suffix, std::size_t threads) {
  std::fill(suffix.begin(), suffix.begin() + tree.level[2], 0);
  for (std::size_t n = 1; n < tree.order(); ++n) {  // level by level: a child looks at the suffix of its parent
    const auto from = static_cast<std::size_t>(tree.level[n]), to = static_cast<std::size_t>(tree.level[n + 1]);
    base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = from + begin; v < from + end; ++v) {
        for (std::int32_t c = tree.first[v]; c < tree.first[v + 1]; ++c) {
          std::int32_t context = suffix[v], found = child(tree, context, tree.word[c]);
          while (found < 0) found = child(tree, context = suffix[context], tree.word[c]);  // node 0 has every word
          suffix[c] = found;
        }
      }
    });
  }
}

void spell(const Tree& tree, std::size_t n, std::span<const std::int32_t> above, std::span<std::int32_t> rows,
           std::size_t threads) {
  const auto from = static_cast<std::size_t>(tree.level[n - 1]), to = static_cast<std::size_t>(tree.level[n]);
  base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const std::int32_t* context = above.data() + v * (n - 1);
      for (auto c = static_cast<std::size_t>(tree.first[from + v]);
           c < static_cast<std::size_t>(tree.first[from + v + 1]); ++c)
        *std::copy(context, context + n - 1, rows.data() + (c - to) * n) = tree.word[c];
    }
  });
}

Lookup::Lookup(const Tree& tree) {
  const std::size_t nodes = tree.nodes() - static_cast<std::size_t>(tree.level[2]);
  size_ = nodes + nodes / 3 + 1;
  slots_.resize(size_ + 64);
  for (auto v = static_cast<std::size_t>(1); v < static_cast<std::size_t>(tree.level[tree.order()]); ++v) {
    for (std::int32_t c = tree.first[v]; c < tree.first[v + 1]; ++c) {
      const auto parent = static_cast<std::int32_t>(v);
      auto at = static_cast<std::size_t>(first_slot(parent, tree.word[c]) - slots_.data());
      while (slots_[at].node != 0) ++at;
      if (at + 1 == slots_.size()) slots_.resize(slots_.size() + 64);  // a free one must follow
      slots_[at] = {parent, tree.word[c], c, 0, 0.0};
    }
  }
}

Lookup::Lookup(const Tree& tree, std::span<const std::int32_t> suffix, std::span<const double> log_probability,
               std::span<const double> log_back_off)
    : Lookup(tree) {
  const auto inner = static_cast<std::size_t>(tree.level[tree.order()]);
  for (Slot& slot : slots_) {
    if (slot.node == 0) continue;
    const auto v = static_cast<std::size_t>(slot.node);
    slot.state = v < inner ? slot.node : suffix[v];
    slot.log_probability = log_probability[v];
  }
  contexts_.resize(inner);
  for (std::size_t v = 0; v < inner; ++v) contexts_[v] = {log_back_off[v], suffix[v]};
}

std::int32_t BackOff::move(std::int32_t& state, std::int32_t word, double& log_p) const {
  double back_off = 0.0;
  std::int32_t found = find(state, word);
  while (found < 0) {
    back_off += log_back_off[static_cast<std::size_t>(state)];
    state = suffix[static_cast<std::size_t>(state)];
    found = find(state, word);
  }
  state = state_after(found);
  log_p = back_off + log_probability[static_cast<std::size_t>(found)];
  return found;
}

std::int32_t BackOff::after(std::int32_t state, std::span<const std::int32_t> words) const {
  for (const std::int32_t word : words) step(state, word);
  return state;
}

namespace {

// The words of a stretch of sentences, several sentences at a time: while one look-up waits for memory the others go on.
class Interleaved {
 public:
  Interleaved(const BackOff& model, std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
              bool with_end, std::span<double> out, std::span<std::int8_t> order)
      : model_(model),
        lookup_(*model.lookup),
        offsets_(offsets),
        tokens_(tokens),
        with_end_(with_end),
        out_(out),
        order_(order) {}

  void score(std::size_t begin, std::size_t end) {
    next_ = begin;
    stop_ = end;
    std::array<Lane, kLanes> lanes;
    std::size_t busy = 0;
    while (busy < kLanes && open(lanes[busy])) ++busy;
    while (busy > 0) {
      for (std::size_t l = 0; l < busy;) {
        if (advance(lanes[l])) {
          ++l;
        } else {
          lanes[l] = lanes[--busy];
        }
      }
    }
  }

 private:
  static constexpr std::size_t kLanes = 12;
  struct Lane {
    std::int64_t at, end;  // the token to be scored, and where its sentence ends
    std::size_t to;        // where its score goes
    std::int32_t state, word;
    double back_off;
    const Lookup::Slot* slot;
  };

  // Begins the next sentence that has a token; false where there is none.
  bool open(Lane& lane) {
    for (; next_ < stop_; ++next_) {
      const auto begin = offsets_[next_], end = offsets_[next_ + 1] + with_end_;
      if (begin == end) continue;
      lane.at = begin;
      lane.end = end;
      lane.to = static_cast<std::size_t>(begin) + (with_end_ ? next_ : 0);
      lane.state = model_.start();
      ++next_;
      prepare(lane);
      return true;
    }
    return false;
  }

  void prepare(Lane& lane) {
    const bool ends = with_end_ && lane.at + 1 == lane.end;
    const std::int32_t token = ends ? model_.end : tokens_[static_cast<std::size_t>(lane.at)];
    lane.word = token < 0 ? model_.unknown : token;
    lane.back_off = 0.0;
    fetch(lane);
  }

  void fetch(Lane& lane) {
    if (lane.state == 0) return;
    lane.slot = lookup_.first_slot(lane.state, lane.word);
    __builtin_prefetch(lane.slot);
    __builtin_prefetch(&lookup_.context(lane.state));
  }

  // One look-up; false where there is nothing left to do.
  bool advance(Lane& lane) {
    double p;
    std::int32_t node, state;
    if (lane.state == 0) {
      node = 1 + lane.word;
      p = model_.log_probability.exact[static_cast<std::size_t>(node)];
      state = model_.tree.order() > 1 ? node : 0;
    } else {
      const Lookup::Slot* slot = lookup_.search(lane.slot, lane.state, lane.word);
      if (slot == nullptr) {
        const Lookup::Context& context = lookup_.context(lane.state);
        lane.back_off += context.log_back_off;
        lane.state = context.suffix;
        fetch(lane);
        return true;
      }
      node = slot->node;
      p = slot->log_probability;
      state = slot->state;
    }
    out_[lane.to] = lane.back_off + p;
    if (!order_.empty()) order_[lane.to] = length_of(model_.tree, node);
    lane.state = state;
    ++lane.to;
    if (++lane.at == lane.end) return open(lane);
    prepare(lane);
    return true;
  }

  const BackOff& model_;
  const Lookup& lookup_;
  std::span<const std::int64_t> offsets_;
  std::span<const std::int32_t> tokens_;
  bool with_end_;
  std::span<double> out_;
  std::span<std::int8_t> order_;
  std::size_t next_ = 0, stop_ = 0;
};

}  // namespace

void score(const BackOff& model, std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
           bool with_end, std::span<double> out, std::span<std::int8_t> order, std::size_t threads) {
  if (model.lookup != nullptr && model.lookup->has_numbers()) {
    base::parallel_blocks(offsets.size() - 1, kSentences, threads, [&](std::size_t begin, std::size_t end) {
      Interleaved(model, offsets, tokens, with_end, out, order).score(begin, end);
    });
    return;
  }
  base::parallel_blocks(offsets.size() - 1, kSentences, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      auto at = static_cast<std::size_t>(offsets[s]) + (with_end ? s : 0);
      std::int32_t state = model.start();
      for (std::int64_t i = offsets[s]; i < offsets[s + 1] + with_end; ++i, ++at) {
        const std::int32_t token = i < offsets[s + 1] ? tokens[i] : model.end;
        const std::int32_t node = model.move(state, token < 0 ? model.unknown : token, out[at]);
        if (!order.empty()) order[at] = length_of(model.tree, node);
      }
    }
  });
}

void distribution(const BackOff& model, std::int32_t state, std::span<double> out) {
  const Tree& tree = model.tree;
  if (state == 0) {
    for (std::size_t w = 0; w < tree.words(); ++w) out[w] = std::pow(10.0, model.log_probability[1 + w]);
    out[static_cast<std::size_t>(model.begin)] = 0.0;
    return;
  }
  distribution(model, model.suffix[state], out);
  const double back_off = std::pow(10.0, model.log_back_off[state]);
  for (double& p : out) p *= back_off;
  for (std::int32_t c = tree.first[state]; c < tree.first[state + 1]; ++c)
    out[tree.word[c]] = std::pow(10.0, model.log_probability[c]);
  out[static_cast<std::size_t>(model.begin)] = 0.0;
}

std::vector<double> running_sums(const BackOff& model, std::size_t threads) {
  const Tree& tree = model.tree;
  std::vector<double> sums(tree.nodes(), 0.0);
  base::parallel_blocks(
      static_cast<std::size_t>(tree.level[tree.order()]), kBlock, threads, [&](std::size_t from, std::size_t to) {
        for (std::size_t h = from; h < to; ++h) {
          double sum = 0.0;
          for (std::int32_t c = tree.first[h]; c < tree.first[h + 1]; ++c)
            sums[c] = sum += tree.word[c] == model.begin ? 0.0 : std::pow(10.0, model.log_probability[c]);
        }
      });
  return sums;
}

namespace {

struct Drawer {
  const BackOff& model;
  std::span<const double> sums;
  base::Random& random;

  // The child whose stretch of the running sums holds u; the last one where u is beyond.
  std::int32_t child_at(std::int32_t state, double u) const {
    const auto begin = sums.begin() + model.tree.first[state], end = sums.begin() + model.tree.first[state + 1];
    const auto at = std::upper_bound(begin, end, u);
    return static_cast<std::int32_t>((at == end ? end - 1 : at) - sums.begin());
  }

  // The node of the longest n-gram that ends in the word drawn.
  std::int32_t draw(std::int32_t state) {
    const std::int32_t first = model.tree.first[state], last = model.tree.first[state + 1];
    const double u = random.uniform();
    if (state == 0) return child_at(0, u * sums[last - 1]);
    if (first == last) return draw(model.suffix[state]);
    if (u < sums[last - 1]) return child_at(state, u);
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::int32_t node = draw(model.suffix[state]);
      if (model.find(state, model.tree.word[node]) < 0) return node;
    }
    const std::int32_t word = weigh(state, [&](std::int32_t w) { return model.find(state, w) < 0; });
    return word >= 0 ? model.longest(state, word) : last - 1;  // nothing is left but rounding
  }

  // A word among those allowed, each with its probability, or -1 where they have none.
  template <class Allowed>
  std::int32_t weigh(std::int32_t state, Allowed&& allowed) {
    std::vector<double> p(model.tree.words());
    distribution(model, state, p);
    double total = 0.0;
    for (std::size_t w = 0; w < p.size(); ++w) total += p[w] = allowed(static_cast<std::int32_t>(w)) ? p[w] : 0.0;
    return total > 0.0 && std::isfinite(total) ? static_cast<std::int32_t>(random.categorical(p)) : -1;
  }

  // The same without the unknown word; -1 where no other is possible.
  std::int32_t draw_known(std::int32_t state) {
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::int32_t node = draw(state);
      if (model.tree.word[node] != model.unknown) return node;
    }
    const std::int32_t word = weigh(state, [&](std::int32_t w) { return w != model.unknown; });
    return word < 0 ? -1 : model.longest(state, word);
  }
};

}  // namespace

Drawn sample(const BackOff& model, std::span<const double> sums, std::int32_t state, std::size_t sentences,
             std::size_t longest, bool unknown, std::uint64_t seed, std::uint64_t first_sentence, std::size_t threads) {
  std::vector<std::vector<std::int32_t>> drawn(sentences);
  base::parallel_for(sentences, threads, [&](std::size_t s) {
    base::Random random(seed, first_sentence + s);
    Drawer drawer{model, sums, random};
    std::int32_t here = state;
    while (drawn[s].size() < longest) {
      const std::int32_t node = unknown ? drawer.draw(here) : drawer.draw_known(here);
      if (node < 0 || model.tree.word[node] == model.end) break;
      drawn[s].push_back(model.tree.word[node]);
      here = model.state_after(node);
    }
  });
  Drawn made{{0}, {}};
  for (const auto& words : drawn) {
    made.words.insert(made.words.end(), words.begin(), words.end());
    made.offsets.push_back(static_cast<std::int64_t>(made.words.size()));
  }
  return made;
}

}  // namespace textmill::lm
