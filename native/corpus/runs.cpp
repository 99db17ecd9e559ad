#include "corpus/runs.h"

#include <utility>

namespace textmill::corpus {

void Forms::insert(std::string_view token, std::string_view form) {
  const std::size_t before = written_.size();
  if (written_.insert(token, base::hash_bytes(token)) < before) return;
  bytes_.insert(bytes_.end(), form.begin(), form.end());
  offsets_.push_back(bytes_.size());
}

std::string_view Forms::operator[](std::string_view token) const {
  const std::uint32_t at = written_.find(token, base::hash_bytes(token));
  if (at == base::InternTable::kNone) return {};
  return {bytes_.data() + offsets_[at], offsets_[at + 1] - offsets_[at]};
}

PhraseLevel::PhraseLevel(base::InternTable phrases)
    : phrases_(std::move(phrases)), first_(phrases_.size()), last_(phrases_.size()) {
  for (std::size_t i = 0; i < phrases_.size(); ++i) {
    const std::string_view phrase = phrases_[i];
    for (std::size_t at = phrase.find(kPhraseMark); at != phrase.npos; at = phrase.find(kPhraseMark, at + 1)) {
      first_.add(base::hash_bytes(phrase.substr(0, at)));
      last_.add(base::hash_bytes(phrase.substr(at + 1)));
    }
  }
}

void TokenRun::join(const PhraseTable& phrases) {
  for (const PhraseLevel& level : phrases.levels)
    if (level.size() > 0) join(level, phrases.connectors);
}

void TokenRun::join(const PhraseLevel& level, const base::InternTable& connectors) {
  constexpr auto none = static_cast<std::size_t>(-1);
  std::size_t kept = 0, open = none;  // open: the token that may begin a phrase; it and what follows wait
  bool begins = false;                // the open token begins some phrase, as far as its hash says
  const auto close = [&](std::size_t until) {
    for (; open < until; ++open) tokens_[kept++] = tokens_[open];
  };
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Slice token = tokens_[i];
    const std::string_view bytes = slice(token.begin, token.end);
    const std::uint64_t hash = base::hash_bytes(bytes);
    if (connectors.size() > 0 && connectors.find(bytes, hash) != base::InternTable::kNone) {
      if (open == none) tokens_[kept++] = token;
    } else if (open == none) {
      open = i;
      begins = level.may_begin(hash);
    } else if (begins && level.may_end(hash) && level.holds(slice(tokens_[open].begin, token.end))) {
      std::size_t parts = 0;
      for (std::size_t part = open; part <= i; ++part) parts += tokens_[part].parts;
      tokens_[kept++] = {tokens_[open].begin, token.end, parts};
      open = none;
    } else {
      close(i);  // leaves open at i
      begins = level.may_begin(hash);
    }
  }
  if (open != none) close(tokens_.size());
  tokens_.resize(kept);
}

}  // namespace textmill::corpus
