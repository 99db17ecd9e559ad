#include "base/sparse.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::base {
namespace {

using detail::refuse;

constexpr std::size_t kTile = 8;             // packs of a row kept in registers
constexpr std::size_t kAhead = 8;            // entries between the fetch of a dense row and its use
constexpr std::size_t kRowBlock = 64;        // rows handed to a thread at once
constexpr std::size_t kBlock = 1 << 14;      // offsets checked, or numbers added, at once
constexpr std::size_t kLine = 8;             // doubles of a cache line
constexpr std::size_t kEntriesPerLane = 16;  // entries that a column must have on average for each lane of its sum
constexpr std::size_t kTurn = 48;            // columns of B from which turning A round pays
constexpr std::size_t kSlice = 64;           // columns of B then taken at once
constexpr std::size_t kColumnBlock = 8;      // columns of A then handed to a thread at once
constexpr std::size_t kMostRows = 1 << 30;   // rows then turned at once: their numbers fit in int32

// A pack of one: the columns left over when k is no multiple of the real packs.
struct Single {
  static constexpr std::size_t width = 1;
  double v;
  Single() = default;
  Single(double value) : v(value) {}
  static Single load(const double* p) { return *p; }
  static Single load(const float* p) { return *p; }
  void store(double* p) const { *p = v; }
  void store(float* p) const { *p = static_cast<float>(v); }
  friend Single multiply_add(Single a, Single b, Single c) { return a.v * b.v + c.v; }
};

// Entries [begin, end) of one row; up to `last` the arrays may be read ahead.
template <class Value>
struct Row {
  const std::int32_t* columns;
  const Value* values;
  std::size_t begin;
  std::size_t end;
  std::size_t last;
};

// A block of rows, its offsets in one type.
template <class Value>
struct Rows {
  const std::int32_t* columns;
  const Value* values;
  std::size_t count;
  std::size_t offsets[kRowBlock + 1];

  TEXTMILL_INLINED Row<Value> operator[](std::size_t i) const {
    return {columns, values, offsets[i], offsets[i + 1], offsets[count] - 1};
  }
};

template <class T>
TEXTMILL_INLINED inline void fetch(const T* p, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 64 / sizeof(T)) __builtin_prefetch(p + i);
}

// N packs of a row of C: c = sum_e a_e b[column_e], on top of what is there if `add`.
template <Pack P, std::size_t N, class Value, class Real, class Sum>
TEXTMILL_INLINED inline void gather(const Row<Value>& row, const Real* b, std::size_t k, Sum* c, bool add) {
  P sum[N];
  for (std::size_t j = 0; j < N; ++j) sum[j] = add ? P::load(c + j * P::width) : P(0.0);
  for (std::size_t e = row.begin; e < row.end; ++e) {
    fetch(b + row.columns[std::min(e + kAhead, row.last)] * k, N * P::width);
    const Real* from = b + row.columns[e] * k;
    const P value = static_cast<double>(row.values[e]);
    for (std::size_t j = 0; j < N; ++j) sum[j] = multiply_add(value, P::load(from + j * P::width), sum[j]);
  }
  for (std::size_t j = 0; j < N; ++j) sum[j].store(c + j * P::width);
}

// N packs of a row of B, to the rows of C that its entries name: c[column_e] += a_e b.
template <Pack P, std::size_t N, class Value, class Real>
TEXTMILL_INLINED inline void scatter(const Row<Value>& row, const Real* b, std::size_t k, double* c) {
  P from[N];
  for (std::size_t j = 0; j < N; ++j) from[j] = P::load(b + j * P::width);
  for (std::size_t e = row.begin; e < row.end; ++e) {
    fetch(c + row.columns[std::min(e + kAhead, row.last)] * k, N * P::width);
    double* to = c + row.columns[e] * k;
    const P value = static_cast<double>(row.values[e]);
    for (std::size_t j = 0; j < N; ++j) {
      multiply_add(value, from[j], P::load(to + j * P::width)).store(to + j * P::width);
    }
  }
}

