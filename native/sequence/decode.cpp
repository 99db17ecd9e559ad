#include "sequence/decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "base/parallel.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::size_t kRoundCells = 1 << 24;  // of matrices that are alive together
constexpr std::size_t kLeastTokens = 256;

// Pair scores of a context by column: rows[offsets[y] .. offsets[y + 1]) and their scores.
struct Sparse {
  std::vector<std::int32_t> offsets, rows;
  std::vector<double> scores;
};

struct Round {
  Contexts contexts;
  std::vector<double> matrices;  // [contexts][Y][stride]
  std::vector<Sparse> sparse;    // [contexts], without offsets where the matrix is dense
};

bool sparse_matrix(const double* matrix, std::size_t Y, std::size_t stride, Sparse& out) {
  std::size_t scores = 0;
  for (std::size_t y = 0; y < Y; ++y) scores += Y - std::count(matrix + y * stride, matrix + y * stride + Y, 0.0);
  if (8 * scores > Y * Y) return false;
  out.offsets.assign(1, 0);
  for (std::size_t to = 0; to < Y; ++to) {
    for (std::size_t y = 0; y < Y; ++y) {
      if (matrix[y * stride + to] == 0.0) continue;
      out.rows.push_back(static_cast<std::int32_t>(y));
      out.scores.push_back(matrix[y * stride + to]);
    }
    out.offsets.push_back(static_cast<std::int32_t>(out.rows.size()));
  }
  return true;
}

// One step of Viterbi; the first labels win ties, as in chain.cpp.
void sparse_step(const double* before, const Sparse& pair, const double* unary, std::size_t Y, double* best,
                 std::int32_t* from) {
  const auto top = static_cast<std::int32_t>(std::max_element(before, before + Y) - before);
  for (std::size_t y = 0; y < Y; ++y) {
    const std::int32_t *row = pair.rows.data() + pair.offsets[y], *last = pair.rows.data() + pair.offsets[y + 1];
    const double* score = pair.scores.data() + pair.offsets[y];
    double most = kNever;
    std::int32_t chosen = 0;
    bool hidden = false;  // is the best label an exception?
    for (const std::int32_t* r = row; r != last; ++r) {
      hidden |= *r == top;
      const double value = before[*r] + score[r - row];
      if (most < value) most = value, chosen = *r;
    }
    double rest = before[top];
    std::int32_t other = top;
    if (hidden) {
      rest = kNever;
      const std::int32_t* r = row;
      for (std::int32_t f = 0; f < static_cast<std::int32_t>(Y); ++f) {
        if (r != last && *r == f)
          ++r;
        else if (rest < before[f])
          rest = before[f], other = f;
      }
    }
    if (most < rest || (most == rest && other < chosen)) most = rest, chosen = other;
    best[y] = unary[y] + most;
    from[y] = chosen;
  }
}

// Calls body(s, chain, round) for every sequence that is not empty; sequences of a round in parallel.
template <class Body>
void for_each_chain(const Layout& layout, const Weights& weights, const Input& input, bool sparse, std::size_t threads,
                    Body body) {
  const std::size_t S = input.offsets.size() - 1, Y = layout.labels, stride = layout.stride();
  const std::size_t limit = std::max(kLeastTokens, kRoundCells / (Y * stride));
  for (std::size_t first = 0, last = 0; first < S; first = last) {
    const std::int64_t begin = input.offsets[first];
    for (last = first + 1; last < S && static_cast<std::size_t>(input.offsets[last + 1] - begin) <= limit;) ++last;
    const auto tokens = static_cast<std::size_t>(input.offsets[last] - begin);
    Round round;
    std::vector<char> skip(tokens, 0);
    for (std::size_t s = first; s < last; ++s) {
      if (input.offsets[s] < input.offsets[s + 1]) skip[input.offsets[s] - begin] = 1;
    }
    const Rows rows{input.bigram.offsets.subspan(begin, tokens + 1), input.bigram.ids, input.bigram.values};
    round.contexts = distinct_rows(rows, skip, {});
    const std::size_t contexts = round.contexts.size();
    round.matrices.resize(contexts * Y * stride);
    round.sparse.resize(contexts);
    parallel_blocks(contexts, 8, threads, [&](std::size_t from, std::size_t to) {
      for (std::size_t c = from; c < to; ++c) {
        double* matrix = &round.matrices[c * Y * stride];
        bigram_scores(layout, weights, round.contexts.tests, c, matrix);
        if (!input.allowed.transitions.empty()) {
          for (std::size_t y = 0; y < Y; ++y) {
            for (std::size_t z = 0; z < Y; ++z) {
              if (!input.allowed.transitions[y * Y + z]) matrix[y * stride + z] = kNever;
            }
          }
        }
        if (sparse) sparse_matrix(matrix, Y, stride, round.sparse[c]);
      }
    });
    parallel_blocks(last - first, 8, threads, [&](std::size_t from, std::size_t to) {
      std::vector<double> unary, own, row(Y);
      std::vector<const double*> pairs;
      for (std::size_t s = first + from; s < first + to; ++s) {
        const auto start = static_cast<std::size_t>(input.offsets[s]),
                   T = static_cast<std::size_t>(input.offsets[s + 1]) - start;
        if (T == 0) continue;
        unary.resize(T * Y);
        pairs.assign(T, nullptr);
        if (input.normalized) own.resize(T * Y * stride);
        for (std::size_t t = 0; t < T; ++t) {
          double* u = &unary[t * Y];
          unigram_scores(layout, weights, input.unigram, start + t, u);
          const std::int32_t c = round.contexts.of[start + t - begin];
          if (t > 0) pairs[t] = &round.matrices[c * Y * stride];
          if (input.normalized) {
            if (t == 0) {
              const double norm = base::logsumexp({u, Y});
              for (std::size_t y = 0; y < Y; ++y) u[y] -= norm;
            } else {
              double* out = &own[t * Y * stride];
              for (std::size_t y = 0; y < Y; ++y) {
                for (std::size_t z = 0; z < Y; ++z) row[z] = u[z] + pairs[t][y * stride + z];
                const double norm = base::logsumexp(row);
                for (std::size_t z = 0; z < Y; ++z)
                  out[y * stride + z] = norm == kNever ? kNever : pairs[t][y * stride + z] - norm;
              }
              pairs[t] = out;
            }
          }
          if (!input.allowed.labels.empty()) {
            const std::uint8_t* may = &input.allowed.labels[(start + t) * Y];
            for (std::size_t y = 0; y < Y; ++y) {
              if (!may[y]) u[y] = kNever;
            }
          }
        }
        body(s, Chain{T, Y, unary.data(), pairs, stride}, round, start - static_cast<std::size_t>(begin));
      }
    });
  }
}

}  // namespace

