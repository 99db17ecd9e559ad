#include "sequence/extract.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"

namespace textmill::sequence {
namespace {

constexpr std::size_t kBlockTokens = 8192;  // what one task extracts, at least: enough to outweigh its tables

// First sequence of every block, and at last the number of sequences.
std::vector<std::size_t> blocks_of(std::span<const std::int64_t> offsets, std::size_t tokens = kBlockTokens) {
  std::vector<std::size_t> begin{0};
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    if (static_cast<std::size_t>(offsets[s + 1] - offsets[begin.back()]) >= tokens) begin.push_back(s + 1);
  if (begin.back() + 1 < offsets.size()) begin.push_back(offsets.size() - 1);
  return begin;
}

constexpr std::uint32_t kNone = base::InternTable::kNone;
constexpr std::uint32_t kUnset = kNone - 1;
constexpr std::size_t kKnownTokens = 2048;                     // what one task looks up, at least
constexpr std::size_t kTogether = 32;                          // tokens whose known tests are looked up together
constexpr std::size_t kMostRemembered = std::size_t{1} << 17;  // answers kept per pattern: they fit the cache

// Where a pattern has few distinct combinations of values (parts of speech, a single word), the test of a combination is
// looked up once and then remembered. Several threads may share the answers if they do not depend on who asks.
class Memory {
 public:
  explicit Memory(const Program& program) {
    for (const Pattern& pattern : program.patterns) {
      std::size_t combinations = 1;
      for (const Item& item : pattern.items) {
        if (item.source >= 0 && combinations <= kMostRemembered)
          combinations *= program.sources[static_cast<std::size_t>(item.source)].size;
      }
      // whether a child is made depends on its parent, not on its own values alone
      const bool remembers = combinations <= kMostRemembered && pattern.parent < 0;
      answers_.emplace_back(remembers ? combinations : 0, kUnset);
    }
  }
  // [combinations of values of a pattern], empty: too many.
  std::span<std::uint32_t> operator[](std::size_t pattern) { return answers_[pattern]; }

  static std::uint32_t load(std::uint32_t& answer) { return std::atomic_ref(answer).load(std::memory_order_relaxed); }
  static void store(std::uint32_t& answer, std::uint32_t id) {
    std::atomic_ref(answer).store(id, std::memory_order_relaxed);
  }

 private:
  std::vector<std::vector<std::uint32_t>> answers_;
};

// The tests of one token after the other; the strings of those that are not remembered are put together.
class Assembler {
 public:
  Assembler(const Cells& cells, const Program& program, Memory& memory) : program_(program), memory_(memory) {
    for (const Source& source : program.sources) {
      ids_.push_back(cells.ids(source.slot).data());
      values_.push_back(cells.table(source.slot).size());
    }
    found_.resize(program.patterns.size());
    missing_.reserve(program.patterns.size());
  }

  // A test that is not remembered: its string is text()[begin, end), and `found` is where its number belongs.
  struct Missing {
    std::size_t pattern, begin, end;
    std::uint64_t hash;
    std::uint32_t* remembered;
    std::uint32_t* found;
  };

  // Tests at token `at` of the sequence of `length` tokens that begins at token `first`. Calls prefetch(hash) and then
  // find(pattern, string, hash) for those that are not remembered, patterns in order; find gives an id or kNone.
  template <class Prefetch, class Find>
  std::span<const std::uint32_t> tests(std::int64_t first, std::int64_t length, std::int64_t at, Prefetch&& prefetch,
                                       Find&& find) {
    clear();
    assemble(first, length, at, prefetch, found_.data());
    for (const Missing& missing : missing_) settle(missing, find(missing.pattern, text(missing), missing.hash));
    return found_;
  }

  // The same in steps, for those who look up the tests of many tokens together: answers that are remembered go to
  // found [patterns], the others are missing until `settle`.
  template <class Prefetch>
  void assemble(std::int64_t first, std::int64_t length, std::int64_t at, Prefetch&& prefetch, std::uint32_t* found) {
    for (std::size_t p = 0; p < program_.patterns.size(); ++p) {
      const std::vector<Item>& items = program_.patterns[p].items;
      std::uint32_t* remembered = nullptr;
      if (const std::span<std::uint32_t> answers = memory_[p]; !answers.empty()) {
        std::size_t key = 0;
        for (const Item& item : items) {
          if (item.source < 0) continue;
          const Source& source = program_.sources[static_cast<std::size_t>(item.source)];
          const std::size_t at_piece = piece(item, first, length, at);
          key = key * source.size + (source.codes.empty() ? at_piece : source.codes[at_piece]);
        }
        remembered = &answers[key];
        found[p] = Memory::load(*remembered);
        if (found[p] != kUnset) continue;
      }
      const std::size_t begin = text_.size();
      for (const Item& item : items) {
        if (item.source < 0)
          text_.append(item.literal);
        else
          text_.append(program_.sources[static_cast<std::size_t>(item.source)].pieces[piece(item, first, length, at)]);
      }
      const std::uint64_t hash = base::hash_bytes(std::string_view(text_).substr(begin));
      prefetch(hash);
      missing_.push_back({p, begin, text_.size(), hash, remembered, found + p});
    }
  }
  std::span<const Missing> missing() const { return missing_; }
  std::string_view text(const Missing& one) const {
    return std::string_view(text_).substr(one.begin, one.end - one.begin);
  }
  static void settle(const Missing& one, std::uint32_t id) {
    *one.found = id;
    if (one.remembered != nullptr) Memory::store(*one.remembered, id);
  }
  void clear() {
    text_.clear();
    missing_.clear();
  }

