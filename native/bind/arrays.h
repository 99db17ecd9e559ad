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
