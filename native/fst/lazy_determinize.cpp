#include "fst/determinizer.h"
#include "fst/lazy.h"

namespace textmill::fst {
namespace {

// Subset q is state 2 q, an end of outputs i is 2 i + 1.
template <class W>
class Determined final : public Cached<W> {
 public:
  Determined(LazyPointer<W> a, const DeterminizeOptions& options, bool transducer, std::size_t limit)
      : Cached<W>(a->ring_pointer(), limit),
        a_(std::move(a)),
        source_{a_.get()},
        subsets_(source_, a_->ring(), options, transducer) {
    this->set_sorted(!transducer, !transducer);
  }

 protected:
  std::int32_t compute_start() override { return a_->start() == kNoState ? kNoState : 2 * subsets_.begin(a_->start()); }
  std::int32_t count() override {
    const std::size_t most = 2 * std::max(subsets_.subsets(), subsets_.ends());
    if (most > kMostStates) fail("determinization has made more than 1,073,741,823 states");
    return static_cast<std::int32_t>(most);
  }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const std::size_t first = out.arcs();
    q % 2 == 0 ? subsets_.write(static_cast<std::size_t>(q) / 2, out)
               : subsets_.write_end(static_cast<std::size_t>(q) / 2, out);
    for (auto& arc : out.arcs_from(first))
      arc.nextstate = arc.nextstate >= 0 ? 2 * arc.nextstate : 2 * (-2 - arc.nextstate) + 1;
    count();
  }

 private:
  LazyPointer<W> a_;
  LazySource<W> source_;
  Determinizer<Ring<W>, LazySource<W>> subsets_;
};

}  // namespace

template <class W>
LazyPointer<W> lazy_determinize(LazyPointer<W> a, const DeterminizeOptions& options, bool transducer,
                                std::size_t limit) {
  const Ring<W>& k = a->ring();
  if (!k.left())
    fail("determinization needs weights that distribute from the left; those of ", k.name(),
         " do not, reverse the machine first");
  if (transducer && options.outputs == Outputs::best && !k.path())
    fail("keeping the lighter output needs the path property, which ", k.name(), " has not; convert to 'tropical'");
  return std::make_shared<Determined<W>>(std::move(a), options, transducer, limit);
}

#define X(W) template LazyPointer<W> lazy_determinize(LazyPointer<W>, const DeterminizeOptions&, bool, std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
