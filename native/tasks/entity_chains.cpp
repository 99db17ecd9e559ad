#include "tasks/entity_chains.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/flat_table.h"
#include "base/parallel.h"

namespace textmill::tasks {
namespace {

constexpr std::size_t kBlock = 8;  // documents that share scratch memory

enum Relation { kSynonym, kHypernym, kSibling };

// Weights of Galley & McKeown (2003) by relation and distance: a sentence, three, the paragraph, further.
double link_weight(Relation relation, std::int32_t sentences, bool same_paragraph) {
  constexpr double table[3][4] = {{1.0, 1.0, 0.5, 0.5}, {1.0, 0.5, 0.3, 0.3}, {1.0, 0.3, 0.2, 0.0}};
  return table[relation][sentences <= 1 ? 0 : sentences <= 3 ? 1 : same_paragraph ? 2 : 3];
}

// The chains of one document.
class Chainer {
 public:
  explicit Chainer(const Senses& senses) : senses_(senses) {}

  void run(std::span<const std::int32_t> noun, std::span<const std::int32_t> sentence,
           std::span<const std::int32_t> paragraph, std::span<std::int32_t> chain) {
    local_.clear();
    items_.clear();
    with_sense_.clear();
    with_above_.clear();
    links_.clear();
    own_.resize(noun.size());
    for (std::size_t i = 0; i < noun.size(); ++i) add(i, noun[i], sentence[i], paragraph[i]);
    settle(chain);
  }

 private:
  struct Item {  // a noun of the document
    std::int32_t noun, sentence, paragraph;
    std::size_t root, occurrences;
    std::vector<double> score;  // of its senses
    std::size_t chosen = 0;
  };
  struct Reading {  // a noun in one of its senses
    std::size_t item, sense;
  };
  struct Link {
    Reading from, to;
  };

  std::span<const std::int32_t> senses_of(std::int32_t noun) const {
    const auto from = static_cast<std::size_t>(senses_.noun_offsets[noun]),
               to = static_cast<std::size_t>(senses_.noun_offsets[noun + 1]);
    return senses_.senses.subspan(from, to - from);
  }
  std::span<const std::int32_t> above(std::int32_t sense) const {
    const auto from = static_cast<std::size_t>(senses_.above_offsets[sense]),
               to = static_cast<std::size_t>(senses_.above_offsets[sense + 1]);
    return senses_.above.subspan(from, to - from);
  }

  void add(std::size_t i, std::int32_t noun, std::int32_t sentence, std::int32_t paragraph) {
    const auto [place, fresh] = local_.add(base::key_of(noun), items_.size());
    const std::size_t n = place;
    own_[i] = n;
    const auto own = senses_of(noun);
    if (fresh) items_.push_back({noun, sentence, paragraph, n, 0, std::vector<double>(own.size(), 0.0)});
    for (std::size_t k = 0; k < own.size(); ++k) {
      link(with_sense_, own[k], {n, k}, kSynonym, sentence, paragraph);
      link(with_above_, own[k], {n, k}, kHypernym, sentence, paragraph);
      for (const std::int32_t h : above(own[k])) {
        link(with_sense_, h, {n, k}, kHypernym, sentence, paragraph);
        link(with_above_, h, {n, k}, kSibling, sentence, paragraph);
      }
    }
    if (fresh) {
      for (std::size_t k = 0; k < own.size(); ++k) {
        with_sense_.add(base::key_of(own[k]), {}).first.push_back({n, k});
        for (const std::int32_t h : above(own[k])) with_above_.add(base::key_of(h), {}).first.push_back({n, k});
      }
    }
    ++items_[n].occurrences;
    items_[n].sentence = sentence;
    items_[n].paragraph = paragraph;
  }

  void link(const base::FlatTable<std::vector<Reading>>& index, std::int32_t key, Reading from, Relation relation,
            std::int32_t sentence, std::int32_t paragraph) {
    const std::vector<Reading>* const known = index.find(base::key_of(key));
    if (known == nullptr) return;
    for (const Reading to : *known) {
      if (to.item == from.item) continue;  // a noun that comes again says nothing about its sense
      const Item& earlier = items_[to.item];
      const double w = link_weight(relation, sentence - earlier.sentence, paragraph == earlier.paragraph);
      if (w == 0.0) continue;
      items_[from.item].score[from.sense] += w;
      items_[to.item].score[to.sense] += w;
      links_.push_back({from, to});
    }
  }

  std::size_t root(std::size_t item) {
    while (items_[item].root != item) item = items_[item].root = items_[items_[item].root].root;
    return item;
  }

