#include "sequence/gradient.h"

#include <algorithm>

#include "base/simd.h"
#include "sequence/kernels.h"
#include "sequence/rows.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;
using base::with_packs;

constexpr std::size_t kBlock = 32;  // positions whose vectors are multiplied together

}  // namespace

void Problem::State::add_unigram_gradient(const Weights& w, double* gradient, std::size_t threads) {
  const State* m = this;
  const Support* support = w.support;
  parallel_blocks(layout.unigrams, 64, threads, [=](std::size_t begin, std::size_t end) {
    std::vector<double> space(m->stride);
    double* const row = space.data();
    with_packs([=]<class P>() TEXTMILL_INLINED {
      const std::size_t Y = m->labels, stride = m->stride;
      const Lists& of = m->unigram_of;
      const auto last = of.offsets[end] - 1;
      for (std::size_t u = begin; u < end; ++u) {
        if (support != nullptr && support->unigram_offsets[u] == support->unigram_offsets[u + 1]) continue;
        sum_rows<P>(of, of.offsets[u], of.offsets[u + 1], last, m->expected.data(), stride, stride, row);
        if (support == nullptr) {
          for (std::size_t y = 0; y < Y; ++y) gradient[u * Y + y] += row[y];
        } else {
          for (auto s = support->unigram_offsets[u]; s < support->unigram_offsets[u + 1]; ++s)
            gradient[s] += row[support->cell[s]];
        }
      }
    });
  });
}

// sum [Y][stride] = sum over the positions of the task of value * psi .* (alpha v'); scratch is for this function.
void Problem::State::run_task(const Task& task, const Lists& contexts_of, double* sum,
                              std::vector<double>& scratch) const {
  const std::size_t cells = labels * stride;
  scratch.resize(cells + kBlock * stride);
  const State* m = this;
  const Lists* lists = &contexts_of;
  double* const product = scratch.data();
  double* const v = product + cells;
  std::fill_n(sum, cells, 0.0);
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t Y = m->labels, stride = m->stride;
    std::int64_t left = task.count, entry = task.entry, skip = task.skip;
    for (; left > 0; ++entry, skip = 0) {
      const std::int32_t c = lists->items[entry];
      const std::int64_t begin = m->positions.offsets[c] + skip;
      const std::int64_t end = std::min(m->positions.offsets[c + 1], begin + left);
      left -= end - begin;
      for (std::int64_t block = begin; block < end; block += kBlock) {
        const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(kBlock, end - block));
        const double* a[kBlock];
        for (std::size_t i = 0; i < rows; ++i) {
          const std::int32_t t = m->positions.items[block + i], node = m->ends.of[t];
          a[i] = m->alpha.data() + m->beginnings.of[t - 1] * stride;
          const double* mu = m->exp_mu.data() + m->unigram.of[t] * stride;
          const double* b = node < 0 ? nullptr : m->beta.data() + node * stride;
          const P by = P(m->inverse[t] / m->scale[m->beginnings.of[t]]);
          for (std::size_t y = 0; y < stride; y += P::width) {
            const P value = P::load(mu + y) * by;
            (b == nullptr ? value : value * P::load(b + y)).store(v + i * stride + y);
          }
        }
        add_products<P>(a, v, rows, Y, stride, product, block == begin);
      }
      if (begin == end) continue;
      const double value = lists->value(entry);
      if (m->corrected[c]) {
        for (auto e = m->correction_offsets[c]; e < m->correction_offsets[c + 1]; ++e) {
          sum[m->correction_cell[e]] += value * m->correction[e] * product[m->correction_cell[e]];
        }
      }
      const double* matrix = m->matrix[c];
      for (std::size_t i = 0; i < Y * stride; i += P::width) {
        multiply_add(P(value) * P::load(matrix + i), P::load(product + i), P::load(sum + i)).store(sum + i);
      }
    }
  });
}

