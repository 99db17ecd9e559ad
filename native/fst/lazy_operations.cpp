// Operations that move arcs about or add up weights behind epsilons, state by state.
#include <algorithm>
#include <tuple>

#include "base/flat_table.h"
#include "fst/lazy.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

// A state of part p of k parts, as a number.
std::int32_t numbered(std::int64_t s, std::int64_t parts, std::int64_t part, std::int64_t first = 0) {
  const std::int64_t number = first + s * parts + part;
  if (number > 0x7FFFFFFE) fail("the lazy machine has states beyond 2,147,483,647");
  return static_cast<std::int32_t>(number);
}

template <class W>
std::shared_ptr<const Ring<W>> ring_of_parts(const std::vector<LazyPointer<W>>& parts) {
  for (const auto& part : parts)
    if (!part->ring().same(parts[0]->ring()))
      fail("the machines have different semirings, ", parts[0]->ring().name(), " and ", part->ring().name(),
           "; convert one of them first");
  return parts[0]->ring_pointer();
}

// 0 is a new start with an epsilon to each part; then the states of the parts, in turn.
template <class W>
class United final : public Cached<W> {
 public:
  United(std::vector<LazyPointer<W>> parts, std::size_t limit)
      : Cached<W>(ring_of_parts(parts), limit), parts_(std::move(parts)) {}

 protected:
  std::int32_t compute_start() override { return 0; }
  std::int32_t count() override {
    std::int32_t most = 0;
    for (const auto& part : parts_) most = std::max(most, part->known());
    return numbered(most, width(), 0, 1);
  }
  void compute(std::int32_t q, Assembly<W>& out) override {
    if (q == 0) {
      out.open(this->ring().zero());
      for (std::int64_t p = 0; p < width(); ++p)
        if (const std::int32_t start = parts_[p]->start(); start != kNoState)
          out.push({0, 0, this->ring().one(), numbered(start, width(), p, 1)});
      return;
    }
    const std::int64_t p = (q - 1) % width();
    const View<W> state = parts_[p]->state(static_cast<std::int32_t>((q - 1) / width()));
    out.open(state.final);
    for (auto arc : state) {
      arc.nextstate = numbered(arc.nextstate, width(), p, 1);
      out.push(arc);
    }
  }

 private:
  std::int64_t width() const { return static_cast<std::int64_t>(parts_.size()); }
  std::vector<LazyPointer<W>> parts_;
};

template <class W>
class Concatenated final : public Cached<W> {
 public:
  Concatenated(std::vector<LazyPointer<W>> parts, std::size_t limit)
      : Cached<W>(ring_of_parts(parts), limit), parts_(std::move(parts)) {}

 protected:
  std::int32_t compute_start() override {
    for (const auto& part : parts_)
      if (part->start() == kNoState) return kNoState;
    return numbered(parts_[0]->start(), width(), 0);
  }
  std::int32_t count() override {
    std::int32_t most = 0;
    for (const auto& part : parts_) most = std::max(most, part->known());
    return numbered(most, width(), 0);
  }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const std::int64_t p = q % width();
    const View<W> state = parts_[p]->state(static_cast<std::int32_t>(q / width()));
    const bool last = p + 1 == width();
    out.open(last ? state.final : this->ring().zero());
    for (auto arc : state) {
      arc.nextstate = numbered(arc.nextstate, width(), p);
      out.push(arc);
    }
    if (!last && !this->ring().equal(state.final, this->ring().zero()))
      out.push({0, 0, state.final, numbered(parts_[p + 1]->start(), width(), p + 1)});
  }

 private:
  std::int64_t width() const { return static_cast<std::int64_t>(parts_.size()); }
  std::vector<LazyPointer<W>> parts_;
};

// A machine whose states are those of another, `shift` numbers higher; those below are new.
template <class W>
class Shifted : public Cached<W> {
 public:
  Shifted(LazyPointer<W> a, std::int32_t shift, std::size_t limit)
      : Cached<W>(a->ring_pointer(), limit), a_(std::move(a)), shift_(shift) {}

