#include "tasks/voicemail.h"

#include <algorithm>

namespace textmill::tasks {

void ReadMessage::read(std::string_view text, const VoicemailWords& list, Scan scan) {
  tokens.clear();
  words.clear();
  candidates.clear();
  digits.clear();
  identifier = kNowhere;
  greetings = 0;
  anonymous = false;
  counts_.clear();
  look_up(text, list.list, tokens, words);
  if (scan == Scan::plain)
    scan_plain(tokens, words, list.plain_lengths, candidates, digits);
  else
    scan_numbers(words, scan == Scan::fillers, candidates, digits);
  while (static_cast<std::size_t>(greetings) < tokens.size() && tokens[greetings].flags & kGreeting) ++greetings;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].word < 0) continue;
    for (std::int32_t s = list.list.facts(tokens[i].word).sequences; s >= 0; s = list.sequences[s].next) {
      const WordSequence& sequence = list.sequences[s];
      if (sequence.kind == SequenceKind::identifier ? identifier < kNowhere : anonymous || i >= kStartWindow) continue;
      if (sequence.words.size() > tokens.size() - i) continue;
      bool equal = true;
      for (std::size_t k = 0; k < sequence.words.size(); ++k) equal = equal && tokens[i + k].word == sequence.words[k];
      if (!equal) continue;
      if (sequence.kind == SequenceKind::identifier)
        identifier = std::min(static_cast<double>(i), kNowhere);
      else
        anonymous = true;
    }
  }
}

std::int32_t ReadMessage::repetitions(std::size_t candidate) {
  const auto main_digits = [&](const Candidate& one) {
    return std::string_view(digits).substr(static_cast<std::size_t>(one.digits), static_cast<std::size_t>(one.main));
  };
  if (candidates.size() == 1) return 0;
  if (counts_.empty())
    for (const Candidate& one : candidates) ++counts_[main_digits(one)];
  return counts_[main_digits(candidates[candidate])] - 1;
}

std::int32_t ReadMessage::value(std::int32_t at, const VoicemailWords& list) const {
  if (at < 0) return list.start();
  if (at >= length()) return list.end();
  const std::int16_t value = tokens[at].value;
  return value < 0 ? list.other() : value;
}

std::int32_t ReadMessage::start_code(std::int32_t column, const VoicemailWords& list) const {
  return value(column, list);
}

double ReadMessage::start_number(std::int32_t column) const {
  return column == 0 ? identifier : column == 1 ? greetings : length();
}

std::int32_t ReadMessage::length_code(std::int32_t start, std::int32_t column, const VoicemailWords& list) const {
  return value(start + column - kBefore, list);
}

double ReadMessage::length_number(std::int32_t start, std::int32_t column) const {
  if (column == 0) return start;
  if (column == 2) return length() - start;
  for (std::int32_t i = start + 1; i < length(); ++i)
    if (tokens[i].flags & kTerminator) return std::min(static_cast<double>(i - start), kNowhere);
  return kNowhere;
}

CandidateView::CandidateView(ReadMessage& message, std::size_t candidate, const VoicemailWords& list)
    : message_(message), one_(message.candidates[candidate]), at_(candidate), contexts_(list.contexts) {
  const auto context = [&](std::int32_t at) -> std::int32_t {
    if (at < 0 || at >= message.length()) return contexts_ + 1;
    return message.tokens[at].context < 0 ? contexts_ : message.tokens[at].context;
  };
  for (std::int32_t i = one_.begin - kLeft; i < one_.begin; ++i)
    if (const std::int32_t c = context(i); c < contexts_) left_ |= std::uint64_t{1} << c;
  for (std::int32_t i = one_.end; i < one_.end + kRight; ++i)
    if (const std::int32_t c = context(i); c < contexts_) right_ |= std::uint64_t{1} << c;
  before_ = context(one_.begin - 1);
  after_ = context(one_.end);
}

std::int32_t CandidateView::code(std::int32_t column) const {
  switch (column) {
    case 0: {
      const char first = message_.digits[static_cast<std::size_t>(one_.digits)];
      return first == '0' ? 0 : first == '1' ? 1 : 2;
    }
    case 1: return one_.cue;
    case 2: return before_;
    case 3: return after_;
    default: return column - 4 < contexts_ ? (left_ >> (column - 4)) & 1 : (right_ >> (column - 4 - contexts_)) & 1;
  }
}

double CandidateView::number(std::int32_t column) const {
  switch (column) {
    case 0: return one_.main;
    case 1: return one_.extension;
    case 2: return static_cast<double>(one_.end - one_.begin) / (one_.main + one_.extension);
    case 3: return message_.length() - one_.end;
    case 4: return static_cast<double>(one_.end) / message_.length();
    default: return message_.repetitions(at_);
  }
}

CallerAnswer find_caller(const ReadMessage& message, const CallerModel& model, const VoicemailWords& list) {
  CallerAnswer best;
  const std::int32_t length = message.length();
  const Choices& starts = model.start;
  const Choices& lengths = model.length;
  const std::int32_t node = starts.tree->walk([&](std::int32_t a) { return message.start_code(a, list); },
                                              [&](std::int32_t d) { return message.start_number(d); });
  best.start_node = node;
  double first = -1.0;  // probability of the best start within the message
  for (std::int64_t i = starts.offsets[node]; i < starts.offsets[node + 1]; ++i) {
    const std::int32_t start = starts.numbers[i];
    const double p = starts.probabilities[i];
    if (start < 0) {
      best.none = p;
      continue;
    }
    if (start >= length || p <= best.probability || (!model.joint && first >= 0.0)) continue;
    first = std::max(first, p);
    const std::int32_t leaf = lengths.tree->walk([&](std::int32_t a) { return message.length_code(start, a, list); },
                                                 [&](std::int32_t d) { return message.length_number(start, d); });
    for (std::int64_t k = lengths.offsets[leaf]; k < lengths.offsets[leaf + 1]; ++k) {
      if (start + lengths.numbers[k] > length) continue;
      const double both = p * lengths.probabilities[k];
      if (both > best.probability) {
        best.begin = start;
        best.end = start + lengths.numbers[k];
        best.probability = both;
        best.length_node = leaf;
      }
      break;
    }
  }
  if (best.begin >= 0 && (best.none > first || best.probability < model.threshold)) best.begin = best.end = -1;
  return best;
}

NumberAnswer judge_number(ReadMessage& message, std::size_t candidate, const NumberModel& model,
                          const VoicemailWords& list) {
  if (!model.tree) {
    const Candidate& one = message.candidates[candidate];
    return {one.main + one.extension >= model.min_digits ? 1.0 : 0.0, -1};
  }
  const CandidateView view(message, candidate, list);
  const std::int32_t node =
      model.tree->walk([&](std::int32_t a) { return view.code(a); }, [&](std::int32_t d) { return view.number(d); });
  return {model.probabilities[node], node};
}

}  // namespace textmill::tasks
