// Stretches of a text rewritten by a transducer, at the speed of a scan: the rest is copied.
//
// A stretch begins and ends where words do and is one that the transducer reads. Places are tried from left to right: at each
// begin of a word the deterministic automaton of its inputs runs over the bytes as far as it can, and the longest stretch that
// ends at the end of a word is taken; most words die at their first or second byte. Only these candidates go to the
// transducer (apply.h), each distinct one once: results are kept in a table, which is emptied when it is full.
//
// Words begin behind blanks, opening punctuation and dashes, and end before blanks, closing punctuation, and before . , ; :
// ! ? that no digit or letter follows. A stretch has no line breaks and at most kLongest bytes.
//
// Cost: O(bytes) for the scan, plus apply for each distinct candidate; memory is that of the chunk and the table.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fst/apply.h"
#include "fst/machine.h"

namespace textmill::fst {

struct Stretch {
  std::int64_t begin, end;          // in the text
  std::int64_t out_begin, out_end;  // in the result
};

struct Rewritten {
  std::string text;
  std::vector<Stretch> stretches;
};

class Scanner {
 public:
  // `rules`: bytes to bytes, sorted by input. `inputs`: the deterministic acceptor of what it reads.
  Scanner(std::shared_ptr<const Machine<Tropical<float>>> rules, const Machine<Tropical<float>>& inputs,
          std::size_t remembered);
  // Rewrites a text of whole lines.
  Rewritten rewrite(std::string_view text, std::size_t threads);
  std::size_t states() const { return accepts_.size(); }

 private:
  static constexpr std::size_t kLongest = 512;
  std::size_t longest(std::string_view text, std::size_t at) const;
  void look_up(const std::vector<std::string_view>& stretches, std::size_t threads);

  std::shared_ptr<const Machine<Tropical<float>>> rules_;
  std::vector<std::uint8_t> class_of_;  // [256]
  std::size_t classes_ = 0;
  std::vector<std::int32_t> next_;  // [states][classes], -1: dead
  std::vector<std::uint8_t> accepts_;
  std::int32_t start_ = kNoState;
  std::size_t remembered_;
  std::mutex lock_;  // of the table
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // candidate: its output, or none where the transducer has no path
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> table_;
};

// Does a word begin, or end, at a place of a text?
bool word_begins(std::string_view text, std::size_t at);
bool word_ends(std::string_view text, std::size_t at);

}  // namespace textmill::fst
