#include "lm/classes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/parallel.h"

namespace textmill::lm {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
constexpr std::size_t kSentences = 256;  // handled by a thread at a time
constexpr std::size_t kTabulated = 1 << 14;
constexpr double kFirst = 0.36787944117144233;  // 1/e

struct Logarithms {
  std::vector<double> h, shifted;  // x log x, log(x + 1/e)
  Logarithms() : h(kTabulated), shifted(kTabulated) {
    for (std::size_t x = 0; x < kTabulated; ++x) {
      const auto value = static_cast<double>(x);
      h[x] = x == 0 ? 0.0 : value * std::log(value);
      shifted[x] = std::log(value + kFirst);
    }
  }
};

const Logarithms& logarithms() {
  static const Logarithms table;
  return table;
}

double h(std::int64_t x) {
  if (x < static_cast<std::int64_t>(kTabulated)) return logarithms().h[static_cast<std::size_t>(x)];
  return static_cast<double>(x) * std::log(static_cast<double>(x));
}

double shifted_log(std::int64_t x) {
  if (x < static_cast<std::int64_t>(kTabulated)) return logarithms().shifted[static_cast<std::size_t>(x)];
  return std::log(static_cast<double>(x) + kFirst);
}

}  // namespace

Neighbors successors(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens, std::size_t types,
                     std::int32_t boundary) {
  std::vector<std::uint64_t> pairs;
  pairs.reserve(tokens.size() + offsets.size());
  const auto add = [&](std::int32_t left, std::int32_t right) {
    pairs.push_back(static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
                    static_cast<std::uint32_t>(right));
  };
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    if (offsets[s] == offsets[s + 1]) continue;
    std::int32_t left = boundary;
    for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
      add(left, tokens[static_cast<std::size_t>(i)]);
      left = tokens[static_cast<std::size_t>(i)];
    }
    add(left, boundary);
  }
  std::sort(pairs.begin(), pairs.end());
  Neighbors made;
  made.begin.assign(types + 1, 0);
  for (std::size_t i = 0; i < pairs.size();) {
    std::size_t j = i;
    while (j < pairs.size() && pairs[j] == pairs[i]) ++j;
    ++made.begin[static_cast<std::size_t>(pairs[i] >> 32) + 1];
    made.type.push_back(static_cast<std::int32_t>(pairs[i] & 0xFFFFFFFFu));
    made.count.push_back(static_cast<std::int64_t>(j - i));
    i = j;
  }
  std::partial_sum(made.begin.begin(), made.begin.end(), made.begin.begin());
  return made;
}

Neighbors transposed(const Neighbors& neighbors) {
  const std::size_t types = neighbors.begin.size() - 1;
  Neighbors made;
  made.begin.assign(types + 1, 0);
  made.type.resize(neighbors.type.size());
  made.count.resize(neighbors.type.size());
  for (const std::int32_t t : neighbors.type) ++made.begin[static_cast<std::size_t>(t) + 1];
  std::partial_sum(made.begin.begin(), made.begin.end(), made.begin.begin());
  std::vector<std::int64_t> next(made.begin.begin(), made.begin.end() - 1);
  for (std::size_t t = 0; t < types; ++t) {
    for (std::int64_t i = neighbors.begin[t]; i < neighbors.begin[t + 1]; ++i) {
      const auto at =
          static_cast<std::size_t>(next[static_cast<std::size_t>(neighbors.type[static_cast<std::size_t>(i)])]++);
      made.type[at] = static_cast<std::int32_t>(t);
      made.count[at] = neighbors.count[static_cast<std::size_t>(i)];
    }
  }
  return made;
}

Exchange::Exchange(std::size_t types, std::size_t classes, std::span<const std::int64_t> offsets,
                   std::span<const std::int32_t> tokens, std::int32_t boundary, std::span<const std::int32_t> class_of,
                   std::size_t candidates)
    : classes_(classes),
      candidates_(candidates),
      after_(successors(offsets, tokens, types, boundary)),
      before_(transposed(after_)),
      class_of_(class_of.begin(), class_of.end()),
      total_(types, 0),
      n_(classes, 0),
      pairs_(classes * classes, 0),
      logs_(classes * classes),
      logs_by_column_(classes * classes),
      class_logs_(classes),
      s_(classes, 0),
      p_(classes, 0),
      approximate_(classes) {
  for (std::size_t t = 0; t < types; ++t) {
    const auto k = static_cast<std::size_t>(class_of_[t]);
    for (auto i = static_cast<std::size_t>(after_.begin[t]); i < static_cast<std::size_t>(after_.begin[t + 1]); ++i) {
      total_[t] += after_.count[i];
      pairs_[k * classes_ + static_cast<std::size_t>(class_of_[static_cast<std::size_t>(after_.type[i])])] +=
          after_.count[i];
    }
    n_[k] += total_[t];
  }
  for (std::size_t c = 0; c < classes_; ++c) {
    class_logs_[c] = shifted_log(n_[c]);
    for (std::size_t d = 0; d < classes_; ++d)
      logs_[c * classes_ + d] = logs_by_column_[d * classes_ + c] = shifted_log(pairs_[c * classes_ + d]);
  }
  log_likelihood_ = recomputed();
}