// Calls tile<P, N>(j) for stretches of N packs from column j on, together all k columns.
template <Pack P, class Tile>
TEXTMILL_INLINED inline void cover(std::size_t k, Tile tile) {
  std::size_t j = 0;
  for (; k - j >= kTile * P::width; j += kTile * P::width) tile.template operator()<P, kTile>(j);
  switch ((k - j) / P::width) {
    case 1: tile.template operator()<P, 1>(j); break;
    case 2: tile.template operator()<P, 2>(j); break;
    case 3: tile.template operator()<P, 3>(j); break;
    case 4: tile.template operator()<P, 4>(j); break;
    case 5: tile.template operator()<P, 5>(j); break;
    case 6: tile.template operator()<P, 6>(j); break;
    case 7: tile.template operator()<P, 7>(j); break;
  }
  switch (k % P::width) {
    case 1: tile.template operator()<Single, 1>(k - 1); break;
    case 2: tile.template operator()<Single, 2>(k - 2); break;
    case 3: tile.template operator()<Single, 3>(k - 3); break;
  }
}

// One sum is a chain of dependent additions: four chains, added in a fixed order.
template <class Value, class Real>
double dot(const Row<Value>& row, const Real* b) {
  double sum[4] = {};
  std::size_t e = row.begin;
  for (; e + 4 <= row.end; e += 4) {
    for (std::size_t j = 0; j < 4; ++j) {
      sum[j] += static_cast<double>(row.values[e + j]) * static_cast<double>(b[row.columns[e + j]]);
    }
  }
  for (std::size_t j = 0; e < row.end; ++e, ++j) {
    sum[j] += static_cast<double>(row.values[e]) * static_cast<double>(b[row.columns[e]]);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The first `width` of k columns.
template <class Value, class Real, class Sum>
void gather_rows(const Rows<Value>& rows, const Real* b, std::size_t k, std::size_t width, Sum* c, bool add) {
  with_packs([=, &rows]<class P>() TEXTMILL_INLINED {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const Row<Value> row = rows[i];
      cover<P>(width, [=]<class Q, std::size_t N>(std::size_t j)
                          TEXTMILL_INLINED { gather<Q, N>(row, b + j, k, c + i * k + j, add); });
    }
  });
}

// The first `width` of k columns.
template <class Value, class Real>
void scatter_rows(const Rows<Value>& rows, std::size_t width, const Real* b, std::size_t k, double* c) {
  if (k == 1) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const double x = b[i];
      for (std::size_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) {
        c[rows.columns[e]] += static_cast<double>(rows.values[e]) * x;
      }
    }
    return;
  }
  with_packs([=, &rows]<class P>() TEXTMILL_INLINED {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const Row<Value> row = rows[i];
      cover<P>(width, [=]<class Q, std::size_t N>(std::size_t j)
                          TEXTMILL_INLINED { scatter<Q, N>(row, b + i * k + j, k, c + j); });
    }
  });
}

// Everything but the indices, which are checked block by block just before their use, while they are in the cache.
template <class Offset, class Value>
void check_form(const Csr<Offset, Value>& a, std::size_t threads) {
  narrow<std::int32_t>(a.columns, "the number of columns");
  if (a.offsets.size() != a.rows + 1) {
    refuse("indptr has ", a.offsets.size(), " entries, ", a.rows + 1, " are needed for ", a.rows, " rows");
  }
  if (a.indices.size() != a.values.size()) {
    refuse("there are ", a.indices.size(), " indices but ", a.values.size(), " values");
  }
  if (a.offsets[0] != 0) refuse("indptr starts with ", a.offsets[0], ", not 0");
  parallel_blocks(a.rows, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    bool falls = false;
    for (std::size_t i = begin; i < end; ++i) falls |= a.offsets[i + 1] < a.offsets[i];
    if (!falls) return;
    while (a.offsets[begin + 1] >= a.offsets[begin]) ++begin;
    refuse("indptr falls from ", a.offsets[begin], " to ", a.offsets[begin + 1], " at row ", begin);
  });
  if (static_cast<std::size_t>(a.offsets[a.rows]) > a.indices.size()) {
    refuse("indptr ends with ", a.offsets[a.rows], " but there are ", a.indices.size(), " indices");
  }
}

// Rows [first, behind), at most kRowBlock of them, once their entries are known to name columns of the matrix.
template <class Offset, class Value>
Rows<Value> checked_rows(const Csr<Offset, Value>& a, std::size_t first, std::size_t behind) {
  const std::int32_t* columns = a.indices.data();
  const std::int32_t *begin = columns + a.offsets[first], *end = columns + a.offsets[behind];
  const auto limit = static_cast<std::uint32_t>(a.columns) - 1;
  std::uint32_t signs = 0;  // the sign bit is set by an index below 0, and by one above the limit
  for (const std::int32_t* c = begin; c < end; ++c) {
    const auto column = static_cast<std::uint32_t>(*c);
    signs |= column | (limit - column);
  }
  if (signs >> 31 != 0) {
    const auto outside = [&](std::int32_t c) { return c < 0 || static_cast<std::size_t>(c) >= a.columns; };
    const std::int32_t* wrong = std::find_if(begin, end, outside);
    refuse("entry ", wrong - columns, " has column ", *wrong, ", the matrix has ", a.columns, " columns");
  }
  Rows<Value> rows;
  rows.columns = columns;
  rows.values = a.values.data();
  rows.count = behind - first;
  std::copy(&a.offsets[first], &a.offsets[behind] + 1, rows.offsets);
  return rows;
}

