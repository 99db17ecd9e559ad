#include "fst/align.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <queue>
#include <utility>

#include "base/parallel.h"
#include "fst/fault.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kDense = std::size_t{1} << 22;       // cells of a table of links: 16 MB
constexpr std::size_t kMostCells = std::size_t{1} << 25;   // of one pair: 256 MB of sums
constexpr std::size_t kFound = std::size_t{1} << 18;       // links of one pair that are kept: 1 MB
constexpr std::size_t kLaneCounts = std::size_t{1} << 24;  // held in all lanes together: 128 MB
constexpr std::size_t kBlock = 256;                        // pairs aligned by a thread before it asks for more
constexpr double kSafe = 1e-200;                // a sum between this and its inverse has lost nothing to underflow
constexpr double kCostUnits = 1099511627776.0;  // 2^40
constexpr std::int64_t kTie = 256;  // costs that differ by less are equal: 2^-32, what rounding can do to 512 links
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 2;

// Which number a pair of chunks has: that of its link, or in `discover`, where every pair counts, its key.
struct ById {
  const Links& links;
  using Link = std::int32_t;
  Link operator()(std::int32_t u, std::int32_t v) const { return links.find(u, v); }
  static constexpr Link kNone = Links::kNone;
};
struct ByKey {
  using Link = std::uint64_t;
  Link operator()(std::int32_t u, std::int32_t v) const {
    return static_cast<std::uint64_t>(u) << 32 | static_cast<std::uint32_t>(v);
  }
  static constexpr Link kNone = ~std::uint64_t{0};
};

// The cells (i, j, layer) of one pair and the links between them. Layer c of a cell is entered by the c-th insertion
// in a row, layer 0 by anything else; without a limit there is only layer 0.
template <class Find>
class Lattice {
 public:
  using Link = typename Find::Link;

  Lattice(const Limits& limits, const Chunks& inputs, const Chunks& outputs, Find find)
      : limits_(limits),
        inputs_(inputs),
        outputs_(outputs),
        find_(find),
        layers(limits.insertions && limits.insertions_in_a_row > 0 ? limits.insertions_in_a_row + 1 : 1) {
    for (std::size_t a = 1; a <= limits.max_input; ++a)
      for (std::size_t b = 1; b <= (a == 1 || limits.many_to_many ? limits.max_output : 1); ++b)
        steps_.push_back({a, b});
  }

