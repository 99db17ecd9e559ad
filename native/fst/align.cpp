// Sums over the alignments of pairs, and the links that any alignment uses.
#include "fst/align.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "fst/align_lattice.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kDense = std::size_t{1} << 22;       // cells of a table of links: 16 MB
constexpr std::size_t kLaneCounts = std::size_t{1} << 24;  // held in all lanes together: 128 MB
constexpr std::size_t kBlock = 256;                        // pairs aligned by a thread before it asks for more
constexpr double kSafe = 1e-200;  // a sum between this and its inverse has lost nothing to underflow

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

}  // namespace

std::int32_t Chunks::add(std::int32_t parent, std::int32_t symbol) {
  const std::int32_t next = static_cast<std::int32_t>(made_.size());
  std::int32_t found = next;
  if (parent == 0) {
    if (static_cast<std::size_t>(symbol) >= single_.size()) single_.resize(symbol + 1, kNone);
    if (single_[symbol] >= 0) return single_[symbol];
    single_[symbol] = next;
  } else {
    found = longer_.add(key(parent, symbol), next).first;
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
      found = sparse_.add(keys[e], id).first;
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
    base::FlatTable<std::int32_t> keys;
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
  for (const Shard& shard : shards) shard.keys.each([&](std::uint64_t key, std::int32_t) { keys.push_back(key); });
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
