#include "lm/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/parallel.h"

namespace textmill::lm {

namespace {

constexpr std::size_t kBatch = 128;  // part of the result: which sums are made pair by pair
constexpr std::size_t kBlock = 16;   // examples that a thread scores at a time

template <class T>
std::size_t common(std::span<const T> x, std::span<const T> z) {
  std::size_t i = 0, j = 0, both = 0;
  while (i < x.size() && j < z.size()) {
    const T left = x[i], right = z[j];
    both += left == right;
    i += left <= right;
    j += right <= left;
  }
  return both;
}

}  // namespace

std::int32_t Dictionary::add(std::uint64_t key) {
  const std::int32_t known = find(key);
  if (known >= 0) return known;
  keys_.push_back(key);
  if (key < kSmall) {
    if (key >= small_.size())
      small_.resize(std::max<std::size_t>(key + 1, std::min<std::size_t>(2 * small_.size(), kSmall)), -1);
    small_[key] = static_cast<std::int32_t>(keys_.size() - 1);
    return small_[key];
  }
  large_.add(key, static_cast<std::int32_t>(keys_.size() - 1));
  return static_cast<std::int32_t>(keys_.size() - 1);
}

void KernelTable::reserve(std::size_t width) {
  const std::size_t size = kind_ == KernelKind::kGaussian ? 2 * width + 1 : width + 1;
  for (std::size_t r = table_.size(); r < size; ++r) {
    const auto x = static_cast<double>(r);
    double value = x;
    if (kind_ == KernelKind::kPolynomial) {
      value = 1.0;
      for (int i = 0; i < degree_; ++i) value *= 1.0 + x;
    } else if (kind_ == KernelKind::kGaussian) {
      value = std::exp(-gamma_ * x);
    }
    table_.push_back(value);
  }
}

void Postings::build(const ActiveSet& active, std::size_t from, std::size_t to, std::size_t features) {
  small_ = false;
  begin_.assign(features + 1, 0);
  const auto first = static_cast<std::size_t>(active.begin[from]), last = static_cast<std::size_t>(active.begin[to]);
  for (std::size_t i = first; i < last; ++i) ++begin_[static_cast<std::size_t>(active.feature[i]) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::int32_t>(last - first).swap(row_);
  for (std::size_t i = from; i < to; ++i)  // begin_[f] moves to the end of f, which is where f + 1 begins
    for (const std::int32_t f : active.features(i))
      row_[static_cast<std::size_t>(begin_[static_cast<std::size_t>(f)]++)] = static_cast<std::int32_t>(i);
  std::copy_backward(begin_.begin(), begin_.end() - 1, begin_.end());
  begin_[0] = 0;
}

void Postings::build_small(const ActiveSet& active, std::size_t from, std::size_t to, std::size_t features) {
  small_ = true;
  slot_.resize(features, 0);
  member_.clear();
  begin_.assign(1, 0);
  for (std::size_t i = from; i < to; ++i) {
    for (const std::int32_t f : active.features(i)) {
      std::int32_t& slot = slot_[static_cast<std::size_t>(f)];
      if (static_cast<std::size_t>(slot) >= member_.size() || member_[static_cast<std::size_t>(slot)] != f) {
        slot = static_cast<std::int32_t>(member_.size());
        member_.push_back(f);
        begin_.push_back(0);
      }
      ++begin_[static_cast<std::size_t>(slot) + 1];
    }
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  row_.resize(static_cast<std::size_t>(begin_.back()));
  for (std::size_t i = from; i < to; ++i)
    for (const std::int32_t f : active.features(i))
      row_[static_cast<std::size_t>(begin_[static_cast<std::size_t>(slot_[static_cast<std::size_t>(f)])]++)] =
          static_cast<std::int32_t>(i);
  std::copy_backward(begin_.begin(), begin_.end() - 1, begin_.end());
  begin_[0] = 0;
}

std::size_t Postings::bytes() const {
  return begin_.capacity() * sizeof(std::int64_t) +
         (row_.capacity() + member_.capacity() + slot_.capacity()) * sizeof(std::int32_t);
}

double Learner::tau(double loss, double square) const {
  switch (aggression_) {
    case Aggression::kPlain: return loss / square;
    case Aggression::kFirst: return std::min(cost_, loss / square);
    case Aggression::kSecond: return loss / (square + 0.5 / cost_);
  }
  return 0.0;
}

Learner::Row Learner::translate(const Examples& examples, std::size_t i) const {
  const auto keys = examples.keys(i);
  Row row{{}, keys.size()};
  row.features.reserve(keys.size());
  for (const std::uint64_t key : keys) {
    const std::int32_t f = dictionary.find(key);
    if (f >= 0) row.features.push_back(f);
  }
  std::sort(row.features.begin(), row.features.end());
  return row;
}

void Learner::learn(const Examples& examples, std::span<const std::int8_t> label, std::span<std::int32_t> slot,
                    std::span<Round> rounds, By by, std::size_t threads) {
  if (linear()) {
    learn_linear(examples, label, rounds);
    return;
  }
  std::size_t width = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) width = std::max(width, examples.keys(i).size());
  kernel_.reserve(width);
  for (std::size_t from = 0; from < examples.size(); from += kBatch) {
    if (by == By::kIndex) reindex();
    learn_batch(examples, from, std::min(from + kBatch, examples.size()), label, slot, rounds, by, threads);
  }
}

void Learner::learn_linear(const Examples& examples, std::span<const std::int8_t> label, std::span<Round> rounds) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto keys = examples.keys(i);
    const auto values = examples.values(i);
    const auto value = [&](std::size_t j) { return values.empty() ? 1.0 : values[j]; };
    ids.resize(keys.size());
    double f = 0.0, square = 0.0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      ids[j] = dictionary.find(keys[j]);
      if (ids[j] >= 0) f += active.a[static_cast<std::size_t>(ids[j])] * value(j);
      square += value(j) * value(j);
    }
    const double y = label[i], loss = 1.0 - y * f;
    const auto t = static_cast<double>(++rounds_done);
    rounds[i] = {f, 0.0};
    if (loss <= 0.0 || square == 0.0) continue;
    rounds[i].tau = tau(loss, square);
    const double step = rounds[i].tau * y;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const auto id = static_cast<std::size_t>(ids[j] >= 0 ? ids[j] : dictionary.add(keys[j]));
      if (id >= active.a.size()) {
        active.a.push_back(0.0);
        active.b.push_back(0.0);
      }
      active.a[id] += step * value(j);
      active.b[id] += step * value(j) * t;
    }
  }
}

