#include "lm/smoothing.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"

namespace textmill::lm {
namespace {

constexpr std::size_t kBlock = 4096;    // nodes handed to a thread at once
constexpr std::size_t kMostShares = 8;  // of the nodes, among those who count what stands before them

using Row = std::array<double, kClasses>;
using Times = std::array<std::int64_t, kFitted + 1>;

double real(std::int64_t x) { return static_cast<double>(x); }

Row all(double value) {
  Row row;
  row.fill(value);
  return row;
}

// t_1 / (t_1 + 2 t_2), or 0.5 where that is not between 0 and 1.
double single_discount(const Times& t, bool& fell_back) {
  const bool fine = t[1] > 0 && t[2] > 0;
  fell_back |= !fine;
  return fine ? real(t[1]) / (real(t[1]) + 2.0 * real(t[2])) : 0.5;
}

Row modified_kneser_ney(const Times& t, bool& fell_back) {
  const double one = real(t[1]), two = real(t[2]);
  const double y = t[1] + t[2] > 0 ? one / (one + 2.0 * two) : 0.0;
  Row d = all(0.0);
  bool fine = t[1] > 0 && t[2] > 0 && t[3] > 0 && t[4] > 0;
  for (std::size_t k = 1; k <= 3 && fine; ++k) {
    d[k - 1] = static_cast<double>(k) - static_cast<double>(k + 1) * y * real(t[k + 1]) / real(t[k]);
    fine = d[k - 1] > 0.0 && d[k - 1] < static_cast<double>(k);
  }
  if (!fine) {
    fell_back = true;
    if (y > 0.0 && y < 1.0)
      d[0] = d[1] = d[2] = y;
    else
      d[0] = 0.5, d[1] = 1.0, d[2] = 1.5;
  }
  std::fill(d.begin() + 3, d.end(), d[2]);
  return d;
}

Row katz(const Times& t, std::int32_t limit, bool& fell_back) {
  if (limit <= 1) return all(0.0);
  Row d = all(0.0);
  const auto k = static_cast<std::size_t>(limit);
  bool fine = t[1] > 0;
  const double A = fine ? real(limit + 1) * real(t[k + 1]) / real(t[1]) : 1.0;
  for (std::size_t r = 1; r <= k && fine; ++r) {
    const double ratio =
        real(static_cast<std::int64_t>(r + 1)) * real(t[r + 1]) / (static_cast<double>(r) * real(t[r]));
    const double coefficient = (ratio - A) / (1.0 - A);
    fine = t[r] > 0 && A < 1.0 && coefficient > 0.0 && coefficient <= 1.0;
    d[r - 1] = static_cast<double>(r) * (1.0 - coefficient);
  }
  if (fine) return d;
  fell_back = true;
  return all(single_discount(t, fell_back));
}

// Simple Good-Turing over the counts up to kFitted: a line through log Z_r over log r, Z_r = t_r spread over the gap to its
// neighbors; Turing's own estimate as long as it differs significantly from the line's.
Row good_turing(const Times& t, bool& fell_back) {
  std::vector<std::size_t> seen;
  for (std::size_t r = 1; r <= kFitted; ++r)
    if (t[r] > 0) seen.push_back(r);
  double slope = 0.0;
  if (seen.size() >= 2 && t[1] > 0) {
    double x1 = 0.0, y1 = 0.0, xx = 0.0, xy = 0.0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const double before = i == 0 ? 0.0 : static_cast<double>(seen[i - 1]);
      const double r = static_cast<double>(seen[i]);
      const double after = i + 1 < seen.size() ? static_cast<double>(seen[i + 1]) : 2.0 * r - before;
      const double x = std::log(r), y = std::log(2.0 * real(t[seen[i]]) / (after - before));
      x1 += x;
      y1 += y;
      xx += x * x;
      xy += x * y;
    }
    const double n = static_cast<double>(seen.size());
    slope = (n * xy - x1 * y1) / (n * xx - x1 * x1);
  }
  if (!(slope < -1.0) || !(slope > -static_cast<double>(kClasses))) {
    fell_back = true;
    return all(single_discount(t, fell_back));
  }
  Row d = all(-(1.0 + slope));
  bool turing = true;
  for (std::size_t r = 1; r < kClasses; ++r) {
    const double x = static_cast<double>(r), line = x * std::pow(1.0 + 1.0 / x, slope + 1.0);
    double star = line;
    turing = turing && t[r] > 0 && t[r + 1] > 0;
    if (turing) {
      const double ratio = real(t[r + 1]) / real(t[r]), own = (x + 1.0) * ratio;
      const double deviation = (x + 1.0) * std::sqrt(ratio / real(t[r]) * (1.0 + ratio));
      turing = std::abs(own - line) > 1.65 * deviation && own > 0.0 && own < x;
      if (turing) star = own;
    }
    d[r - 1] = x - star;
  }
  return d;
}

Row discounts_of(const Rules& rules, std::size_t n, const Times& t, bool& fell_back) {
  switch (rules.method) {
    case Method::kModifiedKneserNey: return modified_kneser_ney(t, fell_back);
    case Method::kKatz: return katz(t, rules.limit[n - 1], fell_back);
    case Method::kGoodTuring: return good_turing(t, fell_back);
    case Method::kKneserNey:
    case Method::kAbsolute: return all(single_discount(t, fell_back));
    case Method::kWittenBell:
    case Method::kJelinekMercer: break;
  }
  return all(0.0);
}

std::size_t bucket_of(std::int64_t total) { return std::bit_width(static_cast<std::uint64_t>(total)) - 1; }

double product(const Row& discount, const std::array<std::int32_t, kClasses>& times, std::size_t classes) {
  double sum = 0.0;
  for (std::size_t c = 0; c < classes; ++c) sum += discount[c] * static_cast<double>(times[c]);
  return sum;
}

}  // namespace