  void settle(std::span<std::int32_t> chain) {
    for (Item& item : items_)
      item.chosen =
          static_cast<std::size_t>(std::max_element(item.score.begin(), item.score.end()) - item.score.begin());
    for (const Link& link : links_) {
      if (items_[link.from.item].chosen != link.from.sense || items_[link.to.item].chosen != link.to.sense) continue;
      const std::size_t a = root(link.from.item), b = root(link.to.item);
      items_[std::max(a, b)].root = std::min(a, b);
    }
    std::vector<std::size_t> size(items_.size(), 0);
    for (std::size_t n = 0; n < items_.size(); ++n) size[root(n)] += items_[n].occurrences;
    std::vector<std::int32_t> number(items_.size(), -1);
    std::int32_t chains = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const std::size_t r = root(own_[i]);
      if (size[r] < 2) {
        chain[i] = -1;
        continue;
      }
      if (number[r] < 0) number[r] = chains++;
      chain[i] = number[r];
    }
  }

  const Senses& senses_;
  base::FlatTable<std::size_t> local_;
  base::FlatTable<std::vector<Reading>> with_sense_, with_above_;
  std::vector<Item> items_;
  std::vector<Link> links_;
  std::vector<std::size_t> own_;  // item of each occurrence
};

}  // namespace

void chain_figures(const Members& members, std::span<const std::int32_t> words,
                   std::span<const std::int64_t> mark_offsets, std::span<const std::int32_t> marks,
                   std::span<double> out, std::size_t threads) {
  struct Chain {
    std::int32_t first = std::numeric_limits<std::int32_t>::max(), last = -1;
    std::int64_t size = 0, pronouns = 0, distance = 0;
  };
  base::parallel_blocks(words.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Chain> chains;
    std::vector<std::size_t> order;
    std::vector<std::int64_t> active;
    for (std::size_t d = begin; d < end; ++d) {
      const auto from = static_cast<std::size_t>(members.offsets[d]),
                 to = static_cast<std::size_t>(members.offsets[d + 1]);
      double* const row = out.data() + d * kChainFigures;
      std::fill(row, row + kChainFigures, 0.0);
      std::int32_t number = 0;
      order.clear();
      for (std::size_t m = from; m < to; ++m) {
        number = std::max(number, members.chain[m] + 1);
        if (members.chain[m] >= 0) order.push_back(m);
      }
      if (number == 0) continue;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return members.position[a] < members.position[b]; });
      chains.assign(static_cast<std::size_t>(number), {});
      std::vector<std::int32_t> referent(chains.size(), -1);
      for (const std::size_t m : order) {
        const auto c = static_cast<std::size_t>(members.chain[m]);
        Chain& chain = chains[c];
        chain.first = std::min(chain.first, members.position[m]);
        chain.last = std::max(chain.last, members.position[m]);
        ++chain.size;
        if (!members.pronoun[m]) {
          referent[c] = members.position[m];
        } else if (referent[c] >= 0) {
          ++chain.pronouns;
          chain.distance += members.position[m] - referent[c];
        }
      }
      const auto n = static_cast<std::size_t>(words[d]);
      active.assign(n + 1, 0);
      double sizes = 0, spans = 0, distances = 0, within = 0;
      std::int64_t wide = 0, inferring = 0;
      for (const Chain& chain : chains) {
        const std::int32_t span = chain.last - chain.first;
        sizes += static_cast<double>(chain.size);
        spans += span;
        wide += 2 * static_cast<std::int64_t>(span) >= static_cast<std::int64_t>(n);
        within += span + 1;
        ++active[static_cast<std::size_t>(chain.first)];
        --active[static_cast<std::size_t>(chain.last) + 1];
        if (chain.pronouns == 0) continue;
        ++inferring;
        distances += static_cast<double>(chain.distance) / static_cast<double>(chain.pronouns);
      }
      std::partial_sum(active.begin(), active.end(), active.begin());
      std::int64_t at_marks = 0;
      for (std::int64_t m = mark_offsets[d]; m < mark_offsets[d + 1]; ++m)
        at_marks += active[static_cast<std::size_t>(marks[m])];
      const std::int64_t places = mark_offsets[d + 1] - mark_offsets[d];
      const double k = number;
      row[0] = k;
      row[1] = sizes / k;
      row[2] = spans / k;
      row[3] = static_cast<double>(wide);
      row[4] = within / static_cast<double>(n);
      row[5] = places > 0 ? static_cast<double>(at_marks) / static_cast<double>(places) : 0.0;
      row[6] = inferring > 0 ? distances / static_cast<double>(inferring) : 0.0;
    }
  });
}

void lexical_chains(const Nouns& nouns, const Senses& senses, std::span<std::int32_t> chain, std::size_t threads) {
  base::parallel_blocks(nouns.offsets.size() - 1, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Chainer chainer(senses);
    for (std::size_t d = begin; d < end; ++d) {
      const auto from = static_cast<std::size_t>(nouns.offsets[d]);
      const auto n = static_cast<std::size_t>(nouns.offsets[d + 1]) - from;
      chainer.run(nouns.noun.subspan(from, n), nouns.sentence.subspan(from, n), nouns.paragraph.subspan(from, n),
                  chain.subspan(from, n));
    }
  });
}

}  // namespace textmill::tasks
