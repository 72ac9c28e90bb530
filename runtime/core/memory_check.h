// Whether there is memory for what will be allocated in many small pieces.
//
// The standard library's containers and Protocol Buffers end the process when they get no memory.
// Who fills them as a file says computes a bound of all that they will hold, asks here first, and
// fails with a status instead (runtime/README.md).
#ifndef BELAY_RUNTIME_CORE_MEMORY_CHECK_H_
#define BELAY_RUNTIME_CORE_MEMORY_CHECK_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/core/checked_math.h"

namespace belay {

// A sum of sizes of things that a file counts; stays at the largest number on overflow.
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

// kResourceExhausted, naming `what` and the bytes, when the allocator has no such block. Pages are
// not touched. Nothing is reserved: another thread may take the memory in between.
absl::Status CheckMemory(uint64_t bytes, std::string_view what);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_MEMORY_CHECK_H_
