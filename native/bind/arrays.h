// The customs office: array types that a binding accepts, and the checks it makes before a kernel sees them.
//
// Outputs are taken as Out... and must be declared .noconvert(), or nanobind may fill a temporary copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/message.h"

namespace textmill::bind {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, std::size_t Rank>
using In = nb::ndarray<const T, nb::ndim<Rank>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t Rank>
using Out = nb::ndarray<T, nb::ndim<Rank>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t Rank>
using Numpy = nb::ndarray<nb::numpy, T, nb::ndim<Rank>, nb::c_contig>;

// Throws ValueError with the parts put together when the condition does not hold.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    base::refuse_with({base::Part(parts)...});
}

template <class Array>
auto view(const Array& array) {
  return std::span(array.data(), array.size());
}

// Offsets of runs in an array of `end` entries, run i from offsets[i] to offsets[i + 1]: they begin with 0, never
// decrease, and end with `end`. `what` names the runs in the message.
inline void check_offsets(std::span<const std::int64_t> offsets, std::size_t end, const char* what = "runs") {
  require(!offsets.empty() && offsets[0] == 0, "offsets of ", what, " must begin with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i)
    require(offsets[i] >= offsets[i - 1], "offsets of ", what, " must not decrease, at ", i - 1);
  require(static_cast<std::size_t>(offsets.back()) == end, "offsets of ", what, " must end with ", end, ", the number ",
          "of entries, got ", offsets.back());
}

// Hands a vector to NumPy without copying; the array owns it.
template <class T>
Numpy<T, 1> to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const std::size_t size = owned->size();
  T* data = owned->data();
  nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Numpy<T, 1>(data, {size}, owner);
}

}  // namespace textmill::bind
