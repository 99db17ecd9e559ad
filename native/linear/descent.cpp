#include "linear/descent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "linear/dots.h"
#include "linear/gram.h"
#include "linear/lockstep.h"

namespace textmill::linear {
namespace {

constexpr double kLeastCurvature = 1e-12;
constexpr std::size_t kPlainSweeps = 4;    // most models need no more
constexpr std::size_t kLongColumn = 1024;  // entries of a column in the mean for which its rows are shared

struct Sum {
  double violation = 0.0;  // over one sweep
  double worst = 0.0;
  double gain = 0.0;  // by which the model has fallen, at least
};

double violation_of(double u, double slope, double l1) {
  if (u > 0) return std::abs(slope + l1);
  if (u < 0) return std::abs(slope - l1);
  return std::max(0.0, std::abs(slope) - l1);
}

double soft_threshold(double z, double t) { return z > t ? z - t : z < -t ? z + t : 0.0; }

// All rows by one thread.
class WholeColumns {
 public:
  explicit WholeColumns(const Design& x) : x_(x) {}
  template <bool Unit>
  double sum(std::size_t, std::size_t j, const double* q) {
    return column_dot<Unit>(x_.row(j), x_.value(j), x_.entries(j), q);
  }
  template <bool Unit>
  void add(std::size_t, std::size_t j, double moved, const double* d, double* q) const {
    add_column<Unit>(x_.row(j), x_.value(j), x_.entries(j), moved, d, q);
  }

 private:
  const Design& x_;
};

// Where the rows of each lane begin within the listed columns: [a][kRowLanes + 1].
std::vector<std::size_t> lane_cuts(const Design& x, std::span<const std::int32_t> listed, std::size_t threads) {
  std::vector<std::size_t> cuts(listed.size() * (kRowLanes + 1));
  base::parallel_blocks(listed.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const std::int32_t* rows = x.row(listed[a]);
      const std::size_t entries = x.entries(listed[a]);
      for (std::size_t lane = 0; lane <= kRowLanes; ++lane)
        cuts[a * (kRowLanes + 1) + lane] =
            std::lower_bound(rows, rows + entries, static_cast<std::int32_t>(x.rows() * lane / kRowLanes)) - rows;
    }
  });
  return cuts;
}

// The rows of some lanes; the others belong to the other threads of the team.
class ColumnLanes {
 public:
  ColumnLanes(const Design& x, std::span<const std::size_t> cuts, LaneSums& sums, std::uint64_t round,
              std::size_t thread, std::size_t team)
      : x_(x), cuts_(cuts), sums_(sums), round_(round), thread_(thread), team_(team) {}
  template <bool Unit>
  double sum(std::size_t a, std::size_t j, const double* q) {
    ++round_;
    each(a, j, [&](std::size_t lane, const std::int32_t* row, const double* value, std::size_t entries) {
      sums_.put(lane, round_, column_dot<Unit>(row, value, entries, q));
    });
    return sums_.total(round_);
  }
  template <bool Unit>
  void add(std::size_t a, std::size_t j, double moved, const double* d, double* q) const {
    each(a, j, [&](std::size_t, const std::int32_t* row, const double* value, std::size_t entries) {
      add_column<Unit>(row, value, entries, moved, d, q);
    });
  }

 private:
  template <class F>
  void each(std::size_t a, std::size_t j, F visit) const {
    const std::size_t* cut = cuts_.data() + a * (kRowLanes + 1);
    const double* value = x_.value(j);
    for (std::size_t lane = thread_; lane < kRowLanes; lane += team_)
      visit(lane, x_.row(j) + cut[lane], value == nullptr ? nullptr : value + cut[lane], cut[lane + 1] - cut[lane]);
  }

  const Design& x_;
  std::span<const std::size_t> cuts_;
  LaneSums& sums_;
  std::uint64_t round_;
  std::size_t thread_, team_;
};

template <bool Unit, class Columns>
Sum sweep(const Design& x, Columns columns, const Quadratic& model, double margin, std::vector<std::int32_t>& order,
          double* step, double* q) {
  const double* d = model.row_curvature.data();
  Sum sum;
  std::size_t left = 0;
  const std::size_t size = order.size();
  for (std::size_t k = 0; k < size; ++k) {
    if (k + 2 < size) {  // columns come in random order: fetch the beginning of the next but one
      const std::size_t next = model.listed[order[k + 2]];
      __builtin_prefetch(x.row(next));
      if (!Unit) __builtin_prefetch(x.value(next));
    }
    const std::int32_t a = order[k];
    const std::size_t j = model.listed[a];
    const double u = model.weight[a] + step[a];
    const double slope = model.slope[a] + model.l2 * step[a] + columns.template sum<Unit>(a, j, q);
    const double violation = violation_of(u, slope, model.l1);
    if (u == 0.0 && std::abs(slope) + margin < model.l1) continue;
    order[left++] = a;
    sum.violation += violation;
    sum.worst = std::max(sum.worst, violation);
    const double h = model.curvature[a] + model.l2 + kLeastCurvature;
    const double moved = soft_threshold(h * u - slope, model.l1) / h - u;
    if (std::abs(moved) < 1e-15 * std::abs(u) || moved == 0.0) continue;
    step[a] += moved;
    sum.gain += 0.5 * h * moved * moved;
    columns.template add<Unit>(a, j, moved, d, q);
  }
  order.resize(left);
  return sum;
}

