#include "topics/variational.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/math.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/simd.h"
#include "topics/floats.h"

namespace textmill::topics {
namespace {

constexpr std::size_t kDocuments = 16;    // handed to a thread at once
constexpr std::size_t kWords = 64;        // likewise
constexpr std::size_t kRows = 4096;       // of statistics, likewise; part of the result, because their sums are
constexpr std::size_t kPadding = 8;       // topics are padded to a multiple: whole packs on every instruction set
constexpr std::size_t kMostCopied = std::size_t{1} << 20;  // numbers of a document's own rows
template <class Real>
constexpr Real kLost = std::is_same_v<Real, float> ? Real(1e-7) : Real(1e-16);  // of alpha: a dead topic

std::size_t padded(std::size_t topics) { return (topics + kPadding - 1) / kPadding * kPadding; }

// Numbers too small for a normal float count as 0, as long as this lives: they are of no use, and slow.
class Flushing {
 public:
#if defined(TEXTMILL_HAS_AVX2)
  Flushing() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~Flushing() { _mm_setcsr(before_); }
  Flushing(const Flushing&) = delete;
  Flushing& operator=(const Flushing&) = delete;

 private:
  unsigned before_;
#endif
};

// The entries of a chunk by word.
struct Index {
  std::vector<std::int32_t> words;      // [U]
  std::vector<std::int32_t> local;      // [nnz] the place of an entry's word in `words`
  std::vector<std::int64_t> starts;     // [U + 1]
  std::vector<std::int32_t> document;   // [nnz] by word, then by document
  std::vector<std::int64_t> entry;      // likewise: its place in the chunk
};

Index index_of(const Documents& documents, std::size_t vocabulary) {
  Index made;
  std::vector<std::int32_t> place(vocabulary, 0);
  for (const std::int32_t term : documents.terms) ++place[static_cast<std::size_t>(term)];
  made.starts.push_back(0);
  for (std::size_t w = 0; w < vocabulary; ++w) {
    if (place[w] == 0) continue;
    made.starts.push_back(made.starts.back() + place[w]);
    place[w] = static_cast<std::int32_t>(made.words.size());
    made.words.push_back(static_cast<std::int32_t>(w));
  }
  const std::size_t entries = documents.terms.size();
  made.local.resize(entries), made.document.resize(entries), made.entry.resize(entries);
  std::vector<std::int64_t> next(made.starts.begin(), made.starts.end() - 1);
  for (std::size_t d = 0; d + 1 < documents.offsets.size(); ++d) {
    for (std::int64_t e = documents.offsets[d]; e < documents.offsets[d + 1]; ++e) {
      const auto i = static_cast<std::size_t>(e);
      const auto u = static_cast<std::size_t>(made.local[i] = place[static_cast<std::size_t>(documents.terms[i])]);
      const auto slot = static_cast<std::size_t>(next[u]++);
      made.document[slot] = static_cast<std::int32_t>(d);
      made.entry[slot] = e;
    }
  }
  return made;
}

// One row of B, divided by its largest number; returns the logarithm of that.
template <class Real>
double fill_row(const Posterior<Real>& posterior, std::size_t word, std::size_t topics, double* scratch, Real* row) {
  const Real* chi = posterior.statistics.data() + word * topics;
  const double* eta = posterior.eta.data() + (posterior.eta_rows == 1 ? 0 : word * posterior.eta_columns);
  const std::size_t step = posterior.eta_columns == 1 ? 0 : 1;
  for (std::size_t t = 0; t < topics; ++t) scratch[t] = static_cast<double>(chi[t]) + eta[t * step];
  base::digamma({scratch, topics}, {scratch, topics});
  double most = scratch[0] -= posterior.psi_totals[0];
  for (std::size_t t = 1; t < topics; ++t) most = std::max(most, scratch[t] -= posterior.psi_totals[t]);
  for (std::size_t t = 0; t < topics; ++t) scratch[t] -= most;
  base::exp({scratch, topics}, {scratch, topics});
  for (std::size_t t = 0; t < topics; ++t) row[t] = static_cast<Real>(scratch[t]);
  return most;
}

// ratio_w = n_w / sum_t e_t rows_wt, and sum = sum_w ratio_w rows_w if it is wanted. Words come in whole packs; topics
// are a multiple of the width.
template <class P, class Real>
TEXTMILL_INLINED inline void step(const Real* const* rows, const Real* counts, std::size_t words, std::size_t topics,
                                  const Real* e, Real* ratio, Real* sum) {
  constexpr std::size_t W = P::width;
  if (sum != nullptr) {
    for (std::size_t t = 0; t < topics; ++t) sum[t] = Real(0);
  }
  for (std::size_t w = 0; w < words; w += W) {
    const Real* row[W];
    P norms[W];
    for (std::size_t j = 0; j < W; ++j) row[j] = rows[w + j], norms[j] = P(Real(0));
    for (std::size_t t = 0; t < topics; t += W) {
      const P weight = P::load(e + t);
      for (std::size_t j = 0; j < W; ++j) norms[j] = multiply_add(weight, P::load(row[j] + t), norms[j]);
    }
    (P::load(counts + w) / sums(norms)).store(ratio + w);
    if (sum == nullptr) continue;
    P share[W];
    for (std::size_t j = 0; j < W; ++j) share[j] = P(ratio[w + j]);
    for (std::size_t t = 0; t < topics; t += W) {
      P even = P::load(sum + t), odd = share[W / 2] * P::load(row[W / 2] + t);
      for (std::size_t j = 0; j < W / 2; ++j) even = multiply_add(share[j], P::load(row[j] + t), even);
      for (std::size_t j = W / 2 + 1; j < W; ++j) odd = multiply_add(share[j], P::load(row[j] + t), odd);
      (even + odd).store(sum + t);
    }
  }
}

// mass = e slope; gamma <- alpha + mass, e <- exp psi(gamma); returns sum |change|.
template <class P, class Real>
TEXTMILL_INLINED inline Real update(const Real* alpha, std::size_t topics, const Real* slope, Real* mass, Real* gamma, Real* e) {
  P change = Real(0);
  for (std::size_t t = 0; t < topics; t += P::width) {
    const P part = P::load(e + t) * P::load(slope + t), after = P::load(alpha + t) + part;
    change = change + abs(after - P::load(gamma + t));
    part.store(mass + t), after.store(gamma + t);
    exp_digamma(after).store(e + t);
  }
  return sum(change);
}

// sum_w n_w (log norm_w + log scale_w) - n psi(sum gamma)
template <class Real>
double likelihood_of(std::span<const std::int32_t> local, std::span<const double> counts, const Real* ratio,
                     std::span<const double> scale, std::span<const Real> gamma) {
  double total = 0.0, length = 0.0, mass = 0.0;
  for (std::size_t w = 0; w < local.size(); ++w) {
    if (!(counts[w] > 0.0)) continue;
    length += counts[w];
    total += counts[w] * (std::log(counts[w] / static_cast<double>(ratio[w])) + scale[static_cast<std::size_t>(local[w])]);
  }
  for (const Real value : gamma) mass += static_cast<double>(value);
  if (!(length > 0.0)) return 0.0;
  base::digamma({&mass, 1}, {&mass, 1});
  return total - length * mass;
}

// One document at a time; the scratch of a thread's block.
template <class Real>
class Inference {
 public:
  Inference(const Inner& inner, const Real* table, std::size_t width)
      : inner_(inner), table_(table), topics_(inner.alpha.size()), width_(width), alpha_(width, Real(1)), living_(width) {
    std::transform(inner.alpha.begin(), inner.alpha.end(), alpha_.begin(), [](double a) { return static_cast<Real>(a); });
    for (auto* values : {&all_gamma_, &all_e_, &living_alpha_, &gamma_, &e_, &sum_, &mass_}) values->assign(width, Real(1));
  }

