// Symbol tables, text and binary files of machines, between Python and C++.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bind/fst.h"
#include "fst/binary.h"
#include "fst/text.h"

namespace textmill::bind {
namespace {

using fst::fail;
using fst::SymbolTable;

// Symbols are bytes; those that are not UTF-8 come out as Python reads file names.
nb::object symbol_text(std::string_view symbol) {
  return nb::steal(PyUnicode_DecodeUTF8(symbol.data(), static_cast<Py_ssize_t>(symbol.size()), "surrogateescape"));
}

// The table to be changed.
SymbolTable& unread(SymbolTable& table) {
  if (table.readers.count > 0) fail("the table of symbols is being read by another thread; change a copy of it");
  return table;
}

void bind_symbols(nb::module_& m) {
  nb::class_<SymbolTable>(m, "SymbolTable", "Names of labels.")
      .def(nb::init<>())
      .def("__init__", [](SymbolTable* self, const SymbolTable& other) { new (self) SymbolTable(other); })
      .def_prop_rw(
          "name", [](const SymbolTable& t) { return symbol_text(t.name); },
          [](SymbolTable& t, const std::string& name) { unread(t).name = name; })
      .def_prop_ro("available", &SymbolTable::available)
      .def("__len__", &SymbolTable::size)
      .def("key", [](const SymbolTable& t, std::string_view symbol) { return t.find(symbol); })
      .def("symbol",
           [](const SymbolTable& t, std::int64_t key) -> nb::object {
             const auto found = t.find(key);
             return found ? symbol_text(*found) : nb::none();
           })
      .def(
          "add",
          [](SymbolTable& t, std::string_view symbol, std::optional<std::int64_t> key) {
            return key ? unread(t).add(symbol, *key) : unread(t).add(symbol);
          },
          "symbol"_a, "key"_a.none() = nb::none())
      .def("remove", [](SymbolTable& t, std::int64_t key) { return unread(t).remove(key); })
      .def("items",
           [](const SymbolTable& t) {
             nb::list items;
             t.each([&](std::int64_t key, std::string_view symbol) {
               items.append(nb::make_tuple(key, symbol_text(symbol)));
             });
             return items;
           })
      .def("same",
           [](const SymbolTable& a, const SymbolTable& b) {
             bool same = a.size() == b.size();
             a.each([&](std::int64_t key, std::string_view symbol) { same = same && b.find(symbol) == key; });
             return same;
           })
      .def("to_text",
           [](const SymbolTable& t) {
             const std::string text = fst::write_symbols_text(t);
             return nb::bytes(text.data(), text.size());
           })
      .def("to_bytes",
           [](const SymbolTable& t) {
             std::string out;
             fst::write_symbols_binary(out, t);
             return nb::bytes(out.data(), out.size());
           })
      .def_static("from_text", [](nb::bytes text) { return fst::read_symbols_text({text.c_str(), text.size()}); })
      .def_static("from_bytes", [](nb::bytes bytes) {
        std::size_t at = 0;
        return fst::read_symbols_binary({bytes.c_str(), bytes.size()}, at);
      });
}

// Owns a Python buffer from C++: given back under the interpreter's lock.
std::shared_ptr<void> owner_of(nb::handle buffer) {
  auto* held = new nb::object(nb::borrow(buffer));
  return std::shared_ptr<void>(held, [](void* p) {
    nb::gil_scoped_acquire gil;
    delete static_cast<nb::object*>(p);
  });
}

template <class S>
bool try_read(const fst::BinaryHeader& header, std::span<const char> bytes, std::shared_ptr<void> owner,
              std::size_t& end, std::optional<AnyMachine>& made) {
  const std::string type = std::same_as<S, Tropical<float>> ? "standard"
                           : std::same_as<S, Probability>   ? "real64"
                                                            : std::string(S::name());
  if (header.arc_type != type) return false;
  nb::gil_scoped_release nogil;
  Machine<S> machine = fst::read_binary(bytes, header, S{}, std::move(owner), end);
  const bool mapped = machine.is_mapped();
  made = any(std::move(machine));
  made->checked = !mapped;
  return true;
}

std::span<const char> file_bytes(const In<std::uint8_t, 1>& buffer, std::size_t begin) {
  if (begin > buffer.size()) fail("the machine begins behind the end of the file");
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

nb::tuple read_binary(In<std::uint8_t, 1> buffer, std::size_t begin, bool map) {
  const std::span<const char> bytes = file_bytes(buffer, begin);
  fst::BinaryHeader header = fst::read_header(bytes, begin);
  std::optional<AnyMachine> made;
  std::size_t end = 0;
  auto owner = map ? owner_of(buffer.cast()) : nullptr;
#define X(S) \
  if (!made) try_read<S>(header, bytes, owner, end, made);
  TEXTMILL_FST_NUMBERS(X)
#undef X
  if (!made) fst::bad_arc_type(header);
  return nb::make_tuple(std::move(*made), end, std::move(header.input), std::move(header.output));
}

// Hands chunks to a Python function; returns how many bytes that were.
template <class Write>
std::size_t write_to(const nb::callable& write, Write native) {
  std::size_t written = 0;
  native([&](std::string_view chunk) {
    nb::gil_scoped_acquire gil;
    write(nb::bytes(chunk.data(), chunk.size()));
    written += chunk.size();
  });
  return written;
}

std::size_t write_binary(const AnyMachine& any, const std::string& type, bool align, const SymbolTable* input,
                         const SymbolTable* output, const nb::callable& write) {
  const TablesInUse in_use{input, output};
  return write_to(write, [&](const fst::Sink& sink) {
    with(any, [&](const auto& machine) {
      using S = typename std::decay_t<decltype(machine)>::Semiring;
      if constexpr (std::same_as<S, Dynamic>) {
        fail("machines of the semiring ", machine.semiring().name(), " have no binary form; write them as text");
      } else {
        fst::write_binary(machine, type, align, input, output, sink);
      }
    });
  });
}

}  // namespace

void bind_fst_files(nb::module_& m) {
  bind_symbols(m);
  m.def(
      "read_text",
      [](nb::bytes text, const AnySemiring& semiring, bool acceptor, const SymbolTable* input,
         const SymbolTable* output, const SymbolTable* states, bool keep_numbers, const std::string& separators) {
        const std::string_view view(text.c_str(), text.size());
        const fst::TextOptions options{{input, output, states}, acceptor, keep_numbers, false, {}, separators};
        const TablesInUse in_use{input, output, states};
        return std::visit(
            [&](const auto& k) {
              if constexpr (std::same_as<std::decay_t<decltype(k)>, Dynamic>) {
                return any(fst::read_text(view, k, options));
              } else {
                nb::gil_scoped_release nogil;
                return any(fst::read_text(view, k, options));
              }
            },
            semiring.object);
      },
      "text"_a, "semiring"_a, nb::kw_only(), "acceptor"_a, "input"_a.none(), "output"_a.none(), "states"_a.none(),
      "keep_numbers"_a, "separators"_a);
  m.def(
      "write_text",
      [](const AnyMachine& any, bool acceptor, const SymbolTable* input, const SymbolTable* output,
         const SymbolTable* states, bool show_one, const std::string& missing, const std::string& separator,
         const nb::callable& write) {
        const fst::TextOptions options{{input, output, states}, acceptor, false, show_one, missing, separator};
        const TablesInUse in_use{input, output, states};
        return write_to(write, [&](const fst::Sink& sink) {
          with(any, [&](const auto& machine) { fst::write_text(machine, options, sink); });
        });
      },
      "machine"_a, nb::kw_only(), "acceptor"_a, "input"_a.none(), "output"_a.none(), "states"_a.none(), "show_one"_a,
      "missing"_a, "separator"_a, "write"_a, "Hands the text to `write` in chunks.");
  m.def("read_binary", &read_binary, "buffer"_a, "begin"_a, "map"_a, "Machine, end, input symbols, output symbols.");
  m.def(
      "end_of_binary",
      [](In<std::uint8_t, 1> buffer, std::size_t begin) {
        const std::span<const char> bytes = file_bytes(buffer, begin);
        return fst::end_of_binary(bytes, fst::read_header(bytes, begin));
      },
      "buffer"_a, "begin"_a);
  m.def("write_binary", &write_binary, "machine"_a, "type"_a, "align"_a, "input"_a.none(), "output"_a.none(), "write"_a,
        "Hands the file to `write` in chunks.");
}

}  // namespace textmill::bind
