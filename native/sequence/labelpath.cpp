#include "sequence/labelpath.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/log_add.h"
#include "base/math.h"
#include "base/simd.h"

namespace textmill::sequence {
namespace {

using base::log_add;
using base::with_packs;
using Clock = std::chrono::steady_clock;

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kSmall = 1e-20;           // vectors are scaled when they leave 1e-20 .. 1e20
constexpr double kRounding = 1e-12;        // of sums of probabilities
constexpr std::size_t kClockSteps = 1024;  // between looks at the clock

// Two arithmetics for one recursion: scaled potentials, and logarithms.
struct Linear {
  static constexpr double zero = 0.0, one = 1.0;
  static double add(double a, double b) { return a + b; }
  static double multiply(double a, double b) { return a * b; }
  static double logarithm(double a) { return std::log(a); }
  static double over(double a, double by) { return a / by; }
  static const double* arcs(const Arcs& arcs) { return arcs.psi; }
  static double shift(const Arcs& arcs) { return arcs.shift; }
};
struct Logarithmic {
  static constexpr double zero = kNever, one = 0.0;
  static double add(double a, double b) { return log_add(a, b); }
  static double multiply(double a, double b) { return a + b; }
  static double logarithm(double a) { return a; }
  static double over(double a, double by) { return a - by; }
  static const double* arcs(const Arcs& arcs) { return arcs.scores; }
  static double shift(const Arcs&) { return 0.0; }
};

class Watch {
 public:
  explicit Watch(double seconds) : seconds_(seconds), begin_(Clock::now()) {}
  bool over() {
    if (seconds_ <= 0.0 || ++steps_ % kClockSteps != 0) return false;
    return std::chrono::duration<double>(Clock::now() - begin_).count() > seconds_;
  }

 private:
  double seconds_;
  Clock::time_point begin_;
  std::size_t steps_ = kClockSteps - 1;
};

// Potentials, bounds U and sums of one sequence, in the arithmetic A.
template <class A>
struct Tables {
  const Trellis& trellis;
  const States& states;
  std::size_t H, N, T, stride;
  std::vector<double> phi;                 // [T][stride] node potentials
  std::vector<double> phi_shift;           // [T]
  std::vector<double> upper, upper_shift;  // [T][N] U, scaled; [T] log of what it was divided by
  double log_z = kNever;

  Tables(const Trellis& of, bool masses)
      : trellis(of),
        states(*of.states),
        H(states.states),
        N(states.nodes()),
        T(of.length),
        stride(states.stride()),
        phi(T * stride, A::zero),
        phi_shift(T, 0.0) {
    fill_nodes();
    fill_bounds(masses);
  }

  void fill_nodes() {
    for (std::size_t t = 0; t < T; ++t) {
      const double* u = trellis.unary + t * H;
      double* out = &phi[t * stride];
      std::copy_n(u, H, out);
      if constexpr (std::is_same_v<A, Linear>) {
        const double most = *std::max_element(u, u + H);
        phi_shift[t] = most == kNever ? 0.0 : most;
        const double by = phi_shift[t];
        const std::size_t width = stride, states_here = H;
        with_packs([=]<class P>() TEXTMILL_INLINED {
          for (std::size_t h = states_here; h < width; ++h) out[h] = kNever;
          for (std::size_t h = 0; h < width; h += P::width) base::exp(P::load(out + h) - P(by)).store(out + h);
        });
      }
    }
  }

