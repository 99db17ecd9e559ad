#include "strings/characters.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::strings {
namespace {

constexpr std::size_t kVector = 64;   // bytes of all lanes together: two registers of AVX2, for the sake of latency
constexpr std::size_t kLongest = 64;  // symbols of a name that fits in a lane
constexpr std::size_t kLongestText = 120;  // of x for jaro in lanes: places are compared in 8 bits, signed
constexpr std::size_t kRows = 64;          // rows of x that meet a batch before the next
constexpr std::size_t kColumns = 8192;     // names whose masks are held together

struct alignas(kVector) Masks {
  std::uint8_t bytes[kVector];
};

// Names of similar length, one a lane.
struct Batch {
  const Masks* masks;             // [1 + symbols of the batch]: where a symbol stands in each name; row 0 is empty
  const std::uint16_t* local;     // [alphabet]: the row of a symbol
  Masks inside;                   // the bits of each lane that belong to its name
  std::size_t first, count;       // its names, in order of length
  unsigned bits;                  // of a lane
  std::int32_t lengths[kVector];  // 1 for an empty name, whose distance and common symbols say enough
};

struct Scratch {
  Masks counts, others;  // what a kernel counted in each lane
  std::int32_t first[kVector], second[kVector];
  double score[kVector];
  Masks reach, bound;  // H of each lane, and its places for the first symbol
  std::vector<Masks> matched;
};

// The largest score of names of n and m symbols of which at least so many kinds stand in only one of the two.
inline double most_score(std::size_t n, std::size_t m, std::size_t only_x, std::size_t only_y,
                         const CharacterMeasure& measure) {
  const double c = static_cast<double>(std::min(n - std::min(n, only_x), m - std::min(m, only_y)));
  const double x = static_cast<double>(std::max<std::size_t>(n, 1)),
               y = static_cast<double>(std::max<std::size_t>(m, 1));
  if (measure.kind != Kind::jaro) return c / std::max(x, y);
  const double score = (c / x + c / y + 1.0) / 3.0;
  return score + 4.0 * measure.prefix * (1.0 - score);
}

namespace baseline {
constexpr std::size_t kRegister = 16;
#include "strings/lanes.inc"
}  // namespace baseline
#if defined(TEXTMILL_HAS_AVX2)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr std::size_t kRegister = 32;
#include "strings/lanes.inc"
}  // namespace avx2
#pragma GCC pop_options
#endif

void score_lanes(const Batch& batch, std::span<const std::uint32_t> x, const CharacterMeasure& measure,
                 Scratch& scratch) {
#if defined(TEXTMILL_HAS_AVX2)
  if (base::simd() == base::Simd::avx2) return avx2::score_batch(batch, x, measure, scratch);
#endif
  baseline::score_batch(batch, x, measure, scratch);
}

bool any_reaches(const Batch& batch, const std::uint64_t* kinds_of, std::size_t skip, std::uint64_t kinds,
                 std::size_t n, const CharacterMeasure& measure, double least) {
#if defined(TEXTMILL_HAS_AVX2)
  if (base::simd() == base::Simd::avx2) return avx2::any_reaches(batch, kinds_of, skip, kinds, n, measure, least);
#endif
  return baseline::any_reaches(batch, kinds_of, skip, kinds, n, measure, least);
}

std::size_t window_of(std::size_t n, std::size_t m, Window window) {
  switch (window) {
    case Window::paper: return std::min(n, m) / 2;
    case Window::secondstring: return std::min(n, m) / 2 + 1;
    default: return std::max<std::size_t>(std::max(n, m) / 2, 1) - 1;
  }
}

template <class T>
void set_windows(const Batch& batch, std::size_t n, Window window, Scratch& scratch) {
  T* reach = reinterpret_cast<T*>(scratch.reach.bytes);
  T* bound = reinterpret_cast<T*>(scratch.bound.bytes);
  constexpr std::size_t bits = 8 * sizeof(T);
  for (std::size_t l = 0; l < kVector / sizeof(T); ++l) {
    const std::size_t h = window_of(n, static_cast<std::size_t>(batch.lengths[l]), window);
    reach[l] = static_cast<T>(std::min<std::size_t>(h, 127));
    bound[l] = h + 1 >= bits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << (h + 1)) - 1);
  }
}

