#include "lm/classes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::lm {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
constexpr std::size_t kSentences = 256;  // handled by a thread at a time
constexpr std::size_t kTabulated = 1 << 14;
constexpr std::size_t kTypes = 64;       // handled by a thread at a time
constexpr std::size_t kTogether = 4;     // types of a run that a thread takes at a time
constexpr std::size_t kRun = 64;         // types at most that are looked at together
constexpr std::int64_t kShare = 128;     // part of the text that they may have
constexpr std::size_t kCells = 1 << 15;  // counts of classes that are held of them, so that they stay in the cache
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

// out[from ... to - 1] += sums of rows times factors: columns in registers, one pass over the rows for each stretch.
template <class P>
TEXTMILL_INLINED inline void add_rows(std::span<const Exchange::Term> terms, std::size_t from, std::size_t to,
                                      double* out) {
  constexpr std::size_t kPacks = 6;
  std::size_t k = from;
  for (; k + kPacks * P::width <= to; k += kPacks * P::width) {
    P sums[kPacks];
    for (std::size_t i = 0; i < kPacks; ++i) sums[i] = P::load(out + k + i * P::width);
    for (const auto& [row, factor] : terms) {
      const P times(factor);
      for (std::size_t i = 0; i < kPacks; ++i) sums[i] = sums[i] + times * P::load(row + k + i * P::width);
    }
    for (std::size_t i = 0; i < kPacks; ++i) sums[i].store(out + k + i * P::width);
  }
  for (; k + P::width <= to; k += P::width) {
    P sum = P::load(out + k);
    for (const auto& [row, factor] : terms) sum = sum + P(factor) * P::load(row + k);
    sum.store(out + k);
  }
  for (; k < to; ++k)
    for (const auto& [row, factor] : terms) out[k] += factor * row[k];
}

}  // namespace

