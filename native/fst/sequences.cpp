#include "fst/sequences.h"

#include <algorithm>
#include <stdexcept>

#include "fst/semirings.h"

namespace textmill::fst {
namespace {

std::uint64_t hash_of(std::span<const std::int32_t> key) {
  std::uint64_t h = key.size();
  for (const std::int32_t value : key) h = (h ^ static_cast<std::uint32_t>(value)) * 0x9E3779B97F4A7C15u ^ (h >> 29);
  return stir(h);
}

}  // namespace

std::uint32_t SequenceTable::insert(std::span<const std::int32_t> key) {
  const std::uint64_t hash = hash_of(key);
  std::size_t at = hash & mask_;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (;; at = (at + 1) & mask_) {
    const Slot slot = slots_[at];
    if (slot.id == kNone) break;
    if (slot.tag == tag && std::ranges::equal((*this)[slot.id], key)) return slot.id;
  }
  if (size() >= kNone - 1) throw std::length_error("more than 4,294,967,294 distinct sequences");
  const auto id = static_cast<std::uint32_t>(size());
  values_.insert(values_.end(), key.begin(), key.end());
  offsets_.push_back(values_.size());
  slots_[at] = {tag, id};
  if (size() * 2 > slots_.size()) grow();
  return id;
}

void SequenceTable::grow() {
  std::vector<Slot> bigger(slots_.size() * 2, Slot{0, kNone});
  mask_ = bigger.size() - 1;
  for (std::size_t id = 0; id < size(); ++id) {
    const std::uint64_t hash = hash_of((*this)[id]);
    std::size_t at = hash & mask_;
    while (bigger[at].id != kNone) at = (at + 1) & mask_;
    bigger[at] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(id)};
  }
  slots_.swap(bigger);
}

std::uint32_t StringPool::concat(std::uint32_t a, std::uint32_t b) {
  if (a == kInfinite || b == kInfinite) return kInfinite;
  if (a == 0) return b;
  if (b == 0) return a;
  buffer_.assign(table_[a].begin(), table_[a].end());
  buffer_.insert(buffer_.end(), table_[b].begin(), table_[b].end());
  return of(buffer_);
}

std::uint32_t StringPool::common_prefix(std::uint32_t a, std::uint32_t b) {
  if (a == kInfinite || a == b) return b;
  if (b == kInfinite) return a;
  const auto x = table_[a], y = table_[b];
  const auto [end, other] = std::mismatch(x.begin(), x.begin() + std::min(x.size(), y.size()), y.begin());
  return prefix(a, end - x.begin());
}

std::uint32_t StringPool::prefix(std::uint32_t a, std::size_t length) {
  if (length == 0) return 0;
  if (length == table_[a].size()) return a;
  buffer_.assign(table_[a].begin(), table_[a].begin() + length);
  return of(buffer_);
}

std::uint32_t StringPool::suffix(std::uint32_t a, std::size_t length) {
  if (length == 0) return a;
  buffer_.assign(table_[a].begin() + length, table_[a].end());
  return of(buffer_);
}

}  // namespace textmill::fst