void Statistics::weigh(std::size_t n, const Context& context, std::int64_t by) {
  if (context.total <= 0) return;
  const std::size_t bucket = bucket_of(context.total);
  tokens[n - 1][bucket] += by * context.total;
  singles[n - 1][bucket] += by * context.singles;
}

Parameters::Parameters(const Rules& rules, const Statistics& statistics) {
  for (std::size_t n = 1; n <= statistics.counts_of_counts.size(); ++n) {
    bool fell = false;
    discounts.push_back(discounts_of(rules, n, statistics.counts_of_counts[n - 1], fell));
    fell_back.push_back(fell);
    std::array<double, kSizes>& row = new_word.emplace_back();
    for (std::size_t b = 0; b < kSizes; ++b)
      row[b] = (real(statistics.singles[n - 1][b]) + 1.0) / (real(statistics.tokens[n - 1][b]) + 2.0);
  }
}

Share share_of(const Rules& rules, const Parameters& parameters, const Statistics& statistics, std::size_t n,
               const Context& context, double below) {
  Share share;
  const std::int64_t size = context.size();
  if (context.total == 0 || size == 0) {
    share.denominator = 0.0;
    return share;
  }
  const Row& d = parameters.discounts[n - 1];
  const std::size_t classes = rules.classes();
  const double total = real(context.total), cut = real(context.total - context.kept);
  share.denominator = total;
  if (rules.method == Method::kWittenBell) {
    share.denominator = real(context.total + context.types);
    share.back_off = (cut + static_cast<double>(context.types)) / share.denominator;
  } else if (rules.method == Method::kJelinekMercer) {
    const double fresh = parameters.new_word[n - 1][bucket_of(context.total)];
    share.scale = 1.0 - fresh;
    share.back_off = fresh + share.scale * cut / total;
  } else if (!rules.backs_off()) {
    share.back_off = (cut + product(d, context.times, classes)) / total;
  } else if (size == statistics.words) {  // all words have their own: nobody backs off from here
    share.denominator = real(context.kept) - product(d, context.times, classes);
  } else {
    double mass = cut + product(d, context.times, classes);
    if (mass <= 0.0) {
      mass = 1.0;
      share.denominator = total + 1.0;
    }
    const double rest =
        n == 1 ? real(statistics.words - size) / real(statistics.words)
               : (below - real(context.lower) + product(parameters.discounts[n - 2], context.lower_times, classes)) /
                     below;
    share.back_off = mass / share.denominator / rest;
  }
  return share;
}

