// Look-ups of many words at once. The table is larger than the caches, so one look-up after the other would wait twice
// for memory; here the tags of kAhead words are fetched together, then the places of their records, then the records, and
// with them the n-grams of the words that are not in the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "language/guess.h"
#include "language/model.h"

namespace textmill::language {

inline constexpr std::size_t kAhead = 16;  // words that are looked up together

// Collects words and says of each, in order, what is known: known(record) of a word of the dictionary, guessed(row) of one
// whose letters tell, silent() of others.
template <class Known, class Guessed, class Silent>
class Queue {
 public:
  Queue(const Model& model, Known known, Guessed guessed, Silent silent)
      : model_(model), known_(known), guessed_(guessed), silent_(silent), guesses_(model) {}
  void add(const Word& word) {
    Entry& entry = entries_[size_];
    entry.word = word;
    if (!word.key.empty()) {
      std::memcpy(entry.key, word.key.data(), word.key.size());
      entry.word.key = {entry.key, word.key.size()};
      entry.hash = stored_hash(word.key, Kind::Word);
      model_.table.prefetch(entry.hash);
    }
    if (++size_ == kAhead) flush();
  }
  void flush() {
    const Table& table = model_.table;
    for (std::size_t i = 0; i < size_; ++i) {
      Entry& entry = entries_[i];
      entry.slot = entry.word.key.empty() ? table.slots.size() : table.candidate(entry.hash);
    }
    for (std::size_t i = 0; i < size_; ++i) table.prefetch_record(entries_[i].slot);
    for (std::size_t begin = 0; begin < size_;) begin = answer(begin);
    size_ = 0;
  }

 private:
  struct Entry {
    char key[kLongest];
    std::uint64_t hash;
    std::size_t slot;  // of the first record that may be the word's
    Word word;
    Record record;
    std::size_t guess;  // its number, or kKnown or kSilent
  };
  static constexpr std::size_t kKnown = kAhead, kSilent = kAhead + 1;

  // Answers for the words from `begin` on, as many as there is room for; where the next ones begin.
  std::size_t answer(std::size_t begin) {
    guesses_.clear();
    std::size_t end = begin;
    for (; end < size_; ++end) {
      Entry& entry = entries_[end];
      if (model_.table.find(entry.word.key, Kind::Word, entry.hash, entry.slot, entry.record))
        entry.guess = kKnown;
      else if (!guesses_.apply_to(entry.word))
        entry.guess = kSilent;
      else if (end == begin || guesses_.has_room(entry.word))
        entry.guess = guesses_.add(entry.word);
      else
        break;
    }
    guesses_.fetch();
    float row[kRow];
    for (std::size_t i = begin; i < end; ++i) {
      const Entry& entry = entries_[i];
      if (entry.guess == kKnown)
        known_(entry.record);
      else if (entry.guess != kSilent && guesses_.relevance(entry.guess, row))
        guessed_(static_cast<const float*>(row));
      else
        silent_();
    }
    return end;
  }

  const Model& model_;
  Known known_;
  Guessed guessed_;
  Silent silent_;
  Guesses guesses_;
  Entry entries_[kAhead];
  std::size_t size_ = 0;
};

}  // namespace textmill::language