void set_windows(const Batch& batch, std::size_t n, Window window, Scratch& scratch) {
  switch (batch.bits) {
    case 8: return set_windows<std::uint8_t>(batch, n, window, scratch);
    case 16: return set_windows<std::uint16_t>(batch, n, window, scratch);
    case 32: return set_windows<std::uint32_t>(batch, n, window, scratch);
    default: return set_windows<std::uint64_t>(batch, n, window, scratch);
  }
}

// Symbols of both sides as small numbers, 0 for those the right side does not have.
struct Alphabet {
  std::vector<std::uint32_t> number;  // by symbol
  std::size_t size = 1;

  explicit Alphabet(const Sequences& right) {
    std::uint32_t most = 0;
    for (const std::uint32_t symbol : right.symbols) most = std::max(most, symbol);
    number.assign(right.symbols.empty() ? 0 : most + 1, 0);
    for (const std::uint32_t symbol : right.symbols)
      if (number[symbol] == 0) number[symbol] = static_cast<std::uint32_t>(size++);
  }
  std::vector<std::uint32_t> translated(const Sequences& sequences) const {
    std::vector<std::uint32_t> numbers(sequences.symbols.size());
    std::transform(sequences.symbols.begin(), sequences.symbols.end(), numbers.begin(),
                   [&](std::uint32_t symbol) { return symbol < number.size() ? number[symbol] : 0; });
    return numbers;
  }
};

// One pair at a time, with scratch memory by symbol. Symbols are numbers of an alphabet; 0 in x stands in no y.
class PairScorer {
 public:
  explicit PairScorer(std::size_t alphabet) : place_(alphabet) {}

  double score(std::span<const std::uint32_t> x, std::span<const std::uint32_t> y, const CharacterMeasure& measure) {
    if (measure.kind == Kind::jaro) return jaro(x, y, measure);
    const std::size_t most = std::max(x.size(), y.size());
    if (most == 0) return 1.0;
    const std::size_t d = measure.kind == Kind::damerau ? damerau(x, y) : edits(x, y, measure.kind == Kind::osa);
    return 1.0 - static_cast<double>(d) / static_cast<double>(most);
  }

 private:
  // Blocks of 64 places of y; place_[symbol] - 1 is the first of its words in masks_.
  std::size_t edits(std::span<const std::uint32_t> x, std::span<const std::uint32_t> y, bool swaps) {
    if (y.empty()) return x.size();
    const std::size_t words = (y.size() + 63) / 64;
    masks_.clear();
    for (std::size_t j = 0; j < y.size(); ++j) {
      std::uint32_t& place = place_[y[j]];
      if (place == 0) {
        masks_.resize(masks_.size() + words);
        place = static_cast<std::uint32_t>(masks_.size() / words);
      }
      masks_[(place - 1) * words + j / 64] |= std::uint64_t{1} << (j % 64);
    }
    state_.assign(words, {~std::uint64_t{0}, 0, 0, 0});
    for (const std::uint32_t symbol : x) {
      const std::uint64_t* pm_of = place_[symbol] == 0 ? nullptr : masks_.data() + (place_[symbol] - 1) * words;
      std::uint64_t hp_carry = 1, hn_carry = 0, late_carry = 0;
      for (std::size_t w = 0; w < words; ++w) {
        State& s = state_[w];
        const std::uint64_t pm = pm_of == nullptr ? 0 : pm_of[w];
        const std::uint64_t in = pm | hn_carry;
        std::uint64_t d0 = (((in & s.vp) + s.vp) ^ s.vp) | in | s.vn;
        if (swaps) {
          const std::uint64_t late = ~s.d0 & pm;
          d0 |= ((late << 1) | late_carry) & s.before;
          late_carry = late >> 63;
          s.before = pm;
        }
        s.d0 = d0;
        std::uint64_t hp = s.vn | ~(d0 | s.vp), hn = d0 & s.vp;
        const std::uint64_t hp_out = hp >> 63, hn_out = hn >> 63;
        hp = (hp << 1) | hp_carry;
        hn = (hn << 1) | hn_carry;
        hp_carry = hp_out;
        hn_carry = hn_out;
        s.vp = hn | ~(d0 | hp);
        s.vn = hp & d0;
      }
    }
    std::int64_t d = static_cast<std::int64_t>(x.size());
    for (std::size_t w = 0; w < words; ++w) {
      const std::size_t left = y.size() - 64 * w;
      const std::uint64_t inside = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      d += __builtin_popcountll(state_[w].vp & inside) - __builtin_popcountll(state_[w].vn & inside);
    }
    for (const std::uint32_t symbol : y) place_[symbol] = 0;
    return static_cast<std::size_t>(d);
  }

