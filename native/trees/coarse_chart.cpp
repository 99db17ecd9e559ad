#include "trees/coarse_chart.h"

#include <algorithm>
#include <cmath>

namespace textmill::trees {
namespace {

constexpr double kNoShare = 1e-12;  // below it nobody asks for the outside weight
constexpr double kFaint = 1e-6;     // inside weight times prior, relative to the best of the cell, that is dropped

// Values of a cell stand for value * 2^power, so that no sentence is too long.
struct Plane {
  Plane(std::size_t cells, std::size_t labels) : labels(labels), value(cells * labels), power(cells) {}
  double* at(std::size_t cell) { return value.data() + cell * labels; }
  std::size_t labels;
  std::vector<double> value;
  std::vector<std::int32_t> power;
};

// A sum of parts with different powers: it takes the largest power seen so far.
class Sum {
 public:
  explicit Sum(std::size_t labels) : value(labels) {}
  void reset() {
    std::fill(value.begin(), value.end(), 0.0);
    empty_ = true;
  }
  // The factor that a part of this power needs.
  double factor(std::int32_t part) {
    if (empty_) {
      power = part;
      empty_ = false;
    } else if (part > power) {
      const double down = std::ldexp(1.0, std::max(power - part, -1000));
      for (double& entry : value) entry *= down;
      power = part;
    }
    return std::ldexp(1.0, std::max(part - power, -1000));
  }
  std::vector<double> value;
  std::int32_t power = 0;

