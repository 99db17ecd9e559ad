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
    side->uses.resize(woven.structures());
    side->drawn.resize(woven.sentences());
  }
  for (std::size_t t = 0; t < woven.structures(); ++t) {
    for (std::int32_t n = 0; n < woven.leaves[t]; ++n) events_.uses[t].push_back(woven.entry[woven.node_at[t] + n]);
    for (auto c = woven.step_at[t]; c < woven.step_at[t + 1]; ++c)
      parameters_.uses[t].push_back(woven.step[c].parameter);
    sort_unique(events_.uses[t]);
    sort_unique(parameters_.uses[t]);
  }
}

void CollapsedChain::Side::refresh(std::size_t structure, const std::vector<double>& counts) {
  for (const std::int32_t i : uses[structure])
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
    const auto structure = static_cast<std::size_t>(woven_.structure[s]);
    parameters_.refresh(structure, parameter_counts);
    events_.refresh(structure, event_counts);
    const Weights weights{parameters_.weight, events_.weight};
    inside(woven_, structure, weights, W_);
    made.clear();
    parameters.clear();
    events.clear();
    draw(
        woven_, structure, weights, W_, stack_, [&] { return random.uniform(); },
        [&](std::int32_t choice, std::int32_t event) {
          if (event >= 0) {
            events.push_back(event);
            return;
          }
          made.push_back(choice);
          if (woven_.step[choice].parameter > 0) parameters.push_back(woven_.step[choice].parameter);
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
