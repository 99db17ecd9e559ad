#include "sequence/lane_passes.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/simd.h"
#include "sequence/kernels.h"

namespace textmill::sequence {
namespace {

using base::with_packs;

constexpr std::size_t kRows = 64;  // whose products are added up together; part of the result

// Vectors of the nodes of a chunk.
struct Space {
  std::vector<double> mu;                           // [nodes][stride] exp(score - shift); going back, v
  std::vector<double> alpha;                        // [nodes][stride]
  std::vector<double> beta;                         // [nodes][stride]; then marginals, times the weight of the token
  std::vector<double> scale, inverse, shift, logs;  // [nodes] c, 1 / c, what scores were less by, log c
  double value = 0.0, range = 0.0;

  Space(std::size_t nodes, std::size_t stride)
      : mu(nodes * stride),
        alpha(nodes * stride),
        beta(nodes * stride),
        scale(nodes),
        inverse(nodes),
        shift(nodes),
        logs(nodes) {}
};

struct View {  // of a chunk at work
  const Schedule* schedule;
  Chunk chunk;
  const std::int64_t* offsets;  // of the entries of its first node
  const std::int32_t* block;
  const float* value;  // or null
  Space* space;

  std::size_t nodes() const { return static_cast<std::size_t>(chunk.end - chunk.begin); }
  const std::int32_t* depth() const { return schedule->depths.data() + chunk.depth; }
  std::int32_t token(std::size_t i) const { return schedule->token[static_cast<std::size_t>(chunk.begin) + i]; }
};

// Calls run<P, N>() where N is the length of a row if it is short, so that loops over it vanish, else 0.
template <class Run>
auto with_rows(std::size_t stride, Run run) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    switch (stride) {
      case 4: return run.template operator()<P, 4>();
      case 8: return run.template operator()<P, 8>();
      case 12: return run.template operator()<P, 12>();
      default: return run.template operator()<P, 0>();
    }
  });
}

// Sums of the blocks of every node and stripe, into mu; returns the largest absolute score.
template <class P, std::size_t N, bool valued>
TEXTMILL_INLINED inline double add_blocks(View v, const Block* blocks, std::size_t stride) {
  constexpr std::size_t B = kStripe / P::width;
  const std::size_t stripes = (N > 0 ? N : stride) / kStripe, sums = v.nodes() * stripes;
  double* out = v.space->mu.data();
  P most = P(0.0);
  for (std::size_t i = 0; i < sums; ++i, out += kStripe) {
    const std::int32_t *e = v.block + v.offsets[i], *const end = v.block + v.offsets[i + 1];
    const float* value = valued ? v.value + v.offsets[i] : nullptr;
    P even[B], odd[B];  // two chains of additions
    for (std::size_t j = 0; j < B; ++j) even[j] = odd[j] = P(0.0);
    const auto add = [=](std::size_t at, P* to) TEXTMILL_INLINED {
      const double* from = blocks[e[at]].weights;
      for (std::size_t j = 0; j < B; ++j) {
        const P block = P::load(from + j * P::width);
        to[j] = valued ? multiply_add(P(static_cast<double>(value[at])), block, to[j]) : to[j] + block;
      }
    };
    const auto count = static_cast<std::size_t>(end - e);
    for (std::size_t at = 0; at + 1 < count; at += 2) {
      add(at, even);
      add(at + 1, odd);
    }
    if (count % 2 == 1) add(count - 1, even);
    for (std::size_t j = 0; j < B; ++j) {
      const P total = even[j] + odd[j];
      most = max(most, abs(total));
      total.store(out + j * P::width);
    }
  }
  return largest(most);
}

// exp of all scores; those behind the last label become zero.
template <class P, std::size_t N>
TEXTMILL_INLINED inline void exponentiate_calm(View v, std::size_t stride) {
  const std::size_t step = N > 0 ? N : stride, last = step - kStripe;
  double keep[kStripe];
  for (std::size_t y = 0; y < kStripe; ++y) keep[y] = last + y < v.schedule->labels ? 1.0 : 0.0;
  double* row = v.space->mu.data();
  for (std::size_t i = 0; i < v.nodes(); ++i, row += step) {
    for (std::size_t y = 0; y < last; y += P::width) base::exp(P::load(row + y)).store(row + y);
    for (std::size_t y = 0; y < kStripe; y += P::width) {
      (base::exp(P::load(row + last + y)) * P::load(keep + y)).store(row + last + y);
    }
  }
}

