#include "language/guess.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/math.h"

namespace textmill::language {
namespace {

inline constexpr std::size_t kRecordLines = 3;  // cache lines of a record that most languages are in
inline constexpr float kFar = 13;  // what a language this far behind the best one has is less than a tenth of a step

}  // namespace

void Guesses::prepare() {
  const std::size_t N = model_.languages;
  std::fill(closed_, closed_ + padded(N), -std::numeric_limits<float>::infinity());
  for (std::size_t l = 0; l < N; ++l) closed_[l] = model_.chosen[l] ? 0.0f : closed_[l];
  chosen_ = N - static_cast<std::size_t>(std::count(model_.chosen.begin(), model_.chosen.end(), 0));
}

std::size_t Guesses::add(const Word& word) {
  if (chosen_ == 0) prepare();
  Entry& entry = entries_[words_];
  entry.script = word.script;
  char* const marked = entry.marked;
  marked[0] = '<';
  std::memcpy(marked + 1, word.key.data(), word.key.size());
  marked[word.key.size() + 1] = '>';
  const std::size_t bytes = word.key.size() + 2;
  std::size_t starts[kLongest + 3], letters = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    if ((static_cast<unsigned char>(marked[i]) & 0xC0) != 0x80) starts[letters++] = i;
  starts[letters] = bytes;
  entry.first_letter = static_cast<std::uint32_t>(letters_);
  entry.letters = static_cast<std::uint32_t>(letters - 1);  // all but the mark at the beginning
  for (std::size_t i = 1; i < letters; ++i) {
    ends_[letters_++] = static_cast<std::uint32_t>(grams_);
    for (std::size_t from = i + 1 > model_.order ? i + 1 - model_.order : 0; from <= i; ++from) {
      const std::size_t length = starts[i + 1] - starts[from];
      if (length > kLongest) continue;
      const std::uint64_t hash = stored_hash({marked + starts[from], length}, Kind::Gram);
      model_.table.prefetch(hash);
      all_[grams_++] = {hash, marked + starts[from], static_cast<std::uint32_t>(model_.table.slots.size()),
                        static_cast<std::uint32_t>(length)};
    }
  }
  ends_[letters_++] = static_cast<std::uint32_t>(grams_);
  return words_++;
}

void Guesses::fetch() {
  const Table& table = model_.table;
  for (std::size_t w = 0; w < words_; ++w) {
    const std::uint32_t* ends = ends_ + entries_[w].first_letter;
    for (std::size_t letter = 0; letter < entries_[w].letters; ++letter)
      for (std::uint32_t g = ends[letter]; g < ends[letter + 1]; ++g) {
        all_[g].slot = static_cast<std::uint32_t>(table.candidate(all_[g].hash));
        if (all_[g].slot < table.slots.size()) break;  // shorter ones count only if this is another's
      }
  }
  for (std::size_t g = 0; g < grams_; ++g) table.prefetch_record(all_[g].slot, kRecordLines);
}

// The record of the first of these n-grams that has one. Slots are known up to the first candidate.
bool Guesses::longest(const Gram* gram, const Gram* end, Record& record) const {
  const Table& table = model_.table;
  while (gram < end && gram->slot == table.slots.size()) ++gram;
  if (gram == end) return false;
  if (table.find({gram->key, gram->bytes}, Kind::Gram, gram->hash, gram->slot, record)) return true;
  while (++gram < end)  // it was the record of another string
    if (table.find({gram->key, gram->bytes}, Kind::Gram, gram->hash, record)) return true;
  return false;
}

bool Guesses::relevance(std::size_t i, float* out) const {
  const Entry& entry = entries_[i];
  const std::uint32_t* ends = ends_ + entry.first_letter;
  const Table& table = model_.table;
  const std::size_t N = model_.languages;
  const float* script = model_.script.data() + entry.script * N;
  for (std::size_t l = 0; l < N; ++l) out[l] = script[l];
  std::int16_t steps[kRow] = {};  // values of a byte are added as whole numbers: at most 127 times kLongest + 2
  const bool bytes_only = table.step > 0;
  for (std::size_t letter = 0; letter < entry.letters; ++letter) {
    Record record;
    if (!longest(all_ + ends[letter], all_ + ends[letter + 1], record)) continue;
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
      const float rest = model_.table.value(record.rest);
      for (std::size_t p = 0; p < record.pairs; ++p)
        out[record.languages[p]] += model_.table.value(record.values, p) - rest;
    }
  }
  if (bytes_only)
    for (std::size_t l = 0; l < N; ++l) out[l] += static_cast<float>(steps[l]) * model_.table.step;
  // p(w | L) / p_0(w), where p_0 is the mean over the languages that are asked for. Only those near the best one have a
  // share that can be seen: the others are left with the background.
  const std::size_t width = padded(N);
  std::fill(out + N, out + width, 0.0f);
  for (std::size_t l = 0; l < width; ++l) out[l] += closed_[l];
  const float best = largest_of(out, width);
  if (!(best > -std::numeric_limits<float>::infinity())) return false;
  double ratio[kRow + kLanes];
  std::uint8_t near[kRow];
  std::size_t close = 0;
  for (std::size_t l = 0; l < N; ++l) {
    const float behind = (out[l] - best) * model_.scale;
    near[close] = static_cast<std::uint8_t>(l);
    ratio[close] = static_cast<double>(behind);
    close += static_cast<std::size_t>(behind > -kFar);
  }
  base::exp({ratio, close}, {ratio, close});
  std::fill(ratio + close, ratio + padded(close), 0.0);
  double part[kLanes] = {};
  for (std::size_t i = 0; i < close; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) part[j] += ratio[i + j];
  const double sum = std::accumulate(part, part + kLanes, 0.0);
  const double factor = (1.0 - model_.alpha) * static_cast<double>(chosen_) / sum;
  for (std::size_t i = 0; i < close; ++i) ratio[i] = model_.alpha + factor * ratio[i];
  base::log({ratio, close}, {ratio, close});
  std::fill(out, out + N, std::log(model_.alpha));
  for (std::size_t i = 0; i < close; ++i) out[near[i]] = static_cast<float>(ratio[i]);
  return true;
}

}  // namespace textmill::language
