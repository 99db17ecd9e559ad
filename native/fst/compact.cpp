#include "fst/compact.h"

#include <cstring>

namespace textmill::fst {
namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::int32_t kAligned = 4;
constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

template <class W>
struct LabelWeight {
  std::int32_t label;
  W weight;
};
template <class W>
struct Step {
  LabelWeight<W> arc;
  std::int32_t nextstate;
};

// Where the fields of an element lie. Without a second label both are the same; without a next state it is the one after.
struct Fields {
  std::size_t size, olabel = kAbsent, weight = kAbsent, next = kAbsent;
};

struct Type {
  std::string kind;       // what is stored: "const", or behind "compact_"
  std::size_t width = 4;  // bytes of an index
};

bool split(const std::string& type, Type& made) {
  const std::pair<const char*, std::size_t> widths[] = {{"", 4}, {"8", 1}, {"16", 2}, {"64", 8}};
  for (const auto& [digits, width] : widths) {
    if (width != 4 && type == base::message("const", digits)) {
      made = {"const", width};
      return true;
    }
    const std::string front = base::message("compact", digits, "_");
    if (!type.starts_with(front)) continue;
    made = {type.substr(front.size()), width};
    const char* const kinds[] = {"string", "weighted_string", "acceptor", "unweighted_acceptor", "unweighted"};
    for (const char* kind : kinds)
      if (made.kind == kind) return true;
  }
  return false;
}

template <class W>
Fields fields_of(const std::string& kind) {
  if (kind == "string") return {4};
  if (kind == "weighted_string") return {sizeof(LabelWeight<W>), kAbsent, offsetof(LabelWeight<W>, weight)};
  if (kind == "acceptor")
    return {sizeof(Step<W>), kAbsent, offsetof(LabelWeight<W>, weight), offsetof(Step<W>, nextstate)};
  if (kind == "unweighted_acceptor") return {8, kAbsent, kAbsent, 4};
  return {12, 4, kAbsent, 8};
}

template <class T>
T at(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint64_t index_at(const char* from, std::size_t width, std::size_t i) {
  from += i * width;
  return width == 1   ? at<std::uint8_t>(from)
         : width == 2 ? at<std::uint16_t>(from)
         : width == 4 ? at<std::uint32_t>(from)
                      : at<std::uint64_t>(from);
}
void put_index(std::string& out, std::uint64_t value, std::size_t width) {
  if (width < 8 && value >> (8 * width) != 0)
    fail("an index of ", 8 * width, " bits cannot hold ", value, "; write the machine with wider ones");
  out.append(reinterpret_cast<const char*>(&value), width);  // little-endian
}
void pad(std::string& out) { out.append((kAlignment - out.size() % kAlignment) % kAlignment, '\0'); }

// Bytes that are taken one after another, each piece only if it is there.
class Pieces {
 public:
  Pieces(std::span<const char> bytes, std::size_t position) : bytes_(bytes), at_(position) {}
  const char* take(std::uint64_t count, std::size_t size, const char* what) {
    if (count > (bytes_.size() - at_) / size)
      fail("the header promises ", count, " ", what, ", the file has room for ", (bytes_.size() - at_) / size);
    const char* const from = bytes_.data() + at_;
    at_ += count * size;
    return from;
  }
  void align() { take((kAlignment - at_ % kAlignment) % kAlignment, 1, "bytes between arrays"); }
  std::size_t position() const { return at_; }

 private:
  std::span<const char> bytes_;
  std::size_t at_;
};

// The record of a state in a const file: final weight, then four indexes, as C++ lays them out.
struct StateRecord {
  std::size_t first, size;  // of the indexes; of the whole
};
template <class W>
StateRecord state_record(std::size_t width) {
  const std::size_t most = std::max(alignof(W), width), first = (sizeof(W) + width - 1) / width * width;
  return {first, (first + 4 * width + most - 1) / most * most};
}

template <class S>
Machine<S> read_const_of(Pieces& in, const BinaryHeader& header, const S& k, std::size_t width, bool aligned) {
  using Weight = typename S::Weight;
  using Arc = typename Machine<S>::Arc;
  const StateRecord record = state_record<Weight>(width);
  if (aligned) in.align();
  const char* const states = in.take(header.states, record.size, "states");
  if (aligned) in.align();
  const char* const arcs = in.take(header.arcs, sizeof(Arc), "arcs");
  Builder<S> out(k);
  out.reserve(header.states, header.arcs);
  std::uint64_t pos = 0;
  for (std::int64_t s = 0; s < header.states; ++s) {
    const char* const state = states + s * record.size;
    const std::uint64_t narcs = index_at(state + record.first, width, 1);
    if (index_at(state + record.first, width, 0) != pos || narcs > header.arcs - pos)
      fail("the arcs of state ", s, " do not follow those of the state before; the file is damaged");
    out.open(at<Weight>(state));
    for (std::uint64_t a = 0; a < narcs; ++a) out.push(at<Arc>(arcs + (pos + a) * sizeof(Arc)));
    pos += narcs;
  }
  if (pos != static_cast<std::uint64_t>(header.arcs)) fail("some arcs belong to no state; the file is damaged");
  return out.finish(static_cast<std::int32_t>(header.start));
}

template <class S>
Machine<S> read_elements(Pieces& in, const BinaryHeader& header, const S& k, const Type& type, bool aligned) {
  using Weight = typename S::Weight;
  const Fields fields = fields_of<Weight>(type.kind);
  const auto n = static_cast<std::uint64_t>(header.states);
  const bool chain = fields.next == kAbsent;
  const char* offsets = nullptr;
  if (!chain) {
    if (aligned) in.align();
    offsets = in.take(n + 1, type.width, "indexes");
  }
  const std::uint64_t count = chain ? n : index_at(offsets, type.width, n);
  if (aligned) in.align();
  const char* const elements = in.take(count, fields.size, "elements");
  Builder<S> out(k);
  out.reserve(n, count);
  for (std::uint64_t s = 0; s < n; ++s) {
    const std::uint64_t begin = chain ? s : index_at(offsets, type.width, s),
                        end = chain ? s + 1 : index_at(offsets, type.width, s + 1);
    if (begin > end || end > count || (s == 0 && begin != 0))
      fail("the elements of state ", s, " are ", begin, " to ", end, " of ", count, "; the file is damaged");
    const auto weight_of = [&](const char* element) {
      return fields.weight == kAbsent ? k.one() : at<Weight>(element + fields.weight);
    };
    const char* element = elements + begin * fields.size;
    const bool ends = begin < end && at<std::int32_t>(element) == kNoLabel;  // its final weight stands first
    out.open(ends ? weight_of(element) : k.zero());
    if (ends) element += fields.size;
    for (std::uint64_t e = begin + ends; e < end; ++e, element += fields.size) {
      const auto label = at<std::int32_t>(element);
      const auto next = chain ? static_cast<std::int32_t>(s + 1) : at<std::int32_t>(element + fields.next);
      out.push({label, fields.olabel == kAbsent ? label : at<std::int32_t>(element + fields.olabel), weight_of(element),
                next});
    }
  }
  return out.finish(static_cast<std::int32_t>(header.start));
}

template <class S>
void check(const Machine<S>& machine, const S& k) {
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    bool good = k.member(machine.final(s));
    for (const auto& arc : machine.arcs(s)) {
      if (arc.nextstate < 0 || arc.nextstate >= machine.states())
        fail("state ", s, " has an arc to state ", arc.nextstate, " of ", machine.states(), "; the file is damaged");
      if (arc.ilabel < 0 || arc.olabel < 0)
        fail("state ", s, " has an arc with the label ", std::min(arc.ilabel, arc.olabel), "; labels are 0 or more");
      good &= k.member(arc.weight);
    }
    if (!good) fail("state ", s, ": a weight that is no number; the file is damaged");
  }
}

}  // namespace

