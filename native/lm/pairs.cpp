#include "lm/pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/flat_table.h"
#include "base/log_add.h"
#include "base/parallel.h"

namespace textmill::lm {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr std::size_t kWords = 16;  // handed to a thread at once
constexpr double kLn10 = 2.302585092994045684;

using base::joined_key;
using base::log_add;
using base::number_of;

// Run i of an array that is cut by offsets.
std::span<const std::int32_t> run(std::span<const std::int64_t> begin, std::span<const std::int32_t> values,
                                  std::size_t i) {
  return values.subspan(static_cast<std::size_t>(begin[i]), static_cast<std::size_t>(begin[i + 1] - begin[i]));
}

struct Answer {
  double log_probability, best;
  std::vector<std::int32_t> tokens;
};

struct Answers {
  std::vector<Answer> best_first;
  double total = kNone;
};

PairAnswers collected(const std::vector<Answers>& words) {
  PairAnswers all{{0}, {}, {}, {0}, {}, {}};
  for (const Answers& word : words) {
    for (const Answer& answer : word.best_first) {
      all.log_probability.push_back(answer.log_probability);
      all.best_alignment.push_back(answer.best);
      all.tokens.insert(all.tokens.end(), answer.tokens.begin(), answer.tokens.end());
      all.token_begin.push_back(static_cast<std::int64_t>(all.tokens.size()));
    }
    all.offsets.push_back(static_cast<std::int64_t>(all.log_probability.size()));
    all.total.push_back(word.total);
  }
  return all;
}

}  // namespace

PairTable::PairTable(const BackOff& model, const PairTokens& pairs) : pairs_(pairs), start_(model.start()) {
  const Tree& tree = model.tree;
  chunk_at_.push_back(kNothing);
  std::int32_t chunks = kFirst;
  chunk_of_.resize(pairs.size());
  for (std::size_t t = 0; t < pairs.size(); ++t) {
    std::int32_t node = 0;
    for (auto i = pairs.input_begin[t]; i < pairs.input_begin[t + 1]; ++i) {
      const auto [at, fresh] = trie_.add(joined_key(node, pairs.inputs[static_cast<std::size_t>(i)]),
                                         static_cast<std::int32_t>(chunk_at_.size()));
      if (fresh) chunk_at_.push_back(-1);
      node = at;
    }
    std::int32_t& chunk = chunk_at_[static_cast<std::size_t>(node)];
    if (chunk < 0) chunk = chunks++;
    chunk_of_[t] = chunk;
  }
  std::vector<std::int32_t> begin(tree.words() + 1, 0), of_word(pairs.size());  // the pairs of each word
  for (const std::int32_t word : pairs.word) ++begin[static_cast<std::size_t>(word) + 1];
  for (std::size_t w = 0; w < tree.words(); ++w) begin[w + 1] += begin[w];
  std::vector<std::int32_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t t = 0; t < pairs.size(); ++t)
    of_word[static_cast<std::size_t>(next[static_cast<std::size_t>(pairs.word[t])]++)] = static_cast<std::int32_t>(t);
  const auto histories = static_cast<std::size_t>(tree.level[tree.order()]);
  entries_.reserve(tree.nodes());
  first_.assign(1, 0);
  suffix_.assign(model.suffix.begin(), model.suffix.begin() + static_cast<std::ptrdiff_t>(histories));
  back_off_.resize(histories);
  for (std::size_t h = 0; h < histories; ++h) {
    back_off_[h] = h == 0 ? 0.0 : kLn10 * model.log_back_off[h];
    for (std::int32_t c = tree.first[h]; c < tree.first[h + 1]; ++c) {
      const std::int32_t word = tree.word[static_cast<std::size_t>(c)];
      const std::int32_t state = tree.order() > 1 ? model.state_after(c) : 0;
      const double log_p = kLn10 * model.log_probability[static_cast<std::size_t>(c)];
      if (word == model.end) entries_.push_back({kEnd, kEndToken, state, log_p});
      if (word == model.unknown) entries_.push_back({kUnknown, kUnknownToken, state, log_p});
      for (auto i = begin[static_cast<std::size_t>(word)]; i < begin[static_cast<std::size_t>(word) + 1]; ++i) {
        const auto token = static_cast<std::size_t>(of_word[static_cast<std::size_t>(i)]);
        entries_.push_back({chunk_of_[token], static_cast<std::int32_t>(token), state, log_p + pairs.bias[token]});
      }
    }
    std::sort(entries_.begin() + first_.back(), entries_.end(), [](const Entry& a, const Entry& b) {
      if (a.chunk != b.chunk) return a.chunk < b.chunk;
      return a.log_p != b.log_p ? a.log_p > b.log_p : a.token < b.token;
    });
    if (entries_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw std::length_error("there are too many pairs after all histories together");
    first_.push_back(static_cast<std::int32_t>(entries_.size()));
  }
  root_.assign(static_cast<std::size_t>(chunks) + 1, 0);
  for (std::int32_t e = first_[0]; e < first_[1]; ++e)
    ++root_[static_cast<std::size_t>(entries_[static_cast<std::size_t>(e)].chunk) + 1];
  for (std::size_t c = 1; c < root_.size(); ++c) root_[c] += root_[c - 1];
}

