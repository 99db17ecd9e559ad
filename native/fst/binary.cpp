#include "fst/binary.h"

#include <bit>
#include <cstring>

#include "base/parallel.h"
#include "fst/compact.h"
#include "fst/properties.h"

namespace textmill::fst {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::int32_t kMachineMagic = 2125659606, kSymbolsMagic = 2125658996;
constexpr std::int32_t kHasInput = 1, kHasOutput = 2, kAligned = 4;
constexpr std::size_t kAlignment = 16;

class Reader {
 public:
  Reader(std::span<const char> bytes, std::size_t at) : bytes_(bytes), at_(at) {}
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  template <class T>
  T get() {
    need(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text(std::size_t most) {
    const auto size = get<std::int32_t>();
    if (size < 0 || static_cast<std::size_t>(size) > most)
      fail("byte ", at_ - 4, ": a string of ", size, " bytes; the file is damaged or not of OpenFst");
    need(size);
    std::string value(bytes_.data() + at_, size);
    at_ += size;
    return value;
  }
  const char* take(std::size_t size) {
    need(size);
    const char* const from = bytes_.data() + at_;
    at_ += size;
    return from;
  }
  void align() { take((kAlignment - at_ % kAlignment) % kAlignment); }

 private:
  void need(std::size_t size) const {
    if (size > left())
      fail("byte ", at_, ": the file ends ", size - left(), " bytes too early; it is truncated or damaged");
  }
  std::span<const char> bytes_;
  std::size_t at_;
};

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::int32_t>(text.size()));
  out += text;
}

// Bytes that go to a sink chunk by chunk.
struct Writer {
  const Sink& sink;
  std::string bytes;
  std::size_t gone = 0;  // bytes before those

