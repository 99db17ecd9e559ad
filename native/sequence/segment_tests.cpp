#include "sequence/segment_tests.h"

#include <algorithm>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

constexpr std::size_t kBlockRows = 4096;
constexpr std::uint32_t kNone = base::InternTable::kNone;
constexpr char kBetween = ' ';  // values of a range

class Assembler {
 public:
  Assembler(const Cells& cells, const SegmentProgram& program) : program_(program), offsets_(cells.offsets()) {
    for (const Source& source : program.sources) {
      ids_.push_back(cells.ids(source.slot).data());
      values_.push_back(cells.table(source.slot).size());
    }
    // values that a source gives the same string are one for repetitions
    alike_.resize(program.sources.size());
    for (const SegmentPattern& pattern : program.patterns) {
      for (const SegmentItem& item : pattern.items) {
        if (item.find != Find::kRepeated || !alike_[static_cast<std::size_t>(item.source)].empty()) continue;
        const Source& source = program.sources[static_cast<std::size_t>(item.source)];
        base::InternTable strings;
        for (const std::string_view piece : source.pieces)
          alike_[static_cast<std::size_t>(item.source)].push_back(strings.insert(piece, base::hash_bytes(piece)));
      }
    }
  }

  // Calls take(string) for the test of every pattern that is asked of the segment.
  template <class Take>
  void tests(std::size_t sentence, std::int64_t begin, std::int32_t length, Take&& take) {
    first_ = offsets_[sentence];
    tokens_ = offsets_[sentence + 1] - first_;
    begin_ = begin - first_;
    last_ = begin_ + length - 1;
    for (const SegmentPattern& pattern : program_.patterns) {
      if (length < pattern.shortest || (pattern.longest > 0 && length > pattern.longest)) continue;
      text_.clear();
      for (const SegmentItem& item : pattern.items) add(item, length);
      take(std::string_view(text_));
    }
  }

 private:
  void add(const SegmentItem& item, std::int32_t length) {
    switch (item.find) {
      case Find::kText: text_.append(item.text); break;
      case Find::kFirst: text_.append(piece(item.source, begin_ + item.offset)); break;
      case Find::kLast: text_.append(piece(item.source, last_ + item.offset)); break;
      case Find::kSentence:
        text_.append(piece(item.source, item.offset < 0 ? tokens_ + item.offset : item.offset - 1));
        break;
      case Find::kRange:
        for (std::int64_t i = begin_ + item.offset; i <= last_ + item.end; ++i) {
          if (i > begin_ + item.offset) text_ += kBetween;
          text_.append(piece(item.source, i));
        }
        break;
      case Find::kLength: {
        const bool more = item.end > 0 && length >= item.end;
        text_.append(std::to_string(more ? item.end : length));
        if (more) text_ += '+';
        break;
      }
      case Find::kRepeated: text_.append(repeated(item.source, length) ? "true" : "false"); break;
    }
  }

  std::string_view piece(std::int32_t source, std::int64_t position) const {
    const auto s = static_cast<std::size_t>(source);
    const std::vector<std::string_view>& pieces = program_.sources[s].pieces;
    if (position < 0) return pieces[values_[s] + std::min(static_cast<std::size_t>(-position), program_.left) - 1];
    if (position >= tokens_)
      return pieces[values_[s] + program_.left +
                    std::min(static_cast<std::size_t>(position - tokens_), program_.right - 1)];
    return pieces[static_cast<std::size_t>(ids_[s][first_ + position])];
  }

  bool repeated(std::int32_t source, std::int32_t length) const {
    const std::vector<std::uint32_t>& alike = alike_[static_cast<std::size_t>(source)];
    const std::int32_t* ids = ids_[static_cast<std::size_t>(source)] + first_;
    const auto id = [&](std::int64_t i) { return alike[static_cast<std::size_t>(ids[i])]; };
    const std::uint32_t head = id(begin_);
    for (std::int64_t i = 0; i + length <= tokens_; ++i) {
      if (i == begin_ || id(i) != head) continue;
      std::int64_t same = 1;
      while (same < length && id(i + same) == id(begin_ + same)) ++same;
      if (same == length) return true;
    }
    return false;
  }

