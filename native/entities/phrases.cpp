#include "entities/phrases.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/parallel.h"

namespace textmill::entities {
namespace {

constexpr std::size_t kBlockSentences = 256;

std::uint64_t key_of(std::size_t of_template, std::int32_t value) {
  return static_cast<std::uint64_t>(of_template) << 32 | static_cast<std::uint32_t>(value);
}

}  // namespace

PhraseTable::PhraseTable(std::vector<Template> templates) : templates_(std::move(templates)) {
  outside_ = value_id("_");
  yes_ = value_id("yes");
  no_ = value_id("no");
  std::int32_t largest = 0;
  for (const Template& one : templates_)
    if (one.position == Position::kLength || one.position == Position::kDistance)
      largest = std::max(largest, one.place);
  for (std::int32_t n = 0; n <= largest; ++n) numbers_.push_back(value_id(std::to_string(n)));
}

std::int32_t PhraseTable::add(std::int32_t of_template, std::int32_t value) {
  const std::int32_t id =
      pairs_.add(key_of(static_cast<std::size_t>(of_template), value), static_cast<std::int32_t>(pairs_.size())).first;
  if (static_cast<std::size_t>(id) == template_of_.size()) {
    template_of_.push_back(of_template);
    value_of_.push_back(value);
  }
  return id;
}

std::vector<std::int32_t> PhraseTable::sort() {
  std::vector<std::int32_t> order(features()), number(features());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int32_t i, std::int32_t j) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    return template_of_[a] != template_of_[b] ? template_of_[a] < template_of_[b] : value(a) < value(b);
  });
  const std::vector<std::int32_t> templates = std::move(template_of_), values = std::move(value_of_);
  template_of_.clear();
  value_of_.clear();
  pairs_ = {};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto old = static_cast<std::size_t>(order[i]);
    add(templates[old], values[old]);
    number[old] = static_cast<std::int32_t>(i);
  }
  return number;
}

template <class Take, class Text>
void PhraseTable::visit(const Sentences& sentences, std::size_t s, std::int32_t begin, std::int32_t end, bool keyword,
                        Take&& take, Text&& text) const {
  const std::int64_t first = sentences.offsets[s];
  const auto length = static_cast<std::int32_t>(sentences.offsets[s + 1] - first);
  const auto value_at = [&](std::int32_t t, std::int32_t view) {
    const auto word = static_cast<std::size_t>(sentences.words[static_cast<std::size_t>(first + t)]);
    return sentences.views[word * sentences.width + static_cast<std::size_t>(view)];
  };
  for (std::size_t i = 0; i < templates_.size(); ++i) {
    const auto [position, place, view] = templates_[i];
    std::int32_t value = -1;
    switch (position) {
      case Position::kLength: value = numbers_[static_cast<std::size_t>(std::min(end - begin, place))]; break;
      case Position::kDistance: value = numbers_[static_cast<std::size_t>(std::min(begin, place))]; break;
      case Position::kFirst:
        if (place <= end - begin) value = value_at(begin + place - 1, view);
        break;
      case Position::kLast:
        if (place <= end - begin) value = value_at(end - place, view);
        break;
      case Position::kBefore: value = begin >= place ? value_at(begin - place, view) : outside_; break;
      case Position::kAfter: value = end + place <= length ? value_at(end + place - 1, view) : outside_; break;
      case Position::kWords:
        for (std::int32_t t = begin; t < end; ++t) {
          const std::int32_t one = value_at(t, view);
          bool again = one < 0;
          for (std::int32_t u = begin; u < t && !again; ++u) again = value_at(u, view) == one;
          if (!again) take(i, one);
        }
        break;
      case Position::kPhrase: value = text(begin, end, view, value_at); break;
      case Position::kKeyword: value = keyword ? yes_ : no_; break;
    }
    if (value >= 0) take(i, value);
  }
}

