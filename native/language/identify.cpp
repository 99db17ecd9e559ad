#include "language/identify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "language/queue.h"

namespace textmill::language {
namespace {

inline constexpr std::size_t kManyWords = 1 << 22;  // so many bytes add up to a number of 32 bits

inline constexpr std::size_t kTogether = 8;        // words whose letters are asked before one looks who leads
inline constexpr std::size_t kMostDeferred = 256;  // words whose letters wait to be asked
inline constexpr double kRounding = 1e-3;          // more than sums of numbers of 32 bits lose for a word
inline constexpr float kSpeaks = 1e-4f;            // of a word, that says something and is not rounding

// Sums over the words of a text, of dictionary and letters apart.
class Totals {
 public:
  explicit Totals(const Table& table) : table_(table), bytes_only_(table.step > 0) {}

  void add(const Record& record) {
    ++sums.in_dictionary;
    if (!bytes_only_) {
      const float rest = table_.value(record.rest);
      common_ += rest;
      for (std::size_t p = 0; p < record.pairs; ++p)
        dictionary_[record.languages[p]] += table_.value(record.values, p) - rest;
      return;
    }
    const auto rest = static_cast<std::int8_t>(*record.rest);
    const auto* values = reinterpret_cast<const std::int8_t*>(record.values);
    common_steps_ += rest;
    if (record.is_row())
      for (std::size_t l = 0; l < record.pairs; ++l) steps_[l] += values[l] - rest;
    else
      for (std::size_t p = 0; p < record.pairs; ++p) steps_[record.languages[p]] += values[p] - rest;
    if (sums.in_dictionary % kManyWords != 0) return;
    if (sums.in_dictionary == kManyWords) std::fill(many_steps_, many_steps_ + kRow, 0);
    for (std::size_t l = 0; l < kRow; ++l) many_steps_[l] += std::exchange(steps_[l], 0);
  }
  void add_letters(const float* row, std::size_t languages) {
    for (std::size_t l = 0; l < languages; ++l) letters_[l] += row[l];
  }
  void known(float* out, std::size_t languages) const {
    if (!bytes_only_)
      for (std::size_t l = 0; l < languages; ++l) out[l] = dictionary_[l] + common_;
    else if (sums.in_dictionary < kManyWords)
      for (std::size_t l = 0; l < languages; ++l)
        out[l] = static_cast<float>(steps_[l] + static_cast<std::int32_t>(common_steps_)) * table_.step;
    else
      for (std::size_t l = 0; l < languages; ++l)
        out[l] = static_cast<float>(many_steps_[l] + steps_[l] + common_steps_) * table_.step;
  }
  float letters(std::size_t language) const { return letters_[language]; }

  Sums sums;

 private:
  const Table& table_;
  bool bytes_only_;
  float dictionary_[kRow] = {}, letters_[kRow] = {};
  float common_ = 0;
  std::int32_t steps_[kRow] = {};
  std::int64_t many_steps_[kRow], common_steps_ = 0;  // of texts of more than kManyWords words
};

// Words that the dictionary does not have, until their letters are asked.
class Deferred {
 public:
  void clear() {
    words_.clear();
    keys_.clear();
  }
  void add(const Word& word) {
    words_.push_back(word);
    keys_.insert(keys_.end(), word.key.begin(), word.key.end());
  }
  std::size_t size() const { return words_.size(); }
  // Calls visit(word) for the words from first on up to last; `at` is where the key of the first one begins.
  template <class Visit>
  void visit(std::size_t first, std::size_t last, std::size_t& at, Visit&& visit) {
    for (std::size_t i = first; i < last; ++i) {
      Word word = words_[i];
      word.key = {keys_.data() + at, word.key.size()};
      at += word.key.size();
      visit(word);
    }
  }

