#include "language/segment.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <set>

namespace textmill::language {
namespace {

inline constexpr std::size_t kBlock = 1024;
inline constexpr double kSupport = 0.5;  // share of a threshold that makes a longer piece a part of its neighbour

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
    float row[kRow];
    const auto* base = model.table.records.data();
    read(source, [&](const auto& text) {
      std::size_t before = 0;
      scan(text, model.without_accents, [&](const Word& word) {
        Record record;
        std::int64_t place = -1;
        if (!word.key.empty() && model.table.find(word.key, Kind::Word, stored_hash(word.key, Kind::Word), record)) {
          place = -2 - (reinterpret_cast<const std::uint8_t*>(record.key.data()) - 1 - base);
        } else if (guess(model, word, row)) {
          place = static_cast<std::int64_t>(rows_.size());
          rows_.insert(rows_.end(), row, row + width_);
        }
        bool opens = false;
        while (before < word.begin && !opens) opens = ends_sentence(text.next(before));
        before = word.end;
        units_.push_back({static_cast<std::int64_t>(word.begin), place, opens});
      });
    });
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

 private:
  const Model& model_;
  std::size_t width_;
  std::vector<Unit> units_;
  std::vector<float> rows_;
};

// One step of the sum over paths: to = (from + w (sum - from)) e^{r}, divided by its sum.
void advance(const float* from, const float* exps, std::size_t n, float w, float* to) {
  float sum = 0;
  for (std::size_t l = 0; l < n; ++l) sum += from[l];
  float total = 0;
  for (std::size_t l = 0; l < n; ++l) {
    to[l] = (from[l] + w * (sum - from[l])) * exps[l];
    total += to[l];
  }
  const float factor = 1 / total;
  for (std::size_t l = 0; l < n; ++l) to[l] *= factor;
}

}  // namespace

std::vector<Piece> segment(const Model& model, const Source& source, const Switching& switching) {
  const Units units(model, source);
  const std::size_t T = units.size(), N = model.languages, Y = N + 1;
  const auto length = static_cast<std::int64_t>(source.text.size);
  if (T == 0) return {{0, 0, 0, length, static_cast<std::int32_t>(N), 0.0f}};
  std::vector<float> forbidden(Y);  // of languages that nobody asks for
  for (std::size_t l = 0; l < N; ++l) forbidden[l] = model.chosen[l] ? 0.0f : -1e6f;
  float row[kRow + 1], v[kRow + 1], exps[kRow + 1];
  const auto load = [&](std::size_t t) {
    units.scores(t, row);
    row[N] = switching.unknown + (units.in_dictionary(t) ? 0.0f : switching.unseen);
    for (std::size_t l = 0; l < N; ++l) row[l] += forbidden[l];
  };
  const auto price = [&](std::size_t t) { return switching.penalty * (units.opens(t) ? switching.at_break : 1.0f); };

  const std::size_t words = (Y + 63) / 64;
  std::vector<std::uint64_t> changed(T * words);  // whether the best path to a language at t came from another
  std::vector<std::uint8_t> source_of(T);
  load(0);
  std::copy_n(row, Y, v);
  for (std::size_t t = 1; t < T; ++t) {
    const auto best = static_cast<std::size_t>(std::max_element(v, v + Y) - v);
    const float other = v[best] - price(t), shift = v[best];
    source_of[t] = static_cast<std::uint8_t>(best);
    load(t);
    std::uint64_t* bits = changed.data() + t * words;
    for (std::size_t l = 0; l < Y; ++l) {
      const bool change = other > v[l];
      bits[l / 64] |= static_cast<std::uint64_t>(change) << (l % 64);
      v[l] = (change ? other : v[l]) - shift + row[l];
    }
  }
  std::vector<std::uint8_t> path(T);
  auto label = static_cast<std::size_t>(std::max_element(v, v + Y) - v);
  if (v[N] >= v[label]) label = N;  // nothing speaks for the language: unknown
  for (std::size_t t = T; t-- > 0;) {
    path[t] = static_cast<std::uint8_t>(label);
    if (t > 0 && (changed[t * words + label / 64] >> (label % 64) & 1)) label = source_of[t];
  }

  // Probabilities of the labels of the path.
  const float inside = std::exp(-switching.penalty), at_break = std::exp(-switching.penalty * switching.at_break);
  const auto weight = [&](std::size_t t) { return units.opens(t) ? at_break : inside; };  // of a change before word t
  const std::size_t blocks = (T + kBlock - 1) / kBlock;
  std::vector<float> at_block(blocks * Y), forward(std::min(T, kBlock) * Y), backward(Y, 1.0f), next(Y);
  std::vector<float> probability(T);
  const auto weigh = [&](std::size_t t) {
    load(t);
    const float top = *std::max_element(row, row + Y);
    for (std::size_t l = 0; l < Y; ++l) exps[l] = row[l] - top < -30 ? 1e-13f : std::exp(row[l] - top);
    for (std::size_t l = 0; l < N; ++l)
      if (!model.chosen[l]) exps[l] = 0;
  };
  const auto pass = [&](std::size_t b, float* rows) {  // forward rows of a block from the last of the block before
    for (std::size_t t = b * kBlock; t < std::min(T, (b + 1) * kBlock); ++t) {
      float* to = rows + (t - b * kBlock) * Y;
      weigh(t);
      if (t == 0) {
        std::fill_n(to, Y, 1.0f);
        advance(to, exps, Y, 1.0f, to);
      } else {
        advance(t == b * kBlock ? at_block.data() + b * Y : to - Y, exps, Y, weight(t), to);
      }
    }
  };
  for (std::size_t b = 0; b + 1 < blocks; ++b) {
    pass(b, forward.data());
    std::copy_n(forward.data() + (kBlock - 1) * Y, Y, at_block.data() + (b + 1) * Y);
  }
  for (std::size_t b = blocks; b-- > 0;) {
    pass(b, forward.data());
    for (std::size_t t = std::min(T, (b + 1) * kBlock); t-- > b * kBlock;) {
      const float* f = forward.data() + (t - b * kBlock) * Y;
      float sum = 0;
      for (std::size_t l = 0; l < Y; ++l) sum += f[l] * backward[l];
      probability[t] = f[path[t]] * backward[path[t]] / sum;
      weigh(t);
      for (std::size_t l = 0; l < Y; ++l) next[l] = backward[l] * exps[l];
      float all = 0;
      for (std::size_t l = 0; l < Y; ++l) all += next[l];
      float total = 0;
      for (std::size_t l = 0; l < Y; ++l) {
        backward[l] = next[l] + weight(t) * (all - next[l]);
        total += backward[l];
      }
      for (std::size_t l = 0; l < Y; ++l) backward[l] /= total;
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
  const auto merge = [&](std::size_t from) {  // neighbours that agree, from this part on in both directions
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
    // The neighbour whose languages have more relevance inside, in the words as they are.
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
