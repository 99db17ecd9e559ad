#include "topics/variational.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/simd.h"
#include "topics/floats.h"

namespace textmill::topics {
namespace {

constexpr std::size_t kDocuments = 16;          // handed to a thread at once
constexpr std::size_t kWords = 64;              // likewise
constexpr std::size_t kRows = 4096;             // of statistics, likewise; part of the result, because their sums are
constexpr std::size_t kPadding = 8;             // topics are padded to a multiple: whole packs on every instruction set
constexpr double kNoise = 0.17320508075688773;  // sqrt(3) / 10: uniform numbers of deviation 0.1
constexpr std::size_t kMostKept = std::size_t{1} << 22;    // numbers of a scratch array that outlives its call
constexpr std::size_t kMostCopied = std::size_t{1} << 20;  // numbers of a document's own rows
template <class Real>
constexpr Real kLost = std::is_same_v<Real, float> ? Real(1e-7) : Real(1e-16);  // of alpha: a dead topic
template <class Real>
constexpr Real kFloor = std::is_same_v<Real, float> ? Real(1e-33) : Real(1e-290);  // of a norm

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

// What a call works with, kept for the next call of the thread: asking the system for it again would cost as much as the
// table itself.
template <class Real>
struct Scratch {
  std::vector<Real> table;    // [U][width]
  std::vector<Real> ratio;    // [nnz]
  std::vector<Real> weights;  // [n][width]
  std::vector<double> scale;  // [U]

  void prepare(std::size_t words, std::size_t entries, std::size_t documents, std::size_t width) {
    grow(table, words * width), grow(ratio, entries), grow(weights, documents * width), grow(scale, words);
  }
  void give_back() {
    for (auto* values : {&table, &ratio, &weights}) {
      if (values->size() > kMostKept) values->clear(), values->shrink_to_fit();
    }
  }

 private:
  template <class T>
  static void grow(std::vector<T>& values, std::size_t size) {
    if (values.size() < size) values.resize(size);
  }
};

// The entries of a chunk by word.
struct Index {
  std::vector<std::int32_t> words;     // [U]
  std::vector<std::int32_t> local;     // [nnz] the place of an entry's word in `words`
  std::vector<std::int64_t> starts;    // [U + 1]
  std::vector<std::int32_t> document;  // [nnz] by word, then by document
  std::vector<std::int64_t> entry;     // likewise: its place in the chunk
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
double fill_exact(const Posterior<Real>& posterior, const Real* chi, const double* eta, std::size_t step,
                  std::size_t topics, double* scratch, Real* row) {
  for (std::size_t t = 0; t < topics; ++t) scratch[t] = static_cast<double>(chi[t]) + eta[t * step];
  base::digamma({scratch, topics}, {scratch, topics});
  double most = scratch[0] -= posterior.psi_totals[0];
  for (std::size_t t = 1; t < topics; ++t) most = std::max(most, scratch[t] -= posterior.psi_totals[t]);
  for (std::size_t t = 0; t < topics; ++t) scratch[t] -= most;
  base::exp({scratch, topics}, {scratch, topics});
  for (std::size_t t = 0; t < topics; ++t) row[t] = static_cast<Real>(scratch[t]);
  return most;
}

// The same without logarithms, row_t ~ exp psi(lambda_t) share_t, as it lies before the largest is found.
template <class P>
TEXTMILL_INLINED inline float fill_products(const float* chi, const double* eta, std::size_t step, const float* share,
                                            std::size_t topics, std::size_t width, float* row) {
  for (std::size_t t = 0; t < topics; ++t) row[t] = chi[t] + static_cast<float>(eta[t * step]);
  for (std::size_t t = topics; t < width; ++t) row[t] = 1.0f;
  P most = 0.0f;
  for (std::size_t t = 0; t < width; t += P::width) {
    const P value = exp_digamma_or_zero(P::load(row + t)) * P::load(share + t);  // 0 behind the last topic
    most = max(most, value);
    value.store(row + t);
  }
  return largest(most);
}

// Rows of B for some words.
template <class Real>
class Rows {
 public:
  Rows(const Posterior<Real>& posterior, std::size_t topics, std::size_t width)
      : posterior_(posterior), topics_(topics), width_(width), scratch_(topics) {
    if constexpr (std::is_same_v<Real, float>) {
      least_ = *std::min_element(posterior.psi_totals.begin(), posterior.psi_totals.end());
      share_.resize(width, 0.0f);
      for (std::size_t t = 0; t < topics; ++t)
        share_[t] = static_cast<float>(std::exp(least_ - posterior.psi_totals[t]));
    }
  }