  void enter(std::span<const std::int32_t> x, std::span<const std::int32_t> y, std::size_t pair) {
    n = x.size();
    m = y.size();
    if (n >= kMostCells || m >= kMostCells || (n + 1) * (m + 1) > kMostCells / layers)
      fail("pair ", pair + 1, " has ", n, " x ", m, " symbols, more than ", kMostCells / layers,
           " cells to align; cut it into shorter parts");
    chunk(inputs_, x, limits_.max_input, u_);
    chunk(outputs_, y, limits_.max_output, v_);
    deletion_.assign(n + 1, Find::kNone);
    insertion_.assign(m + 1, Find::kNone);
    for (std::size_t i = 0; limits_.deletions && i < n; ++i)
      if (const std::int32_t u = u_[i * limits_.max_input]; u >= 0) deletion_[i] = find_(u, 0);
    for (std::size_t j = 0; limits_.insertions && j < m; ++j)
      if (const std::int32_t v = v_[j * limits_.max_output]; v >= 0) insertion_[j] = find_(0, v);
    found_.clear();
    if (n * m * steps_.size() > kFound) return;
    found_.resize(n * m * steps_.size(), Find::kNone);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j)
        for (std::size_t k = 0; k < steps_.size(); ++k) found_[(i * m + j) * steps_.size() + k] = substitution(i, j, k);
  }

  std::size_t cells() const { return (n + 1) * (m + 1) * layers; }
  std::size_t at(std::size_t i, std::size_t j) const { return (i * (m + 1) + j) * layers; }
  std::size_t rows() const { return limits_.max_input + 1; }  // that links reach over
  // The layer after an insertion in layer c, or `layers` if there can be none.
  std::size_t inserted(std::size_t c) const { return limits_.insertions_in_a_row == 0 ? 0 : c + 1; }

  Link deletion(std::size_t i) const { return deletion_[i]; }    // kNone for i = n
  Link insertion(std::size_t j) const { return insertion_[j]; }  // kNone for j = m

  // f(a, b, link) for every link with a inputs and b outputs from (i, j) on, those with fewer inputs first.
  template <class F>
  void substitutions(std::size_t i, std::size_t j, F f) const {
    if (i == n || j == m) return;
    const Link* found = found_.empty() ? nullptr : found_.data() + (i * m + j) * steps_.size();
    for (std::size_t k = 0; k < steps_.size(); ++k)
      if (const Link link = found ? found[k] : substitution(i, j, k); link != Find::kNone)
        f(steps_[k].first, steps_[k].second, link);
  }

  // All but insertions.
  template <class F>
  void moves(std::size_t i, std::size_t j, F f) const {
    substitutions(i, j, f);
    if (const Link link = deletion(i); link != Find::kNone) f(std::size_t{1}, std::size_t{0}, link);
  }

  Link link(std::size_t i, std::size_t j, std::size_t a, std::size_t b) const {
    return find_(a == 0 ? 0 : u_[i * limits_.max_input + a - 1], b == 0 ? 0 : v_[j * limits_.max_output + b - 1]);
  }

  std::size_t n = 0, m = 0;

 private:
  static void chunk(const Chunks& chunks, std::span<const std::int32_t> symbols, std::size_t most,
                    std::vector<std::int32_t>& out) {
    out.assign(symbols.size() * most, Chunks::kNone);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      std::int32_t chunk = 0;
      for (std::size_t a = 0; a < most && i + a < symbols.size(); ++a) {
        chunk = chunks.child(chunk, symbols[i + a]);
        if (chunk < 0) break;
        out[i * most + a] = chunk;
      }
    }
  }

  Link substitution(std::size_t i, std::size_t j, std::size_t k) const {
    const auto [a, b] = steps_[k];
    if (i + a > n || j + b > m) return Find::kNone;
    const std::int32_t u = u_[i * limits_.max_input + a - 1], v = v_[j * limits_.max_output + b - 1];
    return u >= 0 && v >= 0 ? find_(u, v) : Find::kNone;
  }

  const Limits& limits_;
  const Chunks& inputs_;
  const Chunks& outputs_;
  Find find_;
  std::vector<std::pair<std::size_t, std::size_t>> steps_;  // inputs and outputs of substitutions
  std::vector<std::int32_t> u_, v_;  // [n][max_input], [m][max_output]: chunks of 1, 2, ... symbols from there on
  std::vector<Link> deletion_, insertion_;  // [n + 1], [m + 1]
  std::vector<Link> found_;                 // [n][m][steps]: links, looked up once; empty for a long pair

 public:
  const std::size_t layers;
};

// What is summed: probabilities, their logarithms, or whether there is a path at all.
struct Plain {
  using Value = double;
  std::span<const double> probability;
  static constexpr Value kZero = 0.0, kOne = 1.0;
  Value weight(std::int32_t link) const { return probability[link]; }
  static Value plus(Value a, Value b) { return a + b; }
  static Value times(Value a, Value b) { return a * b; }
  static double share(Value before, Value after, Value inverse) { return before * after * inverse; }
};
struct Logarithmic {
  using Value = double;
  std::span<const double> probability;
  static constexpr Value kZero = -std::numeric_limits<double>::infinity(), kOne = 0.0;
  Value weight(std::int32_t link) const { return std::log(probability[link]); }
  static Value plus(Value a, Value b) {
    const double high = std::max(a, b), low = std::min(a, b);
    return low == kZero ? high : high + std::log1p(std::exp(low - high));
  }
  static Value times(Value a, Value b) { return a + b; }
  static double share(Value before, Value after, Value total) { return std::exp(before + after - total); }
};
struct Possible {
  using Value = std::uint8_t;
  static constexpr Value kZero = 0, kOne = 1;
  static Value weight(std::uint64_t) { return 1; }
  static Value plus(Value a, Value b) { return a | b; }
  static Value times(Value a, Value b) { return a & b; }
  static double share(Value, Value, Value) { return 1.0; }
};

