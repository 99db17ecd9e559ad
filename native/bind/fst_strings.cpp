#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>

#include "bind/fst.h"
#include "fst/apply.h"
#include "fst/strings.h"

namespace textmill::bind {
namespace {

using fst::fail;

void check_labels(std::span<const std::int32_t> labels) {
  for (const std::int32_t label : labels)
    if (label < 0) fail("label ", label, " is below 0");
}

template <class S>
nb::tuple to_python(const S& k, const fst::PathString<typename S::Weight>& path) {
  const auto tuple = [](const std::vector<std::int32_t>& labels) {
    nb::list out;
    for (const std::int32_t label : labels) out.append(label);
    return nb::tuple(out);
  };
  return nb::make_tuple(tuple(path.ilabels), tuple(path.olabels), bind::to_python(k, path.weight));
}

fst::Tokens token_type(std::string_view name, const fst::SymbolTable* input, const fst::SymbolTable* output) {
  if (name == "utf8") return fst::Tokens::utf8;
  if (name == "byte") return fst::Tokens::byte;
  if (name != "symbol") fail("token_type is 'utf8', 'byte' or 'symbol', not '", name, "'");
  if (!input || !output) fail("token_type='symbol' needs a machine with tables of input and output symbols");
  return fst::Tokens::symbol;
}

// What Tokenizer::append has made.
nb::object text_of(std::string_view bytes, fst::Tokens tokens) {
  const auto size = static_cast<Py_ssize_t>(bytes.size());
  nb::object text = nb::steal(
      tokens == fst::Tokens::utf8
          ? PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, bytes.data(), size / 4)
          : PyUnicode_DecodeUTF8(bytes.data(), size, tokens == fst::Tokens::symbol ? "surrogateescape" : "strict"));
  if (!text.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
    PyErr_Clear();
    fail("the machine writes bytes that are not UTF-8");
  }
  return text;
}

// Nothing that is made here can be garbage yet, so collecting would only cost: it waits until the next allocation elsewhere.
class CollectorPaused {
 public:
  CollectorPaused() : was_on_(PyGC_Disable()) {}
  ~CollectorPaused() {
    if (was_on_) PyGC_Enable();
  }

 private:
  int was_on_;
};

// A text where Python keeps it, as long as somebody holds it.
fst::Text view_of(nb::handle text) {
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(text.ptr()) < 0) throw nb::python_error();
#endif
  return {PyUnicode_DATA(text.ptr()), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())),
          static_cast<int>(PyUnicode_KIND(text.ptr()))};
}

// The labels of a text, or those of a list.
void read_labels(nb::handle from, const fst::Tokenizer& tokenizer, std::vector<std::int32_t>& labels) {
  if (PyUnicode_Check(from.ptr())) return tokenizer.labels(view_of(from), labels);
  if (!nb::try_cast(from, labels)) fail("not a text but ", nb::cast<std::string>(nb::repr(from)));
  check_labels(labels);
}

// For every text a list of (output, weight). Texts are read where Python keeps them; the lists are made by the calling
// thread while the others work.
template <class S>
nb::list apply(const Machine<S>& machine, nb::tuple texts, const fst::Tokenizer& tokenizer,
               const fst::ApplyOptions& options) {
  std::vector<fst::Text> views;
  views.reserve(texts.size());
  for (const nb::handle text : texts) {
    if (!PyUnicode_Check(text.ptr())) fail(views.size(), ": not a text but ", nb::cast<std::string>(nb::repr(text)));
    views.push_back(view_of(text));
  }
  nb::list found = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(views.size())));
  if (!found.is_valid()) throw nb::python_error();
  const auto put = [&](const fst::Outputs<typename S::Weight>& outputs) {
    const CollectorPaused paused;
    std::size_t at = 0, begin = 0;
    nb::object weight;  // of the output before, often that of the next one too
    for (std::size_t i = 0; i < outputs.counts.size(); ++i) {
      nb::object row = nb::steal(PyList_New(outputs.counts[i]));
      if (!row.is_valid()) throw nb::python_error();
      for (std::uint32_t j = 0; j < outputs.counts[i]; ++j, ++at) {
        nb::object text =
            text_of(std::string_view(outputs.bytes).substr(begin, outputs.ends[at] - begin), tokenizer.tokens());
        begin = outputs.ends[at];
        if (at == 0 || !machine.semiring().equal(outputs.weights[at], outputs.weights[at - 1]))
          weight = bind::to_python(machine.semiring(), outputs.weights[at]);
        PyObject* const pair = PyTuple_New(2);
        if (!pair) throw nb::python_error();
        PyTuple_SET_ITEM(pair, 0, text.release().ptr());
        PyTuple_SET_ITEM(pair, 1, nb::object(weight).release().ptr());
        if (std::is_arithmetic_v<typename S::Weight>) PyObject_GC_UnTrack(pair);  // as the collector itself would
        PyList_SET_ITEM(row.ptr(), j, pair);
      }
      PyList_SET_ITEM(found.ptr(), outputs.first + i, row.release().ptr());
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  if constexpr (std::same_as<S, Dynamic>) {
    fst::apply<S>(machine, views, tokenizer, options, put);
  } else {
    nb::gil_scoped_release nogil;
    fst::apply<S>(machine, views, tokenizer, options, [&](const fst::Outputs<typename S::Weight>& outputs) {
      nb::gil_scoped_acquire gil;
      put(outputs);
    });
  }
  return found;
}

}  // namespace