std::span<const PairTable::Entry> PairTable::continuations(std::int32_t state, std::int32_t chunk) const {
  if (state == 0) {
    const auto begin = static_cast<std::size_t>(root_[static_cast<std::size_t>(chunk)]);
    return {entries_.data() + begin, static_cast<std::size_t>(root_[static_cast<std::size_t>(chunk) + 1]) - begin};
  }
  const Entry* begin = entries_.data() + first_[static_cast<std::size_t>(state)];
  const Entry* end = entries_.data() + first_[static_cast<std::size_t>(state) + 1];
  if (end - begin > 8) {
    begin = std::lower_bound(begin, end, chunk, [](const Entry& e, std::int32_t c) { return e.chunk < c; });
  } else {
    while (begin < end && begin->chunk < chunk) ++begin;
  }
  const Entry* last = begin;
  while (last < end && last->chunk == chunk) ++last;
  return {begin, static_cast<std::size_t>(last - begin)};
}

double PairTable::step(std::int32_t& state, std::int32_t token) const {
  const std::int32_t chunk = token >= 0           ? chunk_of_[static_cast<std::size_t>(token)]
                             : token == kEndToken ? kEnd
                                                  : kUnknown;
  double back_off = 0.0;
  for (;;) {
    for (const Entry& entry : continuations(state, chunk))
      if (entry.token == token) {
        state = entry.state;
        return back_off + entry.log_p;
      }
    if (state == 0) return kNone;
    back_off += back_off_[static_cast<std::size_t>(state)];
    state = suffix_[static_cast<std::size_t>(state)];
  }
}

void PairTable::chunks_at(std::span<const std::int32_t> word, std::size_t i, std::vector<Chunk>& out,
                          bool& single) const {
  out.clear();
  single = false;
  std::int32_t node = 0;
  for (std::size_t at = i; at < word.size(); ++at) {
    node = trie_.find(joined_key(node, word[at]), -1);
    if (node < 0) return;
    if (chunk_at_[static_cast<std::size_t>(node)] < 0) continue;
    out.push_back({chunk_at_[static_cast<std::size_t>(node)], at + 1 - i});
    single |= at == i;
  }
}

// Outputs of one word at a time; holds the memory it works in.
class PairDecoder {
 public:
  PairDecoder(const PairTable& table, const Acceptor& acceptor, const PairSearch& search)
      : table_(table), acceptor_(acceptor), search_(search), stamps_(table.pairs_.size() + 3, 0) {}

