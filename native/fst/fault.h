// What went wrong with the user's data. Bindings turn it into DataError.
#pragma once

#include <stdexcept>
#include <string>

#include "base/message.h"

namespace textmill::fst {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn, gnu::cold]] void fail_with(std::initializer_list<base::Part> parts);

template <class... Parts>
[[noreturn, gnu::cold]] void fail(const Parts&... parts) {
  fail_with({base::Part(parts)...});
}

}  // namespace textmill::fst
