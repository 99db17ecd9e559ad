// Machines whose states are written out when somebody asks for them.
//
//   Ring<W>     what can be computed with weights of type W, whatever their semiring: so lazy machines are compiled once
//               for each type of weight, and a product costs one indirect call
//   Lazy<W>     start, final weight and arcs of a state by its number; numbers are given as states are met
//   Leaf<W>     a machine that is there, as a lazy one
//   Cached<W>   the base of all others: a state is computed when it is asked for and kept while there is room
//
// A state that is handed out (View) stays where it is as long as it is held, whatever becomes of the cache. Beyond its
// limit the cache lets go of the states that were not asked for since it last looked at them (second chance), oldest
// first, until a third is free; what it let go is computed again, with the same numbers, because the tables of the
// numbers are kept. Any number of threads may ask; each machine answers one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fst/machine.h"

namespace textmill::fst {

template <class W>
class Ring {
 public:
  using Weight = W;
  virtual ~Ring() = default;
  const W& zero() const { return zero_; }
  const W& one() const { return one_; }
  bool left() const { return left_; }
  bool right() const { return right_; }
  bool commutative() const { return commutative_; }
  bool idempotent() const { return idempotent_; }
  bool path() const { return path_; }
  static bool equal(const W& a, const W& b) { return Values<W>::equal(a, b); }
  static std::uint64_t hash(const W& a) { return Values<W>::hash(a); }
  virtual std::string name() const = 0;
  virtual bool member(const W& a) const = 0;
  virtual W plus(const W& a, const W& b) const = 0;
  virtual W times(const W& a, const W& b) const = 0;
  virtual W divide(const W& a, const W& b, Side side) const = 0;
  virtual W quantize(const W& a, double delta) const = 0;
  virtual bool approx(const W& a, const W& b, double delta) const = 0;
  virtual bool less(const W& a, const W& b) const = 0;
  // sum plus the weights of the arcs
  virtual W add(W sum, std::span<const Arc<W>> arcs) const = 0;
  // [N] sums over all paths from the start, from which all states can be reached
  virtual std::vector<W> distances(Automaton<W>&& machine) const = 0;
  // The same semiring?
  virtual bool same(const Ring& other) const = 0;

 protected:
  W zero_, one_;
  bool left_, right_, commutative_, idempotent_, path_;
};
template <class W>
inline constexpr bool may_have_order<Ring<W>> = true;

template <class S>
std::shared_ptr<const Ring<typename S::Weight>> ring_of(const S& semiring);

// That of a machine whose semiring is not known: zero and one, and faults if anything is computed.
template <class W>
std::shared_ptr<const Ring<W>> bare_ring(const Automaton<W>& machine);

// A state in memory; its arcs lie behind it.
template <class W>
struct Written {
  std::atomic<std::uint32_t> holders;
  std::uint32_t narcs, niepsilons, noepsilons;
  bool recent;
  W final;
  fst::Arc<W>* arcs() { return reinterpret_cast<fst::Arc<W>*>(this + 1); }
  std::size_t bytes() const { return sizeof(Written) + narcs * sizeof(fst::Arc<W>); }
  void drop() {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      this->~Written();
      ::operator delete(this);
    }
  }
};

template <class W>
class View {
 public:
  View(const State<W>& state, const Arc<W>* arcs)
      : final(state.final), niepsilons(state.niepsilons), noepsilons(state.noepsilons), arcs_(arcs), n_(state.narcs) {}
  explicit View(Written<W>* block)
      : final(block->final),
        niepsilons(block->niepsilons),
        noepsilons(block->noepsilons),
        arcs_(block->arcs()),
        n_(block->narcs),
        block_(block) {
    block->holders.fetch_add(1, std::memory_order_relaxed);
  }
  View(View&& other) noexcept
      : final(other.final),
        niepsilons(other.niepsilons),
        noepsilons(other.noepsilons),
        arcs_(other.arcs_),
        n_(other.n_),
        block_(std::exchange(other.block_, nullptr)) {}
  View(const View&) = delete;
  View& operator=(View other) noexcept {
    final = other.final;
    niepsilons = other.niepsilons;
    noepsilons = other.noepsilons;
    arcs_ = other.arcs_;
    n_ = other.n_;
    std::swap(block_, other.block_);
    return *this;
  }
  ~View() {
    if (block_) block_->drop();
  }
  std::span<const Arc<W>> arcs() const { return {arcs_, n_}; }
  const Arc<W>* begin() const { return arcs_; }
  const Arc<W>* end() const { return arcs_ + n_; }

  W final;
  std::uint32_t niepsilons, noepsilons;

 private:
  const Arc<W>* arcs_;
  std::uint32_t n_;
  Written<W>* block_ = nullptr;
};

struct CacheFacts {
  std::size_t states = 0;    // numbers given
  std::size_t computed = 0;  // how often a state was written out, again included
  std::size_t hits = 0;      // how often it was there
  std::size_t dropped = 0;
  std::size_t cached = 0;  // states in the cache
  std::size_t bytes = 0, most_bytes = 0;
};

template <class W>
class Lazy {
 public:
  using Arc = fst::Arc<W>;
  explicit Lazy(std::shared_ptr<const Ring<W>> ring) : ring_(std::move(ring)) {}
  virtual ~Lazy() = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  const Ring<W>& ring() const { return *ring_; }
  const std::shared_ptr<const Ring<W>>& ring_pointer() const { return ring_; }
  virtual std::int32_t start() = 0;
  virtual View<W> state(std::int32_t s) = 0;
  virtual W final(std::int32_t s) = 0;
  // Opens a state at the end of `out` and pushes its arcs.
  virtual void write(std::int32_t s, Assembly<W>& out) = 0;
  // How many states have numbers.
  virtual std::int32_t known() = 0;
  virtual CacheFacts facts() = 0;
  // The machine that it is, if it is there.
  virtual const Automaton<W>* whole() const { return nullptr; }
  bool is_final(std::int32_t s) { return !Values<W>::equal(final(s), ring_->zero()); }
  // Are arcs sorted by input or output labels? False if it is not known.
  bool sorted(bool output) const { return output ? output_sorted_ : input_sorted_; }

