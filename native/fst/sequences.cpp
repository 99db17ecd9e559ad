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
  if (size() >= kNone - 1) throw std::length_error("more than 4,294,967,294 distinct sequences");
  const auto fresh = static_cast<std::uint32_t>(size());
  const std::uint32_t id =
      index_.add(hash_of(key), fresh, [&](std::uint32_t known) { return std::ranges::equal((*this)[known], key); });
  if (id == fresh) {
    values_.insert(values_.end(), key.begin(), key.end());
    offsets_.push_back(values_.size());
  }
  return id;
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
