#include "strings/second_level.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "strings/assignment.h"

namespace textmill::strings {
namespace {

constexpr std::size_t kRun = 8;          // partners of one name from which take() pays
constexpr std::size_t kBlock = 4096;     // pairs that one item of work holds
constexpr std::size_t kCells = 1 << 20;  // n m of pairs whose similarities are not all kept

double combine(Sides sides, double forward, double backward) {
  switch (sides) {
    case Sides::forward: return forward;
    case Sides::mean: return 0.5 * (forward + backward);
    case Sides::max: return std::max(forward, backward);
    case Sides::min: return std::min(forward, backward);
  }
  return forward;
}

// The largest weight of a word at all its places.
double heaviest(const std::int32_t* words, const double* weights, std::size_t size) {
  double most = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    double weight = 0.0;
    for (std::size_t j = 0; j < size; ++j) weight += words[j] == words[i] ? weights[j] : 0.0;
    most = std::max(most, weight);
  }
  return most;
}

}  // namespace

OwnNames weigh_names(std::span<const std::int64_t> offsets, std::span<const std::int32_t> words,
                     std::span<const double> idf, bool types) {
  OwnNames out;
  const std::size_t names = offsets.size() - 1;
  out.offsets.reserve(names + 1);
  out.offsets.push_back(0);
  out.words.reserve(words.size());
  out.weights.reserve(words.size());
  out.squares.reserve(names);
  std::int32_t last = -1;
  for (const std::int32_t word : words) last = std::max(last, word);
  std::vector<std::int64_t> place(types ? static_cast<std::size_t>(last + 1) : 0, -1);  // of a word in the present name
  for (std::size_t name = 0; name < names; ++name) {
    const std::size_t begin = out.words.size();
    for (auto e = offsets[name]; e < offsets[name + 1]; ++e) {
      const std::int32_t word = words[static_cast<std::size_t>(e)];
      const double weight = idf.empty() ? 1.0 : idf[static_cast<std::size_t>(word)];
      if (types && place[static_cast<std::size_t>(word)] >= 0) {
        out.weights[static_cast<std::size_t>(place[static_cast<std::size_t>(word)])] += weight;
        continue;
      }
      if (types) place[static_cast<std::size_t>(word)] = static_cast<std::int64_t>(out.words.size());
      out.words.push_back(word);
      out.weights.push_back(weight);
    }
    double square = 0.0;
    for (std::size_t e = begin; e < out.words.size(); ++e) {
      square += out.weights[e] * out.weights[e];
      if (types) place[static_cast<std::size_t>(out.words[e])] = -1;
    }
    out.squares.push_back(square);
    out.offsets.push_back(static_cast<std::int64_t>(out.words.size()));
  }
  out.rows = out.words;
  return out;
}

void Scorer::take(const Names& left, std::size_t name) {
  for (const std::int32_t word : slotted_) {
    slot_[static_cast<std::size_t>(word)] = -1;
    best_[static_cast<std::size_t>(word)] = 0.0f;
  }
  slotted_.clear();
  near_.clear();
  set_left(left, name);
  const auto theta = rule_.theta;
  const double length = x_square_ > 0.0 ? std::sqrt(x_square_) : 1.0;
  for (std::size_t i = 0; i < n_; ++i) {
    const double u = x_[i] / length;
    const auto row = static_cast<std::size_t>(rows_[i]);
    for (auto e = static_cast<std::size_t>(table_.offsets[row]); e < static_cast<std::size_t>(table_.offsets[row + 1]);
         ++e) {
      if (!(table_.values[e] > theta)) continue;
      std::int32_t& slot = slot_[static_cast<std::size_t>(table_.columns[e])];
      if (slot < 0) {
        slot = static_cast<std::int32_t>(slotted_.size());
        slotted_.push_back(table_.columns[e]);
        if (!is_long()) near_.resize(near_.size() + n_, 0.0f);
      }
      if (!is_long()) near_[static_cast<std::size_t>(slot) * n_ + i] = table_.values[e];
      float& best = best_[static_cast<std::size_t>(table_.columns[e])];
      best = std::max(best, static_cast<float>(table_.values[e] * u));
    }
  }
}

