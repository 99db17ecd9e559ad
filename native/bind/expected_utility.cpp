#include <nanobind/stl/complex.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <complex>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "sequence/expected_f.h"
#include "sequence/label_counts.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Flags = In<std::uint8_t, 1>;
using Ids = In<std::int32_t, 1>;
using sequence::FWeight;
using sequence::MarkovChain;

void check_probabilities(std::span<const double> p, const char* what = "p") {
  for (std::size_t i = 0; i < p.size(); ++i)
    require(p[i] >= 0.0 && p[i] <= 1.0, what, " must lie between 0 and 1, got ", p[i], " at ", i);
}

FWeight checked_weight(double b, std::size_t q, std::size_t r) {
  require(b >= 0.0 && b < 1e12, "b must be a number from 0, got ", b);
  require(q <= 4096 && r <= 4096, "q and r must be small");
  return {b, q, r};
}

void expected_f_curve(Reals p, double b, std::size_t q, std::size_t r, std::size_t first, Out<double, 1> out) {
  check_probabilities(view(p));
  const FWeight weight = checked_weight(b, q, r);
  require(out.size() >= 1 && first + out.size() <= p.size() + 1, "sizes must lie between 0 and ", p.size());
  nb::gil_scoped_release nogil;
  sequence::expected_f_curve(view(p), weight, first, first + out.size() - 1, view(out));
}

void decode_f(Reals p, In<std::int64_t, 1> offsets, double b, std::size_t q, std::size_t r, std::size_t most,
              Out<std::uint8_t, 1> label, Out<double, 1> value, std::size_t threads) {
  check_probabilities(view(p));
  check_offsets(view(offsets), p.size(), "sets");
  const FWeight weight = checked_weight(b, q, r);
  require(label.size() == p.size() && value.size() + 1 == offsets.size(), "outputs must be one an item and one a set");
  nb::gil_scoped_release nogil;
  sequence::decode_f(view(p), view(offsets), weight, most, view(label), view(value), threads);
}

std::tuple<double, double, std::size_t> pruned_expected_f(Flags z, Reals p, double b, std::size_t beam) {
  check_probabilities(view(p));
  require(z.size() == p.size(), "z must have ", p.size(), " entries");
  require(p.size() < (std::size_t{1} << 31), "there are too many items");
  for (const std::uint8_t one : view(z)) require(one <= 1, "z must hold 0 and 1");
  nb::gil_scoped_release nogil;
  const auto [value, lost, states] = sequence::pruned_expected_f(view(z), view(p), b, beam);
  return {value, lost, states};
}

double sum_gradient(Reals p, Reals g, Out<double, 1> gradient) {
  check_probabilities(view(p));
  require(g.size() == p.size() + 1 && gradient.size() == p.size(), "g must have one entry more than p");
  nb::gil_scoped_release nogil;
  return sequence::sum_gradient(view(p), view(g), view(gradient));
}

Numpy<double, 1> sum_distribution(Reals p) {
  check_probabilities(view(p));
  std::vector<double> out(p.size() + 1, 0.0);
  {
    nb::gil_scoped_release nogil;
    sequence::Sum sum;
    for (const double one : view(p)) sum.add(one);
    std::copy(sum.mass.begin(), sum.mass.end(), out.begin() + static_cast<std::ptrdiff_t>(sum.first));
  }
  return to_numpy(std::move(out));
}

MarkovChain checked_chain(const Reals& initial, const In<double, 3>& step) {
  const std::size_t S = initial.size();
  require(S >= 1 && step.shape(1) == S && step.shape(2) == S, "steps must be ", S, " x ", S, " each");
  check_probabilities(view(initial), "initial");
  for (const double x : view(step)) require(x >= 0.0 && x <= 1.0 + 1e-9, "steps must lie between 0 and 1, got ", x);
  return {step.shape(0) + 1, S, view(initial), view(step)};
}

void joint_counts(Reals initial, In<double, 3> step, Flags positive, Flags claimed, Out<double, 2> out) {
  const MarkovChain chain = checked_chain(initial, step);
  require(positive.size() == chain.states && claimed.size() == chain.length,
          "positive must be one a state, claimed one ", "a position");
  const std::span<const std::uint8_t> z = view(claimed);
  for (const std::uint8_t one : z) require(one <= 1, "claimed must hold 0 and 1");
  const auto m = static_cast<std::size_t>(std::count(z.begin(), z.end(), std::uint8_t{1}));
  require(out.shape(0) == m + 1 && out.shape(1) == chain.length - m + 1, "out must be ", m + 1, " x ",
          chain.length - m + 1);
  nb::gil_scoped_release nogil;
  sequence::joint_counts(chain, view(positive), z, view(out));
}

