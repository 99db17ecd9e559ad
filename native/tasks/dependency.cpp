#include "tasks/dependency.h"

#include <algorithm>

#include "base/parallel.h"

namespace textmill::tasks {
namespace {

enum Role : std::size_t { kModifier, kHead, kAfterModifier, kBeforeHead, kAfterHead, kBetween, kDependent };

// The features of questions about one sentence.
class Questions {
 public:
  Questions(const Units& units, const Templates& templates) : units_(units), templates_(templates) {}

  void begin(std::size_t sentence, std::span<const std::int32_t> heads) {
    first_ = static_cast<std::size_t>(units_.sentences[sentence]);
    size_ = static_cast<std::size_t>(units_.sentences[sentence + 1]) - first_;
    heads_ = heads;
  }

  // Rising, each once; heads of the units between are settled.
  std::span<const std::int32_t> features(std::size_t j, std::size_t i) {
    row_.clear();
    add(kModifier, j);
    add(kHead, i);
    if (j + 1 < i) {
      add(kAfterModifier, j + 1);
      add(kBeforeHead, i - 1);
    }
    add(kAfterHead, i + 1);
    for (std::size_t k = j + 1; k < i; ++k) {
      add(kBetween, k);
      if (static_cast<std::size_t>(heads_[k]) == i) add(kDependent, k);
    }
    const std::span<const std::int32_t> shape = templates_.column.subspan(kRoles * templates_.attributes, kShape);
    row_.push_back(shape[i - j == 1 ? 0 : i - j < 6 ? 1 : 2]);
    if (i + 2 == size_) row_.push_back(shape[3]);
    std::sort(row_.begin(), row_.end());
    row_.erase(std::unique(row_.begin(), row_.end()), row_.end());
    return std::span<const std::int32_t>(row_).subspan(!row_.empty() && row_[0] < 0);
  }

 private:
  void add(Role role, std::size_t unit) {
    const std::size_t u = first_ + unit;
    for (auto e = units_.offsets[u]; e < units_.offsets[u + 1]; ++e)
      if (const auto c = templates_.column[role * templates_.attributes + units_.attributes[e]]; c >= 0)
        row_.push_back(c);
  }

  const Units& units_;
  const Templates& templates_;
  std::size_t first_ = 0, size_ = 0;
  std::span<const std::int32_t> heads_;
  std::vector<std::int32_t> row_;
};

template <class Ask>
void walk(std::span<std::int32_t> heads, std::vector<std::int32_t>& stack, Ask&& ask) {
  const auto n = static_cast<std::int32_t>(heads.size());
  std::fill(heads.begin(), heads.end(), -1);
  stack.assign({-1, 0});
  for (std::int32_t i = 1; i < n; ++i) {
    std::int32_t j = stack.back();
    stack.pop_back();
    while (j != -1 && (i == n - 1 || ask(j, i))) {
      heads[j] = i;
      j = stack.back();
      stack.pop_back();
    }
    stack.push_back(j);
    stack.push_back(i);
  }
}

}  // namespace

std::vector<std::uint8_t> parsable(std::span<const std::int64_t> sentences, std::span<const std::int32_t> heads) {
  std::vector<std::uint8_t> out;
  std::vector<std::int32_t> stack, found;
  for (std::size_t s = 0; s + 1 < sentences.size(); ++s) {
    const auto right = heads.subspan(sentences[s], sentences[s + 1] - sentences[s]);
    found.resize(right.size());
    // What the parser finds by asking for the right heads are these heads, just when there is no fault in them.
    if (right.size() >= 2) walk(found, stack, [&](auto j, auto i) { return right[j] == i; });
    out.push_back(right.size() >= 2 && std::equal(right.begin(), right.end(), found.begin()));
  }
  return out;
}

Events events(const Units& units, const Templates& templates, std::span<const std::int32_t> heads) {
  Events out;
  out.offsets.push_back(0);
  Questions questions(units, templates);
  std::vector<std::int32_t> stack, found;
  for (std::size_t s = 0; s + 1 < units.sentences.size(); ++s) {
    const auto first = static_cast<std::int32_t>(units.sentences[s]);
    found.resize(units.sentences[s + 1] - units.sentences[s]);
    if (found.empty()) continue;
    questions.begin(s, found);
    walk(found, stack, [&](std::int32_t j, std::int32_t i) {
      const auto row = questions.features(j, i);
      out.features.insert(out.features.end(), row.begin(), row.end());
      out.offsets.push_back(static_cast<std::int64_t>(out.features.size()));
      out.modifier.push_back(first + j);
      out.head.push_back(first + i);
      out.answer.push_back(heads[first + j] == i);
      return out.answer.back() == 1;
    });
  }
  return out;
}

void parse(const Units& units, const Templates& templates, const linear::Conjunctions& model, double bias,
           std::span<std::int32_t> heads, std::size_t threads) {
  base::parallel_blocks(units.sentences.size() - 1, 16, threads, [&](std::size_t begin, std::size_t end) {
    Questions questions(units, templates);
    linear::Conjunctions::Scratch scratch = model.scratch();
    std::vector<std::int32_t> stack;
    for (std::size_t s = begin; s < end; ++s) {
      const auto first = static_cast<std::size_t>(units.sentences[s]);
      const auto own = heads.subspan(first, static_cast<std::size_t>(units.sentences[s + 1]) - first);
      if (own.empty()) continue;
      questions.begin(s, own);
      walk(own, stack, [&](std::int32_t j, std::int32_t i) {
        double score = bias;
        model.add(questions.features(j, i), {}, scratch, &score);
        return score > 0;
      });
    }
  });
}

}  // namespace textmill::tasks