template <class Ring>
typename Ring::Value sum(const typename Ring::Value* cell, std::size_t layers) {
  typename Ring::Value total = cell[0];
  for (std::size_t c = 1; c < layers; ++c) total = Ring::plus(total, cell[c]);
  return total;
}

// Fills alpha; returns Z.
template <class Ring, class Find>
typename Ring::Value forward(const Lattice<Find>& lattice, const Ring& ring, std::vector<typename Ring::Value>& alpha) {
  using Value = typename Ring::Value;
  const std::size_t n = lattice.n, m = lattice.m, layers = lattice.layers;
  alpha.assign(lattice.cells(), Ring::kZero);
  alpha[0] = Ring::kOne;
  for (std::size_t i = 0; i <= n; ++i)
    for (std::size_t j = 0; j <= m; ++j) {
      const Value* cell = alpha.data() + lattice.at(i, j);
      const Value total = sum<Ring>(cell, layers);
      if (total == Ring::kZero) continue;
      lattice.moves(i, j, [&](std::size_t a, std::size_t b, auto link) {
        Value& next = alpha[lattice.at(i + a, j + b)];
        next = Ring::plus(next, Ring::times(total, ring.weight(link)));
      });
      const auto link = lattice.insertion(j);
      if (link == Find::kNone) continue;
      const Value weight = ring.weight(link);
      Value* next = alpha.data() + lattice.at(i, j + 1);
      for (std::size_t c = 0; c < layers; ++c)
        if (const std::size_t d = lattice.inserted(c); d < layers)
          next[d] = Ring::plus(next[d], Ring::times(cell[c], weight));
    }
  return sum<Ring>(alpha.data() + lattice.at(n, m), layers);
}

// visit(i, j, link, share of the alignments that use it there), from the last cell to the first. `total` is what shares
// are taken of: Z, for Plain 1 / Z. beta: scratch.
template <class Ring, class Find, class F>
void backward(const Lattice<Find>& lattice, const Ring& ring, const std::vector<typename Ring::Value>& alpha,
              typename Ring::Value total, std::vector<typename Ring::Value>& beta, F visit) {
  using Value = typename Ring::Value;
  const std::size_t n = lattice.n, m = lattice.m, layers = lattice.layers, rows = lattice.rows();
  beta.assign(rows * (m + 1) * layers, Ring::kZero);
  const auto after = [&](std::size_t i, std::size_t j) { return beta.data() + ((i % rows) * (m + 1) + j) * layers; };
  for (std::size_t i = n + 1; i-- > 0;)
    for (std::size_t j = m + 1; j-- > 0;) {
      const Value* before = alpha.data() + lattice.at(i, j);
      Value* here = after(i, j);
      const Value reached = sum<Ring>(before, layers);
      Value moved = i == n && j == m ? Ring::kOne : Ring::kZero;
      if (reached != Ring::kZero)
        lattice.moves(i, j, [&](std::size_t a, std::size_t b, auto link) {
          const Value rest = after(i + a, j + b)[0];
          if (rest == Ring::kZero) return;
          const Value value = Ring::times(ring.weight(link), rest);
          moved = Ring::plus(moved, value);
          visit(i, j, link, Ring::share(reached, value, total));
        });
      std::fill(here, here + layers, moved);
      if (reached == Ring::kZero) continue;
      const auto link = lattice.insertion(j);
      if (link == Find::kNone) continue;
      const Value weight = ring.weight(link);
      double share = 0.0;
      for (std::size_t c = 0; c < layers; ++c) {
        const std::size_t d = lattice.inserted(c);
        if (d >= layers || after(i, j + 1)[d] == Ring::kZero) continue;
        const Value value = Ring::times(weight, after(i, j + 1)[d]);
        here[c] = Ring::plus(here[c], value);
        if (before[c] != Ring::kZero) share += Ring::share(before[c], value, total);
      }
      if (share != 0.0) visit(i, j, link, share);
    }
}