void count_transforms(Reals initial, In<double, 3> step, Flags positive, Ids group, Out<std::complex<double>, 3> out) {
  const MarkovChain chain = checked_chain(initial, step);
  require(positive.size() == chain.states && group.size() == chain.states, "positive and group must be one a state");
  require(out.shape(0) == chain.length, "out must have ", chain.length, " rows");
  for (const std::int32_t g : view(group))
    require(g >= -1 && g < static_cast<std::int64_t>(out.shape(1)), "there is no group ", g);
  nb::gil_scoped_release nogil;
  sequence::count_transforms(chain, view(positive), view(group), out.shape(1), out.shape(2), view(out));
}

nb::tuple span_transforms(Reals initial, In<double, 3> step, Ids type, In<std::uint8_t, 2> continues, double least,
                          std::size_t roots) {
  const MarkovChain chain = checked_chain(initial, step);
  require(type.size() == chain.states && continues.shape(0) == chain.states && continues.shape(1) == chain.states,
          "type and continues must be one a state and one a pair of states");
  require(least > 0.0 && roots >= 1, "least must be above 0");
  for (const std::int32_t t : view(type)) require(t >= -1 && t < 1 << 20, "there is no type ", t);
  sequence::Spans found;
  {
    nb::gil_scoped_release nogil;
    found = sequence::span_transforms(chain, {view(type), view(continues)}, least, roots);
  }
  return nb::make_tuple(to_numpy(std::move(found.begin)), to_numpy(std::move(found.end)),
                        to_numpy(std::move(found.type)), to_numpy(std::move(found.transform)),
                        to_numpy(std::move(found.whole)));
}

void check_spans(std::size_t length, const Ids& begin, const Ids& end) {
  require(begin.size() == end.size(), "every span needs a begin and an end");
  for (std::size_t i = 0; i < begin.size(); ++i)
    require(begin(i) >= 0 && begin(i) < end(i) && static_cast<std::size_t>(end(i)) <= length, "span ", i,
            " does not lie within ", length, " positions");
}

nb::tuple best_spans(std::size_t length, Ids begin, Ids end, In<double, 2> joint, double none, double b) {
  check_spans(length, begin, end);
  require(joint.shape(0) == begin.size() && b >= 0.0, "joint must have a row a span");
  sequence::SpanChoice choice;
  {
    nb::gil_scoped_release nogil;
    choice = sequence::best_spans(length, view(begin), view(end), view(joint), joint.shape(1), none, b);
  }
  return nb::make_tuple(to_numpy(std::move(choice.spans)), choice.value);
}

Numpy<std::int32_t, 1> heaviest_spans(std::size_t length, Ids begin, Ids end, Reals gain) {
  check_spans(length, begin, end);
  require(gain.size() == begin.size(), "there must be a gain a span");
  return to_numpy(sequence::heaviest_spans(length, view(begin), view(end), view(gain)));
}

}  // namespace

void bind_expected_utility(nb::module_& m) {
  m.def("expected_f_curve", &expected_f_curve, "p"_a, "b"_a, "q"_a, "r"_a, "first"_a, "out"_a.noconvert(),
        "Expected F of the most probable items, for sizes from `first`; p falls.");
  m.def("decode_f", &decode_f, "p"_a, "offsets"_a, "b"_a, "q"_a, "r"_a, "most"_a, "label"_a.noconvert(),
        "value"_a.noconvert(), "threads"_a, "The sets of greatest expected F, and its values.");
  m.def("pruned_expected_f", &pruned_expected_f, "z"_a, "p"_a, "b"_a, "beam"_a,
        "Expected F of a set with at most `beam` states: value, mass left out, number of states.");
  m.def("sum_gradient", &sum_gradient, "p"_a, "g"_a, "gradient"_a.noconvert(),
        "Expectation of a function of a sum of labels, and its derivatives.");
  m.def("sum_distribution", &sum_distribution, "p"_a, "Distribution of a sum of independent labels.");
  m.def("joint_counts", &joint_counts, "initial"_a, "step"_a, "positive"_a, "claimed"_a, "out"_a.noconvert(),
        "Joint distribution of positive states at claimed and at other positions.");
  m.def("count_transforms", &count_transforms, "initial"_a, "step"_a, "positive"_a, "group"_a, "out"_a.noconvert(),
        "Transforms of the count of positive states, jointly with the group of a state.");
  m.def("span_transforms", &span_transforms, "initial"_a, "step"_a, "type"_a, "continues"_a, "least"_a, "roots"_a,
        "Spans: begin, end, type, transforms of their count jointly with a span, and alone.");
  m.def("best_spans", &best_spans, "length"_a, "begin"_a, "end"_a, "joint"_a, "none"_a, "b"_a,
        "The spans of greatest expected F, and its value.");
  m.def("heaviest_spans", &heaviest_spans, "length"_a, "begin"_a, "end"_a, "gain"_a,
        "The spans that do not overlap of greatest gain.");
}

}  // namespace textmill::bind
