// Pairs that a search of names found, and the loop over left names that collects them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/parallel.h"

namespace textmill::strings {

struct Matches {  // by left name, then falling score, then right name
  std::vector<std::int32_t> left, right;
  std::vector<double> scores;
  std::size_t candidates = 0;  // pairs that were bounded
  std::size_t aligned = 0;     // pairs that were scored
};

struct Found {
  double score;
  std::int32_t name;
  bool operator<(const Found& other) const {  // better first
    return score != other.score ? score > other.score : name < other.name;
  }
};

// What search_one(name, scratch, matches) appends for left names begin .. end - 1, in their order. `make` gives a
// std::unique_ptr to the memory that one thread works with.
template <class Make, class SearchOne>
Matches search_all(std::size_t begin, std::size_t end, std::size_t threads, Make make, SearchOne search_one) {
  constexpr std::size_t kBlock = 32;  // names that one item of work holds
  const std::size_t blocks = (end - begin + kBlock - 1) / kBlock;
  std::vector<Matches> parts(blocks);
  std::vector<decltype(make())> idle;  // a thread takes one, or makes it
  std::mutex guard;
  base::parallel_for(blocks, threads, [&](std::size_t b) {
    decltype(make()) scratch;
    {
      const std::lock_guard lock(guard);
      if (!idle.empty()) {
        scratch = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!scratch) scratch = make();
    const std::size_t first = begin + b * kBlock;
    for (std::size_t name = first; name < std::min(first + kBlock, end); ++name) search_one(name, *scratch, parts[b]);
    const std::lock_guard lock(guard);
    idle.push_back(std::move(scratch));
  });
  Matches out;
  std::size_t size = 0;
  for (const Matches& part : parts) size += part.left.size();
  out.left.reserve(size);
  out.right.reserve(size);
  out.scores.reserve(size);
  for (const Matches& part : parts) {
    out.left.insert(out.left.end(), part.left.begin(), part.left.end());
    out.right.insert(out.right.end(), part.right.begin(), part.right.end());
    out.scores.insert(out.scores.end(), part.scores.begin(), part.scores.end());
    out.candidates += part.candidates;
    out.aligned += part.aligned;
  }
  return out;
}

}  // namespace textmill::strings