void Learner::learn_columns(std::span<const std::int64_t> begin, std::span<const std::int32_t> column,
                            std::span<const double> value, std::size_t columns, std::span<const std::int8_t> label,
                            std::span<Round> rounds) {
  if (columns_ == 0) {
    for (std::size_t c = 0; c < columns; ++c) dictionary.add(c);
    active.a.assign(columns, 0.0);
    active.b.assign(columns, 0.0);
    columns_ = columns;
  }
  double *a = active.a.data(), *b = active.b.data();
  for (std::size_t i = 0; i < label.size(); ++i) {
    const std::int64_t from = begin[i], to = begin[i + 1];
    double f = 0.0, square = 0.0;
    for (std::int64_t j = from; j < to; ++j) {
      f += a[column[j]] * value[j];
      square += value[j] * value[j];
    }
    const double y = label[i], loss = 1.0 - y * f;
    const auto t = static_cast<double>(++rounds_done);
    rounds[i] = {f, 0.0};
    if (loss <= 0.0 || square == 0.0) continue;
    rounds[i].tau = tau(loss, square);
    const double step = rounds[i].tau * y;
    for (std::int64_t j = from; j < to; ++j) {
      const double change = step * value[j];
      a[column[j]] += change;
      b[column[j]] += change * t;
    }
  }
}

