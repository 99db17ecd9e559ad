#include "sequence/segments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/math.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/rows.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWidest = 200.0;      // largest relative score that is exponentiated
constexpr double kDrift = 400.0;       // most that the scores of O after different histories may part in a sentence
constexpr double kTooLarge = 1e100;    // alphas are rescaled when one is larger
constexpr std::size_t kManyTests = 2;  // entries for each test from which weights are padded for speed
constexpr std::size_t kRowBlock = 512, kTestBlock = 256, kSentences = 8;

// Appends the rows to the matrix.
void append(Lists& matrix, const Rows& rows, bool valued) {
  for (std::size_t r = 0; r + 1 < rows.offsets.size(); ++r)
    matrix.offsets.push_back(matrix.offsets.back() + rows.offsets[r + 1] - rows.offsets[r]);
  matrix.items.insert(matrix.items.end(), rows.ids.begin(), rows.ids.end());
  if (!valued) return;
  if (rows.values.empty())
    matrix.values.resize(matrix.items.size(), 1.0F);
  else
    matrix.values.insert(matrix.values.end(), rows.values.begin(), rows.values.end());
}

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -kInfinity ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace

struct SegmentProblem::Scratch {
  std::vector<double> weights;  // [slots][stride] a slot is a single token or a candidate; logarithms, then powers
  std::vector<double> plain;    // [T + 1] running sums of the scores of O
  std::vector<double> sums;     // [3][T + 1][stride] running sums of all, rest and inner
  std::vector<double> alpha, beta, links, scale;
  std::vector<double> nodes;  // [slots][states][stride] of the packed form

  void resize(std::size_t n, std::size_t slots, std::size_t stride, std::size_t states, bool packed) {
    weights.resize(slots * stride);
    plain.resize(n + 1);
    sums.resize(3 * (n + 1) * stride);
    alpha.resize((n + 1) * stride);
    beta.resize((n + 1) * stride);
    links.resize((n + 1) * stride);
    scale.resize(n + 1);
    if (packed) nodes.resize(slots * states * stride);
  }
};

SegmentProblem::SegmentProblem(const Segments& data, std::size_t labels, std::size_t tests, std::size_t history_tests,
                               History history)
    : labels_(labels),
      stride_((labels + 3) / 4 * 4),
      states_(history == History::kNone ? 1 : labels),
      tests_(tests),
      history_tests_(history_tests),
      history_(history),
      offsets_(data.offsets.begin(), data.offsets.end()),
      candidates_(data.candidates.begin(), data.candidates.end()),
      lengths_(data.lengths.begin(), data.lengths.end()),
      single_(data.single.begin(), data.single.end()),
      weights_(data.weights.begin(), data.weights.end()) {
  const std::size_t T = tokens();
  bool valued = !data.own.values.empty();
  std::size_t entries = data.own.ids.size(), rows = T + lengths_.size();
  for (const Rows& role : data.roles) {
    valued |= !role.values.empty();
    entries += role.ids.size();
    if (!role.offsets.empty()) rows += T;
  }
  for (const Shared& shared : data.shared) {
    valued |= !shared.rows.values.empty();
    entries += shared.rows.ids.size();
    rows += shared.rows.offsets.size() - 1;
  }
  matrix_.offsets.reserve(rows + 1);
  matrix_.items.reserve(entries);
  matrix_.offsets.push_back(0);
  for (std::size_t r = 0; r < kRoles; ++r) {
    base_[r] = data.roles[r].offsets.empty() ? -1 : static_cast<std::int64_t>(matrix_.size());
    if (base_[r] >= 0) append(matrix_, data.roles[r], valued);
  }
  own_ = matrix_.size();
  append(matrix_, data.own, valued);
  values_ = matrix_.size();
  links_.offsets.assign(own_ + T + 1, 0);
  const auto first_row = [&](const Shared& shared) {
    return shared.role == kSingle ? own_ : static_cast<std::size_t>(base_[shared.role]);
  };
  for (const Shared& shared : data.shared)
    for (std::size_t t = 0; t < T; ++t) links_.offsets[first_row(shared) + t + 1] += shared.of[t] >= 0 ? 1 : 0;
  std::partial_sum(links_.offsets.begin(), links_.offsets.end(), links_.offsets.begin());
  links_.items.resize(static_cast<std::size_t>(links_.offsets.back()));
  std::vector<std::int64_t> place(links_.offsets.begin(), links_.offsets.end() - 1);
  for (const Shared& shared : data.shared) {
    const auto before = static_cast<std::int32_t>(matrix_.size() - values_);
    append(matrix_, shared.rows, valued);
    for (std::size_t t = 0; t < T; ++t)
      if (shared.of[t] >= 0)
        links_.items[static_cast<std::size_t>(place[first_row(shared) + t]++)] = before + shared.of[t];
  }
  contexts_ = distinct_rows(data.history, {}, {});
  context_tokens_ = {std::vector<std::int64_t>(contexts_.size() + 1, 0), std::vector<std::int32_t>(T), {}};
  for (const std::int32_t c : contexts_.of) ++context_tokens_.offsets[static_cast<std::size_t>(c) + 1];
  for (std::size_t c = 0; c < contexts_.size(); ++c) context_tokens_.offsets[c + 1] += context_tokens_.offsets[c];
  std::vector<std::int64_t> at(context_tokens_.offsets.begin(), context_tokens_.offsets.end() - 1);
  for (std::size_t t = 0; t < T; ++t)
    context_tokens_.items[static_cast<std::size_t>(at[static_cast<std::size_t>(contexts_.of[t])]++)] =
        static_cast<std::int32_t>(t);
  context_of_test_ = transpose(contexts_.tests, history_tests);
  log_z_.assign(sentences(), 0.0);
}