 protected:
  void set_sorted(bool input, bool output) {
    input_sorted_ = input;
    output_sorted_ = output;
  }

 private:
  std::shared_ptr<const Ring<W>> ring_;
  bool input_sorted_ = false, output_sorted_ = false;
};
template <class W>
using LazyPointer = std::shared_ptr<Lazy<W>>;

template <class W>
class Leaf final : public Lazy<W> {
 public:
  Leaf(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const Automaton<W>> machine);
  std::int32_t start() override { return machine_->start(); }
  View<W> state(std::int32_t s) override { return {machine_->state(s), machine_->arcs(s).data()}; }
  W final(std::int32_t s) override { return machine_->final(s); }
  void write(std::int32_t s, Assembly<W>& out) override;
  std::int32_t known() override { return machine_->states(); }
  CacheFacts facts() override;
  const Automaton<W>* whole() const override { return machine_.get(); }

 private:
  std::shared_ptr<const Automaton<W>> machine_;
};

// A machine that somebody else keeps.
template <class W>
LazyPointer<W> borrowed(std::shared_ptr<const Ring<W>> ring, const Automaton<W>& machine) {
  return std::make_shared<Leaf<W>>(std::move(ring),
                                   std::shared_ptr<const Automaton<W>>(std::shared_ptr<void>(), &machine));
}

// A lazy machine as code that is written for whole ones reads it.
template <class W>
struct LazySource {
  Lazy<W>* machine;
  View<W> arcs(std::int32_t s) const { return machine->state(s); }
  W final(std::int32_t s) const { return machine->final(s); }
  bool is_final(std::int32_t s) const { return machine->is_final(s); }
  std::int32_t states() const { return machine->known(); }
};

inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

template <class W>
class Cached : public Lazy<W> {
 public:
  // `limit`: bytes that states may take
  Cached(std::shared_ptr<const Ring<W>> ring, std::size_t limit) : Lazy<W>(std::move(ring)), limit_(limit) {}
  ~Cached() override;
  std::int32_t start() final;
  View<W> state(std::int32_t s) final;
  W final(std::int32_t s) override;
  void write(std::int32_t s, Assembly<W>& out) final;
  std::int32_t known() final;
  CacheFacts facts() final;

 protected:
  virtual std::int32_t compute_start() = 0;
  // Opens the state in `out` and pushes its arcs.
  virtual void compute(std::int32_t s, Assembly<W>& out) = 0;
  virtual std::int32_t count() = 0;  // of states that have numbers
  std::recursive_mutex mutex_;

 private:
  Written<W>* keep(std::int32_t s, Assembly<W>& made);
  void collect(std::int32_t spared);

  std::size_t limit_;
  bool started_ = false;
  std::int32_t start_ = kNoState;
  std::vector<Written<W>*> blocks_;  // [states] null if it is not in the cache
  std::deque<std::int32_t> order_;   // states in the cache, as they came
  Assembly<W> spare_;
  CacheFacts facts_;
};

// The whole machine, states in the order in which they are met; a fault beyond `most_states`.
template <class W>
Automaton<W> expand(Lazy<W>& lazy, std::size_t most_states = kMostStates);

#define X(W)                     \
  extern template class Leaf<W>; \
  extern template class Cached<W>;
TEXTMILL_FST_WEIGHTS(X)
#undef X

// ---- operations. `limit`: bytes of the cache of the result.

template <class W>
LazyPointer<W> lazy_unite(std::vector<LazyPointer<W>> parts, std::size_t limit);
template <class W>
LazyPointer<W> lazy_concatenate(std::vector<LazyPointer<W>> parts, std::size_t limit);
template <class W>
LazyPointer<W> lazy_close(LazyPointer<W> a, bool star, std::size_t limit);
template <class W>
LazyPointer<W> lazy_invert(LazyPointer<W> a, std::size_t limit);
template <class W>
LazyPointer<W> lazy_project(LazyPointer<W> a, bool output, std::size_t limit);
// `other_input`: what input labels become that are not in the pairs; without it they stay.
template <class W>
LazyPointer<W> lazy_relabel(LazyPointer<W> a, std::span<const std::pair<std::int32_t, std::int32_t>> input,
                            std::span<const std::pair<std::int32_t, std::int32_t>> output, std::size_t limit,
                            std::int32_t other_input = kNoLabel);
template <class W>
LazyPointer<W> lazy_sort(LazyPointer<W> a, bool output, std::size_t limit);
// What a deterministic acceptor without weights and epsilons does not read leads to a state that takes everything, by
// the label kRest, which stands in front of all others.
inline constexpr std::int32_t kRest = -2;
template <class W>
LazyPointer<W> lazy_complement(LazyPointer<W> a, std::size_t limit);
template <class W>
LazyPointer<W> lazy_remove_epsilons(LazyPointer<W> a, std::size_t limit);

struct DeterminizeOptions;
template <class W>
LazyPointer<W> lazy_determinize(LazyPointer<W> a, const DeterminizeOptions& options, bool transducer,
                                std::size_t limit);

}  // namespace textmill::fst
