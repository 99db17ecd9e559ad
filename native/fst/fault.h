// What went wrong with the user's data. Bindings turn it into DataError.
#pragma once

#include <stdexcept>
#include <string>

#include "base/message.h"

namespace textmill::fst {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  throw Fault(base::message(parts...));
}

}  // namespace textmill::fst
