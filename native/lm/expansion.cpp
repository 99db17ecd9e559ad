#include "lm/expansion.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::lm {

namespace {

constexpr std::size_t kBlock = 16;  // sentences that a thread scores at a time

std::size_t choose(std::size_t n, std::size_t k) {
  std::size_t value = 1;
  for (std::size_t i = 0; i < k; ++i) value = value * (n - i) / (i + 1);
  return n < k ? 0 : value;
}

std::vector<std::int64_t> frequencies(const ActiveSet& active, std::size_t features) {
  std::vector<std::int64_t> count(features, 0);
  for (const std::int32_t f : active.feature) ++count[static_cast<std::size_t>(f)];
  return count;
}

std::size_t widest(const ActiveSet& active) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < active.size(); ++i) width = std::max(width, active.width(i));
  return width;
}

struct Touched {  // active examples that share rare features with a sentence
  std::span<const std::int32_t> rows;
  std::uint16_t* counters;  // of rare features; 0 afterwards
  const std::uint64_t* masks;
  const std::uint64_t* mask;
  std::size_t words;
  const double* coefficient;
  const double* power;
};

TEXTMILL_INLINED inline double sum_of(const Touched& touched) {
  double total = 0.0;
  for (const std::int32_t row : touched.rows) {
    const auto i = static_cast<std::size_t>(row);
    const std::uint64_t* const own = touched.masks + i * touched.words;
    std::size_t q = 0;
    for (std::size_t w = 0; w < touched.words; ++w)
      q += static_cast<std::size_t>(std::popcount(touched.mask[w] & own[w]));
    total += touched.coefficient[i] * (touched.power[q + touched.counters[i]] - touched.power[q]);
    touched.counters[i] = 0;
  }
  return total;
}

double sum_plain(const Touched& touched) { return sum_of(touched); }
#if defined(TEXTMILL_HAS_AVX2)
[[gnu::target("popcnt")]] double sum_popcnt(const Touched& touched) { return sum_of(touched); }
#endif

// The same number with and without the instruction: it counts bits.
double sum_touched(const Touched& touched) {
#if defined(TEXTMILL_HAS_AVX2)
  static const bool has = __builtin_cpu_supports("popcnt");
  if (has) return sum_popcnt(touched);
#endif
  return sum_plain(touched);
}

}  // namespace

std::array<double, 5> expansion_factors(int degree) {
  std::array<double, 5> factor{};
  for (int s = 0; s <= degree; ++s) {  // the s-th difference of (1 + r)^d at 0
    double sum = 0.0, binomial = 1.0;
    for (int j = 0; j <= s; ++j) {
      sum += ((s - j) % 2 == 0 ? 1.0 : -1.0) * binomial * std::pow(1.0 + j, degree);
      binomial = binomial * (s - j) / (j + 1);
    }
    factor[static_cast<std::size_t>(s)] = sum;
  }
  return factor;
}

