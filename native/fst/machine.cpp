#include "fst/machine.h"

namespace textmill::fst {

template <class W>
Automaton<W>::Automaton(const Automaton& other)
    : zero_(other.zero_),
      one_(other.one_),
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

template <class W>
Automaton<W>::Automaton(Automaton&& other) noexcept : Automaton(other.zero_, other.one_) {
  *this = std::move(other);
}

template <class W>
Automaton<W>& Automaton<W>::operator=(Automaton&& other) noexcept {
  if (this == &other) return *this;
  zero_ = other.zero_;
  one_ = other.one_;
  start_ = other.start_;
  used_ = other.used_;
  known_ = other.known();
  header_ = other.header_;
  tail_ = other.tail_;
  states_ = std::move(other.states_);
  room_ = std::move(other.room_);
  arcs_ = std::move(other.arcs_);
  owner_ = std::move(other.owner_);
  state_data_ = other.state_data_;
  arc_data_ = other.arc_data_;
  count_ = other.count_;
  if (!owner_) point();
  other.clear();
  return *this;
}

template <class W>
Automaton<W>::~Automaton() = default;

template <class W>
Automaton<W> Automaton<W>::mapped(const W& zero, const W& one, std::int32_t start, std::span<const State> states,
                                  std::span<const Arc> arcs, std::shared_ptr<void> owner) {
  Automaton out(zero, one);
  out.start_ = start;
  out.state_data_ = states.data();
  out.count_ = states.size();
  out.arc_data_ = arcs.data();
  out.used_ = arcs.size();
  out.owner_ = std::move(owner);
  return out;
}

template <class W>
Automaton<W> Automaton<W>::assembled(const W& zero, const W& one, std::int32_t start, std::vector<State> states,
                                     std::vector<Arc> arcs) {
  Automaton out = counted(zero, one, start, std::move(states), std::move(arcs));
  for (std::int32_t s = 0; s < out.states(); ++s) out.recount(s);
  return out;
}

template <class W>
Automaton<W> Automaton<W>::counted(const W& zero, const W& one, std::int32_t start, std::vector<State> states,
                                   std::vector<Arc> arcs) {
  if (states.size() > kMostStates || arcs.size() > kMostArcs)
    fail("a machine has at most 2,147,483,647 states and 4,294,967,295 arcs");
  Automaton out(zero, one);
  out.start_ = start;
  out.states_ = std::move(states);
  out.arcs_ = std::move(arcs);
  out.used_ = out.arcs_.size();
  out.point();
  out.find_tail();
  return out;
}

template <class W>
void Automaton<W>::set_start(std::int32_t s) {
  change();
  start_ = s;
}

template <class W>
std::int32_t Automaton<W>::add_state() {
  return add_state(zero_);
}

template <class W>
std::int32_t Automaton<W>::add_state(const W& final) {
  change();
  if (count_ >= kMostStates) fail("a machine has at most 2,147,483,647 states");
  states_.push_back({final, static_cast<std::uint32_t>(arcs_.size()), 0, 0, 0});
  if (!room_.empty()) room_.push_back(0);
  ++count_;
  state_data_ = states_.data();
  return static_cast<std::int32_t>(count_ - 1);
}

template <class W>
void Automaton<W>::add_states(std::size_t n) {
  change();
  if (n > kMostStates - count_) fail("a machine has at most 2,147,483,647 states");
  states_.resize(count_ + n, {zero_, static_cast<std::uint32_t>(arcs_.size()), 0, 0, 0});
  if (!room_.empty()) room_.resize(count_ + n, 0);
  point();
}

template <class W>
void Automaton<W>::add_arc(std::int32_t s, const Arc& arc) {
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

template <class W>
void Automaton<W>::recount(std::int32_t s) {
  State& state = states_[s];
  state.niepsilons = state.noepsilons = 0;
  for (const Arc& arc : edit(s)) {
    state.niepsilons += arc.ilabel == 0;
    state.noepsilons += arc.olabel == 0;
  }
}

template <class W>
void Automaton<W>::truncate(std::int32_t s, std::size_t n) {
  change();
  keep_rooms();
  used_ -= states_[s].narcs - n;
  states_[s].narcs = static_cast<std::uint32_t>(n);
  recount(s);
}

template <class W>
void Automaton<W>::keep(std::span<const std::uint8_t> mask) {
  change();
  compact();  // now stretches lie in the order of the states: close up in place
  std::vector<std::int32_t> number(count_, kNoState);
  std::int32_t kept = 0;
  for (std::size_t s = 0; s < count_; ++s)
    if (mask[s]) number[s] = kept++;
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
}

template <class W>
void Automaton<W>::clear() {
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

template <class W>
void Automaton<W>::reserve(std::size_t states, std::size_t arcs) {
  change();
  states_.reserve(states);
  arcs_.reserve(arcs);
  point();
}

template <class W>
void Automaton<W>::point() {
  state_data_ = states_.data();
  arc_data_ = arcs_.data();
  count_ = states_.size();
}

template <class W>
void Automaton<W>::find_tail() {
  tail_ = states() - 1;
  while (tail_ >= 0 && states_[tail_].narcs == 0) --tail_;
}

template <class W>
void Automaton<W>::own() {
  Automaton copy(*this);
  *this = std::move(copy);
}

template <class W>
void Automaton<W>::keep_rooms() {
  if (!room_.empty()) return;
  room_.reserve(states_.capacity());
  for (const State& state : states_) room_.push_back(state.narcs);
}

template <class W>
void Automaton<W>::move_to_end(std::int32_t s) {
  keep_rooms();
  if (arcs_.size() > 2 * used_ + 1024) {
    compact();
    keep_rooms();
  }
  relocate(s, std::size_t{room_[s]} * 2 + 2);
}

template <class W>
void Automaton<W>::relocate(std::int32_t s, std::size_t wanted) {
  if (arcs_.size() + wanted > kMostArcs) fail("a machine has at most 4,294,967,295 arcs");
  State& state = states_[s];
  const std::size_t pos = arcs_.size();
  arcs_.resize(pos + wanted);
  std::copy_n(arcs_.data() + state.pos, state.narcs, arcs_.data() + pos);
  state.pos = static_cast<std::uint32_t>(pos);
  room_[s] = static_cast<std::uint32_t>(wanted);
  point();
}

template <class W>
void Automaton<W>::compact() {
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

template <class W>
void Assembly<W>::reserve(std::size_t states, std::size_t arcs) {
  states_.reserve(states);
  arcs_.reserve(arcs);
}

template <class W>
Automaton<W> Assembly<W>::finish(const W& zero, const W& one, std::int32_t start) {
  return Automaton<W>::counted(zero, one, start, std::move(states_), std::move(arcs_));
}

#define X(W)                   \
  template class Automaton<W>; \
  template class Assembly<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
