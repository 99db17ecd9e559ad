#include "strings/cosine.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "base/simd.h"

namespace textmill::strings {
namespace {

constexpr double kSlack = 1e-5;    // of the bounds, whose weights are rounded
constexpr float kLevels = 127.0f;  // of the numbers of a sketch

using Sketch = CosineIndex::Sketch;
using Product = std::int32_t(const Sketch&, const Sketch&);

std::int32_t product_plain(const Sketch& a, const Sketch& b) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::int32_t{a[i]} * b[i];
  return sum;
}

#if defined(TEXTMILL_HAS_AVX2)
TEXTMILL_AVX2 std::int32_t product_avx2(const Sketch& a, const Sketch& b) {
  __m256i sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i < a.size(); i += 32) {  // numbers of 7 bits: two products fit into 16
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.data() + i));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b.data() + i));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), _mm256_set1_epi16(1)));
  }
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
  return _mm_cvtsi128_si32(four);
}
#endif

Product* choose_product() {
#if defined(TEXTMILL_HAS_AVX2)
  if (base::simd() == base::Simd::avx2) return product_avx2;
#endif
  return product_plain;
}

}  // namespace

CosineIndex::Sketch CosineIndex::sketch_of(std::span<const Weight> vector, double length) {
  std::array<double, kBuckets> squares{};
  for (const auto& [rank, weight] : vector) squares[static_cast<std::size_t>(rank) % kBuckets] += weight * weight;
  Sketch sketch{};
  for (std::size_t i = 0; i < kBuckets; ++i) {
    sketch[i] = static_cast<std::uint8_t>(
        std::min(std::ceil(std::sqrt(squares[i]) / length * kLevels + kSlack), double{kLevels}));
    if (squares[i] == 0.0) sketch[i] = 0;
  }
  return sketch;
}

struct CosineIndex::Scratch {
  Scratch(std::size_t words, std::size_t names) : dense(words, 0.0), seen(names, -1) {}
  std::vector<Weight> query;       // by rank
  std::vector<double> dense;       // [V] by rank: the weights of the query
  std::vector<std::int32_t> seen;  // the left name for which a name was last a candidate
  Sketch sketch;                   // of the query
  std::vector<double> rest;        // |u_k, u_k+1, ...|
  std::vector<Found> found;
  std::vector<double> best;  // the `top` largest scores, the worst in front
};

CosineIndex::CosineIndex(const Names& names, std::size_t words, std::size_t threads) : ranks_(words) {
  std::vector<std::int64_t> holders(words, 0);
  for (const std::int32_t word : names.words) ++holders[static_cast<std::size_t>(word)];
  std::vector<std::int32_t> order(words);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return holders[static_cast<std::size_t>(a)] < holders[static_cast<std::size_t>(b)];
  });
  starts_.assign(words + 1, 0);
  for (std::size_t rank = 0; rank < words; ++rank) {
    ranks_[static_cast<std::size_t>(order[rank])] = static_cast<std::int32_t>(rank);
    starts_[rank + 1] = starts_[rank] + holders[static_cast<std::size_t>(order[rank])];
  }

  offsets_.assign(names.offsets.begin(), names.offsets.end());
  weights_.resize(names.words.size());
  squares_.resize(names.size());
  sketches_.resize(names.size());
  base::parallel_blocks(names.size(), 1024, threads, [&](std::size_t first, std::size_t end) {
    for (std::size_t name = first; name < end; ++name) {
      const std::size_t begin = names.begin(name), size = names.length(name);
      for (std::size_t e = begin; e < begin + size; ++e) {
        weights_[e] = {ranks_[static_cast<std::size_t>(names.words[e])], names.weights[e]};
      }
      const auto row = weights_.begin() + static_cast<std::ptrdiff_t>(begin);
      std::sort(row, row + static_cast<std::ptrdiff_t>(size),
                [](const Weight& a, const Weight& b) { return a.rank < b.rank; });
      for (std::size_t e = begin; e < begin + size; ++e) squares_[name] += weights_[e].weight * weights_[e].weight;
      if (squares_[name] > 0.0) sketches_[name] = sketch_of({weights_.data() + begin, size}, std::sqrt(squares_[name]));
    }
  });

  postings_.resize(weights_.size());
  std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
  for (std::size_t name = 0; name < names.size(); ++name) {
    const double length = squares_[name] > 0.0 ? std::sqrt(squares_[name]) : 1.0;
    double rest = 0.0;
    for (std::size_t e = names.begin(name) + names.length(name); e-- > names.begin(name);) {
      const double v = weights_[e].weight / length;
      postings_[static_cast<std::size_t>(next[static_cast<std::size_t>(weights_[e].rank)]++)] = {
          static_cast<std::int32_t>(name), static_cast<float>(v), static_cast<float>(std::sqrt(rest))};
      rest += v * v;
    }
  }
  const auto reach = [](const Posting& p) { return p.weight * p.weight + p.rest * p.rest; };
  base::parallel_blocks(words, 64, threads, [&](std::size_t first, std::size_t end) {
    for (std::size_t rank = first; rank < end; ++rank) {
      std::sort(postings_.begin() + starts_[rank], postings_.begin() + starts_[rank + 1],
                [&](const Posting& a, const Posting& b) {
                  return reach(a) != reach(b) ? reach(a) > reach(b) : a.name < b.name;
                });
    }
  });
}

