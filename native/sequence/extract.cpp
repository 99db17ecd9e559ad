#include "sequence/extract.h"

#include <algorithm>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

constexpr std::size_t kBlockTokens = 4096;  // what one task extracts, at least: enough to outweigh its tables

// First sequence of every block, and at last the number of sequences.
std::vector<std::size_t> blocks_of(std::span<const std::int64_t> offsets) {
  std::vector<std::size_t> begin{0};
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    if (static_cast<std::size_t>(offsets[s + 1] - offsets[begin.back()]) >= kBlockTokens) begin.push_back(s + 1);
  if (begin.back() + 1 < offsets.size()) begin.push_back(offsets.size() - 1);
  return begin;
}

// The tests of one token after the other, put together in one buffer.
class Assembler {
 public:
  Assembler(const Cells& cells, const Program& program) : program_(program), ends_(program.patterns.size()), hashes_(program.patterns.size()) {
    for (const Source& source : program.sources) {
      ids_.push_back(cells.ids(source.slot).data());
      values_.push_back(cells.table(source.slot).size());
    }
  }

  // Tests at token `at` of the sequence of `length` tokens that begins at token `first`.
  void assemble(std::int64_t first, std::int64_t length, std::int64_t at) {
    text_.clear();
    for (std::size_t p = 0; p < program_.patterns.size(); ++p) {
      const std::size_t begin = text_.size();
      for (const Item& item : program_.patterns[p].items) {
        const std::string_view piece = item.source < 0 ? std::string_view(item.literal) : value(item, first, length, at);
        text_.append(piece);
      }
      ends_[p] = text_.size();
      hashes_[p] = base::hash_bytes(std::string_view(text_).substr(begin));
    }
  }
  std::string_view test(std::size_t p) const {
    const std::size_t begin = p == 0 ? 0 : ends_[p - 1];
    return std::string_view(text_).substr(begin, ends_[p] - begin);
  }
  std::uint64_t hash(std::size_t p) const { return hashes_[p]; }

 private:
  std::string_view value(const Item& item, std::int64_t first, std::int64_t length, std::int64_t at) const {
    const auto s = static_cast<std::size_t>(item.source);
    const std::vector<std::string_view>& pieces = program_.sources[s].pieces;
    std::int64_t position = item.offset;
    if (!item.absolute) position += at;
    else if (item.offset < 0) position += length;
    else position -= 1;
    if (position < 0) return pieces[values_[s] + std::min(static_cast<std::size_t>(-position), program_.left) - 1];
    if (position >= length)
      return pieces[values_[s] + program_.left + std::min(static_cast<std::size_t>(position - length), program_.right - 1)];
    return pieces[static_cast<std::size_t>(ids_[s][first + position])];
  }

  const Program& program_;
  std::vector<const std::int32_t*> ids_;  // [source] ids of the cells of its column
  std::vector<std::size_t> values_;       // [source] distinct values of its column
  std::string text_;
  std::vector<std::size_t> ends_;
  std::vector<std::uint64_t> hashes_;
};

struct Block {                    // what one task found
  std::vector<std::int32_t> unigram, bigram;
  std::vector<std::int32_t> unigram_counts, bigram_counts;  // [token]
};

// Lays the rows of the blocks one after the other.
Rows join(std::vector<Block>& blocks, std::size_t tokens, std::vector<std::int32_t> Block::* ids,
          std::vector<std::int32_t> Block::* counts, std::size_t threads) {
  Rows rows;
  rows.indptr.reserve(tokens + 1);
  rows.indptr.push_back(0);
  std::vector<std::size_t> begin(blocks.size() + 1, 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const std::int32_t count : blocks[b].*counts) rows.indptr.push_back(rows.indptr.back() + count);
    begin[b + 1] = begin[b] + (blocks[b].*ids).size();
  }
  rows.ids.resize(begin.back());
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    std::ranges::copy(blocks[b].*ids, rows.ids.begin() + static_cast<std::ptrdiff_t>(begin[b]));
    std::vector<std::int32_t>().swap(blocks[b].*ids);
  });
  return rows;
}

Extracted join(std::vector<Block>& blocks, std::size_t tokens, std::size_t threads) {
  Extracted out;
  out.unigram = join(blocks, tokens, &Block::unigram, &Block::unigram_counts, threads);
  out.bigram = join(blocks, tokens, &Block::bigram, &Block::bigram_counts, threads);
  return out;
}

// Calls token(block number, block, assembler) for every token, blocks in parallel.
template <class F>
std::vector<Block> for_tokens(const Cells& cells, const Program& program, std::size_t threads, F&& token) {
  const std::vector<std::size_t> begin = blocks_of(cells.offsets());
  std::vector<Block> blocks(begin.size() - 1);
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    Assembler assembler(cells, program);
    Block block;
    for (std::size_t s = begin[b]; s < begin[b + 1]; ++s) {
      const std::int64_t first = cells.offsets()[s], length = cells.offsets()[s + 1] - first;
      for (std::int64_t t = 0; t < length; ++t) {
        assembler.assemble(first, length, t);
        const std::size_t unigrams = block.unigram.size(), bigrams = block.bigram.size();
        token(b, block, assembler);
        block.unigram_counts.push_back(static_cast<std::int32_t>(block.unigram.size() - unigrams));
        block.bigram_counts.push_back(static_cast<std::int32_t>(block.bigram.size() - bigrams));
      }
    }
    blocks[b] = std::move(block);
  });
  return blocks;
}

}  // namespace

