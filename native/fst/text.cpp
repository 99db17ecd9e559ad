#include "fst/text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/flat_table.h"

namespace textmill::fst {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

void append_number(std::string& out, std::int64_t value) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_number(std::string& out, std::int64_t value, char end) {
  char digits[21];
  char* last = std::to_chars(digits, digits + 20, value).ptr;
  *last++ = end;
  out.append(digits, last);
}

// What each byte is: one look per byte. A carriage return at the end of a line is no part of a field.
struct Separators {
  explicit Separators(std::string_view characters) {
    for (const char c : characters) blank[static_cast<unsigned char>(c)] = true;
    blank['\r'] = true;
    ends_field = blank;
    ends_field['\n'] = true;
  }
  std::array<bool, 256> blank{};       // stands between fields
  std::array<bool, 256> ends_field{};  // the same, or the end of the line
};

// Numbers of states as they appear. Small names, which nearly all are, look up an array.
class StateNumbers {
 public:
  std::int32_t of(std::int64_t name) {
    if (name < kDense) {
      if (static_cast<std::size_t>(name) >= dense_.size())
        dense_.resize(std::max<std::size_t>(name + 1, dense_.size() * 2), kNoState);
      if (dense_[name] == kNoState) dense_[name] = count_++;
      return dense_[name];
    }
    const auto [at, is_new] = sparse_.add(static_cast<std::uint64_t>(name), count_);
    count_ += is_new;
    return at;
  }
  std::int32_t count() const { return count_; }

 private:
  static constexpr std::int64_t kDense = 1 << 24;
  std::vector<std::int32_t> dense_;
  base::FlatTable<std::int32_t> sparse_;
  std::int32_t count_ = 0;
};

struct Line {
  std::string_view field[6];
  std::size_t count = 0;
};

template <class W>
class Parser {
 public:
  Parser(std::string_view text, const WeightFormat<W>& weights, const TextOptions& options)
      : text_(text), k_(weights), options_(options), separators_(options.separators) {}

  Automaton<W> run() {
    std::vector<std::pair<std::int32_t, W>> finals;
    arcs_.reserve(std::min(static_cast<std::size_t>(std::ranges::count(text_, '\n')), text_.size() / kShortestArc) + 1);
    std::int32_t start = kNoState;
    Line line;
    const std::size_t labels = options_.acceptor ? 1 : 2;
    while (next(line)) {
      if (line.count == 0) continue;
      const std::int32_t from = state(line, 0);
      if (start == kNoState) start = from;
      if (line.count <= 2) {
        finals.emplace_back(from, line.count == 2 ? weight(line, 1) : k_.one);
        continue;
      }
      if (line.count < 2 + labels || line.count > 3 + labels) {
        fail(line_, ":", std::min(line.count, 3 + labels), ": ", line.count, " fields; an arc has ", 2 + labels, " or ",
             3 + labels, " (source destination ", options_.acceptor ? "label" : "input output",
             " [weight]), a final state 1 or 2",
             !options_.acceptor && line.count == 3 ? "; pass acceptor=True if the file is an acceptor" : "");
      }
      if (runs_.empty() || runs_.back().from != from) runs_.push_back({from, arcs_.size()});
      Arc& arc = arcs_.emplace_back();
      arc.nextstate = state(line, 1);
      arc.ilabel = label(line, 2, options_.names.input);
      arc.olabel = options_.acceptor ? arc.ilabel : label(line, 3, options_.names.output);
      arc.weight = line.count == 3 + labels ? weight(line, 2 + labels) : k_.one;
    }
    const std::size_t n =
        options_.keep_numbers ? static_cast<std::size_t>(most_) + 1 : static_cast<std::size_t>(numbers_.count());
    std::vector<State<W>> states(n, {k_.zero, 0, 0, 0, 0});
    for (const auto& [s, w] : finals) states[s].final = w;
    place(states);
    return Automaton<W>::assembled(k_.zero, k_.one, start, std::move(states), std::move(arcs_));
  }

 private:
  using Arc = fst::Arc<W>;
  static constexpr std::size_t kShortestArc = 6;  // bytes of a line
  struct Run {                                    // arcs of one state that follow each other in the text
    std::int32_t from;
    std::size_t begin;
  };

