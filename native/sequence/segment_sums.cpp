// Sums over all segmentations of a sentence, forward and backward, and what they expect of every row: see segments.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/log_add.h"
#include "base/math.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/segment_scratch.h"

namespace textmill::sequence {
namespace {

using base::log_add;
using base::parallel_blocks;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWidest = 200.0;    // largest relative score that is exponentiated
constexpr double kDrift = 400.0;     // most that the scores of O after different histories may part in a sentence
constexpr double kTooLarge = 1e100;  // alphas are rescaled when one is larger

// What the kernels see of one sentence.
struct Sentence {
  std::int64_t n, first;  // tokens, number of the first one
  std::size_t K, Q, Y;
  bool none, entity;  // history
  std::int64_t longest;
  const std::int64_t* candidates;
  const std::int32_t* lengths;
  const std::uint8_t* single;
  const std::int32_t* context;
  const double *powers, *histories;
  double *weights, *alpha, *beta, *links, *scale, *nodes;

  const double* power(std::int64_t i) const { return powers + static_cast<std::size_t>(context[first + i]) * Q * K; }
  const double* history(std::int64_t i) const {
    return histories + static_cast<std::size_t>(context[first + i]) * Q * K;
  }
  std::size_t after(std::size_t q) const { return entity ? q : 0; }
};

// The packed form: a node for every candidate, label and state, with the power of its own score.
template <class P>
TEXTMILL_INLINED inline void raise_nodes(const Sentence& v) {
  const double* w = v.weights;
  double* node = v.nodes;
  for (std::int64_t i = 0; i < v.n; ++i) {
    const double* tr = v.history(i);
    const std::int64_t begin = v.candidates[v.first + i], end = v.candidates[v.first + i + 1];
    for (std::int64_t k = begin - 1; k < end; ++k, w += v.K) {
      const bool there = k >= begin || v.single[v.first + i];
      for (std::size_t q = 0; q < v.Q; ++q, node += v.K) {
        for (std::size_t j = 0; j < v.K; j += P::width) exp(P::load(w + j) + P::load(tr + q * v.K + j)).store(node + j);
        node[0] = 0.0;
        for (std::size_t y = there ? v.Y : 0; y < v.K; ++y) node[y] = 0.0;
      }
    }
  }
}

// Powers of the weights; nothing for O, for what is padded, and for single tokens that are no candidates. False: too wide.
template <class P>
TEXTMILL_INLINED inline bool raise(const Sentence& v, std::size_t slots) {
  P widest = P(-kInfinity);
  for (std::size_t i = 0; i < slots * v.K; i += P::width) widest = max(widest, P::load(v.weights + i));
  for (std::size_t j = 0; j < slots; ++j) v.weights[j * v.K] = -kInfinity;
  if (!(largest(widest) <= kWidest)) {
    double most = -kInfinity;
    for (std::size_t j = 0; j < slots; ++j)
      for (std::size_t y = 1; y < v.Y; ++y) most = std::max(most, v.weights[j * v.K + y]);
    if (!(most <= kWidest)) return false;
  }
  for (std::size_t i = 0; i < slots * v.K; i += P::width) exp(P::load(v.weights + i)).store(v.weights + i);
  if (v.K > v.Y)
    for (std::size_t j = 0; j < slots; ++j)
      for (std::size_t y = v.Y; y < v.K; ++y) v.weights[j * v.K + y] = 0.0;
  double* slot = v.weights;
  for (std::int64_t i = 0; i < v.n; ++i) {
    if (!v.single[v.first + i])
      for (std::size_t y = 0; y < v.K; ++y) slot[y] = 0.0;
    slot += static_cast<std::size_t>(1 + v.candidates[v.first + i + 1] - v.candidates[v.first + i]) * v.K;
  }
  return true;
}

// Fills alpha, links A and scales; returns the sum of the last alphas.
template <class P>
TEXTMILL_INLINED inline double forward(const Sentence& v, bool packed) {
  const std::size_t K = v.K, Q = v.Q;
  for (std::size_t i = 0; i < static_cast<std::size_t>(v.n + 1) * K; ++i) v.alpha[i] = 0.0;
  v.alpha[0] = 1.0;
  double scale = 0.0;
  const double* w = v.weights;
  double* node = v.nodes;
  for (std::int64_t i = 0; i <= v.n; ++i) {
    double* a = v.alpha + static_cast<std::size_t>(i) * K;
    double most = 0.0;
    for (std::size_t q = 0; q < Q; ++q) most = a[q] > most ? a[q] : most;
    if (most > kTooLarge) {
      const std::size_t end = static_cast<std::size_t>(std::min(v.n, i + v.longest) + 1) * K;
      for (std::size_t j = static_cast<std::size_t>(i) * K; j < end; ++j) v.alpha[j] /= most;
      scale += std::log(most);
    }
    v.scale[i] = scale;
    if (i == v.n) break;
    const double* T = v.power(i);
    double* A = v.links + static_cast<std::size_t>(i) * K;
    for (std::size_t j = 0; j < K; j += P::width) {
      P sum = P(0.0);
      for (std::size_t q = 0; q < Q; ++q) sum = multiply_add(P(a[q]), P::load(T + q * K + j), sum);
      sum.store(A + j);
    }
    for (std::size_t q = 0; q < Q; ++q) a[K + v.after(q)] += a[q] * T[q * K];
    const std::int64_t begin = v.candidates[v.first + i], end = v.candidates[v.first + i + 1];
    for (std::int64_t k = begin - 1; k < end; ++k, w += K) {
      double* to = a + static_cast<std::size_t>(k < begin ? 1 : v.lengths[k]) * K;
      if (packed) {  // a node for each history
        for (std::size_t q = 0; q < Q; ++q, node += K) {
          P total = P(0.0);
          for (std::size_t j = 0; j < K; j += P::width) {
            const P weight = P::load(node + j);
            const P mass = P(a[q]) * weight;
            if (v.none)
              total = total + mass;
            else
              (P::load(to + j) + mass).store(to + j);
          }
          if (v.none) to[0] += sum(total);
        }
      } else if (v.none) {
        P total = P(0.0);
        for (std::size_t j = 0; j < K; j += P::width) total = multiply_add(P::load(A + j), P::load(w + j), total);
        to[0] += sum(total);
      } else {
        for (std::size_t j = 0; j < K; j += P::width)
          multiply_add(P::load(A + j), P::load(w + j), P::load(to + j)).store(to + j);
      }
    }
  }
  double total = 0.0;
  for (std::size_t q = 0; q < Q; ++q) total += v.alpha[static_cast<std::size_t>(v.n) * K + q];
  return total;
}

struct Targets {  // rows of the sentence that expectations are added to, null for roles that no test has
  double* role[kRoles];
  double *single, *candidates;  // written
  double* before;               // [n][3][K]
  double weight;
};

// Fills beta and the expectations.
template <class P>
TEXTMILL_INLINED inline void backward(const Sentence& v, double total, bool packed, const Targets& to) {
  const std::size_t K = v.K, Q = v.Q;
  const std::int64_t cells = v.n * static_cast<std::int64_t>(K);
  for (double* rows : to.role)
    if (rows != nullptr)
      for (std::int64_t i = 0; i < cells; ++i) rows[i] = 0.0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(v.n + 1) * K; ++i) v.beta[i] = 0.0;
  for (std::size_t q = 0; q < Q; ++q) v.beta[static_cast<std::size_t>(v.n) * K + q] = 1.0 / total;
  const std::int64_t slots = v.n + v.candidates[v.first + v.n] - v.candidates[v.first];
  const double* w = v.weights + static_cast<std::size_t>(slots) * K;
  const double* node = v.nodes + static_cast<std::size_t>(packed ? slots : 0) * Q * K;
  const P weight = P(to.weight);
  for (std::int64_t i = v.n - 1; i >= 0; --i) {
    const std::size_t at = static_cast<std::size_t>(i) * K;
    const double *a = v.alpha + at, *A = v.links + at, *T = v.power(i);
    double *before = to.before + 3 * at, *B = before + K, *b = v.beta + at, *alone = to.single + at;
    for (std::size_t j = 0; j < K; ++j) B[j] = 0.0;
    for (std::size_t q = 0; q < K; ++q) before[q] = q < Q ? a[q] * to.weight : 0.0;
    const std::int64_t begin = v.candidates[v.first + i], end = v.candidates[v.first + i + 1];
    for (std::int64_t k = end - 1; k >= begin - 1; --k) {
      w -= K;
      const std::int64_t length = k < begin ? 1 : v.lengths[k], last = i + length - 1;
      const double step = v.scale[i] == v.scale[i + length] ? 1.0 : std::exp(v.scale[i] - v.scale[i + length]);
      const double* next = b + static_cast<std::size_t>(length) * K;
      double* own = k < begin ? alone : to.candidates + static_cast<std::size_t>(k - v.candidates[v.first]) * K;
      if (packed) node -= Q * K;
      for (std::size_t j = 0; j < K; j += P::width) {
        const P behind = (v.none ? P(next[0]) : P::load(next + j)) * P(step);
        P p = P(0.0);
        if (packed) {
          for (std::size_t q = 0; q < Q; ++q) {
            const P down = P::load(node + q * K + j) * behind;
            p = multiply_add(P(a[q]), down, p);
            b[q] += sum(down);
          }
          p = p * weight;
          multiply_add(P::load(w + j), behind, P::load(B + j)).store(B + j);
        } else {
          const P down = P::load(w + j) * behind;
          (P::load(B + j) + down).store(B + j);
          p = P::load(A + j) * down * weight;
        }
        p.store(own + j);
        const auto add = [=](double* rows, std::int64_t token) TEXTMILL_INLINED {
          double* cell = rows + static_cast<std::size_t>(token) * K + j;
          (P::load(cell) + p).store(cell);
        };
        const auto take = [=](double* rows, std::int64_t token) TEXTMILL_INLINED {
          double* cell = rows + static_cast<std::size_t>(token) * K + j;
          (P::load(cell) - p).store(cell);
        };
        if (to.role[kFirst] != nullptr) add(to.role[kFirst], i);
        if (to.role[kLast] != nullptr) add(to.role[kLast], last);
        if (to.role[kAll] != nullptr) {  // differences, which are added up below
          add(to.role[kAll], i);
          if (last + 1 < v.n) take(to.role[kAll], last + 1);
        }
        if (length > 1) {
          if (to.role[kFirst2] != nullptr) add(to.role[kFirst2], i);
          if (to.role[kLast2] != nullptr) add(to.role[kLast2], last);
          if (to.role[kRest] != nullptr) {
            add(to.role[kRest], i + 1);
            if (last + 1 < v.n) take(to.role[kRest], last + 1);
          }
          if (length > 2 && to.role[kInner] != nullptr) add(to.role[kInner], i + 1), take(to.role[kInner], last);
        }
      }
    }
    const double step = v.scale[i] == v.scale[i + 1] ? 1.0 : std::exp(v.scale[i] - v.scale[i + 1]);
    double plain = 0.0;
    for (std::size_t q = 0; q < Q; ++q) {
      const double behind = b[K + v.after(q)] * step;
      before[2 * K + q] = a[q] * behind * to.weight;
      plain += before[2 * K + q] * T[q * K];
      double sum_of = T[q * K] * behind;
      if (!packed)
        for (std::size_t y = 1; y < v.Y; ++y) sum_of += T[q * K + y] * B[y];
      b[q] += sum_of;
    }
    for (std::size_t q = Q; q < K; ++q) before[2 * K + q] = 0.0;
    alone[0] = plain;
  }
  for (const Role r : {kAll, kRest, kInner})
    if (to.role[r] != nullptr)
      for (std::int64_t i = static_cast<std::int64_t>(K); i < cells; ++i)
        to.role[r][i] += to.role[r][i - static_cast<std::int64_t>(K)];
  for (const Role r : {kFirst, kLast, kAll})
    if (to.role[r] != nullptr)
      for (std::int64_t i = 0; i < cells; i += static_cast<std::int64_t>(K)) to.role[r][i] = to.single[i];
}

}  // namespace

