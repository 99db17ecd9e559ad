#include "sequence/expected_f.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

constexpr double kNegligible = 1e-30;

// Sums over the first m items for falling m.
class PrefixRows {
 public:
  explicit PrefixRows(std::span<const double> p)
      : p_(p), stretch_(1 + static_cast<std::size_t>(std::sqrt(static_cast<double>(p.size())))) {
    Sum sum;
    for (std::size_t m = 0; m <= p.size(); ++m) {
      if (m % stretch_ == 0) marks_.push_back(sum);
      if (m < p.size()) sum.add(p[m]);
    }
  }

  const Sum& at(std::size_t m) {
    const std::size_t stretch = m / stretch_;
    if (rows_.empty() || stretch != here_) {
      here_ = stretch;
      rows_.assign(1, marks_[stretch]);
      const std::size_t last = std::min(p_.size(), (stretch + 1) * stretch_ - 1);
      for (std::size_t k = stretch * stretch_; k < last; ++k) {
        rows_.push_back(rows_.back());
        rows_.back().add(p_[k]);
      }
    }
    return rows_[m - stretch * stretch_];
  }

 private:
  std::span<const double> p_;
  std::size_t stretch_, here_ = 0;
  std::vector<Sum> marks_, rows_;
};

double nothing_is_right(std::span<const double> p) {
  double product = 1.0;
  for (const double x : p) product *= 1.0 - x;
  return product;
}

void rational_curve(std::span<const double> p, std::size_t q, std::size_t r, std::size_t first, std::size_t last,
                    std::span<double> out) {
  const std::size_t n = p.size();
  std::vector<double> s((q + r) * n + 1, 0.0);
  for (std::size_t c = 1; c < s.size(); ++c) s[c] = 1.0 / static_cast<double>(c);
  PrefixRows rows(p.first(last));
  for (std::size_t m = n; m > 0 && m >= first; --m) {
    if (m <= last) {
      const Sum& row = rows.at(m);
      double sum = 0.0;
      for (std::size_t i = 0; i < row.mass.size(); ++i) {
        const std::size_t a = row.first + i;
        sum += static_cast<double>(a) * row.mass[i] * s[r * m + q * a];
      }
      out[m - first] = static_cast<double>(q + r) * sum;
    }
    const double one = p[m - 1], none = 1.0 - one;
    const std::size_t behind = (q + r) * (m - 1);
    double* at = s.data();
    for (std::size_t c = r; c <= behind; ++c) at[c] = none * at[c] + one * at[c + q];
  }
}

void general_curve(std::span<const double> p, double b, std::size_t first, std::size_t last, std::span<double> out) {
  const std::size_t n = p.size();
  PrefixRows rows(p.first(last));
  Sum rest;
  for (std::size_t k = n; k > last; --k) rest.add(p[k - 1]);
  std::vector<double> inverse;
  for (std::size_t m = last; m > 0 && m >= first; --m) {
    const Sum& row = rows.at(m);
    const std::size_t low = row.first + rest.first, width = row.mass.size() + rest.mass.size() - 1;
    inverse.resize(width);
    for (std::size_t k = 0; k < width; ++k)
      inverse[k] = 1.0 / (static_cast<double>(m) + b * static_cast<double>(low + k));
    double sum = 0.0;
    for (std::size_t i = 0; i < row.mass.size(); ++i) {
      double part = 0.0;
      for (std::size_t j = 0; j < rest.mass.size(); ++j) part += rest.mass[j] * inverse[i + j];
      sum += static_cast<double>(row.first + i) * row.mass[i] * part;
    }
    out[m - first] = (b + 1.0) * sum;
    rest.add(p[m - 1]);
  }
}

struct State {
  std::uint64_t key;  // A (n + 1) + T
  double mass;
};

// Keeps the `beam` most probable states, in the order of their keys; returns the mass of the others.
double prune(std::vector<State>& states, std::size_t beam, std::vector<State>& scratch) {
  scratch = states;
  const auto better = [](const State& x, const State& y) { return x.mass != y.mass ? x.mass > y.mass : x.key < y.key; };
  std::nth_element(scratch.begin(), scratch.begin() + static_cast<std::ptrdiff_t>(beam) - 1, scratch.end(), better);
  const State worst = scratch[beam - 1];
  double lost = 0.0;
  std::size_t size = 0;
  for (const State& state : states) {
    if (better(worst, state))
      lost += state.mass;
    else
      states[size++] = state;
  }
  states.resize(size);
  return lost;
}

}  // namespace