// Fills sim_; false when no word of one side is near one of the other, or a side weighs nothing.
bool Scorer::gather(const Names& right, std::size_t name) {
  set_right(right, name);
  if (x_square_ == 0.0 || y_square_ == 0.0) return false;
  std::size_t first = 0;
  while (first < m_ && slot_[static_cast<std::size_t>(right_words_[first])] < 0) ++first;
  if (first == m_) return false;
  if (sim_.size() < n_ * m_) sim_.resize(n_ * m_);
  std::fill_n(sim_.begin(), first * n_, 0.0f);
  for (std::size_t j = first; j < m_; ++j) {
    const std::int32_t slot = slot_[static_cast<std::size_t>(right_words_[j])];
    float* const out = sim_.data() + j * n_;
    if (slot < 0) {
      std::fill_n(out, n_, 0.0f);
    } else {
      const float* const in = near_.data() + static_cast<std::size_t>(slot) * n_;
      for (std::size_t i = 0; i < n_; ++i) out[i] = in[i];
    }
  }
  return true;
}

double Scorer::scale(double forward, double backward) const {
  if (!rule_.weighted()) {
    return combine(rule_.sides, forward / static_cast<double>(n_), backward / static_cast<double>(m_));
  }
  const double length = std::sqrt(x_square_ * y_square_);
  return combine(rule_.sides, forward / length, backward / length);
}

double Scorer::bound(const Names& right, std::size_t name, float rest, double least) {
  if (is_long(right.length(name))) {
    set_right(right, name);
    if (rule_.alignment == Alignment::chain || (rule_.alignment == Alignment::assignment && rest == 0.0f))
      return looked_up(rest);
    if (x_square_ == 0.0 || y_square_ == 0.0) return 0.0;
    if (sim_.size() < n_) sim_.resize(n_);
    bool any = false;
    const double most = rows_and_columns([&](std::size_t j) {
      any |= look_up(j, rest, sim_.data());
      return sim_.data();
    });
    return any ? most : 0.0;
  }
  const bool any = gather(right, name);
  if (rule_.alignment == Alignment::closest && x_square_ > 0.0 && y_square_ > 0.0) {
    if (!any) sim_.assign(std::max(sim_.size(), n_ * m_), 0.0f);
    return scale(closest(false, rest), rule_.sides == Sides::forward ? 0.0 : closest(true, rest));
  }
  if (!any) return 0.0;
  if (rest > 0.0f) {
    for (std::size_t e = 0; e < n_ * m_; ++e) sim_[e] = std::max(sim_[e], rest);
  }
  if (rule_.alignment == Alignment::average) return finish();
  const double most = rows_and_columns([this](std::size_t j) { return sim_.data() + j * n_; });
  // a greedy alignment may lose by a similarity that rises
  return most < least || rule_.alignment == Alignment::greedy ? most : finish();
}

// Every edge weighs at most the largest of its row, and of its column: the smaller sum.
template <class Row>
double Scorer::rows_and_columns(Row similar) {
  if (row_max_.size() < n_) row_max_.resize(n_);
  std::fill_n(row_max_.begin(), n_, 0.0);
  double backward = 0.0;
  for (std::size_t j = 0; j < m_; ++j) {
    double most = 0.0;
    const float* const row = similar(j);
    for (std::size_t i = 0; i < n_; ++i) {
      const double s = row[i];
      most = std::max(most, s * x_[i]);
      row_max_[i] = std::max(row_max_[i], s * y_[j]);
    }
    backward += most * y_[j];
  }
  double forward = 0.0;
  for (std::size_t i = 0; i < n_; ++i) forward += row_max_[i] * x_[i];
  return std::min(forward, backward) / std::sqrt(x_square_ * y_square_);
}

double Scorer::score(const Names& right, std::size_t name) {
  if (is_long(right.length(name))) {
    set_right(right, name);
    return looked_up(0.0f);
  }
  return gather(right, name) ? finish() : 0.0;
}

double Scorer::score(const Names& left, std::size_t a, const Names& right, std::size_t b) {
  set_left(left, a);
  set_right(right, b);
  return looked_up(0.0f);
}

bool Scorer::is_long(std::size_t m) const { return is_long() || (rule_.one_to_one() && n_ * m > kCells); }

void Scorer::set_left(const Names& left, std::size_t name) {
  n_ = left.length(name);
  left_words_ = left.words.data() + left.begin(name);
  rows_ = left.rows.data() + left.begin(name);
  x_ = left.weights.data() + left.begin(name);
  x_square_ = left.squares[name];
}

void Scorer::set_right(const Names& right, std::size_t name) {
  m_ = right.length(name);
  right_words_ = right.words.data() + right.begin(name);
  y_ = right.weights.data() + right.begin(name);
  y_square_ = right.squares[name];
}

