// What a language model is, and the texts it is asked about: views, nothing is owned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "corpus/text.h"
#include "language/scan.h"
#include "language/table.h"

namespace textmill::language {

inline constexpr std::size_t kMostLetters = 8;  // of an n-gram

struct Model {  // views: the caller owns the memory
  Table table;
  std::size_t languages;          // N <= kMostLanguages
  std::size_t order;              // letters of the longest n-gram, at most kMostLetters; 0: unknown words say nothing
  float scale;                    // of the sum over letters
  float alpha;                    // of unknown words
  std::span<const float> script;  // log p(script | L) [kScripts][N]
  std::span<const std::uint8_t> chosen;  // [N] whether a language is asked for
  bool without_accents;
  std::uint64_t call = 0;  // a number of its own for what belongs together; 0: nothing is remembered (memory.h)
};

struct Source {  // one text
  corpus::Text text;
  bool utf8 = false;  // bytes of UTF-8 and not code points
};

// Calls f with a reader of the text.
template <class F>
void read(const Source& source, F&& f) {
  if (source.utf8)
    f(Utf8{{static_cast<const std::uint8_t*>(source.text.data), source.text.size}});
  else
    corpus::visit(source.text, [&](auto units) { f(Points<typename decltype(units)::value_type>{units}); });
}

inline constexpr std::size_t kRow = 256;   // room of a row of languages: any language of a record lies inside
inline constexpr std::size_t kLanes = 16;  // rows are padded to whole lanes, which the compiler turns into packs

inline std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// The largest of x [n], n > 0 a multiple of kLanes: in one variable it would have to be found number by number.
template <class T>
T largest_of(const T* x, std::size_t n) {
  T part[kLanes];
  std::copy_n(x, kLanes, part);
  for (std::size_t i = kLanes; i < n; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) part[j] = part[j] < x[i + j] ? x[i + j] : part[j];
  return *std::max_element(part, part + kLanes);
}

}  // namespace textmill::language
