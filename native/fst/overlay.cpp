#include "fst/overlay.h"

#include "base/flat_table.h"
#include "fst/properties.h"

namespace textmill::fst {

template <class W>
bool Edits<W>::sorted(bool output) const {
  const auto before = [output](const Arc<W>& a, const Arc<W>& b) {
    return output ? a.olabel < b.olabel : a.ilabel < b.ilabel;
  };
  for (std::int32_t s = 0; s < edited_.states(); ++s)
    if (!std::ranges::is_sorted(edited_.arcs(s), before)) return false;
  return true;
}

template <class W>
std::int32_t Edits<W>::add_state() {
  if (static_cast<std::size_t>(states_) >= kMostStates) fail("a machine has at most 2,147,483,647 states");
  where_.add(base::key_of(states_), edited_.add_state());
  return states_++;
}

template <class W>
std::int32_t Edits<W>::own(std::int32_t s) {
  const auto [at, added] = where_.add(base::key_of(s), edited_.states());
  if (added) {
    edited_.add_state(base_->final(s));
    for (const auto& arc : base_->arcs(s)) edited_.add_arc(at, arc);
  }
  return at;
}

template <class W>
void Edits<W>::set_arc(std::int32_t s, std::size_t position, const Arc<W>& arc) {
  const std::int32_t at = own(s);
  edited_.edit(at)[position] = arc;
  edited_.recount(at);
}

template <class W>
void Edits<W>::truncate(std::int32_t s, std::size_t n) {
  const std::int32_t at = own(s);
  const std::size_t had = edited_.arcs(at).size();
  edited_.truncate(at, n);
  arcs_ -= had - n;
}

template <class W>
Automaton<W> Edits<W>::merged() const {
  Assembly<W> out;
  out.reserve(static_cast<std::size_t>(states_), arcs_);
  for (std::int32_t s = 0; s < states_; ++s) {
    out.open(final(s));
    for (const auto& arc : arcs(s)) out.push(arc);
  }
  return out.finish(*base_, start_);
}

namespace {

template <class W>
class Edited final : public Lazy<W> {
 public:
  Edited(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const Edits<W>> edits)
      : Lazy<W>(std::move(ring)), edits_(std::move(edits)) {
    const std::uint64_t has = properties(edits_->base(), property::ilabel_sorted | property::not_ilabel_sorted |
                                                             property::olabel_sorted | property::not_olabel_sorted);
    this->set_sorted((has & property::ilabel_sorted) && edits_->sorted(false),
                     (has & property::olabel_sorted) && edits_->sorted(true));
  }
  std::int32_t start() override { return edits_->start(); }
  View<W> state(std::int32_t s) override { return {edits_->state(s), edits_->arcs(s).data()}; }
  W final(std::int32_t s) override { return edits_->final(s); }
  void write(std::int32_t s, Assembly<W>& out) override {
    out.open(edits_->final(s));
    for (const auto& arc : edits_->arcs(s)) out.push(arc);
  }
  std::int32_t known() override { return edits_->states(); }
  CacheFacts facts() override {
    CacheFacts facts;
    facts.states = static_cast<std::size_t>(edits_->states());
    return facts;
  }

 private:
  std::shared_ptr<const Edits<W>> edits_;
};

}  // namespace

template <class W>
LazyPointer<W> lazy_edited(std::shared_ptr<const Ring<W>> ring, std::shared_ptr<const Edits<W>> edits) {
  return std::make_shared<Edited<W>>(std::move(ring), std::move(edits));
}

#define X(W)               \
  template class Edits<W>; \
  template LazyPointer<W> lazy_edited(std::shared_ptr<const Ring<W>>, std::shared_ptr<const Edits<W>>);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
