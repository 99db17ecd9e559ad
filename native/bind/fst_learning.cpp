#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bind/fst.h"
#include "fst/pathsums.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Symbols = In<std::int32_t, 1>;
using Reals = In<double, 1>;

fst::Strings strings(const std::optional<Offsets>& begin, const std::optional<Symbols>& symbols, std::size_t pairs) {
  if (!begin || !symbols) return {};
  check_offsets(view(*begin), symbols->size(), "strings");
  require(begin->size() == pairs + 1, "there must be ", pairs, " strings, got ", begin->size() - 1);
  for (const std::int32_t symbol : view(*symbols)) require(symbol != 0, "a string holds the label 0, which is epsilon");
  return {view(*begin), view(*symbols)};
}

void check_weights(std::span<const double> weights, std::size_t size, const char* what) {
  require(weights.size() == size, "there must be ", size, " weights of ", what, ", got ", weights.size());
  for (const double weight : weights)
    require(weight >= 0.0 && std::isfinite(weight), "a weight of ", what, " is ", weight);
}

}  // namespace

void bind_fst_learning(nb::module_& m) {
  nb::class_<fst::PathSums>(m, "PathSums", "Sums over the paths that read one string and write another.")
      .def(
          "__init__",
          [](fst::PathSums* self, std::int32_t start, Offsets begin, Symbols ilabel, Symbols olabel, Symbols next,
             bool input, bool output) {
            require(begin.size() >= 1, "offsets of states must begin with 0");
            check_offsets(view(begin), next.size(), "states");
            const auto states = static_cast<std::int64_t>(begin.size()) - 1;
            require(ilabel.size() == next.size() && olabel.size() == next.size(), "there must be ", next.size(),
                    " labels on each side");
            require(start >= -1 && start < states, "the start is ", start, " but there are ", states, " states");
            for (const std::int32_t s : view(next)) require(s >= 0 && s < states, "an arc leads to state ", s);
            for (const Symbols& side : {ilabel, olabel})
              for (const std::int32_t label : view(side)) require(label >= 0, "an arc has the label ", label);
            nb::gil_scoped_release nogil;
            new (self) fst::PathSums({start, view(begin), view(ilabel), view(olabel), view(next)}, input, output);
          },
          "start"_a, "begin"_a, "ilabel"_a, "olabel"_a, "next"_a, "input"_a, "output"_a)
      .def(
          "weigh",
          [](fst::PathSums& self, Reals weight, Reals final) {
            check_weights(view(weight), self.arcs(), "arcs");
            check_weights(view(final), self.states(), "ends");
            nb::gil_scoped_release nogil;
            return self.weigh(view(weight), view(final));
          },
          "weight"_a, "final"_a, "False if cycles that neither read nor write have a mass of one or more.")
      .def(
          "expect",
          [](const fst::PathSums& self, std::optional<Offsets> x_begin, std::optional<Symbols> x,
             std::optional<Offsets> y_begin, std::optional<Symbols> y, std::optional<Reals> share, std::size_t threads,
             Out<double, 1> log_total, Out<double, 1> counts, Out<double, 1> final_counts) {
            const std::size_t pairs = log_total.size();
            const fst::Strings inputs = strings(x_begin, x, pairs), outputs = strings(y_begin, y, pairs);
            require(!self.input() || !inputs.begin.empty(), "the inputs are missing");
            require(!self.output() || !outputs.begin.empty(), "the outputs are missing");
            require(self.weighed(), "the weights are missing");
            require(!share || share->size() == pairs, "there must be a share for each of ", pairs, " pairs");
            require((counts.size() == 0 && final_counts.size() == 0) ||
                        (counts.size() == self.arcs() && final_counts.size() == self.states()),
                    "counts must have ", self.arcs(), " and ", self.states(), " entries, or none");
            const std::span<const double> shares = share ? view(*share) : std::span<const double>();
            const bool counting = final_counts.size() > 0;
            nb::gil_scoped_release nogil;
            self.expect(inputs, outputs, shares, threads, counting, view(log_total), view(counts), view(final_counts));
          },
          "x_begin"_a.none(), "x"_a.none(), "y_begin"_a.none(), "y"_a.none(), "share"_a.none(), "threads"_a,
          "log_total"_a.noconvert(), "counts"_a.noconvert(), "final_counts"_a.noconvert(),
          "ln Z of every pair; adds expected counts of arcs and ends, unless their arrays are empty.");
}

}  // namespace textmill::bind
