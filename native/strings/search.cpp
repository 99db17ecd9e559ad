#include "strings/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace textmill::strings {
namespace {

constexpr double kSlack = 1e-5;    // of the filters, which work with rounded weights
constexpr std::size_t kLong = 64;  // words from which rounded sums are not trusted

struct Ranked {
  std::size_t position;
  double weight;  // u_i
  double reach;   // r_i u_i
};

}  // namespace

struct Index::Scratch {
  Scratch(const Table& table, const Rule& rule, std::size_t words, std::size_t names)
      : scorer(table, rule, words), seen(names, -1) {}
  Scorer scorer;
  std::vector<std::int32_t> seen;  // the left name for which a name was last a candidate
  std::vector<std::int32_t> candidates;
  std::vector<Ranked> ranked;
  std::vector<double> rest;  // T_k
  std::vector<Found> found;
  std::vector<double> best;  // the `top` largest scores by the table, the worst in front
};

Index::Index(const Names& names, std::size_t words, const Rule& rule) : names_(names), rule_(rule) {
  offsets_.assign(words + 1, 0);
  for (std::size_t name = 0; name < names.size(); ++name) {
    if (names.squares[name] == 0.0) continue;
    for (std::size_t e = names.begin(name); e < names.begin(name) + names.length(name); ++e) {
      ++offsets_[static_cast<std::size_t>(names.words[e]) + 1];
    }
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  postings_.resize(static_cast<std::size_t>(offsets_.back()));
  places_.assign(names.words.size(), {0, 0.0f});
  std::vector<std::int64_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::size_t name = 0; name < names.size(); ++name) {
    if (names.squares[name] == 0.0) continue;
    const double length = rule.weighted() ? std::sqrt(names.squares[name]) : 1.0;
    double sum = 0.0;
    for (std::size_t e = names.begin(name); e < names.begin(name) + names.length(name); ++e) {
      const double v = names.weights[e] / length;
      sum += v;
      double same = 0.0;
      for (std::size_t f = names.begin(name); f <= e; ++f)
        same += names.words[f] == names.words[e] ? names.weights[f] / length : 0.0;
      heaviest_ = std::max(heaviest_, same);
      places_[e] = {names.words[e], static_cast<float>(v)};
      postings_[static_cast<std::size_t>(next[static_cast<std::size_t>(names.words[e])]++)] = {
          static_cast<std::int32_t>(name), places_[e].weight};
    }
    longest_ = std::max(longest_, sum);
  }
  for (std::size_t word = 0; word < words; ++word) {
    std::sort(postings_.begin() + offsets_[word], postings_.begin() + offsets_[word + 1],
              [](const Posting& a, const Posting& b) {
                return a.weight != b.weight ? a.weight > b.weight : a.name < b.name;
              });
  }
}

Matches Index::search(const Names& left, const Table& table, std::size_t begin, std::size_t end, double threshold,
                      std::size_t top, bool same, double cut, std::size_t threads) const {
  return search_all(
      begin, end, threads, [&] { return std::make_unique<Scratch>(table, rule_, offsets_.size() - 1, names_.size()); },
      [&](std::size_t name, Scratch& scratch, Matches& out) {
        search_one(left, table, name, threshold, top, same, cut, scratch, out);
      });
}

// How many postings the words of the prefix lead to.
std::size_t Index::prefix_postings(const Table& table, const std::int32_t* rows, const Scratch& scratch,
                                   double least) const {
  std::size_t postings = 0;
  for (std::size_t k = 0; k < scratch.ranked.size() && scratch.rest[k] + kSlack >= least; ++k) {
    const auto row = static_cast<std::size_t>(rows[scratch.ranked[k].position]);
    for (auto e = static_cast<std::size_t>(table.offsets[row]); e < static_cast<std::size_t>(table.offsets[row + 1]);
         ++e) {
      const auto word = static_cast<std::size_t>(table.columns[e]);
      postings += static_cast<std::size_t>(offsets_[word + 1] - offsets_[word]);
    }
  }
  return postings;
}

