#include "language/segment.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <numeric>
#include <set>

#include "base/math.h"
#include "language/queue.h"

namespace textmill::language {
namespace {

inline constexpr std::size_t kBlock = 1024;
inline constexpr float kMostExponent = 40;  // of what a word says, in sums over paths
inline constexpr double kSupport = 0.5;     // share of a threshold that makes a longer piece a part of its neighbor

// Words of a text with what they say, as small as it goes: a record of the table, or a row of guesses.
struct Unit {
  std::int64_t begin;
  std::int64_t place;  // >= 0: of a row; -1: nothing; else -2 - offset of a record
  bool opens;          // whether a sentence or a line ends before it
};

bool ends_sentence(char32_t c) {
  switch (c) {
    case '\n':
    case '.':
    case '!':
    case '?':
    case ':':
    case ';':
    case 0x061F:  // Arabic
    case 0x06D4:
    case 0x0964:  // the danda of Indic scripts
    case 0x2026:  // an ellipsis
    case 0x3002:  // Chinese and Japanese
    case 0xFF01:
    case 0xFF1F: return true;
    default: return false;
  }
}

class Units {
 public:
  Units(const Model& model, const Source& source) : model_(model), width_(model.languages) {
    for (std::size_t i = 0; model.table.step > 0 && i < exps_.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(i);
      exps_[i] = std::exp(std::clamp(model.table.value(&byte), -kMostExponent, kMostExponent));
    }
    std::size_t looked_up = 0;
    Queue queue(
        model,
        [&](const Record& record) {
          const auto* begin = reinterpret_cast<const std::uint8_t*>(record.key.data()) - 1;
          units_[looked_up++].place = -2 - (begin - model.table.records.data());
        },
        [&](const float* row) {
          units_[looked_up++].place = static_cast<std::int64_t>(rows_.size());
          rows_.insert(rows_.end(), row, row + width_);
        },
        [&](const Word&) { ++looked_up; });
    read(source, [&](const auto& text) {
      std::size_t before = 0;
      scan(text, model.without_accents, [&](const Word& word) {
        bool opens = false;
        while (before < word.begin && !opens) opens = ends_sentence(text.next(before));
        before = word.end;
        units_.push_back({static_cast<std::int64_t>(word.begin), -1, opens});
        queue.add(word);
      });
    });
    queue.flush();
  }
  std::size_t size() const { return units_.size(); }
  std::int64_t begin(std::size_t t) const { return units_[t].begin; }

  bool opens(std::size_t t) const { return units_[t].opens; }
  bool in_dictionary(std::size_t t) const { return units_[t].place < -1; }

  // Scores of word t: fills out [kRow].
  void scores(std::size_t t, float* out) const {
    const std::int64_t place = units_[t].place;
    if (place >= 0) {
      std::copy_n(rows_.data() + place, width_, out);
    } else if (place == -1) {
      std::fill(out, out + width_, 0.0f);
    } else {
      Record record;
      model_.table.read(static_cast<std::size_t>(-2 - place), record);
      std::fill(out, out + width_, model_.table.value(record.rest));
      for (std::size_t p = 0; p < record.pairs; ++p) out[record.languages[p]] = model_.table.value(record.values, p);
    }
  }

  // e to the power of these scores.
  void exps(std::size_t t, float* out) const {
    const std::int64_t place = units_[t].place;
    if (place >= 0) {
      double wide[kRow];
      for (std::size_t l = 0; l < width_; ++l)
        wide[l] = static_cast<double>(rows_[static_cast<std::size_t>(place) + l]);
      base::exp({wide, width_}, {wide, width_});
      for (std::size_t l = 0; l < width_; ++l) out[l] = static_cast<float>(wide[l]);
    } else if (place == -1) {
      std::fill(out, out + width_, 1.0f);
    } else {
      Record record;
      model_.table.read(static_cast<std::size_t>(-2 - place), record);
      std::fill(out, out + width_, exp_of(record.rest));
      const std::size_t size = model_.table.width();
      for (std::size_t p = 0; p < record.pairs; ++p) out[record.languages[p]] = exp_of(record.values + p * size);
    }
  }