  // D[i][j] with swaps across deletions: the last row where y_j stood in x, the last column where x_i stood in y.
  std::size_t damerau(std::span<const std::uint32_t> x, std::span<const std::uint32_t> y) {
    const std::size_t n = x.size(), m = y.size(), width = m + 1;
    table_.resize((n + 1) * width);
    for (std::size_t j = 0; j <= m; ++j) table_[j] = static_cast<std::uint32_t>(j);
    for (std::size_t i = 1; i <= n; ++i) {
      std::uint32_t* row = table_.data() + i * width;
      const std::uint32_t* above = row - width;
      row[0] = static_cast<std::uint32_t>(i);
      std::size_t seen = 0;
      for (std::size_t j = 1; j <= m; ++j) {
        const bool equal = x[i - 1] == y[j - 1];
        std::uint32_t best = std::min(std::min(above[j], row[j - 1]) + 1, above[j - 1] + !equal);
        const std::size_t last = place_[y[j - 1]];
        if (last != 0 && seen != 0)
          best = std::min(best,
                          table_[(last - 1) * width + seen - 1] + static_cast<std::uint32_t>(i - last + j - seen - 1));
        row[j] = best;
        if (equal) seen = j;
      }
      place_[x[i - 1]] = static_cast<std::uint32_t>(i);
    }
    for (const std::uint32_t symbol : x) place_[symbol] = 0;
    return table_[n * width + m];
  }

  double jaro(std::span<const std::uint32_t> x, std::span<const std::uint32_t> y, const CharacterMeasure& measure) {
    if (x.empty() || y.empty()) return x.empty() && y.empty() ? 1.0 : 0.0;
    // next_[j]: the next place of y_j in y plus one; place_[s]: the first that may still be taken, plus one
    next_.assign(y.size(), 0);
    for (std::size_t j = y.size(); j-- > 0;) {
      next_[j] = place_[y[j]];
      place_[y[j]] = static_cast<std::uint32_t>(j + 1);
    }
    const std::size_t h = window_of(x.size(), y.size(), measure.window);
    taken_.assign(y.size(), 0);
    common_.clear();
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::uint32_t& place = place_[x[i]];
      while (place != 0 && place - 1 + h < i) place = next_[place - 1];
      if (place != 0 && place - 1 <= i + h) {
        common_.push_back(x[i]);
        taken_[place - 1] = 1;
        place = next_[place - 1];
      }
    }
    for (const std::uint32_t symbol : y) place_[symbol] = 0;
    if (common_.empty()) return 0.0;
    std::size_t k = 0;
    std::int32_t wrong = 0;
    for (std::size_t j = 0; j < y.size(); ++j)
      if (taken_[j] != 0) wrong += common_[k++] != y[j];
    const double c = static_cast<double>(k), t = measure.floor ? static_cast<double>(wrong / 2) : 0.5 * wrong;
    return (c / static_cast<double>(x.size()) + c / static_cast<double>(y.size()) + (c - t) / c) / 3.0;
  }

  struct State {
    std::uint64_t vp, vn, d0, before;
  };
  std::vector<std::uint32_t> place_, next_, common_, table_;
  std::vector<std::uint64_t> masks_;
  std::vector<State> state_;
  std::vector<std::uint8_t> taken_;
};

// What the first common symbols add to a score above boost.
double boosted(double score, std::span<const std::uint32_t> x, std::span<const std::uint32_t> y,
               const CharacterMeasure& measure) {
  if (measure.prefix == 0.0 || !(score > measure.boost)) return score;
  std::size_t same = 0;
  while (same < 4 && same < x.size() && same < y.size() && x[same] == y[same]) ++same;
  return score + static_cast<double>(same) * measure.prefix * (1.0 - score);
}