  const SegmentProgram& program_;
  std::span<const std::int64_t> offsets_;
  std::vector<const std::int32_t*> ids_;
  std::vector<std::size_t> values_;
  std::vector<std::vector<std::uint32_t>> alike_;
  std::string text_;
  std::int64_t first_ = 0, tokens_ = 0, begin_ = 0, last_ = 0;
};

struct Block {
  std::vector<std::int64_t> ends;  // of the ids of every row
  std::vector<std::int32_t> ids;
  base::InternTable strings;  // of a block that numbers its own
};

// Rows of a block; find(block, string) gives an id or kNone.
template <class Find>
std::vector<Block> run_blocks(const Cells& cells, const SegmentProgram& program, const Stretches& rows,
                              std::size_t threads, Find&& find) {
  const std::size_t count = rows.begin.size();
  std::vector<Block> blocks((count + kBlockRows - 1) / kBlockRows);
  const Assembler made(cells, program);  // once: what repetitions need is shared
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    Assembler assembler(made);
    Block& block = blocks[b];
    const std::span<const std::int64_t> offsets = cells.offsets();
    const std::size_t begin = b * kBlockRows, end = std::min(count, begin + kBlockRows);
    for (std::size_t r = begin; r < end; ++r) {
      const auto s =
          static_cast<std::size_t>(std::upper_bound(offsets.begin(), offsets.end(), rows.begin[r]) - offsets.begin()) -
          1;
      assembler.tests(s, rows.begin[r], rows.length[r], [&](std::string_view test) {
        const std::uint32_t id = find(block, test);
        if (id != kNone) block.ids.push_back(static_cast<std::int32_t>(id));
      });
      block.ends.push_back(static_cast<std::int64_t>(block.ids.size()));
    }
  });
  return blocks;
}

TestRows join(std::vector<Block>& blocks) {
  TestRows out;
  out.indptr.push_back(0);
  std::size_t ids = 0, rows = 0;
  for (const Block& block : blocks) ids += block.ids.size(), rows += block.ends.size();
  out.ids.reserve(ids);
  out.indptr.reserve(rows + 1);
  for (Block& block : blocks) {
    const std::int64_t before = out.indptr.back();
    for (const std::int64_t end : block.ends) out.indptr.push_back(before + end);
    out.ids.insert(out.ids.end(), block.ids.begin(), block.ids.end());
    block = {};
  }
  return out;
}

}  // namespace

TestRows segment_tests_known(const Cells& cells, const SegmentProgram& program, const Stretches& rows,
                             const base::InternTable& tests, std::size_t threads) {
  std::vector<Block> blocks = run_blocks(cells, program, rows, threads, [&](Block&, std::string_view test) {
    return tests.find(test, base::hash_bytes(test));
  });
  return join(blocks);
}

TestRows segment_tests_new(const Cells& cells, const SegmentProgram& program, const Stretches& rows,
                           base::InternTable& tests, std::size_t threads) {
  std::vector<Block> blocks = run_blocks(cells, program, rows, threads, [&](Block& block, std::string_view test) {
    return block.strings.insert(test, base::hash_bytes(test));
  });
  for (Block& block : blocks) {
    std::vector<std::int32_t> number(block.strings.size());
    for (std::size_t i = 0; i < number.size(); ++i)
      number[i] = static_cast<std::int32_t>(tests.insert(block.strings[i], block.strings.hash(i)));
    for (std::int32_t& id : block.ids) id = number[static_cast<std::size_t>(id)];
    block.strings = {};
  }
  return join(blocks);
}

}  // namespace textmill::sequence
