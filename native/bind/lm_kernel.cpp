#include <nanobind/stl/optional.h>

#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "lm/expansion.h"
#include "lm/kernel.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Keys = In<std::uint64_t, 1>;
using Values = In<double, 1>;

lm::Examples checked(const Offsets& begin, const Keys& key, const std::optional<Values>& value) {
  check_offsets(view(begin), key.size(), "examples");
  require(!value || value->size() == key.size(), "there must be a value for each feature");
  const lm::Examples examples{view(begin), view(key), value ? view(*value) : std::span<const double>()};
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto keys = examples.keys(i);
    require(value || keys.size() <= lm::kMostFeatures, "example ", i, " has more than 65535 features");
    bool rising = true;
    for (std::size_t j = 1; j < keys.size(); ++j) rising &= keys[j - 1] < keys[j];
    require(rising, "features of example ", i, " must rise");
  }
  if (value)
    for (const double x : view(*value)) require(std::isfinite(x), "values must be finite");
  return examples;
}

lm::KernelTable kernel_of(int kind, int degree, double gamma) {
  require(kind >= 0 && kind <= 2, "there is no kernel ", kind);
  require(degree >= 1 && degree <= 4, "degree must lie from 1 to 4, got ", degree);
  require(gamma > 0.0 && std::isfinite(gamma), "gamma must be above 0");
  return lm::KernelTable(static_cast<lm::KernelKind>(kind), degree, gamma);
}

class Learner {
 public:
  Learner(int aggression, double cost, int kernel, int degree, double gamma)
      : learner_(static_cast<lm::Aggression>(aggression), cost, kernel_of(kernel, degree, gamma)) {
    require(aggression >= 0 && aggression <= 2, "there is no method ", aggression);
    require(cost > 0.0 && std::isfinite(cost), "cost must be above 0");
  }

  // What was saved; features are numbers of keys. Of a linear model begin is [0] and a, b are by key.
  void restore(Keys keys, Offsets begin, In<std::int32_t, 1> feature, Values a, Values b, std::int64_t rounds) {
    const auto lock = std::scoped_lock(mutex_);
    require(learner_.rounds_done == 0 && rounds >= 0, "restore belongs to a new learner");
    check_offsets(view(begin), feature.size(), "active examples");
    const std::size_t size = learner_.linear() ? keys.size() : begin.size() - 1;
    require(a.size() == size && b.size() == size, "there must be two numbers for each active example");
    for (const std::uint64_t key : view(keys)) learner_.dictionary.add(key);
    require(learner_.dictionary.keys().size() == keys.size(), "keys must differ");
    lm::ActiveSet& active = learner_.active;
    active.begin.assign(begin.data(), begin.data() + begin.size());
    active.feature.assign(feature.data(), feature.data() + feature.size());
    active.a.assign(a.data(), a.data() + a.size());
    active.b.assign(b.data(), b.data() + b.size());
    for (const double x : active.a) require(std::isfinite(x), "coefficients must be finite");
    for (const double x : active.b) require(std::isfinite(x), "coefficients must be finite");
    for (std::size_t i = 0; i + 1 < active.begin.size(); ++i) {
      const auto own = active.features(i);
      require(own.size() <= lm::kMostFeatures, "an active example has more than 65535 features");
      bool rising = true;
      for (std::size_t j = 0; j < own.size(); ++j)
        rising &= own[j] >= 0 && static_cast<std::size_t>(own[j]) < keys.size() && (j == 0 || own[j - 1] < own[j]);
      require(rising, "features of active example ", i, " must rise and be known");
    }
    learner_.rounds_done = rounds;
  }

  nb::tuple learn(Offsets begin, Keys key, std::optional<Values> value, In<std::int8_t, 1> label,
                  Out<std::int32_t, 1> slot, bool by_pairs, std::size_t threads) {
    const lm::Examples examples = checked(begin, key, value);
    require(threads >= 1 && label.size() == examples.size() && slot.size() == examples.size(),
            "there must be a label and a slot for each example");
    require(!value || learner_.linear(), "only a linear model takes values");
    for (const std::int8_t y : view(label)) require(y == 1 || y == -1, "labels are +1 and -1");
    std::vector<lm::Round> rounds(examples.size());
    {
      nb::gil_scoped_release nogil;
      const auto lock = std::scoped_lock(mutex_);
      for (const std::int32_t s : view(slot))
        require(s >= -1 && (s < 0 || static_cast<std::size_t>(s) < learner_.active.size()), "there is no slot ", s);
      learner_.learn(examples, view(label), view(slot), rounds,
                     by_pairs ? lm::Learner::By::kPairs : lm::Learner::By::kIndex, threads);
    }
    return split(rounds);
  }

