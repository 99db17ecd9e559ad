#include "sequence/online.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/math.h"
#include "base/simd.h"
#include "sequence/chain.h"
#include "sequence/kernels.h"

namespace textmill::sequence {
namespace {

using base::with_packs;

constexpr double kLarge = 300.0;  // a score beyond is taken out before exp

// Tests of a sequence with the tokens where they are true, equal tests together.
struct Occurrence {
  std::int32_t test;
  std::int32_t t;
  float value;
};

// Fills `out` with the tests of the tokens [first, length) of a sequence; `order` is where their entries stand when equal
// tests are together, found at the first visit (`ordered` false) and read from then on.
void collect(const Rows& rows, std::size_t begin, std::size_t first, std::size_t length, bool ordered,
             std::vector<std::int32_t>& order, std::vector<std::int32_t>& tokens, std::vector<Occurrence>& out) {
  out.clear();
  if (first >= length) return;
  const std::int64_t base = rows.offsets[begin + first];
  const auto entries = static_cast<std::size_t>(rows.offsets[begin + length] - base);
  tokens.resize(entries);
  for (std::size_t t = first; t < length; ++t) {
    for (auto e = rows.offsets[begin + t]; e < rows.offsets[begin + t + 1]; ++e) {
      tokens[e - base] = static_cast<std::int32_t>(t);
    }
  }
  std::int32_t* place = order.data() + base;
  const std::int32_t* ids = rows.ids.data() + base;
  if (!ordered) {
    std::iota(place, place + entries, 0);
    std::stable_sort(place, place + entries, [=](std::int32_t a, std::int32_t b) { return ids[a] < ids[b]; });
  }
  out.reserve(entries);
  for (std::size_t k = 0; k < entries; ++k) {
    const std::int32_t e = place[k];
    out.push_back({ids[e], tokens[e], rows.values.empty() ? 1.0F : rows.values[base + e]});
  }
}

// Calls each(first, last) for stretches of one test.
template <class Each>
void by_test(const std::vector<Occurrence>& all, Each each) {
  for (std::size_t i = 0, j = 0; i < all.size(); i = j) {
    for (j = i; j < all.size() && all[j].test == all[i].test;) ++j;
    each(&all[i], &all[j]);
  }
}

// The weight after the penalty, and what it has received.
template <class P>
struct Clipped {
  P weight, received;
};

template <class P>
TEXTMILL_INLINED inline Clipped<P> clipped(P z, P received, P penalty) {
  const P zero = P(0.0);
  const P down = max(z - (penalty + received), zero), up = zero - max(zero - (z + (penalty - received)), zero);
  const P weight = select(zero < z, down, select(z < zero, up, zero));
  return {weight, received + (weight - z)};
}

// w <- w - taken, clipped if q is not null, which follows; for W packs from `at`, or the first `rest` lanes of one.
template <class P, std::size_t W, class Taken>
TEXTMILL_INLINED inline void take_packs(double* w, double* q, std::size_t at, std::size_t rest, double penalty,
                                        Taken taken) {
  P away[W];
  taken.template operator()<W>(at, away);
  for (std::size_t j = 0; j < W; ++j) {
    double *weight = w + at + j * P::width, *received = q == nullptr ? nullptr : q + at + j * P::width;
    const P z = (rest == 0 ? P::load(weight) : P::load(weight, rest, 0.0)) - away[j];
    Clipped<P> now{z, z};
    if (received != nullptr) {
      now = clipped(z, rest == 0 ? P::load(received) : P::load(received, rest, 0.0), P(penalty));
      if (rest == 0)
        now.received.store(received);
      else
        now.received.store(received, rest);
    }
    if (rest == 0)
      now.weight.store(weight);
    else
      now.weight.store(weight, rest);
  }
}

// The same for `size` weights. taken.operator()<W>(at, packs) fills W packs of what is taken from the weights at `at`.
template <class P, class Taken>
TEXTMILL_INLINED inline void take(double* w, double* q, std::size_t size, double penalty, Taken taken) {
  const std::size_t whole = size - size % P::width;
  std::size_t at = 0;
  for (; at + 4 * P::width <= whole; at += 4 * P::width) take_packs<P, 4>(w, q, at, 0, penalty, taken);
  for (; at < whole; at += P::width) take_packs<P, 1>(w, q, at, 0, penalty, taken);
  if (whole < size) take_packs<P, 1>(w, q, whole, size - whole, penalty, taken);
}

// Scratch of one sequence: potentials and the vectors of the recursion.
struct Scratch {
  std::vector<Occurrence> unigram, bigram;
  std::vector<std::int32_t> tokens;  // of the entries of a sequence
  std::vector<double> mu, matrices, alpha, beta, v, coefficient, marginal, taken;
  std::vector<std::pair<const double*, double>> blocks;  // of the bigram tests of a token, with their values
};

// out [Y][stride] = exp(sum of value * block - shift), for blocks [Y][Y]; returns the largest sum.
// What is behind the last label is left as it is.
double pair_potentials(std::span<const std::pair<const double*, double>> blocks, std::size_t labels, std::size_t stride,
                       double shift, double* out) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    const std::size_t whole = labels - labels % P::width, rest = labels - whole, count = blocks.size();
    const auto* block = blocks.data();
    P top = P(-std::numeric_limits<double>::infinity());
    const P by = P(shift);
    for (std::size_t y = 0; y < labels; ++y) {
      double* row = out + y * stride;
      const std::size_t at = y * labels;
      std::size_t z = 0;
      for (; z + 4 * P::width <= whole; z += 4 * P::width) {
        P total[4] = {P(0.0), P(0.0), P(0.0), P(0.0)};
        for (std::size_t k = 0; k < count; ++k) {
          const double* from = block[k].first + at + z;
          const P value = P(block[k].second);
          for (std::size_t j = 0; j < 4; ++j) total[j] = multiply_add(value, P::load(from + j * P::width), total[j]);
        }
        for (std::size_t j = 0; j < 4; ++j) {
          top = max(top, total[j]);
          base::exp(total[j] - by).store(row + z + j * P::width);
        }
      }
      for (; z < whole; z += P::width) {
        P total = P(0.0);
        for (std::size_t k = 0; k < count; ++k) {
          total = multiply_add(P(block[k].second), P::load(block[k].first + at + z), total);
        }
        top = max(top, total);
        base::exp(total - by).store(row + z);
      }
      if (rest > 0) {
        P total = P(0.0);
        for (std::size_t k = 0; k < count; ++k) {
          const double* from = block[k].first + at + whole;
          total = multiply_add(P(block[k].second), P::load(from, rest, from[0]), total);
        }
        top = max(top, total);
        base::exp(total - by).store(row + whole, rest);
      }
    }
    return largest(top);
  });
}

