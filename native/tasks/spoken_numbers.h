// Numbers as people speak them: words, and the candidates that a grammar of high recall finds among them.
//
//   item       = (REPEAT DIGIT | TENS DIGIT[1-9] | TENS | TEEN | DIGIT) [HUNDRED] [THOUSAND] | WRITTEN
//   candidate  = a maximal sequence of items, AREA and EXTENSION words with at least one item; those at its end are not
//                part of it, those at its beginning are
//
// Items are read from left to right, the longest first, and their digits are set side by side, never added: "three
// hundred fourteen" is 30014. HUNDRED and THOUSAND follow only what is not zero. Digits behind EXTENSION are the
// extension, if there are any before it. Fillers (uh, um) may be passed over as if they were not there. "twenty-five" is
// two words in one token, "555-1212" a written number.
//
// Cost: one pass, a look-up per token. Reference: Jansche & Abney (2002), Information extraction from voicemail
// transcripts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/intern.h"

namespace textmill::tasks {

enum class Spoken : std::uint8_t {
  none,
  digit,
  teen,
  tens,
  hundred,
  thousand,
  repeat,
  area,
  extension,
  filler,
  written
};
inline constexpr int kSpoken = 11;

// What is known of a word.
struct WordFacts {
  Spoken spoken = Spoken::none;
  std::uint8_t number = 0;      // 0-9, 10-19, 20-90; times of a repeat
  std::uint8_t flags = 0;       // of kGreeting, kTerminator, kPlain
  std::int16_t value = -1;      // in the closed list of words; -1: any other
  std::int16_t context = -1;    // in the list of words around numbers; -1: none
  std::int32_t sequences = -1;  // first of the sequences of words that begin with this one; -1: none
};
inline constexpr std::uint8_t kGreeting = 1, kTerminator = 2, kPlain = 4;

// A token without the marks around it.
std::string_view bare_token(std::string_view token);

class WordList {
 public:
  // Words in lower case, without marks around them; words[i] has facts[i].
  void insert(std::string_view word, const WordFacts& facts);
  void set_sequences(std::int32_t id, std::int32_t first) { facts_[static_cast<std::size_t>(id)].sequences = first; }

  std::size_t size() const { return facts_.size(); }
  const WordFacts& facts(std::int32_t id) const { return facts_[static_cast<std::size_t>(id)]; }
  // The number of a word, or -1; `bare` as bare_token gives it, in any case (ASCII).
  std::int32_t find(std::string_view bare) const;

 private:
  base::InternTable table_;
  std::vector<WordFacts> facts_;
};

// A word of a number: several may lie in one token.
struct NumberWord {
  Spoken spoken;
  std::uint8_t number;
  std::int32_t token;
  std::string_view written;  // of Spoken::written
};

// A token that was looked up.
struct Token {
  std::int32_t word;  // in the list, or -1
  std::int16_t value;
  std::int16_t context;
  std::uint8_t flags;
};

struct Candidate {
  std::int32_t begin, end;       // tokens
  std::int64_t digits;           // where they begin in the buffer; those of the extension follow
  std::int32_t main, extension;  // numbers of digits
  bool cue;                      // has AREA or EXTENSION words
};

// Looks up the tokens of a text, parted by ASCII blanks; appends them and their number words.
void look_up(std::string_view text, const WordList& list, std::vector<Token>& tokens, std::vector<NumberWord>& words);

// Appends the candidates among number words and their digits; a token that is no number word ends a candidate.
void scan_numbers(std::span<const NumberWord> words, bool skip_fillers, std::vector<Candidate>& candidates,
                  std::string& digits);

// Runs of tokens of flag kPlain, each as long as one of `lengths`: the candidates of the digits baseline.
void scan_plain(std::span<const Token> tokens, std::span<const NumberWord> words, std::span<const std::int32_t> lengths,
                std::vector<Candidate>& candidates, std::string& digits);

}  // namespace textmill::tasks
