#include "sequence/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "base/math.h"
#include "base/simd.h"

namespace textmill::sequence {
namespace {

using base::with_packs;

constexpr double kNever = -std::numeric_limits<double>::infinity();

// out(y) = add(y) + log sum_y' exp(a(y') + v(y', y)), with v(y', y) = pair[y' * row + y * column].
void log_step(const double* a, const double* pair, std::size_t row, std::size_t column, const double* add,
              std::size_t labels, double* out, std::vector<double>& scratch) {
  scratch.resize(labels);
  for (std::size_t to = 0; to < labels; ++to) {
    for (std::size_t from = 0; from < labels; ++from) scratch[from] = a[from] + pair[from * row + to * column];
    out[to] = (add == nullptr ? 0.0 : add[to]) + base::logsumexp(scratch);
  }
}

// Fills the scores and the ways back of the best path to every label of every position.
void best_prefixes(const Chain& chain, double* best, std::int32_t* from) {
  const std::size_t Y = chain.labels;
  std::copy_n(chain.unary, Y, best);
  for (std::size_t t = 1; t < chain.length; ++t) {
    best_step(best + (t - 1) * Y, chain.pairs[t], chain.stride, chain.unary + t * Y, Y, best + t * Y, from + t * Y);
  }
}

}  // namespace

double forward(const Chain& chain, std::span<double> a) {
  const std::size_t Y = chain.labels;
  std::vector<double> scratch;
  std::copy_n(chain.unary, Y, a.data());
  for (std::size_t t = 1; t < chain.length; ++t) {
    log_step(&a[(t - 1) * Y], chain.pairs[t], chain.stride, 1, chain.unary + t * Y, Y, &a[t * Y], scratch);
  }
  return base::logsumexp(a.subspan((chain.length - 1) * Y, Y));
}

void backward(const Chain& chain, std::span<double> b) {
  const std::size_t Y = chain.labels;
  std::vector<double> scratch, next(Y);
  std::fill_n(&b[(chain.length - 1) * Y], Y, 0.0);
  for (std::size_t t = chain.length - 1; t-- > 0;) {
    for (std::size_t y = 0; y < Y; ++y) next[y] = chain.unary[(t + 1) * Y + y] + b[(t + 1) * Y + y];
    log_step(next.data(), chain.pairs[t + 1], 1, chain.stride, nullptr, Y, &b[t * Y], scratch);
  }
}

double viterbi(const Chain& chain, std::span<std::int32_t> path, std::span<double> best, std::span<std::int32_t> from) {
  best_prefixes(chain, best.data(), from.data());
  return trace_back(chain, path, best, from);
}

// best(y) = u(y) + max_y' before(y') + v(y', y); from(y) the first label that reaches it.
void best_step(const double* before, const double* pair, std::size_t stride, const double* unary, std::size_t labels,
               double* best, std::int32_t* from) {
  with_packs([=]<class P>() TEXTMILL_INLINED {
    double chosen[P::width], value[P::width];
    for (std::size_t y = 0; y < labels; y += P::width) {
      const std::size_t count = std::min(labels - y, P::width);
      P most = P(kNever), where = P(0.0);
      for (std::size_t f = 0; f < labels; ++f) {
        const double* at = pair + f * stride + y;
        const P score = P(before[f]) + (count == P::width ? P::load(at) : P::load(at, count, 0.0));
        const auto better = most < score;
        most = select(better, score, most);
        where = select(better, P(static_cast<double>(f)), where);
      }
      where.store(chosen);
      most.store(value);
      for (std::size_t j = 0; j < count; ++j) {
        best[y + j] = unary[y + j] + value[j];
        from[y + j] = static_cast<std::int32_t>(chosen[j]);
      }
    }
  });
}

double trace_back(const Chain& chain, std::span<std::int32_t> path, std::span<const double> best,
                  std::span<const std::int32_t> from) {
  const std::size_t T = chain.length, Y = chain.labels;
  const double* last = &best[(T - 1) * Y];
  std::size_t y = std::max_element(last, last + Y) - last;
  const double score = last[y];
  for (std::size_t t = T; t-- > 0;) {
    path[t] = static_cast<std::int32_t>(y);
    if (t > 0) y = from[t * Y + y];
  }
  return score;
}

std::vector<Path> best_paths(const Chain& chain, std::size_t n) {
  const std::size_t T = chain.length, Y = chain.labels;
  std::vector<double> best(T * Y);
  std::vector<std::int32_t> from(T * Y);
  best_prefixes(chain, best.data(), from.data());

  struct Suffix {          // a path from position t to the end
    double behind;         // its score without the label at t
    std::int64_t next;     // the suffix from t + 1, -1 at the end
    std::int32_t label;
    std::int32_t t;
  };
  struct Entry {
    double total;  // score of the best path that ends so
    std::int64_t suffix;
    bool operator<(const Entry& other) const {
      return total != other.total ? total < other.total : suffix > other.suffix;
    }
  };
  std::vector<Suffix> suffixes;
  std::priority_queue<Entry> heap;
  const auto push = [&](double behind, std::int64_t next, std::size_t label, std::size_t t) {
    const double total = best[t * Y + label] + behind;
    if (total == kNever) return;
    heap.push({total, static_cast<std::int64_t>(suffixes.size())});
    suffixes.push_back({behind, next, static_cast<std::int32_t>(label), static_cast<std::int32_t>(t)});
  };
  for (std::size_t y = 0; y < Y; ++y) push(0.0, -1, y, T - 1);
  std::vector<Path> found;
  while (found.size() < n && !heap.empty()) {
    const Entry top = heap.top();
    heap.pop();
    const Suffix suffix = suffixes[top.suffix];
    if (suffix.t == 0) {
      Path path{top.total, {}};
      for (std::int64_t s = top.suffix; s >= 0; s = suffixes[s].next) path.labels.push_back(suffixes[s].label);
      found.push_back(std::move(path));
      continue;
    }
    const std::size_t t = suffix.t;
    const double now = suffix.behind + chain.unary[t * Y + suffix.label];
    for (std::size_t y = 0; y < Y; ++y) {
      push(now + chain.pairs[t][y * chain.stride + suffix.label], top.suffix, y, t - 1);
    }
  }
  return found;
}

}  // namespace textmill::sequence
