// The weighted subset construction of determinize.h, for whole machines and, subset by subset, for lazy ones.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/flat_table.h"
#include "fst/determinize.h"
#include "fst/distance.h"
#include "fst/examples.h"
#include "fst/paths.h"
#include "fst/properties.h"
#include "fst/structure.h"
#include "fst/twins.h"

namespace textmill::fst {

// An element of a subset.
template <class W>
struct Element {
  std::int32_t state;
  std::uint32_t output;  // still to be written
  W weight;              // still to be paid
};
template <class W>
struct Step {
  std::int32_t label;
  Element<W> to;
};
template <class W>
using FinalOutputs = std::vector<std::pair<std::uint32_t, W>>;

// Sorting is much code and knows nothing of semirings: once for each type of weight.
template <class W>
void sort_by_label(std::vector<Step<W>>& steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const auto& x, const auto& y) { return x.label < y.label; });
}
template <class W>
void sort_by_state(std::vector<Element<W>>& elements) {
  std::stable_sort(elements.begin(), elements.end(), [](const auto& x, const auto& y) {
    return x.state != y.state ? x.state < y.state : x.output < y.output;
  });
}
// Short strings first.
template <class W>
void sort_by_output(FinalOutputs<W>& outputs, const StringPool& pool) {
  std::ranges::sort(outputs, [&](const auto& x, const auto& y) {
    const auto s = pool[x.first], t = pool[y.first];
    return s.size() != t.size() ? s.size() < t.size() : std::ranges::lexicographical_compare(s, t);
  });
}

// S: semiring; Source: arcs(s), final(s), is_final(s), states().
template <class S, class Source>
class Determinizer {
 public:
  using Weight = typename S::Weight;
  using Arc = fst::Arc<Weight>;

  Determinizer(const Source& machine, const S& k, const DeterminizeOptions& options, bool transducer)
      : machine_(machine),
        k_(k),
        options_(options),
        transducer_(transducer),
        quantized_one_(k_.quantize(k_.one(), options.delta)),
        single_(machine.states(), -1) {}

  // The number of the subset of the start.
  std::int32_t begin(std::int32_t start) {
    pending_ = {{start, 0, k_.one()}};
    return intern(-1, 0);
  }

  // ---- one by one: subsets, and the ends of outputs, which the arcs of a subset call -2, -3 ...
  std::size_t subsets() const { return begin_.size() - 1; }
  std::size_t ends() const { return chains_.size(); }
  void write(std::size_t q, Assembly<Weight>& out) {
    std::swap(out, out_);
    expand(q, false);
    std::swap(out, out_);
  }
  void write_end(std::size_t i, Assembly<Weight>& out) {
    std::swap(out, out_);
    write_chain(i);
    std::swap(out, out_);
  }

