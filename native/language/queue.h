// Look-ups of many words at once. The table is larger than the caches, so one look-up after the other would wait twice
// for memory; here the tags of kAhead words are fetched together, then their records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "language/scan.h"
#include "language/table.h"

namespace textmill::language {

inline constexpr std::size_t kAhead = 16;  // words that are looked up together

struct Pending {
  char key[kLongest];
  std::uint64_t hash;
  std::size_t slot;  // of the first record that may be the word's
  Word word;
};

// Collects words, fetches their tags together, then their records, then calls visit(entry).
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
    for (std::size_t i = 0; i < size_; ++i) {
      Pending& entry = entries_[i];
      entry.slot = entry.word.key.empty() ? table_.slots.size() : table_.candidate(entry.hash);
      table_.prefetch_record(entry.slot);
    }
    for (std::size_t i = 0; i < size_; ++i) visit_(entries_[i]);
    size_ = 0;
  }

 private:
  const Table& table_;
  Visit visit_;
  Pending entries_[kAhead];
  std::size_t size_ = 0;
};

}  // namespace textmill::language