 private:
  bool empty_ = true;
};

// Brings the largest value of a cell near 1.
void scale(double* value, std::size_t labels, std::int32_t& power) {
  const double most = *std::max_element(value, value + labels);
  if (most <= 0.0) return;
  const int shift = std::ilogb(most);
  const double down = std::ldexp(1.0, -shift);
  for (std::size_t x = 0; x < labels; ++x) value[x] *= down;
  power += shift;
}

// Drops what is faint beside the best of the cell.
void thin(double* value, std::span<const double> prior) {
  double most = 0.0;
  for (std::size_t x = 0; x < prior.size(); ++x) most = std::max(most, value[x] * prior[x]);
  for (std::size_t x = 0; x < prior.size(); ++x)
    if (value[x] * prior[x] < kFaint * most) value[x] = 0.0;
}

double logarithm(double value, std::int32_t power) { return std::log(value) + power * 0.6931471805599453; }

// In four sums, which a compiler may keep in one register.
double dot(const double* a, const double* b, std::size_t size) {
  double sum[4] = {};
  std::size_t x = 0;
  for (; x + 4 <= size; x += 4)
    for (std::size_t l = 0; l < 4; ++l) sum[l] += a[x + l] * b[x + l];
  for (; x < size; ++x) sum[0] += a[x] * b[x];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

class Chart {
 public:
  Chart(const Coarse& coarse, std::size_t n)
      : coarse_(coarse),
        L(coarse.labels),
        K(coarse.parents),
        cells_{n},
        top_(cells_.size(), L),
        state_(cells_.size(), K),
        later_(cells_.size(), K),
        active_at_(cells_.size() + 1) {}

  void inside(const Words& lexicon, std::span<const std::int32_t> words);
  Shares outside();

 private:
  // Labels of a cell with weight, ascending.
  std::span<const std::int32_t> active(std::size_t cell) const {
    return std::span(active_).subspan(active_at_[cell], active_count_[cell]);
  }
  void finish(std::size_t cell, Sum& base);

  const Coarse& coarse_;
  std::size_t L, K;
  Cells cells_;
  Plane top_, state_, later_;  // later_: states after two children or more
  std::vector<std::int32_t> active_;
  std::vector<std::size_t> active_at_;
  std::vector<std::size_t> active_count_ = std::vector<std::size_t>(active_at_.size());
};

// From the weights of finished rules or words to those with chains above, and to states after a first child.
void Chart::finish(std::size_t cell, Sum& base) {
  double* top = top_.at(cell);
  for (std::size_t b = 0; b < L; ++b)
    if (base.value[b] > 0.0) {
      const double* chain = &coarse_.chain[b * K];
      for (std::size_t a = 0; a < K; ++a) top[a] += base.value[b] * chain[a];
      if (b >= K) top[b] += base.value[b];
    }
  top_.power[cell] = base.power;
  thin(top, coarse_.prior);
  double* state = state_.at(cell);
  const double* later = later_.at(cell);
  std::copy_n(later, K, state);
  active_at_[cell] = active_.size();
  for (std::size_t c = 0; c < L; ++c)
    if (top[c] > 0.0) {
      active_.push_back(static_cast<std::int32_t>(c));
      const double* begin = &coarse_.begin[c * K];
      for (std::size_t x = 0; x < K; ++x) state[x] += top[c] * begin[x];
    }
  active_count_[cell] = active_.size() - active_at_[cell];
  state_.power[cell] = base.power;
  thin(state, coarse_.prior.first(K));
  scale(state, K, state_.power[cell]);
  scale(top, L, top_.power[cell]);
}

void Chart::inside(const Words& lexicon, std::span<const std::int32_t> words) {
  const std::size_t n = words.size();
  Sum sum(L);
  for (std::size_t i = 0; i < n; ++i) {
    sum.reset();
    sum.factor(0);
    const auto w = static_cast<std::size_t>(words[i]);
    for (std::int64_t e = lexicon.label_at[w]; e < lexicon.label_at[w + 1]; ++e)
      sum.value[lexicon.label[e]] += lexicon.weight[e];
    finish(cells_.at(i, i + 1), sum);
  }
  for (std::size_t width = 2; width <= n; ++width)
    for (std::size_t i = 0; i + width <= n; ++i) {
      const std::size_t j = i + width, cell = cells_.at(i, j);
      sum.reset();
      for (std::size_t k = i + 1; k < j; ++k) {
        const std::size_t left = cells_.at(i, k), right = cells_.at(k, j);
        const double factor = sum.factor(state_.power[left] + top_.power[right]);
        const double* state = state_.at(left);
        const double* top = top_.at(right);
        double* out = sum.value.data();
        for (const std::int32_t c : active(right)) {
          const double weight = top[c] * factor;
          const double* step = &coarse_.step[c * K];
          for (std::size_t x = 0; x < K; ++x) out[x] += state[x] * (weight * step[x]);
        }
      }
      std::copy_n(sum.value.begin(), K, later_.at(cell));
      later_.power[cell] = sum.power;
      for (std::size_t x = 0; x < K; ++x) sum.value[x] *= coarse_.stop[x];
      finish(cell, sum);
    }
}

Shares Chart::outside() {
  const std::size_t n = cells_.n;
  Plane out_later(cells_.size(), K);
  const std::vector<double> tops(cells_.size() * L), states(cells_.size() * K);
  Shares shares{cells_, L, K, tops, states, tops, states};
  const std::size_t whole = cells_.at(0, n);
  const double z = top_.at(whole)[coarse_.root];
  const std::int32_t z_power = top_.power[whole];
  Sum state(K), top(L);
  std::vector<double> base(K), product(K);
  const auto share = [&](double in, std::int32_t in_power, double out, std::int32_t out_power) {
    return std::ldexp(in * out / z, std::clamp(in_power + out_power - z_power, -2000, 2000));
  };
  for (std::size_t width = n; width >= 1; --width)
    for (std::size_t i = 0; i + width <= n; ++i) {
      const std::size_t j = i + width, cell = cells_.at(i, j);
      state.reset();
      for (std::size_t m = j + 1; m <= n; ++m) {  // the next child is (j, m)
        const std::size_t right = cells_.at(j, m), up = cells_.at(i, m);
        const double factor = state.factor(top_.power[right] + out_later.power[up]);
        const double* next = top_.at(right);
        const double* above = out_later.at(up);
        for (const std::int32_t c : active(right)) {
          const double weight = next[c] * factor;
          const double* step = &coarse_.step[c * K];
          for (std::size_t x = 0; x < K; ++x) state.value[x] += above[x] * (weight * step[x]);
        }
      }
      top.reset();
      if (cell == whole) {
        top.factor(0);
        top.value[coarse_.root] = 1.0;
      }
      for (std::size_t h = 0; h < i; ++h) {  // the rule began at h
        const std::size_t left = cells_.at(h, i), up = cells_.at(h, j);
        const double factor = top.factor(state_.power[left] + out_later.power[up]);
        const double* before = state_.at(left);
        const double* above = out_later.at(up);
        for (std::size_t x = 0; x < K; ++x) product[x] = before[x] * above[x] * factor;
        for (const std::int32_t c : active(cell)) top.value[c] += dot(product.data(), &coarse_.step[c * K], K);
      }
      if (j < n) {
        const double factor = top.factor(state.power);
        for (const std::int32_t c : active(cell))
          top.value[c] += factor * dot(state.value.data(), &coarse_.begin[c * K], K);
      }
      for (std::size_t b = 0; b < K; ++b) base[b] = dot(top.value.data(), &coarse_.chain[b * K], K);
      // The outside of a rule that has read this far: it ends here, or goes on.
      double* later = out_later.at(cell);
      const double from_state = j < n ? top.factor(state.power) : 0.0;
      for (std::size_t x = 0; x < K; ++x) later[x] = base[x] * coarse_.stop[x] + state.value[x] * from_state;
      out_later.power[cell] = top.power;
      for (const std::int32_t c : active(cell)) {
        shares.top[cell * L + c] = share(top_.at(cell)[c], top_.power[cell], top.value[c], top.power);
        if (shares.top[cell * L + c] > kNoShare) shares.top_outside[cell * L + c] = logarithm(top.value[c], top.power);
      }
      for (std::size_t x = 0; x < K; ++x) {
        const double going_on = share(state_.at(cell)[x], state_.power[cell], state.value[x] * from_state, top.power);
        const double ending = share(later_.at(cell)[x], later_.power[cell], base[x] * coarse_.stop[x], top.power);
        shares.state[cell * K + x] = std::max(going_on, ending);
        if (shares.state[cell * K + x] > kNoShare) shares.state_outside[cell * K + x] = logarithm(later[x], top.power);
      }
      scale(later, K, out_later.power[cell]);
    }
  return shares;
}

}  // namespace

Shares coarse_shares(const Coarse& coarse, const Words& lexicon, std::span<const std::int32_t> words) {
  Chart chart(coarse, words.size());
  chart.inside(lexicon, words);
  return chart.outside();
}

}  // namespace textmill::trees