// Some rows of A turned round: the entries of column c are [c == 0 ? 0 : ends[c - 1], ends[c]), in the order of rows.
template <class Value>
struct Turned {
  std::unique_ptr<std::int32_t[]> rows;  // counted from the first of these rows
  std::unique_ptr<Value[]> values;
  std::vector<std::size_t> ends;  // [m]
};

// A counting sort by column. Each part counts and then moves a range of rows; where an entry goes does not depend on
// the ranges.
template <class Offset, class Value>
void turn(const Csr<Offset, Value>& a, std::size_t first, std::size_t behind, std::size_t threads, Turned<Value>& out) {
  const std::size_t entries = a.offsets[behind] - a.offsets[first];
  const std::size_t worthwhile = std::min(threads, entries / (4 * a.columns + 1));  // a part counts in m numbers
  const std::size_t parts = std::clamp<std::size_t>(worthwhile, 1, kMaxThreads);
  const auto bound = [=](std::size_t part) { return first + (behind - first) * part / parts; };
  std::vector<std::vector<std::size_t>> place(parts);
  parallel_for(parts, threads, [&](std::size_t p) {
    place[p].assign(a.columns, 0);
    for (std::size_t i = bound(p); i < bound(p + 1); i += kRowBlock) {
      const Rows<Value> rows = checked_rows(a, i, std::min(bound(p + 1), i + kRowBlock));
      for (std::size_t e = rows.offsets[0]; e < rows.offsets[rows.count]; ++e) ++place[p][rows.columns[e]];
    }
  });
  std::size_t next = 0;
  for (std::size_t c = 0; c < a.columns; ++c) {
    for (auto& of_part : place) next += std::exchange(of_part[c], next);
  }
  parallel_for(parts, threads, [&](std::size_t p) {
    for (std::size_t i = bound(p); i < bound(p + 1); ++i) {
      for (auto e = static_cast<std::size_t>(a.offsets[i]); e < static_cast<std::size_t>(a.offsets[i + 1]); ++e) {
        const std::size_t to = place[p][a.indices[e]]++;
        out.rows[to] = static_cast<std::int32_t>(i - first);
        out.values[to] = a.values[e];
      }
    }
  });
  out.ends = std::move(place.back());
}

// C = A^T B by turning rows of A round, as many at a time as give a column kSlice entries on average, and gathering
// kSlice columns of B at a time: their part of B stays in the cache.
template <class Offset, class Value, class Real>
void turn_and_multiply(const Csr<Offset, Value>& a, std::span<const Real> b, std::size_t k, std::span<double> c,
                       std::size_t threads) {
  const std::size_t slices = (k + kSlice - 1) / kSlice, blocks = (a.columns + kColumnBlock - 1) / kColumnBlock;
  const std::size_t entries = a.offsets[a.rows], most = kSlice * a.columns;
  const auto count = [&](std::size_t first, std::size_t behind) -> std::size_t {
    return a.offsets[behind] - a.offsets[first];
  };
  std::size_t room = 0;  // the most entries that are turned at once: `most`, or a row that has more
  for (std::size_t i = 0; i < a.rows; ++i) room = std::max(room, count(i, i + 1));
  room = std::min(entries, std::max(room, most));
  Turned<Value> turned{.rows = std::unique_ptr<std::int32_t[]>(new std::int32_t[room]),
                       .values = std::unique_ptr<Value[]>(new Value[room]),
                       .ends = {}};
  if (a.rows == 0) std::fill(c.begin(), c.end(), 0.0);
  for (std::size_t first = 0, behind; first < a.rows; first = behind) {
    behind = first + 1;
    while (behind < a.rows && count(first, behind + 1) <= most && behind - first < kMostRows) ++behind;
    turn(a, first, behind, threads, turned);
    parallel_for(slices * blocks, threads, [&](std::size_t item) {
      const std::size_t j = item / blocks * kSlice, begin = item % blocks * kColumnBlock;
      Rows<Value> rows{turned.rows.get(), turned.values.get(), std::min(kColumnBlock, a.columns - begin), {}};
      for (std::size_t i = 0; i <= rows.count; ++i) rows.offsets[i] = begin + i == 0 ? 0 : turned.ends[begin + i - 1];
      gather_rows(rows, b.data() + first * k + j, k, std::min(kSlice, k - j), c.data() + begin * k + j, first > 0);
    });
  }
}

}  // namespace

