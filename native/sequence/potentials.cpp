#include "sequence/potentials.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "base/parallel.h"
#include "sequence/rows.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;
using base::with_packs;

constexpr double kStrongest = 30.0, kWeakest = -6.0;  // corrections that keep 12 digits

// What depends on the support but not on its weights: cells that are corrected in each context.
void find_corrections(const Plan& plan, const Sharing& sharing, const Weights& w, Corrections& corrections) {
  const std::uint64_t number = w.support == nullptr ? 0 : w.support->number;
  if (number == corrections.support) return;
  corrections.support = number;
  corrections.offsets.assign(1, 0);
  corrections.cell.clear();
  corrections.entry.clear();
  corrections.entry_offsets.clear();
  if (w.support == nullptr) return;
  const Support& support = *w.support;
  if (plan.local()) return;
  std::vector<std::int64_t> next(plan.layout.bigrams,
                                 0);  // entries of sharing.bigram_of already met: contexts come in order
  corrections.entry_offsets.assign(sharing.bigram_of.items.size(), 0);
  std::vector<std::int32_t> mark(plan.cells(), -1);
  for (std::size_t c = 0; c < plan.bigram.size(); ++c) {
    const std::size_t begin = corrections.cell.size();
    for (auto e = plan.bigram.tests.offsets[c]; e < plan.bigram.tests.offsets[c + 1]; ++e) {
      const std::int32_t b = plan.bigram.tests.items[e];
      const std::int64_t at = sharing.bigram_of.offsets[b] + next[b]++;
      if (sharing.grouping.frequent[b]) continue;
      corrections.entry_offsets[at] = static_cast<std::int64_t>(corrections.entry.size());
      for (auto slot = support.bigram_offsets[b]; slot < support.bigram_offsets[b + 1]; ++slot) {
        const std::int32_t cell = support.cell[slot];
        if (mark[cell] < 0) {
          mark[cell] = static_cast<std::int32_t>(corrections.cell.size() - begin);
          corrections.cell.push_back(cell);
        }
        corrections.entry.push_back(mark[cell]);
      }
    }
    for (std::size_t i = begin; i < corrections.cell.size(); ++i) mark[corrections.cell[i]] = -1;
    corrections.offsets.push_back(static_cast<std::int64_t>(corrections.cell.size()));
  }
  corrections.log.resize(corrections.cell.size());
  corrections.value.resize(corrections.cell.size());
}

void exponentiate_unigrams(const Plan& plan, const Weights& w, Potentials& potentials, std::size_t threads) {
  const std::size_t contexts = plan.unigram.size();
  potentials.exp_mu.resize(contexts * plan.stride);
  potentials.mu_shift.resize(contexts);
  std::vector<double> range((contexts + 63) / 64, 0.0);
  const Contexts* all = &plan.unigram;
  parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
    if (w.support == nullptr) {
      const double* theta = w.theta.data();
      double* out = potentials.exp_mu.data();
      const std::size_t Y = plan.labels, step = plan.stride;
      with_packs([=]<class P>() TEXTMILL_INLINED {
        const Lists& tests = all->tests;
        for (std::size_t c = begin; c < end; ++c) {
          sum_rows<P>(tests, tests.offsets[c], tests.offsets[c + 1], tests.offsets[end] - 1, theta, Y, Y,
                      out + c * step);
        }
      });
    }
    for (std::size_t c = begin; c < end; ++c) {
      double* row = &potentials.exp_mu[c * plan.stride];
      if (w.support != nullptr) {
        std::fill_n(row, plan.stride, 0.0);
        for (auto e = plan.unigram.tests.offsets[c]; e < plan.unigram.tests.offsets[c + 1]; ++e) {
          add_unigram(plan.layout, w, plan.unigram.tests.items[e], plan.unigram.tests.value(e), row);
        }
      } else {
        std::fill(row + plan.labels, row + plan.stride, 0.0);
      }
      const Extent extent = exponentiate(row, 1, plan.labels, plan.stride, &potentials.mu_shift[c], true);
      range[begin / 64] = std::max(range[begin / 64], extent.most - extent.least);
      if (!(extent.most - extent.least <= kRange)) range[begin / 64] = std::numeric_limits<double>::infinity();
      if (!plan.unigram.tag.empty() && plan.unigram.tag[c] >= 0) {  // one label, or the states of one, are allowed
        for (std::size_t y = 0; y < plan.labels; ++y) {
          if (!plan.allows(plan.unigram.tag[c], y)) row[y] = 0.0;
        }
      }
    }
  });
  potentials.widest = range.empty() ? 0.0 : *std::max_element(range.begin(), range.end());
}