struct Sums {
  std::vector<double> alpha, beta;
};

// ln Z of the pair in the lattice; visits its links if it has an alignment.
template <class F>
double expect_one(const Lattice<ById>& lattice, std::span<const double> probability, Sums& scratch, bool wanted,
                  F visit) {
  const auto with = [&](const auto& ring, double total) {
    if (wanted) backward(lattice, ring, scratch.alpha, total, scratch.beta, visit);
  };
  const Plain plain{probability};
  if (const double total = forward(lattice, plain, scratch.alpha); total >= kSafe && total <= 1.0 / kSafe) {
    with(plain, 1.0 / total);
    return std::log(total);
  }
  const Logarithmic exact{probability};
  const double total = forward(lattice, exact, scratch.alpha);
  if (total != Logarithmic::kZero) with(exact, total);
  return total;
}

// The ways on from a cell in the order in which ties are broken, and their integer costs.
class Costs {
 public:
  Costs(std::span<const double> log_probability, std::array<LinkKind, 3> preferred)
      : cost(log_probability.size()), preferred_(preferred) {
    for (std::size_t e = 0; e < cost.size(); ++e) {
      const double value = log_probability[e];
      cost[e] = std::isinf(value) ? kNever : std::llround(-value * kCostUnits);
      if (cost[e] != kNever) most_ = std::max(most_, std::abs(cost[e]));
    }
  }

  void check(std::size_t n, std::size_t m, std::size_t pair) const {
    if (static_cast<double>(n + m) * static_cast<double>(most_) > static_cast<double>(kNever) / 2)
      fail("pair ", pair + 1, " has ", n, " x ", m,
           " symbols, too many to add up their costs; cut it into shorter parts");
  }

  // f(a, b, layer after it, cost of the link, rank of the way), in order of preference, until it returns false.
  template <class F>
  void ways(const Lattice<ById>& lattice, std::size_t i, std::size_t j, std::size_t c, F f) const {
    std::uint32_t before = 0;  // rank of the first way of a kind
    for (const LinkKind kind : preferred_) {
      bool more = true;
      if (kind == LinkKind::substitution) {
        lattice.substitutions(i, j, [&](std::size_t a, std::size_t b, std::int32_t link) {
          if (more && cost[link] != kNever)
            more = f(a, b, std::size_t{0}, cost[link], before + static_cast<std::uint32_t>((a - 1) * 255 + b - 1));
        });
        if (!more) return;
        before += 255 * 255;
        continue;
      }
      const bool deletion = kind == LinkKind::deletion;
      const std::size_t layer = deletion ? 0 : lattice.inserted(c);
      const std::int32_t link = deletion ? lattice.deletion(i) : lattice.insertion(j);
      if (link != ById::kNone && cost[link] != kNever && layer < lattice.layers)
        more = f(std::size_t{deletion}, std::size_t{!deletion}, layer, cost[link], before);
      if (!more) return;
      ++before;
    }
  }

  std::vector<std::int64_t> cost;  // [link], kNever for one of probability 0

 private:
  std::array<LinkKind, 3> preferred_;
  std::int64_t most_ = 0;
};

// Least costs from every cell to the end.
void find_rest(const Lattice<ById>& lattice, const Costs& costs, std::vector<std::int64_t>& rest) {
  const std::size_t n = lattice.n, m = lattice.m;
  rest.assign(lattice.cells(), kNever);
  for (std::size_t i = n + 1; i-- > 0;)
    for (std::size_t j = m + 1; j-- > 0;)
      for (std::size_t c = 0; c < lattice.layers; ++c) {
        std::int64_t least = i == n && j == m ? 0 : kNever;
        costs.ways(lattice, i, j, c,
                   [&](std::size_t a, std::size_t b, std::size_t d, std::int64_t cost, std::uint32_t) {
                     const std::int64_t after = rest[lattice.at(i + a, j + b) + d];
                     if (after != kNever) least = std::min(least, after + cost);
                     return true;
                   });
        rest[lattice.at(i, j) + c] = least;
      }
}

