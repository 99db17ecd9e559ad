#include "sequence/lanes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/math.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "sequence/kernels.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;
using base::with_packs;

// All of these are part of the result: they decide what is added to what first.
constexpr std::size_t kChunkTokens = 1024;   // vectors of a chunk stay in the cache
constexpr std::size_t kWindowTokens = 8192;  // sequences are sorted by length within a window
constexpr std::size_t kLaneTokens = 16384;
constexpr std::size_t kMostLanes = 16;
constexpr std::size_t kRows = 64;            // whose products are added up together
constexpr std::size_t kWideCells = 1 << 18;  // of the wide tests: a lane should keep most of them in the cache
constexpr std::size_t kOften = 4;            // a wide test occurs this often per lane, at least

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

Lanes::Lanes(const Layout& layout, std::span<const std::int64_t> offsets, const Contexts& unigram,
             std::span<const double> weight)
    : labels_(layout.labels),
      stride_(layout.stride()),
      contexts_(&unigram),
      weight_(weight),
      counts_(layout.unigrams, 0) {
  const std::size_t sequences = offsets.size() - 1, tokens = static_cast<std::size_t>(offsets.back());
  const auto length = [&](std::size_t s) { return offsets[s + 1] - offsets[s]; };
  token_.reserve(tokens);
  const std::size_t lanes = std::clamp<std::size_t>(tokens / kLaneTokens, 1, kMostLanes);
  std::vector<std::size_t> window;
  std::size_t s = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::size_t first = chunks_.size(), limit = tokens * (l + 1) / lanes;
    while (s < sequences && (l + 1 == lanes || token_.size() < limit)) {
      window.clear();
      for (std::size_t held = 0; s < sequences && held < kWindowTokens && token_.size() + held < limit; ++s) {
        if (length(s) > 0) window.push_back(s);
        held += static_cast<std::size_t>(length(s));
      }
      if (token_.size() == tokens) s = sequences;  // nothing but empty sequences is left
      std::stable_sort(window.begin(), window.end(), [&](auto a, auto b) { return length(a) > length(b); });
      for (std::size_t begin = 0; begin < window.size();) {
        std::size_t end = begin, held = 0;
        while (end < window.size() && held < kChunkTokens) held += static_cast<std::size_t>(length(window[end++]));
        const auto node = static_cast<std::int32_t>(token_.size());
        chunks_.push_back({node, static_cast<std::int32_t>(token_.size() + held), depths_.size()});
        for (std::int64_t d = 0; d < length(window[begin]); ++d) {
          depths_.push_back(static_cast<std::int32_t>(token_.size()));
          for (std::size_t i = begin; i < end && d < length(window[i]); ++i) {
            token_.push_back(static_cast<std::int32_t>(offsets[window[i]] + d));
          }
        }
        depths_.push_back(static_cast<std::int32_t>(token_.size()));
        begin = end;
      }
    }
    if (first == chunks_.size()) continue;
    lanes_.emplace_back();
    lanes_.back().begin = first;
    lanes_.back().end = chunks_.size();
  }
  for (const std::int32_t t : token_) {
    const std::int32_t c = unigram.of[t];
    for (auto e = unigram.tests.offsets[c]; e < unigram.tests.offsets[c + 1]; ++e) ++counts_[unigram.tests.items[e]];
  }
}

// Which tests are wide, and the entries of every node.
void Lanes::prepare(const Support& support, std::size_t threads) {
  if (prepared_ == support.number) return;
  prepared_ = support.number;
  const auto slots = [&](std::int32_t u) { return support.unigram_offsets[u + 1] - support.unigram_offsets[u]; };
  const auto many = static_cast<std::int64_t>(std::max<std::size_t>(3, stride_ / 8));
  const auto often = static_cast<std::int64_t>(kOften * lanes_.size());
  wide_tests_.clear();
  for (std::size_t u = 0; u < counts_.size(); ++u) {
    const auto test = static_cast<std::int32_t>(u);
    if (slots(test) >= many && counts_[u] >= often) wide_tests_.push_back(test);
  }
  const std::size_t most = std::max<std::size_t>(kWideCells / stride_, 64);
  if (wide_tests_.size() > most) {
    std::stable_sort(wide_tests_.begin(), wide_tests_.end(), [&](auto a, auto b) { return counts_[a] > counts_[b]; });
    wide_tests_.resize(most);
    std::sort(wide_tests_.begin(), wide_tests_.end());
  }
  wide_weights_.resize(wide_tests_.size() * stride_);
  parallel_for(lanes_.size(), threads, [&](std::size_t l) { fill_lane(support, lanes_[l]); });
}