std::size_t SegmentProblem::memory() const {
  const auto lists = [](const Lists& l) { return l.offsets.size() * 8 + l.items.size() * 4 + l.values.size() * 4; };
  const std::size_t T = tokens();
  return lists(matrix_) * 2 + lists(links_) * 2 + tests_ * 8 + matrix_.size() * stride_ * 8 + tests_ * stride_ * 8 +
         2 * contexts_.size() * states_ * stride_ * 8 + T * (3 * stride_ * 8 + 30) + lengths_.size() * 4 +
         features() * 8 + lists(contexts_.tests) + lists(context_tokens_) + lists(context_of_test_);
}

std::vector<double> SegmentProblem::frequencies() const {
  std::vector<double> times(matrix_.size(), 1.0), counts(tests_, 0.0);
  std::fill(times.begin() + static_cast<std::ptrdiff_t>(values_), times.end(), 0.0);
  for (const std::int32_t row : links_.items) times[values_ + static_cast<std::size_t>(row)] += 1.0;
  for (std::size_t r = 0; r < matrix_.size(); ++r)
    for (auto e = matrix_.offsets[r]; e < matrix_.offsets[r + 1]; ++e) {
      const double value = matrix_.value(e);
      counts[static_cast<std::size_t>(matrix_.items[e])] += times[r] * value * value;
    }
  return counts;
}

