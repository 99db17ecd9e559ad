#include "topics/exponentiated.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/math.h"
#include "base/parallel.h"

namespace textmill::topics {
namespace {

constexpr std::size_t kBlock = 16;                                        // documents handed to a thread at once
constexpr double kHalf = 0.5;                                             // of the rate, after a step that failed
constexpr double kLeastGrowth = 0.25, kGrowth = 1.5, kMostGrowth = 20.0;  // of the rate, after one that did not
constexpr double kLowest = 1e-12;                                         // a rate that can no longer move anything
constexpr double kNoise = 1e-14;                                          // relative error of L: no fall

struct Place {
  std::vector<double> logs, theta, gradient;
  double likelihood = 0.0;
  double gap = 0.0;
  std::size_t found = 0;  // words with a probability
};

// Scratch of one thread's block.
template <class Real>
class Climb {
 public:
  Climb(std::size_t topics, const Ascent& ascent) : ascent_(ascent) {
    for (Place* place : {&a_, &b_})
      place->logs.resize(topics), place->theta.resize(topics), place->gradient.resize(topics);
  }

  void run(const Words<Real>& words, std::span<double> theta, double& likelihood, double& gap, std::int32_t& iterations,
           std::span<double> trace) {
    ratio_.resize(words.size);
    length_ = words.known_count();
    if (!(length_ > 0.0)) {
      std::ranges::fill(theta, 1.0 / static_cast<double>(theta.size()));
      likelihood = gap = 0.0, iterations = 0;
      return;
    }
    Place *here = &a_, *there = &b_;
    std::ranges::copy(theta, here->theta.begin());
    base::log(here->theta, here->logs);
    evaluate(words, *here);
    std::size_t done = 1, kept = 0;
    const auto note = [&] {
      if (kept < trace.size()) trace[kept++] = here->likelihood;
    };
    note();
    double rate = ascent_.rate;
    while (here->gap > ascent_.tolerance && done < ascent_.iterations && rate > kLowest) {
      step(*here, rate, *there);
      evaluate(words, *there);
      ++done;
      if (there->found < here->found ||
          !(there->likelihood >= here->likelihood - kNoise * std::abs(here->likelihood))) {
        rate *= kHalf;
        continue;
      }
      rate = next_rate(*here, *there, rate);
      std::swap(here, there);
      note();
    }
    std::ranges::copy(here->theta, theta.begin());
    likelihood = here->likelihood, gap = here->gap, iterations = static_cast<std::int32_t>(done);
  }

 private:
  void evaluate(const Words<Real>& words, Place& place) {
    place.likelihood = gradient_at(words, place.theta.data(), ratio_.data(), place.gradient.data());
    place.gap = *std::ranges::max_element(place.gradient) / length_ - 1.0;
    place.found = words.size - static_cast<std::size_t>(std::ranges::count(ratio_, 0.0));
  }

  // Logarithms are kept normalized, so the largest of them is never below -log K and nothing but the others underflows.
  void step(const Place& from, double rate, Place& to) const {
    const std::size_t topics = from.logs.size();
    for (std::size_t t = 0; t < topics; ++t) to.logs[t] = from.logs[t] + rate * from.gradient[t] / length_;
    const double total = base::logsumexp(to.logs);
    for (double& value : to.logs) value -= total;
    base::exp(to.logs, to.theta);
  }

  double next_rate(const Place& from, const Place& to, double rate) const {
    double s = 0.0, y = 0.0, ss = 0.0, sy = 0.0;
    for (std::size_t t = 0; t < to.theta.size(); ++t) {
      const double moved = to.logs[t] - from.logs[t], turned = (from.gradient[t] - to.gradient[t]) / length_;
      if (!(to.theta[t] > 0.0)) continue;  // logarithms of a start may be infinite
      s += to.theta[t] * moved, y += to.theta[t] * turned;
      ss += to.theta[t] * moved * moved, sy += to.theta[t] * moved * turned;
    }
    const double spread = ss - s * s, shared = sy - s * y;
    const double best = spread > 0.0 && shared > 0.0 ? spread / shared : kGrowth * rate;
    return std::clamp(best, kLeastGrowth * rate, kMostGrowth * rate);
  }

  const Ascent& ascent_;
  std::vector<double> ratio_;
  double length_ = 0.0;
  Place a_, b_;
};

}  // namespace

template <class Real>
void exponentiate(const Documents& documents, std::span<const Real> phi, std::size_t topics, const Ascent& ascent,
                  std::span<double> theta, const Outcome& outcome, std::size_t threads) {
  base::parallel_blocks(documents.offsets.size() - 1, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Climb<Real> climb(topics, ascent);
    for (std::size_t d = begin; d < end; ++d) {
      climb.run(words_of(documents, d, phi.data(), topics), theta.subspan(d * topics, topics), outcome.likelihood[d],
                outcome.gap[d], outcome.iterations[d], outcome.trace_of(d, ascent.iterations));
    }
  });
}

template void exponentiate(const Documents&, std::span<const double>, std::size_t, const Ascent&, std::span<double>,
                           const Outcome&, std::size_t);
template void exponentiate(const Documents&, std::span<const float>, std::size_t, const Ascent&, std::span<double>,
                           const Outcome&, std::size_t);

}  // namespace textmill::topics
