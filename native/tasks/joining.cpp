#include "tasks/joining.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/intern.h"
#include "base/parallel.h"

namespace textmill::tasks {
namespace {

constexpr std::size_t kWords = 16;  // handed to a thread at once

std::span<const std::int32_t> output_of(const OutputLists& model, std::size_t number) {
  const auto begin = static_cast<std::size_t>(model.output_begin[number]);
  return model.symbols.subspan(begin, static_cast<std::size_t>(model.output_begin[number + 1]) - begin);
}

std::uint64_t hash(std::span<const std::int32_t> output) {
  return base::hash_bytes({reinterpret_cast<const char*>(output.data()), output.size_bytes()});
}

struct Candidate {
  std::uint64_t hash;
  std::int32_t model;
  std::size_t number;
};

struct Word {
  std::vector<Candidate> candidates;
  std::vector<double> scores;
};

}  // namespace

bool SymbolAcceptor::allows(std::span<const std::int32_t> output) const {
  if (next.empty()) return true;
  std::int32_t state = 0;
  for (const std::int32_t symbol : output) {
    state = next[static_cast<std::size_t>(state) * symbols + static_cast<std::size_t>(symbol)];
    if (state < 0) return false;
  }
  return accept[static_cast<std::size_t>(state)] != 0;
}

JoinedLists join_lists(std::span<const OutputLists> models, std::size_t most, const SymbolAcceptor& acceptor,
                       std::size_t threads) {
  const std::size_t M = models.size(), words = models[0].offsets.size() - 1;
  std::vector<Word> found(words);
  base::parallel_blocks(words, kWords, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::vector<std::uint64_t>> hashes(M);
    for (std::size_t w = begin; w < end; ++w) {
      std::vector<Candidate>& candidates = found[w].candidates;
      const auto place = [&](const OutputLists& model, std::size_t number, std::uint64_t key) {
        return std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) {
          return c.hash == key && std::ranges::equal(output_of(model, number),
                                                     output_of(models[static_cast<std::size_t>(c.model)], c.number));
        });
      };
      for (std::size_t m = 0; m < M; ++m) {
        const auto first = static_cast<std::size_t>(models[m].offsets[w]);
        const auto last = static_cast<std::size_t>(models[m].offsets[w + 1]);
        hashes[m].clear();
        std::size_t taken = 0;
        for (std::size_t number = first; number < last; ++number) {
          const auto output = output_of(models[m], number);
          hashes[m].push_back(hash(output));
          if (taken == most || !acceptor.allows(output)) continue;
          ++taken;
          if (place(models[m], number, hashes[m].back()) == candidates.end())
            candidates.push_back({hashes[m].back(), static_cast<std::int32_t>(m), number});
        }
      }
      found[w].scores.assign(candidates.size() * M, std::numeric_limits<double>::quiet_NaN());
      for (std::size_t m = 0; m < M; ++m) {
        const auto first = static_cast<std::size_t>(models[m].offsets[w]);
        for (std::size_t i = 0; i < hashes[m].size(); ++i) {
          const auto c = place(models[m], first + i, hashes[m][i]);
          if (c != candidates.end())
            found[w].scores[static_cast<std::size_t>(c - candidates.begin()) * M + m] =
                models[m].log_probability[first + i];
        }
      }
    }
  });
  JoinedLists joined{{0}, {0}, {}, {}, {}, {}};
  for (const Word& word : found) {
    for (const Candidate& c : word.candidates) {
      const auto output = output_of(models[static_cast<std::size_t>(c.model)], c.number);
      joined.symbols.insert(joined.symbols.end(), output.begin(), output.end());
      joined.output_begin.push_back(static_cast<std::int64_t>(joined.symbols.size()));
      joined.model.push_back(c.model);
      joined.number.push_back(static_cast<std::int64_t>(c.number));
    }
    joined.scores.insert(joined.scores.end(), word.scores.begin(), word.scores.end());
    joined.offsets.push_back(static_cast<std::int64_t>(joined.model.size()));
  }
  return joined;
}

}  // namespace textmill::tasks