double Exchange::recomputed() const {
  double sum = 0.0;
  for (const std::int64_t count : pairs_) sum += h(count);
  for (const std::int64_t count : n_) sum -= 2.0 * h(count);
  for (const std::int64_t count : total_) sum += h(count);
  return sum;
}

void Exchange::gather(std::int32_t type) {
  for (const std::int32_t c : s_classes_) s_[static_cast<std::size_t>(c)] = 0;
  for (const std::int32_t c : p_classes_) p_[static_cast<std::size_t>(c)] = 0;
  s_classes_.clear();
  p_classes_.clear();
  self_ = 0;
  const auto t = static_cast<std::size_t>(type);
  size_ = total_[t];
  const auto collect = [&](const Neighbors& from, std::vector<std::int64_t>& sums, std::vector<std::int32_t>& classes) {
    for (auto i = static_cast<std::size_t>(from.begin[t]); i < static_cast<std::size_t>(from.begin[t + 1]); ++i) {
      if (from.type[i] == type) {
        self_ = from.count[i];
        continue;
      }
      const std::int32_t c = class_of_[static_cast<std::size_t>(from.type[i])];
      if (sums[static_cast<std::size_t>(c)] == 0) classes.push_back(c);
      sums[static_cast<std::size_t>(c)] += from.count[i];
    }
  };
  collect(after_, s_, s_classes_);
  collect(before_, p_, p_classes_);
}

// Puts the gathered type into class k, or takes it out of it.
void Exchange::change(std::size_t k, std::int64_t sign) {
  const auto add = [&](std::size_t c, std::size_t d, std::int64_t count) {
    const std::int64_t sum = pairs_[c * classes_ + d] += sign * count;
    logs_[c * classes_ + d] = logs_by_column_[d * classes_ + c] = shifted_log(sum);
  };
  for (const std::int32_t c : s_classes_) add(k, static_cast<std::size_t>(c), s_[static_cast<std::size_t>(c)]);
  for (const std::int32_t c : p_classes_) add(static_cast<std::size_t>(c), k, p_[static_cast<std::size_t>(c)]);
  if (self_ > 0) add(k, k, self_);
  n_[k] += sign * size_;
  class_logs_[k] = shifted_log(n_[k]);
}

double Exchange::gain(std::size_t k) const {
  double sum = 0.0;
  for (const std::int32_t c : s_classes_) {
    const auto d = static_cast<std::size_t>(c);
    if (d == k) continue;
    const std::int64_t n = pairs_[k * classes_ + d];
    sum += h(n + s_[d]) - h(n);
  }
  for (const std::int32_t c : p_classes_) {
    const auto d = static_cast<std::size_t>(c);
    if (d == k) continue;
    const std::int64_t n = pairs_[d * classes_ + k];
    sum += h(n + p_[d]) - h(n);
  }
  const std::int64_t inside = pairs_[k * classes_ + k];
  sum += h(inside + s_[k] + p_[k] + self_) - h(inside);
  return sum - 2.0 * (h(n_[k] + size_) - h(n_[k]));
}

// The classes from `from` to `to` by approximate gain, the best `candidates` of them first.
void Exchange::rank(std::size_t from, std::size_t to) {
  ranked_.resize(to - from);
  std::iota(ranked_.begin(), ranked_.end(), static_cast<std::int32_t>(from));
  if (candidates_ >= ranked_.size()) return;
  const auto size = static_cast<double>(size_);
  for (std::size_t k = from; k < to; ++k) approximate_[k] = -2.0 * size * class_logs_[k];
  double* const out = approximate_.data();
  const auto add = [&](const std::vector<double>& logs, std::int32_t c, std::int64_t count) {
    const double* const row = logs.data() + static_cast<std::size_t>(c) * classes_;
    const auto factor = static_cast<double>(count);
    for (std::size_t k = from; k < to; ++k) out[k] += factor * row[k];
  };
  for (const std::int32_t c : s_classes_) add(logs_by_column_, c, s_[static_cast<std::size_t>(c)]);
  for (const std::int32_t c : p_classes_) add(logs_, c, p_[static_cast<std::size_t>(c)]);
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const double x = out[a], y = out[b];
    return x > y || (x == y && a < b);
  };
  std::nth_element(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(candidates_), ranked_.end(), better);
  ranked_.resize(candidates_);
}

