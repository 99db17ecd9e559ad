#include "tasks/pronunciation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/log_add.h"
#include "base/parallel.h"

namespace textmill::tasks {
namespace {

using base::log_add;

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-12;       // scores nearer than this are equal
constexpr std::size_t kWords = 256;  // handed to a thread at once

// Attribute a of a position: a letter of the window, or a further attribute of the word.
class Position {
 public:
  Position(const LetterWords& words, const LetterWindow& window, std::size_t word)
      : letters_(words.letters.data() + words.offsets[word]),
        extra_(words.extra.data() + word * words.extras),
        length_(static_cast<std::ptrdiff_t>(words.length(word))),
        window_(window) {}

  std::int32_t node(const trees::Walker& tree, std::size_t s) const {
    const auto letter = static_cast<std::ptrdiff_t>(s / 2);
    const bool gap = s % 2 == 0;
    const auto size = static_cast<std::ptrdiff_t>(window_.size);
    return tree.walk(
        [&](std::int32_t attribute) {
          const std::ptrdiff_t away = attribute - size;
          if (away == 0) return gap ? window_.empty : letters_[letter];
          if (away > size) return extra_[away - size - 1];
          const std::ptrdiff_t at = letter + away - (gap && away > 0 ? 1 : 0);
          return at < 0 || at >= length_ ? window_.boundary : letters_[at];
        },
        [](std::int32_t) { return 0.0; });
  }

 private:
  const std::int32_t* letters_;
  const std::int32_t* extra_;
  std::ptrdiff_t length_;
  const LetterWindow& window_;
};

// Positions of all words before this one.
std::size_t first_position(const LetterWords& words, std::size_t word) {
  return 2 * static_cast<std::size_t>(words.offsets[word]) + word;
}

struct Output {
  double score;  // log probability
  std::vector<std::int32_t> classes;
};

// The best outputs so far, each followed by every class of the position; equal outputs are joined.
void extend(std::vector<Output>& outputs, std::span<const double> scores, std::int32_t empty, std::size_t beam) {
  struct Next {
    double score;
    std::size_t from;
    std::int32_t label;
  };
  // A class far below the best cannot reach a full beam: the beam'th best pair is at least that good.
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t tried = std::min(scores.size(), beam + 1);
  std::ranges::partial_sort(
      order, order.begin() + static_cast<std::ptrdiff_t>(tried),
      [&](std::int32_t a, std::int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  std::vector<Next> next;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::size_t c = 0; c < tried; ++c)
      if (scores[order[c]] > kNever) next.push_back({outputs[o].score + scores[order[c]], o, order[c]});
  std::ranges::stable_sort(next, [](const Next& a, const Next& b) { return a.score > b.score; });
  std::vector<Output> best;
  for (const Next& one : next) {
    if (best.size() >= 2 * beam) break;
    Output output{one.score, outputs[one.from].classes};
    if (one.label != empty) output.classes.push_back(one.label);
    const auto same = std::ranges::find(best, output.classes, &Output::classes);
    if (same != best.end()) {
      same->score = log_add(same->score, output.score);
    } else if (best.size() < beam) {
      best.push_back(std::move(output));
    }
  }
  std::ranges::stable_sort(best, [](const Output& a, const Output& b) { return a.score > b.score; });
  outputs = std::move(best);
}

enum Move : std::uint8_t { kSubstitute, kInsert, kDelete, kNone };  // in the order of preference

}  // namespace

std::string sound_words(const trees::Walker& tree, const LetterWords& words, const LetterWindow& window,
                        const SoundTexts& texts, std::size_t threads) {
  const std::size_t blocks = (words.words() + kWords - 1) / kWords;
  std::vector<std::string> lines(blocks);
  base::parallel_for(blocks, threads, [&](std::size_t block) {
    std::string& out = lines[block];
    for (std::size_t word = block * kWords; word < std::min((block + 1) * kWords, words.words()); ++word) {
      const Position position(words, window, word);
      const std::size_t begin = out.size();
      for (std::size_t s = 0; s <= 2 * words.length(word); ++s) {
        const std::int32_t label = tree.label(position.node(tree, s));
        const auto from = static_cast<std::size_t>(texts.offsets[label]);
        const auto end = static_cast<std::size_t>(texts.offsets[label + 1]);
        if (from == end) continue;
        if (out.size() > begin) out += ' ';
        out.append(texts.bytes.data() + from, end - from);
      }
      out += '\n';
    }
  });
  std::string all;
  std::size_t size = 0;
  for (const std::string& part : lines) size += part.size();
  all.reserve(size);
  for (const std::string& part : lines) all += part;
  return all;
}

void position_nodes(const trees::Walker& tree, const LetterWords& words, const LetterWindow& window,
                    std::span<std::int32_t> nodes, std::size_t threads) {
  base::parallel_blocks(words.words(), kWords, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t word = begin; word < end; ++word) {
      const Position position(words, window, word);
      const std::size_t first = first_position(words, word);
      for (std::size_t s = 0; s <= 2 * words.length(word); ++s) nodes[first + s] = position.node(tree, s);
    }
  });
}

