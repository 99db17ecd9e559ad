#include "tasks/letters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/flat_table.h"
#include "base/log_add.h"
#include "base/parallel.h"
#include "base/random.h"
#include "tasks/letter_lattice.h"

namespace textmill::tasks {
namespace {

using base::joined_key;
using base::log_add;
using base::number_of;
using detail::for_each_test;
using detail::kNone;
using detail::Lattice;

constexpr std::size_t kWords = 16;   // handed to a thread at once
constexpr std::size_t kTried = 500;  // words that a first step size is tried on
constexpr double kSmallest = 1e-3;   // scale at which weights are multiplied out

// Outputs of words, from their lattice.
class LetterDecoder {
 public:
  LetterDecoder(std::size_t k, std::size_t beam, double least) : k_(k), beam_(beam), least_(least) {}

  struct Answer {
    double log_probability;
    std::vector<std::int32_t> labels, output;
  };

  void decode(const Lattice& lattice, double log_z, std::vector<Answer>& answers) {
    prefixes_.assign(1, {-1, 0});
    prefix_index_.clear();
    const std::size_t T = lattice.length();
    layers_.resize(std::max(layers_.size(), T + 1));
    layers_[0].assign(1, {0, -1, -1, 0.0, 0.0});
    for (std::size_t t = 0; t < T; ++t) {
      grow(lattice, t);
      select(lattice, t);
    }
    const std::vector<Hypothesis>& last = layers_[T];
    merged_.clear();
    ends_.clear();
    for (std::size_t h = 0; h < last.size(); ++h) {
      const auto fresh = static_cast<std::int32_t>(ends_.size());
      const std::int32_t end = number_of(merged_, static_cast<std::uint32_t>(last[h].prefix), fresh,
                                         [&](std::uint32_t i) { return ends_[i].prefix == last[h].prefix; });
      if (end == fresh) {
        ends_.push_back(last[h]);
        ends_.back().back = static_cast<std::int32_t>(h);
        continue;
      }
      Hypothesis& old = ends_[static_cast<std::size_t>(end)];
      old.sum = log_add(old.sum, last[h].sum);
      if (last[h].best > old.best) {
        old.best = last[h].best;
        old.back = static_cast<std::int32_t>(h);
      }
    }
    const std::size_t k = std::min(k_, ends_.size());
    std::partial_sort(
        ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(k), ends_.end(),
        [](const Hypothesis& a, const Hypothesis& b) { return a.sum != b.sum ? a.sum > b.sum : a.prefix < b.prefix; });
    answers.resize(k);
    for (std::size_t i = 0; i < k; ++i) {
      Answer& one = answers[i];
      one.log_probability = std::min(0.0, ends_[i].sum - log_z);
      one.labels.resize(T);
      std::int32_t h = ends_[i].back;
      for (std::size_t t = T; t-- > 0;) {
        const Hypothesis& step = layers_[t + 1][static_cast<std::size_t>(h)];
        one.labels[t] = lattice.has_labels(t)
                            ? static_cast<std::int32_t>(lattice.label(t, static_cast<std::size_t>(step.label)))
                            : -1;
        h = step.back;
      }
      for (std::int32_t p = ends_[i].prefix; p > 0; p = prefixes_[static_cast<std::size_t>(p)].before)
        one.output.push_back(prefixes_[static_cast<std::size_t>(p)].symbol);
      std::reverse(one.output.begin(), one.output.end());
    }
  }

 private:
  struct Hypothesis {
    std::int32_t prefix, label, back;
    double sum, best;
  };
  struct Prefix {
    std::int32_t before, symbol;
  };

  std::int32_t extended(std::int32_t prefix, std::span<const std::int32_t> symbols) {
    for (const std::int32_t symbol : symbols) {
      const auto fresh = static_cast<std::int32_t>(prefixes_.size());
      const std::int32_t next = number_of(prefix_index_, joined_key(prefix, symbol), fresh, [&](std::uint32_t i) {
        return prefixes_[i].before == prefix && prefixes_[i].symbol == symbol;
      });
      if (next == fresh) prefixes_.push_back({prefix, symbol});
      prefix = next;
    }
    return prefix;
  }

