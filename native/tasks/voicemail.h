// Who called, and which number to call back: what decision trees see of a message, and what they say.
//
//   start      c(w_0) .. c(w_11); place of the first "this is", greetings at the beginning, length of the message
//   length     c(w_{s-2}) .. c(w_{s+10}); s, words to the next terminator, words to the end
//   candidate  first digit, area and extension words, words around; digits, words per digit, distance to the end,
//              repetitions
//
// c(w) is the word itself if it is in the closed list, else "first name" or "other". A caller is the start s and the
// length l of the greatest P(s) P(l | s), l within the message; a candidate of the grammar is a number to call with the
// probability at its leaf. Features are made where a tree asks for them.
//
// Cost: a look-up per word and the height of a tree per question. Reference: Jansche & Abney (2002).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tasks/spoken_numbers.h"
#include "trees/tree_walker.h"

namespace textmill::tasks {

inline constexpr std::int32_t kStartWindow = 12, kBefore = 2, kLengthWindow = 13;
inline constexpr std::int32_t kStartNumbers = 3, kLengthNumbers = 3, kCandidateNumbers = 6;
inline constexpr std::int32_t kLeft = 5, kRight = 3;  // words around a candidate
inline constexpr double kNowhere = 999.0;             // place of what is not there

enum class SequenceKind : std::uint8_t { identifier, anonymous };

// Sequences of words that mean something together: "this is", "it's me".
struct WordSequence {
  SequenceKind kind;
  std::vector<std::int32_t> words;
  std::int32_t next;  // sequence with the same first word, or -1
};

struct VoicemailWords {
  WordList list;
  std::vector<WordSequence> sequences;
  std::int32_t values = 0;    // of the closed list, with the one for first names; other, end and start follow
  std::int32_t contexts = 0;  // words around numbers, 64 at most; other and edge follow
  std::vector<std::int32_t> plain_lengths;

  std::int32_t other() const { return values; }
  std::int32_t end() const { return values + 1; }
  std::int32_t start() const { return values + 2; }
  std::size_t candidate_codes() const { return 4 + 2 * static_cast<std::size_t>(contexts); }
};

enum class Scan : std::uint8_t { grammar, fillers, plain };

// A message that was read; memory is used again for the next.
struct ReadMessage {
  std::vector<Token> tokens;
  std::vector<NumberWord> words;
  std::vector<Candidate> candidates;
  std::string digits;
  double identifier = kNowhere;  // place of the first
  std::int32_t greetings = 0;
  bool anonymous = false;

  void read(std::string_view text, const VoicemailWords& list, Scan scan);
  std::int32_t length() const { return static_cast<std::int32_t>(tokens.size()); }

  // How many other candidates have the same digits.
  std::int32_t repetitions(std::size_t candidate);

  std::int32_t value(std::int32_t at, const VoicemailWords& list) const;
  std::int32_t start_code(std::int32_t column, const VoicemailWords& list) const;
  double start_number(std::int32_t column) const;
  std::int32_t length_code(std::int32_t start, std::int32_t column, const VoicemailWords& list) const;
  double length_number(std::int32_t start, std::int32_t column) const;

 private:
  std::unordered_map<std::string_view, std::int32_t> counts_;  // of main digits; made when first asked for
};

// What a tree may ask of a candidate.
struct CandidateView {
  CandidateView(ReadMessage& message, std::size_t candidate, const VoicemailWords& list);
  std::int32_t code(std::int32_t column) const;
  double number(std::int32_t column) const;

 private:
  ReadMessage& message_;
  const Candidate& one_;
  std::size_t at_;
  std::int32_t contexts_;
  std::int32_t before_, after_;         // words beside it
  std::uint64_t left_ = 0, right_ = 0;  // bit c: word c of the contexts is there
};

// A tree with the best classes of each node: a number (start or length) and its probability, descending.
struct Choices {
  const trees::Walker* tree;
  std::span<const std::int64_t> offsets;  // [nodes + 1]
  std::span<const std::int32_t> numbers;  // -1: no caller
  std::span<const double> probabilities;
};

struct CallerModel {
  Choices start, length;
  double threshold;  // least probability of an answer
  bool joint;        // else the best start, then the best length
};

struct NumberModel {
  const trees::Walker* tree;              // nullptr: every candidate of min_digits is taken
  std::span<const double> probabilities;  // [nodes]
  double threshold;
  std::int32_t min_digits;
};

struct CallerAnswer {
  std::int32_t begin = -1, end = -1;  // -1: none
  double probability = 0.0;           // P(s) P(l | s)
  double none = 0.0;                  // P(no caller)
  std::int32_t start_node = -1, length_node = -1;
};

CallerAnswer find_caller(const ReadMessage& message, const CallerModel& model, const VoicemailWords& list);

// Probability of a candidate and its node (-1 without a tree).
struct NumberAnswer {
  double probability;
  std::int32_t node;
};
NumberAnswer judge_number(ReadMessage& message, std::size_t candidate, const NumberModel& model,
                          const VoicemailWords& list);

}  // namespace textmill::tasks
