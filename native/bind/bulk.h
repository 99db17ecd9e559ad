// Vectors in large pages become arrays of NumPy.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/bulk.h"
#include "bind/arrays.h"

namespace textmill::bind {

// Hands the vector over without copying; the array owns it. Shown: the type of its elements, of the size of T.
template <class Shown, class T>
Numpy<Shown, 1> bulk_to_numpy(base::Bulk<T>&& values) {
  static_assert(sizeof(Shown) == sizeof(T));
  auto owned = std::make_unique<base::Bulk<T>>(std::move(values));
  const std::size_t size = owned->size();
  auto* const data = reinterpret_cast<Shown*>(owned->data());
  nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<base::Bulk<T>*>(p); });
  return Numpy<Shown, 1>(data, {size}, owner);
}

}  // namespace textmill::bind
