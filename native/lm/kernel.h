// Passive-aggressive learning from sets of features, with a kernel and an inverted index of the active examples.
//
// An example x is a set of features, each a 64-bit key, and y is +1 or -1. With f the present model, one round is
//
//   l   = max(0, 1 - y f(x))
//   tau = l / k              PA            k = K(x, x)
//       = min(C, l / k)      PA-I
//       = l / (k + 1/(2C))   PA-II
//   f  <- f + tau y K(x, .)                whenever l > 0 and k > 0: x becomes active
//
//   linear       x.z, of sets the number of common features; here features may have values
//   polynomial   (1 + |x n z|)^d
//   rbf          exp(-gamma (|x| + |z| - 2 |x n z|))
//
// A kernel is a function of the number r of common features and of both sizes. The index has the active examples of
// each feature: counting visits only examples that share a feature with x,
//
//   r_i = number of features f of x with i in postings(f),      f(x) = sum_i a_i K(r_i, |x|, |x_i|),   a_i = sum of tau y
//
// Rounds are sequential, their counting is not: the examples of a batch are counted together, by all threads, against
// those that were active before the batch; what became active within it is met pair by pair. The sum is the same, in
// the same order, for any number of threads.
//
// Features enter the dictionary when their example becomes active. Averaging keeps b = sum of t tau y beside a, with t
// the round, from 1: the mean of the models after each of T rounds has the coefficients a (T + 1)/T - b/T.
//
// The part of a feature in f(x) is its Shapley value: r common features take part in K alike, so each gets
// (K(r) - K(0)) / r of every active example that has it, and the parts sum to f(x) - f without common features.
//
// Memory of the index: 4 bytes for each posting and 8 for each feature. References: Crammer, Dekel, Keshet,
// Shalev-Shwartz & Singer (2006), Online passive-aggressive algorithms; Kudo & Matsumoto (2003), Fast methods for
// kernel-based text analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_table.h"

namespace textmill::lm {

enum class Aggression { kPlain, kFirst, kSecond };  // PA, PA-I, PA-II
enum class KernelKind { kLinear, kPolynomial, kGaussian };

inline constexpr std::size_t kMostFeatures = 65535;  // of an example: counters have 16 bits

// Examples: features key[begin[i]] ... key[begin[i + 1] - 1], ascending and different; value empty or as key.
struct Examples {
  std::span<const std::int64_t> begin;
  std::span<const std::uint64_t> key;
  std::span<const double> value;

  std::size_t size() const { return begin.size() - 1; }
  std::span<const std::uint64_t> keys(std::size_t i) const {
    return key.subspan(static_cast<std::size_t>(begin[i]), static_cast<std::size_t>(begin[i + 1] - begin[i]));
  }
  std::span<const double> values(std::size_t i) const {
    return value.empty()
               ? value
               : value.subspan(static_cast<std::size_t>(begin[i]), static_cast<std::size_t>(begin[i + 1] - begin[i]));
  }
};

// Keys by number, in order of their appearance, and numbers by key.
class Dictionary {
 public:
  std::int32_t find(std::uint64_t key) const {  // -1 where there is none
    if (key < kSmall) return key < small_.size() ? small_[key] : -1;
    return large_.find(key, -1);
  }
  std::int32_t add(std::uint64_t key);
  const std::vector<std::uint64_t>& keys() const { return keys_; }

 private:
  static constexpr std::uint64_t kSmall = 1
                                          << 22;  // keys below it, such as columns of a matrix, are looked up directly
  std::vector<std::uint64_t> keys_;
  std::vector<std::int32_t> small_;
  base::FlatTable<std::int32_t, base::Mixed> large_;
};

// Active examples: features ascending by number.
struct ActiveSet {
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> feature;
  std::vector<double> a, b;

  std::size_t size() const { return a.size(); }
  std::span<const std::int32_t> features(std::size_t i) const {
    return {feature.data() + begin[i], static_cast<std::size_t>(begin[i + 1] - begin[i])};
  }
  std::size_t width(std::size_t i) const { return static_cast<std::size_t>(begin[i + 1] - begin[i]); }
};

// Values of a kernel by counts, tabulated.
class KernelTable {
 public:
  KernelTable(KernelKind kind, int degree, double gamma) : kind_(kind), degree_(degree), gamma_(gamma) {}
  // Makes room for examples of up to `width` features.
  void reserve(std::size_t width);
  double operator()(std::size_t common, std::size_t size, std::size_t other) const {
    return kind_ == KernelKind::kGaussian ? table_[size + other - 2 * common] : table_[common];
  }
  bool by_common() const { return kind_ != KernelKind::kGaussian; }
  const double* table() const { return table_.data(); }
  KernelKind kind() const { return kind_; }
  int degree() const { return degree_; }

