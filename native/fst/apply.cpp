#include "fst/apply.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "base/flat_table.h"
#include "base/parallel.h"
#include "fst/distance.h"
#include "fst/paths.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {
namespace {

constexpr std::size_t kBlock = 64;   // texts of a stretch
constexpr std::size_t kScanned = 8;  // so many arcs or nodes are looked through one by one
constexpr std::int32_t kStop = -1, kNowhere = -2;

// The nodes of one layer by their states.
class LayerIndex {
 public:
  void clear() {
    size_ = 0;
    index_.clear();
  }
  // The place of the state in the layer, `size` if it is new; state_at(i) is the state of the i-th node.
  template <class StateAt>
  std::uint32_t find_or_add(std::int32_t state, StateAt state_at) {
    if (size_ < kScanned) {
      for (std::uint32_t i = 0; i < size_; ++i)
        if (state_at(i) == state) return i;
      return size_++;
    }
    const auto hash = [](std::int32_t s) { return stir(static_cast<std::uint32_t>(s)); };
    const auto is_state = [&](std::uint32_t i) { return state_at(i) == state; };
    if (size_ == kScanned)
      for (std::uint32_t i = static_cast<std::uint32_t>(index_.size()); i < size_; ++i)
        index_.add(hash(state_at(i)), i, [](std::uint32_t) { return false; });
    const std::uint32_t place = index_.add(hash(state), size_, is_state);
    size_ += place == size_;
    return place;
  }

 private:
  base::FlatIndex index_;  // of a layer with more than kScanned nodes
  std::uint32_t size_ = 0;
};

constexpr std::int32_t kNoArc = 0x7FFFFFFF;  // label of a symbol that is not in the table: only sigma and rho read it

// One machine and the scratch of one thread: solves one string after another.
template <class S>
class Applier {
 public:
  using Weight = typename S::Weight;
  using Arc = typename Machine<S>::Arc;

  Applier(const Machine<S>& machine, const Tokenizer& tokenizer, const ApplyOptions& options)
      : machine_(machine), k_(machine.semiring()), tokenizer_(tokenizer), options_(options) {}

  // Appends the outputs of one text.
  void add(const Text& text, Outputs<Weight>& out) {
    tokenizer_.labels(text, labels_, kNoArc);
    const std::size_t before = out.weights.size();
    if (machine_.start() != kNoState && build()) {
      if (!solve()) {
        cyclic(out);
      } else if (!k_.equal(distance_[0], k_.zero())) {
        options_.n == 1 ? best(out) : several(out);
      }
    }
    out.counts.push_back(static_cast<std::uint32_t>(out.weights.size() - before));
  }

 private:
  struct Node {
    std::int32_t state;
    std::uint32_t epsilons, epsilons_end;  // its edges inside the layer
    std::uint32_t edges, edges_end;        // and to the next one
  };
  struct Edge {
    std::int32_t to;
    std::int32_t olabel;
    Weight weight;
  };
  struct Reached {
    std::int32_t node;
    Weight weight;
  };
  struct Hypothesis {  // a partial output: the nodes that it leads to are reached_[begin, end)
    std::int32_t before, label;
    std::size_t begin, end;
  };
  struct Entry {
    Weight total;
    std::int32_t hypothesis;
    bool ended;
  };
  struct Step {
    std::int32_t label;
    Reached to;
  };

  // ---- the lattice

  // Makes all layers; false if no path reads the string.
  bool build() {
    nodes_.clear();
    edges_.clear();
    layers_.clear();
    index_.clear();
    node(machine_.start(), 0);
    for (std::size_t i = 0, begin = 0;; ++i) {
      bool epsilons = false;
      for (std::size_t q = begin; q < nodes_.size(); ++q) {  // grows while it is read
        const std::int32_t s = nodes_[q].state;
        nodes_[q].epsilons = position();
        if (const std::size_t count = machine_.state(s).niepsilons) {
          for (const Arc& arc : machine_.arcs(s).first(count)) {
            if (options_.n == 1 && arc.nextstate == s && !k_.less(arc.weight, k_.one())) continue;
            edge(arc, arc.weight, arc.olabel, begin);
            epsilons = true;
          }
        }
        nodes_[q].epsilons_end = position();
        nodes_[q].edges = nodes_[q].edges_end = 0;
      }
      const std::size_t end = nodes_.size();
      layers_.push_back({begin, end, epsilons});
      if (i == labels_.size()) return true;
      index_.clear();
      for (std::size_t q = begin; q < end; ++q) {
        nodes_[q].edges = position();
        read(nodes_[q].state, labels_[i], end);
        nodes_[q].edges_end = position();
      }
      if (nodes_.size() == end) return false;
      begin = end;
    }
  }

