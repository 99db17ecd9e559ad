// Evidence by string: a hash table that lies in a file as it lies in memory.
//
//   records   one after the other: kind << 7 | length of the key, key, number of pairs, value of all languages that are
//             not listed, languages of the pairs, values of the pairs; or, where most languages are listed, key, 255, n,
//             value of the others, values of the languages 0 .. n - 1
//   slots     a power of two, open addressing: 1 + offset of a record, 0 for none
//   tags      a byte of the hash for each slot, 0 where it is free: they are read first and take a quarter of the memory
//             of the slots, so that a string that is not there costs one cache line
//
// Values are int8 times a step, or float32. Every offset and length is checked as it is followed, so that a damaged file
// gives wrong evidence and never a crash. A look-up costs two cache misses; a record its key, its pairs and about six
// bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/intern.h"

namespace textmill::language {

enum class Kind : std::uint8_t { Word, Gram };

inline constexpr std::size_t kMostLanguages = 254;
inline constexpr std::size_t kLine = 64;       // bytes of a line of the caches
inline constexpr std::uint8_t kRowMark = 255;  // in place of the number of pairs

inline constexpr auto kEveryLanguage = [] {
  std::array<std::uint8_t, 256> numbers{};
  for (std::size_t l = 0; l < numbers.size(); ++l) numbers[l] = static_cast<std::uint8_t>(l);
  return numbers;
}();

// Stored in files: base::hash_bytes may change, this may not.
inline std::uint64_t stored_hash(std::string_view bytes, Kind kind) {
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const auto word = [](const char* p, std::size_t n) {
    std::uint64_t w = 0;
    std::memcpy(&w, p, n);
    return w;
  };
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint64_t h = (kind == Kind::Gram ? 0xD6E8FEB86659FD93u : 0x9E3779B97F4A7C15u) ^ n;
  for (; n > 8; p += 8, n -= 8) h = mix(h ^ word(p, 8), 0xA0761D6478BD642Fu);
  if (n == 8)
    h = mix(h ^ word(p, 8), 0xA0761D6478BD642Fu);
  else if (n >= 4)
    h = mix(h ^ word(p, 4) ^ (word(p + n - 4, 4) << 32), 0xE7037ED1A0B428DBu);
  else if (n > 0)
    h = mix(h ^ (static_cast<std::uint64_t>(static_cast<unsigned char>(p[0])) << 16 |
                 static_cast<std::uint64_t>(static_cast<unsigned char>(p[n / 2])) << 8 |
                 static_cast<unsigned char>(p[n - 1])),
            0x8EBC6AF09C88C6E3u);
  return mix(h, 0x589965CC75374CC3u);
}

inline std::uint8_t tag_of(std::uint64_t hash) { return std::max<std::uint8_t>(hash >> 56, 1); }

struct Record {
  std::string_view key;
  Kind kind;
  std::size_t pairs;
  const std::uint8_t* rest;       // value of the languages that are not listed
  const std::uint8_t* languages;  // [pairs]
  const std::uint8_t* values;     // [pairs]

  bool is_row() const { return languages == kEveryLanguage.data(); }
};

struct Table {  // a view: the caller owns the memory
  std::span<const std::uint32_t> slots;
  std::span<const std::uint8_t> tags;
  std::span<const std::uint8_t> records;
  float step;  // 0: values are float32

  std::size_t width() const { return step > 0 ? 1 : 4; }
  float value(const std::uint8_t* at) const {
    if (step > 0) return static_cast<float>(static_cast<std::int8_t>(*at)) * step;
    float v;
    std::memcpy(&v, at, 4);
    return v;
  }
  float value(const std::uint8_t* values, std::size_t i) const { return value(values + i * width()); }

  // The record at an offset; false when it does not lie inside.
  bool read(std::size_t offset, Record& record) const {
    const std::size_t end = records.size();
    if (offset + 2 > end) return false;
    const std::uint8_t head = records[offset];
    const std::size_t length = head & 127, pairs_at = offset + 1 + length;
    if (pairs_at >= end) return false;
    std::size_t pairs = records[pairs_at], at = pairs_at + 1;
    const bool row = pairs == kRowMark;
    if (row) {
      if (at >= end) return false;
      pairs = records[at++];
    }
    const std::size_t w = width();
    if (at + w + pairs * (row ? w : 1 + w) > end) return false;
    const std::uint8_t* p = records.data() + at;
    record = {{reinterpret_cast<const char*>(records.data()) + offset + 1, length},
              static_cast<Kind>(head >> 7),
              pairs,
              p,
              row ? kEveryLanguage.data() : p + w,
              row ? p + w : p + w + pairs};
    return true;
  }
  std::size_t bytes_of(const Record& record) const {
    const std::size_t body = record.is_row() ? 1 + record.pairs * width() : record.pairs * (1 + width());
    return 2 + record.key.size() + width() + body;
  }

  // Three steps of a look-up, so that many can go on at once: fetch the tag, find the slot, fetch the record.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(tags.data() + (hash & (slots.size() - 1))); }

  // The first slot that may be that of this hash, fetched; slots.size() when there is none. One string in 256 that is not
  // in the table is given the slot of another.
  std::size_t candidate(std::uint64_t hash) const { return slots.empty() ? 0 : next(hash, hash & (slots.size() - 1)); }
  void prefetch_record(std::size_t slot, std::size_t lines = 1) const {
    if (slot >= slots.size() || slots[slot] >= records.size()) return;
    for (std::size_t i = 0; i < lines; ++i) __builtin_prefetch(records.data() + slots[slot] + i * kLine);
  }

  // `slot` is what candidate(hash) gave.
  bool find(std::string_view key, Kind kind, std::uint64_t hash, std::size_t slot, Record& record) const {
    for (std::size_t tries = 0; slot < slots.size() && tries < slots.size(); ++tries) {
      if (read(slots[slot] - 1, record) && record.kind == kind && record.key == key) return true;
      slot = next(hash, (slot + 1) & (slots.size() - 1));
    }
    return false;
  }
  bool find(std::string_view key, Kind kind, std::uint64_t hash, Record& record) const {
    return find(key, kind, hash, candidate(hash), record);
  }

 private:
  std::size_t next(std::uint64_t hash, std::size_t at) const {
    const std::uint8_t tag = tag_of(hash);
    const std::size_t mask = slots.size() - 1;
    for (std::size_t tries = 0; tries <= mask && tags[at] != 0; ++tries, at = (at + 1) & mask)
      if (tags[at] == tag) {
        __builtin_prefetch(slots.data() + at);
        return at;
      }
    return slots.size();
  }
};

// Builds the slots of records that lie one after the other; throws std::invalid_argument on bytes that are no records, on
// a key that comes twice, and on more than 4 GB.
struct Slots {
  std::vector<std::uint32_t> slots;
  std::vector<std::uint8_t> tags;
};
Slots index_records(std::span<const std::uint8_t> records, float step);

}  // namespace textmill::language
