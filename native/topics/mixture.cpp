#include "topics/mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::topics {
namespace {

using base::Pack;

constexpr std::size_t kBlock = 16;                         // documents handed to a thread at once
constexpr double kTight = 5e-5;                            // tolerances below are rarely reached by EM alone
constexpr std::size_t kPatience = 16;                      // gradients before topics are descended on one by one
constexpr std::size_t kLessPatience = 5;                   // the same, for a tight tolerance
constexpr std::size_t kSweeps = 4;                         // over all topics, between two looks at the gap
constexpr std::size_t kExchanges = 2;                      // of weight between two topics, after the sweeps
constexpr std::size_t kMostCopied = std::size_t{1} << 20;  // numbers of a document's own table of topics x words
constexpr double kShrink = 0.1;                            // of a topic that an extrapolation would make negative

// The first two derivatives of -sum_w n_w log p_w along one topic: less by sum n phi / p, and sum n (phi / p)^2.
template <Pack P>
TEXTMILL_INLINED inline void slopes(const double* counts, const double* phi, const double* p, std::size_t size,
                                    double& first, double& second) {
  P one = 0.0, two = 0.0;
  std::size_t e = 0;
  for (; e + P::width <= size; e += P::width) {
    const P share = P::load(phi + e) / P::load(p + e), weighed = P::load(counts + e) * share;
    one = one + weighed;
    two = multiply_add(weighed, share, two);
  }
  first = sum(one), second = sum(two);
  for (; e < size; ++e) {
    const double share = phi[e] / p[e];
    first += counts[e] * share;
    second += counts[e] * share * share;
  }
}

struct Point {
  std::vector<double> theta;
  std::vector<double> next;  // the EM step from here
  double objective = 0.0;    // likelihood and prior
  double likelihood = 0.0;
  double gap = 0.0;
};

// Scratch of one thread's block.
template <class Real>
class Folding {
 public:
  Folding(std::size_t topics, const Rule& rule)
      : rule_(rule),
        powered_(topics),
        gradient_(topics),
        total_prior_(std::accumulate(rule.prior.begin(), rule.prior.end(), 0.0)) {
    for (Point* point : {&a_, &b_, &c_}) point->theta.resize(topics), point->next.resize(topics);
  }

  // `trace` has an entry for each iteration, or none at all.
  void run(const Words<Real>& words, std::span<double> theta, double& likelihood, double& gap, std::int32_t& iterations,
           std::span<double> trace) {
    ratio_.resize(words.size);
    total_ = words.known_count() + total_prior_;
    if (!(total_ - total_prior_ > 0.0)) {
      for (std::size_t t = 0; t < theta.size(); ++t)
        theta[t] = total_prior_ > 0.0 ? rule_.prior[t] / total_prior_ : 1.0 / static_cast<double>(theta.size());
      likelihood = gap = 0.0, iterations = 0;
      return;
    }
    Point *here = &a_, *step = &b_, *far = &c_;
    std::copy(theta.begin(), theta.end(), here->theta.begin());
    evaluate(words, *here);
    std::size_t done = 1, kept = 0;
    const auto note = [&] {
      if (kept < trace.size()) trace[kept++] = here->objective;
    };
    note();
    const std::size_t patience = rule_.tolerance < kTight ? kLessPatience : kPatience;
    while (here->gap > rule_.tolerance && done < rule_.iterations) {
      step->theta = here->next;
      evaluate(words, *step);
      ++done;
      if (done >= patience && descend(words, *step, far->theta)) {
        evaluate(words, *far);
        done += kSweeps + kExchanges + 1;
        if (far->objective >= step->objective) {
          std::swap(here, far);
          note();
          continue;
        }
      }
      if (rule_.accelerate && step->gap > rule_.tolerance && done < rule_.iterations &&
          extrapolate(*here, *step, far->theta)) {
        evaluate(words, *far);
        ++done;
        if (far->objective >= step->objective) {
          std::swap(here, far);
          note();
          continue;
        }
      }
      std::swap(here, step);
      note();
    }
    std::copy(here->theta.begin(), here->theta.end(), theta.begin());
    likelihood = here->likelihood, gap = here->gap, iterations = static_cast<std::int32_t>(done);
  }

