#include "vectors/coarse.h"

#include <array>
#include <cmath>
#include <deque>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::vectors {
namespace {

constexpr std::size_t kRows = 64;     // whose sums are made together, and then compared
constexpr std::size_t kBlock = 8192;  // rows that a thread takes at a time

// out [rows] = sums of c g over `stride` columns, a multiple of 16; no sum leaves 32 bits.
void sums_plain(const std::int8_t* c, std::size_t rows, std::size_t stride, const std::int16_t* g, std::int32_t* out) {
  for (std::size_t r = 0; r < rows; ++r, c += stride) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < stride; ++i) sum += c[i] * g[i];
    out[r] = sum;
  }
}

#if defined(TEXTMILL_HAS_AVX2)
TEXTMILL_AVX2 inline __m256i widened(const std::int8_t* c) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(c)));
}

TEXTMILL_AVX2 inline __m256i products(__m256i row, const std::int16_t* g) {
  return _mm256_madd_epi16(row, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(g)));
}

TEXTMILL_AVX2 inline std::int32_t total(__m256i a) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
}

// The totals of four sums, one after the other.
TEXTMILL_AVX2 inline __m128i totals(__m256i a0, __m256i a1, __m256i a2, __m256i a3) {
  const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(a0, a1), _mm256_hadd_epi32(a2, a3));
  return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

TEXTMILL_AVX2 void sums_avx2(const std::int8_t* c, std::size_t rows, std::size_t stride, const std::int16_t* g,
                             std::int32_t* out) {
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4, c += 4 * stride) {  // four rows: the query is read once, and one sum of sums is made
    __m256i a0 = _mm256_setzero_si256(), a1 = a0, a2 = a0, a3 = a0;
    for (std::size_t i = 0; i < stride; i += 16) {
      const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(g + i));
      a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(widened(c + i), q));
      a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(widened(c + stride + i), q));
      a2 = _mm256_add_epi32(a2, _mm256_madd_epi16(widened(c + 2 * stride + i), q));
      a3 = _mm256_add_epi32(a3, _mm256_madd_epi16(widened(c + 3 * stride + i), q));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + r), totals(a0, a1, a2, a3));
  }
  for (; r < rows; ++r, c += stride) {
    __m256i a = _mm256_setzero_si256();
    for (std::size_t i = 0; i < stride; i += 16) a = _mm256_add_epi32(a, products(widened(c + i), g + i));
    out[r] = total(a);
  }
}
#endif

#if defined(TEXTMILL_HAS_AVX2)
// The same for kGroup queries at once: each row is read and widened once. out [kGroup][kRows].
TEXTMILL_AVX2 void sums_of_group_avx2(const std::int8_t* c, std::size_t rows, std::size_t stride,
                                      const std::array<const std::int16_t*, kGroup>& g, std::int32_t* out) {
  for (std::size_t r = 0; r < rows; ++r, c += stride) {
    __m256i a0 = _mm256_setzero_si256(), a1 = a0, a2 = a0, a3 = a0;
    for (std::size_t i = 0; i < stride; i += 16) {
      const __m256i row = widened(c + i);
      a0 = _mm256_add_epi32(a0, products(row, g[0] + i));
      a1 = _mm256_add_epi32(a1, products(row, g[1] + i));
      a2 = _mm256_add_epi32(a2, products(row, g[2] + i));
      a3 = _mm256_add_epi32(a3, products(row, g[3] + i));
    }
    alignas(16) std::int32_t four[kGroup];
    _mm_store_si128(reinterpret_cast<__m128i*>(four), totals(a0, a1, a2, a3));
    for (std::size_t q = 0; q < kGroup; ++q) out[q * kRows + r] = four[q];
  }
}
#endif

void make_sums(const std::int8_t* c, std::size_t rows, std::size_t stride, const std::int16_t* g, std::int32_t* out) {
#if defined(TEXTMILL_HAS_AVX2)
  if (base::simd() == base::Simd::avx2) return sums_avx2(c, rows, stride, g, out);
#endif
  sums_plain(c, rows, stride, g, out);
}

