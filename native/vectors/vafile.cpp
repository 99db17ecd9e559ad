#include "vectors/vafile.h"

#include <cmath>
#include <functional>
#include <queue>
#include <vector>

#include "base/parallel.h"

namespace textmill::vectors {
namespace {

constexpr std::size_t kBlock = 4096;  // rows that a thread takes at a time
constexpr double kScale = 0x1p30;     // what the largest sum of bounds becomes

typedef std::int32_t Pair __attribute__((vector_size(8)));  // lower and upper bound

struct Candidate {
  std::int32_t upper;
  std::int64_t row;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.upper < b.upper || (a.upper == b.upper && a.row > b.row);
  }
};

struct Tables {
  double scale;              // of the entries
  std::vector<Pair> bounds;  // [columns][2^bits]
};

Tables tables_of(const Dense& x, const Approximations& a, const Query& query) {
  const std::size_t cells = std::size_t{1} << a.bits;
  std::vector<double> low(x.columns * cells), high(x.columns * cells);
  double largest = 0.0;
  for (std::size_t j = 0; j < x.columns; ++j) {
    const float* edge = a.edges.data() + j * (cells + 1);
    const double q = query.values[j];
    double most = 0.0;
    for (std::size_t c = 0; c < cells; ++c) {
      double from, to;
      if (x.kind == Kind::product) {
        const double left = q * edge[c], right = q * edge[c + 1];
        from = std::min(left, right);
        to = std::max(left, right);
      } else {
        const double left = edge[c] - q, right = q - edge[c + 1];  // positive outside of the cell
        const double near = std::max({left, right, 0.0}), far = std::max(std::abs(left), std::abs(right));
        from = -far * far;
        to = -near * near;
      }
      low[j * cells + c] = from;
      high[j * cells + c] = to;
      most = std::max({most, std::abs(from), std::abs(to)});
    }
    largest += most;
  }
  Tables tables{largest > 0.0 ? kScale / largest : 1.0, std::vector<Pair>(low.size())};
  for (std::size_t i = 0; i < low.size(); ++i) {
    // one more than rounding asks for: the exact key is itself rounded
    tables.bounds[i] = Pair{static_cast<std::int32_t>(std::floor(low[i] * tables.scale)) - 1,
                            static_cast<std::int32_t>(std::ceil(high[i] * tables.scale)) + 1};
  }
  return tables;
}

// Bounds of the row whose cells are given.
Pair bounds_of(const std::uint8_t* cells, std::size_t columns, std::size_t bits, const Pair* table) {
  Pair a{}, b{};
  std::size_t j = 0;
  if (bits == 8) {
    for (; j + 2 <= columns; j += 2) {
      a += table[j * 256 + cells[j]];
      b += table[(j + 1) * 256 + cells[j + 1]];
    }
    if (j < columns) a += table[j * 256 + cells[j]];
    return a + b;
  }
  const std::uint32_t mask = (1u << bits) - 1;
  std::uint32_t waiting = 0;
  std::size_t have = 0;
  for (; j < columns; ++j) {
    if (have < bits) {
      waiting |= static_cast<std::uint32_t>(*cells++) << have;
      have += 8;
    }
    a += table[(j << bits) + (waiting & mask)];
    waiting >>= bits;
    have -= bits;
  }
  return a;
}

}  // namespace

void approximate(std::span<const float> values, std::size_t columns, const Approximations& a,
                 std::span<std::uint8_t> cells, std::size_t threads) {
  const std::size_t count = std::size_t{1} << a.bits, bytes = bytes_of(a.bits, columns);
  base::parallel_blocks(values.size() / columns, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      std::uint8_t* out = cells.data() + r * bytes;
      std::fill(out, out + bytes, std::uint8_t{0});
      for (std::size_t j = 0; j < columns; ++j) {
        const float* inner = a.edges.data() + j * (count + 1) + 1;  // cell c begins at inner[c - 1]
        const auto cell =
            static_cast<std::uint32_t>(std::upper_bound(inner, inner + (count - 1), values[r * columns + j]) - inner);
        const std::size_t bit = j * a.bits;
        const std::uint32_t placed = cell << (bit % 8);
        out[bit / 8] = static_cast<std::uint8_t>(out[bit / 8] | placed);
        if (placed > 255) out[bit / 8 + 1] = static_cast<std::uint8_t>(placed >> 8);
      }
    }
  });
}

std::size_t search(const Dense& x, const Approximations& a, const Query& query, Wanted wanted, Best& best,
                   std::size_t threads) {
  const Tables tables = tables_of(x, a, query);
  const std::size_t bytes = bytes_of(a.bits, x.columns), blocks = (x.rows + kBlock - 1) / kBlock;
  // A key of at least `least` has an upper bound of at least this; infinite ones stay within the sums' range.
  const double scaled = std::floor(std::clamp(wanted.least * tables.scale, -0x1p31, 0x1p31 - 1.0));
  const auto least = static_cast<std::int32_t>(scaled);
  Needed needed(scaled);
  std::vector<std::vector<Candidate>> kept(blocks);
  base::parallel_for(blocks, threads, [&](std::size_t block) {
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> lower;  // the k best of the block
    std::vector<Candidate> candidates;
    std::int32_t delta = least;
    for (std::size_t r = block * kBlock; r < std::min(x.rows, (block + 1) * kBlock); ++r) {
      if (!x.allowed.empty() && !x.allowed[r]) continue;
      const Pair bounds = bounds_of(a.cells.data() + r * bytes, x.columns, a.bits, tables.bounds.data());
      if (bounds[1] < delta) continue;
      candidates.push_back({bounds[1], static_cast<std::int64_t>(r)});
      if (wanted.k == kAll || (lower.size() == wanted.k && bounds[0] <= lower.top())) continue;
      if (lower.size() == wanted.k) lower.pop();
      lower.push(bounds[0]);
      if (lower.size() == wanted.k) needed.raise(lower.top());
      delta = std::max(delta, static_cast<std::int32_t>(needed.get()));
    }
    kept[block] = std::move(candidates);
  });
  const auto delta = static_cast<std::int32_t>(needed.get());
  std::vector<Candidate> candidates;
  for (const auto& part : kept)
    std::copy_if(part.begin(), part.end(), std::back_inserter(candidates),
                 [&](const Candidate& c) { return c.upper >= delta; });
  std::make_heap(candidates.begin(), candidates.end());
  std::size_t read = 0;
  for (auto end = candidates.end(); end != candidates.begin(); --end, ++read) {
    std::pop_heap(candidates.begin(), end);
    const Candidate next = *(end - 1);
    if (next.upper < std::floor(best.needed() * tables.scale)) break;
    const float* row = x.values.data() + static_cast<std::size_t>(next.row) * x.columns;
    best.offer(exact_key(x.kind, row, query.values, x.columns), next.row);
  }
  return read;
}

}  // namespace textmill::vectors