 private:
  void evaluate(const Words<Real>& words, Point& point) {
    const std::size_t topics = words.topics;
    const double* theta = point.theta.data();
    if (rule_.temper != 1.0) {
      for (std::size_t t = 0; t < topics; ++t) powered_[t] = std::pow(theta[t], rule_.temper);
      theta = powered_.data();
    }
    point.likelihood = gradient_at(words, theta, ratio_.data(), gradient_.data()) / rule_.temper;
    point.objective = point.likelihood;
    double most = 0.0, sum = 0.0;
    for (std::size_t t = 0; t < topics; ++t) {
      const double prior = rule_.prior[t], mass = theta[t] * gradient_[t] + prior;
      const double slope =
          point.theta[t] > 0.0 && (rule_.temper != 1.0 || prior > 0.0) ? mass / point.theta[t] : gradient_[t];
      most = std::max(most, slope);
      if (prior > 0.0) point.objective += prior * std::log(point.theta[t]);
      sum += point.next[t] = mass;
    }
    for (double& value : point.next) value /= sum;  // the sum is N but for rounding and words that underflowed
    point.gap = most / total_ - 1.0;
  }

  // SQUAREM S3: here - 2 a r + a^2 v with r = first step, v = second less first, a = -|r| / |v|. False when that is no
  // more than the second step.
  bool extrapolate(const Point& here, const Point& step, std::vector<double>& out) const {
    double rr = 0.0, vv = 0.0;
    const std::size_t topics = out.size();
    for (std::size_t t = 0; t < topics; ++t) {
      const double r = step.theta[t] - here.theta[t], v = step.next[t] - step.theta[t] - r;
      rr += r * r, vv += v * v;
    }
    if (!(vv > 0.0) || !(rr > vv)) return false;  // a >= -1: the second step itself, or less
    const double a = -std::sqrt(rr / vv);
    double sum = 0.0;
    for (std::size_t t = 0; t < topics; ++t) {
      const double r = step.theta[t] - here.theta[t], v = step.next[t] - step.theta[t] - r;
      const double value = here.theta[t] - 2.0 * a * r + a * a * v;
      sum += out[t] = value > 0.0 ? value : kShrink * step.next[t];
    }
    if (!(sum > 0.0) || !std::isfinite(sum)) return false;
    for (double& value : out) value /= sum;
    return true;
  }

  // EM shrinks a topic that should be 0 ever more slowly. Newton steps on one topic after the other reach 0 at once:
  // they minimize N sum_t theta_t - sum_w n_w log p_w over theta >= 0, whose minimum has the sum 1 by itself.
  bool descend(const Words<Real>& words, const Point& from, std::vector<double>& out) {
    if (!rule_.accelerate || rule_.temper != 1.0 || total_prior_ > 0.0 || words.size * words.topics > kMostCopied)
      return false;
    const std::size_t topics = words.topics;
    if (copied_ != words.terms) copy(words);
    out = from.theta;
    const std::size_t size = counts_.size();
    p_.assign(size, 0.0);
    for (std::size_t t = 0; t < topics; ++t) {
      for (std::size_t e = 0; e < size; ++e) p_[e] += out[t] * by_topic_[t * size + e];
    }
    for (const double p : p_) {
      if (!(p > kLeastProbability)) return false;
    }
    for (std::size_t sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t t = 0; t < topics; ++t) {  // topics that are 0 are looked at once
        if (sweep == 0 || out[t] > 0.0) out[t] = moved(out[t], by_topic_.data() + t * size);
      }
    }
    for (std::size_t i = 0; i < kExchanges && exchange(out); ++i) {
    }
    const double sum = std::accumulate(out.begin(), out.end(), 0.0);
    if (!(sum > 0.0) || !std::isfinite(sum)) return false;
    for (double& value : out) value /= sum;
    return true;
  }

  // The weight of a topic after a Newton step, or two: -log is self-concordant, so a step up never goes too far, and
  // after one down the next goes up. p follows.
  double moved(double theta, const double* phi) {
    const std::size_t size = counts_.size();
    for (int newton = 0; newton < 2; ++newton) {
      double first = 0.0, second = 0.0;
      base::with_packs([this, phi, size, &first, &second]<class P>()
                           TEXTMILL_INLINED { slopes<P>(counts_.data(), phi, p_.data(), size, first, second); });
      if (!(second > 0.0) || (theta == 0.0 && first <= total_)) return theta;
      double value = theta + (first - total_) / second;
      if (value <= 0.0) value = may_vanish(theta, phi) ? 0.0 : kShrink * theta;
      const double change = value - theta;
      for (std::size_t e = 0; e < size; ++e) p_[e] = std::max(p_[e] + change * phi[e], kLeastProbability);
      theta = value;
      if (change >= 0.0) break;
    }
    return theta;
  }