  void hand_on(std::size_t at_least) {
    if (bytes.size() < at_least) return;
    gone += bytes.size();
    sink(bytes);
    bytes.clear();
  }
  void pad() { bytes.append((kAlignment - (gone + bytes.size()) % kAlignment) % kAlignment, '\0'); }
};

template <class S>
std::string arc_type() {
  if constexpr (std::same_as<S, Tropical<float>>) return "standard";
  if constexpr (std::same_as<S, Probability>) return "real64";
  return S::name();
}

template <class W>
void put_weight(std::string& out, const W& w) {
  if constexpr (std::same_as<W, SignedLog::Weight>) {
    put(out, w.sign);
    put(out, w.x);
  } else {
    put(out, w);
  }
}
template <class W>
W get_weight(Reader& in) {
  if constexpr (std::same_as<W, SignedLog::Weight>) {
    const auto sign = in.get<double>();
    return {sign, in.get<double>()};
  } else {
    return in.get<W>();
  }
}
template <class S>
[[noreturn]] void bad_weight(std::int64_t s) {
  fail("state ", s, ": a weight that is no number; the file is damaged");
}

template <class S>
void check_weight(const typename S::Weight& w, std::int64_t s) {
  if (!S::member(w)) bad_weight<S>(s);
}

[[noreturn]] void bad_target(std::size_t s, std::int32_t to, std::size_t states) {
  fail("state ", s, " has an arc to state ", to, " of ", states, "; the file is damaged");
}
[[noreturn]] void bad_label(std::size_t s, std::int32_t label) {
  fail("state ", s, " has an arc with the label ", label, "; labels are 0 or more");
}

// How many states and arcs a vector machine has: hops from state to state, and leaves the reader behind the last.
struct Extent {
  std::size_t states = 0, arcs = 0;
};
Extent measure_vector(Reader& in, const BinaryHeader& header, std::size_t weight_size) {
  const std::size_t state_size = weight_size + 8, arc_size = weight_size + 12;
  if (header.states < -1 || (header.states >= 0 && static_cast<std::uint64_t>(header.states) > in.left() / state_size))
    fail("the header promises ", header.states, " states, the file has room for ", in.left() / state_size);
  Extent found;
  for (; header.states < 0 ? in.left() > 0 : found.states < static_cast<std::size_t>(header.states); ++found.states) {
    if (found.states >= kMostStates) fail("a machine has at most 2,147,483,647 states");
    in.take(weight_size);
    const auto count = in.get<std::int64_t>();
    if (count < 0 || static_cast<std::uint64_t>(count) > in.left() / arc_size)
      fail("state ", found.states, " promises ", count, " arcs, the file has room for ", in.left() / arc_size);
    in.take(count * arc_size);
    found.arcs += count;
    if (found.arcs > kMostArcs) fail("a machine has at most 4,294,967,295 arcs");
  }
  return found;
}

// Do arcs lie in memory as they do in vector files, without bytes between their fields?
template <class S>
constexpr bool is_packed = sizeof(typename Machine<S>::Arc) == sizeof(typename S::Weight) + 12;

template <class S>
Machine<S> read_vector(Reader& in, const BinaryHeader& header) {
  using Weight = typename S::Weight;
  using Arc = typename Machine<S>::Arc;
  constexpr std::size_t arc_size = sizeof(Weight) + 12;
  Reader ahead = in;
  const Extent size = measure_vector(ahead, header, sizeof(Weight));
  if (header.start < -1 || header.start >= static_cast<std::int64_t>(size.states))
    fail("the start state is ", header.start, " of ", size.states, "; the file is damaged");
  std::vector<typename Machine<S>::State> states;
  std::vector<Arc> arcs;
  states.reserve(size.states);
  arcs.reserve(size.arcs);
  for (std::size_t s = 0; s < size.states; ++s) {
    const auto final = get_weight<Weight>(in);
    check_weight<S>(final, s);
    const auto count = static_cast<std::uint32_t>(in.get<std::int64_t>());
    auto& state =
        states.emplace_back(typename Machine<S>::State{final, static_cast<std::uint32_t>(arcs.size()), count, 0, 0});
    const char* from = in.take(count * arc_size);
    for (std::uint32_t a = 0; a < count; ++a, from += arc_size) {
      Arc& arc = arcs.emplace_back();
      if constexpr (is_packed<S>) {
        std::memcpy(static_cast<void*>(&arc), from, arc_size);
      } else {
        std::memcpy(&arc.ilabel, from, 4);
        std::memcpy(&arc.olabel, from + 4, 4);
        std::memcpy(static_cast<void*>(&arc.weight), from + 8, sizeof(Weight));
        std::memcpy(&arc.nextstate, from + 8 + sizeof(Weight), 4);
      }
      check_weight<S>(arc.weight, s);
      if (arc.nextstate < 0 || static_cast<std::size_t>(arc.nextstate) >= size.states)
        bad_target(s, arc.nextstate, size.states);
      if (arc.ilabel < 0 || arc.olabel < 0) bad_label(s, std::min(arc.ilabel, arc.olabel));
      state.niepsilons += arc.ilabel == 0;
      state.noepsilons += arc.olabel == 0;
    }
  }
  return Machine<S>::counted(S{}, static_cast<std::int32_t>(header.start), std::move(states), std::move(arcs));
}

template <class S>
void check_records(std::span<const typename Machine<S>::State> states, std::span<const typename Machine<S>::Arc> arcs,
                   std::size_t begin, std::size_t end) {
  for (std::size_t s = begin; s < end; ++s) {
    const auto& state = states[s];
    const std::size_t next = s + 1 < states.size() ? states[s + 1].pos : arcs.size();
    if (std::size_t{state.pos} + state.narcs != next || next > arcs.size() || (s == 0 && state.pos != 0))
      fail("state ", s, " has arcs ", state.pos, " to ", std::size_t{state.pos} + state.narcs,
           ", the next state begins at ", next, "; the file is damaged");
    check_weight<S>(state.final, s);
    std::uint32_t ieps = 0, oeps = 0;
    for (const auto& arc : arcs.subspan(state.pos, state.narcs)) {
      if (arc.nextstate < 0 || static_cast<std::size_t>(arc.nextstate) >= states.size())
        bad_target(s, arc.nextstate, states.size());
      if (arc.ilabel < 0 || arc.olabel < 0) bad_label(s, std::min(arc.ilabel, arc.olabel));
      check_weight<S>(arc.weight, s);
      ieps += arc.ilabel == 0;
      oeps += arc.olabel == 0;
    }
    if (ieps != state.niepsilons || oeps != state.noepsilons)
      fail("state ", s, " counts its epsilons wrongly; the file is damaged");
  }
}

// Takes the two arrays of a const machine.
struct Arrays {
  const char *states, *arcs;
};
Arrays take_const(Reader& in, const BinaryHeader& header, std::size_t state_size, std::size_t arc_size) {
  const bool aligned = header.flags & kAligned || header.version == 1;
  if (header.states < 0 || header.arcs < 0)
    fail("the header promises ", header.states, " states and ", header.arcs, " arcs; the file is damaged");
  if (aligned) in.align();
  if (static_cast<std::uint64_t>(header.states) > in.left() / state_size)
    fail("the header promises ", header.states, " states, the file has room for ", in.left() / state_size);
  const char* const states = in.take(header.states * state_size);
  if (aligned) in.align();
  if (static_cast<std::uint64_t>(header.arcs) > in.left() / arc_size)
    fail("the header promises ", header.arcs, " arcs, the file has room for ", in.left() / arc_size);
  return {states, in.take(header.arcs * arc_size)};
}

template <class S>
Machine<S> read_const(Reader& in, const BinaryHeader& header, std::shared_ptr<void> owner) {
  using State = typename Machine<S>::State;
  using Arc = typename Machine<S>::Arc;
  const auto [states, arcs] = take_const(in, header, sizeof(State), sizeof(Arc));
  if (header.start < -1 || header.start >= header.states)
    fail("the start state is ", header.start, " of ", header.states, "; the file is damaged");
  if (header.states == 0 && header.arcs > 0)
    fail("the header promises ", header.arcs, " arcs of no state; the file is damaged");
  if (static_cast<std::size_t>(header.states) > kMostStates || static_cast<std::size_t>(header.arcs) > kMostArcs)
    fail("the machine is too large");
  const auto start = static_cast<std::int32_t>(header.start);
  const auto is_aligned = [](const char* p) { return reinterpret_cast<std::uintptr_t>(p) % alignof(State) == 0; };
  if (owner && is_aligned(states) && is_aligned(arcs)) {
    return Machine<S>::mapped(
        S{}, start, {reinterpret_cast<const State*>(states), static_cast<std::size_t>(header.states)},
        {reinterpret_cast<const Arc*>(arcs), static_cast<std::size_t>(header.arcs)}, std::move(owner));
  }
  std::vector<State> copied_states(header.states);
  std::vector<Arc> copied_arcs(header.arcs);
  if (header.states) std::memcpy(copied_states.data(), states, header.states * sizeof(State));
  if (header.arcs) std::memcpy(copied_arcs.data(), arcs, header.arcs * sizeof(Arc));
  check_records<S>(copied_states, copied_arcs, 0, copied_states.size());
  return Machine<S>::counted(S{}, start, std::move(copied_states), std::move(copied_arcs));
}

// A fault if the type is neither vector nor const, or of a version that is not known.
bool is_vector(const BinaryHeader& header) {
  if (header.type == "vector") {
    if (header.version != 2)
      fail("vector machines of version ", header.version, " are not known; write it again with OpenFst 1.4 or later");
    return true;
  }
  if (header.type != "const")
    fail("machines of type '", header.type, "' cannot be read; convert it with `fstconvert --fst_type=vector`");
  if (header.version != 1 && header.version != 2) fail("const machines of version ", header.version, " are not known");
  return false;
}

}  // namespace