// Appends the links of the best alignment; false if there is none. Of all that cost as little, it is the first one in
// the order of preference, read from the left.
bool best_one(const Lattice<ById>& lattice, const Costs& costs, std::vector<std::int64_t>& rest,
              std::vector<std::int32_t>& out) {
  find_rest(lattice, costs, rest);
  if (rest[0] == kNever) return false;
  std::int64_t left = rest[0] + kTie - 1;  // that may still be spent
  for (std::size_t i = 0, j = 0, c = 0; i < lattice.n || j < lattice.m;)
    costs.ways(lattice, i, j, c, [&](std::size_t a, std::size_t b, std::size_t d, std::int64_t cost, std::uint32_t) {
      const std::int64_t after = rest[lattice.at(i + a, j + b) + d];
      if (after == kNever || cost + after > left) return true;
      out.push_back(lattice.link(i, j, a, b));
      left -= cost;
      i += a;
      j += b;
      c = d;
      return false;
    });
  return true;
}

// A way from the first cell on: the last step and what was before it.
struct Partial {
  std::int64_t cost;
  std::int32_t before;  // -1: nothing
  std::uint32_t depth;
  std::uint32_t rank;  // of the last step
  std::uint32_t i, j, c;
  std::int32_t link;  // of the last step
};

// Is x to the left of y where they part?
bool preferred(const std::vector<Partial>& all, std::int32_t x, std::int32_t y) {
  while (all[x].depth > all[y].depth) x = all[x].before;
  while (all[y].depth > all[x].depth) y = all[y].before;
  while (x != y && all[x].before != all[y].before) {
    x = all[x].before;
    y = all[y].before;
  }
  return all[x].rank < all[y].rank;
}

