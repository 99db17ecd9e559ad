#include "sequence/gradient.h"

#include <algorithm>
#include <cmath>

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

void expect_chains(const Plan& plan, const Sharing& sharing, const Messages& messages, Expectations& expectations,
                   std::size_t threads) {
  const std::size_t contexts = plan.unigram.size(), stride = plan.stride;
  expectations.expected.resize(contexts * stride);
  expectations.inverse.resize(plan.tokens());
  const Plan* const sequences = &plan;
  const Sharing* const common = &sharing;
  const double *alphas = messages.alpha.data(), *betas = messages.beta.data();
  double *expected = expectations.expected.data(), *inverse = expectations.inverse.data();
  parallel_blocks(contexts, 64, threads, [=](std::size_t begin, std::size_t end) {
    with_packs([=]<class P>() TEXTMILL_INLINED {
      const Lists& tokens_of = common->tokens_of;
      for (std::size_t c = begin; c < end; ++c) {
        double* out = expected + c * stride;
        for (std::size_t y = 0; y < stride; y += P::width) P(0.0).store(out + y);
        for (auto e = tokens_of.offsets[c]; e < tokens_of.offsets[c + 1]; ++e) {
          const std::int32_t t = tokens_of.items[e], end_node = common->ends.of[t];
          const double* a = alphas + common->beginnings.of[t] * stride;
          const double* b = end_node < 0 ? nullptr : betas + end_node * stride;
          P total = P(0.0);
          for (std::size_t y = 0; y < stride; y += P::width) {
            total = b == nullptr ? total + P::load(a + y) : multiply_add(P::load(a + y), P::load(b + y), total);
          }
          const double share = sequences->weight_of(t) / sum(total);
          inverse[t] = share;
          const P by = P(share);
          for (std::size_t y = 0; y < stride; y += P::width) {
            const P both = b == nullptr ? P::load(a + y) : P::load(a + y) * P::load(b + y);
            multiply_add(both, by, P::load(out + y)).store(out + y);
          }
        }
      }
    });
  });
}

void expect_tokens(const Plan& plan, const Sharing& sharing, const Potentials& potentials, Expectations& expectations,
                   std::size_t threads) {
  const std::size_t contexts = plan.unigram.size(), stride = plan.stride;
  expectations.expected.resize(contexts * stride);
  expectations.log_mass.resize(contexts);
  const Plan* const sequences = &plan;
  const Lists* const tokens_of = &sharing.tokens_of;
  const double *exp_mu = potentials.exp_mu.data(), *mu_shift = potentials.mu_shift.data();
  double *expected = expectations.expected.data(), *log_mass = expectations.log_mass.data();
  parallel_blocks(contexts, 64, threads, [=](std::size_t begin, std::size_t end) {
    with_packs([=]<class P>() TEXTMILL_INLINED {
      for (std::size_t c = begin; c < end; ++c) {
        double* out = expected + c * stride;
        const double* mu = exp_mu + c * stride;
        double weight = 0.0;
        for (auto e = tokens_of->offsets[c]; e < tokens_of->offsets[c + 1]; ++e)
          weight += sequences->weight_of(tokens_of->items[e]);
        P total = P(0.0);
        for (std::size_t y = 0; y < stride; y += P::width) total = total + P::load(mu + y);
        const double mass = sum(total);
        for (std::size_t y = 0; y < stride; y += P::width) (P(weight / mass) * P::load(mu + y)).store(out + y);
        log_mass[c] = std::log(mass) + mu_shift[c];
      }
    });
  });
}