void Learner::learn_batch(const Examples& examples, std::size_t from, std::size_t to,
                          std::span<const std::int8_t> label, std::span<std::int32_t> slot, std::span<Round> rounds,
                          By by, std::size_t threads) {
  base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint16_t> counters(by == By::kIndex ? active.size() + 4 : 0, 0);
    for (std::size_t i = from + begin; i < from + end; ++i) {
      const Row row = translate(examples, i);
      rounds[i] = {by == By::kIndex ? sum(row, active.a, counters) : sum_by_pairs(row, active.a), 0.0};
    }
  });
  std::vector<std::size_t> updated;  // in this batch
  for (std::size_t i = from; i < to; ++i) {
    const auto keys = examples.keys(i);
    double f = rounds[i].margin;
    for (const std::size_t j : updated) {
      const auto others = examples.keys(j);
      f += rounds[j].tau * label[j] * kernel_(common(keys, others), keys.size(), others.size());
    }
    const double y = label[i], loss = 1.0 - y * f, square = kernel_(keys.size(), keys.size(), keys.size());
    const auto t = static_cast<double>(++rounds_done);
    rounds[i].margin = f;
    if (loss <= 0.0) continue;
    rounds[i].tau = tau(loss, square);
    const double step = rounds[i].tau * y;
    updated.push_back(i);
    if (slot[i] >= 0) {
      active.a[static_cast<std::size_t>(slot[i])] += step;
      active.b[static_cast<std::size_t>(slot[i])] += step * t;
      continue;
    }
    slot[i] = static_cast<std::int32_t>(active.size());
    for (const std::uint64_t key : keys) active.feature.push_back(dictionary.add(key));
    std::sort(active.feature.begin() + active.begin.back(), active.feature.end());
    active.begin.push_back(static_cast<std::int64_t>(active.feature.size()));
    active.a.push_back(step);
    active.b.push_back(step * t);
  }
}

void Learner::reindex() {
  if (indexed_ == active.size()) return;
  const std::size_t features = dictionary.keys().size();
  const auto limit = static_cast<std::size_t>(std::sqrt(static_cast<double>(active.size()) * kBatch));
  if (active.size() - large_end_ > limit) {
    large_end_ = active.size();
    large_.build(active, 0, large_end_, features);
  }
  small_.build_small(active, large_end_, active.size(), features);
  indexed_ = active.size();
}

void Learner::settle() {
  if (!linear() && large_end_ != active.size()) {
    large_end_ = indexed_ = active.size();
    large_.build(active, 0, active.size(), dictionary.keys().size());
    small_ = Postings();
    small_.build_small(active, active.size(), active.size(), 0);
  }
  std::size_t width = 0;
  for (std::size_t i = 0; i < active.size() && !linear(); ++i) width = std::max(width, active.width(i));
  kernel_.reserve(width);
}

std::size_t Learner::index_bytes() {
  settle();
  return large_.bytes() + small_.bytes();
}

void Learner::count(const Row& row, std::vector<std::uint16_t>& counters) const {
  std::uint16_t* const r = counters.data();
  for (const std::int32_t f : row.features) {
    for (const std::int32_t i : large_.of(f)) ++r[i];
    for (const std::int32_t i : small_.of(f)) ++r[i];
  }
}

// Leaves the counters at 0. Four of them are looked at together: most examples share nothing where features are rare.
double Learner::sum(const Row& row, std::span<const double> coefficient, std::vector<std::uint16_t>& counters) const {
  count(row, counters);
  std::uint16_t* const r = counters.data();
  const std::size_t n = coefficient.size();
  double total = 0.0;
  if (!kernel_.by_common()) {
    for (std::size_t i = 0; i < n; ++i) total += coefficient[i] * kernel_(r[i], row.size, active.width(i));
    std::fill(counters.begin(), counters.end(), std::uint16_t{0});
    return total;
  }
  const double* const table = kernel_.table();
  const double nothing = table[0];
  double base = 0.0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    std::uint64_t four;
    std::memcpy(&four, r + i, sizeof four);
    base += (coefficient[i] + coefficient[i + 1]) + (coefficient[i + 2] + coefficient[i + 3]);
    if (four == 0) continue;
    total += (coefficient[i] * (table[r[i]] - nothing) + coefficient[i + 1] * (table[r[i + 1]] - nothing)) +
             (coefficient[i + 2] * (table[r[i + 2]] - nothing) + coefficient[i + 3] * (table[r[i + 3]] - nothing));
    std::memset(r + i, 0, sizeof four);
  }
  for (; i < n; ++i) {
    base += coefficient[i];
    total += coefficient[i] * (table[r[i]] - nothing);
    r[i] = 0;
  }
  return nothing * base + total;
}

