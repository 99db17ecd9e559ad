#include "fst/strings.h"

#include "corpus/unicode.h"
#include "fst/properties.h"
#include "fst/structure.h"

namespace textmill::fst {

template <class W>
Automaton<W> linear(const W& zero, const W& one, std::span<const std::int32_t> ilabels,
                    std::span<const std::int32_t> olabels, const W& weight) {
  Assembly<W> out;
  const std::size_t n = std::max(ilabels.size(), olabels.size());
  out.reserve(n + 1, n);
  for (std::size_t i = 0; i < n; ++i) {
    out.open(zero);
    out.push({i < ilabels.size() ? ilabels[i] : 0, i < olabels.size() ? olabels[i] : 0, one,
              static_cast<std::int32_t>(i + 1)});
  }
  out.open(weight);
  return out.finish(zero, one, 0);
}

template <class S>
std::vector<PathString<typename S::Weight>> paths(const Machine<S>& machine, std::size_t most, std::size_t longest) {
  using Weight = typename S::Weight;
  const S& k = machine.semiring();
  std::vector<PathString<Weight>> out;
  if (machine.start() == kNoState) return out;
  const Components found = components(machine);
  if (longest == 0) {
    for (std::int32_t s = 0; found.cyclic && s < machine.states(); ++s)
      for (const auto& arc : machine.arcs(s))
        if (found.of[s] == found.of[arc.nextstate] && found.accessible[s] && found.coaccessible[s])
          fail("the machine has a cycle through state ", s,
               ", so it has infinitely many paths; pass max_length=, or take the best with shortest_path");
    longest = static_cast<std::size_t>(machine.states());
  }
  struct Frame {
    std::int32_t state;
    std::uint32_t arc;
    Weight weight;
  };
  std::vector<Frame> stack{{machine.start(), 0, k.one()}};
  std::vector<const typename Machine<S>::Arc*> path;
  while (!stack.empty() && out.size() < most) {
    Frame& frame = stack.back();
    const auto arcs = machine.arcs(frame.state);
    if (frame.arc == 0 && machine.is_final(frame.state)) {
      PathString<Weight> string;
      for (const auto* arc : path) {
        if (arc->ilabel != 0) string.ilabels.push_back(arc->ilabel);
        if (arc->olabel != 0) string.olabels.push_back(arc->olabel);
      }
      string.weight = k.times(frame.weight, machine.final(frame.state));
      out.push_back(std::move(string));
    }
    while (frame.arc < arcs.size() && (path.size() >= longest || !found.coaccessible[arcs[frame.arc].nextstate]))
      ++frame.arc;
    if (frame.arc >= arcs.size()) {
      stack.pop_back();
      if (!path.empty()) path.pop_back();
      continue;
    }
    const auto& arc = arcs[frame.arc++];
    path.push_back(&arc);
    stack.push_back({arc.nextstate, 0, k.times(frame.weight, arc.weight)});
  }
  return out;
}

template <class W>
W& PairTrie<W>::final(std::span<const std::int32_t> ilabels, std::span<const std::int32_t> olabels, const W& zero) {
  std::int32_t state = 0;
  for (std::size_t i = 0; i < std::max(ilabels.size(), olabels.size()); ++i) {
    const Step step{state, i < ilabels.size() ? ilabels[i] : 0, i < olabels.size() ? olabels[i] : 0};
    const auto fresh = static_cast<std::uint32_t>(steps_.size());
    const std::uint64_t hash =
        join(join(stir(static_cast<std::uint32_t>(step.from)), static_cast<std::uint32_t>(step.ilabel)),
             static_cast<std::uint32_t>(step.olabel));
    const std::uint32_t found = index_.add(hash, fresh, [&](std::uint32_t known) { return steps_[known] == step; });
    if (found == fresh) {
      if (finals_.size() >= kMostStates) fail("a machine has at most 2,147,483,647 states");
      steps_.push_back(step);
      finals_.push_back(zero);
    }
    state = static_cast<std::int32_t>(found + 1);
  }
  return finals_[state];
}

template <class W>
Automaton<W> PairTrie<W>::finish(const W& zero, const W& one) {
  std::vector<State<W>> states(finals_.size(), {zero, 0, 0, 0, 0});
  for (const Step& step : steps_) ++states[step.from].narcs;
  std::vector<std::uint32_t> next(states.size());
  std::uint32_t pos = 0;
  for (std::size_t s = 0; s < states.size(); ++s) {
    states[s].final = finals_[s];
    next[s] = states[s].pos = pos;
    pos += states[s].narcs;
  }
  std::vector<Arc<W>> arcs(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i)
    arcs[next[steps_[i].from]++] = {steps_[i].ilabel, steps_[i].olabel, one, static_cast<std::int32_t>(i + 1)};
  return Automaton<W>::assembled(zero, one, 0, std::move(states), std::move(arcs));
}

namespace {

// Calls body(point) for every code point of a text.
template <class Body>
void each_point(const Text& text, Body body) {
  const auto all = [&](const auto* points) {
    for (std::size_t i = 0; i < text.size; ++i) body(static_cast<char32_t>(points[i]));
  };
  text.width == 1   ? all(static_cast<const std::uint8_t*>(text.points))
  : text.width == 2 ? all(static_cast<const std::uint16_t*>(text.points))
                    : all(static_cast<const std::uint32_t*>(text.points));
}

[[noreturn]] void surrogate(char32_t point) {
  fail("the text holds the lone surrogate ", static_cast<std::uint32_t>(point), ", which has no bytes; remove it");
}

// What separates symbols: all that Python splits at.
bool is_gap(char32_t c) { return corpus::is_space(c) || (c >= 28 && c <= 31); }

}  // namespace

void Tokenizer::labels(const Text& text, std::vector<std::int32_t>& labels, std::int32_t unknown) const {
  labels.clear();
  const auto put = [&](std::uint32_t label) {
    if (label == 0) fail("the text holds label 0, which is epsilon; texts cannot contain it");
    labels.push_back(static_cast<std::int32_t>(label));
  };
  char bytes[4];
  if (tokens_ == Tokens::utf8) {
    each_point(text, put);
  } else if (tokens_ == Tokens::byte) {
    each_point(text, [&](char32_t point) {
      if (point >= 0xD800 && point < 0xE000) surrogate(point);
      const char* const end = corpus::append_utf8(bytes, point);
      for (const char* p = bytes; p != end; ++p) put(static_cast<unsigned char>(*p));
    });
  } else {
    std::string symbol;
    const auto close = [&] {
      if (symbol.empty()) return;
      std::int64_t key = input_->find(symbol);
      if (key < 0) key = unknown ? unknown : -1;
      if (key < 0) fail("symbol '", symbol, "' is not in the table of symbols; add it first");
      if (key > 0x7FFFFFFF) fail("symbol '", symbol, "' has key ", key, ", too large for a label");
      put(static_cast<std::uint32_t>(key));
      symbol.clear();
    };
    each_point(text, [&](char32_t point) {
      if (is_gap(point)) return close();
      if (point >= 0xDC80 && point < 0xDD00) {
        symbol += static_cast<char>(point & 0xFF);
      } else {
        if (point >= 0xD800 && point < 0xE000) surrogate(point);
        symbol.append(bytes, corpus::append_utf8(bytes, point));
      }
    });
    close();
  }
}

void Tokenizer::append(std::string& out, std::span<const std::int32_t> labels) const {
  if (tokens_ == Tokens::utf8) {
    for (const std::int32_t label : labels)
      if (label > 0x10FFFF) fail("the machine writes label ", label, ", which is no code point; pass token_type=");
    out.append(reinterpret_cast<const char*>(labels.data()), labels.size_bytes());
    return;
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (tokens_ == Tokens::byte) {
      if (labels[i] > 0xFF) fail("the machine writes label ", labels[i], ", which is no byte; pass token_type=");
      out += static_cast<char>(labels[i]);
    } else {
      const auto symbol = output_->find(std::int64_t{labels[i]});
      if (!symbol) fail("label ", labels[i], " is not in the table of output symbols; add a symbol for it first");
      if (i > 0) out += ' ';
      out += *symbol;
    }
  }
}

#define X(S) template std::vector<PathString<typename S::Weight>> paths(const Machine<S>&, std::size_t, std::size_t);
TEXTMILL_FST_SEMIRINGS(X)
#undef X

#define X(W)                                                                                                     \
  template class PairTrie<W>;                                                                                    \
  template Automaton<W> linear(const W&, const W&, std::span<const std::int32_t>, std::span<const std::int32_t>, \
                               const W&);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
