#include "sequence/forest.h"

#include "bind/arrays.h"
#include "bind/bindings.h"

namespace textmill::bind {
namespace {

using sequence::Forest;

using Ints = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;

Forest checked(const Ints& alternatives, const Ids& conjunctive, const Ints& daughters, const Ids& disjunctive,
               std::size_t root) {
  check_offsets(view(alternatives), conjunctive.size(), "alternatives");
  check_offsets(view(daughters), disjunctive.size(), "daughters");
  const Forest forest{view(alternatives), view(conjunctive), view(daughters), view(disjunctive), root};
  require(root < forest.ors(), "the root ", root, " is no disjunctive node");
  for (const std::int32_t c : forest.conjunctive)
    require(c >= 0 && static_cast<std::size_t>(c) < forest.ands(), "conjunctive node ", c, " is not there");
  for (const std::int32_t d : forest.disjunctive)
    require(d >= 0 && static_cast<std::size_t>(d) < forest.ors(), "disjunctive node ", d, " is not there");
  return forest;
}

std::vector<std::int32_t> checked_order(const Forest& forest) {
  std::vector<std::int32_t> order = sequence::topological(forest);
  require(!order.empty(), "the forest has a cycle");
  return order;
}

Numpy<std::int32_t, 1> topological(Ints alternatives, Ids conjunctive, Ints daughters, Ids disjunctive,
                                   std::size_t root) {
  const Forest forest = checked(alternatives, conjunctive, daughters, disjunctive, root);
  std::vector<std::int32_t> order;
  {
    nb::gil_scoped_release nogil;
    order = sequence::topological(forest);
  }
  return to_numpy(std::move(order));
}

nb::tuple inside_outside(Ints alternatives, Ids conjunctive, Ints daughters, Ids disjunctive, std::size_t root,
                         In<double, 1> scores) {
  const Forest forest = checked(alternatives, conjunctive, daughters, disjunctive, root);
  require(scores.size() == forest.ands(), "there must be one score a conjunctive node");
  std::vector<double> inside(forest.ors()), ands(forest.ands()), ors(forest.ors());
  double log_z = 0.0;
  {
    nb::gil_scoped_release nogil;
    log_z = sequence::inside_outside(forest, checked_order(forest), view(scores), inside, ands, ors);
  }
  return nb::make_tuple(log_z, to_numpy(std::move(inside)), to_numpy(std::move(ands)), to_numpy(std::move(ors)));
}

// Scores, offsets of nodes, conjunctive nodes.
nb::tuple best(Ints alternatives, Ids conjunctive, Ints daughters, Ids disjunctive, std::size_t root,
               In<double, 1> scores, std::size_t k) {
  const Forest forest = checked(alternatives, conjunctive, daughters, disjunctive, root);
  require(scores.size() == forest.ands(), "there must be one score a conjunctive node");
  require(k >= 1, "k must be at least 1");
  std::vector<double> values;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> nodes;
  {
    nb::gil_scoped_release nogil;
    for (const sequence::Structure& answer :
         sequence::best_structures(forest, checked_order(forest), view(scores), k)) {
      values.push_back(answer.score);
      nodes.insert(nodes.end(), answer.nodes.begin(), answer.nodes.end());
      offsets.push_back(static_cast<std::int64_t>(nodes.size()));
    }
  }
  return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(offsets)), to_numpy(std::move(nodes)));
}

}  // namespace

void bind_forest(nb::module_& m) {
  m.def("forest_order", &topological, "alternatives"_a, "conjunctive"_a, "daughters"_a, "disjunctive"_a, "root"_a);
  m.def("forest_inside_outside", &inside_outside, "alternatives"_a, "conjunctive"_a, "daughters"_a, "disjunctive"_a,
        "root"_a, "scores"_a);
  m.def("forest_best", &best, "alternatives"_a, "conjunctive"_a, "daughters"_a, "disjunctive"_a, "root"_a, "scores"_a,
        "k"_a);
}

}  // namespace textmill::bind