  // U and, with `masses`, in the same pass sums over all paths: log Z.
  void fill_bounds(bool masses) {
    upper.assign(T * N + stride, A::one);  // and room to read whole packs
    upper_shift.assign(T, 0.0);
    std::vector<double> sums(N, A::one), v(N), w(N), next(N);
    double mass_shift = 0.0;
    for (std::size_t t = T - 1; t-- > 0;) {
      const Arcs& arcs = *trellis.arcs[t + 1];
      double* out = &upper[t * N];
      const double *own = &phi[(t + 1) * stride], *behind = &upper[(t + 1) * N];
      for (std::size_t first = 0; first < N; first += H) {  // nodes of the same state before
        for (std::size_t h = 0; h < H; ++h) v[first + h] = A::multiply(own[h], behind[first + h]);
        for (std::size_t h = 0; h < H && masses; ++h) w[first + h] = A::multiply(own[h], sums[first + h]);
      }
      if constexpr (std::is_same_v<A, Linear>) {
        if (arcs.transposed != nullptr) {
          if (masses) {
            fast_step<true>(arcs.transposed, v.data(), w.data(), out, next.data());
          } else {
            fast_step<false>(arcs.transposed, v.data(), w.data(), out, next.data());
          }
        } else {
          plain_step(arcs, v, w, out, next);
        }
      } else {
        plain_step(arcs, v, w, out, next);
      }
      upper_shift[t] = upper_shift[t + 1] + phi_shift[t + 1] + A::shift(arcs) + scale(out);
      if (!masses) continue;
      mass_shift += phi_shift[t + 1] + A::shift(arcs) + scale(next.data());
      std::swap(sums, next);
    }
    if (!masses) {
      log_z = 0.0;
      return;
    }
    double total = A::zero;
    for (std::size_t h = 0; h < H; ++h) total = A::add(total, A::multiply(phi[h], sums[h]));
    log_z = A::logarithm(total) + mass_shift + phi_shift[0];
  }

  // Divides by the largest, where that is needed; returns the logarithm of what was divided by.
  double scale(double* values) const {
    const double most = *std::max_element(values, values + N);
    if (most == A::zero) return 0.0;
    if constexpr (std::is_same_v<A, Linear>) {
      if (most > kSmall && most < 1.0 / kSmall) return 0.0;
      const double by = 1.0 / most;
      for (std::size_t i = 0; i < N; ++i) values[i] *= by;
    } else {
      for (std::size_t i = 0; i < N; ++i) values[i] -= most;
    }
    return A::logarithm(most);
  }

  void plain_step(const Arcs& arcs, const std::vector<double>& v, const std::vector<double>& w, double* out,
                  std::vector<double>& next) const {
    for (std::size_t node = 0; node < N; ++node) {
      const double* row = A::arcs(arcs) + node * stride;
      const std::size_t base = states.base(node);
      double most = A::zero, all = A::zero;
      for (std::size_t y = 0; y < states.labels; ++y) {
        double total = A::zero;
        for (std::size_t c = states.first[y]; c < states.first[y + 1]; ++c) {
          total = A::add(total, A::multiply(row[c], v[base + c]));
          all = A::add(all, A::multiply(row[c], w[base + c]));
        }
        most = std::max(most, total);
      }
      out[node] = most;
      next[node] = all;
    }
  }

  // The same for order 1, four nodes at a time.
  template <bool summed>
  void fast_step(const double* transposed, const double* v, const double* w, double* out, double* next) const {
    const std::size_t labels = states.labels, width = stride, count = H;
    const std::size_t* first = states.first.data();
    double bounds[4], masses[4];
    double *const b = bounds, *const m = masses;
    with_packs([=]<class P>() TEXTMILL_INLINED {
      for (std::size_t at = 0; at < count; at += P::width) {
        P most = P(0.0), all = P(0.0);
        for (std::size_t y = 0; y < labels; ++y) {
          P total = P(0.0);
          for (std::size_t c = first[y]; c < first[y + 1]; ++c) {
            const P column = P::load(transposed + c * width + at);
            total = multiply_add(P(v[c]), column, total);
            if constexpr (summed) all = multiply_add(P(w[c]), column, all);
          }
          most = max(most, total);
        }
        if (at + P::width <= count) {
          most.store(out + at);
          all.store(next + at);
        } else {
          most.store(b);
          all.store(m);
          for (std::size_t i = 0; at + i < count; ++i) out[at + i] = b[i], next[at + i] = m[i];
        }
      }
    });
  }
};

// A label prefix, whose forward vector begins at `alpha` in the arena.
struct Prefix {
  double shift;  // log of what the vector was divided by
  std::size_t alpha;
  std::int32_t parent;
  std::int32_t label;
  std::int32_t position;
};

struct Queued {
  double priority;
  std::int32_t prefix;
  std::int32_t position;
};

bool worse(const Queued& a, const Queued& b) {  // ties: the longer prefix, then the one made first
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.position != b.position) return a.position < b.position;
  return a.prefix > b.prefix;
}

// Search over label prefixes.
template <class A>
class LabelSearch {
 public:
  LabelSearch(const Trellis& trellis, bool masses)
      : tables_(trellis, masses), states_(*trellis.states), products_(tables_.stride) {
    arena_.reserve(2 * tables_.T * tables_.stride);
    prefixes_.reserve(2 * tables_.T * states_.labels);
  }