  // Brings the runs into the order of the states.
  void place(std::vector<State<W>>& states) {
    if (arcs_.size() > kMostArcs) fail("a machine has at most 4,294,967,295 arcs");
    runs_.push_back({kNoState, arcs_.size()});
    bool in_order = true;
    for (std::size_t r = 0; r + 1 < runs_.size(); ++r) {
      states[runs_[r].from].narcs += static_cast<std::uint32_t>(runs_[r + 1].begin - runs_[r].begin);
      in_order &= r == 0 || runs_[r - 1].from < runs_[r].from;
    }
    std::uint32_t pos = 0;
    for (auto& state : states) {
      state.pos = pos;
      pos += state.narcs;
    }
    if (in_order) {
      if (arcs_.capacity() > arcs_.size() + arcs_.size() / 4) arcs_.shrink_to_fit();
      return;
    }
    std::vector<std::uint32_t> next(states.size());
    for (std::size_t s = 0; s < states.size(); ++s) next[s] = states[s].pos;
    std::vector<Arc> placed(arcs_.size());
    for (std::size_t r = 0; r + 1 < runs_.size(); ++r) {
      const auto [from, begin] = runs_[r];
      std::copy(arcs_.begin() + begin, arcs_.begin() + runs_[r + 1].begin, placed.begin() + next[from]);
      next[from] += static_cast<std::uint32_t>(runs_[r + 1].begin - begin);
    }
    arcs_ = std::move(placed);
  }

  bool next(Line& line) {
    if (at_ >= text_.size()) return false;
    ++line_;
    line.count = 0;
    const bool* const blank = separators_.blank.data();
    const bool* const ends_field = separators_.ends_field.data();
    const char* p = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    while (true) {
      while (p != end && blank[static_cast<unsigned char>(*p)]) ++p;
      if (p == end || *p == '\n') break;
      const char* const begin = p;
      while (p != end && !ends_field[static_cast<unsigned char>(*p)]) ++p;
      if (line.count < 6) line.field[line.count] = {begin, static_cast<std::size_t>(p - begin)};
      ++line.count;
    }
    at_ = static_cast<std::size_t>(p - text_.data()) + 1;
    return true;
  }

  std::int64_t whole(const Line& line, std::size_t field, const char* what, std::int64_t most) {
    const std::string_view text = line.field[field];
    std::int64_t value = 0;
    bool whole = true;
    if (text.size() <= 18) {  // which cannot overflow if all are digits, and what others give is not used
      std::uint64_t number = 0;
      for (const char c : text) {
        const unsigned digit = static_cast<unsigned char>(c) - '0';
        whole &= digit < 10;
        number = number * 10 + digit;
      }
      value = static_cast<std::int64_t>(number);
    } else {
      const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
      whole = fault == std::errc() && end == text.data() + text.size() && value >= 0;
    }
    if (!whole || value > most) {
      fail(line_, ":", field + 1, ": ", what, " '", text, "' is not a whole number from 0 to ", most);
    }
    return value;
  }

  std::int32_t state(const Line& line, std::size_t field) {
    std::int64_t name;
    if (options_.names.states) {
      name = options_.names.states->find(line.field[field]);
      if (name < 0) fail(line_, ":", field + 1, ": state '", line.field[field], "' is not in the table of states");
    } else {
      name = whole(line, field, "state",
                   options_.keep_numbers ? kMostStates - 1 : std::numeric_limits<std::int64_t>::max());
    }
    if (!options_.keep_numbers) return numbers_.of(name);
    if (name >= static_cast<std::int64_t>(kMostStates) || name > 64 * static_cast<std::int64_t>(text_.size()) + 1024)
      fail(line_, ":", field + 1, ": state ", name,
           " is far beyond the number of lines; compile without keeping the numbers of states");
    most_ = std::max(most_, name);
    return static_cast<std::int32_t>(name);
  }

  std::int32_t label(const Line& line, std::size_t field, const SymbolTable* symbols) {
    if (!symbols) return static_cast<std::int32_t>(whole(line, field, "label", 0x7FFFFFFF));
    const std::int64_t key = symbols->find(line.field[field]);
    if (key < 0)
      fail(line_, ":", field + 1, ": symbol '", line.field[field], "' is not in the table of ",
           field == 2 ? "input" : "output", " symbols; add it to the table");
    if (key > 0x7FFFFFFF)
      fail(line_, ":", field + 1, ": symbol '", line.field[field], "' has key ", key, ", too large for a label");
    return static_cast<std::int32_t>(key);
  }

  W weight(const Line& line, std::size_t field) {
    W w;
    if (!k_.read(line.field[field], w))
      fail(line_, ":", field + 1, ": '", line.field[field], "' is not a weight of the semiring ", k_.name);
    return w;
  }

