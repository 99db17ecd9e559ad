#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "tasks/dependency.h"
#include "tasks/porter.h"

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

// Words of reviews and their stems as Python's strings, each made once; up to kWords are remembered.
class ReviewWords {
 public:
  ReviewWords(std::string marks, std::string prefix, bool stems)
      : marks_(std::move(marks)), prefix_(std::move(prefix)), stems_(stems) {}

  nb::list features(std::string_view text) {
    for (const char c : text) require(static_cast<unsigned char>(c) < 128, "the text must be ASCII");
    if (forms_.size() > kWords) forms_.clear();
    nb::list out;
    tasks::for_each_review_word(text, marks_, lowered_, [&](std::string_view word) {
      auto place = forms_.find(word);
      if (place == forms_.end()) {
        const std::string form = prefix_ + (stems_ ? tasks::porter_stem_runs(word) : std::string(word));
        place = forms_.emplace(std::string(word), nb::str(form.data(), form.size())).first;
      }
      out.append(place->second);
    });
    return out;
  }

 private:
  static constexpr std::size_t kWords = std::size_t{1} << 20;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::string marks_, prefix_, lowered_;
  bool stems_;
  std::unordered_map<std::string, nb::str, Hash, std::equal_to<>> forms_;
};

}  // namespace

void bind_tasks(nb::module_& m) {
  m.def("parsable", &parsable, "sentences"_a, "heads"_a, "Whether the heads of sentences lie behind and do not cross.");
  m.def("events", &events, "sentences"_a, "offsets"_a, "attributes"_a, "column"_a, "columns"_a, "heads"_a,
        "Questions of the parser about sentences: offsets and features of rows, modifiers, heads, answers.");
  m.def("parse", &parse, "sentences"_a, "offsets"_a, "attributes"_a, "column"_a, "model"_a, "bias"_a,
        "heads"_a.noconvert(), "threads"_a, "Heads of the units of sentences.");
  m.def("porter_stem", &tasks::porter_stem, "word"_a, "The stem of a word of letters a to z, by Porter's own program.");
  nb::class_<ReviewWords>(m, "ReviewWords", "Words of reviews in ASCII, as they are or their stems, behind a prefix.")
      .def(nb::init<std::string, std::string, bool>(), "marks"_a, "prefix"_a, "stems"_a)
      .def("features", &ReviewWords::features, "text"_a, "The words of a text, in order.");
}

}  // namespace textmill::bind
