#include "vectors/scan.h"

#include <array>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::vectors {
namespace {

constexpr std::size_t kRows = 64;      // whose products are made together, and then compared
constexpr std::size_t kBlock = 8192;   // rows that a thread takes at a time
constexpr double kRounding = 0x1p-23;  // twice the rounding error of one float32 operation

using Floats = float __attribute__((vector_size(16)));

double total(const std::array<double, 4>& lane) { return (lane[0] + lane[2]) + (lane[1] + lane[3]); }

double length_of(const float* values, std::size_t size) {
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(values[i]) * values[i];
  return std::sqrt(sum);
}

// out [rows] = products of rows [rows][columns] with q [columns]; float32, in any order.
void products_plain(const float* x, std::size_t rows, std::size_t columns, const float* q, float* out) {
  for (std::size_t r = 0; r < rows; ++r, x += columns) {
    Floats a{}, b{};
    std::size_t i = 0;
    for (; i + 8 <= columns; i += 8) {
      a += Floats{x[i], x[i + 1], x[i + 2], x[i + 3]} * Floats{q[i], q[i + 1], q[i + 2], q[i + 3]};
      b += Floats{x[i + 4], x[i + 5], x[i + 6], x[i + 7]} * Floats{q[i + 4], q[i + 5], q[i + 6], q[i + 7]};
    }
    a += b;
    float sum = (a[0] + a[2]) + (a[1] + a[3]);
    for (; i < columns; ++i) sum += x[i] * q[i];
    out[r] = sum;
  }
}

#if defined(TEXTMILL_HAS_AVX2)
TEXTMILL_AVX2 inline float sum_of(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// One row after the other, as it lies in memory: the processor's own prefetching keeps up with one stream best. Four
// sums, so that additions need not wait for each other.
TEXTMILL_AVX2 void products_avx2(const float* x, std::size_t rows, std::size_t columns, const float* q, float* out) {
  for (std::size_t r = 0; r < rows; ++r, x += columns) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    std::size_t i = 0;
    for (; i + 32 <= columns; i += 32) {
      a = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(q + i), a);
      b = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8), _mm256_loadu_ps(q + i + 8), b);
      c = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 16), _mm256_loadu_ps(q + i + 16), c);
      d = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 24), _mm256_loadu_ps(q + i + 24), d);
    }
    for (; i + 8 <= columns; i += 8) a = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(q + i), a);
    float sum = sum_of(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
    for (; i < columns; ++i) sum += x[i] * q[i];
    out[r] = sum;
  }
}
#endif

void make_products(const float* x, std::size_t rows, std::size_t columns, const float* q, float* out) {
#if defined(TEXTMILL_HAS_AVX2)
  if (base::simd() == base::Simd::avx2) return products_avx2(x, rows, columns, q, out);
#endif
  products_plain(x, rows, columns, q, out);
}

// The bound of row r from the product of its head, which may be the whole row.
float bound_of(const Dense& x, const Query& query, std::size_t r, float product, bool whole) {
  if (!whole) product += x.tails[r] * query.tail;
  return x.halves.empty() ? product : product - x.halves[r];
}

}  // namespace

float cut(const Dense& x, const Query& query, double needed, double allowance) {
  const double bound = (x.kind == Kind::product ? needed : (needed + query.square) / 2.0) - query.margin - allowance;
  return std::nextafter(static_cast<float>(bound), -std::numeric_limits<float>::infinity());
}

double exact_key(Kind kind, const float* x, const float* q, std::size_t columns) {
  std::array<double, 4> lane{};
  std::size_t i = 0;
  if (kind == Kind::product) {
    for (; i + 4 <= columns; i += 4)
      for (std::size_t l = 0; l < 4; ++l) lane[l] += static_cast<double>(x[i + l]) * q[i + l];
    for (; i < columns; ++i) lane[i % 4] += static_cast<double>(x[i]) * q[i];
    return total(lane);
  }
  const auto square = [&](std::size_t at) {
    const double difference = static_cast<double>(x[at]) - q[at];
    return difference * difference;
  };
  for (; i + 4 <= columns; i += 4)
    for (std::size_t l = 0; l < 4; ++l) lane[l] += square(i + l);
  for (; i < columns; ++i) lane[i % 4] += square(i);
  return -total(lane);
}

Query prepare(const Dense& x, const float* values) {
  const double length = length_of(values, x.columns);
  return {values, length * length,
          static_cast<double>(x.columns + 16) * kRounding * x.longest * (length + x.longest) + 1e-37,
          static_cast<float>(length_of(values + x.head, x.columns - x.head) * (1.0 + kRounding))};
}

std::size_t scan_products(const Dense& x, std::size_t first, std::size_t count, const float* products,
                          const Query& query, Best& best) {
  constexpr std::size_t step = 16;  // rows that are mostly passed over by one look
  const bool whole = x.head == x.columns;
  std::size_t seen = 0;
  float least = cut(x, query, best.needed());
  for (std::size_t begin = 0; begin < count; begin += step) {
    const std::size_t end = std::min(count, begin + step);
    int any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= !(bound_of(x, query, first + i, products[i], whole) < least);
    if (!any) continue;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t r = first + i;
      if (bound_of(x, query, r, products[i], whole) < least) continue;
      if (!x.allowed.empty() && !x.allowed[r]) continue;
      ++seen;
      const float* row = x.values.data() + r * x.columns;
      if (!whole) {
        float product;
        make_products(row, 1, x.columns, query.values, &product);
        if (bound_of(x, query, r, product, true) < least) continue;
      }
      best.offer(exact_key(x.kind, row, query.values, x.columns), static_cast<std::int64_t>(r));
      least = cut(x, query, best.needed());
    }
  }
  return seen;
}

std::size_t scan(const Dense& x, const Query& query, Wanted wanted, Best& best, std::size_t threads) {
  const std::size_t blocks = (x.rows + kBlock - 1) / kBlock;
  std::vector<Best> found(blocks, Best(wanted));
  std::vector<std::size_t> seen(blocks);
  Needed needed(wanted.least);
  base::parallel_for(blocks, threads, [&](std::size_t block) {
    std::array<float, kRows> products;
    Best mine(wanted);
    std::size_t count = 0;
    const std::size_t end = std::min(x.rows, (block + 1) * kBlock);
    for (std::size_t first = block * kBlock; first < end; first += kRows) {
      const std::size_t rows = std::min(kRows, end - first);
      make_products(x.heads.data() + first * x.head, rows, x.head, query.values, products.data());
      mine.raise(needed.get());
      count += scan_products(x, first, rows, products.data(), query, mine);
      needed.raise(mine.needed());
    }
    found[block] = std::move(mine);
    seen[block] = count;
  });
  std::size_t count = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    best.take(found[block]);
    count += seen[block];
  }
  return count;
}

}  // namespace textmill::vectors