  // Writes on every hypothesis, as far as its share of Z, that of all that goes on from it, is among the largest: twice
  // as many as the beam, since some of them turn out to be the same.
  void grow(const Lattice& lattice, std::size_t t) {
    const std::vector<Hypothesis>& now = layers_[t];
    std::vector<Hypothesis>& next = layers_[t + 1];
    const std::size_t K = lattice.size(t);
    shares_.resize(now.size() * K);
    double most = kNone;
    for (std::size_t h = 0; h < now.size(); ++h)
      for (std::size_t k = 0; k < K; ++k) {
        double p = now[h].sum + lattice.unary(t, k) + lattice.behind(t, k);
        if (t > 0) p += lattice.step(t, static_cast<std::size_t>(now[h].label), k);
        shares_[h * K + k] = p;
        most = std::max(most, p);
      }
    double least = most + least_;
    if (beam_ != 0 && shares_.size() > 2 * beam_) {
      ranked_ = shares_;
      const auto at = ranked_.begin() + static_cast<std::ptrdiff_t>(2 * beam_);
      std::nth_element(ranked_.begin(), at, ranked_.end(), std::greater<>());
      least = std::max(least, *at);
    }
    merged_.clear();
    next.clear();
    for (std::size_t h = 0; h < now.size(); ++h) {
      const Hypothesis& from = now[h];
      for (std::size_t k = 0; k < K; ++k) {
        if (shares_[h * K + k] < least) continue;
        const double p = shares_[h * K + k] - from.sum - lattice.behind(t, k);
        const std::int32_t prefix = extended(from.prefix, lattice.written(t, k));
        const auto fresh = static_cast<std::int32_t>(next.size());
        const auto label = static_cast<std::int32_t>(k);
        const std::int32_t place = number_of(merged_, joined_key(label, prefix), fresh, [&](std::uint32_t i) {
          return next[i].label == label && next[i].prefix == prefix;
        });
        if (place == fresh) {
          next.push_back(
              {prefix, static_cast<std::int32_t>(k), static_cast<std::int32_t>(h), from.sum + p, from.best + p});
          continue;
        }
        Hypothesis& old = next[static_cast<std::size_t>(place)];
        old.sum = log_add(old.sum, from.sum + p);
        if (from.best + p > old.best) {
          old.best = from.best + p;
          old.back = static_cast<std::int32_t>(h);
        }
      }
    }
  }

  // Drops what is beyond the beam, by shares of Z.
  void select(const Lattice& lattice, std::size_t t) {
    std::vector<Hypothesis>& layer = layers_[t + 1];
    if (beam_ == 0 || layer.size() <= beam_) return;
    const auto share = [&](const Hypothesis& h) {
      return h.sum + lattice.behind(t, static_cast<std::size_t>(h.label));
    };
    std::stable_sort(layer.begin(), layer.end(),
                     [&](const Hypothesis& a, const Hypothesis& b) { return share(a) > share(b); });
    layer.resize(beam_);
  }

