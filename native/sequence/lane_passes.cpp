#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/simd.h"
#include "sequence/kernels.h"
#include "sequence/lanes.h"

namespace textmill::sequence {
namespace {

using base::with_packs;

constexpr std::size_t kRows = 64;  // whose products are added up together; part of the result

// row[0 .. W packs) = row + sum of the rows of `table` that entries [begin, end) name.
template <class P, std::size_t W>
TEXTMILL_INLINED inline void add_wide(const std::int32_t* rows, const float* values, std::int64_t begin,
                                      std::int64_t end, const double* table, std::size_t stride, double* row) {
  P total[W];
  for (std::size_t j = 0; j < W; ++j) total[j] = P::load(row + j * P::width);
  for (auto e = begin; e < end; ++e) {
    const double* from = table + rows[e] * stride;
    if (values == nullptr) {
      for (std::size_t j = 0; j < W; ++j) total[j] = total[j] + P::load(from + j * P::width);
    } else {
      const P value = P(static_cast<double>(values[e]));
      for (std::size_t j = 0; j < W; ++j) total[j] = multiply_add(value, P::load(from + j * P::width), total[j]);
    }
  }
  for (std::size_t j = 0; j < W; ++j) total[j].store(row + j * P::width);
}

// Rows of `table` that entries [begin, end) name += row.
template <class P, std::size_t W>
TEXTMILL_INLINED inline void spread_wide(const std::int32_t* rows, const float* values, std::int64_t begin,
                                         std::int64_t end, double* table, std::size_t stride, const double* row) {
  P mine[W];
  for (std::size_t j = 0; j < W; ++j) mine[j] = P::load(row + j * P::width);
  for (auto e = begin; e < end; ++e) {
    double* to = table + rows[e] * stride;
    const P value = P(values == nullptr ? 1.0 : static_cast<double>(values[e]));
    for (std::size_t j = 0; j < W; ++j) {
      multiply_add(value, mine[j], P::load(to + j * P::width)).store(to + j * P::width);
    }
  }
}

// Calls run.template operator()<W>(at) for stretches of W packs that cover `stride` doubles.
template <class P, class Run>
TEXTMILL_INLINED inline void by_stretches(std::size_t stride, Run run) {
  std::size_t at = 0;
  for (; at + 6 * P::width <= stride; at += 6 * P::width) run.template operator()<6>(at);
  for (; at + 2 * P::width <= stride; at += 2 * P::width) run.template operator()<2>(at);
  for (; at < stride; at += P::width) run.template operator()<1>(at);
}

// Rows `out` = rows `in` times the matrix, `count` neighbours.
template <class P>
TEXTMILL_INLINED inline void times_neighbours(const double* in, const double* matrix, std::size_t count,
                                              std::size_t labels, std::size_t stride, double* out) {
  const double* a[4];
  double* o[4];
  std::size_t i = 0;
  for (; i < count; i += 4) {
    const std::size_t now = std::min<std::size_t>(count - i, 4);
    for (std::size_t j = 0; j < now; ++j) a[j] = in + (i + j) * stride, o[j] = out + (i + j) * stride;
    if (now == 4) times_matrix<P, 4>(a, matrix, labels, stride, o);
    if (now == 3) times_matrix<P, 3>(a, matrix, labels, stride, o);
    if (now == 2) times_matrix<P, 2>(a, matrix, labels, stride, o);
    if (now == 1) times_matrix<P, 1>(a, matrix, labels, stride, o);
  }
}

}  // namespace

// Vectors of the nodes of a chunk.
struct Lanes::Space {
  std::vector<double> mu;     // exp(score - shift); going back, psi-ward: v / c
  std::vector<double> alpha;  // forward, divided by c
  std::vector<double> beta;   // backward; then marginals
  std::vector<double> scale, shift, logs;
  double value = 0.0, range = 0.0;

