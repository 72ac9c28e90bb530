// For tests: arrays adjacent to inaccessible memory, so that reads and writes out of bounds fault.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_GUARDED_ARRAY_H_
#define BELAY_RUNTIME_KERNELS_PACKED_GUARDED_ARRAY_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

#include "runtime/core/status_macros.h"

namespace belay {

enum class GuardedSide : uint8_t { kEnd, kBegin };

// Array of `count` elements, all `value`, that ends at the guard page, aligned only for T, or
// begins after it. The guard on the other side is up to a page away.
template <class T>
class GuardedArray {
 public:
  explicit GuardedArray(size_t count, T value = T{}, GuardedSide side = GuardedSide::kEnd)
      : count_(count) {
    const size_t used = (count * sizeof(T) + kPage - 1) / kPage * kPage;
    bytes_ = used + 2 * kPage;
    memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ABSL_CHECK(memory_ != MAP_FAILED);
    char* const begin = static_cast<char*>(memory_) + kPage;
    ABSL_CHECK(used == 0 || mprotect(begin, used, PROT_READ | PROT_WRITE) == 0);
    data_ = side == GuardedSide::kEnd ? reinterpret_cast<T*>(begin + used) - count
                                      : reinterpret_cast<T*>(begin);
    std::fill(data_, data_ + count, value);
  }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;
  ~GuardedArray() { munmap(memory_, bytes_); }

  T* data() { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data_[i]; }
  // Fills with random floats in [-2, 2), or with random integers.
  void Fill(std::mt19937_64& random) {
    if constexpr (std::is_floating_point_v<T>) {
      std::uniform_real_distribution<T> numbers(-2, 2);
      for (size_t i = 0; i < count_; ++i) data_[i] = numbers(random);
    } else {
      std::uniform_int_distribution<int64_t> numbers(std::numeric_limits<T>::min(),
                                                     std::numeric_limits<T>::max());
      for (size_t i = 0; i < count_; ++i) data_[i] = static_cast<T>(numbers(random));
    }
  }

 private:
  static constexpr size_t kPage = 4096;
  void* memory_ = nullptr;
  size_t bytes_ = 0, count_ = 0;
  T* data_ = nullptr;
};

using GuardedFloats = GuardedArray<float>;

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_GUARDED_ARRAY_H_
