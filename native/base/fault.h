// What is wrong with the user's data or files, in one line that says what to do, and where.
//
// A kernel throws a Fault; a parser that also gives what it read before the fault returns it. Bindings turn it into
// DataError with its place, or into OSError when a file could not be read or written.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/message.h"

namespace textmill::base {

// Where, both from 0: a document and the code point in it, or a line of a block and the byte in it.
struct Place {
  std::size_t record;
  std::size_t position;
};

struct Fault : std::runtime_error {
  explicit Fault(const std::string& message) : std::runtime_error(message) {}
  Fault(const std::string& message, Place at) : std::runtime_error(message), place(at) {}

  // A file that the system refuses; what() is its name.
  static Fault of_file(const std::string& path, int number) {
    Fault fault(path);
    fault.system_error = number;
    return fault;
  }

  std::optional<Place> place;
  int system_error = 0;  // errno, if the system refused
};

[[noreturn, gnu::cold]] void fail_with(std::initializer_list<Part> parts);

// Throws a Fault with the parts put together.
template <class... Parts>
[[noreturn, gnu::cold]] void fail(const Parts&... parts) {
  fail_with({Part(parts)...});
}

}  // namespace textmill::base