bool SegmentProblem::run_scaled(std::size_t s, bool packed, Scratch& scratch) {
  const std::int64_t first = offsets_[s], n = offsets_[s + 1] - first;
  const std::int64_t count = candidates_[first + n] - candidates_[first];
  const std::size_t slots = static_cast<std::size_t>(n + count), K = stride_, T = tokens();
  double drift = 0.0;
  std::int64_t longest = 1;
  for (std::int64_t i = first; i < first + n; ++i) {
    const double* tr = histories_.data() + static_cast<std::size_t>(contexts_.of[i]) * states_ * K;
    double wide = 0.0;
    for (std::size_t q = 0; q < states_; ++q) {
      wide = std::max(wide, std::abs(tr[q * K] - tr[0]));
      for (std::size_t y = 1; y < labels_; ++y)
        if (!(std::abs(tr[q * K + y]) <= kWidest)) return false;
    }
    drift += wide;
    if (candidates_[i + 1] > candidates_[i])
      longest = std::max<std::int64_t>(longest, lengths_[candidates_[i + 1] - 1]);
  }
  if (!(drift <= kDrift)) return false;
  Sentence v{n,
             first,
             K,
             states_,
             labels_,
             history_ == History::kNone,
             history_ == History::kEntity,
             longest,
             candidates_.data(),
             lengths_.data(),
             single_.data(),
             contexts_.of.data(),
             powers_.data(),
             histories_.data(),
             scratch.weights.data(),
             scratch.alpha.data(),
             scratch.beta.data(),
             scratch.links.data(),
             scratch.scale.data(),
             scratch.nodes.data()};
  Targets to{};
  for (std::size_t r = 0; r < kRoles; ++r)
    to.role[r] = base_[r] < 0 ? nullptr : row(static_cast<std::size_t>(base_[r] + first));
  to.single = row(own_ + static_cast<std::size_t>(first));
  to.candidates = row(own_ + T + static_cast<std::size_t>(candidates_[first]));
  to.before = before_.data() + static_cast<std::size_t>(first) * 3 * K;
  to.weight = weights_.empty() ? 1.0 : weights_[s];
  double log_z = 0.0;
  const double plain = scratch.plain[static_cast<std::size_t>(n)];
  base::with_packs([=, &log_z]<class P>() TEXTMILL_INLINED {
    log_z = std::numeric_limits<double>::quiet_NaN();
    if (packed) raise_nodes<P>(v);
    if (!raise<P>(v, slots)) return;
    const double total = forward<P>(v, packed);
    if (!(total > 0.0) || !std::isfinite(total)) return;
    backward<P>(v, total, packed, to);
    log_z = std::log(total) + v.scale[v.n] + plain;
  });
  if (!std::isfinite(log_z)) return false;
  log_z_[s] = log_z;
  return true;
}

