#include "fst/lazy.h"

#include <typeinfo>

#include "fst/distance.h"
#include "fst/properties.h"

namespace textmill::fst {
namespace {

template <class S>
class RingOf final : public Ring<typename S::Weight> {
 public:
  using W = typename S::Weight;
  explicit RingOf(const S& k) : k_(k) {
    this->zero_ = k.zero();
    this->one_ = k.one();
    this->left_ = k.left();
    this->right_ = k.right();
    this->commutative_ = k.commutative();
    this->idempotent_ = k.idempotent();
    this->path_ = k.path();
  }
  std::string name() const override { return std::string(k_.name()); }
  bool member(const W& a) const override { return k_.member(a); }
  W plus(const W& a, const W& b) const override { return k_.plus(a, b); }
  W times(const W& a, const W& b) const override { return k_.times(a, b); }
  W divide(const W& a, const W& b, Side side) const override { return k_.divide(a, b, side); }
  W quantize(const W& a, double delta) const override { return k_.quantize(a, delta); }
  bool approx(const W& a, const W& b, double delta) const override { return k_.approx(a, b, delta); }
  bool less(const W& a, const W& b) const override { return k_.less(a, b); }
  W add(W sum, std::span<const Arc<W>> arcs) const override {
    for (const auto& arc : arcs) sum = k_.plus(sum, arc.weight);
    return sum;
  }
  std::vector<W> distances(Automaton<W>&& machine) const override {
    return fst::distances(Machine<S>(k_, std::move(machine)), false);
  }
  bool same(const Ring<W>& other) const override {
    if (typeid(other) != typeid(*this)) return false;
    if constexpr (std::same_as<S, Dynamic>) return static_cast<const RingOf&>(other).k_.algebra == k_.algebra;
    return true;
  }

 private:
  [[no_unique_address]] S k_;
};

template <class W>
class BareRing final : public Ring<W> {
 public:
  explicit BareRing(const Automaton<W>& machine) {
    this->zero_ = machine.zero();
    this->one_ = machine.one();
    this->left_ = this->right_ = this->commutative_ = this->idempotent_ = this->path_ = false;
  }
  std::string name() const override { return "unknown"; }
  bool member(const W&) const override { refuse(); }
  W plus(const W&, const W&) const override { refuse(); }
  W times(const W&, const W&) const override { refuse(); }
  W divide(const W&, const W&, Side) const override { refuse(); }
  W quantize(const W&, double) const override { refuse(); }
  bool approx(const W&, const W&, double) const override { refuse(); }
  bool less(const W&, const W&) const override { refuse(); }
  W add(W, std::span<const Arc<W>>) const override { refuse(); }
  std::vector<W> distances(Automaton<W>&&) const override { refuse(); }
  bool same(const Ring<W>& other) const override { return typeid(other) == typeid(*this); }