// One sweep by a team: every thread takes the same decisions, on an order and steps of its own.
template <bool Unit>
Sum sweep_together(const Design& x, std::span<const std::size_t> cuts, LaneSums& sums, std::uint64_t round,
                   const Quadratic& model, double margin, std::vector<std::int32_t>& order, std::span<double> step,
                   double* q, std::size_t threads) {
  struct Own {
    std::vector<std::int32_t> order;
    std::vector<double> step;
  };
  std::vector<Own> others(std::min(threads, kRowLanes) - 1, Own{order, {step.begin(), step.end()}});
  Sum result;
  together(threads, [&](std::size_t thread, std::size_t team) {
    const ColumnLanes lanes(x, cuts, sums, round, thread, team);
    if (thread == 0)
      result = sweep<Unit>(x, lanes, model, margin, order, step.data(), q);
    else
      sweep<Unit>(x, lanes, model, margin, others[thread - 1].order, others[thread - 1].step.data(), q);
  });
  return result;
}

// The last iterates of a descent, and where they are heading. Only steps are kept: q = D X s of the one that is tried is
// summed anew, once in kIterates sweeps, which costs less memory than the q of all of them.
class Extrapolation {
 public:
  Extrapolation(const Quadratic& model, std::size_t rows) : model_(model), rows_(rows) {}

  // Takes the iterate after a sweep; every kIterates-th time moves it to the extrapolated one where that is better.
  // add(a, move, q) adds move times column a to q.
  template <class Add>
  void after_sweep(std::span<double> step, std::span<double> q, double& shift, Add add) {
    const std::size_t size = step.size();
    past_.resize(kIterates + 1);
    past_[known_].assign(step.begin(), step.end());
    past_[known_].push_back(shift);
    if (++known_ <= kIterates) return;
    known_ = 0;
    std::array<double, kIterates> share;
    if (!weigh(size + 1, share)) return;
    std::vector<double> ahead(size + 1, 0.0);
    for (std::size_t k = 0; k < kIterates; ++k)
      for (std::size_t a = 0; a <= size; ++a) ahead[a] += share[k] * past_[k + 1][a];
    ahead_q_.assign(q.begin(), q.end());
    std::vector<double> move(size + 1);
    for (std::size_t a = 0; a <= size; ++a) move[a] = ahead[a] - past_.back()[a];
    add(std::span<const double>(move), std::span<double>(ahead_q_));
    if (!(value(ahead, ahead_q_) < value(past_.back(), q))) return;
    std::copy_n(ahead.begin(), size, step.begin());
    shift = ahead[size];
    std::copy(ahead_q_.begin(), ahead_q_.end(), q.begin());
  }

 private:
  static constexpr std::size_t kIterates = 5;

  // Shares that add up to 1 and make the sum of the last moves short: U^T U z = 1, z scaled.
  bool weigh(std::size_t size, std::array<double, kIterates>& share) const {
    std::array<std::array<double, kIterates + 1>, kIterates> m;
    double trace = 0.0;
    for (std::size_t a = 0; a < kIterates; ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double sum = 0.0;
        for (std::size_t i = 0; i < size; ++i) sum += (past_[a + 1][i] - past_[a][i]) * (past_[b + 1][i] - past_[b][i]);
        m[a][b] = m[b][a] = sum;
        if (a == b) trace += sum;
      }
    if (!(trace > 0.0)) return false;
    for (std::size_t a = 0; a < kIterates; ++a) {
      m[a][a] += 1e-12 * trace;
      m[a][kIterates] = 1.0;
    }
    for (std::size_t a = 0; a < kIterates; ++a) {  // elimination; the matrix is positive definite
      if (!(m[a][a] > 0.0)) return false;
      for (std::size_t b = a + 1; b < kIterates; ++b) {
        const double factor = m[b][a] / m[a][a];
        for (std::size_t c = a; c <= kIterates; ++c) m[b][c] -= factor * m[a][c];
      }
    }
    double total = 0.0;
    for (std::size_t a = kIterates; a-- > 0;) {
      double sum = m[a][kIterates];
      for (std::size_t c = a + 1; c < kIterates; ++c) sum -= m[a][c] * share[c];
      share[a] = sum / m[a][a];
      total += share[a];
    }
    if (!(std::abs(total) > 0.0)) return false;
    for (double& z : share) z /= total;
    return true;
  }