  LabelPaths run(std::size_t n, const SearchLimits& limits) {
    LabelPaths found;
    found.log_z = tables_.log_z;
    if (found.log_z == kNever) return found;
    Watch watch(limits.seconds);
    expand(-1);
    bool stopped = false;
    while ((held_ || !queue_.empty()) && found.best.size() < n) {
      if ((limits.expansions > 0 && expansions_ >= limits.expansions) || watch.over()) {
        stopped = true;
        break;
      }
      const Queued top = take();
      ++expansions_;
      if (static_cast<std::size_t>(top.position) + 1 == tables_.T) {
        found.best.push_back({labels_of(top.prefix), top.priority - tables_.log_z});
      } else {
        expand(top.prefix);
      }
    }
    release();
    const double next = queue_.empty() ? kNever : queue_.front().priority - tables_.log_z;
    found.proved = found.best.size();
    if (stopped && found.best.size() < n) {
      // the most promising prefix goes on to its end by its best labels: an answer, and how far from the best it may be
      LabelPath rest = completed(queue_.front().prefix);
      found.upper = found.best.empty() ? next : found.best.front().log_probability;
      found.proved += rest.log_probability >= next ? 1 : 0;
      found.best.push_back(std::move(rest));
    } else {
      found.upper = found.best.empty() ? kNever : found.best.front().log_probability;
    }
    found.bound = next;
    double listed = 0.0;
    for (const LabelPath& path : found.best) listed += std::exp(path.log_probability);
    found.unexplored = std::clamp(1.0 - listed, 0.0, 1.0);
    found.expansions = expansions_;
    found.pushes = pushes_;
    return found;
  }

 private:
  // Number of values of a vector: nodes with this label, and for order 2 with that label before.
  std::size_t width(std::int32_t label) const {
    return states_.first[static_cast<std::size_t>(label) + 1] - states_.first[static_cast<std::size_t>(label)];
  }
  // Puts the extensions of a prefix (-1: the empty one) into the queue.
  void expand(std::int32_t of) {
    if constexpr (std::is_same_v<A, Linear>) {
      if (states_.order == 1) return expand_together(of);
    }
    for (std::size_t y = 0; y < states_.labels; ++y) {
      const auto label = static_cast<std::int32_t>(y);
      if (width(label) == 0) continue;
      const double priority = extend(of, label);
      if (priority == kNever) {
        arena_.resize(prefixes_.back().alpha);
        prefixes_.pop_back();
      } else {
        offer(priority);
      }
    }
  }

  // The same for order 1, all labels at once: their vectors lie one after the other and share a scale.
  void expand_together(std::int32_t of) {
    const std::size_t stride = tables_.stride, at = arena_.size();
    arena_.resize(at + stride);
    double *const out = &arena_[at], *const products = products_.data();
    double shift = tables_.phi_shift[0];
    std::size_t t = 0, rows = 0;
    const double *arcs = nullptr, *mass = nullptr;
    if (of >= 0) {
      const Prefix& from = prefixes_[static_cast<std::size_t>(of)];
      t = static_cast<std::size_t>(from.position) + 1;
      shift = from.shift + tables_.phi_shift[t] + tables_.trellis.arcs[t]->shift;
      arcs = tables_.trellis.arcs[t]->psi + states_.first[static_cast<std::size_t>(from.label)] * stride;
      mass = &arena_[from.alpha];
      rows = width(from.label);
    }
    const double *phi = &tables_.phi[t * stride], *bound = &tables_.upper[t * tables_.N];
    double most = 0.0;
    double* const peak = &most;
    with_packs([=]<class P>() TEXTMILL_INLINED {
      P top = P(0.0);
      for (std::size_t j = 0; j < stride; j += P::width) {
        P sum = P(rows == 0 ? 1.0 : 0.0);
        for (std::size_t a = 0; a < rows; ++a) sum = multiply_add(P(mass[a]), P::load(arcs + a * stride + j), sum);
        sum = sum * P::load(phi + j);
        sum.store(out + j);
        (sum * P::load(bound + j)).store(products + j);
        top = max(top, sum);
      }
      *peak = largest(top);
    });
    if (most == 0.0) return arena_.resize(at);
    double by = 1.0;
    if (most < kSmall || most > 1.0 / kSmall) {
      by = 1.0 / most;
      for (std::size_t h = 0; h < stride; ++h) out[h] *= by;
      shift += std::log(most);
    }
    for (std::size_t y = 0; y < states_.labels; ++y) {
      double total = 0.0;
      for (std::size_t h = states_.first[y]; h < states_.first[y + 1]; ++h) total += products[h];
      if (total == 0.0) continue;
      prefixes_.push_back(
          {shift, at + states_.first[y], of, static_cast<std::int32_t>(y), static_cast<std::int32_t>(t)});
      offer(shift + std::log(total * by) + tables_.upper_shift[t]);
    }
  }

