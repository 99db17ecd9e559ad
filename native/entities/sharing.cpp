#include "entities/sharing.h"

#include <algorithm>
#include <vector>

#include "base/flat_table.h"
#include "entities/phrases.h"

namespace textmill::entities {
namespace {

constexpr double kLeast = 0.05;       // candidates that are less probable say nothing of shorter ones
constexpr std::int32_t kLongest = 6;  // nor do longer ones

// Sums by key: total mass and K values.
class Sums {
 public:
  explicit Sums(std::size_t K) : K_(K) {}
  void add(std::uint64_t key, double mass, const double* values) {
    const auto at = numbers_.add(key, numbers_.size()).first * (K_ + 1);
    if (at == sums_.size()) sums_.resize(at + K_ + 1, 0.0);
    sums_[at] += mass;
    for (std::size_t k = 0; k < K_; ++k) sums_[at + 1 + k] += mass * values[k];
  }
  // Mass and values, or null.
  const double* find(std::uint64_t key) const {
    const std::size_t* const number = numbers_.find(key);
    return number == nullptr ? nullptr : sums_.data() + *number * (K_ + 1);
  }

 private:
  std::size_t K_;
  base::FlatTable<std::size_t> numbers_;
  std::vector<double> sums_;
};

// A key is never the mark of a free place.
std::uint64_t key_of(std::uint64_t words) { return words == ~std::uint64_t{0} ? 0 : words; }

}  // namespace

void share_types(const DocumentPhrases& phrases, std::span<const double> name, std::span<const double> types,
                 std::size_t K, std::span<double> same, std::span<double> longer) {
  std::vector<std::uint64_t> keys;  // [candidates of a document]
  const std::size_t S = phrases.offsets.size() - 1;
  for (std::size_t first = 0, last = 0; first < S; first = last) {
    while (last < S && phrases.document[last] == phrases.document[first]) ++last;
    Sums equal(K), inside(K);
    keys.clear();
    for (std::size_t s = first; s < last; ++s) {
      const std::uint64_t* sums = phrases.sums.data() + phrases.tokens[s];
      for (auto i = static_cast<std::size_t>(phrases.offsets[s]); i < static_cast<std::size_t>(phrases.offsets[s + 1]);
           ++i) {
        const std::int32_t begin = phrases.begin[i], end = phrases.end[i];
        keys.push_back(key_of(sums[end] - sums[begin]));
        equal.add(keys.back(), name[i], types.data() + i * K);
        if (name[i] < kLeast || end - begin > kLongest) continue;
        for (std::int32_t a = begin; a < end; ++a)
          for (std::int32_t b = a + 1; b <= end; ++b)
            if (b - a < end - begin) inside.add(key_of(sums[b] - sums[a]), name[i], types.data() + i * K);
      }
    }
    auto i = static_cast<std::size_t>(phrases.offsets[first]);
    for (const std::uint64_t key : keys) {
      const double* own = types.data() + i * K;
      const double* all = equal.find(key);
      const double others = 1.0 + std::max(all[0] - name[i], 0.0);
      for (std::size_t k = 0; k < K; ++k) same[i * K + k] = (all[1 + k] - name[i] * own[k]) / others;
      const double* within = inside.find(key);
      for (std::size_t k = 0; k < K; ++k)
        longer[i * K + k] = within == nullptr ? 0.0 : within[1 + k] / (1.0 + within[0]);
      ++i;
    }
  }
}

}  // namespace textmill::entities
