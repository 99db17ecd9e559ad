#include "sequence/counted.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/parallel.h"

namespace textmill::sequence {

template <class Size>
void Blends::apply(std::size_t test, std::size_t histories, Size labels, double* step) const {
  const Cell* cell = cells_.data() + begin_[test];
  const Cell* const end = cells_.data() + begin_[test + 1];
  while (cell != end) {
    const std::size_t size = cell->second & ((1u << kEntryBits) - 1), stride = strides_[cell->second >> kEntryBits];
    const double keep = cell->value;
    for (auto h = static_cast<std::size_t>(cell->first); h < histories; h += stride) {
      double* p = step + h * labels;
      for (std::size_t y = 0; y < labels; ++y) p[y] *= keep;
      for (std::size_t e = 1; e <= size; ++e) p[cell[e].first] += cell[e].value;
    }
    cell += 1 + size;
  }
}

namespace {

constexpr std::size_t kBlockTests = 8192;                // what one task adds up
constexpr std::size_t kDenseCells = 4096;                // histories x labels that are added up in an array
constexpr std::size_t kFetchRows = 4, kFetchPlaces = 8;  // tokens ahead
constexpr double kFirstWeight = 0.5;                     // of every level, before EM

std::size_t bucket_of(double n) {
  const auto whole = static_cast<std::uint64_t>(std::max(n, 1.0));
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(whole)) - 1, kCountBuckets - 1);
}

// A row as p(y) = keep q(y) + add(y): calls keep(value) and then add(label, value) for its labels; nothing for a row
// that changes nothing.
template <class Keep, class Add>
void blend(const BackOff& back_off, std::size_t level, std::span<const std::int32_t> label, const double* count,
           Keep&& keep, Add&& add) {
  double n = 0.0, r = 0.0;
  for (std::size_t e = 0; e < label.size(); ++e) {
    n += count[e];
    r += count[e] > 0.0;
  }
  if (!(n > 0.0)) return;
  switch (back_off.method) {
    case Smoothing::kWittenBell: {
      const double mass = back_off.strength * r, scale = 1.0 / (n + mass);
      keep(mass * scale);
      for (std::size_t e = 0; e < label.size(); ++e) add(label[e], count[e] * scale);
      break;
    }
    case Smoothing::kAbsolute: {
      const double discount = back_off.weights[level * kCountBuckets];
      double taken = 0.0;
      for (std::size_t e = 0; e < label.size(); ++e) taken += std::min(count[e], discount);
      keep(taken / n);
      for (std::size_t e = 0; e < label.size(); ++e) add(label[e], std::max(count[e] - discount, 0.0) / n);
      break;
    }
    case Smoothing::kJelinekMercer: {
      const double weight = back_off.weights[level * kCountBuckets + bucket_of(n)];
      keep(1.0 - weight);
      for (std::size_t e = 0; e < label.size(); ++e) add(label[e], weight * count[e] / n);
      break;
    }
    case Smoothing::kHard:
      if (n < back_off.min_count) return;
      keep(0.0);
      for (std::size_t e = 0; e < label.size(); ++e) add(label[e], count[e] / n);
      break;
  }
}