  // What was found for an earlier pattern at this token.
  std::uint32_t found(std::size_t p) const { return found_[p]; }

 private:
  // Which string of its source an item stands for here.
  std::size_t piece(const Item& item, std::int64_t first, std::int64_t length, std::int64_t at) const {
    const auto s = static_cast<std::size_t>(item.source);
    std::int64_t position = item.offset;
    if (!item.absolute)
      position += at;
    else if (item.offset < 0)
      position += length;
    else
      position -= 1;
    if (position < 0) return values_[s] + std::min(static_cast<std::size_t>(-position), program_.left) - 1;
    if (position >= length)
      return values_[s] + program_.left + std::min(static_cast<std::size_t>(position - length), program_.right - 1);
    return static_cast<std::size_t>(ids_[s][first + position]);
  }

  const Program& program_;
  Memory& memory_;
  std::vector<const std::int32_t*> ids_;  // [source] ids of the cells of its column
  std::vector<std::size_t> values_;       // [source] distinct values of its column
  std::vector<std::uint32_t> found_;      // [pattern]
  std::vector<Missing> missing_;
  std::string text_;
};

struct Block {  // what one task found
  std::vector<std::int32_t> unigram, bigram;
  std::vector<std::int32_t> unigram_counts, bigram_counts;  // [token]
};

// Lays the rows of the blocks one after the other.
TestRows join(std::vector<Block>& blocks, std::size_t tokens, std::vector<std::int32_t> Block::* ids,
              std::vector<std::int32_t> Block::* counts, std::size_t threads) {
  TestRows rows;
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

// Writes the row of a token: unigram and bigram give the numbers of a test that was found.
template <class Unigram, class Bigram>
void write(const Program& program, std::span<const std::uint32_t> found, Unigram&& unigram, Bigram&& bigram,
           Block& block) {
  const std::size_t unigrams = block.unigram.size(), bigrams = block.bigram.size();
  for (std::size_t p = 0; p < found.size(); ++p) {
    if (found[p] == kNone) continue;
    const std::uint8_t kind = program.patterns[p].kind;
    if (kind & kUnigram) block.unigram.push_back(unigram(found[p]));
    if (kind & kBigram) block.bigram.push_back(bigram(found[p]));
  }
  block.unigram_counts.push_back(static_cast<std::int32_t>(block.unigram.size() - unigrams));
  block.bigram_counts.push_back(static_cast<std::int32_t>(block.bigram.size() - bigrams));
}

// Finds the tests of every token, blocks in parallel. prefetch(b, hash) and find(b, assembler, pattern, string, hash)
// look up in block b; unigram and bigram say what is written of a test that was found, less than 0 nothing.
template <class Prefetch, class Find, class Unigram, class Bigram>
std::vector<Block> for_tokens(const Cells& cells, const Program& program, std::size_t threads, Prefetch&& prefetch,
                              Find&& find, Unigram&& unigram, Bigram&& bigram) {
  const std::vector<std::size_t> begin = blocks_of(cells.offsets());
  std::vector<Block> blocks(begin.size() - 1);
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    Memory memory(program);  // new tests have numbers of their block
    Assembler assembler(cells, program, memory);
    Block block;
    for (std::size_t s = begin[b]; s < begin[b + 1]; ++s) {
      const std::int64_t first = cells.offsets()[s], length = cells.offsets()[s + 1] - first;
      for (std::int64_t t = 0; t < length; ++t) {
        const auto found = assembler.tests(
            first, length, t, [&](std::uint64_t hash) { prefetch(b, hash); },
            [&](std::size_t p, std::string_view test, std::uint64_t hash) {
              return find(b, assembler, p, test, hash);
            });
        write(program, found, unigram, bigram, block);
      }
    }
    blocks[b] = std::move(block);
  });
  return blocks;
}

}  // namespace

std::uint8_t kind_of(std::string_view test) {
  switch (test.empty() ? '\0' : test[0]) {
    case 'u':
    case 'U': return kUnigram;
    case 'b':
    case 'B': return kBigram;
    case '*': return kBoth;
    default: return 0;
  }
}