void Lanes::fill_lane(const Support& support, Lane& lane) const {
  const Lists& tests = contexts_->tests;
  const std::int32_t begin = chunks_[lane.begin].begin, end = chunks_[lane.end - 1].end;
  std::vector<std::int32_t> row_of(counts_.size(), -1);
  for (std::size_t i = 0; i < wide_tests_.size(); ++i) row_of[wide_tests_[i]] = static_cast<std::int32_t>(i);
  const auto entries = [&](std::int32_t node, auto use) {
    const std::int32_t c = contexts_->of[token_[node]];
    for (auto e = tests.offsets[c]; e < tests.offsets[c + 1]; ++e) use(tests.items[e], tests.value(e));
  };
  std::vector<std::int32_t> number(support.features.size(), -1);  // of a slot within the lane
  std::vector<char> met(counts_.size(), 0);
  lane.narrow_offsets.assign(1, 0);
  lane.wide_offsets.assign(1, 0);
  std::int64_t narrow = 0, wide = 0;
  for (auto node = begin; node < end; ++node) {
    entries(node, [&](std::int32_t u, float) {
      if (row_of[u] >= 0) {
        ++wide;
      } else {
        met[u] = 1;
        narrow += support.unigram_offsets[u + 1] - support.unigram_offsets[u];
      }
    });
    lane.narrow_offsets.push_back(narrow);
    lane.wide_offsets.push_back(wide);
  }
  lane.slots.clear();
  for (std::size_t u = 0; u < met.size(); ++u) {
    if (!met[u]) continue;
    for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
      number[s] = static_cast<std::int32_t>(lane.slots.size());
      lane.slots.push_back(s);
    }
  }
  const bool valued = !tests.values.empty();
  lane.narrow_slot.resize(narrow);
  lane.narrow_label.resize(narrow);
  lane.wide_row.resize(wide);
  lane.narrow_value.resize(valued ? narrow : 0);
  lane.wide_value.resize(valued ? wide : 0);
  narrow = wide = 0;
  for (auto node = begin; node < end; ++node) {
    entries(node, [&](std::int32_t u, float value) {
      if (row_of[u] >= 0) {
        if (valued) lane.wide_value[wide] = value;
        lane.wide_row[wide++] = row_of[u];
        return;
      }
      for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
        if (valued) lane.narrow_value[narrow] = value;
        lane.narrow_slot[narrow] = number[s];
        lane.narrow_label[narrow++] = static_cast<std::uint16_t>(support.cell[s]);
      }
    });
  }
}

bool Lanes::evaluate(const Weights& weights, const PairMatrix& matrix, double range, double& value, double* gradient,
                     double* pairs, std::size_t threads) {
  const Support& support = *weights.support;
  prepare(support, threads);
  std::fill(wide_weights_.begin(), wide_weights_.end(), 0.0);
  for (std::size_t i = 0; i < wide_tests_.size(); ++i) {
    const std::int32_t u = wide_tests_[i];
    for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
      wide_weights_[i * stride_ + support.cell[s]] = weights.theta[s];
    }
  }
  std::vector<double> transposed(labels_ * stride_, 0.0);
  for (std::size_t y = 0; y < labels_; ++y) {
    for (std::size_t to = 0; to < labels_; ++to) transposed[to * stride_ + y] = matrix.psi[y * stride_ + to];
  }
  parallel_for(lanes_.size(), threads, [&](std::size_t l) {
    Lane& lane = lanes_[l];
    lane.weights.resize(lane.slots.size());
    for (std::size_t i = 0; i < lane.slots.size(); ++i) lane.weights[i] = weights.theta[lane.slots[i]];
    run_lane(lane, matrix, transposed.data(), gradient != nullptr);
  });
  for (const Lane& lane : lanes_) {
    if (!(lane.range + matrix.range <= range)) return false;
  }
  for (const Lane& lane : lanes_) value += lane.value;
  if (gradient == nullptr) return true;
  for (const Lane& lane : lanes_) {
    for (std::size_t i = 0; i < lane.product.size(); ++i) pairs[i] += matrix.psi[i] * lane.product[i];
  }
  merge(support, gradient, threads);
  return true;
}

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
    const std::size_t stride = m->stride_, whole = m->labels_ / P::width * P::width, rest = m->labels_ - whole;
    const float* wide_values = from->wide_value.empty() ? nullptr : from->wide_value.data();
    double widest = 0.0;
    for (std::size_t i = 0; i < nodes; ++i) {
      double* row = to->mu.data() + i * stride;
      const auto begin = from->wide_offsets[at + i], end = from->wide_offsets[at + i + 1];
      by_stretches<P>(stride, [=]<std::size_t W>(std::size_t j) TEXTMILL_INLINED {
        add_wide<P, W>(from->wide_row.data(), wide_values, begin, end, m->wide_weights_.data() + j, stride, row + j);
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
      for (std::size_t y = 0; y < whole; y += P::width) base::exp(P::load(row + y) - P(shift)).store(row + y);
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
      const std::size_t count = end - begin, behind = d == last ? 0 : static_cast<std::size_t>(depth[d + 2]) -
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

// Adds up what the lanes have, in their order.
void Lanes::merge(const Support& support, double* gradient, std::size_t threads) const {
  const std::size_t slots = support.unigram_offsets.empty() ? 0 : static_cast<std::size_t>(support.unigram_offsets.back());
  parallel_blocks(slots, std::max<std::size_t>(slots / 16 + 1, 4096), threads, [&](std::size_t begin, std::size_t end) {
    for (const Lane& lane : lanes_) {
      auto i = static_cast<std::size_t>(
          std::lower_bound(lane.slots.begin(), lane.slots.end(), static_cast<std::int64_t>(begin)) - lane.slots.begin());
      for (; i < lane.slots.size() && static_cast<std::size_t>(lane.slots[i]) < end; ++i) {
        gradient[lane.slots[i]] += lane.gradient[i];
      }
    }
  });
  parallel_blocks(wide_tests_.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> row(stride_);
    for (std::size_t i = begin; i < end; ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      for (const Lane& lane : lanes_) {
        for (std::size_t y = 0; y < stride_; ++y) row[y] += lane.wide[i * stride_ + y];
      }
      const std::int32_t u = wide_tests_[i];
      for (auto s = support.unigram_offsets[u]; s < support.unigram_offsets[u + 1]; ++s) {
        gradient[s] += row[support.cell[s]];
      }
    }
  });
}

}  // namespace textmill::sequence