  Space(std::size_t nodes, std::size_t stride)
      : mu(nodes * stride), alpha(nodes * stride), beta(nodes * stride), scale(nodes), shift(nodes), logs(nodes) {}
};

void Lanes::run_lane(Lane& lane, const PairMatrix& matrix, const double* transposed, bool gradient) const {
  std::int32_t most = 0;
  for (std::size_t c = lane.begin; c < lane.end; ++c) most = std::max(most, chunks_[c].end - chunks_[c].begin);
  Space space(static_cast<std::size_t>(most), stride_);
  if (gradient) {
    lane.gradient.assign(lane.slots.size(), 0.0);
    lane.wide.assign(wide_weights_.size(), 0.0);
    lane.product.assign(labels_ * stride_, 0.0);
  }
  for (std::size_t c = lane.begin; c < lane.end; ++c) {
    score(chunks_[c], lane, space);
    forward(chunks_[c], matrix, space);
    if (!gradient) continue;
    backward(chunks_[c], transposed, lane, space);
    scatter(chunks_[c], lane, space);
  }
  lane.value = space.value;
  lane.range = space.range;
}

void Lanes::score(const Chunk& chunk, const Lane& lane, Space& space) const {
  const std::int32_t first = chunks_[lane.begin].begin;  // entries of the lane begin with this node
  const auto nodes = static_cast<std::size_t>(chunk.end - chunk.begin);
  const std::size_t at = static_cast<std::size_t>(chunk.begin - first);
  std::fill_n(space.mu.begin(), nodes * stride_, 0.0);
  const float* values = lane.narrow_value.empty() ? nullptr : lane.narrow_value.data();
  for (std::size_t i = 0; i < nodes; ++i) {
    double* row = &space.mu[i * stride_];
    for (auto e = lane.narrow_offsets[at + i]; e < lane.narrow_offsets[at + i + 1]; ++e) {
      const double weight = lane.weights[lane.narrow_slot[e]];
      row[lane.narrow_label[e]] += values == nullptr ? weight : weight * values[e];
    }
  }
  const Lane* from = &lane;
  const Lanes* m = this;
  Space* to = &space;
  double range = space.range;
  range = std::max(range, with_packs([=]<class P>() TEXTMILL_INLINED {
                     const std::size_t stride = m->stride_, whole = m->labels_ / P::width * P::width,
                                       rest = m->labels_ - whole;
                     const float* wide_values = from->wide_value.empty() ? nullptr : from->wide_value.data();
                     double widest = 0.0;
                     for (std::size_t i = 0; i < nodes; ++i) {
                       double* row = to->mu.data() + i * stride;
                       const auto begin = from->wide_offsets[at + i], end = from->wide_offsets[at + i + 1];
                       by_stretches<P>(stride, [=]<std::size_t W>(std::size_t j) TEXTMILL_INLINED {
                         add_wide<P, W>(from->wide_row.data(), wide_values, begin, end, m->wide_weights_.data() + j,
                                        stride, row + j);
                       });
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
                       to->shift[i] = shift;
                       for (std::size_t y = 0; y < whole; y += P::width)
                         base::exp(P::load(row + y) - P(shift)).store(row + y);
                       if (rest > 0) {
                         base::exp(P::load(row + whole, rest, shift) - P(shift)).store(row + whole, rest);
                         for (std::size_t y = m->labels_; y < stride; ++y) row[y] = 0.0;
                       }
                     }
                     return widest;
                   }));
  space.range = range;
  if (contexts_->tag.empty()) return;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::int32_t only = contexts_->tag[contexts_->of[token_[chunk.begin + static_cast<std::int32_t>(i)]]];
    if (only < 0) continue;
    for (std::size_t y = 0; y < labels_; ++y) {
      if (y != static_cast<std::size_t>(only)) space.mu[i * stride_ + y] = 0.0;
    }
  }
}

void Lanes::forward(const Chunk& chunk, const PairMatrix& matrix, Space& space) const {
  const auto nodes = static_cast<std::size_t>(chunk.end - chunk.begin);
  const Lanes* m = this;
  Space* s = &space;
  const double* psi = matrix.psi;
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t stride = m->stride_, Y = m->labels_;
    const std::int32_t* depth = m->depths_.data() + chunk.depth;
    for (std::size_t d = 0, begin = 0; begin < nodes; ++d) {
      const auto end = static_cast<std::size_t>(depth[d + 1] - chunk.begin), count = end - begin;
      double* rows = s->alpha.data() + begin * stride;
      const double* mu = s->mu.data() + begin * stride;
      if (d > 0) {
        const double* before = s->alpha.data() + static_cast<std::size_t>(depth[d - 1] - chunk.begin) * stride;
        times_neighbours<P>(before, psi, count, Y, stride, rows);
      }
      for (std::size_t i = 0; i < count; ++i) {
        double* row = rows + i * stride;
        P total = P(0.0);
        for (std::size_t y = 0; y < stride; y += P::width) {
          const P value = d == 0 ? P::load(mu + i * stride + y) : P::load(row + y) * P::load(mu + i * stride + y);
          total = total + value;
          value.store(row + y);
        }
        const double mass = sum(total);
        const P by = P(1.0 / mass);
        for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * by).store(row + y);
        s->scale[begin + i] = mass;
      }
      begin = end;
    }
  });
  base::log(std::span<const double>(space.scale.data(), nodes), std::span<double>(space.logs.data(), nodes));
  const auto heads = static_cast<std::size_t>(depths_[chunk.depth + 1] - chunk.begin);  // first tokens have no pair
  double value = 0.0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const double log = space.logs[i] + space.shift[i] + (i < heads ? 0.0 : matrix.shift);
    value += weight_.empty() ? log : weight_[token_[chunk.begin + static_cast<std::int32_t>(i)]] * log;
  }
  space.value += value;
}

