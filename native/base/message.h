// Messages of errors, put together from words and numbers.
//
// Without streams: an extension that carries a standard library of its own (usearch does) can take the place of ours in
// the process, and the numbers of a stream then vanish. std::to_chars keeps no state that could be exchanged.
//
// Messages are put together in hundreds of places: each makes an array of parts, and the rest is compiled once.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace textmill::base {

// A piece of a message, in a form that does not depend on the type of what it shows.
class Part {
 public:
  Part(std::string_view words) : kind_(Kind::words), words_(words) {}
  Part(const char* words) : Part(std::string_view(words)) {}
  Part(const std::string& words) : Part(std::string_view(words)) {}
  Part(char letter) : kind_(Kind::letter), letter_(letter) {}
  Part(float number) : kind_(Kind::single), single_(number) {}
  Part(double number) : kind_(Kind::real), real_(number) {}
  template <std::integral Number>
  Part(Number number)
      : kind_(std::signed_integral<Number> ? Kind::whole : Kind::natural), whole_(static_cast<std::int64_t>(number)) {}
  void append_to(std::string& message) const;

 private:
  enum class Kind : std::uint8_t { words, letter, whole, natural, single, real } kind_;
  union {
    std::string_view words_;
    char letter_;
    std::int64_t whole_;  // or the bits of a natural number
    float single_;
    double real_;
  };
};

std::string join(std::initializer_list<Part> parts);
// Throws std::invalid_argument.
[[noreturn, gnu::cold]] void refuse_with(std::initializer_list<Part> parts);

inline void append(std::string& message, const Part& part) { part.append_to(message); }

template <class... Parts>
std::string message(const Parts&... parts) {
  return join({Part(parts)...});
}

}  // namespace textmill::base
