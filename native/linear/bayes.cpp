#include "linear/bayes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/math.h"
#include "base/parallel.h"
#include "base/simd.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kRowBlock = 64;

// One word of one text under an inflated binomial, for all classes: the score grows by
// log(1 - z) + x w + n log q - log(z + (1 - z) q^n), and by x w where z = 0.
template <class P>
TEXTMILL_INLINED inline void add_inflated_binomials(const double* weight, const double* log_q, const double* z,
                                                    std::size_t classes, double x, double n, double* score) {
  std::size_t k = 0;
  const auto term = [=](P w, P q, P inflation) TEXTMILL_INLINED {
    const P f = P(n) * q, rest = P(1.0) - inflation;
    const P total = inflation + rest * exp(f);
    const P gain = select(inflation == P(0.0), P(0.0), log(rest) + f - log(max(total, P(1e-300))));
    return multiply_add(P(x), w, gain);
  };
  for (; k + P::width <= classes; k += P::width)
    (P::load(score + k) + term(P::load(weight + k), P::load(log_q + k), P::load(z + k))).store(score + k);
  if (k < classes) {
    const std::size_t rest = classes - k;
    const P sum = P::load(score + k, rest, 0.0) +
                  term(P::load(weight + k, rest, 0.0), P::load(log_q + k, rest, 0.0), P::load(z + k, rest, 0.0));
    sum.store(score + k, rest);
  }
}

// All words of one text under a linear model: four packs of classes at a time stay in registers.
template <class P, class Value>
TEXTMILL_INLINED inline void add_linear_row(const double* weight, const std::int32_t* index, const Value* value,
                                            std::size_t entries, std::size_t classes, double* score) {
  constexpr std::size_t ahead = 8;  // rows of weights are far apart: asked for before they are needed
  std::size_t k = 0;
  for (; k + 4 * P::width <= classes; k += 4 * P::width) {
    P a = P::load(score + k), b = P::load(score + k + P::width), c = P::load(score + k + 2 * P::width),
      d = P::load(score + k + 3 * P::width);
    for (std::size_t e = 0; e < entries; ++e) {
      if (e + ahead < entries) {
        const double* next = weight + static_cast<std::size_t>(index[e + ahead]) * classes + k;
        __builtin_prefetch(next);
        __builtin_prefetch(next + 8);
        __builtin_prefetch(next + 16);
      }
      const double* own = weight + static_cast<std::size_t>(index[e]) * classes + k;
      const P x = static_cast<double>(value[e]);
      a = multiply_add(x, P::load(own), a), b = multiply_add(x, P::load(own + P::width), b);
      c = multiply_add(x, P::load(own + 2 * P::width), c), d = multiply_add(x, P::load(own + 3 * P::width), d);
    }
    a.store(score + k), b.store(score + k + P::width), c.store(score + k + 2 * P::width);
    d.store(score + k + 3 * P::width);
  }
  for (; k < classes; k += P::width) {
    const std::size_t left = classes - k < P::width ? classes - k : P::width;
    if (left == P::width) {
      P a = P::load(score + k);
      for (std::size_t e = 0; e < entries; ++e)
        a = multiply_add(P(static_cast<double>(value[e])),
                         P::load(weight + static_cast<std::size_t>(index[e]) * classes + k), a);
      a.store(score + k);
    } else {
      P a = P::load(score + k, left, 0.0);
      for (std::size_t e = 0; e < entries; ++e)
        a = multiply_add(P(static_cast<double>(value[e])),
                         P::load(weight + static_cast<std::size_t>(index[e]) * classes + k, left, 0.0), a);
      a.store(score + k, left);
    }
  }
}

}  // namespace

template <class Value>
void class_sums(const CountRows<Value>& x, std::size_t classes, std::span<const std::int32_t> label,
                std::span<const double> weight, std::span<double> occurrences, std::span<double> documents,
                std::size_t threads) {
  std::vector<std::vector<std::int32_t>> members(classes);
  for (std::size_t i = 0; i < x.rows(); ++i) members[label[i]].push_back(static_cast<std::int32_t>(i));
  base::parallel_for(classes, threads, [&](std::size_t c) {  // one row of each table at a time stays in the cache
    double* count = occurrences.data() + c * x.columns;
    double* texts = documents.empty() ? nullptr : documents.data() + c * x.columns;
    for (const std::int32_t i : members[c]) {
      const double w = weight[i];
      const auto begin = x.offsets[i], end = x.offsets[i + 1];
      for (auto e = begin; e < end; ++e) count[x.indices[e]] += w * static_cast<double>(x.values[e]);
      if (texts != nullptr)
        for (auto e = begin; e < end; ++e) texts[x.indices[e]] += x.values[e] != 0 ? w : 0.0;
    }
  });
}