  void decode(std::span<const std::int32_t> word, Answers& answers) {
    word_ = word;
    hypotheses_.clear();
    outputs_.assign(1, {-1, 0, 0});
    output_index_.clear();
    cells_.resize(std::max(cells_.size(), word.size() + 1));
    for (std::size_t i = 0; i <= word.size(); ++i) cells_[i].clear();
    layer_.clear();
    add(cells_[0], {table_.start_, 0, -1, 0, 0.0, 0.0});
    ends_.clear();
    end_index_.clear();
    for (std::size_t i = 0; i <= word.size(); ++i) {
      if (i < word.size()) table_.chunks_at(word, i, chunks_, single_);
      Cell* now = &cells_[i];
      for (std::size_t layer = 0; !now->members.empty(); ++layer) {
        const bool more = layer < search_.insertions;
        Cell& next = now == &layer_ ? other_layer_ : layer_;
        next.clear();
        next.best = now->best;
        for (const std::int32_t h : select(*now)) {
          if (more) expand(h, PairTable::kNothing, next);
          if (i == word.size()) {
            finish(h);
            continue;
          }
          for (const auto& chunk : chunks_) expand(h, chunk.id, cells_[i + chunk.length]);
          if (!single_) read_unknown(h, i);
        }
        if (!more) break;
        now = &next;
      }
    }
    answer(answers);
  }

 private:
  struct Hypothesis {
    std::int32_t state, output, back, token;
    double sum, best;  // ln p of all alignments, of the best one
  };
  struct Output {  // a prefix of an output
    std::int32_t before, symbol, accepted;
  };
  struct Cell {
    std::vector<std::int32_t> members;
    base::FlatIndex index;
    double best = kNone;
    void clear() {
      members.clear();
      index.clear();
      best = kNone;
    }
  };
  struct End {
    std::int32_t output;
    std::int32_t back;
    double sum, best;
  };