// Appends the links of the n best alignments, and for each where they end; A* with the exact costs to the end.
void best_many(const Lattice<ById>& lattice, const Costs& costs, std::size_t n_best, std::vector<std::int64_t>& rest,
               std::vector<std::int32_t>& out, std::vector<std::size_t>& ends) {
  find_rest(lattice, costs, rest);
  if (rest[0] == kNever) return;
  std::vector<Partial> all{{0, -1, 0, 0, 0, 0, 0, 0}};
  struct Entry {
    std::int64_t excess;  // of the cost up to here and to the end over that of the best alignment, in ties
    std::int32_t at;
  };
  const auto later = [&](const Entry& x, const Entry& y) {
    return x.excess != y.excess ? x.excess > y.excess : preferred(all, y.at, x.at);
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
  queue.push({0, 0});
  for (std::size_t found = 0; found < n_best && !queue.empty();) {
    const std::int32_t at = queue.top().at;
    queue.pop();
    const Partial here = all[at];
    if (here.i == lattice.n && here.j == lattice.m) {
      const std::size_t begin = out.size();
      for (std::int32_t p = at; all[p].before >= 0; p = all[p].before) out.push_back(all[p].link);
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
      ends.push_back(out.size());
      ++found;
      continue;
    }
    costs.ways(lattice, here.i, here.j, here.c,
               [&](std::size_t a, std::size_t b, std::size_t d, std::int64_t cost, std::uint32_t rank) {
                 const std::int64_t after = rest[lattice.at(here.i + a, here.j + b) + d];
                 if (after == kNever) return true;
                 if (all.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
                   fail("too many partial alignments are kept; ask for fewer best ones");
                 all.push_back({here.cost + cost, at, here.depth + 1, rank, static_cast<std::uint32_t>(here.i + a),
                                static_cast<std::uint32_t>(here.j + b), static_cast<std::uint32_t>(d),
                                lattice.link(here.i, here.j, a, b)});
                 queue.push({(here.cost + cost + after - rest[0]) / kTie, static_cast<std::int32_t>(all.size() - 1)});
                 return true;
               });
  }
}

}  // namespace

std::int32_t NumberTable::add(std::uint64_t key, std::int32_t value) {
  if (2 * (size_ + 1) > keys_.size()) {
    std::vector<std::uint64_t> keys(2 * keys_.size(), kFree);
    std::vector<std::int32_t> values(2 * values_.size());
    keys.swap(keys_);
    values.swap(values_);
    --shift_;
    for (std::size_t old = 0; old < keys.size(); ++old) {
      if (keys[old] == kFree) continue;
      std::size_t at = slot(keys[old]);
      while (keys_[at] != kFree) at = (at + 1) & (keys_.size() - 1);
      keys_[at] = keys[old];
      values_[at] = values[old];
    }
  }
  std::size_t at = slot(key);
  for (; keys_[at] != kFree; at = (at + 1) & (keys_.size() - 1))
    if (keys_[at] == key) return values_[at];
  keys_[at] = key;
  values_[at] = value;
  ++size_;
  return value;
}

std::int32_t Chunks::add(std::int32_t parent, std::int32_t symbol) {
  const std::int32_t next = static_cast<std::int32_t>(made_.size());
  std::int32_t found = next;
  if (parent == 0) {
    if (static_cast<std::size_t>(symbol) >= single_.size()) single_.resize(symbol + 1, kNone);
    if (single_[symbol] >= 0) return single_[symbol];
    single_[symbol] = next;
  } else {
    found = longer_.add(key(parent, symbol), next);
  }
  if (found == next) {
    if (made_.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      fail("there are more different chunks than can be numbered; lower max_input or max_output");
    made_.push_back(key(parent, symbol));
  }
  return found;
}

void Chunks::add_symbols(std::span<const std::int32_t> symbols) {
  std::int32_t most = -1;
  for (const std::int32_t symbol : symbols) most = std::max(most, symbol);
  for (std::int32_t symbol = 0; symbol <= most; ++symbol) add(0, symbol);
}

void Chunks::spell(std::int32_t chunk, std::vector<std::int32_t>& out) const {
  const std::size_t begin = out.size();
  for (; chunk != 0; chunk = static_cast<std::int32_t>(made_[chunk] >> 32))
    out.push_back(static_cast<std::int32_t>(made_[chunk] & 0xFFFFFFFFu));
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
}

Links::Links(const Limits& limits, const Strings& inputs, const Strings& outputs)
    : limits_(limits), size_(inputs.size()) {
  inputs_.add_symbols(inputs.symbols);
  outputs_.add_symbols(outputs.symbols);
  const auto intern = [](Chunks& chunks, std::span<const std::int32_t> symbols) {
    std::int32_t chunk = 0;
    for (const std::int32_t symbol : symbols) chunk = chunks.add(chunk, symbol);
    return chunk;
  };
  std::vector<std::uint64_t> keys(size_);
  for (std::size_t e = 0; e < size_; ++e) {
    const std::size_t a = inputs[e].size(), b = outputs[e].size();
    const bool fits =
        a == 0   ? b == 1 && limits.insertions
        : b == 0 ? a == 1 && limits.deletions
                 : a <= limits.max_input && b <= limits.max_output && (limits.many_to_many || a == 1 || b == 1);
    if (!fits) fail("link ", e, " has ", a, " x ", b, " symbols, which the limits of the aligner do not allow");
    keys[e] = static_cast<std::uint64_t>(intern(inputs_, inputs[e])) << 32 |
              static_cast<std::uint32_t>(intern(outputs_, outputs[e]));
  }
  width_ = outputs_.size();
  if (inputs_.size() * width_ <= kDense) dense_.assign(inputs_.size() * width_, kNone);
  for (std::size_t e = 0; e < size_; ++e) {
    const auto id = static_cast<std::int32_t>(e);
    std::int32_t found;
    if (dense_.empty()) {
      found = sparse_.add(keys[e], id);
    } else {
      std::int32_t& cell = dense_[(keys[e] >> 32) * width_ + (keys[e] & 0xFFFFFFFFu)];
      if (cell == kNone) cell = id;
      found = cell;
    }
    if (found != id) fail("link ", e, " is there twice");
  }
}

Discovered discover(const Limits& limits, const Strings& x, const Strings& y, std::size_t threads) {
  Chunks inputs, outputs;
  const auto learn = [](Chunks& chunks, const Strings& strings, std::size_t most) {
    for (std::size_t k = 0; k < strings.size(); ++k)
      for (std::size_t i = 0; i < strings[k].size(); ++i) {
        std::int32_t chunk = 0;
        for (std::size_t a = i; a < i + most && a < strings[k].size(); ++a) chunk = chunks.add(chunk, strings[k][a]);
      }
  };
  learn(inputs, x, limits.max_input);
  learn(outputs, y, limits.max_output);

  constexpr std::size_t kShards = 64, kRecent = std::size_t{1} << 14;
  struct Shard {
    std::mutex mutex;
    NumberTable keys;
  };
  std::vector<Shard> shards(kShards);
  std::vector<std::uint8_t> aligned(x.size());
  base::parallel_blocks(x.size(), 4 * kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Lattice<ByKey> lattice(limits, inputs, outputs, ByKey{});
    std::vector<std::uint8_t> alpha, beta;
    std::vector<std::uint64_t> recent(kRecent, ~std::uint64_t{0});  // most links have just been seen
    for (std::size_t k = begin; k < end; ++k) {
      lattice.enter(x[k], y[k], k);
      aligned[k] = forward(lattice, Possible{}, alpha);
      if (!aligned[k]) continue;
      backward(lattice, Possible{}, alpha, std::uint8_t{1}, beta,
               [&](std::size_t, std::size_t, std::uint64_t key, double) {
                 const std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
                 std::uint64_t& seen = recent[hash >> 50];
                 if (seen == key) return;
                 seen = key;
                 Shard& shard = shards[(hash >> 32) % kShards];
                 const std::lock_guard lock(shard.mutex);
                 shard.keys.add(key, 0);
               });
    }
  });

  std::vector<std::uint64_t> keys;
  for (const Shard& shard : shards) shard.keys.each([&](std::uint64_t key) { keys.push_back(key); });
  if (keys.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    fail("there are more different links than can be numbered; lower max_input or max_output");
  // Chunks by their symbols, so that the order of links does not depend on that of the pairs.
  const auto ranks = [](const Chunks& chunks) {
    std::vector<std::vector<std::int32_t>> spelled(chunks.size());
    std::vector<std::int32_t> order(chunks.size()), rank(chunks.size());
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      chunks.spell(static_cast<std::int32_t>(c), spelled[c]);
      order[c] = static_cast<std::int32_t>(c);
    }
    std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) { return spelled[a] < spelled[b]; });
    for (std::size_t r = 0; r < order.size(); ++r) rank[order[r]] = static_cast<std::int32_t>(r);
    return rank;
  };
  const std::vector<std::int32_t> input_rank = ranks(inputs), output_rank = ranks(outputs);
  std::ranges::sort(keys, [&](std::uint64_t a, std::uint64_t b) {
    const auto key = [&](std::uint64_t k) { return std::pair(input_rank[k >> 32], output_rank[k & 0xFFFFFFFFu]); };
    return key(a) < key(b);
  });
  Discovered out;
  out.input_begin.push_back(0);
  out.output_begin.push_back(0);
  for (const std::uint64_t key : keys) {
    inputs.spell(static_cast<std::int32_t>(key >> 32), out.inputs);
    outputs.spell(static_cast<std::int32_t>(key & 0xFFFFFFFFu), out.outputs);
    out.input_begin.push_back(static_cast<std::int64_t>(out.inputs.size()));
    out.output_begin.push_back(static_cast<std::int64_t>(out.outputs.size()));
  }
  for (std::size_t k = 0; k < aligned.size(); ++k)
    if (!aligned[k]) out.unaligned.push_back(static_cast<std::int64_t>(k));
  return out;
}

