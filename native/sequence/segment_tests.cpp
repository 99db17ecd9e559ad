#include "sequence/segment_tests.h"

#include <algorithm>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

constexpr std::size_t kBlockRows = 4096;
constexpr std::uint32_t kNone = base::InternTable::kNone;
constexpr char kBetween = ' ';  // values of a range

void add_length(std::string& text, const SegmentItem& item, std::int32_t length) {
  const bool more = item.end > 0 && length >= item.end;
  text.append(std::to_string(more ? item.end : length));
  if (more) text += '+';
}

// Which string of a source stands at a position of a sentence that has `values` distinct ones before its boundaries.
std::size_t piece_at(std::int64_t position, std::int64_t tokens, const std::int32_t* ids, std::size_t values,
                     std::size_t left, std::size_t right) {
  if (position < 0) return values + std::min(static_cast<std::size_t>(-position), left) - 1;
  if (position >= tokens) return values + left + std::min(static_cast<std::size_t>(position - tokens), right - 1);
  return static_cast<std::size_t>(ids[position]);
}

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

  // Calls fetch(hash) for the test of every pattern that is asked of the segment, then take(string, hash) for each.
  template <class Fetch, class Take>
  void tests(std::size_t sentence, std::int64_t begin, std::int32_t length, Fetch&& fetch, Take&& take) {
    first_ = offsets_[sentence];
    tokens_ = offsets_[sentence + 1] - first_;
    begin_ = begin - first_;
    last_ = begin_ + length - 1;
    text_.clear();
    made_.clear();
    for (const SegmentPattern& pattern : program_.patterns) {
      if (length < pattern.shortest || (pattern.longest > 0 && length > pattern.longest)) continue;
      const std::size_t from = text_.size();
      for (const SegmentItem& item : pattern.items) add(item, length);
      const std::uint64_t hash = base::hash_bytes(std::string_view(text_).substr(from));
      fetch(hash);
      made_.push_back({from, text_.size(), hash});
    }
    for (const Made& test : made_) take(std::string_view(text_).substr(test.begin, test.end - test.begin), test.hash);
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
      case Find::kLength: add_length(text_, item, length); break;
      case Find::kRepeated: text_.append(repeated(item.source, length) ? "true" : "false"); break;
    }
  }

  std::string_view piece(std::int32_t source, std::int64_t position) const {
    const auto s = static_cast<std::size_t>(source);
    return program_.sources[s]
        .pieces[piece_at(position, tokens_, ids_[s] + first_, values_[s], program_.left, program_.right)];
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

  struct Made {
    std::size_t begin, end;  // in the text
    std::uint64_t hash;
  };

  const SegmentProgram& program_;
  std::span<const std::int64_t> offsets_;
  std::vector<const std::int32_t*> ids_;
  std::vector<std::size_t> values_;
  std::vector<std::vector<std::uint32_t>> alike_;
  std::string text_;
  std::vector<Made> made_;
  std::int64_t first_ = 0, tokens_ = 0, begin_ = 0, last_ = 0;
};

struct Block {
  std::vector<std::int64_t> ends;  // of the ids of every row
  std::vector<std::int32_t> ids;
  base::InternTable strings;  // of a block that numbers its own
};

// Rows of a block; find(block, string, hash) gives an id or kNone, after fetch(block, hash).
template <class Fetch, class Find>
std::vector<Block> run_blocks(const Cells& cells, const SegmentProgram& program, const Stretches& rows,
                              std::size_t threads, Fetch&& fetch, Find&& find) {
  const std::size_t count = rows.begin.size();
  std::vector<Block> blocks((count + kBlockRows - 1) / kBlockRows);
  const Assembler made(cells, program);  // once: what repetitions need is shared
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    Assembler assembler(made);
    Block& block = blocks[b];
    const std::span<const std::int64_t> offsets = cells.offsets();
    const std::size_t begin = b * kBlockRows, end = std::min(count, begin + kBlockRows);
    std::size_t s = 0;
    for (std::size_t r = begin; r < end; ++r) {
      if (r == begin || rows.begin[r] < offsets[s] || rows.begin[r] >= offsets[s + 1])
        s = static_cast<std::size_t>(std::upper_bound(offsets.begin(), offsets.end(), rows.begin[r]) -
                                     offsets.begin()) -
            1;
      assembler.tests(
          s, rows.begin[r], rows.length[r], [&](std::uint64_t hash) { fetch(block, hash); },
          [&](std::string_view test, std::uint64_t hash) {
            const std::uint32_t id = find(block, test, hash);
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
  std::vector<Block> blocks = run_blocks(
      cells, program, rows, threads, [&](Block&, std::uint64_t hash) { tests.prefetch(hash); },
      [&](Block&, std::string_view test, std::uint64_t hash) { return tests.find(test, hash); });
  return join(blocks);
}

TestRows segment_tests_new(const Cells& cells, const SegmentProgram& program, const Stretches& rows,
                           base::InternTable& tests, std::size_t threads) {
  std::vector<Block> blocks = run_blocks(
      cells, program, rows, threads, [&](Block& block, std::uint64_t hash) { block.strings.prefetch(hash); },
      [&](Block& block, std::string_view test, std::uint64_t hash) { return block.strings.insert(test, hash); });
  for (Block& block : blocks) {
    std::vector<std::int32_t> number(block.strings.size());
    for (std::size_t i = 0; i < number.size(); ++i)
      number[i] = static_cast<std::int32_t>(tests.insert(block.strings[i], block.strings.hash(i)));
    for (std::int32_t& id : block.ids) id = number[static_cast<std::size_t>(id)];
    block.strings = {};
  }
  return join(blocks);
}

TestRows value_tests(const SegmentProgram& program, const base::InternTable& tests, std::size_t values) {
  TestRows out;
  out.indptr.push_back(0);
  std::string text;
  for (std::size_t v = 0; v < values + program.left + program.right; ++v) {
    for (const SegmentPattern& pattern : program.patterns) {
      text.clear();
      for (const SegmentItem& item : pattern.items) {
        if (item.find == Find::kText)
          text.append(item.text);
        else if (item.find == Find::kLength)
          add_length(text, item, 1);
        else
          text.append(program.sources[static_cast<std::size_t>(item.source)].pieces[v]);
      }
      const std::uint32_t id = tests.find(text, base::hash_bytes(text));
      if (id != kNone) out.ids.push_back(static_cast<std::int32_t>(id));
    }
    out.indptr.push_back(static_cast<std::int64_t>(out.ids.size()));
  }
  return out;
}

std::vector<std::int32_t> values_at(const Cells& cells, std::size_t slot, std::int32_t offset, std::size_t left,
                                    std::size_t right) {
  const std::span<const std::int64_t> offsets = cells.offsets();
  const std::size_t values = cells.table(slot).size();
  std::vector<std::int32_t> out(cells.tokens());
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t first = offsets[s], tokens = offsets[s + 1] - first;
    for (std::int64_t t = 0; t < tokens; ++t)
      out[static_cast<std::size_t>(first + t)] =
          static_cast<std::int32_t>(piece_at(t + offset, tokens, cells.ids(slot).data() + first, values, left, right));
  }
  return out;
}

}  // namespace textmill::sequence
