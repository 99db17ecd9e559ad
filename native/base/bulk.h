// Vectors for millions of numbers: memory in large pages, and values that are left as they are until they are written.
//
// A new page of memory costs a fault, which takes longer than writing its 4 kB; a page of 2 MB costs one fault instead of
// 512. Where the system gives large pages to those who ask for them, a Bulk asks. `Bulk<T>(n)` and `resize` do not write
// zeros, so that the threads that fill a vector are also the first to touch it; `Bulk<T>(n, 0)` does.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace textmill::base {

template <class T>
struct BulkAllocator {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{1} << 21;
  static constexpr std::size_t kLeast = 2 * kPage;  // bytes from which on large pages are asked for

  BulkAllocator() = default;
  template <class U>
  BulkAllocator(const BulkAllocator<U>&) {}

  T* allocate(std::size_t n) {
#if defined(MADV_HUGEPAGE)
    if (n >= kLeast / sizeof(T) && n <= static_cast<std::size_t>(-1) / sizeof(T)) {
      void* memory = nullptr;
      if (::posix_memalign(&memory, kPage, n * sizeof(T)) != 0) throw std::bad_alloc();
      ::madvise(memory, n * sizeof(T), MADV_HUGEPAGE);  // a wish; nothing depends on it
      return static_cast<T*>(memory);
    }
#endif
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) {
#if defined(MADV_HUGEPAGE)
    if (n >= kLeast / sizeof(T)) return std::free(memory);
#endif
    std::allocator<T>().deallocate(memory, n);
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0)
      ::new (static_cast<void*>(at)) U;
    else
      ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
  template <class U>
  bool operator==(const BulkAllocator<U>&) const {
    return true;
  }
};

template <class T>
using Bulk = std::vector<T, BulkAllocator<T>>;

}  // namespace textmill::base
