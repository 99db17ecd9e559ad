#include "language/identify.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "language/queue.h"

namespace textmill::language {
namespace {

inline constexpr std::size_t kManyWords = 1 << 22;  // so many bytes add up to a number of 32 bits

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
  const Table& table = model.table;
  Sums sums;
  float dictionary[kRow] = {}, letters[kRow] = {};
  float common = 0;
  std::int32_t steps[kRow] = {};
  std::int64_t many_steps[kRow], common_steps = 0;  // of texts of more than kManyWords words
  const bool bytes_only = table.step > 0;
  const auto from_dictionary = [&](const Record& record) {
    ++sums.in_dictionary;
    if (!bytes_only) {
      const float rest = table.value(record.rest);
      common += rest;
      for (std::size_t p = 0; p < record.pairs; ++p)
        dictionary[record.languages[p]] += table.value(record.values, p) - rest;
      return;
    }
    const auto rest = static_cast<std::int8_t>(*record.rest);
    const auto* values = reinterpret_cast<const std::int8_t*>(record.values);
    common_steps += rest;
    if (record.is_row())
      for (std::size_t l = 0; l < record.pairs; ++l) steps[l] += values[l] - rest;
    else
      for (std::size_t p = 0; p < record.pairs; ++p) steps[record.languages[p]] += values[p] - rest;
    if (sums.in_dictionary % kManyWords != 0) return;
    if (sums.in_dictionary == kManyWords) std::fill(many_steps, many_steps + N, 0);
    for (std::size_t l = 0; l < N; ++l) many_steps[l] += std::exchange(steps[l], 0);
  };
  const auto from_letters = [&](const float* row) {
    for (std::size_t l = 0; l < N; ++l) letters[l] += row[l];
  };
  Queue queue(model, from_dictionary, from_letters, [] {});
  read(source, [&](const auto& text) {
    scan(text, model.without_accents, [&](const Word& word) {
      ++sums.words;
      queue.add(word);
    });
  });
  queue.flush();
  if (!bytes_only)
    for (std::size_t l = 0; l < N; ++l) known[l] = dictionary[l] + common;
  else if (sums.in_dictionary < kManyWords)
    for (std::size_t l = 0; l < N; ++l)
      known[l] = static_cast<float>(steps[l] + static_cast<std::int32_t>(common_steps)) * table.step;
  else
    for (std::size_t l = 0; l < N; ++l)
      known[l] = static_cast<float>(many_steps[l] + steps[l] + common_steps) * table.step;
  for (std::size_t l = 0; l < N; ++l) total[l] = known[l] + letters[l];
  return sums;
}

std::size_t best_language(const Model& model, const Source& source, std::span<const std::uint8_t> answered,
                          std::span<const double> prior) {
  const std::size_t N = model.languages;
  float known[kRow], total[kRow];
  const Sums sums = identify(model, source, known, total);
  if (sums.words == 0) return N;
  const std::size_t width = padded(N);
  double ranked[kRow];
  std::fill(ranked, ranked + width, -std::numeric_limits<double>::infinity());
  bool differ = false;
  for (std::size_t l = 0; l < N; ++l) {
    ranked[l] = answered[l] ? static_cast<double>(total[l]) + prior[l] : ranked[l];
    differ |= total[l] != total[0];
  }
  if (!differ) return N;
  const double most = largest_of(ranked, width);
  if (!(most > -std::numeric_limits<double>::infinity())) return N;
  return static_cast<std::size_t>(std::find(ranked, ranked + N, most) - ranked);
}

}  // namespace textmill::language