// Forward and backward over the potentials in the scratch: alpha, beta, v, and the coefficients of marginals, 1 / n_t,
// and of pairs, 1 / (c_t n_t). Returns log Z without the largest scores that were taken out.
double recurse(Scratch& s, std::size_t T, std::size_t Y, std::size_t stride) {
  s.alpha.resize(T * stride);
  s.beta.assign(T * stride, 0.0);
  s.v.resize(T * stride);
  s.coefficient.resize(T);
  s.marginal.resize(T);
  double *alpha = s.alpha.data(), *beta = s.beta.data(), *v = s.v.data(), *coefficient = s.coefficient.data();
  double* marginal = s.marginal.data();
  const double *mu = s.mu.data(), *matrices = s.matrices.empty() ? nullptr : s.matrices.data();
  return with_packs([=]<class P>() TEXTMILL_INLINED -> double {
    double log_z = 0.0;
    for (std::size_t t = 0; t < T; ++t) {
      double* row = alpha + t * stride;
      if (t > 0 && matrices != nullptr) {
        const double* a[1] = {alpha + (t - 1) * stride};
        double* out[1] = {row};
        times_matrix<P, 1>(a, matrices + t * Y * stride, Y, stride, out);
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < stride; y += P::width) {
        const P value = t > 0 && matrices != nullptr ? P::load(row + y) * P::load(mu + t * stride + y)
                                                     : P::load(mu + t * stride + y);
        total = total + value;
        value.store(row + y);
      }
      const double mass = sum(total);
      coefficient[t] = mass;
      log_z += std::log(mass);
      for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * P(1.0 / mass)).store(row + y);
    }
    for (std::size_t t = T; t-- > 0;) {
      double* row = beta + t * stride;
      if (t + 1 == T || matrices == nullptr) {
        for (std::size_t y = 0; y < stride; y += P::width) P(1.0).store(row + y);
      } else {
        const double* next[1] = {v + (t + 1) * stride};
        double* out[1] = {row};
        matrix_times<P, 1>(matrices + (t + 1) * Y * stride, next, Y, stride, out);
        P total = P(0.0);
        for (std::size_t y = 0; y < stride; y += P::width) total = total + P::load(row + y);
        const P by = P(1.0 / sum(total));
        for (std::size_t y = 0; y < stride; y += P::width) (P::load(row + y) * by).store(row + y);
      }
      P total = P(0.0);
      for (std::size_t y = 0; y < stride; y += P::width) {
        (P::load(mu + t * stride + y) * P::load(row + y)).store(v + t * stride + y);
        total = multiply_add(P::load(alpha + t * stride + y), P::load(row + y), total);
      }
      const double inverse = 1.0 / sum(total);
      marginal[t] = inverse;
      coefficient[t] = inverse / coefficient[t];
    }
    return log_z;
  });
}

}  // namespace