  // Topics that are almost alike keep each other's weights: a Newton step along their difference moves weight from the
  // topic with the least slope to the one with the most. False when no weight is to be moved.
  bool exchange(std::vector<double>& theta) {
    const std::size_t topics = theta.size(), size = counts_.size();
    std::size_t most = topics, least = topics;
    for (std::size_t t = 0; t < topics; ++t) {
      if (!(theta[t] > 0.0)) continue;
      const double* phi = by_topic_.data() + t * size;
      double first = 0.0, second = 0.0;
      base::with_packs([this, phi, size, &first, &second]<class P>()
                           TEXTMILL_INLINED { slopes<P>(counts_.data(), phi, p_.data(), size, first, second); });
      gradient_[t] = first;
      if (most == topics || first > gradient_[most]) most = t;
      if (least == topics || first < gradient_[least]) least = t;
    }
    if (least == most) return false;
    const double *up = by_topic_.data() + most * size, *down = by_topic_.data() + least * size;
    double curvature = 0.0;
    for (std::size_t e = 0; e < size; ++e) curvature += counts_[e] * std::pow((up[e] - down[e]) / p_[e], 2);
    if (!(curvature > 0.0)) return false;
    const double change = std::min((gradient_[most] - gradient_[least]) / curvature, theta[least]);
    theta[most] += change;
    theta[least] -= change;
    for (std::size_t e = 0; e < size; ++e) p_[e] = std::max(p_[e] + change * (up[e] - down[e]), kLeastProbability);
    return true;
  }

  // Whether the slope without this topic is not downwards: then 0 is its best weight.
  bool may_vanish(double theta, const double* phi) const {
    double first = 0.0;
    for (std::size_t e = 0; e < counts_.size(); ++e) {
      const double rest = p_[e] - theta * phi[e];
      if (!(rest > 1e-12 * p_[e])) return false;
      first += counts_[e] * phi[e] / rest;
    }
    return first <= total_;
  }

  // The known words of a document, and their probabilities by topic.
  void copy(const Words<Real>& words) {
    copied_ = words.terms;
    counts_.clear();
    std::vector<const Real*> rows;
    for (std::size_t e = 0; e < words.size; ++e) {
      if (words.counts[e] > 0.0 && words.known(e)) {
        rows.push_back(words.row(e));
        counts_.push_back(words.counts[e]);
      }
    }
    by_topic_.resize(words.topics * rows.size());
    for (std::size_t e = 0; e < rows.size(); ++e) {
      for (std::size_t t = 0; t < words.topics; ++t) by_topic_[t * rows.size() + e] = rows[e][t];
    }
  }

  const Rule& rule_;
  const std::int32_t* copied_ = nullptr;       // the document that the following belong to
  std::vector<double> counts_, by_topic_, p_;  // [E], [K][E], [E]: E known words
  std::vector<double> powered_, gradient_, ratio_;
  double total_prior_, total_ = 0.0;
  Point a_, b_, c_;
};

}  // namespace

template <class Real>
void fold_in(const Documents& documents, std::span<const Real> phi, std::size_t topics, const Rule& rule,
             std::span<double> theta, const Outcome& outcome, std::size_t threads) {
  base::parallel_blocks(documents.offsets.size() - 1, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Folding<Real> folding(topics, rule);
    for (std::size_t d = begin; d < end; ++d) {
      folding.run(words_of(documents, d, phi.data(), topics), theta.subspan(d * topics, topics), outcome.likelihood[d],
                  outcome.gap[d], outcome.iterations[d], outcome.trace_of(d, rule.iterations));
    }
  });
}

template <class Real>
void expect(const Documents& documents, std::span<const Real> phi, std::size_t topics, std::span<const double> theta,
            std::span<double> ratio, std::span<double> gradient, std::span<double> likelihood, std::size_t threads) {
  base::parallel_blocks(documents.offsets.size() - 1, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t d = begin; d < end; ++d) {
      likelihood[d] = gradient_at(words_of(documents, d, phi.data(), topics), theta.data() + d * topics,
                                  ratio.data() + documents.offsets[d], gradient.data() + d * topics);
    }
  });
}

#define TEXTMILL_MIXTURE(Real)                                                                                \
  template void fold_in(const Documents&, std::span<const Real>, std::size_t, const Rule&, std::span<double>, \
                        const Outcome&, std::size_t);                                                         \
  template void expect(const Documents&, std::span<const Real>, std::size_t, std::span<const double>,         \
                       std::span<double>, std::span<double>, std::span<double>, std::size_t);
TEXTMILL_MIXTURE(double)
TEXTMILL_MIXTURE(float)
#undef TEXTMILL_MIXTURE

}  // namespace textmill::topics