  // gamma [K] in and out; e [width] and ratio [size] of the final gamma out; returns the iterations.
  std::int32_t run(std::span<const std::int32_t> local, std::span<const double> counts, Real* gamma, Real* e, Real* ratio) {
    prepare(local, counts);
    std::copy(gamma, gamma + topics_, gamma_.begin());
    std::fill(gamma_.begin() + static_cast<std::ptrdiff_t>(topics_), gamma_.end(), Real(1));
    whole();
    base::with_packs([gamma = gamma_.data(), e = e_.data(), n = width_]<class B>() TEXTMILL_INLINED {
      using P = PackOf<B, Real>;
      for (std::size_t t = 0; t < n; t += P::width) exp_digamma(P::load(gamma + t)).store(e + t);
    });
    const auto enough = static_cast<Real>(inner_.tolerance * static_cast<double>(topics_));
    std::size_t done = 0;
    bool may_shrink = rows_.size() * width_ <= kMostCopied, finished = false;
    while (!finished && done < inner_.iterations) {
      ++done;
      const bool converged = iterate() < enough;
      if (converged && active_ == width_) break;
      if (converged) {
        expand();
        if (returned() < enough) finished = true;  // and ratio_ is that of all topics
        may_shrink = false;
      } else if (may_shrink && done % 2 == 0 && active_ > kPadding) {
        shrink();
      }
    }
    if (active_ < width_) expand();
    if (!finished) weigh(nullptr);
    std::copy(gamma_.begin(), gamma_.begin() + static_cast<std::ptrdiff_t>(topics_), gamma);
    std::copy(e_.begin(), e_.end(), e);
    std::copy(ratio_.begin(), ratio_.begin() + static_cast<std::ptrdiff_t>(local.size()), ratio);
    return static_cast<std::int32_t>(done);
  }