 private:
  KernelKind kind_;
  int degree_;
  double gamma_;
  std::vector<double> table_;
};

// Postings of the examples from..to of an active set, by feature.
class Postings {
 public:
  // All features have a place: for a large part.
  void build(const ActiveSet& active, std::size_t from, std::size_t to, std::size_t features);
  // Only features that occur have one: cost and memory are those of the part alone.
  void build_small(const ActiveSet& active, std::size_t from, std::size_t to, std::size_t features);
  std::span<const std::int32_t> of(std::int32_t feature) const {
    auto at = static_cast<std::size_t>(feature);
    if (small_) {
      at = at < slot_.size() ? static_cast<std::size_t>(slot_[at]) : member_.size();
      if (at >= member_.size() || member_[at] != feature) return {};
    } else if (at + 1 >= begin_.size()) {
      return {};
    }
    return {row_.data() + begin_[at], static_cast<std::size_t>(begin_[at + 1] - begin_[at])};
  }
  std::size_t bytes() const;

 private:
  bool small_ = false;
  std::vector<std::int64_t> begin_{0};
  std::vector<std::int32_t> row_;
  std::vector<std::int32_t> member_;  // features of a small part, in order of appearance
  std::vector<std::int32_t> slot_;    // where a feature is among them, if it is
};

struct Round {  // what happened to an example
  double margin, tau;
};

class Learner {
 public:
  Learner(Aggression aggression, double cost, const KernelTable& kernel)
      : aggression_(aggression), cost_(cost), kernel_(kernel) {}

  enum class By { kIndex, kPairs };  // how the active examples are met: by the index, or each of them, for comparison

  // Goes through the examples in order; label +1 or -1. slot [examples] says which active example is the same as this
  // one, -1 for none, and is filled in where an example becomes active. rounds [examples] is filled in.
  void learn(const Examples& examples, std::span<const std::int8_t> label, std::span<std::int32_t> slot,
             std::span<Round> rounds, By by, std::size_t threads);

  // The same for a linear model and rows of a matrix: features are columns below `columns`, in any order. A new learner
  // numbers them as they are, so that weights are met without a look at the dictionary.
  void learn_columns(std::span<const std::int64_t> begin, std::span<const std::int32_t> column,
                     std::span<const double> value, std::size_t columns, std::span<const std::int8_t> label,
                     std::span<Round> rounds);
  // Whether learn_columns() can be used: the learner is new, or its features are the columns.
  bool takes_columns(std::size_t columns) const {
    return linear() && (dictionary.keys().empty() || columns_ == columns);
  }

  void margins(const Examples& examples, bool averaged, By by, std::span<double> out, std::size_t threads);
  // part [keys]: the part of each feature in the margin; rest [examples]: the margin without any of them.
  void parts(const Examples& examples, bool averaged, std::span<double> part, std::span<double> rest,
             std::size_t threads);

  // Coefficients of the active examples, or weights of the features of a linear model.
  std::vector<double> coefficients(bool averaged) const;

  // Everything that is learned, to be saved and restored.
  Dictionary dictionary;
  ActiveSet active;  // of kernels; a linear model has only a and b, by feature
  std::int64_t rounds_done = 0;

  std::size_t index_bytes();
  bool linear() const { return kernel_.kind() == KernelKind::kLinear; }
  const KernelTable& kernel() const { return kernel_; }
  void settle();  // one index of all active examples

 private:
  struct Row {                           // an example by number
    std::vector<std::int32_t> features;  // known ones, ascending
    std::size_t size;
  };
  Row translate(const Examples& examples, std::size_t i) const;
  double tau(double loss, double square) const;
  void learn_linear(const Examples& examples, std::span<const std::int8_t> label, std::span<Round> rounds);
  void learn_batch(const Examples& examples, std::size_t from, std::size_t to, std::span<const std::int8_t> label,
                   std::span<std::int32_t> slot, std::span<Round> rounds, By by, std::size_t threads);
  void count(const Row& row, std::vector<std::uint16_t>& counters) const;
  double sum(const Row& row, std::span<const double> coefficient, std::vector<std::uint16_t>& counters) const;
  double sum_by_pairs(const Row& row, std::span<const double> coefficient) const;
  void reindex();

  Aggression aggression_;
  double cost_;
  KernelTable kernel_;
  Postings large_, small_;
  std::size_t large_end_ = 0, indexed_ = 0;  // examples in the large part, in both
  std::size_t columns_ = 0;                  // features that are numbered as their columns
};

}  // namespace textmill::lm