  // Puts the prefix made last into the queue.
  void offer(double priority) {
    const Queued now{priority, static_cast<std::int32_t>(prefixes_.size()) - 1, prefixes_.back().position};
    ++pushes_;
    if (!held_) {
      held_ = now;
      return;
    }
    const bool better = worse(*held_, now);
    queue_.push_back(better ? *held_ : now);
    std::push_heap(queue_.begin(), queue_.end(), worse);
    if (better) held_ = now;
  }

  // The best extension of the last prefix is mostly the next to be taken: it waits outside the queue.
  Queued take() {
    if (held_ && (queue_.empty() || !worse(*held_, queue_.front()))) {
      const Queued top = *held_;
      held_.reset();
      return top;
    }
    release();
    std::pop_heap(queue_.begin(), queue_.end(), worse);
    const Queued top = queue_.back();
    queue_.pop_back();
    return top;
  }
  void release() {
    if (!held_) return;
    queue_.push_back(*held_);
    std::push_heap(queue_.begin(), queue_.end(), worse);
    held_.reset();
  }

  // Makes the prefix `of` + label, returns its priority.
  double extend(std::int32_t of, std::int32_t label) {
    const auto y = static_cast<std::size_t>(label);
    const std::size_t begin = states_.first[y], K = width(label), at = arena_.size();
    Prefix made{0.0, at, of, label, 0};
    if (of < 0) {
      arena_.resize(at + K);
      for (std::size_t i = 0; i < K; ++i) arena_[at + i] = tables_.phi[begin + i];
      made.shift = tables_.phi_shift[0];
    } else {
      const Prefix from = prefixes_[static_cast<std::size_t>(of)];
      const auto t = static_cast<std::size_t>(from.position) + 1;
      made.position = static_cast<std::int32_t>(t);
      made.shift = from.shift + tables_.phi_shift[t] + A::shift(*tables_.trellis.arcs[t]);
      const double *arcs = A::arcs(*tables_.trellis.arcs[t]), *phi = &tables_.phi[t * tables_.stride + begin];
      const std::size_t first = states_.first[static_cast<std::size_t>(from.label)], width_before = width(from.label);
      if (states_.order == 1) {
        arena_.resize(at + K, A::zero);
        double* out = &arena_[at];
        for (std::size_t a = 0; a < width_before; ++a) {
          const double mass = arena_[from.alpha + a], *row = arcs + (first + a) * tables_.stride + begin;
          for (std::size_t i = 0; i < K; ++i) out[i] = A::add(out[i], A::multiply(mass, row[i]));
        }
        for (std::size_t i = 0; i < K; ++i) out[i] = A::multiply(out[i], phi[i]);
      } else {  // values of (b, c): b of the label before, c of this one
        arena_.resize(at + width_before * K, A::zero);
        double* out = &arena_[at];
        const std::size_t rows = before_width(from);
        for (std::size_t a = 0; a < rows; ++a) {
          for (std::size_t b = 0; b < width_before; ++b) {
            const double mass = arena_[from.alpha + a * width_before + b];
            const double* row = arcs + node_of(from, a, b) * tables_.stride + begin;
            for (std::size_t i = 0; i < K; ++i) out[b * K + i] = A::add(out[b * K + i], A::multiply(mass, row[i]));
          }
        }
        for (std::size_t b = 0; b < width_before; ++b) {
          for (std::size_t i = 0; i < K; ++i) out[b * K + i] = A::multiply(out[b * K + i], phi[i]);
        }
      }
    }
    prefixes_.push_back(made);
    return finish(prefixes_.back(), K);
  }

