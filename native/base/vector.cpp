#include "base/vector.h"

#include <algorithm>
#include <cstddef>

#include "base/simd.h"

namespace textmill::base {
namespace {

constexpr std::size_t kBlock = 4096;  // entries; part of the result

template <class P>
TEXTMILL_INLINED inline P load(const double* p, std::size_t count) {
  return count == P::width ? P::load(p) : P::load(p, count, 0.0);
}

template <class P>
TEXTMILL_INLINED inline void store(P value, double* p, std::size_t count) {
  if (count == P::width)
    value.store(p);
  else
    value.store(p, count);
}

// The sum of terms(i, count), packs of the terms i .. i + count; lanes behind the last must be zero.
template <class P, class Terms>
TEXTMILL_INLINED inline double sum_of(std::size_t size, Terms terms) {
  double total = 0.0;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, size);
    P part[4] = {P(0.0), P(0.0), P(0.0), P(0.0)};
    std::size_t i = begin;
    for (; i + 4 * P::width <= end; i += 4 * P::width) {
      for (std::size_t j = 0; j < 4; ++j) part[j] = part[j] + terms(i + j * P::width, P::width);
    }
    for (; i + P::width <= end; i += P::width) part[0] = part[0] + terms(i, P::width);
    if (i < end) part[1] = part[1] + terms(i, end - i);
    total += sum((part[0] + part[1]) + (part[2] + part[3]));
  }
  return total;
}

// Calls use(i, count) for all packs.
template <class P, class Use>
TEXTMILL_INLINED inline void for_packs(std::size_t size, Use use) {
  std::size_t i = 0;
  for (; i + P::width <= size; i += P::width) use(i, P::width);
  if (i < size) use(i, size - i);
}

struct Penalty {  // one for all, or one per coordinate
  const double* l1;
  bool single;

  explicit Penalty(Reals weights) : l1(weights.data()), single(weights.size() == 1) {}
  template <class P>
  TEXTMILL_INLINED P at(std::size_t i, std::size_t count) const {
    return single ? P(l1[0]) : load<P>(l1 + i, count);
  }
};

template <class P>
TEXTMILL_INLINED inline P slope(P theta, P gradient, P l1) {
  const P other = P(0.0) - l1;
  const P clamped = select(l1 < gradient, l1, select(gradient < other, other, gradient));
  return select(P(0.0) < theta, gradient + l1, select(theta < P(0.0), gradient + other, gradient - clamped));
}

}  // namespace

double dot(Reals a, Reals b) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    return sum_of<P>(a.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      return load<P>(a.data() + i, count) * load<P>(b.data() + i, count);
    });
  });
}

double divided_square(Reals a, Reals d) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    return sum_of<P>(a.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      const P value = load<P>(a.data() + i, count);
      const P by = count == P::width ? P::load(d.data() + i) : P::load(d.data() + i, count, 1.0);
      return value * value / by;
    });
  });
}

double largest_magnitude(Reals a) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    P most = P(0.0);
    std::size_t i = 0;
    for (; i + P::width <= a.size(); i += P::width) most = max(most, abs(P::load(a.data() + i)));
    if (i < a.size()) most = max(most, abs(P::load(a.data() + i, a.size() - i, 0.0)));
    return largest(most);
  });
}

double weighted_norm(Reals a, Reals l1) {
  const Penalty penalty(l1);
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    return sum_of<P>(a.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      return penalty.at<P>(i, count) * abs(load<P>(a.data() + i, count));
    });
  });
}

void add_scaled(std::span<double> y, double factor, Reals x) {
  with_packs([=]<class P>() TEXTMILL_INLINED {
    for_packs<P>(y.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      store(load<P>(y.data() + i, count) + P(factor) * load<P>(x.data() + i, count), y.data() + i, count);
    });
  });
}

double add_scaled_dot(std::span<double> y, double factor, Reals x, Reals b) {
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    return sum_of<P>(y.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      const P value = load<P>(y.data() + i, count) + P(factor) * load<P>(x.data() + i, count);
      store(value, y.data() + i, count);
      return value * load<P>(b.data() + i, count);
    });
  });
}

void pseudo_gradient(Reals theta, Reals gradient, Reals l1, std::span<double> out) {
  const Penalty penalty(l1);
  with_packs([=]<class P>() TEXTMILL_INLINED {
    for_packs<P>(theta.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      const P at = load<P>(theta.data() + i, count), g = load<P>(gradient.data() + i, count);
      store(slope(at, g, penalty.at<P>(i, count)), out.data() + i, count);
    });
  });
}

double align(Reals theta, Reals gradient, Reals l1, bool zeros, std::span<double> direction) {
  const Penalty penalty(l1);
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    return sum_of<P>(theta.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      const P at = load<P>(theta.data() + i, count), weight = penalty.at<P>(i, count);
      const P d = load<P>(direction.data() + i, count);
      const P pg = slope(at, load<P>(gradient.data() + i, count), weight);
      const P bound = zeros ? select(at == P(0.0), weight, P(0.0)) : weight;
      const P kept = select((P(0.0) <= d * pg) & (P(0.0) < bound), P(0.0), d);
      store(kept, direction.data() + i, count);
      return kept * kept;
    });
  });
}

double project(Reals theta, Reals gradient, Reals l1, Reals direction, double size, std::span<double> out) {
  const Penalty penalty(l1);
  return with_packs([=]<class P>() TEXTMILL_INLINED {
    return sum_of<P>(theta.size(), [=](std::size_t i, std::size_t count) TEXTMILL_INLINED {
      const P old = load<P>(theta.data() + i, count), weight = penalty.at<P>(i, count);
      const P moved = load<P>(direction.data() + i, count) * P(size) + old;
      const P kept = select((moved * old < P(0.0)) & (P(0.0) < weight), P(0.0), moved);
      store(kept, out.data() + i, count);
      return slope(old, load<P>(gradient.data() + i, count), weight) * (kept - old);
    });
  });
}

}  // namespace textmill::base