  // The members of a cell that go on, best first.
  std::vector<std::int32_t>& select(const Cell& cell) {
    std::vector<std::int32_t>& chosen = chosen_;
    chosen.clear();
    const double least = cell.best - search_.width;
    for (const std::int32_t h : cell.members)
      if (!(at(h).sum < least)) chosen.push_back(h);
    const auto before = [&](std::int32_t a, std::int32_t b) {
      return at(a).sum != at(b).sum ? at(a).sum > at(b).sum : a < b;
    };
    if (search_.beam != 0 && chosen.size() > search_.beam) {
      std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(search_.beam), chosen.end(),
                       before);
      chosen.resize(search_.beam);
    }
    std::sort(chosen.begin(), chosen.end(), before);
    return chosen;
  }

  Hypothesis& at(std::int32_t h) { return hypotheses_[static_cast<std::size_t>(h)]; }

  void add(Cell& cell, const Hypothesis& fresh) {
    const auto number = static_cast<std::int32_t>(hypotheses_.size());
    const std::int32_t h = number_of(cell.index, joined_key(fresh.state, fresh.output), number, [&](std::uint32_t i) {
      return hypotheses_[i].state == fresh.state && hypotheses_[i].output == fresh.output;
    });
    if (h == number) {
      hypotheses_.push_back(fresh);
      cell.members.push_back(h);
      cell.best = std::max(cell.best, fresh.sum);
      return;
    }
    Hypothesis& old = at(h);
    if (fresh.best > old.best) {
      old.best = fresh.best;
      old.back = fresh.back;
      old.token = fresh.token;
    }
    old.sum = search_.summed ? log_add(old.sum, fresh.sum) : std::max(old.sum, fresh.sum);
    cell.best = std::max(cell.best, old.sum);
  }

  // The output after one more symbol; -1 where the acceptor refuses it.
  std::int32_t extended(std::int32_t output, std::int32_t symbol) {
    const std::int32_t state = outputs_[static_cast<std::size_t>(output)].accepted;
    std::int32_t next = 0;
    if (!acceptor_.next.empty() && symbol < table_.pairs_.output_symbols) {
      next = acceptor_.next[static_cast<std::size_t>(state) * static_cast<std::size_t>(table_.pairs_.output_symbols) +
                            static_cast<std::size_t>(symbol)];
      if (next < 0) return -1;
    } else if (!acceptor_.next.empty()) {
      next = state;  // a letter that was copied
    }
    const auto number = static_cast<std::int32_t>(outputs_.size());
    const std::int32_t place = number_of(output_index_, joined_key(output, symbol), number, [&](std::uint32_t i) {
      return outputs_[i].before == output && outputs_[i].symbol == symbol;
    });
    if (place == number) outputs_.push_back({output, symbol, next});
    return place;
  }

  void expand(std::int32_t h, std::int32_t chunk, Cell& cell) {
    const Hypothesis from = at(h);
    double back_off = 0.0;
    std::int32_t state = from.state;
    ++stamp_;
    for (;;) {
      const auto entries = table_.continuations(state, chunk);
      std::size_t e = 0;
      for (; e < entries.size(); ++e) {
        const auto& entry = entries[e];
        const double p = back_off + entry.log_p;
        if (from.sum + p < cell.best - search_.width) break;
        std::uint32_t& stamp = stamps_[static_cast<std::size_t>(entry.token)];
        if (stamp == stamp_) continue;
        stamp = stamp_;
        std::int32_t output = from.output;
        for (auto o = table_.pairs_.output_begin[static_cast<std::size_t>(entry.token)];
             output >= 0 && o < table_.pairs_.output_begin[static_cast<std::size_t>(entry.token) + 1]; ++o)
          output = extended(output, table_.pairs_.outputs[static_cast<std::size_t>(o)]);
        if (output >= 0) add(cell, {entry.state, output, h, entry.token, from.sum + p, from.best + p});
      }
      if (state == 0) return;
      for (; e < entries.size(); ++e) stamps_[static_cast<std::size_t>(entries[e].token)] = stamp_;
      back_off += table_.back_off_[static_cast<std::size_t>(state)];
      state = table_.suffix_[static_cast<std::size_t>(state)];
    }
  }

  void read_unknown(std::int32_t h, std::size_t i) {
    const Hypothesis from = at(h);
    std::int32_t state = from.state;
    const double p = table_.step(state, PairTable::kUnknownToken);
    std::int32_t output = from.output;
    if (search_.copy) output = extended(output, table_.pairs_.output_symbols + word_[i]);
    if (output >= 0)
      add(cells_[i + 1], {state, output, h, -1 - static_cast<std::int32_t>(i), from.sum + p, from.best + p});
  }

  void finish(std::int32_t h) {
    const Hypothesis from = at(h);
    if (!acceptor_.next.empty() &&
        acceptor_.accept[static_cast<std::size_t>(outputs_[static_cast<std::size_t>(from.output)].accepted)] == 0)
      return;
    std::int32_t state = from.state;
    const double p = table_.step(state, PairTable::kEndToken);
    const auto number = static_cast<std::int32_t>(ends_.size());
    const std::int32_t end = number_of(end_index_, static_cast<std::uint32_t>(from.output), number,
                                       [&](std::uint32_t i) { return ends_[i].output == from.output; });
    if (end == number) {
      ends_.push_back({from.output, h, from.sum + p, from.best + p});
      return;
    }
    End& old = ends_[static_cast<std::size_t>(end)];
    if (from.best + p > old.best) {
      old.best = from.best + p;
      old.back = h;
    }
    old.sum = search_.summed ? log_add(old.sum, from.sum + p) : std::max(old.sum, from.sum + p);
  }

  void answer(Answers& answers) {
    for (const End& end : ends_) answers.total = log_add(answers.total, end.sum);
    const std::size_t k = std::min(search_.k, ends_.size());
    std::partial_sort(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(k), ends_.end(),
                      [](const End& a, const End& b) { return a.sum != b.sum ? a.sum > b.sum : a.output < b.output; });
    answers.best_first.resize(k);
    for (std::size_t i = 0; i < k; ++i) {
      Answer& one = answers.best_first[i];
      one.log_probability = ends_[i].sum;
      one.best = ends_[i].best;
      for (std::int32_t h = ends_[i].back; at(h).back >= 0; h = at(h).back) one.tokens.push_back(at(h).token);
      std::reverse(one.tokens.begin(), one.tokens.end());
    }
  }

  const PairTable& table_;
  const Acceptor& acceptor_;
  const PairSearch& search_;
  std::span<const std::int32_t> word_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<Output> outputs_;
  base::FlatIndex output_index_, end_index_;
  std::vector<Cell> cells_;
  Cell layer_, other_layer_;
  std::vector<End> ends_;
  std::vector<PairTable::Chunk> chunks_;
  std::vector<std::int32_t> chosen_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 0;
  bool single_ = true;
};

