#include "trees/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "trees/coarse_chart.h"

namespace textmill::trees {
namespace {

constexpr std::size_t kPatience = 100'000'000;  // steps of wider searches of a sentence, one or two seconds
constexpr double kNone = -std::numeric_limits<double>::infinity();

// An item of a cell with its best score and what gave it.
struct State {
  std::int32_t state;
  double score;
  std::int32_t split;   // where its last child begins; the start of the cell for a first child
  std::int32_t before;  // place of the state before the last child in its cell, -1 for a first child
  std::int32_t child;   // place of the last child among the symbols of its cell
};

struct Base {  // a word or a finished rule
  std::int32_t symbol;
  double score;
  std::int32_t state;  // place of the finished state, -1 for a word
};

struct Symbol {
  std::int32_t symbol;
  double score;
  std::int32_t base;   // place of what stands below its chain
  std::int32_t chain;  // -1 for none
};

struct Cell {
  std::vector<State> states;  // those of finished rules first, by number in each part
  std::vector<Base> bases;
  std::vector<Symbol> symbols;       // by number: groups are runs
  std::vector<std::int32_t> groups;  // [G + 1] where the symbols of a group begin
  std::size_t later = 0;             // states before this one have two children or more
};

class Chart {
 public:
  Chart(const Rules& rules, std::size_t n) : rules_(rules), cells_{n}, cell_(cells_.size()) {
    best_.resize(rules.state_symbol.size());
    symbol_.resize(rules.label.size());
    std::fill(best_.begin(), best_.end(), -1);
    std::fill(symbol_.begin(), symbol_.end(), -1);
  }

  // Fills the chart; whether a whole sentence was found. Without shares everything is kept. Of `patience` the steps
  // are taken off; where it is used up, nothing is found.
  bool fill(const Shares* shares, double share, double beam, std::span<const std::int64_t> at,
            std::span<const std::int32_t> symbol, std::span<const double> score, std::span<const std::int32_t> words,
            std::size_t& patience);
  const Cell& cell(std::size_t i, std::size_t j) const { return cell_[cells_.at(i, j)]; }
  const Rules& rules() const { return rules_; }
  std::size_t length() const { return cells_.n; }
  std::int32_t whole() const {  // place of the root among the symbols of the whole sentence, -1 if it is not there
    const auto& symbols = cell(0, cells_.n).symbols;
    for (std::size_t s = 0; s < symbols.size(); ++s)
      if (static_cast<std::size_t>(symbols[s].symbol) == rules_.root) return static_cast<std::int32_t>(s);
    return -1;
  }

 private:
  void combine(Cell& cell, std::size_t i, std::size_t j);
  void finish(Cell& cell, std::size_t i, std::size_t j);
  // Drops the entries from `begin` on that are far below the best of them.
  template <class Entry, class Merit>
  void beam(std::vector<Entry>& entries, std::size_t begin, Merit merit) const {
    if (tops_ == nullptr) return;
    double most = kNone;
    for (std::size_t e = begin; e < entries.size(); ++e) most = std::max(most, merit(entries[e]));
    const auto far = [&](const Entry& entry) { return merit(entry) < most - beam_; };
    entries.erase(std::remove_if(entries.begin() + static_cast<std::ptrdiff_t>(begin), entries.end(), far),
                  entries.end());
  }
  bool keeps_symbol(std::int32_t symbol) const { return tops_ == nullptr || tops_[rules_.label[symbol]] >= share_; }
  bool keeps_rules_of(std::int32_t label) const { return states_ == nullptr || states_[label] >= share_; }
  // The entry of a symbol among others, made if it is not there; symbol_ has the places.
  template <class Entry>
  Entry& entry_of(std::vector<Entry>& entries, const Entry& fresh) {
    std::int32_t& place = symbol_[fresh.symbol];
    if (place < 0) {
      place = static_cast<std::int32_t>(entries.size());
      entries.push_back(fresh);
    }
    return entries[place];
  }
  template <class Entry>
  void forget(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) symbol_[entry.symbol] = -1;
  }