void label(const Layout& layout, const Weights& weights, const Input& input, std::span<std::int32_t> labels,
           std::span<double> scores, std::size_t threads) {
  const std::size_t Y = layout.labels;
  std::fill(scores.begin(), scores.end(), 0.0);
  const bool sparse = input.sparse && !input.normalized;
  for_each_chain(layout, weights, input, sparse, threads,
                 [&](std::size_t s, const Chain& chain, const Round& round, std::size_t start) {
                   thread_local std::vector<double> best;
                   thread_local std::vector<std::int32_t> from;
                   const std::size_t T = chain.length;
                   best.resize(T * Y);
                   from.resize(T * Y);
                   const std::span<std::int32_t> path = labels.subspan(input.offsets[s], T);
                   bool any = false;
                   for (std::size_t t = 1; t < T && sparse && !any; ++t)
                     any = !round.sparse[round.contexts.of[start + t]].offsets.empty();
                   if (!any) {
                     scores[s] = viterbi(chain, path, best, from);
                   } else {
                     std::copy_n(chain.unary, Y, best.data());
                     for (std::size_t t = 1; t < T; ++t) {
                       const Sparse& pair = round.sparse[round.contexts.of[start + t]];
                       if (pair.offsets.empty())
                         best_step(&best[(t - 1) * Y], chain.pairs[t], chain.stride, chain.unary + t * Y, Y,
                                   &best[t * Y], &from[t * Y]);
                       else
                         sparse_step(&best[(t - 1) * Y], pair, chain.unary + t * Y, Y, &best[t * Y], &from[t * Y]);
                     }
                     scores[s] = trace_back(chain, path, best, from);
                   }
                   if (scores[s] == kNever) std::fill(path.begin(), path.end(), -1);
                 });
}

std::vector<Ranked> best_labels(const Layout& layout, const Weights& weights, const Input& input, std::size_t n,
                                std::size_t threads) {
  std::vector<Ranked> found(input.offsets.size() - 1, Ranked{{}, 0.0});
  for_each_chain(layout, weights, input, false, threads,
                 [&](std::size_t s, const Chain& chain, const Round&, std::size_t) {
                   std::vector<double> a(chain.length * chain.labels);
                   found[s] = {best_paths(chain, n), forward(chain, a)};
                 });
  return found;
}

void label_probabilities(const Layout& layout, const Weights& weights, const Input& input,
                         std::span<double> probabilities, std::span<double> log_z, std::size_t threads) {
  std::fill(log_z.begin(), log_z.end(), 0.0);
  const std::size_t Y = layout.labels;
  for_each_chain(layout, weights, input, false, threads,
                 [&](std::size_t s, const Chain& chain, const Round&, std::size_t) {
                   std::vector<double> a(chain.length * Y), b(chain.length * Y);
                   log_z[s] = forward(chain, a);
                   backward(chain, b);
                   double* out = &probabilities[input.offsets[s] * Y];
                   for (std::size_t i = 0; i < chain.length * Y; ++i)
                     out[i] = log_z[s] == kNever ? 0.0 : std::exp(a[i] + b[i] - log_z[s]);
                 });
}

void conditionals(const Layout& layout, const Weights& weights, const Input& input, std::span<double> out,
                  std::size_t threads) {
  std::fill(out.begin(), out.end(), 0.0);
  const std::size_t Y = layout.labels;
  for_each_chain(
      layout, weights, input, false, threads, [&](std::size_t s, const Chain& chain, const Round&, std::size_t) {
        std::vector<double> b(chain.length * Y), row(Y);
        backward(chain, b);
        for (std::size_t y = 0; y < Y; ++y) row[y] = chain.unary[y] + b[y];
        const double log_z = base::logsumexp(row);
        if (log_z == kNever) return;
        double* to = &out[static_cast<std::size_t>(input.offsets[s]) * Y * Y];
        for (std::size_t y = 0; y < Y * Y; ++y) to[y] = std::exp(row[y % Y] - log_z);
        for (std::size_t t = 1; t < chain.length; ++t) {
          to += Y * Y;
          for (std::size_t x = 0; x < Y; ++x) {
            const double norm = b[(t - 1) * Y + x];
            if (norm == kNever) continue;
            for (std::size_t y = 0; y < Y; ++y)
              to[x * Y + y] =
                  std::exp(chain.pairs[t][x * chain.stride + y] + chain.unary[t * Y + y] + b[t * Y + y] - norm);
          }
        }
      });
}

}  // namespace textmill::sequence
