#include "base/sparse.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::base {
namespace {

using detail::refuse;

constexpr std::size_t kTile = 8;              // packs of a row kept in registers
constexpr std::size_t kAhead = 8;             // entries between the fetch of a dense row and its use
constexpr std::size_t kRowBlock = 64;         // rows handed to a thread at once
constexpr std::size_t kEntryBlock = 1 << 16;  // entries checked, or numbers cleared, at once
constexpr std::size_t kSample = 1024;         // entries looked at for each range of columns

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

// Entries [begin, end) of one row; the arrays reach up to `last` at least, so far may be read ahead.
template <class Value>
struct Row {
  const std::int32_t* columns;
  const Value* values;
  std::size_t begin;
  std::size_t end;
  std::size_t last;
};

struct Range {  // of columns
  std::int32_t low;
  std::uint32_t size;
  bool holds(std::int32_t column) const { return static_cast<std::uint32_t>(column - low) < size; }
};

template <class T>
TEXTMILL_INLINED inline void fetch(const T* p, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 64 / sizeof(T)) __builtin_prefetch(p + i);
}

// N packs of a row of C: c = sum_e a_e b[column_e].
template <Pack P, std::size_t N, class Value, class Real>
TEXTMILL_INLINED inline void gather(const Row<Value>& row, const Real* b, std::size_t k, Real* c) {
  P sum[N];
  for (std::size_t j = 0; j < N; ++j) sum[j] = P(0.0);
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
TEXTMILL_INLINED inline void scatter(const Row<Value>& row, Range range, const Real* b, std::size_t k, double* c) {
  P from[N];
  for (std::size_t j = 0; j < N; ++j) from[j] = P::load(b + j * P::width);
  for (std::size_t e = row.begin; e < row.end; ++e) {
    if constexpr (N * P::width > 1) fetch(c + row.columns[std::min(e + kAhead, row.last)] * k, N * P::width);
    if (!range.holds(row.columns[e])) continue;
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

template <class Value, class Real>
void gather_row(const Row<Value>& row, const Real* b, std::size_t k, Real* c) {
  if (k == 1) {
    *c = static_cast<Real>(dot(row, b));
    return;
  }
  with_packs([=]<class P>() TEXTMILL_INLINED {
    cover<P>(k, [=]<class Q, std::size_t N>(std::size_t j) TEXTMILL_INLINED { gather<Q, N>(row, b + j, k, c + j); });
  });
}

template <class Value, class Real>
void scatter_row(const Row<Value>& row, Range range, const Real* b, std::size_t k, double* c) {
  with_packs([=]<class P>() TEXTMILL_INLINED {
    cover<P>(k, [=]<class Q, std::size_t N>(std::size_t j) TEXTMILL_INLINED {
      scatter<Q, N>(row, range, b + j, k, c + j);
    });
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
  parallel_blocks(a.rows, kEntryBlock, threads, [&](std::size_t begin, std::size_t end) {
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

// That the entries of rows [first, behind) name columns of the matrix.
template <class Offset, class Value>
void check_columns(const Csr<Offset, Value>& a, std::size_t first, std::size_t behind) {
  const std::int32_t *columns = a.indices.data(), *end = columns + a.offsets[behind];
  const auto limit = static_cast<std::uint32_t>(a.columns) - 1;
  std::uint32_t signs = 0;  // the sign bit is set by an index below 0, and by one above the limit
  for (const std::int32_t* c = columns + a.offsets[first]; c < end; ++c) {
    const auto column = static_cast<std::uint32_t>(*c);
    signs |= column | (limit - column);
  }
  if (signs >> 31 == 0) return;
  for (const std::int32_t* c = columns + a.offsets[first];; ++c) {
    if (*c >= 0 && static_cast<std::size_t>(*c) < a.columns) continue;
    refuse("entry ", c - columns, " has column ", *c, ", the matrix has ", a.columns, " columns");
  }
}

// Bounds of `parts` ranges of columns that hold about the same number of entries, judged by a sample.
template <class Offset, class Value>
std::vector<std::int32_t> balanced_bounds(const Csr<Offset, Value>& a, std::size_t parts) {
  std::vector<std::int32_t> bounds(parts + 1, 0);
  bounds[parts] = static_cast<std::int32_t>(a.columns);
  if (parts == 1) return bounds;
  const std::size_t entries = a.offsets[a.rows], size = std::min(entries, parts * kSample);
  std::vector<std::int32_t> sample(size);
  for (std::size_t i = 0; i < size; ++i) sample[i] = a.indices[i * entries / size];
  std::sort(sample.begin(), sample.end());
  for (std::size_t p = 1; p < parts; ++p) bounds[p] = sample[p * size / parts];
  return bounds;
}

// Where each range of columns starts in each row, [n][parts + 1]; empty when some row is not sorted. Checks the columns.
template <class Offset, class Value>
std::vector<Offset> cut_rows(const Csr<Offset, Value>& a, std::span<const std::int32_t> bounds, std::size_t threads) {
  const std::size_t parts = bounds.size() - 1;
  std::vector<Offset> cuts(product(a.rows, parts + 1, "the table of cuts"));
  std::atomic<bool> sorted = true;
  parallel_blocks(a.rows, kRowBlock, threads, [&](std::size_t first, std::size_t behind) {
    check_columns(a, first, behind);
    for (std::size_t i = first; i < behind; ++i) {
      const std::int32_t *columns = a.indices.data(), *at = columns + a.offsets[i], *end = columns + a.offsets[i + 1];
      bool falls = false;
      for (const std::int32_t* c = at + 1; c < end; ++c) falls |= c[0] < c[-1];
      if (falls) sorted = false;
      cuts[i * (parts + 1)] = a.offsets[i];
      for (std::size_t p = 1; p < parts; ++p) {
        at = std::lower_bound(at, end, bounds[p]);
        cuts[i * (parts + 1) + p] = static_cast<Offset>(at - columns);
      }
      cuts[i * (parts + 1) + parts] = a.offsets[i + 1];
    }
  });
  if (!sorted) cuts.clear();
  return cuts;
}

}  // namespace

template <class Offset, class Value, class Real>
void multiply(const Csr<Offset, Value>& a, std::span<const Real> b, std::size_t k, std::span<Real> c,
              std::size_t threads) {
  check_form(a, threads);
  parallel_blocks(a.rows, kRowBlock, threads, [&](std::size_t first, std::size_t behind) {
    check_columns(a, first, behind);
    Row<Value> row{a.indices.data(), a.values.data(), 0, 0, static_cast<std::size_t>(a.offsets[behind]) - 1};
    for (std::size_t i = first; i < behind; ++i) {
      row.begin = a.offsets[i];
      row.end = a.offsets[i + 1];
      gather_row(row, b.data(), k, c.data() + i * k);
    }
  });
}

template <class Offset, class Value, class Real>
void multiply_transposed(const Csr<Offset, Value>& a, std::span<const Real> b, std::size_t k, std::span<double> c,
                         std::size_t threads) {
  check_form(a, threads);
  parallel_blocks(c.size(), kEntryBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::fill(c.begin() + begin, c.begin() + end, 0.0);
  });
  const auto entries = static_cast<std::size_t>(a.offsets[a.rows]);
  if (entries == 0) return;
  const std::size_t parts = std::max<std::size_t>(1, std::min({threads, a.columns, kMaxThreads}));
  const std::vector<std::int32_t> bounds = balanced_bounds(a, parts);
  const std::vector<Offset> cuts = parts > 1 ? cut_rows(a, std::span(bounds), threads) : std::vector<Offset>();
  parallel_for(parts, threads, [&](std::size_t p) {
    const Range range{bounds[p], static_cast<std::uint32_t>(bounds[p + 1] - bounds[p])};
    Row<Value> row{a.indices.data(), a.values.data(), 0, 0, 0};
    for (std::size_t first = 0; first < a.rows; first += kRowBlock) {
      const std::size_t behind = std::min(a.rows, first + kRowBlock);
      if (parts == 1) check_columns(a, first, behind);
      row.last = static_cast<std::size_t>(a.offsets[behind]) - 1;
      for (std::size_t i = first; i < behind; ++i) {
        row.begin = cuts.empty() ? a.offsets[i] : cuts[i * (parts + 1) + p];  // unsorted: every part reads every row
        row.end = cuts.empty() ? a.offsets[i + 1] : cuts[i * (parts + 1) + p + 1];
        scatter_row(row, range, b.data() + i * k, k, c.data());
      }
    }
  });
}

#define TEXTMILL_PRODUCTS(Offset, Value)                                                                              \
  template void multiply(const Csr<Offset, Value>&, std::span<const double>, std::size_t, std::span<double>,          \
                         std::size_t);                                                                                \
  template void multiply(const Csr<Offset, Value>&, std::span<const float>, std::size_t, std::span<float>,            \
                         std::size_t);                                                                                \
  template void multiply_transposed(const Csr<Offset, Value>&, std::span<const double>, std::size_t,                  \
                                    std::span<double>, std::size_t);                                                  \
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
