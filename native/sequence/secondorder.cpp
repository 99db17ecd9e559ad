#include "sequence/secondorder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

using base::parallel_blocks;
using base::parallel_for;

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kRange = 150.0;
constexpr std::size_t kLaneTokens = 2048;  // part of the result, as what follows
constexpr std::size_t kMostLanes = 16;
constexpr std::size_t kLaneCells = 1 << 25;  // of the gradients of all lanes
constexpr std::size_t kFewCells = 1 << 20;   // of contexts whose expectations are added up before they are scattered

struct Linear {
  static constexpr double zero = 0.0, one = 1.0;
  static double add(double a, double b) { return a + b; }
  static double multiply(double a, double b) { return a * b; }
  static double over(double a, double by) { return a / by; }
  static double logarithm(double a) { return std::log(a); }
  static double probability(double a) { return a; }
  static const double* arcs(const Arcs& arcs) { return arcs.psi; }
  static double shift(const Arcs& arcs) { return arcs.shift; }
};
struct Logarithmic {
  static constexpr double zero = kNever, one = 0.0;
  static double add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == kNever ? a : a + std::log1p(std::exp(b - a));
  }
  static double multiply(double a, double b) { return a + b; }
  static double over(double a, double by) { return a - by; }
  static double logarithm(double a) { return a; }
  static double probability(double a) { return std::exp(a); }
  static const double* arcs(const Arcs& arcs) { return arcs.scores; }
  static double shift(const Arcs&) { return 0.0; }
};

// What a lane keeps: vectors of one sequence, expectations of arcs.
struct Lane {
  std::vector<double> phi, alpha, v, triple;
  std::vector<double> sums;      // [contexts][N * stride], or empty: triples are scattered token by token
  std::vector<double> gradient;  // of arc features
  double value = 0.0;
};

struct Job {
  const States* states;
  const TrellisInput* input;
  const Contexts* contexts;
};

// Adds `by` times the expectation of a token's arcs to the gradient of its tests.
void scatter(const Job& job, std::size_t context, const double* triple, double* gradient) {
  const std::size_t H = job.states->states, stride = job.states->stride(), B = job.input->layout.bigrams;
  const Lists& tests = job.contexts->tests;
  for (auto e = tests.offsets[context]; e < tests.offsets[context + 1]; ++e) {
    const auto test = static_cast<std::size_t>(tests.items[e]);
    const double value = tests.value(e);
    for (std::size_t node = 0; node < H * H; ++node) {
      double* to = gradient + (test < B ? (test * H + node % H) * H : B * H * H + ((test - B) * H * H + node) * H);
      for (std::size_t c = 0; c < H; ++c) to[c] += value * triple[node * stride + c];
    }
  }
}