void expect(const Links& links, std::span<const double> probability, const Strings& x, const Strings& y,
            std::span<const double> weight, std::size_t threads, std::span<double> log_total,
            std::span<double> counts) {
  // As many lanes as fit; how many depends on the number of links alone.
  const std::size_t lanes = std::clamp<std::size_t>(kLaneCounts / std::max<std::size_t>(counts.size(), 1), 2, 16);
  std::vector<std::vector<double>> lane(lanes);
  base::parallel_for(lanes, threads, [&](std::size_t l) {
    Lattice<ById> lattice(links.limits(), links.inputs(), links.outputs(), ById{links});
    Sums scratch;
    std::vector<double> sum(counts.size());
    for (std::size_t k = x.size() * l / lanes; k < x.size() * (l + 1) / lanes; ++k) {
      lattice.enter(x[k], y[k], k);
      const double times = weight.empty() ? 1.0 : weight[k];
      log_total[k] =
          expect_one(lattice, probability, scratch, !counts.empty(),
                     [&](std::size_t, std::size_t, std::int32_t link, double share) { sum[link] += times * share; });
    }
    lane[l] = std::move(sum);
  });
  for (const std::vector<double>& part : lane)  // in order
    for (std::size_t e = 0; e < counts.size(); ++e) counts[e] += part[e];
}