  // The quadratic model and the penalty.
  double value(std::span<const double> iterate, std::span<const double> q) const {
    const std::size_t a = model_.listed.size();
    double linear = model_.intercept_slope * iterate[a], square = 0.0, norm = 0.0, bend = 0.0;
    for (std::size_t k = 0; k < a; ++k) {
      linear += model_.slope[k] * iterate[k];
      square += iterate[k] * iterate[k];
      norm += std::abs(model_.weight[k] + iterate[k]);
    }
    for (std::size_t i = 0; i < rows_; ++i) bend += q[i] * q[i] / model_.row_curvature[i];
    return linear + 0.5 * (bend + model_.l2 * square) + model_.l1 * norm;
  }

  const Quadratic& model_;
  std::size_t rows_;
  std::vector<std::vector<double>> past_;  // steps, step of the intercept
  std::size_t known_ = 0;
  std::vector<double> ahead_q_;
};

// q += D X move, the last being that of the intercept. Where there are cuts, threads share the rows: the same sums.
void add_moves(const Design& x, const Quadratic& model, std::span<const std::size_t> cuts, std::span<const double> move,
               std::span<double> q, std::size_t threads) {
  const double* d = model.row_curvature.data();
  const std::size_t parts = cuts.empty() ? 1 : kRowLanes;
  base::parallel_for(parts, cuts.empty() ? 1 : threads, [&](std::size_t lane) {
    const auto add = [&]<bool Unit>() {
      for (std::size_t a = 0; a < model.listed.size(); ++a) {
        if (move[a] == 0.0) continue;
        const std::size_t j = model.listed[a];
        const std::size_t from = cuts.empty() ? 0 : cuts[a * (kRowLanes + 1) + lane];
        const std::size_t to = cuts.empty() ? x.entries(j) : cuts[a * (kRowLanes + 1) + lane + 1];
        add_column<Unit>(x.row(j) + from, Unit ? nullptr : x.value(j) + from, to - from, move[a], d, q.data());
      }
    };
    x.binary() ? add.template operator()<true>() : add.template operator()<false>();
    if (model.intercept)
      for (std::size_t i = q.size() * lane / parts; i < q.size() * (lane + 1) / parts; ++i) q[i] += move.back() * d[i];
  });
}

}  // namespace

Descent descend(const Design& x, const Quadratic& model, const Sweeps& sweeps, std::span<double> step,
                std::span<double> change, std::size_t threads) {
  if (const auto made = descend_gram(x, model, sweeps, step, change, threads)) return *made;
  const double* d = model.row_curvature.data();
  double* q = change.data();
  std::fill(step.begin(), step.end(), 0.0);
  std::fill(change.begin(), change.end(), 0.0);
  std::vector<std::int32_t> order(model.listed.size());  // positions in the list that are still looked at
  std::iota(order.begin(), order.end(), 0);
  base::Random(sweeps.seed, 0).shuffle(std::span(order));
  const double whole = model.intercept ? std::accumulate(d, d + x.rows(), 0.0) : 0.0;

  std::size_t entries = 0;
  for (const std::int32_t j : model.listed) entries += x.entries(j);
  const bool shared = !order.empty() && entries >= kLongColumn * order.size();
  const std::vector<std::size_t> cuts = shared ? lane_cuts(x, model.listed, threads) : std::vector<std::size_t>();
  LaneSums sums;
  std::uint64_t round = 0;
  const auto one = [&]<bool Unit>(double margin) {
    if (!shared) return sweep<Unit>(x, WholeColumns(x), model, margin, order, step.data(), q);
    const std::uint64_t begin = round;
    round += order.size();
    return sweep_together<Unit>(x, cuts, sums, begin, model, margin, order, step, q, std::max<std::size_t>(threads, 1));
  };

  Extrapolation extrapolation(model, x.rows());
  Descent result{0, 0.0};
  double first = 0.0, margin = std::numeric_limits<double>::infinity();
  while (result.sweeps < sweeps.most) {
    const Sum sum = x.binary() ? one.template operator()<true>(margin) : one.template operator()<false>(margin);
    margin = sum.worst;
    double violation = sum.violation, gain = sum.gain;
    if (whole > 0.0) {
      const double slope = model.intercept_slope + std::accumulate(q, q + x.rows(), 0.0), moved = -slope / whole;
      for (std::size_t i = 0; i < x.rows(); ++i) q[i] += moved * d[i];
      result.intercept_step += moved;
      violation += std::abs(slope);
      gain += 0.5 * whole * moved * moved;
    }
    if (++result.sweeps == 1) first = violation;
    if (violation <= sweeps.accuracy * first || gain <= sweeps.enough) break;
    if (result.sweeps >= kPlainSweeps)
      extrapolation.after_sweep(
          step, change, result.intercept_step,
          [&](std::span<const double> move, std::span<double> to) { add_moves(x, model, cuts, move, to, threads); });
  }
  return result;
}

}  // namespace textmill::linear