template <class Value>
void score_counts(const EventTable& table, const CountRows<Value>& x, std::span<const double> length,
                  std::span<const std::int32_t> bucket, std::span<double> score, std::size_t threads) {
  const std::size_t classes = table.classes, rows = x.rows();
  const bool binomial = table.family == Family::binom;
  std::vector<double> log_q;
  if (!table.linear && binomial) {
    log_q.resize(table.first.size());
    base::parallel_blocks(log_q.size(), 4096, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) log_q[i] = std::log1p(-table.first[i]);
    });
  }
  const bool whole = std::all_of(bucket.begin(), bucket.end(), [](std::int32_t b) { return b == 0; });
  base::parallel_blocks(rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (table.linear && whole && !table.presence) {
        const auto first = static_cast<std::size_t>(x.offsets[i]);
        const auto entries = static_cast<std::size_t>(x.offsets[i + 1]) - first;
        const double* weight = table.weight.data();
        const std::int32_t* index = x.indices.data() + first;
        const Value* value = x.values.data() + first;
        double* own = score.data() + i * classes;
        base::with_packs([=]<class P>()
                             TEXTMILL_INLINED { add_linear_row<P>(weight, index, value, entries, classes, own); });
        continue;
      }
      const double n = table.presence ? std::min(length[i], 1.0) : length[i];
      for (auto e = x.offsets[i]; e < x.offsets[i + 1]; ++e) {
        const std::size_t word = x.indices[e];
        if (bucket[word] < 0 || x.values[e] == 0) continue;
        const double count = table.presence ? 1.0 : static_cast<double>(x.values[e]);
        double* own = score.data() + (static_cast<std::size_t>(bucket[word]) * rows + i) * classes;
        const std::size_t at = word * classes;
        if (table.linear) {
          const double* weight = table.weight.data() + at;
          for (std::size_t k = 0; k < classes; ++k) own[k] += count * weight[k];
        } else if (binomial) {
          const double *weight = table.weight.data() + at, *q = log_q.data() + at, *z = table.z.data() + at;
          base::with_packs([=]<class P>()
                               TEXTMILL_INLINED { add_inflated_binomials<P>(weight, q, z, classes, count, n, own); });
        } else {
          for (std::size_t k = 0; k < classes; ++k) {
            const Parameters p{table.first[at + k], table.second[at + k], table.z[at + k]};
            double gain = log_odds_of_count(table.family, p, count, n);
            if (p.z > 0) {
              const double f = log_zero(table.family, p, n);
              gain += std::log1p(-p.z) + f - log_inflated_zero(p.z, f);
            }
            own[k] += gain;
          }
        }
      }
    }
  });
}

void zero_sums(const EventTable& table, std::span<const double> lengths, std::span<const std::int32_t> bucket,
               std::size_t buckets, std::span<double> out, std::size_t threads) {
  struct ClassTerms {
    std::vector<double> slope;             // [buckets] of what is linear in n
    std::vector<std::size_t> begin;        // [buckets + 1]
    std::vector<double> first, second, z;  // of the words that are not
  };
  const std::size_t classes = table.classes, size = lengths.size();
  const bool binomial = table.family == Family::binom;
  std::vector<std::size_t> order;  // words by bucket
  for (std::size_t w = 0; w < table.columns; ++w)
    if (bucket[w] >= 0) order.push_back(w);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bucket[a] < bucket[b]; });
  std::vector<ClassTerms> terms(classes);
  base::parallel_for(classes, threads, [&](std::size_t k) {
    ClassTerms& own = terms[k];
    own.slope.assign(buckets, 0.0);
    std::size_t next = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      own.begin.push_back(own.first.size());
      for (; next < order.size() && static_cast<std::size_t>(bucket[order[next]]) == b; ++next) {
        const std::size_t at = order[next] * classes + k;
        const double first = table.first[at], second = table.second[at], z = table.z[at];
        const bool simple = binomial || table.family == Family::poisson ||
                            (table.family == Family::negbinom ? std::isinf(second) : second <= 0);
        const bool unbounded = table.family == Family::poisson || table.family == Family::negbinom;
        if (z == 0 && simple) {
          own.slope[b] += unbounded ? -first : std::log1p(-first);
        } else {
          own.first.push_back(binomial ? std::log1p(-first) : first);  // log q is all that binomials need
          own.second.push_back(second);
          own.z.push_back(z);
        }
      }
    }
    own.begin.push_back(own.first.size());
  });
  base::parallel_for(classes * size, threads, [&](std::size_t item) {
    const std::size_t k = item % classes, at = item / classes;
    const ClassTerms& own = terms[k];
    const double n = table.presence ? std::min(lengths[at], 1.0) : lengths[at];
    for (std::size_t b = 0; b < buckets; ++b) {
      double value = n == 0 ? 0.0 : n * own.slope[b];
      const std::size_t begin = own.begin[b], count = own.begin[b + 1] - begin;
      if (n > 0 && binomial) {
        const double *q = own.first.data() + begin, *z = own.z.data() + begin;
        value += base::with_packs([=]<class P>() TEXTMILL_INLINED {
          P total = 0.0;
          std::size_t i = 0;
          const auto term = [=](P log_q, P inflation)
                                TEXTMILL_INLINED { return log(inflation + (P(1.0) - inflation) * exp(P(n) * log_q)); };
          for (; i + P::width <= count; i += P::width) total = total + term(P::load(q + i), P::load(z + i));
          if (i < count) total = total + term(P::load(q + i, count - i, 0.0), P::load(z + i, count - i, 0.0));
          return sum(total);
        });
      } else if (n > 0) {
        for (std::size_t i = begin; i < begin + count; ++i) {
          const Parameters p{own.first[i], own.second[i], own.z[i]};
          value += log_inflated_zero(p.z, log_zero(table.family, p, n));
        }
      }
      out[(b * size + at) * classes + k] = value;
    }
  });
}

template void class_sums(const CountRows<std::int32_t>&, std::size_t, std::span<const std::int32_t>,
                         std::span<const double>, std::span<double>, std::span<double>, std::size_t);
template void class_sums(const CountRows<double>&, std::size_t, std::span<const std::int32_t>, std::span<const double>,
                         std::span<double>, std::span<double>, std::size_t);
template void score_counts(const EventTable&, const CountRows<std::int32_t>&, std::span<const double>,
                           std::span<const std::int32_t>, std::span<double>, std::size_t);
template void score_counts(const EventTable&, const CountRows<double>&, std::span<const double>,
                           std::span<const std::int32_t>, std::span<double>, std::size_t);

}  // namespace textmill::linear
