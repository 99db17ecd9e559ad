#include <cmath>

#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/kernels.h"
#include "sequence/problem.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;
using base::with_packs;

// Calls run(first, count) for stretches of up to 4 nodes of [begin, end) with one matrix.
template <class Run>
TEXTMILL_INLINED inline void by_fours(std::int32_t begin, std::int32_t end, const std::int32_t* contexts,
                                      const double* const* matrix, Run run) {
  while (begin < end) {
    const double* m = matrix[contexts[begin]];
    std::int32_t last = begin + 1;
    while (last < end && last - begin < 4 && matrix[contexts[last]] == m) ++last;
    run(begin, last - begin, m);
    begin = last;
  }
}

}  // namespace

void Problem::State::forward_lane(std::size_t lane) {
  const State* m = this;
  double *alphas = alpha.data(), *scales = scale.data(), *masses = log_mass.data();
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t Y = m->labels, stride = m->stride;
    const Trie& trie = m->beginnings;
    const auto finish = [=, &trie](std::int32_t node) TEXTMILL_INLINED {
      double* row = alphas + node * stride;
      const double* mu = m->exp_mu.data() + trie.unigram[node] * stride;
      const std::int32_t parent = trie.parent[node], c = trie.bigram[node];
      double before = m->mu_shift[trie.unigram[node]];
      if (parent >= 0) {
        before += masses[parent] + m->shift[c];
        if (m->corrected[c]) {
          const double* from = alphas + parent * stride;
          for (auto e = m->correction_offsets[c]; e < m->correction_offsets[c + 1]; ++e) {
            const std::size_t cell = m->correction_cell[e], y = cell / stride;
            row[cell - y * stride] += from[y] * m->correction[e];
          }
        }
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < stride; y += P::width) {
        const P value = parent < 0 ? P::load(mu + y) : P::load(row + y) * P::load(mu + y);
        total = total + value;
        value.store(row + y);
      }
      const double mass = sum(total);
      const P by = P(1.0 / mass);
      for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * by).store(row + y);
      scales[node] = mass;
      masses[node] = before + std::log(mass);
    };
    for (std::size_t b = trie.lanes[lane]; b < trie.lanes[lane + 1]; ++b) {
      const Batch batch = trie.batches[b];
      if (trie.parent[batch.begin] < 0) {
        for (std::int32_t node = batch.begin; node < batch.end; ++node) finish(node);
        continue;
      }
      by_fours(batch.begin, batch.end, trie.bigram.data(), m->matrix.data(),
               [=, &trie](std::int32_t first, std::int32_t count, const double* matrix) TEXTMILL_INLINED {
                 const double* a[4];
                 double* out[4];
                 for (std::int32_t i = 0; i < count; ++i) {
                   a[i] = alphas + trie.parent[first + i] * stride;
                   out[i] = alphas + (first + i) * stride;
                 }
                 if (count == 4) times_matrix<P, 4>(a, matrix, Y, stride, out);
                 if (count == 3) times_matrix<P, 3>(a, matrix, Y, stride, out);
                 if (count == 2) times_matrix<P, 2>(a, matrix, Y, stride, out);
                 if (count == 1) times_matrix<P, 1>(a, matrix, Y, stride, out);
                 for (std::int32_t i = 0; i < count; ++i) finish(first + i);
               });
    }
  });
}

