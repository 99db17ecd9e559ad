#include "bind/arrays.h"
#include "bind/bindings.h"
#include "tasks/dependency.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;

struct Checked {
  tasks::Units units;
  tasks::Templates templates;
};

Checked checked(const Offsets& sentences, const Offsets& offsets, const Ids& attributes, const Ids& column,
                std::size_t columns) {
  check_offsets(view(offsets), attributes.size(), "units");
  check_offsets(view(sentences), offsets.size() - 1, "sentences");
  require(offsets.size() < (std::size_t{1} << 31), "there are too many units; pass fewer sentences at once");
  require(column.size() >= tasks::kShape && (column.size() - tasks::kShape) % tasks::kRoles == 0,
          "columns must be given for ", tasks::kRoles, " roles of each attribute and ", tasks::kShape, " shapes");
  const std::size_t count = (column.size() - tasks::kShape) / tasks::kRoles;
  bool inside = true;
  for (const std::int32_t a : view(attributes)) inside &= a >= 0 && static_cast<std::size_t>(a) < count;
  require(inside, "attributes must lie below ", count);
  for (const std::int32_t c : view(column)) inside &= c >= -1 && (c < 0 || static_cast<std::size_t>(c) < columns);
  require(inside, "columns must be -1 or lie below ", columns);
  return {{view(sentences), view(offsets), view(attributes)}, {count, view(column)}};
}

nb::object parsable(Offsets sentences, Ids heads) {
  check_offsets(view(sentences), heads.size(), "sentences");
  std::vector<std::uint8_t> made;
  {
    nb::gil_scoped_release nogil;
    made = tasks::parsable(view(sentences), view(heads));
  }
  return nb::cast(to_numpy(std::move(made)));
}

nb::tuple events(Offsets sentences, Offsets offsets, Ids attributes, Ids column, std::size_t columns, Ids heads) {
  const Checked input = checked(sentences, offsets, attributes, column, columns);
  require(heads.size() == offsets.size() - 1, "there must be a head for each unit");
  tasks::Events made;
  {
    nb::gil_scoped_release nogil;
    made = tasks::events(input.units, input.templates, view(heads));
  }
  return nb::make_tuple(to_numpy(std::move(made.offsets)), to_numpy(std::move(made.features)),
                        to_numpy(std::move(made.modifier)), to_numpy(std::move(made.head)),
                        to_numpy(std::move(made.answer)));
}

void parse(Offsets sentences, Offsets offsets, Ids attributes, Ids column, const linear::Conjunctions& model,
           double bias, Out<std::int32_t, 1> heads, std::size_t threads) {
  const Checked input = checked(sentences, offsets, attributes, column, model.columns());
  require(heads.size() == offsets.size() - 1, "there must be a head for each unit");
  require(model.margins() == 1, "the model must have two classes");
  nb::gil_scoped_release nogil;
  tasks::parse(input.units, input.templates, model, bias, view(heads), threads);
}

}  // namespace

void bind_tasks(nb::module_& m) {
  m.def("parsable", &parsable, "sentences"_a, "heads"_a, "Whether the heads of sentences lie behind and do not cross.");
  m.def("events", &events, "sentences"_a, "offsets"_a, "attributes"_a, "column"_a, "columns"_a, "heads"_a,
        "Questions of the parser about sentences: offsets and features of rows, modifiers, heads, answers.");
  m.def("parse", &parse, "sentences"_a, "offsets"_a, "attributes"_a, "column"_a, "model"_a, "bias"_a,
        "heads"_a.noconvert(), "threads"_a, "Heads of the units of sentences.");
}

}  // namespace textmill::bind