 protected:
  std::int32_t compute_start() override { return a_->start() == kNoState ? kNoState : a_->start() + shift_; }
  std::int32_t count() override { return numbered(a_->known(), 1, shift_); }
  LazyPointer<W> a_;
  std::int32_t shift_;
};

template <class W>
class Closed final : public Shifted<W> {
 public:
  Closed(LazyPointer<W> a, bool star, std::size_t limit) : Shifted<W>(std::move(a), 1, limit), star_(star) {}

 protected:
  std::int32_t compute_start() override { return star_ ? 0 : Shifted<W>::compute_start(); }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const Ring<W>& k = this->ring();
    const std::int32_t start = this->a_->start();
    if (q == 0) {
      out.open(k.one());
      if (start != kNoState) out.push({0, 0, k.one(), start + 1});
      return;
    }
    const View<W> state = this->a_->state(q - 1);
    out.open(state.final);
    for (auto arc : state) {
      arc.nextstate = numbered(arc.nextstate, 1, 1);
      out.push(arc);
    }
    if (!k.equal(state.final, k.zero())) out.push({0, 0, state.final, start + 1});
  }

 private:
  bool star_;
};

template <class W>
class Inverted final : public Shifted<W> {
 public:
  Inverted(LazyPointer<W> a, std::size_t limit) : Shifted<W>(a, 0, limit) {
    this->set_sorted(a->sorted(true), a->sorted(false));
  }

 protected:
  void compute(std::int32_t q, Assembly<W>& out) override {
    const View<W> state = this->a_->state(q);
    out.open(state.final);
    for (auto arc : state) {
      std::swap(arc.ilabel, arc.olabel);
      out.push(arc);
    }
  }
};

template <class W>
class Projected final : public Shifted<W> {
 public:
  Projected(LazyPointer<W> a, bool output, std::size_t limit) : Shifted<W>(a, 0, limit), output_(output) {
    this->set_sorted(a->sorted(output), a->sorted(output));
  }

 protected:
  void compute(std::int32_t q, Assembly<W>& out) override {
    const View<W> state = this->a_->state(q);
    out.open(state.final);
    for (auto arc : state) {
      (output_ ? arc.ilabel : arc.olabel) = output_ ? arc.olabel : arc.ilabel;
      out.push(arc);
    }
  }

 private:
  bool output_;
};

using LabelMap = base::FlatTable<std::int32_t>;

template <class W>
class Relabeled final : public Shifted<W> {
 public:
  Relabeled(LazyPointer<W> a, LabelMap input, LabelMap output, std::int32_t other, std::size_t limit)
      : Shifted<W>(a, 0, limit), input_(std::move(input)), output_(std::move(output)), other_(other) {
    this->set_sorted(input_.size() == 0 && a->sorted(false), output_.size() == 0 && a->sorted(true));
  }

 protected:
  void compute(std::int32_t q, Assembly<W>& out) override {
    const View<W> state = this->a_->state(q);
    out.open(state.final);
    const auto mapped = [](const LabelMap& map, std::int32_t label, std::int32_t other) {
      return map.find(base::key_of(label), label == 0 || other == kNoLabel ? label : other);
    };
    for (auto arc : state) {
      arc.ilabel = mapped(input_, arc.ilabel, other_);
      arc.olabel = mapped(output_, arc.olabel, kNoLabel);
      out.push(arc);
    }
  }

 private:
  LabelMap input_, output_;
  std::int32_t other_;
};

template <class W>
class Sorted final : public Shifted<W> {
 public:
  Sorted(LazyPointer<W> a, bool output, std::size_t limit) : Shifted<W>(std::move(a), 0, limit), output_(output) {
    this->set_sorted(!output, output);
  }

 protected:
  void compute(std::int32_t q, Assembly<W>& out) override {
    const View<W> state = this->a_->state(q);
    std::vector<Arc<W>> arcs(state.begin(), state.end());
    std::ranges::stable_sort(arcs, [&](const Arc<W>& x, const Arc<W>& y) {
      return output_ ? std::tie(x.olabel, x.ilabel) < std::tie(y.olabel, y.ilabel)
                     : std::tie(x.ilabel, x.olabel) < std::tie(y.ilabel, y.olabel);
    });
    out.open(state.final);
    for (const auto& arc : arcs) out.push(arc);
  }

