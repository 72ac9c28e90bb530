// For tests: floats that end where memory ends, so that a read or write behind them is caught.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_GUARDED_FLOATS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_GUARDED_FLOATS_H_

#include <sys/mman.h>

#include <cstddef>
#include <random>

#include "runtime/core/status_macros.h"

namespace belay {

// `count` floats whose first address is 4-byte aligned only, all `value`. Move-only.
class GuardedFloats {
 public:
  explicit GuardedFloats(size_t count, float value = 0) : count_(count) {
    const size_t pages = (count * sizeof(float) + kPage - 1) / kPage;
    bytes_ = (pages + 1) * kPage;
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ABSL_CHECK(memory_ != MAP_FAILED);
    char* const end = static_cast<char*>(memory_) + pages * kPage;
    ABSL_CHECK(mprotect(end, kPage, PROT_NONE) == 0);
    data_ = reinterpret_cast<float*>(end) - count;
    for (size_t i = 0; i < count; ++i) data_[i] = value;
  }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;
  ~GuardedFloats() { munmap(memory_, bytes_); }

  float* data() { return data_; }
  size_t size() const { return count_; }
  float& operator[](size_t i) { return data_[i]; }
  // Numbers in [-2, 2).
  void Fill(std::mt19937_64& random) {
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (size_t i = 0; i < count_; ++i) data_[i] = numbers(random);
  }

 private:
  static constexpr size_t kPage = 4096;
  void* memory_ = nullptr;
  size_t bytes_ = 0, count_ = 0;
  float* data_ = nullptr;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_GUARDED_FLOATS_H_
