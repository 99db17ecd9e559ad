#include "sequence/label_counts.h"

#include <algorithm>
#include <limits>
#include <numbers>

namespace textmill::sequence {
namespace {

using Complex = std::complex<double>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

Complex root(std::size_t j, std::size_t order) {
  return std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(order));
}

const double* step_to(const MarkovChain& chain, std::size_t t) {
  return chain.step.data() + (t - 1) * chain.states * chain.states;
}

Complex times(Complex z, Complex w) {  // without the checks for infinities that operator* makes
  return {z.real() * w.real() - z.imag() * w.imag(), z.real() * w.imag() + z.imag() * w.real()};
}

// One pass of span_transforms at one root.
struct SpanPass {
  const MarkovChain& chain;
  const SpanRules& rules;
  Complex w;
  std::vector<Complex> forward, behind, ended;  // [n][S]: prefix sums; suffix sums; those where the span ends here

  bool starts(std::size_t from, std::size_t to) const {
    return rules.type[to] >= 0 && !rules.continues[from * chain.states + to];
  }

  SpanPass(const MarkovChain& c, const SpanRules& r, Complex weight)
      : chain(c), rules(r), w(weight), forward(c.length * c.states), behind(forward), ended(forward) {
    const std::size_t n = chain.length, S = chain.states;
    for (std::size_t x = 0; x < S; ++x)
      forward[x] = rules.type[x] >= 0 ? w * chain.initial[x] : Complex(chain.initial[x]);
    for (std::size_t t = 1; t < n; ++t) {
      const double* step = step_to(chain, t);
      for (std::size_t x = 0; x < S; ++x) {
        for (std::size_t y = 0; y < S; ++y) {
          const Complex mass = forward[(t - 1) * S + x] * step[x * S + y];
          forward[t * S + y] += starts(x, y) ? times(mass, w) : mass;
        }
      }
    }
    for (std::size_t x = 0; x < S; ++x) behind[(n - 1) * S + x] = ended[(n - 1) * S + x] = 1.0;
    for (std::size_t t = n - 1; t > 0; --t) {
      const double* step = step_to(chain, t);
      for (std::size_t x = 0; x < S; ++x) {
        for (std::size_t y = 0; y < S; ++y) {
          Complex mass = behind[t * S + y] * step[x * S + y];
          if (starts(x, y)) mass = times(mass, w);
          behind[(t - 1) * S + x] += mass;
          if (!rules.continues[x * S + y]) ended[(t - 1) * S + x] += mass;
        }
      }
    }
  }

  // Fills mass [S] of chains whose span of this type begins at t.
  void begin(std::size_t t, std::int32_t type, std::vector<Complex>& mass) const {
    const std::size_t S = chain.states;
    for (std::size_t y = 0; y < S; ++y) {
      mass[y] = 0.0;
      if (rules.type[y] != type) continue;
      if (t == 0) {
        mass[y] = forward[y];
        continue;
      }
      const double* step = step_to(chain, t);
      for (std::size_t x = 0; x < S; ++x) {
        if (starts(x, y)) mass[y] += forward[(t - 1) * S + x] * step[x * S + y];
      }
      mass[y] = times(mass[y], w);
    }
  }

  void extend(std::size_t t, std::int32_t type, std::vector<Complex>& mass, std::vector<Complex>& scratch) const {
    const std::size_t S = chain.states;
    const double* step = step_to(chain, t);
    std::fill(scratch.begin(), scratch.end(), Complex(0.0));
    for (std::size_t x = 0; x < S; ++x) {
      if (rules.type[x] != type) continue;
      for (std::size_t y = 0; y < S; ++y) {
        if (rules.continues[x * S + y]) scratch[y] += mass[x] * step[x * S + y];
      }
    }
    mass.swap(scratch);
  }

  Complex finish(std::size_t t, std::int32_t type, const std::vector<Complex>& mass) const {
    Complex sum = 0.0;
    for (std::size_t x = 0; x < chain.states; ++x) {
      if (rules.type[x] == type) sum += times(mass[x], ended[t * chain.states + x]);
    }
    return sum;
  }

  Complex whole() const {
    Complex sum = 0.0;
    for (std::size_t x = 0; x < chain.states; ++x) sum += forward[(chain.length - 1) * chain.states + x];
    return sum;
  }
};

}  // namespace

