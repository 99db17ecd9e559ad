#include "sequence/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "base/simd.h"

namespace textmill::sequence {
namespace {

using base::with_packs;

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::size_t kSpare = 64;  // branches that may be open beyond those that are wanted

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

  struct Branch {        // a path: that of `parent` behind t, `label` at t, and the best prefix before
    double total;        // its score
    std::size_t number;  // earlier ones win ties
    std::size_t parent;  // in `found`; none for the first
    std::size_t t;
    std::int32_t label;
    bool operator<(const Branch& other) const {
      return total != other.total ? total < other.total : number > other.number;
    }
  };
  std::vector<Branch> open;  // a heap, no more than twice what is still wanted, and kSpare
  std::size_t made = 0;
  double least = kNever;  // what a branch must reach to be wanted
  const auto add = [&](const Branch& branch) {
    open.push_back(branch);
    std::push_heap(open.begin(), open.end());
  };
  // Only when it is twice too large: then each pruning is paid for by the branches added since the last.
  const auto prune = [&](std::size_t wanted) {
    if (open.size() <= 2 * wanted + kSpare) return;
    std::nth_element(open.begin(), open.begin() + wanted, open.end(),
                     [](const Branch& a, const Branch& b) { return b < a; });
    open.resize(wanted);
    if (wanted > 0) least = std::min_element(open.begin(), open.end())->total;
    std::make_heap(open.begin(), open.end());
  };
  for (std::size_t y = 0; y < Y; ++y) {
    const double total = best[(T - 1) * Y + y];
    if (total != kNever) add({total, made++, 0, T - 1, static_cast<std::int32_t>(y)});
  }
  std::vector<Path> found;
  while (found.size() < n && !open.empty()) {
    std::pop_heap(open.begin(), open.end());
    const Branch branch = open.back();
    open.pop_back();
    Path path{branch.total, branch.t + 1 < T ? found[branch.parent].labels : std::vector<std::int32_t>(T)};
    std::vector<std::int32_t>& labels = path.labels;
    labels[branch.t] = branch.label;
    for (std::size_t t = branch.t; t > 0; --t) labels[t - 1] = from[t * Y + labels[t]];
    const std::size_t wanted = n - found.size() - 1;
    double behind = 0.0;  // score of the path from t on, without what joins it to t - 1
    for (std::size_t t = T - 1; wanted > 0 && t > 0; --t) {
      const double* pair = chain.pairs[t];
      behind += chain.unary[t * Y + labels[t]];
      for (std::size_t y = 0; t <= branch.t && y < Y; ++y) {
        const double total =
            std::min(branch.total, best[(t - 1) * Y + y] + (pair[y * chain.stride + labels[t]] + behind));
        if (total == kNever || total < least || static_cast<std::int32_t>(y) == labels[t - 1]) continue;
        add({total, made++, found.size(), t - 1, static_cast<std::int32_t>(y)});
      }
      prune(wanted);
      behind += pair[labels[t - 1] * chain.stride + labels[t]];
    }
    found.push_back(std::move(path));
  }
  return found;
}

}  // namespace textmill::sequence
