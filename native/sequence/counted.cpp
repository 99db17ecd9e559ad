#include "sequence/counted.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

constexpr std::size_t kBlockTests = 8192;  // what one task adds up
constexpr std::size_t kDenseCells = 4096;  // histories x labels that are added up in an array
constexpr double kFirstWeight = 0.5;       // of every level, before EM

std::size_t bucket_of(double n) {
  const auto whole = static_cast<std::uint64_t>(std::max(n, 1.0));
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(whole)) - 1, kCountBuckets - 1);
}

// One level onto the distribution of the coarser ones.
void blend(const BackOff& back_off, std::size_t level, std::span<const std::int32_t> label, const double* count,
           std::size_t labels, double* p) {
  double n = 0.0, r = 0.0;
  for (std::size_t e = 0; e < label.size(); ++e) {
    n += count[e];
    r += count[e] > 0.0;
  }
  if (!(n > 0.0)) return;
  switch (back_off.method) {
    case Smoothing::kWittenBell: {
      const double mass = back_off.strength * r, scale = 1.0 / (n + mass);
      for (std::size_t y = 0; y < labels; ++y) p[y] *= mass * scale;
      for (std::size_t e = 0; e < label.size(); ++e) p[label[e]] += count[e] * scale;
      break;
    }
    case Smoothing::kAbsolute: {
      const double discount = back_off.weights[level * kCountBuckets];
      double taken = 0.0;
      for (std::size_t e = 0; e < label.size(); ++e) taken += std::min(count[e], discount);
      for (std::size_t y = 0; y < labels; ++y) p[y] *= taken / n;
      for (std::size_t e = 0; e < label.size(); ++e) p[label[e]] += std::max(count[e] - discount, 0.0) / n;
      break;
    }
    case Smoothing::kJelinekMercer: {
      const double weight = back_off.weights[level * kCountBuckets + bucket_of(n)];
      for (std::size_t y = 0; y < labels; ++y) p[y] *= 1.0 - weight;
      for (std::size_t e = 0; e < label.size(); ++e) p[label[e]] += weight * count[e] / n;
      break;
    }
    case Smoothing::kHard:
      if (n < back_off.min_count) return;
      for (std::size_t y = 0; y < labels; ++y) p[y] = 0.0;
      for (std::size_t e = 0; e < label.size(); ++e) p[label[e]] = count[e] / n;
      break;
  }
}

// Zeros for what must not follow, the rest divided by its sum; even shares where nothing would remain.
void restrict_to(const std::uint8_t* allowed, std::size_t labels, double* p) {
  double sum = 0.0, forbidden = 0.0;
  for (std::size_t y = 0; y < labels; ++y) (allowed[y] ? sum : forbidden) += p[y];
  if (forbidden == 0.0 && sum > 0.0) {
    for (std::size_t y = 0; y < labels; ++y)
      if (!allowed[y]) p[y] = 0.0;
    return;
  }
  std::size_t open = 0;
  for (std::size_t y = 0; y < labels; ++y) open += allowed[y] != 0;
  for (std::size_t y = 0; y < labels; ++y)
    p[y] = !allowed[y] ? 0.0 : sum > 0.0 ? p[y] / sum : 1.0 / static_cast<double>(std::max<std::size_t>(open, 1));
}

// The row of a history, or the end of the rows.
std::int64_t find_row(std::span<const std::int64_t> rows, std::span<const std::int32_t> history, std::size_t test,
                      std::size_t wanted) {
  const auto begin = history.begin() + rows[test], end = history.begin() + rows[test + 1];
  const auto at = std::lower_bound(begin, end, static_cast<std::int32_t>(wanted));
  return at != end && *at == static_cast<std::int32_t>(wanted) ? at - history.begin() : -1;
}

std::int64_t find_entry(const CountTable& table, std::size_t test, std::size_t history, std::int32_t label) {
  const std::int64_t row = find_row(table.rows, table.history, test, history);
  if (row < 0) return -1;
  const auto begin = table.label.begin() + table.entries[static_cast<std::size_t>(row)];
  const auto end = table.label.begin() + table.entries[static_cast<std::size_t>(row) + 1];
  const auto at = std::lower_bound(begin, end, label);
  return at != end && *at == label ? at - table.label.begin() : -1;
}