void SegmentProblem::observe(std::span<const std::int64_t> segments) {
  observed_.assign(features(), 0.0);
  const std::size_t T = tokens();
  std::size_t next = 0;
  for (std::size_t s = 0; s < sentences(); ++s) {
    const double weight = weights_.empty() ? 1.0 : weights_[s];
    std::int32_t q = 0;
    for (std::int64_t t = offsets_[s]; t < offsets_[s + 1];) {
      std::int64_t length = 1;
      std::int32_t label = 0;
      if (next < segments.size() && segments[next] == t) {
        length = segments[next + 1];
        label = static_cast<std::int32_t>(segments[next + 2]);
        next += 3;
      }
      const auto count_row = [&](std::size_t r) {
        for (auto e = matrix_.offsets[r]; e < matrix_.offsets[r + 1]; ++e)
          observed_[static_cast<std::size_t>(matrix_.items[e]) * labels_ + static_cast<std::size_t>(label)] +=
              weight * matrix_.value(e);
      };
      const auto count = [&](std::size_t r) {
        count_row(r);
        if (r >= links_.size()) return;
        for (auto e = links_.offsets[r]; e < links_.offsets[r + 1]; ++e)
          count_row(values_ + static_cast<std::size_t>(links_.items[e]));
      };
      const auto role = [&](Role r, std::int64_t token) {
        if (base_[r] >= 0) count(static_cast<std::size_t>(base_[r] + token));
      };
      const std::int64_t last = t + length - 1;
      role(kFirst, t), role(kLast, last);
      if (length > 1) role(kFirst2, t), role(kLast2, last);
      for (std::int64_t i = t; i <= last; ++i) role(kAll, i);
      for (std::int64_t i = t + 1; i <= last; ++i) role(kRest, i);
      for (std::int64_t i = t + 1; i < last; ++i) role(kInner, i);
      if (length == 1) {
        count(own_ + static_cast<std::size_t>(t));
      } else {
        for (auto k = candidates_[t]; k < candidates_[t + 1]; ++k)
          if (lengths_[k] == length) count(own_ + T + static_cast<std::size_t>(k));
      }
      const auto c = static_cast<std::size_t>(contexts_.of[t]);
      for (auto e = contexts_.tests.offsets[c]; e < contexts_.tests.offsets[c + 1]; ++e) {
        const std::size_t feature =
            (tests_ + static_cast<std::size_t>(contexts_.tests.items[e]) * states_ + static_cast<std::size_t>(q)) *
            labels_;
        observed_[feature + static_cast<std::size_t>(label)] += weight * contexts_.tests.value(e);
      }
      q = label == 0 ? after(q) : state_of(label);
      t += length;
    }
  }
}

// Scores of all rows, from weights in rows of whole packs.
void SegmentProblem::pad_and_sum(std::span<const double> theta, std::size_t threads) {
  const std::size_t K = stride_, Y = labels_;
  padded_.resize(tests_ * K);
  parallel_blocks(tests_, 4096, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double* to = padded_.data() + i * K;
      std::copy_n(theta.data() + i * Y, Y, to);
      std::fill(to + Y, to + K, 0.0);
    }
  });
  parallel_blocks(matrix_.size(), kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    base::with_packs([=, this]<class P>() TEXTMILL_INLINED {
      const std::int64_t last = matrix_.offsets[end] - 1;
      for (std::size_t r = begin; r < end; ++r)
        sum_rows<P>(matrix_, matrix_.offsets[r], matrix_.offsets[r + 1], last, padded_.data(), K, K,
                    rows_.data() + r * K);
    });
  });
}

// Adds the scores of values to those of the tokens that have them.
void SegmentProblem::add_shared(std::size_t threads) {
  const std::size_t K = stride_;
  parallel_blocks(links_.size(), kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    base::with_packs([=, this]<class P>() TEXTMILL_INLINED {
      const double* const values = rows_.data() + values_ * K;
      for (std::size_t r = begin; r < end; ++r) {
        double* to = rows_.data() + r * K;
        for (auto e = links_.offsets[r]; e < links_.offsets[r + 1]; ++e) {
          const double* from = values + static_cast<std::size_t>(links_.items[e]) * K;
          for (std::size_t j = 0; j < K; j += P::width) (P::load(to + j) + P::load(from + j)).store(to + j);
        }
      }
    });
  });
}

void SegmentProblem::fill_scores(std::span<const double> theta, std::size_t threads) {
  const std::size_t K = stride_, Y = labels_, Q = states_;
  rows_.resize(matrix_.size() * K);
  if (matrix_.items.size() < kManyTests * tests_) {  // few sentences: only the weights that they need are looked at
    parallel_blocks(matrix_.size(), kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        double* to = rows_.data() + r * K;
        std::fill_n(to, K, 0.0);
        for (auto e = matrix_.offsets[r]; e < matrix_.offsets[r + 1]; ++e) {
          const double* from = theta.data() + static_cast<std::size_t>(matrix_.items[e]) * Y;
          const double value = matrix_.value(e);
          for (std::size_t y = 0; y < Y; ++y) to[y] += value * from[y];
        }
      }
    });
  } else {
    pad_and_sum(theta, threads);
  }
  add_shared(threads);
  histories_.assign(contexts_.size() * Q * K, 0.0);
  powers_.assign(contexts_.size() * Q * K, 0.0);
  parallel_blocks(contexts_.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      double* to = histories_.data() + c * Q * K;
      for (auto e = contexts_.tests.offsets[c]; e < contexts_.tests.offsets[c + 1]; ++e) {
        const double* from = theta.data() + (tests_ + static_cast<std::size_t>(contexts_.tests.items[e]) * Q) * Y;
        const double value = contexts_.tests.value(e);
        for (std::size_t q = 0; q < Q; ++q)
          for (std::size_t y = 0; y < Y; ++y) to[q * K + y] += value * from[q * Y + y];
      }
      double* power = powers_.data() + c * Q * K;
      for (std::size_t q = 0; q < Q; ++q) {
        power[q * K] = std::exp(to[q * K] - to[0]);
        for (std::size_t y = 1; y < Y; ++y) power[q * K + y] = std::exp(to[q * K + y]);
      }
    }
  });
}

