#include "vectors/inverted.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "base/parallel.h"

namespace textmill::vectors {
namespace {

constexpr std::size_t kRange = 1 << 16;  // rows whose sums are held together: 256 KiB
constexpr double kRounding = 0x1p-23;    // twice the rounding error of one float32 operation
constexpr std::size_t kLookCost = 8;     // rows that are looked at in the time of one posting

struct Term {
  std::size_t at;       // in the query
  double up, down;      // what this and all later terms can add to a product, down <= 0 <= up
  std::size_t waiting;  // postings of this and all later terms
};

std::size_t size_of(std::span<const std::int64_t> offsets, std::size_t i) {
  return static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
}

// The order of the terms, with bounds; a last entry stands for none left.
std::vector<Term> order(const Postings& x, const SparseQuery& query) {
  std::vector<Term> terms(query.columns.size() + 1);
  std::vector<double> worth(query.columns.size());
  for (std::size_t i = 0; i < worth.size(); ++i) {
    const double q = query.values[i];
    worth[i] = q * q / static_cast<double>(1 + size_of(x.term_offsets, static_cast<std::size_t>(query.columns[i])));
    terms[i].at = i;
  }
  std::stable_sort(terms.begin(), terms.end() - 1,
                   [&](const Term& a, const Term& b) { return worth[a.at] > worth[b.at]; });
  double squares = 0.0, up = 0.0, down = 0.0;
  std::size_t waiting = 0;
  terms.back() = {worth.size(), 0.0, 0.0, 0};
  for (std::size_t i = worth.size(); i-- > 0;) {
    const auto t = static_cast<std::size_t>(query.columns[terms[i].at]);
    const double q = query.values[terms[i].at];
    squares += q * q;
    up += std::max({q * x.largest[t], q * x.smallest[t], 0.0});
    down += std::min({q * x.largest[t], q * x.smallest[t], 0.0});
    waiting += size_of(x.term_offsets, t);
    const double norm = std::sqrt(squares) * x.longest;
    terms[i].up = std::min(norm, up);
    terms[i].down = std::max(-norm, down);
    terms[i].waiting = waiting;
  }
  return terms;
}

double product_of(const Postings& x, std::size_t row, std::span<const float> dense) {
  double sum = 0.0;
  for (auto e = static_cast<std::size_t>(x.row_offsets[row]); e < static_cast<std::size_t>(x.row_offsets[row + 1]); ++e)
    sum += static_cast<double>(x.values[e]) * dense[static_cast<std::size_t>(x.columns[e])];
  return sum;
}

double distance_of(const Postings& x, std::size_t row, const SparseQuery& query) {
  double sum = 0.0;
  auto e = static_cast<std::size_t>(x.row_offsets[row]);
  const auto end = static_cast<std::size_t>(x.row_offsets[row + 1]);
  std::size_t i = 0;
  while (e < end || i < query.columns.size()) {
    const bool left = i == query.columns.size() || (e < end && x.columns[e] <= query.columns[i]);
    const bool right = e == end || (i < query.columns.size() && query.columns[i] <= x.columns[e]);
    const double difference = (left ? static_cast<double>(x.values[e]) : 0.0) - (right ? query.values[i] : 0.0f);
    sum += difference * difference;
    e += left;
    i += right;
  }
  return -sum;
}

class Search {
 public:
  Search(const Postings& x, const SparseQuery& query, Wanted wanted)
      : x_(x), query_(query), wanted_(wanted), needed_(wanted.least), terms_(order(x, query)), dense_(x.terms) {
    for (std::size_t i = 0; i < query.columns.size(); ++i) {
      dense_[static_cast<std::size_t>(query.columns[i])] = query.values[i];
      square_ += static_cast<double>(query.values[i]) * query.values[i];
    }
    const double length = std::sqrt(square_);
    margin_ = static_cast<double>(query.columns.size() + 16) * kRounding * x.longest * (length + x.longest) + 1e-37;
  }

  // Rows begin .. end - 1, at most kRange of them.
  std::size_t range(std::size_t begin, std::size_t end, Best& best) {
    std::vector<float> sums(end - begin);
    if (!x_.halves.empty())
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = -x_.halves[begin + i];
    std::size_t done = 0, next_look = query_.columns.empty() ? 0 : terms_.front().waiting / 2;
    std::vector<std::pair<float, std::int32_t>> candidates;
    const std::size_t average = x_.rows ? x_.values.size() / x_.rows + 16 : 16;
    for (;; ++done) {
      const bool last = terms_[done].waiting == 0;
      // Looking is worth its while when it may save the longer part of the work, and again whenever that has halved.
      if (last || (terms_[done].waiting <= next_look && terms_[done].waiting > sums.size() / kLookCost)) {
        const std::size_t reach = look(begin, sums, terms_[done], best);
        if (last || reach * average < terms_[done].waiting) break;
        next_look = terms_[done].waiting / 2;
      }
      add(terms_[done].at, begin, end, sums);
    }
    const float least = cut(best.needed(), terms_[done]);
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (!(sums[i] < least) && may(begin + i)) candidates.emplace_back(sums[i], -static_cast<std::int32_t>(i));
    std::make_heap(candidates.begin(), candidates.end());  // largest sums first, then smallest rows
    std::size_t computed = 0;
    for (auto top = candidates.end(); top != candidates.begin(); --top, ++computed) {
      std::pop_heap(candidates.begin(), top);
      const auto [sum, minus] = *(top - 1);
      if (sum < cut(best.needed(), terms_[done])) break;
      const std::size_t row = begin + static_cast<std::size_t>(-minus);
      best.offer(x_.kind == Kind::product ? product_of(x_, row, dense_) : distance_of(x_, row, query_),
                 static_cast<std::int64_t>(row));
    }
    needed_.raise(best.needed());
    return computed;
  }

