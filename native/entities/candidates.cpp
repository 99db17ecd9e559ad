#include "entities/candidates.h"

#include <algorithm>
#include <type_traits>

#include "base/parallel.h"

namespace textmill::entities {
namespace {

constexpr std::size_t kBlockSentences = 256;  // what one task chooses from

// Of a chain whose history is the label before: the sums over histories are short. Y is the number of labels, known
// when this is compiled or not.
template <class Size>
void find_of_order_one(const sequence::Steps& steps, const PhraseLabels& labels, double least, Candidates& out,
                       Size Y) {
  const std::size_t H = steps.histories.base, T = steps.length;
  std::vector<double> before(H, 0.0), after(H);
  before[steps.histories.start] = 1.0;
  for (std::size_t s = 0; s < T; ++s) {
    const double* step = steps.weights + s * H * Y;
    std::ranges::fill(after, 0.0);
    for (std::size_t h = 0; h < H; ++h)
      for (std::size_t y = 0; y < Y; ++y) after[y] += before[h] * step[h * Y + y];
    before.swap(after);
    double mass = before[labels.begin];
    std::size_t tag = labels.begin;
    for (std::size_t e = s + 1; mass >= least; ++e) {  // phrases with the tokens s .. e - 1, and longer ones: mass
      const bool longer = e < T && labels.inside < Y;
      const double on = longer ? mass * steps.weights[(e * H + tag) * Y + labels.inside] : 0.0;
      if (mass - on >= least) {
        out.begin.push_back(static_cast<std::int32_t>(s));
        out.end.push_back(static_cast<std::int32_t>(e));
        out.probability.push_back(mass - on);
      }
      if (e == T) break;
      mass = on;
      tag = labels.inside;
    }
  }
}

void find_of_any_order(const sequence::Steps& steps, const PhraseLabels& labels, double least, Candidates& out) {
  const sequence::Histories& histories = steps.histories;
  const std::size_t Y = histories.labels, H = histories.size(histories.order), T = steps.length;
  const auto next = [&](std::size_t h, std::size_t y) { return (h * histories.base + y) % H; };
  std::vector<double> before(H, 0.0), after(H), phrase(H), longer(H);
  before[histories.begin()] = 1.0;
  for (std::size_t s = 0; s < T; ++s) {
    const double* step = steps.weights + s * H * Y;
    std::ranges::fill(after, 0.0);
    std::ranges::fill(phrase, 0.0);
    double mass = 0.0;
    for (std::size_t h = 0; h < H; ++h) {
      if (before[h] == 0.0) continue;
      for (std::size_t y = 0; y < Y; ++y) after[next(h, y)] += before[h] * step[h * Y + y];
      phrase[next(h, labels.begin)] += before[h] * step[h * Y + labels.begin];
      mass += before[h] * step[h * Y + labels.begin];
    }
    before.swap(after);
    for (std::size_t e = s + 1; mass >= least; ++e) {  // phrases with the tokens s .. e - 1, and longer ones: mass
      double on = 0.0;
      std::ranges::fill(longer, 0.0);
      if (e < T && labels.inside < Y) {
        for (std::size_t h = 0; h < H; ++h) {
          if (phrase[h] == 0.0) continue;
          const double p = phrase[h] * steps.weights[(e * H + h) * Y + labels.inside];
          longer[next(h, labels.inside)] += p;
          on += p;
        }
      }
      if (mass - on >= least) {
        out.begin.push_back(static_cast<std::int32_t>(s));
        out.end.push_back(static_cast<std::int32_t>(e));
        out.probability.push_back(mass - on);
      }
      if (e == T) break;
      phrase.swap(longer);
      mass = on;
    }
  }
}

}  // namespace

void find_candidates(const sequence::Steps& steps, const PhraseLabels& labels, double least, Candidates& out) {
  const sequence::Histories& histories = steps.histories;
  const std::size_t from = out.begin.size();
  if (histories.order == 1 && histories.labels == 3)  // B, I and O
    find_of_order_one(steps, labels, least, out, std::integral_constant<std::size_t, 3>{});
  else if (histories.order == 1)
    find_of_order_one(steps, labels, least, out, histories.labels);
  else
    find_of_any_order(steps, labels, least, out);
  // by end, then from short to long, as the choice wants them; few are far from their place
  for (std::size_t i = from + 1; i < out.begin.size(); ++i) {
    const std::int32_t begin = out.begin[i], end = out.end[i];
    const double probability = out.probability[i];
    std::size_t j = i;
    for (; j > from && (out.end[j - 1] > end || (out.end[j - 1] == end && out.begin[j - 1] < begin)); --j) {
      out.begin[j] = out.begin[j - 1];
      out.end[j] = out.end[j - 1];
      out.probability[j] = out.probability[j - 1];
    }
    out.begin[j] = begin;
    out.end[j] = end;
    out.probability[j] = probability;
  }
}

Candidates join_candidates(std::vector<Candidates>& blocks) {
  Candidates out;
  out.offsets.push_back(0);
  for (Candidates& block : blocks) {
    const auto from = static_cast<std::int64_t>(out.begin.size());
    for (const std::int64_t offset : block.offsets) out.offsets.push_back(from + offset);
    out.begin.insert(out.begin.end(), block.begin.begin(), block.begin.end());
    out.end.insert(out.end.end(), block.end.begin(), block.end.end());
    out.probability.insert(out.probability.end(), block.probability.begin(), block.probability.end());
    block = Candidates();
  }
  return out;
}

void choose_candidates(std::span<const std::int64_t> offsets, std::span<const std::int32_t> begin,
                       std::span<const std::int32_t> end, std::span<const double> score, double threshold,
                       std::span<std::uint8_t> chosen, std::size_t threads) {
  base::parallel_blocks(offsets.size() - 1, kBlockSentences, threads, [&](std::size_t first, std::size_t last) {
    std::vector<double> best;             // [candidates of the sentence + 1] of the first i candidates
    std::vector<std::size_t> compatible;  // [candidate] how many end before it begins
    std::vector<std::uint8_t> taken;
    for (std::size_t s = first; s < last; ++s) {
      const auto from = static_cast<std::size_t>(offsets[s]);
      const std::size_t size = static_cast<std::size_t>(offsets[s + 1]) - from;
      best.assign(size + 1, 0.0);
      compatible.assign(size, 0);
      taken.assign(size, 0);
      for (std::size_t i = 0; i < size; ++i) {
        std::size_t j = i;
        while (j > 0 && end[from + j - 1] > begin[from + i]) --j;
        compatible[i] = j;
        const double with = best[j] + score[from + i] - threshold;
        taken[i] = with > best[i];
        best[i + 1] = std::max(with, best[i]);
        chosen[from + i] = 0;
      }
      for (std::size_t i = size; i > 0;) {
        if (taken[i - 1]) {
          chosen[from + i - 1] = 1;
          i = compatible[i - 1];
        } else {
          --i;
        }
      }
    }
  });
}

}  // namespace textmill::entities