// Sums over the alignments of one word with several outputs at a time, which share the work of their common beginnings.
class PairScorer {
 public:
  PairScorer(const PairTable& table, const PairSearch& search) : table_(table), search_(search) {}

  // The word x with outputs y[begin[0]] ... y[begin[1]], ...: ln p of each goes to sums; the best alignment of each to
  // `best`, where there is one, if it is asked for.
  void score(std::span<const std::int32_t> x, std::span<const std::int64_t> begin, std::span<const std::int32_t> y,
             double* sums, Answers* best) {
    plant(begin, y);
    const std::size_t nodes = nodes_.size(), layers = search_.insertions + 1;
    const std::size_t needed = (x.size() + 1) * nodes * layers;
    for (std::size_t c = 0; c < std::min(needed, cells_.size()); ++c) cells_[c].clear();
    cells_.resize(std::max(cells_.size(), needed));
    hypotheses_.clear();
    add(cells_[0], {table_.start_, -1, 0, 0.0, 0.0});
    bool single = true;
    for (std::size_t i = 0; i < x.size() || (i == x.size() && layers > 1); ++i) {
      chunks_.clear();
      if (i < x.size()) table_.chunks_at(x, i, chunks_, single);
      for (std::size_t node = 0; node < nodes; ++node)
        for (std::size_t layer = 0; layer < layers; ++layer) {
          Cell& from = cells_[(i * nodes + node) * layers + layer];
          if (from.members.empty()) continue;
          prune(from);
          const auto place = [&](std::size_t to_i, std::size_t to_node, std::size_t to_layer) -> Cell& {
            return cells_[(to_i * nodes + to_node) * layers + to_layer];
          };
          if (layer + 1 < layers)
            reach(from, node, PairTable::kNothing, [&](std::size_t to) -> Cell& { return place(i, to, layer + 1); });
          for (const auto& chunk : chunks_)
            reach(from, node, chunk.id, [&](std::size_t to) -> Cell& { return place(i + chunk.length, to, 0); });
          if (i == x.size() || single) continue;
          const std::int32_t to = search_.copy
                                      ? child(static_cast<std::int32_t>(node), table_.pairs_.output_symbols + x[i])
                                      : static_cast<std::int32_t>(node);
          if (to < 0) continue;
          for (const std::int32_t h : from.members)
            move(h, PairTable::kUnknownToken, -1 - static_cast<std::int32_t>(i),
                 place(i + 1, static_cast<std::size_t>(to), 0));
        }
    }
    for (std::size_t o = 0; o + 1 < begin.size(); ++o) {
      double sum = kNone, most = kNone;
      std::int32_t last = -1;
      for (std::size_t layer = 0; layer < layers; ++layer)
        for (const std::int32_t h :
             cells_[(x.size() * nodes + static_cast<std::size_t>(ends_[o])) * layers + layer].members) {
          const auto& from = hypotheses_[static_cast<std::size_t>(h)];
          std::int32_t state = from.state;
          const double p = table_.step(state, PairTable::kEndToken);
          sum = log_add(sum, from.sum + p);
          if (from.best + p > most) {
            most = from.best + p;
            last = h;
          }
        }
      sums[o] = sum;
      if (best == nullptr) continue;
      best[o].total = sum;
      if (last < 0) continue;
      Answer one{search_.summed ? sum : most, most, {}};
      for (std::int32_t h = last; hypotheses_[static_cast<std::size_t>(h)].back >= 0;
           h = hypotheses_[static_cast<std::size_t>(h)].back)
        one.tokens.push_back(hypotheses_[static_cast<std::size_t>(h)].token);
      std::reverse(one.tokens.begin(), one.tokens.end());
      best[o].best_first.push_back(std::move(one));
    }
  }

