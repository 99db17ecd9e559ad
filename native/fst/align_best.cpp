// The best alignments of pairs: Viterbi for one, A* with the exact costs to the end for several.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "base/parallel.h"
#include "fst/align_lattice.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kMostPartial = std::size_t{1} << 23;  // alignments of one pair: 400 MB
constexpr std::size_t kBlock = 256;                         // pairs aligned by a thread before it asks for more
constexpr double kCostUnits = 1099511627776.0;              // 2^40
constexpr std::int64_t kTie = 256;  // costs that differ by less are equal: 2^-32, what rounding can do to 512 links
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 2;

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
               std::vector<std::int32_t>& out, std::vector<std::size_t>& ends, std::size_t pair) {
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
                 if (all.size() >= kMostPartial)
                   fail("pair ", pair + 1, " has more than ", kMostPartial,
                        " partial alignments to compare; ask for fewer best ones");
                 all.push_back({here.cost + cost, at, here.depth + 1, rank, static_cast<std::uint32_t>(here.i + a),
                                static_cast<std::uint32_t>(here.j + b), static_cast<std::uint32_t>(d),
                                lattice.link(here.i, here.j, a, b)});
                 queue.push({(here.cost + cost + after - rest[0]) / kTie, static_cast<std::int32_t>(all.size() - 1)});
                 return true;
               });
  }
}

}  // namespace

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
        best_many(lattice, costs, n, rest, part.links, part.ends, k);
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

}  // namespace textmill::fst