void make_group_sums(const std::int8_t* c, std::size_t rows, std::size_t stride,
                     const std::array<const std::int16_t*, kGroup>& g, std::size_t count, std::int32_t* out) {
#if defined(TEXTMILL_HAS_AVX2)
  if (count == kGroup && base::simd() == base::Simd::avx2) return sums_of_group_avx2(c, rows, stride, g, out);
#endif
  for (std::size_t q = 0; q < count; ++q) make_sums(c, rows, stride, g[q], out + q * kRows);
}

// The query in whole numbers.
struct Rounded {
  std::vector<std::int16_t> g;  // [stride]
  float t, length;              // step, and |q| rounded up
  double allowance;             // of what rounding took away
};

Rounded round(const Dense& x, const Coarse& coarse, const Query& query) {
  float most = 0.0f;
  for (std::size_t j = 0; j < x.columns; ++j) most = std::max(most, std::abs(query.values[j]));
  const double largest = std::min(32767.0, std::floor(0x1p31 / (128.0 * static_cast<double>(x.columns))) - 1.0);
  const double step = most > 0.0f ? most / largest : 1.0;
  std::vector<std::int16_t> g(coarse.stride);
  double error = 0.0;
  for (std::size_t j = 0; j < x.columns; ++j) {
    g[j] = static_cast<std::int16_t>(std::nearbyint(query.values[j] / step));
    const double left = query.values[j] - step * g[j];
    error += left * left;
  }
  return {std::move(g), static_cast<float>(step), static_cast<float>(std::sqrt(query.square) * (1.0 + 1e-6)),
          2.0 * x.longest * std::sqrt(error)};
}

// A query as the rows of one part are asked.
struct Asked {
  Query query;
  Rounded rounded;
};

Asked ask(const CoarseRows& part, const Query& query) { return {query, round(part.x, part.coarse, query)}; }

struct Block {
  std::size_t part, begin, end;  // rows of a part
  std::size_t before;            // rows of the parts before it
};

// The bounds of up to kRows rows from `first` on, given their sums.
void make_bounds(const CoarseRows& part, const Asked& asked, std::size_t first, std::size_t rows,
                 const std::int32_t* sums, float* out) {
  const float *steps = part.coarse.steps.data() + first, *errors = part.coarse.errors.data() + first;
  const float t = asked.rounded.t, length = asked.rounded.length;
  for (std::size_t i = 0; i < rows; ++i) out[i] = static_cast<float>(sums[i]) * t * steps[i] + errors[i] * length;
  if (part.x.halves.empty()) return;
  for (std::size_t i = 0; i < rows; ++i) out[i] -= part.x.halves[first + i];
}

// Offers those of some rows whose bounds reach what is needed; returns how many.
std::size_t offer(const CoarseRows& part, const Asked& asked, std::size_t first, std::size_t rows, std::size_t before,
                  const std::int32_t* sums, Best& best) {
  const Dense& x = part.x;
  std::array<float, kRows> bounds;
  make_bounds(part, asked, first, rows, sums, bounds.data());
  float least = cut(x, asked.query, best.needed(), asked.rounded.allowance);
  int any = 0;
  for (std::size_t i = 0; i < rows; ++i) any |= !(bounds[i] < least);
  if (!any) return 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t r = first + i;
    if (bounds[i] < least || (!x.allowed.empty() && !x.allowed[r])) continue;
    best.offer(exact_key(x.kind, x.values.data() + r * x.columns, asked.query.values, x.columns),
               static_cast<std::int64_t>(before + r));
    ++count;
    least = cut(x, asked.query, best.needed(), asked.rounded.allowance);
  }
  return count;
}

}  // namespace

void coarsen(std::span<const float> values, std::size_t columns, std::span<std::int8_t> cells, std::span<float> steps,
             std::span<float> errors, std::size_t threads) {
  const std::size_t stride = stride_of(columns);
  base::parallel_blocks(steps.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const float* x = values.data() + r * columns;
      std::int8_t* c = cells.data() + r * stride;
      float most = 0.0f;
      for (std::size_t j = 0; j < columns; ++j) most = std::max(most, std::abs(x[j]));
      const float step = most / 127.0f;
      double error = 0.0;
      for (std::size_t j = 0; j < columns; ++j) {
        const float cell = step > 0.0f ? std::clamp(std::nearbyint(x[j] / step), -127.0f, 127.0f) : 0.0f;
        const double left = x[j] - static_cast<double>(step) * cell;
        c[j] = static_cast<std::int8_t>(cell);
        error += left * left;
      }
      std::fill(c + columns, c + stride, std::int8_t{0});
      steps[r] = step;
      errors[r] = static_cast<float>(std::sqrt(error) * (1.0 + 1e-6));
    }
  });
}

