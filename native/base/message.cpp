#include "base/message.h"

#include <charconv>
#include <stdexcept>

#include "base/fault.h"

namespace textmill::base {
namespace {

template <class Number>
void append_number(std::string& message, Number number) {
  char digits[32];  // enough for the shortest form that reads back as the same number
  message.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

void Part::append_to(std::string& message) const {
  switch (kind_) {
    case Kind::words: message += words_; break;
    case Kind::letter: message += letter_; break;
    case Kind::whole: append_number(message, whole_); break;
    case Kind::natural: append_number(message, static_cast<std::uint64_t>(whole_)); break;
    case Kind::single: append_number(message, single_); break;
    case Kind::real: append_number(message, real_); break;
  }
}

std::string join(std::initializer_list<Part> parts) {
  std::string message;
  for (const Part& part : parts) part.append_to(message);
  return message;
}

void fail_with(std::initializer_list<Part> parts) { throw Fault(join(parts)); }

void refuse_with(std::initializer_list<Part> parts) { throw std::invalid_argument(join(parts)); }

}  // namespace textmill::base