 private:
  // Words in whole packs: those behind the end are the first word again, 0 times.
  void prepare(std::span<const std::int32_t> local, std::span<const double> counts) {
    const std::size_t size = padded(words_ = local.size());
    all_rows_.resize(size), counts_.assign(size, Real(0)), ratio_.resize(size);
    for (std::size_t w = 0; w < size; ++w)
      all_rows_[w] = table_ + static_cast<std::size_t>(local[w < local.size() ? w : 0]) * width_;
    for (std::size_t w = 0; w < local.size(); ++w) counts_[w] = static_cast<Real>(counts[w]);
  }

  void whole() {
    active_ = width_, alive_ = topics_;
    rows_ = all_rows_;
    std::copy(alpha_.begin(), alpha_.end(), living_alpha_.begin());
    std::iota(living_.begin(), living_.end(), std::size_t{0});
  }

  void weigh(Real* sum) {
    base::with_packs([rows = rows_.data(), counts = counts_.data(), size = rows_.size(), topics = active_, e = e_.data(),
                      ratio = ratio_.data(), sum]<class B>() TEXTMILL_INLINED {
      step<PackOf<B, Real>>(rows, counts, size, topics, e, ratio, sum);
    });
  }

  Real iterate() {
    weigh(sum_.data());
    return base::with_packs([alpha = living_alpha_.data(), topics = active_, sum = sum_.data(), mass = mass_.data(),
                             gamma = gamma_.data(), e = e_.data()]<class B>() TEXTMILL_INLINED {
      return update<PackOf<B, Real>>(alpha, topics, sum, mass, gamma, e);
    });
  }

  // How far a step with all topics would go.
  Real returned() {
    weigh(sum_.data());
    Real change = 0;
    for (std::size_t t = 0; t < topics_; ++t) change += std::abs(alpha_[t] + e_[t] * sum_[t] - gamma_[t]);
    return change;
  }

