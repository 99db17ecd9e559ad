#include "language/table.h"

#include <string>

namespace textmill::language {

Slots index_records(std::span<const std::uint8_t> records, float step) {
  if (records.size() >= 0xFFFFFFFFu) throw std::invalid_argument("the records take more than 4 GB; keep fewer words");
  const Table table{{}, {}, records, step};
  std::size_t count = 0;
  Record record;
  for (std::size_t at = 0; at < records.size(); at += table.bytes_of(record), ++count)
    if (!table.read(at, record)) throw std::invalid_argument("the records end in the middle of one");
  const std::size_t size = std::bit_ceil(count + count / 4 + 1);
  Slots made{std::vector<std::uint32_t>(size), std::vector<std::uint8_t>(size)};
  const std::size_t mask = size - 1;
  for (std::size_t offset = 0; offset < records.size(); offset += table.bytes_of(record)) {
    table.read(offset, record);
    const std::uint64_t hash = stored_hash(record.key, record.kind);
    const std::uint8_t tag = tag_of(hash);
    std::size_t at = hash & mask;
    for (; made.slots[at] != 0; at = (at + 1) & mask) {
      Record other;
      if (made.tags[at] == tag && table.read(made.slots[at] - 1, other) && other.kind == record.kind &&
          other.key == record.key)
        throw std::invalid_argument("'" + std::string(record.key) + "' comes twice");
    }
    made.slots[at] = static_cast<std::uint32_t>(offset + 1);
    made.tags[at] = tag;
  }
  return made;
}

}  // namespace textmill::language