// The similarities of all left words to right word j, at least `rest`; true if one of them is in the table.
bool Scorer::look_up(std::size_t j, float rest, float* out) const {
  bool any = false;
  for (std::size_t i = 0; i < n_; ++i) {
    const auto row = static_cast<std::size_t>(rows_[i]);
    const auto begin = table_.columns.begin() + table_.offsets[row],
               end = table_.columns.begin() + table_.offsets[row + 1];
    const auto found = std::lower_bound(begin, end, right_words_[j]);
    const float s = found != end && *found == right_words_[j]
                        ? table_.values[static_cast<std::size_t>(found - table_.columns.begin())]
                        : 0.0f;
    any |= s > rule_.theta;
    out[i] = std::max(s > rule_.theta ? s : 0.0f, rest);
  }
  return any;
}

// The score by look-ups; of long names chains keep one row of similarities only, matchings what the table links.
double Scorer::looked_up(float rest) {
  if (x_square_ == 0.0 || y_square_ == 0.0) return 0.0;
  bool any = false;
  if (rule_.alignment == Alignment::chain && is_long(m_)) {
    if (sim_.size() < n_) sim_.resize(n_);
    const double sum = chain([&](std::size_t j) {
      any |= look_up(j, rest, sim_.data());
      return sim_.data();
    });
    return any ? std::min(1.0, sum / std::sqrt(x_square_ * y_square_)) : 0.0;
  }
  if (is_long(m_)) return by_edges();
  if (sim_.size() < n_ * m_) sim_.resize(n_ * m_);
  for (std::size_t j = 0; j < m_; ++j) any |= look_up(j, rest, sim_.data() + j * n_);
  return any ? finish() : 0.0;
}

// A greedy or heaviest matching of the words that the table links.
double Scorer::by_edges() {
  std::vector<std::pair<std::int32_t, std::uint32_t>> places;  // of right words
  places.reserve(m_);
  for (std::size_t j = 0; j < m_; ++j) places.emplace_back(right_words_[j], static_cast<std::uint32_t>(j));
  std::sort(places.begin(), places.end());
  std::vector<WeightedEdge> edges;
  for (std::size_t i = 0; i < n_; ++i) {
    const auto row = static_cast<std::size_t>(rows_[i]);
    for (auto e = static_cast<std::size_t>(table_.offsets[row]); e < static_cast<std::size_t>(table_.offsets[row + 1]);
         ++e) {
      const float s = table_.values[e];
      if (!(s > rule_.theta)) continue;
      auto place = std::lower_bound(places.begin(), places.end(), std::pair(table_.columns[e], 0u));
      for (; place != places.end() && place->first == table_.columns[e]; ++place) {
        const double weight = static_cast<double>(s) * (x_[i] * y_[place->second]);
        if (weight > 0.0) edges.push_back({weight, static_cast<std::uint32_t>(i), place->second});
      }
    }
  }
  const double sum =
      rule_.alignment == Alignment::assignment ? heaviest_matching(edges, n_, m_) : greedy_matching(edges, n_, m_);
  return std::min(1.0, sum / std::sqrt(x_square_ * y_square_));
}

double Scorer::finish() {
  if (!rule_.one_to_one()) return scale(closest(false), rule_.sides == Sides::forward ? 0.0 : closest(true));
  double sum;
  if (rule_.alignment == Alignment::chain) {
    sum = chain([this](std::size_t j) { return sim_.data() + j * n_; });
  } else {
    if (w_.size() < n_ * m_) w_.resize(n_ * m_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < m_; ++j) w_[i * m_ + j] = static_cast<double>(sim_[j * n_ + i]) * (x_[i] * y_[j]);
    }
    const std::span<const double> weights(w_.data(), n_ * m_);
    sum = rule_.alignment == Alignment::assignment ? heaviest_matching(weights, n_, m_)
                                                   : greedy_matching(weights, n_, m_);
  }
  return std::min(1.0, sum / std::sqrt(x_square_ * y_square_));  // above 1 only by rounding
}

