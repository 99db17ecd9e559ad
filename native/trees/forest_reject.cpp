#include "trees/forest_reject.h"

#include <cmath>

#include "trees/forest_best.h"

namespace textmill::trees {

Rejection::Rejection(const Woven& woven, std::size_t structure, const Weights& weights)
    : woven_(woven), structure_(structure), ones_(weights.event.size(), 1.0), log_event_(weights.event.size()) {
  for (std::size_t e = 0; e < log_event_.size(); ++e) log_event_[e] = std::log(weights.event[e]);
  weights_ = {weights.parameter, ones_};
  inside(woven_, structure_, weights_, W_);
  std::vector<double> possible(weights.parameter.size());  // 1 where the forest can go at all
  for (std::size_t p = 0; p < possible.size(); ++p) possible[p] = weights.parameter[p] > 0.0 ? 1.0 : 0.0;
  const auto best = best_trees(woven_, structure_, {possible, weights.event}, 1);
  most_ = best.empty() ? -HUGE_VAL : best[0].score;
}

std::int64_t Rejection::draw(base::Random& random, std::int64_t most, std::vector<std::int32_t>& choices) {
  for (std::int64_t tries = 1; tries <= most && most_ > -HUGE_VAL; ++tries) {
    double total = 0.0;
    choices.clear();
    trees::draw(
        woven_, structure_, weights_, W_, stack_, [&] { return random.uniform(); },
        [&](std::int32_t choice, std::int32_t event) {
          if (event >= 0)
            total += log_event_[event];
          else
            choices.push_back(choice);
        });
    if (std::log(random.positive()) <= total - most_) return tries;
  }
  choices.clear();
  return 0;
}

}  // namespace textmill::trees