// The names [begin, end) of an order by length, in batches.
class Batches {
 public:
  Batches(const Sequences& names, std::span<const std::uint32_t> order, std::size_t alphabet) {
    std::size_t at = 0;
    while (at < order.size()) {
      const std::size_t length = names[order[at]].size();
      if (length > kLongest) break;
      const unsigned bits = length <= 8 ? 8 : length <= 16 ? 16 : length <= 32 ? 32 : 64;
      std::size_t end = at;
      while (end < order.size() && end - at < kVector * 8 / bits && names[order[end]].size() <= bits) ++end;
      parts_.push_back({at, end - at, bits, 0, 0});
      at = end;
    }
    in_lanes_ = at;
    locals_.assign(parts_.size() * alphabet, 0);
    for (std::size_t p = 0; p < parts_.size(); ++p) fill(parts_[p], names, order, locals_.data() + p * alphabet);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      Batch batch{masks_.data() + part.masks, locals_.data() + p * alphabet, {}, part.first, part.count, part.bits, {}};
      for (std::size_t l = 0; l < kVector * 8 / part.bits; ++l) {
        const std::size_t length = l < part.count ? names[order[part.first + l]].size() : 0;
        batch.lengths[l] = static_cast<std::int32_t>(std::max<std::size_t>(length, 1));
        for (std::size_t j = 0; j < length; ++j) set_bit(batch.inside, l * part.bits + j);
      }
      batches_.push_back(batch);
    }
  }
  const std::vector<Batch>& all() const { return batches_; }
  std::size_t in_lanes() const { return in_lanes_; }  // names behind these are too long

 private:
  struct Part {
    std::size_t first, count;
    unsigned bits;
    std::size_t masks, rows;
  };

  static void set_bit(Masks& masks, std::size_t bit) {
    masks.bytes[bit / 8] = static_cast<std::uint8_t>(masks.bytes[bit / 8] | 1u << (bit % 8));
  }

  void fill(Part& part, const Sequences& names, std::span<const std::uint32_t> order, std::uint16_t* local) {
    part.masks = masks_.size();
    masks_.push_back({});
    for (std::size_t l = 0; l < part.count; ++l) {
      const auto name = names[order[part.first + l]];
      for (std::size_t j = 0; j < name.size(); ++j) {
        std::uint16_t& row = local[name[j]];
        if (row == 0) {
          row = static_cast<std::uint16_t>(masks_.size() - part.masks);
          masks_.push_back({});
        }
        set_bit(masks_[part.masks + row], l * part.bits + j);
      }
    }
  }

  std::vector<Part> parts_;
  std::vector<Masks> masks_;
  std::vector<std::uint16_t> locals_;
  std::vector<Batch> batches_;
  std::size_t in_lanes_ = 0;
};

std::vector<std::uint32_t> by_length(const Sequences& names, std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> order(end - begin);
  std::iota(order.begin(), order.end(), static_cast<std::uint32_t>(begin));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return names[a].size() < names[b].size(); });
  return order;
}

// Copies each cell that was computed to its mirror image: (i, j) was where rank[i] <= rank[j].
template <class Real>
void mirror(std::span<Real> out, std::span<const std::uint32_t> rank, std::size_t threads) {
  const std::size_t n = rank.size();
  base::parallel_blocks(n, kRows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = 0; tile < end; tile += kRows)
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = tile; j < std::min(i, tile + kRows); ++j) {
          Real &a = out[i * n + j], &b = out[j * n + i];
          if (rank[i] <= rank[j]) {
            b = a;
          } else {
            a = b;
          }
        }
  });
}

// The symbols of a name as a set of 64 bits; symbols that the alphabet lacks (0) share one.
std::uint64_t kinds_of(std::span<const std::uint32_t> name) {
  std::uint64_t kinds = 0;
  for (const std::uint32_t symbol : name) kinds |= std::uint64_t{1} << (symbol % 64);
  return kinds;
}