// Leaves weighted marginals in beta, and adds the products of alpha and v to those of the lane.
void Lanes::backward(const Chunk& chunk, const double* transposed, Lane& lane, Space& space) const {
  const auto nodes = static_cast<std::size_t>(chunk.end - chunk.begin);
  const Lanes* m = this;
  Space* s = &space;
  double* const product = lane.product.data();
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t stride = m->stride_, Y = m->labels_;
    const std::int32_t* depth = m->depths_.data() + chunk.depth;
    std::size_t last = 0;
    while (static_cast<std::size_t>(depth[last + 1] - chunk.begin) < nodes) ++last;
    const double* weight = m->weight_.empty() ? nullptr : m->weight_.data();
    for (std::size_t d = last + 1; d-- > 0;) {
      const auto begin = static_cast<std::size_t>(depth[d] - chunk.begin);
      const auto end = static_cast<std::size_t>(depth[d + 1] - chunk.begin);
      const std::size_t count = end - begin, behind = d == last ? 0
                                                                : static_cast<std::size_t>(depth[d + 2]) -
                                                                      static_cast<std::size_t>(depth[d + 1]);
      times_neighbours<P>(s->mu.data() + end * stride, transposed, behind, Y, stride, s->beta.data() + begin * stride);
      for (std::size_t i = 0; i < count; ++i) {
        double* beta = s->beta.data() + (begin + i) * stride;
        double* mu = s->mu.data() + (begin + i) * stride;
        const double* alpha = s->alpha.data() + (begin + i) * stride;
        P total = P(0.0);
        if (i < behind) {
          for (std::size_t y = 0; y < stride; y += P::width) {
            total = multiply_add(P::load(alpha + y), P::load(beta + y), total);
          }
        } else {
          for (std::size_t y = 0; y < stride; y += P::width) {
            P(1.0).store(beta + y);
            total = total + P::load(alpha + y);
          }
        }
        const double share = 1.0 / sum(total);
        const P pair = P(share / s->scale[begin + i]);
        const P node = P(weight == nullptr ? share : share * weight[m->token_[chunk.begin + begin + i]]);
        for (std::size_t y = 0; y < stride; y += P::width) {
          const P value = P::load(beta + y);
          (P::load(mu + y) * value * pair).store(mu + y);
          (P::load(alpha + y) * value * node).store(beta + y);
        }
      }
    }
    const double* a[kRows];
    for (std::size_t d = 1, at = static_cast<std::size_t>(depth[1] - chunk.begin); at < nodes;) {
      const std::size_t rows = std::min(kRows, nodes - at);
      for (std::size_t i = 0; i < rows; ++i) {
        while (at + i >= static_cast<std::size_t>(depth[d + 1] - chunk.begin)) ++d;
        const std::size_t inner = at + i - static_cast<std::size_t>(depth[d] - chunk.begin);
        a[i] = s->alpha.data() + (static_cast<std::size_t>(depth[d - 1] - chunk.begin) + inner) * stride;
      }
      if (weight != nullptr) {  // v has served the recursion
        for (std::size_t i = 0; i < rows; ++i) {
          double* v = s->mu.data() + (at + i) * stride;
          const P by = P(weight[m->token_[chunk.begin + at + i]]);
          for (std::size_t y = 0; y < stride; y += P::width) (P::load(v + y) * by).store(v + y);
        }
      }
      add_products<P>(a, s->mu.data() + at * stride, rows, Y, stride, product, false);
      at += rows;
    }
  });
}

void Lanes::scatter(const Chunk& chunk, Lane& lane, const Space& space) const {
  const auto nodes = static_cast<std::size_t>(chunk.end - chunk.begin);
  const std::size_t at = static_cast<std::size_t>(chunk.begin - chunks_[lane.begin].begin);
  const float* values = lane.narrow_value.empty() ? nullptr : lane.narrow_value.data();
  for (std::size_t i = 0; i < nodes; ++i) {
    const double* row = &space.beta[i * stride_];
    for (auto e = lane.narrow_offsets[at + i]; e < lane.narrow_offsets[at + i + 1]; ++e) {
      const double share = row[lane.narrow_label[e]];
      lane.gradient[lane.narrow_slot[e]] += values == nullptr ? share : share * values[e];
    }
  }
  const Lanes* m = this;
  const Space* s = &space;
  Lane* to = &lane;
  with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t stride = m->stride_;
    const float* wide_values = to->wide_value.empty() ? nullptr : to->wide_value.data();
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto begin = to->wide_offsets[at + i], end = to->wide_offsets[at + i + 1];
      const double* row = s->beta.data() + i * stride;
      by_stretches<P>(stride, [=]<std::size_t W>(std::size_t j) TEXTMILL_INLINED {
        spread_wide<P, W>(to->wide_row.data(), wide_values, begin, end, to->wide.data() + j, stride, row + j);
      });
    }
  });
}

}  // namespace textmill::sequence