  std::string_view text_;
  const WeightFormat<W>& k_;
  const TextOptions& options_;
  const Separators separators_;
  std::vector<Arc> arcs_;
  std::vector<Run> runs_;
  StateNumbers numbers_;
  std::int64_t most_ = -1;
  std::size_t at_ = 0, line_ = 0;
};

}  // namespace

template <class W>
Automaton<W> read_text(std::string_view text, const WeightFormat<W>& weights, const TextOptions& options) {
  return Parser<W>(text, weights, options).run();
}

template <class W>
void write_text(const Automaton<W>& machine, const Values<W>& values, const TextOptions& options, const Sink& sink) {
  std::string out;
  out.reserve(2 * kChunk);
  const char separator = options.separators.front();
  const auto name = [&](std::int64_t value, const SymbolTable* symbols, const char* what) {
    if (!symbols) return append_number(out, value);
    if (const auto symbol = symbols->find(value)) return static_cast<void>(out += *symbol);
    if (options.missing.empty()) fail(what, " ", value, " is not in the table of symbols; add it, or pass missing=");
    out += options.missing;
  };
  const auto field = [&, separator](std::int64_t value, const SymbolTable* symbols, const char* what) {
    if (!symbols) return append_number(out, value, separator);
    name(value, symbols, what);
    out += separator;
  };
  const auto weight = [&, separator](const W& w) {
    if (!options.show_one && Values<W>::equal(w, machine.one())) return;
    out += separator;
    values.write(out, w);
  };
  const auto one = [&, separator](std::int32_t s) {
    for (const auto& arc : machine.arcs(s)) {
      field(s, options.names.states, "state");
      field(arc.nextstate, options.names.states, "state");
      name(arc.ilabel, options.names.input, "input label");
      if (options.acceptor) {
        if (arc.ilabel != arc.olabel)
          fail("an arc of state ", s, " has two labels, ", arc.ilabel, " and ", arc.olabel,
               "; print it as a transducer");
      } else {
        out += separator;
        name(arc.olabel, options.names.output, "output label");
      }
      weight(arc.weight);
      out += '\n';
      if (out.size() >= kChunk) {
        sink(out);
        out.clear();
      }
    }
    // a state without arcs that is not final, but the start of the machine, would be lost
    if (!machine.is_final(s) && !(s == machine.start() && machine.arcs(s).empty())) return;
    name(s, options.names.states, "state");
    weight(machine.final(s));
    out += '\n';
  };
  if (machine.start() == kNoState) return;
  one(machine.start());
  for (std::int32_t s = 0; s < machine.states(); ++s)
    if (s != machine.start()) one(s);
  sink(out);
}

SymbolTable read_symbols_text(std::string_view text) {
  SymbolTable symbols;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!row.empty() && is_blank(row.back())) row.remove_suffix(1);
    while (!row.empty() && is_blank(row.front())) row.remove_prefix(1);
    if (row.empty()) continue;
    std::size_t gap = row.find_last_of(" \t");
    if (gap == row.npos) fail(line, ": '", row, "' has no key; a line is a symbol, a tab and a number");
    std::int64_t key = 0;
    const auto [stop, fault] = std::from_chars(row.data() + gap + 1, row.data() + row.size(), key);
    if (fault != std::errc() || stop != row.data() + row.size() || key < 0)
      fail(line, ": '", row.substr(gap + 1), "' is not a key; a line is a symbol, a tab and a number >= 0");
    while (gap > 0 && is_blank(row[gap - 1])) --gap;
    if (row.substr(0, gap).find_first_of(" \t") != row.npos)
      fail(line, ": the symbol '", row.substr(0, gap), "' has a blank in it");
    try {
      symbols.add(row.substr(0, gap), key);
    } catch (const Fault& fault) {
      fail(line, ": ", fault.what());
    }
  }
  return symbols;
}

std::string write_symbols_text(const SymbolTable& symbols) {
  std::string out;
  symbols.each([&](std::int64_t key, std::string_view symbol) {
    out += symbol;
    out += '\t';
    append_number(out, key);
    out += '\n';
  });
  return out;
}

#define X(W)                                                                                     \
  template Automaton<W> read_text(std::string_view, const WeightFormat<W>&, const TextOptions&); \
  template void write_text(const Automaton<W>&, const Values<W>&, const TextOptions&, const Sink&);
TEXTMILL_FST_WEIGHTS(X)
#undef X

}  // namespace textmill::fst