void Cells::add_all(std::size_t slot, std::span<const std::string_view> values, std::span<const std::uint32_t> places) {
  std::vector<std::int32_t> id;
  id.reserve(values.size());
  for (const std::string_view value : values)
    id.push_back(static_cast<std::int32_t>(tables_[slot].insert(value, base::hash_bytes(value))));
  ids_[slot].reserve(ids_[slot].size() + places.size());
  for (const std::uint32_t place : places) ids_[slot].push_back(id[place]);
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

// Look-ups of known tests miss the cache three times each: the place of the hash, where the string is, its bytes. So the
// tests of some tokens are looked up together, one step for all of them after the other.
Extracted extract_known(const Cells& cells, const Program& program, const Tests& tests, std::size_t threads) {
  const std::size_t P = program.patterns.size();
  const std::vector<std::size_t> begin = blocks_of(cells.offsets(), kKnownTokens);
  std::vector<Block> blocks(begin.size() - 1);
  Memory memory(program);
  base::parallel_for(blocks.size(), threads, [&](std::size_t b) {
    Assembler assembler(cells, program, memory);
    Block block;
    std::vector<std::uint32_t> found(kTogether * P), likely;
    std::size_t waiting = 0;  // tokens that are assembled
    const auto settle = [&] {
      likely.clear();
      for (const Assembler::Missing& one : assembler.missing()) {
        likely.push_back(tests.strings.probe(one.hash));
        if (likely.back() != kNone) tests.strings.prefetch_place(likely.back());
      }
      for (const std::uint32_t id : likely)
        if (id != kNone) tests.strings.prefetch_bytes(id);
      std::size_t i = 0;
      for (const Assembler::Missing& one : assembler.missing()) {
        const std::string_view text = assembler.text(one);
        std::uint32_t id = likely[i++];
        if (id != kNone && tests.strings[id] != text) id = tests.strings.find(text, one.hash);
        Assembler::settle(one, id);
      }
      for (const std::uint32_t id : std::span(found).first(waiting * P)) {
        if (id == kNone) continue;
        __builtin_prefetch(tests.unigram.data() + id);
        __builtin_prefetch(tests.bigram.data() + id);
      }
      for (std::size_t t = 0; t < waiting; ++t)
        write(
            program, std::span(found).subspan(t * P, P), [&](std::uint32_t id) { return tests.unigram[id]; },
            [&](std::uint32_t id) { return tests.bigram[id]; }, block);
      waiting = 0;
      assembler.clear();
    };
    for (std::size_t s = begin[b]; s < begin[b + 1]; ++s) {
      const std::int64_t first = cells.offsets()[s], length = cells.offsets()[s + 1] - first;
      for (std::int64_t t = 0; t < length; ++t) {
        assembler.assemble(
            first, length, t, [&](std::uint64_t hash) { tests.strings.prefetch(hash); }, found.data() + waiting * P);
        if (++waiting == kTogether) settle();
      }
    }
    settle();
    blocks[b] = std::move(block);
  });
  return join(blocks, cells.tokens(), threads);
}

Extracted extract_new(const Cells& cells, const Program& program, Tests& tests, std::span<const std::uint8_t> active,
                      std::size_t threads) {
  // Ids of a block: those of known tests, then, from `known` on, its own new ones, which get their numbers at the end.
  const std::size_t known = tests.unigram.size();
  std::vector<base::InternTable> fresh(blocks_of(cells.offsets()).size() - 1);
  const auto id_itself = [](std::uint32_t id) { return static_cast<std::int32_t>(id); };
  std::vector<Block> blocks = for_tokens(
      cells, program, threads,
      [&](std::size_t b, std::uint64_t hash) {
        tests.strings.prefetch(hash);
        fresh[b].prefetch(hash);
      },
      [&](std::size_t b, const Assembler& at, std::size_t p, std::string_view test, std::uint64_t hash) {
        const std::uint32_t id = tests.strings.find(test, hash);
        if (id != kNone) return id;
        if (program.patterns[p].parent >= 0) {
          const std::uint32_t parent = at.found(static_cast<std::size_t>(program.patterns[p].parent));
          if (parent == kNone || parent >= known || !active[parent]) return kNone;
        }
        return static_cast<std::uint32_t>(known) + fresh[b].insert(test, hash);
      },
      id_itself, id_itself);
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
  std::uint64_t h = 0xCBF29CE484222325u;  // FNV-1a, then the finalizer of MurmurHash3
  for (const char c : test) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDu;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
  return static_cast<std::uint32_t>((h ^ (h >> 33)) & ((std::uint64_t{1} << bits) - 1));
}

Extracted extract_hashed(const Cells& cells, const Program& program, int bits, std::size_t threads) {
  const auto id_itself = [](std::uint32_t id) { return static_cast<std::int32_t>(id); };
  std::vector<Block> blocks = for_tokens(
      cells, program, threads, [](std::size_t, std::uint64_t) {},
      [&](std::size_t, const Assembler&, std::size_t, std::string_view test, std::uint64_t) {
        return feature_hash(test, bits);
      },
      id_itself, id_itself);
  return join(blocks, cells.tokens(), threads);
}

}  // namespace textmill::sequence