 private:
  float exp_of(const std::uint8_t* value) const {
    if (model_.table.step > 0) return exps_[*value];
    return std::exp(std::clamp(model_.table.value(value), -kMostExponent, kMostExponent));
  }

  const Model& model_;
  std::size_t width_;
  std::array<float, 256> exps_{};  // of all values of a byte
  std::vector<Unit> units_;
  std::vector<float> rows_;
};

using Row = std::array<float, kRow + kLanes>;

// The sum of f(l) over all labels l < n, a multiple of kLanes.
template <class F>
float sum_over(std::size_t n, F f) {
  float part[kLanes] = {};
  for (std::size_t i = 0; i < n; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) part[j] += f(i + j);
  return std::accumulate(part, part + kLanes, 0.0f);
}

// One step of the sum over paths: to = (p + w (1 - p)) e^{r} with p = from * factor, which sums to 1; returns the factor
// of the new row.
float advance(const float* from, float factor, const float* exps, std::size_t n, float w, float* to) {
  return 1 / sum_over(n, [=](std::size_t l) {
           const float p = from[l] * factor;
           return to[l] = (p + w * (1 - p)) * exps[l];
         });
}

}  // namespace

std::vector<Piece> segment(const Model& model, const Source& source, const Switching& switching) {
  const Units units(model, source);
  const std::size_t T = units.size(), N = model.languages, Y = N + 1, width = padded(Y);
  const auto length = static_cast<std::int64_t>(source.text.size);
  if (T == 0) return {{0, 0, 0, length, static_cast<std::int32_t>(N), 0.0f}};
  Row forbidden, allowed;  // of languages that nobody asks for, and of the padding
  for (std::size_t l = 0; l < width; ++l) {
    allowed[l] = l == N || (l < N && model.chosen[l]) ? 1.0f : 0.0f;
    forbidden[l] = allowed[l] > 0 ? 0.0f : -1e6f;
  }
  const auto unknown = [&](std::size_t t) {
    return switching.unknown + (units.in_dictionary(t) ? 0.0f : switching.unseen);
  };
  const auto price = [&](std::size_t t) { return switching.penalty * (units.opens(t) ? switching.at_break : 1.0f); };

  // A path is known by where its last run began: source and its own beginning for each t, and no bit for each label.
  std::vector<std::uint8_t> source_of(T), path(T);
  std::vector<std::uint32_t> source_began(T);
  Row row{}, v;
  std::array<std::uint32_t, kRow + kLanes> began{};
  const auto load = [&](std::size_t t) {
    units.scores(t, row.data());
    row[N] = unknown(t);
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(Y), row.begin() + static_cast<std::ptrdiff_t>(width), 0.0f);
    for (std::size_t l = 0; l < width; ++l) row[l] += forbidden[l];
  };
  load(0);
  v = row;
  for (std::size_t t = 1; t < T; ++t) {
    const float top = largest_of(v.data(), width), other = top - price(t);
    const auto best = static_cast<std::size_t>(std::find(v.begin(), v.end(), top) - v.begin());
    source_of[t] = static_cast<std::uint8_t>(best);
    source_began[t] = began[best];
    load(t);
    const auto now = static_cast<std::uint32_t>(t);
    for (std::size_t l = 0; l < width; ++l) {
      const bool change = other > v[l];
      began[l] = change ? now : began[l];
      v[l] = (change ? other : v[l]) - top + row[l];
    }
  }
  auto label =
      static_cast<std::size_t>(std::max_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(Y)) - v.begin());
  if (v[N] >= v[label]) label = N;  // nothing speaks for the language: unknown
  for (std::size_t end = T, first = began[label];;) {
    std::fill(path.begin() + static_cast<std::ptrdiff_t>(first), path.begin() + static_cast<std::ptrdiff_t>(end),
              static_cast<std::uint8_t>(label));
    if (first == 0) break;
    label = source_of[first];
    end = first;
    first = source_began[first];
  }

  // Probabilities of the labels of the path.
  const float inside = std::exp(-switching.penalty), at_break = std::exp(-switching.penalty * switching.at_break);
  const auto weight = [&](std::size_t t) { return units.opens(t) ? at_break : inside; };  // of a change before word t
  const std::size_t blocks = (T + kBlock - 1) / kBlock;
  std::vector<float> at_block(blocks * width), forward(std::min(T, kBlock) * width), probability(T),
      factors(blocks, 1.0f);
  Row exps{}, backward, next{};
  const auto weigh = [&](std::size_t t) {
    units.exps(t, exps.data());
    exps[N] = std::exp(std::clamp(unknown(t), -kMostExponent, kMostExponent));
    std::fill(exps.begin() + static_cast<std::ptrdiff_t>(Y), exps.begin() + static_cast<std::ptrdiff_t>(width), 0.0f);
    for (std::size_t l = 0; l < width; ++l) exps[l] *= allowed[l];
  };
  float factor = 1;
  const auto pass = [&](std::size_t b, float* rows) {  // forward rows of a block from the last of the block before
    factor = factors[b];
    for (std::size_t t = b * kBlock; t < std::min(T, (b + 1) * kBlock); ++t) {
      float* to = rows + (t - b * kBlock) * width;
      weigh(t);
      if (t == 0) {
        std::copy_n(exps.data(), width, to);
        factor = 1 / sum_over(width, [to](std::size_t l) { return to[l]; });
      } else {
        const float* from = t == b * kBlock ? at_block.data() + b * width : to - width;
        factor = advance(from, factor, exps.data(), width, weight(t), to);
      }
    }
  };
  for (std::size_t b = 0; b + 1 < blocks; ++b) {
    pass(b, forward.data());
    std::copy_n(forward.data() + (kBlock - 1) * width, width, at_block.data() + (b + 1) * width);
    factors[b + 1] = factor;
  }
  backward.fill(1.0f);
  float scale = 1;
  for (std::size_t b = blocks; b-- > 0;) {
    pass(b, forward.data());
    for (std::size_t t = std::min(T, (b + 1) * kBlock); t-- > b * kBlock;) {
      const float* f = forward.data() + (t - b * kBlock) * width;
      float *at = backward.data(), *to = next.data();
      const float* e = exps.data();
      probability[t] = f[path[t]] * at[path[t]] / sum_over(width, [=](std::size_t l) { return f[l] * at[l]; });
      weigh(t);
      const float all = sum_over(width, [=](std::size_t l) { return to[l] = at[l] * scale * e[l]; });
      const float w = weight(t);
      scale = 1 / sum_over(width, [=](std::size_t l) { return at[l] = to[l] + w * (all - to[l]); });
    }
  }

  std::vector<Piece> pieces;
  for (std::size_t t = 0; t < T; ++t) {
    if (t == 0 || path[t] != path[t - 1]) {
      const std::int64_t begin = t == 0 ? 0 : units.begin(t);
      if (t > 0) pieces.back().end = begin;
      const auto first = static_cast<std::int64_t>(t);
      pieces.push_back({first, first, begin, length, static_cast<std::int32_t>(path[t]), 0.0f});
    }
    Piece& piece = pieces.back();
    ++piece.last;
    piece.confidence += probability[t];
  }
  for (Piece& piece : pieces) piece.confidence /= static_cast<float>(piece.last - piece.first);
  return pieces;
}