  // For order 2: how many states the label before the last has, and the node of two of them.
  std::size_t before_width(const Prefix& prefix) const {
    return prefix.position == 0 ? 1 : width(prefixes_[static_cast<std::size_t>(prefix.parent)].label);
  }
  std::size_t node_of(const Prefix& prefix, std::size_t a, std::size_t b) const {
    const std::size_t last = states_.first[static_cast<std::size_t>(prefix.label)] + b;
    if (states_.order == 1 || prefix.position == 0) return last;
    const auto label = static_cast<std::size_t>(prefixes_[static_cast<std::size_t>(prefix.parent)].label);
    return (states_.first[label] + a) * states_.states + last;
  }

  // Scales the vector and bounds what the prefix can become.
  double finish(Prefix& made, std::size_t K) {
    const auto t = static_cast<std::size_t>(made.position);
    const std::size_t rows = (arena_.size() - made.alpha) / K;
    const double* bound = &tables_.upper[t * tables_.N];
    double* alpha = &arena_[made.alpha];
    const double most = *std::max_element(alpha, alpha + rows * K);
    if (most == A::zero) return kNever;
    if (std::is_same_v<A, Logarithmic> || most < kSmall || most > 1.0 / kSmall) {
      for (std::size_t i = 0; i < rows * K; ++i) alpha[i] = A::over(alpha[i], most);
      made.shift += A::logarithm(most);
    }
    double total = A::zero;
    for (std::size_t a = 0; a < rows; ++a) {
      const double* here = bound + node_of(made, a, 0);
      for (std::size_t i = 0; i < K; ++i) total = A::add(total, A::multiply(alpha[a * K + i], here[i]));
    }
    return made.shift + A::logarithm(total) + tables_.upper_shift[t];
  }

  std::vector<std::int32_t> labels_of(std::int32_t prefix) const {
    std::vector<std::int32_t> labels(tables_.T, 0);
    for (std::int32_t p = prefix; p >= 0; p = prefixes_[static_cast<std::size_t>(p)].parent) {
      labels[static_cast<std::size_t>(prefixes_[static_cast<std::size_t>(p)].position)] =
          prefixes_[static_cast<std::size_t>(p)].label;
    }
    return labels;
  }

  // A prefix with the labels of the greatest priority behind it, and the probability of the whole.
  LabelPath completed(std::int32_t prefix) {
    double priority = kNever;
    for (;;) {
      const auto position = prefixes_[static_cast<std::size_t>(prefix)].position;
      if (static_cast<std::size_t>(position) + 1 == tables_.T) break;
      std::int32_t chosen = -1;
      priority = kNever;
      for (std::size_t y = 0; y < states_.labels; ++y) {
        if (width(static_cast<std::int32_t>(y)) == 0) continue;
        const double now = extend(prefix, static_cast<std::int32_t>(y));
        if (now > priority) priority = now, chosen = static_cast<std::int32_t>(prefixes_.size()) - 1;
      }
      prefix = chosen;
    }
    const Prefix& last = prefixes_[static_cast<std::size_t>(prefix)];
    double total = A::zero;
    const std::size_t size = width(last.label) * (states_.order == 1 ? 1 : before_width(last));
    for (std::size_t i = 0; i < size; ++i) total = A::add(total, arena_[last.alpha + i]);
    return {labels_of(prefix), last.shift + A::logarithm(total) - tables_.log_z};
  }