void add_unigram_gradient(const Plan& plan, const Sharing& sharing, const Expectations& expectations, const Weights& w,
                          double* gradient, std::size_t threads) {
  const std::size_t Y = plan.labels, stride = plan.stride;
  const Lists* const lists = &sharing.unigram_of;
  const double* const expected = expectations.expected.data();
  const Support* support = w.support;
  parallel_blocks(plan.layout.unigrams, 64, threads, [=](std::size_t begin, std::size_t end) {
    std::vector<double> space(stride);
    double* const row = space.data();
    with_packs([=]<class P>() TEXTMILL_INLINED {
      const Lists& of = *lists;
      const auto last = of.offsets[end] - 1;
      for (std::size_t u = begin; u < end; ++u) {
        if (support != nullptr && support->unigram_offsets[u] == support->unigram_offsets[u + 1]) continue;
        sum_rows<P>(of, of.offsets[u], of.offsets[u + 1], last, expected, stride, stride, row);
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

void sum_pairs(const PairTerms& terms, const Task& task, const Lists& contexts_of, double* sum,
               std::vector<double>& scratch) {
  const std::size_t Y = terms.plan.labels, stride = terms.plan.stride, cells = terms.plan.cells();
  scratch.resize(cells + kBlock * stride);
  const PairTerms* const of = &terms;
  const Lists* lists = &contexts_of;
  double* const product = scratch.data();
  double* const v = product + cells;
  std::fill_n(sum, cells, 0.0);
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const Lists& positions = of->sharing.positions;
    const Trie &beginnings = of->sharing.beginnings, &ends = of->sharing.ends;
    const Potentials& potentials = of->potentials;
    const Corrections& corrections = potentials.corrections;
    const double *alphas = of->messages.alpha.data(), *betas = of->messages.beta.data();
    const double *exp_mu = potentials.exp_mu.data(), *inverse = of->expectations.inverse.data();
    std::int64_t left = task.count, entry = task.entry, skip = task.skip;
    for (; left > 0; ++entry, skip = 0) {
      const std::int32_t c = lists->items[entry];
      const std::int64_t begin = positions.offsets[c] + skip;
      const std::int64_t end = std::min(positions.offsets[c + 1], begin + left);
      left -= end - begin;
      for (std::int64_t block = begin; block < end; block += kBlock) {
        const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(kBlock, end - block));
        const double* a[kBlock];
        for (std::size_t i = 0; i < rows; ++i) {
          const std::int32_t t = positions.items[block + i], node = ends.of[t];
          a[i] = alphas + beginnings.of[t - 1] * stride;
          const double* mu = exp_mu + of->plan.unigram.of[t] * stride;
          const double* b = node < 0 ? nullptr : betas + node * stride;
          const P by = P(inverse[t] / of->messages.scale[beginnings.of[t]]);
          for (std::size_t y = 0; y < stride; y += P::width) {
            const P value = P::load(mu + y) * by;
            (b == nullptr ? value : value * P::load(b + y)).store(v + i * stride + y);
          }
        }
        add_products<P>(a, v, rows, Y, stride, product, block == begin);
      }
      if (begin == end) continue;
      const double value = lists->value(entry);
      if (potentials.corrected[c]) {
        for (auto e = corrections.offsets[c]; e < corrections.offsets[c + 1]; ++e) {
          sum[corrections.cell[e]] += value * corrections.value[e] * product[corrections.cell[e]];
        }
      }
      const double* matrix = potentials.matrix[c];
      for (std::size_t i = 0; i < cells; i += P::width) {
        multiply_add(P(value) * P::load(matrix + i), P::load(product + i), P::load(sum + i)).store(sum + i);
      }
    }
  });
}

void add_dense_gradient(const PairTerms& terms, double* gradient, std::size_t threads) {
  const Sharing& sharing = terms.sharing;
  const Lists& bigram_of = sharing.bigram_of;
  const std::size_t labels = terms.plan.labels, stride = terms.plan.stride, cells = terms.plan.cells();
  double* const pairs = gradient + terms.plan.layout.unigrams * labels;
  if (!sharing.context_tasks.empty()) {  // every position once, however many tests it has
    std::vector<double> sums(terms.plan.bigram.size() * cells, 0.0);
    const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) {
      sum_pairs(terms, task, sharing.one_context, sum, scratch);
    };
    run_tasks(sharing.context_tasks, cells, threads, run,
              [&](std::int32_t c, const double* sum) { std::copy_n(sum, cells, &sums[c * cells]); });
    parallel_for(terms.plan.layout.bigrams, threads, [&](std::size_t b) {
      double* out = pairs + b * labels * labels;
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
    sum_pairs(terms, task, bigram_of, sum, scratch);
  };
  run_tasks(sharing.test_tasks, cells, threads, run, [&](std::int32_t b, const double* sum) {
    double* out = pairs + b * labels * labels;
    for (std::size_t y = 0; y < labels; ++y) {
      for (std::size_t to = 0; to < labels; ++to) out[y * labels + to] += sum[y * stride + to];
    }
  });
}

void add_supported_gradient(const PairTerms& terms, const Support& support, double* gradient, std::size_t threads) {
  const auto& [plan, sharing, potentials, messages, expectations] = terms;
  const std::size_t stride = plan.stride, cells = plan.cells(), groups = sharing.grouping.first.size();
  const Lists &tests = plan.bigram.tests, &bigram_of = sharing.bigram_of, &positions = sharing.positions;
  const Trie &beginnings = sharing.beginnings, &ends = sharing.ends;
  const std::vector<char>& frequent = sharing.grouping.frequent;
  const Corrections& corrections = potentials.corrections;
  // frequent tests: from the sums of whole groups
  std::vector<double> sums(groups * cells, 0.0);
  const auto run = [&](const Task& task, double* sum, std::vector<double>& scratch) {
    sum_pairs(terms, task, terms.sharing.contexts_of_group, sum, scratch);
  };
  run_tasks(sharing.group_tasks, cells, threads, run,
            [&](std::int32_t g, const double* sum) { std::copy_n(sum, cells, &sums[g * cells]); });
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t c = sharing.grouping.first[g];
    for (auto e = tests.offsets[c]; e < tests.offsets[c + 1]; ++e) {
      const std::int32_t b = tests.items[e];
      if (!frequent[b]) continue;
      const double value = tests.value(e);
      for (auto s = support.bigram_offsets[b]; s < support.bigram_offsets[b + 1]; ++s) {
        gradient[s] += value * sums[g * cells + support.cell[s]];
      }
    }
  }
  // the others: only the cells of the support
  parallel_blocks(plan.layout.bigrams, 16, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> dots;
    for (std::size_t b = begin; b < end; ++b) {
      const auto first = support.bigram_offsets[b];
      const auto slots = static_cast<std::size_t>(support.bigram_offsets[b + 1] - first);
      if (frequent[b] || slots == 0) continue;
      for (auto entry = bigram_of.offsets[b]; entry < bigram_of.offsets[b + 1]; ++entry) {
        const std::int32_t c = bigram_of.items[entry];
        dots.assign(slots, 0.0);
        for (auto p = positions.offsets[c]; p < positions.offsets[c + 1]; ++p) {
          const std::int32_t t = positions.items[p], node = ends.of[t];
          const double* a = &messages.alpha[beginnings.of[t - 1] * stride];
          const double* mu = &potentials.exp_mu[plan.unigram.of[t] * stride];
          const double* behind = node < 0 ? nullptr : &messages.beta[node * stride];
          const double by = expectations.inverse[t] / messages.scale[beginnings.of[t]];
          for (std::size_t i = 0; i < slots; ++i) {
            const std::size_t cell = support.cell[first + i], y = cell / stride, to = cell - y * stride;
            dots[i] += by * a[y] * mu[to] * (behind == nullptr ? 1.0 : behind[to]);
          }
        }
        const double value = bigram_of.value(entry);
        for (std::size_t i = 0; i < slots; ++i) {
          double psi = potentials.matrix[c][support.cell[first + i]];
          if (potentials.corrected[c])
            psi += corrections.value[corrections.offsets[c] + corrections.entry[corrections.entry_offsets[entry] + i]];
          gradient[first + i] += value * psi * dots[i];
        }
      }
    }
  });
}

}  // namespace textmill::sequence