 private:
  bool output_;
};

template <class W>
class Complement final : public Shifted<W> {
 public:
  Complement(LazyPointer<W> a, std::size_t limit) : Shifted<W>(std::move(a), 1, limit) { this->set_sorted(true, true); }

 protected:
  std::int32_t compute_start() override { return this->a_->start() + 1; }  // 0, the sink, where there is no start
  void compute(std::int32_t q, Assembly<W>& out) override {
    const Ring<W>& k = this->ring();
    if (q == 0) {
      out.open(k.one());
      out.push({kRest, kRest, k.one(), 0});
      return;
    }
    const View<W> state = this->a_->state(q - 1);
    out.open(k.equal(state.final, k.zero()) ? k.one() : k.zero());
    out.push({kRest, kRest, k.one(), 0});
    std::int32_t last = 0;
    for (auto arc : state) {
      if (arc.ilabel == 0 || arc.ilabel != arc.olabel || arc.ilabel <= last || !k.equal(arc.weight, k.one()))
        fail(
            "the machine to take away must be a sorted, unweighted, deterministic acceptor without epsilons, but "
            "state ",
            q - 1, " of it is not");
      last = arc.ilabel;
      ++arc.nextstate;
      out.push(arc);
    }
  }
};

// Epsilons are followed from each state anew: sums over their paths come from a machine of the states that they reach.
template <class W>
class Loud final : public Shifted<W> {
 public:
  Loud(LazyPointer<W> a, std::size_t limit) : Shifted<W>(std::move(a), 0, limit) {}

 protected:
  void compute(std::int32_t q, Assembly<W>& out) override {
    const Ring<W>& k = this->ring();
    if (!k.right()) {  // (a + b) c is not ac + bc: the paths stay apart
      W final = k.zero();
      std::vector<Arc<W>> arcs;
      std::vector<std::int32_t> path;
      follow(q, k.one(), path, final, arcs);
      out.open(final);
      for (const auto& arc : arcs) out.push(arc);
      return;
    }
    std::vector<std::int32_t> reached{q};
    base::FlatTable<std::int32_t> number;
    number.add(base::key_of(q), 0);
    Assembly<W> silent;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      silent.open(k.one());
      for (auto arc : this->a_->state(reached[i])) {
        if (arc.ilabel != 0 || arc.olabel != 0) continue;
        const auto [at, is_new] = number.add(base::key_of(arc.nextstate), static_cast<std::int32_t>(reached.size()));
        if (is_new) reached.push_back(arc.nextstate);
        arc.nextstate = at;
        silent.push(arc);
      }
    }
    const bool alone = silent.arcs() == 0;
    const std::vector<W> distance = alone ? std::vector<W>{k.one()} : k.distances(silent.finish(k.zero(), k.one(), 0));
    W final = k.zero();
    std::vector<Arc<W>> arcs;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const View<W> state = this->a_->state(reached[i]);
      if (!k.equal(state.final, k.zero())) final = k.plus(final, k.times(distance[i], state.final));
      for (auto arc : state) {
        if (arc.ilabel == 0 && arc.olabel == 0) continue;
        arc.weight = k.times(distance[i], arc.weight);
        arcs.push_back(arc);
      }
    }
    out.open(final);
    if (alone) {
      for (const auto& arc : arcs) out.push(arc);
      return;
    }
    std::ranges::stable_sort(arcs, {},
                             [](const Arc<W>& arc) { return std::tuple(arc.ilabel, arc.olabel, arc.nextstate); });
    for (std::size_t i = 0; i < arcs.size();) {
      Arc<W> sum = arcs[i++];
      for (; i < arcs.size() && arcs[i].ilabel == sum.ilabel && arcs[i].olabel == sum.olabel &&
             arcs[i].nextstate == sum.nextstate;
           ++i)
        sum.weight = k.plus(sum.weight, arcs[i].weight);
      if (!k.equal(sum.weight, k.zero())) out.push(sum);
    }
  }

 private:
  // Adds what lies behind each path of epsilons from s.
  void follow(std::int32_t s, const W& before, std::vector<std::int32_t>& path, W& final, std::vector<Arc<W>>& arcs) {
    const Ring<W>& k = this->ring();
    if (std::ranges::find(path, s) != path.end())
      fail("weights of ", k.name(), " have no sum over a cycle of epsilons, but state ", s, " is on one");
    path.push_back(s);
    const View<W> state = this->a_->state(s);
    if (!k.equal(state.final, k.zero())) final = k.plus(final, k.times(before, state.final));
    for (auto arc : state) {
      arc.weight = k.times(before, arc.weight);
      if (arc.ilabel == 0 && arc.olabel == 0) {
        follow(arc.nextstate, arc.weight, path, final, arcs);
      } else {
        arcs.push_back(arc);
      }
    }
    path.pop_back();
  }
};

}  // namespace