  std::uint32_t position() const { return static_cast<std::uint32_t>(edges_.size()); }

  // The node of a state in the layer that begins at `layer`.
  std::int32_t node(std::int32_t state, std::size_t layer) {
    const std::size_t at = layer + index_.find_or_add(state, [&](std::uint32_t i) { return nodes_[layer + i].state; });
    if (at == nodes_.size()) {
      if (nodes_.size() >= kMostStates) fail("the text has more than 2,147,483,647 pairs of place and state; cut it");
      nodes_.push_back({state, 0, 0, 0, 0});
    }
    return static_cast<std::int32_t>(at);
  }
  void edge(const Arc& arc, const Weight& weight, std::int32_t olabel, std::size_t layer) {
    if (edges_.size() >= kMostArcs) fail("the text has more than 4,294,967,295 arcs to choose from; cut it");
    edges_.push_back({node(arc.nextstate, layer), olabel, weight});
  }

  // The first arc of a state that reads the label or a later one.
  const Arc* search(std::int32_t s, std::int32_t label) const {
    const auto arcs = machine_.arcs(s);
    const Arc* first = arcs.data() + machine_.state(s).niepsilons;
    std::size_t n = static_cast<std::size_t>(arcs.data() + arcs.size() - first);
    while (n > kScanned) {
      const std::size_t half = n / 2;
      first += first[half - 1].ilabel < label ? half : 0;
      n -= half;
    }
    const Arc* const end = first + n;
    while (first != end && first->ilabel < label) ++first;
    return first;
  }
  // Calls body(arc) for the arcs of a state that read the label; were there any?
  template <class Body>
  bool each(std::int32_t s, std::int32_t label, Body body) const {
    const Arc* const end = machine_.arcs(s).data() + machine_.arcs(s).size();
    const Arc* const first = search(s, label);
    const Arc* arc = first;
    for (; arc != end && arc->ilabel == label; ++arc) body(*arc);
    return arc != first;
  }

  void read(std::int32_t s, std::int32_t label, std::size_t layer) {
    const Specials& special = options_.specials;
    if (!special.any()) {
      each(s, label, [&](const Arc& arc) { edge(arc, arc.weight, arc.olabel, layer); });
      return;
    }
    // nothing can match phi itself, so no phi arc is followed for it
    if (label == special.phi && special.sigma == kNoLabel && special.rho == kNoLabel) return;
    follow(s, [&](std::int32_t t, const Weight& w) {
      bool found = false;
      if (label != special.phi && label != special.rho && label != special.sigma)
        found = each(t, label, [&](const Arc& arc) { edge(arc, k_.times(w, arc.weight), arc.olabel, layer); });
      const auto any_label = [&](std::int32_t key) {
        return each(t, key, [&](const Arc& arc) {
          edge(arc, k_.times(w, arc.weight), arc.olabel == key ? label : arc.olabel, layer);
        });
      };
      if (special.sigma != kNoLabel) found |= any_label(special.sigma);
      if (!found && special.rho != kNoLabel) found = any_label(special.rho);
      return found;
    });
  }
  // Calls body(state, weight) along the phi arcs until it returns true.
  template <class Body>
  void follow(std::int32_t s, Body body) const {
    Weight w = k_.one();
    for (std::int32_t steps = 0; !body(s, w) && options_.specials.phi != kNoLabel; ++steps) {
      const Arc* next = nullptr;
      each(s, options_.specials.phi, [&](const Arc& arc) { next = next ? next : &arc; });
      if (!next) return;
      if (steps > machine_.states()) fail("the phi arcs of state ", s, " lead round in a cycle");
      w = k_.times(w, next->weight);
      s = next->nextstate;
    }
  }
  Weight final_weight(std::int32_t s) const {
    if (options_.specials.phi == kNoLabel || machine_.is_final(s)) return machine_.final(s);
    Weight found = k_.zero();
    follow(s, [&](std::int32_t t, const Weight& w) {
      if (!machine_.is_final(t)) return false;
      found = k_.times(w, machine_.final(t));
      return true;
    });
    return found;
  }