void continuations(const Tree& tree, std::span<const std::int32_t> suffix, std::span<const std::int64_t> count,
                   std::int32_t begin, std::span<std::int64_t> a, std::size_t threads) {
  const std::size_t order = tree.order(), nodes = tree.nodes();
  // Cut by what is written: each share has every so many blocks of nodes, and looks at all n-grams for their ends there.
  const std::size_t shares = std::min(threads, kMostShares);
  const auto inner = static_cast<std::size_t>(tree.level[order]);
  base::parallel_for(shares, threads, [&](std::size_t share) {
    for (std::size_t block = share; block * kBlock < inner; block += shares)
      std::fill(a.begin() + static_cast<std::ptrdiff_t>(block * kBlock),
                a.begin() + static_cast<std::ptrdiff_t>(std::min(inner, (block + 1) * kBlock)), 0);
    for (auto v = static_cast<std::size_t>(tree.level[2]); v < nodes; ++v) {
      const auto end = static_cast<std::size_t>(suffix[v]);
      if (shares == 1 || end / kBlock % shares == share) ++a[end];
    }
  });
  base::parallel_blocks(nodes - inner, kBlock, threads, [&](std::size_t from, std::size_t to) {
    std::copy(count.begin() + static_cast<std::ptrdiff_t>(inner + from),
              count.begin() + static_cast<std::ptrdiff_t>(inner + to),
              a.begin() + static_cast<std::ptrdiff_t>(inner + from));
  });
  for (std::size_t n = 2, from = static_cast<std::size_t>(1 + begin), to = from + 1; n < order; ++n) {
    from = static_cast<std::size_t>(tree.first[from]);
    to = static_cast<std::size_t>(tree.first[to]);
    std::copy(count.begin() + static_cast<std::ptrdiff_t>(from), count.begin() + static_cast<std::ptrdiff_t>(to),
              a.begin() + static_cast<std::ptrdiff_t>(from));
  }
}

Context context_of(const Rules& rules, const Adjusted& data, std::size_t n, std::size_t h) {
  Context context;
  const std::size_t classes = rules.classes();
  const bool backs_off = rules.backs_off() && n > 1;
  for (std::int32_t c = data.tree.first[h]; c < data.tree.first[h + 1]; ++c) {
    const auto v = static_cast<std::size_t>(c);
    const std::int64_t a = data.a[v];
    if (a == 0 || (n == 1 && data.tree.word[v] == data.begin)) continue;
    context.total += a;
    ++context.types;
    context.singles += a == 1;
    if (data.count[v] < rules.min_count[n - 1]) continue;
    context.kept += a;
    ++context.times[class_of(a, classes)];
    if (!backs_off) continue;
    const std::int64_t below = data.a[static_cast<std::size_t>(data.suffix[v])];
    context.lower += below;
    ++context.lower_times[class_of(below, classes)];
  }
  return context;
}