  // Leaves the dead topics out, if that spares half of the work.
  void shrink() {
    kept_.clear();
    for (std::size_t t = 0; t < alive_; ++t) {
      if (mass_[t] > kLost<Real> * living_alpha_[t]) kept_.push_back(t);
    }
    const std::size_t after = std::max(padded(kept_.size()), kPadding);
    if (2 * after > active_) return;
    scatter();
    own_.resize(std::max(own_.size(), words_ * after));
    for (std::size_t w = 0; w < words_; ++w) {  // in place the second time: a row only moves forward
      Real* row = own_.data() + w * after;
      for (std::size_t i = 0; i < kept_.size(); ++i) row[i] = rows_[w][kept_[i]];
      std::fill(row + kept_.size(), row + after, Real(0));
      rows_[w] = row;
    }
    std::fill(rows_.begin() + static_cast<std::ptrdiff_t>(words_), rows_.end(), own_.data());
    for (std::size_t i = 0; i < after; ++i) {
      const bool real = i < kept_.size();
      living_[i] = real ? living_[kept_[i]] : 0;
      living_alpha_[i] = real ? living_alpha_[kept_[i]] : Real(1);
      gamma_[i] = real ? gamma_[kept_[i]] : Real(1);
      e_[i] = real ? e_[kept_[i]] : Real(1);
    }
    active_ = after, alive_ = kept_.size();
  }

  void scatter() {
    for (std::size_t i = 0; i < alive_; ++i) all_gamma_[living_[i]] = gamma_[i], all_e_[living_[i]] = e_[i];
  }

  void expand() {
    scatter();
    gamma_ = all_gamma_, e_ = all_e_;
    whole();
  }

  const Inner& inner_;
  const Real* table_;
  std::size_t topics_, width_, words_ = 0;
  std::vector<Real> alpha_, all_gamma_, all_e_;   // [width] of all topics; those behind the last are harmless
  std::vector<const Real*> all_rows_, rows_;      // [words, padded]
  std::vector<Real> counts_, ratio_;              // likewise
  std::size_t active_ = 0, alive_ = 0;            // slots of living topics, padded and not
  std::vector<std::size_t> living_, kept_;        // their topics; slots that go on living
  std::vector<Real> living_alpha_, gamma_, e_, sum_, mass_, own_;
};

}  // namespace

template <class Real>
Chunk<Real> expect_topics(const Documents& documents, const Posterior<Real>& posterior, const Inner& inner, bool collect,
                          std::span<Real> gamma, std::span<std::int32_t> steps, std::span<double> likelihood,
                          std::size_t threads) {
  const std::size_t topics = inner.alpha.size(), width = padded(topics);
  const std::size_t size = documents.offsets.size() - 1;
  Index index = index_of(documents, posterior.statistics.size() / topics);
  const std::size_t words = index.words.size();
  std::vector<Real> table(words * width), ratio(documents.terms.size()), weights(size * width);
  std::vector<double> scale(words);
  base::parallel_blocks(words, kWords, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch(topics);
    for (std::size_t u = begin; u < end; ++u)
      scale[u] = fill_row(posterior, static_cast<std::size_t>(index.words[u]), topics, scratch.data(), &table[u * width]);
  });
  base::parallel_blocks(size, kDocuments, threads, [&](std::size_t begin, std::size_t end) {
    const Flushing flushing;
    Inference<Real> inference(inner, table.data(), width);
    for (std::size_t d = begin; d < end; ++d) {
      const auto first = static_cast<std::size_t>(documents.offsets[d]);
      const std::size_t entries = static_cast<std::size_t>(documents.offsets[d + 1]) - first;
      Real* row = &gamma[d * topics];
      const auto counts = documents.counts.subspan(first, entries);
      const std::span<const std::int32_t> local(index.local.data() + first, entries);
      if (entries == 0) {
        std::transform(inner.alpha.begin(), inner.alpha.end(), row, [](double a) { return static_cast<Real>(a); });
        steps[d] = 0;
      } else {
        steps[d] = inference.run(local, counts, row, &weights[d * width], &ratio[first]);
      }
      if (!likelihood.empty()) likelihood[d] = likelihood_of(local, counts, &ratio[first], scale, {row, topics});
    }
  });
  Chunk<Real> made;
  if (collect) {
    made.statistics.resize(words * topics);
    base::parallel_blocks(words, kWords, threads, [&](std::size_t begin, std::size_t end) {
      const Flushing flushing;
      std::vector<Real> sum(width);
      for (std::size_t u = begin; u < end; ++u) {
        const auto from = static_cast<std::size_t>(index.starts[u]), to = static_cast<std::size_t>(index.starts[u + 1]);
        base::with_packs([=, sum = sum.data(), document = index.document.data(), entry = index.entry.data(),
                          ratio = ratio.data(), e = weights.data(), row = &table[u * width],
                          out = &made.statistics[u * topics]]<class B>() TEXTMILL_INLINED {
          using P = PackOf<B, Real>;
          for (std::size_t t = 0; t < width; ++t) sum[t] = Real(0);
          for (std::size_t i = from; i < to; ++i) {
            const P share = ratio[entry[i]];
            const Real* weight = e + static_cast<std::size_t>(document[i]) * width;
            for (std::size_t t = 0; t < width; t += P::width)
              multiply_add(share, P::load(weight + t), P::load(sum + t)).store(sum + t);
          }
          for (std::size_t t = 0; t < topics; ++t) out[t] = sum[t] * row[t];
        });
      }
    });
  }
  made.words = std::move(index.words);
  return made;
}

