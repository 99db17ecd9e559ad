#include "fst/lazy_transform.h"

#include <array>

#include "base/flat_table.h"

namespace textmill::fst {
namespace {

// Numbers of triples, in order of first sight.
class Triples {
 public:
  std::int32_t of(std::int32_t a, std::int32_t b, std::int32_t c) {
    const std::int32_t key[] = {a, b, c};
    const std::uint32_t id = table_.insert(key);
    if (id >= kMostStates) fail("more than 2,147,483,647 states");
    return static_cast<std::int32_t>(id);
  }
  std::size_t size() const { return table_.size(); }
  std::array<std::int32_t, 3> operator[](std::size_t i) const { return {table_[i][0], table_[i][1], table_[i][2]}; }

 private:
  SequenceTable table_;
};

// States are (return, machine, state); a return is (return before, machine, state to go on from), 0 the end of all.
template <class W>
class Replaced final : public Cached<W> {
 public:
  Replaced(std::vector<std::pair<std::int32_t, LazyPointer<W>>> machines, const ReplaceOptions& options,
           std::size_t limit)
      : Cached<W>(machines.at(0).second->ring_pointer(), limit), machines_(std::move(machines)), options_(options) {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      if (!machines_[i].second->ring().same(this->ring()))
        fail("the machine of label ", machines_[i].first, " has another semiring than ", this->ring().name());
      if (!number_.add(base::key_of(machines_[i].first), static_cast<std::int32_t>(i)).second)
        fail("label ", machines_[i].first, " has two machines");
    }
    root_ = number_.find(base::key_of(options.root), kNoMachine);
    if (root_ == kNoMachine) fail("the root label ", options.root, " has no machine");
    returns_.of(-1, -1, -1);
  }

 protected:
  std::int32_t compute_start() override {
    const std::int32_t start = machines_[root_].second->start();
    return start == kNoState ? kNoState : states_.of(0, root_, start);
  }
  std::int32_t count() override { return static_cast<std::int32_t>(states_.size()); }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const auto [back, m, s] = states_[q];
    const View<W> state = machines_[m].second->state(s);
    out.open(back == 0 ? state.final : this->ring().zero());
    if (back != 0 && !this->ring().equal(state.final, this->ring().zero())) {
      const auto [before, caller, next] = returns_[back];
      const bool reads = options_.back == CallLabels::input || options_.back == CallLabels::both;
      const bool writes = options_.back == CallLabels::output || options_.back == CallLabels::both;
      out.push({reads ? options_.return_label : 0, writes ? options_.return_label : 0, state.final,
                states_.of(before, caller, next)});
    }
    for (auto arc : state) {
      const std::int32_t called = number_.find(base::key_of(arc.olabel), kNoMachine);
      if (called == kNoMachine) {
        arc.nextstate = states_.of(back, m, arc.nextstate);
      } else {
        const std::int32_t start = machines_[called].second->start();
        if (start == kNoState) continue;
        arc.nextstate = states_.of(returns_.of(back, m, arc.nextstate), called, start);
        if (options_.call == CallLabels::neither || options_.call == CallLabels::output) arc.ilabel = 0;
        if (options_.call == CallLabels::neither || options_.call == CallLabels::input) arc.olabel = 0;
      }
      out.push(arc);
    }
  }

 private:
  std::vector<std::pair<std::int32_t, LazyPointer<W>>> machines_;
  ReplaceOptions options_;
  static constexpr std::int32_t kNoMachine = -1;
  base::FlatTable<std::int32_t> number_;
  std::int32_t root_ = 0;
  Triples states_, returns_;
};

// States are (state, input still to be read, output still to be written); behind the end the state is kNoState.
template <class W>
class Synchronized final : public Cached<W> {
 public:
  Synchronized(LazyPointer<W> a, std::size_t limit) : Cached<W>(a->ring_pointer(), limit), a_(std::move(a)) {}

 protected:
  std::int32_t compute_start() override { return a_->start() == kNoState ? kNoState : states_.of(a_->start(), 0, 0); }
  std::int32_t count() override { return static_cast<std::int32_t>(states_.size()); }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const auto [s, in, written] = states_[q];
    const auto x = static_cast<std::uint32_t>(in), y = static_cast<std::uint32_t>(written);
    const bool empty = x == 0 && y == 0;
    const Ring<W>& k = this->ring();
    if (s == kNoState) {
      out.open(empty ? k.one() : k.zero());
      if (!empty) go(out, kNoState, x, y, k.one());
      return;
    }
    const View<W> state = a_->state(s);
    out.open(empty ? state.final : k.zero());
    if (!empty && !k.equal(state.final, k.zero())) go(out, kNoState, x, y, state.final);
    for (const auto& arc : state)
      go(out, arc.nextstate, pool_.append(x, arc.ilabel), pool_.append(y, arc.olabel), arc.weight);
  }

 private:
  void go(Assembly<W>& out, std::int32_t s, std::uint32_t x, std::uint32_t y, const W& w) {
    std::int32_t ilabel = 0, olabel = 0;
    if ((x != 0 && y != 0) || s == kNoState) {
      ilabel = x == 0 ? 0 : pool_[x][0];
      olabel = y == 0 ? 0 : pool_[y][0];
      x = x == 0 ? 0 : pool_.suffix(x, 1);
      y = y == 0 ? 0 : pool_.suffix(y, 1);
    }
    out.push({ilabel, olabel, w, states_.of(s, static_cast<std::int32_t>(x), static_cast<std::int32_t>(y))});
  }
  LazyPointer<W> a_;
  StringPool pool_;
  Triples states_;
};

}  // namespace

template <class W>
LazyPointer<W> lazy_replace(std::vector<std::pair<std::int32_t, LazyPointer<W>>> machines,
                            const ReplaceOptions& options, std::size_t limit) {
  if (machines.empty()) fail("there is no machine to begin with");
  return std::make_shared<Replaced<W>>(std::move(machines), options, limit);
}
template <class W>
LazyPointer<W> lazy_synchronize(LazyPointer<W> a, std::size_t limit) {
  return std::make_shared<Synchronized<W>>(std::move(a), limit);
}

#define X(W)                                                                                                        \
  template LazyPointer<W> lazy_replace(std::vector<std::pair<std::int32_t, LazyPointer<W>>>, const ReplaceOptions&, \
                                       std::size_t);                                                                \
  template LazyPointer<W> lazy_synchronize(LazyPointer<W>, std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