// Rows of columns and scores as pairs in order.
template <class Row>
FoundPairs all_pairs(const std::vector<Row>& rows) {
  FoundPairs found;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    order.resize(row.columns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return row.columns[a] < row.columns[b]; });
    for (const std::size_t at : order) {
      found.left.push_back(static_cast<std::int32_t>(i));
      found.right.push_back(row.columns[at]);
      found.scores.push_back(row.scores[at]);
    }
  }
  return found;
}

// The same where each pair stands in the row of either name: in that of the smaller place.
template <class Row>
FoundPairs upper_pairs(const std::vector<Row>& rows) {
  std::vector<Row> upper(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t at = 0; at < rows[i].columns.size(); ++at) {
      const std::size_t j = static_cast<std::size_t>(rows[i].columns[at]);
      Row& row = upper[std::min(i, j)];
      row.columns.push_back(static_cast<std::int32_t>(std::max(i, j)));
      row.scores.push_back(rows[i].scores[at]);
    }
  return all_pairs(upper);
}

// Scores all pairs, kColumns columns at a time: rows [from, to) of an order by length, each into row_of(r), then
// done(from, to). When `symmetric`, only the columns from a row's own place on.
template <class Real, class RowOf, class Done>
void score_rows(const Sequences& left, const Sequences& right, const CharacterMeasure& measure, bool symmetric,
                std::span<const std::uint32_t> row_order, std::size_t threads, RowOf row_of, Done done) {
  const Alphabet alphabet(right);
  const std::vector<std::uint32_t> a = alphabet.translated(left), b = alphabet.translated(right);
  const Sequences rows{left.offsets, a}, columns{right.offsets, b};
  const bool lanes = measure.kind != Kind::damerau;
  std::vector<std::vector<std::uint32_t>> orders;
  std::vector<Batches> prepared;
  const std::size_t step = symmetric ? std::max<std::size_t>(columns.size(), 1) : kColumns;
  for (std::size_t begin = 0; begin < columns.size(); begin += step) {
    if (symmetric) {
      orders.emplace_back(row_order.begin(), row_order.end());
    } else {
      orders.push_back(by_length(columns, begin, std::min(columns.size(), begin + step)));
    }
    prepared.emplace_back(columns,
                          lanes ? std::span<const std::uint32_t>(orders.back()) : std::span<const std::uint32_t>(),
                          alphabet.size);
  }
  base::parallel_blocks(rows.size(), kRows, threads, [&](std::size_t from, std::size_t to) {
    Scratch scratch;
    PairScorer pairs(alphabet.size);
    for (std::size_t part = 0; part < prepared.size(); ++part) {
      const std::vector<std::uint32_t>& order = orders[part];
      for (const Batch& batch : prepared[part].all()) {
        if (symmetric && batch.first + batch.count <= from) continue;
        std::size_t windows_for = static_cast<std::size_t>(-1);
        for (std::size_t r = from; r < to; ++r) {
          const std::size_t skip = symmetric && r > batch.first ? r - batch.first : 0;
          if (skip >= batch.count) continue;
          const auto x = rows[row_order[r]];
          Real* row = row_of(r, from);
          if (measure.kind == Kind::jaro && (x.size() > kLongestText || x.empty())) {
            for (std::size_t l = skip; l < batch.count; ++l) {
              const std::size_t j = order[batch.first + l];
              row[j] = static_cast<Real>(boosted(pairs.score(x, columns[j], measure), x, columns[j], measure));
            }
            continue;
          }
          if (measure.kind == Kind::jaro && windows_for != x.size()) {
            windows_for = x.size();
            scratch.matched.resize(x.size());
            set_windows(batch, x.size(), measure.window, scratch);
          }
          score_lanes(batch, x, measure, scratch);
          for (std::size_t l = skip; l < batch.count; ++l) {
            const std::size_t j = order[batch.first + l];
            row[j] = static_cast<Real>(measure.prefix == 0.0 ? scratch.score[l]
                                                             : boosted(scratch.score[l], x, columns[j], measure));
          }
        }
      }
      for (std::size_t r = from; r < to; ++r) {
        const auto x = rows[row_order[r]];
        Real* row = row_of(r, from);
        for (std::size_t s = std::max(prepared[part].in_lanes(), symmetric ? r : 0); s < order.size(); ++s) {
          const std::size_t j = order[s];
          row[j] = static_cast<Real>(boosted(pairs.score(x, columns[j], measure), x, columns[j], measure));
        }
      }
    }
    done(from, to);
  });
}

}  // namespace

