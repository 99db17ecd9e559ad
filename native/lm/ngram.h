// N-grams as a tree: scoring, sampling. How sentences become counts is in counting.h, how counts become probabilities in
// smoothing.h.
//
// A node is an n-gram w_1 ... w_n; its children are the (n + 1)-grams that continue it, sorted by their last word. Nodes
// are numbered level by level, within a level in the order of their parents: node 0 is the empty one, node 1 + w the
// word w, and the children of v are first[v] ... first[v + 1] - 1.
//
//   suffix(v)          the longest node that is w_2 ... w_n or a proper end of it
//   log p(w | h)       log p of the child w of h; where there is none, log b(h) + log p(w | suffix(h))
//
// Cost: a word is scored by a look-up for each level tried.
// Reference: Heafield et al. (2013), Scalable modified Kneser-Ney language model estimation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace textmill::lm {

struct Tree {                           // a view; sound as `sound` says
  std::span<const std::int64_t> level;  // [order + 2] the first node of each order from 0 on, and the number of nodes
  std::span<const std::int32_t> word;   // [nodes] last word; -1 at node 0
  std::span<const std::int32_t> first;  // [level[order] + 1] first child

  std::size_t order() const { return level.size() - 2; }
  std::size_t words() const { return static_cast<std::size_t>(first[1] - 1); }
  std::size_t nodes() const { return word.size(); }
};

inline constexpr std::size_t kMostNodes = std::numeric_limits<std::int32_t>::max();

// nullptr, or what is wrong with the arrays of a tree. O(nodes).
const char* fault_of(const Tree& tree, std::size_t threads);

// The child of a node by its word, or -1; any word below words(). A node of the highest order has no children.
std::int32_t child(const Tree& tree, std::int32_t node, std::int32_t word);

// Fills in the suffix of every node; 0 at node 0.
void suffixes(const Tree& tree, std::span<std::int32_t> suffix, std::size_t threads);

// The words of the n-grams of order n; above: those of order n - 1, [nodes][n - 1]; rows [nodes of order n][n].
void spell(const Tree& tree, std::size_t n, std::span<const std::int32_t> above, std::span<std::int32_t> rows,
           std::size_t threads);

inline constexpr double kNever = -99.0;  // log10 of what cannot happen, as ARPA files write it

// The nodes from order 2 on by parent and last word, in open addressing: a look-up is one line of the cache where a binary
// search is ten. Beside a node lies what a scorer reads of it.
class Lookup {
 public:
  struct Slot {
    std::int32_t parent = 0, word = 0;
    std::int32_t node = 0;         // 0: free
    std::int32_t state = 0;        // the state after this n-gram
    double log_probability = 0.0;  // of the n-gram
  };
  struct Context {
    double log_back_off = 0.0;
    std::int32_t suffix = 0;
  };

  Lookup() = default;
  explicit Lookup(const Tree& tree);
  // With the numbers of a model.
  Lookup(const Tree& tree, std::span<const std::int32_t> suffix, std::span<const double> log_probability,
         std::span<const double> log_back_off);

  // As `child`.
  std::int32_t find(std::int32_t node, std::int32_t word) const {
    if (node == 0) return 1 + word;
    const Slot* slot = search(first_slot(node, word), node, word);
    return slot == nullptr ? -1 : slot->node;
  }
  // Where a search begins.
  const Slot* first_slot(std::int32_t parent, std::int32_t word) const {
    const std::uint64_t mixed =
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(parent)) << 32 | static_cast<std::uint32_t>(word)) *
        0x9E3779B97F4A7C15u;
    const std::uint64_t hash = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93u;
    __extension__ using Wide = unsigned __int128;
    return slots_.data() + static_cast<std::size_t>(static_cast<Wide>(hash) * size_ >> 64);
  }
  // The slot of a child, from a first one on; nullptr where there is none.
  const Slot* search(const Slot* slot, std::int32_t parent, std::int32_t word) const {
    for (;; ++slot) {  // behind the last slot that can be a first one there is always a free one
      if (slot->parent == parent && slot->word == word) return slot;
      if (slot->node == 0) return nullptr;
    }
  }
  const Context& context(std::int32_t state) const { return contexts_[static_cast<std::size_t>(state)]; }
  bool has_numbers() const { return !contexts_.empty(); }

 private:
  std::vector<Slot> slots_ = std::vector<Slot>(1);  // three quarters full, and room for a run at the end
  std::size_t size_ = 1;                            // of those in which a search can begin
  std::vector<Context> contexts_;
};