  // Rows of a matrix whose columns are the features; None if this learner has other features.
  nb::object learn_columns(Offsets begin, In<std::int32_t, 1> column, Values value, std::size_t columns,
                           In<std::int8_t, 1> label) {
    check_offsets(view(begin), column.size(), "examples");
    require(value.size() == column.size(), "there must be a value for each feature");
    require(label.size() + 1 == begin.size(), "there must be a label for each example");
    bool inside = true, finite = true, signs = true;
    for (const std::int32_t c : view(column)) inside &= c >= 0 && static_cast<std::size_t>(c) < columns;
    for (const double x : view(value)) finite &= std::fabs(x) <= std::numeric_limits<double>::max();
    for (const std::int8_t y : view(label)) signs &= y == 1 || y == -1;
    require(inside, "a feature is beyond the last column");
    require(finite, "values must be finite");
    require(signs, "labels are +1 and -1");
    std::vector<lm::Round> rounds(label.size());
    {
      nb::gil_scoped_release nogil;
      const auto lock = std::scoped_lock(mutex_);
      if (!learner_.takes_columns(columns)) {
        rounds.clear();
      } else {
        learner_.learn_columns(view(begin), view(column), view(value), columns, view(label), rounds);
      }
    }
    if (rounds.size() != label.size()) return nb::none();
    return split(rounds);
  }

  Numpy<double, 1> margins(Offsets begin, Keys key, std::optional<Values> value, bool averaged, bool by_pairs,
                           std::size_t threads) {
    const lm::Examples examples = checked(begin, key, value);
    require(threads >= 1 && (!value || learner_.linear()), "only a linear model takes values");
    std::vector<double> out(examples.size());
    {
      nb::gil_scoped_release nogil;
      const auto lock = std::scoped_lock(mutex_);
      learner_.margins(examples, averaged, by_pairs ? lm::Learner::By::kPairs : lm::Learner::By::kIndex, out, threads);
    }
    return to_numpy(std::move(out));
  }

  nb::tuple parts(Offsets begin, Keys key, std::optional<Values> value, bool averaged, std::size_t threads) {
    const lm::Examples examples = checked(begin, key, value);
    require(threads >= 1 && (!value || learner_.linear()), "only a linear model takes values");
    std::vector<double> part(key.size()), rest(examples.size());
    {
      nb::gil_scoped_release nogil;
      const auto lock = std::scoped_lock(mutex_);
      learner_.parts(examples, averaged, part, rest, threads);
    }
    return nb::make_tuple(to_numpy(std::move(part)), to_numpy(std::move(rest)));
  }

  nb::tuple state() const {
    const lm::ActiveSet& active = learner_.active;
    if (learner_.linear()) {  // features that no example has changed are left out
      std::vector<std::uint64_t> keys;
      std::vector<double> a, b;
      for (std::size_t f = 0; f < active.a.size(); ++f) {
        if (active.a[f] == 0.0 && active.b[f] == 0.0) continue;
        keys.push_back(learner_.dictionary.keys()[f]);
        a.push_back(active.a[f]);
        b.push_back(active.b[f]);
      }
      return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::vector(active.begin)),
                            to_numpy(std::vector(active.feature)), to_numpy(std::move(a)), to_numpy(std::move(b)),
                            learner_.rounds_done);
    }
    return nb::make_tuple(to_numpy(std::vector(learner_.dictionary.keys())), to_numpy(std::vector(active.begin)),
                          to_numpy(std::vector(active.feature)), to_numpy(std::vector(active.a)),
                          to_numpy(std::vector(active.b)), learner_.rounds_done);
  }

  Numpy<double, 1> coefficients(bool averaged) const { return to_numpy(learner_.coefficients(averaged)); }
  std::size_t index_bytes() {
    const auto lock = std::scoped_lock(mutex_);
    return learner_.index_bytes();
  }
  const lm::Learner& learner() const { return learner_; }

 private:
  static nb::tuple split(const std::vector<lm::Round>& rounds) {
    std::vector<double> margin, tau;
    for (const lm::Round& round : rounds) {
      margin.push_back(round.margin);
      tau.push_back(round.tau);
    }
    return nb::make_tuple(to_numpy(std::move(margin)), to_numpy(std::move(tau)));
  }

  std::mutex mutex_;
  lm::Learner learner_;
};

