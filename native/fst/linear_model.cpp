#include "fst/linear_model.h"

#include <algorithm>

namespace textmill::fst {
namespace {

std::string_view bytes_of(const std::vector<std::int32_t>& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size() * sizeof(std::int32_t)};
}

}  // namespace

LinearModel::LinearModel(std::int32_t columns, std::vector<std::int32_t> label_values, std::vector<std::int32_t> begin,
                         std::vector<std::int32_t> end, std::vector<std::int32_t> tag_labels)
    : columns_(columns),
      label_values_(std::move(label_values)),
      begin_(std::move(begin)),
      end_(std::move(end)),
      tag_labels_(std::move(tag_labels)) {
  if (columns < 1) fail("words have at least one column, not ", columns);
  if (tag_labels_.empty()) fail("the model has no tags");
  for (const auto* values : {&label_values_, &begin_, &end_})
    if (values->size() % static_cast<std::size_t>(columns) != 0)
      fail("the values of words do not fit ", columns, " columns");
  for (const std::int32_t label : tag_labels_)
    if (label <= 0) fail("label ", label, " cannot be a tag: tags are above 0");
}

void LinearModel::add(LinearTemplate shape, std::span<const std::int32_t> keys, std::span<const std::int32_t> tags,
                      std::span<const double> weights) {
  const std::size_t width = shape.slots.size() + static_cast<std::size_t>(shape.before);
  for (const auto& [offset, column] : shape.slots) {
    if (column < 0 || column >= columns_) fail("column ", column, " is not one of ", columns_);
    past_ = std::max(past_, -offset);
    future_ = std::max(future_, offset);
  }
  before_ = std::max(before_, shape.before);
  const auto number = static_cast<std::int32_t>(templates_.size());
  std::vector<std::int32_t> key(width + 1);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i] < 0 || tags[i] >= this->tags()) fail("tag ", tags[i], " is not one of ", this->tags());
    key[0] = number;
    std::ranges::copy(keys.subspan(i * width, width), key.begin() + 1);
    const std::uint32_t id = keys_.insert(bytes_of(key), base::hash_bytes(bytes_of(key)));
    if (id == features_.size()) features_.emplace_back();
    features_[id].push_back({tags[i], weights[i]});
  }
  templates_.push_back(std::move(shape));
}

std::int32_t LinearModel::value(std::span<const std::int32_t> words, std::int64_t at, std::int32_t column) const {
  const auto border = [&](const std::vector<std::int32_t>& values, std::size_t distance) {
    const std::size_t rows = values.size() / static_cast<std::size_t>(columns_);
    return rows == 0 ? -1 : values[std::min(distance, rows - 1) * static_cast<std::size_t>(columns_) + column];
  };
  if (at < 0) return border(begin_, static_cast<std::size_t>(-at - 1));
  if (const auto behind = at - static_cast<std::int64_t>(words.size()); behind >= 0)
    return border(end_, static_cast<std::size_t>(behind));
  const std::size_t row = static_cast<std::size_t>(words[at]) * static_cast<std::size_t>(columns_);
  return row < label_values_.size() ? label_values_[row + column] : -1;
}

void LinearModel::score(std::span<const std::int32_t> words, std::size_t here, std::span<const std::int32_t> previous,
                        std::span<double> scores) const {
  std::vector<std::int32_t> key;
  for (std::size_t t = 0; t < templates_.size(); ++t) {
    const LinearTemplate& shape = templates_[t];
    if (static_cast<std::size_t>(shape.before) > previous.size()) continue;
    key.assign(1, static_cast<std::int32_t>(t));
    bool known = true;
    for (const auto& [offset, column] : shape.slots) {
      key.push_back(value(words, static_cast<std::int64_t>(here) + offset, column));
      known = known && key.back() >= 0;
    }
    if (!known) continue;
    key.insert(key.end(), previous.begin(), previous.begin() + shape.before);
    const std::uint32_t id = keys_.find(bytes_of(key), base::hash_bytes(bytes_of(key)));
    if (id == base::InternTable::kNone) continue;
    for (const Weighted& feature : features_[id]) scores[feature.tag] += feature.weight;
  }
}

namespace {

// States as sequences of numbers: the machine's own fields, then labels.
template <class W>
class Running : public Cached<W> {
 public:
  Running(LazyPointer<W> input, std::shared_ptr<const LinearModel> model, std::size_t limit)
      : Cached<W>(input->ring_pointer(), limit), input_(std::move(input)), model_(std::move(model)) {}

 protected:
  std::int32_t count() override { return static_cast<std::int32_t>(states_.size()); }
  std::int32_t number(std::span<const std::int32_t> key) {
    const std::uint32_t id = states_.insert(key);
    if (id >= kMostStates) fail("the linear model has more than 2,147,483,647 states");
    return static_cast<std::int32_t>(id);
  }
  W times(const W& weight, double score) const { return this->ring().times(weight, static_cast<W>(-score)); }

  LazyPointer<W> input_;
  std::shared_ptr<const LinearModel> model_;
  SequenceTable states_;
};

template <class W>
class Tagger final : public Running<W> {
 public:
  using Running<W>::Running;