Statistics statistics_of(const Rules& rules, const Adjusted& data, std::size_t threads) {
  const Tree& tree = data.tree;
  Statistics statistics(tree.order());
  statistics.words = static_cast<std::int64_t>(tree.words()) - 1;
  for (std::size_t n = 1; n <= tree.order(); ++n) {
    const auto from = static_cast<std::size_t>(tree.level[n]),
               size = static_cast<std::size_t>(tree.level[n + 1]) - from;
    std::vector<Statistics> lane(base::kLanes, Statistics(tree.order()));
    base::parallel_for(base::kLanes, threads, [&](std::size_t l) {
      Statistics mine(tree.order());
      for (std::size_t i = size * l / base::kLanes; i < size * (l + 1) / base::kLanes; ++i)
        if (n > 1 || tree.word[from + i] != data.begin) mine.count(n, data.a[from + i], 1);
      if (rules.method == Method::kJelinekMercer) {
        const auto first = static_cast<std::size_t>(tree.level[n - 1]);
        const std::size_t contexts = from - first;
        for (std::size_t i = contexts * l / base::kLanes; i < contexts * (l + 1) / base::kLanes; ++i)
          mine.weigh(n, context_of(rules, data, n, first + i), 1);
      }
      lane[l] = std::move(mine);
    });
    for (const Statistics& part : lane) {
      for (std::size_t r = 0; r <= kFitted; ++r)
        statistics.counts_of_counts[n - 1][r] += part.counts_of_counts[n - 1][r];
      for (std::size_t b = 0; b < kSizes; ++b) {
        statistics.tokens[n - 1][b] += part.tokens[n - 1][b];
        statistics.singles[n - 1][b] += part.singles[n - 1][b];
      }
    }
  }
  return statistics;
}

Parameters smooth(const Rules& rules, const Adjusted& data, std::span<double> log_probability,
                  std::span<double> log_back_off, std::size_t threads) {
  const Tree& tree = data.tree;
  const Statistics statistics = statistics_of(rules, data, threads);
  Parameters parameters(rules, statistics);
  const std::size_t order = tree.order(), classes = rules.classes();
  const auto level = [&](std::size_t n) { return static_cast<std::size_t>(tree.level[n]); };
  const std::span<double> p = log_probability, b = log_back_off;  // not yet logarithms
  base::parallel_blocks(tree.nodes(), kBlock, threads, [&](std::size_t from, std::size_t to) {
    std::fill(p.begin() + static_cast<std::ptrdiff_t>(from), p.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
    std::fill(b.begin() + static_cast<std::ptrdiff_t>(from), b.begin() + static_cast<std::ptrdiff_t>(to), 1.0);
  });
  std::vector<double> denominator(rules.backs_off() ? level(order) : 0, 0.0);
  const double uniform = 1.0 / real(statistics.words);
  for (std::size_t n = 1; n <= order; ++n) {  // a context gives its children their probabilities, shorter ones first
    const Row& d = parameters.discounts[n - 1];
    base::parallel_blocks(level(n) - level(n - 1), kBlock, threads, [&](std::size_t from, std::size_t to) {
      for (std::size_t h = level(n - 1) + from; h < level(n - 1) + to; ++h) {
        const std::int32_t first = tree.first[h], last = tree.first[h + 1];
        const double below = rules.backs_off() && n > 1 ? denominator[static_cast<std::size_t>(data.suffix[h])] : 0.0;
        const Share share = share_of(rules, parameters, statistics, n, context_of(rules, data, n, h), below);
        b[h] = share.back_off;
        if (rules.backs_off()) denominator[h] = share.denominator;
        if (share.denominator == 0.0 && n > 1) continue;
        for (std::int32_t c = first; c < last; ++c) {
          const auto v = static_cast<std::size_t>(c);
          const bool own = data.a[v] > 0 && data.count[v] >= rules.min_count[n - 1] && share.denominator != 0.0 &&
                           (n > 1 || tree.word[v] != data.begin);
          if (!own && n > 1) continue;
          const double lower =
              n == 1 ? (tree.word[v] == data.begin ? 0.0 : uniform) : p[static_cast<std::size_t>(data.suffix[v])];
          if (own) p[v] = share.scale * (real(data.a[v]) - d[class_of(data.a[v], classes)]) / share.denominator;
          if (!own || !rules.backs_off()) p[v] += share.back_off * lower;
        }
      }
    });
  }
  p[0] = 0.0;
  base::parallel_blocks(tree.nodes(), kBlock, threads, [&](std::size_t from, std::size_t to) {
    for (std::size_t v = from; v < to; ++v) {
      p[v] = p[v] > 0.0 ? std::log10(p[v]) : kNever;
      b[v] = v < level(order) && v > 0 ? std::log10(b[v]) : 0.0;
    }
  });
  return parameters;
}

}  // namespace textmill::lm