// Fetches the rows of the tests of the next tokens: what they hold of the one after this, where they are of the third.
void prefetch(const CountTable& table, std::span<const double> counts, const TokenTests& tests, std::size_t t,
              std::size_t last) {
  if (t + 1 < last) {
    for (std::int64_t i = tests.indptr[t + 1]; i < tests.indptr[t + 2]; ++i) {
      const std::int64_t row = table.rows[static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)])];
      const std::int64_t entry = table.entries[static_cast<std::size_t>(row)];
      __builtin_prefetch(table.history.data() + row);
      __builtin_prefetch(table.label.data() + entry);
      __builtin_prefetch(counts.data() + entry);
    }
  }
  if (t + 2 < last) {
    for (std::int64_t i = tests.indptr[t + 2]; i < tests.indptr[t + 3]; ++i) {
      const std::int64_t row = table.rows[static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)])];
      __builtin_prefetch(table.entries.data() + row);
    }
  }
  if (t + 3 < last) {
    for (std::int64_t i = tests.indptr[t + 3]; i < tests.indptr[t + 4]; ++i)
      __builtin_prefetch(table.rows.data() + tests.ids[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

void fill_steps(const CountTable& table, std::span<const double> counts, const BackOff& back_off,
                const Histories& histories, const TokenTests& tests, std::size_t sequence, CoarseSteps& coarse,
                double* steps) {
  constexpr std::size_t kLevels = CoarseSteps::kLevels, kSlots = CoarseSteps::kSlots;
  const std::size_t Y = histories.labels, H = histories.size(histories.order), cells = H * Y;
  const auto first = static_cast<std::size_t>(tests.offsets[sequence]);
  const auto last = static_cast<std::size_t>(tests.offsets[sequence + 1]);
  if (coarse.tests_.empty()) {
    coarse.tests_.assign(kSlots * kLevels, -1);
    coarse.steps_.resize(kSlots * cells);
  }
  // the tests i with begin <= i < end, from the coarsest to the finest
  const auto blend_all = [&](std::int64_t begin, std::int64_t end, double* step) {
    for (std::int64_t i = end; i-- > begin;) {
      const auto test = static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)]);
      const auto level = static_cast<std::size_t>(table.level[test]);
      const std::size_t stride = table.strides[level];
      const auto rows_end = static_cast<std::size_t>(table.rows[test + 1]);
      for (auto row = static_cast<std::size_t>(table.rows[test]); row < rows_end; ++row) {
        const auto entry = static_cast<std::size_t>(table.entries[row]);
        const auto label = table.label.subspan(entry, static_cast<std::size_t>(table.entries[row + 1]) - entry);
        for (auto h = static_cast<std::size_t>(table.history[row]); h < H; h += stride)
          blend(back_off, level, label, counts.data() + entry, Y, step + h * Y);
      }
    }
  };
  for (std::size_t t = first; t < last; ++t) {
    double* step = steps + (t - first) * cells;
    prefetch(table, counts, tests, t, last);
    const std::int64_t begin = tests.indptr[t], end = tests.indptr[t + 1];
    std::int64_t middle = end;  // from here on tests are coarse
    if (end - begin > static_cast<std::int64_t>(kLevels)) {
      middle = end - static_cast<std::int64_t>(kLevels);
      const std::int32_t* ids = tests.ids.data() + middle;
      const std::size_t slot = (static_cast<std::size_t>(ids[0]) * 31 + static_cast<std::size_t>(ids[1])) % kSlots;
      std::int32_t* held = coarse.tests_.data() + slot * kLevels;
      double* distribution = coarse.steps_.data() + slot * cells;
      if (!std::equal(held, held + kLevels, ids)) {
        std::copy(ids, ids + kLevels, held);
        std::fill(distribution, distribution + cells, 1.0 / static_cast<double>(Y));
        blend_all(middle, end, distribution);
      }
      std::copy(distribution, distribution + cells, step);
    } else {
      std::fill(step, step + cells, 1.0 / static_cast<double>(Y));
    }
    blend_all(begin, middle, step);
    for (std::size_t h = 0; h < H; ++h) restrict_to(back_off.allowed.data() + h * Y, Y, step + h * Y);
  }
}