  Tables<A> tables_;
  const States& states_;
  std::vector<double> products_;  // [stride]
  std::vector<double> arena_;
  std::vector<Prefix> prefixes_;
  std::vector<Queued> queue_;
  std::optional<Queued> held_;
  std::size_t expansions_ = 0, pushes_ = 0;
};

// A sum that loses nothing of small terms (Neumaier).
struct Sum {
  double value = 0.0, lost = 0.0;
  void add(double x) {
    const double next = value + x;
    lost += std::abs(value) >= std::abs(x) ? (value - next) + x : (x - next) + value;
    value = next;
  }
  double total() const { return value + lost; }
};

LabelPaths search_hidden(const Trellis& trellis, bool exact_mass, const SearchLimits& limits) {
  const States& states = *trellis.states;
  const std::size_t T = trellis.length;
  LabelPaths found;
  found.log_z = trellis_sums(trellis, {}, {});
  if (found.log_z == kNever) return found;
  HiddenPaths paths(trellis);
  Watch watch(limits.seconds);
  std::unordered_map<std::string, std::size_t> number;  // of a labeling
  std::vector<LabelPath> met;
  std::vector<double> mass;
  std::vector<std::int32_t> hidden(T), labels(T);
  std::size_t first = 0, second = 0;  // numbers of the best two; the second is the first while there is only one
  Sum seen;
  double score, rest = 1.0;
  bool proved = false;
  while (!proved) {
    if (found.paths > 0 && ((limits.paths > 0 && found.paths >= limits.paths) ||
                            (limits.expansions > 0 && paths.expansions() >= limits.expansions) || watch.over())) {
      break;
    }
    if (!paths.next(hidden, score)) {
      proved = true;
      rest = 0.0;
      break;
    }
    ++found.paths;
    for (std::size_t t = 0; t < T; ++t) labels[t] = states.owner[static_cast<std::size_t>(hidden[t])];
    const std::string key(reinterpret_cast<const char*>(labels.data()), T * sizeof(std::int32_t));
    const auto [place, fresh] = number.try_emplace(key, met.size());
    const std::size_t now = place->second;
    if (fresh) {
      met.push_back({labels, 0.0});
      mass.push_back(0.0);
    }
    if (exact_mass) {
      if (!fresh) continue;
      mass[now] = std::exp(label_mass(trellis, labels) - found.log_z);
      seen.add(mass[now]);
    } else {
      const double p = std::exp(score - found.log_z);
      mass[now] += p;
      seen.add(p);
    }
    if (mass[now] > mass[first]) {
      if (now != first) second = first;
      first = now;
    } else if (now != first && (second == first || mass[now] > mass[second])) {
      second = now;
    }
    rest = std::max(0.0, 1.0 - seen.total());
    const double other = second == first || exact_mass ? 0.0 : mass[second];
    proved = mass[first] - other >= rest - kRounding;
  }
  const double other = second == first ? 0.0 : mass[second];
  found.proved = proved ? 1 : 0;
  found.unexplored = rest;
  // what was not met may belong to the first, to the second, or to a labeling of its own
  const double listed = mass[first];
  found.upper = std::log(proved && exact_mass ? listed
                         : exact_mass         ? std::max(listed, rest)
                                              : std::min(1.0, std::max(listed, other) + rest));
  found.bound = std::log(exact_mass ? std::max(other, rest) : std::min(1.0, other + rest));
  met[first].log_probability = std::log(listed);
  found.best.push_back(met[first]);
  if (second != first) {
    met[second].log_probability = std::log(other);
    found.runner_up = met[second];
  }
  found.expansions = paths.expansions();
  found.pushes = paths.pushes();
  return found;
}

}  // namespace

LabelPaths best_label_paths(const Trellis& trellis, std::size_t n, Search search, const SearchLimits& limits,
                            bool masses) {
  if (search != Search::label) return search_hidden(trellis, search == Search::hidden_exact, limits);
  if (trellis.wide) return LabelSearch<Logarithmic>(trellis, masses).run(n, limits);
  return LabelSearch<Linear>(trellis, masses).run(n, limits);
}

double label_mass(const Trellis& trellis, std::span<const std::int32_t> labels) {
  const States& states = *trellis.states;
  const std::size_t H = states.states, T = trellis.length;
  std::vector<double> unary(trellis.unary, trellis.unary + T * H);
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t h = 0; h < H; ++h) {
      if (labels[t] >= 0 && states.owner[h] != labels[t]) unary[t * H + h] = kNever;
    }
  }
  Trellis clamped = trellis;
  clamped.unary = unary.data();
  return trellis_sums(clamped, {}, {});
}