std::size_t search(std::span<const CoarseRows> parts, std::span<const float* const> queries, Wanted wanted,
                   std::span<Best> best, std::size_t threads) {
  const std::size_t size = queries.size();
  std::vector<std::vector<Asked>> asked(parts.size());
  std::vector<Block> blocks;
  std::size_t base = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const CoarseRows& part = parts[p];
    for (const float* values : queries) asked[p].push_back(ask(part, prepare(part.x, values)));
    for (std::size_t first = 0; first < part.x.rows; first += kBlock)
      blocks.push_back({p, first, std::min(part.x.rows, first + kBlock), base});
    base += part.x.rows;
  }
  std::vector<std::vector<Best>> found(blocks.size());
  std::vector<std::size_t> read(blocks.size());
  std::deque<Needed> needed;
  for (std::size_t q = 0; q < size; ++q) needed.emplace_back(wanted.least);
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    const auto [p, begin, end, before] = blocks[b];
    const CoarseRows& part = parts[p];
    const std::vector<Asked>& mine = asked[p];
    std::array<const std::int16_t*, kGroup> g{};
    for (std::size_t q = 0; q < size; ++q) g[q] = mine[q].rounded.g.data();
    std::array<std::int32_t, kGroup * kRows> sums;
    std::vector<Best> here(size, Best(wanted));
    std::size_t count = 0;
    for (std::size_t first = begin; first < end; first += kRows) {
      const std::size_t rows = std::min(kRows, end - first), stride = part.coarse.stride;
      make_group_sums(part.coarse.cells.data() + first * stride, rows, stride, g, size, sums.data());
      for (std::size_t q = 0; q < size; ++q) {
        here[q].raise(needed[q].get());
        count += offer(part, mine[q], first, rows, before, sums.data() + q * kRows, here[q]);
        needed[q].raise(here[q].needed());
      }
    }
    found[b] = std::move(here);
    read[b] = count;
  });
  std::size_t count = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t q = 0; q < size; ++q) best[q].take(found[b][q]);
    count += read[b];
  }
  return count;
}

void reach(const Dense& x, const Coarse& coarse, const Query& query, std::span<const double> least,
           std::vector<std::int64_t>& rows, std::vector<double>& keys, std::size_t threads) {
  const CoarseRows part{x, coarse};
  const Asked asked = ask(part, query);
  const std::size_t blocks = (x.rows + kBlock - 1) / kBlock;
  std::vector<std::vector<Hit>> found(blocks);
  base::parallel_for(blocks, threads, [&](std::size_t block) {
    std::array<std::int32_t, kRows> sums;
    std::array<float, kRows> bounds;
    const std::size_t end = std::min(x.rows, (block + 1) * kBlock);
    for (std::size_t first = block * kBlock; first < end; first += kRows) {
      const std::size_t count = std::min(kRows, end - first);
      make_sums(coarse.cells.data() + first * coarse.stride, count, coarse.stride, asked.rounded.g.data(), sums.data());
      make_bounds(part, asked, first, count, sums.data(), bounds.data());
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t r = first + i;
        const double needed = (x.kind == Kind::product ? least[r] : (least[r] + query.square) / 2.0) - query.margin -
                              asked.rounded.allowance;
        if (bounds[i] < needed || (!x.allowed.empty() && !x.allowed[r])) continue;
        const double key = exact_key(x.kind, x.values.data() + r * x.columns, query.values, x.columns);
        if (key >= least[r]) found[block].push_back({key, static_cast<std::int64_t>(r)});
      }
    }
  });
  for (const std::vector<Hit>& hits : found)
    for (const Hit& hit : hits) {
      rows.push_back(hit.row);
      keys.push_back(hit.key);
    }
}

}  // namespace textmill::vectors