void Index::search_one(const Names& left, const Table& table, std::size_t name, double threshold, std::size_t top,
                       bool same, double cut, Scratch& scratch, Matches& out) const {
  const double square = left.squares[name];
  if (square == 0.0) return;
  const std::size_t n = left.length(name);
  const std::int32_t* const rows = left.rows.data() + left.begin(name);
  const double* const x = left.weights.data() + left.begin(name);
  const double length = rule_.weighted() ? std::sqrt(square) : static_cast<double>(n);

  auto& ranked = scratch.ranked;
  ranked.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    float most = 0.0f;
    for (auto e = static_cast<std::size_t>(table.offsets[row]); e < static_cast<std::size_t>(table.offsets[row + 1]);
         ++e) {
      const auto word = static_cast<std::size_t>(table.columns[e]);
      // a name does not meet itself: its own word counts only where it is written elsewhere too
      const std::int64_t own = same && word == row ? 1 : 0;
      if (table.values[e] > rule_.theta && offsets_[word + 1] - offsets_[word] > own)
        most = std::max(most, table.values[e]);
    }
    ranked.push_back({i, x[i] / length, x[i] / length * most});
  }
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.position < b.position;
  });
  auto& rest = scratch.rest;
  rest.assign(n + 1, 0.0);
  const auto tails = [&](auto reach) {  // reach(k): r_k u_k
    double squares = 0.0, sum = 0.0, most = 0.0;
    for (std::size_t k = n; k-- > 0;) {
      squares += reach(k) * reach(k);
      sum += reach(k);
      double places = 0.0;
      for (std::size_t h = 0; h < n; ++h)
        places += rows[ranked[h].position] == rows[ranked[k].position] ? reach(h) : 0.0;
      most = std::max(most, rule_.weighted() ? places : reach(k));
      if (rule_.one_to_one()) {
        rest[k] = std::sqrt(squares);
        continue;
      }
      const double forward = rule_.weighted() ? sum * heaviest_ : sum;
      const double backward = rule_.weighted() ? most * longest_ : most * static_cast<double>(n);
      switch (rule_.sides) {
        case Sides::mean: rest[k] = 0.5 * (forward + backward); break;
        case Sides::max: rest[k] = std::max(forward, backward); break;
        default: rest[k] = forward;  // min is at most forward
      }
    }
  };
  double least = threshold, whole = 0.0;
  if (cut > 0.0) {
    tails([&](std::size_t k) { return std::max(ranked[k].reach, cut * ranked[k].weight); });
    if (rest[0] + kSlack < least) return;
    tails([&](std::size_t k) { return ranked[k].weight; });
    whole = rest[0];
  }
  tails([&](std::size_t k) { return ranked[k].reach; });
  // what edges of the table must add, so that a score reaches `least`
  const auto needed = [&] {
    const double lost = cut < 1.0 ? std::min(whole, std::max(0.0, whole - least) / (1.0 - cut)) : whole;
    return least - cut * lost;
  };
  double lower = needed();
  const float floor = static_cast<float>(cut),
              base = static_cast<float>(cut * (ranked.empty() ? 0.0 : ranked[0].weight));

  auto& found = scratch.found;
  auto& best = scratch.best;
  found.clear();
  best.clear();
  const bool halved = same && top == 0;
  const bool rising = top > 0 && (cut == 0.0 || rule_.alignment != Alignment::greedy);
  const auto consider = [&](std::size_t other) {
    if (same && (halved ? other <= name : other == name)) return;
    ++out.candidates;
    if (rule_.one_to_one()) {
      const std::size_t m = names_.length(other);
      const Place* const place = places_.data() + names_.begin(other);
      float most = 0.0f, filled = 0.0f;
      for (std::size_t j = 0; j < m; ++j) {
        const float reach = scratch.scorer.best(place[j].word);
        most += place[j].weight * reach;
        filled += place[j].weight * std::max(reach, base);
      }
      if (m < kLong && (most + kSlack < lower || filled + kSlack < least)) return;
    }
    double bound = 0.0;
    if (cut > 0.0 || rule_.one_to_one()) {
      bound = scratch.scorer.bound(names_, other, floor, least - kSlack);
      if (bound + kSlack < least || bound <= 0.0) return;
    }
    ++out.aligned;
    // without a cut and with an optimal alignment the bound is the score
    const bool known = cut == 0.0 && rule_.one_to_one() && rule_.alignment != Alignment::greedy;
    const double score = known ? bound : cut == 0.0 || rising ? scratch.scorer.score(names_, other) : 0.0;
    if (cut == 0.0 && (score < least || score <= 0.0)) return;
    found.push_back({cut > 0.0 ? bound : score, static_cast<std::int32_t>(other)});
    if (!rising) return;
    best.push_back(score);
    std::push_heap(best.begin(), best.end(), std::greater<>());
    if (best.size() > top) {
      std::pop_heap(best.begin(), best.end(), std::greater<>());
      best.pop_back();
    }
    if (best.size() < top || best.front() <= least) return;
    least = best.front();
    lower = needed();
  };

  if (rest[0] + kSlack < lower) return;
  scratch.scorer.take(left, name);
  const std::size_t all = names_.size() - (halved ? name + 1 : 0);
  // words that no similarity of the table links may be enough
  const bool unlinked = rule_.alignment == Alignment::closest && threshold > 0.0 && lower <= 0.0;
  if (unlinked || prefix_postings(table, rows, scratch, lower) >= all) {
    for (std::size_t other = names_.size() - all; other < names_.size(); ++other) consider(other);
  } else {
    for (std::size_t k = 0; k < n && rest[k] + kSlack >= lower; ++k) {
      const auto row = static_cast<std::size_t>(rows[ranked[k].position]);
      scratch.candidates.clear();
      for (auto e = static_cast<std::size_t>(table.offsets[row]); e < static_cast<std::size_t>(table.offsets[row + 1]);
           ++e) {
        const double s = table.values[e];
        if (!(s > rule_.theta)) continue;
        const auto word = static_cast<std::size_t>(table.columns[e]);
        const double lightest = rule_.one_to_one() ? (lower - kSlack - rest[k + 1]) / (s * ranked[k].weight) : 0.0;
        for (auto p = static_cast<std::size_t>(offsets_[word]); p < static_cast<std::size_t>(offsets_[word + 1]); ++p) {
          const Posting posting = postings_[p];
          if (posting.weight < lightest) break;
          auto& seen = scratch.seen[static_cast<std::size_t>(posting.name)];
          if (seen == static_cast<std::int32_t>(name)) continue;
          seen = static_cast<std::int32_t>(name);
          scratch.candidates.push_back(posting.name);
        }
      }
      for (const std::int32_t candidate : scratch.candidates) consider(static_cast<std::size_t>(candidate));
    }
  }
  std::sort(found.begin(), found.end());
  if (cut == 0.0 && top > 0 && found.size() > top) found.resize(top);
  for (const Found& match : found) {
    if (match.score + kSlack < least) break;
    out.left.push_back(static_cast<std::int32_t>(name));
    out.right.push_back(match.name);
    out.scores.push_back(match.score);
  }
}

}  // namespace textmill::strings