  const Rules& rules_;
  Cells cells_;
  std::vector<Cell> cell_;
  std::vector<std::int32_t> best_, symbol_;           // place in the cell that is being filled, -1 if it is not there
  const double *tops_ = nullptr, *states_ = nullptr;  // shares of the cell that is being filled
  const double *top_outside_ = nullptr, *state_outside_ = nullptr;
  double share_ = 0.0;
  double beam_ = 0.0;
  std::size_t steps_ = 0;  // children that were met with states in the cell that is being filled
};

bool Chart::fill(const Shares* shares, double share, double beam, std::span<const std::int64_t> at,
                 std::span<const std::int32_t> symbol, std::span<const double> score,
                 std::span<const std::int32_t> words, std::size_t& patience) {
  const std::size_t n = cells_.n;
  share_ = share;
  beam_ = beam;
  for (std::size_t width = 1; width <= n; ++width)
    for (std::size_t i = 0; i + width <= n; ++i) {
      const std::size_t j = i + width, number = cells_.at(i, j);
      Cell& cell = cell_[number];
      tops_ = shares ? &shares->top[number * shares->labels] : nullptr;
      states_ = shares ? &shares->state[number * shares->parents] : nullptr;
      top_outside_ = shares ? &shares->top_outside[number * shares->labels] : nullptr;
      state_outside_ = shares ? &shares->state_outside[number * shares->parents] : nullptr;
      if (width == 1) {
        const auto w = static_cast<std::size_t>(words[i]);
        for (std::int64_t e = at[w]; e < at[w + 1]; ++e) {
          Base& entry = entry_of(cell.bases, {symbol[e], kNone, -1});
          entry.score = std::max(entry.score, score[e]);
        }
        forget(cell.bases);
      } else {
        combine(cell, i, j);
      }
      finish(cell, i, j);
      if (steps_ > patience) return false;
      patience -= std::exchange(steps_, 0);
    }
  return whole() >= 0;
}

// States after two children or more, and the rules that they finish.
void Chart::combine(Cell& cell, std::size_t i, std::size_t j) {
  for (std::size_t k = i + 1; k < j; ++k) {
    const Cell& left = cell_[cells_.at(i, k)];
    const Cell& right = cell_[cells_.at(k, j)];
    for (std::size_t p = 0; p < left.states.size(); ++p) {
      const State& before = left.states[p];
      const std::int32_t group = rules_.state_group[before.state];
      const std::int32_t from = right.groups[group], to = right.groups[group + 1];
      if (from == to || !keeps_rules_of(rules_.label[rules_.state_symbol[before.state]])) continue;
      steps_ += static_cast<std::size_t>(to - from);
      const Step* steps = &rules_.step[rules_.row[before.state]];
      const std::int32_t first = rules_.group_first[group];
      for (std::int32_t s = from; s < to; ++s) {
        const Symbol& child = right.symbols[s];
        const Step& step = steps[child.symbol - first];
        const double score = before.score + child.score + step.weight;
        if (score == kNone) continue;
        std::int32_t& place = best_[step.next];
        if (place < 0) {
          place = static_cast<std::int32_t>(cell.states.size());
          cell.states.push_back({step.next, kNone, 0, 0, 0});
        }
        State& entry = cell.states[place];
        if (score > entry.score)
          entry = {step.next, score, static_cast<std::int32_t>(k), static_cast<std::int32_t>(p), s};
      }
    }
  }
  for (const State& state : cell.states) best_[state.state] = -1;
  beam(cell.states, 0, [&](const State& state) {
    return state.score + state_outside_[rules_.label[rules_.state_symbol[state.state]]];
  });
  std::sort(cell.states.begin(), cell.states.end(), [](const State& a, const State& b) { return a.state < b.state; });
  cell.later = cell.states.size();
  for (std::size_t p = 0; p < cell.later; ++p) {
    const State& state = cell.states[p];
    const double score = state.score + rules_.stop[state.state];
    const std::int32_t symbol = rules_.state_symbol[state.state];
    if (score == kNone) continue;
    Base& entry = entry_of(cell.bases, {symbol, kNone, -1});
    if (score > entry.score) {
      entry.score = score;
      entry.state = static_cast<std::int32_t>(p);
    }
  }
  forget(cell.bases);
}

// Chains above, and states after a first child.
void Chart::finish(Cell& cell, std::size_t i, std::size_t j) {
  for (std::size_t b = 0; b < cell.bases.size(); ++b) {
    const Base& base = cell.bases[b];
    const auto offer = [&](std::int32_t symbol, double score, std::int32_t chain) {
      if (!keeps_symbol(symbol)) return;
      Symbol& entry = entry_of(cell.symbols, {symbol, kNone, -1, -1});
      if (score > entry.score) entry = {symbol, score, static_cast<std::int32_t>(b), chain};
    };
    offer(base.symbol, base.score, -1);
    for (std::int64_t c = rules_.chain_at[base.symbol]; c < rules_.chain_at[base.symbol + 1]; ++c)
      offer(rules_.chain_top[c], base.score + rules_.chain[c], static_cast<std::int32_t>(c));
  }
  forget(cell.symbols);
  beam(cell.symbols, 0, [&](const Symbol& entry) { return entry.score + top_outside_[rules_.label[entry.symbol]]; });
  std::sort(cell.symbols.begin(), cell.symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.symbol < b.symbol; });
  cell.groups.assign(rules_.groups + 1, 0);
  for (const Symbol& entry : cell.symbols) ++cell.groups[rules_.group[entry.symbol] + 1];
  for (std::size_t g = 0; g < rules_.groups; ++g) cell.groups[g + 1] += cell.groups[g];
  if (j == cells_.n) return;  // no rule goes on
  const std::size_t later = cell.states.size();
  for (std::size_t s = 0; s < cell.symbols.size(); ++s) {
    const Symbol& child = cell.symbols[s];
    for (std::int64_t b = rules_.begin_at[child.symbol]; b < rules_.begin_at[child.symbol + 1]; ++b) {
      const std::int32_t state = rules_.begin_state[b];
      if (keeps_rules_of(rules_.label[rules_.state_symbol[state]]))
        cell.states.push_back(
            {state, child.score + rules_.begin[b], static_cast<std::int32_t>(i), -1, static_cast<std::int32_t>(s)});
    }
  }
  beam(cell.states, later, [&](const State& state) {
    return state.score + state_outside_[rules_.label[rules_.state_symbol[state.state]]];
  });
}