Matches CosineIndex::search(const Names& left, std::size_t begin, std::size_t end, double threshold, std::size_t top,
                            std::size_t threads) const {
  const auto search = [&](std::size_t name, Scratch& scratch, Matches& out) {
    scratch.query.clear();
    double unknown = 0.0, square = 0.0;
    for (std::size_t e = left.begin(name); e < left.begin(name) + left.length(name); ++e) {
      if (left.words[e] < 0) {
        unknown += left.weights[e] * left.weights[e];
      } else {
        scratch.query.push_back({ranks_[static_cast<std::size_t>(left.words[e])], left.weights[e]});
      }
    }
    std::sort(scratch.query.begin(), scratch.query.end(),
              [](const Weight& a, const Weight& b) { return a.rank < b.rank; });
    for (const Weight& one : scratch.query) square += one.weight * one.weight;
    search_one(name, square + unknown, threshold, top, false, scratch, out);
  };
  return search_all(begin, end, threads, [&] { return std::make_unique<Scratch>(words(), size()); }, search);
}

Matches CosineIndex::search_self(std::size_t begin, std::size_t end, double threshold, std::size_t top,
                                 std::size_t threads) const {
  const auto search = [&](std::size_t name, Scratch& scratch, Matches& out) {
    scratch.query.assign(weights_.begin() + offsets_[name], weights_.begin() + offsets_[name + 1]);
    search_one(name, squares_[name], threshold, top, true, scratch, out);
  };
  return search_all(begin, end, threads, [&] { return std::make_unique<Scratch>(words(), size()); }, search);
}

void CosineIndex::search_one(std::size_t name, double square, double threshold, std::size_t top, bool same,
                             Scratch& scratch, Matches& out) const {
  if (square == 0.0) return;
  const auto& query = scratch.query;
  const double length = std::sqrt(square);
  auto& rest = scratch.rest;
  rest.assign(query.size() + 1, 0.0);
  double squares = 0.0;
  for (std::size_t k = query.size(); k-- > 0;) {
    const auto rank = static_cast<std::size_t>(query[k].rank);
    const double u = query[k].weight / length;
    // a name does not meet itself: a word counts only where another name has it
    if (starts_[rank + 1] - starts_[rank] > (same ? 1 : 0)) squares += u * u;
    rest[k] = std::sqrt(squares);
  }
  double least = threshold;
  if (rest[0] + kSlack < least) return;
  for (const Weight& one : query) scratch.dense[static_cast<std::size_t>(one.rank)] = one.weight;

  auto& found = scratch.found;
  auto& best = scratch.best;
  found.clear();
  best.clear();
  const bool halved = same && top == 0;
  const auto self = static_cast<std::int32_t>(name);
  const auto compute = [&](std::int32_t other) {
    ++out.aligned;
    const auto at = static_cast<std::size_t>(other);
    double sum = 0.0;
    for (auto e = static_cast<std::size_t>(offsets_[at]); e < static_cast<std::size_t>(offsets_[at + 1]); ++e) {
      sum += scratch.dense[static_cast<std::size_t>(weights_[e].rank)] * weights_[e].weight;
    }
    const double score = std::min(sum / std::sqrt(square * squares_[at]), 1.0);
    if (!(score >= least) || score <= 0.0) return;
    found.push_back({score, other});
    if (top == 0) return;
    best.push_back(score);
    std::push_heap(best.begin(), best.end(), std::greater<>());
    if (best.size() > top) {
      std::pop_heap(best.begin(), best.end(), std::greater<>());
      best.pop_back();
    }
    if (best.size() == top) least = std::max(least, best.front());
  };

  scratch.sketch = sketch_of(query, length);
  Product* const product = choose_product();
  for (std::size_t k = 0; k < query.size() && rest[k] + kSlack >= least; ++k) {
    const auto rank = static_cast<std::size_t>(query[k].rank);
    const auto u = static_cast<float>(query[k].weight / length), behind = static_cast<float>(rest[k + 1]);
    if (u == 0.0f) continue;
    const auto reach = static_cast<float>(rest[k] * rest[k]);
    const auto first = static_cast<std::size_t>(starts_[rank]), last = static_cast<std::size_t>(starts_[rank + 1]);
    for (std::size_t p = first; p < last; ++p) {
      const Posting posting = postings_[p];
      const auto needed = static_cast<float>(least - kSlack);
      if (needed > 0.0f && (posting.weight * posting.weight + posting.rest * posting.rest) * reach < needed * needed)
        break;
      if (u * posting.weight + behind * posting.rest < needed) continue;
      if (halved ? posting.name <= self : same && posting.name == self) continue;
      auto& seen = scratch.seen[static_cast<std::size_t>(posting.name)];
      if (seen == self) continue;
      seen = self;
      ++out.candidates;
      const std::int32_t bound = product(scratch.sketch, sketches_[static_cast<std::size_t>(posting.name)]);
      if (static_cast<float>(bound) >= needed * (kLevels * kLevels)) compute(posting.name);
    }
  }
  for (const Weight& one : query) scratch.dense[static_cast<std::size_t>(one.rank)] = 0.0;
  std::sort(found.begin(), found.end());
  if (top > 0 && found.size() > top) found.resize(top);
  for (const Found& match : found) {
    if (match.score < least) break;
    out.left.push_back(self);
    out.right.push_back(match.name);
    out.scores.push_back(match.score);
  }
}

}  // namespace textmill::strings
