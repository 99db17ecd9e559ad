#include "fst/pathsums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

#include "base/fault.h"
#include "base/parallel.h"

namespace textmill::fst {
namespace {

constexpr double kLeast = 0x1p-900;          // share of a cell below which a state is dropped
constexpr std::size_t kLargestStar = 4'096;  // states of a component with silent cycles

std::uint64_t key_of(std::int32_t ilabel, std::int32_t olabel) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(ilabel)) << 32 | static_cast<std::uint32_t>(olabel);
}

// 2^exponent, 0 or infinity beyond what doubles hold.
double power(std::int64_t exponent) {
  return std::ldexp(1.0, static_cast<int>(std::clamp<std::int64_t>(exponent, -5'000, 5'000)));
}

// (I - P)^-1 in place by elimination without exchange of rows, which is stable where the inverse is not negative; false
// if it is not, that is if P does not lose mass.
bool invert_rest(std::vector<double>& p, std::size_t k) {
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j) p[i * k + j] = (i == j ? 1.0 : 0.0) - p[i * k + j];
  for (std::size_t pivot = 0; pivot < k; ++pivot) {
    const double value = p[pivot * k + pivot];
    if (!(value > 0.0)) return false;  // a minor of I - P: all are positive exactly if the star exists
    const double inverse = 1.0 / value;
    p[pivot * k + pivot] = 1.0;
    for (std::size_t j = 0; j < k; ++j) p[pivot * k + j] *= inverse;
    for (std::size_t i = 0; i < k; ++i) {
      if (i == pivot) continue;
      const double factor = p[i * k + pivot];
      if (factor == 0.0) continue;
      p[i * k + pivot] = 0.0;
      for (std::size_t j = 0; j < k; ++j) p[i * k + j] -= factor * p[pivot * k + j];
    }
  }
  return std::ranges::all_of(p, [](double value) { return std::isfinite(value) && value >= 0.0; });
}

}  // namespace

// The states that a place (i, j) reaches: entries [first, last) of the arrays of Work.
struct PathSums::Cell {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t exponent = 0;  // true alpha = alpha 2^exponent
};

// What one pair needs; kept by a lane and used for pair after pair.
struct PathSums::Work {
  explicit Work(std::size_t states) : value(states, 0.0), active(states, 0) {}

  std::vector<Cell> cells;           // [(|x| + 1)(|y| + 1)]
  std::vector<std::int32_t> state;   // of the entries of all cells
  std::vector<double> alpha;         // [entries]
  std::vector<double> beta;          // [entries], times 2^exponent / Z
  std::vector<double> value;         // [N] of the cell at work
  std::vector<std::uint8_t> active;  // [N] is the state in `members`?
  std::vector<std::int32_t> members;
  std::vector<std::int32_t> order;  // components of the cell at work
  std::vector<double> before;       // [k] of a component

  void add(std::int32_t s, double mass) {
    if (!active[s]) {
      active[s] = 1;
      members.push_back(s);
    }
    value[s] += mass;
  }
};

struct PathSums::Sum {
  std::vector<double> counts;
  std::vector<double> finals;
};