void bind_fst_strings(nb::module_& m) {
  m.def(
      "linear",
      [](const AnySemiring& semiring, const std::vector<std::int32_t>& ilabels,
         const std::vector<std::int32_t>& olabels, nb::handle weight) {
        check_labels(ilabels);
        check_labels(olabels);
        return std::visit(
            [&](const auto& k) {
              return any(fst::linear(k, std::span<const std::int32_t>(ilabels), std::span<const std::int32_t>(olabels),
                                     weight.is_none() ? k.one() : to_weight(k, weight)));
            },
            semiring.object);
      },
      "semiring"_a, "ilabels"_a, "olabels"_a, "weight"_a.none());
  m.def(
      "string_map",
      [](const AnySemiring& semiring, const nb::tuple& inputs, const nb::tuple& outputs, const nb::tuple& weights,
         std::string_view tokens, const fst::SymbolTable* input, const fst::SymbolTable* output) {
        const fst::Tokens kind = token_type(tokens, input, output);
        const fst::Tokenizer reads(kind, input, nullptr), writes(kind, output, nullptr);
        if (inputs.size() != outputs.size() || inputs.size() != weights.size())
          fail("inputs, outputs and weights differ in number");
        return std::visit(
            [&](const auto& k) {
              fst::StringMap made(k);
              std::vector<std::int32_t> ilabels, olabels;
              for (std::size_t i = 0; i < inputs.size(); ++i) {
                try {
                  read_labels(inputs[i], reads, ilabels);
                  read_labels(outputs[i], writes, olabels);
                  made.add(ilabels, olabels, weights[i].is_none() ? k.one() : to_weight(k, weights[i]));
                } catch (const base::Fault& fault) {
                  fail(i, ": ", fault.what());
                }
              }
              return any(made.finish());
            },
            semiring.object);
      },
      "semiring"_a, "inputs"_a, "outputs"_a, "weights"_a, nb::kw_only(), "token_type"_a, "input"_a.none(),
      "output"_a.none(), "Inputs and outputs are texts, or lists of labels.");
  m.def("paths", [](const AnyMachine& machine, std::size_t most, std::size_t longest) {
    check(machine);
    return std::visit(
        [&](auto held) {  // by value: weights may run Python's code, which may change the machine
          nb::list out;
          for (const auto& path : fst::paths(std::as_const(*held), most, longest))
            out.append(to_python(held->semiring(), path));
          return out;
        },
        machine.handle);
  });
  m.def(
      "apply",
      [](const AnyMachine& machine, nb::tuple texts, std::string_view tokens, const fst::SymbolTable* input,
         const fst::SymbolTable* output, std::size_t n, std::array<std::int32_t, 3> specials, std::size_t threads) {
        check(machine);
        const TablesInUse in_use{input, output};
        const fst::Tokenizer tokenizer(token_type(tokens, input, output), input, output);
        return std::visit(
            [&](auto held) {  // by value: a change meanwhile makes a copy
              using S = typename std::decay_t<decltype(*held)>::Semiring;
              const fst::ApplyOptions options{
                  n, {specials[0], specials[1], specials[2]}, std::same_as<S, Dynamic> ? 1 : threads};
              return apply(std::as_const(*held), texts, tokenizer, options);
            },
            machine.handle);
      },
      "machine"_a, "texts"_a, nb::kw_only(), "token_type"_a, "input"_a.none(), "output"_a.none(), "n"_a, "specials"_a,
      "threads"_a);
}

}  // namespace textmill::bind