template <class Real>
void blend(std::span<Real> statistics, std::size_t topics, double keep, std::span<const std::int32_t> words,
           std::span<const Real> new_rows, double add, std::span<double> sums, std::size_t threads) {
  const std::size_t rows = statistics.size() / topics;
  const std::size_t blocks = rows / kRows + (rows % kRows != 0);
  std::vector<double> partial(blocks * topics, 0.0);
  base::parallel_blocks(rows, kRows, threads, [&](std::size_t begin, std::size_t end) {
    const Flushing flushing;
    double* total = &partial[begin / kRows * topics];
    auto next = std::lower_bound(words.begin(), words.end(), static_cast<std::int32_t>(begin));
    const auto factor = static_cast<Real>(keep), weight = static_cast<Real>(add);
    for (std::size_t w = begin; w < end; ++w) {
      Real* row = &statistics[w * topics];
      if (next != words.end() && static_cast<std::size_t>(*next) == w) {
        const Real* more = &new_rows[static_cast<std::size_t>(next - words.begin()) * topics];
        for (std::size_t t = 0; t < topics; ++t) row[t] = factor * row[t] + weight * more[t];
        ++next;
      } else {
        for (std::size_t t = 0; t < topics; ++t) row[t] *= factor;
      }
      for (std::size_t t = 0; t < topics; ++t) total[t] += static_cast<double>(row[t]);
    }
  });
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t t = 0; t < topics; ++t) sums[t] += partial[b * topics + t];
  }
}

template <class Real>
void random_start(std::uint64_t seed, std::size_t first, std::size_t topics, std::span<Real> rows, std::size_t threads) {
  base::parallel_blocks(rows.size() / topics, kWords, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      base::Random random(seed, first + w);
      for (std::size_t t = 0; t < topics; ++t) rows[w * topics + t] = static_cast<Real>(random.gamma(100.0) / 100.0);
    }
  });
}

template Chunk<double> expect_topics(const Documents&, const Posterior<double>&, const Inner&, bool, std::span<double>,
                                     std::span<std::int32_t>, std::span<double>, std::size_t);
template Chunk<float> expect_topics(const Documents&, const Posterior<float>&, const Inner&, bool, std::span<float>,
                                    std::span<std::int32_t>, std::span<double>, std::size_t);
template void blend(std::span<double>, std::size_t, double, std::span<const std::int32_t>, std::span<const double>, double,
                    std::span<double>, std::size_t);
template void blend(std::span<float>, std::size_t, double, std::span<const std::int32_t>, std::span<const float>, double,
                    std::span<double>, std::size_t);
template void random_start(std::uint64_t, std::size_t, std::size_t, std::span<double>, std::size_t);
template void random_start(std::uint64_t, std::size_t, std::size_t, std::span<float>, std::size_t);

}  // namespace textmill::topics