double sgd_steps(const Labeled& data, const Rates& rates, std::span<const std::int64_t> order, std::span<double> w,
                 std::span<double> q, std::span<double> seen, Steps& steps, Groups& groups) {
  const Layout& layout = data.layout;
  const std::size_t Y = layout.labels, stride = layout.stride(), U = layout.unigrams, blocks = U * Y;
  Scratch s, within;  // the second for the paths through the states of the labels
  const bool hidden = !data.owner.empty();
  double loss = 0.0;
  const bool pairs = layout.bigrams > 0;
  groups.ordered.resize(data.offsets.size() - 1, 0);
  groups.unigram.resize(data.unigram.ids.size());
  if (pairs) groups.bigram.resize(data.bigram.ids.size());
  for (const std::int64_t i : order) {
    const auto begin = static_cast<std::size_t>(data.offsets[i]),
               T = static_cast<std::size_t>(data.offsets[i + 1]) - begin;
    const double eta = rates.alpha > 0.0 ? rates.eta0 * std::pow(rates.alpha, steps.step / rates.sequences)
                                         : rates.eta0 / (1.0 + rates.eta0 * rates.l2 * steps.step / rates.sequences);
    steps.step += 1.0;
    steps.penalty += eta * rates.l1 / rates.sequences;
    const double before = steps.decay;
    steps.decay *= 1.0 - eta * rates.l2 / rates.sequences;
    if (T == 0) continue;
    const double weight = data.weights.empty() ? 1.0 : data.weights[i];
    const bool ordered = groups.ordered[i] != 0;
    collect(data.unigram, begin, 0, T, ordered, groups.unigram, s.tokens, s.unigram);
    if (pairs) collect(data.bigram, begin, 1, T, ordered, groups.bigram, s.tokens, s.bigram);
    groups.ordered[i] = 1;
    // decay that is owed, then potentials
    s.mu.assign(T * stride, 0.0);
    double score = 0.0;
    by_test(s.unigram, [&](const Occurrence* first, const Occurrence* last) {
      double* block = &w[first->test * Y];
      if (double& then = seen[first->test]; then != before) {
        for (std::size_t y = 0; y < Y; ++y) block[y] *= before / then;
        then = before;
      }
      for (; first != last; ++first) {
        double* row = &s.mu[first->t * stride];
        for (std::size_t y = 0; y < Y; ++y) row[y] += first->value * block[y];
      }
    });
    for (std::size_t t = 0; t < T && !hidden; ++t) score += s.mu[t * stride + data.labels[begin + t]];
    double shift = 0.0;
    for (std::size_t t = 0; t < T; ++t) {
      double most;
      exponentiate(&s.mu[t * stride], 1, Y, stride, &most, true);
      shift += most;
    }
    if (pairs) {
      by_test(s.bigram, [&](const Occurrence* first, const Occurrence*) {
        double* block = &w[blocks + first->test * Y * Y];
        if (double& then = seen[U + first->test]; then != before) {
          for (std::size_t c = 0; c < Y * Y; ++c) block[c] *= before / then;
          then = before;
        }
      });
      if (s.matrices.size() < T * Y * stride) s.matrices.resize(T * Y * stride, 0.0);
      for (std::size_t t = 1; t < T; ++t) {
        const std::size_t cell = hidden ? 0 : data.labels[begin + t - 1] * Y + data.labels[begin + t];
        s.blocks.clear();
        for (auto e = data.bigram.offsets[begin + t]; e < data.bigram.offsets[begin + t + 1]; ++e) {
          const double value = data.bigram.values.empty() ? 1.0 : data.bigram.values[e];
          s.blocks.emplace_back(&w[blocks + data.bigram.ids[e] * Y * Y], value);
          if (!hidden) score += value * s.blocks.back().first[cell];
        }
        double* matrix = &s.matrices[t * Y * stride];
        const double most = pair_potentials(s.blocks, Y, stride, 0.0, matrix);
        if (std::abs(most) > kLarge) {
          pair_potentials(s.blocks, Y, stride, most, matrix);
          shift += most;
        }
      }
    }
    const double log_z = recurse(s, T, Y, stride) + shift;
    if (!(log_z < std::numeric_limits<double>::infinity() && log_z > -std::numeric_limits<double>::infinity())) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (hidden) {
      within.mu = s.mu;
      for (std::size_t t = 0; t < T; ++t) {
        for (std::size_t y = 0; y < Y; ++y) {
          if (data.owner[y] != data.labels[begin + t]) within.mu[t * stride + y] = 0.0;
        }
      }
      std::swap(within.matrices, s.matrices);
      score = recurse(within, T, Y, stride) + shift;
      std::swap(within.matrices, s.matrices);
    }
    loss += weight * (log_z - score);
    // one pass over the block of every test: observed in, expected out, penalty
    const double pace = eta * weight, penalty = steps.penalty, now = steps.decay;
    const bool penalized = rates.l1 > 0.0;
    by_test(s.unigram, [&](const Occurrence* first, const Occurrence* last) {
      double* block = &w[first->test * Y];
      s.taken.assign(stride, 0.0);
      for (; first != last; ++first) {
        const double *a = &s.alpha[first->t * stride], *b = &s.beta[first->t * stride];
        const double by = pace * first->value * s.marginal[first->t];
        for (std::size_t y = 0; y < Y; ++y) s.taken[y] += by * a[y] * b[y];
        if (!hidden) {
          s.taken[data.labels[begin + first->t]] -= pace * first->value;
          continue;
        }
        const double *c = &within.alpha[first->t * stride], *d = &within.beta[first->t * stride];
        const double back = pace * first->value * within.marginal[first->t];
        for (std::size_t y = 0; y < Y; ++y) s.taken[y] -= back * c[y] * d[y];
      }
      const auto test = first[-1].test;
      if (now != before) {
        for (std::size_t y = 0; y < Y; ++y) block[y] *= now / before;
      }
      seen[test] = now;
      double *received = penalized ? &q[test * Y] : nullptr, *taken = s.taken.data();
      with_packs([=]<class P>() TEXTMILL_INLINED {
        take<P>(block, received, Y, penalty, [=]<std::size_t W>(std::size_t at, P* away) TEXTMILL_INLINED {
          for (std::size_t j = 0; j < W; ++j) away[j] = P::load(taken + at + j * P::width);
        });
      });
    });
    if (!pairs) continue;
    for (std::size_t t = 1; t < T; ++t) {
      for (std::size_t y = 0; y < stride; ++y) s.v[t * stride + y] *= pace * s.coefficient[t];
      for (std::size_t y = 0; y < stride && hidden; ++y) within.v[t * stride + y] *= pace * within.coefficient[t];
    }
    by_test(s.bigram, [&](const Occurrence* first, const Occurrence* last) {
      const auto test = first->test;
      double* block = &w[blocks + test * Y * Y];
      double* received = penalized ? &q[blocks + test * Y * Y] : nullptr;
      const double again = now / before;
      if (again != 1.0) {
        for (std::size_t c = 0; c < Y * Y; ++c) block[c] *= again;
      }
      seen[U + test] = now;
      for (const Occurrence* o = first; o != last && !hidden; ++o) {
        block[data.labels[begin + o->t - 1] * Y + data.labels[begin + o->t]] += pace * o->value;
      }
      const double *alpha = s.alpha.data(), *v = s.v.data(), *matrices = s.matrices.data();
      const double *inner = hidden ? within.alpha.data() : nullptr, *inner_v = hidden ? within.v.data() : nullptr;
      with_packs([=]<class P>() TEXTMILL_INLINED {
        for (std::size_t y = 0; y < Y; ++y) {
          take<P>(block + y * Y, received == nullptr ? nullptr : received + y * Y, Y, penalty,
                  [=]<std::size_t W>(std::size_t at, P* away) TEXTMILL_INLINED {
                    for (std::size_t j = 0; j < W; ++j) away[j] = P(0.0);
                    for (const Occurrence* o = first; o != last; ++o) {
                      const std::size_t t = o->t;
                      const double *psi = matrices + (t * Y + y) * stride + at, *behind = v + t * stride + at;
                      const P by = P(o->value * alpha[(t - 1) * stride + y]);
                      for (std::size_t j = 0; j < W; ++j) {
                        const P pair = P::load(psi + j * P::width) * P::load(behind + j * P::width);
                        away[j] = multiply_add(by, pair, away[j]);
                      }
                      if (inner == nullptr) continue;
                      const P back = P(-o->value * inner[(t - 1) * stride + y]);
                      for (std::size_t j = 0; j < W; ++j) {
                        const P own = P::load(inner_v + t * stride + at + j * P::width);
                        away[j] = multiply_add(back, P::load(psi + j * P::width) * own, away[j]);
                      }
                    }
                  });
        }
      });
    });
  }
  return loss;
}