  std::size_t k_, beam_;
  double least_;
  std::vector<Prefix> prefixes_;
  base::FlatIndex prefix_index_, merged_;
  std::vector<std::vector<Hypothesis>> layers_;
  std::vector<Hypothesis> ends_;
  std::vector<double> shares_, ranked_;
};

// ln of the sum over the labelings that write y.
double written_sum(const Lattice& lattice, std::span<const std::int32_t> y, std::vector<double>& now,
                   std::vector<double>& next) {
  const std::size_t width = y.size() + 1;
  now.assign(width, kNone);
  now[0] = 0.0;
  std::size_t before = 1;
  for (std::size_t t = 0; t < lattice.length(); ++t) {
    next.assign(lattice.size(t) * width, kNone);
    for (std::size_t k = 0; k < lattice.size(t); ++k) {
      const auto written = lattice.written(t, k);
      for (std::size_t from = 0; from + written.size() <= y.size(); ++from) {
        if (!std::equal(written.begin(), written.end(), y.begin() + static_cast<std::ptrdiff_t>(from))) continue;
        double& to = next[k * width + from + written.size()];
        for (std::size_t j = 0; j < before; ++j) {
          const double p = now[j * width + from];
          if (p != kNone) to = log_add(to, p + lattice.unary(t, k) + (t > 0 ? lattice.step(t, j, k) : 0.0));
        }
      }
    }
    before = lattice.size(t);
    std::swap(now, next);
  }
  double sum = kNone;
  for (std::size_t j = 0; j < before; ++j) sum = log_add(sum, now[j * width + y.size()]);
  return sum;
}

}  // namespace

std::vector<std::uint64_t> letter_tests(const Words& words, const LetterLabels& labels, const Windows& windows,
                                        std::size_t least) {
  std::vector<std::uint64_t> keys;
  for (std::size_t w = 0; w < words.size(); ++w) {
    const auto word = words.word(w);
    for (std::size_t t = 0; t < word.size(); ++t)
      if (labels.count(word[t]) > 0) for_each_test(word, t, windows, [&](std::uint64_t key) { keys.push_back(key); });
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint64_t> kept;
  for (std::size_t i = 0; i < keys.size();) {
    std::size_t j = i;
    while (j < keys.size() && keys[j] == keys[i]) ++j;
    if (j - i >= least && keys[i] != kNoTest) kept.push_back(keys[i]);
    i = j;
  }
  return kept;
}

std::vector<double> train_letters(const Words& words, std::span<const std::int32_t> gold, const LetterLabels& labels,
                                  const Windows& windows, const LetterWeights& where, std::span<float> weights,
                                  std::span<float> pair_weights, std::span<float> label_weights,
                                  const LetterTraining& training) {
  const LetterTests tests(where.tests), pairs(where.pairs);
  Lattice lattice(labels, windows, where, tests, pairs);
  const std::size_t N = words.size();
  const double lambda = training.l2 / static_cast<double>(std::max<std::size_t>(N, 1));
  std::vector<std::size_t> order(N);
  std::iota(order.begin(), order.end(), 0);
  double scale = 1.0, square = 0.0;
  const auto all = {weights, pair_weights, label_weights};
  const auto multiply = [&](double factor) {
    for (const auto& part : all)
      for (float& w : part) w = factor == 0.0 ? 0.0F : static_cast<float>(w * factor);  // of no number, too
  };
  const auto pass = [&](std::size_t count, double eta_0, double first) {
    double loss = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t w = order[i];
      const double eta = eta_0 / (1.0 + eta_0 * lambda * (first + static_cast<double>(i)));
      lattice.open(words.word(w));
      lattice.weigh(weights, pair_weights, label_weights, scale);
      lattice.marginals();
      scale *= 1.0 - std::min(0.5, eta * lambda);
      if (scale < kSmallest) {
        multiply(scale);
        scale = 1.0;
      }
      loss += lattice.learn(gold.subspan(static_cast<std::size_t>(words.offsets[w]), words.word(w).size()), eta / scale,
                            weights, pair_weights, label_weights);
    }
    return loss;
  };
  const auto shuffle = [&](std::uint64_t item) {
    base::Random random(training.seed, item);
    for (std::size_t i = N; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  };
  shuffle(0);
  double best = 0.0, eta_0 = 0.1;  // tried on a few words, twice over: the second pass must be best
  for (double eta = 0.4; eta > 0.004; eta /= 2.0) {
    const std::size_t some = std::min(kTried, N);
    pass(some, eta, 0.0);
    const double loss = pass(some, eta, 0.0);
    multiply(0.0);
    scale = 1.0;
    if (std::isfinite(loss) && (best == 0.0 || loss < best)) {
      best = loss;
      eta_0 = eta;
    } else if (best != 0.0) {
      break;
    }
  }
  std::vector<double> trace;
  for (std::size_t e = 0; e < training.epochs; ++e) {
    shuffle(e + 1);
    const double loss = pass(N, eta_0, static_cast<double>(e * N));
    multiply(scale);
    scale = 1.0;
    square = 0.0;
    for (const auto& part : all)
      for (const float w : part) square += static_cast<double>(w) * w;
    trace.push_back(loss + 0.5 * training.l2 * square);
  }
  return trace;
}

LetterModel::LetterModel(const LetterLabels& labels, const Windows& windows, const LetterWeights& weights)
    : labels_(labels),
      windows_(windows),
      weights_(weights),
      tests_(std::make_unique<LetterTests>(weights.tests)),
      pairs_(std::make_unique<LetterTests>(weights.pairs)) {}

LetterModel::~LetterModel() = default;

LetterAnswers LetterModel::decode(const Words& words, std::size_t k, std::size_t beam, double least,
                                  std::size_t threads) const {
  std::vector<std::vector<LetterDecoder::Answer>> found(words.size());
  base::parallel_blocks(words.size(), kWords, threads, [&](std::size_t begin, std::size_t end) {
    Lattice lattice(labels_, windows_, weights_, *tests_, *pairs_);
    LetterDecoder decoder(k, beam, least);
    for (std::size_t w = begin; w < end; ++w) {
      lattice.open(words.word(w));
      lattice.weigh(weights_.weights, weights_.pair_weights, weights_.label_weights, 1.0);
      const double log_z = lattice.sum();
      decoder.decode(lattice, log_z, found[w]);
    }
  });
  LetterAnswers answers{{0}, {}, {}, {0}, {}};
  for (const auto& word : found) {
    for (const auto& one : word) {
      answers.log_probability.push_back(one.log_probability);
      answers.labels.insert(answers.labels.end(), one.labels.begin(), one.labels.end());
      answers.outputs.insert(answers.outputs.end(), one.output.begin(), one.output.end());
      answers.output_begin.push_back(static_cast<std::int64_t>(answers.outputs.size()));
    }
    answers.offsets.push_back(static_cast<std::int64_t>(answers.log_probability.size()));
  }
  return answers;
}

std::vector<double> LetterModel::score(const Words& words, std::span<const std::int64_t> lists, const Words& outputs,
                                       std::size_t threads) const {
  std::vector<double> scores(outputs.size(), kNone);
  base::parallel_blocks(words.size(), kWords, threads, [&](std::size_t begin, std::size_t end) {
    Lattice lattice(labels_, windows_, weights_, *tests_, *pairs_);
    std::vector<double> now, next;  // [labels][symbols written]
    for (std::size_t w = begin; w < end; ++w) {
      if (lists[w] == lists[w + 1]) continue;
      lattice.open(words.word(w));
      lattice.weigh(weights_.weights, weights_.pair_weights, weights_.label_weights, 1.0);
      const double log_z = lattice.sum();
      for (auto o = static_cast<std::size_t>(lists[w]); o < static_cast<std::size_t>(lists[w + 1]); ++o)
        scores[o] = written_sum(lattice, outputs.word(o), now, next) - log_z;
    }
  });
  return scores;
}

double letter_objective(const Words& words, std::span<const std::int32_t> gold, const LetterLabels& labels,
                        const Windows& windows, const LetterWeights& weights, double l2,
                        std::span<float> weight_gradient, std::span<float> pair_gradient,
                        std::span<float> label_gradient) {
  const LetterTests tests(weights.tests), pairs(weights.pairs);
  Lattice lattice(labels, windows, weights, tests, pairs);
  double value = 0.0;
  for (std::size_t w = 0; w < words.size(); ++w) {
    lattice.open(words.word(w));
    lattice.weigh(weights.weights, weights.pair_weights, weights.label_weights, 1.0);
    lattice.marginals();
    value += lattice.learn(gold.subspan(static_cast<std::size_t>(words.offsets[w]), words.word(w).size()), -1.0,
                           weight_gradient, pair_gradient, label_gradient);
  }
  const auto penalize = [&](std::span<const float> some, std::span<float> gradient) {
    for (std::size_t i = 0; i < some.size(); ++i) {
      value += 0.5 * l2 * static_cast<double>(some[i]) * some[i];
      gradient[i] += static_cast<float>(l2 * some[i]);
    }
  };
  penalize(weights.weights, weight_gradient);
  penalize(weights.pair_weights, pair_gradient);
  penalize(weights.label_weights, label_gradient);
  return value;
}

}  // namespace textmill::tasks
