// Weighted finite-state transducers in two flat arrays: Automaton<W> with weights of a type W, of which it knows only
// zero and one, and Machine<S>, an automaton with the semiring S of its weights.
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
// machines that are made state by state, as all operations do, have no gaps, and adding arcs anywhere stays O(1)
// amortized.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

template <class W>
class Automaton {
 public:
  using Weight = W;
  using Arc = fst::Arc<W>;
  using State = fst::State<W>;

  Automaton(const W& zero, const W& one) : zero_(zero), one_(one) {}
  Automaton(const Automaton& other);  // an exact copy without gaps
  Automaton(Automaton&& other) noexcept;
  Automaton& operator=(Automaton&& other) noexcept;
  Automaton& operator=(const Automaton&) = delete;
  ~Automaton();

  // An automaton in memory that somebody else owns. The arrays must have been checked.
  static Automaton mapped(const W& zero, const W& one, std::int32_t start, std::span<const State> states,
                          std::span<const Arc> arcs, std::shared_ptr<void> owner);
  // An automaton from its arrays: the arcs of state after state, without gaps. Counts of epsilons are made here.
  static Automaton assembled(const W& zero, const W& one, std::int32_t start, std::vector<State> states,
                             std::vector<Arc> arcs);
  // The same with the counts in place.
  static Automaton counted(const W& zero, const W& one, std::int32_t start, std::vector<State> states,
                           std::vector<Arc> arcs);

  // ---- reading
  const W& zero() const { return zero_; }
  const W& one() const { return one_; }
  std::int32_t start() const { return start_; }
  std::int32_t states() const { return static_cast<std::int32_t>(count_); }
  std::size_t arcs() const { return used_; }
  bool is_mapped() const { return owner_ != nullptr; }
  const State& state(std::int32_t s) const { return state_data_[s]; }
  std::span<const Arc> arcs(std::int32_t s) const { return {arc_data_ + state_data_[s].pos, state_data_[s].narcs}; }
  const Arc* arc_array() const { return arc_data_; }
  const Weight& final(std::int32_t s) const { return state_data_[s].final; }
  bool is_final(std::int32_t s) const { return !Values<W>::equal(state_data_[s].final, zero_); }
  // Neither zero nor one?
  bool is_weight(const W& w) const { return !Values<W>::equal(w, one_) && !Values<W>::equal(w, zero_); }
  std::size_t memory() const {
    return states_.capacity() * sizeof(State) + room_.capacity() * 4 + arcs_.capacity() * sizeof(Arc);
  }

  // Property bits that are known (properties.h), and those of the file it came from, which are not believed but written
  // again. Several threads may ask one machine at the same time.
  std::uint64_t known() const { return std::atomic_ref(known_).load(std::memory_order_relaxed); }
  void know(std::uint64_t bits) const { std::atomic_ref(known_).fetch_or(bits, std::memory_order_relaxed); }
  std::uint64_t header() const { return header_; }
  void set_header(std::uint64_t bits) { header_ = bits; }

  // ---- building; everything known is forgotten
  void set_start(std::int32_t s);
  std::int32_t add_state();
  std::int32_t add_state(const W& final);
  void add_states(std::size_t n);
  void set_final(std::int32_t s, const W& weight) {
    change();
    states_[s].final = weight;
  }
  void add_arc(std::int32_t s, const Arc& arc);
  // The arcs of a state, to be changed in place; call recount(s) if labels became or ceased to be epsilon.
  std::span<Arc> edit(std::int32_t s) {
    change();
    return {arcs_.data() + states_[s].pos, states_[s].narcs};
  }
  void recount(std::int32_t s);
  // Keeps the first n arcs of a state.
  void truncate(std::int32_t s, std::size_t n);
  // Keeps the states of the mask [N] and renumbers them in order; arcs to others go too.
  void keep(std::span<const std::uint8_t> mask);
  void clear();
  void reserve(std::size_t states, std::size_t arcs);

