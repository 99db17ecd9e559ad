// Weighted finite-state transducers over a semiring S, in two flat arrays.
//
//   states   [N] final weight, where the arcs of the state lie and how many there are, how many read or write epsilon
//   arcs     [M] input label, output label, weight, next state: 16 bytes with a 32-bit weight
//
// States are 0 ... N-1, the start is -1 while there is none, label 0 is epsilon, a state is final iff its weight is not
// zero. The arcs of a state are contiguous. Both records have the layout of OpenFst's const files, so that such a file
// is used where it lies in memory: a mapped machine owns nothing, and copies its arrays when it is first changed.
//
// Growing: every state has a stretch of the arc array with some room; the last stretch grows in place, another one moves
// to the end with twice its room when it is full, and the array is compacted when less than half of it is in use. So
// machines that are made state by state, as all operations do, have no gaps, and adding arcs anywhere stays O(1) amortised.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fst/fault.h"
#include "fst/semirings.h"

namespace textmill::fst {

inline constexpr std::int32_t kNoState = -1;
inline constexpr std::int32_t kNoLabel = -1;
inline constexpr std::size_t kMostStates = 0x7FFFFFFF;
inline constexpr std::size_t kMostArcs = 0xFFFFFFFF;

template <class W>
struct Arc {
  std::int32_t ilabel;
  std::int32_t olabel;
  W weight;
  std::int32_t nextstate;
};

template <class W>
struct State {
  W final;
  std::uint32_t pos;  // of its first arc
  std::uint32_t narcs;
  std::uint32_t niepsilons;
  std::uint32_t noepsilons;
};

template <class S>
class Machine {
 public:
  using Semiring = S;
  using Weight = typename S::Weight;
  using Arc = fst::Arc<Weight>;
  using State = fst::State<Weight>;

  explicit Machine(S semiring = {}) : semiring_(std::move(semiring)) {}