  double fill(std::size_t word, Real* row) {
    const Real* chi = posterior_.statistics.data() + word * topics_;
    const double* eta = posterior_.eta.data() + (posterior_.eta_rows == 1 ? 0 : word * posterior_.eta_columns);
    const std::size_t step = posterior_.eta_columns == 1 ? 0 : 1;
    if constexpr (std::is_same_v<Real, float>) {
      const float most =
          base::with_packs([=, share = share_.data(), topics = topics_, width = width_]<class B>() TEXTMILL_INLINED {
            return fill_products<PackOf<B, float>>(chi, eta, step, share, topics, width, row);
          });
      if (most > kSafe && most < 1.0f / kSafe) {
        const float scale = 1.0f / most;
        for (std::size_t t = 0; t < width_; ++t) row[t] *= scale;
        return std::log(static_cast<double>(most)) - least_;
      }
    }
    std::fill(row + topics_, row + width_, Real(0));
    return fill_exact(posterior_, chi, eta, step, topics_, scratch_.data(), row);
  }

 private:
  static constexpr float kSafe = 1e-20f;  // a largest number below has neighbors that a float cannot hold
  const Posterior<Real>& posterior_;
  std::size_t topics_, width_;
  double least_ = 0.0;
  std::vector<float> share_;
  std::vector<double> scratch_;
};

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

template <std::size_t N, class P, class Real>
TEXTMILL_INLINED inline void ratios(const Real* const* rows, const Real* counts, std::size_t w, std::size_t topics,
                                    const Real* e, Real* ratio) {
  P norms[N];
  for (std::size_t i = 0; i < N; ++i) norms[i] = P(kFloor<Real>);
  for (std::size_t t = 0; t < topics; ++t) {
    const P weight = e[t];
    for (std::size_t i = 0; i < N; ++i) norms[i] = multiply_add(weight, P::load(rows[t] + w + i * P::width), norms[i]);
  }
  for (std::size_t i = 0; i < N; ++i) (P::load(counts + w + i * P::width) / norms[i]).store(ratio + w + i * P::width);
}

// The same as step() with a row a topic, rows_tw, and any number of topics; rows holds whole packs of pointers.
template <class P, class Real>
TEXTMILL_INLINED inline void step_by_topic(const Real* const* rows, const Real* counts, std::size_t words,
                                           std::size_t topics, const Real* e, Real* ratio, Real* sum) {
  constexpr std::size_t W = P::width;
  std::size_t w = 0;
  for (; w + 4 * W <= words; w += 4 * W) ratios<4, P>(rows, counts, w, topics, e, ratio);
  for (; w + 2 * W <= words; w += 2 * W) ratios<2, P>(rows, counts, w, topics, e, ratio);
  for (; w < words; w += W) ratios<1, P>(rows, counts, w, topics, e, ratio);
  for (std::size_t t = 0; t < topics; t += W) {
    const Real* row[W];
    P parts[W];
    for (std::size_t j = 0; j < W; ++j) row[j] = rows[t + j], parts[j] = P(Real(0));
    for (w = 0; w < words; w += W) {
      const P share = P::load(ratio + w);
      for (std::size_t j = 0; j < W; ++j) parts[j] = multiply_add(share, P::load(row[j] + w), parts[j]);
    }
    sums(parts).store(sum + t);
  }
}

// mass = e slope; gamma <- alpha + mass, e <- exp psi(gamma); returns sum |change|.
template <class P, class Real>
TEXTMILL_INLINED inline Real update(const Real* alpha, std::size_t topics, const Real* slope, Real* mass, Real* gamma,
                                    Real* e) {
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
    total +=
        counts[w] * (std::log(counts[w] / static_cast<double>(ratio[w])) + scale[static_cast<std::size_t>(local[w])]);
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
      : inner_(inner), table_(table), topics_(inner.alpha.size()), width_(width), alpha_(width, Real(1)) {
    std::transform(inner.alpha.begin(), inner.alpha.end(), alpha_.begin(),
                   [](double a) { return static_cast<Real>(a); });
    for (auto* values : {&all_gamma_, &all_e_, &living_alpha_, &gamma_, &e_, &sum_, &mass_})
      values->assign(width, Real(1));
  }

  // gamma [K] in and out; e [width] and ratio [size] of the final gamma out; returns the iterations.
  std::int32_t run(std::span<const std::int32_t> local, std::span<const double> counts, Real* gamma, Real* e,
                   Real* ratio) {
    prepare(local, counts);
    std::copy(gamma, gamma + topics_, gamma_.begin());
    std::fill(gamma_.begin() + static_cast<std::ptrdiff_t>(topics_), gamma_.end(), Real(1));
    base::with_packs([gamma = gamma_.data(), e = e_.data(), n = width_]<class B>() TEXTMILL_INLINED {
      using P = PackOf<B, Real>;
      for (std::size_t t = 0; t < n; t += P::width) exp_digamma(P::load(gamma + t)).store(e + t);
    });
    const auto enough = static_cast<Real>(inner_.tolerance * static_cast<double>(topics_));
    std::size_t done = 0;
    bool may_shrink = rows_.size() * width_ <= kMostCopied, finished = false;
    while (!finished && done < inner_.iterations) {
      const bool few = !living_.empty();
      ++done;
      if (few) {
        step_with_living();
      } else {
        step_with_all(sum_.data());
      }
      const bool converged = updated(few) < enough;
      if (converged && !few) break;
      if (converged) {
        revive();
        finished = returned() < enough;  // then ratio_ is that of all topics
        may_shrink = false;
      } else if (may_shrink && done >= 3) {
        shrink();
      }
    }
    if (!living_.empty()) revive();
    if (!finished) step_with_all(nullptr);
    std::copy(gamma_.begin(), gamma_.begin() + static_cast<std::ptrdiff_t>(topics_), gamma);
    std::copy(e_.begin(), e_.end(), e);
    std::copy(ratio_.begin(), ratio_.begin() + static_cast<std::ptrdiff_t>(words_), ratio);
    return static_cast<std::int32_t>(done);
  }

 private:
  // Words in whole packs: those behind the end are the first word again, 0 times.
  void prepare(std::span<const std::int32_t> local, std::span<const double> counts) {
    const std::size_t size = padded(words_ = local.size());
    rows_.resize(size), counts_.assign(size, Real(0)), ratio_.resize(size);
    for (std::size_t w = 0; w < size; ++w)
      rows_[w] = table_ + static_cast<std::size_t>(local[w < words_ ? w : 0]) * width_;
    for (std::size_t w = 0; w < words_; ++w) counts_[w] = static_cast<Real>(counts[w]);
  }

  void step_with_all(Real* sum) {
    base::with_packs([rows = rows_.data(), counts = counts_.data(), size = rows_.size(), topics = width_, e = e_.data(),
                      ratio = ratio_.data(), sum]<class B>()
                         TEXTMILL_INLINED { step<PackOf<B, Real>>(rows, counts, size, topics, e, ratio, sum); });
  }

  void step_with_living() {
    base::with_packs([rows = by_topic_.data(), counts = counts_.data(), size = rows_.size(), topics = living_.size(),
                      e = e_.data(), ratio = ratio_.data(), sum = sum_.data()]<class B>() TEXTMILL_INLINED {
      step_by_topic<PackOf<B, Real>>(rows, counts, size, topics, e, ratio, sum);
    });
    for (std::size_t i = living_.size(); i < padded(living_.size()); ++i) sum_[i] = Real(0);
  }

  // The mean change times the number of topics.
  Real updated(bool few) {
    return base::with_packs(
        [alpha = few ? living_alpha_.data() : alpha_.data(), topics = few ? padded(living_.size()) : width_,
         sum = sum_.data(), mass = mass_.data(), gamma = gamma_.data(), e = e_.data()]<class B>()
            TEXTMILL_INLINED { return update<PackOf<B, Real>>(alpha, topics, sum, mass, gamma, e); });
  }

  // How far a step with all topics would go.
  Real returned() {
    step_with_all(sum_.data());
    Real change = 0;
    for (std::size_t t = 0; t < topics_; ++t) change += std::abs(alpha_[t] + e_[t] * sum_[t] - gamma_[t]);
    return change;
  }

  // Leaves dead topics out: at first, when half of them are dead, by copying the rows of the others, then by
  // forgetting rows.
  void shrink() {
    const bool first = living_.empty();
    const Real* alpha = first ? alpha_.data() : living_alpha_.data();
    kept_.clear();
    for (std::size_t t = 0; t < (first ? topics_ : living_.size()); ++t) {
      if (mass_[t] > kLost<Real> * alpha[t]) kept_.push_back(t);
    }
    const std::size_t alive = kept_.size(), slots = padded(alive), size = rows_.size();
    if (alive == 0 || (first ? 2 * alive > topics_ : alive == living_.size())) return;
    if (first) {
      all_gamma_ = gamma_, all_e_ = e_;
      own_.resize(std::max(own_.size(), alive * size));
      for (std::size_t w = 0; w < size; ++w) {
        for (std::size_t i = 0; i < alive; ++i) own_[i * size + w] = rows_[w][kept_[i]];
      }
      living_ = kept_;
      by_topic_.resize(slots);
      for (std::size_t i = 0; i < alive; ++i) by_topic_[i] = own_.data() + i * size;
    } else {
      scatter();
      for (std::size_t i = 0; i < alive; ++i) living_[i] = living_[kept_[i]], by_topic_[i] = by_topic_[kept_[i]];
      living_.resize(alive), by_topic_.resize(slots);
    }
    for (std::size_t i = 0; i < alive; ++i) {
      living_alpha_[i] = alpha_[living_[i]];
      gamma_[i] = gamma_[kept_[i]];
      e_[i] = e_[kept_[i]];
    }
    for (std::size_t i = alive; i < slots; ++i) by_topic_[i] = by_topic_[0], living_alpha_[i] = gamma_[i] = Real(1);
  }

  void scatter() {
    for (std::size_t i = 0; i < living_.size(); ++i) all_gamma_[living_[i]] = gamma_[i], all_e_[living_[i]] = e_[i];
  }

  // Back to all topics.
  void revive() {
    scatter();
    gamma_ = all_gamma_, e_ = all_e_;
    living_.clear();
  }

  const Inner& inner_;
  const Real* table_;
  std::size_t topics_, width_, words_ = 0;
  std::vector<Real> alpha_, all_gamma_, all_e_;  // [width] of all topics; those behind the last are harmless
  std::vector<const Real*> rows_;                // [words, padded] in the table
  std::vector<Real> counts_, ratio_;             // likewise
  std::vector<std::size_t> living_, kept_;       // living topics, none while all are; slots that go on living
  std::vector<const Real*> by_topic_;            // [living, padded] rows in own_
  std::vector<Real> own_;                        // [living][words, padded]
  std::vector<Real> living_alpha_, gamma_, e_, sum_, mass_;  // [width] of living topics, or of all
};

}  // namespace

template <class Real>
Chunk<Real> expect_topics(const Documents& documents, const Posterior<Real>& posterior, const Inner& inner,
                          bool collect, std::span<Real> gamma, std::span<std::int32_t> steps,
                          std::span<double> likelihood, std::size_t threads) {
  const std::size_t topics = inner.alpha.size(), width = padded(topics);
  const std::size_t size = documents.offsets.size() - 1;
  Index index = index_of(documents, posterior.statistics.size() / topics);
  const std::size_t words = index.words.size();
  thread_local Scratch<Real> scratch;
  scratch.prepare(words, documents.terms.size(), size, width);
  const std::span<Real> table(scratch.table), ratio(scratch.ratio), weights(scratch.weights);
  const std::span<double> scale(scratch.scale);
  base::parallel_blocks(words, kWords, threads, [&](std::size_t begin, std::size_t end) {
    const Flushing flushing;
    Rows<Real> rows(posterior, topics, width);
    for (std::size_t u = begin; u < end; ++u)
      scale[u] = rows.fill(static_cast<std::size_t>(index.words[u]), &table[u * width]);
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
        steps[d] = inference.run(local, counts, row, weights.data() + d * width, ratio.data() + first);
      }
      if (!likelihood.empty())
        likelihood[d] = likelihood_of<Real>(local, counts, ratio.data() + first, scale, {row, topics});
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
  scratch.give_back();
  made.words = std::move(index.words);
  return made;
}

template <class Real>
void blend(std::span<Real> statistics, std::size_t topics, double keep, std::span<const std::int32_t> words,
           std::span<const Real> new_rows, double add, std::span<const double> noise, std::uint64_t seed,
           std::span<double> sums, std::size_t threads) {
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
      if (!noise.empty()) {
        base::Random random(seed, w);
        for (std::size_t t = 0; t < topics; ++t)
          row[t] += static_cast<Real>(noise[t] * (1.0 + kNoise * (2.0 * random.uniform() - 1.0)));
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
void random_start(std::uint64_t seed, std::size_t first, std::size_t topics, std::span<Real> rows,
                  std::size_t threads) {
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
template void blend(std::span<double>, std::size_t, double, std::span<const std::int32_t>, std::span<const double>,
                    double, std::span<const double>, std::uint64_t, std::span<double>, std::size_t);
template void blend(std::span<float>, std::size_t, double, std::span<const std::int32_t>, std::span<const float>,
                    double, std::span<const double>, std::uint64_t, std::span<double>, std::size_t);
template void random_start(std::uint64_t, std::size_t, std::size_t, std::span<double>, std::size_t);
template void random_start(std::uint64_t, std::size_t, std::size_t, std::span<float>, std::size_t);

}  // namespace textmill::topics