 private:
  void point();
  void find_tail();
  void change() {
    if (owner_) [[unlikely]]
      own();
    known_ = header_ = 0;
  }
  void own();
  // Without gaps and with the stretches in the order of the states, rooms need no array: every stretch is full.
  std::uint32_t room(std::int32_t s) const { return room_.empty() ? states_[s].narcs : room_[s]; }
  void keep_rooms();
  void move_to_end(std::int32_t s);
  void relocate(std::int32_t s, std::size_t wanted);
  void compact();

  W zero_, one_;
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
#define X(W) extern template class Automaton<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

template <class S>
class Machine : public Automaton<typename S::Weight> {
 public:
  using Semiring = S;
  using Weight = typename S::Weight;
  using Bare = Automaton<Weight>;
  using typename Bare::Arc, typename Bare::State;

  explicit Machine(S semiring = {}) : Bare(semiring.zero(), semiring.one()), semiring_(std::move(semiring)) {}
  Machine(S semiring, Bare&& automaton) : Bare(std::move(automaton)), semiring_(std::move(semiring)) {}

  // As those of Automaton.
  static Machine mapped(S semiring, std::int32_t start, std::span<const State> states, std::span<const Arc> arcs,
                        std::shared_ptr<void> owner) {
    return {std::move(semiring), Bare::mapped(S::zero(), S::one(), start, states, arcs, std::move(owner))};
  }
  static Machine assembled(S semiring, std::int32_t start, std::vector<State> states, std::vector<Arc> arcs) {
    return {std::move(semiring), Bare::assembled(S::zero(), S::one(), start, std::move(states), std::move(arcs))};
  }
  static Machine counted(S semiring, std::int32_t start, std::vector<State> states, std::vector<Arc> arcs) {
    return {std::move(semiring), Bare::counted(S::zero(), S::one(), start, std::move(states), std::move(arcs))};
  }

  const S& semiring() const { return semiring_; }
  void set_semiring(S semiring) { semiring_ = std::move(semiring); }
  const Bare& bare() const { return *this; }
  // With a zero that the compiler knows.
  bool is_final(std::int32_t s) const { return !S::equal(this->final(s), S::zero()); }

 private:
  [[no_unique_address]] S semiring_;
};

// The arrays of an automaton, made state by state: open a state, push its arcs, open the next.
template <class W>
class Assembly {
 public:
  using Arc = fst::Arc<W>;
  std::int32_t open(const W& final) {
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
  void reserve(std::size_t states, std::size_t arcs);
  void clear() {
    states_.clear();
    arcs_.clear();
  }
  std::int32_t states() const { return static_cast<std::int32_t>(states_.size()); }
  std::size_t arcs() const { return arcs_.size(); }
  // Of the state that is open.
  std::span<Arc> open_arcs() { return {arcs_.data() + states_.back().pos, states_.back().narcs}; }
  const State<W>& open_state() const { return states_.back(); }
  // The arcs made last, from a number of arcs() on.
  std::span<Arc> arcs_from(std::size_t first) { return std::span(arcs_).subspan(first); }
  // Replaces every next state.
  template <class F>
  void redirect(F f) {
    for (Arc& arc : arcs_) arc.nextstate = f(arc.nextstate);
  }
  // The automaton, with zero and one of another.
  Automaton<W> finish(const Automaton<W>& like, std::int32_t start) { return finish(like.zero(), like.one(), start); }
  Automaton<W> finish(const W& zero, const W& one, std::int32_t start);

 private:
  std::vector<State<W>> states_;
  std::vector<Arc> arcs_;
};
#define X(W) extern template class Assembly<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

// Makes a machine in the same way.
template <class S>
class Builder : public Assembly<typename S::Weight> {
 public:
  explicit Builder(const S& semiring) : semiring_(semiring) {}
  Machine<S> finish(std::int32_t start) {
    return {semiring_, Assembly<typename S::Weight>::finish(S::zero(), S::one(), start)};
  }

 private:
  [[no_unique_address]] S semiring_;
};

}  // namespace textmill::fst
