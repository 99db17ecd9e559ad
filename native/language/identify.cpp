#include "language/identify.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace textmill::language {
namespace {

inline constexpr std::size_t kAhead = 16;  // words whose slots are fetched together

struct Pending {
  char key[kLongest];
  std::uint64_t hash;
  Word word;
};

// Collects words, fetches their slots together, then calls visit(word, hash).
template <class Visit>
class Queue {
 public:
  Queue(const Table& table, Visit visit) : table_(table), visit_(visit) {}
  void add(const Word& word) {
    Pending& entry = entries_[size_];
    entry.word = word;
    if (!word.key.empty()) {
      std::memcpy(entry.key, word.key.data(), word.key.size());
      entry.word.key = {entry.key, word.key.size()};
      entry.hash = stored_hash(word.key, Kind::Word);
      table_.prefetch(entry.hash);
    }
    if (++size_ == kAhead) flush();
  }
  void flush() {
    for (std::size_t i = 0; i < size_; ++i) visit_(entries_[i].word, entries_[i].hash);
    size_ = 0;
  }

 private:
  const Table& table_;
  Visit visit_;
  Pending entries_[kAhead];
  std::size_t size_ = 0;
};

}  // namespace

bool guess(const Model& model, const Word& word, float* out) {
  const std::size_t N = model.languages;
  if (model.order == 0 || word.key.empty()) return false;
  const float* script = model.script.data() + word.script * N;
  for (std::size_t l = 0; l < N; ++l) out[l] = script[l];
  char marked[kLongest + 2];
  std::size_t starts[kLongest + 3];
  marked[0] = '<';
  std::memcpy(marked + 1, word.key.data(), word.key.size());
  marked[word.key.size() + 1] = '>';
  const std::size_t bytes = word.key.size() + 2;
  std::size_t letters = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    if ((static_cast<unsigned char>(marked[i]) & 0xC0) != 0x80) starts[letters++] = i;
  starts[letters] = bytes;
  std::int32_t steps[kRow] = {};  // values of a byte are added as whole numbers
  const bool bytes_only = model.table.step > 0;
  for (std::size_t i = 1; i < letters; ++i) {
    Record record;
    for (std::size_t from = i + 1 > model.order ? i + 1 - model.order : 0; from <= i; ++from) {
      const std::string_view gram(marked + starts[from], starts[i + 1] - starts[from]);
      if (gram.size() > kLongest || !model.table.find(gram, Kind::Gram, stored_hash(gram, Kind::Gram), record))
        continue;
      if (bytes_only) {
        const auto rest = static_cast<std::int8_t>(*record.rest);
        const auto* values = reinterpret_cast<const std::int8_t*>(record.values);
        for (std::size_t p = 0; p < record.pairs; ++p) steps[record.languages[p]] += values[p] - rest;
      } else {
        const float rest = model.table.value(record.rest);
        for (std::size_t p = 0; p < record.pairs; ++p)
          out[record.languages[p]] += model.table.value(record.values, p) - rest;
      }
      break;
    }
  }
  if (bytes_only)
    for (std::size_t l = 0; l < N; ++l) out[l] += static_cast<float>(steps[l]) * model.table.step;
  // p(w | L) / p_0(w), where p_0 is the mean over the languages that are asked for.
  float best = -std::numeric_limits<float>::infinity();
  for (std::size_t l = 0; l < N; ++l)
    if (model.chosen[l]) best = std::max(best, out[l]);
  if (!(best > -std::numeric_limits<float>::infinity())) return false;
  const float nothing = std::log(model.alpha);
  float sum = 0;
  std::size_t chosen = 0;
  float ratio[kRow];
  for (std::size_t l = 0; l < N; ++l) {
    const float distance = (out[l] - best) * model.scale;
    ratio[l] = model.chosen[l] && distance > -9.0f ? std::exp(distance) : 0.0f;
    sum += ratio[l];
    chosen += model.chosen[l];
  }
  const float factor = (1 - model.alpha) * static_cast<float>(chosen) / sum;
  for (std::size_t l = 0; l < N; ++l) out[l] = ratio[l] == 0 ? nothing : std::log(model.alpha + factor * ratio[l]);
  return true;
}

Evidence relevance(const Model& model, const Word& word, float* out) {
  Record record;
  if (!word.key.empty() && model.table.find(word.key, Kind::Word, stored_hash(word.key, Kind::Word), record)) {
    std::fill(out, out + kRow, model.table.value(record.rest));
    for (std::size_t p = 0; p < record.pairs; ++p) out[record.languages[p]] = model.table.value(record.values, p);
    return Evidence::Dictionary;
  }
  if (guess(model, word, out)) return Evidence::Letters;
  std::fill(out, out + kRow, 0.0f);
  return Evidence::None;
}

Sums identify(const Model& model, const Source& source, float* known, float* total) {
  const std::size_t N = model.languages;
  const Table& table = model.table;
  Sums sums;
  float dictionary[kRow] = {}, letters[kRow] = {}, row[kRow];
  float common = 0;
  std::int64_t steps[kRow] = {}, common_steps = 0;
  const bool bytes_only = table.step > 0;
  const auto visit = [&](const Word& word, std::uint64_t hash) {
    ++sums.words;
    Record record;
    if (!word.key.empty() && table.find(word.key, Kind::Word, hash, record)) {
      ++sums.in_dictionary;
      if (bytes_only) {
        const auto rest = static_cast<std::int8_t>(*record.rest);
        const auto* values = reinterpret_cast<const std::int8_t*>(record.values);
        common_steps += rest;
        for (std::size_t p = 0; p < record.pairs; ++p) steps[record.languages[p]] += values[p] - rest;
      } else {
        const float rest = table.value(record.rest);
        common += rest;
        for (std::size_t p = 0; p < record.pairs; ++p)
          dictionary[record.languages[p]] += table.value(record.values, p) - rest;
      }
    } else if (guess(model, word, row)) {
      for (std::size_t l = 0; l < N; ++l) letters[l] += row[l];
    }
  };
  Queue queue(table, visit);
  read(source,
       [&](const auto& text) { scan(text, model.without_accents, [&](const Word& word) { queue.add(word); }); });
  queue.flush();
  for (std::size_t l = 0; l < N; ++l) {
    known[l] = bytes_only ? static_cast<float>(steps[l] + common_steps) * table.step : dictionary[l] + common;
    total[l] = known[l] + letters[l];
  }
  return sums;
}

}  // namespace textmill::language