// The same in logarithms, segment by segment, for scores of any size.
void SegmentProblem::run_logarithms(std::size_t s, Scratch& scratch) {
  const std::int64_t first = offsets_[s], n = offsets_[s + 1] - first;
  const std::size_t K = stride_, T = tokens(), Q = states_, Y = labels_;
  segment_scores(s, scratch);
  const auto tr = [&](std::int64_t i, std::size_t q, std::size_t y) {
    const double* scores = histories_.data() + static_cast<std::size_t>(contexts_.of[first + i]) * Q * K;
    return y == 0 ? scores[q * K] - scores[0] : scores[q * K + y];
  };
  std::vector<double>&alpha = scratch.alpha, &beta = scratch.beta, &A = scratch.links;
  std::fill(alpha.begin(), alpha.end(), -kInfinity);
  std::fill(beta.begin(), beta.end(), -kInfinity);
  alpha[0] = 0.0;
  const auto visit = [&](std::int64_t i, const double*& w, auto&& body) {
    const std::int64_t begin = candidates_[first + i], end = candidates_[first + i + 1];
    for (std::int64_t k = begin - 1; k < end; ++k, w += K)
      if (k >= begin || single_[first + i]) body(k, k < begin ? std::int64_t{1} : lengths_[k], w);
  };
  const double* w = scratch.weights.data();
  const auto after = [&](std::size_t q) { return static_cast<std::size_t>(this->after(static_cast<std::int32_t>(q))); };
  const auto state = [&](std::size_t y) { return static_cast<std::size_t>(state_of(static_cast<std::int32_t>(y))); };
  for (std::int64_t i = 0; i < n; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * K;
    for (std::size_t y = 0; y < Y; ++y) {
      A[at + y] = -kInfinity;
      for (std::size_t q = 0; q < Q; ++q) A[at + y] = log_add(A[at + y], alpha[at + q] + tr(i, q, y));
    }
    for (std::size_t q = 0; q < Q; ++q) {
      double& to = alpha[at + K + after(q)];
      to = log_add(to, alpha[at + q] + tr(i, q, 0));
    }
    visit(i, w, [&](std::int64_t, std::int64_t length, const double* score) {
      for (std::size_t y = 1; y < Y; ++y) {
        double& to = alpha[at + static_cast<std::size_t>(length) * K + state(y)];
        to = log_add(to, A[at + y] + score[y]);
      }
    });
  }
  double total = -kInfinity;
  for (std::size_t q = 0; q < Q; ++q) total = log_add(total, alpha[static_cast<std::size_t>(n) * K + q]);
  log_z_[s] = total + scratch.plain[static_cast<std::size_t>(n)];
  for (std::size_t q = 0; q < Q; ++q) beta[static_cast<std::size_t>(n) * K + q] = 0.0;
  const double weight = weights_.empty() ? 1.0 : weights_[s];
  double* roles[kRoles];
  for (std::size_t r = 0; r < kRoles; ++r) {
    roles[r] = base_[r] < 0 ? nullptr : row(static_cast<std::size_t>(base_[r] + first));
    if (roles[r] != nullptr) std::fill_n(roles[r], static_cast<std::size_t>(n) * K, 0.0);
  }
  const auto add = [&](Role r, std::int64_t i, std::size_t y, double p) {
    if (roles[r] != nullptr) roles[r][static_cast<std::size_t>(i) * K + y] += p;
  };
  std::vector<std::size_t> begins(static_cast<std::size_t>(n));
  for (std::int64_t i = 0, slot = 0; i < n; ++i) {
    begins[static_cast<std::size_t>(i)] = static_cast<std::size_t>(slot) * K;
    slot += 1 + candidates_[first + i + 1] - candidates_[first + i];
  }
  std::vector<double> B(Y);
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const std::size_t at = static_cast<std::size_t>(i) * K;
    double* alone = row(own_ + static_cast<std::size_t>(first + i));
    std::fill_n(alone, K, 0.0);
    std::fill(B.begin(), B.end(), -kInfinity);
    w = scratch.weights.data() + begins[static_cast<std::size_t>(i)];
    visit(i, w, [&](std::int64_t k, std::int64_t length, const double* score) {
      double* own = k < candidates_[first + i] ? alone : row(own_ + T + static_cast<std::size_t>(k));
      if (own != alone) std::fill_n(own, K, 0.0);
      for (std::size_t y = 1; y < Y; ++y) {
        const double down = score[y] + beta[at + static_cast<std::size_t>(length) * K + state(y)];
        B[y] = log_add(B[y], down);
        const double p = weight * std::exp(A[at + y] + down - total);
        const std::int64_t last = i + length - 1;
        own[y] = p;
        add(kFirst, i, y, p), add(kLast, last, y, p);
        if (length > 1) add(kFirst2, i, y, p), add(kLast2, last, y, p);
        for (std::int64_t j = i; j <= last; ++j) add(kAll, j, y, p);
        for (std::int64_t j = i + 1; j <= last; ++j) add(kRest, j, y, p);
        for (std::int64_t j = i + 1; j < last; ++j) add(kInner, j, y, p);
      }
    });
    double* before = before_.data() + (static_cast<std::size_t>(first + i) * 3) * K;
    std::fill_n(before, 3 * K, 0.0);  // nothing: `wide_` has the probabilities themselves
    double* pairs = wide_[s].data() + static_cast<std::size_t>(i) * Q * K;
    double plain = 0.0;
    for (std::size_t q = 0; q < Q; ++q) {
      const double behind = beta[at + K + after(q)] + tr(i, q, 0);
      beta[at + q] = behind;
      pairs[q * K] = weight * std::exp(alpha[at + q] + behind - total);
      plain += pairs[q * K];
      for (std::size_t y = 1; y < Y; ++y) {
        beta[at + q] = log_add(beta[at + q], tr(i, q, y) + B[y]);
        pairs[q * K + y] = weight * std::exp(alpha[at + q] + tr(i, q, y) + B[y] - total);
      }
    }
    alone[0] = plain;
    add(kFirst, i, 0, plain), add(kLast, i, 0, plain), add(kAll, i, 0, plain);
  }
}

double SegmentProblem::expectations(bool packed, std::size_t threads) {
  before_.resize(tokens() * 3 * stride_);
  wide_.assign(sentences(), {});
  parallel_blocks(sentences(), kSentences, threads, [&](std::size_t begin, std::size_t end) {
    Scratch scratch;
    for (std::size_t s = begin; s < end; ++s) {
      const std::int64_t n = offsets_[s + 1] - offsets_[s];
      log_z_[s] = 0.0;
      if (n == 0) continue;
      const std::int64_t count = candidates_[offsets_[s + 1]] - candidates_[offsets_[s]];
      scratch.resize(static_cast<std::size_t>(n), static_cast<std::size_t>(n + count), stride_, states_, packed);
      segment_scores(s, scratch);
      if (run_scaled(s, packed, scratch)) continue;
      wide_[s].assign(static_cast<std::size_t>(n) * states_ * stride_, 0.0);
      run_logarithms(s, scratch);
    }
  });
  double value = 0.0;
  for (std::size_t s = 0; s < sentences(); ++s) value += (weights_.empty() ? 1.0 : weights_[s]) * log_z_[s];
  return value;
}

}  // namespace textmill::sequence