std::uint8_t kind_of(std::string_view test) {
  switch (test.empty() ? '\0' : test[0]) {
    case 'u': case 'U': return kUnigram;
    case 'b': case 'B': return kBigram;
    case '*': return kBoth;
    default: return 0;
  }
}

std::uint32_t Tests::insert(std::string_view test, std::uint64_t hash) {
  const std::uint32_t id = strings.insert(test, hash);
  if (id == unigram.size()) {
    const std::uint8_t kind = kind_of(test);
    unigram.push_back(kind & kUnigram ? unigrams++ : -1);
    bigram.push_back(kind & kBigram ? bigrams++ : -1);
  }
  return id;
}

Extracted extract_known(const Cells& cells, const Program& program, const Tests& tests, std::size_t threads) {
  const std::size_t P = program.patterns.size();
  std::vector<Block> blocks = for_tokens(cells, program, threads, [&](std::size_t, Block& block, const Assembler& at) {
    for (std::size_t p = 0; p < P; ++p) tests.strings.prefetch(at.hash(p));
    for (std::size_t p = 0; p < P; ++p) {
      const std::uint32_t id = tests.strings.find(at.test(p), at.hash(p));
      if (id == base::InternTable::kNone) continue;
      if (tests.unigram[id] >= 0) block.unigram.push_back(tests.unigram[id]);
      if (tests.bigram[id] >= 0) block.bigram.push_back(tests.bigram[id]);
    }
  });
  return join(blocks, cells.tokens(), threads);
}

Extracted extract_new(const Cells& cells, const Program& program, Tests& tests, std::span<const std::uint8_t> active, std::size_t threads) {
  // Ids of a block: those of known tests, then, from `known` on, its own new ones. Kinds of a pattern are fixed, so a
  // block may write test ids and turn them into unigram and bigram ids when the new ones have their numbers.
  const std::size_t P = program.patterns.size(), known = tests.unigram.size();
  std::vector<base::InternTable> fresh(blocks_of(cells.offsets()).size() - 1);
  std::vector<Block> blocks = for_tokens(cells, program, threads, [&](std::size_t b, Block& block, const Assembler& at) {
    for (std::size_t p = 0; p < P; ++p) {
      tests.strings.prefetch(at.hash(p));
      fresh[b].prefetch(at.hash(p));
    }
    for (std::size_t p = 0; p < P; ++p) {
      const Pattern& pattern = program.patterns[p];
      std::uint32_t id = tests.strings.find(at.test(p), at.hash(p));
      if (id == base::InternTable::kNone) {
        if (pattern.parent >= 0) {
          const auto q = static_cast<std::size_t>(pattern.parent);
          const std::uint32_t parent = tests.strings.find(at.test(q), at.hash(q));
          if (parent == base::InternTable::kNone || !active[parent]) continue;
        }
        id = static_cast<std::uint32_t>(known) + fresh[b].insert(at.test(p), at.hash(p));
      }
      if (pattern.kind & kUnigram) block.unigram.push_back(static_cast<std::int32_t>(id));
      if (pattern.kind & kBigram) block.bigram.push_back(static_cast<std::int32_t>(id));
    }
  });
  std::vector<std::vector<std::uint32_t>> final_id(fresh.size());
  for (std::size_t b = 0; b < fresh.size(); ++b) {
    final_id[b].resize(fresh[b].size());
    for (std::size_t i = 0; i < fresh[b].size(); ++i) final_id[b][i] = tests.insert(fresh[b][i], fresh[b].hash(i));
    fresh[b] = base::InternTable();
  }
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    const auto number = [&](std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& kind) {
      for (std::int32_t& id : ids) {
        const auto test = static_cast<std::size_t>(id);
        id = kind[test < known ? test : final_id[b][test - known]];
      }
    };
    number(blocks[b].unigram, tests.unigram);
    number(blocks[b].bigram, tests.bigram);
  });
  return join(blocks, cells.tokens(), threads);
}

std::uint32_t feature_hash(std::string_view test, int bits) {
  std::uint64_t h = 0xCBF29CE484222325u;  // FNV-1a, then the finaliser of MurmurHash3
  for (const char c : test) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDu;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
  return static_cast<std::uint32_t>((h ^ (h >> 33)) & ((std::uint64_t{1} << bits) - 1));
}

Extracted extract_hashed(const Cells& cells, const Program& program, int bits, std::size_t threads) {
  std::vector<Block> blocks = for_tokens(cells, program, threads, [&](std::size_t, Block& block, const Assembler& at) {
    for (std::size_t p = 0; p < program.patterns.size(); ++p) {
      const auto id = static_cast<std::int32_t>(feature_hash(at.test(p), bits));
      if (program.patterns[p].kind & kUnigram) block.unigram.push_back(id);
      if (program.patterns[p].kind & kBigram) block.bigram.push_back(id);
    }
  });
  return join(blocks, cells.tokens(), threads);
}

}  // namespace textmill::sequence