template <class W>
LazyPointer<W> lazy_unite(std::vector<LazyPointer<W>> parts, std::size_t limit) {
  return std::make_shared<United<W>>(std::move(parts), limit);
}
template <class W>
LazyPointer<W> lazy_concatenate(std::vector<LazyPointer<W>> parts, std::size_t limit) {
  return std::make_shared<Concatenated<W>>(std::move(parts), limit);
}
template <class W>
LazyPointer<W> lazy_close(LazyPointer<W> a, bool star, std::size_t limit) {
  return std::make_shared<Closed<W>>(std::move(a), star, limit);
}
template <class W>
LazyPointer<W> lazy_invert(LazyPointer<W> a, std::size_t limit) {
  return std::make_shared<Inverted<W>>(std::move(a), limit);
}
template <class W>
LazyPointer<W> lazy_project(LazyPointer<W> a, bool output, std::size_t limit) {
  return std::make_shared<Projected<W>>(std::move(a), output, limit);
}
template <class W>
LazyPointer<W> lazy_relabel(LazyPointer<W> a, std::span<const std::pair<std::int32_t, std::int32_t>> input,
                            std::span<const std::pair<std::int32_t, std::int32_t>> output, std::size_t limit,
                            std::int32_t other_input) {
  return std::make_shared<Relabeled<W>>(std::move(a), label_table(input), label_table(output), other_input, limit);
}
template <class W>
LazyPointer<W> lazy_sort(LazyPointer<W> a, bool output, std::size_t limit) {
  return std::make_shared<Sorted<W>>(std::move(a), output, limit);
}
template <class W>
LazyPointer<W> lazy_complement(LazyPointer<W> a, std::size_t limit) {
  return std::make_shared<Complement<W>>(std::move(a), limit);
}
template <class W>
LazyPointer<W> lazy_remove_epsilons(LazyPointer<W> a, std::size_t limit) {
  return std::make_shared<Loud<W>>(std::move(a), limit);
}

#define X(W)                                                                                                   \
  template LazyPointer<W> lazy_unite(std::vector<LazyPointer<W>>, std::size_t);                                \
  template LazyPointer<W> lazy_concatenate(std::vector<LazyPointer<W>>, std::size_t);                          \
  template LazyPointer<W> lazy_close(LazyPointer<W>, bool, std::size_t);                                       \
  template LazyPointer<W> lazy_invert(LazyPointer<W>, std::size_t);                                            \
  template LazyPointer<W> lazy_project(LazyPointer<W>, bool, std::size_t);                                     \
  template LazyPointer<W> lazy_relabel(LazyPointer<W>, std::span<const std::pair<std::int32_t, std::int32_t>>, \
                                       std::span<const std::pair<std::int32_t, std::int32_t>>, std::size_t,    \
                                       std::int32_t);                                                          \
  template LazyPointer<W> lazy_sort(LazyPointer<W>, bool, std::size_t);                                        \
  template LazyPointer<W> lazy_complement(LazyPointer<W>, std::size_t);                                        \
  template LazyPointer<W> lazy_remove_epsilons(LazyPointer<W>, std::size_t);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