template <class Real>
void character_matrix(const Sequences& left, const Sequences& right, const CharacterMeasure& measure, bool symmetric,
                      std::span<Real> out, std::size_t threads) {
  const std::vector<std::uint32_t> order = by_length(left, 0, left.size());
  const std::size_t width = right.size();
  score_rows<Real>(
      left, right, measure, symmetric, order, threads,
      [&](std::size_t r, std::size_t) { return out.data() + order[r] * width; }, [](std::size_t, std::size_t) {});
  if (!symmetric) return;
  std::vector<std::uint32_t> rank(order.size());
  for (std::size_t r = 0; r < rank.size(); ++r) rank[order[r]] = static_cast<std::uint32_t>(r);
  mirror(out, std::span<const std::uint32_t>(rank), threads);
}

SparseScores character_table(const Sequences& left, const Sequences& right, const CharacterMeasure& measure,
                             float epsilon, std::size_t threads) {
  struct Row {
    std::vector<std::int32_t> columns;
    std::vector<float> values;
  };
  const std::vector<std::uint32_t> order = by_length(left, 0, left.size());
  const std::size_t width = right.size();
  std::vector<Row> found(left.size());
  thread_local std::vector<float> block;  // the rows of one stretch
  const float least = std::max(epsilon, std::numeric_limits<float>::min());
  score_rows<float>(
      left, right, measure, false, order, threads,
      [&](std::size_t r, std::size_t from) {
        if (block.size() < kRows * width) block.resize(kRows * width);
        return block.data() + (r - from) * width;
      },
      [&](std::size_t from, std::size_t to) {
        for (std::size_t r = from; r < to && width > 0; ++r) {
          const float* row = block.data() + (r - from) * width;
          Row& kept = found[order[r]];
          for (std::size_t j = 0; j < width; ++j) {
            if (row[j] < least) continue;
            kept.columns.push_back(static_cast<std::int32_t>(j));
            kept.values.push_back(row[j]);
          }
        }
      });
  SparseScores scores;
  scores.offsets.assign(left.size() + 1, 0);
  for (std::size_t i = 0; i < left.size(); ++i)
    scores.offsets[i + 1] = scores.offsets[i] + static_cast<std::int64_t>(found[i].columns.size());
  scores.columns.reserve(static_cast<std::size_t>(scores.offsets.back()));
  scores.values.reserve(static_cast<std::size_t>(scores.offsets.back()));
  for (Row& row : found) {
    scores.columns.insert(scores.columns.end(), row.columns.begin(), row.columns.end());
    scores.values.insert(scores.values.end(), row.values.begin(), row.values.end());
    row = {};
  }
  return scores;
}