// ---- k best

enum class Kind : std::uint8_t { state, base, top };

struct Item {
  std::int32_t i, j;
  Kind kind;
  std::int32_t place;
  bool operator==(const Item&) const = default;
};

struct ItemHash {
  std::size_t operator()(const Item& item) const {
    std::uint64_t h = static_cast<std::uint32_t>(item.i) * 0x9E3779B97F4A7C15ull;
    h = (h ^ static_cast<std::uint32_t>(item.j)) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ (static_cast<std::uint64_t>(item.kind) << 32 | static_cast<std::uint32_t>(item.place))) *
        0x94D049BB133111EBull;
    return static_cast<std::size_t>(h ^ h >> 31);
  }
};

// An edge into an item: weight and what it is made of.
struct Edge {
  double weight;
  std::int32_t chain;  // of an edge into a top
  std::int32_t parts;  // 0, 1, 2
  Item part[2];
};

struct Derivation {
  double score;
  std::int32_t edge;
  std::int32_t rank[2];
};

bool worse(const Derivation& a, const Derivation& b) {  // a heap's top is the one that no other is better than
  if (a.score != b.score) return a.score < b.score;
  if (a.edge != b.edge) return a.edge > b.edge;
  return a.rank[0] != b.rank[0] ? a.rank[0] > b.rank[0] : a.rank[1] > b.rank[1];
}

class Best {
 public:
  explicit Best(const Chart& chart) : chart_(chart) {}

  // The derivation of this rank, or null.
  const Derivation* find(const Item& item, std::size_t rank);
  void write(const Item& item, std::size_t rank, std::vector<Bracket>& out);

 private:
  struct Known {
    std::vector<Edge> edges;
    std::vector<Derivation> best, waiting;  // waiting: a heap
    bool open = false;
  };
  void open(const Item& item, Known& known);
  void edges_of(const Item& item, std::vector<Edge>& edges) const;
  void push(Known& known, std::int32_t edge, std::int32_t first, std::int32_t second);

  const Chart& chart_;
  std::unordered_map<Item, std::unique_ptr<Known>, ItemHash> known_;
};

