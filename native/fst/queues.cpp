#include "fst/queues.h"

#include <deque>

#include "fst/distance.h"
#include "fst/properties.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kMostSteps = 20'000'000;
constexpr std::int32_t kStop = -1, kNowhere = -2;

// States that wait, each once. Those that come by rank may lie in the heap several times, the best place counts.
template <class S>
class Waiting {
 public:
  using Weight = typename S::Weight;
  Waiting(const S& k, Queue kind, std::size_t states) : k_(k), kind_(kind), waits_(states, false) {}
  bool empty() const { return count_ == 0; }
  void push(std::int32_t s, std::int32_t rank, const Weight& distance) {
    const bool ranked = kind_ != Queue::fifo && kind_ != Queue::lifo;
    if (ranked || !waits_[s]) line_.push_back({s, rank, distance});
    if (ranked) std::push_heap(line_.begin(), line_.end(), after());
    count_ += !waits_[s];
    waits_[s] = true;
  }
  std::int32_t pop() {
    std::int32_t s;
    do {
      if (kind_ == Queue::fifo) {
        s = line_.front().state;
        line_.pop_front();
      } else {
        if (kind_ != Queue::lifo) std::pop_heap(line_.begin(), line_.end(), after());
        s = line_.back().state;
        line_.pop_back();
      }
    } while (!waits_[s]);
    waits_[s] = false;
    --count_;
    return s;
  }

 private:
  struct Entry {
    std::int32_t state, rank;
    Weight distance;
  };
  auto after() const {
    return [this](const Entry& x, const Entry& y) {
      if (kind_ == Queue::shortest && k_.less(y.distance, x.distance)) return true;
      if (kind_ == Queue::shortest && k_.less(x.distance, y.distance)) return false;
      return y.rank < x.rank;
    };
  }
  const S& k_;
  Queue kind_;
  std::deque<Entry> line_;
  std::vector<bool> waits_;
  std::size_t count_ = 0;
};

}  // namespace

template <class S>
std::vector<typename S::Weight> distances_by(Queue queue, const Machine<S>& machine, bool backward, double delta,
                                             std::vector<std::int32_t>* next) {
  using Weight = typename S::Weight;
  if (queue == Queue::automatic) return distances(machine, backward, delta, next);
  const S& k = machine.semiring();
  if (backward ? !k.left() : !k.right())
    fail("weights of ", std::string(k.name()), " do not distribute over sums from the ", backward ? "left" : "right",
         ", so there are no distances ", backward ? "to the end" : "from the start");
  if (queue == Queue::shortest && !k.path())
    fail("a queue by distance needs the path property, which ", std::string(k.name()),
         " has not; take queue_type='auto'");
  const std::int32_t n = machine.states();
  std::vector<std::int32_t> rank;
  if (queue == Queue::top) {
    Components found = components(machine);
    if (found.cyclic)
      fail("a topological queue needs a machine without cycles, but this one has some; take queue_type='auto'");
    rank = std::move(found.of);
    if (backward)
      for (std::int32_t& r : rank) r = n - r;
  }
  std::vector<Weight> d(n, k.zero()), residue(n, k.zero());
  if (next) next->assign(n, kNowhere);
  if (machine.start() == kNoState) return d;
  // arcs turned round: where each state is entered from, and by which of the arcs there
  std::vector<std::size_t> into(backward ? n + 1 : 0, 0);
  std::vector<std::pair<std::int32_t, std::uint32_t>> entries(backward ? machine.arcs() : 0);
  if (backward) {
    for (std::int32_t s = 0; s < n; ++s)
      for (const auto& arc : machine.arcs(s)) ++into[arc.nextstate + 1];
    for (std::int32_t s = 0; s < n; ++s) into[s + 1] += into[s];
    std::vector<std::size_t> at(into.begin(), into.end() - 1);
    for (std::int32_t s = 0; s < n; ++s) {
      const auto arcs = machine.arcs(s);
      for (std::size_t a = 0; a < arcs.size(); ++a)
        entries[at[arcs[a].nextstate]++] = {s, static_cast<std::uint32_t>(a)};
    }
  }
  Waiting<S> waiting(k, queue, n);
  const auto wait = [&](std::int32_t s) { waiting.push(s, rank.empty() ? s : rank[s], d[s]); };
  const auto begin = [&](std::int32_t s, const Weight& w) {
    d[s] = residue[s] = w;
    if (next) (*next)[s] = kStop;
    wait(s);
  };
  if (!backward) {
    begin(machine.start(), k.one());
  } else {
    for (std::int32_t s = 0; s < n; ++s)
      if (machine.is_final(s)) begin(s, machine.final(s));
  }
  std::size_t steps = 0;
  std::vector<std::int32_t> length(k.path() ? n : 0, 0);  // arcs of the best path so far: from n on it has a cycle
  const auto step = [&](std::int32_t q, std::int32_t t, const Weight& more, std::uint32_t arc) {
    if (k.path() ? !k.less(more, d[t]) : k.approx(k.plus(d[t], more), d[t], delta)) {
      if (!k.path()) {
        d[t] = k.plus(d[t], more);
        residue[t] = k.plus(residue[t], more);
      }
      return;
    }
    if (k.path()) length[t] = length[q] + 1;
    if (++steps > kMostSteps || (k.path() && length[t] > n))
      fail("the distances do not settle down: a cycle through state ", t,
           k.path() ? " makes paths better every time (a negative cycle)"
                    : " has a total weight of one or more; scale the weights down");
    d[t] = k.plus(d[t], more);
    residue[t] = k.plus(residue[t], more);
    if (!k.member(d[t])) fail("the sum over paths through state ", t, " has no limit; scale the weights down");
    if (next) (*next)[t] = static_cast<std::int32_t>(arc);
    wait(t);
  };
  while (!waiting.empty()) {
    const std::int32_t q = waiting.pop();
    const Weight r = residue[q];
    residue[q] = k.zero();
    if (backward) {
      for (std::size_t e = into[q]; e < into[q + 1]; ++e) {
        const auto [s, a] = entries[e];
        step(q, s, k.times(machine.arcs(s)[a].weight, r), a);
      }
    } else {
      for (const auto& arc : machine.arcs(q)) step(q, arc.nextstate, k.times(r, arc.weight), 0);
    }
  }
  return d;
}

#define X(S)                                                                                    \
  template std::vector<typename S::Weight> distances_by(Queue, const Machine<S>&, bool, double, \
                                                        std::vector<std::int32_t>*);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