void fill_joint_steps(const CountTable& table, const JointTests& joint, const BackOff& back_off,
                      const Histories& histories, const TokenTests& tests, std::size_t sequence, double* steps) {
  const std::size_t Y = histories.labels, H = histories.size(histories.order), L = table.orders.size();
  const auto first = static_cast<std::size_t>(tests.offsets[sequence]);
  const auto last = static_cast<std::size_t>(tests.offsets[sequence + 1]);
  for (std::size_t t = first; t < last; ++t) {
    double* step = steps + (t - first) * H * Y;
    std::fill(step, step + H * Y, 1.0 / static_cast<double>(Y));
    for (std::size_t level = L; level-- > 0;) {
      const double share = joint.share[t * L + level];
      for (std::size_t i = 0; i < H * Y; ++i) step[i] *= share;
      const std::int32_t before = joint.before[t * L + level], full = joint.full[t * L + level];
      if (before < 0) continue;
      const std::size_t stride = histories.size(static_cast<std::size_t>(table.orders[level]));
      for (auto total = static_cast<std::size_t>(joint.rows[static_cast<std::size_t>(before)]);
           total < static_cast<std::size_t>(joint.rows[static_cast<std::size_t>(before) + 1]); ++total) {
        const auto g = static_cast<std::size_t>(joint.history[total]);
        const double mass = back_off.strength * joint.distinct[total], scale = 1.0 / (joint.total[total] + mass);
        const std::int64_t row = full < 0 ? -1 : find_row(table.rows, table.history, static_cast<std::size_t>(full), g);
        for (std::size_t h = g; h < H; h += stride) {
          for (std::size_t y = 0; y < Y; ++y) step[h * Y + y] *= mass * scale;
          if (row < 0) continue;
          for (std::int64_t e = table.entries[static_cast<std::size_t>(row)];
               e < table.entries[static_cast<std::size_t>(row) + 1]; ++e) {
            const auto entry = static_cast<std::size_t>(e);
            step[h * Y + static_cast<std::size_t>(table.label[entry])] += table.count[entry] * scale;
          }
        }
      }
    }
    for (std::size_t h = 0; h < H; ++h)
      for (std::size_t y = 0; y < Y; ++y)
        if (!back_off.allowed[h * Y + y]) step[h * Y + y] = 0.0;
  }
}

Events events_of(std::span<const std::int64_t> offsets, std::span<const std::int32_t> labels,
                 const Histories& histories) {
  Events events;
  events.offsets.reserve(labels.size() + 1);
  events.offsets.push_back(0);
  const std::size_t H = histories.size(histories.order);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    std::size_t h = histories.begin(), unknown = 0;  // labels of the history that are not known
    for (auto t = static_cast<std::size_t>(offsets[s]); t < static_cast<std::size_t>(offsets[s + 1]); ++t) {
      if (labels[t] < 0) {
        unknown = histories.order;
      } else {
        if (unknown == 0) {
          events.history.push_back(static_cast<std::int32_t>(h));
          events.label.push_back(labels[t]);
          events.weight.push_back(1.0);
        } else {
          --unknown;
        }
        h = (h * histories.base + static_cast<std::size_t>(labels[t])) % H;
      }
      events.offsets.push_back(static_cast<std::int64_t>(events.history.size()));
    }
  }
  return events;
}

