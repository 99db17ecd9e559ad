// Files of bags of words: lines parsed and written by the block.

#include <limits>

#include "bind/texts.h"
#include "corpus/bagfiles.h"

namespace textmill::bind {
namespace {

corpus::ParseLimits limits(std::int64_t base, std::int64_t columns, std::int64_t rows, bool negative) {
  require(base == 0 || base == 1, "base must be 0 or 1");
  require(columns >= 0 && columns <= std::numeric_limits<std::int32_t>::max(), "columns must be below 2^31");
  return {base, columns, rows, negative};
}

std::string_view bytes_of(nb::bytes block) { return {block.c_str(), block.size()}; }

nb::tuple parse_triples(nb::bytes block, std::int64_t base, std::int64_t columns, std::int64_t rows, bool negative,
                        std::int64_t previous) {
  const corpus::ParseLimits how = limits(base, columns, rows, negative);
  const std::string_view text = bytes_of(block);
  corpus::Triples out;
  {
    nb::gil_scoped_release nogil;
    out = corpus::parse_triples(text, how, previous);
  }
  nb::object fault = fault_to_python(out.fault);
  return nb::make_tuple(to_numpy(std::move(out.row)), to_numpy(std::move(out.column)), to_numpy(std::move(out.value)),
                        to_numpy(std::move(out.begin)), fault);
}

nb::tuple parse_pairs(nb::bytes block, bool labels, std::int64_t base, std::int64_t columns, bool negative) {
  const corpus::ParseLimits how = limits(base, columns, 0, negative);
  const std::string_view text = bytes_of(block);
  corpus::Pairs out;
  {
    nb::gil_scoped_release nogil;
    out = labels ? corpus::parse_svmlight(text, how) : corpus::parse_ldac(text, how);
  }
  nb::object fault = fault_to_python(out.fault);
  return nb::make_tuple(to_numpy(std::move(out.offsets)), to_numpy(std::move(out.column)),
                        to_numpy(std::move(out.value)), to_numpy(std::move(out.label)), to_numpy(std::move(out.begin)),
                        fault);
}

nb::bytes format_rows(const std::string& kind, In<std::int64_t, 1> offsets, In<std::int32_t, 1> columns,
                      In<double, 1> values, In<double, 1> labels, std::int64_t base, std::int64_t first_row) {
  const auto starts = view(offsets);
  check_offsets(starts, columns.size(), "rows");
  require(columns.size() == values.size(), "there must be as many values as columns");
  require(kind != "svmlight" || labels.size() + 1 == starts.size(), "a row needs a label");
  std::string text;
  {
    nb::gil_scoped_release nogil;
    const corpus::Rows rows{starts.data(), starts.size() - 1, columns.data(), values.data()};
    text = kind == "triples"    ? corpus::format_triples(rows, base, first_row)
           : kind == "svmlight" ? corpus::format_svmlight(rows, base, labels.data())
                                : corpus::format_ldac(rows);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_corpus_files(nb::module_& m) {
  m.def("parse_triples", &parse_triples, "block"_a, nb::kw_only(), "base"_a, "columns"_a, "rows"_a, "negative"_a,
        "previous"_a, "Lines 'row column value': (rows, columns, values, line positions, fault or None).");
  m.def("parse_pairs", &parse_pairs, "block"_a, nb::kw_only(), "labels"_a, "base"_a, "columns"_a, "negative"_a,
        "Lines of column:value pairs: (offsets, columns, values, labels, line positions, fault or None).");
  m.def("format_rows", &format_rows, "kind"_a, "offsets"_a, "columns"_a, "values"_a, "labels"_a, nb::kw_only(),
        "base"_a, "first_row"_a, "Lines of rows, kind triples, svmlight or ldac.");
}

}  // namespace textmill::bind