bool is_compact(const std::string& type) {
  Type ignored;
  return split(type, ignored);
}

template <class S>
Machine<S> read_compact(std::span<const char> bytes, const BinaryHeader& header, const S& semiring, std::size_t& end) {
  Type type;
  if (!split(header.type, type)) fail("'", header.type, "' is not a compact type");
  if (header.version != 1 && header.version != 2)
    fail(header.type, " machines of version ", header.version, " are not known");
  if (header.states < 0 || header.arcs < 0 || static_cast<std::size_t>(header.states) > kMostStates ||
      static_cast<std::size_t>(header.arcs) > kMostArcs)
    fail("the header promises ", header.states, " states and ", header.arcs, " arcs; the file is damaged");
  if (header.start < -1 || header.start >= header.states)
    fail("the start state is ", header.start, " of ", header.states, "; the file is damaged");
  const bool aligned = header.flags & kAligned || header.version == 1;
  Pieces in(bytes, header.body);
  Machine<S> made = type.kind == "const" ? read_const_of(in, header, semiring, type.width, aligned)
                                         : read_elements(in, header, semiring, type, aligned);
  check(made, semiring);
  if (made.arcs() != static_cast<std::size_t>(header.arcs))
    fail("the header promises ", header.arcs, " arcs, the file has ", made.arcs(), "; it is damaged");
  end = in.position();
  return made;
}