Counted count_events(std::span<const std::int32_t> level, std::span<const std::int32_t> orders, const TokenTests& tests,
                     const Events& events, const Histories& histories, std::size_t threads) {
  const std::size_t T = tests.indptr.size() - 1, Y = histories.labels;
  struct Occurrence {
    std::uint32_t key;  // history of the level's order, label
    double weight;
  };
  std::vector<std::size_t> begin(level.size() + 1, 0);
  for (std::size_t t = 0; t < T; ++t) {
    const auto many = static_cast<std::size_t>(events.offsets[t + 1] - events.offsets[t]);
    for (std::int64_t i = tests.indptr[t]; i < tests.indptr[t + 1]; ++i)
      begin[static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)]) + 1] += many;
  }
  for (std::size_t x = 0; x < level.size(); ++x) begin[x + 1] += begin[x];
  std::vector<std::size_t> sizes;  // histories of each level
  for (const std::int32_t order : orders) sizes.push_back(histories.size(static_cast<std::size_t>(order)));
  std::vector<Occurrence> occurrences(begin.back());
  {
    std::vector<std::size_t> place(begin.begin(), begin.end() - 1);
    for (std::size_t t = 0; t < T; ++t) {
      for (std::int64_t i = tests.indptr[t]; i < tests.indptr[t + 1]; ++i) {
        const auto test = static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)]);
        const std::size_t size = sizes[static_cast<std::size_t>(level[test])];
        for (std::int64_t e = events.offsets[t]; e < events.offsets[t + 1]; ++e) {
          const auto event = static_cast<std::size_t>(e);
          const std::size_t key = static_cast<std::size_t>(events.history[event]) % size * Y +
                                  static_cast<std::size_t>(events.label[event]);
          occurrences[place[test]++] = {static_cast<std::uint32_t>(key), events.weight[event]};
        }
      }
    }
  }
  const std::size_t blocks = level.size() / kBlockTests + (level.size() % kBlockTests != 0);
  std::vector<Counted> parts(blocks);
  base::parallel_for(blocks, threads, [&](std::size_t b) {
    Counted part;
    std::vector<double> cells(kDenseCells, 0.0);
    std::vector<std::uint32_t> used;
    const auto add = [&](std::uint32_t key, double weight, bool first) {
      const auto history = static_cast<std::int32_t>(key / Y);
      if (first || part.history.back() != history) {
        part.history.push_back(history);
        part.entries.push_back(static_cast<std::int64_t>(part.label.size()));
      }
      part.label.push_back(static_cast<std::int32_t>(key % Y));
      part.count.push_back(weight);
    };
    for (std::size_t x = b * kBlockTests; x < std::min(level.size(), (b + 1) * kBlockTests); ++x) {
      part.rows.push_back(static_cast<std::int64_t>(part.history.size()));
      const std::span<Occurrence> all = std::span(occurrences).subspan(begin[x], begin[x + 1] - begin[x]);
      if (all.size() == 1) {
        add(all[0].key, all[0].weight, true);
      } else if (sizes[static_cast<std::size_t>(level[x])] * Y <= kDenseCells) {
        used.clear();
        for (const Occurrence& one : all) {
          if (cells[one.key] == 0.0) used.push_back(one.key);
          cells[one.key] += one.weight;
        }
        std::ranges::sort(used);
        for (std::size_t i = 0; i < used.size(); ++i) {
          add(used[i], cells[used[i]], i == 0);
          cells[used[i]] = 0.0;
        }
      } else {
        std::ranges::stable_sort(all, {}, &Occurrence::key);
        for (std::size_t i = 0; i < all.size();) {
          const std::uint32_t key = all[i].key;
          const bool first = i == 0;
          double sum = 0.0;
          for (; i < all.size() && all[i].key == key; ++i) sum += all[i].weight;
          add(key, sum, first);
        }
      }
    }
    parts[b] = std::move(part);
  });
  Counted out;
  out.rows.reserve(level.size() + 1);
  for (Counted& part : parts) {
    const auto rows = static_cast<std::int64_t>(out.history.size());
    const auto entries = static_cast<std::int64_t>(out.label.size());
    for (const std::int64_t row : part.rows) out.rows.push_back(rows + row);
    for (const std::int64_t entry : part.entries) out.entries.push_back(entries + entry);
    out.history.insert(out.history.end(), part.history.begin(), part.history.end());
    out.label.insert(out.label.end(), part.label.begin(), part.label.end());
    out.count.insert(out.count.end(), part.count.begin(), part.count.end());
    part = Counted();
  }
  out.rows.push_back(static_cast<std::int64_t>(out.history.size()));
  out.entries.push_back(static_cast<std::int64_t>(out.label.size()));
  return out;
}