std::size_t Exchange::sweep(std::span<const std::int32_t> order, std::span<const std::int32_t> first) {
  std::vector<std::int32_t> group(classes_, 0);
  for (std::size_t g = 0; g + 1 < first.size(); ++g)
    for (std::int32_t k = first[g]; k < first[g + 1]; ++k)
      group[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(g);
  std::size_t moves = 0;
  for (const std::int32_t type : order) {
    const auto t = static_cast<std::size_t>(type);
    if (total_[t] == 0) continue;
    const auto own = static_cast<std::size_t>(class_of_[t]);
    const auto g = static_cast<std::size_t>(group[own]);
    const auto from = static_cast<std::size_t>(first[g]), to = static_cast<std::size_t>(first[g + 1]);
    if (to - from < 2) continue;
    gather(type);
    change(own, -1);
    rank(from, to);
    const double staying = gain(own);
    double most = staying;
    std::size_t best = own;
    for (const std::int32_t c : ranked_) {
      const auto k = static_cast<std::size_t>(c);
      if (k == own) continue;
      const double value = gain(k);
      if (value > most || (value == most && best != own && k < best)) {
        most = value;
        best = k;
      }
    }
    change(best, 1);
    if (best == own) continue;
    class_of_[t] = static_cast<std::int32_t>(best);
    log_likelihood_ += most - staying;
    ++moves;
  }
  return moves;
}

namespace {

// One sentence, with buffers that are used again.
class Cutting {
 public:
  explicit Cutting(const Chunks& model) : model_(model), width_(model.longest) {}

  std::int32_t cut(std::span<const std::int32_t> words, std::int32_t* types, double& best, double& all) {
    const std::size_t m = words.size();
    type_.assign(m * width_, -1);
    best_.assign(m * width_, kNothing);
    all_.assign(m * width_, kNothing);
    from_.assign(m * width_, 0);
    // Entry (e, L - 1): the chunk of L words that ends with word e.
    for (std::size_t b = 0; b < m; ++b) {
      std::int32_t node = 0;
      for (std::size_t length = 1; length <= width_ && b + length <= m; ++length) {
        node = model_.lookup.find(node, words[b + length - 1]);
        if (node < 0) break;
        if (model_.log_lexicon[static_cast<std::size_t>(node - 1)] > kNothing)
          type_[(b + length - 1) * width_ + length - 1] = node - 1;
      }
    }
    for (std::size_t e = 0; e < m; ++e) {
      for (std::size_t length = 1; length <= std::min(width_, e + 1); ++length) {
        const std::size_t here = e * width_ + length - 1;
        const std::int32_t type = type_[here];
        if (type < 0) continue;
        const auto k = static_cast<std::size_t>(model_.class_of[static_cast<std::size_t>(type)]);
        const double own = model_.log_lexicon[static_cast<std::size_t>(type)];
        if (e + 1 == length) {
          best_[here] = all_[here] = model_.log_transition[k] + own;
          continue;
        }
        join(e - length, k, own, best_[here], all_[here], from_[here]);
      }
    }
    std::int32_t length = 0;
    best = all = kNothing;
    if (m > 0) join(m - 1, 0, 0.0, best, all, length);
    if (best == kNothing) return 0;
    std::int32_t pieces = 0;
    for (std::size_t e = m; e > 0;) {  // from the last chunk to the first
      const std::size_t here = (e - 1) * width_ + static_cast<std::size_t>(length) - 1;
      types[pieces++] = type_[here];
      e -= static_cast<std::size_t>(length);
      length = from_[here];
    }
    std::reverse(types, types + pieces);
    return pieces;
  }

 private:
  // What precedes a chunk of class k, if word e is the last before it.
  void join(std::size_t e, std::size_t k, double own, double& best, double& all, std::int32_t& from) {
    std::array<double, kMostWords> sums;
    std::size_t terms = 0;
    double most = kNothing;
    for (std::size_t length = 1; length <= std::min(width_, e + 1); ++length) {
      const std::size_t before = e * width_ + length - 1;
      if (type_[before] < 0 || best_[before] == kNothing) continue;
      const auto c = static_cast<std::size_t>(model_.class_of[static_cast<std::size_t>(type_[before])]);
      const double step = model_.log_transition[c * model_.classes + k] + own;
      if (best_[before] + step > best) {
        best = best_[before] + step;
        from = static_cast<std::int32_t>(length);
      }
      const double sum = all_[before] + step;
      if (sum == kNothing) continue;
      sums[terms++] = sum;
      most = std::max(most, sum);
    }
    if (terms == 0) return;
    double total = 0.0;
    for (std::size_t i = 0; i < terms; ++i) total += std::exp(sums[i] - most);
    all = most + std::log(total);
  }

  static constexpr std::size_t kMostWords = 128;
  const Chunks& model_;
  std::size_t width_;
  std::vector<std::int32_t> type_, from_;
  std::vector<double> best_, all_;
};

}  // namespace

void segment(const Chunks& model, std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
             std::span<std::int32_t> types, std::span<std::int32_t> pieces, std::span<double> best,
             std::span<double> all, std::size_t threads) {
  base::parallel_blocks(offsets.size() - 1, kSentences, threads, [&](std::size_t begin, std::size_t end) {
    Cutting cutting(model);
    for (std::size_t s = begin; s < end; ++s) {
      const auto from = static_cast<std::size_t>(offsets[s]), to = static_cast<std::size_t>(offsets[s + 1]);
      pieces[s] = cutting.cut(tokens.subspan(from, to - from), types.data() + from, best[s], all[s]);
    }
  });
}

}  // namespace textmill::lm