double Learner::sum_by_pairs(const Row& row, std::span<const double> coefficient) const {
  double total = 0.0;
  for (std::size_t i = 0; i < coefficient.size(); ++i) {
    const std::size_t r = common(std::span<const std::int32_t>(row.features), active.features(i));
    total += coefficient[i] * kernel_(r, row.size, active.width(i));
  }
  return total;
}

std::vector<double> Learner::coefficients(bool averaged) const {
  std::vector<double> made(active.a);
  if (!averaged || rounds_done == 0) return made;
  const auto rounds = static_cast<double>(rounds_done);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = (made[i] * (rounds + 1.0) - active.b[i]) / rounds;
  return made;
}

void Learner::margins(const Examples& examples, bool averaged, By by, std::span<double> out, std::size_t threads) {
  settle();
  const std::vector<double> coefficient = coefficients(averaged);
  std::size_t width = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) width = std::max(width, examples.keys(i).size());
  kernel_.reserve(width);
  base::parallel_blocks(examples.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint16_t> counters(linear() || by == By::kPairs ? 0 : active.size() + 4, 0);
    for (std::size_t i = begin; i < end; ++i) {
      if (linear()) {
        const auto keys = examples.keys(i);
        const auto values = examples.values(i);
        double f = 0.0;
        for (std::size_t j = 0; j < keys.size(); ++j) {
          const std::int32_t id = dictionary.find(keys[j]);
          if (id >= 0) f += coefficient[static_cast<std::size_t>(id)] * (values.empty() ? 1.0 : values[j]);
        }
        out[i] = f;
        continue;
      }
      const Row row = translate(examples, i);
      out[i] = by == By::kPairs ? sum_by_pairs(row, coefficient) : sum(row, coefficient, counters);
    }
  });
}

void Learner::parts(const Examples& examples, bool averaged, std::span<double> part, std::span<double> rest,
                    std::size_t threads) {
  settle();
  const std::vector<double> coefficient = coefficients(averaged);
  std::size_t width = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) width = std::max(width, examples.keys(i).size());
  kernel_.reserve(width);
  base::parallel_blocks(examples.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint16_t> counters(linear() ? 0 : active.size() + 4, 0);
    std::vector<double> share(linear() ? 0 : active.size());
    for (std::size_t e = begin; e < end; ++e) {
      const auto keys = examples.keys(e);
      const auto values = examples.values(e);
      const auto at = static_cast<std::size_t>(examples.begin[e]);
      if (linear()) {
        rest[e] = 0.0;
        for (std::size_t j = 0; j < keys.size(); ++j) {
          const std::int32_t id = dictionary.find(keys[j]);
          part[at + j] = id < 0 ? 0.0 : coefficient[static_cast<std::size_t>(id)] * (values.empty() ? 1.0 : values[j]);
        }
        continue;
      }
      const Row row = translate(examples, e);
      count(row, counters);
      rest[e] = 0.0;
      for (std::size_t i = 0; i < coefficient.size(); ++i) {
        const double nothing = kernel_(0, row.size, active.width(i));
        rest[e] += coefficient[i] * nothing;
        const std::size_t r = counters[i];
        share[i] =
            r == 0 ? 0.0 : coefficient[i] * (kernel_(r, row.size, active.width(i)) - nothing) / static_cast<double>(r);
      }
      for (std::size_t j = 0; j < keys.size(); ++j) {
        const std::int32_t f = dictionary.find(keys[j]);
        double sum = 0.0;
        if (f >= 0)
          for (const std::int32_t i : large_.of(f)) sum += share[static_cast<std::size_t>(i)];
        part[at + j] = sum;
      }
      std::fill(counters.begin(), counters.end(), std::uint16_t{0});
    }
  });
}

}  // namespace textmill::lm
