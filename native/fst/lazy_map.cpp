#include "fst/lazy_map.h"

#include <algorithm>

namespace textmill::fst {
namespace {

template <class V>
class Local final : public Cached<V> {
 public:
  Local(std::shared_ptr<const Ring<V>> ring, LocalOperation<V> operation, std::size_t limit)
      : Cached<V>(std::move(ring), limit), operation_(std::move(operation)) {}

 protected:
  std::int32_t compute_start() override {
    const std::int32_t start = operation_.start();
    return start == kNoState ? kNoState : start + 1;
  }
  std::int32_t count() override { return operation_.known() + 1; }
  void compute(std::int32_t q, Assembly<V>& out) override {
    if (q == 0) {
      out.open(this->ring().one());
      return;
    }
    const Window<V> made = operation_.apply(q - 1);
    out.open(made.machine.final(0));
    for (auto arc : made.machine.arcs(0)) {
      const auto at = static_cast<std::size_t>(arc.nextstate);
      arc.nextstate = at == 0 || at > made.next.size() ? 0 : made.next[at - 1] + 1;
      out.push(arc);
    }
  }

 private:
  LocalOperation<V> operation_;
};

template <class W>
class Decoded final : public Cached<W> {
 public:
  Decoded(LazyPointer<W> a, std::shared_ptr<const Codes<W>> codes, std::shared_ptr<std::mutex> turn, std::size_t limit)
      : Cached<W>(a->ring_pointer(), limit), a_(std::move(a)), codes_(std::move(codes)), turn_(std::move(turn)) {}

 protected:
  std::int32_t compute_start() override { return a_->start(); }
  std::int32_t count() override { return a_->known(); }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const Ring<W>& k = this->ring();
    const View<W> state = a_->state(q);
    std::vector<fst::Arc<W>> arcs;
    {
      const std::lock_guard lock(*turn_);
      for (const auto& arc : state) arcs.push_back(decoded(k, *codes_, arc, q));
    }
    W final = state.final;
    if (codes_->weights()) {
      std::erase_if(arcs, [&](const auto& arc) {
        if (arc.ilabel != 0 || arc.olabel != 0) return false;
        const View<W> next = a_->state(arc.nextstate);
        if (k.equal(next.final, k.zero()) || !next.arcs().empty()) return false;
        final = k.plus(final, k.times(arc.weight, next.final));
        return true;
      });
    }
    out.open(final);
    for (const auto& arc : arcs) out.push(arc);
  }

 private:
  LazyPointer<W> a_;
  std::shared_ptr<const Codes<W>> codes_;
  std::shared_ptr<std::mutex> turn_;
};

}  // namespace

template <class W>
LazyPointer<W> lazy_decode(LazyPointer<W> a, std::shared_ptr<const Codes<W>> codes, std::shared_ptr<std::mutex> turn,
                           std::size_t limit) {
  return std::make_shared<Decoded<W>>(std::move(a), std::move(codes), std::move(turn), limit);
}

template <class V>
LazyPointer<V> lazy_local(std::shared_ptr<const Ring<V>> ring, LocalOperation<V> operation, std::size_t limit) {
  return std::make_shared<Local<V>>(std::move(ring), std::move(operation), limit);
}

template <class W>
Window<W> window_of(Lazy<W>& a, std::int32_t s) {
  const View<W> state = a.state(s);
  std::vector<std::int32_t> next;
  for (const auto& arc : state) next.push_back(arc.nextstate);
  std::ranges::sort(next);
  next.erase(std::unique(next.begin(), next.end()), next.end());
  Assembly<W> out;
  out.open(state.final);
  for (auto arc : state) {
    arc.nextstate = static_cast<std::int32_t>(std::ranges::lower_bound(next, arc.nextstate) - next.begin()) + 1;
    out.push(arc);
  }
  const Ring<W>& k = a.ring();
  for (std::size_t i = 0; i < next.size(); ++i) out.open(k.zero());
  return {out.finish(k.zero(), k.one(), 0), std::move(next)};
}

#define X(W)                                                                                                        \
  template LazyPointer<W> lazy_local(std::shared_ptr<const Ring<W>>, LocalOperation<W>, std::size_t);               \
  template Window<W> window_of(Lazy<W>&, std::int32_t);                                                             \
  template LazyPointer<W> lazy_decode(LazyPointer<W>, std::shared_ptr<const Codes<W>>, std::shared_ptr<std::mutex>, \
                                      std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