void joint_counts(const MarkovChain& chain, std::span<const std::uint8_t> positive,
                  std::span<const std::uint8_t> claimed, std::span<double> out) {
  const std::size_t n = chain.length, S = chain.states;
  const auto m = static_cast<std::size_t>(std::count(claimed.begin(), claimed.end(), std::uint8_t{1}));
  const std::size_t width = n - m + 1, cells = (m + 1) * width;
  std::vector<double> now(S * cells, 0.0), next(S * cells), sum(cells);
  std::size_t hits = 0, others = 0;  // counts are at most this so far
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t move = claimed[t] ? width : 1;
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t y = 0; y < S; ++y) {
      double* to = &next[y * cells] + (positive[y] ? move : 0);
      if (t == 0) {
        *to = chain.initial[y];
        continue;
      }
      const double* step = step_to(chain, t);
      for (std::size_t x = 0; x < S; ++x) {
        const double chance = step[x * S + y];
        if (chance == 0.0) continue;
        for (std::size_t a = 0; a <= hits; ++a) {
          const double* from = &now[x * cells + a * width];
          for (std::size_t r = 0; r <= others; ++r) to[a * width + r] += chance * from[r];
        }
      }
    }
    (claimed[t] ? hits : others) += 1;
    now.swap(next);
  }
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t x = 0; x < S; ++x)
    for (std::size_t i = 0; i < cells; ++i) out[i] += now[x * cells + i];
}

void count_transforms(const MarkovChain& chain, std::span<const std::uint8_t> positive,
                      std::span<const std::int32_t> group, std::size_t groups, std::size_t roots,
                      std::span<Complex> out) {
  const std::size_t n = chain.length, S = chain.states;
  std::fill(out.begin(), out.end(), Complex(0.0));
  std::vector<Complex> forward(n * S), behind(S), before(S);
  for (std::size_t j = 0; j < roots; ++j) {
    const Complex w = root(j, n + 1);
    for (std::size_t x = 0; x < S; ++x) forward[x] = positive[x] ? w * chain.initial[x] : Complex(chain.initial[x]);
    for (std::size_t t = 1; t < n; ++t) {
      const double* step = step_to(chain, t);
      for (std::size_t y = 0; y < S; ++y) {
        Complex sum = 0.0;
        for (std::size_t x = 0; x < S; ++x) sum += forward[(t - 1) * S + x] * step[x * S + y];
        forward[t * S + y] = positive[y] ? times(sum, w) : sum;
      }
    }
    std::fill(behind.begin(), behind.end(), Complex(1.0));
    for (std::size_t t = n; t-- > 0;) {
      for (std::size_t x = 0; x < S; ++x) {
        if (group[x] >= 0)
          out[(t * groups + static_cast<std::size_t>(group[x])) * roots + j] += times(forward[t * S + x], behind[x]);
      }
      if (t == 0) break;
      const double* step = step_to(chain, t);
      for (std::size_t x = 0; x < S; ++x) {
        Complex sum = 0.0;
        for (std::size_t y = 0; y < S; ++y) {
          const Complex mass = behind[y] * step[x * S + y];
          sum += positive[y] ? times(mass, w) : mass;
        }
        before[x] = sum;
      }
      behind.swap(before);
    }
  }
}

