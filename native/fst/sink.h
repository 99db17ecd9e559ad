// Where files go that are written: bytes are handed on in chunks, so that a file never lies in memory whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace textmill::fst {

using Sink = std::function<void(std::string_view)>;
inline constexpr std::size_t kChunk = 1 << 20;  // bytes after which a chunk is handed on

}  // namespace textmill::fst