BinaryHeader read_header(std::span<const char> bytes, std::size_t begin) {
  Reader in(bytes, begin);
  const std::span<const char> opening = bytes.subspan(begin);
  if (opening.size() >= 2 && opening[0] == '\x1f' && opening[1] == '\x8b')
    fail("the file is compressed with gzip; decompress it first");
  if (opening.size() < 4 || in.get<std::int32_t>() != kMachineMagic) {
    if (!opening.empty() && opening[0] >= '0' && opening[0] <= '9')
      fail("not a binary machine but text; read it with read_text or 'textmill fst compile'");
    fail("not a binary machine of OpenFst: its first four bytes are others");
  }
  BinaryHeader header;
  header.type = in.text(64);
  header.arc_type = in.text(4096);
  header.version = in.get<std::int32_t>();
  header.flags = in.get<std::int32_t>();
  header.properties = in.get<std::uint64_t>();
  header.start = in.get<std::int64_t>();
  header.states = in.get<std::int64_t>();
  header.arcs = in.get<std::int64_t>();
  std::size_t at = in.at();
  if (header.flags & kHasInput) header.input = read_symbols_binary(bytes, at);
  if (header.flags & kHasOutput) header.output = read_symbols_binary(bytes, at);
  header.body = at;
  return header;
}