// similar(j): the similarities of all left words to right word j.
template <class Row>
double Scorer::chain(Row similar) {
  // Rows run over the right side, whose similarities stand together: the recurrence is the same both ways. Of w and D
  // the last gap + 3 rows are kept, which is as far as a transposition looks back.
  const std::size_t n = n_, m = m_, wide = n + 1;
  const std::size_t kept = std::min(m + 1, rule_.gap == Rule::kNoSwaps ? std::size_t{2} : rule_.gap + 3);
  if (w_.size() < n * kept) w_.resize(n * kept);
  if (d_.size() < wide * kept) d_.resize(wide * kept);
  const auto ring = [kept](std::size_t j) { return j < kept ? j : j % kept; };
  std::fill_n(d_.begin(), wide, 0.0);
  for (std::size_t j = 1; j <= m; ++j) {
    double* const w = w_.data() + ring(j - 1) * n;
    const float* const s = similar(j - 1);
    const double y = y_[j - 1];
    for (std::size_t i = 0; i < n; ++i) w[i] = static_cast<double>(s[i]) * (x_[i] * y);
    double* const d = d_.data() + ring(j) * wide;
    const double* const above = d_.data() + ring(j - 1) * wide;
    d[0] = 0.0;
    for (std::size_t i = 1; i <= n; ++i) {
      double best = std::max({above[i], d[i - 1], above[i - 1] + w[i - 1]});
      if (rule_.gap != Rule::kNoSwaps && i >= 2 && j >= 2) {
        const std::size_t most_p = std::min(rule_.gap, j - 2), most_q = std::min(rule_.gap, i - 2);
        for (std::size_t p = 0; p <= most_p; ++p) {
          const double upper = w_[ring(j - 2 - p) * n + i - 1];  // edge of i with an earlier word of the right side
          if (upper == 0.0) continue;                            // then the other edge alone does as well
          const double* const from = d_.data() + ring(j - 2 - p) * wide;
          for (std::size_t q = 0; q <= most_q; ++q) best = std::max(best, from[i - 2 - q] + (upper + w[i - 2 - q]));
        }
      }
      d[i] = best;
    }
  }
  return d_[ring(m) * wide + n];
}

// sum_i x_i y_j s(i, j), where j is the closest to i: the identical word, else the first of those with the largest s.
// A word without any counts as if the heaviest had the similarity `rest`.
double Scorer::closest(bool transposed, double rest) const {
  const std::size_t rows = transposed ? m_ : n_, columns = transposed ? n_ : m_;
  const std::int32_t* const words = transposed ? right_words_ : left_words_;
  const std::int32_t* const others = transposed ? left_words_ : right_words_;
  const double* const x = transposed ? y_ : x_;
  const double* const y = transposed ? x_ : y_;
  double sum = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    float most = 0.0f;
    std::size_t best = columns;
    for (std::size_t j = 0; j < columns; ++j) {
      const float s = transposed ? sim_[i * n_ + j] : sim_[j * n_ + i];
      if (s > most || (s == most && s > 0.0f && others[j] == words[i] && others[best] != words[i])) {
        most = s;
        best = j;
      }
    }
    if (best == columns) {
      if (rest > 0.0) sum += rest * (x[i] * heaviest(others, y, columns));
      continue;
    }
    double weight = y[best];
    if (rule_.weighted()) {  // the word at all its places; among types it has but one
      for (std::size_t j = best + 1; j < columns; ++j) weight += others[j] == others[best] ? y[j] : 0.0;
    }
    sum += static_cast<double>(most) * (x[i] * weight);
  }
  return sum;
}

void score_pairs(const Names& left, const Names& right, const Table& table, const Rule& rule,
                 std::span<const std::int32_t> lefts, std::span<const std::int32_t> rights, std::span<double> scores,
                 std::size_t threads) {
  base::parallel_blocks(lefts.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Scorer scorer(table, rule, table.offsets.size() - 1);
    while (begin < end) {
      std::size_t stop = begin;
      while (stop < end && lefts[stop] == lefts[begin]) ++stop;
      const auto name = static_cast<std::size_t>(lefts[begin]);
      const bool many = stop - begin >= kRun;
      if (many) scorer.take(left, name);
      for (; begin < stop; ++begin) {
        const auto other = static_cast<std::size_t>(rights[begin]);
        scores[begin] = many ? scorer.score(right, other) : scorer.score(left, name, right, other);
      }
    }
  });
}

void score_matrix(const Names& left, const Names& right, const Table& table, const Rule& rule, std::span<double> scores,
                  std::size_t threads) {
  constexpr std::size_t kRows = 16;
  base::parallel_blocks(left.size(), kRows, threads, [&](std::size_t begin, std::size_t end) {
    Scorer scorer(table, rule, table.offsets.size() - 1);
    for (; begin < end; ++begin) {
      scorer.take(left, begin);
      for (std::size_t j = 0; j < right.size(); ++j) scores[begin * right.size() + j] = scorer.score(right, j);
    }
  });
}

}  // namespace textmill::strings
