// Checks for available memory before many small allocations.
//
// The standard library's containers and Protocol Buffers abort the process when an allocation
// fails. Code that fills them from a file computes an upper bound of their size, calls
// CheckMemory() first, and returns a status on failure (runtime/README.md).
#ifndef BELAY_RUNTIME_CORE_MEMORY_CHECK_H_
#define BELAY_RUNTIME_CORE_MEMORY_CHECK_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/core/checked_math.h"

namespace belay {

// A sum of sizes determined by a file; saturates on overflow.
class MemoryBound {
 public:
  void Add(uint64_t count, uint64_t bytes_each) {
    const std::optional<uint64_t> product = CheckedMul(count, bytes_each);
    bytes_ = CheckedAdd(bytes_, product.value_or(UINT64_MAX)).value_or(UINT64_MAX);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

// kResourceExhausted, naming `what` and the bytes, if the allocator has no block of this size. Does
// not touch pages. Reserves nothing: another thread may allocate the memory in the meantime.
absl::Status CheckMemory(uint64_t bytes, std::string_view what);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_MEMORY_CHECK_H_
