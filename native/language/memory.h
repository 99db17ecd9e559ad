// What letters said of words that were asked for a moment ago. Texts of one call are often of one language and source, so
// that a word that no dictionary has comes again soon: of lines of declarations four in ten were seen shortly before. Each
// thread has a table of its own, a word a slot, the last one stays; it holds for one call, that is for one model and one
// choice of languages. What comes out is what would be computed again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace textmill::language {

class Memory {
 public:
  static constexpr std::size_t kSlots = 256, kKey = 32;  // words, and bytes of the longest one

  // The table of this thread, empty if it is of another call; nullptr for call 0.
  static Memory* of_thread(std::uint64_t call, std::size_t languages) {
    thread_local Memory memory;
    if (call == 0) return nullptr;
    if (memory.call_ != call) {
      memory.call_ = call;
      memory.languages_ = languages;
      memory.rows_.resize(std::max(memory.rows_.size(), kSlots * languages));
      for (Slot& slot : memory.slots_) slot.bytes = 0;
    }
    return &memory;
  }

  static std::size_t slot_of(std::uint64_t hash) { return (hash >> 32) % kSlots; }

  bool has(std::size_t slot, std::uint64_t hash, std::string_view key, std::uint8_t script) const {
    const Slot& own = slots_[slot];
    return own.hash == hash && own.bytes == key.size() && own.script == script &&
           std::memcmp(own.key, key.data(), key.size()) == 0;
  }
  const float* row(std::size_t slot) const { return rows_.data() + slot * languages_; }

  void keep(std::size_t slot, std::uint64_t hash, std::string_view key, std::uint8_t script, const float* row) {
    if (key.empty() || key.size() > kKey) return;
    Slot& own = slots_[slot];
    own.hash = hash;
    own.bytes = static_cast<std::uint8_t>(key.size());
    own.script = script;
    std::memcpy(own.key, key.data(), key.size());
    std::copy_n(row, languages_, rows_.data() + slot * languages_);
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint8_t bytes = 0, script = 0;
    char key[kKey];
  };
  std::uint64_t call_ = 0;
  std::size_t languages_ = 0;
  std::array<Slot, kSlots> slots_;
  std::vector<float> rows_;
};

}  // namespace textmill::language