// Fills the weights with scores relative to O at every token, and `plain` with running sums of what O has.
void SegmentProblem::segment_scores(std::size_t s, Scratch& scratch) const {
  const std::int64_t first = offsets_[s], n = offsets_[s + 1] - first;
  const std::size_t K = stride_, T = tokens();
  const auto at = [&](Role r, std::int64_t t) {
    return base_[r] < 0 ? nullptr : row(static_cast<std::size_t>(base_[r] + t));
  };
  double* const all = scratch.sums.data();
  double* const rest = all + static_cast<std::size_t>(n + 1) * K;
  double* const inner = rest + static_cast<std::size_t>(n + 1) * K;
  const auto run = [&](Role role, double* sums) {
    std::fill_n(sums, K, 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      const double* add = at(role, first + i);
      for (std::size_t y = 0; y < K; ++y)
        sums[static_cast<std::size_t>(i + 1) * K + y] =
            sums[static_cast<std::size_t>(i) * K + y] + (add == nullptr ? 0.0 : add[y]);
    }
  };
  run(kAll, all), run(kRest, rest), run(kInner, inner);
  scratch.plain[0] = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t t = first + i;
    double o = row(own_ + static_cast<std::size_t>(t))[0] +
               histories_[static_cast<std::size_t>(contexts_.of[t]) * states_ * K];
    for (const Role r : {kFirst, kLast, kAll})
      if (const double* scores = at(r, t)) o += scores[0];
    scratch.plain[static_cast<std::size_t>(i) + 1] = scratch.plain[static_cast<std::size_t>(i)] + o;
  }
  double* out = scratch.weights.data();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t t = first + i;
    for (std::int64_t k = candidates_[t] - 1; k < candidates_[t + 1]; ++k, out += K) {
      const bool alone = k < candidates_[t];
      const std::int64_t length = alone ? 1 : lengths_[k], end = i + length;
      const double* own = row(own_ + (alone ? static_cast<std::size_t>(t) : T + static_cast<std::size_t>(k)));
      const double less = scratch.plain[static_cast<std::size_t>(end)] - scratch.plain[static_cast<std::size_t>(i)];
      const double *a = all + static_cast<std::size_t>(i) * K, *z = all + static_cast<std::size_t>(end) * K;
      for (std::size_t y = 0; y < K; ++y) out[y] = own[y] - less + (z[y] - a[y]);
      const auto add = [&](const double* scores) {
        if (scores != nullptr)
          for (std::size_t y = 0; y < K; ++y) out[y] += scores[y];
      };
      add(at(kFirst, t)), add(at(kLast, first + end - 1));
      if (length > 1) {
        add(at(kFirst2, t)), add(at(kLast2, first + end - 1));
        const double *b = rest + static_cast<std::size_t>(i + 1) * K, *e = rest + static_cast<std::size_t>(end) * K;
        if (base_[kRest] >= 0)
          for (std::size_t y = 0; y < K; ++y) out[y] += e[y] - b[y];
      }
      if (length > 2 && base_[kInner] >= 0) {
        const double *b = inner + static_cast<std::size_t>(i + 1) * K,
                     *e = inner + static_cast<std::size_t>(end - 1) * K;
        for (std::size_t y = 0; y < K; ++y) out[y] += e[y] - b[y];
      }
    }
  }
}