// exp(score - shift), shift the largest score of a token; returns the largest difference within a token.
double exponentiate_shifted(View view) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t labels = view.schedule->labels, stride = view.schedule->stride;
    const std::size_t whole = labels / P::width * P::width, rest = labels - whole;
    double widest = 0.0;
    for (std::size_t i = 0; i < view.nodes(); ++i) {
      double* row = view.space->mu.data() + i * stride;
      P most = P(row[0]), least = P(-row[0]);
      for (std::size_t y = 0; y < whole; y += P::width) {
        most = max(most, P::load(row + y));
        least = max(least, P(0.0) - P::load(row + y));
      }
      if (rest > 0) {
        const P last = P::load(row + whole, rest, row[0]);
        most = max(most, last);
        least = max(least, P(0.0) - last);
      }
      const double shift = largest(most), extent = shift + largest(least);
      widest = extent <= widest ? widest : extent;  // NaN stays
      view.space->shift[i] = shift;
      for (std::size_t y = 0; y < whole; y += P::width) base::exp(P::load(row + y) - P(shift)).store(row + y);
      if (rest > 0) base::exp(P::load(row + whole, rest, shift) - P(shift)).store(row + whole, rest);
      for (std::size_t y = labels; y < stride; ++y) row[y] = 0.0;
    }
    return widest;
  });
}

void score(const View& view, const Block* blocks, double calm) {
  Space& space = *view.space;
  const std::size_t stride = view.schedule->stride;
  const double most = with_rows(stride, [=]<class P, std::size_t N>() TEXTMILL_INLINED {
    const double widest = view.value == nullptr ? add_blocks<P, N, false>(view, blocks, stride)
                                                : add_blocks<P, N, true>(view, blocks, stride);
    if (widest <= calm) exponentiate_calm<P, N>(view, stride);
    return widest;
  });
  if (most <= calm) {
    std::fill_n(space.shift.begin(), view.nodes(), 0.0);
    space.range = std::max(space.range, 2.0 * most);
  } else {
    const double extent = exponentiate_shifted(view);
    space.range = extent <= space.range ? space.range : extent;
  }
  const Contexts& contexts = *view.schedule->contexts;
  if (contexts.tag.empty()) return;
  for (std::size_t i = 0; i < view.nodes(); ++i) {
    const std::int32_t only = contexts.tag[contexts.of[view.token(i)]];
    if (only < 0) continue;
    for (std::size_t y = 0; y < view.schedule->labels; ++y) {
      if (!view.schedule->plan->allows(only, y)) space.mu[i * stride + y] = 0.0;
    }
  }
}

// Rows `out` = rows `in` times the matrix, `count` neighbors.
template <class P>
TEXTMILL_INLINED inline void times_neighbors(const double* in, const double* matrix, std::size_t count,
                                             std::size_t labels, std::size_t stride, double* out) {
  const double* a[4];
  double* o[4];
  for (std::size_t i = 0; i < count; i += 4) {
    const std::size_t now = std::min<std::size_t>(count - i, 4);
    for (std::size_t j = 0; j < now; ++j) a[j] = in + (i + j) * stride, o[j] = out + (i + j) * stride;
    if (now == 4) times_matrix<P, 4>(a, matrix, labels, stride, o);
    if (now == 3) times_matrix<P, 3>(a, matrix, labels, stride, o);
    if (now == 2) times_matrix<P, 2>(a, matrix, labels, stride, o);
    if (now == 1) times_matrix<P, 1>(a, matrix, labels, stride, o);
  }
}

// Potentials of the same chunk where only clamped states are allowed, into another space.
void clamp(const View& from, Space& to) {
  const std::size_t labels = from.schedule->labels, stride = from.schedule->stride;
  const Plan& plan = *from.schedule->plan;
  std::copy_n(from.space->shift.begin(), from.nodes(), to.shift.begin());
  for (std::size_t i = 0; i < from.nodes(); ++i) {
    const double* row = &from.space->mu[i * stride];
    double* out = &to.mu[i * stride];
    const std::int32_t group = plan.clamped[from.token(i)];
    for (std::size_t y = 0; y < labels; ++y) out[y] = plan.allows(group, y) ? row[y] : 0.0;
    for (std::size_t y = labels; y < stride; ++y) out[y] = 0.0;
  }
}

