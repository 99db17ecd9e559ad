#include "corpus/runs.h"

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

void TokenRun::join(const PhraseTable& phrases) {
  for (const base::InternTable& level : phrases.levels)
    if (level.size() > 0) join(level, phrases.connectors);
}

void TokenRun::join(const base::InternTable& level, const base::InternTable& connectors) {
  constexpr auto none = static_cast<std::size_t>(-1);
  const auto holds = [](const base::InternTable& table, std::string_view bytes) {
    return table.find(bytes, base::hash_bytes(bytes)) != base::InternTable::kNone;
  };
  std::size_t kept = 0, open = none;  // open: the token that may begin a phrase; it and what follows wait
  const auto close = [&](std::size_t until) {
    for (; open < until; ++open) tokens_[kept++] = tokens_[open];
  };
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Slice token = tokens_[i];
    if (connectors.size() > 0 && holds(connectors, slice(token.begin, token.end))) {
      if (open == none) tokens_[kept++] = token;
    } else if (open == none) {
      open = i;
    } else if (const std::size_t begin = tokens_[open].begin; holds(level, slice(begin, token.end))) {
      std::size_t parts = 0;
      for (std::size_t part = open; part <= i; ++part) parts += tokens_[part].parts;
      tokens_[kept++] = {begin, token.end, parts};
      open = none;
    } else {
      close(i);  // leaves open at i
    }
  }
  if (open != none) close(tokens_.size());
  tokens_.resize(kept);
}

}  // namespace textmill::corpus