// Zeros for what must not follow, the rest divided by its sum; even shares where nothing would remain.
template <class Size>
void restrict_to(const std::uint8_t* allowed, Size labels, double* p) {
  double sum = 0.0, forbidden = 0.0;
  for (std::size_t y = 0; y < labels; ++y) {
    sum += allowed[y] ? p[y] : 0.0;
    forbidden += allowed[y] ? 0.0 : p[y];
  }
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

// Rows of a table by other counts than its own, blended as they are met.
struct CountBlends {
  const CountTable& table;
  std::span<const double> counts;
  const BackOff& back_off;

  void prefetch_place(std::size_t test) const { __builtin_prefetch(table.rows.data() + test); }
  void prefetch(std::size_t test) const {
    __builtin_prefetch(table.entries.data() + table.rows[test]);
    __builtin_prefetch(table.history.data() + table.rows[test]);
  }
  template <class Size>
  void apply(std::size_t test, std::size_t histories, Size labels, double* step) const {
    const auto level = static_cast<std::size_t>(table.level[test]);
    const auto rows_end = static_cast<std::size_t>(table.rows[test + 1]);
    for (auto row = static_cast<std::size_t>(table.rows[test]); row < rows_end; ++row) {
      const auto entry = static_cast<std::size_t>(table.entries[row]);
      const auto label = table.label.subspan(entry, static_cast<std::size_t>(table.entries[row + 1]) - entry);
      for (auto h = static_cast<std::size_t>(table.history[row]); h < histories; h += table.strides[level]) {
        double* p = step + h * labels;
        blend(
            back_off, level, label, counts.data() + entry,
            [&](double keep) {
              for (std::size_t y = 0; y < labels; ++y) p[y] *= keep;
            },
            [&](std::int32_t y, double add) { p[y] += add; });
      }
    }
  }
};

// Y is the number of labels, known when this is compiled or not.
template <class Rows, class Size>
void fill_for(const Rows& rows, const BackOff& back_off, const Histories& histories, const TokenTests& tests,
              std::size_t sequence, CoarseSteps& coarse, double* steps, Size Y) {
  constexpr std::size_t kLevels = CoarseSteps::kLevels, kSlots = CoarseSteps::kSlots;
  const std::size_t H = histories.size(histories.order), cells = H * Y;
  const auto first = static_cast<std::size_t>(tests.offsets[sequence]);
  const auto last = static_cast<std::size_t>(tests.offsets[sequence + 1]);
  if (coarse.tests.empty()) {
    coarse.tests.assign(kSlots * kLevels, -1);
    coarse.steps.resize(kSlots * cells);
  }
  const auto test_at = [&](std::int64_t i) { return static_cast<std::size_t>(tests.ids[static_cast<std::size_t>(i)]); };
  // what the tests of a token hold is fetched some tokens before, and where that is some more before, also from the
  // sequences that follow
  const std::size_t T = tests.indptr.size() - 1;
  const auto fetch = [&](std::size_t t) {
    if (t + kFetchRows < T)
      for (std::int64_t i = tests.indptr[t + kFetchRows]; i < tests.indptr[t + kFetchRows + 1]; ++i)
        rows.prefetch(test_at(i));
    if (t + kFetchPlaces < T)
      for (std::int64_t i = tests.indptr[t + kFetchPlaces]; i < tests.indptr[t + kFetchPlaces + 1]; ++i)
        rows.prefetch_place(test_at(i));
  };
  // the tests i with begin <= i < end, from the coarsest to the finest
  const auto blend_all = [&](std::int64_t begin, std::int64_t end, double* step) {
    for (std::int64_t i = end; i-- > begin;) rows.apply(test_at(i), H, Y, step);
  };
  for (std::size_t t = first; t < last; ++t) {
    double* step = steps + (t - first) * cells;
    fetch(t);
    const std::int64_t begin = tests.indptr[t], end = tests.indptr[t + 1];
    std::int64_t middle = end;  // from here on tests are coarse
    if (end - begin > static_cast<std::int64_t>(kLevels)) {
      middle = end - static_cast<std::int64_t>(kLevels);
      const std::int32_t* ids = tests.ids.data() + middle;
      const std::size_t slot = (static_cast<std::size_t>(ids[0]) * 31 + static_cast<std::size_t>(ids[1])) % kSlots;
      std::int32_t* held = coarse.tests.data() + slot * kLevels;
      double* distribution = coarse.steps.data() + slot * cells;
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

// The tags B, I and O of phrases are three labels: short loops of a known length are far quicker.
template <class Rows>
void fill(const Rows& rows, const BackOff& back_off, const Histories& histories, const TokenTests& tests,
          std::size_t sequence, CoarseSteps& coarse, double* steps) {
  if (histories.labels == 3)
    fill_for(rows, back_off, histories, tests, sequence, coarse, steps, std::integral_constant<std::size_t, 3>{});
  else
    fill_for(rows, back_off, histories, tests, sequence, coarse, steps, histories.labels);
}

}  // namespace

Blends::Blends(const CountTable& table, const BackOff& back_off)
    : strides_(table.strides.begin(), table.strides.end()) {
  begin_.reserve(table.level.size() + 1);
  begin_.push_back(0);
  cells_.reserve(table.history.size() + table.label.size());
  for (std::size_t test = 0; test < table.level.size(); ++test) {
    const auto level = static_cast<std::size_t>(table.level[test]);
    for (auto row = static_cast<std::size_t>(table.rows[test]); row < static_cast<std::size_t>(table.rows[test + 1]);
         ++row) {
      const auto entry = static_cast<std::size_t>(table.entries[row]);
      const auto label = table.label.subspan(entry, static_cast<std::size_t>(table.entries[row + 1]) - entry);
      blend(
          back_off, level, label, table.count.data() + entry,
          [&](double keep) {
            cells_.push_back(
                {keep, table.history[row],
                 static_cast<std::uint32_t>(level) << kEntryBits | static_cast<std::uint32_t>(label.size())});
          },
          [&](std::int32_t y, double add) { cells_.push_back({add, y, 0}); });
    }
    begin_.push_back(static_cast<std::int64_t>(cells_.size()));
  }
}

void fill_steps(const CountTable& table, std::span<const double> counts, const BackOff& back_off,
                const Histories& histories, const TokenTests& tests, std::size_t sequence, CoarseSteps& coarse,
                double* steps) {
  fill(CountBlends{table, counts, back_off}, back_off, histories, tests, sequence, coarse, steps);
}

void fill_steps(const Blends& blends, const BackOff& back_off, const Histories& histories, const TokenTests& tests,
                std::size_t sequence, CoarseSteps& coarse, double* steps) {
  fill(blends, back_off, histories, tests, sequence, coarse, steps);
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