Slices::Slices(const ActiveSet& active, std::span<const double> coefficient, std::size_t features, int degree,
               std::size_t frequent, std::size_t threads)
    : degree_(degree),
      frequent_(std::min(frequent, features)),
      words_((std::min(frequent, features) + 63) / 64),
      coefficient_(coefficient.begin(), coefficient.end()),
      place_(features, -1),
      mask_(active.size() * words_, 0) {
  const std::vector<std::int64_t> count = frequencies(active, features);
  std::vector<std::int32_t> order(features);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return count[static_cast<std::size_t>(a)] > count[static_cast<std::size_t>(b)];
  });
  for (std::size_t p = 0; p < frequent_; ++p) place_[static_cast<std::size_t>(order[p])] = static_cast<std::int32_t>(p);

  const std::array<double, 5> factor = expansion_factors(degree);
  for (std::size_t s = 1; s <= static_cast<std::size_t>(degree); ++s) table_[s].assign(choose(frequent_, s), 0.0);
  begin_.assign(features + 1, 0);
  std::vector<std::vector<std::int32_t>> places(active.size());
  for (std::size_t i = 0; i < active.size(); ++i) {
    base_ += coefficient_[i];
    for (const std::int32_t f : active.features(i)) {
      const std::int32_t p = place_[static_cast<std::size_t>(f)];
      if (p < 0) {
        ++begin_[static_cast<std::size_t>(f) + 1];
      } else {
        places[i].push_back(p);
        mask_[i * words_ + static_cast<std::size_t>(p) / 64] |= std::uint64_t{1} << (p % 64);
      }
    }
    std::sort(places[i].begin(), places[i].end());
  }
  // The largest place of a subset says in which stretch of a table it lies: a thread has its stretches alone.
  std::vector<std::vector<std::int32_t>> with(frequent_);
  for (std::size_t i = 0; i < active.size(); ++i)
    for (const std::int32_t p : places[i]) with[static_cast<std::size_t>(p)].push_back(static_cast<std::int32_t>(i));
  base::parallel_for(frequent_, threads, [&](std::size_t last) {
    const std::size_t at[5] = {0, choose(last, 1), choose(last, 2), choose(last, 3), choose(last, 4)};
    for (const std::int32_t i : with[last]) {
      const auto& own = places[static_cast<std::size_t>(i)];
      const double a = coefficient_[static_cast<std::size_t>(i)];
      table_[1][at[1]] += a;
      for (std::size_t q = 0; degree_ >= 2 && own[q] < static_cast<std::int32_t>(last); ++q) {
        const auto second = static_cast<std::size_t>(own[q]);
        table_[2][at[2] + second] += a;
        if (degree_ < 3) continue;
        double* const third = table_[3].data() + at[3] + choose(second, 2);
        for (std::size_t p = 0; p < q; ++p) {
          third[own[p]] += a;
          if (degree_ < 4) continue;
          double* const fourth =
              table_[4].data() + at[4] + choose(second, 3) + choose(static_cast<std::size_t>(own[p]), 2);
          for (std::size_t o = 0; o < p; ++o) fourth[own[o]] += a;
        }
      }
    }
  });
  for (std::size_t s = 1; s <= static_cast<std::size_t>(degree); ++s)
    for (double& weight : table_[s]) weight *= factor[s];

  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  row_.resize(static_cast<std::size_t>(begin_.back()));
  std::vector<std::int64_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < active.size(); ++i)
    for (const std::int32_t f : active.features(i))
      if (place_[static_cast<std::size_t>(f)] < 0)
        row_[static_cast<std::size_t>(next[static_cast<std::size_t>(f)]++)] = static_cast<std::int32_t>(i);
  KernelTable powers(KernelKind::kPolynomial, degree, 0.0);
  const std::size_t width = widest(active);
  powers.reserve(width);
  power_.assign(powers.table(), powers.table() + width + 1);
}

// Sum of W over all subsets of frequent features, places ascending.
double Slices::table_sum(std::span<const std::int32_t> places) const {
  double total = base_;
  for (std::size_t l = 0; l < places.size(); ++l) {
    const auto last = static_cast<std::size_t>(places[l]);
    total += table_[1][last];
    if (degree_ < 2) continue;
    const double* const pairs = table_[2].data() + last * (last - 1) / 2;
    const double* const triples = table_[3].data() + (degree_ < 3 ? 0 : choose(last, 3));
    for (std::size_t q = 0; q < l; ++q) {
      const auto second = static_cast<std::size_t>(places[q]);
      double sum = pairs[second];
      if (degree_ >= 3) {
        const double* const row = triples + second * (second - 1) / 2;
        for (std::size_t p = 0; p < q; ++p) {
          sum += row[places[p]];
          if (degree_ < 4) continue;
          const auto third = static_cast<std::size_t>(places[p]);
          const double* const fourth = table_[4].data() + choose(last, 4) + choose(second, 3) + choose(third, 2);
          for (std::size_t o = 0; o < p; ++o) sum += fourth[places[o]];
        }
      }
      total += sum;
    }
  }
  return total;
}