PathSums::PathSums(const Skeleton& machine, bool input, bool output)
    : start_(machine.start),
      input_(input),
      output_(output),
      begin_(machine.begin.begin(), machine.begin.end()),
      key_(machine.next.size()),
      next_(machine.next.size()),
      arc_(machine.next.size()) {
  std::iota(arc_.begin(), arc_.end(), std::int64_t{0});
  const auto key = [&](std::int64_t arc) {
    return key_of(input ? machine.ilabel[arc] : 0, output ? machine.olabel[arc] : 0);
  };
  for (std::size_t s = 0; s + 1 < begin_.size(); ++s)
    std::stable_sort(arc_.begin() + begin_[s], arc_.begin() + begin_[s + 1],
                     [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  for (std::size_t a = 0; a < arc_.size(); ++a) {
    key_[a] = key(arc_[a]);
    next_[a] = machine.next[arc_[a]];
  }
  find_components();
}

// Tarjan's algorithm over silent arcs, with a stack of its own; components come out last first.
void PathSums::find_components() {
  if (std::ranges::find(key_, std::uint64_t{0}) == key_.end()) return;
  const std::size_t n = states();
  std::vector<std::int32_t> number(n, -1), low(n, 0), stack;
  std::vector<std::uint8_t> on_stack(n, 0);
  component_.assign(n, -1);
  std::vector<std::pair<std::int32_t, std::int64_t>> calls;
  std::int32_t counter = 0;
  const auto open = [&](std::int32_t s) {
    number[s] = low[s] = counter++;
    stack.push_back(s);
    on_stack[s] = 1;
    calls.emplace_back(s, begin_[s]);
  };
  for (std::size_t root = 0; root < n; ++root) {
    if (number[root] >= 0) continue;
    open(static_cast<std::int32_t>(root));
    while (!calls.empty()) {
      auto& [s, a] = calls.back();
      if (a < begin_[s + 1] && key_[a] == 0) {
        const std::int32_t t = next_[a++];
        if (number[t] < 0)
          open(t);
        else if (on_stack[t])
          low[s] = std::min(low[s], number[t]);
        continue;
      }
      const std::int32_t done = s;
      calls.pop_back();
      if (!calls.empty()) low[calls.back().first] = std::min(low[calls.back().first], low[done]);
      if (low[done] != number[done]) continue;
      Component component;
      std::int32_t member;
      do {
        member = stack.back();
        stack.pop_back();
        on_stack[member] = 0;
        component_[member] = static_cast<std::int32_t>(components_.size());
        component.states.push_back(member);
      } while (member != done);
      std::ranges::sort(component.states);
      components_.push_back(std::move(component));
    }
  }
  std::ranges::reverse(components_);
  for (std::int32_t& c : component_) c = static_cast<std::int32_t>(components_.size()) - 1 - c;
}

bool PathSums::weigh(std::span<const double> weight, std::span<const double> final) {
  weighed_ = false;
  final_.assign(final.begin(), final.end());
  weight_.resize(arc_.size());
  for (std::size_t a = 0; a < arc_.size(); ++a) weight_[a] = weight[arc_[a]];
  std::vector<std::int32_t> place(component_.empty() ? 0 : states());
  for (std::size_t c = 0; c < components_.size(); ++c) {
    Component& component = components_[c];
    component.star.clear();
    const std::size_t k = component.states.size();
    for (std::size_t i = 0; i < k; ++i) place[component.states[i]] = static_cast<std::int32_t>(i);
    bool cyclic = k > 1;
    for (const std::int32_t s : component.states)
      for (std::int64_t a = begin_[s]; a < begin_[s + 1] && key_[a] == 0; ++a) cyclic |= next_[a] == s;
    if (!cyclic) continue;
    if (k > kLargestStar)
      base::fail("a cycle of arcs that neither read nor write goes through ", k, " states, at most ", kLargestStar,
                 " can be summed; remove epsilons first");
    component.star.assign(k * k, 0.0);
    for (std::size_t i = 0; i < k; ++i) {
      const std::int32_t s = component.states[i];
      for (std::int64_t a = begin_[s]; a < begin_[s + 1] && key_[a] == 0; ++a)
        if (component_[next_[a]] == static_cast<std::int32_t>(c)) component.star[i * k + place[next_[a]]] += weight_[a];
    }
    if (!invert_rest(component.star, k)) return false;
  }
  return weighed_ = true;
}

// Spreads the values of `members` over silent arcs.
void PathSums::close_forward(Work& work) const {
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> waiting;
  for (const std::int32_t s : work.members) waiting.push(component_[s]);
  work.order.clear();
  while (!waiting.empty()) {
    const std::int32_t c = waiting.top();
    waiting.pop();
    if (!work.order.empty() && work.order.back() == c) continue;
    work.order.push_back(c);
    const Component& component = components_[c];
    if (!component.star.empty()) {
      const std::size_t k = component.states.size();
      work.before.resize(k);
      for (std::size_t i = 0; i < k; ++i) work.before[i] = work.value[component.states[i]];
      for (std::size_t j = 0; j < k; ++j) {
        double mass = 0.0;
        for (std::size_t i = 0; i < k; ++i) mass += work.before[i] * component.star[i * k + j];
        const std::int32_t s = component.states[j];
        work.value[s] = 0.0;
        work.add(s, mass);
      }
    }
    for (const std::int32_t s : component.states) {
      if (!work.active[s]) continue;
      for (std::int64_t a = begin_[s]; a < begin_[s + 1] && key_[a] == 0; ++a) {
        if (component_[next_[a]] == c) continue;  // in the star
        if (!work.active[next_[a]]) waiting.push(component_[next_[a]]);
        work.add(next_[a], work.value[s] * weight_[a]);
      }
    }
  }
}

// From what follows after the cell, in work.value, to beta of its states; counts the silent arcs.
void PathSums::close_backward(Work& work, const Cell& cell, double share, Sum* sum) const {
  work.order.clear();
  for (std::size_t e = cell.first; e < cell.last; ++e) work.order.push_back(component_[work.state[e]]);
  std::ranges::sort(work.order, std::greater<>());
  const auto [first, last] = std::ranges::unique(work.order);
  work.order.erase(first, last);
  for (const std::int32_t c : work.order) {
    const Component& component = components_[c];
    for (const std::int32_t s : component.states)
      for (std::int64_t a = begin_[s]; a < begin_[s + 1] && key_[a] == 0; ++a)
        if (component_[next_[a]] != c) work.value[s] += weight_[a] * work.value[next_[a]];
    if (component.star.empty()) continue;
    const std::size_t k = component.states.size();
    work.before.resize(k);
    for (std::size_t i = 0; i < k; ++i) work.before[i] = work.value[component.states[i]];
    for (std::size_t i = 0; i < k; ++i) {
      double mass = 0.0;
      for (std::size_t j = 0; j < k; ++j) mass += component.star[i * k + j] * work.before[j];
      work.value[component.states[i]] = mass;
    }
  }
  if (sum == nullptr) return;
  for (std::size_t e = cell.first; e < cell.last; ++e) {
    const std::int32_t s = work.state[e];
    for (std::int64_t a = begin_[s]; a < begin_[s + 1] && key_[a] == 0; ++a)
      sum->counts[a] += share * work.alpha[e] * weight_[a] * work.value[next_[a]];
  }
}

double PathSums::run(std::span<const std::int32_t> x, std::span<const std::int32_t> y, double share, Work& work,
                     Sum* sum) const {
  const double nothing = -std::numeric_limits<double>::infinity();
  if (start_ < 0) return nothing;
  const std::size_t rows = x.size() + 1, columns = y.size() + 1;
  work.cells.assign(rows * columns, {});
  work.state.clear();
  work.alpha.clear();

  // Calls body(cell before, key) for the up to three cells that lead to (i, j).
  const auto each_before = [&](std::size_t i, std::size_t j, auto&& body) {
    if (i > 0 && j > 0) body(work.cells[(i - 1) * columns + j - 1], key_of(x[i - 1], y[j - 1]));
    if (i > 0) body(work.cells[(i - 1) * columns + j], key_of(x[i - 1], 0));
    if (j > 0) body(work.cells[i * columns + j - 1], key_of(0, y[j - 1]));
  };
  // Calls body(arc) for the arcs of s with this key.
  const auto each_arc = [&](std::int32_t s, std::uint64_t key, auto&& body) {
    const auto end = key_.begin() + begin_[s + 1];
    for (auto at = std::lower_bound(key_.begin() + begin_[s], end, key); at != end && *at == key; ++at)
      body(static_cast<std::size_t>(at - key_.begin()));
  };

  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      work.members.clear();
      std::int64_t exponent = std::numeric_limits<std::int64_t>::min();
      if (i == 0 && j == 0) {
        exponent = 0;
        work.add(start_, 1.0);
      }
      each_before(i, j, [&](const Cell& before, std::uint64_t) {
        if (before.first < before.last) exponent = std::max(exponent, before.exponent);
      });
      each_before(i, j, [&](const Cell& before, std::uint64_t key) {
        const double scale = before.first < before.last ? power(before.exponent - exponent) : 0.0;
        if (scale == 0.0) return;
        for (std::size_t e = before.first; e < before.last; ++e)
          each_arc(work.state[e], key, [&](std::size_t a) { work.add(next_[a], work.alpha[e] * scale * weight_[a]); });
      });
      if (!components_.empty() && !work.members.empty()) close_forward(work);
      Cell& cell = work.cells[i * columns + j];
      cell.first = work.state.size();
      double most = 0.0;
      for (const std::int32_t s : work.members) most = std::max(most, work.value[s]);
      int shift = 0;
      if (most > 0.0) std::frexp(most, &shift);
      cell.exponent = most > 0.0 ? exponent + shift : 0;
      std::ranges::sort(work.members);
      for (const std::int32_t s : work.members) {
        const double alpha = std::ldexp(work.value[s], -shift);
        if (alpha >= kLeast) {
          work.state.push_back(s);
          work.alpha.push_back(alpha);
        }
        work.value[s] = 0.0;
        work.active[s] = 0;
      }
      cell.last = work.state.size();
    }

  const Cell& end = work.cells.back();
  double total = 0.0;
  for (std::size_t e = end.first; e < end.last; ++e) total += work.alpha[e] * final_[work.state[e]];
  if (!(total > 0.0)) return nothing;
  const double log_total = std::log(total) + static_cast<double>(end.exponent) * std::log(2.0);
  if (sum == nullptr) return log_total;

  work.beta.assign(work.state.size(), 0.0);
  for (std::size_t e = end.first; e < end.last; ++e) {
    work.beta[e] = final_[work.state[e]] / total;
    sum->finals[work.state[e]] += share * work.alpha[e] * work.beta[e];
  }
  for (std::size_t i = rows; i-- > 0;)
    for (std::size_t j = columns; j-- > 0;) {
      const Cell& cell = work.cells[i * columns + j];
      if (cell.first == cell.last) continue;
      for (std::size_t e = cell.first; e < cell.last; ++e) work.value[work.state[e]] = work.beta[e];
      if (!components_.empty()) close_backward(work, cell, share, sum);
      each_before(i, j, [&](const Cell& before, std::uint64_t key) {
        const double scale = before.first < before.last ? power(before.exponent - cell.exponent) : 0.0;
        if (scale == 0.0) return;
        for (std::size_t e = before.first; e < before.last; ++e)
          each_arc(work.state[e], key, [&](std::size_t a) {
            const double rest = work.value[next_[a]] * scale * weight_[a];
            if (rest == 0.0) return;
            work.beta[e] += rest;
            sum->counts[a] += share * work.alpha[e] * rest;
          });
      });
      for (std::size_t e = cell.first; e < cell.last; ++e) work.value[work.state[e]] = 0.0;
      if (!components_.empty())  // a star may have filled states that were dropped
        for (const std::int32_t c : work.order)
          for (const std::int32_t s : components_[c].states) work.value[s] = 0.0;
    }
  return log_total;
}

void PathSums::expect(const Strings& x, const Strings& y, std::span<const double> share, std::size_t threads,
                      bool counting, std::span<double> log_total, std::span<double> counts,
                      std::span<double> final_counts) const {
  const std::size_t pairs = log_total.size();
  const std::span<const std::int32_t> none;
  const auto sum_pair = [&](std::size_t k, Work& work, Sum* sum) {
    log_total[k] = run(input_ ? x[k] : none, output_ ? y[k] : none, share.empty() ? 1.0 : share[k], work, sum);
  };
  if (!counting) {
    base::parallel_blocks(pairs, 16, threads, [&](std::size_t first, std::size_t last) {
      Work work(states());
      for (std::size_t k = first; k < last; ++k) sum_pair(k, work, nullptr);
    });
    return;
  }
  // Lanes of fixed pairs, as in parallel_sum, but added by ranges of arcs: of a large machine there is much to add.
  std::vector<Sum> lanes(base::kLanes);
  base::parallel_for(base::kLanes, threads, [&](std::size_t l) {
    Sum sum{std::vector<double>(arcs()), std::vector<double>(states())};
    Work work(states());
    for (std::size_t k = pairs * l / base::kLanes; k < pairs * (l + 1) / base::kLanes; ++k) sum_pair(k, work, &sum);
    lanes[l] = std::move(sum);
  });
  base::parallel_blocks(arcs(), 4096, threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t a = first; a < last; ++a) {
      double count = 0.0;
      for (const Sum& lane : lanes) count += lane.counts[a];
      counts[arc_[a]] += count;
    }
  });
  for (std::size_t s = 0; s < states(); ++s) {
    double count = 0.0;
    for (const Sum& lane : lanes) count += lane.finals[s];
    final_counts[s] += count;
  }
}

}  // namespace textmill::fst