 private:
  std::vector<Word> words_;
  std::vector<char> keys_;
};

struct Lead {
  std::size_t best;  // the first of equals
  double by;         // before the second
};

Lead lead_of(const double* ranked, std::size_t width, std::size_t languages) {
  const double most = largest_of(ranked, width);
  const auto best = static_cast<std::size_t>(std::find(ranked, ranked + languages, most) - ranked);
  double second = -std::numeric_limits<double>::infinity();
  for (std::size_t l = 0; l < languages; ++l)
    if (l != best && ranked[l] > second) second = ranked[l];
  return {best, most - second};
}

}  // namespace

Evidence relevance(const Model& model, const Word& word, float* out) {
  Record record;
  if (!word.key.empty() && model.table.find(word.key, Kind::Word, stored_hash(word.key, Kind::Word), record)) {
    std::fill(out, out + kRow, model.table.value(record.rest));
    for (std::size_t p = 0; p < record.pairs; ++p) out[record.languages[p]] = model.table.value(record.values, p);
    return Evidence::Dictionary;
  }
  Guesses guesses(model);
  if (guesses.apply_to(word)) {
    guesses.add(word);
    guesses.fetch();
    if (guesses.relevance(0, out)) return Evidence::Letters;
  }
  std::fill(out, out + kRow, 0.0f);
  return Evidence::None;
}

Sums identify(const Model& model, const Source& source, float* known, float* total) {
  const std::size_t N = model.languages;
  Totals totals(model.table);
  Queue queue(
      model, [&](const Record& record) { totals.add(record); }, [&](const float* row) { totals.add_letters(row, N); },
      [](const Word&) {});
  read(source, [&](const auto& text) {
    scan(text, model.without_accents, [&](const Word& word) {
      ++totals.sums.words;
      queue.add(word);
    });
  });
  queue.flush();
  totals.known(known, N);
  for (std::size_t l = 0; l < N; ++l) total[l] = known[l] + totals.letters(l);
  return totals.sums;
}

// Letters take most of the time. So the dictionary is asked first, and the letters of other words only as long as they
// could change who leads: a word says log(alpha) of a language at least and log(alpha + (1 - alpha) n) at most.
std::size_t best_language(const Model& model, const Source& source, std::span<const std::uint8_t> answered,
                          std::span<const double> prior) {
  const std::size_t N = model.languages, width = padded(N);
  Totals totals(model.table);
  thread_local Deferred deferred;
  deferred.clear();
  std::size_t asked = 0, key_at = 0;  // words of `deferred` whose letters were asked
  const auto ask = [&](std::size_t count) {
    Queue queue(model, [](const Record&) {}, [&](const float* row) { totals.add_letters(row, N); }, [](const Word&) {});
    deferred.visit(asked, asked + count, key_at, [&](const Word& word) { queue.add_unknown(word); });
    queue.flush();
    asked += count;
  };
  Model dictionary = model;
  dictionary.order = 0;
  const auto defer = [&](const Word& word) {
    if (model.order == 0 || word.key.empty()) return;
    deferred.add(word);
    if (deferred.size() < kMostDeferred) return;
    ask(deferred.size() - asked);
    deferred.clear();
    asked = key_at = 0;
  };
  Queue queue(dictionary, [&](const Record& record) { totals.add(record); }, [](const float*) {}, defer);
  read(source, [&](const auto& text) {
    scan(text, model.without_accents, [&](const Word& word) {
      ++totals.sums.words;
      queue.add(word);
    });
  });
  queue.flush();
  if (totals.sums.words == 0) return N;
  float known[kRow];
  totals.known(known, N);
  const auto chosen = static_cast<double>(N) - std::count(model.chosen.begin(), model.chosen.end(), 0);
  const double swing = std::log(model.alpha + (1.0 - model.alpha) * chosen) - std::log(model.alpha) + kRounding;
  double ranked[kRow];
  std::fill(ranked, ranked + width, -std::numeric_limits<double>::infinity());
  for (;;) {
    bool differ = false;
    const float first = known[0] + totals.letters(0);
    for (std::size_t l = 0; l < N; ++l) {
      const float total = known[l] + totals.letters(l);
      ranked[l] = answered[l] ? static_cast<double>(total) + prior[l] : ranked[l];
      differ |= total != first;
    }
    const Lead lead = lead_of(ranked, width, N);
    const std::size_t left = deferred.size() - asked;
    if (left == 0 && !differ && first < kSpeaks * static_cast<float>(totals.sums.words)) return N;
    if (left == 0 && !(ranked[lead.best] > -std::numeric_limits<double>::infinity())) return N;
    if (left == 0 || (differ && lead.by > swing * static_cast<double>(left))) return lead.best;
    ask(std::min(left, kTogether));
  }
}

}  // namespace textmill::language