Paths best(const Links& links, std::span<const double> log_probability, const Strings& x, const Strings& y,
           std::array<LinkKind, 3> preferred, std::size_t n, std::size_t threads) {
  const Costs costs(log_probability, preferred);
  struct Part {
    std::vector<std::int32_t> links;
    std::vector<std::size_t> ends;   // of alignments in links
    std::vector<std::size_t> found;  // alignments of each pair
  };
  std::vector<Part> parts(x.size() / kBlock + 1);
  base::parallel_blocks(x.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Part& part = parts[begin / kBlock];
    Lattice<ById> lattice(links.limits(), links.inputs(), links.outputs(), ById{links});
    std::vector<std::int64_t> rest;
    for (std::size_t k = begin; k < end; ++k) {
      lattice.enter(x[k], y[k], k);
      costs.check(lattice.n, lattice.m, k);
      const std::size_t before = part.ends.size();
      if (n == 1) {
        if (best_one(lattice, costs, rest, part.links)) part.ends.push_back(part.links.size());
      } else {
        best_many(lattice, costs, n, rest, part.links, part.ends);
      }
      part.found.push_back(part.ends.size() - before);
    }
  });
  Paths out;
  out.paths.push_back(0);
  out.begin.push_back(0);
  for (const Part& part : parts) {
    const auto first = static_cast<std::int64_t>(out.links.size());
    out.links.insert(out.links.end(), part.links.begin(), part.links.end());
    for (const std::size_t end : part.ends) out.begin.push_back(first + static_cast<std::int64_t>(end));
    for (const std::size_t found : part.found) out.paths.push_back(out.paths.back() + static_cast<std::int64_t>(found));
  }
  return out;
}

std::vector<Posterior> posteriors(const Links& links, std::span<const double> probability, const Strings& x,
                                  const Strings& y) {
  Lattice<ById> lattice(links.limits(), links.inputs(), links.outputs(), ById{links});
  lattice.enter(x[0], y[0], 0);
  Sums scratch;
  std::vector<Posterior> out;
  expect_one(lattice, probability, scratch, true, [&](std::size_t i, std::size_t j, std::int32_t link, double share) {
    out.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), link, share});
  });
  std::ranges::sort(out, [](const Posterior& a, const Posterior& b) {
    return a.input != b.input ? a.input < b.input : a.output != b.output ? a.output < b.output : a.link < b.link;
  });
  return out;
}

}  // namespace textmill::fst