void forward(const View& view, const PairMatrix& matrix) {
  Space& space = *view.space;
  const std::size_t nodes = view.nodes();
  const double* psi = matrix.psi;
  with_rows(view.schedule->stride, [=]<class P, std::size_t N>() TEXTMILL_INLINED {
    const std::size_t stride = N > 0 ? N : view.schedule->stride, rows = N > 0 ? N : view.schedule->labels;
    const std::int32_t* depth = view.depth();
    Space* s = view.space;
    for (std::size_t d = 0, begin = 0; begin < nodes; ++d) {
      const auto end = static_cast<std::size_t>(depth[d + 1] - view.chunk.begin), count = end - begin;
      double* out = s->alpha.data() + begin * stride;
      const double* mu = s->mu.data() + begin * stride;
      if (d > 0) {
        const double* before = s->alpha.data() + static_cast<std::size_t>(depth[d - 1] - view.chunk.begin) * stride;
        times_neighbors<P>(before, psi, count, rows, stride, out);
      }
      for (std::size_t i = 0; i < count; ++i) {
        double* row = out + i * stride;
        P total = P(0.0);
        for (std::size_t y = 0; y < stride; y += P::width) {
          const P value = d == 0 ? P::load(mu + i * stride + y) : P::load(row + y) * P::load(mu + i * stride + y);
          total = total + value;
          value.store(row + y);
        }
        const double mass = sum(total), inverse = 1.0 / mass;
        for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * P(inverse)).store(row + y);
        s->scale[begin + i] = mass;
        s->inverse[begin + i] = inverse;
      }
      begin = end;
    }
  });
  base::log(std::span<const double>(space.scale.data(), nodes), std::span<double>(space.logs.data(), nodes));
  const auto heads = static_cast<std::size_t>(view.depth()[1] - view.chunk.begin);  // first tokens have no pair
  const std::span<const double> weight = view.schedule->weight;
  double value = 0.0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const double log = space.logs[i] + space.shift[i] + (i < heads ? 0.0 : matrix.shift);
    value += weight.empty() ? log : weight[view.token(i)] * log;
  }
  space.value += value;
}

// Leaves weighted marginals in beta and v in mu.
void backward(const View& view, const double* transposed) {
  with_rows(view.schedule->stride, [=]<class P, std::size_t N>() TEXTMILL_INLINED {
    const std::size_t stride = N > 0 ? N : view.schedule->stride, rows = N > 0 ? N : view.schedule->labels;
    const std::size_t nodes = view.nodes();
    const std::int32_t* depth = view.depth();
    const double* weight = view.schedule->weight.empty() ? nullptr : view.schedule->weight.data();
    Space* s = view.space;
    std::size_t last = 0;
    while (static_cast<std::size_t>(depth[last + 1] - view.chunk.begin) < nodes) ++last;
    for (std::size_t d = last + 1; d-- > 0;) {
      const auto begin = static_cast<std::size_t>(depth[d] - view.chunk.begin);
      const auto end = static_cast<std::size_t>(depth[d + 1] - view.chunk.begin);
      const std::size_t behind = d == last ? 0 : static_cast<std::size_t>(depth[d + 2] - depth[d + 1]);
      times_neighbors<P>(s->mu.data() + end * stride, transposed, behind, rows, stride,
                         s->beta.data() + begin * stride);
      for (std::size_t y = (begin + behind) * stride; y < end * stride; y += P::width) {
        P(1.0).store(s->beta.data() + y);
      }
      for (std::size_t i = begin; i < end; ++i) {
        double *beta = s->beta.data() + i * stride, *mu = s->mu.data() + i * stride;
        const double* alpha = s->alpha.data() + i * stride;
        const P by = P(s->inverse[i]), share = P(weight == nullptr ? 1.0 : weight[view.token(i)]);
        for (std::size_t y = 0; y < stride; y += P::width) {
          const P value = P::load(beta + y);
          (P::load(mu + y) * value * by).store(mu + y);
          (P::load(alpha + y) * value * share).store(beta + y);
        }
      }
    }
  });
}