template <class S>
Machine<S> read_binary(std::span<const char> bytes, const BinaryHeader& header, S, std::shared_ptr<void> owner,
                       std::size_t& end) {
  if (header.arc_type != arc_type<S>())
    fail("the machine has arcs of type '", header.arc_type, "', not '", arc_type<S>(), "'");
  Reader in(bytes, header.body);
  if (is_compact(header.type)) {
    Machine<S> made = read_compact(bytes, header, S{}, end);
    made.set_header(header.properties);
    return made;
  }
  Machine<S> made = is_vector(header) ? read_vector<S>(in, header) : read_const<S>(in, header, std::move(owner));
  made.set_header(header.properties);
  end = in.at();
  return made;
}

std::size_t end_of_binary(std::span<const char> bytes, const BinaryHeader& header) {
  if (is_compact(header.type)) {
    std::size_t end = 0;
#define X(S)                               \
  if (header.arc_type == arc_type<S>()) {  \
    read_compact(bytes, header, S{}, end); \
    return end;                            \
  }
    TEXTMILL_FST_NUMBERS(X)
#undef X
    bad_arc_type(header);
  }
  Reader in(bytes, header.body);
  const bool vector = is_vector(header);
#define X(S)                                                                                                     \
  if (header.arc_type == arc_type<S>()) {                                                                        \
    vector ? (void)measure_vector(in, header, sizeof(typename S::Weight))                                        \
           : (void)take_const(in, header, sizeof(typename Machine<S>::State), sizeof(typename Machine<S>::Arc)); \
    return in.at();                                                                                              \
  }
  TEXTMILL_FST_NUMBERS(X)
#undef X
  bad_arc_type(header);
}

void bad_arc_type(const BinaryHeader& header) {
  fail("arcs of type '", header.arc_type, "' cannot be read; convert the machine with `fstmap --map_type=to_standard`");
}

template <class S>
void check_mapped(const Machine<S>& machine, std::size_t threads) {
  constexpr std::size_t kRecords = 1 << 16;  // states and arcs of a block
  if (machine.states() == 0) return;
  const std::span states(&machine.state(0), machine.states());
  const std::span arcs(machine.arc_array(), machine.arcs());
  // Where blocks begin. Positions are not checked yet: whatever they are, every state falls into one block.
  std::vector<std::size_t> bounds(1, 0);
  for (std::size_t wanted = kRecords; wanted < states.size() + arcs.size(); wanted += kRecords) {
    std::size_t low = bounds.back(), high = states.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      states[middle].pos + middle < wanted ? low = middle + 1 : high = middle;
    }
    bounds.push_back(low);
  }
  bounds.push_back(states.size());
  base::parallel_for(bounds.size() - 1, threads,
                     [&](std::size_t b) { check_records<S>(states, arcs, bounds[b], bounds[b + 1]); });
}