Neighbors successors(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens, std::size_t types,
                     std::int32_t boundary, std::size_t threads) {
  const auto each = [&](const auto& visit) {
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      if (offsets[s] == offsets[s + 1]) continue;
      std::int32_t left = boundary;
      for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        visit(left, tokens[static_cast<std::size_t>(i)]);
        left = tokens[static_cast<std::size_t>(i)];
      }
      visit(left, boundary);
    }
  };
  std::vector<std::size_t> begin(types + 1, 0);
  each([&](std::int32_t left, std::int32_t) { ++begin[static_cast<std::size_t>(left) + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int32_t> right(begin.back());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  each([&](std::int32_t from, std::int32_t to) { right[next[static_cast<std::size_t>(from)]++] = to; });
  std::vector<std::int64_t> distinct(types, 0);
  base::parallel_blocks(types, kTypes, threads, [&](std::size_t from, std::size_t to) {
    for (std::size_t t = from; t < to; ++t) {
      const auto first = right.begin() + static_cast<std::ptrdiff_t>(begin[t]);
      const auto last = right.begin() + static_cast<std::ptrdiff_t>(begin[t + 1]);
      std::sort(first, last);
      for (auto at = first; at != last; ++at) distinct[t] += at == first || *at != *(at - 1);
    }
  });
  Neighbors made;
  made.begin.assign(types + 1, 0);
  std::partial_sum(distinct.begin(), distinct.end(), made.begin.begin() + 1);
  made.type.resize(static_cast<std::size_t>(made.begin.back()));
  made.count.resize(made.type.size());
  base::parallel_blocks(types, kTypes, threads, [&](std::size_t from, std::size_t to) {
    for (std::size_t t = from; t < to; ++t) {
      auto at = static_cast<std::size_t>(made.begin[t]);
      for (std::size_t i = begin[t]; i < begin[t + 1]; ++at) {
        std::size_t j = i;
        while (j < begin[t + 1] && right[j] == right[i]) ++j;
        made.type[at] = right[i];
        made.count[at] = static_cast<std::int64_t>(j - i);
        i = j;
      }
    }
  });
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
                   std::size_t candidates, std::size_t threads)
    : classes_(classes),
      candidates_(candidates),
      threads_(threads),
      after_(successors(offsets, tokens, types, boundary, threads)),
      before_(transposed(after_)),
      class_of_(class_of.begin(), class_of.end()),
      total_(types, 0),
      n_(classes, 0),
      pairs_(classes * classes, 0),
      pairs_by_column_(classes * classes),
      logs_(classes * classes),
      logs_by_column_(classes * classes),
      class_logs_(classes),
      run_(std::clamp<std::size_t>(kCells / classes, 1, kRun)) {
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
    for (std::size_t d = 0; d < classes_; ++d) {
      pairs_by_column_[d * classes_ + c] = pairs_[c * classes_ + d];
      logs_[c * classes_ + d] = logs_by_column_[d * classes_ + c] = shifted_log(pairs_[c * classes_ + d]);
    }
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

void Exchange::gather(Moving& moving) const {
  moving.s.resize(classes_, 0);
  moving.p.resize(classes_, 0);
  for (const std::int32_t c : moving.s_classes) moving.s[static_cast<std::size_t>(c)] = 0;
  for (const std::int32_t c : moving.p_classes) moving.p[static_cast<std::size_t>(c)] = 0;
  moving.s_classes.clear();
  moving.p_classes.clear();
  moving.self = 0;
  const auto t = static_cast<std::size_t>(moving.type);
  moving.size = total_[t];
  const auto collect = [&](const Neighbors& from, std::vector<std::int64_t>& sums, std::vector<std::int32_t>& classes) {
    for (auto i = static_cast<std::size_t>(from.begin[t]); i < static_cast<std::size_t>(from.begin[t + 1]); ++i) {
      if (from.type[i] == moving.type) {
        moving.self = from.count[i];
        continue;
      }
      const std::int32_t c = class_of_[static_cast<std::size_t>(from.type[i])];
      if (sums[static_cast<std::size_t>(c)] == 0) classes.push_back(c);
      sums[static_cast<std::size_t>(c)] += from.count[i];
    }
  };
  collect(after_, moving.s, moving.s_classes);
  collect(before_, moving.p, moving.p_classes);
}

// Puts a type into class k, or takes it out of it.
void Exchange::change(const Moving& moving, std::size_t k, std::int64_t sign) {
  const auto add = [&](std::size_t c, std::size_t d, std::int64_t count) {
    const std::int64_t sum = pairs_[c * classes_ + d] += sign * count;
    pairs_by_column_[d * classes_ + c] = sum;
    logs_[c * classes_ + d] = logs_by_column_[d * classes_ + c] = shifted_log(sum);
  };
  for (const std::int32_t c : moving.s_classes)
    add(k, static_cast<std::size_t>(c), moving.s[static_cast<std::size_t>(c)]);
  for (const std::int32_t c : moving.p_classes)
    add(static_cast<std::size_t>(c), k, moving.p[static_cast<std::size_t>(c)]);
  if (moving.self > 0) add(k, k, moving.self);
  n_[k] += sign * moving.size;
  class_logs_[k] = shifted_log(n_[k]);
}

// G(k) of a type that is still counted in its class: what it has there is taken off each count.
double Exchange::gain(const Moving& moving, std::size_t k) const {
  const std::vector<std::int64_t>&s = moving.s, &p = moving.p;
  const std::int64_t* const following = pairs_.data() + k * classes_;
  const std::int64_t* const preceding = pairs_by_column_.data() + k * classes_;
  const std::size_t own = moving.own;
  double sum = 0.0;
  for (const std::int32_t c : moving.s_classes) {
    const auto d = static_cast<std::size_t>(c);
    if (d == k) continue;
    const std::int64_t n = following[d] - (k == own ? s[d] : d == own ? p[k] : 0);
    sum += h(n + s[d]) - h(n);
  }
  for (const std::int32_t c : moving.p_classes) {
    const auto d = static_cast<std::size_t>(c);
    if (d == k) continue;
    const std::int64_t n = preceding[d] - (k == own ? p[d] : d == own ? s[k] : 0);
    sum += h(n + p[d]) - h(n);
  }
  const std::int64_t both = s[k] + p[k] + moving.self;
  const std::int64_t inside = following[k] - (k == own ? both : 0);
  const std::int64_t size = n_[k] - (k == own ? moving.size : 0);
  sum += h(inside + both) - h(inside);
  return sum - 2.0 * (h(size + moving.size) - h(size));
}

// The classes that a type may move to by approximate gain, the best `candidates` of them besides its own.
void Exchange::rank(Moving& moving, Scratch& scratch) const {
  const std::size_t from = moving.from, to = moving.to, own = moving.own;
  moving.ranked.resize(to - from);
  std::iota(moving.ranked.begin(), moving.ranked.end(), static_cast<std::int32_t>(from));
  if (candidates_ >= moving.ranked.size()) return;
  scratch.terms.clear();
  // Rows of logarithms of one side; that of the own class is corrected: without what the type has there.
  const auto collect = [&](const std::vector<double>& logs, const std::vector<std::int32_t>& classes,
                           const std::vector<std::int64_t>& counts, const std::vector<std::int32_t>& other_classes,
                           const std::vector<std::int64_t>& others, std::vector<double>& corrected,
                           std::size_t class_stride, std::size_t own_stride) {
    for (const std::int32_t c : classes) {
      const auto d = static_cast<std::size_t>(c);
      const double* row = logs.data() + d * classes_;
      if (d == own) {
        corrected.assign(row, row + classes_);
        for (const std::int32_t e : other_classes) {
          const auto k = static_cast<std::size_t>(e);
          if (k != own) corrected[k] = shifted_log(pairs_[k * class_stride + own * own_stride] - others[k]);
        }
        row = corrected.data();
      }
      scratch.terms.push_back({row, static_cast<double>(counts[d])});
    }
  };
  collect(logs_by_column_, moving.s_classes, moving.s, moving.p_classes, moving.p, scratch.before, classes_, 1);
  collect(logs_, moving.p_classes, moving.p, moving.s_classes, moving.s, scratch.after, 1, classes_);
  scratch.sums.resize(classes_);
  double* const out = scratch.sums.data();
  const double size = -2.0 * static_cast<double>(moving.size);
  for (std::size_t k = from; k < to; ++k) out[k] = size * class_logs_[k];
  const std::span<const Term> terms = scratch.terms;
  base::with_packs([=]<class P>() TEXTMILL_INLINED { add_rows<P>(terms, from, to, out); });
  out[own] = kNothing;
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const double x = out[a], y = out[b];
    return x > y || (x == y && a < b);
  };
  std::nth_element(moving.ranked.begin(), moving.ranked.begin() + static_cast<std::ptrdiff_t>(candidates_),
                   moving.ranked.end(), better);
  moving.ranked.resize(candidates_);
}

// The best of the candidates, by exact gains.
void Exchange::decide(Moving& moving) const {
  const double staying = gain(moving, moving.own);
  double most = staying;
  moving.best = moving.own;
  for (const std::int32_t c : moving.ranked) {
    const auto k = static_cast<std::size_t>(c);
    if (k == moving.own) continue;
    const double value = gain(moving, k);
    if (value > most || (value == most && moving.best != moving.own && k < moving.best)) {
      most = value;
      moving.best = k;
    }
  }
  moving.gained = most - staying;
}

std::size_t Exchange::sweep(std::span<const std::int32_t> order, std::span<const std::int32_t> first) {
  std::vector<std::int32_t> group(classes_, 0);
  for (std::size_t g = 0; g + 1 < first.size(); ++g)
    for (std::int32_t k = first[g]; k < first[g + 1]; ++k)
      group[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(g);
  const std::int64_t mass = std::accumulate(total_.begin(), total_.end(), std::int64_t{0}) / kShare;
  std::size_t moves = 0;
  for (std::size_t at = 0; at < order.size();) {
    std::size_t size = 0;
    for (std::int64_t tokens = 0; at < order.size() && size < run_.size() && tokens <= mass; ++at) {
      const std::int32_t type = order[at];
      const auto t = static_cast<std::size_t>(type);
      const auto own = static_cast<std::size_t>(class_of_[t]);
      const auto g = static_cast<std::size_t>(group[own]);
      if (total_[t] == 0 || first[g + 1] - first[g] < 2) continue;
      Moving& moving = run_[size++];
      moving.type = type;
      moving.own = own;
      moving.from = static_cast<std::size_t>(first[g]);
      moving.to = static_cast<std::size_t>(first[g + 1]);
      tokens += total_[t];
    }
    base::parallel_blocks(size, kTogether, threads_, [&](std::size_t begin, std::size_t end) {
      Scratch scratch;
      for (std::size_t i = begin; i < end; ++i) {
        gather(run_[i]);
        rank(run_[i], scratch);
        if (!busy_) decide(run_[i]);
      }
    });
    std::size_t moved = 0;
    for (std::size_t i = 0; i < size; ++i) {
      Moving& moving = run_[i];
      if (!busy_ && moving.best == moving.own) continue;
      if (moved > 0 || busy_) {
        moving.own = static_cast<std::size_t>(class_of_[static_cast<std::size_t>(moving.type)]);
        if (moved > 0) gather(moving);
        decide(moving);
        if (moving.best == moving.own) continue;
      }
      change(moving, moving.own, -1);
      change(moving, moving.best, 1);
      class_of_[static_cast<std::size_t>(moving.type)] = static_cast<std::int32_t>(moving.best);
      log_likelihood_ += moving.gained;
      ++moved;
    }
    busy_ = 4 * moved > size;
    moves += moved;
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
