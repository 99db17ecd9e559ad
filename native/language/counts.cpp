#include "language/counts.h"

#include <algorithm>
#include <numeric>

namespace textmill::language {

void Counter::add(std::string_view word, std::int32_t language, double count) {
  const std::uint32_t id = words_.insert(word, base::hash_bytes(word));
  if (id == entries_.size()) entries_.emplace_back();
  for (Entry& entry : entries_[id]) {
    if (entry.language == language) {
      entry.count += count;
      return;
    }
  }
  entries_[id].push_back({language, count});
}

void Counter::add_text(const Source& source, std::int32_t language, bool without_accents) {
  read(source, [&](const auto& text) {
    scan_while(text, without_accents, Manner::AllRuns, [&](const Word& word) {
      if (!word.key.empty()) add(word.key, language, 1);
      return true;
    });
  });
}

Counter::Columns Counter::columns() const {
  std::vector<std::uint32_t> order(entries_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return words_[a] < words_[b]; });
  Columns made;
  made.offsets.push_back(0);
  made.begin.push_back(0);
  for (const std::uint32_t id : order) {
    std::vector<Entry> entries = entries_[id];
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.language < b.language; });
    for (const Entry& entry : entries) {
      if (entry.count == 0) continue;
      made.language.push_back(entry.language);
      made.count.push_back(entry.count);
    }
    if (static_cast<std::size_t>(made.begin.back()) == made.language.size()) continue;
    const std::string_view word = words_[id];
    made.bytes.insert(made.bytes.end(), word.begin(), word.end());
    made.offsets.push_back(static_cast<std::int64_t>(made.bytes.size()));
    made.begin.push_back(static_cast<std::int64_t>(made.language.size()));
  }
  return made;
}

Grams count_grams(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets,
                  std::span<const std::int64_t> begin, std::span<const std::int32_t> language,
                  std::span<const double> weight, std::size_t languages, std::size_t order, double least) {
  const std::size_t words = offsets.size() - 1;
  std::vector<double> share(languages);  // of a language: 1 / its total weight
  for (std::size_t e = 0; e < language.size(); ++e) share[static_cast<std::size_t>(language[e])] += weight[e];
  for (double& total : share) total = total > 0 ? 1 / total : 0;

  base::InternTable grams;
  std::vector<double> mean;
  std::vector<char> marked;
  std::vector<std::size_t> starts;
  const auto each = [&](std::size_t w, std::size_t longest, auto&& visit) {
    marked.assign(1, '<');
    marked.insert(marked.end(), bytes.begin() + offsets[w], bytes.begin() + offsets[w + 1]);
    marked.push_back('>');
    starts.clear();
    for (std::size_t i = 0; i < marked.size(); ++i)
      if ((static_cast<unsigned char>(marked[i]) & 0xC0) != 0x80) starts.push_back(i);
    starts.push_back(marked.size());
    const std::size_t letters = starts.size() - 1;
    for (std::size_t i = 0; i < letters; ++i)
      for (std::size_t n = 1; n <= longest && n <= i + 1; ++n)
        visit(std::string_view(marked.data() + starts[i + 1 - n], starts[i + 1] - starts[i + 1 - n]), n);
  };
  // Order by order: an n-gram can only be frequent when its first letters are.
  std::vector<std::uint8_t> keep;
  for (std::size_t n = 1; n <= order; ++n) {
    base::InternTable candidates;
    std::vector<double> value;
    for (std::size_t w = 0; w < words; ++w) {
      double part = 0;
      for (auto e = static_cast<std::size_t>(begin[w]); e < static_cast<std::size_t>(begin[w + 1]); ++e)
        part += weight[e] * share[static_cast<std::size_t>(language[e])];
      each(w, n, [&](std::string_view gram, std::size_t size) {
        if (size != n) return;
        if (n > 1) {
          std::size_t cut = gram.size() - 1;  // all but the last letter
          while ((static_cast<unsigned char>(gram[cut]) & 0xC0) == 0x80) --cut;
          const std::string_view front = gram.substr(0, cut);
          if (grams.find(front, base::hash_bytes(front)) == base::InternTable::kNone) return;
        }
        const std::uint32_t id = candidates.insert(gram, base::hash_bytes(gram));
        if (id == value.size()) value.push_back(0);
        value[id] += part;
      });
    }
    for (std::size_t id = 0; id < value.size(); ++id)
      if (n == 1 || value[id] >= least * static_cast<double>(languages))
        grams.insert(candidates[id], candidates.hash(id));
  }
  std::vector<std::uint32_t> sorted(grams.size()), place(grams.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return grams[a] < grams[b]; });
  for (std::size_t i = 0; i < sorted.size(); ++i) place[sorted[i]] = static_cast<std::uint32_t>(i);
  Grams made;
  made.weight.assign(grams.size() * languages, 0.0f);
  made.offsets.push_back(0);
  for (const std::uint32_t id : sorted) {
    const std::string_view gram = grams[id];
    made.bytes.insert(made.bytes.end(), gram.begin(), gram.end());
    made.offsets.push_back(static_cast<std::int64_t>(made.bytes.size()));
  }
  for (std::size_t w = 0; w < words; ++w)
    each(w, order, [&](std::string_view gram, std::size_t) {
      const std::uint32_t id = grams.find(gram, base::hash_bytes(gram));
      if (id == base::InternTable::kNone) return;
      float* row = made.weight.data() + place[id] * languages;
      for (auto e = static_cast<std::size_t>(begin[w]); e < static_cast<std::size_t>(begin[w + 1]); ++e) {
        const auto l = static_cast<std::size_t>(language[e]);
        row[l] += static_cast<float>(weight[e]);
      }
    });
  return made;
}

}  // namespace textmill::language