namespace {

bool has_keyword(const Sentences& sentences, std::size_t s) {
  for (std::int64_t t = sentences.offsets[s]; t < sentences.offsets[s + 1]; ++t)
    if (sentences.keyword[static_cast<std::size_t>(sentences.words[static_cast<std::size_t>(t)])]) return true;
  return false;
}

// All words of a phrase, joined by blanks; empty where a word has no value.
template <class ValueAt>
void join_words(const base::InternTable& values, std::int32_t begin, std::int32_t end, std::int32_t view,
                ValueAt&& value_at, std::string& out) {
  out.clear();
  for (std::int32_t t = begin; t < end; ++t) {
    const std::int32_t value = value_at(t, view);
    if (t > begin) out += ' ';
    if (value >= 0) out.append(values[static_cast<std::size_t>(value)]);
  }
}

}  // namespace

PhraseTable::Rows PhraseTable::known(const Sentences& sentences, std::span<const std::int64_t> phrases,
                                     std::span<const std::int32_t> begin, std::span<const std::int32_t> end,
                                     std::size_t threads) const {
  const std::size_t S = phrases.size() - 1, blocks = S / kBlockSentences + (S % kBlockSentences != 0);
  std::vector<Rows> parts(blocks);
  base::parallel_for(blocks, threads, [&](std::size_t b) {
    Rows part;
    std::string joined;
    std::vector<std::uint64_t> keys, waiting;  // of this phrase, and of the one before, which are fetched by now
    const auto settle = [&] {
      for (const std::uint64_t key : waiting) {
        if (const std::int32_t* const id = pairs_.find(key)) part.ids.push_back(*id);
      }
      part.offsets.push_back(static_cast<std::int64_t>(part.ids.size()));
    };
    bool first = true;
    for (std::size_t s = b * kBlockSentences; s < std::min(S, (b + 1) * kBlockSentences); ++s) {
      const bool keyword = phrases[s] < phrases[s + 1] && has_keyword(sentences, s);
      for (auto i = static_cast<std::size_t>(phrases[s]); i < static_cast<std::size_t>(phrases[s + 1]); ++i) {
        keys.clear();
        visit(
            sentences, s, begin[i], end[i], keyword,
            [&](std::size_t of_template, std::int32_t value) {
              keys.push_back(key_of(of_template, value));
              pairs_.prefetch(keys.back());
            },
            [&](std::int32_t from, std::int32_t to, std::int32_t view, auto&& value_at) {
              join_words(values_, from, to, view, value_at, joined);
              const std::uint32_t id = values_.find(joined, base::hash_bytes(joined));
              return id == base::InternTable::kNone ? -1 : static_cast<std::int32_t>(id);
            });
        if (!first) settle();
        first = false;
        keys.swap(waiting);
      }
    }
    if (!first) settle();
    parts[b] = std::move(part);
  });
  Rows rows;
  rows.offsets.push_back(0);
  for (const Rows& part : parts) {
    const auto from = static_cast<std::int64_t>(rows.ids.size());
    for (const std::int64_t offset : part.offsets) rows.offsets.push_back(from + offset);
    rows.ids.insert(rows.ids.end(), part.ids.begin(), part.ids.end());
  }
  return rows;
}

PhraseTable::Rows PhraseTable::fresh(const Sentences& sentences, std::span<const std::int64_t> phrases,
                                     std::span<const std::int32_t> begin, std::span<const std::int32_t> end) {
  Rows rows;
  rows.offsets.push_back(0);
  std::string joined;
  for (std::size_t s = 0; s + 1 < phrases.size(); ++s) {
    const bool keyword = phrases[s] < phrases[s + 1] && has_keyword(sentences, s);
    for (auto i = static_cast<std::size_t>(phrases[s]); i < static_cast<std::size_t>(phrases[s + 1]); ++i) {
      visit(
          sentences, s, begin[i], end[i], keyword,
          [&](std::size_t of_template, std::int32_t value) {
            rows.ids.push_back(add(static_cast<std::int32_t>(of_template), value));
          },
          [&](std::int32_t from, std::int32_t to, std::int32_t view, auto&& value_at) {
            join_words(values_, from, to, view, value_at, joined);
            return value_id(joined);
          });
      rows.offsets.push_back(static_cast<std::int64_t>(rows.ids.size()));
    }
  }
  return rows;
}

}  // namespace textmill::entities