template <class Offset, class Value, class Real>
void multiply(const Csr<Offset, Value>& a, std::span<const Real> b, std::size_t k, std::span<Real> c,
              std::size_t threads) {
  check_form(a, threads);
  parallel_blocks(a.rows, kRowBlock, threads, [&](std::size_t first, std::size_t behind) {
    const Rows<Value> rows = checked_rows(a, first, behind);
    if (k == 1) {
      for (std::size_t i = 0; i < rows.count; ++i) c[first + i] = static_cast<Real>(dot(rows[i], b.data()));
    } else {
      gather_rows(rows, b.data(), k, k, c.data() + first * k, false);
    }
  });
}

template <class Offset, class Value, class Real>
void multiply_transposed(const Csr<Offset, Value>& a, std::span<const Real> b, std::size_t k, std::span<double> c,
                         std::size_t threads) {
  check_form(a, threads);
  if (k >= kTurn) return turn_and_multiply(a, b, k, c, threads);
  // Columns [j, j + width) of C from rows [first, behind) of A and B, into a cleared `out` of the size of C.
  const auto add_rows = [&](std::size_t first, std::size_t behind, std::size_t j, std::size_t width, double* out) {
    for (std::size_t begin = first; begin < behind; begin += kRowBlock) {
      const Rows<Value> rows = checked_rows(a, begin, std::min(behind, begin + kRowBlock));
      scatter_rows(rows, width, b.data() + begin * k + j, k, out + j);
    }
  };
  if (k >= 2 * kLine) {
    parallel_blocks(c.size(), kBlock, threads,
                    [&](std::size_t begin, std::size_t end) { std::fill(c.begin() + begin, c.begin() + end, 0.0); });
    const std::size_t lines = k / kLine, slices = std::min(lines, std::max<std::size_t>(threads, 1));
    parallel_for(slices, threads, [&](std::size_t s) {
      const std::size_t j = lines * s / slices * kLine, end = s + 1 == slices ? k : lines * (s + 1) / slices * kLine;
      add_rows(0, a.rows, j, end - j, c.data());
    });
    return;
  }
  const std::size_t entries = a.offsets[a.rows], columns = std::max<std::size_t>(a.columns, 1);
  const std::size_t lanes = std::clamp<std::size_t>(entries / (kEntriesPerLane * columns), 1, kLanes);
  const std::unique_ptr<double[]> others(new double[product(lanes - 1, c.size(), "the lanes of a sum")]);
  parallel_for(lanes, threads, [&](std::size_t l) {
    double* out = l == 0 ? c.data() : others.get() + (l - 1) * c.size();
    std::fill_n(out, c.size(), 0.0);
    add_rows(a.rows * l / lanes, a.rows * (l + 1) / lanes, 0, k, out);
  });
  parallel_blocks(c.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t l = 1; l < lanes; ++l) {
      const double* lane = others.get() + (l - 1) * c.size();
      for (std::size_t i = begin; i < end; ++i) c[i] += lane[i];
    }
  });
}

#define TEXTMILL_PRODUCTS(Offset, Value)                                                                               \
  template void multiply(const Csr<Offset, Value>&, std::span<const double>, std::size_t, std::span<double>,           \
                         std::size_t);                                                                                 \
  template void multiply(const Csr<Offset, Value>&, std::span<const float>, std::size_t, std::span<float>,             \
                         std::size_t);                                                                                 \
  template void multiply_transposed(const Csr<Offset, Value>&, std::span<const double>, std::size_t,                   \
                                    std::span<double>, std::size_t);                                                   \
  template void multiply_transposed(const Csr<Offset, Value>&, std::span<const float>, std::size_t, std::span<double>, \
                                    std::size_t);
TEXTMILL_PRODUCTS(std::int32_t, double)
TEXTMILL_PRODUCTS(std::int32_t, float)
TEXTMILL_PRODUCTS(std::int32_t, std::int32_t)
TEXTMILL_PRODUCTS(std::int64_t, double)
TEXTMILL_PRODUCTS(std::int64_t, float)
TEXTMILL_PRODUCTS(std::int64_t, std::int32_t)
#undef TEXTMILL_PRODUCTS

}  // namespace textmill::base