  // ---- distances to the end

  // False if epsilons go round in a layer.
  bool solve() {
    distance_.resize(nodes_.size());
    next_.resize(nodes_.size());
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const auto [begin, end, epsilons] = layers_[i];
      const bool last = i + 1 == layers_.size();
      if (!epsilons) {
        for (std::size_t q = begin; q < end; ++q) pull(q, last);
        continue;
      }
      if (!sort(begin, end)) return false;
      for (auto q = order_.rbegin(); q != order_.rend(); ++q) pull(*q, last);
    }
    return true;
  }
  void pull(std::size_t q, bool last) {
    const Node& node = nodes_[q];
    Weight sum = last ? final_weight(node.state) : k_.zero();
    std::int64_t next = last && !k_.equal(sum, k_.zero()) ? kStop : kNowhere;
    const auto take = [&](std::uint32_t e, std::uint32_t end) {
      for (; e < end; ++e) {
        const Weight w = k_.times(edges_[e].weight, distance_[edges_[e].to]);
        if (k_.less(w, sum)) {
          sum = w;
          next = e;
        }
      }
    };
    take(node.epsilons, node.epsilons_end);
    take(node.edges, node.edges_end);
    distance_[q] = sum;
    next_[q] = next;
  }
  // The nodes of a layer so that epsilons lead to later ones.
  bool sort(std::size_t begin, std::size_t end) {
    incoming_.assign(end - begin, 0);
    for (std::size_t q = begin; q < end; ++q)
      for (std::uint32_t e = nodes_[q].epsilons; e < nodes_[q].epsilons_end; ++e) ++incoming_[edges_[e].to - begin];
    order_.clear();
    for (std::size_t q = begin; q < end; ++q)
      if (incoming_[q - begin] == 0) order_.push_back(q);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Node& node = nodes_[order_[i]];
      for (std::uint32_t e = node.epsilons; e < node.epsilons_end; ++e)
        if (--incoming_[edges_[e].to - begin] == 0) order_.push_back(edges_[e].to);
    }
    return order_.size() == end - begin;
  }

  // ---- outputs

  void put(const Weight& weight, Outputs<Weight>& out) {
    tokenizer_.append(out.bytes, output_);
    out.ends.push_back(out.bytes.size());
    out.weights.push_back(weight);
  }

  void best(Outputs<Weight>& out) {
    output_.clear();
    Weight weight = k_.one();
    std::size_t q = 0;
    for (; next_[q] != kStop; q = edges_[next_[q]].to) {
      const Edge& edge = edges_[next_[q]];
      weight = k_.times(weight, edge.weight);
      if (edge.olabel != 0) output_.push_back(edge.olabel);
    }
    put(k_.times(weight, final_weight(nodes_[q].state)), out);
  }

  // Best first over strings: a hypothesis is put off by the best weight to its nodes times the distance from there.
  void several(Outputs<Weight>& out) {
    hypotheses_.clear();
    reached_.clear();
    heap_.clear();
    reach_.assign(nodes_.size(), k_.zero());
    waiting_.assign(nodes_.size(), 0);
    steps_.assign(1, {0, {0, k_.one()}});
    hypothesis(-1, 0, steps_);
    for (std::size_t left = options_.n; left > 0 && !heap_.empty();) {
      std::ranges::pop_heap(heap_, later());
      const Entry entry = heap_.back();
      heap_.pop_back();
      if (entry.ended) {
        output_.clear();
        for (std::int32_t h = entry.hypothesis; hypotheses_[h].before >= 0; h = hypotheses_[h].before)
          output_.push_back(hypotheses_[h].label);
        std::ranges::reverse(output_);
        put(entry.total, out);
        --left;
        continue;
      }
      expand(entry.hypothesis);
    }
  }
  auto later() const {
    return [this](const Entry& x, const Entry& y) {
      return k_.less(y.total, x.total) || (!k_.less(x.total, y.total) && y.hypothesis < x.hypothesis);
    };
  }
  void queue(const Entry& entry) {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, later());
  }
  void expand(std::int32_t h) {
    const auto [before, label, begin, end] = hypotheses_[h];
    Weight final = k_.zero();
    steps_.clear();
    for (std::size_t r = begin; r < end; ++r) {
      const auto [q, w] = reached_[r];
      const Node& node = nodes_[q];
      if (static_cast<std::size_t>(q) >= layers_.back().begin)
        final = k_.plus(final, k_.times(w, final_weight(node.state)));
      each_edge(node, [&](const Edge& edge) {
        if (edge.olabel != 0) steps_.push_back({edge.olabel, {edge.to, k_.times(w, edge.weight)}});
      });
    }
    if (!k_.equal(final, k_.zero())) queue({final, h, true});
    std::ranges::sort(steps_, {}, &Step::label);  // in any order: what leads to one node is summed
    for (std::size_t i = 0; i < steps_.size();) {
      std::size_t j = i + 1;
      while (j < steps_.size() && steps_[j].label == steps_[i].label) ++j;
      hypothesis(h, steps_[i].label, std::span(steps_).subspan(i, j - i));
      i = j;
    }
  }
  // Follows what writes nothing, keeps the best weight a node, and queues the hypothesis.
  void hypothesis(std::int32_t before, std::int32_t label, std::span<const Step> seeds) {
    queue_.clear();
    touched_.clear();
    const auto reach = [&](std::int32_t q, const Weight& w) {
      if (!k_.less(w, reach_[q])) return;
      if (k_.equal(reach_[q], k_.zero())) touched_.push_back(q);
      reach_[q] = w;
      if (!waiting_[q]) queue_.push_back(q);
      waiting_[q] = 1;
    };
    for (const Step& seed : seeds) reach(seed.to.node, seed.to.weight);
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const std::int32_t q = queue_[head];
      waiting_[q] = 0;
      each_edge(nodes_[q], [&](const Edge& edge) {
        if (edge.olabel == 0) reach(edge.to, k_.times(reach_[q], edge.weight));
      });
    }
    Weight total = k_.zero();
    const std::size_t begin = reached_.size();
    for (const std::int32_t q : touched_) {
      total = k_.plus(total, k_.times(reach_[q], distance_[q]));
      if (!k_.equal(distance_[q], k_.zero())) reached_.push_back({q, reach_[q]});
      reach_[q] = k_.zero();
    }
    if (k_.equal(total, k_.zero())) return;
    hypotheses_.push_back({before, label, begin, reached_.size()});
    queue({total, static_cast<std::int32_t>(hypotheses_.size() - 1), false});
  }
  template <class Body>
  void each_edge(const Node& node, Body body) const {
    for (std::uint32_t e = node.epsilons; e < node.epsilons_end; ++e) body(edges_[e]);
    for (std::uint32_t e = node.edges; e < node.edges_end; ++e) body(edges_[e]);
  }

  // With cycles of epsilons: by the operations on machines.
  void cyclic(Outputs<Weight>& out) {
    Machine<S> input = linear(k_, std::span<const std::int32_t>(labels_), labels_, k_.one());
    input.know(property::olabel_sorted | property::ilabel_sorted | property::unweighted);
    ComposeOptions how;
    how.connect = false;
    how.right = options_.specials;
    Machine<S> found = compose(input, machine_, how);
    if (options_.n > 1) {
      found = best_paths(project(found, true), PathOptions{options_.n, true});
    } else {
      found = best_paths(found, PathOptions{});
    }
    for (const auto& path : paths(found, options_.n, 0)) {
      output_.assign(path.olabels.begin(), path.olabels.end());
      put(path.weight, out);
    }
  }

  struct Layer {
    std::size_t begin, end;
    bool epsilons;  // are there edges inside?
  };

  const Machine<S>& machine_;
  const S& k_;
  const Tokenizer& tokenizer_;
  const ApplyOptions& options_;
  std::vector<std::int32_t> labels_, output_;
  LayerIndex index_;
  std::vector<Layer> layers_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Weight> distance_;    // [nodes]
  std::vector<std::int64_t> next_;  // [nodes] the edge to follow, kStop or kNowhere
  std::vector<std::size_t> order_;  // of one layer
  std::vector<std::uint32_t> incoming_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<Reached> reached_;
  std::vector<Entry> heap_;
  std::vector<Step> steps_;
  std::vector<Weight> reach_;  // [nodes] zero but inside hypothesis()
  std::vector<char> waiting_;  // [nodes]
  std::vector<std::int32_t> queue_, touched_;
};

