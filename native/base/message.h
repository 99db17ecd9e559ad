// Messages of errors, put together from words and numbers.
//
// Without streams: an extension that carries a standard library of its own (usearch does) can take the place of ours in
// the process, and the numbers of a stream then vanish. std::to_chars keeps no state that could be exchanged.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace textmill::base {

inline void append(std::string& message, std::string_view words) { message += words; }
inline void append(std::string& message, char letter) { message += letter; }

template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>)
void append(std::string& message, Number number) {
  char digits[32];  // enough for the shortest form that reads back as the same number
  if constexpr (std::same_as<Number, bool>) {
    message += number ? '1' : '0';
  } else {
    message.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
}

template <class... Parts>
std::string message(const Parts&... parts) {
  std::string made;
  (append(made, parts), ...);
  return made;
}

}  // namespace textmill::base