// One pass over a sequence; with labels only their states count. Returns log Z, and with `expect` adds by * marginals.
template <class A>
double pass(const Job& job, const Trellis& trellis, const std::int32_t* labels, double by, bool expect, Lane& lane,
            const std::int32_t* context, double* marginals) {
  const States& states = *job.states;
  const std::size_t H = states.states, N = H * H, T = trellis.length, stride = states.stride();
  const auto from_state = [&](std::size_t t) {
    return labels == nullptr || labels[t] < 0 ? std::size_t{0} : states.first[static_cast<std::size_t>(labels[t])];
  };
  const auto to_state = [&](std::size_t t) {
    return labels == nullptr || labels[t] < 0 ? H : states.first[static_cast<std::size_t>(labels[t]) + 1];
  };
  lane.phi.assign(T * H, A::zero);
  lane.alpha.assign(T * N, A::zero);
  lane.v.assign(T * N, A::zero);
  std::vector<double> scale(T);
  double log_z = 0.0;
  for (std::size_t t = 0; t < T; ++t) {
    const double* u = trellis.unary + t * H;
    const double most = *std::max_element(u, u + H);
    const bool linear = A::zero == 0.0;
    for (std::size_t c = from_state(t); c < to_state(t); ++c)
      lane.phi[t * H + c] = linear ? std::exp(u[c] - most) : u[c];
    if (linear) log_z += most;
    double* now = &lane.alpha[t * N];
    if (t == 0) {
      std::copy_n(&lane.phi[0], H, now);
    } else {
      const double *before = &lane.alpha[(t - 1) * N], *arcs = A::arcs(*trellis.arcs[t]);
      log_z += A::shift(*trellis.arcs[t]);
      for (std::size_t node = 0; node < N; ++node) {
        const double mass = before[node];
        if (mass == A::zero) continue;
        const double* row = arcs + node * stride;
        double* to = now + states.base(node);
        for (std::size_t c = from_state(t); c < to_state(t); ++c) to[c] = A::add(to[c], A::multiply(mass, row[c]));
      }
      for (std::size_t node = 0; node < N; ++node) now[node] = A::multiply(now[node], lane.phi[t * H + node % H]);
    }
    double total = A::zero;
    for (std::size_t node = 0; node < N; ++node) total = A::add(total, now[node]);
    scale[t] = total;
    log_z += A::logarithm(total);
    for (std::size_t node = 0; node < N; ++node) now[node] = A::over(now[node], total);
  }
  if (!expect) return log_z;
  std::vector<double> beta(N, A::one), next(N);
  for (std::size_t t = T; t-- > 0;) {
    const double* alpha = &lane.alpha[t * N];
    double *v = &lane.v[t * N], *out = marginals + t * H;
    for (std::size_t node = 0; node < N; ++node) {
      if (alpha[node] == A::zero) continue;
      out[node % H] += by * A::probability(A::multiply(alpha[node], beta[node]));
      v[node] = A::over(A::multiply(lane.phi[t * H + node % H], beta[node]), scale[t]);
    }
    if (t == 0) break;
    const double *before = &lane.alpha[(t - 1) * N], *arcs = A::arcs(*trellis.arcs[t]);
    double* triple =
        lane.sums.empty() ? lane.triple.data() : &lane.sums[static_cast<std::size_t>(context[t]) * N * stride];
    for (std::size_t node = 0; node < N; ++node) {
      double total = A::zero;
      if (before[node] != A::zero) {
        const double *row = arcs + node * stride, *behind = v + states.base(node);
        for (std::size_t c = from_state(t); c < to_state(t); ++c) {
          const double arc = A::multiply(row[c], behind[c]);
          total = A::add(total, arc);
          triple[node * stride + c] += by * A::probability(A::multiply(before[node], arc));
        }
      }
      next[node] = total;
    }
    if (lane.sums.empty()) {
      scatter(job, static_cast<std::size_t>(context[t]), triple, lane.gradient.data());
      std::fill_n(triple, N * stride, 0.0);
    }
    std::swap(beta, next);
  }
  return log_z;
}

}  // namespace

SecondOrder::SecondOrder(States states, TrellisInput input, std::span<const std::int32_t> labels,
                         std::span<const double> weights)
    : states_(std::move(states)), input_(input), labels_(labels), weights_(weights) {
  const std::size_t S = input_.offsets.size() - 1, T = static_cast<std::size_t>(input_.offsets.back());
  std::vector<char> skip(T, 0);
  for (std::size_t s = 0; s < S; ++s) {
    if (input_.offsets[s] < input_.offsets[s + 1]) skip[input_.offsets[s]] = 1;
  }
  contexts_ = distinct_rows(input_.arcs, skip, {});
  Lists rows;
  rows.offsets.assign(input_.unigram.offsets.begin(), input_.unigram.offsets.end());
  rows.items.assign(input_.unigram.ids.begin(), input_.unigram.ids.end());
  rows.values.assign(input_.unigram.values.begin(), input_.unigram.values.end());
  tokens_of_ = transpose(rows, input_.layout.unigrams);
  const std::size_t arcs = size() - input_.layout.unigrams * states_.states;
  std::size_t lanes = std::clamp<std::size_t>(T / kLaneTokens, 1, kMostLanes);
  lanes = std::clamp<std::size_t>(kLaneCells / std::max<std::size_t>(arcs, 1), 1, lanes);
  lanes_.push_back(0);
  for (std::size_t l = 1; l <= lanes; ++l) {
    const auto limit = static_cast<std::int64_t>(T * l / lanes);
    const auto at = std::lower_bound(input_.offsets.begin(), input_.offsets.end(), limit) - input_.offsets.begin();
    lanes_.push_back(l == lanes ? S : std::min<std::size_t>(S, static_cast<std::size_t>(at)));
  }
}

