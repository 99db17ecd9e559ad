#include "vectors/lists.h"

#include <limits>

#include "base/simd.h"

namespace textmill::vectors {
namespace {

constexpr std::size_t kStep = 16;  // entries that are mostly passed over by one look

// What the entries of one row of a tile are compared with: p - other[j] with mine, p - half with cuts[j].
struct Row {
  float mine, half;
  const float* other;  // [count] halves of the right rows, null for products
  const float* cuts;   // [count] of the right rows
};

bool passes(const Row& row, const float* p, std::size_t j) {
  return !(p[j] - (row.other ? row.other[j] : 0.0f) < row.mine) || !(p[j] - row.half < row.cuts[j]);
}

// The first place from `j` on, a multiple of kStep, at which an entry of the next kStep may pass; count if none does.
std::size_t next_plain(const Row& row, const float* p, std::size_t j, std::size_t count) {
  for (; j < count; j += kStep) {
    const std::size_t end = std::min(count, j + kStep);
    int any = 0;
    for (std::size_t i = j; i < end; ++i) any |= passes(row, p, i);
    if (any) return j;
  }
  return count;
}

#if defined(TEXTMILL_HAS_AVX2)
TEXTMILL_AVX2 std::size_t next_avx2(const Row& row, const float* p, std::size_t j, std::size_t count) {
  const __m256 mine = _mm256_set1_ps(row.mine), half = _mm256_set1_ps(row.half);
  for (; j + kStep <= count; j += kStep) {
    const __m256 a = _mm256_loadu_ps(p + j), b = _mm256_loadu_ps(p + j + 8);
    __m256 any;
    if (row.other == nullptr) {  // one comparison with the lower of both
      any = _mm256_or_ps(_mm256_cmp_ps(a, _mm256_min_ps(mine, _mm256_loadu_ps(row.cuts + j)), _CMP_NLT_UQ),
                         _mm256_cmp_ps(b, _mm256_min_ps(mine, _mm256_loadu_ps(row.cuts + j + 8)), _CMP_NLT_UQ));
    } else {
      const __m256 one =
          _mm256_or_ps(_mm256_cmp_ps(_mm256_sub_ps(a, _mm256_loadu_ps(row.other + j)), mine, _CMP_NLT_UQ),
                       _mm256_cmp_ps(_mm256_sub_ps(b, _mm256_loadu_ps(row.other + j + 8)), mine, _CMP_NLT_UQ));
      const __m256 two =
          _mm256_or_ps(_mm256_cmp_ps(_mm256_sub_ps(a, half), _mm256_loadu_ps(row.cuts + j), _CMP_NLT_UQ),
                       _mm256_cmp_ps(_mm256_sub_ps(b, half), _mm256_loadu_ps(row.cuts + j + 8), _CMP_NLT_UQ));
      any = _mm256_or_ps(one, two);
    }
    if (_mm256_movemask_ps(any)) return j;
  }
  return j < count ? next_plain(row, p, j, count) : count;
}
#endif

std::size_t next(const Row& row, const float* p, std::size_t j, std::size_t count) {
#if defined(TEXTMILL_HAS_AVX2)
  if (base::simd() == base::Simd::avx2) return next_avx2(row, p, j, count);
#endif
  return next_plain(row, p, j, count);
}

bool may(const Dense& x, std::size_t row) { return x.allowed.empty() || x.allowed[row] != 0; }

}  // namespace

double Lists::needed(std::size_t row) {
  const std::lock_guard guard(lock_of(row));
  return best_[row].needed();
}

double Lists::offer_locked(std::size_t row, double key, std::size_t other) {
  const std::lock_guard guard(lock_of(row));
  best_[row].offer(key, static_cast<std::int64_t>(other));
  return best_[row].needed();
}

void Lists::add(const Stretch& left, const Stretch& right, const float* products, std::size_t stride) {
  const Dense &x = *left.x, &y = *right.x;
  const std::size_t d = x.columns;
  const float nothing = std::numeric_limits<float>::infinity();  // no product reaches it
  const auto row_of = [d](const Dense& of, std::size_t row) { return of.values.data() + row * d; };
  std::vector<Query> queries(right.count);  // the right rows, as questions to the left
  std::vector<float> cuts(right.count, nothing);
  for (std::size_t j = 0; j < right.count; ++j) {
    if (!may(y, right.first + j)) continue;
    queries[j] = prepare(x, row_of(y, right.first + j));
    cuts[j] = cut(x, queries[j], needed(right.base + j));
  }
  const float* halves = y.halves.empty() ? nullptr : y.halves.data() + right.first;
  for (std::size_t i = 0; i < left.count; ++i) {
    const std::size_t r = left.first + i, me = left.base + i;
    if (!may(x, r)) continue;
    const std::size_t begin = me < right.base ? 0 : me - right.base + 1;  // pairs on and below the diagonal: left out
    if (begin >= right.count) continue;
    const Query query = prepare(y, row_of(x, r));
    const float* p = products + i * stride;
    Row row{cut(y, query, needed(me)), x.halves.empty() ? 0.0f : x.halves[r], halves, cuts.data()};
    for (std::size_t j = begin / kStep * kStep; (j = next(row, p, j, right.count)) < right.count; j += kStep) {
      for (std::size_t at = std::max(j, begin); at < std::min(right.count, j + kStep); ++at) {
        if (!may(y, right.first + at) || !passes(row, p, at)) continue;
        const double key = exact_key(x.kind, row_of(x, r), row_of(y, right.first + at), d);
        row.mine = cut(y, query, offer_locked(me, key, right.base + at));
        cuts[at] = cut(x, queries[at], offer_locked(right.base + at, key, me));
      }
    }
  }
}

void Lists::fill(std::size_t k, std::span<std::int64_t> rows, std::span<double> keys) const {
  std::fill(rows.begin(), rows.end(), std::int64_t{-1});
  std::fill(keys.begin(), keys.end(), -std::numeric_limits<double>::infinity());
  for (std::size_t row = 0; row < best_.size(); ++row) {
    std::size_t place = row * k;
    for (const Hit& hit : best_[row].sorted()) {
      rows[place] = hit.row;
      keys[place++] = hit.key;
    }
  }
}

}  // namespace textmill::vectors