Spans span_transforms(const MarkovChain& chain, const SpanRules& rules, double least, std::size_t roots) {
  const std::size_t n = chain.length, S = chain.states;
  const std::int32_t types = 1 + *std::max_element(rules.type.begin(), rules.type.end());
  Spans found;
  std::vector<Complex> mass(S), scratch(S);
  const SpanPass sure(chain, rules, 1.0);
  for (std::size_t first = 0; first < n; ++first) {
    for (std::int32_t type = 0; type < types; ++type) {
      sure.begin(first, type, mass);
      for (std::size_t t = first; t < n; ++t) {
        if (t > first) sure.extend(t, type, mass, scratch);
        double alive = 0.0;
        for (std::size_t x = 0; x < S; ++x)
          if (rules.type[x] == type) alive += mass[x].real();
        if (alive < least) break;
        if (sure.finish(t, type, mass).real() < least) continue;
        found.begin.push_back(static_cast<std::int32_t>(first));
        found.end.push_back(static_cast<std::int32_t>(t + 1));
        found.type.push_back(type);
      }
    }
  }
  found.transform.resize(found.begin.size() * roots);
  found.whole.resize(roots);
  for (std::size_t j = 0; j < roots; ++j) {
    const SpanPass pass(chain, rules, root(j, n + 1));
    found.whole[j] = pass.whole();
    std::size_t t = 0;
    for (std::size_t i = 0; i < found.begin.size(); ++i) {  // spans of one beginning and type follow each other
      if (i == 0 || found.begin[i] != found.begin[i - 1] || found.type[i] != found.type[i - 1]) {
        t = static_cast<std::size_t>(found.begin[i]);
        pass.begin(t, found.type[i], mass);
      }
      for (; t + 1 < static_cast<std::size_t>(found.end[i]); ++t) pass.extend(t + 1, found.type[i], mass, scratch);
      found.transform[i * roots + j] = pass.finish(t, found.type[i], mass);
    }
  }
  return found;
}

SpanChoice best_spans(std::size_t length, std::span<const std::int32_t> begin, std::span<const std::int32_t> end,
                      std::span<const double> joint, std::size_t counts, double none, double b) {
  const std::size_t spans = begin.size();
  std::vector<std::vector<std::int32_t>> ending(length + 1);
  for (std::size_t i = 0; i < spans; ++i) ending[end[i]].push_back(static_cast<std::int32_t>(i));
  SpanChoice best{{}, none};
  std::vector<double> gain(spans), score;
  std::vector<std::int32_t> last;  // [length + 1][m + 1]: the span that ends here in the best set, -1 for none
  for (std::size_t m = 1; m <= length; ++m) {
    for (std::size_t i = 0; i < spans; ++i) {
      double sum = 0.0;
      for (std::size_t k = 1; k < counts; ++k)
        sum += joint[i * counts + k] / (static_cast<double>(m) + b * static_cast<double>(k));
      gain[i] = (1.0 + b) * sum;
    }
    const std::size_t width = m + 1;
    score.assign((length + 1) * width, kNever);
    last.assign((length + 1) * width, -1);
    score[0] = 0.0;
    for (std::size_t t = 1; t <= length; ++t) {
      std::copy_n(&score[(t - 1) * width], width, &score[t * width]);
      for (const std::int32_t i : ending[t]) {
        const double* from = &score[static_cast<std::size_t>(begin[i]) * width];
        for (std::size_t c = 1; c <= m; ++c) {
          if (from[c - 1] + gain[i] > score[t * width + c]) {
            score[t * width + c] = from[c - 1] + gain[i];
            last[t * width + c] = i;
          }
        }
      }
    }
    const double value = score[length * width + m];
    if (value == kNever) break;  // there are no m spans that do not overlap
    if (value > best.value) {
      best = {{}, value};
      for (std::size_t t = length, c = m; c > 0;) {
        const std::int32_t i = last[t * width + c];
        if (i < 0) {
          --t;
          continue;
        }
        best.spans.push_back(i);
        t = static_cast<std::size_t>(begin[i]);
        --c;
      }
      std::reverse(best.spans.begin(), best.spans.end());
    }
  }
  return best;
}

std::vector<std::int32_t> heaviest_spans(std::size_t length, std::span<const std::int32_t> begin,
                                         std::span<const std::int32_t> end, std::span<const double> gain) {
  std::vector<std::vector<std::int32_t>> ending(length + 1);
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (gain[i] > 0.0) ending[end[i]].push_back(static_cast<std::int32_t>(i));
  }
  std::vector<double> score(length + 1, 0.0);
  std::vector<std::int32_t> last(length + 1, -1), chosen;
  for (std::size_t t = 1; t <= length; ++t) {
    score[t] = score[t - 1];
    for (const std::int32_t i : ending[t]) {
      const double value = score[begin[i]] + gain[i];
      if (value > score[t]) score[t] = value, last[t] = i;
    }
  }
  for (std::size_t t = length; t > 0;) {
    if (last[t] < 0) {
      --t;
    } else {
      chosen.push_back(last[t]);
      t = static_cast<std::size_t>(begin[last[t]]);
    }
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace textmill::sequence