namespace {

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

void SegmentProblem::add_gradient(std::span<double> gradient, std::size_t threads) {
  const std::size_t K = stride_, Y = labels_, Q = states_;
  if (transposed_.offsets.empty()) {
    transposed_ = transpose(matrix_, tests_);
    links_back_ = transpose(links_, matrix_.size() - values_);
  }
  parallel_blocks(links_back_.size(), kTestBlock, threads, [&](std::size_t begin, std::size_t end) {
    base::with_packs([=, this]<class P>() TEXTMILL_INLINED {
      const std::int64_t last = links_back_.offsets[end] - 1;
      for (std::size_t v = begin; v < end; ++v)
        sum_rows<P>(links_back_, links_back_.offsets[v], links_back_.offsets[v + 1], last, rows_.data(), K, K,
                    rows_.data() + (values_ + v) * K);
    });
  });
  parallel_blocks(tests_, kTestBlock, threads, [&](std::size_t begin, std::size_t end) {
    double* const out = gradient.data();
    base::with_packs([=, this]<class P>() TEXTMILL_INLINED {
      std::vector<double> total(K);
      const std::int64_t last = transposed_.offsets[end] - 1;
      for (std::size_t i = begin; i < end; ++i) {
        sum_rows<P>(transposed_, transposed_.offsets[i], transposed_.offsets[i + 1], last, rows_.data(), K, K,
                    total.data());
        for (std::size_t y = 0; y < Y; ++y) out[i * Y + y] += total[y];
      }
    });
  });
  if (history_tests_ > 0) {
    std::vector<double> pairs(contexts_.size() * Q * K, 0.0);
    parallel_blocks(contexts_.size(), 16, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        double* sums = pairs.data() + c * Q * K;
        for (auto e = context_tokens_.offsets[c]; e < context_tokens_.offsets[c + 1]; ++e) {
          const double* before = before_.data() + static_cast<std::size_t>(context_tokens_.items[e]) * 3 * K;
          for (std::size_t q = 0; q < Q; ++q) {
            sums[q * K] += before[2 * K + q];
            for (std::size_t y = 1; y < Y; ++y) sums[q * K + y] += before[q] * before[K + y];
          }
        }
        const double* power = powers_.data() + c * Q * K;
        for (std::size_t i = 0; i < Q * K; ++i)
          if (sums[i] != 0.0) sums[i] *= power[i];
      }
    });
    for (std::size_t s = 0; s < sentences(); ++s) {
      for (std::size_t i = 0; i < wide_[s].size(); ++i) {
        const auto token = static_cast<std::size_t>(offsets_[s]) + i / (Q * K);
        pairs[static_cast<std::size_t>(contexts_.of[token]) * Q * K + i % (Q * K)] += wide_[s][i];
      }
    }
    parallel_blocks(history_tests_, 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t h = begin; h < end; ++h) {
        double* out = gradient.data() + (tests_ + h * Q) * Y;
        for (auto e = context_of_test_.offsets[h]; e < context_of_test_.offsets[h + 1]; ++e) {
          const double* sums = pairs.data() + static_cast<std::size_t>(context_of_test_.items[e]) * Q * K;
          const double value = context_of_test_.value(e);
          for (std::size_t q = 0; q < Q; ++q)
            for (std::size_t y = 0; y < Y; ++y) out[q * Y + y] += value * sums[q * K + y];
        }
      }
    });
  }
  parallel_blocks(observed_.size(), 1 << 16, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) gradient[i] -= observed_[i];
  });
}

double SegmentProblem::evaluate(std::span<const double> theta, std::span<double> gradient, bool packed,
                                std::size_t threads) {
  fill_scores(theta, threads);
  double value = expectations(packed, threads);
  for (std::size_t i = 0; i < observed_.size(); ++i)
    if (observed_[i] != 0.0) value -= theta[i] * observed_[i];
  if (!gradient.empty()) add_gradient(gradient, threads);
  return value;
}

void SegmentProblem::marginals(std::span<const double> theta, std::span<double> probabilities, std::size_t threads) {
  fill_scores(theta, threads);
  expectations(false, threads);
  for (std::size_t r = 0; r < tokens() + lengths_.size(); ++r)
    std::copy_n(row(own_ + r), labels_, probabilities.data() + r * labels_);
}