BestSounds best_sounds(const trees::Walker& tree, const LetterWords& words, const LetterWindow& window,
                       std::span<const double> log_probabilities, std::size_t classes, std::int32_t empty,
                       std::size_t k, std::size_t beam, std::size_t threads) {
  std::vector<std::vector<Output>> of_words(words.words());
  base::parallel_blocks(words.words(), 16, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t word = begin; word < end; ++word) {
      const Position position(words, window, word);
      std::vector<Output> outputs{{0.0, {}}};
      for (std::size_t s = 0; s <= 2 * words.length(word); ++s) {
        const auto node = static_cast<std::size_t>(position.node(tree, s));
        extend(outputs, log_probabilities.subspan(node * classes, classes), empty, beam);
      }
      if (outputs.size() > k) outputs.resize(k);
      of_words[word] = std::move(outputs);
    }
  });
  BestSounds best;
  best.offsets.push_back(0);
  best.class_begin.push_back(0);
  for (const std::vector<Output>& outputs : of_words) {
    for (const Output& output : outputs) {
      best.probabilities.push_back(std::exp(output.score));
      best.classes.insert(best.classes.end(), output.classes.begin(), output.classes.end());
      best.class_begin.push_back(static_cast<std::int64_t>(best.classes.size()));
    }
    best.offsets.push_back(static_cast<std::int64_t>(best.probabilities.size()));
  }
  return best;
}

std::vector<double> align_nodes(const LetterWords& words, const SoundStrings& sounds,
                                std::span<const std::int32_t> nodes, std::span<const double> log_probabilities,
                                std::size_t classes, std::int32_t empty, std::span<std::int32_t> targets,
                                std::size_t threads) {
  std::vector<double> scores(words.words(), kNever);
  base::parallel_blocks(words.words(), 64, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> gap, letter;  // best from (i, j) on: before the gap i, and before letter i
    for (std::size_t word = begin; word < end; ++word) {
      const std::size_t n = words.length(word), first = first_position(words, word);
      const auto from = static_cast<std::size_t>(sounds.offsets[word]);
      const std::size_t m = static_cast<std::size_t>(sounds.offsets[word + 1]) - from;
      std::fill(targets.begin() + static_cast<std::ptrdiff_t>(first),
                targets.begin() + static_cast<std::ptrdiff_t>(first + 2 * n + 1), -1);
      if (m > 2 * n + 1) continue;
      const auto score = [&](std::size_t s, std::int32_t label) {
        return log_probabilities[static_cast<std::size_t>(nodes[first + s]) * classes +
                                 static_cast<std::size_t>(label)];
      };
      gap.assign((n + 1) * (m + 1), kNever);
      letter.assign((n + 1) * (m + 1), kNever);
      for (std::size_t i = n + 1; i-- > 0;) {
        for (std::size_t j = m + 1; j-- > 0;) {
          if (i == n) {
            letter[i * (m + 1) + j] = j == m ? 0.0 : kNever;
          } else {
            double best = score(2 * i + 1, empty) + gap[(i + 1) * (m + 1) + j];
            if (j < m)
              best = std::max(best, score(2 * i + 1, sounds.sounds[from + j]) + gap[(i + 1) * (m + 1) + j + 1]);
            letter[i * (m + 1) + j] = best;
          }
        }
        for (std::size_t j = m + 1; j-- > 0;) {
          double best = score(2 * i, empty) + letter[i * (m + 1) + j];
          if (j < m) best = std::max(best, score(2 * i, sounds.sounds[from + j]) + letter[i * (m + 1) + j + 1]);
          gap[i * (m + 1) + j] = best;
        }
      }
      scores[word] = gap[0];
      if (gap[0] == kNever) continue;
      for (std::size_t i = 0, j = 0; i <= n; ++i) {
        // In a gap nothing is preferred to an insertion: the sound then goes with the letter, if that is as good.
        const double nothing = score(2 * i, empty) + letter[i * (m + 1) + j];
        const bool insert = !(nothing >= gap[i * (m + 1) + j] - kTie);
        targets[first + 2 * i] = insert ? sounds.sounds[from + j] : empty;
        j += insert;
        if (i == n) break;
        const double substitute =
            j < m ? score(2 * i + 1, sounds.sounds[from + j]) + gap[(i + 1) * (m + 1) + j + 1] : kNever;
        const bool take = j < m && substitute >= letter[i * (m + 1) + j] - kTie;
        targets[first + 2 * i + 1] = take ? sounds.sounds[from + j] : empty;
        j += take;
      }
    }
  });
  return scores;
}

double LinkModel::score(std::size_t c, std::size_t d, std::size_t e) const {
  const double below = bigram[d * (links + 1) + e];
  if (!second_order) return below;
  const std::uint64_t pair = static_cast<std::uint64_t>(c) * (links + 1) + d;
  if (const double* const found = trigram.find(pair * (links + 1) + e)) return *found;
  return backoff.find(pair, 0.0) + below;
}