void subtract_events(const CountTable& table, const TokenTests& tests, const Events& events, const Histories& histories,
                     std::size_t first, std::size_t last, std::span<double> counts) {
  for (std::size_t t = first; t < last; ++t) {
    for (std::int64_t i = tests.indptr[t]; i < tests.indptr[t + 1]; ++i) {
      const auto test = static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)]);
      const auto level = static_cast<std::size_t>(table.level[test]);
      const std::size_t size = histories.size(static_cast<std::size_t>(table.orders[level]));
      for (std::int64_t e = events.offsets[t]; e < events.offsets[t + 1]; ++e) {
        const auto event = static_cast<std::size_t>(e);
        const std::int64_t entry =
            find_entry(table, test, static_cast<std::size_t>(events.history[event]) % size, events.label[event]);
        if (entry < 0) continue;
        double& count = counts[static_cast<std::size_t>(entry)];
        count = std::max(count - events.weight[event], 0.0);
      }
    }
  }
}

std::vector<double> interpolation_weights(const CountTable& table, const TokenTests& tests, const Events& events,
                                          const Histories& histories, std::size_t rounds) {
  const std::size_t L = table.orders.size();
  std::vector<double> weights(L * kCountBuckets, kFirstWeight);
  std::vector<double> hits(weights.size()), trials(weights.size());
  struct Level {
    std::size_t cell;
    double share, before;  // relative count without the event, probability of the coarser levels
  };
  std::vector<Level> chain;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::ranges::fill(hits, 0.0);
    std::ranges::fill(trials, 0.0);
    for (std::size_t t = 0; t + 1 < tests.indptr.size(); ++t) {
      for (std::int64_t e = events.offsets[t]; e < events.offsets[t + 1]; ++e) {
        const auto event = static_cast<std::size_t>(e);
        const double weight = events.weight[event];
        double p = 1.0 / static_cast<double>(histories.labels);
        chain.clear();
        for (std::int64_t i = tests.indptr[t + 1]; i-- > tests.indptr[t];) {
          const auto test = static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)]);
          const auto level = static_cast<std::size_t>(table.level[test]);
          const std::size_t size = histories.size(static_cast<std::size_t>(table.orders[level]));
          const std::int64_t row =
              find_row(table.rows, table.history, test, static_cast<std::size_t>(events.history[event]) % size);
          if (row < 0) continue;
          double n = -weight, c = -weight;
          for (std::int64_t k = table.entries[static_cast<std::size_t>(row)];
               k < table.entries[static_cast<std::size_t>(row) + 1]; ++k) {
            const auto entry = static_cast<std::size_t>(k);
            n += table.count[entry];
            if (table.label[entry] == events.label[event]) c += table.count[entry];
          }
          if (n < 0.5) continue;  // seen nowhere else
          const std::size_t cell = level * kCountBuckets + bucket_of(n);
          chain.push_back({cell, std::max(c, 0.0) / n, p});
          p = weights[cell] * chain.back().share + (1.0 - weights[cell]) * p;
        }
        double reached = weight;  // probability that no finer level made the label
        for (std::size_t i = chain.size(); i-- > 0;) {
          const Level& level = chain[i];
          const double w = weights[level.cell];
          const double sum = w * level.share + (1.0 - w) * level.before;
          const double here = sum > 0.0 ? w * level.share / sum : 0.0;
          hits[level.cell] += reached * here;
          trials[level.cell] += reached;
          reached *= 1.0 - here;
        }
      }
    }
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (trials[i] > 0.0) weights[i] = std::min(hits[i] / trials[i], 1.0 - 1e-6);
  }
  return weights;
}

}  // namespace textmill::sequence
