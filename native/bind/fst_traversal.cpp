// Walks and reachability, between Python and C++.
#include "fst/traversal.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>

#include "bind/fst.h"
#include "fst/properties.h"

namespace textmill::bind {
namespace {

using fst::fail;

fst::ArcFilter filter_of(const std::string& name) {
  const std::pair<const char*, fst::ArcFilter> filters[] = {{"any", fst::ArcFilter::any},
                                                            {"epsilon", fst::ArcFilter::epsilon},
                                                            {"input_epsilon", fst::ArcFilter::input_epsilon},
                                                            {"output_epsilon", fst::ArcFilter::output_epsilon}};
  for (const auto& [key, filter] : filters)
    if (name == key) return filter;
  fail("no filter of arcs is called '", name, "'; there are any, epsilon, input_epsilon and output_epsilon");
}

nb::tuple columns(fst::Walk&& walk) {
  return nb::make_tuple(to_numpy(std::move(walk.event)), to_numpy(std::move(walk.state)), to_numpy(std::move(walk.arc)),
                        to_numpy(std::move(walk.next)));
}

nb::tuple columns(fst::Reachability&& made) {
  std::vector<std::int32_t> first, last;
  for (const auto& [begin, end] : made.interval) {
    first.push_back(begin);
    last.push_back(end);
  }
  return nb::make_tuple(to_numpy(std::move(made.component)),
                        to_numpy(std::vector<std::int64_t>(made.begin.begin(), made.begin.end())),
                        to_numpy(std::move(first)), to_numpy(std::move(last)), to_numpy(std::move(made.labels)),
                        to_numpy(std::move(made.ends)));
}

}  // namespace

void bind_fst_traversal(nb::module_& m) {
  m.def("depth_first", [](const AnyMachine& any, const std::string& filter, bool accessible_only) {
    const fst::ArcFilter kind = filter_of(filter);
    return columns(with(any, [&](const auto& x) { return fst::depth_first(fst::graph_of(x, kind), accessible_only); }));
  });
  m.def("walk_by_queue", [](const AnyMachine& any, const std::string& queue, const std::string& filter) {
    const fst::ArcFilter kind = filter_of(filter);
    const fst::Queue order = queue_of(queue);
    return columns(
        with(any, [&](const auto& x) { return fst::by_queue(fst::graph_of(x, kind), order, fst::ranks(x, order)); }));
  });
  m.def(
      "components",
      [](const AnyMachine& any) {
        fst::Components found = with(any, [](const auto& x) { return fst::components(x); });
        return nb::make_tuple(
            to_numpy(std::move(found.of)),
            to_numpy(std::vector<std::uint8_t>(found.accessible.begin(), found.accessible.end())),
            to_numpy(std::vector<std::uint8_t>(found.coaccessible.begin(), found.coaccessible.end())));
      },
      "Component of each state in topological order; is it reached from the start, does it reach an end.");
  m.def("reachable_states", [](const AnyMachine& any) {
    return columns(with(any, [](const auto& x) { return fst::reachable_states(x); }));
  });
  m.def("reachable_labels", [](const AnyMachine& any, bool output) {
    return columns(with(any, [&](const auto& x) { return fst::reachable_labels(x, output); }));
  });
}

}  // namespace textmill::bind
