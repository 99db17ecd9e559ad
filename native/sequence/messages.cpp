#include "sequence/messages.h"

#include <cmath>

#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/kernels.h"

namespace textmill::sequence {
namespace {

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

void forward_lane(const Plan& plan, const Trie& trie, const Potentials& potentials, Messages& messages,
                  std::size_t lane) {
  const std::size_t Y = plan.labels, stride = plan.stride;
  const Potentials* const m = &potentials;
  const Corrections* const cells = &potentials.corrections;
  const Trie* const nodes = &trie;
  double *alphas = messages.alpha.data(), *scales = messages.scale.data(), *masses = messages.log_mass.data();
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const Trie& trie = *nodes;
    const auto finish = [=, &trie](std::int32_t node) TEXTMILL_INLINED {
      double* row = alphas + node * stride;
      const double* mu = m->exp_mu.data() + trie.unigram[node] * stride;
      const std::int32_t parent = trie.parent[node], c = trie.bigram[node];
      double before = m->mu_shift[trie.unigram[node]];
      if (parent >= 0) {
        before += masses[parent] + m->shift[c];
        if (m->corrected[c]) {
          const double* from = alphas + parent * stride;
          for (auto e = cells->offsets[c]; e < cells->offsets[c + 1]; ++e) {
            const std::size_t cell = cells->cell[e], y = cell / stride;
            row[cell - y * stride] += from[y] * cells->value[e];
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

void backward_lane(const Plan& plan, const Trie& trie, const Potentials& potentials, Messages& messages,
                   std::size_t lane) {
  const std::size_t Y = plan.labels, stride = plan.stride;
  const Potentials* const m = &potentials;
  const Corrections* const cells = &potentials.corrections;
  const Trie* const nodes = &trie;
  double* betas = messages.beta.data();
  std::vector<double> space(4 * stride, 0.0);
  double* const scratch = space.data();
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const Trie& trie = *nodes;
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
                     for (auto e = cells->offsets[c]; e < cells->offsets[c + 1]; ++e) {
                       const std::size_t cell = cells->cell[e], y = cell / stride;
                       row[y] += v[i][cell - y * stride] * cells->value[e];
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

}  // namespace

void recurse(const Plan& plan, const Sharing& sharing, const Potentials& potentials, Messages& messages,
             std::size_t threads) {
  const Trie &beginnings = sharing.beginnings, &ends = sharing.ends;
  messages.alpha.resize(beginnings.size() * plan.stride);
  messages.scale.resize(beginnings.size());
  messages.log_mass.resize(beginnings.size());
  messages.beta.resize(ends.size() * plan.stride);  // what is behind the last label stays zero
  const std::size_t forward = beginnings.lanes.size() - 1, backward = ends.lanes.size() - 1;
  parallel_for(forward + backward, threads, [&](std::size_t l) {
    if (l < forward)
      forward_lane(plan, beginnings, potentials, messages, l);
    else
      backward_lane(plan, ends, potentials, messages, l - forward);
  });
}

}  // namespace textmill::sequence