void Best::edges_of(const Item& item, std::vector<Edge>& edges) const {
  const Rules& rules = chart_.rules();
  const Cell& cell = chart_.cell(item.i, item.j);
  const auto add = [&](double weight, std::int32_t chain, std::initializer_list<Item> parts) {
    Edge edge{weight, chain, static_cast<std::int32_t>(parts.size()), {}};
    std::copy(parts.begin(), parts.end(), edge.part);
    edges.push_back(edge);
  };
  if (item.kind == Kind::top) {
    const std::int32_t symbol = cell.symbols[item.place].symbol;
    for (std::size_t b = 0; b < cell.bases.size(); ++b) {
      const std::int32_t below = cell.bases[b].symbol;
      const Item base{item.i, item.j, Kind::base, static_cast<std::int32_t>(b)};
      if (below == symbol) add(0.0, -1, {base});
      for (std::int64_t c = rules.chain_at[below]; c < rules.chain_at[below + 1]; ++c)
        if (rules.chain_top[c] == symbol) add(rules.chain[c], static_cast<std::int32_t>(c), {base});
    }
  } else if (item.kind == Kind::base) {
    const Base& base = cell.bases[item.place];
    if (base.state < 0) {
      add(base.score, -1, {});
      return;
    }
    for (std::size_t p = 0; p < cell.later; ++p)
      if (rules.state_symbol[cell.states[p].state] == base.symbol && rules.stop[cell.states[p].state] != kNone)
        add(rules.stop[cell.states[p].state], -1, {{item.i, item.j, Kind::state, static_cast<std::int32_t>(p)}});
  } else {
    const State& state = cell.states[item.place];
    if (state.before < 0) {
      const std::int32_t symbol = cell.symbols[state.child].symbol;
      for (std::int64_t b = rules.begin_at[symbol]; b < rules.begin_at[symbol + 1]; ++b)
        if (rules.begin_state[b] == state.state) add(rules.begin[b], -1, {{item.i, item.j, Kind::top, state.child}});
      return;
    }
    for (std::int32_t k = item.i + 1; k < item.j; ++k) {
      const Cell& left = chart_.cell(item.i, k);
      const Cell& right = chart_.cell(k, item.j);
      for (std::size_t p = 0; p < left.states.size(); ++p) {
        const std::int32_t before = left.states[p].state;
        if (rules.state_symbol[before] != rules.state_symbol[state.state]) continue;
        const std::int32_t group = rules.state_group[before];
        for (std::int32_t s = right.groups[group]; s < right.groups[group + 1]; ++s) {
          const Step& step = rules.step[rules.row[before] + right.symbols[s].symbol - rules.group_first[group]];
          if (step.next == state.state && step.weight != kNone)
            add(step.weight, -1, {{item.i, k, Kind::state, static_cast<std::int32_t>(p)}, {k, item.j, Kind::top, s}});
        }
      }
    }
  }
}

void Best::push(Known& known, std::int32_t edge, std::int32_t first, std::int32_t second) {
  const Edge& made = known.edges[edge];
  double score = made.weight;
  const std::int32_t rank[2] = {first, second};
  for (std::int32_t p = 0; p < made.parts; ++p) {
    const Derivation* part = find(made.part[p], static_cast<std::size_t>(rank[p]));
    if (part == nullptr) return;
    score += part->score;
  }
  known.waiting.push_back({score, edge, {first, second}});
  std::push_heap(known.waiting.begin(), known.waiting.end(), worse);
}

void Best::open(const Item& item, Known& known) {
  known.open = true;
  edges_of(item, known.edges);
  for (std::size_t e = 0; e < known.edges.size(); ++e) push(known, static_cast<std::int32_t>(e), 0, 0);
}

const Derivation* Best::find(const Item& item, std::size_t rank) {
  auto& slot = known_[item];
  if (!slot) slot = std::make_unique<Known>();
  Known& known = *slot;
  if (!known.open) open(item, known);
  while (known.best.size() <= rank) {
    if (!known.best.empty()) {  // what comes after the last one taken
      const Derivation last = known.best.back();
      const std::int32_t parts = known.edges[last.edge].parts;
      if (parts >= 1) push(known, last.edge, last.rank[0] + 1, last.rank[1]);
      // Each pair of ranks has one way to be reached: the second grows only while the first is 0.
      if (parts == 2 && last.rank[0] == 0) push(known, last.edge, 0, last.rank[1] + 1);
    }
    if (known.waiting.empty()) return nullptr;
    std::pop_heap(known.waiting.begin(), known.waiting.end(), worse);
    known.best.push_back(known.waiting.back());
    known.waiting.pop_back();
  }
  return &known.best[rank];
}

