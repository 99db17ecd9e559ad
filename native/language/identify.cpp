#include "language/identify.h"

#include <algorithm>
#include <limits>

#include "base/math.h"
#include "language/queue.h"

namespace textmill::language {
namespace {

struct Gram {
  std::uint64_t hash;
  std::uint16_t begin, end;  // bytes of the word
  std::uint32_t slot;        // of the first record that may be its own
};

// The record of the first of these n-grams that has one. Slots are known up to the first candidate.
bool longest(const Table& table, const char* word, const Gram* grams, const Gram* end, Record& record) {
  const auto key = [&](const Gram& gram) {
    return std::string_view(word + gram.begin, static_cast<std::size_t>(gram.end - gram.begin));
  };
  const Gram* gram = grams;
  while (gram < end && gram->slot == table.slots.size()) ++gram;
  if (gram == end) return false;
  if (table.find(key(*gram), Kind::Gram, gram->hash, gram->slot, record)) return true;
  while (++gram < end)  // it was the record of another string
    if (table.find(key(*gram), Kind::Gram, gram->hash, record)) return true;
  return false;
}

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
  // The table is larger than the caches: what all n-grams need is fetched before the first one is read.
  const Table& table = model.table;
  Gram grams[(kLongest + 2) * kMostLetters];
  std::size_t first[kLongest + 3];  // n-grams that end with letter i, the longest first: first[i] .. first[i + 1]
  std::size_t size = 0;
  for (std::size_t i = 1; i < letters; ++i) {
    first[i] = size;
    for (std::size_t from = i + 1 > model.order ? i + 1 - model.order : 0; from <= i; ++from) {
      const std::size_t length = starts[i + 1] - starts[from];
      if (length > kLongest) continue;
      const std::uint64_t hash = stored_hash({marked + starts[from], length}, Kind::Gram);
      table.prefetch(hash);
      grams[size++] = {hash, static_cast<std::uint16_t>(starts[from]), static_cast<std::uint16_t>(starts[i + 1]),
                       static_cast<std::uint32_t>(table.slots.size())};
    }
  }
  first[letters] = size;
  for (std::size_t i = 1; i < letters; ++i)
    for (std::size_t g = first[i]; g < first[i + 1]; ++g) {
      grams[g].slot = static_cast<std::uint32_t>(table.candidate(grams[g].hash));
      if (grams[g].slot < table.slots.size()) break;  // shorter ones count only if this is another's
    }
  for (std::size_t g = 0; g < size; ++g) table.prefetch_record(grams[g].slot);
  std::int16_t steps[kRow] = {};  // values of a byte are added as whole numbers: at most 127 times kLongest + 2
  const bool bytes_only = table.step > 0;
  for (std::size_t i = 1; i < letters; ++i) {
    Record record;
    if (!longest(table, marked, grams + first[i], grams + first[i + 1], record)) continue;
    if (bytes_only) {
      const auto rest = static_cast<std::int8_t>(*record.rest);
      const auto* values = reinterpret_cast<const std::int8_t*>(record.values);
      if (record.is_row())
        for (std::size_t l = 0; l < record.pairs; ++l)
          steps[l] = static_cast<std::int16_t>(steps[l] + values[l] - rest);
      else
        for (std::size_t p = 0; p < record.pairs; ++p) {
          std::int16_t& sum = steps[record.languages[p]];
          sum = static_cast<std::int16_t>(sum + values[p] - rest);
        }
    } else {
      const float rest = model.table.value(record.rest);
      for (std::size_t p = 0; p < record.pairs; ++p)
        out[record.languages[p]] += model.table.value(record.values, p) - rest;
    }
  }
  if (bytes_only)
    for (std::size_t l = 0; l < N; ++l) out[l] += static_cast<float>(steps[l]) * model.table.step;
  // p(w | L) / p_0(w), where p_0 is the mean over the languages that are asked for.
  float best = -std::numeric_limits<float>::infinity();
  for (std::size_t l = 0; l < N; ++l)
    if (model.chosen[l]) best = std::max(best, out[l]);
  if (!(best > -std::numeric_limits<float>::infinity())) return false;
  double ratio[kRow];
  double sum = 0;
  std::size_t chosen = 0;
  for (std::size_t l = 0; l < N; ++l) {
    ratio[l] =
        model.chosen[l] ? static_cast<double>((out[l] - best) * model.scale) : -std::numeric_limits<double>::infinity();
    chosen += model.chosen[l];
  }
  base::exp({ratio, N}, {ratio, N});
  for (std::size_t l = 0; l < N; ++l) sum += ratio[l];
  const double factor = (1.0 - model.alpha) * static_cast<double>(chosen) / sum;
  for (std::size_t l = 0; l < N; ++l) ratio[l] = model.alpha + factor * ratio[l];
  base::log({ratio, N}, {ratio, N});
  for (std::size_t l = 0; l < N; ++l) out[l] = static_cast<float>(ratio[l]);
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
  const auto visit = [&](const Pending& entry) {
    ++sums.words;
    Record record;
    if (table.find(entry.word.key, Kind::Word, entry.hash, entry.slot, record)) {
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
    } else if (guess(model, entry.word, row)) {
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

std::size_t best_language(const Model& model, const Source& source, std::span<const std::uint8_t> answered,
                          std::span<const double> prior) {
  const std::size_t N = model.languages;
  float known[kRow], total[kRow];
  const Sums sums = identify(model, source, known, total);
  const auto [least, most] = std::minmax_element(total, total + N);
  if (sums.words == 0 || *least == *most) return N;
  std::size_t best = N;
  for (std::size_t l = 0; l < N; ++l)
    if (answered[l] && (best == N || total[l] + prior[l] > total[best] + prior[best])) best = l;
  return best;
}

}  // namespace textmill::language