void sgd_flush(const Layout& layout, std::span<double> w, std::span<double> q, std::span<double> seen,
               const Steps& steps) {
  const std::size_t Y = layout.labels;
  const auto settle = [&](std::size_t test, std::size_t first, std::size_t size) {
    double *block = &w[first], *received = q.empty() ? nullptr : &q[first];
    const double by = steps.decay / seen[test], penalty = steps.penalty;
    seen[test] = steps.decay;
    if (by != 1.0) {
      for (std::size_t i = 0; i < size; ++i) block[i] *= by;
    }
    if (received == nullptr) return;
    with_packs([=]<class P>() TEXTMILL_INLINED {
      take<P>(block, received, size, penalty, []<std::size_t W>(std::size_t, P* away) TEXTMILL_INLINED {
        for (std::size_t j = 0; j < W; ++j) away[j] = P(0.0);
      });
    });
  };
  for (std::size_t u = 0; u < layout.unigrams; ++u) settle(u, u * Y, Y);
  for (std::size_t b = 0; b < layout.bigrams; ++b) settle(layout.unigrams + b, layout.unigrams * Y + b * Y * Y, Y * Y);
}

std::size_t perceptron_steps(const Labeled& data, std::span<const std::int64_t> order, std::span<double> w,
                             std::span<double> updates, Steps& steps) {
  const Layout& layout = data.layout;
  const std::size_t Y = layout.labels, stride = layout.stride(), first = layout.unigrams * Y;
  std::vector<double> unary, matrices, best;
  std::vector<std::int32_t> from, path;
  std::vector<const double*> pairs;
  std::size_t wrong = 0;
  for (const std::int64_t i : order) {
    const auto begin = static_cast<std::size_t>(data.offsets[i]),
               T = static_cast<std::size_t>(data.offsets[i + 1]) - begin;
    steps.step += 1.0;
    if (T == 0) continue;
    const Weights weights{w, nullptr};
    unary.resize(T * Y);
    matrices.assign(T * Y * stride, 0.0);
    pairs.resize(T);
    for (std::size_t t = 0; t < T; ++t) {
      unigram_scores(layout, weights, data.unigram, begin + t, &unary[t * Y]);
      pairs[t] = &matrices[t * Y * stride];
      if (t == 0) continue;
      for (auto e = data.bigram.offsets[begin + t]; e < data.bigram.offsets[begin + t + 1]; ++e) {
        const double value = data.bigram.values.empty() ? 1.0 : data.bigram.values[e];
        const double* block = &w[first + data.bigram.ids[e] * Y * Y];
        for (std::size_t y = 0; y < Y; ++y) {
          for (std::size_t z = 0; z < Y; ++z) matrices[(t * Y + y) * stride + z] += value * block[y * Y + z];
        }
      }
    }
    best.resize(T * Y);
    from.resize(T * Y);
    path.resize(T);
    viterbi(Chain{T, Y, unary.data(), pairs, stride}, path, best, from);
    const double weight = data.weights.empty() ? 1.0 : data.weights[i];
    const auto add = [&](std::size_t k, double by) {
      w[k] += by;
      updates[k] += by * steps.step;
    };
    for (std::size_t t = 0; t < T; ++t) {
      const std::int32_t gold = data.labels[begin + t], guess = path[t];
      wrong += gold != guess;
      if (gold != guess) {
        for (auto e = data.unigram.offsets[begin + t]; e < data.unigram.offsets[begin + t + 1]; ++e) {
          const double by = weight * (data.unigram.values.empty() ? 1.0 : data.unigram.values[e]);
          add(data.unigram.ids[e] * Y + gold, by);
          add(data.unigram.ids[e] * Y + guess, -by);
        }
      }
      if (t == 0 || (gold == guess && data.labels[begin + t - 1] == path[t - 1])) continue;
      for (auto e = data.bigram.offsets[begin + t]; e < data.bigram.offsets[begin + t + 1]; ++e) {
        const double by = weight * (data.bigram.values.empty() ? 1.0 : data.bigram.values[e]);
        const std::size_t block = first + data.bigram.ids[e] * Y * Y;
        add(block + data.labels[begin + t - 1] * Y + gold, by);
        add(block + path[t - 1] * Y + guess, -by);
      }
    }
  }
  return wrong;
}

}  // namespace textmill::sequence