template <class S>
void write_compact(std::string& out, const Machine<S>& machine, const std::string& name, bool align) {
  using Weight = typename S::Weight;
  using Arc = typename Machine<S>::Arc;
  const S& k = machine.semiring();
  Type type;
  if (!split(name, type)) fail("'", name, "' is not a compact type");
  if (type.kind == "const") {
    const StateRecord record = state_record<Weight>(type.width);
    if (align) pad(out);
    std::uint64_t pos = 0;
    for (std::int32_t s = 0; s < machine.states(); ++s) {
      const auto& state = machine.state(s);
      const std::size_t begin = out.size();
      out.append(record.size, '\0');
      std::memcpy(out.data() + begin, &state.final, sizeof(Weight));
      std::string indexes;
      for (const std::uint64_t value :
           {pos, std::uint64_t{state.narcs}, std::uint64_t{state.niepsilons}, std::uint64_t{state.noepsilons}})
        put_index(indexes, value, type.width);
      std::memcpy(out.data() + begin + record.first, indexes.data(), indexes.size());
      pos += state.narcs;
    }
    if (align) pad(out);
    for (std::int32_t s = 0; s < machine.states(); ++s)
      for (const Arc& from : machine.arcs(s)) {
        Arc arc;
        std::memset(static_cast<void*>(&arc), 0, sizeof arc);
        arc.ilabel = from.ilabel;
        arc.olabel = from.olabel;
        arc.weight = from.weight;
        arc.nextstate = from.nextstate;
        out.append(reinterpret_cast<const char*>(&arc), sizeof arc);
      }
    return;
  }
  const Fields fields = fields_of<Weight>(type.kind);
  const bool chain = fields.next == kAbsent;
  const auto refuse = [&](std::int32_t s, const char* why) {
    fail("state ", s, ' ', why, ", so the machine cannot be written as ", name,
         chain ? "; take 'compact_acceptor'" : "; take 'const' or 'vector'");
  };
  std::string offsets, elements;
  const auto put = [&](std::int32_t ilabel, std::int32_t olabel, const Weight& weight, std::int32_t next) {
    const std::size_t begin = elements.size();
    elements.append(fields.size, '\0');
    char* const element = elements.data() + begin;
    std::memcpy(element, &ilabel, 4);
    if (fields.olabel != kAbsent) std::memcpy(element + fields.olabel, &olabel, 4);
    if (fields.weight != kAbsent) std::memcpy(element + fields.weight, &weight, sizeof weight);
    if (fields.next != kAbsent) std::memcpy(element + fields.next, &next, 4);
  };
  for (std::int32_t s = 0; s < machine.states(); ++s) {
    if (!chain) put_index(offsets, elements.size() / fields.size, type.width);
    const auto arcs = machine.arcs(s);
    if (machine.is_final(s)) {
      if (fields.weight == kAbsent && !k.equal(machine.final(s), k.one())) refuse(s, "has a final weight");
      if (chain && !arcs.empty()) refuse(s, "is final and has arcs");
      put(kNoLabel, kNoLabel, machine.final(s), kNoState);
    } else if (chain && arcs.size() != 1) {
      refuse(s, "is not final and has not one arc");
    }
    for (const Arc& arc : arcs) {
      if (fields.olabel == kAbsent && arc.ilabel != arc.olabel) refuse(s, "has an arc with two labels");
      if (fields.weight == kAbsent && !k.equal(arc.weight, k.one())) refuse(s, "has an arc with a weight");
      if (chain && arc.nextstate != s + 1) refuse(s, "does not lead to the next state");
      put(arc.ilabel, arc.olabel, arc.weight, arc.nextstate);
    }
  }
  if (!chain) {
    put_index(offsets, elements.size() / fields.size, type.width);
    if (align) pad(out);
    out += offsets;
  }
  if (align) pad(out);
  out += elements;
}

#define X(S)                                                                                            \
  template Machine<S> read_compact(std::span<const char>, const BinaryHeader&, const S&, std::size_t&); \
  template void write_compact(std::string&, const Machine<S>&, const std::string&, bool);
TEXTMILL_FST_NUMBERS(X)
#undef X

}  // namespace textmill::fst
