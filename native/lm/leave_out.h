// Scores under the model that is left when some sentences are taken out of it: exactly what training without them gives.
//
// Nothing is trained again. The counts of the n-grams of those sentences are lowered, and with them what hangs on them: the
// number of words seen before their ends (Kneser-Ney), the sums of their contexts (Context), the counts of counts. All are
// whole numbers, changed in tables beside the model (Overlay), from which the few discounts of each order follow and then,
// word by word, probabilities as smoothing.h defines them.
//
// Words of which nothing is left are unknown (`open`), or stay words of the vocabulary with a count of 0.
//
// Cost: for sentences of m words O(order m) look-ups. Methods that back off also need, once for each context, the words it
// shares with the shorter one: the smaller of the number of words seen after it, and of words after the shorter one in
// what is taken out. Memory beside the tree: 112 bytes for each context.
// Reference: Ney, Martin & Wessel (1997), Statistical language modeling using leaving-one-out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lm/ngram.h"
#include "lm/smoothing.h"

namespace textmill::lm {

struct Sentences {  // a view
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> tokens;  // below 0: unknown
};

class LeaveOut {
 public:
  // The tree holds all n-grams, nothing cut off. Words that may vanish are those behind `fixed`, the special ones.
  LeaveOut(const Rules& rules, const Tree& tree, std::span<const std::int32_t> suffix,
           std::span<const std::int64_t> count, std::int32_t unknown, std::int32_t begin, std::int32_t end, bool open,
           std::int32_t fixed, std::size_t threads);

  struct Group {  // sentences that are taken out together, and sentences that are scored then; both as ranges
    std::size_t removed_from, removed_to, scored_from, scored_to;
  };
  struct Fault {                        // what was never counted
    std::size_t group, sentence, word;  // the n-gram that begins with this word of this removed sentence
    bool emptied;                       // nothing is left at all
  };

  // log10 p of each word of the scored sentences and, behind each, of its end; whether each is unknown; the length of the
  // n-gram that has a probability of its own. One entry for each word and one for each end. With `shorter`, of that size
  // times the order of the model less one, also log10 p by the models of order 1, 2, ..., one behind the other; those are
  // what training them gives unless the method counts continuations.
  std::optional<Fault> score(const Sentences& removed, const Sentences& scored, std::span<const Group> groups,
                             std::span<double> out, std::span<std::int8_t> unknown, std::span<std::int8_t> order,
                             std::span<double> shorter, std::size_t threads) const;

 private:
  class Overlay;

  Rules rules_;
  Tree tree_;
  std::span<const std::int32_t> suffix_;
  std::span<const std::int64_t> count_;
  std::int32_t unknown_, begin_, end_;
  bool open_;
  std::int32_t fixed_;
  std::vector<std::int64_t> own_;    // a, where it is not the count
  std::span<const std::int64_t> a_;  // [nodes]
  std::vector<Context> contexts_;    // [nodes below the highest order]
  Statistics statistics_;
  Lookup lookup_;
};

}  // namespace textmill::lm