void SegmentProblem::scores(std::span<const double> theta, std::span<double> segments, std::span<double> histories,
                            std::size_t threads) {
  fill_scores(theta, threads);
  const std::size_t T = tokens();
  parallel_blocks(sentences(), kSentences, threads, [&](std::size_t begin, std::size_t end) {
    Scratch scratch;
    for (std::size_t s = begin; s < end; ++s) {
      const std::int64_t first = offsets_[s], n = offsets_[s + 1] - first;
      scratch.resize(static_cast<std::size_t>(n),
                     static_cast<std::size_t>(n + candidates_[first + n] - candidates_[first]), stride_, states_,
                     false);
      segment_scores(s, scratch);
      const double* w = scratch.weights.data();
      for (std::int64_t i = 0; i < n; ++i) {
        const auto t = static_cast<std::size_t>(first + i);
        const double* tr = histories_.data() + static_cast<std::size_t>(contexts_.of[t]) * states_ * stride_;
        for (std::size_t q = 0; q < states_; ++q)
          std::copy_n(tr + q * stride_, labels_, histories.data() + (t * states_ + q) * labels_);
        for (std::int64_t k = candidates_[t] - 1; k < candidates_[t + 1]; ++k, w += stride_) {
          const bool alone = k < candidates_[t];
          const std::int64_t length = alone ? 1 : lengths_[k];
          double* out = segments.data() + (alone ? t : T + static_cast<std::size_t>(k)) * labels_;
          const double plain =
              scratch.plain[static_cast<std::size_t>(i + length)] - scratch.plain[static_cast<std::size_t>(i)];
          out[0] = alone ? plain - tr[0] : -kInfinity;
          for (std::size_t y = 1; y < labels_; ++y) out[y] = alone && !single_[t] ? -kInfinity : w[y] + plain;
        }
      }
    }
  });
}

namespace {

struct Step {  // a way to reach a state at a position
  double score;
  std::int32_t length, label, state, rank;  // of the segment, and of what it follows
};

// Keeps the k best, best first; of equals those that came first.
void offer(std::vector<Step>& steps, const Step& step, std::size_t k) {
  if (steps.size() == k && !(step.score > steps.back().score)) return;
  auto at = steps.end();
  while (at != steps.begin() && step.score > (at - 1)->score) --at;
  steps.insert(at, step);
  if (steps.size() > k) steps.pop_back();
}

}  // namespace

