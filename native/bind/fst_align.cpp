#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "bind/fst.h"
#include "fst/align.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Symbols = In<std::int32_t, 1>;
using Reals = In<double, 1>;

fst::Strings strings(const Offsets& begin, const Symbols& symbols) {
  check_offsets(view(begin), symbols.size(), "strings");
  return {view(begin), view(symbols)};
}

void check_same(const fst::Strings& x, const fst::Strings& y) {
  require(x.size() == y.size(), "there are ", x.size(), " inputs but ", y.size(), " outputs");
}

// Symbols that become part of links: dense numbers, for which tables are made.
void check_symbols(const fst::Strings& strings) {
  for (const std::int32_t symbol : strings.symbols)
    require(symbol >= 0 && static_cast<std::size_t>(symbol) < std::size_t{1} << 28, "symbol ", symbol,
            " is not from 0 to 2^28");
}

fst::Limits limits(std::size_t max_input, std::size_t max_output, bool deletions, bool insertions, bool many_to_many,
                   std::size_t insertions_in_a_row) {
  require(max_input >= 1 && max_input <= 255 && max_output >= 1 && max_output <= 255,
          "links have from 1 to 255 symbols a side");
  require(insertions_in_a_row <= 255, "at most 255 insertions in a row can be counted");
  return {max_input, max_output, deletions, insertions, many_to_many, insertions_in_a_row};
}

void check_probabilities(const fst::Links& links, std::span<const double> probability) {
  require(probability.size() == links.size(), "there are ", links.size(), " links but ", probability.size(),
          " probabilities");
  for (const double p : probability) require(p >= 0.0 && std::isfinite(p), "a probability is ", p);
}

}  // namespace

