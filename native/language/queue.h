// Look-ups of many words at once. The table is larger than the caches, so one look-up after the other would wait twice
// for memory; here the tags of kAhead words are fetched together, then the places of their records, then the records, and
// with them the n-grams of the words that are not in the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "language/guess.h"
#include "language/memory.h"
#include "language/model.h"

namespace textmill::language {

inline constexpr std::size_t kAhead = 16;  // words that are looked up together

// Collects words and says of each, in order, what is known: known(record) of a word of the dictionary, guessed(row) of one
// whose letters tell, silent(word) of others.
template <class Known, class Guessed, class Silent>
class Queue {
 public:
  Queue(const Model& model, Known known, Guessed guessed, Silent silent)
      : model_(model),
        known_(known),
        guessed_(guessed),
        silent_(silent),
        guesses_(model),
        memory_(Memory::of_thread(model.call, model.languages)) {}
  void add(const Word& word) { add(word, false); }
  // The same of a word that the dictionary is known not to have.
  void add_unknown(const Word& word) { add(word, true); }
  void flush() {
    const Table& table = model_.table;
    for (std::size_t i = 0; i < size_; ++i) {
      Entry& entry = entries_[i];
      entry.slot = entry.word.key.empty() || entry.unknown ? table.slots.size() : table.candidate(entry.hash);
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
    bool unknown;
    Word word;
    Record record;
    std::size_t guess;   // its number, or kKnown, kSilent or kRemembered
    std::size_t memory;  // its slot there
  };
  static constexpr std::size_t kKnown = kAhead, kSilent = kAhead + 1, kRemembered = kAhead + 2;

  void add(const Word& word, bool unknown) {
    Entry& entry = entries_[size_];
    entry.word = word;
    entry.unknown = unknown;
    if (!word.key.empty()) {
      std::memcpy(entry.key, word.key.data(), word.key.size());
      entry.word.key = {entry.key, word.key.size()};
      entry.hash = stored_hash(word.key, Kind::Word);
      if (!unknown) model_.table.prefetch(entry.hash);
    }
    if (++size_ == kAhead) flush();
  }

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
      else if (remembered(entry))
        entry.guess = kRemembered;
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
      else if (entry.guess == kRemembered)
        guessed_(memory_->row(entry.memory));
      else if (entry.guess != kSilent && guesses_.relevance(entry.guess, row))
        guessed_(keep(entry, begin, end, row));
      else
        silent_(entry.word);
    }
    return end;
  }

  bool remembered(Entry& entry) const {
    if (memory_ == nullptr) return false;
    entry.memory = Memory::slot_of(entry.hash);
    return memory_->has(entry.memory, entry.hash, entry.word.key, entry.word.script);
  }

  // Keeps what was found, unless a word that is still to be answered needs the slot.
  const float* keep(const Entry& entry, std::size_t begin, std::size_t end, const float* row) {
    if (memory_ == nullptr) return row;
    for (std::size_t i = begin; i < end; ++i)
      if (entries_[i].guess == kRemembered && entries_[i].memory == entry.memory) return row;
    memory_->keep(entry.memory, entry.hash, entry.word.key, entry.word.script, row);
    return row;
  }

  const Model& model_;
  Known known_;
  Guessed guessed_;
  Silent silent_;
  Guesses guesses_;
  Memory* memory_;
  Entry entries_[kAhead];
  std::size_t size_ = 0;
};

}  // namespace textmill::language
