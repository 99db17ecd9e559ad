// Symbol tables: names of labels. A symbol has one key and a key one symbol; keys are any int64 but -1.
//
// Symbols lie in an InternTable in order of insertion. While key i belongs to the i-th symbol, as in nearly all tables,
// no other index is needed; the first exception builds a map from keys to places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fault.h"
#include "base/intern.h"

namespace textmill::fst {

using base::fail;
using base::Fault;

// How many read a table without the lock that its changes are made under. Belongs to one table: a copy has no readers.
struct Readers {
  int count = 0;
  Readers() = default;
  Readers(const Readers&) {}
  Readers& operator=(const Readers&) { return *this; }
};

class SymbolTable {
 public:
  std::string name;
  mutable Readers readers;

  std::size_t size() const { return live_; }
  std::int64_t available() const { return available_; }
  void set_available(std::int64_t key) { available_ = std::max(available_, key); }

  // The key of a symbol, -1 if there is none.
  std::int64_t find(std::string_view symbol) const {
    const std::uint32_t at = table_.find(symbol, base::hash_bytes(symbol));
    return at == base::InternTable::kNone ? -1 : keys_[at];
  }
  std::optional<std::string_view> find(std::int64_t key) const {
    const std::size_t at = place(key);
    if (at == kNowhere) return std::nullopt;
    return table_[at];
  }
  // Adds a symbol with a key; the same pair may be added again. A fault if either belongs to another.
  std::int64_t add(std::string_view symbol, std::int64_t key) {
    if (key < 0 || key == std::numeric_limits<std::int64_t>::max())
      fail("key ", key, " of symbol '", symbol, "' is not from 0 to 2^63 - 2");
    const std::int64_t had = find(symbol);
    if (had == key) return key;
    if (had >= 0) fail("symbol '", symbol, "' has key ", had, " already; it cannot have ", key, " too");
    if (const auto other = find(key))
      fail("key ", key, " belongs to symbol '", *other, "' already; '", symbol, "' needs another");
    const std::uint32_t at = table_.insert(symbol, base::hash_bytes(symbol));
    if (at == keys_.size()) {
      keys_.push_back(key);
    } else {
      keys_[at] = key;  // was removed before
    }
    if (dense_ && (key != static_cast<std::int64_t>(at) || at + 1 != keys_.size())) {
      dense_ = false;
      for (std::size_t i = 0; i < keys_.size(); ++i)
        if (keys_[i] >= 0) places_[keys_[i]] = i;
    }
    if (!dense_) places_[key] = at;
    available_ = std::max(available_, key + 1);
    ++live_;
    return key;
  }
  std::int64_t add(std::string_view symbol) {
    const std::int64_t had = find(symbol);
    return had >= 0 ? had : add(symbol, available_);
  }
  bool remove(std::int64_t key) {
    const std::size_t at = place(key);
    if (at == kNowhere) return false;
    if (dense_) {
      dense_ = false;
      for (std::size_t i = 0; i < keys_.size(); ++i) places_[keys_[i]] = i;
    }
    places_.erase(key);
    keys_[at] = -1;
    --live_;
    return true;
  }
  // Calls body(key, symbol) in order of insertion.
  template <class Body>
  void each(Body body) const {
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (keys_[i] >= 0) body(keys_[i], table_[i]);
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::size_t place(std::int64_t key) const {
    if (dense_)
      return key >= 0 && static_cast<std::size_t>(key) < keys_.size() ? static_cast<std::size_t>(key) : kNowhere;
    const auto found = places_.find(key);
    return found == places_.end() ? kNowhere : found->second;
  }

  base::InternTable table_;
  std::vector<std::int64_t> keys_;  // [places] -1: removed
  std::unordered_map<std::int64_t, std::size_t> places_;
  bool dense_ = true;  // keys_[i] == i for all i, none removed
  std::int64_t available_ = 0;
  std::size_t live_ = 0;
};

// `symbol<TAB>key` a line. Faults name the line.
SymbolTable read_symbols_text(std::string_view text);
std::string write_symbols_text(const SymbolTable& symbols);

}  // namespace textmill::fst