void switching_path(std::span<const float> scores, std::size_t labels, float penalty, std::span<std::int32_t> path) {
  const std::size_t T = path.size(), words = (labels + 63) / 64;
  if (T == 0) return;
  std::vector<double> v(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(labels));
  std::vector<std::uint64_t> changed(T * words);
  std::vector<std::int32_t> source_of(T);
  for (std::size_t t = 1; t < T; ++t) {
    const auto best = static_cast<std::size_t>(std::max_element(v.begin(), v.end()) - v.begin());
    const double other = v[best] - penalty, shift = v[best];
    source_of[t] = static_cast<std::int32_t>(best);
    for (std::size_t l = 0; l < labels; ++l) {
      const bool change = other > v[l];
      changed[t * words + l / 64] |= static_cast<std::uint64_t>(change) << (l % 64);
      v[l] = (change ? other : v[l]) - shift + scores[t * labels + l];
    }
  }
  auto label = static_cast<std::size_t>(std::max_element(v.begin(), v.end()) - v.begin());
  for (std::size_t t = T; t-- > 0;) {
    path[t] = static_cast<std::int32_t>(label);
    if (t > 0 && (changed[t * words + label / 64] >> (label % 64) & 1)) label = static_cast<std::size_t>(source_of[t]);
  }
}