void fill_matrices(const Plan& plan, const Sharing& sharing, const Weights& w, Potentials& potentials,
                   std::size_t threads) {
  Corrections& corrections = potentials.corrections;
  const std::size_t contexts = plan.bigram.size(), cells = plan.cells();
  potentials.matrix.resize(contexts);
  potentials.shift.assign(contexts, 0.0);
  potentials.corrected.assign(contexts, 0);
  const auto add_tests = [&](std::size_t c, double* out, bool all) {
    for (auto e = plan.bigram.tests.offsets[c]; e < plan.bigram.tests.offsets[c + 1]; ++e) {
      if (all || sharing.grouping.frequent[plan.bigram.tests.items[e]]) {
        add_bigram(plan.layout, w, plan.bigram.tests.items[e], plan.bigram.tests.value(e), out);
      }
    }
  };
  std::vector<double> range(contexts, 0.0);
  if (w.support == nullptr) {
    potentials.matrices.resize(contexts * cells);
    parallel_for(contexts, threads, [&](std::size_t c) {
      double* out = &potentials.matrices[c * cells];
      std::fill_n(out, cells, 0.0);
      add_tests(c, out, true);
      const Extent extent = exponentiate(out, plan.labels, plan.labels, plan.stride, &potentials.shift[c], false);
      range[c] = extent.most - extent.least;
      potentials.matrix[c] = out;
    });
  } else {
    const std::size_t groups = sharing.grouping.first.size();
    std::vector<std::int32_t> own(contexts, -1);
    std::vector<double> group_range(groups), group_shift(groups), high(contexts, 0.0), low(contexts, 0.0);
    parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        double* logs = corrections.log.data() + corrections.offsets[c];
        const auto count = static_cast<std::size_t>(corrections.offsets[c + 1] - corrections.offsets[c]);
        std::fill_n(logs, count, 0.0);
        for (auto e = plan.bigram.tests.offsets[c]; e < plan.bigram.tests.offsets[c + 1]; ++e) {
          const std::int32_t b = plan.bigram.tests.items[e];
          if (sharing.grouping.frequent[b]) continue;
          const auto first = sharing.bigram_of.items.begin() + sharing.bigram_of.offsets[b],
                     last = sharing.bigram_of.items.begin() + sharing.bigram_of.offsets[b + 1];
          // a test that is there twice has two entries; the cells of both are the same
          const auto at = std::lower_bound(first, last, static_cast<std::int32_t>(c)) - sharing.bigram_of.items.begin();
          const double value = plan.bigram.tests.value(e);
          std::int64_t entry = corrections.entry_offsets[at];
          for (auto slot = w.support->bigram_offsets[b]; slot < w.support->bigram_offsets[b + 1]; ++slot) {
            logs[corrections.entry[entry++]] += value * w.theta[slot];
          }
        }
        for (std::size_t i = 0; i < count; ++i) {
          high[c] = std::max(high[c], logs[i]);
          low[c] = std::min(low[c], logs[i]);
        }
        potentials.corrected[c] = 6 * count <= plan.labels * plan.labels && high[c] <= kStrongest && low[c] >= kWeakest;
      }
    });
    std::size_t dense = 0;
    for (std::size_t c = 0; c < contexts; ++c) {
      if (!potentials.corrected[c]) own[c] = static_cast<std::int32_t>(groups + dense++);
    }
    if (potentials.matrices.capacity() > 4 * (groups + dense) * cells)
      std::vector<double>().swap(potentials.matrices);  // of dense plan.weights
    potentials.matrices.resize((groups + dense) * cells);
    parallel_for(groups, threads, [&](std::size_t g) {
      double* out = &potentials.matrices[g * cells];
      std::fill_n(out, cells, 0.0);
      add_tests(sharing.grouping.first[g], out, false);
      const Extent extent = exponentiate(out, plan.labels, plan.labels, plan.stride, &group_shift[g], false);
      group_range[g] = extent.most - extent.least;
    });
    parallel_blocks(contexts, 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        const std::int32_t g = sharing.grouping.group[c];
        range[c] = group_range[g] + high[c] - low[c];
        if (!potentials.corrected[c]) {
          double* out = &potentials.matrices[own[c] * cells];
          potentials.matrix[c] = out;
          std::fill_n(out, cells, 0.0);
          add_tests(c, out, true);
          const Extent extent = exponentiate(out, plan.labels, plan.labels, plan.stride, &potentials.shift[c], false);
          range[c] = extent.most - extent.least;
          continue;
        }
        potentials.matrix[c] = &potentials.matrices[g * cells];
        potentials.shift[c] = group_shift[g];
        const auto from = corrections.offsets[c], to = corrections.offsets[c + 1];
        const std::span<double> factor(corrections.value.data() + from, static_cast<std::size_t>(to - from));
        base::exp(std::span<const double>(corrections.log.data() + from, factor.size()), factor);
        for (std::size_t i = 0; i < factor.size(); ++i)
          factor[i] = potentials.matrix[c][corrections.cell[from + i]] * (factor[i] - 1.0);
      }
    });
  }
  double most = 0.0;
  for (const double r : range) most = r <= kRange ? std::max(most, r) : std::numeric_limits<double>::infinity();
  potentials.widest += most;
}

}  // namespace

bool compute_potentials(const Plan& plan, const Sharing& sharing, const Weights& w, Potentials& potentials,
                        std::size_t threads) {
  find_corrections(plan, sharing, w, potentials.corrections);
  exponentiate_unigrams(plan, w, potentials, threads);
  if (!plan.local()) fill_matrices(plan, sharing, w, potentials, threads);
  return potentials.widest <= kRange;
}

}  // namespace textmill::sequence