void Sum::add(double p) {
  mass.push_back(0.0);
  double below = 0.0;
  for (double& x : mass) {
    const double here = x;
    x = (1.0 - p) * here + p * below;
    below = here;
  }
  while (mass.size() > 1 && mass.back() < kNegligible) mass.pop_back();
  std::size_t leading = 0;
  while (leading + 1 < mass.size() && mass[leading] < kNegligible) ++leading;
  if (leading > 0) {
    mass.erase(mass.begin(), mass.begin() + static_cast<std::ptrdiff_t>(leading));
    first += leading;
  }
}

void expected_f_curve(std::span<const double> p, const FWeight& weight, std::size_t first, std::size_t last,
                      std::span<double> out) {
  if (weight.r > 0)
    rational_curve(p, weight.q, weight.r, first, last, out);
  else
    general_curve(p, weight.b, first, last, out);
  if (first == 0) out[0] = nothing_is_right(p);
}

void decode_f(std::span<const double> p, std::span<const std::int64_t> offsets, const FWeight& weight, std::size_t most,
              std::span<std::uint8_t> label, std::span<double> value, std::size_t threads) {
  std::fill(label.begin(), label.end(), 0);
  base::parallel_blocks(offsets.size() - 1, 16, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> order;
    std::vector<double> sorted, curve;
    for (std::size_t s = begin; s < end; ++s) {
      const auto at = static_cast<std::size_t>(offsets[s]), n = static_cast<std::size_t>(offsets[s + 1]) - at;
      order.resize(n);
      std::iota(order.begin(), order.end(), at);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] > p[j]; });
      sorted.resize(n);
      for (std::size_t i = 0; i < n; ++i) sorted[i] = p[order[i]];
      const std::size_t last = std::min(n, most);
      curve.resize(last + 1);
      expected_f_curve(sorted, weight, 0, last, curve);
      const auto best = std::max_element(curve.begin(), curve.end());  // the first of equals
      for (std::ptrdiff_t i = 0; i < best - curve.begin(); ++i) label[order[i]] = 1;
      value[s] = *best;
    }
  });
}

Pruned pruned_expected_f(std::span<const std::uint8_t> z, std::span<const double> p, double b, std::size_t beam) {
  const std::uint64_t n = p.size();
  std::vector<State> states{{0, 1.0}}, next, scratch;
  Pruned result{0.0, 0.0, 1};
  std::uint64_t claimed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (beam > 0 && states.size() > beam) result.lost += prune(states, beam, scratch);
    const std::uint64_t move = z[i] ? n + 2 : 1;  // A and T, or T alone
    claimed += z[i];
    next.clear();
    std::size_t stay = 0, go = 0;  // two rising lists become one
    while (go < states.size()) {
      const std::uint64_t moved = states[go].key + move;
      if (stay < states.size() && states[stay].key < moved) {
        next.push_back({states[stay].key, states[stay].mass * (1.0 - p[i])});
        ++stay;
      } else {
        double mass = states[go].mass * p[i];
        if (stay < states.size() && states[stay].key == moved) mass += states[stay++].mass * (1.0 - p[i]);
        next.push_back({moved, mass});
        ++go;
      }
    }
    states.swap(next);
    result.states += states.size();
  }
  for (const State& state : states) {
    const auto hits = static_cast<double>(state.key / (n + 1)), truths = static_cast<double>(state.key % (n + 1));
    const double below = static_cast<double>(claimed) + b * truths;
    result.value += state.mass * (below > 0.0 ? (b + 1.0) * hits / below : 1.0);
  }
  return result;
}

double sum_gradient(std::span<const double> p, std::span<const double> g, std::span<double> gradient) {
  const std::size_t n = p.size();
  PrefixRows rows(p);
  std::vector<double> ahead(g.begin(), g.end());  // E of g given the sum over the first k items
  for (std::size_t k = n; k > 0; --k) {
    const Sum& row = rows.at(k - 1);
    double slope = 0.0;
    for (std::size_t i = 0; i < row.mass.size(); ++i) {
      const std::size_t a = row.first + i;
      slope += row.mass[i] * (ahead[a + 1] - ahead[a]);
    }
    gradient[k - 1] = slope;
    for (std::size_t a = 0; a < k; ++a) ahead[a] = (1.0 - p[k - 1]) * ahead[a] + p[k - 1] * ahead[a + 1];
  }
  return ahead[0];
}

}  // namespace textmill::sequence