// Numbers as they are, or as codes of `bits` bits, one behind the other, that are looked up in a book.
struct Numbers {
  std::span<const double> exact;
  std::span<const std::uint8_t> packed;  // with 3 bytes to spare
  std::span<const double> book;          // [2^bits]
  unsigned bits = 0;

  double operator[](std::size_t i) const {
    if (bits == 0) return exact[i];
    const std::size_t at = i * bits;
    std::uint32_t word;
    std::memcpy(&word, packed.data() + (at >> 3), sizeof word);
    return book[word >> (at & 7) & ((1u << bits) - 1)];
  }
};

struct BackOff {  // a smoothed model: a view
  Tree tree;
  std::span<const std::int32_t> suffix;  // [nodes]
  Numbers log_probability;               // [nodes]
  Numbers log_back_off;                  // [nodes below the highest order, or more]
  const Lookup* lookup;                  // of the tree; nullptr: children are found by bisection
  std::int32_t unknown, begin, end;      // words

  std::int32_t find(std::int32_t node, std::int32_t word) const {
    return lookup != nullptr ? lookup->find(node, word) : child(tree, node, word);
  }
  // The state after the n-gram of a node.
  std::int32_t state_after(std::int32_t node) const {
    return node < tree.level[tree.order()] ? node : suffix[static_cast<std::size_t>(node)];
  }
  // The node of the longest n-gram of a state and a word.
  std::int32_t longest(std::int32_t state, std::int32_t word) const {
    std::int32_t node = find(state, word);
    while (node < 0) node = find(state = suffix[static_cast<std::size_t>(state)], word);
    return node;
  }
  // That node, and log10 p(word | state); the state becomes that after the word. A state is a node below the highest order.
  std::int32_t move(std::int32_t& state, std::int32_t word, double& log_p) const;
  double step(std::int32_t& state, std::int32_t word) const {
    double log_p;
    move(state, word, log_p);
    return log_p;
  }
  std::int32_t start() const { return tree.order() > 1 ? 1 + begin : 0; }
  // The state after some words from `state` on.
  std::int32_t after(std::int32_t state, std::span<const std::int32_t> words) const;
};

// log10 p of each word of each sentence and, with `with_end`, of its end; out has an entry for each. Words below 0 count as
// the unknown one. order (empty or as out) receives the length of the n-gram that was found.
void score(const BackOff& model, std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
           bool with_end, std::span<double> out, std::span<std::int8_t> order, std::size_t threads);

// p(w | state) of all words; out [words]. The start symbol has 0.
void distribution(const BackOff& model, std::int32_t state, std::span<double> out);

// Sentences drawn from the model, exactly: a word among the children of the context with their probabilities, else one
// from the shorter context that is no child. Sentence i of seed s is always the same. Without `unknown` the unknown word is
// drawn again. Each ends with the end symbol, which is not written, or after `longest` words. `sums` is what running_sums gave.
struct Drawn {
  std::vector<std::int64_t> offsets;  // [sentences + 1]
  std::vector<std::int32_t> words;
};
Drawn sample(const BackOff& model, std::span<const double> sums, std::int32_t state, std::size_t sentences,
             std::size_t longest, bool unknown, std::uint64_t seed, std::uint64_t first_sentence, std::size_t threads);

// Per node the sum of the probabilities of its siblings up to itself.
std::vector<double> running_sums(const BackOff& model, std::size_t threads);

}  // namespace textmill::lm