double SecondOrder::evaluate(std::span<const double> theta, std::span<double> gradient, std::size_t threads) {
  const std::size_t H = states_.states, N = H * H, stride = states_.stride(), cells = N * stride;
  const std::size_t contexts = contexts_.size(), U = input_.layout.unigrams;
  const bool expect = !gradient.empty();
  TrellisInput input = input_;
  input.weights = {theta, nullptr};
  std::vector<double> scores(contexts * cells), psi(contexts * cells);
  std::vector<Arcs> arcs(contexts);
  parallel_blocks(contexts, 4, threads, [&](std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c) {
      arc_scores(states_, input, contexts_.tests, c, &scores[c * cells]);
      std::copy_n(&scores[c * cells], cells, &psi[c * cells]);
      arcs[c] = {&scores[c * cells], &psi[c * cells], nullptr, 0.0};
      const Extent extent = exponentiate(&psi[c * cells], N, H, stride, &arcs[c].shift, true);
      if (!(extent.most - extent.least <= kRange)) arcs[c].psi = nullptr;
    }
  });
  const std::size_t lanes = lanes_.size() - 1, arc_features = size() - U * H;
  std::vector<Lane> lane(lanes);
  if (expect) marginals_.assign(static_cast<std::size_t>(input.offsets.back()) * H, 0.0);
  const Job job{&states_, &input, &contexts_};
  parallel_for(lanes, threads, [&](std::size_t l) {
    Lane& mine = lane[l];
    mine.triple.assign(cells, 0.0);
    if (expect) mine.gradient.assign(arc_features, 0.0);
    if (expect && contexts * cells <= kFewCells) mine.sums.assign(contexts * cells, 0.0);
    std::vector<double> unary;
    std::vector<const Arcs*> steps;
    for (std::size_t s = lanes_[l]; s < lanes_[l + 1]; ++s) {
      const auto begin = static_cast<std::size_t>(input.offsets[s]);
      const std::size_t T = static_cast<std::size_t>(input.offsets[s + 1]) - begin;
      if (T == 0) continue;
      unary.resize(T * H);
      steps.assign(T, nullptr);
      bool wide = false;
      for (std::size_t t = 0; t < T; ++t) {
        unigram_scores(input.layout, input.weights, input.unigram, begin + t, &unary[t * H]);
        const auto [least, most] = std::minmax_element(&unary[t * H], &unary[t * H] + H);
        wide = wide || *most - *least > kRange;
        if (t == 0) continue;
        steps[t] = &arcs[static_cast<std::size_t>(contexts_.of[begin + t])];
        wide = wide || steps[t]->psi == nullptr;
      }
      const Trellis trellis{&states_, T, unary.data(), steps.data(), wide};
      const double weight = weights_.empty() ? 1.0 : weights_[s];
      const std::int32_t *context = contexts_.of.data() + begin, *labels = labels_.data() + begin;
      double* marginals = expect ? &marginals_[begin * H] : nullptr;
      const auto run = [&]<class A>() {
        const double free = pass<A>(job, trellis, nullptr, weight, expect, mine, context, marginals);
        return free - pass<A>(job, trellis, labels, -weight, expect, mine, context, marginals);
      };
      mine.value += weight * (wide ? run.template operator()<Logarithmic>() : run.template operator()<Linear>());
    }
    if (!expect || mine.sums.empty()) return;
    for (std::size_t c = 0; c < contexts; ++c) scatter(job, c, &mine.sums[c * cells], mine.gradient.data());
  });
  double value = 0.0;
  for (const Lane& one : lane) value += one.value;
  if (!expect) return value;
  parallel_blocks(U, 64, threads, [&](std::size_t from, std::size_t to) {
    for (std::size_t u = from; u < to; ++u) {
      for (auto e = tokens_of_.offsets[u]; e < tokens_of_.offsets[u + 1]; ++e) {
        const double by = tokens_of_.value(e), *row = &marginals_[static_cast<std::size_t>(tokens_of_.items[e]) * H];
        for (std::size_t h = 0; h < H; ++h) gradient[u * H + h] += by * row[h];
      }
    }
  });
  parallel_blocks(arc_features, 4096, threads, [&](std::size_t from, std::size_t to) {
    for (const Lane& one : lane) {
      for (std::size_t i = from; i < to; ++i) gradient[U * H + i] += one.gradient[i];
    }
  });
  return value;
}

}  // namespace textmill::sequence
