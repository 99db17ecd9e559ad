#include "trees/collapsed.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace textmill::trees {
namespace {

void sort_unique(std::vector<std::int32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

CollapsedChain::CollapsedChain(const Woven& woven, Urns parameters, Urns events)
    : parameter_counts(parameters.row.size()),
      event_counts(events.row.size()),
      choices(woven.sentences()),
      woven_(woven) {
  for (auto [side, urns] : {std::pair{&parameters_, &parameters}, std::pair{&events_, &events}}) {
    side->urns = std::move(*urns);
    side->rows = side->urns.total;
    side->weight = side->urns.alpha;
    side->uses.resize(woven.sentences());
    side->drawn.resize(woven.sentences());
  }
  for (std::size_t s = 0; s < woven.sentences(); ++s) {
    for (auto n = woven.node_at[s]; n < woven.node_at[s + 1]; ++n) {
      if (woven.event[n] >= 0) events_.uses[s].push_back(woven.event[n]);
      for (auto c = woven.choice_at[n]; c < woven.choice_at[n + 1]; ++c)
        if (woven.parameter[c] >= 0) parameters_.uses[s].push_back(woven.parameter[c]);
    }
    sort_unique(events_.uses[s]);
    sort_unique(parameters_.uses[s]);
  }
}

void CollapsedChain::Side::refresh(std::size_t s, const std::vector<double>& counts) {
  for (const std::int32_t i : uses[s])
    if (urns.row[i] >= 0) weight[i] = (counts[i] + urns.alpha[i]) / rows[urns.row[i]];
}

void CollapsedChain::Side::add(std::span<const std::int32_t> entries, std::vector<double>& counts, double sign) {
  for (const std::int32_t i : entries) {
    counts[i] += sign;
    if (urns.row[i] >= 0) rows[urns.row[i]] += sign;
  }
}

double CollapsedChain::Side::excess(std::span<const std::int32_t> entries, std::vector<double>& counts) {
  double total = 0.0;
  for (const std::int32_t i : entries) {
    if (urns.row[i] < 0) continue;
    total += std::log((counts[i] + urns.alpha[i]) / (rows[urns.row[i]] * weight[i]));
    counts[i] += 1.0;
    rows[urns.row[i]] += 1.0;
  }
  for (const std::int32_t i : entries)
    if (urns.row[i] >= 0) {
      counts[i] -= 1.0;
      rows[urns.row[i]] -= 1.0;
    }
  return total;
}

std::size_t CollapsedChain::scan(std::uint64_t seed, std::uint64_t iteration) {
  std::size_t accepted = 0;
  std::vector<std::int32_t> made, parameters, events;
  for (std::size_t s = 0; s < woven_.sentences(); ++s) {
    base::Random random(seed, iteration * woven_.sentences() + s);
    const bool fresh = choices[s].empty();
    parameters_.add(parameters_.drawn[s], parameter_counts, -1.0);
    events_.add(events_.drawn[s], event_counts, -1.0);
    parameters_.refresh(s, parameter_counts);
    events_.refresh(s, event_counts);
    const Weights weights{parameters_.weight, events_.weight};
    inside(woven_, s, weights, W_);
    made.clear();
    parameters.clear();
    events.clear();
    draw(
        woven_, s, weights, W_, [&] { return random.uniform(); },
        [&](std::int32_t choice, std::int32_t event) {
          if (event >= 0) {
            events.push_back(event);
            return;
          }
          made.push_back(choice);
          if (woven_.parameter[choice] >= 0) parameters.push_back(woven_.parameter[choice]);
        });
    bool take = fresh;
    if (!fresh) {
      const double gain = parameters_.excess(parameters, parameter_counts) + events_.excess(events, event_counts) -
                          parameters_.excess(parameters_.drawn[s], parameter_counts) -
                          events_.excess(events_.drawn[s], event_counts);
      take = gain >= 0.0 || std::log(random.positive()) < gain;
    }
    if (take) {
      ++accepted;
      choices[s].swap(made);
      parameters_.drawn[s].swap(parameters);
      events_.drawn[s].swap(events);
    }
    parameters_.add(parameters_.drawn[s], parameter_counts, 1.0);
    events_.add(events_.drawn[s], event_counts, 1.0);
  }
  return accepted;
}

}  // namespace textmill::trees