// Stretches of texts to the threads, outputs in order to `take`.
template <class S>
void share_out(const Machine<S>& machine, std::span<const Text> texts, const Tokenizer& tokenizer,
               const ApplyOptions& options, const std::function<void(const Outputs<typename S::Weight>&)>& take) {
  using Weight = typename S::Weight;
  const std::size_t count = texts.size() / kBlock + (texts.size() % kBlock != 0);
  std::vector<Outputs<Weight>> blocks(count);
  std::vector<std::atomic<bool>> ready(count);
  std::vector<std::unique_ptr<Applier<S>>> idle;  // scratch: as many as there are threads
  std::vector<Outputs<Weight>> spare;             // taken, and empty again: their memory is used for later blocks
  std::mutex mutex;
  std::size_t taken = 0;
  const auto taking = std::this_thread::get_id();
  base::parallel_for(count, options.threads, [&](std::size_t b) {
    std::unique_ptr<Applier<S>> applier;
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        applier = std::move(idle.back());
        idle.pop_back();
      }
      if (!spare.empty()) {
        blocks[b] = std::move(spare.back());
        spare.pop_back();
      }
    }
    if (!applier) applier = std::make_unique<Applier<S>>(machine, tokenizer, options);
    Outputs<Weight>& out = blocks[b];
    out.first = b * kBlock;
    for (std::size_t i = out.first; i < std::min(out.first + kBlock, texts.size()); ++i) {
      try {
        applier->add(texts[i], out);
      } catch (const Fault& fault) {
        fail(i, ": ", fault.what());
      }
    }
    {
      const std::lock_guard lock(mutex);
      idle.push_back(std::move(applier));
    }
    ready[b].store(true, std::memory_order_release);
    if (std::this_thread::get_id() != taking) return;
    for (; taken < count && ready[taken].load(std::memory_order_acquire); ++taken) {
      Outputs<Weight> used = std::move(blocks[taken]);
      take(used);
      used.counts.clear();
      used.ends.clear();
      used.weights.clear();
      used.bytes.clear();
      const std::lock_guard lock(mutex);
      spare.push_back(std::move(used));
    }
  });
  for (; taken < count; ++taken) take(blocks[taken]);
}

}  // namespace

template <class S>
void apply(const Machine<S>& machine, std::span<const Text> texts, const Tokenizer& tokenizer,
           const ApplyOptions& options, const std::function<void(const Outputs<typename S::Weight>&)>& take) {
  (void)best_paths(Machine<S>(machine.semiring()), PathOptions{});  // a fault unless there are best paths
  (void)distances(Machine<S>(machine.semiring()), true);            // and distances to the end
  if constexpr (may_have_order<S>) share_out(machine, texts, tokenizer, options, take);
}

#define X(S)                                                                                           \
  template void apply(const Machine<S>&, std::span<const Text>, const Tokenizer&, const ApplyOptions&, \
                      const std::function<void(const Outputs<typename S::Weight>&)>&);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

}  // namespace textmill::fst
