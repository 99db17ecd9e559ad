// Conversions that refuse instead of wrapping round. Messages name the thing and its value; bindings use them, where
// std::invalid_argument becomes ValueError.
//
//   narrow<std::int32_t>(value, "term id")        the same number in a smaller type
//   product(rows, columns, "weights")             a size that fits in memory's addresses
//   count<std::int32_t>(2.0, "frequency")         a whole number >= 0 out of a float
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/message.h"

namespace textmill::base {

namespace detail {
template <class... Parts>
[[noreturn, gnu::cold]] void refuse(const Parts&... parts) {
  refuse_with({Part(parts)...});
}
}  // namespace detail

template <std::integral To, std::integral From>
To narrow(From value, const char* what) {
  if (!std::in_range<To>(value)) {
    detail::refuse(what, " is ", value, ", outside ", +std::numeric_limits<To>::min(), " ... ",
                   +std::numeric_limits<To>::max());
  }
  return static_cast<To>(value);
}

// a * b. The result is at most PTRDIFF_MAX, the largest size an array can have.
inline std::size_t product(std::size_t a, std::size_t b, const char* what) {
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  if (b != 0 && a > most / b) {
    detail::refuse(what, " would have ", a, " x ", b, " entries, more than memory has addresses");
  }
  return a * b;
}

template <std::integral To>
To count(double value, const char* what) {
  if (!(value >= 0.0) || std::trunc(value) != value) detail::refuse(what, " is ", value, ", not a whole number >= 0");
  // 2^digits is exact as a double, the largest To may not be; infinity fails here
  if (value >= std::ldexp(1.0, std::numeric_limits<To>::digits)) {
    detail::refuse(what, " is ", value, ", more than ", +std::numeric_limits<To>::max());
  }
  return static_cast<To>(value);
}

}  // namespace textmill::base
