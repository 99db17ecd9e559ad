#include "sequence/segments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/rows.h"
#include "sequence/segment_scratch.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kManyTests = 2;  // entries for each test from which weights are padded for speed
constexpr std::size_t kRowBlock = 512, kTestBlock = 256;

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

}  // namespace

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

}  // namespace textmill::sequence