void bind_fst_align(nb::module_& m) {
  nb::class_<fst::Links>(m, "Links", "The links of a memoryless transducer: pairs of chunks of symbols.")
      .def(
          "__init__",
          [](fst::Links* self, std::size_t max_input, std::size_t max_output, bool deletions, bool insertions,
             bool many_to_many, std::size_t insertions_in_a_row, Offsets input_begin, Symbols inputs,
             Offsets output_begin, Symbols outputs) {
            const fst::Strings u = strings(input_begin, inputs), v = strings(output_begin, outputs);
            check_same(u, v);
            check_symbols(u);
            check_symbols(v);
            require(u.size() < std::size_t{1} << 31, "there are too many links");
            new (self) fst::Links(
                limits(max_input, max_output, deletions, insertions, many_to_many, insertions_in_a_row), u, v);
          },
          "max_input"_a, "max_output"_a, "deletions"_a, "insertions"_a, "many_to_many"_a, "insertions_in_a_row"_a,
          "input_begin"_a, "inputs"_a, "output_begin"_a, "outputs"_a)
      .def("__len__", &fst::Links::size)
      .def(
          "expect",
          [](const fst::Links& self, Reals probability, Offsets x_begin, Symbols x, Offsets y_begin, Symbols y,
             std::optional<Reals> weight, std::size_t threads, Out<double, 1> log_total, Out<double, 1> counts) {
            const fst::Strings inputs = strings(x_begin, x), outputs = strings(y_begin, y);
            check_same(inputs, outputs);
            check_probabilities(self, view(probability));
            require(!weight || weight->size() == inputs.size(), "there must be a weight for each of ", inputs.size(),
                    " pairs");
            require(log_total.size() == inputs.size(), "log_total must have ", inputs.size(), " entries");
            require(counts.size() == 0 || counts.size() == self.size(), "counts must have 0 or ", self.size(),
                    " entries");
            const std::span<const double> weights = weight ? view(*weight) : std::span<const double>();
            nb::gil_scoped_release nogil;
            fst::expect(self, view(probability), inputs, outputs, weights, threads, view(log_total), view(counts));
          },
          "probability"_a, "x_begin"_a, "x"_a, "y_begin"_a, "y"_a, "weight"_a.none(), "threads"_a,
          "log_total"_a.noconvert(), "counts"_a.noconvert(),
          "ln Z of every pair; adds the expected counts of links to counts, unless it is empty.")
      .def(
          "best",
          [](const fst::Links& self, Reals log_probability, Offsets x_begin, Symbols x, Offsets y_begin, Symbols y,
             const std::array<int, 3>& preferred, std::size_t n, std::size_t threads) {
            const fst::Strings inputs = strings(x_begin, x), outputs = strings(y_begin, y);
            check_same(inputs, outputs);
            require(log_probability.size() == self.size(), "there must be a probability for each of ", self.size(),
                    " links");
            for (const double value : view(log_probability)) require(!std::isnan(value), "a probability is NaN");
            require(n >= 1, "n must be at least 1");
            std::array<fst::LinkKind, 3> kinds;
            int seen = 0;
            for (std::size_t k = 0; k < 3; ++k) {
              require(preferred[k] >= 0 && preferred[k] < 3, "there are three kinds of links");
              kinds[k] = static_cast<fst::LinkKind>(preferred[k]);
              seen |= 1 << preferred[k];
            }
            require(seen == 7, "the order of kinds of links must name each once");
            fst::Paths found;
            {
              nb::gil_scoped_release nogil;
              found = fst::best(self, view(log_probability), inputs, outputs, kinds, n, threads);
            }
            return nb::make_tuple(to_numpy(std::move(found.paths)), to_numpy(std::move(found.begin)),
                                  to_numpy(std::move(found.links)));
          },
          "log_probability"_a, "x_begin"_a, "x"_a, "y_begin"_a, "y"_a, "preferred"_a, "n"_a, "threads"_a,
          "The n best alignments: where those of a pair begin, where the links of each begin, links.")
      .def(
          "posteriors",
          [](const fst::Links& self, Reals probability, Symbols x, Symbols y) {
            check_probabilities(self, view(probability));
            const std::array<std::int64_t, 2> x_begin{0, static_cast<std::int64_t>(x.size())};
            const std::array<std::int64_t, 2> y_begin{0, static_cast<std::int64_t>(y.size())};
            std::vector<fst::Posterior> found;
            {
              nb::gil_scoped_release nogil;
              found = fst::posteriors(self, view(probability), {x_begin, view(x)}, {y_begin, view(y)});
            }
            std::vector<std::int64_t> inputs, outputs;
            std::vector<std::int32_t> ids;
            std::vector<double> shares;
            for (const fst::Posterior& one : found) {
              inputs.push_back(one.input);
              outputs.push_back(one.output);
              ids.push_back(one.link);
              shares.push_back(one.probability);
            }
            return nb::make_tuple(to_numpy(std::move(inputs)), to_numpy(std::move(outputs)), to_numpy(std::move(ids)),
                                  to_numpy(std::move(shares)));
          },
          "probability"_a, "x"_a, "y"_a, "The links of all alignments of one pair: input, output, link, probability.");
  m.def(
      "discover_links",
      [](std::size_t max_input, std::size_t max_output, bool deletions, bool insertions, bool many_to_many,
         std::size_t insertions_in_a_row, Offsets x_begin, Symbols x, Offsets y_begin, Symbols y, std::size_t threads) {
        const fst::Strings inputs = strings(x_begin, x), outputs = strings(y_begin, y);
        check_same(inputs, outputs);
        check_symbols(inputs);
        check_symbols(outputs);
        fst::Discovered found;
        {
          nb::gil_scoped_release nogil;
          found = fst::discover(limits(max_input, max_output, deletions, insertions, many_to_many, insertions_in_a_row),
                                inputs, outputs, threads);
        }
        return nb::make_tuple(to_numpy(std::move(found.input_begin)), to_numpy(std::move(found.inputs)),
                              to_numpy(std::move(found.output_begin)), to_numpy(std::move(found.outputs)),
                              to_numpy(std::move(found.unaligned)));
      },
      "max_input"_a, "max_output"_a, "deletions"_a, "insertions"_a, "many_to_many"_a, "insertions_in_a_row"_a,
      "x_begin"_a, "x"_a, "y_begin"_a, "y"_a, "threads"_a,
      "All links that are part of an alignment of some pair, sorted, and the pairs that have no alignment.");
}

}  // namespace textmill::bind