void Problem::State::add_dense_gradient(double* gradient, std::size_t threads) {
  const std::size_t cells = labels * stride;
  if (!context_tasks.empty()) {  // every position once, however many tests it has
    std::vector<double> sums(bigram.size() * cells, 0.0);
    run_tasks(
        context_tasks, cells, threads,
        [&](const Task& task, double* sum, std::vector<double>& scratch) { run_task(task, one_context, sum, scratch); },
        [&](std::int32_t c, const double* sum) { std::copy_n(sum, cells, &sums[c * cells]); });
    parallel_for(layout.bigrams, threads, [&](std::size_t b) {
      double* out = gradient + layout.unigrams * labels + b * labels * labels;
      for (auto e = bigram_of.offsets[b]; e < bigram_of.offsets[b + 1]; ++e) {
        const double* sum = &sums[bigram_of.items[e] * cells];
        const double value = bigram_of.value(e);
        for (std::size_t y = 0; y < labels; ++y) {
          for (std::size_t to = 0; to < labels; ++to) out[y * labels + to] += value * sum[y * stride + to];
        }
      }
    });
    return;
  }
  const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) {
    run_task(task, bigram_of, sum, scratch);
  };
  run_tasks(test_tasks, cells, threads, run, [&](std::int32_t b, const double* sum) {
    double* out = gradient + layout.unigrams * labels + b * labels * labels;
    for (std::size_t y = 0; y < labels; ++y) {
      for (std::size_t to = 0; to < labels; ++to) out[y * labels + to] += sum[y * stride + to];
    }
  });
}

void Problem::State::add_supported_gradient(const Weights& w, double* gradient, std::size_t threads) {
  const Support& support = *w.support;
  const std::size_t cells = labels * stride, groups = grouping.first.size();
  // frequent tests: from the sums of whole groups
  std::vector<double> sums(groups * cells, 0.0);
  const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) {
    run_task(task, contexts_of_group, sum, scratch);
  };
  run_tasks(group_tasks, cells, threads, run,
            [&](std::int32_t g, const double* sum) { std::copy_n(sum, cells, &sums[g * cells]); });
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t c = grouping.first[g];
    for (auto e = bigram.tests.offsets[c]; e < bigram.tests.offsets[c + 1]; ++e) {
      const std::int32_t b = bigram.tests.items[e];
      if (!grouping.frequent[b]) continue;
      const double value = bigram.tests.value(e);
      for (auto s = support.bigram_offsets[b]; s < support.bigram_offsets[b + 1]; ++s) {
        gradient[s] += value * sums[g * cells + support.cell[s]];
      }
    }
  }
  // the others: only the cells of the support
  parallel_blocks(layout.bigrams, 16, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> dots;
    for (std::size_t b = begin; b < end; ++b) {
      const auto first = support.bigram_offsets[b];
      const auto slots = static_cast<std::size_t>(support.bigram_offsets[b + 1] - first);
      if (grouping.frequent[b] || slots == 0) continue;
      for (auto entry = bigram_of.offsets[b]; entry < bigram_of.offsets[b + 1]; ++entry) {
        const std::int32_t c = bigram_of.items[entry];
        dots.assign(slots, 0.0);
        for (auto p = positions.offsets[c]; p < positions.offsets[c + 1]; ++p) {
          const std::int32_t t = positions.items[p], node = ends.of[t];
          const double* a = &alpha[beginnings.of[t - 1] * stride];
          const double* mu = &exp_mu[unigram.of[t] * stride];
          const double* behind = node < 0 ? nullptr : &beta[node * stride];
          const double by = inverse[t] / scale[beginnings.of[t]];
          for (std::size_t i = 0; i < slots; ++i) {
            const std::size_t cell = support.cell[first + i], y = cell / stride, to = cell - y * stride;
            dots[i] += by * a[y] * mu[to] * (behind == nullptr ? 1.0 : behind[to]);
          }
        }
        const double value = bigram_of.value(entry);
        for (std::size_t i = 0; i < slots; ++i) {
          double psi = matrix[c][support.cell[first + i]];
          if (corrected[c]) psi += correction[correction_offsets[c] + entry_of[entry_offsets[entry] + i]];
          gradient[first + i] += value * psi * dots[i];
        }
      }
    }
  });
}

double Problem::State::observed_score(const Weights& w) const {
  double score = 0.0;
  if (w.support == nullptr) {
    for (std::size_t i = 0; i < observed.size(); ++i) score += observed_count[i] * w.theta[observed[i]];
  } else {
    for (std::size_t i = 0; i < observed_slot.size(); ++i) score += observed_slot_count[i] * w.theta[observed_slot[i]];
  }
  return score;
}

void Problem::State::subtract_observed(const Weights& w, double* gradient) const {
  if (w.support == nullptr) {
    for (std::size_t i = 0; i < observed.size(); ++i) gradient[observed[i]] -= observed_count[i];
  } else {
    for (std::size_t i = 0; i < observed_slot.size(); ++i) gradient[observed_slot[i]] -= observed_slot_count[i];
  }
}

}  // namespace textmill::sequence