void Problem::State::backward_lane(std::size_t lane) {
  const State* m = this;
  double* betas = beta.data();
  std::vector<double> space(4 * stride, 0.0);
  double* const scratch = space.data();
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t Y = m->labels, stride = m->stride;
    const Trie& trie = m->ends;
    for (std::size_t b = trie.lanes[lane]; b < trie.lanes[lane + 1]; ++b) {
      const Batch batch = trie.batches[b];
      by_fours(batch.begin, batch.end, trie.bigram.data(), m->matrix.data(),
               [=, &trie](std::int32_t first, std::int32_t count, const double* matrix) TEXTMILL_INLINED {
                 const double* v[4];
                 double* out[4];
                 for (std::int32_t i = 0; i < count; ++i) {
                   const std::int32_t parent = trie.parent[first + i];
                   const double* mu = m->exp_mu.data() + trie.unigram[first + i] * stride;
                   double* row = scratch + i * stride;
                   for (std::size_t y = 0; y < stride; y += P::width) {
                     const P behind = parent < 0 ? P(1.0) : P::load(betas + parent * stride + y);
                     (P::load(mu + y) * behind).store(row + y);
                   }
                   v[i] = row;
                   out[i] = betas + (first + i) * stride;
                 }
                 if (count == 4) matrix_times<P, 4>(matrix, v, Y, stride, out);
                 if (count == 3) matrix_times<P, 3>(matrix, v, Y, stride, out);
                 if (count == 2) matrix_times<P, 2>(matrix, v, Y, stride, out);
                 if (count == 1) matrix_times<P, 1>(matrix, v, Y, stride, out);
                 for (std::int32_t i = 0; i < count; ++i) {
                   const std::int32_t c = trie.bigram[first + i];
                   double* row = out[i];
                   if (m->corrected[c]) {
                     for (auto e = m->correction_offsets[c]; e < m->correction_offsets[c + 1]; ++e) {
                       const std::size_t cell = m->correction_cell[e], y = cell / stride;
                       row[y] += v[i][cell - y * stride] * m->correction[e];
                     }
                   }
                   P total = P(0.0);
                   for (std::size_t y = 0; y < stride; y += P::width) total = total + P::load(row + y);
                   const P by = P(1.0 / sum(total));
                   for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * by).store(row + y);
                 }
               });
    }
  });
}

void Problem::State::recurse(std::size_t threads) {
  alpha.resize(beginnings.size() * stride);
  scale.resize(beginnings.size());
  log_mass.resize(beginnings.size());
  beta.resize(ends.size() * stride);  // what is behind the last label stays zero
  const std::size_t forward = beginnings.lanes.size() - 1, backward = ends.lanes.size() - 1;
  parallel_for(forward + backward, threads, [&](std::size_t l) {
    if (l < forward)
      forward_lane(l);
    else
      backward_lane(l - forward);
  });
}

double Problem::State::log_z(std::size_t s) const {
  if (offsets[s] == offsets[s + 1]) return 0.0;
  if (!local()) return log_mass[beginnings.of[offsets[s + 1] - 1]];
  double total = 0.0;
  for (auto t = offsets[s]; t < offsets[s + 1]; ++t) total += log_mass[unigram.of[t]];
  return total;
}

// Marginals of all tokens, added up per unigram context; also w / n_t of every token.
void Problem::State::expect_unigrams(std::size_t threads) {
  const std::size_t contexts = unigram.size();
  expected.resize(contexts * stride);
  inverse.resize(unigram.of.size());
  if (local()) log_mass.resize(contexts);
  State* m = this;
  parallel_blocks(contexts, 64, threads, [=](std::size_t begin, std::size_t end) {
    with_packs([=]<class P>() TEXTMILL_INLINED {
      const std::size_t stride = m->stride;
      for (std::size_t c = begin; c < end; ++c) {
        double* out = m->expected.data() + c * stride;
        for (std::size_t y = 0; y < stride; y += P::width) P(0.0).store(out + y);
        if (m->local()) {
          const double* mu = m->exp_mu.data() + c * stride;
          double weight = 0.0;
          for (auto e = m->tokens_of.offsets[c]; e < m->tokens_of.offsets[c + 1]; ++e)
            weight += m->weight_of(m->tokens_of.items[e]);
          P total = P(0.0);
          for (std::size_t y = 0; y < stride; y += P::width) total = total + P::load(mu + y);
          const double mass = sum(total);
          for (std::size_t y = 0; y < stride; y += P::width) (P(weight / mass) * P::load(mu + y)).store(out + y);
          m->log_mass[c] = std::log(mass) + m->mu_shift[c];
          continue;
        }
        for (auto e = m->tokens_of.offsets[c]; e < m->tokens_of.offsets[c + 1]; ++e) {
          const std::int32_t t = m->tokens_of.items[e], end_node = m->ends.of[t];
          const double* a = m->alpha.data() + m->beginnings.of[t] * stride;
          const double* b = end_node < 0 ? nullptr : m->beta.data() + end_node * stride;
          P total = P(0.0);
          for (std::size_t y = 0; y < stride; y += P::width) {
            total = b == nullptr ? total + P::load(a + y) : multiply_add(P::load(a + y), P::load(b + y), total);
          }
          const double share = m->weight_of(t) / sum(total);
          m->inverse[t] = share;
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

}  // namespace textmill::sequence