FoundPairs character_search(const Sequences& left, const Sequences& right, const CharacterMeasure& measure,
                            double at_least, double length_ratio, bool symmetric, std::size_t threads) {
  struct Row {
    std::vector<std::int32_t> columns;
    std::vector<double> scores;
  };
  constexpr double kRounding = 1e-9;
  const Alphabet alphabet(right);
  const std::vector<std::uint32_t> a = alphabet.translated(left), b = alphabet.translated(right);
  const Sequences rows{left.offsets, a}, columns{right.offsets, b};
  const std::vector<std::uint32_t> row_order = by_length(rows, 0, rows.size());
  const std::vector<std::uint32_t> order = symmetric ? row_order : by_length(columns, 0, columns.size());
  const Batches batches(columns, measure.kind == Kind::damerau ? std::span<const std::uint32_t>() : order,
                        alphabet.size);
  std::vector<std::uint64_t> kinds(order.size());
  std::vector<std::size_t> lengths(order.size());
  for (std::size_t s = 0; s < order.size(); ++s) {
    kinds[s] = kinds_of(columns[order[s]]);
    lengths[s] = columns[order[s]].size();
  }
  std::vector<Row> found(left.size());
  base::parallel_blocks(rows.size(), kRows, threads, [&](std::size_t from, std::size_t to) {
    Scratch scratch;
    PairScorer pairs(alphabet.size);
    const double least = at_least - kRounding;
    const auto keep = [&](std::size_t i, std::size_t j, double score) {
      if (score < at_least || !(score > 0.0)) return;
      found[i].columns.push_back(static_cast<std::int32_t>(j));
      found[i].scores.push_back(score);
    };
    for (std::size_t r = from; r < to; ++r) {
      const std::size_t i = row_order[r];
      const auto x = rows[i];
      const std::size_t n = x.size();
      const std::uint64_t mine = kinds_of(x);
      std::size_t first = 0, last = order.size();
      if (length_ratio > 0.0) {
        const double shortest = length_ratio * static_cast<double>(n) - 1e-6;
        const double longest = static_cast<double>(n) / length_ratio + 1e-6;
        const auto by = [](std::size_t length, double bound) { return static_cast<double>(length) < bound; };
        const auto over = [](double bound, std::size_t length) { return bound < static_cast<double>(length); };
        first =
            static_cast<std::size_t>(std::lower_bound(lengths.begin(), lengths.end(), shortest, by) - lengths.begin());
        last =
            static_cast<std::size_t>(std::upper_bound(lengths.begin(), lengths.end(), longest, over) - lengths.begin());
      }
      if (symmetric) first = std::max(first, r + 1);
      const auto one_by_one = [&](std::size_t s) {
        const auto y = columns[order[s]];
        const std::size_t only_x = static_cast<std::size_t>(__builtin_popcountll(mine & ~kinds[s]));
        const std::size_t only_y = static_cast<std::size_t>(__builtin_popcountll(kinds[s] & ~mine));
        if (n > 0 && !y.empty() && most_score(n, y.size(), only_x, only_y, measure) < least) return;
        keep(i, order[s], boosted(pairs.score(x, y, measure), x, y, measure));
      };
      const auto& all = batches.all();
      auto batch = std::partition_point(all.begin(), all.end(),
                                        [&](const Batch& one) { return one.first + one.count <= first; });
      for (; batch != all.end() && batch->first < last; ++batch) {
        const std::size_t skip = first > batch->first ? first - batch->first : 0;
        const std::size_t stop = std::min(batch->count, last - batch->first);
        if (n == 0 || (measure.kind == Kind::jaro && n > kLongestText)) {
          for (std::size_t l = skip; l < stop; ++l) one_by_one(batch->first + l);
          continue;
        }
        if (!any_reaches(*batch, kinds.data() + batch->first, skip, mine, n, measure, least)) continue;
        if (measure.kind == Kind::jaro) {
          scratch.matched.resize(n);
          set_windows(*batch, n, measure.window, scratch);
        }
        score_lanes(*batch, x, measure, scratch);
        for (std::size_t l = skip; l < stop; ++l) {
          const std::size_t j = order[batch->first + l];
          keep(i, j, measure.prefix == 0.0 ? scratch.score[l] : boosted(scratch.score[l], x, columns[j], measure));
        }
      }
      for (std::size_t s = std::max(batches.in_lanes(), first); s < last; ++s) one_by_one(s);
    }
  });
  return symmetric ? upper_pairs(found) : all_pairs(found);
}

template void character_matrix<double>(const Sequences&, const Sequences&, const CharacterMeasure&, bool,
                                       std::span<double>, std::size_t);
template void character_matrix<float>(const Sequences&, const Sequences&, const CharacterMeasure&, bool,
                                      std::span<float>, std::size_t);

void character_pairs(const Sequences& left, const Sequences& right, std::span<const std::int32_t> i,
                     std::span<const std::int32_t> j, const CharacterMeasure& measure, std::span<double> out,
                     std::size_t threads) {
  const Alphabet alphabet(right);
  const std::vector<std::uint32_t> a = alphabet.translated(left), b = alphabet.translated(right);
  const Sequences x{left.offsets, a}, y{right.offsets, b};
  base::parallel_blocks(i.size(), 1024, threads, [&](std::size_t begin, std::size_t end) {
    PairScorer pairs(alphabet.size);
    for (std::size_t p = begin; p < end; ++p) {
      const auto s = x[static_cast<std::size_t>(i[p])], t = y[static_cast<std::size_t>(j[p])];
      out[p] = boosted(pairs.score(s, t, measure), s, t, measure);
    }
  });
}

}  // namespace textmill::strings
