// A text as Python keeps it: an array of code points, one, two or four bytes each. Nothing is copied or re-encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fault.h"

namespace textmill::corpus {

struct Text {
  const void* data;
  std::size_t size;    // code points
  int width;           // bytes a code point: 1, 2 or 4
  bool ascii = false;  // known to hold code points below 128 only
};

struct Span {
  std::size_t begin, end;  // code points [begin, end)
};

// Calls f with the text as a span of its own unit type.
template <class F>
decltype(auto) visit(const Text& text, F&& f) {
  if (text.width == 1) return f(std::span(static_cast<const std::uint8_t*>(text.data), text.size));
  if (text.width == 2) return f(std::span(static_cast<const std::uint16_t*>(text.data), text.size));
  return f(std::span(static_cast<const std::uint32_t*>(text.data), text.size));
}

// Throws a Fault at the first lone surrogate: such a text has no UTF-8 form.
inline void require_no_surrogate(const Text& text, std::size_t document) {
  if (text.width == 1) return;
  visit(text, [&](auto units) {
    unsigned found = 0;
    for (const auto unit : units) found |= (unit & 0xFFFFF800u) == 0xD800u;  // no exit inside: the loop vectorises
    if (!found) return;
    std::size_t at = 0;
    while ((units[at] & 0xFFFFF800u) != 0xD800u) ++at;
    throw base::Fault("the text holds a lone surrogate; decode the input with errors='strict' or replace it",
                      {document, at});
  });
}

}  // namespace textmill::corpus