 private:
  struct Hypothesis {
    std::int32_t state, back, token;
    double sum, best;
  };
  struct Node {  // a prefix of outputs
    std::int32_t symbol, child, sibling;
  };
  struct Cell {
    std::vector<std::int32_t> members;
    double best = kNone;
    void clear() {
      members.clear();
      best = kNone;
    }
  };

  // Makes the tree of the outputs; a node comes after the one before it.
  void plant(std::span<const std::int64_t> begin, std::span<const std::int32_t> y) {
    nodes_.assign(1, {-1, -1, -1});
    ends_.clear();
    for (std::size_t o = 0; o + 1 < begin.size(); ++o) {
      std::int32_t node = 0;
      for (auto s = begin[o]; s < begin[o + 1]; ++s) {
        const std::int32_t symbol = y[static_cast<std::size_t>(s)];
        std::int32_t next = child(node, symbol);
        if (next < 0) {
          next = static_cast<std::int32_t>(nodes_.size());
          nodes_.push_back({symbol, -1, nodes_[static_cast<std::size_t>(node)].child});
          nodes_[static_cast<std::size_t>(node)].child = next;
        }
        node = next;
      }
      ends_.push_back(node);
    }
  }

  std::int32_t child(std::int32_t node, std::int32_t symbol) const {
    std::int32_t next = nodes_[static_cast<std::size_t>(node)].child;
    while (next >= 0 && nodes_[static_cast<std::size_t>(next)].symbol != symbol)
      next = nodes_[static_cast<std::size_t>(next)].sibling;
    return next;
  }

  // Moves on by the pairs that read a chunk and write what stands below a node.
  template <class F>
  void reach(const Cell& from, std::size_t node, std::int32_t chunk, F&& place) {
    for (const auto& entry : table_.continuations(0, chunk)) {
      auto to = static_cast<std::int32_t>(node);
      const auto end = table_.pairs_.output_begin[static_cast<std::size_t>(entry.token) + 1];
      for (auto o = table_.pairs_.output_begin[static_cast<std::size_t>(entry.token)]; to >= 0 && o < end; ++o)
        to = child(to, table_.pairs_.outputs[static_cast<std::size_t>(o)]);
      if (to < 0) continue;
      Cell& cell = place(static_cast<std::size_t>(to));
      for (const std::int32_t h : from.members) move(h, entry.token, entry.token, cell);
    }
  }

  // Drops members that are far below the best of their cell.
  void prune(Cell& cell) {
    if (cell.members.size() < 2 || search_.width == std::numeric_limits<double>::infinity()) return;
    const double least = cell.best - search_.width;
    std::erase_if(cell.members, [&](std::int32_t h) { return hypotheses_[static_cast<std::size_t>(h)].sum < least; });
  }

  void move(std::int32_t h, std::int32_t token, std::int32_t name, Cell& cell) {
    const Hypothesis from = hypotheses_[static_cast<std::size_t>(h)];
    std::int32_t state = from.state;
    const double p = table_.step(state, token);
    add(cell, {state, h, name, from.sum + p, from.best + p});
  }