// States are cells and the kinds of the last two links: they name these links. Insertions are not repeated.
std::vector<double> align_links(const LetterWords& words, const SoundStrings& sounds, const LinkModel& model,
                                std::int32_t empty, std::span<std::int32_t> targets, std::size_t threads) {
  std::vector<double> scores(words.words(), kNever);
  const std::size_t no_letter = model.link.size() / model.sounds - 1;
  constexpr std::size_t kinds = 4;  // of the last link; kNone at the edge
  base::parallel_blocks(words.words(), 16, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> best;
    std::vector<std::uint8_t> came;  // kind of the link before the last two
    for (std::size_t word = begin; word < end; ++word) {
      const std::size_t n = words.length(word), first = first_position(words, word);
      const auto from = static_cast<std::size_t>(sounds.offsets[word]);
      const std::size_t m = static_cast<std::size_t>(sounds.offsets[word + 1]) - from;
      std::fill(targets.begin() + static_cast<std::ptrdiff_t>(first),
                targets.begin() + static_cast<std::ptrdiff_t>(first + 2 * n + 1), -1);
      if (m > 2 * n + 1) continue;
      const std::int32_t* letters = words.letters.data() + words.offsets[word];
      const std::int32_t* own = sounds.sounds.data() + from;
      // The link of this kind that ends in (i, j); L at the edge, -1 where there is none.
      const auto link = [&](std::size_t i, std::size_t j, std::size_t kind) -> std::int64_t {
        if (kind == kNone) return static_cast<std::int64_t>(model.links);
        if ((kind != kInsert && i == 0) || (kind != kDelete && j == 0)) return -1;
        const std::size_t x = kind == kInsert ? no_letter : static_cast<std::size_t>(letters[i - 1]);
        const std::int32_t y = kind == kDelete ? empty : own[j - 1];
        return letters && kind != kInsert && letters[i - 1] < 0 ? -1 : model.link[x * model.sounds + y];
      };
      const auto back = [&](std::size_t& i, std::size_t& j, std::size_t kind) {
        i -= kind == kSubstitute || kind == kDelete;
        j -= kind == kSubstitute || kind == kInsert;
      };
      const auto at = [&](std::size_t i, std::size_t j, std::size_t before, std::size_t last) {
        return ((i * (m + 1) + j) * kinds + before) * kinds + last;
      };
      best.assign((n + 1) * (m + 1) * kinds * kinds, kNever);
      came.assign(best.size(), kNone);
      best[at(0, 0, kNone, kNone)] = 0.0;
      for (std::size_t i = 0; i <= n; ++i)
        for (std::size_t j = 0; j <= m; ++j)
          for (std::size_t last = 0; last < kNone; ++last) {
            const std::int64_t e = link(i, j, last);
            if (e < 0) continue;
            std::size_t pi = i, pj = j;
            back(pi, pj, last);
            for (std::size_t before = 0; before < kinds; ++before) {
              if (last == kInsert && before == kInsert) continue;
              const std::int64_t d = link(pi, pj, before);
              if (d < 0 || (before == kNone && (pi || pj))) continue;
              std::size_t qi = pi, qj = pj;
              if (before != kNone) back(qi, qj, before);
              for (std::size_t third = 0; third < kinds; ++third) {
                const double prior = best[at(pi, pj, third, before)];
                if (prior == kNever) continue;
                const std::int64_t c = before == kNone ? static_cast<std::int64_t>(model.links) : link(qi, qj, third);
                const double score = prior + model.score(static_cast<std::size_t>(c), static_cast<std::size_t>(d),
                                                         static_cast<std::size_t>(e));
                double& now = best[at(i, j, before, last)];
                if (score > now + kTie || (now == kNever && score > kNever)) {
                  now = score;
                  came[at(i, j, before, last)] = static_cast<std::uint8_t>(third);
                }
              }
            }
          }
      double top = kNever;
      std::size_t before = kNone, last = kNone;
      for (std::size_t b = 0; b < kinds; ++b)
        for (std::size_t l = 0; l < kinds; ++l) {
          const double prior = best[at(n, m, b, l)];
          if (prior == kNever) continue;
          std::size_t pi = n, pj = m;
          if (l != kNone) back(pi, pj, l);
          const std::int64_t d = link(n, m, l), c = l == kNone ? d : link(pi, pj, b);
          const double score =
              prior + model.score(static_cast<std::size_t>(c), static_cast<std::size_t>(d), model.links);
          if (score > top + kTie || top == kNever) {
            top = score;
            before = b;
            last = l;
          }
        }
      scores[word] = top;
      if (top == kNever) continue;
      for (std::size_t s = 0; s <= 2 * n; ++s) targets[first + s] = empty;
      std::size_t i = n, j = m;
      while (last != kNone) {
        if (last == kInsert) {
          targets[first + 2 * i] = own[j - 1];
        } else if (last == kSubstitute) {
          targets[first + 2 * (i - 1) + 1] = own[j - 1];
        }
        const std::size_t third = came[at(i, j, before, last)];
        back(i, j, last);
        last = before;
        before = third;
      }
    }
  });
  return scores;
}

}  // namespace textmill::tasks
