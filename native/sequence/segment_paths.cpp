// The best segmentations of a sentence, and the best disjoint segments: see segments.h.
#include <algorithm>

#include "base/parallel.h"
#include "sequence/segment_scratch.h"

namespace textmill::sequence {
namespace {

struct Step {  // a way to reach a state at a position
  double score;
  std::int32_t length, label, state, rank;  // of the segment, and of what it follows
};

// Keeps the k best, best first; of equals those that came first.
void offer(std::vector<Step>& steps, const Step& step, std::size_t k) {
  if (steps.size() == k && !(step.score > steps.back().score)) return;
  auto at = steps.end();
  while (at != steps.begin() && step.score > (at - 1)->score) --at;
  steps.insert(at, step);
  if (steps.size() > k) steps.pop_back();
}

// Whether a rule (first token, tokens, label, must or must not) forbids a segment.
bool forbidden(const std::int32_t* rule, std::int64_t first, std::int32_t length, std::int32_t label) {
  const bool same = rule[0] == first && rule[1] == length && rule[2] == label;
  const bool overlap = first < static_cast<std::int64_t>(rule[0]) + rule[1] && rule[0] < first + length;
  return rule[3] != 0 ? overlap && !same : same;
}

}  // namespace

std::vector<std::vector<Hypothesis>> SegmentProblem::best(std::span<const double> theta, std::size_t k,
                                                          std::span<const std::int32_t> asked, std::size_t threads) {
  fill_scores(theta, threads);
  std::vector<std::vector<Hypothesis>> answers(sentences());
  base::parallel_blocks(sentences(), kSentences, threads, [&](std::size_t begin, std::size_t end) {
    Scratch scratch;
    std::vector<std::vector<Step>> states;
    std::vector<Step> links;
    for (std::size_t s = begin; s < end; ++s) {
      const std::int64_t first = offsets_[s], n = offsets_[s + 1] - first;
      const std::size_t K = stride_, Q = states_, Y = labels_;
      if (n == 0) {
        answers[s].push_back({0.0, {}});
        continue;
      }
      scratch.resize(static_cast<std::size_t>(n),
                     static_cast<std::size_t>(n + candidates_[first + n] - candidates_[first]), K, Q, false);
      segment_scores(s, scratch);
      states.resize(static_cast<std::size_t>(n + 1) * Q);
      for (std::vector<Step>& steps : states) steps.clear();
      states[0].push_back({0.0, 0, 0, 0, 0});
      const double* w = scratch.weights.data();
      const std::int32_t* rule = asked.empty() ? nullptr : asked.data() + 4 * s;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t t = first + i, cut = candidates_[t], stop = candidates_[t + 1];
        const double* tr = histories_.data() + static_cast<std::size_t>(contexts_.of[t]) * Q * K;
        const auto at = static_cast<std::size_t>(i) * Q;
        for (std::size_t q = 0; q < Q && !(rule && forbidden(rule, i, 1, 0)); ++q) {
          std::vector<Step>& to = states[at + Q + static_cast<std::size_t>(after(static_cast<std::int32_t>(q)))];
          const std::vector<Step>& from = states[at + q];
          for (std::size_t r = 0; r < from.size(); ++r)
            offer(to,
                  {from[r].score + tr[q * K] - tr[0], 1, 0, static_cast<std::int32_t>(q), static_cast<std::int32_t>(r)},
                  k);
        }
        for (std::size_t y = 1; y < Y; ++y) {
          links.clear();
          if (stop > cut || single_[t])
            for (std::size_t q = 0; q < Q; ++q)
              for (std::size_t r = 0; r < states[at + q].size(); ++r)
                offer(links,
                      {states[at + q][r].score + tr[q * K + y], 0, static_cast<std::int32_t>(y),
                       static_cast<std::int32_t>(q), static_cast<std::int32_t>(r)},
                      k);
          for (std::int64_t c = single_[t] ? cut - 1 : cut; c < stop; ++c) {
            const std::int32_t length = c < cut ? 1 : lengths_[c];
            if (rule && forbidden(rule, i, length, static_cast<std::int32_t>(y))) continue;
            const double score = w[static_cast<std::size_t>(c - cut + 1) * K + y];
            std::vector<Step>& to = states[at + static_cast<std::size_t>(length) * Q +
                                           static_cast<std::size_t>(state_of(static_cast<std::int32_t>(y)))];
            for (const Step& link : links) {
              if (to.size() == k && !(link.score + score > to.back().score)) break;
              offer(to, {link.score + score, length, link.label, link.state, link.rank}, k);
            }
          }
        }
        w += static_cast<std::size_t>(1 + stop - cut) * K;
      }
      std::vector<Step> ends;
      for (std::size_t q = 0; q < Q; ++q)
        for (std::size_t r = 0; r < states[static_cast<std::size_t>(n) * Q + q].size(); ++r)
          offer(ends,
                {states[static_cast<std::size_t>(n) * Q + q][r].score, 0, 0, static_cast<std::int32_t>(q),
                 static_cast<std::int32_t>(r)},
                k);
      for (const Step& ending : ends) {
        Hypothesis answer{ending.score + scratch.plain[static_cast<std::size_t>(n)], {}};
        std::int32_t q = ending.state, rank = ending.rank;
        for (std::int64_t u = n; u > 0;) {
          const Step& step =
              states[static_cast<std::size_t>(u) * Q + static_cast<std::size_t>(q)][static_cast<std::size_t>(rank)];
          u -= step.length;
          if (step.label != 0)
            answer.segments.insert(answer.segments.begin(), {static_cast<std::int32_t>(u), step.length, step.label});
          q = step.state, rank = step.rank;
        }
        answers[s].push_back(std::move(answer));
      }
    }
  });
  return answers;
}

void best_disjoint(std::span<const std::int64_t> offsets, std::span<const std::int64_t> candidates,
                   std::span<const std::int32_t> lengths, std::span<const double> gains,
                   std::span<std::uint8_t> chosen) {
  const auto T = static_cast<std::size_t>(offsets.back());
  std::fill(chosen.begin(), chosen.end(), 0);
  std::vector<double> best;         // [position] greatest sum of gains from here to the end
  std::vector<std::int64_t> take;   // [position] row that is chosen to begin here, -1 for none
  std::vector<std::int64_t> moves;  // tokens to the next position
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t first = offsets[s], n = offsets[s + 1] - first;
    best.assign(static_cast<std::size_t>(n + 1), 0.0);
    take.assign(static_cast<std::size_t>(n + 1), -1);
    moves.assign(static_cast<std::size_t>(n + 1), 1);
    for (std::int64_t i = n - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t t = first + i;
      best[at] = best[at + 1];
      const auto offer_row = [&](std::size_t r, std::int64_t length) {
        const double sum = gains[r] + best[static_cast<std::size_t>(i + length)];
        if (sum > best[at]) best[at] = sum, take[at] = static_cast<std::int64_t>(r), moves[at] = length;
      };
      offer_row(static_cast<std::size_t>(t), 1);
      for (auto k = candidates[t]; k < candidates[t + 1]; ++k) offer_row(T + static_cast<std::size_t>(k), lengths[k]);
    }
    for (std::int64_t i = 0; i < n; i += moves[static_cast<std::size_t>(i)])
      if (take[static_cast<std::size_t>(i)] >= 0)
        chosen[static_cast<std::size_t>(take[static_cast<std::size_t>(i)])] = 1;
  }
}

}  // namespace textmill::sequence