  void add(Cell& cell, const Hypothesis& fresh) {
    for (const std::int32_t h : cell.members) {
      Hypothesis& old = hypotheses_[static_cast<std::size_t>(h)];
      if (old.state != fresh.state) continue;
      if (fresh.best > old.best) {
        old.best = fresh.best;
        old.back = fresh.back;
        old.token = fresh.token;
      }
      old.sum = log_add(old.sum, fresh.sum);
      cell.best = std::max(cell.best, old.sum);
      return;
    }
    cell.members.push_back(static_cast<std::int32_t>(hypotheses_.size()));
    cell.best = std::max(cell.best, fresh.sum);
    hypotheses_.push_back(fresh);
  }

  const PairTable& table_;
  const PairSearch& search_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> ends_;  // [outputs] nodes
  std::vector<Cell> cells_;         // [letters + 1][nodes][insertions + 1]
  std::vector<Hypothesis> hypotheses_;
  std::vector<PairTable::Chunk> chunks_;
};

PairAnswers PairTable::decode(std::span<const std::int64_t> offsets, std::span<const std::int32_t> letters,
                              const Acceptor& acceptor, const PairSearch& search, std::size_t threads) const {
  std::vector<Answers> words(offsets.size() - 1);
  base::parallel_blocks(words.size(), kWords, threads, [&](std::size_t begin, std::size_t end) {
    PairDecoder decoder(*this, acceptor, search);
    for (std::size_t w = begin; w < end; ++w) decoder.decode(run(offsets, letters, w), words[w]);
  });
  return collected(words);
}

PairAnswers PairTable::score(std::span<const std::int64_t> x_begin, std::span<const std::int32_t> x,
                             std::span<const std::int64_t> y_begin, std::span<const std::int32_t> y,
                             const PairSearch& search, std::size_t threads) const {
  std::vector<Answers> words(x_begin.size() - 1);
  base::parallel_blocks(words.size(), kWords, threads, [&](std::size_t begin, std::size_t end) {
    PairScorer scorer(*this, search);
    double sum = kNone;
    for (std::size_t w = begin; w < end; ++w)
      scorer.score(run(x_begin, x, w), y_begin.subspan(w, 2), y, &sum, &words[w]);
  });
  return collected(words);
}

std::vector<double> PairTable::score_lists(std::span<const std::int64_t> x_begin, std::span<const std::int32_t> x,
                                           std::span<const std::int64_t> lists, std::span<const std::int64_t> y_begin,
                                           std::span<const std::int32_t> y, const PairSearch& search,
                                           std::size_t threads) const {
  std::vector<double> sums(y_begin.size() - 1, kNone);
  base::parallel_blocks(x_begin.size() - 1, kWords, threads, [&](std::size_t begin, std::size_t end) {
    PairScorer scorer(*this, search);
    for (std::size_t w = begin; w < end; ++w) {
      const auto first = static_cast<std::size_t>(lists[w]), last = static_cast<std::size_t>(lists[w + 1]);
      if (first < last)
        scorer.score(run(x_begin, x, w), y_begin.subspan(first, last - first + 1), y, sums.data() + first, nullptr);
    }
  });
  return sums;
}

void PairTable::write(std::span<const std::int64_t> offsets, std::span<const std::int32_t> letters,
                      const PairAnswers& answers, const PairSearch& search, std::vector<std::int64_t>& begin,
                      std::vector<std::int32_t>& symbols) const {
  begin.assign(1, 0);
  symbols.clear();
  for (std::size_t w = 0; w + 1 < offsets.size(); ++w) {
    const auto word = run(offsets, letters, w);
    for (auto a = answers.offsets[w]; a < answers.offsets[w + 1]; ++a) {
      for (const std::int32_t token : run(answers.token_begin, answers.tokens, static_cast<std::size_t>(a))) {
        if (token >= 0) {
          const auto written = run(pairs_.output_begin, pairs_.outputs, static_cast<std::size_t>(token));
          symbols.insert(symbols.end(), written.begin(), written.end());
        } else if (search.copy) {
          symbols.push_back(pairs_.output_symbols + word[static_cast<std::size_t>(-1 - token)]);
        }
      }
      begin.push_back(static_cast<std::int64_t>(symbols.size()));
    }
  }
}

}  // namespace textmill::lm