void Best::write(const Item& start, std::size_t start_rank, std::vector<Bracket>& out) {
  struct Open {
    Item item;
    std::size_t rank;
    std::int32_t chain;
  };
  std::vector<Open> stack{{start, start_rank, -1}};
  while (!stack.empty()) {
    const Open now = stack.back();
    stack.pop_back();
    const Derivation* derivation = find(now.item, now.rank);
    const Edge& edge = known_.at(now.item)->edges[derivation->edge];
    std::int32_t chain = -1;
    if (now.item.kind == Kind::top) chain = edge.chain;
    if (now.item.kind == Kind::base)
      out.push_back(
          {now.item.i, now.item.j, chart_.cell(now.item.i, now.item.j).bases[now.item.place].symbol, now.chain});
    for (std::int32_t p = edge.parts - 1; p >= 0; --p)
      stack.push_back({edge.part[p], static_cast<std::size_t>(derivation->rank[p]), chain});
  }
}

// The best tree alone: follows what each item remembers.
void write_best(const Chart& chart, std::int32_t root, std::vector<Bracket>& out) {
  std::vector<Item> stack{{0, static_cast<std::int32_t>(chart.length()), Kind::top, root}};
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    const Cell& cell = chart.cell(item.i, item.j);
    if (item.kind == Kind::top) {
      const Symbol& top = cell.symbols[item.place];
      const Base& base = cell.bases[top.base];
      out.push_back({item.i, item.j, base.symbol, top.chain});
      if (base.state >= 0) stack.push_back({item.i, item.j, Kind::state, base.state});
    } else {
      const State& state = cell.states[item.place];
      if (state.before < 0) {
        stack.push_back({item.i, item.j, Kind::top, state.child});
      } else {
        stack.push_back({state.split, item.j, Kind::top, state.child});
        stack.push_back({item.i, state.split, Kind::state, state.before});
      }
    }
  }
}

std::vector<Parse> parses_of(const Chart& chart, bool plain, std::size_t k) {
  const std::int32_t root = chart.whole();
  std::vector<Parse> parses;
  const auto n = static_cast<std::int32_t>(chart.length());
  if (k == 1) {
    parses.push_back({chart.cell(0, chart.length()).symbols[root].score, plain, {}});
    write_best(chart, root, parses[0].brackets);
    return parses;
  }
  Best best(chart);
  const Item whole{0, n, Kind::top, root};
  for (std::size_t rank = 0; rank < k; ++rank) {
    const Derivation* derivation = best.find(whole, rank);
    if (derivation == nullptr) break;
    parses.push_back({derivation->score, plain, {}});
    best.write(whole, rank, parses.back().brackets);
  }
  return parses;
}

}  // namespace

std::vector<Parse> best_parses(const Rules& rules, const Rules& plain, const Coarse& coarse, const Words& lexicon,
                               std::span<const std::int32_t> words, const Search& search) {
  const std::size_t n = words.size();
  const Shares shares = coarse_shares(coarse, lexicon, words);
  std::size_t endless = std::numeric_limits<std::size_t>::max(), patience = kPatience;
  for (const double wider : {1.0, 1.3, 1.7, 2.2, 3.0}) {  // the last takes a hundred times as long as the first
    Chart chart(rules, n);
    const double share = search.share * std::pow(1e-3, (wider - 1.0) / 2.0);
    if (chart.fill(&shares, share, wider * search.beam, lexicon.symbol_at, lexicon.symbol, lexicon.score, words,
                   wider == 1.0 ? endless : patience))
      return parses_of(chart, false, search.k);
  }
  constexpr double kWide = 1e9;  // a beam that nothing is outside of
  for (const double share : {1e-3, 1e-6, 0.0}) {
    Chart chart(plain, n);
    if (chart.fill(share > 0.0 ? &shares : nullptr, share, kWide, lexicon.plain_at, lexicon.plain, lexicon.plain_score,
                   words, endless))
      return parses_of(chart, true, search.k);
  }
  return {};  // not reached: the last chart has everything
}

}  // namespace textmill::trees