void Slices::margins(const Dictionary& dictionary, const Examples& examples, std::span<double> out,
                     std::size_t threads) const {
  base::parallel_blocks(examples.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint16_t> counters(coefficient_.size(), 0);
    std::vector<std::int32_t> places, rare, touched(coefficient_.size() + 1);
    std::vector<std::uint64_t> mask(words_);
    for (std::size_t e = begin; e < end; ++e) {
      places.clear();
      rare.clear();
      std::fill(mask.begin(), mask.end(), 0);
      for (const std::uint64_t key : examples.keys(e)) {
        const std::int32_t f = dictionary.find(key);
        if (f < 0) continue;
        const std::int32_t p = place_[static_cast<std::size_t>(f)];
        if (p < 0) {
          rare.push_back(f);
        } else {
          places.push_back(p);
          mask[static_cast<std::size_t>(p) / 64] |= std::uint64_t{1} << (p % 64);
        }
      }
      std::sort(places.begin(), places.end());
      std::sort(rare.begin(), rare.end());
      std::size_t met_rows = 0;
      for (const std::int32_t f : rare) {
        for (std::int64_t i = begin_[static_cast<std::size_t>(f)]; i < begin_[static_cast<std::size_t>(f) + 1]; ++i) {
          const std::int32_t row = row_[static_cast<std::size_t>(i)];
          touched[met_rows] = row;  // kept if it is new: no branch to be guessed
          met_rows += counters[static_cast<std::size_t>(row)]++ == 0;
        }
      }
      const Touched met{std::span(touched).first(met_rows),
                        counters.data(),
                        mask_.data(),
                        mask.data(),
                        words_,
                        coefficient_.data(),
                        power_.data()};
      const double total = table_sum(places) + sum_touched(met);
      out[e] = total;
    }
  });
}

std::size_t Slices::bytes() const {
  std::size_t sum = (coefficient_.size() + power_.size()) * sizeof(double) + mask_.size() * sizeof(std::uint64_t) +
                    (place_.size() + row_.size()) * sizeof(std::int32_t) + begin_.size() * sizeof(std::int64_t);
  for (const auto& table : table_) sum += table.size() * sizeof(double);
  return sum;
}

// Depth first over conjunctions that begin with one feature.
struct Expansion::Miner {
  const ActiveSet& active;
  std::span<const double> coefficient;
  const std::vector<std::vector<std::int32_t>>& ranks;  // features of each active example by rank, ascending
  const std::array<double, 5>& factor;
  int degree;
  unsigned bits;
  double least;
  std::vector<Made>& made;

  struct Level {
    std::vector<double> sum, size;   // of a and of |a|, by rank
    std::vector<std::int32_t> seen;  // ranks with entries
    std::vector<std::vector<std::int32_t>> rows;
  };
  std::vector<Level> levels;

  // The largest factor of a conjunction of more than `size` features.
  double beyond(int size) const {
    double most = 0.0;
    for (int s = size + 1; s <= degree; ++s) most = std::max(most, factor[static_cast<std::size_t>(s)]);
    return most;
  }

  // Conjunctions that add a rank above `last` to `key`, a conjunction of `size` features that `rows` contain. Returns
  // whether there are any.
  bool extend(std::span<const std::int32_t> rows, std::int32_t last, std::uint64_t key, int size) {
    Level& level = levels[static_cast<std::size_t>(size)];
    level.seen.clear();
    for (const std::int32_t row : rows) {
      const auto& own = ranks[static_cast<std::size_t>(row)];
      const double a = coefficient[static_cast<std::size_t>(row)];
      for (auto at = std::upper_bound(own.begin(), own.end(), last); at != own.end(); ++at) {
        const auto r = static_cast<std::size_t>(*at);
        if (level.rows[r].empty()) level.seen.push_back(*at);
        level.sum[r] += a;
        level.size[r] += std::abs(a);
        level.rows[r].push_back(row);
      }
    }
    std::sort(level.seen.begin(), level.seen.end());
    bool any = false;
    for (const std::int32_t rank : level.seen) {
      const auto r = static_cast<std::size_t>(rank);
      const std::uint64_t longer = key << bits | static_cast<std::uint64_t>(rank + 1);
      const double weight = factor[static_cast<std::size_t>(size + 1)] * level.sum[r];
      const double bound = beyond(size + 1) * level.size[r];
      const std::size_t place = made.size();
      const bool kept = std::abs(weight) >= least && weight != 0.0;
      made.push_back({longer, {kept ? weight : 0.0, false}});
      const bool larger = size + 1 < degree && bound >= least && extend(level.rows[r], rank, longer, size + 1);
      if (kept || larger) {
        made[place].second.larger = larger;
        any = true;
      } else {
        made.pop_back();
      }
      level.sum[r] = level.size[r] = 0.0;
      level.rows[r].clear();
    }
    return any;
  }
};

