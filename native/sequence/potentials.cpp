#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "base/parallel.h"
#include "sequence/problem.h"
#include "sequence/rows.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;
using base::with_packs;

constexpr double kStrongest = 30.0, kWeakest = -6.0;  // corrections that keep 12 digits

}  // namespace

void Problem::State::exponentiate_unigrams(const Weights& w, std::size_t threads) {
  const std::size_t contexts = unigram.size();
  exp_mu.resize(contexts * stride);
  mu_shift.resize(contexts);
  std::vector<double> range((contexts + 63) / 64, 0.0);
  const Contexts* all = &unigram;
  parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
    if (w.support == nullptr) {
      const double* theta = w.theta.data();
      double* out = exp_mu.data();
      const std::size_t Y = labels, step = stride;
      with_packs([=]<class P>() TEXTMILL_INLINED {
        const Lists& tests = all->tests;
        for (std::size_t c = begin; c < end; ++c) {
          sum_rows<P>(tests, tests.offsets[c], tests.offsets[c + 1], tests.offsets[end] - 1, theta, Y, Y,
                      out + c * step);
        }
      });
    }
    for (std::size_t c = begin; c < end; ++c) {
      double* row = &exp_mu[c * stride];
      if (w.support != nullptr) {
        std::fill_n(row, stride, 0.0);
        for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) {
          add_unigram(layout, w, unigram.tests.items[e], unigram.tests.value(e), row);
        }
      } else {
        std::fill(row + labels, row + stride, 0.0);
      }
      const Extent extent = exponentiate(row, 1, labels, stride, &mu_shift[c], true);
      range[begin / 64] = std::max(range[begin / 64], extent.most - extent.least);
      if (!(extent.most - extent.least <= kRange)) range[begin / 64] = std::numeric_limits<double>::infinity();
      if (!unigram.tag.empty() && unigram.tag[c] >= 0) {  // one label is allowed
        for (std::size_t y = 0; y < labels; ++y) {
          if (y != static_cast<std::size_t>(unigram.tag[c])) row[y] = 0.0;
        }
      }
    }
  });
  widest = range.empty() ? 0.0 : *std::max_element(range.begin(), range.end());
}

void Problem::State::fill_matrices(const Weights& w, std::size_t threads) {
  const std::size_t contexts = bigram.size(), cells = labels * stride;
  matrix.resize(contexts);
  shift.assign(contexts, 0.0);
  corrected.assign(contexts, 0);
  const auto add_tests = [&](std::size_t c, double* out, bool all) {
    for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
      if (all || grouping.frequent[bigram.tests.items[e]]) {
        add_bigram(layout, w, bigram.tests.items[e], bigram.tests.value(e), out);
      }
    }
  };
  std::vector<double> range(contexts, 0.0);
  if (w.support == nullptr) {
    matrices.resize(contexts * cells);
    parallel_for(contexts, threads, [&](std::size_t c) {
      double* out = &matrices[c * cells];
      std::fill_n(out, cells, 0.0);
      add_tests(c, out, true);
      const Extent extent = exponentiate(out, labels, labels, stride, &shift[c], false);
      range[c] = extent.most - extent.least;
      matrix[c] = out;
    });
  } else {
    const std::size_t groups = grouping.first.size();
    std::vector<std::int32_t> own(contexts, -1);
    std::vector<double> group_range(groups), group_shift(groups), high(contexts, 0.0), low(contexts, 0.0);
    parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        double* logs = correction_log.data() + correction_offsets[c];
        const auto count = static_cast<std::size_t>(correction_offsets[c + 1] - correction_offsets[c]);
        std::fill_n(logs, count, 0.0);
        for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
          const std::int32_t b = bigram.tests.items[e];
          if (grouping.frequent[b]) continue;
          const auto first = bigram_of.items.begin() + bigram_of.offsets[b],
                     last = bigram_of.items.begin() + bigram_of.offsets[b + 1];
          // a test that is there twice has two entries; the cells of both are the same
          const auto at = std::lower_bound(first, last, static_cast<std::int32_t>(c)) - bigram_of.items.begin();
          const double value = bigram.tests.value(e);
          std::int64_t entry = entry_offsets[at];
          for (auto slot = w.support->bigram_offsets[b]; slot < w.support->bigram_offsets[b + 1]; ++slot) {
            logs[entry_of[entry++]] += value * w.theta[slot];
          }
        }
        for (std::size_t i = 0; i < count; ++i) {
          high[c] = std::max(high[c], logs[i]);
          low[c] = std::min(low[c], logs[i]);
        }
        corrected[c] = 6 * count <= labels * labels && high[c] <= kStrongest && low[c] >= kWeakest;
      }
    });
    std::size_t dense = 0;
    for (std::size_t c = 0; c < contexts; ++c) {
      if (!corrected[c]) own[c] = static_cast<std::int32_t>(groups + dense++);
    }
    if (matrices.capacity() > 4 * (groups + dense) * cells) std::vector<double>().swap(matrices);  // of dense weights
    matrices.resize((groups + dense) * cells);
    parallel_for(groups, threads, [&](std::size_t g) {
      double* out = &matrices[g * cells];
      std::fill_n(out, cells, 0.0);
      add_tests(grouping.first[g], out, false);
      const Extent extent = exponentiate(out, labels, labels, stride, &group_shift[g], false);
      group_range[g] = extent.most - extent.least;
    });
    parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        const std::int32_t g = grouping.group[c];
        range[c] = group_range[g] + high[c] - low[c];
        if (!corrected[c]) {
          double* out = &matrices[own[c] * cells];
          matrix[c] = out;
          std::fill_n(out, cells, 0.0);
          add_tests(c, out, true);
          const Extent extent = exponentiate(out, labels, labels, stride, &shift[c], false);
          range[c] = extent.most - extent.least;
          continue;
        }
        matrix[c] = &matrices[g * cells];
        shift[c] = group_shift[g];
        const auto from = correction_offsets[c], to = correction_offsets[c + 1];
        const std::span<double> factor(correction.data() + from, static_cast<std::size_t>(to - from));
        base::exp(std::span<const double>(correction_log.data() + from, factor.size()), factor);
        for (std::size_t i = 0; i < factor.size(); ++i)
          factor[i] = matrix[c][correction_cell[from + i]] * (factor[i] - 1.0);
      }
    });
  }
  double most = 0.0;
  for (const double r : range) most = r <= kRange ? std::max(most, r) : std::numeric_limits<double>::infinity();
  widest += most;
}

bool Problem::State::potentials(const Weights& w, std::size_t threads) {
  prepare(w);
  exponentiate_unigrams(w, threads);
  if (!local()) fill_matrices(w, threads);
  return widest <= kRange;
}

}  // namespace textmill::sequence