std::vector<std::vector<Hypothesis>> SegmentProblem::best(std::span<const double> theta, std::size_t k,
                                                          std::size_t threads) {
  fill_scores(theta, threads);
  std::vector<std::vector<Hypothesis>> answers(sentences());
  parallel_blocks(sentences(), kSentences, threads, [&](std::size_t begin, std::size_t end) {
    Scratch scratch;
    std::vector<std::vector<Step>> states;
    std::vector<Step> links;
    for (std::size_t s = begin; s < end; ++s) {
      const std::int64_t first = offsets_[s], n = offsets_[s + 1] - first;
      const std::size_t K = stride_, Q = states_, Y = labels_;
      if (n == 0) {
        answers[s].push_back({0.0, {}});
        continue;
      }
      scratch.resize(static_cast<std::size_t>(n),
                     static_cast<std::size_t>(n + candidates_[first + n] - candidates_[first]), K, Q, false);
      segment_scores(s, scratch);
      states.resize(static_cast<std::size_t>(n + 1) * Q);
      for (std::vector<Step>& steps : states) steps.clear();
      states[0].push_back({0.0, 0, 0, 0, 0});
      const double* w = scratch.weights.data();
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t t = first + i, cut = candidates_[t], stop = candidates_[t + 1];
        const double* tr = histories_.data() + static_cast<std::size_t>(contexts_.of[t]) * Q * K;
        const auto at = static_cast<std::size_t>(i) * Q;
        for (std::size_t q = 0; q < Q; ++q) {
          std::vector<Step>& to = states[at + Q + static_cast<std::size_t>(after(static_cast<std::int32_t>(q)))];
          const std::vector<Step>& from = states[at + q];
          for (std::size_t r = 0; r < from.size(); ++r)
            offer(to,
                  {from[r].score + tr[q * K] - tr[0], 1, 0, static_cast<std::int32_t>(q), static_cast<std::int32_t>(r)},
                  k);
        }
        for (std::size_t y = 1; y < Y; ++y) {
          links.clear();
          if (stop > cut || single_[t])
            for (std::size_t q = 0; q < Q; ++q)
              for (std::size_t r = 0; r < states[at + q].size(); ++r)
                offer(links,
                      {states[at + q][r].score + tr[q * K + y], 0, static_cast<std::int32_t>(y),
                       static_cast<std::int32_t>(q), static_cast<std::int32_t>(r)},
                      k);
          for (std::int64_t c = single_[t] ? cut - 1 : cut; c < stop; ++c) {
            const std::int32_t length = c < cut ? 1 : lengths_[c];
            const double score = w[static_cast<std::size_t>(c - cut + 1) * K + y];
            std::vector<Step>& to = states[at + static_cast<std::size_t>(length) * Q +
                                           static_cast<std::size_t>(state_of(static_cast<std::int32_t>(y)))];
            for (const Step& link : links) {
              if (to.size() == k && !(link.score + score > to.back().score)) break;
              offer(to, {link.score + score, length, link.label, link.state, link.rank}, k);
            }
          }
        }
        w += static_cast<std::size_t>(1 + stop - cut) * K;
      }
      std::vector<Step> ends;
      for (std::size_t q = 0; q < Q; ++q)
        for (std::size_t r = 0; r < states[static_cast<std::size_t>(n) * Q + q].size(); ++r)
          offer(ends,
                {states[static_cast<std::size_t>(n) * Q + q][r].score, 0, 0, static_cast<std::int32_t>(q),
                 static_cast<std::int32_t>(r)},
                k);
      for (const Step& ending : ends) {
        Hypothesis answer{ending.score + scratch.plain[static_cast<std::size_t>(n)], {}};
        std::int32_t q = ending.state, rank = ending.rank;
        for (std::int64_t u = n; u > 0;) {
          const Step& step =
              states[static_cast<std::size_t>(u) * Q + static_cast<std::size_t>(q)][static_cast<std::size_t>(rank)];
          u -= step.length;
          if (step.label != 0)
            answer.segments.insert(answer.segments.begin(), {static_cast<std::int32_t>(u), step.length, step.label});
          q = step.state, rank = step.rank;
        }
        answers[s].push_back(std::move(answer));
      }
    }
  });
  return answers;
}

void best_disjoint(std::span<const std::int64_t> offsets, std::span<const std::int64_t> candidates,
                   std::span<const std::int32_t> lengths, std::span<const double> gains,
                   std::span<std::uint8_t> chosen) {
  const auto T = static_cast<std::size_t>(offsets.back());
  std::fill(chosen.begin(), chosen.end(), 0);
  std::vector<double> best;         // [position] greatest sum of gains from here to the end
  std::vector<std::int64_t> take;   // [position] row that is chosen to begin here, -1 for none
  std::vector<std::int64_t> moves;  // tokens to the next position
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t first = offsets[s], n = offsets[s + 1] - first;
    best.assign(static_cast<std::size_t>(n + 1), 0.0);
    take.assign(static_cast<std::size_t>(n + 1), -1);
    moves.assign(static_cast<std::size_t>(n + 1), 1);
    for (std::int64_t i = n - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t t = first + i;
      best[at] = best[at + 1];
      const auto offer_row = [&](std::size_t r, std::int64_t length) {
        const double sum = gains[r] + best[static_cast<std::size_t>(i + length)];
        if (sum > best[at]) best[at] = sum, take[at] = static_cast<std::int64_t>(r), moves[at] = length;
      };
      offer_row(static_cast<std::size_t>(t), 1);
      for (auto k = candidates[t]; k < candidates[t + 1]; ++k) offer_row(T + static_cast<std::size_t>(k), lengths[k]);
    }
    for (std::int64_t i = 0; i < n; i += moves[static_cast<std::size_t>(i)])
      if (take[static_cast<std::size_t>(i)] >= 0)
        chosen[static_cast<std::size_t>(take[static_cast<std::size_t>(i)])] = 1;
  }
}

}  // namespace textmill::sequence