 private:
  [[noreturn]] static void refuse() { fail("weights of an unknown semiring cannot be calculated with"); }
};

}  // namespace

template <class W>
std::shared_ptr<const Ring<W>> bare_ring(const Automaton<W>& machine) {
  return std::make_shared<BareRing<W>>(machine);
}

template <class S>
std::shared_ptr<const Ring<typename S::Weight>> ring_of(const S& semiring) {
  return std::make_shared<RingOf<S>>(semiring);
}

template <class W>
Leaf<W>::Leaf(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const Automaton<W>> machine)
    : Lazy<W>(std::move(ring)), machine_(std::move(machine)) {
  const std::uint64_t has = properties(*machine_, property::ilabel_sorted | property::not_ilabel_sorted |
                                                      property::olabel_sorted | property::not_olabel_sorted);
  this->set_sorted(has & property::ilabel_sorted, has & property::olabel_sorted);
}

template <class W>
void Leaf<W>::write(std::int32_t s, Assembly<W>& out) {
  out.open(machine_->final(s));
  for (const auto& arc : machine_->arcs(s)) out.push(arc);
}

template <class W>
CacheFacts Leaf<W>::facts() {
  CacheFacts facts;
  facts.states = static_cast<std::size_t>(machine_->states());
  return facts;
}

template <class W>
Cached<W>::~Cached() {
  for (Written<W>* block : blocks_)
    if (block) block->drop();
}

template <class W>
std::int32_t Cached<W>::start() {
  const std::lock_guard lock(mutex_);
  if (!started_) {
    start_ = compute_start();
    started_ = true;
  }
  return start_;
}

template <class W>
View<W> Cached<W>::state(std::int32_t s) {
  const std::lock_guard lock(mutex_);
  if (static_cast<std::size_t>(s) < blocks_.size() && blocks_[s]) {
    ++facts_.hits;
    blocks_[s]->recent = true;
    return View<W>(blocks_[s]);
  }
  Assembly<W> made = std::move(spare_);  // a machine that Python defines may ask for itself meanwhile
  made.clear();
  compute(s, made);
  ++facts_.computed;
  View<W> view(keep(s, made));
  spare_ = std::move(made);
  return view;
}

template <class W>
W Cached<W>::final(std::int32_t s) {
  return state(s).final;
}

template <class W>
void Cached<W>::write(std::int32_t s, Assembly<W>& out) {
  const std::lock_guard lock(mutex_);
  if (static_cast<std::size_t>(s) < blocks_.size() && blocks_[s]) {
    ++facts_.hits;
    out.open(blocks_[s]->final);
    for (const auto& arc : std::span(blocks_[s]->arcs(), blocks_[s]->narcs)) out.push(arc);
    return;
  }
  compute(s, out);
  ++facts_.computed;
}

template <class W>
std::int32_t Cached<W>::known() {
  const std::lock_guard lock(mutex_);
  return count();
}

template <class W>
CacheFacts Cached<W>::facts() {
  const std::lock_guard lock(mutex_);
  CacheFacts facts = facts_;
  facts.states = static_cast<std::size_t>(count());
  facts.cached = order_.size();
  return facts;
}

template <class W>
Written<W>* Cached<W>::keep(std::int32_t s, Assembly<W>& made) {
  const auto arcs = made.open_arcs();
  const State<W>& state = made.open_state();
  auto* block = new (::operator new(sizeof(Written<W>) + arcs.size() * sizeof(Arc<W>)))
      Written<W>{{1}, state.narcs, state.niepsilons, state.noepsilons, true, state.final};
  std::uninitialized_copy(arcs.begin(), arcs.end(), block->arcs());
  if (blocks_.size() <= static_cast<std::size_t>(s))
    blocks_.resize(std::max<std::size_t>(static_cast<std::size_t>(s) + 1, blocks_.size() * 2), nullptr);
  if (blocks_[s]) {  // computed meanwhile
    facts_.bytes -= blocks_[s]->bytes();
    blocks_[s]->drop();
  } else {
    order_.push_back(s);
  }
  blocks_[s] = block;
  facts_.bytes += block->bytes();
  facts_.most_bytes = std::max(facts_.most_bytes, facts_.bytes);
  if (facts_.bytes > limit_) collect(s);
  return block;
}

template <class W>
void Cached<W>::collect(std::int32_t spared) {
  std::size_t looks = 2 * order_.size();
  while (facts_.bytes > limit_ / 3 * 2 && looks-- > 0) {
    const std::int32_t s = order_.front();
    order_.pop_front();
    Written<W>* block = blocks_[s];
    if (s == spared || block->recent || block->holders.load(std::memory_order_relaxed) > 1) {
      block->recent = false;
      order_.push_back(s);
      continue;
    }
    facts_.bytes -= block->bytes();
    ++facts_.dropped;
    blocks_[s] = nullptr;
    block->drop();
  }
}

template <class W>
Automaton<W> expand(Lazy<W>& lazy, std::size_t most_states) {
  const W zero = lazy.ring().zero(), one = lazy.ring().one();
  const std::int32_t start = lazy.start();
  if (start == kNoState) return Automaton<W>(zero, one);
  Assembly<W> out;
  std::vector<std::int32_t> number, order{start};
  const auto of = [&](std::int32_t s) {
    if (number.size() <= static_cast<std::size_t>(s))
      number.resize(std::max<std::size_t>(static_cast<std::size_t>(s) + 1, number.size() * 2), kNoState);
    if (number[s] == kNoState) {
      number[s] = static_cast<std::int32_t>(order.size());
      order.push_back(s);
    }
    return number[s];
  };
  number.resize(static_cast<std::size_t>(start) + 1, kNoState);
  number[start] = 0;
  for (std::size_t q = 0; q < order.size(); ++q) {
    if (order.size() > most_states)
      fail("the machine has more than ", most_states, " states; raise max_states, or search it without writing it out");
    const std::size_t first = out.arcs();
    lazy.write(order[q], out);
    for (auto& arc : out.arcs_from(first)) arc.nextstate = of(arc.nextstate);
  }
  return out.finish(zero, one, 0);
}

#define X(S) template std::shared_ptr<const Ring<S::Weight>> ring_of(const S&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X
#define X(W)                                                              \
  template class Leaf<W>;                                                 \
  template class Cached<W>;                                               \
  template std::shared_ptr<const Ring<W>> bare_ring(const Automaton<W>&); \
  template Automaton<W> expand(Lazy<W>&, std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
