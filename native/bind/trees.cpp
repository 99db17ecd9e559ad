#include "bind/trees.h"

#include <nanobind/stl/tuple.h>

#include <cmath>

#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "trees/boosting.h"

namespace textmill::bind {
namespace {

using Reals = In<double, 1>;
using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;
using Codes = In<std::int32_t, 2>;
using Numbers = In<double, 2>;

trees::Cases checked_cases(const Ids& values, const Codes& codes, const Numbers& numbers, const Ids& labels,
                           const Reals& weights, std::size_t classes) {
  const std::size_t rows = labels.size();
  require(rows > 0 && rows < (std::size_t{1} << 31), "there must be 1 to 2^31 - 1 cases, got ", rows);
  require(codes.shape(0) == values.size() && codes.shape(1) == rows, "codes must be ", values.size(), " x ", rows);
  require(numbers.shape(1) == rows, "numbers must be columns x ", rows);
  require(weights.size() == rows, "there must be ", rows, " weights, got ", weights.size());
  require(classes > 0 && classes < (std::size_t{1} << 31), "there must be a class");
  bool inside = true;
  for (std::size_t a = 0; a < values.size(); ++a)
    for (std::size_t i = 0; i < rows; ++i) inside &= codes(a, i) >= 0 && codes(a, i) < values(a);
  require(inside, "codes must lie below the number of values of their attribute");
  for (const std::int32_t label : view(labels)) inside &= label >= 0 && static_cast<std::size_t>(label) < classes;
  require(inside, "labels must lie below ", classes);
  for (const double number : view(numbers)) inside &= std::isfinite(number);
  for (const double weight : view(weights)) inside &= std::isfinite(weight) && weight > 0.0;
  require(inside, "numbers must be finite, weights finite and above 0");
  return {rows, classes, view(values), view(codes), numbers.shape(0), view(numbers), view(labels), view(weights)};
}

trees::Growth checked_growth(double min_cases, bool subsets, double confidence, bool raising, std::size_t max_depth) {
  require(min_cases > 0.0 && std::isfinite(min_cases), "min_cases must be above 0, got ", min_cases);
  require(confidence > 0.0, "confidence must be above 0, got ", confidence);
  require(max_depth <= 512, "max_depth must be 512 at most, got ", max_depth);
  return {min_cases, subsets, confidence, raising, max_depth};
}

nb::tuple grow(Ids values, Codes codes, Numbers numbers, Ids labels, Reals weights, std::size_t classes,
               double min_cases, bool subsets, double confidence, bool raising, std::size_t max_depth,
               std::size_t threads) {
  const trees::Cases cases = checked_cases(values, codes, numbers, labels, weights, classes);
  const trees::Growth growth = checked_growth(min_cases, subsets, confidence, raising, max_depth);
  trees::Flat flat;
  {
    nb::gil_scoped_release nogil;
    flat = trees::grow_tree(cases, growth, threads);
  }
  return nb::make_tuple(
      to_numpy(std::move(flat.attribute)), to_numpy(std::move(flat.threshold)), to_numpy(std::move(flat.label)),
      to_numpy(std::move(flat.first)), to_numpy(std::move(flat.children)), to_numpy(std::move(flat.seen_begin)),
      to_numpy(std::move(flat.seen)), to_numpy(std::move(flat.branch)), to_numpy(std::move(flat.count_begin)),
      to_numpy(std::move(flat.count_class)), to_numpy(std::move(flat.count)));
}

nb::tuple boost(Numbers numbers, In<std::uint8_t, 1> labels, double start, std::size_t rounds, std::size_t depth,
                std::size_t least, double rate, double lambda, std::size_t threads) {
  const std::size_t rows = labels.size();
  require(rows > 0 && numbers.shape(0) == rows && numbers.shape(1) > 0, "numbers must be ", rows, " x columns");
  require(depth >= 1 && depth <= 12, "depth must be 1 to 12, got ", depth);
  require(least >= 1, "least must be at least 1");
  require(std::isfinite(start) && std::isfinite(rate) && std::isfinite(lambda) && lambda > 0.0,
          "start, rate and lambda must be finite, lambda above 0");
  bool inside = true;
  for (const std::uint8_t label : view(labels)) inside &= label <= 1;
  require(inside, "labels must be 0 or 1");
  trees::BoostedTrees boosted;
  {
    nb::gil_scoped_release nogil;
    boosted = trees::boost_trees(view(numbers), view(labels), start, {rounds, depth, least, rate, lambda}, threads);
  }
  return nb::make_tuple(to_numpy(std::move(boosted.column)), to_numpy(std::move(boosted.threshold)),
                        to_numpy(std::move(boosted.rest_first)), to_numpy(std::move(boosted.value)));
}

void boosted_leaves(Numbers numbers, In<std::int32_t, 2> column, Numbers threshold, In<std::uint8_t, 2> rest_first,
                    Out<std::int32_t, 2> leaves, std::size_t threads) {
  const std::size_t rounds = column.shape(0), nodes = column.shape(1), columns = numbers.shape(1);
  require(threshold.shape(0) == rounds && threshold.shape(1) == nodes, "threshold must be ", rounds, " x ", nodes);
  require(rest_first.shape(0) == rounds && rest_first.shape(1) == nodes, "rest_first must be ", rounds, " x ", nodes);
  require(leaves.shape(0) == numbers.shape(0) && leaves.shape(1) == rounds, "leaves must be ", numbers.shape(0), " x ",
          rounds);
  require(columns > 0, "there must be a column");
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t n = 0; n < nodes; ++n)
      require(column(round, n) < 0 || (static_cast<std::size_t>(column(round, n)) < columns && 2 * n + 2 < nodes),
              "column ", column(round, n), " of node ", n, " does not exist, or has no children");
  nb::gil_scoped_release nogil;
  trees::boosted_leaves(view(numbers), columns, view(column), view(threshold), view(rest_first), nodes, view(leaves),
                        threads);
}

nb::list worths(Ids values, Codes codes, Numbers numbers, Ids labels, Reals weights, std::size_t classes,
                double min_cases, bool subsets, std::size_t threads) {
  const trees::Cases cases = checked_cases(values, codes, numbers, labels, weights, classes);
  const trees::Growth growth = checked_growth(min_cases, subsets, 1.0, false, 512);
  std::vector<trees::Worth> worths;
  {
    nb::gil_scoped_release nogil;
    worths = trees::split_worths(cases, growth, threads);
  }
  nb::list out;
  for (const trees::Worth& worth : worths) {
    std::vector<std::int32_t> seen, branch;
    for (const trees::Seen& one : worth.seen) {
      seen.push_back(one.value);
      branch.push_back(one.branch);
    }
    out.append(nb::make_tuple(worth.gain, worth.split_info, worth.usable, worth.threshold, to_numpy(std::move(seen)),
                              to_numpy(std::move(branch))));
  }
  return out;
}

// Everything a walk follows is checked here: children stand behind their parents, so a walk ends.
void make_tree(BoundTree* self, Ids values, std::size_t numeric, std::size_t classes, Ids attribute, Reals threshold,
               Ids label, Ids first, Ids children, Offsets seen_begin, Ids seen, Ids branch) {
  const std::size_t nodes = attribute.size();
  require(nodes > 0 && nodes < (std::size_t{1} << 31), "a tree needs a node");
  require(threshold.size() == nodes && label.size() == nodes && first.size() == nodes && children.size() == nodes,
          "there must be a threshold, a label and children for each of ", nodes, " nodes");
  require(seen_begin.size() == nodes + 1 && branch.size() == seen.size(), "there must be a branch for each value seen");
  check_offsets(view(seen_begin), seen.size(), "values seen");
  for (const std::int32_t count : view(values)) require(count >= 0, "numbers of values must not be negative");
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::int32_t a = attribute(node);
    const auto attributes = static_cast<std::int64_t>(values.size() + numeric);
    require(a >= -1 && a < attributes, "node ", node, " asks for attribute ", a, " of ", attributes);
    require(label(node) >= 0 && static_cast<std::size_t>(label(node)) < classes, "node ", node, " has the label ",
            label(node), " of ", classes);
    const bool valued = a >= 0 && static_cast<std::size_t>(a) < values.size();
    require(valued || seen_begin(node) == seen_begin(node + 1), "node ", node, " has values but asks for none");
    if (a < 0) continue;
    const std::int64_t begin = first(node), count = children(node);
    require(begin > static_cast<std::int64_t>(node) && count >= (valued ? 1 : 2) &&
                begin + count <= static_cast<std::int64_t>(nodes),
            "the children of node ", node, " must stand behind it");
    for (std::int64_t i = seen_begin(node); i < seen_begin(node + 1); ++i) {
      require(seen(i) >= 0 && seen(i) < values(a), "node ", node, " has seen a value that attribute ", a, " lacks");
      require(i == seen_begin(node) || seen(i) > seen(i - 1), "values seen at node ", node, " must ascend");
      require(branch(i) >= 0 && branch(i) < count, "node ", node, " leads to a child that it lacks");
    }
  }
  const auto vector = []<class Array>(const Array& array) {
    const auto span = view(array);
    return std::vector(span.begin(), span.end());
  };
  const trees::Flat flat{vector(attribute),
                         vector(threshold),
                         vector(label),
                         vector(first),
                         vector(children),
                         vector(seen_begin),
                         vector(seen),
                         vector(branch),
                         {},
                         {},
                         {}};
  new (self) BoundTree{vector(values), numeric, trees::Walker(flat, view(values))};
}