// Slices or a pruned expansion; keeps the keys of the learner.
class Expanded {
 public:
  Expanded(const Learner& learner, bool averaged, std::size_t frequent, std::optional<double> least,
           std::size_t threads)
      : dictionary_(learner.learner().dictionary) {
    const lm::KernelTable& kernel = learner.learner().kernel();
    require(threads >= 1 && kernel.kind() == lm::KernelKind::kPolynomial, "only a polynomial kernel can be expanded");
    require(!least || (*least >= 0.0 && std::isfinite(*least)), "the smallest weight must be at least 0");
    require(frequent <= (std::size_t{1} << 16), "at most 65536 features have a table");
    const std::vector<double> coefficient = learner.learner().coefficients(averaged);
    const lm::ActiveSet& active = learner.learner().active;
    const std::size_t features = dictionary_.keys().size();
    nb::gil_scoped_release nogil;
    if (least) {
      expansion_.emplace(active, coefficient, features, kernel.degree(), *least, threads);
    } else {
      slices_.emplace(active, coefficient, features, kernel.degree(), frequent, threads);
    }
  }

  Numpy<double, 1> margins(Offsets begin, Keys key, std::size_t threads) const {
    const lm::Examples examples = checked(begin, key, std::nullopt);
    require(threads >= 1, "threads must be at least 1");
    std::vector<double> out(examples.size());
    {
      nb::gil_scoped_release nogil;
      if (slices_) {
        slices_->margins(dictionary_, examples, out, threads);
      } else {
        expansion_->margins(dictionary_, examples, out, threads);
      }
    }
    return to_numpy(std::move(out));
  }

  std::size_t bytes() const { return slices_ ? slices_->bytes() : expansion_->bytes(); }
  std::size_t size() const { return slices_ ? slices_->frequent() : expansion_->size(); }

 private:
  lm::Dictionary dictionary_;
  std::optional<lm::Slices> slices_;
  std::optional<lm::Expansion> expansion_;
};

}  // namespace

void bind_lm_kernel(nb::module_& m) {
  nb::class_<Learner>(m, "Learner", "Passive-aggressive learning from sets of features.")
      .def(nb::init<int, double, int, int, double>(), nb::kw_only(), "aggression"_a, "cost"_a, "kernel"_a, "degree"_a,
           "gamma"_a)
      .def("restore", &Learner::restore, "keys"_a, "begin"_a, "feature"_a, "a"_a, "b"_a, "rounds"_a,
           "Goes on from what `state` gave.")
      .def("learn", &Learner::learn, "begin"_a, "key"_a, "value"_a.none(), "label"_a, "slot"_a.noconvert(),
           nb::kw_only(), "by_pairs"_a = false, "threads"_a, "One round for each example: margins before it, and tau.")
      .def("learn_columns", &Learner::learn_columns, "begin"_a, "column"_a, "value"_a, nb::kw_only(), "columns"_a,
           "label"_a, "The same for a linear model and rows of a matrix; None if its features are not the columns.")
      .def("margins", &Learner::margins, "begin"_a, "key"_a, "value"_a.none(), nb::kw_only(), "averaged"_a,
           "by_pairs"_a, "threads"_a, "f of each example.")
      .def("parts", &Learner::parts, "begin"_a, "key"_a, "value"_a.none(), nb::kw_only(), "averaged"_a, "threads"_a,
           "The part of each feature in f, and f without any.")
      .def("state", &Learner::state, "Keys, active examples, coefficients, rounds.")
      .def("coefficients", &Learner::coefficients, "averaged"_a, "Of active examples, or of features if linear.")
      .def("index_bytes", &Learner::index_bytes, "Size of the inverted index.");
  nb::class_<Expanded>(m, "Expanded", "A polynomial kernel as weights of conjunctions.")
      .def(nb::init<const Learner&, bool, std::size_t, std::optional<double>, std::size_t>(), "learner"_a,
           nb::kw_only(), "averaged"_a, "frequent"_a, "least"_a.none(), "threads"_a)
      .def("margins", &Expanded::margins, "begin"_a, "key"_a, nb::kw_only(), "threads"_a, "f of each example.")
      .def("bytes", &Expanded::bytes, "Size in memory.")
      .def("size", &Expanded::size, "Features with a table, or conjunctions with a weight.");
}

}  // namespace textmill::bind