  // An exact copy without gaps.
  Machine(const Machine& other)
      : semiring_(other.semiring_),
        start_(other.start_),
        used_(other.used_),
        known_(other.known()),
        header_(other.header_) {
    states_.assign(other.state_data_, other.state_data_ + other.count_);
    arcs_.reserve(other.used_);
    for (State& state : states_) {
      const Arc* from = other.arc_data_ + state.pos;
      state.pos = static_cast<std::uint32_t>(arcs_.size());
      arcs_.insert(arcs_.end(), from, from + state.narcs);
    }
    point();
    find_tail();
  }
  Machine(Machine&& other) noexcept
      : semiring_(std::move(other.semiring_)),
        start_(other.start_),
        used_(other.used_),
        known_(other.known()),
        header_(other.header_),
        tail_(other.tail_),
        states_(std::move(other.states_)),
        room_(std::move(other.room_)),
        arcs_(std::move(other.arcs_)),
        owner_(std::move(other.owner_)),
        state_data_(other.state_data_),
        arc_data_(other.arc_data_),
        count_(other.count_) {
    if (!owner_) point();
    other.clear();
  }
  Machine& operator=(Machine&& other) noexcept {
    if (this != &other) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  Machine& operator=(const Machine&) = delete;

  // A machine in memory that somebody else owns. The arrays must have been checked.
  static Machine mapped(S semiring, std::int32_t start, std::span<const State> states, std::span<const Arc> arcs,
                        std::shared_ptr<void> owner) {
    Machine made(std::move(semiring));
    made.start_ = start;
    made.state_data_ = states.data();
    made.count_ = states.size();
    made.arc_data_ = arcs.data();
    made.used_ = arcs.size();
    made.owner_ = std::move(owner);
    return made;
  }

  // A machine from its arrays: the arcs of state after state, without gaps. Counts of epsilons are made here.
  static Machine assembled(S semiring, std::int32_t start, std::vector<State> states, std::vector<Arc> arcs) {
    Machine made = counted(std::move(semiring), start, std::move(states), std::move(arcs));
    for (std::int32_t s = 0; s < made.states(); ++s) made.recount(s);
    return made;
  }

  // The same with the counts in place.
  static Machine counted(S semiring, std::int32_t start, std::vector<State> states, std::vector<Arc> arcs) {
    if (states.size() > kMostStates || arcs.size() > kMostArcs)
      fail("a machine has at most 2,147,483,647 states and 4,294,967,295 arcs");
    Machine made(std::move(semiring));
    made.start_ = start;
    made.states_ = std::move(states);
    made.arcs_ = std::move(arcs);
    made.used_ = made.arcs_.size();
    made.point();
    made.find_tail();
    return made;
  }

  // ---- reading
  const S& semiring() const { return semiring_; }
  std::int32_t start() const { return start_; }
  std::int32_t states() const { return static_cast<std::int32_t>(count_); }
  std::size_t arcs() const { return used_; }
  bool is_mapped() const { return owner_ != nullptr; }
  const State& state(std::int32_t s) const { return state_data_[s]; }
  std::span<const Arc> arcs(std::int32_t s) const { return {arc_data_ + state_data_[s].pos, state_data_[s].narcs}; }
  const Arc* arc_array() const { return arc_data_; }
  const Weight& final(std::int32_t s) const { return state_data_[s].final; }
  bool is_final(std::int32_t s) const { return !semiring_.equal(state_data_[s].final, semiring_.zero()); }
  std::size_t memory() const {
    return states_.capacity() * sizeof(State) + room_.capacity() * 4 + arcs_.capacity() * sizeof(Arc);
  }

  // Property bits that are known (properties.h), and those of the file it came from, which are not believed but written again.
  // Several threads may ask one machine at the same time.
  std::uint64_t known() const { return std::atomic_ref(known_).load(std::memory_order_relaxed); }
  void know(std::uint64_t bits) const { std::atomic_ref(known_).fetch_or(bits, std::memory_order_relaxed); }
  std::uint64_t header() const { return header_; }
  void set_header(std::uint64_t bits) { header_ = bits; }

  // ---- building; everything known is forgotten
  void set_start(std::int32_t s) {
    change();
    start_ = s;
  }
  std::int32_t add_state() {
    change();
    if (count_ >= kMostStates) fail("a machine has at most 2,147,483,647 states");
    states_.push_back({semiring_.zero(), static_cast<std::uint32_t>(arcs_.size()), 0, 0, 0});
    if (!room_.empty()) room_.push_back(0);
    ++count_;
    state_data_ = states_.data();
    return static_cast<std::int32_t>(count_ - 1);
  }
  std::int32_t add_state(Weight final) {
    const std::int32_t s = add_state();
    states_[s].final = final;
    return s;
  }
  void add_states(std::size_t n) {
    change();
    if (n > kMostStates - count_) fail("a machine has at most 2,147,483,647 states");
    states_.resize(count_ + n, {semiring_.zero(), static_cast<std::uint32_t>(arcs_.size()), 0, 0, 0});
    if (!room_.empty()) room_.resize(count_ + n, 0);
    point();
  }
  void set_final(std::int32_t s, Weight weight) {
    change();
    states_[s].final = weight;
  }
  void add_arc(std::int32_t s, const Arc& arc) {
    change();
    State& state = states_[s];
    if (state.narcs < room(s)) {
      arcs_[state.pos + state.narcs] = arc;
    } else {
      if (state.narcs == 0 && (!room_.empty() || s > tail_)) state.pos = static_cast<std::uint32_t>(arcs_.size());
      if (std::size_t{state.pos} + state.narcs != arcs_.size() || (room_.empty() && s < tail_)) {
        move_to_end(s);
        return add_arc(s, arc);
      }
      if (arcs_.size() >= kMostArcs) fail("a machine has at most 4,294,967,295 arcs");
      arcs_.push_back(arc);
      arc_data_ = arcs_.data();
      if (!room_.empty()) ++room_[s];
      tail_ = s;
    }
    ++state.narcs;
    state.niepsilons += arc.ilabel == 0;
    state.noepsilons += arc.olabel == 0;
    ++used_;
  }
  // The arcs of a state, to be changed in place; call recount(s) if labels became or ceased to be epsilon.
  std::span<Arc> edit(std::int32_t s) {
    change();
    return {arcs_.data() + states_[s].pos, states_[s].narcs};
  }
  void recount(std::int32_t s) {
    State& state = states_[s];
    state.niepsilons = state.noepsilons = 0;
    for (const Arc& arc : edit(s)) {
      state.niepsilons += arc.ilabel == 0;
      state.noepsilons += arc.olabel == 0;
    }
  }
  // Keeps the first n arcs of a state.
  void truncate(std::int32_t s, std::size_t n) {
    change();
    keep_rooms();
    used_ -= states_[s].narcs - n;
    states_[s].narcs = static_cast<std::uint32_t>(n);
    recount(s);
  }
  // Keeps the states of the mask and renumbers them in order; arcs to others go too.
  template <class Mask>
  void keep(const Mask& mask) {
    change();
    std::vector<std::int32_t> number(count_, kNoState);
    std::int32_t kept = 0;
    for (std::size_t s = 0; s < count_; ++s)
      if (mask[s]) number[s] = kept++;
    if (room_.empty()) {  // stretches lie in the order of the states: close up in place
      std::size_t end = 0;
      for (std::size_t s = 0; s < count_; ++s) {
        if (!mask[s]) continue;
        State state = states_[s];
        const Arc* from = arcs_.data() + state.pos;
        const Arc* const stop = from + state.narcs;
        state.pos = static_cast<std::uint32_t>(end);
        state.niepsilons = state.noepsilons = 0;
        for (; from != stop; ++from) {
          if (number[from->nextstate] == kNoState) continue;
          Arc arc = *from;
          arc.nextstate = number[arc.nextstate];
          state.niepsilons += arc.ilabel == 0;
          state.noepsilons += arc.olabel == 0;
          arcs_[end++] = arc;
        }
        state.narcs = static_cast<std::uint32_t>(end - state.pos);
        states_[number[s]] = state;
      }
      arcs_.resize(end);
      used_ = end;
      states_.resize(kept);
      start_ = start_ == kNoState ? kNoState : number[start_];
      point();
      find_tail();
      return;
    }
    Machine made(semiring_);
    made.reserve(kept, used_);
    for (std::size_t s = 0; s < count_; ++s) {
      if (!mask[s]) continue;
      made.add_state(states_[s].final);
      for (Arc arc : arcs(static_cast<std::int32_t>(s))) {
        arc.nextstate = number[arc.nextstate];
        if (arc.nextstate != kNoState) made.add_arc(number[s], arc);
      }
    }
    made.start_ = start_ == kNoState ? kNoState : number[start_];
    *this = std::move(made);
  }
  void clear() {
    states_.clear();
    room_.clear();
    arcs_.clear();
    owner_.reset();
    start_ = kNoState;
    used_ = 0;
    known_ = header_ = 0;
    tail_ = kNoState;
    point();
  }
  void reserve(std::size_t states, std::size_t arcs) {
    change();
    states_.reserve(states);
    arcs_.reserve(arcs);
    point();
  }
  void reserve_arcs(std::int32_t s, std::size_t n) {
    change();
    if (n > room(s)) {
      keep_rooms();
      relocate(s, n);
    }
  }
  // Gives back the room that growing has left.
  void shrink() {
    if (owner_) return;
    compact();
    if (arcs_.capacity() > arcs_.size() + arcs_.size() / 4) arcs_.shrink_to_fit();
    if (states_.capacity() > states_.size() + states_.size() / 4) states_.shrink_to_fit();
    point();
  }
  void set_semiring(S semiring) { semiring_ = std::move(semiring); }

 private:
  void point() {
    state_data_ = states_.data();
    arc_data_ = arcs_.data();
    count_ = states_.size();
  }
  void find_tail() {
    tail_ = states() - 1;
    while (tail_ >= 0 && states_[tail_].narcs == 0) --tail_;
  }
  void change() {
    if (owner_) [[unlikely]]
      own();
    known_ = header_ = 0;
  }
  void own() {
    Machine copy(*this);
    *this = std::move(copy);
  }
  // Without gaps and with the stretches in the order of the states, rooms need no array: every stretch is full.
  std::uint32_t room(std::int32_t s) const { return room_.empty() ? states_[s].narcs : room_[s]; }
  void keep_rooms() {
    if (!room_.empty()) return;
    room_.reserve(states_.capacity());
    for (const State& state : states_) room_.push_back(state.narcs);
  }
  void move_to_end(std::int32_t s) {
    keep_rooms();
    if (arcs_.size() > 2 * used_ + 1024) compact_keeping_rooms();
    relocate(s, std::size_t{room_[s]} * 2 + 2);
  }
  void relocate(std::int32_t s, std::size_t wanted) {
    if (arcs_.size() + wanted > kMostArcs) fail("a machine has at most 4,294,967,295 arcs");
    State& state = states_[s];
    const std::size_t pos = arcs_.size();
    arcs_.resize(pos + wanted);
    std::copy_n(arcs_.data() + state.pos, state.narcs, arcs_.data() + pos);
    state.pos = static_cast<std::uint32_t>(pos);
    room_[s] = static_cast<std::uint32_t>(wanted);
    point();
  }
  void compact() {
    if (room_.empty()) return;
    std::vector<Arc> packed;
    packed.reserve(used_);
    for (State& state : states_) {
      const Arc* from = arcs_.data() + state.pos;
      state.pos = static_cast<std::uint32_t>(packed.size());
      packed.insert(packed.end(), from, from + state.narcs);
    }
    arcs_ = std::move(packed);
    room_.clear();
    point();
    find_tail();
  }
  void compact_keeping_rooms() {
    compact();
    keep_rooms();
  }

  [[no_unique_address]] S semiring_;
  std::int32_t start_ = kNoState;
  std::size_t used_ = 0;  // arcs that states have
  mutable std::uint64_t known_ = 0;
  std::uint64_t header_ = 0;
  std::int32_t tail_ = kNoState;  // the last state with arcs, while stretches are in order
  std::vector<State> states_;
  std::vector<std::uint32_t> room_;  // [N] sizes of stretches; empty while all are full and in order
  std::vector<Arc> arcs_;
  std::shared_ptr<void> owner_;        // of the mapped memory
  const State* state_data_ = nullptr;  // states_, or mapped
  const Arc* arc_data_ = nullptr;
  std::size_t count_ = 0;
};

// Makes a machine state by state: open a state, push its arcs, open the next.
template <class S>
class Builder {
 public:
  using Arc = typename Machine<S>::Arc;
  explicit Builder(const S& semiring) : semiring_(semiring) {}
  std::int32_t open(const typename S::Weight& final) {
    states_.push_back({final, static_cast<std::uint32_t>(arcs_.size()), 0, 0, 0});
    return static_cast<std::int32_t>(states_.size() - 1);
  }
  void push(const Arc& arc) {
    auto& state = states_.back();
    arcs_.push_back(arc);
    ++state.narcs;
    state.niepsilons += arc.ilabel == 0;
    state.noepsilons += arc.olabel == 0;
  }
  void reserve(std::size_t states, std::size_t arcs) {
    states_.reserve(states);
    arcs_.reserve(arcs);
  }
  std::int32_t states() const { return static_cast<std::int32_t>(states_.size()); }
  std::size_t arcs() const { return arcs_.size(); }
  // Of the state that is open.
  std::span<Arc> open_arcs() { return {arcs_.data() + states_.back().pos, states_.back().narcs}; }
  // The arcs made last, from a number of arcs() on.
  std::span<Arc> arcs_from(std::size_t first) { return std::span(arcs_).subspan(first); }
  // Replaces every next state.
  template <class F>
  void redirect(F f) {
    for (Arc& arc : arcs_) arc.nextstate = f(arc.nextstate);
  }
  Machine<S> finish(std::int32_t start) {
    return Machine<S>::counted(semiring_, start, std::move(states_), std::move(arcs_));
  }

 private:
  S semiring_;
  std::vector<typename Machine<S>::State> states_;
  std::vector<Arc> arcs_;
};

}  // namespace textmill::fst