template <class S>
void write_binary(const Machine<S>& machine, const std::string& type, bool align, const SymbolTable* input,
                  const SymbolTable* output, const Sink& sink) {
  using State = typename Machine<S>::State;
  using Arc = typename Machine<S>::Arc;
  const bool compact = is_compact(type), is_const = compact || type == "const";
  if (!is_const && type != "vector")
    fail("machines are written as 'vector', 'const' or one of the compact types ('compact_acceptor', ...), not '", type,
         "'");
  Writer out{sink, {}};
  out.bytes.reserve(2 * kChunk);
  put(out.bytes, kMachineMagic);
  put_text(out.bytes, type);
  put_text(out.bytes, arc_type<S>());
  put(out.bytes, std::int32_t{is_const && align ? 1 : 2});
  put(out.bytes, std::int32_t{(input ? kHasInput : 0) | (output ? kHasOutput : 0) | (align ? kAligned : 0)});
  const std::uint64_t bits =
      ((machine.known() & property::trinary) | machine.header()) & (property::trinary | property::error);
  put(out.bytes, bits | property::expanded | (is_const ? 0 : property::mutable_));
  put(out.bytes, static_cast<std::int64_t>(machine.start()));
  put(out.bytes, static_cast<std::int64_t>(machine.states()));
  put(out.bytes, is_const ? static_cast<std::int64_t>(machine.arcs())
                          : std::int64_t{0});  // OpenFst does not count those of a vector
  if (input) write_symbols_binary(out.bytes, *input);
  if (output) write_symbols_binary(out.bytes, *output);
  if (compact) {
    write_compact(out.bytes, machine, type, align);
    out.hand_on(1);
    return;
  }
  const auto put_arcs = [&](std::span<const Arc> arcs) {
    constexpr std::size_t kArcs = kChunk / sizeof(Arc);
    for (; !arcs.empty(); arcs = arcs.subspan(std::min(arcs.size(), kArcs))) {
      const auto some = arcs.first(std::min(arcs.size(), kArcs));
      if constexpr (is_packed<S>) {
        out.bytes.append(reinterpret_cast<const char*>(some.data()), some.size_bytes());
      } else {
        for (const Arc& from : some) {
          if (!is_const) {
            put(out.bytes, from.ilabel);
            put(out.bytes, from.olabel);
            put_weight(out.bytes, from.weight);
            put(out.bytes, from.nextstate);
            continue;
          }
          Arc arc;
          std::memset(static_cast<void*>(&arc), 0, sizeof arc);  // what lies between the fields too
          arc.ilabel = from.ilabel;
          arc.olabel = from.olabel;
          arc.weight = from.weight;
          arc.nextstate = from.nextstate;
          put(out.bytes, arc);
        }
      }
      out.hand_on(kChunk);
    }
  };
  if (is_const) {
    if (align) out.pad();
    std::uint32_t pos = 0;
    for (std::int32_t s = 0; s < machine.states(); ++s) {
      const State& from = machine.state(s);
      State state;
      std::memset(static_cast<void*>(&state), 0, sizeof state);
      state.final = from.final;
      state.pos = pos;
      state.narcs = from.narcs;
      state.niepsilons = from.niepsilons;
      state.noepsilons = from.noepsilons;
      pos += state.narcs;
      put(out.bytes, state);
      out.hand_on(kChunk);
    }
    if (align) out.pad();
    for (std::int32_t s = 0; s < machine.states(); ++s) put_arcs(machine.arcs(s));
  } else {
    for (std::int32_t s = 0; s < machine.states(); ++s) {
      put_weight(out.bytes, machine.final(s));
      put(out.bytes, static_cast<std::int64_t>(machine.arcs(s).size()));
      put_arcs(machine.arcs(s));
    }
  }
  out.hand_on(1);
}

SymbolTable read_symbols_binary(std::span<const char> bytes, std::size_t& position) {
  Reader in(bytes, position);
  if (in.get<std::int32_t>() != kSymbolsMagic) fail("byte ", position, ": not a table of symbols of OpenFst");
  SymbolTable symbols;
  symbols.name = in.text(1 << 16);
  const auto available = in.get<std::int64_t>();
  const auto size = in.get<std::int64_t>();
  if (size < 0 || static_cast<std::uint64_t>(size) > in.left() / 12)
    fail("a table of symbols promises ", size, " symbols, the file has room for ", in.left() / 12);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::string symbol = in.text(1 << 24);
    symbols.add(symbol, in.get<std::int64_t>());
  }
  symbols.set_available(available);
  position = in.at();
  return symbols;
}

void write_symbols_binary(std::string& out, const SymbolTable& symbols) {
  put(out, kSymbolsMagic);
  put_text(out, symbols.name);
  put(out, symbols.available());
  put(out, static_cast<std::int64_t>(symbols.size()));
  symbols.each([&](std::int64_t key, std::string_view symbol) {
    put_text(out, symbol);
    put(out, key);
  });
}

#define X(S)                                                                                                           \
  template Machine<S> read_binary(std::span<const char>, const BinaryHeader&, S, std::shared_ptr<void>, std::size_t&); \
  template void check_mapped(const Machine<S>&, std::size_t);                                                          \
  template void write_binary(const Machine<S>&, const std::string&, bool, const SymbolTable*, const SymbolTable*,      \
                             const Sink&);
TEXTMILL_FST_NUMBERS(X)
#undef X

}  // namespace textmill::fst