void smooth(std::span<const float> rows, std::size_t columns, std::size_t half, std::span<float> medians) {
  const std::size_t T = columns == 0 ? 0 : rows.size() / columns;
  std::vector<float> window(2 * half + 1);
  for (std::size_t t = 0; t < T; ++t) {
    const std::size_t first = t < half ? 0 : t - half, last = std::min(T, t + half + 1), n = last - first;
    for (std::size_t l = 0; l < columns; ++l) {
      for (std::size_t i = 0; i < n; ++i) window[i] = rows[(first + i) * columns + l];
      std::sort(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(n));
      medians[t * columns + l] = n % 2 ? window[n / 2] : (window[n / 2 - 1] + window[n / 2]) / 2;
    }
  }
}

Sets smoothed_pieces(std::span<const float> rows, std::size_t columns, std::span<const float> thresholds,
                     std::size_t half, std::size_t least, std::size_t least_unknown) {
  using Set = std::bitset<kRow>;
  const std::size_t N = columns, T = N == 0 ? 0 : rows.size() / N;
  Sets made;
  made.begin.push_back(0);
  made.offsets.push_back(0);
  if (T == 0) return made;
  std::vector<float> medians(rows.size());
  smooth(rows, N, half, medians);

  std::vector<std::uint8_t> cut(T + 1);
  cut[0] = cut[T] = 1;
  for (std::size_t l = 0; l < N; ++l) {
    for (std::size_t t = 0; t < T;) {
      std::size_t end = t + 1;
      const float value = medians[t * N + l];
      while (end < T && medians[end * N + l] == value) ++end;
      const bool low_left = t == 0 || medians[(t - 1) * N + l] > value;
      const bool low_right = end == T || medians[end * N + l] > value;
      if (low_left && low_right && !(t == 0 && end == T)) cut[t] = cut[end] = 1;  // both edges of a minimum
      t = end;
    }
  }

  struct Part {
    std::size_t first, last, before, after;
    Set set;
    bool gone = false;
  };
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<Part> parts;
  std::vector<double> sums;  // [parts][N] of the words as they are; parts that join add theirs
  const auto sum = [&](std::span<const float> values, std::size_t first, std::size_t last, std::size_t l) {
    double all = 0;
    for (std::size_t t = first; t < last; ++t) all += values[t * N + l];
    return all;
  };
  for (std::size_t t = 0; t < T;) {
    std::size_t end = t + 1;
    while (!cut[end]) ++end;
    Part part{t, end, parts.empty() ? kNone : parts.size() - 1, end == T ? kNone : parts.size() + 1, {}};
    for (std::size_t l = 0; l < N; ++l) {
      if (sum(medians, t, end, l) / static_cast<double>(end - t) >= thresholds[l]) part.set.set(l);
      sums.push_back(sum(rows, t, end, l));
    }
    parts.push_back(part);
    t = end;
  }

  std::set<std::pair<std::size_t, std::size_t>> small;  // (words, part) of what may be absorbed
  const auto speaks_for = [&](std::size_t i, std::size_t other) {
    if (other == kNone) return false;
    const double share = kSupport * static_cast<double>(parts[i].last - parts[i].first);
    for (std::size_t l = 0; l < N; ++l)
      if (parts[other].set[l] && sums[i * N + l] >= share * thresholds[l]) return true;
    return false;
  };
  const auto absorbable = [&](std::size_t i) {
    const std::size_t size = parts[i].last - parts[i].first;
    if (!parts[i].set.none()) return size < least;
    return size < least_unknown || speaks_for(i, parts[i].before) || speaks_for(i, parts[i].after);
  };
  const auto enter = [&](std::size_t i) {
    if (absorbable(i)) small.insert({parts[i].last - parts[i].first, i});
  };
  const auto leave = [&](std::size_t i) { small.erase({parts[i].last - parts[i].first, i}); };
  const auto join = [&](std::size_t left, std::size_t right, const Set& set) {  // the right one into the left one
    leave(left);
    leave(right);
    Part &a = parts[left], &b = parts[right];
    a.last = b.last;
    a.set = set;
    a.after = b.after;
    if (b.after != kNone) parts[b.after].before = left;
    b.gone = true;
    for (std::size_t l = 0; l < N; ++l) sums[left * N + l] += sums[right * N + l];
    for (const std::size_t i : {left, a.before, a.after})  // what is beside it may speak for its languages now
      if (i != kNone) enter(i);
  };
  const auto merge = [&](std::size_t from) {  // neighbors that agree, from this part on in both directions
    for (bool again = true; again;) {
      again = false;
      const Part& part = parts[from];
      for (const bool forward : {true, false}) {
        const std::size_t other = forward ? part.after : part.before;
        if (other == kNone) continue;
        const Set common = part.set & parts[other].set;
        if (common.none() && !(part.set.none() && parts[other].set.none())) continue;
        const std::size_t left = forward ? from : other;
        join(left, forward ? other : from, common);
        from = left;
        again = true;
        break;
      }
    }
    return from;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) enter(i);
  for (std::size_t i = 0; i != kNone;) {
    i = merge(i);
    i = parts[i].after;
  }
  while (!small.empty()) {
    const std::size_t i = small.begin()->second;
    small.erase(small.begin());
    const Part& part = parts[i];
    // The neighbor whose languages have more relevance inside, in the words as they are.
    double best = -1;
    std::size_t into = kNone;
    for (const std::size_t other : {part.before, part.after}) {
      if (other == kNone || parts[other].set.none()) continue;
      double most = -1;
      for (std::size_t l = 0; l < N; ++l)
        if (parts[other].set[l]) most = std::max(most, sums[i * N + l]);
      if (most > best) {
        best = most;
        into = other;
      }
    }
    if (into == kNone) {
      into = part.before != kNone ? part.before : part.after;
      if (into == kNone) continue;
      const Set set = parts[i].set.none() ? parts[into].set : parts[i].set;
      const std::size_t left = std::min(i, into);
      join(left, std::max(i, into), set);
      merge(left);
      continue;
    }
    const Set set = parts[into].set;
    const std::size_t left = parts[into].first < part.first ? into : i;
    join(left, left == into ? i : into, set);
    merge(left);
  }

  for (std::size_t i = 0; i != kNone; i = parts[i].after) {
    const Part& part = parts[i];
    std::vector<std::pair<double, std::int32_t>> ranked;
    for (std::size_t l = 0; l < N; ++l)
      if (part.set[l]) ranked.push_back({-sums[i * N + l], static_cast<std::int32_t>(l)});
    std::sort(ranked.begin(), ranked.end());
    for (const auto& [negative, l] : ranked) made.languages.push_back(l);
    made.begin.push_back(static_cast<std::int64_t>(part.last));
    made.offsets.push_back(static_cast<std::int64_t>(made.languages.size()));
  }
  return made;
}

}  // namespace textmill::language