 protected:
  // (input state or -1 behind the end, words before, number of tags, tags from the nearest on, all words)
  struct Fields {
    std::int32_t input;
    std::int32_t here;  // words in front of the earliest one without a tag
    std::vector<std::int32_t> tags, words;
  };
  std::int32_t compute_start() override {
    const std::int32_t start = this->input_->start();
    return start == kNoState ? kNoState : of({start, 0, {}, {}});
  }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const Fields f = fields(q);
    const LinearModel& model = *this->model_;
    const Ring<W>& k = this->ring();
    const std::int32_t waiting = static_cast<std::int32_t>(f.words.size()) - f.here;
    if (f.input == kNoState) {
      out.open(waiting == 0 ? k.one() : k.zero());
      if (waiting > 0) write_tags(f, k.one(), out);
      return;
    }
    if (waiting > model.future()) {
      out.open(k.zero());
      write_tags(f, k.one(), out);
      return;
    }
    const View<W> state = this->input_->state(f.input);
    const bool ends = !k.equal(state.final, k.zero());
    out.open(waiting == 0 ? state.final : k.zero());
    Fields next = f;
    for (const auto& arc : state) {
      next.input = arc.nextstate;
      next.words = f.words;
      if (arc.ilabel != 0) next.words.push_back(arc.ilabel);
      out.push({arc.ilabel, 0, arc.weight, of(next)});
    }
    if (ends && waiting > 0) {
      next = f;
      next.input = kNoState;
      write_tags(next, state.final, out);
    }
  }

 private:
  void write_tags(const Fields& f, const W& weight, Assembly<W>& out) {
    const LinearModel& model = *this->model_;
    std::vector<double> scores(model.tags(), 0.0);
    model.score(f.words, f.here, f.tags, scores);
    Fields next = f;
    ++next.here;
    if (next.here > model.past()) {
      next.words.erase(next.words.begin());
      next.here = model.past();
    }
    for (std::int32_t tag = 0; tag < model.tags(); ++tag) {
      next.tags = f.tags;
      next.tags.insert(next.tags.begin(), tag);
      if (next.tags.size() > static_cast<std::size_t>(model.before())) next.tags.pop_back();
      out.push({0, model.tag_label(tag), this->times(weight, scores[tag]), of(next)});
    }
  }
  Fields fields(std::int32_t q) const {
    const auto key = this->states_[q];
    const auto tags = key.subspan(3, key[2]), words = key.subspan(3 + key[2]);
    return {key[0], key[1], {tags.begin(), tags.end()}, {words.begin(), words.end()}};
  }
  std::int32_t of(const Fields& f) {
    key_.assign({f.input, f.here, static_cast<std::int32_t>(f.tags.size())});
    key_.insert(key_.end(), f.tags.begin(), f.tags.end());
    key_.insert(key_.end(), f.words.begin(), f.words.end());
    return this->number(key_);
  }
  std::vector<std::int32_t> key_;
};

template <class W>
class Classifier final : public Running<W> {
 public:
  Classifier(LazyPointer<W> input, std::shared_ptr<const LinearModel> model, std::vector<double> bias,
             std::size_t limit)
      : Running<W>(std::move(input), std::move(model), limit), bias_(std::move(bias)) {
    if (bias_.size() != static_cast<std::size_t>(this->model_->tags()))
      fail("the model has ", this->model_->tags(), " classes, but ", bias_.size(), " weights of their own");
    if (this->model_->future() > 0 || this->model_->before() > 0)
      fail("features of a classifier look at words read so far, not at later ones or at other classes");
  }

 protected:
  // (input state, class or -1 at the start, words before)
  std::int32_t compute_start() override {
    const std::int32_t start = this->input_->start();
    if (start == kNoState) return kNoState;
    const std::int32_t key[] = {start, -1};
    return this->number(key);
  }
  void compute(std::int32_t q, Assembly<W>& out) override {
    const LinearModel& model = *this->model_;
    const Ring<W>& k = this->ring();
    const auto stored = this->states_[q];
    const std::vector<std::int32_t> key(stored.begin(), stored.end());
    if (key[1] < 0) {
      out.open(k.zero());
      for (std::int32_t c = 0; c < model.tags(); ++c) {
        const std::int32_t next[] = {key[0], c};
        out.push({0, model.tag_label(c), this->times(k.one(), bias_[c]), this->number(next)});
      }
      return;
    }
    const View<W> state = this->input_->state(key[0]);
    out.open(state.final);
    std::vector<std::int32_t> words(key.begin() + 2, key.end()), next;
    std::vector<double> scores(model.tags());
    for (const auto& arc : state) {
      next.assign({arc.nextstate, key[1]});
      W weight = arc.weight;
      if (arc.ilabel == 0) {
        next.insert(next.end(), words.begin(), words.end());
      } else {
        words.push_back(arc.ilabel);
        std::ranges::fill(scores, 0.0);
        model.score(words, words.size() - 1, {}, scores);
        weight = this->times(weight, scores[key[1]]);
        const std::size_t kept = std::min(words.size(), static_cast<std::size_t>(model.past()));
        next.insert(next.end(), words.end() - static_cast<std::ptrdiff_t>(kept), words.end());
        words.pop_back();
      }
      out.push({arc.ilabel, 0, weight, this->number(next)});
    }
  }

 private:
  std::vector<double> bias_;
};

}  // namespace

template <class W>
LazyPointer<W> lazy_tagger(LazyPointer<W> input, std::shared_ptr<const LinearModel> model, std::size_t limit) {
  return std::make_shared<Tagger<W>>(std::move(input), std::move(model), limit);
}

template <class W>
LazyPointer<W> lazy_classifier(LazyPointer<W> input, std::shared_ptr<const LinearModel> model, std::vector<double> bias,
                               std::size_t limit) {
  return std::make_shared<Classifier<W>>(std::move(input), std::move(model), std::move(bias), limit);
}

#define X(W)                                                                                                       \
  template LazyPointer<W> lazy_tagger(LazyPointer<W>, std::shared_ptr<const LinearModel>, std::size_t);            \
  template LazyPointer<W> lazy_classifier(LazyPointer<W>, std::shared_ptr<const LinearModel>, std::vector<double>, \
                                          std::size_t);
X(float) X(double)
#undef X

}  // namespace textmill::fst