Expansion::Expansion(const ActiveSet& active, std::span<const double> coefficient, std::size_t features, int degree,
                     double least, std::size_t threads)
    : degree_(degree), bits_(degree == 1 ? 32 : 64 / static_cast<unsigned>(degree)), rank_(features) {
  if (features + 1 >= std::uint64_t{1} << bits_)
    throw std::length_error("too many features for conjunctions of this degree");
  const std::vector<std::int64_t> count = frequencies(active, features);
  std::vector<std::int32_t> order(features);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return count[static_cast<std::size_t>(a)] < count[static_cast<std::size_t>(b)];
  });
  for (std::size_t r = 0; r < features; ++r) rank_[static_cast<std::size_t>(order[r])] = static_cast<std::int32_t>(r);
  std::vector<std::vector<std::int32_t>> ranks(active.size()), rows(features);
  for (std::size_t i = 0; i < active.size(); ++i) {
    base_ += coefficient[i];
    for (const std::int32_t f : active.features(i)) ranks[i].push_back(rank_[static_cast<std::size_t>(f)]);
    std::sort(ranks[i].begin(), ranks[i].end());
    for (const std::int32_t r : ranks[i]) rows[static_cast<std::size_t>(r)].push_back(static_cast<std::int32_t>(i));
  }
  const std::array<double, 5> factor = expansion_factors(degree);
  constexpr std::size_t kStretch = 256;  // first features that a thread handles at a time
  std::vector<std::vector<Made>> parts((features + kStretch - 1) / kStretch);
  base::parallel_blocks(features, kStretch, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Made>& made = parts[begin / kStretch];
    Miner miner{active, coefficient, ranks, factor, degree, bits_, least, made, {}};
    miner.levels.resize(static_cast<std::size_t>(degree) + 1);
    for (int s = 1; s < degree; ++s) {
      auto& level = miner.levels[static_cast<std::size_t>(s)];
      level.sum.assign(features, 0.0);
      level.size.assign(features, 0.0);
      level.rows.resize(features);
    }
    for (std::size_t r = begin; r < end; ++r) {
      double sum = 0.0, size = 0.0;
      for (const std::int32_t i : rows[r]) {
        sum += coefficient[static_cast<std::size_t>(i)];
        size += std::abs(coefficient[static_cast<std::size_t>(i)]);
      }
      const std::size_t place = made.size();
      const double weight = factor[1] * sum;
      const bool kept = std::abs(weight) >= least && weight != 0.0;
      made.push_back({static_cast<std::uint64_t>(r) + 1, {kept ? weight : 0.0, false}});
      const bool larger = degree > 1 && miner.beyond(1) * size >= least &&
                          miner.extend(rows[r], static_cast<std::int32_t>(r), static_cast<std::uint64_t>(r) + 1, 1);
      if (kept || larger) {
        made[place].second.larger = larger;
      } else {
        made.pop_back();
      }
    }
  });
  std::size_t total = 0;
  for (const auto& part : parts) total += part.size();
  entries_.reserve(total + 1);
  for (auto& part : parts) {
    for (const auto& [key, entry] : part) {
      entries_.add(key, entry);
      conjunctions_ += entry.weight != 0.0;
    }
    std::vector<Made>().swap(part);
  }
}

double Expansion::sum(std::span<const std::int32_t> ranks, std::size_t from, std::uint64_t key, int left) const {
  double total = 0.0;
  for (std::size_t i = from; i < ranks.size(); ++i) {
    const std::uint64_t longer = key << bits_ | static_cast<std::uint64_t>(ranks[i] + 1);
    const Entry* const entry = entries_.find(longer);
    if (entry == nullptr) continue;
    total += entry->weight;
    if (entry->larger && left > 1) total += sum(ranks, i + 1, longer, left - 1);
  }
  return total;
}

void Expansion::margins(const Dictionary& dictionary, const Examples& examples, std::span<double> out,
                        std::size_t threads) const {
  base::parallel_blocks(examples.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> ranks;
    for (std::size_t e = begin; e < end; ++e) {
      ranks.clear();
      for (const std::uint64_t key : examples.keys(e)) {
        const std::int32_t f = dictionary.find(key);
        if (f >= 0) ranks.push_back(rank_[static_cast<std::size_t>(f)]);
      }
      std::sort(ranks.begin(), ranks.end());
      out[e] = base_ + sum(ranks, 0, 0, degree_);
    }
  });
}

}  // namespace textmill::lm