  // ---- all
  Machine<S> run() {
    begin(machine_.start());
    // weights that do not commute have no test of twins, and are often long: doubts come early
    suspicious_ =
        std::max<std::size_t>(k_.commutative() ? 20'000 : 200, 8 * static_cast<std::size_t>(machine_.states()));
    for (std::size_t q = 0; q < begin_.size() - 1; ++q) {
      expand(q, false);
      if (elements_.size() > many_) look_at_large();
      if (begin_.size() - 1 > suspicious_) look();
      check_size();
    }
    finish_chains();
    return {k_, out_.finish(k_.zero(), k_.one(), 0)};
  }

  // Best first: subsets by the best path through them, which never gets better on the way. So the first time that a
  // subset comes out of the heap it was reached by its best path, and what is too bad from there is too bad.
  Machine<S> run_pruned(const std::optional<Weight>& worst)
    requires may_have_order<S>
  {
    to_end_ = distances(machine_, true);
    limit_ = worst ? k_.times(to_end_[machine_.start()], *worst) : k_.zero();
    begin(machine_.start());
    reached_.push_back(k_.one());
    number_.push_back(kNoState);
    heap_.push_back({to_end_[machine_.start()], 0});
    while (!heap_.empty() && static_cast<std::size_t>(out_.states()) < options_.kept_states) {
      std::pop_heap(heap_.begin(), heap_.end(), later());
      const std::int32_t q = heap_.back().second;
      heap_.pop_back();
      if (number_[q] != kNoState) continue;
      number_[q] = out_.states();
      expand(q, true);
      check_size();
    }
    const std::int32_t dead = out_.open(k_.zero());  // in place of those that were not kept
    out_.redirect([&](std::int32_t next) {
      return next < 0 ? next : number_[next] == kNoState ? dead : number_[next];
    });
    finish_chains();
    Machine<S> out{k_, out_.finish(k_.zero(), k_.one(), 0)};
    trim(out);
    return out;
  }

 private:
  using Element = fst::Element<Weight>;
  using Step = fst::Step<Weight>;

  auto later() const {
    return [this](const auto& x, const auto& y) {
      return k_.less(y.first, x.first) || (!k_.less(x.first, y.first) && y.second < x.second);
    };
  }
  bool too_bad(const Weight& w) const {
    constexpr double rounding = sizeof(Weight) == 4 ? 1e-5 : 1e-9;  // sums along a path, taken in two orders
    return k_.less(limit_, w) && !k_.approx(limit_, w, rounding);
  }
  void check_size() const {
    if (begin_.size() - 1 > options_.most_states)
      fail("determinization has made more than ", options_.most_states,
           " states; raise max_states, or prune the machine first");
  }

  std::vector<std::int32_t> string_to(std::size_t q) const {
    std::vector<std::int32_t> labels;
    for (auto at = static_cast<std::int32_t>(q); before_[at].first >= 0; at = before_[at].first)
      labels.push_back(before_[at].second);
    std::ranges::reverse(labels);
    return labels;
  }

  [[noreturn]] void undecided(std::size_t q, std::size_t count, const char* what) const {
    fail("the machine cannot be determinized: after the input ", spelled(string_to(q)), " more than ", count, what);
  }

  void reject(const std::string& example) const {
    if (!example.empty())
      fail("the machine cannot be determinized: ", example,
           "; push or round the weights, or pass weight= to keep only the best paths");
  }

  // A quick look when subsets have become large, though they may be few.
  void look_at_large() {
    many_ *= 4;
    if (k_.commutative() && is(machine_, property::weighted_cycles))
      reject(find_unequal_twins(machine_, options_.delta, 20'000));
  }

  // Tests the twins property once, when the result has become much larger than the machine.
  void look() {
    suspicious_ = static_cast<std::size_t>(-1);
    for (std::size_t e = begin_[begin_.size() - 2]; e < begin_.back(); ++e)
      if (pool_[elements_[e].output].size() > 1000)
        undecided(begin_.size() - 2, 1000, " output labels are still undecided");
    if (k_.commutative() && is(machine_, property::weighted_cycles)) {
      reject(find_unequal_twins(machine_, options_.delta, 20'000));  // often enough, and quick
      reject(find_unequal_twins(machine_, options_.delta, 2'000'000));
    }
    if (!k_.commutative() && is(machine_, property::weighted_cycles))  // there is no test of twins for these
      undecided(begin_.size() - 2, begin_.size() - 1, " sets of weights have been found, and cycles may add more");
    suspicious_ = std::max<std::size_t>(4 * (begin_.size() - 1), 1'000'000);
    if (transducer_ && begin_.size() > 2'000'000) suspicious_ = static_cast<std::size_t>(-1);
  }

  void expand(std::size_t q, bool pruned) {
    Weight final = k_.zero();
    final_outputs_.clear();
    steps_.clear();
    bool sorted = true;
    for (std::size_t e = begin_[q]; e < begin_[q + 1]; ++e) {
      const Element element = elements_[e];
      if (machine_.is_final(element.state)) add_final(q, final, element);
      for (const Arc& arc : machine_.arcs(element.state)) {
        const std::uint32_t output = transducer_ ? pool_.append(element.output, arc.olabel) : 0;
        if (!steps_.empty()) sorted &= steps_.back().label <= arc.ilabel;
        steps_.push_back({arc.ilabel, {arc.nextstate, output, k_.times(element.weight, arc.weight)}});
      }
    }
    if (may_have_order<S> && pruned) {
      const Weight here = reached_[q];
      if (too_bad(k_.times(here, final))) final = k_.zero();
      std::erase_if(final_outputs_, [&](const auto& end) { return too_bad(k_.times(here, end.second)); });
    }
    out_.open(transducer_ ? plain_final() : final);
    if (!sorted) sort_by_label(steps_);
    for (std::size_t i = 0; i < steps_.size();) {
      std::size_t end = i + 1;
      while (end < steps_.size() && steps_[end].label == steps_[i].label) ++end;
      transition(q, std::span(steps_).subspan(i, end - i), pruned);
      i = end;
    }
    if (transducer_) write_finals();
  }

  // ---- one label
  void transition(std::size_t q, std::span<Step> steps, bool pruned) {
    const std::int32_t label = steps[0].label;
    Weight common = steps[0].to.weight;
    std::int32_t output = 0;
    if (transducer_ && !pool_[steps[0].to.output].empty()) output = pool_[steps[0].to.output][0];
    for (const Step& step : steps.subspan(1)) {
      common = k_.plus(common, step.to.weight);
      if (output != 0 && (pool_[step.to.output].empty() || pool_[step.to.output][0] != output)) output = 0;
    }
    if (k_.equal(common, k_.zero())) return;
    pending_.clear();
    for (const Step& step : steps) {
      Element element = step.to;
      if (k_.equal(element.weight, k_.zero())) continue;
      if (output != 0) element.output = pool_.suffix(element.output, 1);
      pending_.push_back(element);
    }
    if (pending_.size() > 1) {
      sort_by_state(pending_);
      std::size_t kept = 0;
      for (std::size_t i = 1; i < pending_.size(); ++i) {
        Element& last = pending_[kept];
        if (pending_[i].state != last.state) {
          pending_[++kept] = pending_[i];
        } else if (pending_[i].output == last.output && !k_.right()) {
          pending_[++kept] = pending_[i];  // (a + b) c is not ac + bc
        } else if (pending_[i].output == last.output) {
          last.weight = k_.plus(last.weight, pending_[i].weight);
        } else if (options_.outputs == Outputs::functional) {
          two_outputs(q, label);
        } else if (options_.outputs == Outputs::best) {
          if (k_.less(pending_[i].weight, last.weight)) last = pending_[i];
        } else {
          pending_[++kept] = pending_[i];
        }
      }
      pending_.resize(kept + 1);
    }
    for (Element& element : pending_) {
      element.weight = k_.divide(element.weight, common, Side::left);
      if (!k_.member(element.weight))
        fail("weights of ", std::string(k_.name()), " cannot be divided, so the machine cannot be determinized");
    }
    if constexpr (std::same_as<Weight, Dynamic::Weight>) {
      if (!k_.right()) keep_apart();
    }
    Weight best = k_.zero();
    const Weight here = pruned ? k_.times(reached_[q], common) : k_.zero();
    if (may_have_order<S> && pruned) {
      for (const Element& element : pending_)
        best = k_.plus(best, k_.times(k_.times(here, element.weight), to_end_[element.state]));
      if (k_.equal(best, k_.zero()) || too_bad(best)) return;
    }
    const std::int32_t next = intern(static_cast<std::int32_t>(q), label);
    if (may_have_order<S> && pruned &&
        (static_cast<std::size_t>(next) == reached_.size() || k_.less(here, reached_[next]))) {
      reached_.resize(begin_.size() - 1, k_.zero());
      number_.resize(begin_.size() - 1, kNoState);
      reached_[next] = here;
      heap_.push_back({best, next});
      std::push_heap(heap_.begin(), heap_.end(), later());
    }
    out_.push({label, transducer_ ? output : label, common, next});
  }

  // Elements of one state that could not be added, in an order that does not depend on where they came from.
  void keep_apart()
    requires std::same_as<Weight, Dynamic::Weight>
  {
    const auto key = [&](const Element& x) { return std::tuple(x.state, x.output, k_.hash(x.weight)); };
    std::ranges::stable_sort(pending_, {}, key);
    if (!k_.idempotent()) return;
    const auto same = [&](const Element& x, const Element& y) {
      return x.state == y.state && x.output == y.output && k_.equal(x.weight, y.weight);
    };
    pending_.erase(std::unique(pending_.begin(), pending_.end(), same), pending_.end());
  }

  [[noreturn]] void two_outputs(std::size_t q, std::int32_t label) {
    std::vector<std::int32_t> labels = string_to(q);
    if (label != kNoLabel) labels.push_back(label);
    fail("the transducer is not functional: the input ", spelled(labels), label == kNoLabel ? "" : " ...",
         " has two outputs; pass det_type='nonfunctional' to keep both or 'disambiguate' to keep the lighter");
  }

  // The number of the subset in pending_, a new state if it was not there.
  std::int32_t intern(std::int32_t before, std::int32_t label) {
    if (pending_.size() == 1 && pending_[0].output == 0) {  // one state that owes nothing: no need to hash
      const Weight w = pending_[0].weight;
      if (k_.equal(w, k_.one()) || k_.equal(k_.quantize(w, options_.delta), quantized_one_)) {
        const auto state = static_cast<std::size_t>(pending_[0].state);
        if (state >= single_.size()) single_.resize(2 * state + 1, -1);  // a machine that is not known as a whole
        std::int32_t& known = single_[state];
        if (known < 0) known = add(before, label);
        return known;
      }
    }
    std::uint64_t h = pending_.size();
    for (const Element& element : pending_) {
      h = (h ^ static_cast<std::uint32_t>(element.state)) * 0x9E3779B97F4A7C15u;
      h = (h ^ h >> 31) + element.output * 0xC2B2AE3D27D4EB4Fu;
      h ^= k_.hash(k_.quantize(element.weight, options_.delta)) * 3;
    }
    h = stir(h);
    const std::uint32_t known = index_.find(h, [&](std::uint32_t i) { return equal(static_cast<std::int32_t>(i)); });
    if (known != base::FlatIndex::kNone) return static_cast<std::int32_t>(known);
    const std::int32_t made = add(before, label);
    index_.add(h, static_cast<std::uint32_t>(made), [](std::uint32_t) { return false; });
    return made;
  }
  std::int32_t add(std::int32_t before, std::int32_t label) {
    elements_.insert(elements_.end(), pending_.begin(), pending_.end());
    begin_.push_back(elements_.size());
    before_.push_back({before, label});
    if (transducer_ || !k_.right()) look_at_pending();
    return static_cast<std::int32_t>(before_.size() - 1);
  }
  // Faults if the subset that was just added holds more outputs, or longer ones, than a machine of this size should.
  void look_at_pending() const {
    const auto n = static_cast<std::size_t>(machine_.states()), longest = 1000 + n;
    const std::size_t most = k_.right() ? 10'000 + 50 * n : 500 + 10 * n;
    if (pending_.size() > most)
      undecided(before_.size() - 1, most,
                transducer_ ? " outputs are still possible; prune the machine first" : " weights are still to be paid");
    for (const Element& element : pending_)
      if (pool_[element.output].size() > longest)
        undecided(before_.size() - 1, longest, " output labels are still undecided");
  }
  bool equal(std::size_t i) const {
    if (begin_[i + 1] - begin_[i] != pending_.size()) return false;
    for (std::size_t e = 0; e < pending_.size(); ++e) {
      const Element& x = elements_[begin_[i] + e];
      const Element& y = pending_[e];
      if (x.state != y.state || x.output != y.output ||
          !k_.equal(k_.quantize(x.weight, options_.delta), k_.quantize(y.weight, options_.delta)))
        return false;
    }
    return true;
  }

  // ---- the end
  void add_final(std::size_t q, Weight& final, const Element& element) {
    const Weight w = k_.times(element.weight, machine_.final(element.state));
    if (k_.equal(w, k_.zero())) return;
    if (!transducer_) {
      final = k_.plus(final, w);
      return;
    }
    for (auto& [output, weight] : final_outputs_) {
      if (output == element.output) {
        weight = k_.plus(weight, w);
        return;
      }
      if (options_.outputs == Outputs::functional) two_outputs(q, kNoLabel);
      if (options_.outputs == Outputs::best) {
        if (k_.less(w, weight)) {
          output = element.output;
          weight = w;
        }
        return;
      }
    }
    final_outputs_.push_back({element.output, w});
  }
  // Of several outputs at one end each is read behind a label of its own, the empty one too, if labels tell them apart.
  bool all_labeled() const {
    return final_outputs_.size() > 1 && (options_.subsequential_label != 0 || options_.increment_subsequential);
  }
  Weight plain_final() const {
    for (const auto& [output, weight] : final_outputs_)
      if (output == 0 && !all_labeled()) return weight;
    return k_.zero();
  }
  // An arc for each output that is left, short ones first; the states behind it are shared by all that have the same
  // rest to write.
  void write_finals() {
    sort_by_output(final_outputs_, pool_);
    std::int32_t label = options_.subsequential_label;
    for (const auto& [output, weight] : final_outputs_) {
      if (output == 0 && !all_labeled()) continue;
      out_.push(
          {label, output == 0 ? 0 : pool_[output][0], weight, -2 - chain(output == 0 ? 0 : pool_.suffix(output, 1))});
      if (!options_.increment_subsequential) continue;
      if (label == 0x7FFFFFFF)
        fail("there are no labels above 2,147,483,647 for further outputs; begin with a lower one");
      ++label;
    }
  }
  std::int32_t chain(std::uint32_t rest) {
    const auto [at, is_new] = chain_of_.add(rest, static_cast<std::int32_t>(chains_.size()));
    if (is_new) chains_.push_back(rest);
    return at;
  }
  void write_chain(std::size_t i) {
    const std::uint32_t rest = chains_[i];
    out_.open(rest == 0 ? k_.one() : k_.zero());
    if (rest == 0) return;
    const std::int32_t label = pool_[rest][0];
    const std::int32_t next = chain(pool_.suffix(rest, 1));
    out_.push({options_.subsequential_label, label, k_.one(), -2 - next});
  }
  void finish_chains() {
    if (chains_.empty()) return;
    const std::int32_t first = out_.states();
    for (std::size_t i = 0; i < chains_.size(); ++i) write_chain(i);  // grows while it is read
    out_.redirect([&](std::int32_t next) { return next <= -2 ? first + (-2 - next) : next; });
  }

  const Source& machine_;
  const S& k_;
  const DeterminizeOptions options_;
  const bool transducer_;
  const Weight quantized_one_;
  Assembly<Weight> out_;
  StringPool pool_;
  std::vector<Element> elements_, pending_;
  std::vector<std::size_t> begin_{0};                          // [subsets + 1] into elements_
  std::vector<std::pair<std::int32_t, std::int32_t>> before_;  // [subsets] how it was first reached
  std::vector<std::int32_t> single_;                           // [states] the subset of this state alone, or -1
  base::FlatIndex index_;                                      // of the other subsets
  std::vector<Step> steps_;
  FinalOutputs<Weight> final_outputs_;
  base::FlatTable<std::int32_t> chain_of_;
  std::vector<std::uint32_t> chains_;  // rests to write behind the end
  // if pruned:
  std::vector<Weight> to_end_;                         // [N]
  std::vector<Weight> reached_;                        // [subsets] the best weight up to it
  std::vector<std::int32_t> number_;                   // [subsets] of the state made of it
  std::vector<std::pair<Weight, std::int32_t>> heap_;  // (best path through it, subset)
  Weight limit_{};
  std::size_t suspicious_ = 0, many_ = 500'000;
};

}  // namespace textmill::fst