 private:
  bool may(std::size_t row) const { return x_.allowed.empty() || x_.allowed[row] != 0; }

  // The least sum of a row whose key may reach `needed` when `left` and later terms are still to be added.
  float cut(double needed, const Term& left) const {
    const double product = x_.kind == Kind::product ? needed : (needed + square_) / 2.0;
    const double bound = product - left.up - margin_;
    return std::nextafter(static_cast<float>(bound), -std::numeric_limits<float>::infinity());
  }

  // Raises what `best` needs by the k-th largest sum; returns how many rows can still reach that.
  std::size_t look(std::size_t begin, const std::vector<float>& sums, const Term& left, Best& best) const {
    best.raise(needed_.get());
    if (wanted_.k != kAll) {
      Best floors({wanted_.k, -std::numeric_limits<double>::infinity()});
      float least = -std::numeric_limits<float>::infinity();
      std::size_t seen = 0;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (sums[i] < least || !may(begin + i)) continue;
        floors.offer(sums[i], static_cast<std::int64_t>(i));
        least = ++seen < wanted_.k ? least : static_cast<float>(floors.needed());
      }
      if (seen >= wanted_.k) {
        const double product = floors.needed() + left.down - margin_;
        best.raise(x_.kind == Kind::product ? product : 2.0 * product - square_);
      }
    }
    const float least = cut(best.needed(), left);
    return static_cast<std::size_t>(std::count_if(sums.begin(), sums.end(), [=](float sum) { return !(sum < least); }));
  }

  // sums += weights of one term of the query.
  void add(std::size_t at, std::size_t begin, std::size_t end, std::vector<float>& sums) const {
    const auto t = static_cast<std::size_t>(query_.columns[at]);
    const auto from = static_cast<std::size_t>(x_.term_offsets[t]),
               to = static_cast<std::size_t>(x_.term_offsets[t + 1]);
    const std::int32_t* rows = x_.documents.data();
    const auto place = [&](std::size_t row) {
      return static_cast<std::size_t>(std::lower_bound(rows + from, rows + to, static_cast<std::int64_t>(row)) - rows);
    };
    const std::size_t first = begin == 0 ? from : place(begin), last = end == x_.rows ? to : place(end);
    const float q = query_.values[at];
    for (std::size_t e = first; e < last; ++e) sums[static_cast<std::size_t>(rows[e]) - begin] += q * x_.weights[e];
  }

  const Postings& x_;
  const SparseQuery& query_;
  Wanted wanted_;
  Needed needed_;
  std::vector<Term> terms_;
  std::vector<float> dense_;  // [terms] the query
  double square_ = 0.0, margin_ = 0.0;
};

}  // namespace

std::size_t search(const Postings& x, const SparseQuery& query, Wanted wanted, std::size_t first, Best& best,
                   std::size_t threads) {
  if (first >= x.rows) return 0;
  Search search(x, query, wanted);
  const std::size_t ranges = (x.rows - first + kRange - 1) / kRange;
  std::vector<Best> found(ranges, Best(wanted));
  std::vector<std::size_t> computed(ranges);
  base::parallel_for(ranges, threads, [&](std::size_t range) {
    const std::size_t begin = first + range * kRange;
    computed[range] = search.range(begin, std::min(x.rows, begin + kRange), found[range]);
  });
  std::size_t sum = 0;
  for (std::size_t range = 0; range < ranges; ++range) {
    best.take(found[range]);
    sum += computed[range];
  }
  return sum;
}

std::size_t scan(const Postings& x, const SparseQuery& query, Best& best) {
  std::vector<float> dense(x.kind == Kind::product ? x.terms : 0);
  if (x.kind == Kind::product)
    for (std::size_t i = 0; i < query.columns.size(); ++i)
      dense[static_cast<std::size_t>(query.columns[i])] = query.values[i];
  std::size_t read = 0;
  for (std::size_t row = 0; row < x.rows; ++row) {
    if (!x.allowed.empty() && !x.allowed[row]) continue;
    best.offer(x.kind == Kind::product ? product_of(x, row, dense) : distance_of(x, row, query),
               static_cast<std::int64_t>(row));
    ++read;
  }
  return read;
}

void reach(const Postings& x, const SparseQuery& query, std::span<const double> least, std::vector<std::int64_t>& rows,
           std::vector<double>& keys) {
  std::vector<float> dense(x.terms), sums(x.rows);
  double square = 0.0;
  for (std::size_t i = 0; i < query.columns.size(); ++i) {
    const auto t = static_cast<std::size_t>(query.columns[i]);
    dense[t] = query.values[i];
    square += static_cast<double>(query.values[i]) * query.values[i];
    for (auto e = static_cast<std::size_t>(x.term_offsets[t]); e < static_cast<std::size_t>(x.term_offsets[t + 1]); ++e)
      sums[static_cast<std::size_t>(x.documents[e])] += query.values[i] * x.weights[e];
  }
  const double margin =
      static_cast<double>(query.columns.size() + 16) * kRounding * x.longest * (std::sqrt(square) + x.longest) + 1e-37;
  for (std::size_t row = 0; row < x.rows; ++row) {
    if (!x.allowed.empty() && !x.allowed[row]) continue;
    const double half = x.halves.empty() ? 0.0 : x.halves[row];
    const double needed = x.kind == Kind::product ? least[row] : (least[row] + square) / 2.0;
    if (static_cast<double>(sums[row]) - half + margin < needed) continue;
    const double key = x.kind == Kind::product ? product_of(x, row, dense) : distance_of(x, row, query);
    if (!(key >= least[row])) continue;
    rows.push_back(static_cast<std::int64_t>(row));
    keys.push_back(key);
  }
}

}  // namespace textmill::vectors
