// Changes of a machine that lie beside it: the machine, which may be mapped from a file, stays as it is.
//
// A state that is changed gets a copy among the edits, a new state lies only there; all others are read where they are.
// A change costs O(arcs of its state), reading one question more per state, and nothing is copied but what is changed.
#pragma once

#include <memory>

#include "base/flat_table.h"
#include "fst/lazy.h"

namespace textmill::fst {

template <class W>
class Edits {
 public:
  explicit Edits(std::shared_ptr<const Automaton<W>> base)
      : base_(std::move(base)),
        edited_(base_->zero(), base_->one()),
        start_(base_->start()),
        states_(base_->states()),
        arcs_(base_->arcs()) {}

  const Automaton<W>& base() const { return *base_; }
  std::int32_t start() const { return start_; }
  std::int32_t states() const { return states_; }
  std::size_t arcs() const { return arcs_; }
  std::size_t changed() const { return where_.size(); }  // states among the edits
  std::size_t memory() const { return edited_.memory() + where_.memory(); }
  const State<W>& state(std::int32_t s) const {
    const std::int32_t at = find(s);
    return at == kNoState ? base_->state(s) : edited_.state(at);
  }
  std::span<const Arc<W>> arcs(std::int32_t s) const {
    const std::int32_t at = find(s);
    return at == kNoState ? base_->arcs(s) : edited_.arcs(at);
  }
  const W& final(std::int32_t s) const { return state(s).final; }
  // Are the arcs of all edited states sorted?
  bool sorted(bool output) const;

  void set_start(std::int32_t s) { start_ = s; }
  std::int32_t add_state();
  void set_final(std::int32_t s, const W& weight) { edited_.set_final(own(s), weight); }
  void add_arc(std::int32_t s, const Arc<W>& arc) {
    edited_.add_arc(own(s), arc);
    ++arcs_;
  }
  void set_arc(std::int32_t s, std::size_t position, const Arc<W>& arc);
  void truncate(std::int32_t s, std::size_t n);
  // One machine of both.
  Automaton<W> merged() const;

 private:
  std::int32_t find(std::int32_t s) const { return where_.find(base::key_of(s), kNoState); }
  // The number of a state among the edits; it is copied there if need be.
  std::int32_t own(std::int32_t s);

  std::shared_ptr<const Automaton<W>> base_;
  Automaton<W> edited_;
  base::FlatTable<std::int32_t> where_;
  std::int32_t start_, states_;
  std::size_t arcs_;
};

template <class W>
LazyPointer<W> lazy_edited(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const Edits<W>> edits);

#define X(W) extern template class Edits<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