void walk(const BoundTree& tree, Codes codes, Numbers numbers, Out<std::int32_t, 1> nodes, std::size_t threads) {
  const std::size_t rows = nodes.size(), a = tree.values.size(), d = tree.numeric;
  require(codes.shape(0) == rows && codes.shape(1) == a, "codes must be ", rows, " x ", a);
  require(numbers.shape(0) == rows && numbers.shape(1) == d, "numbers must be ", rows, " x ", d);
  nb::gil_scoped_release nogil;
  base::parallel_blocks(rows, 4096, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t* code = codes.data() + i * a;
      const double* number = numbers.data() + i * d;
      nodes.data()[i] =
          tree.walker.walk([&](std::int32_t at) { return code[at]; }, [&](std::int32_t at) { return number[at]; });
    }
  });
}

double added_errors(double n, double e, double confidence) {
  require(n > 0.0 && e >= 0.0 && e <= n && confidence > 0.0 && confidence < 1.0,
          "there must be 0 <= e <= n cases and a confidence between 0 and 1");
  return trees::added_errors(n, e, confidence);
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("grow", &grow, "values"_a, "codes"_a, "numbers"_a, "labels"_a, "weights"_a, "classes"_a, "min_cases"_a,
        "subsets"_a, "confidence"_a, "raising"_a, "max_depth"_a, "threads"_a,
        "A tree: attribute, threshold, label, first child, children, values seen and their branches, class counts.");
  m.def("worths", &worths, "values"_a, "codes"_a, "numbers"_a, "labels"_a, "weights"_a, "classes"_a, "min_cases"_a,
        "subsets"_a, "threads"_a,
        "Gain, split information, use, threshold, values and their groups of each attribute as a split of all cases.");
  m.def("boost", &boost, "numbers"_a, "labels"_a, "start"_a, "rounds"_a, "depth"_a, "least"_a, "rate"_a, "lambda_"_a,
        "threads"_a, "Boosted trees: column, threshold, side of rows without a number, value of each node, in a row.");
  m.def("boosted_leaves", &boosted_leaves, "numbers"_a, "column"_a, "threshold"_a, "rest_first"_a,
        "leaves"_a.noconvert(), "threads"_a, "The leaf of each row in each boosted tree.");
  m.def("added_errors", &added_errors, "n"_a, "e"_a, "confidence"_a, "What pruning adds to e errors among n cases.");
  nb::class_<BoundTree>(m, "Tree", "A tree that classifies.")
      .def("__init__", &make_tree, "values"_a, "numeric"_a, "classes"_a, "attribute"_a, "threshold"_a, "label"_a,
           "first"_a, "children"_a, "seen_begin"_a, "seen"_a, "branch"_a)
      .def("walk", &walk, "codes"_a, "numbers"_a, "nodes"_a.noconvert(), "threads"_a, "The node where each row ends.");
}

}  // namespace textmill::bind