// product += sum over the nodes that are not the first of their sequence of alpha_{t-1} v_t', weighted.
void multiply_pairs(const View& view, double* product) {
  with_rows(view.schedule->stride, [=]<class P, std::size_t N>() TEXTMILL_INLINED {
    const std::size_t stride = N > 0 ? N : view.schedule->stride, rows = N > 0 ? N : view.schedule->labels;
    const std::size_t nodes = view.nodes();
    const std::int32_t* depth = view.depth();
    const double* weight = view.schedule->weight.empty() ? nullptr : view.schedule->weight.data();
    Space* s = view.space;
    const double* a[kRows];
    for (std::size_t d = 1, at = static_cast<std::size_t>(depth[1] - view.chunk.begin); at < nodes;) {
      const std::size_t count = std::min(kRows, nodes - at);
      for (std::size_t i = 0; i < count; ++i) {
        while (at + i >= static_cast<std::size_t>(depth[d + 1] - view.chunk.begin)) ++d;
        const std::size_t inner = at + i - static_cast<std::size_t>(depth[d] - view.chunk.begin);
        a[i] = s->alpha.data() + (static_cast<std::size_t>(depth[d - 1] - view.chunk.begin) + inner) * stride;
      }
      if (weight != nullptr) {  // v has served the recursion
        for (std::size_t i = 0; i < count; ++i) {
          double* v = s->mu.data() + (at + i) * stride;
          const P by = P(weight[view.token(at + i)]);
          for (std::size_t y = 0; y < stride; y += P::width) (P::load(v + y) * by).store(v + y);
        }
      }
      add_products<P>(a, s->mu.data() + at * stride, count, rows, stride, product, false);
      at += count;
    }
  });
}

// Blocks of every node and stripe += its marginals.
template <class P, bool valued>
TEXTMILL_INLINED inline void add_to_blocks(View v, Block* blocks) {
  constexpr std::size_t B = kStripe / P::width;
  const std::size_t sums = v.nodes() * v.schedule->stride / kStripe;
  const double* row = v.space->beta.data();
  for (std::size_t i = 0; i < sums; ++i, row += kStripe) {
    P mine[B];
    for (std::size_t j = 0; j < B; ++j) mine[j] = P::load(row + j * P::width);
    for (auto e = v.offsets[i]; e < v.offsets[i + 1]; ++e) {
      double* to = blocks[v.block[e]].gradient;
      for (std::size_t j = 0; j < B; ++j) {
        const P before = P::load(to + j * P::width);
        const P after = valued ? multiply_add(P(static_cast<double>(v.value[e])), mine[j], before) : before + mine[j];
        after.store(to + j * P::width);
      }
    }
  }
}

void scatter(const View& view, Block* blocks) {
  with_packs([=]<class P>() TEXTMILL_INLINED {
    if (view.value == nullptr)
      add_to_blocks<P, false>(view, blocks);
    else
      add_to_blocks<P, true>(view, blocks);
  });
}

}  // namespace

void run_lane(const Schedule& schedule, std::size_t lane, const Entries& entries, const PairMatrix& matrix,
              const double* transposed, double calm, bool gradient, LaneSums& sums) {
  const std::size_t begin = schedule.lanes[lane], end = schedule.lanes[lane + 1];
  const std::size_t stripes = schedule.stride / kStripe;
  std::int32_t most = 0;
  for (std::size_t c = begin; c < end; ++c) most = std::max(most, schedule.chunks[c].end - schedule.chunks[c].begin);
  const bool clamped = !schedule.plan->clamped.empty();
  Space space(static_cast<std::size_t>(most), schedule.stride);
  Space within(clamped ? static_cast<std::size_t>(most) : 0, schedule.stride);
  std::vector<double> product(clamped && gradient ? schedule.stride * schedule.stride : 0, 0.0);
  if (gradient) sums.product.assign(schedule.stride * schedule.stride, 0.0);
  for (std::size_t c = begin; c < end; ++c) {
    const Chunk& chunk = schedule.chunks[c];
    const auto at = static_cast<std::size_t>(chunk.begin - schedule.first_node(lane)) * stripes;
    const View view{&schedule,
                    chunk,
                    &entries.offsets[at],
                    entries.block.data(),
                    entries.value.empty() ? nullptr : entries.value.data(),
                    &space};
    score(view, sums.blocks.data(), calm);
    View inner = view;
    inner.space = &within;
    if (clamped) clamp(view, within);
    forward(view, matrix);
    if (clamped) forward(inner, matrix);
    if (!gradient) continue;
    backward(view, transposed);
    multiply_pairs(view, sums.product.data());
    if (clamped) {  // marginals differ first, so that blocks are visited once
      backward(inner, transposed);
      multiply_pairs(inner, product.data());
      for (std::size_t i = 0; i < view.nodes() * schedule.stride; ++i) space.beta[i] -= within.beta[i];
    }
    scatter(view, sums.blocks.data());
  }
  for (std::size_t i = 0; i < product.size(); ++i) sums.product[i] -= product[i];
  sums.value = space.value - within.value;
  sums.range = space.range;
}

}  // namespace textmill::sequence