HiddenPaths::HiddenPaths(const Trellis& trellis) : trellis_(trellis) {
  const States& states = *trellis.states;
  const std::size_t H = states.states, N = states.nodes(), T = trellis.length, stride = states.stride();
  best_.assign(T * N, 0.0);
  sorted_.resize(T * N + 1);
  for (std::size_t t = T - 1; t-- > 0;) {
    for (std::size_t node = 0; node < N; ++node) {
      const double* row = trellis.arcs[t + 1]->scores + node * stride;
      double most = kNever;
      for (std::size_t c = 0; c < H; ++c) {
        most = std::max(most, row[c] + trellis.unary[(t + 1) * H + c] + best_[(t + 1) * N + states.base(node) + c]);
      }
      best_[t * N + node] = most;
    }
  }
  push(-1, 0);
}

bool HiddenPaths::worse(const Waiting& a, const Waiting& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.step > b.step;
}

// Next nodes, best first: of the node at `position`, or (position T) the first nodes.
const std::vector<std::int32_t>& HiddenPaths::successors(std::size_t position, std::size_t node) {
  const States& states = *trellis_.states;
  const std::size_t H = states.states, N = states.nodes(), T = trellis_.length;
  std::vector<std::int32_t>& list = sorted_[position == T ? T * N : position * N + node];
  if (!list.empty()) return list;
  const std::size_t next = position == T ? 0 : position + 1, base = position == T ? 0 : states.base(node);
  const double* row = position == T ? nullptr : trellis_.arcs[next]->scores + node * states.stride();
  std::vector<double> value(H);
  for (std::size_t c = 0; c < H; ++c) {
    value[c] = (row == nullptr ? 0.0 : row[c]) + trellis_.unary[next * H + c] + best_[next * N + base + c];
    list.push_back(static_cast<std::int32_t>(c));
  }
  std::stable_sort(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) { return value[a] > value[b]; });
  for (std::int32_t& c : list) c += static_cast<std::int32_t>(base);
  return list;
}

// Puts the successor of this rank of a step (-1: of nothing) into the queue.
void HiddenPaths::push(std::int32_t parent, std::size_t rank) {
  const States& states = *trellis_.states;
  const std::size_t H = states.states, N = states.nodes(), T = trellis_.length;
  if (rank >= H) return;
  const std::size_t before = parent < 0 ? T : static_cast<std::size_t>(steps_[parent].position);
  const std::size_t from = parent < 0 ? 0 : static_cast<std::size_t>(steps_[parent].node);
  const auto node = static_cast<std::size_t>(successors(before, from)[rank]);
  const std::size_t t = parent < 0 ? 0 : before + 1;
  double score = trellis_.unary[t * H + states.state(node)];
  if (parent >= 0)
    score += steps_[parent].score + trellis_.arcs[t]->scores[from * states.stride() + states.state(node)];
  const double priority = score + best_[t * N + node];
  if (priority == kNever) return;
  steps_.push_back(
      {score, parent, static_cast<std::int32_t>(node), static_cast<std::int32_t>(rank), static_cast<std::int32_t>(t)});
  queue_.push_back({priority, static_cast<std::int32_t>(steps_.size()) - 1});
  std::push_heap(queue_.begin(), queue_.end(), worse);
  ++pushes_;
}

bool HiddenPaths::next(std::span<std::int32_t> states, double& score) {
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), worse);
    const std::int32_t at = queue_.back().step;
    queue_.pop_back();
    ++expansions_;
    const Step step = steps_[at];
    push(step.parent, static_cast<std::size_t>(step.rank) + 1);  // the next sibling
    if (static_cast<std::size_t>(step.position) + 1 < trellis_.length) {
      push(at, 0);  // the first child, which is as good
      continue;
    }
    score = step.score;
    for (std::int32_t s = at; s >= 0; s = steps_[s].parent) {
      states[static_cast<std::size_t>(steps_[s].position)] =
          static_cast<std::int32_t>(trellis_.states->state(static_cast<std::size_t>(steps_[s].node)));
    }
    return true;
  }
  return false;
}

}  // namespace textmill::sequence
